"""Design: the least loss over mechanism, shape and truth under every limit, against search by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import entropie
from entropie.data.shares import read_shares
from entropie.errors import EntropieError, InvalidParameter, Unreachable
from entropie.mechanisms.calibrate import calibrate, design
from entropie.mechanisms.design import allowed_epsilon
from entropie.mechanisms.families import KINDS, Family, Hashing, Subsets, families
from entropie.mechanisms.goal import Goal
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.theory.crowd import Crowd
from entropie.theory.weights import LossWeights, harmonic

PEOPLE, ITEMS = 1_370_637, 10_500_393

# --- whose squared errors count ----------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [0.0, 0.3, 0.7, 1.0, 1.1, 2.0, 10.0])
@pytest.mark.parametrize("count", [1, 7, 1000, 1001, 10**7 + 1, 10**15])
def test_harmonic_numbers(count: int, exponent: float) -> None:
    with mpmath.workdps(30):
        rest = mpmath.zeta(exponent) - mpmath.zeta(exponent, count + 1) if exponent != 1.0 else None
        exact = mpmath.harmonic(count) if rest is None else rest
        assert harmonic(count, exponent) == pytest.approx(float(exact), rel=1e-12)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=30).filter(any), st.data(), st.sampled_from(KINDS))
def test_the_loss_is_the_sum_of_variances_of_the_items_that_count(counts: list[int], data: Any, kind: str) -> None:
    k = len(counts)
    top = data.draw(st.integers(1, k))
    shares = np.sort(np.array(counts) / sum(counts))[::-1]
    shapes = families(kind, k)
    made = data.draw(st.sampled_from(shapes or families("rr", k))).near(0.3)
    by_hand = made.variance(shares[:top], 500).sum()
    assert LossWeights.of_shares(counts, k, top).loss(made.rates, 500) == pytest.approx(by_hand, rel=1e-9)
    assert LossWeights.whole(k).loss(made.rates, 500) == pytest.approx(made.rates.l2_sum(k, 500), rel=1e-12)


def test_zipf_is_a_distribution_like_any_other() -> None:
    shares = 1.0 / np.arange(1.0, 501.0) ** 1.3
    by_hand = LossWeights.of_shares(shares, 500, 20)
    assert LossWeights.zipf(500, 20, 1.3).mass == pytest.approx(by_hand.mass, rel=1e-12)
    assert LossWeights.zipf(500, 500, 1.3).mass == pytest.approx(1.0, rel=1e-12)


# --- the example of the theory: frequent items, a fixed average success --------------------------------------------


def test_a_finite_hash_is_best_for_frequent_items_but_composes_worse() -> None:
    """n = 1370637, k = 10500393, V = .0309: loss over the top 100 (2.5 % of reports), five reports, ten guesses."""
    top = LossWeights.zipf(ITEMS, 100, 0.7)
    assert top.mass == pytest.approx(0.0248, abs=5e-4)
    response = RandomizedResponse.from_theta(domain_size=ITEMS, theta=0.0309)
    hashing = LocalHashing.from_theta(domain_size=ITEMS, hash_size=100_000, theta=0.4235)  # .42
    for made in (response, hashing):
        assert 1.0 - made.guarantee(users=PEOPLE).bayes_error == pytest.approx(0.0309, abs=1e-4)
    assert top.loss(response.rates, PEOPLE) == pytest.approx(5.75e-7, rel=0.02)
    assert top.loss(hashing.rates, PEOPLE) == pytest.approx(2.9e-8, rel=0.02)
    five = [made.guarantee(users=PEOPLE, reports=5) for made in (response, hashing)]
    assert 1.0 - five[0].bayes_error == pytest.approx(0.114, abs=5e-4)
    assert five[1].bayes_error_ideal_hash is not None
    assert 1.0 - five[1].bayes_error_ideal_hash == pytest.approx(0.706, abs=5e-4)
    ten = [made.guarantee(users=PEOPLE, list_size=10).list_error for made in (response, hashing)]
    assert 1.0 - ten[0] == pytest.approx(0.031, abs=5e-4)
    assert 1.0 - ten[1] == pytest.approx(0.309, abs=5e-4)  # certified; an ideal hash has .30


def test_larger_hashes_are_better_at_a_fixed_theta_only() -> None:
    losses = [Hashing(ITEMS, g).rates(0.08).l2_sum(ITEMS, PEOPLE) for g in (10**3, 10**5, 10**7, 10**9, 10**11)]
    assert losses == sorted(losses, reverse=True)
    goal = Goal(Crowd(PEOPLE), ITEMS, 0.92, scope="alone")  # a fixed certainty instead
    found = [goal.largest(Hashing(ITEMS, g)).rates.l2_sum(ITEMS, PEOPLE) for g in (10**3, 10**5, 10**9)]
    assert found[0] > found[1] < found[2]


def test_averages_alone_give_the_papers_advice_back() -> None:
    found = calibrate(users=PEOPLE, domain_size=ITEMS, bayes_error=0.92, certainty=1.0, scope="alone")
    assert isinstance(found.mechanism, LocalHashing)
    assert found.mechanism.hash_size > 1000 * PEOPLE
    limit = 0.92 / 0.08 / PEOPLE  # p (1-theta)/(n theta), p = 1
    assert found.expected_loss.l2_sum == pytest.approx(limit, rel=0.02)
    assert found.guarantee.posterior_max > 0.998


# --- the most truth, of every mechanism -----------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.sampled_from(KINDS),
    st.integers(2, 10**6),
    st.integers(2, 3000),
    st.floats(0.01, 0.99),
    st.floats(0.01, 1.0),
    st.integers(1, 4),
    st.integers(1, 5),
    st.sampled_from(["all", "alone"]),
    st.sampled_from([math.inf, 2.0]),
    st.booleans(),
)
def test_the_next_step_breaks_a_limit(
    kind: str, users: int, items: int, share: float, room: float, t: int, guesses: int, scope: Any, most: float,
    linked: bool,
) -> None:  # fmt: skip
    """Not one step more truth keeps every limit, and none is broken as printed: neither for the scope that was asked
    for nor, where that is all reports and they are linked, for one person's.
    """
    error = share * (1.0 - min(guesses, users) / users)
    certainty = 1 / users + room * (1 - 1 / users)
    goal = Goal(Crowd(users, t, guesses, linked=linked), items, error, certainty, scope, most)
    shapes = families(kind, items) or families("rr", items)
    family = shapes[(users + items) % len(shapes)]
    step = goal.largest_step(family)
    given_for = family.at(step).guarantee_for(goal.crowd)
    both = (given_for.all_reports, given_for) if linked or t == 1 else (given_for.all_reports,)
    for about in both if scope == "all" else (given_for,):
        assert about.list_error >= error
        assert about.posterior_max <= certainty
    assert family.at(step).epsilon <= most
    if step < family.steps:
        assert goal.broken(family.at(step + 1)) is not None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("items", [2, 3, 300])
def test_a_goal_at_chance_leaves_pure_noise_that_keeps_it(kind: Any, items: int) -> None:
    """Also after several reports, whose sums are rounded up."""
    asked: dict[str, Any] = {"users": 100, "domain_size": items, "bayes_error": 0.99, "reports": 7}
    for scope in ("all", "alone"):
        found = calibrate(**asked, mechanism=kind, scope=scope)
        about = found.guarantee.all_reports if scope == "all" else found.guarantee
        assert about.list_error >= 0.99
        assert found.mechanism.theta < 1e-6


def test_reports_that_are_not_linked_may_tell_more_together() -> None:
    """A goal for whoever holds all reports is none for one person's where nothing links them in the store."""
    goal = Goal(Crowd(1000, 4, linked=False), 3000, 0.9, 1.0)
    found = goal.largest(families("rr", 3000)[0]).guarantee_for(goal.crowd)
    assert found.all_reports.bayes_error >= 0.9 > found.bayes_error


