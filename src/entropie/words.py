"""How shares are written everywhere but on the page: percent, with the digits that tell them apart."""

from __future__ import annotations

import math

__all__ = ["percent"]

_PERCENT = "\N{NO-BREAK SPACE}%"


def percent(share: float) -> str:
    """A share in percent; close to 0 or 100 % with as many digits as tell it apart from them."""
    edge = min(share, 1.0 - share)
    if edge <= 0.0:
        return f"{share * 100:.0f}{_PERCENT}"
    digits = max(2, 2 - math.floor(math.log10(edge * 100)))
    if digits > 9:
        return f"almost 100{_PERCENT}" if share > 0.5 else f"{share * 100:.2g}{_PERCENT}"
    return f"{share * 100:.{digits}f}{_PERCENT}"
