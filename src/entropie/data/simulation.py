"""People with homes and habits, in any number: data that stand in where the real ones cannot be had.

Each person has a stream of random numbers made from the seed and the person's number alone: the same seed gives the
same events whatever the blocks, threads or way of delivery (`simulate_traces` in memory, `simulate_file` to Parquet).
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from entropie.atomic import replacing
from entropie.data.columns import check_table
from entropie.data.filter import keep_active_users
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.kernels.simulation import Geography, Habits, Scene, draw_uniforms, mark_items, relabel_items, walk_people
from entropie.progress import Progress, silent
from entropie.theory import checks
from entropie.workers import Workers

LARGEST_POOL = 2**32 - 1
_LENGTHS, _WALKS = np.uint64(0), np.uint64(1)  # streams of random numbers
_BLOCK_USERS = 16_384  # about a million events: a row group, and work for one thread
_SCHEMA = pa.schema([("user", pa.uint32()), ("item", pa.uint32()), ("time", pa.int64())])

# Check-ins per thousand and hour of the local day, mean of New York and Sao Paulo in the Foursquare data.
_HOURS = (22, 14, 9, 6, 6, 12, 31, 55, 72, 69, 48, 41, 60, 59, 49, 44, 42, 51, 69, 73, 61, 46, 33, 29)


@dataclass(frozen=True, slots=True)
class World:
    """What a simulation needs to know: how many people, how active, which places there are, how people choose.

    A person's k-th new place is chosen with probability `explore` * k^-`fatigue` (exploration and preferential
    return); else they return, to an earlier event and so to a place with the probability of its visits.
    """

    title: str
    users: int  # of the data set imitated: scale 1

    mean_events: float  # per person; log-normal, cut below `min_events` and above `max_events`
    sigma_events: float  # standard deviation of the logarithm, before the cut

    places_per_user: float  # places there are, visited or not
    users_per_cell: float  # a cell is a neighbourhood
    cells_per_city: float  # on average; sizes fall as rank^-`city_size_exponent`
    near_exponent: float  # fame of the places of a cell: (rank + offset)^-exponent
    near_offset: float
    city_exponent: float  # fame of the places of a city
    city_offset: float

    near: float  # share of explorations near home; the others are in the city at large
    travel: float  # share of explorations in another city
    fame: float = 0.0  # share of explorations of places known all over the world
    famous_places: int = 200
    reach: float = 1.0  # tail exponent of the distance from home, in cells

    explore: float = 1.0
    fatigue: float = 0.0
    activity_slope: float = 0.0  # active people explore less: times (events / mean)^-this
    spread: float = 0.0  # and people differ: times e^u, u even between minus and plus this
    routine: float = 0.0  # after a return, share of returns that go where the person went next that time
    home: float = 0.0  # share of returns that go to the first place of all
    stay: float = 1.0  # a return to the present place is reconsidered, once, unless with this probability
    recency: float = 1.0  # returns to event i - i U^recency of i: above 1 sooner to recent ones
    hour_choices: int = 1  # of so many earlier events, the one closest in the hour of the day
    move: float = 0.0  # share of people who begin anew somewhere in the middle: new home, new habits

    min_places: int = 1  # there are, however few the people
    once: bool = False  # a catalogue instead of a map: every item at most once per person, no returns
    min_events: int = 10
    max_events: int = 5000
    min_place_events: int = 1  # places with fewer events are excluded, as publishers of city data do
    first_second: int = 1_333_411_200  # 2012-04-03, the first day of the Foursquare data
    days: float = 664.0
    city_size_exponent: float = 0.8
    burst: float = 0.5  # pauses are U^-burst - 1: the larger, the more uneven

    def __post_init__(self) -> None:
        if not self.mean_events > self.min_events:
            raise InvalidParameter.of("mean_events", f"above min_events = {self.min_events}", self.mean_events)
        for name in ("near_exponent", "city_exponent"):
            if getattr(self, name) == 1.0:  # where the integral is a logarithm
                raise InvalidParameter.of(name, "a number other than 1, such as 1.001", 1.0)


_PEOPLE = World(
    "Foursquare",
    users=1_370_637,
    mean_events=62.0,
    sigma_events=0.92,
    places_per_user=8.8,
    users_per_cell=100.0,
    cells_per_city=33.0,
    near_exponent=0.68,
    near_offset=13.0,
    city_exponent=1.03,
    city_offset=4.2,
    near=0.75,
    travel=0.03,
    fame=0.065,
    reach=0.62,
    explore=1.0,
    fatigue=0.22,
    activity_slope=0.44,
    spread=1.0,
    routine=0.2,
    home=0.19,
    stay=0.38,
    recency=1.6,
    hour_choices=6,
    move=0.29,
)

_CITY = replace(_PEOPLE, cells_per_city=math.inf, travel=0.0, fame=0.0, min_place_events=10)

WORLDS: dict[str, World] = {
    "foursquare": _PEOPLE,
    "new-york": replace(
        _CITY, title="Foursquare, New York", users=1670, mean_events=86.0, places_per_user=10.0, explore=1.15
    ),
    "sao-paulo": replace(
        _CITY, title="Foursquare, Sao Paulo", users=2340, mean_events=128.0, places_per_user=9.0, explore=0.72
    ),
    "movielens": World(
        "MovieLens latest, ratings of 4 and above",
        users=185_107,
        mean_events=72.0,
        sigma_events=1.1,
        places_per_user=58_098 / 185_107,
        users_per_cell=185_107 / 20,  # a cell is a genre
        cells_per_city=math.inf,
        near_exponent=1.5,
        near_offset=8.0,
        city_exponent=1.5,
        city_offset=50.0,
        near=0.3,
        travel=0.0,
        min_places=3000,  # the shorter the list of films, the less unlike people can be
        once=True,
        first_second=789_609_600,  # 1995-01-09
        days=8_660.0,
    ),
}


@dataclass(frozen=True, slots=True)
class Simulated:
    """What a file of simulated events holds."""

    kind: str
    seed: int
    users: int
    items: int  # that somebody has; the world offers more
    events: int
    bytes: int


def find_world(kind: str) -> World:
    """Look a world up by its name."""
    try:
        return WORLDS[kind]
    except KeyError:
        raise InvalidParameter.among("kind", WORLDS, kind) from None


def simulate_traces(
    kind: str | World, users: int | None = None, *, seed: int = 0, threads: int | None = None
) -> Traces:
    """The events of `users` people in memory (default: as many as the data set has), items coded 0, 1, ...

    12 bytes per event; items that nobody has are excluded. Same seed, same events, whatever `threads`.
    """
    return _walked(_plan(kind, users, seed), threads)


def _walked(plan: _Plan, threads: int | None) -> Traces:
    events = int(plan.offsets[-1])
    items, times = np.empty(events, np.uint32), np.empty(events, np.int64)

    def walk(first: int, last: int) -> None:
        span = slice(plan.offsets[first], plan.offsets[last])
        plan.walk(first, last, items[span], times[span])

    list(_in_order(plan.users, walk, threads))
    if plan.world.min_place_events > 1:
        return _popular_places(Traces(plan.offsets, items, plan.pool, times), plan.world)
    return Traces(plan.offsets, items, _compact(items, plan.pool), times)


def simulate_file(
    kind: str | World,
    users: int | None = None,
    *,
    path: str | os.PathLike[str],
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = silent,
) -> Simulated:
    """The same events as a Parquet or CSV file with columns user, item and time (seconds), person by person.

    Written as they are made, a row group at a time: memory does not grow with the number of events.
    """
    opened = _opener(path)
    plan = _plan(kind, users, seed)
    used = np.zeros(plan.pool, np.bool_)
    rare = plan.world.min_place_events > 1  # which places are rare is known only at the end; a city fits memory
    blocks = _blocks_of(_walked(plan, threads)) if rare else _blocks(plan, threads)
    people = rows = 0
    with replacing(path) as hidden:
        with opened(str(hidden), _SCHEMA) as writer:
            for first, offsets, items, times in blocks:
                user = np.repeat(np.arange(first, first + offsets.size - 1, dtype=np.uint32), np.diff(offsets))
                writer.write_table(pa.table([user, items, times], schema=_SCHEMA))
                mark_items(items, used)
                people, rows = first + offsets.size - 1, rows + items.size
                progress("simulating", rows / int(plan.offsets[-1]))
        size = hidden.stat().st_size
    name = kind if isinstance(kind, str) else kind.title
    return Simulated(name, seed, people, int(np.count_nonzero(used)), rows, size)


def _opener(path: str | os.PathLike[str]) -> Callable[[str, pa.Schema], Any]:
    """What writes a file with this ending; refuses another."""
    check_table(Path(path))
    if Path(path).suffix.lower() == ".csv":
        return pa_csv.CSVWriter  # type: ignore[no-any-return]
    return partial(pq.ParquetWriter, compression="zstd", write_statistics=False)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A world of a certain size: everything that is decided before anybody walks."""

    world: World
    users: int
    seed: np.uint64
    offsets: NDArray[np.int64]
    geography: Geography
    habits: Habits
    hours: NDArray[np.float64]

    @property
    def pool(self) -> int:
        """Places there are, visited or not."""
        return int(self.geography.first_cells[-1]) * self.geography.places_per_cell

    def walk(self, first: int, last: int, items: NDArray[np.uint32], times: NDArray[np.int64]) -> None:
        """Fill in the events of people first..last-1."""
        scene = Scene(self.geography, self.habits, self.hours)
        walk_people(self.seed, _WALKS, first, last, self.offsets, scene, items, times)


