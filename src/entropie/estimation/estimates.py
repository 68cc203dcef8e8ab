"""From counts to a distribution: unbiased estimates with standard errors, intervals and a significance threshold."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.errors import InvalidInput, InvalidParameter, interruptible
from entropie.estimation.consistent import most_likely, on_simplex
from entropie.estimation.counts import Counters, Counts
from entropie.estimation.parallel import in_parallel
from entropie.notebook import html_table
from entropie.theory import checks
from entropie.theory.loss import CountingRates, detectable_share, significance_threshold, significant_count
from entropie.theory.special import exact_interval

Floats = NDArray[np.float64]
FEW = 20
"""Reports for or against an item, below which its interval at 95 % is exact; at higher levels more, as z^2."""

_USUAL_Z = NormalDist().inv_cdf(0.975)
_MANY = 1 << 20
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Estimates:
    """The estimated share of each item among the people who reported.

    counts        reports that support the item
    reports       reports in all
    rates         how often a report supports its true item (mu) and any other (nu)
    domain_size   items that exist, estimated or not
    items         codes of the items estimated, or None for the whole domain
    """

    counts: Counters
    reports: int
    rates: CountingRates
    domain_size: int
    items: NDArray[np.uint64] | None = None

    @property
    def probabilities(self) -> Floats:
        """Unbiased estimates (count/n - nu)/(mu - nu). They may be negative and need not sum to 1."""
        return _scaled(self.counts, 1.0 / (self.reports * self.rates.gain), self.rates.nu / self.rates.gain)

    @property
    def consistent(self) -> Floats:
        """A distribution, all shares at least 0 and their sum 1: not unbiased, but usually closer over all items.

        The most likely one where every report names one item, else the nearest to the unbiased estimates. It takes
        estimates of the whole domain.
        """
        if self.items is not None:
            raise InvalidInput("A distribution needs estimates of all items; leave out `items`.")
        if int(self.counts.sum()) == self.reports:
            return most_likely(self.counts, self.rates.nu / self.rates.gain)
        return on_simplex(self.probabilities)

    @property
    def standard_errors(self) -> Floats:
        """What the mechanism's noise adds, for the people who reported; the intervals also allow for who they are."""
        p = np.clip(self.probabilities, 0.0, 1.0)
        mu, nu = self.rates.mu * self.rates.mu_off, self.rates.nu * (1.0 - self.rates.nu)
        return np.asarray(np.sqrt((p * mu + (1.0 - p) * nu) / self.reports) / self.rates.gain)

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Wilson's interval for the support rate, carried over to the share and cut to [0, 1].

        Where fewer than `FEW` reports support an item, or fewer do not, the interval is exact: Wilson's would cover
        shares near 0.2/n in 84 % of cases only. It is for one item, chosen before its count is seen; for the largest
        of many see `level_among_largest`.
        """
        level = checks.real_number("level", level, "a share between 0 and 1", 1e-12, 1.0 - 1e-12)
        z = NormalDist().inv_cdf(0.5 + level / 2.0)
        n, observed = self.reports, self.counts / self.reports
        centre = (observed + z * z / (2 * n)) / (1 + z * z / n)
        half = z * np.sqrt(observed * (1.0 - observed) / n + (z / (2 * n)) ** 2) / (1 + z * z / n)
        low, high = centre - half, centre + half
        rare = FEW * max(1.0, (z / _USUAL_Z) ** 2)  # farther out Wilson's normal law needs more reports
        few = (self.counts < rare) | (self.counts + rare > n)
        for count in np.unique(self.counts[few]).tolist():
            same = self.counts == count
            low[same], high[same] = exact_interval(count, n, level)
        low, high = ((end - self.rates.nu) / self.rates.gain for end in (low, high))
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def stands_out(self, level: float = 0.05) -> NDArray[np.bool_]:
        """Which items are there for sure: with probability 1 - level none of them is held by nobody (exact)."""
        return self.counts >= significant_count(self.rates, self.reports, self.domain_size, level)

    def detectable_share(self, level: float = 0.05) -> float:
        """The smallest estimate that stands out."""
        return detectable_share(self.rates, self.reports, self.domain_size, level)

    def threshold(self, level: float = 0.05) -> float:
        """The paper's threshold, a normal approximation; `stands_out` is exact."""
        return significance_threshold(self.rates, self.reports, self.domain_size, level)

    def significant(self, level: float = 0.05) -> Floats:
        """The paper's `emp+thr`: estimates below the threshold become 0, nothing is renormalised."""
        p = self.probabilities
        return np.where(p < self.threshold(level), 0.0, p)

    def _repr_html_(self) -> str:
        chosen = self.top(_SHOWN)
        low, high = self.intervals(level_among_largest(len(chosen), len(self.counts)))
        shares, sure = self.probabilities, self.stands_out()
        codes = chosen if self.items is None else self.items[chosen]
        rows = [
            (int(code), float(shares[i]), float(low[i]), float(high[i]), "yes" if sure[i] else "no")
            for code, i in zip(codes, chosen, strict=True)
        ]
        caption = f"largest shares of {self.reports:,} reports"
        return html_table(caption, ("item", "share", "low", "high", "above noise"), rows)

    def top(self, size: int) -> NDArray[np.int64]:
        """Positions of the `size` largest estimates, largest first, ties by position."""
        size = min(checks.whole_number("size", size, at_least=0), len(self.counts))
        if size == 0:
            return np.empty(0, np.int64)
        least = np.partition(self.counts, -size)[-size]
        sure = np.flatnonzero(self.counts > least)
        tied = np.flatnonzero(self.counts == least)[: size - len(sure)]
        chosen = np.concatenate([sure, tied])
        return np.asarray(chosen[np.lexsort((chosen, -self.counts[chosen].astype(np.int64)))])


