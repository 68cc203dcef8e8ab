"""Numbers as people write them, read in one place: 1.4M people, a limit of 10%, 4GB of memory."""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation

_FACTORS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9, "T": 10**12}
_LARGEST_EXPONENT = 30
_COUNT = re.compile(r"([+-]?\d[\d_,]*(?:\.\d+)?(?:e\+?\d{1,2})?)\s*([KMGBT]?)", re.IGNORECASE)
_BYTES = re.compile(r"(\d+(?:\.\d+)?(?:e\+?\d{1,2})?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)


def read_count(text: str) -> int:
    """Read a whole number: 1370637, 1_370_637, 1,370,637, 1e6, 1.4M; K, M, G (or B) and T are powers of 1,000.

    Raises ValueError for anything else.
    """
    found = _COUNT.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    try:
        number = Decimal(found[1].replace("_", "").replace(",", "")) * _FACTORS[found[2].upper()]
    except InvalidOperation:
        raise ValueError(text) from None
    if number.adjusted() > _LARGEST_EXPONENT or number != number.to_integral_value():
        raise ValueError(text)
    return int(number)


def read_share(text: str) -> float:
    """Read a share: 0.1 and 10% are the same. Raises ValueError for what is no finite number."""
    plain = text.strip()
    number = float(plain.removesuffix("%").rstrip()) / 100.0 if plain.endswith("%") else float(plain)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def read_bytes(text: str) -> int:
    """Read a size: 4GB is 4 * 10^9 bytes, 4GiB is 4 * 2^30, a plain number is bytes. Raises ValueError otherwise."""
    found = _BYTES.fullmatch(text.strip())
    if found is None or (found[3] and not found[2]):
        raise ValueError(text)
    base = 1024 if found[3] else 1000
    size = int(Decimal(found[1]) * base ** " KMGT".index(found[2].upper() or " "))
    if size < 1:
        raise ValueError(text)
    return size
