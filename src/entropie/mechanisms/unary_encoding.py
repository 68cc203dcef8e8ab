"""Unary encoding: one bit per item, 1 for the true one, each bit turned at random.

The true bit is sent as 1 with probability p, every other with q. Optimised (OUE, Wang et al. 2017) p is one half, which
is best for rare items. Symmetric, p = 1 - q, it is RAPPOR's one-time response without its Bloom filter (Erlingsson et
al. 2014), whose f is 2q: a device that keeps its first answer and sends that again has sent one report, not several.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidInput, InvalidParameter
from entropie.estimation.counts import Counters
from entropie.mechanisms import parameters, probability
from entropie.mechanisms.mechanism import LEAST_LOG, listed
from entropie.mechanisms.randomness import Source
from entropie.mechanisms.truth import ShapedMechanism
from entropie.mechanisms.values import checked_values
from entropie.theory import checks
from entropie.theory.loss import CountingRates
from entropie.theory.special import LARGE_EPSILON, LN2, binomial_expectation, psi

BITS = 48
"""Bits in a column of reports: every reader of JSON keeps so many."""
LARGEST_DOMAIN = 1 << 16


@dataclass(frozen=True, slots=True, init=False)
class UnaryEncoding(ShapedMechanism):
    """Unary encoding of items 0 .. domain_size-1; item x is bit x mod 48 of column x div 48.

    >>> UnaryEncoding(domain_size=10, epsilon=1.0).true_numerator == 2**63
    True
    >>> 0 <= UnaryEncoding(domain_size=10, epsilon=1.0, symmetric=1).obfuscate(3) < 1024
    True
    """

    kind: ClassVar[str] = "unary"
    title: ClassVar[str] = "unary encoding"
    own_options: ClassVar[Mapping[str, bool]] = {"symmetric": False}
    domain_size: int
    true_numerator: int
    false_numerator: int
    """The true bit is 1 with probability true_numerator / 2^64, every other with false_numerator / 2^64."""

    def __init__(self, *, domain_size: int, epsilon: float, symmetric: int = 0) -> None:
        budget = checks.epsilon_value(epsilon)
        with decimal.localcontext(probability.CONTEXT):
            lift = Decimal(min(budget, LARGE_EPSILON) / (2 if symmetric else 1)).exp()
            q = Fraction(1 / (1 + lift))
        self._set(domain_size, q, bool(symmetric))

    @classmethod
    def from_theta(cls, *, domain_size: int, theta: float | Fraction, symmetric: int = 0) -> UnaryEncoding:
        """Unary encoding of which at most the share theta depends on the item; optimised, that is one half at most."""
        wanted = Fraction(probability.numerator_of_theta(theta), probability.ONE)
        if not symmetric and 2 * wanted > 1:
            raise InvalidParameter.of("theta", "at most 0.5 for unary encoding, unless it is symmetric", theta)
        mechanism = cls.__new__(cls)
        q = (1 - wanted) / (2 - wanted) if symmetric else (Fraction(1, 2) - wanted) / (1 - wanted)
        mechanism._set(domain_size, q, bool(symmetric))
        return mechanism

    def _set(self, domain_size: int, q: Fraction, symmetric: bool) -> None:
        """Bits with q rounded up, so that no more is told than was asked for."""
        false = math.ceil(q * probability.ONE)
        self._keep(domain_size, probability.ONE - false if symmetric else probability.ONE // 2, false)

    def _keep(self, domain_size: int, true: int, false: int) -> None:
        size = checks.whole_number("domain_size", domain_size, at_least=2, at_most=LARGEST_DOMAIN)
        object.__setattr__(self, "domain_size", size)
        object.__setattr__(self, "true_numerator", true)
        object.__setattr__(self, "false_numerator", false)

    @property
    def _p(self) -> Fraction:
        return Fraction(self.true_numerator, probability.ONE)

    @property
    def _q(self) -> Fraction:
        return Fraction(self.false_numerator, probability.ONE)

    @property
    def _ratios(self) -> tuple[Fraction, Fraction]:
        """How much likelier a bit of 1, and one of 0, is for the true item than for another: p/q, (1-p)/(1-q)."""
        return self._p / self._q if self._q else Fraction(probability.ONE), (1 - self._p) / (1 - self._q)

    @property
    def theta(self) -> float:
        """The Doeblin constant: 1 - b - (a-b) q^k, for a and b the ratios of a bit of 1 and of 0."""
        return float(self.truth)

    @property
    def truth(self) -> Fraction:
        """The same with 60 digits."""
        a, b = self._ratios
        with decimal.localcontext(probability.CONTEXT):
            all_ones = Fraction((Decimal(self.false_numerator) / probability.ONE) ** self.domain_size)
        return max(Fraction(0), 1 - b - (a - b) * all_ones)

    @property
    def epsilon(self) -> float:
        """ln a/b: the true item's bit is 1 and another's is 0."""
        a, b = self._ratios
        return probability.log_of(a / b) if b and self._q else math.inf

    @property
    def rates(self) -> CountingRates:
        """P and q."""
        p, q = self._p, self._q
        return CountingRates(mu=float(p), nu=float(q), gain=float(p - q), mu_off=float(1 - p))

    def success_alone(self, users: int) -> Fraction:
        """(a - (a-b) (1-q)^m)/n: the bit of one of m items is 1, or of none."""
        a, b = self._ratios
        with decimal.localcontext(probability.CONTEXT):
            off = Decimal(probability.ONE - self.false_numerator) / probability.ONE
            none = Fraction(off ** min(users, self.domain_size))
        return min(Fraction(1), (a - (a - b) * none) / users)

    def bits_alone(self, users: int) -> float:
        """q psi(a-1) + (1-q) psi(b-1) - E psi(b-1 + (a-b) J/m), J ~ Bin(m, q) ones among the m items in use; exact.

        All choices of m different items tell the same, and equal shares are best for them.
        """
        m, q = min(users, self.domain_size), float(self._q)
        a, b = (float(ratio - 1) for ratio in self._ratios)
        if m == 1 or math.isinf(self.epsilon):
            return 0.0 if m == 1 else math.log2(m)
        mixed = binomial_expectation(lambda ones: psi(b + (a - b) * ones / m), m, q)
        return min(math.log2(m), max(0.0, (q * psi(a) + (1.0 - q) * psi(b) - mixed) / LN2))

    def draw(self, values: NDArray[np.uint64], source: Source) -> Any:
        """Every bit on its own."""
        rows, columns = len(values), [np.zeros(len(values), np.uint64) for _ in self.report_columns]
        for item in range(self.domain_size):
            words, true = source.words(rows), values == item
            one = np.where(
                true, probability.happens(self.true_numerator, words), probability.happens(self.false_numerator, words)
            )
            columns[item // BITS] |= one.astype(np.uint64) << np.uint64(item % BITS)
        return self.reports_of(tuple(columns))

    @property
    def report_columns(self) -> dict[str, int]:
        """48 bits in each column."""
        starts = range(0, self.domain_size, BITS)
        return {f"bits_{at // BITS}": 1 << min(BITS, self.domain_size - at) for at in starts}

    def supports(
        self, reports: Any, items: NDArray[np.uint64] | None, threads: int | None = None
    ) -> tuple[Counters, int]:
        """How many reports have each item's bit."""
        columns = self._checked(reports)
        wanted = range(self.domain_size) if items is None else items.tolist()
        counts = [np.count_nonzero(columns[item // BITS] >> np.uint64(item % BITS) & np.uint64(1)) for item in wanted]
        return np.array(counts, np.int64), len(columns[0])

    def _checked(self, reports: Any) -> tuple[NDArray[np.uint64], ...]:
        bounds = list(self.report_columns.values())
        given = (reports,) if len(bounds) == 1 else reports
        if len(given) != len(bounds) or len({len(column) for column in given}) != 1:
            raise InvalidInput(f"Reports of this unary encoding must be {len(bounds)} columns of one length.")
        return tuple(checked_values(column, bound) for column, bound in zip(given, bounds, strict=True))

    def possible_reports(self) -> Any:
        """Every row of bits."""
        if self.domain_size > BITS:
            raise InvalidInput(f"There are 2^{self.domain_size} different reports; they are not listed.")
        return listed(1 << self.domain_size)

    def likelihoods(self, reports: Any) -> NDArray[np.float64]:
        """The chance of the bits if all were of other items, times a or b for the item's own."""
        columns, q = self._checked(reports), float(self._q)
        bits = np.column_stack(
            [columns[x // BITS] >> np.uint64(x % BITS) & np.uint64(1) for x in range(self.domain_size)]
        )
        if q == 0.0:
            base = np.where(bits.sum(axis=1, keepdims=True) - bits == 0, 1.0, 0.0)
            return np.asarray(base * np.where(bits == 1, float(self._p), float(1 - self._p)))
        a, b = (float(ratio) for ratio in self._ratios)
        ones = bits.sum(axis=1).astype(np.float64)
        logs = ones * math.log(q) + (self.domain_size - ones) * math.log1p(-q)
        base = np.exp(np.maximum(logs, LEAST_LOG))
        return np.asarray(base[:, None] * np.where(bits == 1, a, b))

    def to_parameters(self) -> dict[str, Any]:
        """The fields of the parameter document."""
        named = {name: str(getattr(self, name)) for name in ("domain_size", "true_numerator", "false_numerator")}
        return {"kind": self.kind, **named}

    @classmethod
    def from_parameters(cls, fields: dict[str, Any]) -> UnaryEncoding:
        """The mechanism that a parameter document describes."""
        size, true, false = parameters.integers(fields, "domain_size", "true_numerator", "false_numerator")
        if not 0 < false <= true < probability.ONE:
            raise InvalidInput("Fields must keep 0 < `false_numerator` <= `true_numerator` < 2^64.")
        mechanism = cls.__new__(cls)
        mechanism._keep(size, true, false)
        return mechanism
