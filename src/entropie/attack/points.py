"""The attacker who holds points: a few random events of the released trace itself, each with its item and time.

Whoever saw somebody a few times (a neighbour, a bill, a photograph) knows such points. The candidates are the people
whose released events include all of them; the attacker names one of these at random. Unicity is the share of people who
are the only candidate (de Montjoye et al., Unique in the Crowd, 2013). No model, no training: what it finds is a fact
of the data.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from entropie.attack.attacker import AttackerRow, Naming, Release
from entropie.attack.chance import content_hashes, scattered
from entropie.attack.features import ragged
from entropie.attack.scoring import core_count
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter
from entropie.kernels.points import (
    count_holders,
    draw_places,
    drop_repeats,
    held_by,
    pack_people,
    post_events,
    query_hashes,
    sort_runs,
)
from entropie.request import POINTS, Request, Run
from entropie.words import plural

JUDGED_POINTS = 4
"""The number of points that counts unless told otherwise: that of the unicity literature (de Montjoye et al. 2013)."""

Resolution = Literal["second", "minute", "hour", "day", "none"]
"""How exactly the attacker knows when: bins of UTC; `none`: not at all."""

RESOLUTIONS: dict[Resolution, int | None] = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "none": None}
TO: dict[Resolution, str] = {
    "second": "to the second", "minute": "to the minute", "hour": "to the hour", "day": "to the day",
    "none": "times unknown",
}  # fmt: skip
ALWAYS = (np.iinfo(np.int64).min, np.iinfo(np.int64).max - 1)
_BLOCK = 4_096
_RUN_EVENTS = 1 << 20
_LEAST_QUERIES = 20_000
_MOST_DRAWS = 10
_RUN = Run()


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Points by query, query q from offsets[q] on: an event at the item, from `since` to `until`, both included."""

    offsets: NDArray[np.int64]
    items: NDArray[np.uint32]
    since: NDArray[np.int64]
    until: NDArray[np.int64]

    def part(self, begin: int, end: int) -> Queries:
        """Queries begin..end-1."""
        low, high = self.offsets[begin], self.offsets[end]
        return Queries(
            self.offsets[begin : end + 1] - low, self.items[low:high], self.since[low:high], self.until[low:high]
        )

    def take(self, rows: NDArray[np.int64]) -> Queries:
        """The named queries, in the order named."""
        offsets, places = ragged(self.offsets, rows)
        return Queries(offsets, self.items[places], self.since[places], self.until[places])

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All of them, as kernels take them."""
        return self.offsets, self.items, self.since, self.until

    @property
    def count(self) -> int:
        """How many queries."""
        return self.offsets.size - 1


@dataclass(frozen=True, slots=True, eq=False)
class PointIndex:
    """Traces arranged to be asked who holds points: by person and by item, each event in 8 bytes.

    A block of people has an index of its own; the numbers of holders add up over blocks. `own` are each person's events
    as item << 32 | tick, `posted` each item's as tick << 32 | person, both ascending.
    """

    offsets: NDArray[np.int64]
    own: NDArray[np.uint64]
    starts: NDArray[np.int64]
    posted: NDArray[np.uint64]
    clock: Clock

    @classmethod
    def of(cls, traces: Traces, threads: int | None = None) -> PointIndex:
        """Arrange the traces; a person's events of the same item and time are one."""
        times = np.empty(0, np.int64) if traces.times is None else traces.times
        when = Clock.of(times)
        own = np.empty(traces.events, np.uint64)
        ticks, earliest = (times, when.earliest) if when.ticks is None else (when.of_events(times), 0)
        _in_runs(traces.offsets, threads, partial(pack_people, traces.offsets, traces.items, ticks, earliest, own))
        offsets = drop_repeats(traces.offsets, own)
        own = own[: offsets[-1]]
        starts, posted = post_events(offsets, own, traces.domain_size)
        _in_runs(starts, threads, partial(sort_runs, starts, posted))
        return cls(offsets, own, starts, posted, when)

    def holders(self, queries: Queries, threads: int | None = None) -> NDArray[np.int64]:
        """How many people hold all points of each query; the same query is answered once."""
        return self.counted(queries, threads)[0]

    def counted(self, queries: Queries, threads: int | None = None) -> tuple[NDArray[np.int64], int]:
        """The same, and how many events of items were looked at."""
        first, again = _distinct(queries)
        asked = self.ticked(queries if first.size == queries.count else queries.take(first))

        def answer(begin: int) -> tuple[NDArray[np.int64], int]:
            part = asked.part(begin, min(begin + _BLOCK, asked.count))
            counts, looked = count_holders(self.offsets, self.own, self.starts, self.posted, *part.arrays)
            return counts, looked

        with ThreadPoolExecutor(core_count(threads)) as pool:
            answers = list(pool.map(answer, range(0, asked.count, _BLOCK)))
        return np.concatenate([counts for counts, _ in answers])[again], sum(looked for _, looked in answers)

    def held(self, queries: Queries, people: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether one person per query holds all its points."""
        held: NDArray[np.bool_] = held_by(self.offsets, self.own, people, *self.ticked(queries).arrays)
        return held

    def ticked(self, queries: Queries) -> Queries:
        """The queries in the index's own time."""
        return replace(queries, since=self.clock.since(queries.since), until=self.clock.until(queries.until))


@dataclass(frozen=True, slots=True, eq=False)
class Clock:
    """Times of events as ticks below 2^32: seconds since the earliest, or where they span more, numbers of times.

    A point in time maps to a tick from -1 to 2^32, so that what begins after the last event, or ends before the first,
    holds none.
    """

    earliest: int
    latest: int
    ticks: NDArray[np.int64] | None = None  # the times, rising, where they are numbered

    @classmethod
    def of(cls, times: NDArray[np.int64]) -> Clock:
        """A clock for these times."""
        if not times.size:
            return cls(0, 0)
        earliest, latest = int(times.min()), int(times.max())
        return cls(earliest, latest, np.unique(times) if latest - earliest >= 2**32 else None)

    def of_events(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Ticks of events."""
        return times - self.earliest if self.ticks is None else np.searchsorted(self.ticks, times)

    def since(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first tick that is not before each time."""
        if self.ticks is None:
            return np.clip(times, self.earliest, self.latest + 1) - self.earliest
        return np.searchsorted(self.ticks, times)

    def until(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """The last tick that is not after each time."""
        if self.ticks is None:
            return np.clip(times, self.earliest - 1, self.latest) - self.earliest
        return np.searchsorted(self.ticks, times, side="right") - 1


def _in_runs(offsets: NDArray[np.int64], threads: int | None, work: Callable[[int, int], None]) -> None:
    """Work on rows in runs of about `_RUN_EVENTS` events, side by side."""
    cuts = np.searchsorted(offsets, np.arange(_RUN_EVENTS, int(offsets[-1]), _RUN_EVENTS))
    bounds = np.unique(np.concatenate(([0], cuts, [offsets.size - 1])))
    with ThreadPoolExecutor(core_count(threads)) as pool:
        for _ in pool.map(work, bounds[:-1].tolist(), bounds[1:].tolist()):
            pass


def drawn_points(
    traces: Traces, points: int, draws: int, seed: int, people: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Numbers of events that attackers know, [person, draw, point]: distinct, in random order, -1 where none is left.

    So the first p are p random events. They go by what people did, not by their names. `people` are all unless given;
    who else is asked for changes nobody's points.
    """
    if points < 1 or draws < 1:
        raise InvalidParameter.of("points", "at least 1 point and 1 draw", (points, draws))
    order, lengths = _by_content(traces), np.diff(traces.offsets)
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    words = np.random.SeedSequence(seed).generate_state(draws, np.uint64)
    some = slice(None) if people is None else people
    drawn = np.stack([draw_places(lengths[some], number[some], points, word) for word in words], axis=1)
    return np.where(drawn >= 0, drawn + traces.offsets[:-1][some, None, None], -1)


def queries_of(traces: Traces, events: NDArray[np.int64], resolution: Resolution) -> Queries:
    """What the attacker knows of each row of events, -1 being none; points stand by item and time."""
    known = events >= 0
    offsets = np.zeros(events.shape[0] + 1, np.int64)
    np.cumsum(known.sum(axis=1), out=offsets[1:])
    flat = events[known]
    flat = flat[np.lexsort((flat, traces.items[flat], np.repeat(np.arange(known.shape[0]), np.diff(offsets))))]
    items, width = traces.items[flat], RESOLUTIONS[resolution]
    if width is None or traces.times is None:
        return Queries(offsets, items, np.full(flat.size, ALWAYS[0]), np.full(flat.size, ALWAYS[1]))
    since = traces.times[flat] // width * width
    return Queries(offsets, items, since, since + (width - 1))


def own_resolution(traces: Traces) -> Resolution:
    """The finest resolution that the times have: the widest bin whose beginnings they all are."""
    if traces.times is None or not traces.events:
        return "none"
    widths = [(name, width) for name, width in RESOLUTIONS.items() if width is not None]
    return next(name for name, width in reversed(widths) if not np.any(traces.times % width))


@dataclass(frozen=True, slots=True, eq=False)
class PointOutcome:
    """What an attacker with some points of everybody achieves.

    holders   people who hold the points, the person they are of included: one row per person, one column per draw
    control   whether another person, drawn at random, holds them too
    """

    points: int
    resolution: Resolution
    holders: NDArray[np.int64]
    control: NDArray[np.bool_]

    @property
    def credit(self) -> NDArray[np.float64]:
        """Each person's chance to be named."""
        chance: NDArray[np.float64] = (1.0 / self.holders).mean(axis=1)
        return chance

    @property
    def unique(self) -> NDArray[np.float64]:
        """Share of the draws that leave one candidate, by person."""
        share: NDArray[np.float64] = (self.holders == 1).mean(axis=1)
        return share

    @property
    def control_credit(self) -> NDArray[np.float64]:
        """Each person's chance to be named for another's points."""
        chance: NDArray[np.float64] = (self.control / self.holders).mean(axis=1)
        return chance

    @property
    def naming(self) -> Naming:
        """The same as every attacker tells it; how few candidates there are is seen without knowing the truth."""
        return Naming(self.credit, self.credit, np.zeros_like(self.holders), self.holders - 1, self.unique)


def _by_content(traces: Traces) -> NDArray[np.int64]:
    """People in the order of what they did, in which names have no part but between people who did alike."""
    popular = np.bincount(traces.items, minlength=traces.domain_size)
    return np.argsort(content_hashes(traces, traces, popular, popular), kind="stable")


def draws_for(people: int) -> int:
    """How often points are drawn: more often where people are few."""
    return int(np.clip(_LEAST_QUERIES // max(1, people), 1, _MOST_DRAWS))


def _distinct(queries: Queries) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first of every query that occurs, and for each query which of these it is.

    Equal ones are found by a hash of 64 bits and compared; should two others share a hash, every query stands for
    itself.
    """
    _, first, again = np.unique(query_hashes(*queries.arrays), return_index=True, return_inverse=True)
    each = np.arange(queries.count)
    if first.size == queries.count:
        return each, each
    twins = queries.take(first[again])
    same = all(np.array_equal(one, other) for one, other in zip(queries.arrays, twins.arrays, strict=True))
    return (first, again) if same else (each, each)


@dataclass(frozen=True, slots=True, eq=False)
class PointAttack:
    """What attackers hold of everybody, and the traces arranged to be asked: the same points at every resolution.

    drawn    numbers of events, [person attacked, draw, point]
    others   another person for each, whose chance to hold the same points is the control
    """

    traces: Traces
    index: PointIndex
    drawn: NDArray[np.int64]
    others: NDArray[np.int64]
    threads: int | None

    @classmethod
    def of(
        cls, traces: Traces, points: int = POINTS[-1], run: Run = _RUN, people: NDArray[np.int64] | None = None
    ) -> PointAttack:
        """Draw up to so many points of these people, of everybody unless given."""
        draws = draws_for(traces.users)
        order = _by_content(traces)
        others = np.empty_like(order)
        others[order] = order[scattered(np.arange(order.size), order.size, run.seed)]
        drawn = drawn_points(traces, points, draws, run.seed, people)
        others = others if people is None else others[people]
        return cls(traces, PointIndex.of(traces, run.threads), drawn, others, run.threads)

    def outcome(self, points: int, resolution: Resolution) -> PointOutcome:
        """Attack everybody with the first so many of their points, known to a resolution."""
        draws = self.drawn.shape[1]
        queries = queries_of(self.traces, self.drawn[:, :, :points].reshape(-1, points), resolution)
        holders = self.index.holders(queries, self.threads).reshape(-1, draws)
        control = self.index.held(queries, np.repeat(self.others, draws)).reshape(-1, draws)
        return PointOutcome(points, resolution, holders, control)


def resolutions_of(traces: Traces) -> tuple[Resolution, ...]:
    """The finest resolution that the times have, and every coarser one; `none` last."""
    names = list(RESOLUTIONS)
    return tuple(names[names.index(own_resolution(traces)) :])


def point_rows(release: Release, request: Request) -> Iterator[AttackerRow]:
    """Rows of the attacker of points: every number of points at every resolution, the finest first.

    The number that is judged by convention is always among them.
    """
    wanted = sorted({*request.attackers.points, JUDGED_POINTS})
    attack = PointAttack.of(release.released, wanted[-1], request.run, release.attacked)
    for resolution in resolutions_of(release.released):
        for points in wanted:
            request.run.progress(f"attacking: known events, {TO[resolution]}", wanted.index(points) / len(wanted))
            begun = clock.perf_counter()
            outcome = attack.outcome(points, resolution)
            control = Naming(outcome.control_credit, outcome.credit) if request.attackers.control else None
            yield AttackerRow.of(
                "points",
                f"{plural(points, 'random event')}, {TO[resolution]}",
                release.released.users,
                outcome.naming,
                control,
                points=points,
                time_resolution=resolution,
                item_resolution="item",
                seconds=clock.perf_counter() - begun,
            )
