"""Likelihood of a personal model against the population's; how much to smooth is chosen from the training data.

Score: ln(1 + c_i(x) / (lambda p(x))) per event, minus T ln(1 + N_i/lambda), where p(x) is the item's share of all
training events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import item_rows, summed
from entropie.attack.matchers.contract import ItemMatcher, MatcherRates, Pass, Population, Rows, Trained
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter

_SMOOTHINGS = 2.0 ** (np.arange(-8, 81) / 4)
_UNINFORMED_SMOOTHING = 32.0
_OWN_BITS = 24


class SmoothingTerms(NamedTuple):
    """What the choice of lambda needs: how often each pair (item's events, own count) occurs, and each N."""

    pairs: NDArray[np.int64]
    times: NDArray[np.int64]
    sizes: NDArray[np.int64]
    users: NDArray[np.int64]


@dataclass(frozen=True)
class Bayes(ItemMatcher):
    """Match by likelihood ratio: a Dirichlet-smoothed model of the user against the population p.

    smoothing   lambda; chosen from the training data unless given
    """

    name = "bayes"
    counts_items = True
    rates = MatcherRates(reach=1.26, matched_ns=2.0)
    smoothing: float | None = None

    def __post_init__(self) -> None:
        if self.smoothing is not None and not (self.smoothing > 0 and np.isfinite(self.smoothing)):
            raise InvalidParameter.of("smoothing", "a positive number", self.smoothing)

    def next_pass(self, population: Population) -> Pass | None:
        """One pass for lambda."""
        if self.smoothing is not None or population.settings is not None:
            return None
        return Pass(smoothing_terms, merge_terms, smoothing_from)

    def user_rows(self, train: Traces, population: Population) -> Rows:
        """What each item speaks for the user, and the price of N_i events."""
        smoothing = self.smoothing or population.settings
        counts = item_rows(train)
        popularity = population.events / max(population.all_events, 1)
        weights = np.log1p(counts.weights / (smoothing * popularity[counts.features]))
        return counts.with_weights(weights), np.log1p(counts.totals() / smoothing)

    def target_rows(self, target: Traces, population: Population) -> Rows:
        """How often the target has each item, and T."""
        asked = item_rows(target)
        return asked, asked.totals()


def smoothing_terms(trained: Trained, population: Population) -> SmoothingTerms:
    """The terms of some people."""
    counts = item_rows(trained.train)
    own = np.minimum(counts.weights.astype(np.int64), 2**_OWN_BITS - 1)
    pairs, times = np.unique((population.events[counts.features] << _OWN_BITS) | own, return_counts=True)
    sizes, users = np.unique(counts.totals().astype(np.int64), return_counts=True)
    return SmoothingTerms(pairs, times, sizes, users)


def merge_terms(parts: Sequence[SmoothingTerms]) -> SmoothingTerms:
    """The terms of all people of several blocks."""
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return SmoothingTerms(*summed(*columns[:2]), *summed(*columns[2:]))


def smoothing_from(terms: SmoothingTerms, population: Population) -> float:
    """Choose lambda by the likelihood of each training event given the user's others.

    Maximises sum c ln((c - 1 + lambda p(x)) / (N - 1 + lambda)) over quarter octaves. Gathered by (count, item total)
    and by N the terms are few: the cost hardly grows with the data, and the order of users does not matter.
    """
    own, total = terms.pairs & (2**_OWN_BITS - 1), terms.pairs >> _OWN_BITS
    sizes, users = terms.sizes[terms.sizes > 0], terms.users[terms.sizes > 0]
    if sizes.size == 0 or sizes[-1] == 1:
        return _UNINFORMED_SMOOTHING
    gains = [
        float(np.sum(terms.times * own * np.log(own - 1 + smoothing * (total / population.all_events))))
        - float(np.sum(users * sizes * np.log(sizes - 1 + smoothing)))
        for smoothing in _SMOOTHINGS
    ]
    return float(_SMOOTHINGS[int(np.argmax(gains))])
