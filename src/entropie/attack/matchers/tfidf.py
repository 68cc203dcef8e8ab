"""The angle between vectors of counts, in which rare items count more."""

from __future__ import annotations

import numpy as np

from entropie.attack.features import item_rows
from entropie.attack.matchers.contract import ItemMatcher, MatcherRates, Population, Rows
from entropie.attack.matchers.cosine import unit_rows
from entropie.data.traces import Traces


class TfIdf(ItemMatcher):
    """Match by the angle between vectors of counts times ln(users / users that have the item in training)."""

    name = "tfidf"
    counts_items = True
    rates = MatcherRates(reach=1.26, matched_ns=2.0, target_ns=500_000.0)

    def user_rows(self, train: Traces, population: Population) -> Rows:
        """Weighted counts scaled to length 1."""
        counts = item_rows(train)
        rarity = np.log(population.users / np.maximum(population.holders, 1))
        return unit_rows(counts.with_weights(counts.weights * rarity[counts.features])), None

    def target_rows(self, target: Traces, population: Population) -> Rows:
        """The same of targets."""
        return self.user_rows(target, population)
