"""Data made to get a PASS that is not deserved: who is at risk, and how much, is known because it was built in.

Everybody goes to a few places that all people share, in no order of their own; that much is harmless. Each kind of data
then hides people in the crowd who can be told apart, in a way of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

PLACES = 5
_COMMON = 14
DAY = 86_400
_BEGIN = 1_600_000_000 // DAY * DAY


@dataclass(frozen=True, slots=True)
class Crowd:
    """So many people with so many events each; `exposed` of them stand out where the kind of data has such people."""

    people: int = 240
    events: int = 20
    exposed: int = 24
    seed: int = 0


def harmless(crowd: Crowd) -> pa.Table:
    """Everybody alike."""
    rng = np.random.default_rng(crowd.seed)
    return _table([_shared(rng, crowd.events) for _ in range(crowd.people)])


def hidden_subgroup(crowd: Crowd) -> pa.Table:
    """The exposed have places of their own."""
    rng = np.random.default_rng(crowd.seed)
    return _table(
        [
            [f"own {person}.{place}" for place in rng.integers(0, 3, crowd.events)]
            if person < crowd.exposed
            else _shared(rng, crowd.events)
            for person in range(crowd.people)
        ]
    )


def own_items(crowd: Crowd) -> pa.Table:
    """Every event at an item of its own."""
    return _table([[f"{person}.{event}" for event in range(crowd.events)] for person in range(crowd.people)])


def never_again(crowd: Crowd) -> pa.Table:
    """Nobody has an item twice: films, of which everybody sees some out of many."""
    rng = np.random.default_rng(crowd.seed)
    films = np.array([f"film {film}" for film in range(crowd.events * 5)])
    return _table([list(rng.permutation(films)[: crowd.events]) for _ in range(crowd.people)])


def own_times(crowd: Crowd) -> pa.Table:
    """Shared places, each person at a second of the day of their own."""
    rng = np.random.default_rng(crowd.seed)
    seconds = rng.permutation(DAY)[: crowd.people]
    items = [_shared(rng, crowd.events) for _ in range(crowd.people)]
    return _table(items, [_BEGIN + np.arange(crowd.events) * DAY + second for second in seconds])


def few_events(crowd: Crowd) -> pa.Table:
    """Four of five people have nine events each, at places of their own: fewer than are asked for by default."""
    rng = np.random.default_rng(crowd.seed)
    return _table(
        [
            _shared(rng, crowd.events)
            if person % 5 == 0
            else [f"own {person}.{place}" for place in rng.integers(0, 3, 9)]
            for person in range(crowd.people)
        ]
    )


def many_ids(crowd: Crowd) -> pa.Table:
    """Each person has three places of their own and is spread over 20 ids."""
    rng = np.random.default_rng(crowd.seed)
    return _table(
        [[f"own {id // 20}.{place}" for place in rng.integers(0, 3, crowd.events)] for id in range(crowd.people)]
    )


def unique_events(crowd: Crowd) -> pa.Table:
    """Every second event of the exposed is at an item that nobody has again, they themselves included."""
    rng = np.random.default_rng(crowd.seed)
    return _table(
        [
            [
                f"once {person}.{event}" if event % 2 and person < crowd.exposed else place
                for event, place in enumerate(shared)
            ]
            for person, shared in enumerate(_shared(rng, crowd.events) for _ in range(crowd.people))
        ]
    )


def rare_transitions(crowd: Crowd) -> pa.Table:
    """The exposed visit shared places, each in an order of their own, again and again."""
    rng = np.random.default_rng(crowd.seed)
    orders = {tuple(rng.permutation(7)) for _ in range(20 * crowd.exposed)}
    rounds = sorted(orders)[:: len(orders) // crowd.exposed][: crowd.exposed]
    return _table(
        [
            [f"place {rounds[person][event % 7]}" for event in range(crowd.events)]
            if person < crowd.exposed
            else [f"place {place}" for place in rng.integers(0, 7, crowd.events)]
            for person in range(crowd.people)
        ]
    )


def own_gaps(crowd: Crowd) -> pa.Table:
    """The exposed come back after a number of hours of their own, the others at any hour; times to the hour."""
    rng = np.random.default_rng(crowd.seed)
    span = crowd.events * 24
    times = [
        rng.integers(0, 24) + np.arange(crowd.events) * (3 + person)
        if person < crowd.exposed
        else np.sort(rng.integers(0, span, crowd.events))
        for person in range(crowd.people)
    ]
    return _table([_shared(rng, crowd.events) for _ in times], [_BEGIN + 3600 * own for own in times])


def own_hour_of_the_week(crowd: Crowd) -> pa.Table:
    """The exposed come once a week at two places, each at an hour of the week of their own; the others at any."""
    rng = np.random.default_rng(crowd.seed)
    hours = rng.permutation(168)[: crowd.exposed]
    weeks = np.arange(crowd.events) * 168
    times = [
        weeks + (hours[person] if person < crowd.exposed else rng.integers(0, 168, crowd.events))
        for person in range(crowd.people)
    ]
    items = [[f"place {place}" for place in rng.integers(0, 2, crowd.events)] for _ in times]
    return _table(items, [_BEGIN + 3600 * own for own in times])


def own_pair(crowd: Crowd) -> pa.Table:
    """Common items, of which each of the exposed has two that nobody else has together and alone."""
    rng = np.random.default_rng(crowd.seed)
    pairs = _pairs(rng, crowd.exposed)
    return _table(
        [
            [f"place {pairs[person][place]}" for place in rng.integers(0, 2, crowd.events)]
            if person < crowd.exposed
            else [f"place {place}" for place in rng.integers(0, _COMMON, crowd.events)]
            for person in range(crowd.people)
        ]
    )


def two_alternating(crowd: Crowd) -> pa.Table:
    """The exposed go to and fro between two common items, two people to a pair of them, one the other way round."""
    rng = np.random.default_rng(crowd.seed)
    pairs = _pairs(rng, -(-crowd.exposed // 2))
    return _table(
        [
            [f"place {pairs[person // 2][(event + person) % 2]}" for event in range(crowd.events)]
            if person < crowd.exposed
            else [f"place {place}" for place in rng.integers(0, _COMMON, crowd.events)]
            for person in range(crowd.people)
        ]
    )


def own_number_a_day(crowd: Crowd) -> pa.Table:
    """Everybody is there every day, the others once; the exposed so many times as nobody else. Times to the day."""
    rng = np.random.default_rng(crowd.seed)
    numbers = [2 + person if person < crowd.exposed else 1 for person in range(crowd.people)]
    days = [np.repeat(np.arange(crowd.events), number) for number in numbers]
    return _table([_shared(rng, own.size) for own in days], [_BEGIN + DAY * own for own in days])


def own_company(crowd: Crowd) -> pa.Table:
    """The exposed are always in company, two by two at the same place and hour; the others go by themselves."""
    rng = np.random.default_rng(crowd.seed)
    together = [-1 - person // 2 if person < crowd.exposed else person for person in range(crowd.people)]
    walks = {who: (_shared(rng, crowd.events), np.sort(rng.integers(0, 24 * 60, crowd.events))) for who in together}
    return _table([walks[who][0] for who in together], [_BEGIN + 3600 * walks[who][1] for who in together])


def own_day_of_the_month(crowd: Crowd) -> pa.Table:
    """The exposed come on a day of the month of their own."""
    rng = np.random.default_rng(crowd.seed)
    days = np.arange(30 * crowd.events)
    dates = (days + _BEGIN // DAY).astype("datetime64[D]")
    of_month = (dates - dates.astype("datetime64[M]")).astype(int)
    own = rng.permutation(28)
    return _covered(rng, crowd, days, lambda person: days[of_month == own[person % 28]], DAY)


def own_beat(crowd: Crowd) -> pa.Table:
    """The exposed come every so many days, as many as they are, each on another day."""
    rng = np.random.default_rng(crowd.seed)
    days = np.arange(crowd.exposed * crowd.events)
    return _covered(rng, crowd, days, lambda person: days[days % crowd.exposed == person], DAY)


def own_minute(crowd: Crowd) -> pa.Table:
    """The exposed come once a day at a minute of the hour of their own."""
    rng = np.random.default_rng(crowd.seed)
    own = rng.permutation(60)
    noons = np.arange(2 * crowd.events) * 1440 + 720
    return _covered(rng, crowd, _minutes(noons), lambda person: noons + own[person], 60)


def own_pace(crowd: Crowd) -> pa.Table:
    """The exposed come twice an hour each day, so many minutes apart as nobody else."""
    rng = np.random.default_rng(crowd.seed)
    noons = np.arange(2 * crowd.events) * 1440 + 720

    def twice(person: int) -> NDArray[np.int64]:
        first = noons + rng.integers(0, 59 - person % 30, noons.size)
        return np.sort(np.concatenate((first, first + 1 + person % 30)))

    return _covered(rng, crowd, _minutes(noons), twice, 60)


def own_row(crowd: Crowd) -> pa.Table:
    """Two places; the exposed stay so many times in a row at each as nobody else."""
    rng = np.random.default_rng(crowd.seed)
    events = np.arange(8 * crowd.events)
    return _table(
        [
            [f"place {place}" for place in (events + person) // (1 + person % 16) % 2]
            if person < crowd.exposed
            else [f"place {place}" for place in rng.integers(0, 2, events.size)]
            for person in range(crowd.people)
        ]
    )


def own_weekdays_at_a_place(crowd: Crowd) -> pa.Table:
    """Two places, once a day; the exposed have one for each day of the week."""
    rng = np.random.default_rng(crowd.seed)
    days, plans = np.arange(6 * crowd.events), rng.permutation(126)[: crowd.exposed] + 1
    items = [
        [f"place {place}" for place in plans[person] >> (days % 7) & 1]
        if person < crowd.exposed
        else [f"place {place}" for place in rng.integers(0, 2, days.size)]
        for person in range(crowd.people)
    ]
    return _table(items, [_BEGIN + DAY * days for _ in items])


def own_order_of_three(crowd: Crowd) -> pa.Table:
    """Three places, each as often after each; where the exposed go next depends on the last two in their own way."""
    rng = np.random.default_rng(crowd.seed)
    walks = []
    for person in range(crowd.people):
        table = rng.permuted(np.tile(np.arange(3), (3, 1)), axis=1)
        walk = rng.integers(0, 3, 4 * crowd.events)
        for place in range(2, walk.size if person < crowd.exposed else 0):
            walk[place] = table[walk[place - 1], walk[place - 2]]
        walks.append([f"place {place}" for place in walk])
    return _table(walks)


def own_round(crowd: Crowd) -> pa.Table:
    """Ten places; what the exposed do comes again after a number of events of their own, and changes every three times."""
    rng = np.random.default_rng(crowd.seed)
    walks = []
    for person in range(crowd.people):
        walk = rng.integers(0, 10, 16 * crowd.events)
        if person < crowd.exposed:
            length = 3 + person
            rounds = [np.tile(rng.integers(0, 10, length), 3) for _ in range(1 + walk.size // (3 * length))]
            walk = np.concatenate(rounds)[: walk.size]
        walks.append([f"place {place}" for place in walk])
    return _table(walks)


def own_absence(crowd: Crowd) -> pa.Table:
    """Everybody goes everywhere, but each of the exposed never to one place of their own."""
    rng = np.random.default_rng(crowd.seed)
    places = max(30, crowd.exposed)
    walks = []
    for person in range(crowd.people):
        walk = rng.integers(0, places - 1, 24 * crowd.events)
        if person < crowd.exposed:
            walk += walk >= person
        else:
            walk = rng.integers(0, places, walk.size)
        walks.append([f"place {place}" for place in walk])
    return _table(walks)


RARE: Mapping[str, Callable[[Crowd], pa.Table]] = {"own round": own_round, "own absence": own_absence}
"""Habits that long traces alone show."""

KINDS: Mapping[str, Callable[[Crowd], pa.Table]] = {
    made.__name__.replace("_", " "): made
    for made in (
        hidden_subgroup, own_items, never_again, own_times, few_events, many_ids, unique_events, rare_transitions,
        own_gaps, own_hour_of_the_week, own_pair, two_alternating, own_number_a_day, own_company, own_day_of_the_month,
        own_beat, own_minute, own_pace, own_row, own_weekdays_at_a_place, own_order_of_three,
    )
}  # fmt: skip

RISKS: Mapping[str, float] = {
    "two alternating": 0.5, "own company": 0.5, "own day of the month": 1 / 3, "own pace": 1 / 2, "own row": 1 / 4,
    "own order of three": 1 / 5,
}  # fmt: skip
"""True risk of the exposed, at least, where it is not 1: of people who are alike one is named."""

_COVER = 40


def _minutes(hours: NDArray[np.int64]) -> NDArray[np.int64]:
    return (hours[:, None] + np.arange(60)).ravel()


def _covered(
    rng: np.random.Generator,
    crowd: Crowd,
    whole: NDArray[np.int64],
    own: Callable[[int], NDArray[np.int64]],
    unit: int,
) -> pa.Table:
    """Two places. Some people are at both at any time, so that known events name nobody; the others at some times, the
    exposed at times of their own.
    """
    items, times = [], []
    for person in range(crowd.people):
        if crowd.exposed <= person < crowd.exposed + _COVER:
            when = np.repeat(whole, 2)
            items.append([f"place {place % 2}" for place in range(when.size)])
        else:
            when = own(person) if person < crowd.exposed else np.sort(rng.choice(whole, crowd.events, replace=False))
            items.append([f"place {place}" for place in rng.integers(0, 2, when.size)])
        times.append(_BEGIN + unit * when)
    return _table(items, times)


def _pairs(rng: np.random.Generator, count: int) -> list[tuple[int, int]]:
    """Different pairs of common items, in an order of their own."""
    every = [(one, other) for one in range(_COMMON) for other in range(one)]
    return [every[place] for place in rng.permutation(len(every))[:count]]


def _shared(rng: np.random.Generator, events: int) -> list[str]:
    return [f"place {place}" for place in rng.integers(0, PLACES, events)]


def _table(items: list[list[str]], times: list[NDArray[np.int64]] | None = None) -> pa.Table:
    """Rows in an order that tells nothing: by the number of the event, people in the order of their names."""
    rows = sorted((event, person) for person, own in enumerate(items) for event in range(len(own)))
    columns = {
        "user": [f"p{person:05d}" for _, person in rows],
        "item": [items[person][event] for event, person in rows],
    }
    if times is not None:
        columns["time"] = [int(times[person][event]) for event, person in rows]
    return pa.table(columns)
