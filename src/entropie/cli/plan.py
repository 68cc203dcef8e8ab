"""`plan`: what an assessment on a Spark cluster would take."""

from __future__ import annotations

import contextlib
import math
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import click

from entropie.cli import output
from entropie.cli.options import json_option

if TYPE_CHECKING:
    from entropie.engine.spark.costs import Plan

_SUFFIXES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_STAGES = {
    "read": ("reading", None),
    "encode": ("ids to codes, people", "events"),
    "models": ("models and index", "models"),
    "scoring": ("scoring", None),
    "merging": ("merging and measures", "results"),
}


class Amount(click.ParamType[int]):
    """A whole number that may end in K, M, G or T (powers of 1,000), and in B where it is a size in bytes."""

    name = "amount"

    def __init__(self, unit: str = "") -> None:
        self._unit = unit

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the number, or say what it should be."""
        if isinstance(value, int):
            return value
        text = value.strip().upper().removesuffix(self._unit or "\0")
        factor = _SUFFIXES.get(text[-1:], 0) if text[-1:].isalpha() else 1
        digits = text[:-1] if text[-1:].isalpha() else text
        with contextlib.suppress(ValueError, OverflowError, InvalidOperation):
            number = Decimal(digits.replace("_", "")) * factor
            if factor and number == int(number):
                return int(number)
        example = "16GB" if self._unit else "100M or 1e8"
        return self.fail(f"{value!r} is not a whole number such as {example} (K, M, G, T).", param, ctx)


AMOUNT, BYTES = Amount(), Amount("B")


@click.command()
@click.option("--users", type=AMOUNT, required=True, metavar="N", help="How many people there are, such as 100M.")
@click.option("--events", type=AMOUNT, metavar="E", help="How many events there are, such as 10G.")
@click.option("--events-per-user", type=float, metavar="E", help="Events of a person on average, instead of --events.")
@click.option("--items", type=AMOUNT, required=True, metavar="K", help="How many items there are.")
@click.option("--executors", type=AMOUNT, metavar="N", help="Executors to run on.")
@click.option("--hours", type=float, metavar="H", help="Find how many executors end in so many hours, instead.")
@click.option("--cores", type=AMOUNT, default=4, show_default=True, metavar="C", help="Cores of an executor.")
@click.option(
    "--memory", type=BYTES, default="16GB", show_default=True, metavar="SIZE", help="Memory of an executor, all of it."
)
@click.option(
    "--throughput",
    type=float,
    default=200.0,
    show_default=True,
    metavar="MB",
    help="MB per second that an executor writes to and reads from network and disk.",
)
@click.option(
    "--matcher",
    "matchers",
    multiple=True,
    type=click.Choice(["markov", "visit", "tfidf", "cosine", "bayes", "pitman_yor"]),
    help="May be repeated. [all]",
)
@click.option("--no-null", is_flag=True, help="Skip the check on permuted people (half the attacks).")
@click.option(
    "--distinct",
    type=float,
    default=0.5,
    show_default=True,
    metavar="SHARE",
    help="Distinct items per event of a person.",
)
@click.option(
    "--people-per-event", type=float, metavar="P", help="People who have the item of a random event. [from --zipf]"
)
@click.option(
    "--zipf", type=float, metavar="S", help="Exponent of the Zipf law that items follow, for --people-per-event. [0.7]"
)
@json_option
def plan(
    users: int,
    events: int | None,
    events_per_user: float | None,
    items: int,
    executors: int | None,
    hours: float | None,
    cores: int,
    memory: int,
    throughput: float,
    matchers: tuple[str, ...],
    no_null: bool,
    distinct: float,
    people_per_event: float | None,
    zipf: float | None,
    as_json: bool,
) -> None:
    """Say what an assessment on a Spark cluster takes: blocks, hours, memory, bytes moved.

    Nothing is read and Spark is not needed. The numbers are projected from rates of small runs; docs/scaling.md has the
    formulas.

    \b
    entropie plan --users 100M --events 10G --items 50M --executors 200
    entropie plan --users 100M --events 10G --items 50M --hours 24 --matcher visit --matcher bayes
    """
    from entropie.engine.spark.costs import ZIPF_EXPONENT, Cluster, Workload, executors_for, matchers_of
    from entropie.engine.spark.costs import people_per_event as expected
    from entropie.engine.spark.costs import plan as projected
    from entropie.errors import InvalidParameter
    from entropie.theory import checks

    if (executors is None) == (hours is None):
        raise InvalidParameter("Give either --executors or --hours, not both and not neither.")
    if people_per_event is not None and zipf is not None:
        raise InvalidParameter("Give --people-per-event or --zipf, not both: the second is there to guess the first.")
    checks.whole_number("users", users, at_least=2)
    checks.whole_number("items", items, at_least=1)
    total = _events(users, events, events_per_user)
    if not 0.0 < distinct <= 1.0:
        raise InvalidParameter.of("distinct", "a share above 0 and at most 1", distinct)
    shared = people_per_event
    if shared is None:
        shared = expected(users, total, items, distinct=distinct, exponent=ZIPF_EXPONENT if zipf is None else zipf)
    work = Workload(users, total, items, matchers_of(matchers), shared, distinct, 1 if no_null else 2)
    if hours is not None:
        found = executors_for(work, hours, cores_per_executor=cores, memory_bytes=memory, throughput=throughput * 1e6)
    else:
        found = projected(work, Cluster(executors or 0, cores, memory, throughput * 1e6))
    if as_json:
        output.print_json(found.to_json())
    else:
        click.echo(plan_text(found))


def _events(users: int, events: int | None, events_per_user: float | None) -> int:
    from entropie.errors import InvalidParameter

    if (events is None) == (events_per_user is None):
        raise InvalidParameter("Give either --events or --events-per-user, not both and not neither.")
    total = events if events is not None else _whole(users, events_per_user)
    if total < 2 * users:
        raise InvalidParameter.of("events", f"at least two for each of the {users} people", total)
    return total


def _whole(users: int, events_per_user: float | None) -> int:
    from entropie.errors import InvalidParameter

    if events_per_user is None or not math.isfinite(events_per_user):
        raise InvalidParameter.of("events_per_user", "a number of at least 2", events_per_user)
    return round(users * events_per_user)


def plan_text(found: Plan) -> str:
    """The terminal view of a plan."""
    work, cluster, blocks, moved = found.workload, found.cluster, found.blocks, found.shuffle_bytes
    total_hours = sum(found.core_hours.values())
    stages = [
        [name, _short(found.core_hours[stage]), "" if of is None else _bytes(moved[of])]
        for stage, (name, of) in _STAGES.items()
    ]
    scoring = list(_STAGES).index("scoring") + 1
    if len(work.matchers) > 1:
        stages[scoring:scoring] = [[f"  {name}", _short(time), ""] for name, time in found.scoring_core_hours.items()]
    stages.append(["all", _short(total_hours), _bytes(sum(moved.values()))])
    memory = [
        ["a block of people, of what a task has", _bytes(blocks.bytes_per_block), _bytes(found.memory_bytes["task"])],
        [
            "the last task of an attack, of what an executor's tasks have",
            _bytes(found.memory_bytes["last_task"]),
            _bytes(found.memory_bytes["executor_tasks"]),
        ],
        ["driver", _bytes(found.memory_bytes["driver"]), ""],
        ["disk of an executor", _bytes(found.disk_bytes_per_executor), ""],
    ]
    attacks = f"{found.attacks} attack{'s' * (found.attacks > 1)}"
    kinds = f"{len(work.matchers)} matcher{'s' * (len(work.matchers) > 1)}"
    check = ", each also on permuted people" if work.attacks == 2 else ""
    return "\n".join(
        [
            f"{output.count(work.users)} people, {output.count(work.events)} events, {output.count(work.items)} items",
            f"{attacks}: {kinds}{check}",
            "",
            output.paragraph(
                f"About {_hours(found.total_hours)} on {output.count(cluster.executors)} executors of "
                f"{cluster.cores_per_executor} cores and {_bytes(cluster.memory_bytes)}: "
                f"{_hours(found.hours['ingest'])} for reading, {_hours(found.hours['grid'])} for the attacks, "
                f"{_hours(found.hours['moving'])} for moving data, {_hours(found.hours['last_tasks'])} for the last "
                f"tasks."
            ),
            output.paragraph(
                f"{output.count(blocks.user_blocks)} blocks of {output.count(blocks.users_per_block)} people times "
                f"{output.count(blocks.target_splits)} splits of the targets: {output.count(blocks.cells)} cells in "
                f"each attack."
            ),
            "",
            output.table(["stage", "core-hours", "moved"], stages),
            "",
            output.table(["memory and disk", "needed", "there"], memory),
            *(f"\n{output.paragraph(sentence)}" for sentence in found.sentences),
        ]
    )


def _short(value: float) -> str:
    """Three digits, thousands set apart."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def _hours(value: float) -> str:
    if value < 1.0:
        return f"{_short(max(value * 60.0, 0.01))} minutes"
    return f"{_short(value)} hours" if value < 72.0 else f"{_short(value / 24.0)} days"


def _bytes(size: float) -> str:
    """A size with the unit that leaves one to three digits before the point."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= factor:
            return f"{_short(size / factor)} {unit}"
    return f"{_short(size / 1e3)} KB"
