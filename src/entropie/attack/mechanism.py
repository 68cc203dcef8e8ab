"""The adversary who knows the mechanism: likelihoods of obfuscated reports, as sparse scores (THEORY 7)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import FeatureRows, Matching, check_same_people, item_rows
from entropie.attack.index import Index, Targets, exponent_for
from entropie.attack.scoring import (
    CANDIDATES,
    AttackOutcome,
    Partial,
    Progress,
    core_count,
    outcome_of,
    run_blocks,
    score_block,
)
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.kernels.attack_hash import hash_postings, item_postings

__all__ = ["HashedTargets", "attack_hashed", "randomized_response", "report_weights"]

_FLOOR = 1e-8
_BLOCK_POSTINGS = 2**22
_BLOCK_WORK = 2**26


def randomized_response(train: Traces, reports: Traces, *, theta: float) -> Matching:
    """Match reports of randomized response: sum of ln(theta pi_i(y) + (1-theta)/k), relative to no evidence."""
    check_same_people(train, reports)
    return Matching(report_weights(train, theta), item_rows(reports))


def report_weights(train: Traces, theta: float) -> FeatureRows:
    """Weigh every user's items by ln(1 + theta k pi_i(x)/(1-theta)); without lies (theta = 1) by ln pi_i(x) - ln d."""
    _check_theta(theta)
    counts = item_rows(train)
    shares = counts.weights / np.repeat(counts.totals(), np.diff(counts.offsets))
    if theta == 1:
        return counts.with_weights(np.log(shares) - math.log(_FLOOR))
    return counts.with_weights(np.log1p(theta * train.domain_size / (1 - theta) * shares))


@dataclass(frozen=True, slots=True, eq=False)
class HashedTargets:
    """Reports (a, b, y) of local hashing, target by target: row j of the offsets is user j's.

    h(x) = ((a x + b) mod prime) mod hash_size; a report tells the hash of the true item with probability theta, else a
    uniform value.
    """

    offsets: NDArray[np.int64]
    a: NDArray[np.uint64]
    b: NDArray[np.uint64]
    y: NDArray[np.uint64]
    domain_size: int
    hash_size: int
    prime: int
    theta: float

    def __post_init__(self) -> None:
        _check_theta(self.theta)
        if self.offsets.size == 0 or self.offsets[0] != 0 or self.offsets[-1] != self.a.size:
            raise InvalidInput(f"Reports: `offsets` must run from 0 to the number of reports, {self.a.size}.")
        if not self.a.size == self.b.size == self.y.size:
            raise InvalidInput(
                f"Reports must have as many a as b and y, got {self.a.size}, {self.b.size}, {self.y.size}."
            )
        if self.hash_size < 2:
            raise InvalidParameter.of("hash_size", "at least 2", self.hash_size)
        if not max(self.domain_size, self.hash_size) <= self.prime < 2**62:
            raise InvalidParameter.of("prime", "at least domain and hash size, below 2^62", self.prime)
        if self.a.size and not (
            int(self.a.min()) >= 1
            and int(self.a.max()) < self.prime
            and int(self.b.max()) < self.prime
            and int(self.y.max()) < self.hash_size
        ):
            raise InvalidInput("Reports must keep 1 <= a < prime, b < prime and y < hash_size.")


def attack_hashed(
    train: Traces,
    reports: HashedTargets,
    *,
    candidates: int = CANDIDATES,
    threads: int | None = None,
    max_values: int | None = None,
    progress: Progress | None = None,
) -> AttackOutcome:
    """Score all users for hashed reports by ln(theta sum over preimages of pi_i + (1-theta)/g).

    The score is relative to no evidence. Every report is a feature of its own; its posting is gathered from the items
    that hash to y: enumerated, about k/g of them, or found among the items in use where these are fewer.
    """
    if train.users != reports.offsets.size - 1:
        raise InvalidInput(
            f"Every user needs one target, got {train.users} users and {reports.offsets.size - 1} targets."
        )
    if train.domain_size != reports.domain_size:
        raise InvalidInput(
            f"Training and reports must share one domain, got {train.domain_size} and {reports.domain_size} items."
        )
    if candidates < 1:
        raise InvalidParameter.of("candidates", "at least 1", candidates)
    book = _Book.of(train, reports)
    jobs = (_job(book, reports, begin, end, candidates, max_values) for begin, end in book.blocks(reports))
    partial = run_blocks(jobs, train.users, core_count(threads), progress)
    return outcome_of(book.index, partial)


