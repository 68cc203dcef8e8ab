"""From a table to people on Spark: ids become the codes that one machine would give them, and the account is the same.

Three jobs: rows are read, judged and brought to the homes of their people; ids are ranked; people get their codes and
go to their blocks. The driver sees counts; of more than a million ids also a few to cut ranges by, and where some
people are drawn to be attacked the hashes of the few about the last of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from entropie.data.events import Found, IngestReport, ingest_report
from entropie.data.files import combined_digest
from entropie.data.filter import nobody_active
from entropie.data.prepare import check_items
from entropie.data.rejects import Rejects
from entropie.data.rules import settle
from entropie.data.split import Days, is_open, untimed
from entropie.data.times import TickFacts, assumed, ticks_per_second
from entropie.engine.spark.boxes import gathered, mapped, received
from entropie.engine.spark.ids import (
    Asking,
    Chosen,
    DayCounting,
    Order,
    RangeFacts,
    Ranking,
    hashes_in,
    named,
    some_ids,
)
from entropie.engine.spark.people import (
    ACCOUNT,
    DIGEST,
    FACTS,
    HASH_BITS,
    ITEMS,
    NAMES,
    PEOPLE,
    TRACES,
    USERS,
    Coding,
    Gathering,
    HomeFacts,
    Settling,
)
from entropie.engine.spark.plans import Kept, shuffling
from entropie.engine.spark.reading import Account, Rows, open_rows
from entropie.engine.spark.session import failures
from entropie.engine.spark.statistics import Facts
from entropie.errors import InvalidInput
from entropie.request import People, Request, SplitRule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST_CODES = 2**31
_IDS_PER_RANGE = 1 << 20


@dataclass(frozen=True, slots=True)
class Ingested:
    """People ready to be attacked, and the account of what was read and left out.

    people        boxes of people (see `blocks`), in partitions that are ranges of user codes
    ranks         boxes with the names of items, by range
    before        how many items come before each range
    counted       the people in numbers
    users, events, domain_size   how many people, events and items there are in `people`
    timed         whether seconds are known
    partitions    how many partitions `people` has
    facts         what was read and left out, as in assessment.json
    report        the same of all rows, before people are chosen
    rule          how traces are split, with what the data decided
    """

    people: DataFrame
    ranks: DataFrame
    before: list[int]
    counted: Facts
    users: int
    domain_size: int
    events: int
    timed: bool
    partitions: int
    facts: dict[str, Any]
    report: IngestReport
    rule: SplitRule
    kept: Kept

    def names(self, codes: Sequence[int]) -> dict[int, str]:
        """The names of some items."""
        if not codes:
            return {}
        told = received(mapped(self.ranks, named, before=self.before, codes=np.array(codes, np.int64)))
        pairs = (zip(box.arrays[0].tolist(), box.arrays[1].to_pylist(), strict=True) for box in told)
        return dict(itertools.chain.from_iterable(pairs))

    def all_names(self) -> pa.Array:
        """The names of all items, in the order of their codes."""
        told = sorted(received(self.ranks), key=lambda box: box.part)
        return pa.concat_arrays([pa.array([], pa.string()), *(box.arrays[0] for box in told)])

    def release(self) -> None:
        """Let go of what Spark keeps of these people."""
        self.kept.release()


def ingest(spark: SparkSession, request: Request) -> Ingested:
    """Read a table, choose people and number them and their items, as one machine does.

    `run.partitions` is how many blocks of people there are to be; what comes out does not depend on it.
    """
    from pyspark.sql import DataFrame

    if not hasattr(DataFrame, "repartitionById"):
        raise InvalidInput("Spark must be 4.1 or newer for people to be cut into blocks; upgrade it.")
    rows = open_rows(spark, request.source)
    kept = Kept()
    with failures(spark), shuffling(spark, rows.homes):
        try:
            return _ingested(rows, request, kept)
        except BaseException:
            kept.release()
            raise


def _ingested(rows: Rows, request: Request, kept: Kept) -> Ingested:
    opened, time, wanted = rows.opened, rows.time, request.people
    blocks = request.run.partitions or rows.homes
    settling = Settling(wanted.min_events, time is not None, opened.newest_first, request.attackers.targets != "all")
    temporary = Kept()
    homes = temporary.keep(mapped(gathered(rows.boxes, rows.homes), settling))
    try:
        told = _told(homes, ACCOUNT, DIGEST, FACTS)
        facts: list[HomeFacts] = [home for (home,) in told[FACTS]]
        rejects, read = _settled(told[ACCOUNT], sum(home.events for home in facts), rows)
        active, active_events = (sum(getattr(home, f"active_{what}") for home in facts) for what in ("users", "events"))
        if not active:
            everybody, everything = (sum(getattr(home, what) for home in facts) for what in ("users", "events"))
            raise nobody_active(wanted.min_events, max(home.most for home in facts), everybody, everything)
        per_second = None if time is None else ticks_per_second(_ticks(facts), time)
        users, items = _orders(homes, facts, active)
        targets = request.attackers.attacked(active)
        last = _last(homes, facts, wanted, targets, users) if targets < active else None
        chosen = Chosen(wanted.min_events, last)
        rule = request.split
        if is_open(rule):
            rule = (
                untimed(rule) if per_second is None else _settled_by_days(homes, DayCounting(chosen, per_second), rule)
            )
        asked = mapped(homes, Asking(chosen, users, items))
        ranked = kept.keep(mapped(gathered(asked, users.ranges + items.ranges), Ranking(users, items)))
        ranges: list[RangeFacts] = [part for (part,) in _told(ranked, FACTS)[FACTS]]
        people, events = _before(ranges, USERS, "coded"), _before(ranges, USERS, "total")
        codes = _before(ranges, ITEMS, "coded")
        coding = Coding(people, events, codes, blocks, events[-1], per_second)
        answered = homes.where(f"side = {TRACES}").unionByName(ranked.where(f"side in ({USERS}, {ITEMS})"))
        coded = mapped(gathered(answered, rows.homes), coding)
        gathering = Gathering(per_second, rule, people[-1])
        everybody = kept.keep(mapped(gathered(coded, blocks), gathering))
        parts = [box.arrays for box in received(everybody.where(f"side = {FACTS}"))]  # then what it is made of can go
    finally:
        temporary.release()
    found = Found(
        rows=read,
        events=sum(home.events for home in facts),
        users=sum(home.users for home in facts),
        items=sum(part.distinct for part in ranges if part.side == ITEMS),
        duplicates=None if time is None else sum(home.duplicates for home in facts),
        order_only=per_second is None,
        time_assumed=None if time is None else assumed(_ticks(facts), time),
        sha256=combined_digest(told[DIGEST]) if told[DIGEST] else None,
    )
    report = ingest_report(opened, found, rejects, time)
    check_items(codes[-1], report, request.verdict)
    input_facts = {
        **report.as_dict(),
        "min_events": wanted.min_events,
        "dropped_users": found.users - active,
        "dropped_events": found.events - active_events,
    }
    return Ingested(
        people=everybody.where(f"side = {PEOPLE}"),
        ranks=ranked.where(f"side = {NAMES}"),
        before=codes,
        counted=Facts.of(parts, people[-1]),
        users=people[-1],
        domain_size=codes[-1],
        events=events[-1],
        timed=per_second is not None,
        partitions=blocks,
        facts=input_facts,
        report=report,
        rule=rule,
        kept=kept,
    )


def _settled_by_days(homes: DataFrame, counting: DayCounting, rule: SplitRule) -> SplitRule:
    """The rule with its date, from the days of everybody who stays."""
    counted = _told(mapped(homes, counting), FACTS)[FACTS]
    return Days.merged([days for (days,) in counted]).settled(rule)


def _told(boxes: DataFrame, *sides: int) -> dict[int, list[Any]]:
    """What the boxes of some sides hold, in order of their parts."""
    held: dict[int, list[Any]] = {side: [] for side in sides}
    for box in sorted(received(boxes.where(f"side in ({', '.join(map(str, sides))})")), key=lambda box: box.part):
        held[box.side].append(box.arrays)
    return held


def _settled(accounts: list[Any], events: int, rows: Rows) -> tuple[Rejects, int]:
    """Enter the counts as one machine does, in the order in which it meets them, and hold them to the same rules."""
    rejects = Rejects(rows.opened.table.name, patient=True)
    counts: dict[int, int] = {0: events} if events else {}
    for (account,) in accounts:
        assert isinstance(account, Account)
        rejects.counted += account.counted
        rejects.dirty.update(account.dirty)
        rejects.first = account.first | rejects.first
        rejects.excluded.update(account.excluded)
        for code, count in account.judged.items():
            counts[code] = counts.get(code, 0) + count
    rejects.accepted = sum(counts.values()) + rejects.excluded.total()
    rejects.check_hopeless()
    return rejects, settle(counts, rows.opened.rules(rows.time), rejects)


def _ticks(facts: list[HomeFacts]) -> TickFacts:
    """The facts of all ticks."""
    each = [home.ticks for home in facts if home.ticks is not None]
    return TickFacts.merged(each)


def _orders(homes: DataFrame, facts: list[HomeFacts], people: int) -> tuple[Order, Order]:
    """The order of ids of people and of items. Only where there are very many, some of them are asked for."""
    ranges = [-(-count // _IDS_PER_RANGE) for count in (people, sum(home.items for home in facts))]
    some: list[Any] = []
    if max(ranges) > 1:
        some = _told(mapped(homes, some_ids), FACTS)[FACTS]
    first = 0
    orders = []
    for place in (0, 1):
        whole = all(home.whole[place] for home in facts)
        orders.append(Order.of(whole, [ids[place] for ids in some], ranges[place], first))
        first += orders[-1].ranges
    return orders[0], orders[1]


def _last(homes: DataFrame, facts: list[HomeFacts], wanted: People, targets: int, order: Order) -> tuple[int, Any]:
    """The last person attacked by hash and id: the range of hashes it is in, by counts, and then there."""
    counts = np.zeros(1 << HASH_BITS, np.int64)
    for home in facts:
        assert home.hashes is not None
        np.add.at(counts, *home.hashes)
    reached = np.cumsum(counts)
    first = int(np.searchsorted(reached, targets))
    before = int(reached[first] - counts[first])
    told = _told(mapped(homes, hashes_in, chosen=Chosen(wanted.min_events), first=first, order=order), FACTS)[FACTS]
    people = sorted(pair for hashes, keys in told for pair in zip(hashes.tolist(), keys.to_pylist(), strict=True))
    return people[targets - before - 1]


def _before(ranges: list[RangeFacts], side: int, what: str) -> list[int]:
    """How many codes, or events, come before each range, and in the end how many there are."""
    counts = {part.number: getattr(part, what) for part in ranges if part.side == side}
    before = list(itertools.accumulate((counts.get(number, 0) for number in range(max(counts) + 1)), initial=0))
    if what == "coded" and before[-1] >= _MOST_CODES:
        name = "users" if side == USERS else "items"
        raise InvalidInput(f"There are {before[-1]:,} {name}, more than Spark's {_MOST_CODES:,} codes; split the data.")
    return before
