"""`simulate`: events of people who do not exist, and how like real ones they are."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie.cli import output
from entropie.cli.options import COUNT, FILE, json_option

if TYPE_CHECKING:
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
    "new_share": "distinct items by events of a person",
    "favourite_share": "events of a person at her favourite item",
    "users_per_item": "people per item, mean",
    "repeated_transitions": "steps that the person made before",
    "same_item_again": "steps that stay at the item",
    "largest_item_share": "events at the most popular item",
}
_SHARES = {"new_share", "favourite_share", "repeated_transitions", "same_item_again", "largest_item_share"}


@click.command()
@click.argument("kind", type=click.Choice(_KINDS))
@click.option("--users", type=COUNT, metavar="N", help="People to simulate. [as many as the data set has]")
@click.option("--scale", type=float, metavar="F", help="A share of the people of the data set, instead of --users.")
@click.option("--seed", type=COUNT, default=0, show_default=True, metavar="S", help="Same seed, same events.")
@click.option("--out", type=FILE, metavar="FILE", help="Parquet file to write: columns user, item, time.")
@click.option("--compare", type=FILE, metavar="REAL", help="Print the simulation beside these real events.")
@click.option("--threads", type=click.IntRange(1, 256), metavar="N", help="Threads to use. [all cores]")
@json_option
def simulate(
    kind: str,
    users: int | None,
    scale: float | None,
    seed: int,
    out: Path | None,
    compare: Path | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Simulate events of people with homes and habits, at any scale.

    KIND says which data set is imitated: check-ins (foursquare, or one city of it: new-york, sao-paulo) or films
    somebody rated 4 or higher (movielens). The number of items grows with the people. With --compare, statistics and
    the attacker's error are printed beside those of a real file.

    \b
    entropie simulate foursquare --scale 0.0625 --out events.parquet
    entropie simulate new-york --compare foursquare_nyc.parquet
    """
    from entropie.errors import InvalidParameter

    if users is not None and scale is not None:
        raise InvalidParameter("Give either --users or --scale, not both.")
    if (out is None) == (compare is None):
        raise InvalidParameter("Give either --out, to write events, or --compare, to hold them against real ones.")
    people = _people(kind, users, scale)
    if out is not None:
        _write(kind, people, seed, out, threads, as_json)
    else:
        assert compare is not None
        _compare(kind, people, seed, compare, threads, as_json)


def _people(kind: str, users: int | None, scale: float | None) -> int | None:
    from entropie.data.simulation import find_world
    from entropie.theory.checks import real_number

    if scale is None:
        return users
    share = real_number("scale", scale, "a number above 0 and at most 100", 1e-9, 100.0)
    return max(1, round(find_world(kind).users * share))


def _write(kind: str, users: int | None, seed: int, out: Path, threads: int | None, as_json: bool) -> None:
    from entropie.data.simulation import simulate_file

    with output.progress_bar("simulating") as bar:
        made = simulate_file(kind, users, path=out, seed=seed, threads=threads, progress=bar)
    if as_json:
        output.print_json({"file": str(out), **dataclasses.asdict(made), "events_per_user": made.events / made.users})
        return
    click.echo(
        f"{out}: {output.count(made.events)} events of {output.count(made.users)} people at "
        f"{output.count(made.items)} items (columns user, item, time in seconds)"
    )
    click.echo()
    click.echo(
        output.paragraph(
            "Nobody in this file exists. It has the habits of the data set imitated, at the size asked for; what an "
            "attacker finds in it says nothing about the risk of real people."
        )
    )


def _compare(kind: str, users: int | None, seed: int, real: Path, threads: int | None, as_json: bool) -> None:
    from entropie.data.events import read_events
    from entropie.data.filter import keep_active_users
    from entropie.data.simulation import simulate_traces
    from entropie.data.simulation_fit import fit_table
    from entropie.request import Run, Source

    there = keep_active_users(read_events(Source(real), Run(threads=threads)).traces).traces
    made = simulate_traces(kind, users, seed=seed, threads=threads)
    tables = fit_table(there), fit_table(made)
    errors = _errors(there, threads), _errors(made, threads)
    if as_json:
        sides = ("real", "simulated")
        output.print_json(
            {
                "kind": kind,
                "seed": seed,
                **{
                    side: {**table.to_json(), "identification_error": {n: e.to_json() for n, e in error.items()}}
                    for side, table, error in zip(sides, tables, errors, strict=True)
                },
            }
        )
    else:
        click.echo(comparison_text(tables, errors))


def _errors(traces: Traces, threads: int | None) -> dict[str, Interval]:
    """How often each attacker names a wrong person, learning from first halves of traces and attacking second ones."""
    from entropie.assessment import assess_traces
    from entropie.data.split import split_traces

    found = assess_traces(traces, split_traces(traces), matchers=_MATCHERS, null_baseline=False, threads=threads)
    errors = {attack.matcher: attack.measures.identification_error for attack in found.attacks}
    return {name: error for name, error in errors.items() if error is not None}


def comparison_text(tables: tuple[FitTable, FitTable], errors: tuple[dict[str, Interval], dict[str, Interval]]) -> str:
    """Real and simulated side by side."""
    from entropie.data.simulation_fit import CURVE

    real, made = tables
    rows = [_row(label, getattr(real, name), getattr(made, name), name in _SHARES) for name, label in _LABELS.items()]
    for top, one, other in zip(CURVE, real.popularity, made.popularity, strict=True):
        rows.append(_row(f"events at the top {top:.0%} of items", one, other, True))
    error_rows = [
        [
            f"{name} names a wrong person",
            *(f"{e.value:.3f} ({e.low:.3f} to {e.high:.3f})" for e in (errors[0][name], errors[1][name])),
            f"{errors[1][name].value - errors[0][name].value:+.3f}",
        ]
        for name in errors[0]
    ]
    sentence = (
        "People with fewer than 10 events are left out on both sides. The attacker learns from the first half of "
        "everybody's events and names the owner of each second half; 95 % intervals are over people. The simulation "
        "is one draw: another seed moves its numbers a little. Agreement here does not make other numbers agree."
    )
    return "\n".join(
        [
            output.table(["statistic", "real", "simulated", "difference"], rows),
            "",
            output.table(["identification error", "real", "simulated", "difference"], error_rows),
            "",
            output.paragraph(sentence),
        ]
    )


def _row(label: str, real: Any, made: Any, share: bool) -> list[str]:
    def shown(value: Any) -> str:
        if share:
            return output.percent(value)
        return output.count(value) if isinstance(value, int) else f"{value:.1f}"

    return [label, shown(real), shown(made), f"{made / real - 1.0:+.1%}".replace("%", "\N{NO-BREAK SPACE}%")]
