"""How the gate writes numbers into its sentences: shares as percent, with the digits that tell them apart."""

from __future__ import annotations

import math

from entropie.measures.intervals import Interval

_PERCENT = "\N{NO-BREAK SPACE}%"


def percent(share: float) -> str:
    """A share in percent, two decimals; closer to 0 or 100 % with as many as tell it apart from them."""
    edge = min(share, 1.0 - share)
    if edge <= 0.0:
        return f"{share * 100:.0f}{_PERCENT}"
    decimals = min(9, max(2, 2 - math.floor(math.log10(edge * 100))))
    return f"{share * 100:.{decimals}f}{_PERCENT}"


def plain_percent(share: float) -> str:
    """A share that somebody wrote down, as she wrote it: 0.09 as 9 %."""
    return f"{share * 100:.10g}{_PERCENT}"


def points(difference: float) -> str:
    """A difference of two shares in percentage points, with its sign."""
    return f"{round(difference * 100, 2) + 0.0:+.2f} percentage points"


def between(interval: Interval) -> str:
    """The ends of an interval of shares."""
    return f"{percent(interval.low)} to {percent(interval.high)}"
