"""Coarser and fewer events: units of time, map cells, events that are kept or drawn.

What is done to one event depends on the events (and a seed), never on chance outside: the same traces give the
same result. People who lose all their events stay, with an empty trace.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.data.grid import MapGrid
from entropie.data.traces import Traces
from entropie.kernels.keyed import mixed

TIME_UNITS: dict[str, int] = {"hour": 3_600, "day": 86_400, "week": 604_800}
"""Length of each unit in seconds."""
NOWHERE = -1
"""Label of an event without a category or without a place on the Earth: all of them become one item."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_MONDAY = 4 * 86_400  # the epoch was a Thursday


def grid_labels(latitude: ArrayLike, longitude: ArrayLike, grid: MapGrid) -> NDArray[np.int64]:
    """Label every event with the map cell of its point, NOWHERE where that is not on the Earth."""
    cells = grid.cells(np.asarray(latitude, np.float64), np.asarray(longitude, np.float64))
    assert NOWHERE == -1  # what a grid calls no cell
    return cells


def unit_begins(times: NDArray[np.int64], unit: str) -> NDArray[np.int64]:
    """When the hour, day or week (from Monday) of each time begins, in universal time."""
    length = TIME_UNITS[unit]
    shift = _FIRST_MONDAY if unit == "week" else 0
    return np.asarray((times - shift) // length * length + shift, np.int64)


def hashed_shares(traces: Traces, seed: int, keys: NDArray[np.integer]) -> NDArray[np.float64]:
    """A number from 0 up to 1 for every event, by a hash of the seed, its user's key and its place in their trace."""
    users = user_of_each(traces)
    place = np.arange(traces.events) - traces.offsets[:-1][users]
    start = mixed(np.array([seed], np.uint64) + _GOLDEN)
    draws = mixed(mixed(keys.astype(np.uint64) + start + _GOLDEN)[users] + place.astype(np.uint64) + _GOLDEN)
    # 53 bits are what a double holds exactly: 0 is below every probability but 0, and none reaches 1.
    return np.asarray((draws >> np.uint64(11)) * 2.0**-53)


def keep_events(traces: Traces, kept: NDArray[np.bool_]) -> Traces:
    """Keep the events marked; users and item codes stay."""
    running = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)))
    times = None if traces.times is None else traces.times[kept]
    return Traces(running[traces.offsets], traces.items[kept], traces.domain_size, times)


def user_of_each(traces: Traces) -> NDArray[np.int64]:
    """The user code of every event."""
    return np.repeat(np.arange(traces.users), np.diff(traces.offsets))
