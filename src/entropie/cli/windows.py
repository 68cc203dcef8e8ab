"""`--window`: the option of `assess` that attacks each window of time apart, and its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from entropie.cli import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entropie.measures.divergence import Divergence
    from entropie.mitigate.windows import Window

window_option = click.option(
    "--window", metavar="LENGTH", help="Also attack each window of time apart, such as 24h, 30d or 1w."
)


def windows_text(found: Sequence[Window]) -> str:
    """Risk and bits by window, and what they mean."""
    headers = ["from", "to", "people", "events", "named", "95 % interval", "bits", "matcher"]
    lines = [output.table(headers, [_row(window) for window in found])]
    reasons = [(window.to_json()["from"], window.reason) for window in found if window.reason]
    if reasons:
        more = f" The same goes for {len(reasons) - 1} more." if len(reasons) > 1 else ""
        lines += ["", output.paragraph(f"Not attacked, from {reasons[0][0]}: {reasons[0][1]}{more}")]
    if found and not found[-1].complete:
        lines += ["", output.paragraph("The data end before the last window does: compare it with care.")]
    lines += [
        "",
        output.paragraph(
            "Each window is attacked with what was known within it: its first half of every person's events against "
            "the second. Windows with more events per person are riskier for that alone; `to` is not part of a window."
        ),
    ]
    return "\n".join(lines)


def shown_bits(pse: Divergence) -> str:
    """Bits, or the limit where the value lies beyond what the data can show."""
    if pse.value_bits > pse.resolvable_bits:
        return f"over {output.plain_bits(pse.resolvable_bits)}"
    return output.plain_bits(pse.value_bits)


def _row(window: Window) -> list[str]:
    document = window.to_json()
    head = [document["from"], document["to"], output.count(window.users), output.count(window.events)]
    if window.error is None or window.pse is None or window.matcher is None:
        return [*head, "", "", "", ""]
    named = output.percent(1.0 - window.error.value)
    ends = f"{output.percent(1.0 - window.error.high)} to {output.percent(1.0 - window.error.low)}"
    return [*head, named, ends, shown_bits(window.pse), window.matcher]
