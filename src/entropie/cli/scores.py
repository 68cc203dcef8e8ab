"""`scores`: how well another matcher re-identifies, from its scores alone."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie import words
from entropie.cli import output
from entropie.cli.options import COUNT, FOLDER, NUMBER, Command, memory_option, one_of, option, public_option, viewed
from entropie.errors import InvalidParameter

if TYPE_CHECKING:
    from entropie.measures.det import EqualErrorRate
    from entropie.measures.scoreset import ScoreSetMeasures


@click.command(cls=Command)
@click.argument("paths", nargs=-1, required=True)
@option("--distance", "Input", "A small score means the same person.", is_flag=True)
@option(
    "--failed",
    "Input",
    "Failed comparisons: drop, keep, lowest. [refuse]",
    one_of("refuse", "drop", "keep", "lowest"),
    "HOW",
    default="refuse",
)
@option("--failed-score", "Input", "Score of a failed one. [-1]", NUMBER, "X", default=-1.0)
@option("--set", "Input", "Matcher to use, of several in a folder.", metavar="NAME", to="matcher")
@option("--name", "Input", "What to call the system. [its file]", metavar="NAME")
@option("--system", "Input", "One beside it; lists: NAME=G,I.", metavar="NAME=PATH", to="others", multiple=True)
@option("--out", "Output", "Folder for scores.json and report.html.", FOLDER, "DIR")
@public_option
@option("--seed", "Running", "Seed of the bootstrap. [0]", COUNT, "S", default=0)
@memory_option
@viewed()
def scores(
    paths: tuple[str, ...], distance: bool, name: str | None, others: tuple[str, ...], out: Path | None,
    view: output.View, **options: Any,
) -> None:  # fmt: skip
    """Measure the scores of another matcher, biometric or any other.

    PATHS is one matrix (subject ids in its first row and column), two lists (genuine scores, impostor scores), or a
    folder in the layout of NIST BSSR1.

    \b
    entropie scores face.csv
    entropie scores genuine.txt impostor.txt --distance
    entropie scores face.csv --system finger=finger.csv --out out
    """
    from entropie.atomic import claimed
    from entropie.measures.scoreset import score_measures

    named = _systems(paths, name, others)
    with contextlib.nullcontext() if out is None else claimed(out) as place:
        measured = {
            called: score_measures(*files, kind="distance" if distance else "similarity", **options)
            for called, files in named.items()
        }
        written: tuple[Path, ...] = ()
        if place is not None or len(measured) > 1:
            from entropie.page import Systems

            systems = Systems.of(measured)
            written = () if place is None else systems.write_into(place)
    first = next(iter(measured.values()))
    report = f"\n\nReport: {output.name(written[-1])}" if written else ""
    if len(measured) == 1:
        view.show(first.to_json, lambda: scores_text(first, view.verbose) + report)
    else:
        view.show(systems.to_json, lambda: systems_text(measured) + report)


def _systems(paths: tuple[str, ...], name: str | None, others: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The files of every system by its name, in the order given."""
    found = {Path(paths[0]).stem if name is None else name: paths}
    for one in others:
        called, _, files = one.partition("=")
        if not called or not files:
            raise InvalidParameter.of("system", "NAME=PATH, or NAME=GENUINE,IMPOSTOR for lists", one)
        if called in found:
            raise InvalidParameter(f"Two systems are called {output.name(called)}; give each a name of its own.")
        found[called] = (files,) if Path(files).exists() else tuple(files.split(","))
    if len(found) > 1 or name is not None:
        from entropie.page.scores import check_names

        check_names(found)
    return found


def systems_text(measured: Mapping[str, ScoreSetMeasures]) -> str:
    """Several systems side by side."""
    rows = []
    for called, one in measured.items():
        error, pse, rate = one.identification_error, one.pse_bits, one.equal_error_rate
        bits = f"{'at least ' if pse.at_least else ''}{words.bits(pse.value)}"
        right = "" if error is None else f"{words.percent(error.complement.value)} ({words.interval(error.complement)})"
        rows.append(
            [
                output.name(called),
                right,
                f"{words.percent(rate.value)} ({words.interval(rate)})",
                bits,
            ]
        )
    headers = ["system", "re-identified (95 % CI)", "equal-error (95 % CI)", "bits"]
    notes = (
        "Re-identified: how often the right person has the best score. A difference counts where systems were tried on "
        "the same people. --verbose on one system alone prints all its measures."
    )
    return f"{output.table(headers, rows)}\n\n{output.paragraph(notes)}"


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