@dataclass(frozen=True, slots=True, eq=False)
class _Book:
    """What all blocks share: who has which item how often, and the unit of the sums."""

    index: Index
    item_starts: NDArray[np.int64]
    item_users: NDArray[np.uint32]
    item_times: NDArray[np.uint32]
    totals: NDArray[np.float64]
    known: NDArray[np.uint64]
    odds: float

    @classmethod
    def of(cls, train: Traces, reports: HashedTargets) -> _Book:
        counts = item_rows(train)
        postings = item_postings(counts.offsets, counts.features, counts.weights, train.domain_size)
        known = np.flatnonzero(np.diff(postings[0])).astype(np.uint64)
        if known.size >= train.domain_size / reports.hash_size:
            known = known[:0]  # enumerating preimages is cheaper
        theta = reports.theta
        odds = math.inf if theta == 1 else theta * reports.hash_size / (1 - theta)
        weight = -math.log(_FLOOR) if theta == 1 else math.log1p(odds)
        longest = int(np.diff(reports.offsets).max())
        index = Index(
            np.zeros(1, np.int64),
            np.empty(0, np.uint32),
            np.empty(0, np.int64),
            train.users,
            np.empty(0),
            exponent_for(longest * weight),
            np.zeros(1, np.int64),
        )
        return cls(index, *postings, counts.totals(), known, odds)

    def blocks(self, reports: HashedTargets) -> Iterator[tuple[int, int]]:
        """Cut targets into runs whose postings and whose work stay small."""
        per_report = 1 + self.item_users.size / reports.hash_size
        tries = 1 + (self.known.size or reports.domain_size / reports.hash_size)
        step = max(1, int(min(_BLOCK_POSTINGS / per_report, _BLOCK_WORK / tries)))
        targets = reports.offsets.size - 1
        begin = 0
        while begin < targets:
            end = int(np.searchsorted(reports.offsets, reports.offsets[begin] + step, side="right")) - 1
            end = min(max(begin + 1, end), targets)
            yield begin, end
            begin = end


def _job(
    book: _Book, reports: HashedTargets, begin: int, end: int, candidates: int, max_values: int | None
) -> Callable[[int], Partial]:
    """Prepare a block: gather the postings of its reports, then score them as any others."""

    def run(level: int) -> Partial:
        low, high = reports.offsets[begin], reports.offsets[end]
        prime, hash_size = reports.prime, reports.hash_size
        inverse = pow(hash_size, -1, prime) if hash_size < prime else 1
        room = book.known.size or reports.domain_size
        starts, users, fixed = hash_postings(
            reports.a[low:high],
            reports.b[low:high],
            reports.y[low:high],
            np.uint64(prime),
            np.uint64(hash_size),
            np.uint64(inverse),
            book.known,
            np.empty(room, np.uint64),
            book.item_starts,
            book.item_users,
            book.item_times,
            book.totals,
            book.odds,
            _FLOOR,
            book.index.scale,
        )
        index = replace(book.index, starts=starts, users=users, fixed=fixed)
        ids = np.arange(begin, end, dtype=np.int64)
        features = np.arange(high - low, dtype=np.uint32)
        offsets = reports.offsets[begin : end + 1] - low
        targets = Targets(ids, offsets, features, np.ones(high - low), np.zeros_like(ids), np.empty(0))
        return score_block(index, targets, candidates=candidates, max_values=max_values, level=level)

    return run


def _check_theta(theta: float) -> None:
    if not 0 < theta <= 1:
        raise InvalidParameter.of("theta", "above 0 and at most 1", theta)
