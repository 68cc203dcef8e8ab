"""`sweep`: how far the risk falls, and at what cost, as items, times and events are made coarser or fewer."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie.cli import output
from entropie.cli.options import COUNT, json_option
from entropie.cli.windows import shown_bits
from entropie.spreadsheet import safe_cell

if TYPE_CHECKING:
    from entropie.mitigate.lever import Lever
    from entropie.mitigate.sweep import Sweep, SweepRow

_FOLDER = click.Path(file_okay=False, path_type=Path)
_NAMES = {
    "top": "top items",
    "category": "column",
    "grid": "map cells",
    "prefix": "first characters",
    "time": "time to the",
    "first": "first events",
    "last": "last events",
    "thin": "thinned to",
}


class ListOf(click.ParamType[tuple[Any, ...]]):
    """Several values with commas between them: 10,100,1000."""

    name = "list"

    def __init__(self, convert: Callable[[str], Any], rule: str) -> None:
        self._convert = convert
        self._rule = rule

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        """Read every value, or say what it should be."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self._convert(part.strip()) for part in value.split(","))
        except (ValueError, click.BadParameter):
            return self.fail(f"{value!r} is not a list of {self._rule}.", param, ctx)


def _whole(text: str) -> int:
    return int(COUNT.convert(text, None, None))


def _text(text: str) -> str:
    if not text:
        raise ValueError
    return text


_NUMBERS = ListOf(_whole, "whole numbers with commas between them")
_SHARES = ListOf(float, "shares with commas between them, such as 0.5,0.1")
_SIZES = ListOf(_text, "sizes with commas between them, such as 500m,2km")
_UNITS = ListOf(_text, "units with commas between them, such as hour,day,week")


@click.command()
@click.argument("events")
@click.option("--user", metavar="C", help="Column that holds the person.")
@click.option("--item", metavar="C", help="Column that holds the item.")
@click.option("--time", metavar="C", help="Column that holds the time. Without one, rows are in order.")
@click.option("--rating", metavar="C", help="Column that holds a rating, for --min-rating.")
@click.option("--min-rating", type=float, metavar="R", help="Leave out rows with a lower rating.")
@click.option("--preset", metavar="NAME", help="A published data set: its columns and rules.")
@click.option("--top", type=_NUMBERS, default=(), metavar="N,...", help="Keep the N most frequent items, merge others.")
@click.option("--category", multiple=True, metavar="C", help="Column to release instead of the item. May be repeated.")
@click.option("--grid", type=_SIZES, default=(), metavar="SIZE,...", help="Release map cells of this size, as 500m.")
@click.option("--lat", "latitude", metavar="C", help="Column that holds the latitude, for --grid.")
@click.option("--lon", "longitude", metavar="C", help="Column that holds the longitude, for --grid.")
@click.option("--prefix", type=_NUMBERS, default=(), metavar="N,...", help="Release the item's first N characters.")
@click.option("--time-unit", type=_UNITS, default=(), metavar="U,...", help="Round times to the hour, day or week.")
@click.option("--first", type=_NUMBERS, default=(), metavar="N,...", help="Release each person's first N events only.")
@click.option("--last", type=_NUMBERS, default=(), metavar="N,...", help="Release each person's last N events only.")
@click.option("--thin", type=_SHARES, default=(), metavar="P,...", help="Release each event with probability P.")
@click.option(
    "--min-events", type=COUNT, default=10, show_default=True, metavar="N", help="Leave out people with fewer."
)
@click.option("--sample", type=COUNT, metavar="N", help="Attack so many people, chosen by a hash of their id.")
@click.option("--max-dirty-share", type=float, default=0.01, show_default=True, help="Unusable rows to put up with.")
@click.option("--memory", "memory_limit", metavar="SIZE", help="Memory for reading, such as 4GB.")
@click.option("--seed", type=COUNT, default=0, show_default=True, metavar="S", help="Seed of thinning and bootstrap.")
@click.option("--threads", type=COUNT, metavar="N", help="Threads to use. [all cores]")
@click.option("--out", type=_FOLDER, metavar="DIR", help="Folder for sweep.json and sweep.csv. [none is written]")
@json_option
def sweep(
    events: str,
    top: tuple[int, ...],
    category: tuple[str, ...],
    grid: tuple[str, ...],
    prefix: tuple[int, ...],
    time_unit: tuple[str, ...],
    first: tuple[int, ...],
    last: tuple[int, ...],
    thin: tuple[float, ...],
    out: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Say what to coarsen first: risk and cost as the items, times and events of EVENTS get fewer.

    Each lever is pulled alone, and the people are attacked again. With no lever named, those that apply are tried:
    the most frequent items, rounded times, fewer events; map cells where --lat and --lon are named.

    \b
    entropie sweep checkins.parquet --user user --item venue --time time --category kind --thin 0.5,0.1
    """
    from entropie.errors import InvalidInput
    from entropie.mitigate.lever import Lever
    from entropie.mitigate.sweep import sweep as run

    if not events:
        raise InvalidInput("The name of the events is empty; give a file, a folder or a pattern.")
    settings: dict[str, tuple[Any, ...]] = {
        "top": top, "category": category, "grid": grid, "prefix": prefix, "time": time_unit,
        "first": first, "last": last, "thin": thin,
    }  # fmt: skip
    levers = [Lever(kind, value) for kind, values in settings.items() for value in values]  # type: ignore[arg-type]
    files = _files(events, out)
    with output.stages() as progress:
        found = run(events, levers or None, progress=progress, **options)
    command = shlex.join(["entropie", *sys.argv[1:]])
    found = dataclasses.replace(found, provenance={**found.provenance, "command": command})
    document = found.to_json()
    if out is not None:
        _write(files, document, found)
    if as_json:
        output.print_json(document)
    else:
        click.echo(sweep_text(found, Path(events).name or events))
        if out is not None:
            click.echo(f"\nAll numbers: {files[0]}")


def _files(events: str, out: Path | None) -> tuple[Path, ...]:
    """Where results go; refuses a place that cannot be written to before time is spent."""
    from entropie.atomic import refuse_overwriting

    if out is None:
        return ()
    from entropie.atomic import check_folder

    check_folder(out)
    files = (out / "sweep.json", out / "sweep.csv")
    refuse_overwriting([Path(events)], files)
    return files


def _write(files: tuple[Path, ...], document: dict[str, Any], found: Sweep) -> None:
    from entropie.atomic import replacing

    files[0].parent.mkdir(parents=True, exist_ok=True)
    with replacing(files[0]) as hidden:
        hidden.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    with replacing(files[1]) as hidden:
        hidden.write_text(sweep_csv(found), encoding="utf-8", newline="")


def sweep_csv(found: Sweep) -> str:
    """The rows for a spreadsheet, shares from 0 to 1; text that it would take for a formula gets a quote mark."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ("lever", "setting", "items", "events", "people", "matcher", "named", "named_low", "named_high", "pse_bits",
         "pie_bits", "lift", "cost", "cost_of", "risk_reduction", "useful")
    )  # fmt: skip
    for row in (found.as_it_is, *found.rows):
        lever = ("as it is", "") if row.lever is None else (row.lever.kind, row.lever.setting)
        cost = ("", "") if row.cost is None else (row.cost.share, row.cost.measure)
        risk = (row.risk.value, row.risk.low, row.risk.high)
        cells = (*lever, row.items, row.events, row.people, row.matcher, *risk, row.pse.value_bits, row.pie_bits,
                 row.lift, *cost, row.risk_reduction, row.useful)  # fmt: skip
        writer.writerow([safe_cell(cell) for cell in cells])
    return text.getvalue()


