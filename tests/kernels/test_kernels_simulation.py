"""The simulator's loops, against one person simulated slowly in plain Python."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from entropie.kernels.simulation import (
    Geography,
    Habits,
    Scene,
    draw_uniforms,
    mark_items,
    near_cell,
    person_state,
    place_of_city,
    power_law_rank,
    relabel_items,
    stretch_day,
    walk_people,
)

U = np.uint64
GOLDEN = 0x9E3779B97F4A7C15
WORD = 2**64
HOURS = np.concatenate([[0.0], np.cumsum(np.arange(1, 25)) / 300])
HABITS = Habits(
    explore=0.9,
    fatigue=0.2,
    activity_slope=0.3,
    spread=0.8,
    mean_events=40.0,
    routine=0.3,
    stay=0.5,
    home=0.2,
    move=0.4,
    recency=1.5,
    hour_choices=3,
    near=0.6,
    travel=0.15,
    fame=0.1,
    famous_places=7,
    reach=0.8,
    once=False,
    first_second=1_333_411_200,
    days=600.0,
    burst=0.5,
)
GEOGRAPHY = Geography(np.array([0, 7, 11, 12]), 50, 0.7, 3.0, 0.95, 2.0)


def scramble(word: int) -> int:
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % WORD
    return word ^ (word >> 31)


class Stream:
    """A person's random numbers: splitmix64, begun at a scramble of seed, stream and person."""

    def __init__(self, seed: int, stream: int, person: int) -> None:
        self.state = 0
        for part in (seed, stream, person):
            self.state = scramble((self.state + part + GOLDEN) % WORD)

    def next(self) -> float:
        self.state = (self.state + GOLDEN) % WORD
        return (scramble(self.state) >> 11) / 2**53


class Person:
    """One person, step by step; `walk` returns her places and times."""

    def __init__(self, stream: Stream, geography: Geography, habits: Habits, events: int) -> None:
        self.draw, self.geography, self.habits, self.events = stream.next, geography, habits, events
        self.cities = [range(a, b) for a, b in pairwise(geography.first_cells.tolist())]

    def clock(self) -> list[int]:
        pauses = [(1.0 - self.draw()) ** -self.habits.burst - 1.0 for _ in range(self.events + 1)]
        start = math.floor(self.draw() * 0.5 * self.habits.days)
        scale = (self.habits.days - start) / sum(pauses)
        times, total = [], 0.0
        for pause in pauses[:-1]:
            total += pause
            day = total * scale + start
            hour = np.interp(day - math.floor(day), HOURS, np.arange(25))
            times.append(self.habits.first_second + 86_400 * math.floor(day) + int(hour * 3600))
        return times

    def city_of(self, cell: int) -> range:
        return next(city for city in self.cities if cell in city)

    def rank(self, u: float, size: int, exponent: float, offset: float) -> int:
        a, b = offset ** (1 - exponent), (size + offset) ** (1 - exponent)
        return min(int((a + u * (b - a)) ** (1 / (1 - exponent)) - offset), size - 1)

    def new_place(self) -> int:
        kind, u, v, w = (self.draw() for _ in range(4))
        g, h, city = self.geography, self.habits, self.city
        if kind < h.near:
            side = math.ceil(math.sqrt(len(city)))
            far = min((1 - u) ** (-1 / h.reach) - 1, side / 2)
            row, column = round(far * math.sin(2 * math.pi * v)), round(far * math.cos(2 * math.pi * v))
            cell = city[(self.home - city[0] + row * side + column) % len(city)]
            return cell * g.places_per_cell + self.rank(w, g.places_per_cell, g.near_exponent, g.near_offset)
        if kind >= 1 - h.fame:
            return self.rank(w, min(h.famous_places, self.cities[-1].stop), g.city_exponent, 1.0) * g.places_per_cell
        if kind >= 1 - h.fame - h.travel:
            city = self.city_of(int(u * self.cities[-1].stop))
        rank = self.rank(w, len(city) * g.places_per_cell, g.city_exponent, g.city_offset)
        return city[rank % len(city)] * g.places_per_cell + rank // len(city)

    def walk(self) -> tuple[list[int], list[int]]:
        h, times = self.habits, self.clock()
        self.home = int(self.draw() * self.cities[-1].stop)
        self.city = self.city_of(self.home)
        explore = (
            h.explore
            * math.exp((2 * self.draw() - 1) * h.spread)
            * (self.events / h.mean_events) ** (-h.activity_slope)
        )
        moving = self.draw()
        moves_at = int(moving / h.move * self.events) if moving < h.move else None
        trace: list[int] = []
        begun, origin, known_before = 0, None, 0
        for now in range(self.events):
            if now == moves_at:
                self.home = self.city[int(self.draw() * len(self.city))]
                begun, origin, known_before = now, None, len(set(trace))
            known = len(set(trace)) - known_before
            wish = self.draw()
            if now == begun or h.once or wish < min(explore * known**-h.fatigue, 0.98):
                tries = (self.new_place() for _ in range(64))
                place = next(place for place in tries if place not in trace)
                trace.append(place)
                origin = None
                continue
            for _ in range(2):
                origin = self.returning(now, begun, origin, times, trace)
                if self.draw() < h.stay or trace[origin] != trace[-1]:
                    break
            trace.append(trace[origin])
        return trace, times

    def returning(self, now: int, begun: int, origin: int | None, times: list[int], trace: list[int]) -> int:
        h, kind = self.habits, self.draw()
        if kind < h.home:
            return max(i for i in self.at_home(begun, trace))
        if origin is not None and origin + 1 < now and kind < h.home + (1 - h.home) * h.routine:
            return origin + 1
        earlier = [now - 1 - int((now - begun) * self.draw() ** h.recency) for _ in range(h.hour_choices)]

        def apart(past: int) -> int:
            gap = (times[now] - times[past]) % 86_400
            return min(gap, 86_400 - gap)

        return min(earlier, key=apart)

    def at_home(self, begun: int, trace: list[int]) -> list[int]:
        """Events at the first place since the last move: the last of them is what a way home repeats."""
        return [i for i in range(begun, len(trace)) if trace[i] == trace[begun]]


