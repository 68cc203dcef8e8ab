"""The most likely distribution behind reports, by EM: it uses what counts of supports leave out.

A report of local hashing of which the items S have the share P(S) is made with probability m = (1-theta)/g + theta
P(S), up to a factor that is the same for all distributions; of other mechanisms with m = sum p(x) q(x), from a table of
every report that came and its probabilities q. A step of EM is p(x) D(x) with D(x) = (1/n) sum over reports of q(x)/m,
where q(x) is the probability of the report if x is the item. The logarithm of the likelihood is concave, so that no
distribution exceeds the one in hand by more than n (max D - 1): that certifies the end. Steps are extrapolated two at a
time (Varadhan & Roland 2008) and taken where they help. Memory: a few numbers per item, and one batch of reports or the
table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidInput, interruptible
from entropie.estimation.counting import words
from entropie.estimation.parallel import in_parallel

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
Batches = Callable[[], Iterable[tuple[Words, Words, Words]]]
"""Gives all reports (a, b, y), batch by batch, as often as it is asked."""

ENOUGH = 0.01
"""A logarithm of the likelihood that is at most so much below the largest is the largest for all purposes."""
MOST_STEPS = 300
MOST_INFORMED = 400
"""Beyond so many items with a share no standard errors are worked out: their matrix has the square of it."""
LEAST = 1e-9
"""A share below this is taken for 0 where standard errors are worked out."""


@dataclass(frozen=True, slots=True)
class Hashes:
    """What local hashing draws from: the prime, the hash values, the items, and theta."""

    prime: int
    hash_size: int
    domain_size: int
    theta: float

    @property
    def noise(self) -> float:
        """(1-theta)/g."""
        return (1.0 - self.theta) / self.hash_size

    @property
    def numbers(self) -> tuple[np.uint64, np.uint64, np.uint64]:
        """As the kernels take them."""
        inverse = pow(self.hash_size, -1, self.prime) if self.hash_size < self.prime else 1
        return np.uint64(self.prime), np.uint64(self.hash_size), np.uint64(inverse)


@dataclass(frozen=True, slots=True)
class LikelyShares:
    """The most likely distribution: not unbiased, but what the reports say together.

    shares            at least 0, sum 1
    standard_errors   by inverse information among items with a share; NaN for items at 0, and for all where the
                      items with a share are more than `MOST_INFORMED`
    gap               the logarithm of the likelihood is at most so much below the largest
    steps             passes over the reports
    """

    shares: Floats
    standard_errors: Floats
    gap: float
    steps: int


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Every different report: how often it came, and a row of its probabilities for all items."""

    counts: Floats
    likelihoods: Floats

    def step(self, shares: Floats) -> tuple[float, Floats, float]:
        """The logarithm of the likelihood, the next shares by EM, and how much is left to gain at most."""
        made = self.likelihoods @ shares
        gain = (self.counts / made) @ self.likelihoods / self.counts.sum()
        return float(self.counts @ np.log(made)), shares * gain, float(self.counts.sum() * (gain.max() - 1.0))

    def information(self, shares: Floats, used: NDArray[np.int64]) -> Floats:
        """The sum over reports of q(x) q(z) / m^2."""
        rows = self.likelihoods[:, used] * (np.sqrt(self.counts) / (self.likelihoods @ shares))[:, None]
        return np.asarray(rows.T @ rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Hashed:
    """Reports of local hashing, given batch by batch."""

    hashes: Hashes
    batches: Batches

    def step(self, shares: Floats) -> tuple[float, Floats, float]:
        return _step(self.hashes, self.batches, shares)

    def information(self, shares: Floats, used: NDArray[np.int64]) -> Floats:
        return _information(self.hashes, self.batches, shares, used)


@interruptible
def most_likely_shares(hashes: Hashes, batches: Batches, start: Floats, informed: bool = True) -> LikelyShares:
    """Of local hashing, from a first guess, such as the nearest distribution to the unbiased estimates."""
    return _searched(_Hashed(hashes, batches), start, informed)


@interruptible
def most_likely_of_table(table: Table, start: Floats, informed: bool = True) -> LikelyShares:
    """The same of any mechanism."""
    return _searched(table, start, informed)


def _searched(model: _Hashed | Table, start: Floats, informed: bool) -> LikelyShares:
    """EM; with errors if `informed`."""
    shares = np.maximum(start, 0.01 / len(start))  # what is at 0 would stay there
    shares /= shares.sum()
    steps, (_, step, gap) = 1, model.step(shares)
    while gap > ENOUGH and steps < MOST_STEPS:
        second, third, gap_second = model.step(step)
        far = _extrapolated(shares, step, third)
        level, next_step, gap = model.step(far)
        steps += 2
        if level >= second:
            shares, step = far, next_step
        else:
            shares, step, gap = step, third, gap_second
    errors = _standard_errors(model, shares) if informed else np.full(len(shares), np.nan)
    return LikelyShares(shares, errors, max(0.0, gap), steps)


def _step(hashes: Hashes, batches: Batches, shares: Floats) -> tuple[float, Floats, float]:
    """The logarithm of the likelihood, the next shares by EM, and how much is left to gain at most."""
    from entropie.kernels.likelihood import weigh_supports

    totals, inverse, logs, reports = np.zeros(hashes.domain_size), 0.0, 0.0, 0
    for a, b, y in (map(words, batch) for batch in batches()):

        def share(part: slice, a: Words = a, b: Words = b, y: Words = y) -> tuple[Floats, float, float]:
            own = np.zeros(hashes.domain_size)
            sums = weigh_supports(a[part], b[part], y[part], *hashes.numbers, shares, hashes.theta, hashes.noise, own)
            return own, *sums

        for own, inverse_sum, log_sum in in_parallel(share, len(a), 1 << 14):
            totals += own
            inverse += inverse_sum
            logs += log_sum
        reports += len(a)
    if reports == 0:
        raise InvalidInput("There are no reports to estimate from; at least one is needed.")
    gain = (hashes.noise * inverse + hashes.theta * totals) / reports
    return logs, shares * gain, reports * (float(gain.max()) - 1.0)


def _extrapolated(first: Floats, second: Floats, third: Floats) -> Floats:
    """Two steps carried on as they bend, kept inside the simplex."""
    change = second - first
    bend = third - second - change
    size = float(np.linalg.norm(bend))
    if size == 0.0:
        return third
    length = max(1.0, float(np.linalg.norm(change)) / size)
    far = np.maximum(first + 2.0 * length * change + length * length * bend, 0.01 * third)
    return np.asarray(far / far.sum())


def _standard_errors(model: _Hashed | Table, shares: Floats) -> Floats:
    """By the inverse of the observed information among the items with a share, whose sum is known."""
    errors, used = np.full(len(shares), np.nan), np.flatnonzero(shares > LEAST)
    if len(used) > MOST_INFORMED:
        return errors
    inverse = np.linalg.pinv(model.information(shares, used), hermitian=True)
    sums = inverse.sum(axis=1)
    if sums.sum() > 0.0:
        inverse -= np.outer(sums, sums) / sums.sum()
    errors[used] = np.sqrt(np.maximum(np.diag(inverse), 0.0))
    return errors


def _information(hashes: Hashes, batches: Batches, shares: Floats, used: NDArray[np.int64]) -> Floats:
    """The sum over reports of q(x) q(z) / m^2."""
    from entropie.kernels.likelihood import pair_supports

    places = np.full(hashes.domain_size, -1, np.int64)
    places[used] = np.arange(len(used))
    singles, pairs, total = np.zeros(len(used)), np.zeros((len(used), len(used))), 0.0
    theta, noise = hashes.theta, hashes.noise
    for a, b, y in (map(words, batch) for batch in batches()):
        total += pair_supports(a, b, y, *hashes.numbers, shares, theta, noise, places, singles, pairs)
    return np.asarray(noise * noise * total + noise * theta * (singles[:, None] + singles) + theta * theta * pairs)
