"""The angle between vectors of counts."""

from __future__ import annotations

import numpy as np

from entropie.attack.features import FeatureRows, item_rows
from entropie.attack.matchers.contract import ItemMatcher, MatcherRates, Population, Rows
from entropie.data.traces import Traces
from entropie.kernels.features import row_totals


class Cosine(ItemMatcher):
    """Match by the angle between vectors of counts."""

    name = "cosine"
    rates = MatcherRates(reach=1.26, matched_ns=2.0)

    def user_rows(self, train: Traces, population: Population) -> Rows:
        """Counts scaled to length 1."""
        return unit_rows(item_rows(train)), None

    def target_rows(self, target: Traces, population: Population) -> Rows:
        """The same of targets."""
        return self.user_rows(target, population)


def unit_rows(rows: FeatureRows) -> FeatureRows:
    """Scale every row to length 1; rows of zeros stay."""
    lengths = np.sqrt(row_totals(rows.offsets, rows.weights**2))
    lengths[lengths == 0] = 1.0
    return rows.with_weights(rows.weights / np.repeat(lengths, np.diff(rows.offsets)))
