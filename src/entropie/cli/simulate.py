"""`simulate`: events of people who do not exist, and how close they come to real ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie import words
from entropie.cli import output
from entropie.cli.options import COUNT, FILE, SHARE, Command, memory_option, one_of, option, public_option, viewed

if TYPE_CHECKING:
    from entropie.data.simulation import Simulated
    from entropie.data.simulation_fit import FitTable
    from entropie.data.traces import Traces
    from entropie.measures.intervals import Interval

_KINDS = ("foursquare", "movielens", "new-york", "sao-paulo")
_MATCHERS = ("markov", "visit")
_LABELS = {
    "users": "people",
    "items": "items",
    "events": "events",
    "events_per_user": "events per person, mean",
    "median_events_per_user": "events per person, median",
    "distinct_per_user": "distinct items per person, mean",
    "new_share": "distinct items per event of a person",
    "favourite_share": "events of a person at their favourite item",
    "users_per_item": "people per item, mean",
    "repeated_transitions": "steps the person made before",
    "same_item_again": "steps that stay at the same item",
    "largest_item_share": "events at the most popular item",
}
_SHARES = {"new_share", "favourite_share", "repeated_transitions", "same_item_again", "largest_item_share"}
_MORE = {"median_events_per_user", "new_share", "users_per_item", "same_item_again"}
_CURVE = (0.01, 0.1, 0.5)
"""What a short comparison leaves to --verbose, and the points of the popularity curve that it keeps."""


@click.command(cls=Command)
@click.argument("kind", type=one_of(*_KINDS), metavar="KIND")
@option("--users", "Input", "People to simulate. [as in the data set]", COUNT, "N")
@option("--scale", "Input", "Share of its people, instead of --users.", SHARE, "F")
@option("--compare", "Input", "Compare with the events of this file.", FILE, "REAL")
@option("--out", "Output", "File to write (.csv, .parquet): user, item, time.", FILE, "FILE")
@public_option
@option("--seed", "Running", "Same seed, same events. [0]", COUNT, "S", default=0)
@option("--threads", "Running", "Threads. [all cores]", COUNT, "N")
@memory_option
@viewed()
def simulate(
    kind: str, users: int | None, scale: float | None, out: Path | None, compare: Path | None, view: output.View,
    **options: Any,
) -> None:  # fmt: skip
    """Simulate events of people who do not exist, at any scale.

    KIND is the data set to imitate: check-ins (foursquare, or its cities new-york and sao-paulo) or films rated 4 and
    above (movielens). --compare shows how close the simulation comes to a real file.

    \b
    entropie simulate foursquare --scale 10% --out events.parquet
    entropie simulate new-york --compare foursquare_nyc.parquet
    """
    from entropie.data.events import read_events
    from entropie.data.filter import keep_active_users
    from entropie.data.simulation import simulate_file, simulate_traces
    from entropie.errors import InvalidParameter
    from entropie.errors import option as marked
    from entropie.request import Run, Source

    if users is not None and scale is not None:
        raise InvalidParameter(f"Give {marked('users')} or {marked('scale')}, not both.")
    if (out is None) == (compare is None):
        raise InvalidParameter(
            f"Give {marked('out')} to write events, or {marked('compare')} to compare with real ones."
        )
    people, run = _people(kind, users, scale), Run(**options)
    if out is not None:
        output.check_writable([], [out])
        with output.stages() as progress:
            made = simulate_file(kind, people, path=out, seed=run.seed, threads=run.threads, progress=progress)
        document, text = _written(made, out)
    else:
        assert compare is not None
        there = keep_active_users(read_events(Source(compare), run).traces).traces
        here = simulate_traces(kind, people, seed=run.seed, threads=run.threads)
        document, text = _compared(there, here, run.threads, view.verbose)
        document = {"kind": kind, "seed": run.seed, **document}
    view.show(lambda: document, lambda: text)


def _people(kind: str, users: int | None, scale: float | None) -> int | None:
    from entropie.data.simulation import find_world
    from entropie.theory.checks import real_number

    if scale is None:
        return users
    share = real_number("scale", scale, "a number above 0 and at most 100", 1e-9, 100.0)
    return max(1, round(find_world(kind).users * share))


def _written(made: Simulated, out: Path) -> tuple[dict[str, Any], str]:
    """The document and the text about a file of simulated events."""
    text = (
        f"{output.name(out)}: {words.count(made.events)} events, {words.plural(made.users, 'person', 'people')}, "
        f"{words.count(made.items)} items\n"
    )
    note = "Nobody in this file exists: what an attacker finds in it is no measure of the risk of real people."
    document = {"file": str(out), **dataclasses.asdict(made), "events_per_user": made.events / made.users}
    return document, f"{text}\n{output.paragraph(note)}"


def _compared(real: Traces, made: Traces, threads: int | None, verbose: bool) -> tuple[dict[str, Any], str]:
    """The document and the text of a comparison."""
    from entropie.data.simulation_fit import fit_table

    tables = fit_table(real), fit_table(made)
    errors = _errors(real, threads), _errors(made, threads)
    document = {
        side: {**table.to_json(), "identification_error": {name: error.to_json() for name, error in found.items()}}
        for side, table, found in zip(("real", "simulated"), tables, errors, strict=True)
    }
    return document, comparison_text(tables, errors, verbose)


def _errors(traces: Traces, threads: int | None) -> dict[str, Interval]:
    """The error rate of each attacker who knows the first halves of traces and attacks the second ones."""
    from entropie.attack.measured import measured_attack
    from entropie.data.split import split_traces
    from entropie.request import Run

    split, run = split_traces(traces), Run(threads=threads)
    errors = {name: measured_attack(name, split, run).identification_error for name in _MATCHERS}
    return {name: error for name, error in errors.items() if error is not None}


def comparison_text(
    tables: tuple[FitTable, FitTable], errors: tuple[dict[str, Interval], dict[str, Interval]], verbose: bool = False
) -> str:
    """Real and simulated people side by side: first how many an attacker re-identifies."""
    from entropie.data.simulation_fit import CURVE

    real, made = tables
    attacks = [_attack_row(name, errors[0][name], errors[1][name]) for name in errors[0]]
    labels = _LABELS if verbose else {name: label for name, label in _LABELS.items() if name not in _MORE}
    rows = [_row(label, getattr(real, name), getattr(made, name), name in _SHARES) for name, label in labels.items()]
    for top, one, other in zip(CURVE, real.popularity, made.popularity, strict=True):
        if verbose or top in _CURVE:
            rows.append(_row(f"events at the top {words.percent(top)} of items", one, other, share=True))
    note = (
        "Excluded on both sides: people with fewer than 10 events. The attacker knows the first half of each person's "
        "events and re-identifies the second half. Another seed moves the simulated numbers a little."
    )
    return "\n\n".join(
        [
            output.table(["re-identified", "real", "simulated", "difference"], attacks),
            output.table(["statistic", "real", "simulated", "difference"], rows),
            output.paragraph(note),
        ]
    )


def _attack_row(matcher: str, real: Interval, made: Interval) -> list[str]:
    """Shares re-identified with their 95 % intervals, from the error rates."""

    def shown(error: Interval) -> str:
        value, low, high = (100.0 * (1.0 - end) for end in (error.value, error.high, error.low))
        return f"{value:.1f} ({low:.1f} to {high:.1f})\N{NO-BREAK SPACE}%"

    return [matcher, shown(real), shown(made), words.points(real.value - made.value)]


def _row(label: str, real: Any, made: Any, share: bool) -> list[str]:
    def shown(value: Any) -> str:
        if share:
            return words.percent(value)
        return words.count(value) if isinstance(value, int) else f"{value:.1f}"

    if real == 0:
        return [label, shown(real), shown(made), "none" if made == 0 else "more"]
    change = round(100.0 * (made / real - 1.0), 1) + 0.0  # never -0.0
    return [label, shown(real), shown(made), f"{change:+.1f}\N{NO-BREAK SPACE}%"]
