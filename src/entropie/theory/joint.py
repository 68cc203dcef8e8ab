"""Exact information in a discrete joint law of users and items, with and without a mechanism, in O(non-zeros).

The joint p(u, x) comes dense or as CSR arrays (one row per user). All sums run over D(q_u || q) =
sum_y q(y) psi(q_u(y)/q(y) - 1), whose terms are never negative, so that 1e-12 bits are 1e-12 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.errors import InvalidParameter
from entropie.theory import checks
from entropie.theory.channel import checked_matrix
from entropie.theory.special import LN2

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Joint:
    """p(u, x) as sparse rows over the items that somebody has.

    `weights[offsets[u]:offsets[u+1]]` belong to the items `codes[held[...]]` of user u; all weights sum to 1.
    Items nobody has take no room, however large the domain.
    """

    offsets: NDArray[np.int64]
    held: NDArray[np.int64]
    weights: Floats
    codes: NDArray[np.int64]
    domain_size: int

    @classmethod
    def dense(cls, table: ArrayLike) -> Joint:
        """From a users x items table of non-negative weights (counts or probabilities)."""
        weights = np.asarray(table, dtype=np.float64)
        if weights.ndim != 2:
            raise InvalidParameter("Parameter `table` must have one row per user and one column per item.")
        rows, items = np.nonzero(weights)
        offsets = np.searchsorted(rows, np.arange(len(weights) + 1))
        return cls.sparse(offsets, items, weights[rows, items], weights.shape[1])

    @classmethod
    def sparse(cls, offsets: ArrayLike, items: ArrayLike, weights: ArrayLike, domain_size: int) -> Joint:
        """From CSR arrays of non-negative weights, in any order within a row; repeated items add up."""
        domain_size = checks.whole_number("domain_size", domain_size)
        bounds = np.asarray(offsets, dtype=np.int64)
        columns, values = np.asarray(items, dtype=np.int64), np.asarray(weights, dtype=np.float64)
        if len(columns) != len(values) or bounds[0] != 0 or bounds[-1] != len(values) or (np.diff(bounds) < 0).any():
            raise InvalidParameter("Parameter `offsets` must cut `items` and `weights` into rows from first to last.")
        if not np.isfinite(values).all() or (values < 0.0).any() or values.sum() <= 0.0:
            raise InvalidParameter("Parameter `weights` must be non-negative numbers, not all zero.")
        if columns.min() < 0 or columns.max() >= domain_size:
            raise InvalidParameter("Parameter `items` must be codes from 0 to domain_size - 1.")
        together = cls._grouped(bounds, columns, values, domain_size)
        return replace(together, weights=together.weights / together.weights.sum())

    @classmethod
    def _grouped(cls, bounds: NDArray[np.int64], columns: NDArray[np.int64], values: Floats, domain_size: int) -> Joint:
        """Rows with each item once; weights stay as they are."""
        codes, held = np.unique(columns, return_inverse=True)
        rows = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        cells, place = np.unique(rows * len(codes) + held, return_inverse=True)
        summed = np.bincount(place, weights=values, minlength=len(cells)).astype(np.float64)
        bounds = np.searchsorted(cells // len(codes), np.arange(len(bounds))).astype(np.int64)
        return cls(bounds, cells % len(codes), summed, codes, domain_size)

    def hashed(self, a: int, b: int, prime: int, hash_size: int) -> Joint:
        """The joint law of users and hash values under one function, ((a x + b) mod prime) mod hash_size."""
        from entropie.kernels.modular import hash_values

        codes = self.codes.astype(np.uint64)
        function = (np.full(len(codes), a, np.uint64), np.full(len(codes), b, np.uint64))
        values = np.asarray(hash_values(*function, codes, np.uint64(prime), np.uint64(hash_size))).astype(np.int64)
        return self._grouped(self.offsets, values[self.held], self.weights, hash_size)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The user of every entry."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @property
    def user_law(self) -> Floats:
        """p(u)."""
        return np.bincount(self.rows, weights=self.weights, minlength=len(self.offsets) - 1).astype(np.float64)

    @property
    def item_law(self) -> Floats:
        """p(x) of the items that somebody has, in the order of `codes`."""
        return np.bincount(self.held, weights=self.weights, minlength=len(self.codes)).astype(np.float64)


def pie_bits(joint: Joint, theta: float = 1.0) -> float:
    """I(U;Y) when Y is X with probability theta and uniform over the domain otherwise; theta = 1 gives I(U;X)."""
    theta = checks.theta_value(theta)
    by_user, by_item = joint.user_law, joint.item_law
    output = theta * by_item + (1.0 - theta) / joint.domain_size
    # a user without the item: q_u/q - 1 = -theta p(y)/q(y)
    absent = output * _psi(-theta * _ratio(by_item, output))
    # a user with it
    own_output = output[joint.held]
    own = theta * (_ratio(joint.weights, by_user[joint.rows]) - by_item[joint.held])
    present = own_output * _psi(_ratio(own, own_output))
    nats = float(absent @ _without(joint, by_user)) + float(by_user[joint.rows] @ present)
    return max(0.0, nats / LN2)


def _without(joint: Joint, by_user: Floats) -> Floats:
    """For every held item the probability of a user who does not have it; exactly 0 where all do."""
    having = np.bincount(joint.held, weights=by_user[joint.rows], minlength=len(joint.codes))
    holders = np.bincount(joint.held, minlength=len(joint.codes))
    return np.where(holders == np.count_nonzero(by_user), 0.0, np.maximum(1.0 - having, 0.0))


def pie_bits_through(joint: Joint, matrix: ArrayLike) -> float:
    """I(U;Y) through any mechanism given as a matrix Q[x, y]; costs non-zeros times outputs."""
    Q = checked_matrix(matrix)
    if len(Q) != joint.domain_size:
        raise InvalidParameter.of("matrix", f"a table with {joint.domain_size} rows", Q.shape)
    Q = Q[joint.codes]
    output = joint.item_law @ Q
    used = output > 0.0
    nats = 0.0
    for user, probability in enumerate(joint.user_law):
        if probability > 0.0:
            row = slice(joint.offsets[user], joint.offsets[user + 1])
            law = (joint.weights[row] / probability) @ Q[joint.held[row]]
            nats += probability * float(output[used] @ _psi(law[used] / output[used] - 1.0))
    return max(0.0, nats / LN2)


@dataclass(frozen=True, slots=True)
class SampledBits:
    """Means over random hash functions, one for each theta, with their standard errors."""

    bits: Floats
    standard_error_bits: Floats


def pie_bits_local_hashing(
    joint: Joint, thetas: Sequence[float], prime: int, hash_size: int, rng: np.random.Generator, functions: int
) -> SampledBits:
    """I(U;Y) for local hashing: the mean over the hash family, estimated from some of its functions.

    Given the function h, the report is randomized response on h(X); each drawn function gives that value exactly.
    """
    functions = checks.whole_number("functions", functions, at_least=2)
    hash_size = checks.whole_number("hash_size", hash_size, at_least=2)
    prime = checks.whole_number("prime", prime, max(hash_size, joint.domain_size), (1 << 62) - 1)
    values = np.empty((functions, len(thetas)))
    for row in values:
        hashed = joint.hashed(int(rng.integers(1, prime)), int(rng.integers(0, prime)), prime, hash_size)
        row[:] = [pie_bits(hashed, theta) for theta in thetas]
    return SampledBits(values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(functions))


def _ratio(over: Floats, under: Floats) -> Floats:
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0.0)


def _psi(a: Floats) -> Floats:
    """(1+a) ln(1+a) - a, elementwise; the series of `special.psi` where the closed form loses digits."""
    a = np.maximum(a, -1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        closed = np.where(a > -1.0, (1.0 + a) * np.log1p(a) - a, 1.0)
    series, power = np.zeros_like(a), a * a
    for j in range(2, 13):
        series += power / (j * (j - 1))
        power = power * -a
    return np.where(np.abs(a) < 0.03, series, closed)