def level_among_largest(shown: int, items: int, level: float = 0.95) -> float:
    """The level of each interval where those of the `shown` largest of so many items are looked at.

    The largest estimates are so by luck, too, and at the usual level almost none of their intervals need hold the
    truth. At 1 - (1 - level) shown/items the share of the intervals shown that miss is 1 - level on average
    (Y. Benjamini and D. Yekutieli, 2005, the false coverage rate).

    >>> level_among_largest(20, 20), round(level_among_largest(20, 1000), 6)
    (0.95, 0.999)
    """
    return level if shown >= items else 1.0 - (1.0 - level) * max(1, shown) / items


@interruptible
def _scaled(counts: Counters, slope: float, shift: float) -> Floats:
    """slope counts - shift; compiled and on all cores where there are many."""
    if len(counts) < _MANY:
        return np.asarray(slope * counts.astype(np.float64) - shift)
    from entropie.kernels.counting import scale_counts

    out = np.empty(len(counts))
    in_parallel(lambda part: scale_counts(counts[part], slope, shift, out[part]), len(counts), _MANY // 2)
    return out


def estimate(counts: Counts, rates: CountingRates) -> Estimates:
    """Estimates from counts, or a sentence that says why there are none."""
    if counts.reports == 0:
        raise InvalidInput("There are no reports to estimate from; at least one is needed.")
    if rates.gain <= 0.0:
        raise InvalidParameter(
            "The mechanism sends pure noise (theta is 0 after rounding down to a multiple of 2^-64), "
            "so nothing can be estimated; use a larger epsilon or theta."
        )
    return Estimates(counts.snapshot(), counts.reports, rates, counts.domain_size, counts.items)


def _finite_list(name: str, values: ArrayLike) -> Floats:
    rule = "a non-empty list of finite numbers"
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"Parameter `{name}` must be {rule}.") from None
    if numbers.ndim != 1 or numbers.size == 0 or not np.isfinite(numbers).all():
        raise InvalidParameter(f"Parameter `{name}` must be {rule}.")
    return numbers


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How far estimates are from a known truth over the `items` most frequent items of that truth.

    l2              sum of squared differences
    relative_error  mean of |estimate - truth|/truth
    """

    items: int
    l2: float
    relative_error: float


def accuracy(estimated: ArrayLike, truth: ArrayLike, top: int | None = None) -> Accuracy:
    """Compare with the truth over its top items (all items that occur when `top` is None; l2 then over all)."""
    p_hat, p = _finite_list("estimated", estimated), _finite_list("truth", truth)
    if p_hat.shape != p.shape:
        raise InvalidParameter(f"Parameter `truth` must have one share per estimate, got {len(p)} for {len(p_hat)}.")
    if top is not None:
        top = checks.whole_number("top", top)
    chosen = np.arange(len(p)) if top is None else np.argsort(-p, kind="stable")[:top]
    difference = p_hat[chosen] - p[chosen]
    occurring = p[chosen] > 0.0
    relative = np.abs(difference[occurring]) / p[chosen][occurring]
    return Accuracy(len(chosen), float(difference @ difference), float(relative.mean()) if len(relative) else 0.0)
