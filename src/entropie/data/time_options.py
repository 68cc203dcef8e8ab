"""How times are read where the user says so: their format, their time zone, and where these cannot be meant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.arrow import type_within
from entropie.data.dates import format_of
from entropie.data.normalise import timestamp_unit
from entropie.data.times import TimeFormat, declared
from entropie.data.zones import check_zone, repeated
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.request import Source


def refuse_without_times(source: Source) -> None:
    """Refuse options that speak of times where there is no column of them."""
    for name in ("time_format", "time_zone"):
        if getattr(source, name) is not None:
            raise InvalidParameter(f"{option(name)} speaks of times; name their column with {option('time')}.")


def given_format(source: Source, kind: pa.DataType, column: str, name: str) -> TimeFormat | None:
    """The format that a column's type or the user tells; None where it is to be recognised."""
    if source.time_zone is not None:
        check_zone(source.time_zone)
    unit = timestamp_unit(kind)
    kind = type_within(kind)
    if source.time_format is None or source.times_are is not None:
        if unit is None:
            return None
        says = pa.types.is_timestamp(kind) and kind.tz is not None
        time = TimeFormat("timestamp", unit, zone=None if says else source.time_zone)
        return declared(time, source.times_are, column, name)
    time = format_of(source.time_format)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise InvalidInput(
            f"Column `{column}` of {name} has type {kind}; {option('time_format')} is for text, leave it out."
        )
    return replace(time, zone=source.time_zone)


def in_zone(time: TimeFormat, source: Source, column: str, name: str) -> TimeFormat:
    """A format that was recognised, with the time zone of what does not say it."""
    if source.time_zone is None:
        return time
    if time.name in ("integer", "float"):
        raise InvalidInput(
            f"Column `{column}` of {name} holds numbers, which count from 1970 in universal time; leave "
            f"{option('time_zone')} out."
        )
    if time.name == "either":
        raise InvalidInput(
            f"With {option('time_zone')} say whether dates in column `{column}` of {name} have day or month first: "
            f"{option('time_format')} day-first or month-first."
        )
    return replace(time, zone=source.time_zone)


def check_settled(time: TimeFormat | None, column: str | None, name: str) -> None:
    """Refuse what only a whole column tells, where it is read in parts."""
    if time is not None and time.name == "either":
        raise InvalidInput(
            f"Dates in column `{column}` of {name} may have day or month first; on a cluster say which with "
            f"{option('time_format')} day-first or month-first."
        )


def repeated_in(times: NDArray[np.int64] | None, time: TimeFormat | None) -> int | None:
    """How many events are at a local time that clocks show twice; None where no time zone was named."""
    if time is None or time.zone is None or times is None:
        return None
    return repeated(times, time.zone)
