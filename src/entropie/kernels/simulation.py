"""Loops of the simulator: a stream of random numbers per person, and the walk they take.

Every person has a stream of their own, made from (seed, person) alone, so that neither blocks nor threads change what
they do. A place is a number: `cell * places_per_cell + rank`, where a low rank is a well-known place; no table of
places is kept, whatever their number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from entropie.kernels.caching import njit
from entropie.kernels.keyed import mixed

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # splitmix64: a Weyl sequence, scrambled
_U11 = np.uint64(11)
_TO_UNIT = 2.0**-53
_TRIES = 64  # draws for a place not seen before
_MOST_NEW = 0.98  # nobody explores always
_DAY_SECONDS = 86_400


class Geography(NamedTuple):
    """Where places are: cities are runs of cells, a cell holds `places_per_cell` places."""

    first_cells: np.ndarray  # cities + 1: first cell of every city
    places_per_cell: int
    near_exponent: float  # popularity within a cell: (rank + offset)^-exponent
    near_offset: float
    city_exponent: float  # popularity within a city
    city_offset: float


class Habits(NamedTuple):
    """How people move: see `entropie.data.simulation.World` for what the numbers mean."""

    explore: float
    fatigue: float
    activity_slope: float
    spread: float
    mean_events: float
    routine: float
    stay: float
    home: float
    move: float
    recency: float
    hour_choices: int
    near: float
    travel: float
    fame: float
    famous_places: int
    reach: float
    once: bool
    first_second: int
    days: float
    burst: float


class Scene(NamedTuple):
    """Where and how people move, and when in the day."""

    geography: Geography
    habits: Habits
    hours: np.ndarray


@njit(nogil=True, cache=True)
def person_state(seed, stream, person):
    """Where the stream of a person begins."""
    return mixed(mixed(mixed(seed + _GOLDEN) + stream + _GOLDEN) + person + _GOLDEN)


@njit(nogil=True, cache=True)
def _unit(state):
    """A number of [0, 1) from a state; add the golden constant to the state for the next one."""
    return np.float64(mixed(state) >> _U11) * _TO_UNIT


@njit(nogil=True, cache=True)
def draw_uniforms(seed, stream, first, out):
    """The first number of the stream of each of the people first, first + 1, ..."""
    for i in range(len(out)):
        out[i] = _unit(person_state(seed, stream, np.uint64(first + i)) + _GOLDEN)


@njit(nogil=True, cache=True)
def power_law_rank(u, size, exponent, offset):
    """Rank below `size` with density (rank + offset)^-exponent, by the inverse of its integral; exponent not 1."""
    power = 1.0 - exponent
    low = offset**power
    high = (size + offset) ** power
    rank = np.int64((low + u * (high - low)) ** (1.0 / power) - offset)
    return max(0, min(rank, size - 1))


@njit(nogil=True, cache=True)
def place_of_city(rank, first_cell, cells, places_per_cell):
    """The place of that rank in a city: the best-known places of its cells come first, cell by cell."""
    return (first_cell + rank % cells) * places_per_cell + rank // cells


@njit(nogil=True, cache=True)
def near_cell(home, cells, u, v, reach):
    """A cell near the home cell in a city laid out as a square grid: distance by the law of `reach`, any direction."""
    side = np.int64(np.ceil(np.sqrt(np.float64(cells))))
    distance = (1.0 - u) ** (-1.0 / reach) - 1.0
    distance = min(distance, 0.5 * side)
    east = np.int64(np.rint(distance * np.cos(2.0 * np.pi * v)))
    north = np.int64(np.rint(distance * np.sin(2.0 * np.pi * v)))
    return (home + east + north * side) % cells


@njit(nogil=True, cache=True)
def _city_of(cell, first_cells):
    return np.searchsorted(first_cells, cell + 1) - 1


@njit(nogil=True, cache=True)
def stretch_day(share, hours):
    """Second of the day by which `share` of the day's events have happened; `hours` is cumulative, 25 values."""
    hour = 0
    while hour < 23 and hours[hour + 1] <= share:
        hour += 1
    return (hour + (share - hours[hour]) / (hours[hour + 1] - hours[hour])) * 3600.0


@njit(nogil=True, cache=True)
def _fill_times(state, habits, hours, times):
    """Bursts and pauses within the period, no events at night: returns the state after 2 + events draws."""
    events = len(times)
    total = 0.0
    days = np.empty(events + 1, np.float64)
    for i in range(events + 1):
        state += _GOLDEN
        total += (1.0 - _unit(state)) ** -habits.burst - 1.0  # heavy-tailed pauses
        days[i] = total
    state += _GOLDEN
    start = np.floor(_unit(state) * 0.5 * habits.days)
    scale = (habits.days - start) / total
    for i in range(events):
        day = days[i] * scale + start
        whole = np.floor(day)
        times[i] = habits.first_second + np.int64(whole) * _DAY_SECONDS + np.int64(stretch_day(day - whole, hours))
    return state


@njit(nogil=True, cache=True)
def _hour_distance(one, other):
    apart = abs(one - other) % _DAY_SECONDS
    return min(apart, _DAY_SECONDS - apart)


