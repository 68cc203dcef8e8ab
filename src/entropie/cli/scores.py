"""`scores`: how well another matcher re-identifies, from its scores alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from entropie import words
from entropie.cli import output
from entropie.cli.options import COUNT, Command, json_option, memory_option, option, quiet_option, verbose_option

if TYPE_CHECKING:
    from entropie.measures.det import EqualErrorRate
    from entropie.measures.scoreset import ScoreSetMeasures


@click.command(cls=Command)
@click.argument("paths", nargs=-1, required=True)
@option("--distance", is_flag=True, group="Input", help="A small score means the same person.")
@option(
    "--failed",
    type=click.Choice(["refuse", "drop", "keep", "lowest"]),
    default="refuse",
    group="Input",
    help="Failed comparisons. [refuse]",
)
@option("--failed-score", type=float, default=-1.0, metavar="X", group="Input", help="Score of a failed one. [-1]")
@option("--set", "matcher", metavar="NAME", group="Input", help="Matcher to use, of several in a folder.")
@option("--seed", type=COUNT, default=0, metavar="S", group="Running", help="Seed of the bootstrap. [0]")
@memory_option
@verbose_option
@quiet_option
@json_option
def scores(
    paths: tuple[str, ...],
    distance: bool,
    failed: str,
    failed_score: float,
    matcher: str | None,
    seed: int,
    memory: int | None,
    verbose: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Measure the scores of another matcher, biometric or any other.

    PATHS is one matrix (subject ids in its first row and column), two lists (genuine scores, impostor scores), or a
    folder in the layout of NIST BSSR1.

    \b
    entropie scores face.csv
    entropie scores genuine.txt impostor.txt --distance
    """
    from entropie.measures.scoreset import score_measures

    measures = score_measures(
        *paths,
        kind="distance" if distance else "similarity",
        failed=failed,  # type: ignore[arg-type]
        failed_score=failed_score,
        matcher=matcher,
        seed=seed,
        memory=memory,
    )
    if as_json:
        output.print_json(measures.to_json())
    elif not quiet:
        output.show(scores_text(measures, verbose))


def scores_text(measures: ScoreSetMeasures, verbose: bool = False) -> str:
    """The terminal view of a score set: how many are re-identified, then the measures with their intervals."""
    parts = [
        output.paragraph(_headline(measures)),
        _counts(measures),
        output.table(["measure", "value", "95 % CI"], _rows(measures, verbose)),
        output.paragraph(_reading(measures)),
    ]
    if measures.equal_error_rate.value > 0.5:
        hint = "Impostors score better than genuine pairs: add --distance, or swap the two files."
        parts.insert(1, output.paragraph(hint))
    return "\n\n".join(parts)


def _headline(measures: ScoreSetMeasures) -> str:
    error, rate = measures.identification_error, measures.equal_error_rate
    if error is None:
        return f"Equal-error rate: {words.percent(rate.value)} (95 % CI {words.interval(rate)})."
    right = error.complement
    return (
        f"{words.percent(right.value)} of {words.plural(measures.users, 'person', 'people')} were re-identified "
        f"(95 % CI {words.interval(right)}; by chance: {words.percent(1.0 / measures.users)})."
    )


def _counts(measures: ScoreSetMeasures) -> str:
    line = f"{words.count(measures.targets)} genuine and {words.count(measures.impostors)} impostor scores"
    if measures.failed_comparisons:
        line += f", failed comparisons: {words.count(measures.failed_comparisons)}"
    return line


def _rows(measures: ScoreSetMeasures, verbose: bool) -> list[list[str]]:
    from entropie.measures.intervals import Interval

    pse, error = measures.pse_bits, measures.identification_error

    def shares(label: str, ends: Interval | EqualErrorRate) -> list[str]:
        if verbose:
            return [label, f"{ends.value:.6g}", f"{ends.low:.6g} to {ends.high:.6g}"]
        return [label, words.percent(ends.value), words.interval(ends)]

    shown = (lambda value: f"{value:.6g}") if verbose else words.bits
    ends = f"at least {shown(pse.low)}" if pse.at_least else f"{shown(pse.low)} to {shown(pse.high)}"
    rows = [["bits (PSE)", shown(pse.value), ends]]
    rows.append(shares("equal-error rate", measures.equal_error_rate))
    if error is not None:
        rows.append(shares("not re-identified", error))
    rows += [
        shares(
            f"rejected when {words.percent(point.far)} of impostors pass",
            Interval(point.frr, point.low or 0.0, point.high or 0.0),
        )
        for point in measures.frr_at_far
        if point.frr is not None
    ]
    return rows


def _reading(measures: ScoreSetMeasures) -> str:
    """What the bits mean and how far they can be trusted."""
    pse = measures.pse_bits
    text = (
        f"Bits say how far genuine and impostor scores differ; {words.count(measures.impostors)} impostor scores "
        f"resolve up to {words.bits(pse.resolvable)} bits."
    )
    if pse.unmatched_genuine_share > 0.0:
        text += (
            f" {words.percent(pse.unmatched_genuine_share)} of genuine scores lie where no impostor does: there may be "
            "more bits than these scores can show."
        )
    return text