def _plan(kind: str | World, users: int | None, seed: int) -> _Plan:
    world = kind if isinstance(kind, World) else find_world(kind)
    users = world.users if users is None else checks.whole_number("users", users, at_least=1, at_most=2**31)
    seed = checks.whole_number("seed", seed, at_least=0, at_most=2**63 - 1)
    geography = _geography(world, users)
    pool = int(geography.first_cells[-1]) * geography.places_per_cell
    if pool > LARGEST_POOL:
        most = int(LARGEST_POOL / world.places_per_user)
        raise InvalidParameter.of("users", f"at most {most}, so that items fit 32 bits", users)
    law = event_law(world, at_most=pool // 4 if world.once else world.max_events)
    uniform = np.empty(users)
    draw_uniforms(np.uint64(seed), _LENGTHS, 0, uniform)
    offsets = np.zeros(users + 1, np.int64)
    np.cumsum(world.min_events + np.searchsorted(np.cumsum(law)[:-1], uniform, side="right"), out=offsets[1:])
    hours = np.concatenate([[0.0], np.cumsum(_HOURS) / sum(_HOURS)])
    habits = Habits(*(getattr(world, name) for name in Habits._fields))
    return _Plan(world, users, np.uint64(seed), offsets, geography, habits, hours)


def event_law(world: World, at_most: int) -> NDArray[np.float64]:
    """Probability of min_events, min_events + 1, ... events: a log-normal, cut, with exactly the wanted mean."""
    most = min(world.max_events, at_most)
    if most <= world.mean_events:
        raise InvalidInput(
            f"{world.title} needs a larger world: people have {world.mean_events:g} events on average, the longest "
            f"trace would be {most}; simulate more people."
        )
    edges = np.log(np.arange(world.min_events, most + 2))
    counts = np.arange(world.min_events, most + 1)

    def law(centre: float) -> NDArray[np.float64]:
        scaled = (edges - centre) / (world.sigma_events * math.sqrt(2.0))
        mass: NDArray[np.float64] = np.diff(np.array([math.erf(value) for value in scaled]))
        mass /= mass.sum()
        return mass

    low, high = math.log(world.min_events) - 4.0 * world.sigma_events, math.log(most)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if law(middle) @ counts < world.mean_events:
            low = middle
        else:
            high = middle
    return law(high)


def _geography(world: World, users: int) -> Geography:
    """Cities are runs of cells; the number of cells grows with the people, that of a catalogue's genres does not."""
    cells = max(1, round((world.users if world.once else users) / world.users_per_cell))
    cities = max(1, round(cells / world.cells_per_city))
    sizes = np.cumsum(np.arange(1.0, cities + 1.0) ** -world.city_size_exponent)
    first_cells = np.unique(np.concatenate([[0], np.rint(sizes / sizes[-1] * cells)]).astype(np.int64))
    return Geography(
        first_cells,
        math.ceil(max(world.places_per_user * users, world.min_places) / cells),
        world.near_exponent,
        world.near_offset,
        world.city_exponent,
        world.city_offset,
    )


_Block = tuple[int, NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]  # first person, offsets, items, times
_Result = TypeVar("_Result")


def _blocks(plan: _Plan, threads: int | None) -> Iterator[_Block]:
    """The events of everybody, block by block in order; only a few blocks exist at a time."""

    def walk(first: int, last: int) -> _Block:
        offsets = plan.offsets[first : last + 1] - plan.offsets[first]
        items, times = np.empty(offsets[-1], np.uint32), np.empty(offsets[-1], np.int64)
        plan.walk(first, last, items, times)
        return first, offsets, items, times

    return _in_order(plan.users, walk, threads)


def _blocks_of(traces: Traces) -> Iterator[_Block]:
    assert traces.times is not None
    for first in range(0, traces.users, _BLOCK_USERS):
        offsets = traces.offsets[first : first + _BLOCK_USERS + 1]
        span = slice(offsets[0], offsets[-1])
        yield first, offsets - offsets[0], traces.items[span], traces.times[span]


def _in_order(users: int, work: Callable[[int, int], _Result], threads: int | None) -> Iterator[_Result]:
    """work(first, last) for blocks of people on every core, results in order, none made long before it is taken."""
    workers = threads or os.cpu_count() or 1
    waiting: deque[Future[_Result]] = deque()
    with Workers(workers) as pool:
        for first in range(0, users, _BLOCK_USERS):
            waiting.append(pool.submit(work, first, min(first + _BLOCK_USERS, users)))
            if len(waiting) > workers + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _compact(items: NDArray[np.uint32], pool: int) -> int:
    """Give the items that somebody has the codes 0, 1, ... in their order, in place; return how many there are."""
    used = np.zeros(pool, np.bool_)
    mark_items(items, used)
    codes = np.cumsum(used, dtype=np.uint32)
    codes -= 1
    relabel_items(items, codes)
    return int(np.count_nonzero(used))


def _popular_places(traces: Traces, world: World) -> Traces:
    """Leave out rare places, then people with too few events left."""
    assert traces.times is not None
    counts = np.bincount(traces.items, minlength=traces.domain_size)
    kept = counts[traces.items] >= world.min_place_events
    before = np.concatenate([[0], np.cumsum(kept)])
    left = Traces(before[traces.offsets], traces.items[kept], traces.domain_size, traces.times[kept])
    return keep_active_users(left, world.min_events).traces
