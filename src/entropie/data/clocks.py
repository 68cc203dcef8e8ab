"""Two files of the same people: do their clocks agree, and how much of one is in the other?

The first `pairs` people of both are the same. An event agrees where the release has one of the same person at the same
item and time, to the coarser resolution of both files.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.data.traces import Traces

_STEP, _LONGEST = 900, 14 * 3_600  # time zones differ by quarters of an hour, and at most by so many seconds
_FEWEST, _TIMES, _SAMPLE = 20, 2, 20_000
_WIDTHS = (86_400, 3_600, 60)


def clock_shift(known: Traces, release: Traces, pairs: int) -> int:
    """Seconds to add to the known times so that they agree best with the release's.

    0 unless far more events agree then than after any other shift.
    """
    if known.times is None or release.times is None:
        return 0
    width = max(60, _width(known.times), _width(release.times))
    every = max(1, int(known.offsets[pairs]) // _SAMPLE)
    events = _Agreeing(known, release, np.arange(0, known.offsets[pairs], every), pairs, width)
    shifts = np.arange(-_LONGEST, _LONGEST + 1, max(_STEP, width))
    shifts = shifts[np.argsort(np.abs(shifts), kind="stable")]  # of equals the smallest; 0 comes first
    agree = np.array([events.after(int(shift)).sum() for shift in shifts])
    best = int(np.argmax(agree))
    others = np.delete(agree, best).max(initial=0)
    return int(shifts[best]) if agree[best] >= max(_FEWEST, _TIMES * others) else 0


def same_events(known: Traces, release: Traces, pairs: int) -> float:
    """Share of the known events of people in both that are in the release.

    Without times, events count where the two traces of a person are the same.
    """
    events = int(known.offsets[pairs])
    if known.times is None or release.times is None:
        return float(_events_of_same_traces(known, release, pairs) / max(events, 1))
    width = max(_width(known.times), _width(release.times))
    return float(_Agreeing(known, release, np.arange(events), pairs, width).after(0).sum() / max(events, 1))


class _Agreeing:
    """Some of the known events, ready to be looked up in the release with their times moved."""

    def __init__(self, known: Traces, release: Traces, events: NDArray[np.int64], pairs: int, width: int) -> None:
        assert known.times is not None
        assert release.times is not None
        theirs = np.arange(release.offsets[pairs])
        spots = np.concatenate((_spots(known, events), _spots(release, theirs)))
        spots = np.unique(spots, return_inverse=True)[1]
        bins = release.times[theirs] // width
        self._width = width
        self._first = int(bins.min(initial=0))
        self._span = int(bins.max(initial=0)) - self._first + 1
        self._asked, self._times = spots[: events.size], known.times[events]
        self._there = np.unique(spots[events.size :] * self._span + (bins - self._first))

    def after(self, shift: int) -> NDArray[np.bool_]:
        """Whether each event is in the release, its time moved by so many seconds."""
        bins = (self._times + shift) // self._width - self._first
        inside = (bins >= 0) & (bins < self._span)
        return inside & np.isin(self._asked * self._span + np.where(inside, bins, 0), self._there)


def _spots(traces: Traces, events: NDArray[np.int64]) -> NDArray[np.int64]:
    """Person and item of each event in one number."""
    people = np.searchsorted(traces.offsets, events, side="right") - 1
    return np.asarray(people * traces.domain_size + traces.items[events], np.int64)


def _width(times: NDArray[np.int64]) -> int:
    """Seconds of the widest bins whose beginnings all times are."""
    return next((width for width in _WIDTHS if not np.any(times % width)), 1)


def _events_of_same_traces(known: Traces, release: Traces, pairs: int) -> int:
    lengths = np.diff(known.offsets[: pairs + 1])
    alike = np.flatnonzero(lengths == np.diff(release.offsets[: pairs + 1]))
    one, other = known.take(alike), release.take(alike)
    differ = np.concatenate(([0], np.cumsum(one.items != other.items)))
    same = differ[one.offsets[1:]] == differ[one.offsets[:-1]]
    return int(lengths[alike][same].sum())
