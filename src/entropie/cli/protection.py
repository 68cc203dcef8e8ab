"""The terminal view of `--protect`: ways to hand over the data, side by side, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from entropie.cli import output

_READING = (
    "Events sent: by all people together. Promised: the share of people that every attacker names wrongly, on average, "
    "whatever she knows; 10 guesses: the same where she may name ten people and errs if none is right. Attack: the "
    "share that our own attack named wrongly. Top-20 and top-100: mean relative error of the estimated shares of the "
    "most frequent items; where it is as large as the share itself, nothing is left of them. Noise protects what is "
    "sent from now on; it does not protect data that have already left in clear."
)
_COLUMNS = ("events sent", "epsilon", "promised", "10 guesses", "attack", "95 % interval", "top-20", "top-100")


def protection_text(rows: Sequence[Mapping[str, Any]], goal: Mapping[str, Any]) -> str:
    """A table and a sentence per row, from the objects `protection` and `protection_goal` of assessment.json."""
    lines = [
        f"Wanted: an attacker errs in at least {output.percent(goal['bayes_error'])} of cases",
        "",
        output.paragraph(goal["sentence"]),
        "",
        output.paragraph(_heading(rows)),
        "",
        output.table(["protection", *_COLUMNS], [_cells(row) for row in rows]),
        "",
        output.paragraph(_READING),
    ]
    for row in rows:
        lines += ["", output.paragraph(row["sentence"])]
    if goal["recommendation"]:
        lines += ["", output.paragraph(f"* Recommended: {goal['recommendation']}")]
    return "\n".join(lines)


def _heading(rows: Sequence[Mapping[str, Any]]) -> str:
    """What the rows send, above the table that compares them."""
    first, other = rows[0], rows[-1]
    if first["sends"] == other["sends"]:
        return f"All rows send {other['sends']}."
    text = f"All rows but the first send {other['sends']}; the first sends {first['sends']}."
    whole, part = (row["attack"]["identification_error"]["value"] for row in rows[:2])
    if part > whole:
        text += f" Most of the fall of the risk from '{first['name']}' to '{rows[1]['name']}' comes from sending less."
    return text


def _cells(row: Mapping[str, Any]) -> list[str]:
    mechanism, promise, utility = row["mechanism"], row["guarantee"], row["utility"]
    error = row["attack"]["identification_error"]
    promises, tops = ["nothing", "nothing"], ["", ""]
    if promise is not None:
        promises = [output.percent(promise[name]) for name in ("bayes_error", "list_error")]
    if utility is not None:
        tops = [_relative(utility[top]["relative_error"]) for top in ("top_20", "top_100")]
    return [
        f"{row['name']} *" if row["recommended"] else row["name"],
        output.count(row["events_sent"]),
        "" if mechanism is None else output.number(mechanism["epsilon"]),
        *promises,
        output.percent(error["value"]),
        f"{output.percent(error['low'])} to {output.percent(error['high'])}",
        *tops,
    ]


def _relative(error: float) -> str:
    """A relative error in percent; it has no upper end."""
    return "exact" if error == 0.0 else f"{error * 100:,.{1 if error < 1.0 else 0}f}\N{NO-BREAK SPACE}%"
