"""Local times to universal time: an hour that clocks repeat is read as the first, one that they skip is no time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import from_numpy, values_of
from entropie.errors import InvalidParameter

_UNITS = {1: "s", 10**3: "ms", 10**6: "us", 10**9: "ns"}


def check_zone(zone: str) -> None:
    """Refuse a name that no clock has."""
    try:
        _universal(np.zeros(1, np.int64), zone, 1)
    except pa.ArrowInvalid:
        raise InvalidParameter.of("time_zone", "a time zone, such as Europe/Paris or UTC", zone) from None


def universal(ticks: NDArray[np.int64], zone: str, per_second: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Ticks of local times as those of universal time, and which local times the clocks skipped."""
    found = _universal(ticks, zone, per_second)
    return _whole(found), _whole(pc.local_timestamp(found)) != ticks


def repeated(seconds: NDArray[np.int64], zone: str) -> int:
    """How many of these seconds of universal time are the first of two that clocks show alike."""
    if not seconds.size:
        return 0
    local = pc.local_timestamp(from_numpy(seconds).cast(pa.timestamp("s", "UTC")).cast(pa.timestamp("s", zone)))
    first, second = (_whole(pc.assume_timezone(local, zone, ambiguous=which)) for which in ("earliest", "latest"))
    return int(np.count_nonzero((first != second) & (first == seconds)))


def _universal(ticks: NDArray[np.int64], zone: str, per_second: int) -> pa.Array:
    local = from_numpy(ticks).cast(pa.timestamp(_UNITS[per_second]))
    return pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="earliest")


def _whole(instants: pa.Array) -> NDArray[np.int64]:
    return values_of(instants.cast(pa.int64())).astype(np.int64)
