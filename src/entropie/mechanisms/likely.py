"""The most likely distribution behind reports, beside the unbiased estimates, and whether it is the better one to use.

The rule: reports are cut in two halves. From each half both distributions are worked out, the most likely one and the
nearest one to the unbiased estimates, and compared with the unbiased estimates of the other half. Of both q the smaller
sum of q^2 - 2 q p is the closer one to the truth on average, because the p of the other half are unbiased and know
nothing of q.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidInput
from entropie.estimation.estimates import Estimates
from entropie.estimation.likelihood import Hashes, Table, most_likely_of_table, most_likely_shares
from entropie.estimation.unequal import UnequalEstimates
from entropie.mechanisms.local_hashing import HashedReports, LocalHashing
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.parameters import counts_for

Floats = NDArray[np.float64]
MOST_VISITS = 2e11
"""Items visited in all passes at most: above an hour on one core. Beyond it nothing is begun."""
MOST_CELLS = 1 << 25
"""Different reports times items: a table of so many probabilities has 256 MB."""
_PASSES = 900.0  # at most, of all three searches


@dataclass(frozen=True, slots=True)
class Likely:
    """The most likely distribution of items.

    shares            at least 0, sum 1
    standard_errors   by inverse information; NaN for items at 0, and for all where too many items have a share
    closer            whether it is closer to the truth than the distribution nearest to the unbiased estimates
    gap               the logarithm of its likelihood is at most so much below the largest
    """

    shares: Floats
    standard_errors: Floats
    closer: bool
    gap: float


def most_likely(mechanism: Mechanism, estimates: Estimates, batches: Callable[[], Iterable[Any]]) -> Likely:
    """From the estimates of all items, and the reports: given batch by batch, as often as they are asked for."""
    if mechanism.reports_are == "items" or isinstance(estimates, UnequalEstimates):
        return _of_response(estimates)
    if not isinstance(mechanism, LocalHashing):
        return _of_table(mechanism, estimates, batches)
    visits = _PASSES * estimates.reports * max(1.0, mechanism.prime / mechanism.hash_size)
    if visits > MOST_VISITS:
        raise InvalidInput(
            f"The most likely distribution would take {visits:.2g} visits of items, more than {MOST_VISITS:.2g}; "
            "use the other estimates, or more hash values."
        )
    hashes = Hashes(mechanism.prime, mechanism.hash_size, mechanism.domain_size, mechanism.theta)
    found = most_likely_shares(hashes, batches, estimates.consistent)
    return Likely(found.shares, found.standard_errors, _is_closer(mechanism, hashes, batches), found.gap)


def _of_response(estimates: Estimates) -> Likely:
    """In closed form: every report names one item. Of those with a share, the counts are a sample of their sum."""
    noise = estimates.noise if isinstance(estimates, UnequalEstimates) else estimates.rates.nu
    shares, errors = estimates.consistent, np.full(len(estimates.counts), np.nan)
    used = shares > 0.0
    named = estimates.counts[used].astype(np.float64)
    parts = named / named.sum()
    lost = np.broadcast_to(noise / estimates.rates.gain, shares.shape)[used].sum()
    errors[used] = (1.0 + lost) * np.sqrt(parts * (1.0 - parts) / named.sum())
    return Likely(shares, errors, True, 0.0)


def _of_table(mechanism: Mechanism, estimates: Estimates, batches: Callable[[], Iterable[Any]]) -> Likely:
    """From the probabilities of every different report."""
    seen: Counter[tuple[int, ...]] = Counter()
    halves: tuple[Counter[tuple[int, ...]], ...] = (Counter(), Counter())
    for batch in batches():
        rows = list(map(tuple, mechanism.rows_of(batch).tolist()))
        for fold, half in enumerate(halves):
            half.update(rows[fold::2])
        seen.update(rows)
        if len(seen) * mechanism.domain_size > MOST_CELLS:
            raise InvalidInput(
                f"The most likely distribution would take {len(seen)} different reports or more of "
                f"{mechanism.domain_size} items, above {MOST_CELLS} probabilities; use the other estimates."
            )
    columns = tuple(np.array(column, np.uint64) for column in zip(*seen, strict=True))
    law = mechanism.likelihoods(mechanism.reports_of(columns))
    found = most_likely_of_table(Table(np.array(list(seen.values()), np.float64), law), estimates.consistent)
    place = {row: at for at, row in enumerate(seen)}
    both = []
    for half in halves:
        own = np.array([place[row] for row in half], np.int64)
        counts, rows_of = np.array(list(half.values()), np.float64), tuple(column[own] for column in columns)
        repeated = tuple(np.repeat(column, counts.astype(np.int64)) for column in rows_of)
        if not len(counts):
            return Likely(found.shares, found.standard_errors, False, found.gap)
        both.append((Table(counts, law[own]), mechanism.estimate(mechanism.reports_of(repeated))))
    difference = []
    for (table, own_estimates), (_, other) in (both, both[::-1]):
        nearest, unbiased = own_estimates.consistent, other.probabilities
        likely = most_likely_of_table(table, nearest, informed=False).shares
        difference.append(_excess(likely, nearest, unbiased))
    return Likely(found.shares, found.standard_errors, math.fsum(difference) < 0.0, found.gap)


def _excess(likely: Floats, nearest: Floats, unbiased: Floats) -> float:
    """By how much the first is farther from the truth than the second, but for chance."""
    return float(likely @ likely - nearest @ nearest - 2.0 * (likely - nearest) @ unbiased)


def _is_closer(mechanism: LocalHashing, hashes: Hashes, batches: Callable[[], Iterable[HashedReports]]) -> bool:
    def half(fold: int) -> Callable[[], Iterable[HashedReports]]:
        return lambda: (HashedReports(*(column[fold::2] for column in batch)) for batch in batches())

    counted = [counts_for(mechanism, None, None) for _ in range(2)]
    for fold, counts in enumerate(counted):
        for batch in half(fold)():
            if len(batch.a):
                mechanism.count(batch, into=counts)
    if not all(counts.reports for counts in counted):
        return False
    seen = [mechanism.estimates_of(counts) for counts in counted]
    difference = []
    for fold, other in ((0, 1), (1, 0)):
        nearest, unbiased = seen[fold].consistent, seen[other].probabilities
        likely = most_likely_shares(hashes, half(fold), nearest, informed=False).shares
        difference.append(_excess(likely, nearest, unbiased))
    return math.fsum(difference) < 0.0
