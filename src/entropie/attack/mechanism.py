"""The adversary who knows the mechanism: likelihoods of obfuscated reports, as sparse scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import FeatureRows, Matching, check_same_people, item_rows, side_by_side
from entropie.attack.index import Index, Targets, Units, exponent_for
from entropie.attack.partial import Partial
from entropie.attack.scoring import (
    CANDIDATES,
    AttackOutcome,
    attack,
    core_count,
    law_size,
    outcome_of,
    run_blocks,
    score_block,
)
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.kernels.attack_hash import (
    Gain,
    HashFamily,
    HashReports,
    ItemPostings,
    hash_pairs,
    hash_postings,
    hits_of_reports,
)
from entropie.kernels.attack_index import posted_scores
from entropie.kernels.features import feature_postings

_FLOOR = 1e-8
_BLOCK_POSTINGS = 2**22
_BLOCK_WORK = 2**26
_FEW_HITS = 16


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

    h(x) = ((a x + b) mod prime) mod hash_size, a family that its mechanism has checked; a report tells the hash of the
    true item with probability theta, else a uniform value.
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
) -> AttackOutcome:
    """Score all users for hashed reports by ln(theta sum over preimages of pi_i + (1-theta)/g).

    The score is relative to no evidence. Where few items in use hash to one value, reports become items and the users
    who have several of them are corrected. Otherwise every report is a feature of its own, whose
    posting is gathered block by block.
    """
    _check_same_people(train, reports)
    if candidates < 1:
        raise InvalidParameter.of("candidates", "at least 1", candidates)
    book = _Book.of(train, reports)
    if book.items_in_use <= _FEW_HITS * reports.hash_size:
        matching = _itemised(book, reports)
        return attack(matching, candidates=candidates, threads=threads, max_values=max_values)
    index = book.index(reports)
    kept, values = min(candidates, train.users), law_size(train.users, max_values)
    jobs = (_job(book, index, reports, *block, kept, values) for block in book.blocks(reports))
    return outcome_of(index.units, index.atoms, run_blocks(jobs, train.users, core_count(threads)))


@dataclass(frozen=True, slots=True, eq=False)
class _Book:
    """Who has which item how often, and how much a share of matching events says."""

    counts: FeatureRows
    items: ItemPostings
    items_in_use: int
    family: HashFamily
    gain: Gain

    @classmethod
    def of(cls, train: Traces, reports: HashedTargets) -> _Book:
        counts = item_rows(train)
        starts, users, places = feature_postings(
            counts.offsets, counts.features, train.domain_size, np.arange(train.users)
        )
        postings = ItemPostings(starts, users, counts.weights[places].astype(np.uint32))
        used = np.flatnonzero(np.diff(postings.starts)).astype(np.uint64)
        # hashing the items in use may be cheaper than enumerating preimages
        known = used if used.size < train.domain_size / reports.hash_size else used[:0]
        odds = math.inf if reports.theta == 1 else reports.theta * reports.hash_size / (1 - reports.theta)
        prime, hash_size = reports.prime, reports.hash_size
        inverse = pow(hash_size, -1, prime) if hash_size < prime else 1
        family = HashFamily(np.uint64(prime), np.uint64(hash_size), np.uint64(inverse), known, reports.domain_size)
        return cls(counts, postings, used.size, family, Gain(counts.totals(), odds, _FLOOR))

    def index(self, reports: HashedTargets) -> Index:
        """Begin an index without postings: the unit of the sums, from the longest target."""
        odds = self.gain.odds
        gain = math.log1p(odds) if math.isfinite(odds) else -math.log(_FLOOR)
        longest = int(np.diff(reports.offsets).max())
        nothing = np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0, np.int64)
        units = Units(exponent_for(longest * gain))
        people = np.arange(self.gain.totals.size, dtype=np.uint32)
        return Index(*nothing, people, np.empty(0), units, np.zeros(1, np.int64))

    def blocks(self, reports: HashedTargets) -> Iterator[tuple[int, int]]:
        """Cut targets into runs whose postings and whose work stay small."""
        per_report = 1 + self.items.users.size / reports.hash_size
        tries = 1 + (self.family.known.size or reports.domain_size / reports.hash_size)
        step = max(1, int(min(_BLOCK_POSTINGS / per_report, _BLOCK_WORK / tries)))
        targets = reports.offsets.size - 1
        begin = 0
        while begin < targets:
            end = int(np.searchsorted(reports.offsets, reports.offsets[begin] + step, side="right")) - 1
            end = min(max(begin + 1, end), targets)
            yield begin, end
            begin = end


def _itemised(book: _Book, reports: HashedTargets) -> Matching:
    """Match hashed reports by the items that hash to them.

    A user with one item x among the preimages gains ln(1 + theta g pi_i(x)/(1-theta)), the weight of feature x. For
    users with several, a feature of the report itself makes up the difference to the gain of their sum.
    """
    starts, items = hits_of_reports(HashReports(reports.a, reports.b, reports.y), book.family, book.items.starts)
    changed, users, corrections = hash_pairs(starts, items, book.items, book.gain)
    totals, odds, floor = book.gain
    shares = book.counts.weights / np.repeat(totals, np.diff(book.counts.offsets))
    gains = np.log1p(odds * shares) if math.isfinite(odds) else np.log(shares) - math.log(floor)
    order = np.argsort(users, kind="stable")
    of_report = np.repeat(np.arange(starts.size - 1, dtype=np.uint32), np.diff(changed))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(users, minlength=totals.size))))
    makeup = FeatureRows(offsets, of_report[order], corrections[order], starts.size - 1)
    corrected = np.flatnonzero(np.diff(changed)).astype(np.uint32)
    corrected_before = np.searchsorted(corrected, reports.offsets)
    asked = Traces(starts[reports.offsets], items, reports.domain_size)
    return Matching(
        side_by_side([book.counts.with_weights(gains), makeup]),
        side_by_side(
            [item_rows(asked), FeatureRows(corrected_before, corrected, np.ones(corrected.size), starts.size - 1)]
        ),
    )


def _job(
    book: _Book,
    index: Index,
    reports: HashedTargets,
    begin: int,
    end: int,
    candidates: int,
    max_values: int,
) -> Callable[[int], Partial]:
    """Prepare a block: gather the postings of its reports, then score them as any others."""

    def run(level: int) -> Partial:
        low, high = reports.offsets[begin], reports.offsets[end]
        sent = HashReports(reports.a[low:high], reports.b[low:high], reports.y[low:high])
        postings = hash_postings(sent, book.family, book.items, book.gain, index.units.scale)
        ids = np.arange(begin, end, dtype=np.int64)
        offsets = reports.offsets[begin : end + 1] - low
        rows = offsets, np.arange(high - low, dtype=np.uint32), np.ones(high - low)
        genuine = posted_scores(*postings, *rows, ids)
        targets = Targets(ids, *rows, np.zeros_like(ids), np.empty(0), ids, genuine)
        starts, users, fixed = postings
        block = replace(index, starts=starts, users=users, fixed=fixed)
        return score_block(block, targets, candidates=candidates, max_values=max_values, level=level)

    return run


def _check_same_people(train: Traces, reports: HashedTargets) -> None:
    if train.users != reports.offsets.size - 1:
        raise InvalidInput(
            f"Every user needs one target, got {train.users} users and {reports.offsets.size - 1} targets."
        )
    if train.domain_size != reports.domain_size:
        raise InvalidInput(
            f"Training and reports must share one domain, got {train.domain_size} and {reports.domain_size} items."
        )


def _check_theta(theta: float) -> None:
    if not 0 < theta <= 1:
        raise InvalidParameter.of("theta", "above 0 and at most 1", theta)
