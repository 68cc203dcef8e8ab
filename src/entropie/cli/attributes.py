"""`attributes`: what a table with one row per person tells about who they are."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie.cli import output
from entropie.cli.options import COUNT, FILE, json_option

if TYPE_CHECKING:
    from entropie.mitigate.attributes import AttributeRisk, ColumnRisk, GroupRisk, Remedy

_SHOWN_REMEDIES = 6


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--columns", required=True, metavar="A,B,C", help="Columns that an attacker may know.")
@click.option(
    "--id", "id_column", metavar="C", help="Column that holds the person; checked to be different in each row."
)
@click.option(
    "--max-set", type=COUNT, default=3, show_default=True, metavar="N", help="Largest set of columns to show."
)
@click.option(
    "--bins",
    multiple=True,
    metavar="C=N",
    help="Bands to try as a remedy: at most N (age=10), of a width (age=width:5) or none (age=exact). May be repeated. "
    "[20 bands where there are more than 20 different numbers, none for codes and identifiers]",
)
@click.option("--out", type=FILE, metavar="FILE", help="Also write the JSON document to this file.")
@json_option
def attributes(
    table: Path,
    columns: str,
    id_column: str | None,
    max_set: int,
    bins: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Say how much the columns of TABLE tell about who a person is; one row per person, CSV or Parquet.

    Bits of every column and of sets of columns as they stand, how many people are alone with their combination, what
    each column adds, what bands would make of it, and what to leave out or coarsen next. No value of anybody is shown.

    \b
    entropie attributes people.csv --id person --columns age,sex,region,income
    """
    from entropie.atomic import refuse_overwriting, replacing
    from entropie.mitigate.attribute_table import rule_of
    from entropie.mitigate.attributes import attributes as run

    refuse_overwriting([table], [out])
    names = [name.strip() for name in columns.split(",")]
    with output.progress_bar("reading") as bar:
        tell = None if bar is None else lambda stage, share: bar(share, stage if share == 0.0 else None)
        found = run(
            table,
            columns=names,
            id_column=id_column,
            max_set=max_set,
            bins=dict(rule_of(text) for text in bins),
            progress=tell,
        )
    document = found.to_json()
    document["provenance"]["command"] = shlex.join(["entropie", *sys.argv[1:]])
    if out is not None:
        with replacing(out) as hidden:
            hidden.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if as_json:
        output.print_json(document)
    else:
        click.echo(attributes_text(found))
        if out is not None:
            click.echo(f"\nAll numbers: {out}")


def attributes_text(found: AttributeRisk) -> str:
    """The terminal view of a table of attributes."""
    lines = [
        f"{found.name}: {output.count(found.people)} people, {_columns(len(found.columns))}",
        *[f"left out: {output.count(rows)} rows, {reason}" for reason, rows in found.dropped.items()],
        *[note for column in found.columns if (note := _note(column))],
        "",
        *[line for text in _headline(found) for line in (output.paragraph(text), "")],
        output.table(*_column_table(found)),
        "",
        output.paragraph(_bits_sentence(found)),
    ]
    if len(found.columns) > 1:
        lines += ["", output.table(*_set_table(found)), "", output.paragraph(_order_sentence(found))]
    lines += ["", output.table(*_remedy_table(found)), "", output.paragraph(_LIMITS)]
    return "\n".join(lines)


_LIMITS = (
    "Named: people whom an attacker who knows these columns of everybody names rightly, picking anybody of those who "
    "fit. Below 10: people who share their values with fewer than ten, themselves counted. This does not show "
    "attackers who know other columns or only know them roughly, nor what the other columns of the table then tell "
    "about a person."
)


def _columns(number: int) -> str:
    return "1 column" if number == 1 else f"{number} columns"


def _note(column: ColumnRisk) -> str:
    """What a reader must know of a column before its numbers; nothing where it is plain."""
    from entropie.mitigate.attribute_table import BANDS

    if column.identifier:
        other = f" or cut it into bands (--bins {column.name}=10)" if column.kind == "numbers" else ""
        other = " or release its bands alone" if column.bands is not None else other
        return f"{column.name}: different for everybody, an identifier; leave it out{other}"
    if column.kind == "codes" and column.values > BANDS:
        cut = f"; if they are numbers: --bins {column.name}=10"
        return f"{column.name}: {output.count(column.values)} different codes, not cut into bands{cut}"
    return ""


def _width(width: float) -> str:
    return f"{width:,.0f}" if width >= 1.0 and width == round(width) else f"{width:g}"


