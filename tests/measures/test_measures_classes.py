"""k-anonymity, l-diversity, t-closeness and the risks of records against counting by hand, class by class."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.measures.anonymity import anonymity
from entropie.measures.classes import classes_of, group_sizes
from entropie.measures.closeness import largest_distance
from entropie.measures.diversity import Contents, disclosed, distinct_l, entropy_l, recursive
from entropie.measures.record_risk import record_risks

TABLES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 5)), min_size=2, max_size=40)


def by_class(rows: list[tuple[int, int, int]]) -> dict[tuple[int, int], Counter[int]]:
    found: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for first, second, value in rows:
        found[first, second][value] += 1
    return found


def contents_of(rows: list[tuple[int, int, int]]) -> tuple[Contents, list[int]]:
    """The contents of the classes, and the values that occur in order."""
    table = np.array(rows)
    used, codes = np.unique(table[:, 2], return_inverse=True)
    classes, _ = classes_of([(table[:, 0], 4), (table[:, 1], 2)])
    return Contents.of(classes, codes.astype(np.int64), used.size), used.tolist()


def moved(supply: dict[int, float], demand: dict[int, float]) -> float:
    """Earth mover's distance between laws over places on a line: pile by pile, from the left."""
    places = sorted({*supply, *demand})
    work, carried = 0.0, 0.0
    for here, there in itertools.pairwise(places):
        carried += supply.get(here, 0.0) - demand.get(here, 0.0)
        work += abs(carried) * (there - here)
    return work


@settings(deadline=None, max_examples=80)
@given(TABLES)
def test_diversity_class_by_class(rows):
    contents, _ = contents_of(rows)
    groups = by_class(rows).values()
    assert distinct_l(contents) == min(map(len, groups))
    entropies = [-sum(c / g.total() * math.log2(c / g.total()) for c in g.values()) for g in groups]
    assert entropy_l(contents) == pytest.approx(2 ** min(entropies))
    assert disclosed(contents) == pytest.approx(sum(g.total() for g in groups if len(g) == 1) / len(rows))
    found = recursive(contents)
    assert [row.different for row in found] == list(range(2, min(5, min(map(len, groups))) + 1))
    for row in found:
        worst = 0.0
        for group in groups:
            falling = sorted(group.values(), reverse=True)
            worst = max(worst, falling[0] / sum(falling[row.different - 1 :]))
        assert row.c == pytest.approx(worst)


@settings(deadline=None, max_examples=80)
@given(TABLES)
def test_closeness_by_moving_earth(rows):
    contents, used = contents_of(rows)
    if len(used) == 1:
        return
    whole = Counter(value for *_, value in rows)
    ordered, equal = [], []
    for group in by_class(rows).values():
        own = {used.index(value): some / group.total() for value, some in group.items()}
        all_ = {used.index(value): some / len(rows) for value, some in whole.items()}
        ordered.append(moved(own, all_) / (len(used) - 1))
        equal.append(sum(abs(own.get(place, 0.0) - all_[place]) for place in all_) / 2.0)
    assert largest_distance(contents, ordered=True) == pytest.approx(max(ordered), abs=1e-12)
    assert largest_distance(contents, ordered=False) == pytest.approx(max(equal), abs=1e-12)


def test_the_example_of_li_li_and_venkatasubramanian():
    """Salaries of 3k to 11k, once each: {3, 4, 5} is 0.375 from all nine, {6, 8, 11} is 0.167, as their paper says."""
    places = np.arange(9)
    low, spread = np.isin(places, [0, 1, 2]), np.isin(places, [3, 5, 8])
    for inside, distance in ((low, 0.375), (spread, 1 / 6)):  # the other six are half as far
        one = Contents.of(inside.astype(np.int64), places, 9)
        assert largest_distance(one, ordered=True) == pytest.approx(distance)


@settings(deadline=None, max_examples=80)
@given(TABLES, st.floats(0.01, 0.9), st.integers(0, 10**6))
def test_sizes_and_risks_person_by_person(rows, at_risk, seed):
    table = np.array(rows)
    known = [(table[:, 0], 4), (table[:, 1], 2)]
    classes, sizes = classes_of(known)
    counts = Counter((first, second) for first, second, _ in rows)
    own = [counts[first, second] for first, second, _ in rows]
    assert sizes[classes].tolist() == own
    assert sorted(group_sizes(known).tolist()) == sorted(sizes.tolist()) == sorted(counts.values())
    found = anonymity(("p", "q"), sizes)
    assert found.k == min(own)
    assert sum(row.people for row in found.sizes) == len(rows)
    for row in found.sizes:
        inside = [size for size in counts.values() if row.at_least <= size <= (row.at_most or 10**9)]
        assert (row.classes, row.people) == (len(inside), sum(inside))
    wide = sizes + np.random.default_rng(seed).integers(0, 5, sizes.size)
    risks = {risk.attacker: risk for risk in record_risks(sizes, at_risk, wide)}
    each = {"prosecutor": [1.0 / size for size in own], "journalist": (1.0 / wide[classes]).tolist()}
    for name, risk in each.items():
        assert risks[name].highest == max(risk)
        assert risks[name].average == pytest.approx(sum(risk) / len(rows))
        assert risks[name].at_risk == pytest.approx(sum(one > at_risk + 1e-12 for one in risk) / len(rows))
    assert risks["marketer"].average == pytest.approx(sum(each["journalist"]) / len(rows))
    assert (risks["marketer"].highest, risks["marketer"].at_risk) == (None, None)
    alone = record_risks(sizes, at_risk)
    assert [risk.attacker for risk in alone] == ["prosecutor", "marketer"]
    assert alone[1].average == pytest.approx(len(counts) / len(rows))


def test_a_risk_at_the_threshold_is_not_above_it():
    risk = record_risks(np.array([10, 11, 12]), 1.0 / 11.0)[0]
    assert risk.at_risk == pytest.approx(10 / 33)
