"""The group at the highest risk: never below the average, with an interval that allows for the choice."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from assessment_tables import people_with_habits

import entropie
from entropie.measures.intervals import wilson

QUICK = {"replicates": 2, "known_events": ()}


def test_the_highest_of_all_groups_and_of_everybody():
    found = entropie.assess(people_with_habits(46, 60), **QUICK)
    most = found.most_exposed
    tenths = [attack.measures.exposure.most_exposed for attack in found.attacks]
    assert most.right.value == max([1.0 - found.headline_error.value, *(tenth.right.value for tenth in tenths)])
    low, high = wilson(most.right.value * most.people, most.people, 1.0 - 0.05 / len(found.attacks))
    assert (most.right.low, most.right.high) == (float(low), float(high))
    assert found.to_json()["headline"]["most_exposed"] == most.to_json()


def test_noise_has_no_group_below_the_average():
    """People who are all alike: clarity says nothing, so the worst is at least the average in every draw."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        table = pa.table({"user": np.repeat(np.arange(40), 12), "item": rng.integers(0, 4, 480)})
        found = entropie.assess(table, user="user", item="item", matchers=["visit", "markov"], **QUICK)
        assert found.most_exposed.right.value >= 1.0 - found.headline_error.value
