"""Randomized response with any noise: the truth with probability theta, else an item from a given public distribution.

With noise that resembles the data, reports look like data and frequent items are estimated better; the price is paid by
rare items. Whoever has an item that noise seldom names can deny it least: epsilon and the certainty depend on the
smallest noise alone, the error rate on none of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, islice
from typing import Any, ClassVar, Self

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.errors import InvalidInput, InvalidParameter
from entropie.estimation.counts import Counts
from entropie.estimation.estimates import Estimates
from entropie.mechanisms import parameters, probability
from entropie.mechanisms.mechanism import ItemMechanism, supported_by_code
from entropie.mechanisms.randomness import Source
from entropie.mechanisms.truth import ShapedMechanism, TruthMechanism
from entropie.mechanisms.values import checked_values
from entropie.theory import checks, everybody
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import Guarantee
from entropie.theory.loss import CountingRates
from entropie.theory.unequal_noise import capacity_bits

LARGEST_DOMAIN = 1 << 16
"""The parameter document holds a number for every item."""
_RULE = "one probability per item, with sum 1"


@dataclass(frozen=True, slots=True, init=False)
class NoiseResponse(TruthMechanism, ShapedMechanism, ItemMechanism):
    """Randomized response over items 0 .. domain_size-1, with noise from a given distribution.

    >>> mechanism = NoiseResponse(noise=[0.5, 0.3, 0.2], epsilon=1.0)
    >>> round(mechanism.theta, 4)
    0.2558
    >>> 0 <= mechanism.obfuscate(2) < 3
    True
    """

    kind: ClassVar[str] = "noise"
    title: ClassVar[str] = "randomized response with given noise"
    own_options: ClassVar[Mapping[str, bool]] = {"noise": True}
    reports_are = "other"
    domain_size: int
    theta_numerator: int
    """The truth is told with probability theta_numerator / 2^64."""
    noise_numerators: tuple[int, ...]
    """Noise names item y with probability noise_numerators[y] / 2^64."""

    def __init__(self, *, noise: Sequence[float] | ArrayLike, epsilon: float, domain_size: int | None = None) -> None:
        self._settle(_numerators(noise, domain_size), 0)
        budget = checks.epsilon_value(epsilon)
        if not self._least and budget < math.inf:
            raise InvalidParameter.of("noise", "above 0 for every item where epsilon has a limit", 0.0)
        numerator = probability.numerator_of_epsilon(budget, self._answers) if self._least else probability.ONE
        object.__setattr__(self, "theta_numerator", numerator)

    @classmethod
    def from_theta(  # type: ignore[override]
        cls, *, noise: Sequence[float] | ArrayLike, theta: float | Fraction, domain_size: int | None = None
    ) -> Self:
        """The mechanism that tells the truth with this probability (rounded down to a multiple of 2^-64)."""
        mechanism = cls.__new__(cls)
        mechanism._settle(_numerators(noise, domain_size), probability.numerator_of_theta(theta))
        return mechanism

    def _settle(self, noise: tuple[int, ...], theta_numerator: int) -> None:
        size = checks.whole_number("domain_size", len(noise), at_least=2, at_most=LARGEST_DOMAIN)
        object.__setattr__(self, "domain_size", size)
        object.__setattr__(self, "theta_numerator", theta_numerator)
        object.__setattr__(self, "noise_numerators", noise)

    def with_theta(self, theta: float | Fraction) -> Self:
        """The same with another probability of telling the truth."""
        made = type(self).__new__(type(self))
        made._settle(self.noise_numerators, probability.numerator_of_theta(theta))
        return made

    @property
    def noise(self) -> NDArray[np.float64]:
        """The distribution of noise."""
        return np.array([numerator / probability.ONE for numerator in self.noise_numerators])

    @property
    def _least(self) -> int:
        return min(self.noise_numerators)

    @property
    def _answers(self) -> Fraction:
        """1 over the smallest noise: about the rarest item it is as if there were so many items."""
        return Fraction(probability.ONE, self._least)

    @property
    def _named(self) -> NDArray[np.float64]:
        """How often a report names each item, if it is not the true one."""
        return np.asarray(float(1 - self.truth) * self.noise)

    @property
    def epsilon(self) -> float:
        """The local differential privacy that is kept: ln(1 + theta/((1-theta) smallest noise))."""
        return self._budget(self._least)

    def _budget(self, noise: int) -> float:
        if not self.theta_numerator:
            return 0.0
        answers = Fraction(probability.ONE, noise) if noise else None
        return math.inf if answers is None else probability.epsilon_of_numerator(self.theta_numerator, answers)

    @property
    def rates(self) -> CountingRates:
        """Averages over the items; estimates use every item's own."""
        nu = float(1 - self.truth) / self.domain_size
        return CountingRates(mu=self.theta + nu, nu=nu, gain=self.theta, mu_off=float(1 - self.truth) - nu)

    def success_alone(self, users: int) -> Fraction:
        """(theta m + 1 - theta)/n for m = min(n, k) different items, whatever the noise."""
        return (self.truth * min(users, self.domain_size) + 1 - self.truth) / users

    def bits_alone(self, users: int) -> float:
        """Exact: the m items that noise names least, in the shares that tell most."""
        return capacity_bits(self.theta, np.sort(self._named)[: min(users, self.domain_size)])

    def guarantee_for(self, crowd: Crowd) -> Guarantee:
        """As any other's, but for the certainty with all reports: an exchange involves two items, not one twice."""
        found = ShapedMechanism.guarantee_for(self, crowd)
        first, second = sorted(self.noise_numerators)[:2]
        certainty = everybody.posterior_max(crowd, (self._budget(first) + self._budget(second)) / 2.0)
        store = msgspec.structs.replace(found.all_reports, posterior_max=certainty)
        return msgspec.structs.replace(found, all_reports=store)

    def draw(self, values: NDArray[np.uint64], source: Source) -> NDArray[np.uint64]:
        """The truth with probability theta, else by the noise; both are always drawn."""
        used = np.array([item for item, numerator in enumerate(self.noise_numerators) if numerator], np.uint64)
        bounds = np.array(list(accumulate(filter(None, self.noise_numerators)))[:-1], np.uint64)
        noise = used[np.searchsorted(bounds, source.words(len(values)), side="right")]
        return np.where(probability.happens(self.theta_numerator, source.words(len(values))), values, noise)

    def estimates_of(self, counts: Counts) -> Estimates:
        """Unbiased estimates, each item's noise taken off by itself."""
        from entropie.estimation.unequal import unequal_estimates

        return unequal_estimates(counts, self.theta, self._named)

    def variance(self, shares: ArrayLike, reports: int) -> NDArray[np.float64]:
        """[p mu (1-mu) + (1-p) nu (1-nu)] / (n theta^2), nu that of the item and mu = theta + nu."""
        p, nu = np.asarray(shares, np.float64), self._named
        spread = p * (self.theta + nu) * (float(1 - self.truth) - nu) + (1.0 - p) * nu * (1.0 - nu)
        return np.asarray(spread / self.theta / self.theta / reports)

    def likelihoods(self, reports: Any) -> NDArray[np.float64]:
        """Theta for the item itself, and for each the noise that names the report."""
        codes = checked_values(reports, self.domain_size)
        noise = self._named[codes.astype(np.int64)][:, None]
        return np.asarray(self.theta * supported_by_code(codes, self.domain_size) + noise, np.float64)

    def to_parameters(self) -> dict[str, Any]:
        """The fields of the parameter document."""
        return {
            "kind": self.kind,
            "domain_size": str(self.domain_size),
            "noise_numerators": [str(numerator) for numerator in self.noise_numerators],
            "theta_numerator": str(self.theta_numerator),
        }

    @classmethod
    def from_parameters(cls, fields: dict[str, Any]) -> Self:
        """The mechanism that a parameter document describes."""
        size, noise, theta = parameters.only(fields, "domain_size", "noise_numerators", "theta_numerator")
        if not isinstance(noise, list) or str(len(noise)) != size:
            raise InvalidInput("Field `noise_numerators` must be a list of `domain_size` numbers.")
        numerators = tuple(parameters.integer("noise_numerators", one) for one in noise)
        if sum(numerators) != probability.ONE:
            raise InvalidInput("Field `noise_numerators` must sum to 2^64.")
        (truth,) = parameters.integers_and_theta({"theta_numerator": theta})
        mechanism = cls.__new__(cls)
        mechanism._settle(numerators, truth)
        return mechanism


def _numerators(noise: Sequence[float] | ArrayLike, domain_size: int | None) -> tuple[int, ...]:
    """Shares in units of 2^-64, rounded down, what is left given to the smallest: those get no less than asked for."""
    try:
        given = np.asarray(noise, np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter.of("noise", _RULE, noise) from None
    if given.ndim != 1 or not np.isfinite(given).all() or (given < 0.0).any() or abs(given.sum() - 1.0) > 1e-6:
        told = f"{given.size} numbers with sum {given.sum():.6g}" if given.ndim == 1 else f"a table {given.shape}"
        raise InvalidParameter.of("noise", _RULE, told)
    if domain_size is not None and given.size != domain_size:
        raise InvalidParameter.of("noise", f"one probability for each of {domain_size} items", f"{given.size} numbers")
    checks.whole_number("domain_size", given.size, at_least=2, at_most=LARGEST_DOMAIN)
    shares = [Fraction(one) for one in given.tolist()]
    total = sum(shares)
    numerators = [math.floor(share / total * probability.ONE) for share in shares]
    rising = (int(item) for item in np.argsort(given, kind="stable") if given[item] > 0.0)
    for item in islice(rising, probability.ONE - sum(numerators)):
        numerators[item] += 1
    return tuple(numerators)
