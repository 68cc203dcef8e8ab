"""Raw positions to visits: a run of positions near each other that lasts becomes one event, in its middle's cell."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import values_of
from entropie.data.coordinates import Cells, degrees_of, points_of
from entropie.data.rejects import SAME_STAY, Rejects
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.quantities import read_seconds
from entropie.request import Source

_EARTH_METRES = 6_371_008.8  # mean radius
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(m|km)", re.IGNORECASE)
_FARTHEST_METRES = 100_000.0
_POSITION_BYTES = 24  # of each event while stays are looked for: two coordinates and a time


@dataclass(frozen=True, slots=True)
class Stays:
    """What counts as a stay: all positions at most so far from the first, for at least so long."""

    metres: float
    seconds: int

    @classmethod
    def parse(cls, text: str) -> Stays:
        """Read `200m,20min`."""
        size, _, length = text.partition(",")
        found = _SIZE.fullmatch(size.strip())
        try:
            metres = float(found[1]) * (1000.0 if found[2].lower() == "km" else 1.0) if found else 0.0
            seconds = read_seconds(length)
        except ValueError:
            metres, seconds = 0.0, 0
        if not (0.0 < metres <= _FARTHEST_METRES and seconds > 0):
            raise InvalidParameter.of("stays", "a distance up to 100km and a length of time, such as 200m,20min", text)
        return cls(metres, seconds)


@dataclass(frozen=True, slots=True)
class Visits:
    """Stays as events in cells, who has any, and the names of the cells."""

    traces: Traces
    users: NDArray[np.int64]
    item_ids: pa.Array


def visits_of(traces: Traces, points: pa.Array, source: Source, rejects: Rejects) -> Visits:
    """The stays in traces whose items are points; every position that is in none, or not its first, is counted."""
    from entropie.kernels.stays import find_stays

    assert source.stays is not None
    assert source.cells is not None
    stays = Stays.parse(source.stays)
    if traces.times is None:
        raise InvalidInput(f"Stays last for a time, and {rejects.name} has none; name a column with {option('time')}.")
    rejects.budget.keep("positions", _POSITION_BYTES * traces.events)
    north, east = (np.radians(degrees)[traces.items] for degrees in degrees_of(values_of(points).astype(np.int64)))
    times = traces.times.copy()
    offsets, inside = find_stays(traces.offsets, north, east, times, stays.metres / _EARTH_METRES, stays.seconds)
    count = int(offsets[-1])
    if count == 0:
        raise InvalidInput(
            f"Nobody in {rejects.name} stays within {stays.metres:g} m for {stays.seconds:,} s; allow more distance or "
            f"less time with {option('stays')}."
        )
    visits = np.diff(offsets)
    nowhere = int(np.diff(traces.offsets)[visits == 0].sum())
    rejects.excluded["of a person who stays nowhere"] += nowhere
    rejects.excluded["between stays"] += traces.events - inside - nowhere
    rejects.excluded[SAME_STAY] += inside - count
    names = Cells.parse(source.cells).names(points_of(np.degrees(north[:count]), np.degrees(east[:count])))
    coded = names.dictionary_encode()
    order = pc.array_sort_indices(coded.dictionary)
    ranks = np.empty(len(order), np.uint32)
    ranks[values_of(order)] = np.arange(len(order), dtype=np.uint32)
    items = ranks[values_of(coded.indices)]
    users = np.flatnonzero(visits)
    offsets = np.concatenate((np.zeros(1, np.int64), offsets[1:][users]))
    return Visits(Traces(offsets, items, len(order), times[:count]), users, coded.dictionary.take(order))