def every_shape(kind: str, items: int) -> list[Family]:
    if kind == "glh":
        return [Hashing(items, g) for g in (*range(2, 30), *range(30, 100, 8), 200, 500, 2000)]
    if kind == "subset":
        return [Subsets(items, d) for d in range(2, items // 2)]
    return list(families(kind, items))


@pytest.mark.parametrize("scope", ["all", "alone"])
@pytest.mark.parametrize(
    ("users", "items", "error", "certainty", "weights"),
    [(500, 40, 0.9, 0.5, None), (60, 25, 0.6, 0.2, LossWeights(5, 0.6))],
)
def test_no_setting_at_all_loses_less(
    users: int, items: int, error: float, certainty: float, scope: Any, weights: LossWeights | None
) -> None:
    """Every shape of every kind, each with the most truth that is allowed to it."""
    goal = Goal(Crowd(users), items, error, certainty, scope, weights=weights)
    found = design(goal)
    losses = [
        goal.counted.loss(goal.largest(family).rates, users) for kind in KINDS for family in every_shape(kind, items)
    ]
    assert found.expected_loss.loss <= min(losses) * 1.02  # one per cent by rule, the rest by the grid of sizes


# --- limits and what they cost ---------------------------------------------------------------------------------------


def test_limits_are_kept_and_cost_what_is_said() -> None:
    free = calibrate(users=10**5, domain_size=500, bayes_error=0.9)
    small = calibrate(users=10**5, domain_size=500, bayes_error=0.9, max_report_bits=9)
    tight = calibrate(users=10**5, domain_size=500, bayes_error=0.9, max_epsilon=1.0)
    assert small.mechanism.report_bits <= 9 < free.mechanism.report_bits or small.mechanism == free.mechanism
    assert tight.mechanism.epsilon <= 1.0 < free.mechanism.epsilon
    assert tight.decided_by == "epsilon"
    for bound, name in ((small, "report_bits"), (tight, "epsilon")):
        ratio = bound.expected_loss.loss / free.expected_loss.loss
        assert getattr(bound.limit_costs, name) == pytest.approx(max(1.0, ratio), rel=0.02)
        assert getattr(free.limit_costs, name) == 1.0
    rows = free.trade_off
    assert {row.scope for row in rows} == {"all", "alone"}
    for scope in ("all", "alone"):
        losses = [row.loss for row in rows if row.scope == scope]
        assert losses == sorted(losses, reverse=True)
    for one, other in zip(rows[: len(rows) // 2], rows[len(rows) // 2 :], strict=True):
        assert one.certainty == other.certainty
        assert other.loss <= one.loss * 1.001  # one person's reports alone never cost more


@pytest.mark.parametrize(("reports", "linked", "changed"), [(1, True, 2), (5, True, 10), (5, False, 2)])
def test_what_a_certainty_of_one_half_allows(reports: int, linked: bool, changed: int) -> None:
    """ln(n-1)/2t where all reports leak, ln(n-1)/t for one person's alone."""
    crowd = Crowd(PEOPLE, reports, linked=linked)
    goal = Goal(crowd, ITEMS, 0.5)
    assert allowed_epsilon(goal) == pytest.approx(math.log(PEOPLE - 1) / changed, rel=1e-12)
    alone = Goal(crowd, ITEMS, 0.5, scope="alone")
    assert allowed_epsilon(alone) == pytest.approx(math.log(PEOPLE - 1) / reports, rel=1e-12)


def test_a_goal_is_one_value() -> None:
    goal = entropie.Goal(entropie.Crowd(1000), 200, 0.9)
    assert entropie.design(goal).mechanism == entropie.calibrate(users=1000, domain_size=200, bayes_error=0.9).mechanism


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"zipf": 1.0}, "top"), ({"shares": [1, 2]}, "top"), ({"top": 5, "zipf": -1}, "zipf"), ({"top": 0}, "top"),
        ({"top": 201}, "top"), ({"top": 5, "zipf": 1.0, "shares": [1]}, "zipf"), ({"top": 5, "shares": []}, "shares"),
        ({"top": 5, "shares": [-1, 2]}, "shares"), ({"top": 5, "shares": [0, 0]}, "shares"),
        ({"top": 5, "shares": "x"}, "shares"), ({"top": 5, "shares": [math.nan]}, "shares"),
        ({"top": 5, "shares": [1] * 201}, "shares"), ({"max_epsilon": 0}, "max_epsilon"),
        ({"max_epsilon": math.nan}, "max_epsilon"), ({"max_report_bits": -1}, "max_report_bits"),
        ({"mechanism": "unary", "hash_size": 5}, "hash_size"), ({"scope": "some"}, "scope"),
        ({"mechanism": "unary", "domain_size": 10**6}, "domain"),
    ],
    ids=repr,
)  # fmt: skip
def test_arguments(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidParameter, match=says):
        calibrate(**{"users": 1000, "domain_size": 200, "bayes_error": 0.9, **wrong})


