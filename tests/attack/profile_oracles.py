"""Slow and obvious: the evidence of the profile attacker from lists and dictionaries, and people to try it on."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from attack_oracles import rows_of
from numpy.typing import NDArray

from entropie.data.traces import Traces

HOUR = 3600
DAY = 24 * HOUR
WEEK = 7 * DAY
SEEN = 0.1


@dataclass(frozen=True)
class Case:
    train: Traces
    target: Traces
    categories: NDArray[np.int64] | None


def random_case(seed: int, users: int = 12, domain: int = 30, timed: bool = True, sorted_: bool = True) -> Case:
    """People with favourite items, hours and rhythms."""
    rng = np.random.default_rng(seed)
    halves = []
    favourites = [rng.integers(0, domain, 4) for _ in range(users)]
    pace = rng.uniform(1, 40, users)
    for _ in range(2):
        rows, times = [], []
        for person in range(users):
            count = int(rng.integers(2, 15))
            old = rng.random(count) < 0.6
            rows.append(np.where(old, rng.choice(favourites[person], count), rng.integers(0, domain, count)))
            times.append(rng.integers(0, 50) * WEEK + np.cumsum(rng.exponential(pace[person] * HOUR, count)))
        offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        clock = np.concatenate(times).astype(np.int64) if timed else None
        halves.append(Traces(offsets, np.concatenate(rows).astype(np.uint32), domain, clock))
    return Case(*halves, rng.integers(0, 5, domain) if timed else None)


def clock_of(traces: Traces) -> list[list[int]]:
    assert traces.times is not None
    return [
        traces.times[low:high].tolist()
        for low, high in zip(traces.offsets[:-1].tolist(), traces.offsets[1:].tolist(), strict=True)
    ]


def hour_bin(time: int) -> int:
    weekend = (time // DAY + 3) % 7 >= 5
    return 24 * weekend + time % DAY // HOUR


def slot_bin(time: int) -> int:
    return hour_bin(time) // 4


def gap_bin(before: int, now: int) -> int:
    passed = now - before if now >= before else (now - before) % WEEK
    return min(int(math.log2(1 + passed / HOUR)), 10)


def days_of(times: Sequence[int]) -> list[int]:
    """How many events each day has, without the first and the last day, one after the other."""
    return [len(list(events)) for _, events in itertools.groupby(time // DAY for time in times)][1:-1]


def day_bin(events: int) -> int:
    """Exactly below 16, in twos below 32, in fours below 64."""
    if events < 16:
        return events - 1
    return 15 + (events - 16) // 2 if events < 32 else min(23 + (events - 32) // 4, 31)


def return_bin(items: Sequence[int], place: int) -> int | None:
    if place < 4:
        return None
    return next((ago - 1 for ago in range(1, 5) if items[place - ago] == items[place]), 4)


def spread_hours(counts: dict[int, float]) -> dict[int, float]:
    out: dict[int, float] = defaultdict(float)
    for bin_, weight in counts.items():
        for shift, part in ((-2, 1), (-1, 2), (0, 3), (1, 2), (2, 1)):
            out[bin_ // 24 * 24 + (bin_ + shift) % 24] += weight * part / 9
    return out


def shares(counts: dict[int, float], size: int) -> list[float]:
    seen = [counts.get(bin_, 0.0) + SEEN for bin_ in range(size)]
    return [one / sum(seen) for one in seen]


def surprise(counts: dict[int, float], everybody: list[float], prior: float, bin_: int) -> float:
    total = sum(counts.values())
    return math.log((counts.get(bin_, 0.0) + prior * everybody[bin_]) / (total + prior) / everybody[bin_])


class Oracle:
    """Everything from scratch for one pair at a time."""

    def __init__(self, case: Case) -> None:
        self.train, self.target = rows_of(case.train), rows_of(case.target)
        self.timed = case.train.times is not None
        self.train_times = clock_of(case.train) if self.timed else [[] for _ in self.train]
        self.target_times = clock_of(case.target) if self.timed else [[] for _ in self.target]
        self.dated = self.timed and all(own == sorted(own) for own in self.train_times + self.target_times)
        self.categories = None if case.categories is None else case.categories.tolist()
        self.sets = [set(row) for row in self.train] + [set(row) for row in self.target]
        self.holders = Counter(x for one in self.sets for x in one)
        total = sum(self.holders.values())
        self.popularity = {x: count / total for x, count in self.holders.items()}
        self.everybody = {
            "slot": shares(self._pooled(self._slots), 12),
            "hour": shares(spread_hours(self._pooled(self._hours)), 48),
            "gap": shares(self._pooled(self._gaps), 11),
            "return": shares(self._pooled(self._returns), 5),
            "day": shares(self._pooled(self._days), 32),
            "rarity": shares(self._pooled(self._rarities), 10),
        }
        if self.categories is not None:
            self.everybody["category"] = shares(self._pooled(self._kinds), max(self.categories) + 1)

    def _pooled(self, counted) -> dict[int, float]:  # type: ignore[no-untyped-def]
        pool: dict[int, float] = defaultdict(float)
        for person in range(len(self.train)):
            for bin_, weight in counted(self.train[person], self.train_times[person], self.past(person)).items():
                pool[bin_] += weight
        return pool

    def past(self, person: int) -> list[float]:
        count = len(self.train[person])
        return [1 / (1 + 0.1 * (count - 1 - place)) for place in range(count)]

    @staticmethod
    def _slots(items, times, weights) -> dict[int, float]:  # type: ignore[no-untyped-def]
        return _summed((slot_bin(time), weight) for time, weight in zip(times, weights, strict=False))

    @staticmethod
    def _hours(items, times, weights) -> dict[int, float]:  # type: ignore[no-untyped-def]
        return _summed((hour_bin(time), weight) for time, weight in zip(times, weights, strict=False))

    @staticmethod
    def _gaps(items, times, weights) -> dict[int, float]:  # type: ignore[no-untyped-def]
        return _summed(
            (gap_bin(a, b), weight) for (a, b), weight in zip(itertools.pairwise(times), weights[1:], strict=False)
        )

    @staticmethod
    def _days(items, times, weights) -> dict[int, float]:  # type: ignore[no-untyped-def]
        return Counter(map(day_bin, days_of(times)))  # all weigh alike

    @staticmethod
    def _returns(items, times, weights) -> dict[int, float]:  # type: ignore[no-untyped-def]
        bins = ((return_bin(items, place), weight) for place, weight in enumerate(weights))
        return _summed((bin_, weight) for bin_, weight in bins if bin_ is not None)

    def _rarities(self, items, times, weights) -> dict[int, float]:  # type: ignore[no-untyped-def]
        return _summed((self.rarity(x), weight) for x, weight in zip(items, weights, strict=True))

    def _kinds(self, items, times, weights) -> dict[int, float]:  # type: ignore[no-untyped-def]
        assert self.categories is not None
        return _summed((self.categories[x], weight) for x, weight in zip(items, weights, strict=True))

    def rarity(self, item: int) -> int:
        return min(int(math.log2(self.holders[item])), 9)

    def model(self, sums: dict[int, float]) -> tuple[dict[int, float], dict[int, float], float]:
        """Evidence per item, share of the discount per item, penalty."""
        discount = {x: 0.7 * min(c, 1.0) for x, c in sums.items()}
        room = 10 + sum(discount.values())
        evidence = {x: math.log(1 + (c - discount[x]) / (room * self.popularity[x])) for x, c in sums.items()}
        given = sum(discount.values())
        return evidence, {x: d / given for x, d in discount.items()}, math.log((sum(sums.values()) + 10) / room)

    def evidence(self, number: int, person: int) -> dict[str, float]:
        items, past = self.train[person], self.past(person)
        known = _summed(zip(items, past, strict=True))
        weight, share, penalty = self.model(known)
        asked = self.target[number]
        coming = [1 / (1 + 0.1 * place) for place in range(len(asked))]
        sums = _summed(zip(asked, coming, strict=True))
        damped = {x: s**0.6 for x, s in sums.items()}
        each = [w * sums[x] ** -0.4 for x, w in zip(asked, coming, strict=True)]
        size = sum(damped.values())
        both = set(known) & set(sums)
        new = set(sums) - set(known)
        found = {
            "item": sum(damped[x] * weight[x] for x in both) - size * penalty,
            "presence": sum(sums[x] ** 0.2 * weight[x] for x in both) - sum(s**0.2 for s in sums.values()) * penalty,
            "again": -float(len(both)),
            "reverse": sum(known[x] ** 0.6 * self.model(sums)[0][x] for x in both)
            / sum(c**0.6 for c in known.values()),
            "neighbours": sum(damped[x] * self.goes_with(x, number, share) for x in new),
            "rarity": sum(
                damped[x] * surprise(self._rarities(items, None, past), self.everybody["rarity"], 20, self.rarity(x))
                for x in new
            )
            / math.sqrt(size),
            "return": self._habit(self._returns, number, person, each, "return", 5) / math.sqrt(size),
        }
        if self.timed:
            found["gap"] = self._habit(self._gaps, number, person, each, "gap", 5) / math.sqrt(size)
            found["hour"] = sum(
                w
                * surprise(
                    spread_hours(self._hours(items, self.train_times[person], past)),
                    self.everybody["hour"],
                    20,
                    hour_bin(time),
                )
                for w, time in zip(each, self.target_times[number], strict=True)
            )
            if self.dated:
                days = len(days_of(self.target_times[number]))
                found["day"] = self._habit(self._days, number, person, each, "day", 5) / math.sqrt(max(days, 1))
            found["item_hour"] = self._given(number, person, each, lambda x: x, both)
        if self.categories is not None:
            kinds = self._kinds(items, None, past)
            found["category"] = sum(
                damped[x] * surprise(kinds, self.everybody["category"], 20, self.categories[x]) for x in new
            ) / math.sqrt(size)
            found["category_hour"] = self._given(number, person, each, lambda x: self.categories[x], new) / math.sqrt(
                size
            )
        return found

    def _habit(self, counted, number, person, each, name, prior) -> float:  # type: ignore[no-untyped-def]
        mine = counted(self.train[person], self.train_times[person], self.past(person))
        theirs = counted(self.target[number], self.target_times[number], each)
        return sum(w * surprise(mine, self.everybody[name], prior, bin_) for bin_, w in theirs.items())

    def _given(self, number, person, each, group, counted) -> float:  # type: ignore[no-untyped-def]
        """Sum over events at `counted` items of ln P_i(slot|group)/P_i(slot)."""
        past, times = self.past(person), self.train_times[person]
        slots = self._slots(None, times, past)
        total = sum(slots.values())
        habit = [(slots.get(s, 0.0) + 20 * self.everybody["slot"][s]) / (total + 20) for s in range(12)]
        pairs = _summed(((group(x), slot_bin(t)), w) for x, t, w in zip(self.train[person], times, past, strict=True))
        groups = _summed((group(x), w) for x, w in zip(self.train[person], past, strict=True))
        score = 0.0
        for x, time, weight in zip(self.target[number], self.target_times[number], each, strict=True):
            if x in counted:
                slot, g = slot_bin(time), group(x)
                chance = (pairs.get((g, slot), 0.0) + 5 * habit[slot]) / (groups.get(g, 0.0) + 5)
                score += weight * math.log(chance / habit[slot])
        return score

    def goes_with(self, item: int, number: int, share: dict[int, float]) -> float:
        """Evidence that somebody with these shares meets an item, from all traces but the target's own."""
        own = len(self.train) + number
        near = lack = 0.0
        for y, part in share.items():
            others = [one for place, one in enumerate(self.sets) if place != own and y in one]
            reach = sum((len(one) - 1) / math.sqrt(len(one)) for one in others)
            near += part * sum(1 / math.sqrt(len(one)) for one in others if item in one) / (reach + 10)
            lack += part * 10 / (reach + 10)
        return math.log(0.2 + 0.8 * (near / self.popularity[item] + lack))


def _summed(pairs):  # type: ignore[no-untyped-def]
    sums = defaultdict(float)
    for key, weight in pairs:
        sums[key] += weight
    return sums
