"""The difference of two values that have an interval each.

The difference of two shares, or of two amounts of bits, gets the interval of Newcombe (1998), called MOVER since: with
d = new - old,

    low  = d - sqrt((new - new.low)^2 + (old.high - old)^2)
    high = d + sqrt((new.high - new)^2 + (old - old.low)^2).

It needs nothing but the two intervals and takes the two results for independent. Where an interval is wider than a
95 % one because it allows for the choice among several attacks, so is that of the difference: at least 95 %.
"""

from __future__ import annotations

import math
from typing import Protocol

from entropie.document.base import Part


class Difference(Part, frozen=True):
    """New minus old with the ends of the difference's interval."""

    value: float
    low: float
    high: float


class _Ends(Protocol):
    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def difference(old: _Ends, new: _Ends) -> Difference:
    """New minus old with the interval of the module's docstring.

    An end on the wrong side of its own value counts as no uncertainty on that side.
    """
    value = new.value - old.value
    below = math.hypot(max(0.0, new.value - new.low), max(0.0, old.high - old.value))
    above = math.hypot(max(0.0, new.high - new.value), max(0.0, old.value - old.low))
    return Difference(value, value - below, value + above)
