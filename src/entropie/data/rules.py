"""What a row is held to: the reasons to exclude one, which of them speak against the file, and how many are allowed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from entropie.data.rejects import NOT_UTF8, Rejects
from entropie.data.roles import Role
from entropie.data.times import TimeFormat
from entropie.errors import InvalidInput, option

# What spreadsheets and databases write for "nothing"; NaN among times is named as such.
NULL_TIMES = ("", "\\N", "NULL", "null", "None", "NaT")
NULLS = (*NULL_TIMES, "NaN", "nan")
COORDINATE_FAULTS = (
    "missing coordinates",
    "coordinates in degrees and minutes",
    "unreadable coordinates",
    "latitude beyond 90 degrees",
    "coordinates out of range",
    "coordinates 0, 0",
)
"""What may speak against two coordinates, in the order in which it counts."""
FAULT = "fault"
"""The column that brings the judge of rows what was found wrong with coordinates: the number of a fault, 0 for none."""
SKIPPED = "time skipped by the clocks"
_DIRTY = (
    *("missing user", *COORDINATE_FAULTS[:-1], "missing item", "missing time", "NaN time", "unreadable time", SKIPPED),
    *("line break in an id", NOT_UTF8, "unreadable rating"),
)
_EXCLUDED = (COORDINATE_FAULTS[-1], "rating below the minimum", "no item recorded")
REASONS = (*_DIRTY, *_EXCLUDED)
"""Why a row is not used; a row with several faults has the first of them. Its number counts from 1, 0 is none."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides whether a row counts: the time's format, the least rating, ids that mean nothing.

    `columns` are their names by role, for messages.
    """

    time: TimeFormat | None
    min_rating: float | None = None
    missing_items: tuple[str, ...] = ()
    max_dirty_share: float = 0.01
    columns: Mapping[Role, str] = field(default_factory=dict)

    def expected(self, reason: str) -> str:
        """Which column a reason speaks of, and what it should hold."""
        roles, expected = _expected(self)[reason]
        named = " or ".join(f"`{self.columns[role]}`" for role in roles if role in self.columns)
        return (f", column {named}" if named else "") + f", expected {expected}"


def _expected(rules: Rules) -> dict[str, tuple[tuple[Role, ...], str]]:
    """The roles that each reason speaks of, and what their columns should hold."""
    time = "a time" if rules.time is None else rules.time.describe()
    return {
        "missing user": (("user",), "an id"),
        "missing item": (("item",), "an id"),
        **dict.fromkeys(COORDINATE_FAULTS, (("item",), "decimal degrees, such as 48.8566 and 2.3522")),
        "latitude beyond 90 degrees": (("item",), f"-90 to 90 (are {option('lat')} and {option('lon')} swapped?)"),
        "coordinates out of range": (("item",), "a latitude of -90 to 90 and a longitude of -180 to 180"),
        "coordinates 0, 0": (("item",), "a place; 0, 0 is in the sea and stands for none"),
        **dict.fromkeys(("missing time", "NaN time", "unreadable time"), (("time",), time)),
        SKIPPED: (("time",), "a time that there was where clocks were set forward"),
        "line break in an id": (("user", "item"), "an id in one line"),
        NOT_UTF8: (("user", "item"), "UTF-8"),
        "unreadable rating": (("rating",), "a number"),
        "rating below the minimum": (("rating",), f"at least {rules.min_rating or 0.0:g}"),
        "no item recorded": (("item",), "an id"),
    }


def reason_of(code: int) -> str:
    """Name the reason that has this number."""
    return REASONS[code - 1]


def tally(reasons: NDArray[np.uint8], counts: Counter[int], rejects: Rejects) -> None:
    """Count the rows of the next batch by the code of the reason against them, and note where the first of each is."""
    before = counts.total()
    found = np.bincount(reasons)
    for code in np.flatnonzero(found).tolist():
        if code and code not in counts:
            place = rejects.place(before + int(np.argmax(reasons == code)))
            if place is not None:
                rejects.first.setdefault(reason_of(code), place)
        counts[code] += int(found[code])


def settle(counts: Mapping[int, int], rules: Rules, rejects: Rejects) -> int:
    """Enter how many stored rows have each reason, refuse too many or too few rows; return how many were read."""
    rows = sum(counts.values()) + rejects.dirty.total() + rejects.excluded.total()
    for code, count in sorted(counts.items()):
        if code:
            rejects.expected[reason_of(code)] = rules.expected(reason_of(code))
        if 0 < code <= len(_DIRTY):
            rejects.dirty[reason_of(code)] += count
        elif code:
            rejects.excluded[reason_of(code)] += count
    rejects.check_complete(counts.get(0, 0))
    rejects.check_share(rows, rules.max_dirty_share)
    if rows == rejects.dirty.total() + rejects.excluded.total():
        raise InvalidInput(
            f"No event is left of the {rows:,} rows of {rejects.name} ({rejects.summary()})."
            if rows
            else f"{rejects.name} holds no rows, only a header; events need at least one."
        )
    return rows