def sweep_text(found: Sweep, name: str) -> str:
    """The terminal view of a sweep."""
    before = found.as_it_is
    known, released = output.count(found.known_events), output.count(before.events)
    setting = (
        f"The attacker knows the first half of each person's events ({known}); the second half ({released}) is "
        "released without names. Each lever changes what is released, one at a time; the people stay the same."
    )
    legend = (
        "named: share of people the best attack tried names rightly; guessing names "
        f"{output.percent(1.0 - before.guessing_error)}. bits: what its scores tell about who a person is. cost: share "
        "lost of what stands beside it (item: the information which item an event is); costs of different kinds are "
        "different losses. worth: points of risk removed per point of cost. useful: the interval lies wholly below "
        "that of the data as they are; unclear where the two meet."
    )
    headers = ["lever", "items", "events", "named", "95 % interval", "bits", "cost", "of", "worth", "useful"]
    lines = [
        f"{name}: {output.count(found.users)} people",
        *_left_out(found),
        "",
        output.paragraph(setting),
        "",
        output.table(headers, [_row(row) for row in (before, *found.rows)]),
        "",
        *(output.paragraph(f"{lever_name(row.lever)}: {row.note}") for row in found.rows if row.note and row.lever),
        *([""] if any(row.note for row in found.rows) else []),
        output.paragraph(legend),
        "",
        *(line for sentence in found.sentences for line in (output.paragraph(sentence), "")),
        output.paragraph(
            "This holds for the attacks tried: a better attacker may exist, and coarser data protect nobody by a "
            "proof. It does not show what else can be inferred about a person."
        ),
    ]
    return "\n".join(lines)


def _left_out(found: Sweep) -> list[str]:
    facts = found.input
    columns = facts.get("columns", {})
    guessed = [
        f"{role} = {c['column']} (--{role})" for role, c in columns.items() if c["how"] == "guessed" and c["column"]
    ]
    lines = [f"columns guessed: {', '.join(guessed)}"] if guessed else []
    if "time" in columns and columns["time"]["column"] is None:
        lines.append("no time column: rows are taken in the order of the file (--time)")
    lines += [f"left out: {output.count(n)} rows, {reason}" for reason, n in facts.get("dropped", {}).items() if n]
    if facts.get("dropped_users"):
        lines.append(
            f"left out: {output.count(facts['dropped_users'])} people with fewer than {facts['min_events']} events"
        )
    return lines


def lever_name(lever: Lever | None) -> str:
    """A lever in a word or two."""
    if lever is None:
        return "as it is"
    value = output.count(lever.setting) if isinstance(lever.setting, int) else str(lever.setting)
    return f"{_NAMES[lever.kind]} {value}"


def _row(row: SweepRow) -> list[str]:
    cost = row.cost
    return [
        lever_name(row.lever),
        output.count(row.items),
        output.count(row.events),
        output.percent(row.risk.value),
        f"{output.percent(row.risk.low)} to {output.percent(row.risk.high)}",
        shown_bits(row.pse),
        "" if cost is None else output.percent(cost.share),
        "" if cost is None else cost.measure.split()[0],
        "" if cost is None else "free" if row.usefulness is None else f"{row.usefulness + 0.0:.2f}",
        "" if cost is None else "yes" if row.useful else "unclear" if row.risk_reduction > 0.0 else "no",
    ]
