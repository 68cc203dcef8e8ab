"""The paper's matcher: visits for the first event, transitions for the others.

Keys: (a << 32) | b for the transition a -> b, and (0xFFFFFFFF << 32) | x for x as the first item.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from entropie.attack.keyed import KeyedRows, check_codes
from entropie.attack.matchers.contract import Matcher, MatcherRates, Population
from entropie.attack.matchers.visit import FLOOR
from entropie.data.traces import Traces
from entropie.kernels.keyed import markov_target_keys, markov_user_keys


class Markov(Matcher):
    """Match the first event by visit vector, later ones by transition matrix, relative to the floor."""

    name = "markov"
    first_by_visit = True
    largest_weight = -math.log(FLOOR)
    rates = MatcherRates(reach=0.37, matched_ns=1.7, user_entries=1.57, target_entries=1.31)

    def user_keys(self, train: Traces, codes: NDArray[np.uint32], population: Population) -> KeyedRows:
        """Rows over the items that a person begins with or visits, and the transitions they make."""
        check_codes(train, codes)
        return KeyedRows(*markov_user_keys(train.offsets, codes[train.items], FLOOR))

    def target_keys(self, target: Traces, codes: NDArray[np.uint32], population: Population) -> KeyedRows:
        """Rows over the first item and the transitions of each target."""
        check_codes(target, codes)
        return KeyedRows(*markov_target_keys(target.offsets, codes[target.items]))
