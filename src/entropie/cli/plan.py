"""`plan`: what an assessment would take, on this machine or on a Spark cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import click

from entropie import words
from entropie.cli import output
from entropie.cli.options import COUNT, NUMBER, SHARE, SIZE, Command, given, one_of, option, options_of, viewed
from entropie.request import Attackers, Request, SplitRule

if TYPE_CHECKING:
    from entropie.plan.costs import Price
    from entropie.plan.sizes import Data, Machines

_STAGES = {
    "read": ("reading", None),
    "encode": ("ids to codes, people", "events"),
    "models": ("models and index", "models"),
    "scoring": ("scoring", None),
    "merging": ("merging", "results"),
    "attackers": ("known events, profiles", None),
    "measures": ("measures", None),
}
_HOURS = {
    "start": "to start",
    "ingest": "for reading",
    "grid": "for the attacks",
    "moving": "for moving data",
    "last_tasks": "for the measures",
}
_EXECUTOR_MEMORY = 16 * 10**9
_MOST_EVENTS = 1e12  # of one person


@click.command(cls=Command)
@option("--users", "Input", "Number of people, such as 100M.", COUNT, "N", required=True)
@option("--events", "Input", "Number of events, such as 10G.", COUNT, "E")
@option("--events-per-user", "Input", "Events per person, instead of --events.", NUMBER, "E")
@option("--items", "Input", "Number of items.", COUNT, "K", required=True)
@option("--distinct", "Input", "Distinct items per event of a person. [0.5]", SHARE, "SHARE")
@option("--people-per-event", "Input", "People who share an event's item.", NUMBER, "P")
@option("--zipf", "Input", "Or their Zipf exponent. [0.7]", NUMBER, "S")
@options_of(SplitRule)
@options_of(Attackers, only=("matchers", "known_events", "control", "targets", "scope"))
@option("--engine", "Running", "Engine. [spark with executors]", one_of("local", "spark"))
@option("--executors", "Running", "Spark executors to run on.", COUNT, "N")
@option("--hours", "Running", "Or: find how many end in H hours.", NUMBER, "H")
@option("--cores", "Running", "Cores of an executor. [4; all of this machine]", COUNT, "C")
@option("--memory", "Running", "Memory of an executor. [16GB; no limit here]", SIZE, "SIZE")
@option("--throughput", "Running", "MB/s of an executor. [200]", NUMBER, "MB", default=200.0)
@viewed()
def plan(view: output.View, **options: Any) -> None:
    """Project what an assessment takes: blocks, hours, memory, bytes moved.

    Prices the attacks and blocks that `assess` would run. Nothing is read, and Spark is not needed. docs/scaling.md has
    the formulas.

    \b
    entropie plan --users 20K --events-per-user 30 --items 100K
    entropie plan --users 100M --events 10G --items 50M --executors 200
    entropie plan --users 100M --events 10G --items 50M --hours 24 --matcher visit
    """
    chosen = given(options)
    found = _priced(chosen)
    view.show(found.to_json, lambda: plan_text(found, view.verbose))


def _priced(chosen: Mapping[str, Any]) -> Price:
    """The price of the plan that the options ask for."""
    from entropie.data.budget import machine_bytes
    from entropie.errors import InvalidParameter
    from entropie.plan.costs import fewest_executors, price
    from entropie.plan.plan import plan_of
    from entropie.plan.sizes import Machines

    executors, hours = chosen.get("executors"), chosen.get("hours")
    on_cluster = chosen.get("engine", "local" if executors is None and hours is None else "spark") == "spark"
    if on_cluster and (executors is None) == (hours is None):
        raise InvalidParameter("Give either --executors or --hours, not both and not neither.")
    if not on_cluster and not (executors is None and hours is None):
        raise InvalidParameter("Options --executors and --hours go with --engine spark, and only there.")
    request = _request(chosen, on_cluster)
    data = _data(chosen, request)
    if not on_cluster:
        cores = request.run.threads or os.cpu_count() or 1
        here = Machines(1, cores, chosen.get("memory", machine_bytes()))
        return price(plan_of(request, data.counts), data, here, on_cluster=False)
    machines = Machines(
        executors or 1, chosen.get("cores", 4), chosen.get("memory", _EXECUTOR_MEMORY), chosen["throughput"] * 1e6
    )

    def on(count: int) -> Price:
        each = replace(machines, executors=count)
        return price(plan_of(request, data.counts, each.workers), data, each)

    return on(machines.executors) if hours is None else fewest_executors(hours, on)


def _request(chosen: Mapping[str, Any], on_cluster: bool) -> Request:
    """The job, without its events: attackers, split, and how it runs."""
    own = {"engine": "spark"} if on_cluster else {"threads": chosen.get("cores"), "memory": chosen.get("memory")}
    mine = {field.name for kind in (SplitRule, Attackers) for field in fields(kind)}
    return Request.of(None, {**{name: value for name, value in chosen.items() if name in mine}, **own})


def _data(chosen: Mapping[str, Any], request: Request) -> Data:
    """The people and what they share, in numbers."""
    from entropie.errors import InvalidParameter
    from entropie.plan.sizes import DISTINCT_SHARE, ZIPF_EXPONENT, Data, even_counts, people_per_event
    from entropie.theory import checks

    shared, zipf = chosen.get("people_per_event"), chosen.get("zipf")
    if shared is not None and zipf is not None:
        raise InvalidParameter("Give --people-per-event or --zipf, not both: the second is there to guess the first.")
    users = checks.whole_number("users", chosen["users"], at_least=2)
    items = checks.whole_number("items", chosen["items"], at_least=1)
    events = _events(users, chosen.get("events"), chosen.get("events_per_user"))
    distinct = chosen.get("distinct", DISTINCT_SHARE)
    if not 0.0 < distinct <= 1.0:
        raise InvalidParameter.of("distinct", "a share above 0 and at most 1", distinct)
    if shared is None:
        exponent = ZIPF_EXPONENT if zipf is None else zipf
        shared = people_per_event(users, events, items, distinct=distinct, exponent=exponent)
    counts = even_counts(users, events, request.split, request.attackers.attacked(users))
    return Data(counts, items, shared, distinct)


def _events(users: int, events: int | None, events_per_user: float | None) -> int:
    from entropie.errors import InvalidParameter

    if (events is None) == (events_per_user is None):
        raise InvalidParameter("Give either --events or --events-per-user, not both and not neither.")
    if events is None:
        if events_per_user is None or not 2.0 <= events_per_user <= _MOST_EVENTS:
            raise InvalidParameter.of("events_per_user", f"a number from 2 to {_MOST_EVENTS:.0e}", events_per_user)
        events = round(users * events_per_user)
    if events < 2 * users:
        raise InvalidParameter.of("events", f"at least two for each of the {users} people", events)
    return events


def plan_text(found: Price, verbose: bool = False) -> str:
    """The terminal view of a plan: how long and on what, whether the memory suffices; with `verbose` every stage."""
    counts, machines, grid = found.data.counts, found.machines, found.plan.grid
    hours = ", ".join(f"{words.seconds(3600.0 * value)} {_HOURS[stage]}" for stage, value in found.hours.items())
    where = (
        f"{words.count(machines.executors)} executors of {machines.cores} cores and {words.size(machines.memory)}"
        if found.on_cluster
        else f"this machine with {machines.cores} cores and {words.size(machines.memory)}"
    )
    blocks = (
        f"{words.count(grid.user_blocks)} blocks of people times {words.count(grid.target_blocks)} of targets: "
        f"{words.count(grid.cells)} cells in each attack."
        if grid.cells > 1
        else "One block of people: everybody at once."
    )
    people, total = f"{counts.people:,} people", words.seconds(3600.0 * found.total_hours)
    drawn = f"; {counts.attacked:,} people are attacked" if counts.attacked < counts.people else ""
    columns = ["stage", f"core-{_unit(found)[0]}", *(["moved"] if found.on_cluster else [])]
    return "\n".join(
        [
            *map(output.paragraph, (*found.sentences[:-2], f"About {total} on {where}: {hours}.")),
            "",
            output.paragraph(f"{people}, {found.data.events:,} events, {found.data.items:,} items{drawn}"),
            _attacks(found),
            output.paragraph(blocks),
            *([output.paragraph(f"Run it with --memory {_size(machines.task_memory)}.")] if found.on_cluster else []),
            *(["", output.table(columns, _stages(found))] if verbose else []),
            "",
            output.table(["memory and disk", "needed", "there"], _memory(found, machines)),
            "",
            output.paragraph(" ".join(found.sentences[-2:])),
        ]
    )


def _attacks(found: Price) -> str:
    """How many attacks of which kind."""
    kinds = len(found.plan.matchers)
    said = f"{len(found.attacks)} attack{'s' * (len(found.attacks) > 1)}: {kinds} matcher{'s' * (kinds > 1)}"
    said += ", each with a control" if found.plan.control else ""
    if found.plan.known_events:
        said += f"; attackers who know {', '.join(map(str, found.plan.known_events))} events"
    return output.paragraph(said)


def _stages(found: Price) -> list[list[str]]:
    per_hour = _unit(found)[1]
    rows = []
    for stage, (name, of) in _STAGES.items():
        moved = [words.size(found.moved_bytes[of]) if of in found.moved_bytes else ""] if found.on_cluster else []
        rows.append([name, words.digits(found.core_hours[stage] * per_hour), *moved])
        if stage == "scoring" and len(found.plan.matchers) > 1:
            empty = [""] if found.on_cluster else []
            rows += [
                [f"  {name}", words.digits(time * per_hour), *empty] for name, time in found.scoring_core_hours.items()
            ]
    total = [words.size(sum(found.moved_bytes.values()))] if found.on_cluster else []
    return [*rows, ["all", words.digits(sum(found.core_hours.values()) * per_hour), *total]]


def _unit(found: Price) -> tuple[str, float]:
    """Core time in hours, or in seconds where it is less than one hour; and how many of these an hour has."""
    return ("hours", 1.0) if sum(found.core_hours.values()) >= 1.0 else ("seconds", 3600.0)


def _memory(found: Price, machines: Machines) -> list[list[str]]:
    needed = found.memory_bytes
    if not found.on_cluster:
        return [["the process", words.size(needed["process"]), words.size(needed["machine"])]]
    return [
        ["a block of people, in a task", words.size(needed["block"]), words.size(needed["task"])],
        [
            "last task of an attack, in an executor",
            words.size(needed["last_task"]),
            words.size(needed["executor_tasks"]),
        ],
        ["driver", words.size(needed["driver"]), ""],
        ["disk of an executor", words.size(found.disk_bytes_per_executor), ""],
    ]


def _size(size: int) -> str:
    """A size as an option takes it, exact."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= factor and size % (factor // 1000 or 1) == 0:
            return f"{size / factor:g}{unit}"
    return str(size)
