"""A release made on Spark: mitigations look at events and change them where these are; the file is written here.

    people --drafted--> counts of a mitigation, merged here, step by step
    people --drafted--> rows by pseudonym --sorted--> the file, part after part

Nobody's events are in two drafts, so that what a step counts can be counted in many places. A task that is run again
has to say the same: pseudonyms come from a secret that is drawn here once and not kept, by a keyed hash.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import math
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.attack.chance import content_hashes
from entropie.data.coarsen import user_of_each
from entropie.data.spill import PARTS
from entropie.data.traces import Traces
from entropie.engine.spark.assessment import session_of
from entropie.engine.spark.blocks import grouped
from entropie.engine.spark.boxes import Box, arriving, gathered, in_order, mapped, opened
from entropie.engine.spark.encoding import Ingested, ingest
from entropie.engine.spark.plans import shuffling
from entropie.engine.spark.progress import watched
from entropie.engine.spark.session import failures
from entropie.errors import InvalidParameter, option
from entropie.mitigate.draft import Blocks, Change, Draft, Material, Tally, numbered
from entropie.mitigate.kinds.items import Events
from entropie.release.plan import ReleasePlan
from entropie.release.writing import Count, Made, Sorting, Written, parts_of, rows_of
from entropie.request import People, Request, Run, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_Tally = TypeVar("_Tally", bound=Tally)
_NO_TEXT = pa.array([], pa.large_string())


@contextlib.contextmanager
def made_on_spark(plan: ReleasePlan, source: Source, run: Run) -> Iterator[Made]:
    """What is released under a plan, from events that only Spark holds."""
    if plan.columns:
        raise InvalidParameter(
            f"Steps that need further columns ({', '.join(plan.columns)}) run on one machine; leave out "
            f"{option('engine')}."
        )
    request = Request(source, people=People(0), run=run)
    with session_of(request) as session, failures(session):
        with watched(session, run.progress, "reading"):
            people = ingest(session, request)
        try:
            plan.check(people.report)
            with shuffling(session, people.partitions):
                yield _made(plan, people, run)
        finally:
            people.release()


def _made(plan: ReleasePlan, people: Ingested, run: Run) -> Made:
    names = people.all_names().cast(pa.large_string())
    spark = people.people.sparkSession
    with watched(spark, run.progress, "applying"):
        raw = SparkBlocks.on(people, names, plan.seed, np.arange(people.users, dtype=np.uint32))
        hashes = raw.tallied(_Hashes(people.users, raw.tallied(Events(len(names))).counts)).hashes
        blocks: Blocks = SparkBlocks.on(people, names, plan.seed, numbered(hashes).astype(np.uint32))
        for part in plan.combination.parts:
            blocks = part.over(blocks)
        assert isinstance(blocks, SparkBlocks)
        example = blocks.example
        count = blocks.tallied(Count(example))
    secret = secrets.token_bytes(32)
    parts = min(PARTS, 1 << (people.partitions - 1).bit_length())
    sent = mapped(people.people, _dealt, drafting=blocks.drafting, secret=secret, parts=parts)
    sorting = Sorting.of(example, count.used, Keyed(secret))
    rows = mapped(gathered(sent, parts), _sorted, sorting=sorting)
    return Made(people.report, example, count, _arriving(rows, count.events), _NO_TEXT, np.empty(0, np.int64))


def _arriving(rows: DataFrame, events: int) -> Iterator[tuple[Written, float]]:
    done = 0
    for box in arriving(rows.toLocalIterator(prefetchPartitions=True)):
        (part,) = box.arrays
        done += part.items.size
        yield part, done / max(1, events)


class _Hashes:
    """The hash of what each person did, by their number."""

    def __init__(self, people: int, popular: NDArray[np.int64]) -> None:
        self.hashes, self._popular = np.empty(people, np.uint64), popular
        self._people = list[NDArray[np.int64]]()

    def add(self, draft: Draft) -> None:
        """Hash some people."""
        traces, keys = draft.material.traces, draft.material.keys
        self._people.append(keys)
        self.hashes[keys] = content_hashes(traces, traces, self._popular, self._popular)

    @property
    def found(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """The numbers of these people, and their hashes."""
        people = np.concatenate(self._people)
        return people, self.hashes[people]

    def merge(self, found: tuple[NDArray[np.int64], NDArray[np.uint64]]) -> None:
        """Add those of other people."""
        self._people.append(found[0])
        self.hashes[found[0]] = found[1]


@dataclass(frozen=True, slots=True, eq=False)
class Drafting:
    """How a task makes drafts of the people who come to it.

    keys      of everybody their number by what they did, by code
    changes   what is done to a draft, in this order
    """

    keys: NDArray[np.uint32]
    items: int
    seed: int
    changes: tuple[Change, ...] = ()

    def drafts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Box, Draft]]:
        """A draft for each box of people."""
        for box in opened(batches):
            codes, _, offsets, items, times = box.arrays
            draft = self._plain(Traces(offsets, items, self.items, times), self.keys[codes], _NO_TEXT)
            yield box, self._changed(draft)

    def nothing(self, names: pa.Array, timed: bool) -> Draft:
        """The draft of nobody, with the names that tasks do without."""
        times = np.empty(0, np.int64) if timed else None
        traces = Traces(np.zeros(1, np.int64), np.empty(0, np.uint32), len(names), times)
        return self._plain(traces, self.keys[:0], names)

    def _plain(self, traces: Traces, keys: NDArray[np.uint32], names: pa.Array) -> Draft:
        numbers = keys.astype(np.int64)
        return Material(traces, names, {}, None, user_of_each(traces), numbers, self.keys.size, self.seed).draft()

    def _changed(self, draft: Draft) -> Draft:
        for change in self.changes:
            draft = change(draft)
        return draft


@dataclass(frozen=True, slots=True, eq=False)
class SparkBlocks(Blocks):
    """Blocks that stay where Spark has them: they can be changed and tallied, and not walked through here."""

    nothing: Draft
    spread: Ingested
    drafting: Drafting

    @classmethod
    def on(cls, spread: Ingested, names: pa.Array, seed: int, keys: NDArray[np.uint32]) -> SparkBlocks:
        """The events as they are."""
        drafting = Drafting(keys, len(names), seed)
        return cls(_not_here, spread.users, spread.events, drafting.nothing(names, spread.timed), spread, drafting)

    @property
    def example(self) -> Draft:
        """The draft of nobody, with all names."""
        return self.nothing

    def changed(self, change: Change) -> SparkBlocks:
        """The same with one more change, which every task makes."""
        drafting = replace(self.drafting, changes=(*self.drafting.changes, change))
        return replace(self, nothing=change(self.nothing), drafting=drafting)

    def tallied(self, tally: _Tally) -> _Tally:
        """The same tally with every draft in it: counted by block, merged in groups of blocks, then here."""
        blocks = self.spread.partitions
        groups = math.isqrt(blocks - 1) + 1
        counted = mapped(self.spread.people, _counted, drafting=self.drafting, tally=tally, share=(groups, blocks))
        for box in arriving(mapped(gathered(counted, groups), _merged, tally=tally).toLocalIterator()):
            tally.merge(box.arrays[0])
        return tally


def _not_here() -> Iterator[Draft]:
    raise AssertionError("Events on Spark are not walked through here.")


def _counted(
    batches: Iterable[pa.RecordBatch], *, drafting: Drafting, tally: Tally, share: tuple[int, int]
) -> Iterator[Box]:
    tally, last = copy.deepcopy(tally), None
    for box, draft in drafting.drafts(batches):
        tally.add(draft)
        last = box
    if last is not None:
        groups, blocks = share
        yield Box(last.key * groups // blocks, 0, last.key, (tally.found,))


def _merged(batches: Iterable[pa.RecordBatch], *, tally: Tally) -> Iterator[Box]:
    tally, last = copy.deepcopy(tally), None
    for box in in_order(opened(batches)):
        tally.merge(box.arrays[0])
        last = box
    if last is not None:
        yield Box(last.key, 0, 0, (tally.found,))


class Keyed:
    """Numbers that nobody can tell from random ones without the secret, the same for every task that asks alike."""

    def __init__(self, secret: bytes) -> None:
        self._secret, self._asked = secret, 0

    def of(self, people: NDArray[np.int64]) -> NDArray[np.uint64]:
        """A number for each: by the person, and how often they stand there before."""
        order = np.argsort(people, kind="stable")
        begins = np.flatnonzero(np.diff(people[order], prepend=-1))
        place = np.empty(people.size, np.int64)
        place[order] = np.arange(people.size) - np.repeat(begins, np.diff(np.append(begins, people.size)))
        return self._hashed(np.stack((people, place), axis=1))

    def words(self, count: int) -> NDArray[np.uint64]:
        """So many numbers that are no person's: other ones each time."""
        first, self._asked = self._asked, self._asked + count
        return self._hashed(np.stack((np.full(count, -1), np.arange(first, first + count)), axis=1))

    def _hashed(self, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
        data = rows.tobytes()
        each = (
            hashlib.blake2b(data[begin : begin + 16], digest_size=8, key=self._secret).digest()
            for begin in range(0, len(data), 16)
        )
        return np.frombuffer(b"".join(each), np.uint64)


def _dealt(batches: Iterable[pa.RecordBatch], *, drafting: Drafting, secret: bytes, parts: int) -> Iterator[Box]:
    """Rows to the part of the file that their pseudonym stands in."""
    chance = Keyed(secret)
    for box, draft in drafting.drafts(batches):
        rows = rows_of(draft, chance.of)
        for number, mine in grouped(parts_of(rows).astype(np.int64) * parts // PARTS):
            yield Box(number, 0, box.part, (rows[mine],))


def _sorted(batches: Iterable[pa.RecordBatch], *, sorting: Sorting) -> Iterator[Box]:
    """The rows of a part of the file, in their order."""
    boxes = list(opened(batches))
    if boxes:
        rows = np.concatenate([box.arrays[0] for box in boxes])
        for number, written in enumerate(sorting.sorted(rows)):
            yield Box(boxes[0].key, 0, number, (written,))
