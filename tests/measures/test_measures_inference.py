"""Inference and linkability against attackers that go person by person, and on tables where the truth is known."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.document.measured import ShareInterval
from entropie.kernels.densest import densest
from entropie.measures.excess import excess
from entropie.measures.inference import inference
from entropie.measures.intervals import share_interval
from entropie.measures.linkability import linkability, linked_people

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 4)), min_size=2, max_size=30)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(st.integers(0, 20), max_size=8), min_size=1, max_size=4), st.integers(0, 6))
def test_densest_by_trying_all(groups, width):
    values = np.array([value for group in groups for value in sorted(group)], dtype=np.float64)
    begins = np.concatenate(([0], np.cumsum([len(group) for group in groups])))
    most, middle = densest(begins, values, float(width))
    for place, group in enumerate(groups):
        best = max((sum(low <= value <= low + width for value in group) for low in group), default=0)
        assert most[place] == best
        if group:
            assert sum(abs(value - middle[place]) <= width / 2 for value in group) == best


@settings(deadline=None, max_examples=60)
@given(ROWS, st.sampled_from([None, 1.0]))
def test_guesses_from_the_table_person_by_person(rows, tolerance):
    table = np.array(rows)
    found = inference(
        [(table[:, 0], 3), (table[:, 1], 3)], table[:, 2].astype(float), tolerance, np.random.default_rng(0)
    )
    width = 2 * (tolerance or 0.0)

    def best(values: list[int]) -> int:
        return max(sum(low <= value <= low + width for value in values) for low in values)

    classes = {row[:2] for row in rows}
    right = sum(best([row[2] for row in rows if row[:2] == one]) for one in classes)
    assert found.in_table.value == pytest.approx(right / len(rows))
    assert found.baseline.value == pytest.approx(best([row[2] for row in rows]) / len(rows))
    assert found.people == len(rows)


def test_people_left_out_are_guessed_as_well_as_the_law_allows():
    """Half of the people have the value that `base` tells and half any of ten: 55 % is the most; an id says nothing."""
    rng = np.random.default_rng(4)
    people = 6000
    base, noise = rng.integers(0, 10, people), rng.integers(0, 10, people)
    secret = np.where(rng.random(people) < 0.5, base, noise)
    everybody = np.arange(people)
    found = inference([(base, 10), (everybody, people)], secret.astype(float), None, rng)
    spread = math.sqrt(0.55 * 0.45 / people)
    assert abs(found.left_out.value - 0.55) < 5 * spread  # z = 5
    assert found.in_table.value == 1.0  # who has the table looks up the id
    assert found.baseline.value == pytest.approx(0.1, abs=0.03)
    assert found.over_left_out.value == pytest.approx(1.0)
    nothing = inference([(noise[::-1].copy(), 10)], secret.astype(float), None, rng)
    assert nothing.left_out.low <= 0.1 + 5 * math.sqrt(0.09 / people)  # power: 55 % above is far from it
    assert nothing.over_left_out.low < 0.02


def test_numbers_are_guessed_within_the_tolerance():
    rng = np.random.default_rng(5)
    band = rng.integers(0, 4, 4000)
    value = 100.0 * band + rng.uniform(-20, 20, 4000)
    found = inference([(band, 4)], value, 10.0, rng)
    assert abs(found.left_out.value - 0.5) < 5 * math.sqrt(0.25 / 4000)  # 20 of 40
    assert found.in_table.value >= found.left_out.value - 0.02
    assert abs(found.baseline.value - 0.125) < 0.03
    assert "within 10" in found.meaning


@settings(deadline=None, max_examples=60)
@given(ROWS)
def test_joined_rows_by_the_best_choice_for_each(rows):
    """For every left row try all values of the right part; whoever joins at random among them is right so often."""
    left, right = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    count, pairs = Counter(right.tolist()), Counter(zip(left.tolist(), right.tolist(), strict=True))
    expected = sum(max(pairs[one, other] / count[other] for other in count) for one in set(left.tolist()))
    assert linked_people(left, right) == pytest.approx(expected)


def test_joined_rows_of_people_left_out_follow_from_what_holds_for_all():
    rng = np.random.default_rng(6)
    people = 2000
    one, two = rng.permutation(people), rng.permutation(people)
    strangers = linkability((("a",), ("b",)), ([(one, people)], [(two, people)]), rng)
    assert (
        strangers.linked.value == strangers.linked_half.value == 1.0
    )  # the table joins what is different for everybody
    assert strangers.left_out.value == pytest.approx(1 / 1000)  # others' rows say nothing: chance
    assert strangers.chance == 1 / people
    group = rng.integers(0, 20, people)
    same = linkability((("a",), ("b",)), ([(group, 20)], [(group, 20)]), rng)
    assert same.linked.value == pytest.approx(20 / people)
    assert same.left_out.value == pytest.approx(20 / 1000)  # what holds for all: equal groups go together
    assert same.linked_half.value == pytest.approx(20 / 1000)
    assert same.over_left_out.value == pytest.approx(0.0, abs=1e-12)


def test_excess_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(7)
    runs, people, success, control = 2000, 300, 0.7, 0.4
    truth, held, narrow = 1 - (1 - success) / (1 - control), 0, 0
    for hit, luck in itertools.zip_longest(rng.binomial(people, success, runs), rng.binomial(people, control, runs)):
        found = excess(share_interval(hit / people, people), share_interval(luck / people, people))
        held += found.low <= truth <= found.high
        narrow += abs(truth - found.value) <= (found.high - found.low) / 4
    spread = 5 * math.sqrt(0.95 * 0.05 / runs)
    assert abs(held / runs - 0.95) < spread
    assert narrow / runs < 0.95 - spread  # power: half the width would be too little
    assert excess(ShareInterval(1.0, 1.0, 1.0), ShareInterval(1.0, 0.9, 1.0)) is None
    assert excess(ShareInterval(1.0, 0.9, 1.0), ShareInterval(0.0, 0.0, 0.1)).value == 1.0
