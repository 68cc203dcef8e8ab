"""`sweep`: how far the risk falls, and at what cost, as items, times and events are made coarser or fewer."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from entropie.cli import output
from entropie.cli.options import (
    FOLDER,
    AnyCommand,
    Command,
    given,
    json_option,
    option,
    options_of,
    public_option,
    quiet_option,
    verbose_option,
)
from entropie.mitigate.mitigation import KINDS, Mitigation, Values
from entropie.request import Attackers, People, Request, Run, Source
from entropie.words import bits, count, interval, percent, plural

if TYPE_CHECKING:
    from entropie.mitigate.sweep_result import Sweep, SweepRow

_OTHER_INPUTS = ("lat", "lon", "cells", "stays", "source", "query", "table")
_SCREEN = 17  # lines of 25 that the foot and the frame of the table leave


class ListOf(click.ParamType[tuple[Any, ...]]):
    """Several settings with commas between them: 10,100,1000."""

    name = "list"

    def __init__(self, values: Values) -> None:
        self._values = values

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        """Read every setting, or say what it should be."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self._values.read(part.strip()) for part in value.split(","))
        except ValueError:
            return self.fail(f"{value!r} is not a list of {self._values.called}.", param, ctx)


def mitigation_options(command: AnyCommand) -> AnyCommand:
    """One option for each kind of mitigation."""
    for kind in reversed(KINDS.values()):
        listed: dict[str, Any] = {"type": ListOf(kind.values), "default": ()}
        several = listed if "," in kind.metavar else {"multiple": True}
        shown = {"metavar": kind.metavar, "help": kind.help, "group": "Mitigation"}
        command = option(f"--{kind.name.replace('_', '-')}", **several, **shown)(command)
    return command


@click.command(cls=Command)
@click.argument("events")
@options_of(
    Source, People, without=("grid", "order", "category", "lat", "lon", "cells", "stays", "source", "query", "table")
)
@options_of(Attackers, only=("targets",))
@mitigation_options
@option("--lat", "latitude", metavar="C", group="Mitigation", help="Column that holds the latitude, for --grid.")
@option("--lon", "longitude", metavar="C", group="Mitigation", help="Column that holds the longitude, for --grid.")
@option("--out", type=FOLDER, metavar="DIR", group="Output", help="Folder for sweep.json and sweep.csv.")
@public_option
@json_option
@verbose_option
@quiet_option
@options_of(Run, without=("engine", "master"))
def sweep(
    events: str,
    latitude: str | None,
    longitude: str | None,
    out: Path | None,
    as_json: bool,
    verbose: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Try ways to make EVENTS safer, one at a time: risk left, and cost.

    Without a mitigation named, those that apply are tried: the most frequent items, rounded times, fewer events; map
    cells where --lat and --lon are named.

    \b
    entropie sweep checkins.parquet --user user --item venue --time time
    """
    from entropie.atomic import claimed, refuse_overwriting
    from entropie.errors import InvalidInput
    from entropie.mitigate.sweep import Options, sweep_source
    from entropie.mitigate.sweep_result import FILES

    if not events:
        raise InvalidInput("The name of the events is empty; give a file, a folder or a pattern.")
    chosen = tuple(Mitigation(kind, value) for kind in KINDS for value in options.pop(kind))
    if out is not None:
        refuse_overwriting([Path(events)], [out / name for name in FILES])
    attempts = output.Attempts()
    with nullcontext() if out is None else claimed(out):
        with output.stages() as progress:
            request = Request.of(events, {**given(options), "progress": progress})
            tried = Options(chosen or None, latitude, longitude)
            result = sweep_source(request.source, tried, request.people, request.attackers, request.run)
        result = replace(result, provenance=replace(result.provenance, command=output.command()))
        if out is not None:
            attempts.run(partial(result.write_into, out))
    if as_json:
        output.print_json(result.to_json())
    elif not quiet:
        shown = sweep_text(result, output.name(Path(events).name or events), verbose=verbose)
        output.show(shown if out is None else f"{shown}\nAll numbers: {output.name(out / FILES[0])}")
    attempts.raise_failed()


def sweep_text(result: Sweep, name: str, *, verbose: bool = False) -> str:
    """The terminal view of a sweep: what to do, then the rows it rests on."""
    head = [
        *(line for sentence in result.sentences for line in output.paragraph(sentence).splitlines()),
        "",
        *output.paragraph(
            f"{name}: {plural(result.users, 'person', 'people')}; the attacker knows the first half of their events"
        ).splitlines(),
        *_excluded(result),
        "",
        "Mitigations that help first, the smallest share lost first (of what: see cost):",
    ]
    shown = result.rows if verbose else result.rows[: max(3, _SCREEN - len(head))]
    more = len(result.rows) - len(shown)
    rows = [_row(row) for row in (result.as_it_is, *shown)]
    foot = [
        f"{plural(more, 'more mitigation')}, less useful or at a greater loss." if more else "",
        "Not covered: an attacker who knows a few events and their times (assess the coarser data),",
        "mitigations combined.",
        "Coarser data come without a guarantee.",
        "" if verbose else "More: --verbose",
    ]
    lines = [
        *head,
        output.table(["mitigation", "re-identified", "95 % CI", "cost", "helps"], rows),
        "",
        *(_details(result) if verbose else []),
        output.paragraph(" ".join(filter(None, foot))),
    ]
    return "\n".join(lines)


def _details(result: Sweep) -> list[str]:
    """All numbers of the rows, and what they mean."""
    rows = [
        [
            row.name,
            count(row.items),
            count(row.events),
            row.matcher,
            f"over {bits(row.pse_bits.resolvable)}" if row.pse_bits.over else bits(row.pse_bits.value),
            "" if row.cost is None else "free" if row.usefulness is None else f"{row.usefulness + 0.0:.2f}",
        ]
        for row in (result.as_it_is, *result.rows)
    ]
    notes = [output.paragraph(f"{row.name}: {row.note}") for row in result.rows if row.note]
    legend = (
        f"Known to the attacker: {count(result.known_events)} events. Bits: what the scores of the best matcher say "
        "about who a person is. Cost: share lost of the item information (which item an event is), of the order of "
        "consecutive events, or of the events; these are different losses. Worth: points of risk removed per point of "
        "cost. Helps: yes where the interval lies below that of the data as is; unclear where the two meet."
    )
    headers = ["mitigation", "items", "events", "matcher", "bits", "worth"]
    return [output.table(headers, rows), "", *notes, *([""] if notes else []), output.paragraph(legend), ""]


def _excluded(result: Sweep) -> list[str]:
    facts, columns = result.input, result.input.columns
    guessed = [f"{role} = {c.column} (--{role})" for role, c in columns.items() if c.how == "guessed" and c.column]
    lines = [f"columns guessed: {', '.join(guessed)}"] if guessed else []
    if "time" in columns and columns["time"].column is None:
        lines.append("no time column: rows are taken in the order of the file (--time)")
    lines += [f"excluded: {plural(n, 'row')}, {reason}" for reason, n in facts.dropped.items() if n]
    if facts.dropped_users:
        people = plural(facts.dropped_users, "person", "people")
        lines.append(f"excluded: {people} with fewer than {facts.min_events} events")
    return lines


def _row(row: SweepRow) -> list[str]:
    cost = row.cost
    return [
        row.name,
        percent(row.risk.value),
        interval(row.risk),
        "" if cost is None else f"{percent(cost.value)} of {cost.of.split()[0]}",
        "" if cost is None else "yes" if row.useful else "unclear" if row.risk_reduction > 0.0 else "no",
    ]
