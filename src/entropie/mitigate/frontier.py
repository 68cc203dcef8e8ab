"""The risk-utility frontier: the best setting of each mechanism over several guaranteed error rates."""

from __future__ import annotations

from collections.abc import Sequence

from entropie.document.measured import ShareInterval
from entropie.document.protection import FrontierPoint, Mechanism, ProtectionGuarantee, ProtectionRow, Utility
from entropie.measures.identification import identification_error
from entropie.mitigate.obfuscation import (
    Noisy,
    Senders,
    Wanted,
    best_hashing,
    best_response,
    measure_utility,
    sampled_credit,
)
from entropie.mitigate.protection import guarantee_part, mechanism_part
from entropie.request import Run

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
            points += [_of_row(row, error) for row in rows if row.mechanism is not None]
            continue
        response = best_response(senders, error, wanted.max_epsilon, wanted.leak)
        limit = response.epsilon if wanted.max_epsilon is None else wanted.max_epsilon
        points += [
            _simulated(each, senders, error, wanted, run)
            for each in (response, best_hashing(senders, error, limit, wanted.leak))
        ]
    return tuple(points)


def _of_row(row: ProtectionRow, error: float) -> FrontierPoint:
    assert row.guarantee is not None
    assert row.mechanism is not None
    return _point(row.mechanism, error, row.guarantee, row.attack.identification_error, row.utility)


def _simulated(mechanism: Noisy, senders: Senders, error: float, wanted: Wanted, run: Run) -> FrontierPoint:
    utility, reports = measure_utility(mechanism, senders, seed=run.seed, repetitions=wanted.repetitions)
    credit = sampled_credit(mechanism, senders, reports, people=_ATTACKED, seed=run.seed, threads=run.threads)
    attacked = identification_error(credit)
    return _point(mechanism_part(mechanism), error, guarantee_part(mechanism, senders), attacked, utility)


def _point(
    mechanism: Mechanism, error: float, given: ProtectionGuarantee, attack_error: ShareInterval, utility: Utility
) -> FrontierPoint:
    top = utility.top_20
    return FrontierPoint(
        mechanism=mechanism.kind,
        wanted_error=error,
        bayes_error=given.bayes_error,
        list_error=given.list_error,
        attack_error=attack_error,
        relative_error_top_20=top.relative_error,
        relative_error_top_20_low=top.low,
        relative_error_top_20_high=top.high,
        epsilon=mechanism.epsilon,
        hash_size=mechanism.hash_size,
        useful=utility.useful,
        recommended=False,
    )
