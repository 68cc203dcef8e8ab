"""The gate on the command line: options for `assess` and `demo`, the verdict in the terminal, and `compare`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie.cli import output
from entropie.cli.options import COUNT, FILE, json_option
from entropie.gate.profiles import PROFILES

if TYPE_CHECKING:
    from entropie.gate.comparison import Comparison, Side
    from entropie.gate.judge import Gate

_NAMES = (
    "profile", "limit", "limit_name", "fail_on", "waiver", "attacker", "population", "context",
    "attempt_probability", "review_date", "metrics",
)  # fmt: skip


def gate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the gate's options to a command, which gets them as one argument `gate`, checked."""

    @functools.wraps(command)
    def with_gate(*args: Any, **values: Any) -> Any:
        gate = read_gate(**{name: values.pop(name) for name in _NAMES})
        return command(*args, gate=gate, **values)

    decorated: Callable[..., Any] = with_gate
    for option in reversed(_options()):
        decorated = option(decorated)
    return decorated


def _options() -> list[Callable[[Callable[..., Any]], Callable[..., Any]]]:
    return [
        click.option(
            "--profile",
            type=click.Choice(list(PROFILES), case_sensitive=False),
            help="Judge the risk against this limit.",
        ),
        click.option("--limit", type=float, metavar="SHARE", help="Judge it against a limit of your own, such as 0.1."),
        click.option("--limit-name", metavar="TEXT", help="Where the limit of your own comes from."),
        click.option(
            "--fail-on",
            type=click.Choice(["average", "worst"]),
            help="Judge the average over the people assessed, or the most exposed. [what the profile speaks of]",
        ),
        click.option("--waiver", type=FILE, metavar="FILE", help="Waiver for a limit that is not met (TOML)."),
        click.option("--attacker", metavar="TEXT", help="Declare who might try."),
        click.option("--population", type=COUNT, metavar="N", help="Declare how many people there are to tell apart."),
        click.option("--context", metavar="TEXT", help="Declare how the data are released."),
        click.option("--attempt-probability", type=float, metavar="P", help="Declare how likely an attempt is."),
        click.option("--review-date", metavar="DATE", help="When to look again. [in one year, or when a waiver ends]"),
        click.option("--metrics", type=FILE, metavar="FILE", help="Also write the numbers for Prometheus."),
    ]  # fmt: skip


def read_gate(*, metrics: Path | None, review_date: str | None, **limits: Any) -> tuple[Gate, Path | None]:
    """Read and check the gate's options and files."""
    from entropie.atomic import refuse_overwriting
    from entropie.errors import InvalidInput
    from entropie.gate.judge import Gate
    from entropie.request import Limits, converted

    refuse_overwriting([limits["waiver"]], [metrics])
    if metrics is not None and not metrics.parent.is_dir():
        raise InvalidInput(f"Output {metrics} cannot be written: the folder {metrics.parent} does not exist.")
    review = None if review_date is None else converted("review_date", "date", review_date)
    return Gate.of(Limits(review_date=review, **limits)), metrics


def apply_gate(document: dict[str, Any], gate: tuple[Gate, Path | None]) -> tuple[dict[str, Any], int]:
    """The document with declarations, verdict and review date, and the exit code; writes the metrics asked for."""
    from entropie.gate.judge import exit_code
    from entropie.gate.metrics import write_metrics

    held, metrics = gate
    judged = held.applied(document)
    if metrics is not None:
        write_metrics(metrics, judged)
    return judged, exit_code(judged["verdict"])


def verdict_text(document: dict[str, Any]) -> str:
    """The verdict as a paragraph for the terminal; without a profile, a sentence that there is none."""
    verdict = document["verdict"]
    if verdict is None:
        return "No verdict: no limit was named (--profile)."
    lines = [verdict["headline"], verdict["sentence"], *verdict["rests_on"]]
    source = f"Source of the limit: {verdict['profile']['source']}."
    return "\n".join([*map(output.paragraph, [*lines, source]), f"Review by {document['review']['date']}."])


@click.command()
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@click.option(
    "--tolerance-error",
    type=float,
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="Accept so many more people re-identified, as a share of those assessed.",
)
@click.option(
    "--strict", is_flag=True, help="Exit with 3 where the interval does not tell, or the two cannot be compared. [0]"
)
@json_option
def compare(old: Path, new: Path, tolerance_error: float, strict: bool, as_json: bool) -> int:
    """Compare two assessments: did the risk rise from OLD to NEW, both files assessment.json?

    Exit code 1 means that it has: the whole 95 % interval of the difference is above the tolerance. Different attacks
    (another rule, other knowledge) are not comparable: then the exit code is 0, or 3 with --strict.

    \b
    entropie compare last-month/assessment.json this-month/assessment.json
    """
    from entropie.document import read
    from entropie.gate.comparison import compare as compare_documents

    found = compare_documents(read(old), read(new), tolerance_error)
    if as_json:
        output.print_json(found.to_json())
    else:
        click.echo(comparison_text(found))
    return found.exit_code(strict)


def comparison_text(found: Comparison) -> str:
    """The terminal view of a comparison."""
    risk, bits = found.risk_difference, found.pse_bits_difference
    rows = [
        [
            "re-identified",
            output.percent(found.old.risk.value),
            output.percent(found.new.risk.value),
            f"{_signed(risk.value * 100)} points",
            f"{_signed(risk.low * 100)} to {_signed(risk.high * 100)}, {found.risk_level}",
        ],
        [
            "bits of the scores",
            _score_bits(found.old),
            _score_bits(found.new),
            "cannot be told" if bits is None else f"{_signed(bits.value)} bits",
            "" if bits is None else f"{_signed(bits.low)} to {_signed(bits.high)}, 95 %",
        ],
        [
            "bits of one event",
            output.plain_bits(found.old.pie_bits),
            output.plain_bits(found.new.pie_bits),
            f"{_signed(found.pie_bits_difference)} bits",
            "exact",
        ],
    ]
    lines = [_side_line("old", found.old), _side_line("new", found.new), ""]
    if found.warnings:
        lines += ["Before you rely on this:", *(output.paragraph(f"- {warning}") for warning in found.warnings), ""]
    lines += [output.paragraph(found.sentence), ""]
    lines += [output.table(["", "old", "new", "difference", "interval"], rows), ""]
    lines += [output.paragraph(found.assumption)]
    return "\n".join(lines)


def _side_line(name: str, side: Side) -> str:
    day = f", {side.date[:10]}" if side.date else ""
    source = Path(side.source).name if side.source else "unnamed"
    people, events = output.count(side.users), output.count(side.events)
    return f"{name}: {source}{day}: {people} people, {events} events, strongest matcher {side.matcher}"


def _score_bits(side: Side) -> str:
    """Bits of the scores; what is more than the data can show has no digits."""
    return f"{'over ' if side.pse_bits_over else ''}{output.plain_bits(side.pse_bits.value)}"


def _signed(number: float) -> str:
    """Two decimals with a sign; never -0.00."""
    return f"{round(number, 2) + 0.0:+.2f}"
