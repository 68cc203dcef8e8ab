"""What conjunctions are made of: for each event its item, those before it, when it was, which of the day's it was.

Nothing here tells a trace's length or its dates.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from entropie.attack.profile.habits import DAY_SECONDS, WEEK_SECONDS, events_before, firsts, steps_back
from entropie.attack.profile.occasional import bins_of_habit, spans_of
from entropie.data.traces import Traces

Codes = NDArray[np.uint32]
Ints = NDArray[np.int64]
Parts = Mapping[str, tuple[Codes, NDArray[np.bool_]]]
"""By name: a number for each event, or several in a row of their own, and whether it has one."""

BESIDE = 3
"""So many others of its day are looked at beside an event: the next ones, after the last of the day the first."""

SPANS: Mapping[str, int] = MappingProxyType(
    {
        "hour": 2 * DAY_SECONDS,
        "shift": 2 * DAY_SECONDS,
        "hour of three": 2 * DAY_SECONDS,
        "clock": 2 * DAY_SECONDS,
        "moment": 2 * DAY_SECONDS,
        "hour before": 2 * DAY_SECONDS,
        "weekday": 2 * WEEK_SECONDS,
        "hour of the week": 2 * WEEK_SECONDS,
        "fortnight": 5 * WEEK_SECONDS,
        "month": 58 * DAY_SECONDS,
        "week of the month": 100 * DAY_SECONDS,
        "minute": 2 * 3600,
        "second": 2 * 60,
    }
)
"""What a trace must span, in seconds, for each to tell more than its dates: what is cut on a Monday ends with Mondays
and begins with them.
"""


def parts_of(traces: Traces, item_categories: Ints | None) -> dict[str, tuple[Codes, NDArray[np.bool_]]]:
    """What conjunctions are made of: a number for each event, and whether it has one."""
    before = events_before(traces)
    items = traces.items
    always = np.ones(traces.events, np.bool_)
    found: dict[str, tuple[NDArray[np.integer], NDArray[np.bool_]]] = {
        "item": (items, always),
        "before": (np.roll(items, 1), before >= 1),
        "earlier": (np.roll(items, 2), before >= 2),
        "third before": (np.roll(items, 3), before >= 3),
        "row": (_row(traces), always),
    }
    ago = bins_of_habit(traces, "cycle")
    found["ago"] = ago, ago >= 0
    if item_categories is not None:
        found["category"] = item_categories[items], always
        found["category before"] = np.roll(item_categories[items], 1), before >= 1
    if traces.times is not None:
        found |= _of_times(traces, traces.times)
    return {name: (codes.astype(np.uint32), there) for name, (codes, there) in found.items()}


def _of_times(traces: Traces, times: Ints) -> dict[str, tuple[Ints, NDArray[np.bool_]]]:
    """The same of when events are; what would tell dates alone, and not habits, is left out."""
    dated = not steps_back(traces)
    day, later = times // DAY_SECONDS, events_before(traces) >= 1
    hour = times // 3600 % 24
    codes = {
        "hour": hour,
        "shift": hour // 8,
        "hour of three": hour % 3,
        "hour before": np.roll(hour, 1),
        "weekday": (day + 3) % 7,
        "hour of the week": (times // 3600 + 72) % 168,
        "clock": times // 60 % 1440,
        "moment": times % DAY_SECONDS,
        "minute": times // 60 % 60,
        "second": times % 60,
        "gap": _gap(times),
    }
    if dated:
        dates = day.astype("datetime64[D]")
        codes["month"] = (dates - dates.astype("datetime64[M]").astype("datetime64[D]")).astype(np.int64)
        codes["week of the month"] = codes["month"] // 7 * 7 + (day + 3) % 7
        codes["fortnight"] = day % 14
        codes["place in the day"], codes["number a day"] = _days(traces, day)
        codes["left of the day"] = codes["number a day"] - codes["place in the day"]
        codes["beside"] = _beside(traces, day)
    spans = spans_of(traces, times)
    there = {name: np.ones(times.size, np.bool_) for name in codes}
    for name in codes.keys() & SPANS.keys() if dated else ():
        there[name] = np.repeat(spans >= SPANS[name], np.diff(traces.offsets))
    for name in ("hour before", "gap"):
        there[name] &= later
    if dated:
        whole = codes["number a day"] >= 0
        there["number a day"] &= whole
        there["place in the day"] &= whole
        there["left of the day"] &= whole
    return {name: (codes[name], there[name]) for name in codes}


def _gap(times: Ints) -> Ints:
    """Time since the event before, in the largest of days, hours, minutes and seconds of which it has two."""
    passed = np.diff(times, prepend=times[:1]) % (2**31)
    unit = np.select([passed >= 2 * DAY_SECONDS, passed >= 7200, passed >= 120], [DAY_SECONDS, 3600, 60], 1)
    return np.asarray((passed + unit // 2) // unit * unit, np.int64)


def _days(traces: Traces, day: Ints) -> tuple[Ints, Ints]:
    """Which of the day's events each is, and how many the day has; -1 on first and last days, which a split may cut."""
    starts, which, number = _day_of_each(traces, day)
    place = np.arange(day.size) - starts[which]
    cut = np.zeros(starts.size, np.bool_)
    if day.size:
        cut[which[firsts(traces)]] = True
        cut[which[traces.offsets[1:][np.diff(traces.offsets) > 0] - 1]] = True
    return np.where(cut[which], -1, place), np.where(cut[which], -1, number)


def _day_of_each(traces: Traces, day: Ints) -> tuple[Ints, Ints, Ints]:
    """Where the days of traces begin; of each event which day it is on, and how many that day has."""
    begins = np.diff(day, prepend=day[:1]) != 0
    begins[firsts(traces)] = True
    starts = np.flatnonzero(begins)
    which = np.cumsum(begins) - 1
    return starts, which, np.diff(starts, append=day.size)[which]


def _beside(traces: Traces, day: Ints) -> Ints:
    """Items of others of each event's day, no two alike; instead of those that are missing numbers that no item has."""
    starts, which, number = _day_of_each(traces, day)
    first = starts[which]
    found = np.empty((day.size, BESIDE), np.int64)
    for place in range(BESIDE):
        other = traces.items[first + (np.arange(day.size) - first + place + 1) % np.maximum(number, 1)]
        again = (other[:, None] == found[:, :place]).any(axis=1) | (other == traces.items)
        found[:, place] = np.where(again, 2**32 - 1 - place, other)
    return found


def _row(traces: Traces) -> Ints:
    """How many events before this one in a row are at its item."""
    begins = np.ones(traces.events, np.bool_)
    begins[1:] = traces.items[1:] != traces.items[:-1]
    begins[firsts(traces)] = True
    starts = np.flatnonzero(begins)
    return np.asarray(np.arange(traces.events) - starts[np.cumsum(begins) - 1], np.int64)
