"""How much better an attack does than its control: the part of what the control leaves open that the attack gets."""

from __future__ import annotations

import math

from entropie.document.measured import Interval, ShareInterval


def excess(success: ShareInterval, control: ShareInterval) -> Interval | None:
    """(success - control)/(1 - control) with an interval; None where the control may leave nothing open.

    The interval of the ratio of the two failures follows from theirs (Donner & Zou 2012). Both are measured on one
    table; where the same people succeed, as they mostly do, it is a little too wide.

    >>> found = excess(ShareInterval(0.8, 0.75, 0.85), ShareInterval(0.6, 0.55, 0.65))
    >>> [round(end, 2) for end in (found.low, found.value, found.high)]
    [0.35, 0.5, 0.63]
    """
    fails, left = success.complement, control.complement
    if left.low <= 0.0:
        return None
    value = 1.0 - fails.value / left.value
    least, most = (
        _ratio_end(fails, left, fails.low, left.high, -1.0),
        _ratio_end(fails, left, fails.high, left.low, 1.0),
    )
    return Interval(value, min(value, 1.0 - most), max(value, 1.0 - least))


def _ratio_end(above: ShareInterval, below: ShareInterval, end: float, other: float, side: float) -> float:
    """An end of above/below: at `end` of the one and `other` of the other, each taken as far as its share of both."""
    product, scale = above.value * below.value, other * (2.0 * below.value - other)
    if scale <= 0.0:
        return end / other
    inner = product * product - end * (2.0 * above.value - end) * scale
    return (product + side * math.sqrt(max(0.0, inner))) / scale
