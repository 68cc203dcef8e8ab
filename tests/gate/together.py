"""More data made to get a PASS that is not deserved: people told apart by what goes together with what, and by no habit
by itself.

Most people come at any time, to any of the places. Some, the cover, are everywhere at any time, so that known events
name nobody. The exposed do as the others do, but for one conjunction of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
from adversarial import DAY, Crowd
from numpy.typing import NDArray

HOUR = 3600
_BEGIN = 1_600_000_000 // (7 * DAY) * 7 * DAY + 4 * DAY  # a Monday
_COVER = 40
Walk = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Times in seconds and places."""


def place_at_an_hour(crowd: Crowd) -> pa.Table:
    """Two places; at the second each of the exposed is at an hour of the day of their own alone."""
    rng = np.random.default_rng(crowd.seed)
    days = _days(crowd)

    def own(person: int) -> Walk:
        often = days // 3
        return _joined(
            (_some(rng, days * 24, days - often) * HOUR, 0),
            ((_some(rng, days, often) * 24 + person % 24) * HOUR, 1),
        )

    return _hidden(rng, crowd, np.arange(days * 24) * HOUR, own, 2)


def place_at_an_hour_of_the_week(crowd: Crowd) -> pa.Table:
    """The same at an hour of the week, which comes less often."""
    rng = np.random.default_rng(crowd.seed)
    days = _days(crowd)
    hours = rng.permutation(168)

    def own(person: int) -> Walk:
        weeks = days // 2
        return _joined(
            (_some(rng, weeks * 168, days // 2) * HOUR, 0),
            ((np.arange(weeks) * 168 + hours[person]) * HOUR, 1),
        )

    return _hidden(rng, crowd, np.arange(days // 2 * 168) * HOUR, own, 2)


def place_at_a_minute(crowd: Crowd) -> pa.Table:
    """Two places, at the second at a minute of the hour of their own."""
    rng = np.random.default_rng(crowd.seed)
    days = _days(crowd)
    minutes = np.arange(days * 24 * 60).reshape(-1, 60)[::12].ravel()

    def own(person: int) -> Walk:
        often = days // 4
        hours = minutes.reshape(-1, 60)[:, 0]
        return _joined(
            (rng.choice(minutes, days // 2, replace=False) * 60, 0),
            ((rng.choice(hours, often, replace=False) + person % 60) * 60, 1),
        )

    return _hidden(rng, crowd, minutes * 60, own, 2)


def place_on_a_day_of_the_month(crowd: Crowd) -> pa.Table:
    """Two places, at the second on a day of the month of their own."""
    rng = np.random.default_rng(crowd.seed)
    days = np.arange(30 * 12)
    dates = (days + _BEGIN // DAY).astype("datetime64[D]")
    of_month = (dates - dates.astype("datetime64[M]")).astype(int)

    def own(person: int) -> Walk:
        mine = days[of_month == person % 28]
        return _joined((rng.choice(days, crowd.events, replace=False) * DAY, 0), (mine * DAY, 1))

    return _hidden(rng, crowd, days * DAY, own, 2)


def place_every_other_week(crowd: Crowd) -> pa.Table:
    """Two places, at the second every fourteen days, each on another of these."""
    rng = np.random.default_rng(crowd.seed)
    days = np.arange(14 * 12)

    def own(person: int) -> Walk:
        mine = days[days % 14 == person % 14]
        return _joined((rng.choice(days, crowd.events, replace=False) * DAY, 0), (mine * DAY, 1))

    return _hidden(rng, crowd, days * DAY, own, 2)


def order_at_an_hour(crowd: Crowd) -> pa.Table:
    """Three places; from the first to the second the exposed go at an hour of their own alone, the next hour after."""
    rng = np.random.default_rng(crowd.seed)
    days = _days(crowd)

    def own(person: int) -> Walk:
        chosen = rng.permutation(days)
        often, hour = days // 3, person % 23
        goes = chosen[:often] * 24 + hour
        else_ = (chosen[often:] * 24 + rng.integers(0, 24, days - often)) * HOUR
        return _joined((goes * HOUR, 0), ((goes + 1) * HOUR, 1), (else_, 2))

    return _hidden(rng, crowd, np.arange(days * 24) * HOUR, own, 3)


def place_after_a_pause(crowd: Crowd) -> pa.Table:
    """Two places; the exposed come to the second so many hours after the first as nobody else."""
    rng = np.random.default_rng(crowd.seed)
    days = _days(crowd)

    def own(person: int) -> Walk:
        first = np.arange(days // 2) * 48 + rng.integers(0, 24, days // 2)
        return _joined((first * HOUR, 0), ((first[::2] + 1 + person % 22) * HOUR, 1))

    return _hidden(rng, crowd, np.arange(days * 24) * HOUR, own, 2)


def place_in_the_day(crowd: Crowd) -> pa.Table:
    """Everybody makes so many visits a day; one of these, always the same, the exposed make at a place of their choice."""
    rng = np.random.default_rng(crowd.seed)
    places, number, days = 6, 6, 12

    def walk(person: int) -> Walk:
        times = np.concatenate([day * 24 + np.sort(rng.choice(24, number, replace=False)) for day in range(days)])
        where = rng.integers(0, places, times.size)
        if person < crowd.exposed:
            which, what = divmod(person % (places * number), places)
            where[which::number] = what
        return times * HOUR, where

    return _hidden(rng, crowd, np.arange(days * 24) * HOUR, walk, places, everybody=True)


def hour_after_an_hour(crowd: Crowd) -> pa.Table:
    """Twice a day at either of two places: when the exposed come again depends on when they came, in their own way."""
    rng = np.random.default_rng(crowd.seed)
    days = 6 * _days(crowd) // 4

    def own(person: int) -> Walk:
        first = rng.integers(0, 8, days)
        table = np.random.default_rng([crowd.seed, person]).integers(8, 24, 8)
        both = np.stack((first, table[first]), axis=1) + 24 * np.arange(days)[:, None]
        return both.ravel() * HOUR, rng.integers(0, 2, 2 * days)

    return _hidden(rng, crowd, np.arange(days * 24) * HOUR, own, 2)


def hours_of_places(crowd: Crowd) -> pa.Table:
    """Eight places at any hour; the exposed are at each at another hour of three, in their own way."""
    rng = np.random.default_rng(crowd.seed)
    days = 2 * _days(crowd)

    def own(person: int) -> Walk:
        table = np.random.default_rng([crowd.seed, person]).integers(0, 3, 8)
        where = rng.integers(0, 8, days)
        return (np.arange(days) * 3 + table[where]) * HOUR, where

    return _hidden(rng, crowd, np.arange(days * 3) * HOUR, own, 8)


def together_in_a_day(crowd: Crowd) -> pa.Table:
    """Twelve places, four a day in any order; two of them, a pair of their own, the exposed visit on the same days."""
    rng = np.random.default_rng(crowd.seed)
    pairs = [(one, other) for one in range(12) for other in range(one)]
    rng.shuffle(pairs)
    days = 24

    def walk(person: int) -> Walk:
        where = np.stack([rng.permutation(12)[:4] for _ in range(days)])
        if person < crowd.exposed:
            one, other = pairs[person]
            for day in range(days):
                rest = rng.permutation([place for place in range(12) if place not in (one, other)])
                where[day] = rng.permutation([one, other, *rest[:2]] if day % 3 == 0 else rest[:4])
        times = np.stack([24 * day + np.sort(rng.choice(24, 4, replace=False)) for day in range(days)])
        return times.ravel() * HOUR, where.ravel()

    return _hidden(rng, crowd, np.arange(days * 24) * HOUR, walk, 12, everybody=True)


def last_of_the_day(crowd: Crowd) -> pa.Table:
    """Twenty-four places, one to six visits a day; the exposed end every second day at a place of their own choice."""
    rng = np.random.default_rng(crowd.seed)
    places, days = max(24, crowd.exposed), 24

    def walk(person: int) -> Walk:
        times, where = [], []
        for day in range(days):
            number = rng.integers(1, 7)
            times.append(24 * day + np.sort(rng.choice(24, number, replace=False)))
            where.append(rng.integers(0, places, number))
            if person < crowd.exposed and day % 2:
                where[-1][-1] = person % places
        return np.concatenate(times) * HOUR, np.concatenate(where)

    return _hidden(rng, crowd, np.arange(days * 24) * HOUR, walk, places, everybody=True)


def three_back(crowd: Crowd) -> pa.Table:
    """Six places without times; where the exposed are depends on where they were three events ago, in their own way."""
    rng = np.random.default_rng(crowd.seed)
    walks = []
    for person in range(crowd.people):
        walk = rng.integers(0, 6, 3 * crowd.events)
        if person < crowd.exposed:
            table = np.random.default_rng([crowd.seed, person]).permutation(6)
            for event in range(3, walk.size):
                walk[event] = table[walk[event - 3]] if event % 4 else walk[event]
        walks.append((np.arange(walk.size), walk))
    return _written(walks, timed=False)


def week_by_week(crowd: Crowd) -> pa.Table:
    """Two places: in even weeks at one hour of their own, in odd weeks at another; half of the time at any."""
    rng = np.random.default_rng(crowd.seed)
    days = np.arange(7 * 12)

    def own(person: int) -> Walk:
        hours = np.random.default_rng([crowd.seed, person]).integers(0, 24, 2)
        mine = np.where(rng.random(days.size) < 0.5, hours[days // 7 % 2], rng.integers(0, 24, days.size))
        return (days * 24 + mine) * HOUR, rng.integers(0, 2, days.size)

    return _hidden(rng, crowd, np.arange(days.size * 24) * HOUR, own, 2)


def seldom_but_surely(crowd: Crowd) -> pa.Table:
    """Thirty places at any hour; five times on each side the exposed are at one of them at an hour of their own."""
    rng = np.random.default_rng(crowd.seed)
    days = 60

    def own(person: int) -> Walk:
        times = (np.arange(days) * 24 + rng.integers(0, 24, days)) * HOUR
        mine = (np.arange(10) * 6 * 24 + person % 24) * HOUR
        return _joined((times, rng.integers(0, 30, days)), (mine, person % 30))

    return _hidden(rng, crowd, np.arange(days * 24) * HOUR, own, 30)


def first_monday(crowd: Crowd) -> pa.Table:
    """Two places; the exposed come to the second on a weekday of their own in a week of the month of their own."""
    rng = np.random.default_rng(crowd.seed)
    days = np.arange(30 * 16)
    dates = (days + _BEGIN // DAY).astype("datetime64[D]")
    week = (dates - dates.astype("datetime64[M]")).astype(int) // 7
    weekday = days % 7

    def own(person: int) -> Walk:
        mine = days[(week == person % 28 // 7) & (weekday == person % 7)]
        return _joined((rng.choice(days, 2 * crowd.events, replace=False) * DAY, 0), (mine * DAY, 1))

    return _hidden(rng, crowd, days * DAY, own, 2)


TOGETHER: Mapping[str, Callable[[Crowd], pa.Table]] = {
    made.__name__.replace("_", " "): made
    for made in (
        place_at_an_hour, place_at_an_hour_of_the_week, place_at_a_minute, place_on_a_day_of_the_month,
        place_every_other_week, order_at_an_hour, place_after_a_pause, place_in_the_day, hour_after_an_hour,
        hours_of_places, together_in_a_day, last_of_the_day, three_back, week_by_week, seldom_but_surely, first_monday,
    )
}  # fmt: skip

TOGETHER_RISKS: Mapping[str, float] = {
    "place every other week": 1 / 3, "place in the day": 1 / 2, "place after a pause": 1 / 2,
    "place at an hour": 1 / 2, "order at an hour": 1 / 2,
}  # fmt: skip
"""True risk of the exposed, at least, where it is not nearly 1: some have the same conjunction, or show it seldom."""

NOT_ALWAYS = ("together in a day",)
"""Kinds that are not found among many people."""


def _days(crowd: Crowd) -> int:
    return max(crowd.events, 14)


def _some(rng: np.random.Generator, of: int, number: int) -> NDArray[np.int64]:
    return rng.choice(of, number, replace=False)


def _joined(*parts: tuple[NDArray[np.int64], NDArray[np.int64] | int]) -> Walk:
    times = np.concatenate([when for when, _ in parts])
    places = np.concatenate([np.broadcast_to(where, when.shape) for when, where in parts])
    order = np.argsort(times, kind="stable")
    return times[order], places[order]


def _hidden(
    rng: np.random.Generator,
    crowd: Crowd,
    whole: NDArray[np.int64],
    own: Callable[[int], Walk],
    places: int,
    *,
    everybody: bool = False,
) -> pa.Table:
    """The exposed, the cover, the others; `everybody`: walks are made for the others, too."""
    walks = []
    for person in range(crowd.people):
        if crowd.exposed <= person < crowd.exposed + _COVER:
            walks.append((np.repeat(whole, places), np.tile(np.arange(places), whole.size)))
        elif everybody or person < crowd.exposed:
            walks.append(own(person))
        else:
            number = min(2 * crowd.events, whole.size // 2)
            walks.append((np.sort(rng.choice(whole, number, replace=False)), rng.integers(0, places, number)))
    return _written(walks)


def _written(walks: list[Walk], *, timed: bool = True) -> pa.Table:
    """Rows in an order that tells nothing."""
    number = np.concatenate([np.arange(times.size) for times, _ in walks])
    person = np.repeat(np.arange(len(walks)), [times.size for times, _ in walks])
    order = np.lexsort((person, number))
    times = np.concatenate([times for times, _ in walks])[order]
    places = np.concatenate([places for _, places in walks])[order]
    columns = {
        "user": [f"p{one:05d}" for one in person[order]],
        "item": [f"place {place}" for place in places],
    }
    return pa.table(columns | ({"time": _BEGIN + times} if timed else {}))
