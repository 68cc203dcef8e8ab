"""How the gate writes numbers into its sentences: shares as percent, with the digits that tell them apart."""

from __future__ import annotations

from entropie.measures.intervals import Interval
from entropie.words import percent as percent

_PERCENT = "\N{NO-BREAK SPACE}%"


def plain_percent(share: float) -> str:
    """A share that somebody wrote down, as she wrote it: 0.09 as 9 %."""
    return f"{share * 100:.10g}{_PERCENT}"


def points(difference: float) -> str:
    """A difference of two shares in percentage points, with its sign."""
    return f"{round(difference * 100, 2) + 0.0:+.2f} percentage points"


def between(interval: Interval) -> str:
    """The ends of an interval of shares."""
    return f"{percent(interval.low)} to {percent(interval.high)}"
