"""What the next collection would take: people, items, limits in; mechanism, loss and frontier out, by the package."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from entropie.errors import InvalidParameter, Unreachable
from entropie.mechanisms.calibrate import Calibration, design
from entropie.mechanisms.goal import Goal
from entropie.theory import checks
from entropie.theory.crowd import Crowd

PEOPLE = tuple(m * 10**p for p in range(1, 9) for m in (1, 2, 5))
ITEMS = (2, 3, 5, *(m * 10**p for p in range(1, 7) for m in (1, 2, 5)))
ERRORS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.92, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)
CERTAINTIES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
REPORTS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30)
"""Where the sliders stop."""
_FIELDS = {"bayes_error": "the wanted error rate", "certainty": "the certainty allowed"}
MECHANISMS = {"rr": "randomized response", "glh": "local hashing"}
"""What a collection can ask devices to run."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants of a collection."""

    people: int = 100_000
    items: int = 1_000
    error: float = 0.9
    certainty: float = 0.5
    reports: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Wish:
        """From the fields of a form; those that are not there are as at first."""
        whole = {name: _number(query, name, getattr(cls(), name)) for name in ("people", "items", "reports")}
        share = {name: _number(query, name, getattr(cls(), name)) for name in ("error", "certainty")}
        return cls(
            people=checks.whole_number("people", _as_whole(whole["people"]), 2, 10**12),
            items=checks.whole_number("items", _as_whole(whole["items"]), 2, 10**12),
            reports=checks.whole_number("reports", _as_whole(whole["reports"]), 1, max(REPORTS)),
            error=checks.real_number("error", share["error"], "a share from 0 to 1", 0.0, 1.0),
            certainty=checks.real_number("certainty", share["certainty"], "a share from 0 to 1", 0.0, 1.0),
        )


@dataclass(frozen=True, slots=True)
class Designed:
    """The setting that was found, or the sentence that says why there is none; `document` is the whole calibration."""

    wish: Wish
    found: Calibration | None
    reason: str | None
    document: dict[str, Any] | None


@functools.lru_cache(maxsize=256)
def designed(wish: Wish) -> Designed:
    """Ask the package."""
    try:
        goal = Goal(Crowd(wish.people, wish.reports), wish.items, wish.error, wish.certainty)
        found = design(goal, tuple(MECHANISMS))
        return Designed(wish, found, None, found.to_json())
    except (Unreachable, InvalidParameter) as problem:
        return Designed(wish, None, problem.on_command_line(lambda name: _FIELDS.get(name, name)), None)


def _number(query: Mapping[str, str], name: str, default: float) -> float:
    text = query.get(name, "")
    if not text:
        return default
    try:
        return float(text)
    except ValueError:
        raise InvalidParameter.of(name, "a number", text[:40]) from None


def _as_whole(number: float) -> int | float:
    return int(number) if number == number // 1 else number
