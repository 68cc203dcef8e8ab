"""The risk-utility frontier: the best setting of each mechanism over several promised errors, drawn and attacked."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from entropie.data.split import Split
from entropie.measures.identification import identification_error
from entropie.measures.intervals import Interval
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mitigate.obfuscation import (
    GUESSES,
    REPETITIONS,
    Senders,
    best_hashing,
    best_response,
    measure_utility,
    preferred,
    sampled_credit,
    wanted_error_value,
)

__all__ = ["WANTED_ERRORS", "FrontierPoint", "frontier"]

WANTED_ERRORS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
_ATTACKED = 2000  # people attacked at every point; their number sets the interval, everybody is a candidate
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """The best setting of one mechanism at one promised error, and what it costs.

    list_error   promised error of an attacker with several guesses, which the choice looks at
    """

    mechanism: Literal["rr", "glh"]
    wanted_error: float
    bayes_error: float
    list_error: float
    attack_error: Interval
    relative_error_top_20: Interval
    epsilon: float
    hash_size: int | None
    recommended: bool

    def to_json(self) -> dict[str, Any]:
        """The documented object of one point."""
        cost = self.relative_error_top_20
        return {
            "mechanism": self.mechanism,
            "wanted_error": self.wanted_error,
            "bayes_error": self.bayes_error,
            "attack_error": self.attack_error.to_json(),
            "relative_error_top_20": cost.value,
            "relative_error_top_20_low": cost.low,
            "relative_error_top_20_high": cost.high,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "hash_size": self.hash_size,
            "recommended": self.recommended,
        }


def frontier(
    split: Split,
    wanted_error: float,
    *,
    errors: Sequence[float] = WANTED_ERRORS,
    seed: int = 0,
    threads: int | None = None,
    reports_per_user: int = 1,
    max_epsilon: float | None = None,
    repetitions: int = REPETITIONS,
    progress: Progress | None = None,
) -> tuple[FrontierPoint, ...]:
    """What each mechanism costs at several promised errors, those out of reach left out.

    `recommended` is the mechanism that `preferred` picks at the wanted error, whether or not noise is needed for it.
    """
    tell = progress or (lambda stage, share: None)
    senders, wanted_error = Senders.of(split, reports_per_user), wanted_error_value(wanted_error)
    best_response(senders, wanted_error, max_epsilon)  # says so where the wanted error itself is out of reach
    room = 1.0 - 1.5 / senders.users  # beyond it hardly any truth is told
    reachable = sorted({wanted_error} | {float(error) for error in errors if 0.0 < error < room})
    points = []
    for place, error in enumerate(reachable):
        tell("protecting: frontier", place / len(reachable))
        response = best_response(senders, error, max_epsilon)
        hashing = best_hashing(senders, error, response.epsilon if max_epsilon is None else max_epsilon)
        points += [_point(mechanism, senders, error, seed, repetitions, threads) for mechanism in (response, hashing)]
    at_goal = [point for point in points if point.wanted_error == wanted_error]
    best = at_goal[preferred([(1.0 - point.list_error, point.relative_error_top_20.value) for point in at_goal])]
    return tuple(dataclasses.replace(point, recommended=point is best) for point in points)


def _point(
    mechanism: RandomizedResponse | LocalHashing,
    senders: Senders,
    error: float,
    seed: int,
    repetitions: int,
    threads: int | None,
) -> FrontierPoint:
    utility, reports = measure_utility(mechanism, senders, seed=seed, repetitions=repetitions)
    credit = sampled_credit(mechanism, senders, reports, people=_ATTACKED, seed=seed, threads=threads)
    guesses = min(GUESSES, senders.users)
    promise = mechanism.guarantee(users=senders.users, reports=senders.reports_per_user, list_size=guesses)
    top = utility.top_20
    return FrontierPoint(
        mechanism="glh" if isinstance(mechanism, LocalHashing) else "rr",
        wanted_error=error,
        bayes_error=promise.bayes_error,
        list_error=promise.list_error,
        attack_error=identification_error(credit),
        relative_error_top_20=Interval(top.value, top.low, top.high),
        epsilon=mechanism.epsilon,
        hash_size=mechanism.hash_size if isinstance(mechanism, LocalHashing) else None,
        recommended=False,
    )