@njit(nogil=True, cache=True)
def _explore(state, home, city, geography, habits):
    """A place by its fame: near home, in the city, in another city, or known all over the world. Four draws."""
    first_cells = geography.first_cells
    kind = _unit(state + _GOLDEN)
    u = _unit(state + np.uint64(2) * _GOLDEN)
    v = _unit(state + np.uint64(3) * _GOLDEN)
    w = _unit(state + np.uint64(4) * _GOLDEN)
    state += np.uint64(4) * _GOLDEN
    places = geography.places_per_cell
    cells = first_cells[city + 1] - first_cells[city]
    if kind < habits.near:
        cell = first_cells[city] + near_cell(home - first_cells[city], cells, u, v, habits.reach)
        return state, cell * places + power_law_rank(w, places, geography.near_exponent, geography.near_offset)
    if kind >= 1.0 - habits.fame:  # the famous places are the best-known ones of as many cells
        most = min(habits.famous_places, first_cells[-1])
        return state, power_law_rank(w, most, geography.city_exponent, 1.0) * places
    if kind >= 1.0 - habits.fame - habits.travel:
        city = _city_of(np.int64(u * first_cells[-1]), first_cells)
        cells = first_cells[city + 1] - first_cells[city]
    rank = power_law_rank(w, cells * places, geography.city_exponent, geography.city_offset)
    return state, place_of_city(rank, first_cells[city], cells, places)


@njit(nogil=True, cache=True)
def _seen(place, known):
    for other in known:  # noqa: SIM110 (compiled; and a person knows some tens of places: a scan beats a table)
        if other == place:
            return True
    return False


@njit(nogil=True, cache=True)
def _new_place(state, home, city, geography, habits, known):
    """A place not in `known` and True; if many draws find none, a known one and False, or the next free one."""
    place = np.int64(0)
    for _ in range(_TRIES):
        state, place = _explore(state, home, city, geography, habits)
        if not _seen(place, known):
            return state, place, True
    if not habits.once:
        return state, place, False
    pool = geography.first_cells[-1] * geography.places_per_cell
    while _seen(place, known):
        place = (place + 1) % pool
    return state, place, True


@njit(nogil=True, cache=True)
def _return(state, habits, times, now, memory, anchor, begun):
    """The earlier event to repeat: home, what followed last time, or any, sooner the recent and those at this hour."""
    state += _GOLDEN
    kind = _unit(state)
    if kind < habits.home:
        return state, anchor
    if memory >= 0 and memory + 1 < now and kind < habits.home + (1.0 - habits.home) * habits.routine:
        return state, memory + 1
    best = _DAY_SECONDS
    chosen = now - 1
    for _ in range(habits.hour_choices):
        state += _GOLDEN
        past = now - 1 - np.int64((now - begun) * _unit(state) ** habits.recency)
        apart = _hour_distance(times[now], times[past])
        if apart < best:
            best = apart
            chosen = past
    return state, chosen


@njit(nogil=True, cache=True)
def _walk(state, geography, habits, times, items, known):
    """One person's items, in the order of the times."""
    cells = geography.first_cells[-1]
    state += _GOLDEN
    home = np.int64(_unit(state) * cells)
    city = _city_of(home, geography.first_cells)
    state += _GOLDEN
    events = len(items)
    lean = (_unit(state) * 2.0 - 1.0) * habits.spread
    lean -= habits.activity_slope * np.log(events / habits.mean_events)
    explore = habits.explore * np.exp(lean)
    state += _GOLDEN
    move = _unit(state) / max(habits.move, 1e-300)
    move = np.int64(move * events) if move < 1.0 else events
    first_cell = geography.first_cells[city]
    distinct = begun = before = 0
    anchor = 0  # the last event at home, which is the first place
    memory = -1  # the earlier event that the last one repeated; -1 where it was new
    for i in range(events):
        if i == move:  # a new home; what was before is not returned to
            state += _GOLDEN
            home = first_cell + np.int64(_unit(state) * (geography.first_cells[city + 1] - first_cell))
            begun, before, anchor, memory = i, distinct, i, -1
        state += _GOLDEN
        known_here = distinct - before
        if i == begun or habits.once or _unit(state) < min(explore * known_here**-habits.fatigue, _MOST_NEW):
            state, place, new = _new_place(state, home, city, geography, habits, known[:distinct])
            if new:
                known[distinct] = place
                distinct += 1
            items[i] = place
            memory = -1
            continue
        for _ in range(2):
            state, memory = _return(state, habits, times, i, memory, anchor, begun)
            state += _GOLDEN
            if items[memory] != items[i - 1] or _unit(state) < habits.stay:
                break
        items[i] = items[memory]
        if items[i] == items[begun]:
            anchor = i
    return distinct


@njit(nogil=True, cache=True)
def walk_people(seed, stream, first, last, offsets, scene, items, times):
    """Fill items and times of people first..last-1; offsets count from offsets[first], where both arrays begin."""
    base = offsets[first]
    longest = 0
    for person in range(first, last):
        longest = max(longest, offsets[person + 1] - offsets[person])
    known = np.empty(longest, np.uint32)
    for person in range(first, last):
        low, high = offsets[person] - base, offsets[person + 1] - base
        state = person_state(seed, stream, np.uint64(person))
        state = _fill_times(state, scene.habits, scene.hours, times[low:high])
        _walk(state, scene.geography, scene.habits, times[low:high], items[low:high], known)


@njit(nogil=True, cache=True)
def mark_items(items, used):
    """used[x] = True for every x of `items`."""
    for i in range(len(items)):
        used[items[i]] = True


@njit(nogil=True, cache=True)
def relabel_items(items, codes):
    """Replace every x of `items` by codes[x], in place: at full scale a second array would be too much."""
    for i in range(len(items)):
        items[i] = codes[items[i]]
