"""When and how somebody reports: bins of the hour of the week, of the time since the event before, of returns, of days.

Bins tell nothing of a trace's length or of its dates: hours are those of the week, gaps and returns look back a little,
and the first and the last day of a trace, which a split may have cut, are no days.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from entropie.data.traces import Traces
from entropie.kernels.profile_evidence import return_bins

SLOTS = 12
"""Six times of day, on working days and at weekends."""

Level = Literal["hour of the week", "hour, weekends apart", "hour", "none"]
"""How finely the hours at which somebody reports are looked at."""

HOURS: Mapping[Level, int] = MappingProxyType(
    {"hour of the week": 168, "hour, weekends apart": 48, "hour": 24, "none": 0}
)
"""The bins of each level, the finest first."""

USUAL: Level = "hour, weekends apart"

GAPS = 11
"""log2(1 + hours since the event before), the last bin without end."""

RETURNS = 5
"""How many events ago the item was last met: 1 to 4, or longer."""

DAY_EDGES = (*range(1, 16), *range(16, 32, 2), *range(32, 64, 4), 64)
"""Events on a day with any: the least of each bin, the last without end. An eighth apart, so that people are."""

DAYS = len(DAY_EDGES)

DAY_SECONDS = 86_400
WEEK_SECONDS = 7 * DAY_SECONDS
_NEARBY_HOURS = ((-2, 1 / 9), (-1, 2 / 9), (0, 3 / 9), (1, 2 / 9), (2, 1 / 9))


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Bins of every event; -1 where an event has none."""

    returns: NDArray[np.int64]
    slots: NDArray[np.int64] | None = None  # None without times
    hours: NDArray[np.int64] | None = None
    gaps: NDArray[np.int64] | None = None
    days: NDArray[np.int64] | None = None  # the first event of a whole day stands for it


def bins_of(traces: Traces, timed: bool, level: Level = USUAL) -> Bins:
    """Bins of the events of some traces, hours at a level."""
    returns = return_bins(traces.offsets, traces.items, RETURNS - 1)
    if not timed or traces.times is None:
        return Bins(returns)
    week = (traces.times // 3600 + 72) % 168  # the epoch was a Thursday; 0 = Monday, midnight to one
    return Bins(
        returns,
        slots=hour_bins(week, USUAL) // 4,
        hours=hour_bins(week, level),
        gaps=_gaps(traces, traces.times),
        days=_days(traces, traces.times),
    )


def hour_bins(week: NDArray[np.int64], level: Level) -> NDArray[np.int64]:
    """Bins of hours of the week."""
    if level == "hour of the week":
        return week
    if level == "none":
        return np.full_like(week, -1)
    return week % 24 + (np.where(week >= 120, 24, 0) if level == "hour, weekends apart" else 0)


def smoothed_hours(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spread the last axis over the hours nearby: round the week, or round the clock, weekends apart if they are."""
    if not counts.shape[-1]:
        return counts
    round_ = 168 if counts.shape[-1] == 168 else 24
    days = counts.reshape(*counts.shape[:-1], -1, round_)
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
    passed = np.where(passed < 0, passed % WEEK_SECONDS, passed)
    bins = np.minimum(np.log2(1.0 + passed / 3600.0).astype(np.int64), GAPS - 1)
    bins[firsts(traces)] = -1
    return np.asarray(bins, np.int64)


def steps_back(traces: Traces) -> int:
    """How often a time is before the one that precedes it in its trace; if ever, times do not tell days apart."""
    if traces.times is None or traces.events == 0:
        return 0
    back = np.diff(traces.times, prepend=traces.times[:1]) < 0
    back[firsts(traces)] = False
    return int(back.sum())


def _days(traces: Traces, times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bins of how many events a day has, for the first event of each day but the first and the last of its trace."""
    bins = np.full(traces.events, -1, np.int64)
    if traces.events == 0:
        return bins
    day = times // DAY_SECONDS
    begins = np.diff(day, prepend=day[:1]) != 0
    begins[firsts(traces)] = True
    starts = np.flatnonzero(begins)
    events = np.diff(starts, append=traces.events)
    bins[starts] = np.searchsorted(DAY_EDGES, events, side="right") - 1
    lasts = traces.offsets[1:][np.diff(traces.offsets) > 0] - 1
    bins[firsts(traces)] = -1
    bins[starts[np.cumsum(begins)[lasts] - 1]] = -1
    return bins


def firsts(traces: Traces) -> NDArray[np.int64]:
    """The first event of every trace that has any."""
    return traces.offsets[:-1][np.diff(traces.offsets) > 0]