def _headline(found: AttributeRisk) -> list[str]:
    """The risk of the table as it stands, then what is left of it without identifiers and in bands."""
    risk = found.together
    first = (
        f"An attacker who knows {_listed(risk.columns)} of everybody, as they stand in the table, names "
        f"{output.percent(risk.success)} of these {output.count(found.people)} people; guessing names "
        f"{output.percent(1.0 / found.people)}. {_shares(risk)}."
    )
    texts = [first]
    plain = [column.name for column in found.columns if column.identifier and column.name not in found.start.columns]
    if found.without_identifiers is not None:
        rest = found.without_identifiers
        texts.append(
            f"Without {_listed(plain)}, different for everybody: {output.percent(rest.success)} are named by "
            f"{_listed(rest.columns)}. {_shares(rest)}."
        )
    if found.banded is not None:
        cut = [
            f"{_width(column.band_width)} ({column.name})" for column in found.columns if column.band_width is not None
        ]
        better = found.banded.success < (found.without_identifiers or risk).success
        texts.append(
            f"In bands of {_listed(cut)}: {output.percent(found.banded.success)} are named. {_shares(found.banded)}. "
            + ("Release the bands, not the numbers." if better else "These bands do not help.")
        )
    return texts


def _shares(risk: GroupRisk) -> str:
    return (
        f"{output.percent(risk.unique_share)} are alone with their values and {output.percent(risk.small_share)} share "
        "them with fewer than ten"
    )


def _bits_sentence(found: AttributeRisk) -> str:
    name, people = output.plain_bits(found.name_bits), output.count(found.people)
    return (
        f"Bits say how much is known about who a person is; {name} bits name anybody here, and {people} people cannot "
        f"show more. They are exact for these people. The population is all those whom these people are a sample of: "
        f"there the bits are a little more, because rare values are missing from a sample, and no upper end can be "
        f"given where too many are alone. Adds: bits that are lost when the column alone is left out; average: the "
        f"same over all orders in which columns become known."
    )


def _order_sentence(found: AttributeRisk) -> str:
    steps = [f"{step.column} (+{output.plain_bits(step.adds_bits)} bits)" for step in found.greedy]
    return f"Most telling first: {', then '.join(steps)}."


def _column_table(found: AttributeRisk) -> tuple[list[str], list[list[str]]]:
    """Every column as it stands and, where bands are proposed, in them."""
    headers = ["column", "values", "bits", "population, 95 %", "named", "alone", "below 10", "adds", "average"]
    banded = any(column.banded is not None for column in found.columns)
    rows = [
        [
            column.name,
            output.count(column.values),
            *_risk_cells(column.alone),
            output.plain_bits(column.adds_bits),
            "" if column.average_bits is None else output.plain_bits(column.average_bits),
            *(_band_cells(column) if banded else []),
        ]
        for column in found.columns
    ]
    return headers + (["in bands of", "bits", "named"] if banded else []), rows


def _band_cells(column: ColumnRisk) -> list[str]:
    if column.banded is None or column.band_width is None:
        return ["", "", ""]
    return [_width(column.band_width), output.plain_bits(column.banded.bits), output.percent(column.banded.success)]


def _risk_cells(risk: GroupRisk) -> list[str]:
    high = "?" if risk.bits_high is None else output.plain_bits(risk.bits_high)
    return [
        output.plain_bits(risk.bits),
        f"{output.plain_bits(risk.bits_low)} to {high}",
        output.percent(risk.success),
        output.percent(risk.unique_share),
        output.percent(risk.small_share),
    ]


def _set_table(found: AttributeRisk) -> tuple[list[str], list[list[str]]]:
    """The riskiest set of every size, and all columns."""
    headers = ["riskiest set of its size", "bits", "population, 95 %", "named", "alone", "below 10", "smallest group"]
    by_size: dict[int, list[GroupRisk]] = {}
    for risk in (*found.sets, found.together):
        by_size.setdefault(len(risk.columns), []).append(risk)
    rows = []
    for risks in by_size.values():
        risk = max(risks, key=lambda tried: (tried.success, tried.bits))
        rows.append([_listed(risk.columns), *_risk_cells(risk), output.count(risk.smallest_group)])
    return headers, rows


def _remedy_table(found: AttributeRisk) -> tuple[list[str], list[list[str]]]:
    coarser = [
        *(["without identifiers"] if found.without_identifiers is not None else []),
        *(["in bands"] if found.banded is not None else []),
    ]
    what = f"once {_listed(coarser)}, cheapest first" if coarser else "to lower the risk, cheapest first"
    headers = [what, "bits given up", "named then", "alone then", "fewer named per bit"]
    return headers, [_remedy_row(remedy) for remedy in found.remedies[:_SHOWN_REMEDIES]]


def _remedy_row(remedy: Remedy) -> list[str]:
    return [
        f"{remedy.column}: {remedy.how}",
        output.plain_bits(remedy.bits_given_up),
        output.percent(remedy.success),
        output.percent(remedy.unique_share),
        "" if remedy.drop_per_bit is None else output.percent(max(0.0, remedy.drop_per_bit)),
    ]


def _listed(names: Any) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else str(last)
