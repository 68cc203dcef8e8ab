"""Which people decide, and when: every group of every attacker, intervals that hold together, groups too small to."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from gate_documents import GROUPS, assessment, row, wilson
from hypothesis import given
from hypothesis import strategies as st

from entropie.document import typed
from entropie.gate.groups import WORSE, _at_least, groups_of, worst
from entropie.measures.exposure import tail_of


def groups(*rows, measure="worst"):
    return groups_of(typed(assessment(attackers=list(rows))), measure)


def decisions(*rows, limit=0.09, **how):
    return [group.decision(limit) for group in groups(*rows, **how)]


def test_all_intervals_hold_together():
    found = groups_of(typed(assessment()), "worst")
    assert len(found) == GROUPS
    for group in found:
        wanted = wilson(group.plain.value, group.people, GROUPS)
        assert (group.risk.low, group.risk.high) == pytest.approx((wanted["low"], wanted["high"]), abs=1e-12)
    assert [group.people for group in groups_of(typed(assessment()), "average")] == [1000] * 4


@given(st.integers(20, 3000), st.floats(0, 1), st.sampled_from((0.05, 0.09, 0.2, 0.33)))
def test_everybody_decides_by_the_ends_of_the_interval(people, share, limit):
    (found,) = decisions(row("profile", {people: share}), limit=limit)
    ends = wilson(share, people)
    if min(abs(ends["low"] - limit), abs(ends["high"] - limit)) > 1e-9:
        wanted = "FAIL" if ends["low"] > limit else "PASS" if ends["high"] <= limit else "INCONCLUSIVE"
        # with few people expected at the limit, a FAIL takes the binomial distribution as well
        assert found == wanted or (wanted == "FAIL" and people * limit < 10 and found == "INCONCLUSIVE")


@pytest.mark.parametrize(
    ("right", "people", "limit", "decision"),
    [
        (0, 20, 0.09, "PASS"),  # nobody: it cannot be asked to show more
        (1, 20, 0.09, "PASS"),  # 5 %, which chance gives one group of twenty among 500 people now and then
        (2, 20, 0.09, "INCONCLUSIVE"),  # 10 %: above the limit
        (9, 20, 0.09, "FAIL"),
        (1, 20, 0.049, "INCONCLUSIVE"),
        (4, 900, 0.02, "PASS"),
        (19, 900, 0.02, "INCONCLUSIVE"),  # large enough to show it, and does not
    ],
)
def test_a_part_too_small_to_show_it_is_not_asked_to(right, people, limit, decision):
    tail = {people: right / people, 1000 if people > 500 else 500: 0.0}
    part, everybody = decisions(row("profile", tail), limit=limit)
    assert (part, everybody) == (decision, "PASS")


def test_one_person_named_among_a_million_is_more_than_chance():
    tail = {20: 1 / 20, 1_000_000: 1e-6}
    assert decisions(row("profile", tail)) == ["INCONCLUSIVE", "PASS"]
    tail = {20: 1 / 20, 500: 2e-3}
    assert decisions(row("profile", tail)) == ["PASS", "PASS"]


def test_fewer_than_twenty_people_decide_nothing():
    for share in (0.0, 0.5, 1.0):
        assert decisions(row("profile", {19: share})) == ["INCONCLUSIVE"]
    assert decisions(row("profile", {20: 1.0})) == ["FAIL"]
    few = row("profile", {19: 1.0})
    assert decisions(few, row("points", {500: 0.0})) == ["PASS"]  # where others are judged it is passed over


def test_attackers_out_of_scope_decide_nothing():
    outside = row("profile", {500: 1.0}, in_scope=False)
    assert decisions(outside, row("points", {500: 0.0})) == ["PASS"]


def test_the_worst_is_of_the_worst_decision():
    tails = [{20: 0.05, 2000: 0.001}, {20: 0.0, 2000: 0.06}, {100: 0.3, 2000: 0.02}, {20: 1.0, 2000: 0.01}]
    rows = [row(name, tail) for name, tail in zip(("profile", "crowd", "joint", "points"), tails, strict=True)]
    for many in range(1, 5):
        for chosen in itertools.combinations(rows, many):
            among = groups(*chosen)
            one = worst(among, 0.09)
            severity = [WORSE.index(group.decision(0.09)) for group in among]
            assert WORSE.index(one.decision(0.09)) == max(severity)
            if one.decision(0.09) == "PASS":
                assert one.risk.high <= 0.09  # what is shown for a PASS shows it
    assert worst(groups(*rows), 0.09).attacker.attacker == "points"
    few, many = row("profile", {20: 0.15, 2000: 0.001}), row("crowd", {2000: 0.12})
    assert sorted(decisions(few, many)) == ["FAIL", "INCONCLUSIVE", "PASS"]
    assert worst(groups(few, many), 0.09).risk.value == 0.12  # a FAIL goes before a higher share that is open


@given(st.integers(1, 60), st.floats(0.001, 0.6), st.data())
def test_chance_is_counted_exactly(people, share, data):
    found = data.draw(st.integers(0, people))
    terms = [math.comb(people, k) * share**k * (1 - share) ** (people - k) for k in range(found, people + 1)]
    assert _at_least(found, people, share) == pytest.approx(sum(terms), rel=1e-9)


def test_a_declared_attempt_scales_the_risk():
    (group,) = groups(row("profile", {1000: 0.5}))
    assert [group.decision(0.09, chance) for chance in (1.0, 0.18, 0.01)] == ["FAIL", "INCONCLUSIVE", "PASS"]


def test_the_search_over_groups_finds_no_risk_by_chance():
    """All people guess right with the limit's own probability: a FAIL in at most 5 % of draws (and some, with power)."""
    rng = np.random.default_rng(3)
    runs, people, limit, fails, naive = 200, 400, 0.09, 0, 0
    for _ in range(runs):
        rows = []
        for name in ("profile", "crowd", "joint", "points"):
            tail = tail_of((rng.random(people) < limit).astype(float), rng.random(people))
            rows.append(row(name, {part.people: part.reidentified.value for part in tail}))
        found = groups(*rows)
        fails += worst(found, limit).decision(limit) == "FAIL"
        naive += any(group.plain.low > limit for group in found)
    assert fails / runs <= 0.05
    assert naive / runs > 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / runs)  # intervals that do not allow for the search


@given(st.integers(1, 30_000))
def test_sizes_of_the_tail(people):
    parts = tail_of(np.zeros(people), np.zeros(people))
    sizes = [part.people for part in parts]
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == people
    assert all(size >= 20 for size in sizes[:-1])
    for share in (0.001, 0.01, 0.1):
        size = math.ceil(people * round(share * 1000) / 1000)
        assert (size in sizes) == (20 <= size <= people) or size == people
    assert (20 in sizes) == (people >= 20)


def test_the_tail_is_the_clearest():
    rng = np.random.default_rng(4)
    clarity = rng.permutation(5000).astype(float)
    credit = np.where(clarity >= 4968, 1.0, 0.0)  # the 32 clearest are named rightly, and nobody else
    assert [(part.people, part.reidentified.value) for part in tail_of(credit, clarity)] == [
        (20, 1.0), (50, 0.64), (500, 0.064), (5000, 0.0064)
    ]  # fmt: skip
