"""Estimates where noise falls on some items more often than on others: every item has a rate of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidInput
from entropie.estimation.counts import Counts
from entropie.estimation.estimates import Estimates, estimate
from entropie.theory import checks
from entropie.theory.loss import CountingRates
from entropie.theory.special import binomial_upper_tail

Floats = NDArray[np.float64]
_SUPPORTS = CountingRates(mu=1.0, nu=0.0, gain=1.0, mu_off=0.0)
"""Rates under which the estimate is the share of reports itself."""


@dataclass(frozen=True, slots=True)
class UnequalEstimates(Estimates):
    """The same as `Estimates`, with `noise[i]` the rate at which a report names item i if it is not the true one.

    `rates` has the largest of them as nu: what is said of all items at once is said of the noisiest.
    """

    noise: Floats = field(kw_only=True)

    @property
    def probabilities(self) -> Floats:
        """Unbiased estimates (count/n - noise)/gain."""
        return np.asarray((self.counts / self.reports - self.noise) / self.rates.gain)

    @property
    def consistent(self) -> Floats:
        """The most likely distribution: share = count/level - noise/gain where that is above 0."""
        if self.items is not None:
            raise InvalidInput("A distribution needs estimates of all items; leave out `items`.")
        named, noise = self.counts.astype(np.float64), self.noise / self.rates.gain
        ends = np.divide(named, noise, out=np.where(named > 0.0, np.inf, 0.0), where=noise > 0.0)
        order = np.argsort(-ends, kind="stable")  # the level at which an item loses its share, from the largest down
        level = np.cumsum(named[order]) / (1.0 + np.cumsum(noise[order]))
        used = int(np.flatnonzero(ends[order] > level)[-1])
        return np.asarray(np.maximum(named / level[used] - noise, 0.0))

    @property
    def standard_errors(self) -> Floats:
        """What the mechanism's noise adds, for the people who reported."""
        p, own = np.clip(self.probabilities, 0.0, 1.0), self.rates.gain + self.noise
        spread = p * own * (1.0 - own) + (1.0 - p) * self.noise * (1.0 - self.noise)
        return np.asarray(np.sqrt(np.maximum(spread, 0.0) / self.reports) / self.rates.gain)

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """The interval of the share of reports that name an item, carried over to the share of people."""
        named = Estimates(self.counts, self.reports, _SUPPORTS, self.domain_size, self.items)
        low, high = ((end - self.noise) / self.rates.gain for end in Estimates.intervals(named, level))
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def stands_out(self, level: float = 0.05) -> NDArray[np.bool_]:
        """Which items are there for sure: a count as large has probability level/k at most if nobody has the item."""
        allowed = checks.real_number("level", level, "a share between 0 and 1", 1e-300, 1.0 - 1e-12) / self.domain_size
        found = np.zeros(len(self.counts), np.bool_)
        for place in np.flatnonzero(self.counts > self.reports * self.noise):
            tail = binomial_upper_tail(int(self.counts[place]), self.reports, float(self.noise[place]))
            found[place] = tail <= allowed
        return found

    def top(self, size: int) -> NDArray[np.int64]:
        """Positions of the `size` largest estimates, largest first, ties by position."""
        size = checks.whole_number("size", size, at_least=0)
        return np.argsort(-self.probabilities, kind="stable")[:size]


def unequal_estimates(counts: Counts, theta: float, noise: Floats) -> UnequalEstimates:
    """Estimates from counts of reports that name the true item with theta, else one by `noise`: rates of all items."""
    most = float(noise.max())
    rates = CountingRates(mu=theta + most, nu=most, gain=theta, mu_off=max(0.0, 1.0 - theta - most))
    made = estimate(counts, rates)
    own = noise if counts.items is None else noise[counts.items.astype(np.int64)]
    return UnequalEstimates(made.counts, made.reports, rates, made.domain_size, made.items, noise=own)