def test_a_report_that_is_too_small() -> None:
    with pytest.raises(Unreachable, match=r"raise `max_report_bits=` to 8"):
        calibrate(users=1000, domain_size=200, bayes_error=0.9, max_report_bits=3)
    assert calibrate(users=1000, domain_size=200, bayes_error=0.9, max_report_bits=8).mechanism.report_bits <= 8


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(2, 5000), st.integers(3, 60))
def test_no_report_is_larger_than_the_limit(items: int, bits: int) -> None:
    """To the bit, whatever prime is next."""
    try:
        found = calibrate(users=10**5, domain_size=items, bayes_error=0.9, mechanism="glh", max_report_bits=bits)
    except Unreachable as problem:
        raised = int(str(problem).rsplit(" ", 1)[-1].rstrip("."))
        assert raised > bits
        return
    assert found.mechanism.report_bits <= bits


# --- a distribution on file -------------------------------------------------------------------------------------------


def test_estimates_of_an_earlier_collection(tmp_path: Path) -> None:
    path = tmp_path / "estimates.csv"
    path.write_text("code,share,consistent_share\n0,0.7,0.6\n1,-0.1,0\n2,0.4,0.4\n")
    assert read_shares(path).tolist() == [0.6, 0.0, 0.4]
    path.write_text("item,share\na,0.7\nb,-0.1\n")
    assert read_shares(path).tolist() == [0.7, 0.0]
    path.write_text("item,count\na,7\nb,3\n")
    assert read_shares(path).tolist() == [7.0, 3.0]


@pytest.mark.parametrize("text", ["item,number\na,7\n", "item,count\na,x\n", "item,count\na,\nb,1\n", "count\n"])
def test_what_is_no_distribution(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(EntropieError):
        read_shares(path)
