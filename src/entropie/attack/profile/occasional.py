"""Habits that few data have, looked at where the training shows that somebody has them.

A coming back after minutes of one's own, a beat such as every tenth day, a minute of the hour, a day of the month, an
item for each day of the week, rows of events at one item, items that follow each other, items that come back after so
many events, items that one has not and everybody else has: on most data they tell nothing and cost room. So each is put
to the test on the training cut in two (`habits_of`), and the others are left out.

Bins tell nothing of a trace's length or of its dates. Days of the month and beats are looked at only in traces so long
that they have every one several times; rows of events that a split may have cut count nowhere. Items are scattered
over bins by how often they occur, so that names play no part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import item_rows
from entropie.attack.profile.habits import DAY_SECONDS, WEEK_SECONDS, events_before, firsts
from entropie.data.traces import Traces, in_blocks

Habit = Literal["pace", "period", "second", "minute", "month", "weekday", "run", "pair", "triple", "cycle", "absent"]

OCCASIONAL: Mapping[Habit, int] = MappingProxyType(
    {
        "pace": 96,  # time since the event before, a quarter of an octave apart
        "period": 128,  # when in the interval that one's events are usually apart, scattered
        "second": 60,  # of the minute
        "minute": 60,  # of the hour
        "month": 31,  # day of it
        "weekday": 64,  # item and day of the week, scattered
        "run": 48,  # events in a row at one item
        "pair": 64,  # item and the one before, scattered
        "triple": 128,  # item and the two before, scattered
        "cycle": 64,  # after how many events an item comes back
        "absent": 64,  # items that nearly everybody has and this person has not, scattered
    }
)
"""The habits and their bins."""

TIMED: frozenset[Habit] = frozenset(("pace", "period", "second", "minute", "month", "weekday"))
DATED: frozenset[Habit] = frozenset(("period", "month"))

MONTHS = 58
"""Days that a trace spans at least to tell days of the month: three times the same one. Fewer would tell its dates."""

REGULAR, LEAST_BEATS = 0.5, 2
"""Whose events are mostly one interval apart, over so many of them, has a beat."""

PRIOR = 5.0
LOOKED_AT = 100_000
"""People whose training is put to the test, at most."""

SURELY, CLEAREST, OTHERS = 4.0, 14, 3
"""A habit is looked at where it tells people apart by so many standard errors on the mean, or where so many people, for
whom it makes the largest difference, all are nearer to themselves than to somebody else: by chance once in 2^14 for
each of so many others whom everybody is compared with.
"""

NEARLY = 0.9
"""Share of people who have an item that it tells something not to have."""

_SEEN = 0.1

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Occasional:
    """The habits looked at, and what is known of everybody: the shares of their bins one after the other."""

    habits: tuple[Habit, ...] = ()
    keys: NDArray[np.uint64] | None = None  # per item
    shares: Floats | None = None
    usual: tuple[Ints, Ints] | None = None  # items that nearly everybody has, in the training and among all targets

    @classmethod
    def of(cls, train: Traces, target: Traces, habits: tuple[Habit, ...]) -> Occasional:
        """Of these people; nothing of whose a target is has a part in it."""
        if not habits:
            return cls()
        keys, usual = item_keys(train, target), (usual_items(train), usual_items(target))
        counts = [
            np.concatenate([one.sum(axis=0) for one in _counted(some, habits, keys, usual[0])])
            for some in in_blocks(train)
        ]
        ends = np.cumsum([OCCASIONAL[habit] for habit in habits])[:-1]
        shares = [_shares(part) for part in np.split(np.sum(counts, axis=0), ends)]
        return cls(habits, keys, np.concatenate(shares), usual)

    @property
    def parts(self) -> list[Floats]:
        """The shares of every habit there is, empty where it is not looked at."""
        found, begin = [], 0
        for habit, size in OCCASIONAL.items():
            end = begin + (size if habit in self.habits else 0)
            found.append(np.zeros(0) if self.shares is None else self.shares[begin:end])
            begin = end
        return found

    def known(self, train: Traces) -> Floats:
        """ln P_i/p of every bin, one row per person."""
        if self.shares is None or self.usual is None:
            return np.zeros((train.users, 0))
        parts = [part for part in self.parts if part.size]
        counted = _counted(train, self.habits, self.keys, self.usual[0])
        return np.concatenate([_surprise(*pair) for pair in zip(counted, parts, strict=True)], axis=1)

    def asked(self, target: Traces) -> Floats:
        """How often each bin occurs, over the root of how often the habit shows at all: all events weigh alike."""
        if self.shares is None or self.usual is None:
            return np.zeros((target.users, 0))
        counted = _counted(target, self.habits, self.keys, self.usual[1])
        return np.concatenate(
            [one / np.sqrt(np.maximum(one.sum(axis=1, keepdims=True), 1.0)) for one in counted], axis=1
        )


def habits_of(earlier: Traces, later: Traces, dated: bool) -> tuple[Habit, ...]:
    """The habits by which the earlier part of a trace tells the later one, of most people or of some."""
    if earlier.users < 2:
        return ()
    if earlier.users > LOOKED_AT:
        some = np.linspace(0, earlier.users - 1, LOOKED_AT).astype(np.int64)
        earlier, later = earlier.take(some), later.take(some)
    timed = earlier.times is not None and later.times is not None
    keys = item_keys(earlier, later)
    return tuple(
        habit
        for habit in OCCASIONAL
        if (timed or habit not in TIMED) and (dated or habit not in DATED) and shows(earlier, later, habit, keys)
    )


def shows(earlier: Traces, later: Traces, habit: Habit, keys: NDArray[np.uint64]) -> bool:
    """Whether a habit tells people apart."""
    (known,), (asked,) = (_counted(part, (habit,), keys, usual_items(part)) for part in (earlier, later))
    table = _surprise(known, _shares(known.sum(axis=0)))
    gains = np.stack([gains_of(table, asked, step) for step in range(1, OTHERS + 1)])
    return gains.shape[1] > 1 and (surely_above(gains.mean(axis=0), SURELY) or any(map(tells_some, gains)))


def gains_of(table: Floats, asked: Floats, step: int = 1) -> Floats:
    """How much better each person's later part suits their own earlier part than somebody else's, by what it has.

    Who is compared with whom goes by what they do, so that the order of people plays no part; another with each step.
    """
    there = asked.sum(axis=1) > 0
    table, asked = table[there], asked[there]
    wave = np.sin(np.arange(1.0, table.shape[1] + 1.0))
    other = np.empty(table.shape[0], np.int64)
    order = np.argsort(_stirred((table @ wave + asked @ wave[::-1]).view(np.uint64)), kind="stable")
    other[order] = np.roll(order, step)
    return np.asarray(((table - table[other]) * asked).sum(axis=1) / np.sqrt(asked.sum(axis=1)), np.float64)


def surely_above(gains: Floats, errors: float) -> bool:
    """Whether the mean gain is above nothing by so many standard errors."""
    return bool(gains.mean() > errors * gains.std(ddof=1) / np.sqrt(gains.size))


def tells_some(gains: Floats) -> bool:
    """Whether a few people are told, however many others are not."""
    clearest = gains[np.argsort(-np.abs(gains), kind="stable")[:CLEAREST]]
    return clearest.size == CLEAREST and bool((clearest > 0.0).all())


def item_keys(train: Traces, target: Traces) -> NDArray[np.uint64]:
    """A number for each item that depends on no name: on how many hold it and how often."""
    parts = (train, target)
    times = sum(np.bincount(part.items, minlength=part.domain_size) for part in parts)
    holders = sum(item_rows(part).holders() for part in parts)
    return _stirred(np.asarray(times, np.uint64) + _stirred(np.asarray(holders, np.uint64)))


def bins_of_habit(traces: Traces, habit: Habit, keys: NDArray[np.uint64] | None = None) -> Ints:
    """The bin of every event; -1 where it has none. `keys` are needed where items have a part in it."""
    if habit == "run":
        return _runs(traces)
    if habit == "cycle":
        return _cycles(traces)
    of_items = np.empty(0, np.uint64) if keys is None else keys[traces.items]
    if habit in ("pair", "triple"):
        return _sequences(traces, of_items, habit)
    times = traces.times
    assert times is not None
    days = times // DAY_SECONDS
    if habit == "pace":
        return _paces(traces, times)
    if habit == "weekday":
        return _scattered(of_items, ((days + 3) % 7).astype(np.uint64), habit)
    if habit == "period":
        return _beats(traces, times)
    if habit == "month":
        long = np.repeat(spans_of(traces, days) >= MONTHS, np.diff(traces.offsets))
        return np.where(long, _days_of_months(days), -1)
    return np.asarray(times % 60 if habit == "second" else times // 60 % 60, np.int64)


def usual_items(traces: Traces) -> Ints:
    """The items that nearly all of these people have."""
    return np.flatnonzero(item_rows(traces).holders() >= NEARLY * traces.users)


def _counted(traces: Traces, habits: tuple[Habit, ...], keys: NDArray[np.uint64] | None, usual: Ints) -> list[Floats]:
    """How often each bin of each habit occurs, one row per person; `usual` are the items that nearly everybody has."""
    person = np.repeat(np.arange(traces.users), np.diff(traces.offsets))
    counted = []
    for habit in habits:
        if habit == "absent":
            counted.append(_absent(traces, keys, usual))
            continue
        bins, size = bins_of_habit(traces, habit, keys), OCCASIONAL[habit]
        there = bins >= 0
        sums = np.bincount(person[there] * size + bins[there], minlength=traces.users * size)
        counted.append(sums.reshape(traces.users, size).astype(np.float64))
    return counted


def _shares(sums: Floats) -> Floats:
    seen = sums + _SEEN
    return np.asarray(seen / seen.sum(), np.float64)


def _surprise(counts: Floats, shares: Floats) -> Floats:
    mixed = (counts + PRIOR * shares) / (counts.sum(axis=1, keepdims=True) + PRIOR)
    return np.asarray(np.log(mixed / shares), np.float64)


def _stirred(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    words = (words ^ (words >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return words ^ (words >> np.uint64(32))


def _scattered(keys: NDArray[np.uint64], beside: NDArray[np.uint64], habit: Habit) -> Ints:
    """A bin for each pair of words."""
    words = _stirred(keys + beside * np.uint64(0xC2B2AE3D27D4EB4F))
    return (words % np.uint64(OCCASIONAL[habit])).astype(np.int64)


def _sequences(traces: Traces, keys: NDArray[np.uint64], habit: Habit) -> Ints:
    """Bins of the items at which two or three events follow each other."""
    before = np.roll(keys, 1)
    if habit == "triple":
        before = _stirred(before * np.uint64(3) + np.roll(keys, 2))
    bins = _scattered(keys, before, habit)
    bins[events_before(traces) < (2 if habit == "triple" else 1)] = -1
    return bins


def _runs(traces: Traces) -> Ints:
    """How many events in a row are at one item, for the first event of each row but the first and the last."""
    begins = np.ones(traces.events, np.bool_)
    begins[1:] = traces.items[1:] != traces.items[:-1]
    begins[firsts(traces)] = True
    starts = np.flatnonzero(begins)
    bins = np.full(traces.events, -1, np.int64)
    bins[starts] = np.minimum(np.diff(starts, append=traces.events), OCCASIONAL["run"]) - 1
    lasts = traces.offsets[1:][np.diff(traces.offsets) > 0] - 1
    bins[firsts(traces)] = -1
    bins[starts[np.cumsum(begins)[lasts] - 1]] = -1
    return bins


def _cycles(traces: Traces) -> Ints:
    """How many events ago the same person was at the item last, less 1; none for what did not come back."""
    person = np.repeat(np.arange(traces.users), np.diff(traces.offsets))
    order = np.lexsort((traces.items, person))  # keeps the order of events
    again = (np.diff(person[order]) == 0) & (np.diff(traces.items[order].astype(np.int64)) == 0)
    bins = np.full(traces.events, -1, np.int64)
    bins[order[1:][again]] = np.minimum(np.diff(order)[again], OCCASIONAL["cycle"]) - 1
    return bins


def _absent(traces: Traces, keys: NDArray[np.uint64] | None, usual: Ints) -> Floats:
    """Which of the items that nearly everybody has each of these people has not, one row per person."""
    assert keys is not None
    size = OCCASIONAL["absent"]
    bins = (keys[usual] % np.uint64(size)).astype(np.int64)
    sums = np.tile(np.bincount(bins, minlength=size).astype(np.float64), (traces.users, 1))
    if usual.size:
        place = np.full(traces.domain_size, -1, np.int64)
        place[usual] = bins
        person = np.repeat(np.arange(traces.users), np.diff(traces.offsets))
        held = np.unique(person * np.int64(traces.domain_size) + traces.items)
        who, which = np.divmod(held, traces.domain_size)
        there = place[which] >= 0
        np.subtract.at(sums, (who[there], place[which[there]]), 1.0)
    return sums


def _paces(traces: Traces, times: Ints) -> Ints:
    passed = np.diff(times, prepend=times[:1])
    passed = np.where(passed < 0, passed % WEEK_SECONDS, passed)
    bins = np.minimum(4.0 * np.log2(1.0 + passed), OCCASIONAL["pace"] - 1).astype(np.int64)
    bins[firsts(traces)] = -1
    return np.asarray(bins, np.int64)


def _beats(traces: Traces, times: Ints) -> Ints:
    """When in the interval that a person's events are most often apart: in days, hours or minutes, a half at least."""
    bins = np.full(traces.events, -1, np.int64)
    person = np.repeat(np.arange(traces.users), np.diff(traces.offsets))
    passed = np.diff(times, prepend=times[:1])
    passed[firsts(traces)] = 0
    unit = np.select([passed >= 2 * DAY_SECONDS, passed >= 7200], [DAY_SECONDS, 3600], 60)
    apart = (passed + unit // 2) // unit * unit
    there = apart > 0
    if not there.any():
        return bins
    pairs, often = np.unique(person[there] << 40 | np.minimum(apart[there], (1 << 40) - 1), return_counts=True)
    pairs, often = np.stack(np.divmod(pairs[often > 1], 1 << 40)), often[often > 1]  # what was seen once is no beat
    order = np.lexsort((pairs[1], -often, pairs[0]))
    usual = order[np.unique(pairs[0][order], return_index=True)[1]]
    interval, share = np.zeros(traces.users, np.int64), np.zeros(traces.users)
    interval[pairs[0][usual]] = pairs[1][usual]
    share[pairs[0][usual]] = often[usual] / np.bincount(person[there], minlength=traces.users)[pairs[0][usual]]
    regular = (share >= REGULAR) & (spans_of(traces, times) >= LEAST_BEATS * interval)
    mine = regular[person]
    each = np.where(mine, interval[person], 1)
    step = np.select([each >= 2 * DAY_SECONDS, each >= 7200], [DAY_SECONDS, 3600], 60)
    when = times % each // step
    bins[mine] = _scattered(each[mine].astype(np.uint64), when[mine].astype(np.uint64), "period")
    return bins


def _days_of_months(days: Ints) -> Ints:
    dates = days.astype("datetime64[D]")
    return np.asarray((dates - dates.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64), np.int64)


def spans_of(traces: Traces, times: Ints) -> Ints:
    """From the first to the last of each trace."""
    spans = np.zeros(traces.users, np.int64)
    starts = firsts(traces)
    if starts.size:
        there = np.diff(traces.offsets) > 0
        spans[there] = np.maximum.reduceat(times, starts) - np.minimum.reduceat(times, starts)
    return spans
