"""Groups of people by how clear the attacker's match is."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.errors import InvalidInput
from entropie.measures.exposure import exposure, few_tails

people = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(0, 5).map(float)), min_size=1, max_size=60
)


def naive_groups(rows: list[tuple[float, float]], groups: int) -> list[Fraction]:
    """Mean credit of each group over all orders that agree with the clarities, person by person."""
    total = len(rows)
    groups = min(groups, total)
    bounds = [round(total * i / groups) for i in range(groups + 1)]
    ordered = sorted(rows, key=lambda row: -row[1])
    means = []
    for begin, end in itertools.pairwise(bounds):
        credit = Fraction(0)
        for place in range(begin, end):
            alike = [row[0] for row in rows if row[1] == ordered[place][1]]
            credit += sum(map(Fraction, alike)) / len(alike)
        means.append(credit / (end - begin))
    return means


@settings(max_examples=200, deadline=None)
@given(people, st.integers(1, 12))
def test_groups_are_those_of_the_naive_count(rows: list[tuple[float, float]], groups: int) -> None:
    found = exposure([r[0] for r in rows], [r[1] for r in rows], groups=groups)
    expected = naive_groups(rows, groups)
    assert [group.right.value for group in found.groups] == pytest.approx([float(mean) for mean in expected], abs=1e-12)
    assert sum(group.people for group in found.groups) == len(rows)
    assert all(group.right.low <= group.right.value <= group.right.high for group in found.groups)


@settings(max_examples=50, deadline=None)
@given(people, st.randoms(use_true_random=False))
def test_the_order_of_people_does_not_matter(rows: list[tuple[float, float]], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (exposure([r[0] for r in part], [r[1] for r in part]) for part in (rows, shuffled))
    assert [g.right.value for g in one.groups] == pytest.approx([g.right.value for g in other.groups], abs=1e-12)


def test_a_clear_match_that_is_right_shows_and_an_empty_one_does_not() -> None:
    # 1,000 people, right with probability = clarity: the tenths must follow their mean clarity within 5 sigma.
    rng = np.random.default_rng(7)
    clarity = rng.uniform(size=1000)
    credit = (rng.uniform(size=1000) < clarity).astype(float)
    found = exposure(credit, clarity)
    middles = [0.95 - 0.1 * i for i in range(10)]
    for group, middle in zip(found.groups, middles, strict=True):
        assert group.right.value == pytest.approx(middle, abs=5 * math.sqrt(0.25 / 100) / 2 + 0.02)
    assert found.most_exposed.right.value > 0.8
    blind = exposure(credit, rng.uniform(size=1000))  # a clarity that says nothing: the tenths are all alike
    assert max(abs(group.right.value - credit.mean()) for group in blind.groups) < 5 * math.sqrt(0.25 / 100)


def test_refusals() -> None:
    with pytest.raises(InvalidInput, match="one credit and one clarity"):
        exposure([1.0], [1.0, 2.0])
    with pytest.raises(InvalidInput, match="finite"):
        exposure([1.0], [math.nan])


def test_two_who_are_alike_are_found_together() -> None:
    """Forty people in twos, the wrong one of the two always first; 960 others of whom nobody stands ahead."""
    low = np.concatenate((np.ones(40, np.int64), np.full(960, 500)))
    gaps = np.concatenate((np.full(40, 6.0), np.linspace(0.0, 1.0, 960)))
    found = {part.people: part for part in few_tails(low, low, {2: gaps})}
    assert sorted(found) == [20, 100]
    assert {part.alike for part in found.values()} == {2}
    assert found[20].reidentified.value == pytest.approx(0.5)
    assert found[100].reidentified.value == pytest.approx(0.2)
    # tied with the other one: inside the best two for sure, inside the best one in every second case
    tied = few_tails(np.zeros(30, np.int64), np.ones(30, np.int64), {1: np.zeros(30), 2: np.zeros(30)})
    assert [part.reidentified.value for part in tied] == pytest.approx([0.5, 0.5])
