"""The strongest attacker and the group at the highest risk, with intervals that allow for the choice."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from assessment_tables import people_with_habits

import entropie
from entropie.document.measured import ShareInterval
from entropie.measures.intervals import wilson

QUICK = {"replicates": 2, "known_events": ()}


def test_the_highest_of_all_groups_of_all_attackers():
    found = entropie.assess(people_with_habits(46, 60), **QUICK)
    most = found.most_exposed
    groups = [(row, part) for row in found.attackers if row.in_scope for part in row.tail]
    ends = [wilson(part.reidentified.value * part.people, part.people, 1.0 - 0.05 / len(groups)) for _, part in groups]
    assert most.right.low == max(float(low) for low, _ in ends)
    assert (most.right.low, most.right.high) in [(float(low), float(high)) for low, high in ends]
    assert (most.attacker, most.people) in [(row.attacker, part.people) for row, part in groups]
    assert found.to_json()["headline"]["most_exposed"] == most.to_json()


def test_the_strongest_attacker_in_scope_leads():
    found = entropie.assess(people_with_habits(46, 60), **QUICK)
    shares = [row.reidentified.value for row in found.attackers if row.in_scope]
    low, high = wilson(max(shares) * 60, 60, 1.0 - 0.05 / len(shares))
    assert found.reidentified == ShareInterval(max(shares), float(low), float(high))
    head = found.to_json()["headline"]
    assert (head["identification_error"], head["chosen_among"]) == (
        found.reidentified.complement.to_json(),
        len(shares),
    )


def test_noise_has_no_group_that_stands_out():
    """People who are all alike: clarity says nothing, and the search over groups must not say more than chance."""
    beyond = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        table = pa.table({"user": np.repeat(np.arange(40), 12), "item": rng.integers(0, 4, 480)})
        found = entropie.assess(table, user="user", item="item", matchers=["visit", "markov"], **QUICK)
        beyond += found.most_exposed.right.low > 1.0 / 40
    assert beyond <= 2  # each with probability 5 % at most: three of eight would happen with probability 0.006
