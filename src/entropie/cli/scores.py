"""`scores`: bits and errors of a score set that another matcher made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from entropie.cli import output
from entropie.cli.options import COUNT, json_option

if TYPE_CHECKING:
    from entropie.measures.scoreset import ScoreSetMeasures


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--distance", is_flag=True, help="Small scores mean the same person. [large ones do]")
@click.option(
    "--failed",
    type=click.Choice(["refuse", "drop", "keep", "lowest"]),
    default="refuse",
    show_default=True,
    help="What to do with comparisons that failed.",
)
@click.option("--failed-score", type=float, default=-1.0, show_default=True, help="The score that says so.")
@click.option("--set", "matcher", metavar="NAME", help="Which matcher, where a folder holds several.")
@click.option("--seed", type=COUNT, default=0, show_default=True, metavar="S", help="Seed of the bootstrap.")
@json_option
def scores(
    paths: tuple[str, ...],
    distance: bool,
    failed: str,
    failed_score: float,
    matcher: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Measure score sets, biometric or any other: bits, equal-error rate, identification.

    PATHS is a matrix with subject ids in its first row and column (equal ids: same person), two files with
    a list of genuine and a list of impostor scores, or a folder in the layout of NIST BSSR1.

    \b
    entropie scores face.csv
    entropie scores genuine.txt impostor.txt --distance
    """
    from entropie.measures.scoreset import score_measures

    found = score_measures(
        *paths,
        kind="distance" if distance else "similarity",
        failed=failed,  # type: ignore[arg-type]
        failed_score=failed_score,
        matcher=matcher,
        seed=seed,
    )
    if as_json:
        output.print_json(found.to_json())
    else:
        click.echo(scores_text(found))


def scores_text(found: ScoreSetMeasures) -> str:
    """The terminal view of a score set."""
    pse, rate = found.pse, found.eer
    value, low, high = (output.plain_bits(bits) for bits in (pse.value_bits, pse.low_bits, pse.high_bits))
    rows = [
        ["information (PSE)", f"{value} bits", f"{low} to {high}"],
        ["equal-error rate", output.percent(rate.value), f"{output.percent(rate.low)} to {output.percent(rate.high)}"],
    ]
    if found.identification_error is not None:
        error = found.identification_error
        ends = f"{output.percent(error.low)} to {output.percent(error.high)}"
        rows.append([f"wrong person named, of {output.count(found.users)}", output.percent(error.value), ends])
    for point in found.frr_at_far:
        if point.frr is not None:
            ends = f"{output.percent(point.low or 0.0)} to {output.percent(point.high or 0.0)}"
            rows.append(
                [f"rejected when {output.percent(point.far)} of impostors pass", output.percent(point.frr), ends]
            )
    sentence = (
        f"The bits say how far genuine and impostor scores differ, in an unlimited population; with "
        f"{output.count(found.impostors)} impostor scores, values above {output.plain_bits(pse.resolvable_bits)} bits "
        f"cannot be told apart."
    )
    if pse.unmatched_genuine_share > 0.0:
        sentence += (
            f" {output.percent(pse.unmatched_genuine_share)} of genuine scores lie where no impostor does; for them "
            f"the bits are a lower bound."
        )
    if rate.value > 0.5:
        sentence += " Strangers score closer than people themselves: is it --distance, or are the files swapped?"
    return "\n".join(
        [
            f"{output.count(found.targets)} genuine and {output.count(found.impostors)} impostor scores",
            *([f"failed comparisons: {output.count(found.failed_comparisons)}"] if found.failed_comparisons else []),
            "",
            output.table(["measure", "value", "95 % interval"], rows),
            "",
            output.paragraph(sentence),
        ]
    )