def people(seed: int, offsets: list[int], geography: Geography, habits: Habits) -> tuple[list[int], list[int]]:
    items, times = [], []
    for person, (low, high) in enumerate(pairwise(offsets)):
        walked = Person(Stream(seed, 1, person), geography, habits, high - low).walk()
        items += walked[0]
        times += walked[1]
    return items, times


def walked(
    seed: int, offsets: np.ndarray, geography: Geography, habits: Habits, first: int, last: int
) -> tuple[list[int], list[int]]:
    size = offsets[last] - offsets[first]
    items, times = np.empty(size, np.uint32), np.empty(size, np.int64)
    walk_people(U(seed), U(1), first, last, offsets, Scene(geography, habits, HOURS), items, times)
    return items.tolist(), times.tolist()


@pytest.mark.parametrize(
    "habits",
    [
        HABITS,
        HABITS._replace(move=0.0, routine=0.9, home=0.0),
        HABITS._replace(near=1.0, travel=0.0, stay=0.0, recency=1.0, hour_choices=1),
        HABITS._replace(near=0.0, explore=0.05, home=0.6, move=1.0),
        HABITS._replace(once=True),
    ],
)
def test_people_walk_as_told(habits: Habits) -> None:
    offsets = np.concatenate([[0], np.cumsum(np.random.default_rng(1).integers(10, 60, 40))])
    want = people(7, offsets.tolist(), GEOGRAPHY, habits)
    assert walked(7, offsets, GEOGRAPHY, habits, 0, 40) == want
    low, high = offsets[13], offsets[29]
    assert walked(7, offsets, GEOGRAPHY, habits, 13, 29) == (want[0][low:high], want[1][low:high])
    assert walked(8, offsets, GEOGRAPHY, habits, 0, 40)[0] != want[0]


def test_a_catalogue_that_runs_out_is_used_up() -> None:
    habits = HABITS._replace(once=True)
    tiny = Geography(np.array([0, 3]), 10, 0.7, 3.0, 0.95, 2.0)
    items, _ = walked(0, np.array([0, 30]), tiny, habits, 0, 1)
    assert sorted(items) == list(range(30))


def test_somebody_who_knows_every_place_goes_on() -> None:
    habits = HABITS._replace(explore=1e9, fatigue=0.0)
    tiny = Geography(np.array([0, 1]), 4, 0.7, 3.0, 0.95, 2.0)
    items, _ = walked(0, np.array([0, 40]), tiny, habits, 0, 1)
    assert set(items) == {0, 1, 2, 3}


