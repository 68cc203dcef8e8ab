"""Numbers as people write them, read in one place: 1.4M people, a limit of 10%, 4GB of memory."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

_FACTORS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9, "T": 10**12}
_LARGEST_EXPONENT = 30
_COUNT = re.compile(r"([+-]?\d[\d_,]*(?:\.\d+)?(?:e\+?\d{1,2})?)\s*([KMGBT]?)", re.IGNORECASE)
_SECONDS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(r"(\d{1,9})\s*(s|min|h|d)", re.IGNORECASE)
MOST_BYTES = 10**24
"""No size that people mean is larger."""
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
    size = Decimal(found[1]) * base ** " KMGT".index(found[2].upper() or " ")
    if size < 1 or size > MOST_BYTES:
        raise ValueError(text)
    return int(size)


def read_seconds(text: str) -> int:
    """Read a length of time: 45s, 30min, 2h, 1d. Raises ValueError otherwise."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    return int(found[1]) * _SECONDS[found[2].lower()]


@dataclass(frozen=True, slots=True)
class PointErrors:
    """How wrong points may be: times by up to so many seconds either way, and this share of the items."""

    time_seconds: int = 0
    items: float = 0.0

    @classmethod
    def read(cls, text: str) -> PointErrors:
        """Read `time=30min,items=10%`, or one of the two. Raises ValueError for anything else."""
        given = dict(part.split("=", 1) for part in text.replace(" ", "").split(","))
        if given.keys() - {"time", "items"} or len(given) < text.count("=") or not given:
            raise ValueError(text)
        items = read_share(given.get("items", "0"))
        if not 0.0 <= items < 1.0:
            raise ValueError(text)
        return cls(read_seconds(given.get("time", "0s")), items)

    @property
    def none(self) -> bool:
        """Whether points are right."""
        return not self.time_seconds and not self.items

    def __str__(self) -> str:
        return f"time={self.time_seconds}s,items={self.items * 100:.10g}%"
