"""Coarser traces: fewer or broader items, rounded times, fewer events. Each gives new traces of the same people.

What is done to one event depends on the events (and a seed), never on chance outside: the same traces give the
same result. People who lose all their events stay, with an empty trace, so that shares keep their denominator.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from entropie.data.grid import MapGrid
from entropie.data.traces import Traces, cut_runs
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.kernels.keyed import mixed

TimeUnit = Literal["hour", "day", "week"]
TIME_UNITS: dict[str, int] = {"hour": 3_600, "day": 86_400, "week": 604_800}
"""Length of each unit in seconds."""
NOWHERE = -1
"""Label of an event without a category or without a place on the Earth: all of them become one item."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_MONDAY = 4 * 86_400  # the epoch was a Thursday


def replace_items(traces: Traces, labels: ArrayLike) -> Traces:
    """Give every event the item that its label names: equal labels, equal items; codes in the order of the labels."""
    values = np.asarray(labels)
    if values.shape != traces.items.shape:
        raise InvalidInput(f"Array `labels` must have one value per event, {traces.events}, got {values.size} instead.")
    found, codes = np.unique(values, return_inverse=True)
    return Traces(traces.offsets, codes.astype(np.uint32), found.size, traces.times)


def merge_items(traces: Traces, groups: ArrayLike) -> Traces:
    """Merge the items of a group into one item; `groups` names the group of every item code."""
    values = np.asarray(groups)
    if values.shape != (traces.domain_size,):
        raise InvalidInput(
            f"Array `groups` must have one value per item, {traces.domain_size}, got {values.size} instead."
        )
    return replace_items(traces, values[traces.items])


def keep_top_items(traces: Traces, count: int, *, rest: Literal["merge", "drop"] = "merge") -> Traces:
    """Keep the `count` items with most events; the others become one item, the last (`merge`), or go (`drop`).

    Items with equally many events count in the order of their codes. Codes keep their order.
    """
    if count < 1:
        raise InvalidParameter.of("count", "at least 1 item", count)
    if rest not in ("merge", "drop"):
        raise InvalidParameter.of("rest", "merge or drop", rest)
    events = np.bincount(traces.items, minlength=traces.domain_size)
    kept = np.zeros(traces.domain_size, np.bool_)
    kept[np.argsort(-events, kind="stable")[:count]] = True
    if rest == "drop":
        return replace_items(part := keep_events(traces, kept[traces.items]), part.items)
    return merge_items(traces, np.where(kept, np.arange(traces.domain_size), traces.domain_size))


def prefix_groups(item_ids: pa.Array, length: int) -> NDArray[np.int64]:
    """Group the items whose ids begin with the same `length` characters: geohash, postal code, ICD code."""
    if length < 1:
        raise InvalidParameter.of("length", "at least 1 character", length)
    starts = pc.utf8_slice_codeunits(item_ids.cast(pa.string()), 0, length)
    return np.asarray(starts.dictionary_encode().indices.to_numpy(zero_copy_only=False), np.int64)


def grid_labels(latitude: ArrayLike, longitude: ArrayLike, grid: MapGrid) -> NDArray[np.int64]:
    """Label every event with the map cell of its point, NOWHERE where that is not on the Earth."""
    cells = grid.cells(np.asarray(latitude, np.float64), np.asarray(longitude, np.float64))
    assert NOWHERE == -1  # what a grid calls no cell
    return cells


def coarsen_time(traces: Traces, unit: TimeUnit, *, dedupe: bool = False) -> Traces:
    """Round times down to the hour, the day or the week (from Monday), in universal time.

    Within a unit events lose their order: they are sorted by item, so that the order carries nothing. `dedupe` also
    keeps an item that a person repeats within a unit only once.
    """
    begins = time_units(traces, unit)
    users = user_of_each(traces)
    order = np.lexsort((traces.items, begins, users))
    coarse = Traces(traces.offsets, traces.items[order], traces.domain_size, begins[order])
    if not dedupe:
        return coarse
    assert coarse.times is not None
    fresh = np.ones(traces.events, np.bool_)
    fresh[1:] = (np.diff(users) != 0) | (np.diff(coarse.times) != 0) | (coarse.items[1:] != coarse.items[:-1])
    return keep_events(coarse, fresh)


def time_units(traces: Traces, unit: TimeUnit) -> NDArray[np.int64]:
    """When the unit of every event begins, in seconds since the epoch."""
    if unit not in TIME_UNITS:
        raise InvalidParameter.of("unit", f"one of {', '.join(TIME_UNITS)}", unit)
    if traces.times is None:
        raise InvalidInput(
            f"Times cannot be coarsened, only the order of events is known; name a column with {option('time')}."
        )
    length = TIME_UNITS[unit]
    shift = _FIRST_MONDAY if unit == "week" else 0
    return np.asarray((traces.times - shift) // length * length + shift, np.int64)


def last_events(traces: Traces, count: int) -> Traces:
    """Keep the last events of every user, all of them where there are fewer."""
    if count < 1:
        raise InvalidParameter.of("count", "at least 1 event", count)
    lengths = np.minimum(np.diff(traces.offsets), count)
    return cut_runs(traces, traces.offsets[1:] - lengths, lengths)


def thin(traces: Traces, probability: float, *, seed: int = 0, keys: ArrayLike | None = None) -> Traces:
    """Keep every event with this probability, by a hash of the seed, its user's key and its place in their trace.

    No other event has a part in it, and what a smaller probability keeps is part of what a larger one keeps. `keys`
    are one whole number per user; without them users go by their codes.
    """
    if not 0.0 <= probability <= 1.0:
        raise InvalidParameter.of("probability", "between 0 and 1", probability)
    own = np.arange(traces.users) if keys is None else np.asarray(keys)
    if own.shape != (traces.users,):
        raise InvalidInput(f"Array `keys` must have one value per user, {traces.users}, got {own.size} instead.")
    users = user_of_each(traces)
    place = np.arange(traces.events) - traces.offsets[:-1][users]
    start = mixed(np.array([seed], np.uint64) + _GOLDEN)
    draws = mixed(mixed(own.astype(np.uint64) + start + _GOLDEN)[users] + place.astype(np.uint64) + _GOLDEN)
    # 53 bits are what a double holds exactly, so that 0 keeps nothing and 1 everything.
    return keep_events(traces, (draws >> np.uint64(11)) * 2.0**-53 < probability)


def keep_events(traces: Traces, kept: NDArray[np.bool_]) -> Traces:
    """Keep the events marked; users and item codes stay."""
    running = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)))
    times = None if traces.times is None else traces.times[kept]
    return Traces(running[traces.offsets], traces.items[kept], traces.domain_size, times)


def user_of_each(traces: Traces) -> NDArray[np.int64]:
    """The user code of every event."""
    return np.repeat(np.arange(traces.users), np.diff(traces.offsets))
