"""How finely hours tell people apart: of the week, of the day with weekends apart, of the day, or not at all.

Chosen on the training cut in two, as everything is that is learned: the level whose hours of the earlier part foretell
those of the later part best; where they foretell nothing of most people, but surely of some, the finest that does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.attack.profile.habits import HOURS, USUAL, Level, hour_bins, smoothed_hours
from entropie.attack.profile.occasional import gains_of, surely_above, tells_some
from entropie.attack.profile.people import HABIT_PRIOR, binned, surprise
from entropie.data.traces import Traces

PEOPLE = 100_000
"""Hours of the week are looked at up to so many people; beyond, their tables would take more room than the traces."""

LOOKED_AT = 20_000
"""People whose hours decide, at most."""

SURELY = 2.0
"""Standard errors by which hours must foretell more than nothing."""

_SEEN = 0.1


def level_of(earlier: Traces, later: Traces) -> Level:
    """The level at which the earlier hours of people foretell their later ones best; `none` where none surely does.

    By the mean over people of ln P_i(h)/p(h) of their later events: what an event tells of whose it is.
    """
    if earlier.times is None or later.times is None:
        return USUAL
    if earlier.users > LOOKED_AT:
        some = np.linspace(0, earlier.users - 1, LOOKED_AT).astype(np.int64)
        levels: list[Level] = [level for level in HOURS if level != "hour of the week" or earlier.users <= PEOPLE]
        earlier, later = earlier.take(some), later.take(some)
    else:
        levels = list(HOURS)
    found = {level: gains(earlier, later, level) for level in levels if level != "none"}
    best = max(found, key=lambda level: float(found[level].mean()))
    told = found[best]
    if told.size > 1 and surely_above(told, SURELY):
        return best
    return next((level for level in found if tells_some(gains_of(*_hours(earlier, later, level)))), "none")


def _hours(earlier: Traces, later: Traces, level: Level) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ln P_i(h)/p(h) of the earlier hours, and how often the later part has each."""
    assert earlier.times is not None
    assert later.times is not None
    first, second = (hour_bins((times // 3600 + 72) % 168, level) for times in (earlier.times, later.times))
    counts = smoothed_hours(binned(earlier, first, np.ones(first.size), HOURS[level]))
    everybody = counts.sum(axis=0) + _SEEN
    table = surprise(counts, everybody / everybody.sum(), HABIT_PRIOR)
    return table, binned(later, second, np.ones(second.size), HOURS[level])


def gains(earlier: Traces, later: Traces, level: Level) -> NDArray[np.float64]:
    """Mean of ln P_i(h)/p(h) over the later events of each person who has both."""
    table, asked = _hours(earlier, later, level)
    lengths = np.diff(later.offsets)
    there = (lengths > 0) & (np.diff(earlier.offsets) > 0)
    return np.asarray((table * asked).sum(axis=1)[there] / lengths[there], np.float64)
