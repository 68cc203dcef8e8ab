"""`attributes`: what a table with one row per person says about who they are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from entropie._version import __version__
from entropie.cli import output
from entropie.cli.options import (
    COUNT,
    FOLDER,
    SHARE,
    Command,
    json_option,
    memory_option,
    option,
    public_option,
    quiet_option,
    verbose_option,
)
from entropie.words import bits, count, interval, listed, percent, plural

if TYPE_CHECKING:
    from entropie.mitigate.attribute_risk import AttributeRisk, ColumnRisk, GroupRisk, Remedy

_SCREEN = 14  # lines of 25 that the frames of two tables, the foot and the name of a file leave
_SHOWN_NOTES, _SHOWN_REMEDIES = 2, 3
_NOT_COVERED = (
    "Not covered: attackers who know other columns or only know these roughly; what else the table then reveals about "
    "a person."
)
_READING = (
    "Re-identified: by an attacker who knows these columns of everybody and picks anybody of those who fit. Unique: "
    "sharing the values with nobody; below 10: with fewer than ten, themselves counted. Population: all those whom "
    "these people are a sample of; there the bits are a little more, because a sample lacks rare values, and there is "
    "no upper end where too many are unique. Adds: bits lost when the column alone is dropped; average: the same over "
    "all orders in which columns become known."
)


@click.command(cls=Command)
@click.argument("table", type=click.Path(path_type=Path))
@option("--columns", required=True, metavar="A,B,C", group="Attacker", help="Columns that an attacker may know.")
@option("--id", "id_column", metavar="C", group="Input", help="Column that holds the person, once each.")
@option("--max-set", type=COUNT, default=3, metavar="N", group="Output", help="Largest set of columns to show. [3]")
@option(
    "--bins",
    multiple=True,
    metavar="C=N",
    group="Mitigation",
    help="Bands to try: age=10 (at most), age=width:5 or age=exact.",
)
@option("--sensitive", multiple=True, metavar="C", group="Attacker", help="Column that an attacker wants to learn.")
@option("--within", multiple=True, metavar="C=W", group="Attacker", help="How near a guess of a number must be.")
@option("--population", metavar="FILE|N", group="Attacker", help="Table of the population, or how many people it has.")
@option(
    "--link", multiple=True, metavar="A,B:C", group="Attacker", help="Column sets of two files to join with this one."
)
@option("--at-risk", type=SHARE, default=0.09, metavar="SHARE", group="Attacker", help="Count records above this. [9%]")
@option("--seed", type=COUNT, default=0, metavar="S", group="Running", help="Seed of everything drawn at random. [0]")
@option("--out", type=FOLDER, metavar="DIR", group="Output", help="Folder for attributes.json.")
@public_option
@memory_option
@json_option
@verbose_option
@quiet_option
def attributes(
    table: Path,
    columns: str,
    id_column: str | None,
    max_set: int,
    bins: tuple[str, ...],
    sensitive: tuple[str, ...],
    within: tuple[str, ...],
    population: str | None,
    link: tuple[str, ...],
    at_risk: float,
    seed: int,
    out: Path | None,
    memory: int | None,
    as_json: bool,
    verbose: bool,
    quiet: bool,
) -> None:
    """Say how much the columns of TABLE reveal about who a person is.

    TABLE has one row per person. Bits and uniqueness of columns and sets of them, what bands would make of numbers,
    and what to drop or coarsen next. Nobody's values are shown.

    \b
    entropie attributes people.csv --id person --columns age,sex,region,income
    """
    from entropie.atomic import claimed, refuse_overwriting
    from entropie.mitigate.attribute_measures import link_of, widths_of
    from entropie.mitigate.attribute_risk import FILE, Made
    from entropie.mitigate.attribute_table import rule_of
    from entropie.mitigate.attributes import attributes as assess

    if out is not None:
        refuse_overwriting([table], [out / FILE])
    names = [name.strip() for name in columns.split(",")]
    rules = dict(rule_of(text) for text in bins)
    attempts = output.Attempts()
    with nullcontext() if out is None else claimed(out):
        with output.stages() as progress:
            result = assess(
                table,
                columns=names,
                id_column=id_column,
                max_set=max_set,
                bins=rules,
                sensitive=sensitive,
                within=widths_of(within),
                population=population,
                link=[link_of(text) for text in link],
                at_risk=at_risk,
                seed=seed,
                memory=memory,
                progress=progress,
            )
        result = replace(result, provenance=Made(__version__, output.command()))
        if out is not None:
            attempts.run(partial(result.write_into, out))
    if as_json:
        output.print_json(result.to_json())
    elif not quiet:
        shown = attributes_text(result, verbose=verbose)
        output.show(shown if out is None else f"{shown}\nAll numbers: {output.name(out / FILE)}")
    attempts.raise_failed()


def attributes_text(result: AttributeRisk, *, verbose: bool = False) -> str:
    """The terminal view of a table of attributes: the risk, what lowers it, and the columns it comes from."""
    name = output.name(result.input.name)
    helping = [remedy for remedy in result.remedies if remedy.success_drop > 0.0]
    notes = [output.paragraph(note) for column in result.columns if (note := _note(column))]
    if not verbose and len(notes) > _SHOWN_NOTES:
        notes[_SHOWN_NOTES - 1 :] = [f"{plural(len(notes) - _SHOWN_NOTES + 1, 'more such column')}: --verbose"]
    head = [
        *(output.paragraph(sentence) for sentence in result.sentences),
        "",
        f"{name}: {plural(result.people, 'person', 'people')}, {plural(len(result.columns), 'column')}",
        *(f"excluded: {plural(rows, 'row')}, {reason}" for reason, rows in result.input.dropped.items()),
        *notes,
        "",
    ]
    room = _SCREEN - sum(line.count("\n") + 1 for line in head)
    if not verbose:
        helping = helping[: max(1, min(_SHOWN_REMEDIES, room - 2))]
    lines = [*head, *(_all_columns(result) if verbose else _main_columns(result, max(2, room - len(helping)))), ""]
    if verbose and len(result.columns) > 1:
        lines += [*_set_table(result), "", *_attacker_table(result), "", output.paragraph(_order_sentence(result)), ""]
    if helping:
        lines += [*_remedy_table(result, helping), ""]
    foot = f"{_reading(result)} {_NOT_COVERED}" if verbose else f"{_NOT_COVERED} More: --verbose"
    return "\n".join([*lines, output.paragraph(foot)])


def _note(column: ColumnRisk) -> str:
    """What a reader must know of a column before its numbers; nothing where it is plain."""
    from entropie.mitigate.attribute_table import BANDS

    if column.identifier:
        other = f" or cut it into bands (--bins {column.name}=10)" if column.kind == "numbers" else ""
        other = " or release its bands alone" if column.bands is not None else other
        return f"{column.name}: different for everybody, an identifier; drop it{other}"
    if column.kind == "codes" and column.values > BANDS:
        cut = f"; if they are numbers: --bins {column.name}=10" if column.can_be_banded else ""
        return f"{column.name}: {count(column.values)} different codes, not cut into bands{cut}"
    return ""


def _main_columns(result: AttributeRisk, most: int) -> list[str]:
    """The most identifying columns, as they stand and in bands."""
    columns = sorted(result.columns, key=lambda column: -column.alone.bits)
    banded = any(column.banded is not None for column in columns)
    rows = [
        [
            column.name,
            count(column.values),
            bits(column.alone.bits),
            percent(column.alone.success),
            *(_band_cells(column)[::2] if banded else []),
        ]
        for column in columns[:most]
    ]
    more = len(columns) - len(rows)
    rest = f" ({plural(more, 'more column')}: --verbose)" if more else ""
    headers = ["column", "values", "bits", "re-identified", *(["in bands of", "re-identified"] if banded else [])]
    return [f"Most identifying columns first, of {bits(result.name_bits)} bits{rest}:", output.table(headers, rows)]


def _all_columns(result: AttributeRisk) -> list[str]:
    """Every column as it stands; what it adds, and what it says in bands."""
    risks = [[column.name, count(column.values), *_risk_cells(column.alone)] for column in result.columns]
    adds = [
        [
            column.name,
            output.plain_bits(column.adds_bits),
            "" if column.average_bits is None else output.plain_bits(column.average_bits),
            *_band_cells(column),
        ]
        for column in result.columns
    ]
    return [
        output.table(["column", "values", *_RISK_HEADERS], risks),
        "",
        output.table(["column", "adds bits", "average bits", "in bands of", "bits", "re-identified"], adds),
    ]


def _band_cells(column: ColumnRisk) -> list[str]:
    from entropie.mitigate.attribute_risk import width_text

    if column.banded is None or column.band_width is None:
        return ["", "", ""]
    return [width_text(column.band_width), output.plain_bits(column.banded.bits), percent(column.banded.success)]


_RISK_HEADERS = ["bits", "population", "re-identified", "unique", "below 10"]


def _risk_cells(risk: GroupRisk) -> list[str]:
    high = "?" if risk.bits_high is None else output.plain_bits(risk.bits_high)
    return [
        output.plain_bits(risk.bits),
        f"{output.plain_bits(risk.bits_low)} to {high}",
        percent(risk.success),
        percent(risk.unique_share),
        percent(risk.small_share),
    ]


def _set_table(result: AttributeRisk) -> list[str]:
    """The riskiest set of every size, and all columns."""
    by_size: dict[int, list[GroupRisk]] = {}
    for risk in (*result.sets, result.together):
        by_size.setdefault(len(risk.columns), []).append(risk)
    riskiest = [max(risks, key=lambda risk: (risk.success, risk.bits)) for risks in by_size.values()]
    rows = [[listed(risk.columns), *_risk_cells(risk)] for risk in riskiest]
    return ["Riskiest set of each size:", output.table(["columns", *_RISK_HEADERS], rows)]


def _attacker_table(result: AttributeRisk) -> list[str]:
    """What some random columns give away."""
    rows = [
        [row.knows, f"{percent(row.reidentified.value)} ({interval(row.reidentified)})", percent(row.unicity.value)]
        for row in result.attackers
    ]
    return [
        "Some columns known, whichever they are:",
        output.table(["attacker knows", "re-identified", "unique"], rows),
    ]


def _order_sentence(result: AttributeRisk) -> str:
    steps = [f"{step.column} (+{output.plain_bits(step.adds_bits)} bits)" for step in result.greedy]
    return f"Most identifying order: {', then '.join(steps)}."


def _remedy_table(result: AttributeRisk, remedies: Sequence[Remedy]) -> list[str]:
    before = [
        *(["without identifiers"] if result.without_identifiers is not None else []),
        *(["in bands"] if result.banded is not None else []),
    ]
    start = f"Once {listed(before)} ({percent(result.start.success)})" if before else "To lower the risk"
    rows = [
        [
            f"{remedy.column}: {remedy.how}",
            percent(remedy.success),
            percent(remedy.unique_share),
            output.plain_bits(remedy.bits_given_up),
        ]
        for remedy in remedies
    ]
    headers = ["next step", "re-identified", "unique", "bits lost"]
    return [f"{start}, most risk removed per bit lost first:", output.table(headers, rows)]


def _reading(result: AttributeRisk) -> str:
    return (
        f"Bits: what is known about who a person is, exact for these people; {output.plain_bits(result.name_bits)} "
        f"identify anybody here. {_READING}"
    )
