"""The paper's matcher: visits for the first event, transitions for the others.

Keys: (a << 32) | b for the transition a -> b, and (0xFFFFFFFF << 32) | x for x as the first item.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import FeatureRows, Matching, check_same_people
from entropie.attack.keyed import KeyedRows, check_codes
from entropie.attack.matchers.contract import Matcher, MatcherRates, Population, taken
from entropie.attack.matchers.visit import FLOOR
from entropie.data.traces import Traces
from entropie.errors import InvalidInput
from entropie.kernels.features import markov_targets, markov_users, transition_table
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

    def __call__(self, train: Traces, target: Traces, attacked: NDArray[np.int64] | None = None) -> Matching:
        """The same with features numbered by the transitions that some target makes, which is faster."""
        check_same_people(train, target)
        target = taken(target, attacked)
        starts, successors = transition_table(target.offsets, target.items, target.domain_size)
        feature_count = target.domain_size + successors.size
        if feature_count > 2**32:
            raise InvalidInput(f"Items and transitions must be at most 2^32 together, got {feature_count}.")
        is_first = np.zeros(target.domain_size, np.bool_)
        is_first[target.items[target.offsets[:-1][np.diff(target.offsets) > 0]]] = True
        users = markov_users(train.offsets, train.items, starts, successors, is_first, FLOOR)
        targets = markov_targets(target.offsets, target.items, starts, successors)
        rows = FeatureRows(*users, feature_count), FeatureRows(*targets, feature_count)
        return Matching(*rows, largest_weight=self.largest_weight, owners=attacked)