def test_random_numbers_are_those_of_splitmix64() -> None:
    assert scramble((1234567 + GOLDEN) % WORD) == 6457827717110365317  # the published first value of seed 1234567
    assert int(person_state(U(0), U(1), U(2))) == Stream(0, 1, 2).state
    out = np.empty(100)
    draw_uniforms(U(2**63 - 1), U(3), 50, out)
    assert out.tolist() == [Stream(2**63 - 1, 3, 50 + i).next() for i in range(100)]


def test_streams_are_even_and_unlike_each_other() -> None:
    size = 200_000
    one, other = np.empty(size), np.empty(size)
    draw_uniforms(U(0), U(0), 0, one)
    draw_uniforms(U(1), U(0), 0, other)
    counts = np.histogram(one, 100, (0.0, 1.0))[0]
    chi = float(((counts - size / 100) ** 2 / (size / 100)).sum())
    assert abs(chi - 99) < 5 * math.sqrt(2 * 99)
    for left, right in ((one, other), (one[1:], one[:-1])):
        assert abs(np.corrcoef(left, right)[0, 1]) < 5 / math.sqrt(size)
    assert abs(np.corrcoef(one, 0.98 * other + 0.02 * one)[0, 1]) > 5 / math.sqrt(size)  # would be noticed


@pytest.mark.parametrize("exponent", [0.4, 0.98, 1.02, 1.8])
@pytest.mark.parametrize(("size", "offset"), [(1, 1.0), (7, 0.2), (1000, 12.0)])
def test_ranks_follow_the_power_law(size: int, exponent: float, offset: float) -> None:
    """By brute force: the density summed over a fine grid says between which values of u a rank lies."""
    grid = (np.arange(size * 2000) + 0.5) / 2000
    mass = (grid + offset) ** -exponent
    reached = np.concatenate([[0.0], np.cumsum(mass.reshape(size, 2000).sum(axis=1))]) / mass.sum()
    for u in (np.arange(500) + 0.5) / 500:
        rank = power_law_rank(u, size, exponent, offset)
        assert reached[rank] - 1e-6 <= u <= reached[rank + 1] + 1e-6
    assert power_law_rank(1.0 - 2**-53, size, exponent, offset) == size - 1
    assert power_law_rank(0.0, size, exponent, offset) == 0


def test_places_of_a_city_are_all_of_them_and_the_famous_come_first() -> None:
    first, cells, places = 5, 4, 6
    found = [place_of_city(rank, first, cells, places) for rank in range(cells * places)]
    assert sorted(found) == list(range(first * places, (first + cells) * places))
    assert [place % places for place in found] == [rank for rank in range(places) for _ in range(cells)]


def test_near_cells_are_at_the_distances_of_the_law() -> None:
    """P(farther than d) = (1 + d)^-reach; half of another reach would be noticed."""
    side, home, draws = 31, 31 * 15 + 15, 4000  # the middle of a square
    rng = np.random.default_rng(0)

    def at_home(reach: float) -> tuple[float, float]:
        found = [near_cell(home, side * side, u, v, reach) for u, v in rng.random((draws, 2))]
        assert max(max(abs(cell // side - 15), abs(cell % side - 15)) for cell in found) <= 16
        throws = [((1 - u) ** (-1 / reach) - 1, 2 * math.pi * v) for u, v in rng.random((draws, 2))]
        kept = [max(abs(d * math.cos(a)), abs(d * math.sin(a))) < 0.5 for d, a in throws]
        return found.count(home) / draws, sum(kept) / draws

    tolerance = 5 * math.sqrt(2 * 0.25 / draws)
    found, wanted = at_home(1.0)
    assert abs(found - wanted) < tolerance < abs(found - at_home(2.0)[1])
    assert near_cell(0, 1, 0.999, 0.3, 1.0) == 0


def test_the_day_is_stretched_by_the_hours() -> None:
    for share in np.linspace(0.0, 1.0, 997)[:-1]:
        assert stretch_day(share, HOURS) == pytest.approx(np.interp(share, HOURS, np.arange(25)) * 3600, abs=1e-6)


def test_marking_and_relabelling() -> None:
    items = np.array([4, 1, 4, 6], np.uint32)
    used = np.zeros(7, np.bool_)
    mark_items(items, used)
    assert np.flatnonzero(used).tolist() == [1, 4, 6]
    relabel_items(items, np.array([9, 0, 9, 9, 1, 9, 2], np.uint32))
    assert items.tolist() == [1, 0, 1, 2]
