"""The paper's second matcher: the visit vector alone."""

from __future__ import annotations

import numpy as np

from entropie.attack.features import item_rows
from entropie.attack.matchers.contract import ItemMatcher, MatcherRates, Population, Rows
from entropie.data.traces import Traces

FLOOR = 1e-8
"""d: what the paper puts in place of a probability of zero."""


class Visit(ItemMatcher):
    """Match every event by the visit vector: ln pi_i(x) - ln d."""

    name = "visit"
    first_by_visit = True
    rates = MatcherRates(reach=1.26, matched_ns=1.1)

    def user_rows(self, train: Traces, population: Population) -> Rows:
        """The log share of each item, above the floor."""
        counts = item_rows(train)
        share = counts.weights / np.repeat(counts.totals(), np.diff(counts.offsets))
        return counts.with_weights(np.log(share) - np.log(FLOOR)), None

    def target_rows(self, target: Traces, population: Population) -> Rows:
        """How often the target has each item."""
        return item_rows(target), None
