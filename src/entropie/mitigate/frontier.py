"""The risk-utility frontier: the best setting of each mechanism over several guaranteed error rates."""

from __future__ import annotations

from collections.abc import Sequence

from entropie.measures.identification import identification_error
from entropie.measures.intervals import Interval
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mitigate.obfuscation import (
    GUESSES,
    Senders,
    Utility,
    Wanted,
    best_hashing,
    best_response,
    measure_utility,
    sampled_credit,
)
from entropie.mitigate.protection import FrontierPoint, ProtectionRow
from entropie.request import Run

__all__ = ["frontier"]

_ATTACKED = 2000  # people attacked at every point; their number sets the interval, everybody is a candidate


def frontier(senders: Senders, wanted: Wanted, rows: Sequence[ProtectionRow], run: Run) -> tuple[FrontierPoint, ...]:
    """What each mechanism costs at several guaranteed error rates, those out of reach excluded.

    The points at the wanted error itself are the `rows` with noise.
    """
    room = 1.0 - 1.5 / senders.users  # beyond it hardly any truth is told
    reachable = sorted({wanted.error} | {error for error in wanted.also if 0.0 < error < room})
    points: list[FrontierPoint] = []
    for place, error in enumerate(reachable):
        run.progress("protecting: frontier", place / len(reachable))
        if error == wanted.error:
            points += [_of_row(row, error) for row in rows if row.noisy]
            continue
        response = best_response(senders, error, wanted.max_epsilon)
        limit = response.epsilon if wanted.max_epsilon is None else wanted.max_epsilon
        points += [
            _simulated(each, senders, error, wanted, run) for each in (response, best_hashing(senders, error, limit))
        ]
    return tuple(points)


def _of_row(row: ProtectionRow, error: float) -> FrontierPoint:
    assert isinstance(row.mechanism, RandomizedResponse | LocalHashing)
    assert row.guarantee is not None
    bounds = (row.guarantee.bayes_error, row.guarantee.list_error)
    return _point(row.mechanism, error, bounds, row.attack.identification_error, row.utility)


def _simulated(
    mechanism: RandomizedResponse | LocalHashing, senders: Senders, error: float, wanted: Wanted, run: Run
) -> FrontierPoint:
    utility, reports = measure_utility(mechanism, senders, seed=run.seed, repetitions=wanted.repetitions)
    credit = sampled_credit(mechanism, senders, reports, people=_ATTACKED, seed=run.seed, threads=run.threads)
    guesses = min(GUESSES, senders.users)
    guarantee = mechanism.guarantee(users=senders.users, reports=senders.reports_per_user, list_size=guesses)
    bounds = (guarantee.bayes_error, guarantee.list_error)
    return _point(mechanism, error, bounds, identification_error(credit), utility)


def _point(
    mechanism: RandomizedResponse | LocalHashing,
    error: float,
    bounds: tuple[float, float],
    attack_error: Interval,
    utility: Utility,
) -> FrontierPoint:
    top = utility.top_20
    return FrontierPoint(
        mechanism="glh" if isinstance(mechanism, LocalHashing) else "rr",
        wanted_error=error,
        bayes_error=bounds[0],
        list_error=bounds[1],
        attack_error=attack_error,
        relative_error_top_20=Interval(top.value, top.low, top.high),
        epsilon=mechanism.epsilon,
        hash_size=mechanism.hash_size if isinstance(mechanism, LocalHashing) else None,
        useful=utility.useful,
        recommended=False,
    )
