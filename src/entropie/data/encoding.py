"""What encoding must agree on, in whatever way it is done: why a row is left out, and what comes of the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.rejects import NOT_UTF8, Rejects
from entropie.data.times import TimeFormat
from entropie.errors import InvalidInput

__all__ = ["NO_USER", "NULLS", "NULL_TIMES", "Encoded", "Rules", "is_text", "reason_code", "reason_of", "settle"]

NO_USER = np.uint32(0xFFFFFFFF)  # marks a row that was dropped
# What spreadsheets and databases write for "nothing"; NaN among times is named as such.
NULL_TIMES = ("", "\\N", "NULL", "null", "None", "NaT")
NULLS = (*NULL_TIMES, "NaN", "nan")
_DIRTY = (
    *("missing user", "missing item", "missing time", "NaN time", "unreadable time"),
    *("line break in an id", NOT_UTF8, "unreadable rating"),
)
_EXCLUDED = ("rating below the minimum", "no item recorded")
_REASONS = ("", *_DIRTY, *_EXCLUDED)


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides whether a row counts: the time's format, the least rating, ids that mean nothing."""

    time: TimeFormat | None
    min_rating: float | None = None
    missing_items: tuple[str, ...] = ()
    max_dirty_share: float = 0.01


@dataclass(frozen=True, slots=True)
class Encoded:
    """One row per row stored: codes in order of the ids, ticks, and the ids themselves."""

    rows: int  # read, whether stored or left out on the way
    users: NDArray[np.uint32]  # NO_USER where the row was dropped
    items: NDArray[np.uint32]
    ticks: NDArray[np.int64]  # empty without a time
    user_ids: pa.Array
    item_ids: pa.Array


def reason_code(reason: str) -> int:
    """Number a reason; 0 is none."""
    return _REASONS.index(reason)


def reason_of(code: int) -> str:
    """Name the reason that has this number."""
    return _REASONS[code]


def is_text(schema: pa.Schema, role: str) -> bool:
    """Tell whether a column is text; all others are numbers."""
    kind = schema.field(role).type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def settle(counts: Mapping[int, int], rules: Rules, rejects: Rejects) -> int:
    """Enter how many stored rows have each reason, refuse too many or too few rows; return how many were read."""
    rows = sum(counts.values()) + rejects.dirty.total() + rejects.excluded.total()
    for code, count in sorted(counts.items()):
        if 0 < code <= len(_DIRTY):
            rejects.dirty[_REASONS[code]] += count
        elif code:
            rejects.excluded[_REASONS[code]] += count
    rejects.check_share(rows, rules.max_dirty_share)
    if rows == rejects.dirty.total() + rejects.excluded.total():
        raise InvalidInput(
            f"No event is left of the {rows:,} rows of {rejects.name} ({rejects.summary()})."
            if rows
            else f"{rejects.name} holds no rows, only a header; events need at least one."
        )
    return rows
