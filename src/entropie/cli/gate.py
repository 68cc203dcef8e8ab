"""The gate on the command line: options for `assess` and `demo`, the verdict in the terminal, and `compare`."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie.cli import output
from entropie.cli.options import COUNT, FILE, json_option
from entropie.gate.profiles import OWN, PROFILES

if TYPE_CHECKING:
    from entropie.gate.comparison import Comparison, Side
    from entropie.gate.declared import Declared
    from entropie.gate.profiles import Measure, Profile
    from entropie.gate.waiver import Waiver

_NAMES = (
    "profile", "limit", "limit_name", "fail_on", "waiver", "declared", "attacker", "population", "context",
    "attempt_probability", "review_date", "metrics",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate's options, read and checked before any work begins."""

    profile: Profile | None
    measure: Measure | None
    declared: Declared
    waiver: Waiver | None
    review: datetime.date | None
    metrics: Path | None


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
        click.option("--profile", type=click.Choice(list(PROFILES)), help="Judge the risk against this limit."),
        click.option("--limit", type=float, metavar="SHARE", help="Judge it against a limit of your own, such as 0.1."),
        click.option("--limit-name", metavar="TEXT", help="Where the limit of your own comes from."),
        click.option(
            "--fail-on",
            type=click.Choice(["average", "worst"]),
            help="Judge the average over the people assessed, or the most exposed. [what the profile speaks of]",
        ),
        click.option("--waiver", type=FILE, metavar="FILE", help="Waiver for a limit that is not met (TOML)."),
        click.option("--declared", type=FILE, metavar="FILE", help="The four declarations below in a file (TOML)."),
        click.option("--attacker", metavar="TEXT", help="Declare who might try."),
        click.option("--population", type=COUNT, metavar="N", help="Declare how many people there are to tell apart."),
        click.option("--context", metavar="TEXT", help="Declare how the data are released."),
        click.option("--attempt-probability", type=float, metavar="P", help="Declare how likely an attempt is."),
        click.option("--review-date", metavar="DATE", help="When to look again. [in one year, or when a waiver ends]"),
        click.option("--metrics", type=FILE, metavar="FILE", help="Also write the numbers for Prometheus."),
    ]  # fmt: skip


def read_gate(
    *,
    profile: str | None,
    limit: float | None,
    limit_name: str | None,
    fail_on: Measure | None,
    waiver: Path | None,
    declared: Path | None,
    review_date: str | None,
    metrics: Path | None,
    **statements: Any,
) -> Gate:
    """Read and check the gate's options and files."""
    from entropie.atomic import refuse_overwriting
    from entropie.errors import InvalidInput, InvalidParameter
    from entropie.gate.declared import NOTHING_DECLARED, read_declared
    from entropie.gate.review import parse_date
    from entropie.gate.waiver import read_waiver

    held = _profile(profile, limit, limit_name, fail_on)
    if held is None and (waiver is not None or fail_on is not None):
        raise InvalidParameter("Options --fail-on and --waiver need a limit: name one with --profile or --limit.")
    refuse_overwriting([waiver, declared], [metrics])
    if metrics is not None and not metrics.parent.is_dir():
        raise InvalidInput(f"Output {metrics} cannot be written: the folder {metrics.parent} does not exist.")
    stated = NOTHING_DECLARED if declared is None else read_declared(declared)
    return Gate(
        profile=held,
        measure=fail_on,
        declared=stated.updated(**statements),
        waiver=None if waiver is None else read_waiver(waiver),
        review=None if review_date is None else parse_date("--review-date", review_date),
        metrics=metrics,
    )


def _profile(name: str | None, limit: float | None, title: str | None, measure: Measure | None) -> Profile | None:
    from entropie.errors import InvalidParameter
    from entropie.gate.profiles import own_profile, profile_named

    if name is not None and (limit is not None or title is not None):
        raise InvalidParameter("Give either --profile or --limit with --limit-name, not both.")
    if name is not None:
        return profile_named(name)
    if limit is None and title is None:
        return None
    if limit is None or title is None:
        raise InvalidParameter(
            "A limit of your own needs both --limit and --limit-name: a report must name its source."
        )
    if measure is None:
        raise InvalidParameter("A limit of your own needs --fail-on average or worst: say which risk it is for.")
    return own_profile(limit, title, measure)


def apply_gate(document: dict[str, Any], gate: Gate) -> tuple[dict[str, Any], int]:
    """The document with declarations, verdict and review date, and the exit code; writes the metrics asked for."""
    from entropie.gate.metrics import write_metrics
    from entropie.gate.review import review_date
    from entropie.gate.verdict import judge

    today = datetime.datetime.now(datetime.UTC).date()
    gate.declared.check_population(max(document["users"], document["input"].get("users", 0)))
    verdict = None
    if gate.profile is not None:
        verdict = judge(document, gate.profile, gate.measure, gate.declared, gate.waiver, today=today)
    waived_until = gate.waiver.expires if verdict is not None and verdict.waived and gate.waiver is not None else None
    judged = {
        **document,
        "declared": gate.declared.to_json(),
        "verdict": None if verdict is None else verdict.to_json(),
        "review": {"date": review_date(document, gate.review, today, waived_until).isoformat()},
    }
    if gate.metrics is not None:
        write_metrics(gate.metrics, judged)
    return judged, 0 if verdict is None else verdict.exit_code


def verdict_text(document: dict[str, Any]) -> str:
    """The verdict as a paragraph for the terminal; without a profile, a sentence that there is none."""
    verdict = document["verdict"]
    if verdict is None:
        return "No verdict: no limit was named (--profile)."
    profile = verdict["profile"]
    limit = f"{profile['title']} (own limit)" if profile["name"] == OWN else profile["name"]
    waived = verdict["waiver"] is not None and verdict["waiver"]["applies"]
    head = f"Verdict: {verdict['decision']}{', waived until ' + verdict['waiver']['expires'] if waived else ''}"
    sentence = verdict["sentence"].removeprefix(verdict["decision"]).removeprefix(":").lstrip()
    return "\n".join(
        [
            head,
            output.paragraph(sentence[0].upper() + sentence[1:]),
            output.paragraph(f"Limit: {limit}. Source: {profile['source']}."),
            f"Review by {document['review']['date']}.",
        ]
    )


@click.command()
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@click.option(
    "--tolerance-error",
    type=float,
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="Put up with so many more people named rightly, as a share of those assessed.",
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
    from entropie.gate.comparison import compare as compare_documents
    from entropie.gate.documents import read_assessment

    found = compare_documents(read_assessment(old), read_assessment(new), tolerance_error)
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
            "named rightly",
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
