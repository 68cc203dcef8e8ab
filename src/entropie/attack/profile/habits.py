"""When and how somebody reports: bins of the hour of the week, of the time since the event before, of returns.

Bins tell nothing of a trace's length or of its dates: hours are those of the week, gaps and returns look back a little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.data.traces import Traces
from entropie.kernels.profile_evidence import return_bins

SLOTS = 12
"""Six times of day, on working days and at weekends."""

HOURS = 48
"""The hours of a day, on working days and at weekends."""

GAPS = 11
"""log2(1 + hours since the event before), the last bin without end."""

RETURNS = 5
"""How many events ago the item was last met: 1 to 4, or longer."""

_WEEK_SECONDS = 7 * 86_400
_NEARBY_HOURS = ((-2, 1 / 9), (-1, 2 / 9), (0, 3 / 9), (1, 2 / 9), (2, 1 / 9))


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Bins of every event; -1 where an event has none."""

    returns: NDArray[np.int64]
    slots: NDArray[np.int64] | None = None  # None without times
    hours: NDArray[np.int64] | None = None
    gaps: NDArray[np.int64] | None = None


def bins_of(traces: Traces, timed: bool) -> Bins:
    """Bins of the events of some traces."""
    returns = return_bins(traces.offsets, traces.items, RETURNS - 1)
    if not timed or traces.times is None:
        return Bins(returns)
    hour = traces.times // 3600
    weekend = (hour // 24 + 3) % 7 >= 5  # the epoch was a Thursday; 0 = Monday
    hours = np.where(weekend, 24, 0) + hour % 24
    return Bins(returns, hours // 4, hours, _gaps(traces, traces.times))


def smoothed_hours(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spread the last axis over the hours nearby, round the clock, working days and weekends apart."""
    days = counts.reshape(*counts.shape[:-1], 2, 24)
    spread = sum(part * np.roll(days, shift, axis=-1) for shift, part in _NEARBY_HOURS)
    return np.asarray(spread, np.float64).reshape(counts.shape)


def events_before(traces: Traces) -> NDArray[np.float64]:
    """How many events of the trace precede each."""
    starts = np.repeat(traces.offsets[:-1], np.diff(traces.offsets))
    return (np.arange(traces.events) - starts).astype(np.float64)


def events_after(traces: Traces) -> NDArray[np.float64]:
    """How many events of the trace follow each."""
    ends = np.repeat(traces.offsets[1:], np.diff(traces.offsets))
    return (ends - 1 - np.arange(traces.events)).astype(np.float64)


def _gaps(traces: Traces, times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bins of the time since the event before; where only the hour of the week is known, of that within a week."""
    passed = np.diff(times, prepend=times[:1])
    passed = np.where(passed < 0, passed % _WEEK_SECONDS, passed)
    bins = np.minimum(np.log2(1.0 + passed / 3600.0).astype(np.int64), GAPS - 1)
    firsts = traces.offsets[:-1][np.diff(traces.offsets) > 0]
    bins[firsts] = -1
    return np.asarray(bins, np.int64)
