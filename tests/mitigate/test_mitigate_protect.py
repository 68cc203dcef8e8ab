"""Protection on people made by hand: promises that hold, losses as the formulas say, the best setting found."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import entropie
from entropie.attack.reports import attack_reports
from entropie.attack.single import pie_bits
from entropie.data.split import Split, split_traces
from entropie.data.traces import Traces
from entropie.document.measured import ShareInterval
from entropie.document.protection import FrontierPoint as Point
from entropie.document.protection import ProtectionAttack
from entropie.document.protection import ProtectionGoal as Goal
from entropie.document.protection import ProtectionRow as Row
from entropie.errors import InvalidInput, InvalidParameter, Unreachable
from entropie.measures.intervals import student
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mitigate.obfuscation import (
    WANTED_ERRORS,
    Senders,
    Wanted,
    attack_on,
    best_hashing,
    best_response,
    exact_utility,
    measure_utility,
    people_needed,
    preferred,
    sampled_credit,
    wanted_error_value,
)
from entropie.mitigate.protect import as_it_is_of, protect_split, single_datum_error
from entropie.mitigate.protection import AsItIs, Protection
from entropie.request import Run, SplitRule
from entropie.words import percent

FAST = Run(replicates=20, threads=1)


def protect(traces: Traces, split: Split, error: float, run: Run = FAST, as_it_is=None, **wanted) -> Protection:
    """A quick run: three collections, and no frontier but at the wanted error."""
    return protect_split(traces, split, Wanted(error, **{"repetitions": 3, "also": (), **wanted}), run, as_it_is)


def frontier(split: Split, error: float, also: tuple[float, ...] = WANTED_ERRORS, repetitions: int = 3):
    traces = split.train
    return protect(traces, split, error, also=also, repetitions=repetitions).frontier


def crowd(users: int, items: int, events: int = 12, seed: int = 5, home: float = 0.5) -> Traces:
    """People who do one item of their own half the time and popular items otherwise."""
    rng = np.random.default_rng(seed)
    popular = 1.0 / np.arange(1, items + 1)
    drawn = rng.choice(items, (users, events), p=popular / popular.sum())
    own = rng.integers(0, items, users)
    drawn = np.where(rng.random((users, events)) < home, own[:, None], drawn)
    drawn[0, 0] = items - 1  # the domain is as large as asked for
    return Traces(np.arange(users + 1) * events, drawn.ravel().astype(np.uint32), items)


def loners(users: int) -> Split:
    """Everybody has an item of her own and the attacker knows it: the data for which the promise is exact."""
    alone = Traces(np.arange(users + 1), np.arange(users, dtype=np.uint32), users)
    return Split(alone, alone, np.arange(users), 0)


@settings(deadline=None, max_examples=40)
@given(
    users=st.integers(2, 60),
    items=st.integers(2, 50),
    share=st.floats(0.01, 0.97),
    reports=st.integers(1, 3),
)
def test_every_setting_promises_the_wanted_error(users, items, share, reports):
    wanted = share * (1.0 - 1.0 / users)
    senders = Senders.of(split_traces(crowd(users, items)), reports)
    response = best_response(senders, wanted)
    hashing = best_hashing(senders, wanted, response.epsilon)
    for mechanism in (response, hashing):
        promise = mechanism.guarantee(users=users, reports=reports)
        assert promise.bayes_error >= wanted - 1e-9
        assert mechanism.epsilon <= response.epsilon * (1.0 + 1e-12)
    if response.theta < 1.0:  # and promises no more than that: it gives away no truth
        assert response.guarantee(users=users, reports=reports).bayes_error <= wanted + 1e-9


@pytest.mark.parametrize("wanted", [0.3, 0.8, 0.95])
@pytest.mark.parametrize(("users", "items"), [(60, 40), (40, 60), (300, 25)])
def test_the_best_hash_size_by_trying_all_of_them(users, items, wanted):
    senders = Senders.of(split_traces(crowd(users, items)))
    n, k, success = users, items, 1.0 - wanted

    def truth_told(buckets: int, answers: int, budget: float) -> float:
        by_promise = min(1.0, (n * success - 1.0) / (min(n, k, buckets) - 1.0))
        by_budget = 1.0 if math.isinf(budget) else math.expm1(budget) / (answers + math.expm1(budget))
        return min(by_promise, by_budget)

    theta = truth_told(k, k, math.inf)
    budget = math.inf if theta == 1.0 else math.log1p(k * theta / (1.0 - theta))
    shares = sorted((float(p) for p in senders.truth if p > 0), reverse=True)[:20]

    def loss(g: int) -> float:
        theta = truth_told(g, g, budget)
        prime = next(p for p in range(max(g, k), 10 * max(g, k)) if all(p % d for d in range(2, p)) and p > 1)
        hits = sum(1 for d in range(1, prime) for x in range(prime) if x % g == (x + d) % prime % g)
        c = hits / (prime * (prime - 1))
        mu, nu, gain = theta + (1 - theta) / g, (1 - theta) / g + theta * c, theta * (1 - c)
        return sum(math.sqrt(p * mu * (1 - mu) + (1 - p) * nu * (1 - nu)) / gain / math.sqrt(n) / p for p in shares)

    found = best_hashing(senders, wanted, best_response(senders, wanted).epsilon)
    losses = {g: loss(g) for g in range(2, k + 1)}
    assert losses[found.hash_size] <= 1.03 * min(losses.values())
    assert max(losses.values()) > 1.1 * min(losses.values())  # power: a careless choice would be noticed


@pytest.mark.parametrize("wanted", [0.5, 0.9])
def test_no_attack_beats_the_promise_and_the_worst_data_meet_it(wanted):
    users = 10_000
    senders = Senders.of(loners(users))
    response = best_response(senders, wanted)
    for mechanism in (response, best_hashing(senders, wanted, response.epsilon)):
        reports = mechanism.simulate(senders.sent.items, np.random.default_rng(1))
        error = 1.0 - attack_on(mechanism, senders, reports, threads=1).credit.mean()
        promised = mechanism.guarantee(users=users).bayes_error
        deviation = math.sqrt(promised * (1.0 - promised) / users)
        assert error > promised - 5 * deviation  # z = 5
        if mechanism is response:  # power: had it told a fifth more truth than promised, that would have failed
            rasher = RandomizedResponse.from_theta(domain_size=users, theta=1.2 * mechanism.theta)
            reports = rasher.simulate(senders.sent.items, np.random.default_rng(1))
            error = 1.0 - attack_on(rasher, senders, reports, threads=1).credit.mean()
            assert error < promised - 5 * deviation


@pytest.mark.parametrize("reports", [1, 2])
def test_one_plain_report_is_attacked_as_the_general_attack_does(reports):
    senders = Senders.of(split_traces(crowd(150, 40)), reports)
    mechanism = RandomizedResponse.from_theta(domain_size=40, theta=0.4)
    sent = mechanism.simulate(senders.sent.items, np.random.default_rng(2))
    fast = attack_on(mechanism, senders, sent, threads=1)
    slow = attack_reports(mechanism, senders.train, sent, senders.sent.offsets, threads=1)
    np.testing.assert_allclose(fast.credit, slow.credit, rtol=0, atol=1e-12)


@pytest.mark.parametrize("reports", [1, 3])
def test_a_sample_of_people_is_attacked_as_all_of_them_are(reports):
    senders = Senders.of(split_traces(crowd(150, 40)), reports)
    for mechanism in MECHANISMS:
        sent = mechanism.simulate(senders.sent.items, np.random.default_rng(2))
        credit = attack_on(mechanism, senders, sent, threads=1).credit
        some = sampled_credit(mechanism, senders, sent, people=40, seed=1, threads=1)
        chosen = np.sort(np.random.default_rng(1).choice(150, 40, replace=False))
        np.testing.assert_allclose(some, credit[chosen], rtol=0, atol=1e-12)
        everybody = sampled_credit(mechanism, senders, sent, people=150, seed=1, threads=1)
        np.testing.assert_array_equal(everybody, credit)


MECHANISMS = [
    RandomizedResponse.from_theta(domain_size=40, theta=0.3),
    LocalHashing.from_theta(domain_size=40, hash_size=7, theta=0.6),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["rr", "glh"])
def test_losses_are_what_the_formulas_expect(mechanism):
    senders = Senders.of(split_traces(crowd(200, 40)))
    runs = [measure_utility(mechanism, senders, seed=seed, repetitions=1)[0] for seed in range(300)]

    def distance(values: list[float], expected: float) -> float:
        return abs(np.mean(values) - expected) / (np.std(values, ddof=1) / math.sqrt(len(values)))

    squared = [run.distribution.l2 for run in runs]
    assert runs[0].distribution.expected_l2 == pytest.approx(mechanism.rates.l2_sum(40, 200))
    assert distance(squared, runs[0].distribution.expected_l2) < 5  # z = 5
    assert distance(squared, 1.25 * runs[0].distribution.expected_l2) > 5  # power
    relative = expected_relative_error(mechanism, senders.truth, 200, 20)
    found = [run.top_20.relative_error_unbiased for run in runs]
    assert distance(found, relative) < 5
    assert distance(found, 1.1 * relative) > 5


def expected_relative_error(mechanism, truth, reports: int, top: int) -> float:
    """E |estimate - p|/p from the exact law of a support count: those who have the item and those who have not."""
    mu, nu = mechanism.rates.mu, mechanism.rates.nu
    total = 0.0
    chosen = np.argsort(-truth, kind="stable")[:top]
    chosen = chosen[truth[chosen] > 0]
    for p in truth[chosen]:
        having = round(p * reports)
        law = np.convolve(binomial(having, mu), binomial(reports - having, nu))
        estimates = (np.arange(reports + 1) / reports - nu) / (mu - nu)
        total += float(law @ np.abs(estimates - p)) / p
    return total / len(chosen)


def binomial(trials: int, probability: float) -> np.ndarray:
    return np.array(
        [math.comb(trials, j) * probability**j * (1 - probability) ** (trials - j) for j in range(trials + 1)]
    )


def test_thresholded_and_summed_losses_by_hand():
    senders = Senders.of(split_traces(crowd(200, 40)))
    mechanism = MECHANISMS[0]
    found, reports = measure_utility(mechanism, senders, seed=4, repetitions=1)
    counts = np.bincount(reports.astype(int), minlength=40)
    mu, nu = mechanism.rates.mu, mechanism.rates.nu
    estimates = (counts / 200 - nu) / (mu - nu)
    threshold = 3.02334 * math.sqrt(nu * (1 - nu) / 200) / (mu - nu)  # the normal's 1 - 0.05/40 quantile
    cut = np.where(estimates < threshold, 0.0, estimates)
    truth = np.bincount(senders.sent.items, minlength=40) / 200
    assert found.distribution.l1 == pytest.approx(np.abs(estimates - truth).sum())
    assert found.distribution.l1_thresholded == pytest.approx(np.abs(cut - truth).sum())
    assert found.distribution.l2_thresholded == pytest.approx(((cut - truth) ** 2).sum())
    assert 0 < np.count_nonzero(cut) < np.count_nonzero(estimates)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=2, max_size=8))
def test_error_of_an_attacker_who_knows_all_habits(histories):
    lengths = [len(history) for history in histories]
    traces = Traces(
        np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        np.array([item for history in histories for item in history], np.uint32),
        5,
    )
    right = sum(max(history.count(x) / len(history) for history in histories) for x in range(5)) / len(histories)
    assert single_datum_error(traces) == pytest.approx(1.0 - right)


def test_rows_side_by_side():
    traces = crowd(200, 300)
    split = split_traces(traces)
    before = ProtectionAttack("bayes", ShareInterval(0.2, 0.15, 0.25), None)
    found = protect(traces, split, 0.9, dataclasses.replace(FAST, seed=3), AsItIs(before))
    assert [row.name for row in found.rows] == [
        "as it is",
        "pseudonyms alone",
        "randomized response",
        "local hashing",
    ]
    assert found.goal.noise_needed
    assert found.goal.pie_bits == pytest.approx(pie_bits(traces))
    assert found.goal.error_from_pie <= found.goal.error_known_all + 1e-12  # Fano never says more than the exact value
    for row in found.rows[2:]:
        promise = again(row).guarantee(users=200)
        assert row.guarantee.bayes_error == pytest.approx(promise.bayes_error)
        assert row.guarantee.bayes_error >= 0.9
        assert row.guarantee.alpha_bits == pytest.approx(promise.alpha_bits)
        for name in ("alpha_bits", "bayes_error", "posterior_max"):
            assert getattr(row.guarantee.all_reports, name) == pytest.approx(getattr(promise.all_reports, name))
        assert promise.all_reports.bayes_error < promise.bayes_error  # what is asked for is about one person's reports
        certain = percent(promise.all_reports.posterior_max)
        assert f"everybody's re-identifies at most {percent(1 - promise.all_reports.bayes_error)}" in row.sentence
        assert f"with a worst-case certainty of {certain}." in row.sentence
        error = row.attack.identification_error
        assert error.low <= error.value <= error.high
        assert error.high >= row.guarantee.bayes_error
        assert f"at most {percent(1 - row.guarantee.bayes_error)} re-identified on average, guaranteed" in row.sentence
        assert f"epsilon {row.mechanism.epsilon:.3g}" in row.sentence
    assert [row.recommended for row in found.rows].count(True) == (chosen_by_hand(found) is not None)
    assert found.recommended is chosen_by_hand(found)
    assert found.rows[0].attack is before
    assert found.rows[1].utility.top_20.relative_error == 0.0
    assert found.rows[1].guarantee is None  # more items than people guarantee nothing


def again(row: Row):
    """The mechanism of a row, made anew from its document."""
    used = row.mechanism
    if used.hash_size is None:
        return RandomizedResponse.from_theta(domain_size=used.domain_size, theta=used.theta)
    return LocalHashing.from_theta(domain_size=used.domain_size, hash_size=used.hash_size, theta=used.theta)


def chosen_by_hand(found: Protection):
    """The rule for two mechanisms: fewer errors in the items, unless ten guesses get more than twice as far, and none
    whose counts are of no use."""
    one, two = found.rows[-2:]
    better, worse = (one, two) if one.utility.top_20.relative_error <= two.utility.top_20.relative_error else (two, one)
    named = [1.0 - again(row).guarantee(users=found.users, list_size=10).list_error for row in (better, worse)]
    out = [better] if named[0] > 2.0 * named[1] else [worse] if named[1] > 2.0 * named[0] else []
    return next((row for row in (better, worse) if row not in out and useful_by_hand(row)), None)


def useful_by_hand(row) -> bool:
    kept = row.utility
    return (
        kept.top_20.relative_error <= 0.5
        and kept.top_20.relative_error < kept.trivial_top_20
        and min(kept.distribution.l2, kept.distribution.l2_consistent, kept.distribution.l2_thresholded)
        < kept.distribution.trivial_l2
    )


def spaced(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def shown(share: float) -> str:
    return spaced(percent(share))


def test_every_row_says_what_is_sent():
    traces = crowd(200, 300)
    split = split_traces(traces)
    before = ProtectionAttack("bayes", ShareInterval(0.2, 0.15, 0.25), None)
    found = protect(traces, split, 0.9, as_it_is=AsItIs(before))
    assert [row.sends for row in found.rows] == ["every event", *["one event per person"] * 3]
    assert [row.events_sent for row in found.rows] == [200 * 6, 200, 200, 200]  # halves of twelve events
    for words in (
        "All rows but the first send one event per person (200 in all), without times",
        "'as it is' sends every attacked event (1,200)",
        "Most of the drop in risk from 'as it is' to 'pseudonyms alone' comes from sending less",
    ):
        assert words in found.goal.details
    assert all("one event per person" in row.sentence for row in found.rows[1:])
    risen = msgspec.structs.replace(
        before, identification_error=ShareInterval(1.0, 0.98, 1.0)
    )  # no fall to be explained
    assert "sending less" not in protect(traces, split, 0.9, as_it_is=AsItIs(risen)).goal.details
    several = protect(traces, split, 0.8, reports_per_user=3)
    assert {row.sends for row in several.rows} == {"up to 3 events per person"}
    assert {row.events_sent for row in several.rows} == {600}
    assert "All rows send up to 3 events per person (600 in all)" in several.goal.details


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0.001, 1.0), st.floats(0.0, 20.0)), min_size=1, max_size=4))
def test_the_rule_of_the_recommendation(prices):
    places = preferred(prices)
    success, error = prices[places[0]]
    assert [prices[place][1] for place in places] == sorted(prices[place][1] for place in places)
    assert all(success <= 2.0 * other for other, _ in prices)  # ten guesses never get far further
    for other, theirs in prices:  # and whatever keeps more would have let them
        assert theirs >= error or other > 2.0 * min(named for named, _ in prices)


def test_ten_guesses_keep_a_mechanism_from_being_recommended():
    traces = crowd(3000, 6000, home=0.6)
    found = protect(traces, split_traces(traces), 0.65)
    response, hashing = found.rows[-2:]
    assert (
        hashing.utility.top_20.relative_error < response.utility.top_20.relative_error
    )  # the top items alone would choose it
    assert 1.0 - hashing.guarantee.list_error > 2 * (1.0 - response.guarantee.list_error)
    assert response.recommended
    text = spaced(found.goal.recommendation)
    assert text.startswith("Randomized response at epsilon ")
    assert f"off by {shown(hashing.utility.top_20.relative_error)}, but allows 10 guesses" in text
    assert f"re-identify {shown(1.0 - hashing.guarantee.list_error)} of people instead of" in text
    assert [point.mechanism for point in found.frontier if point.recommended] == ["rr"]  # the chart rings the same one


def test_where_nothing_useful_is_left_nothing_is_recommended_and_it_is_said():
    traces = crowd(600, 3000)
    found = protect(traces, split_traces(traces), 0.9, also=(0.3, 0.5, 0.95))
    assert found.recommended is None
    assert not any(point.recommended for point in found.frontier)
    response, hashing = found.rows[-2:]
    assert (
        hashing.utility.top_20.relative_error < response.utility.top_20.relative_error
    )  # but ten guesses get far further
    error = response.utility.top_20.relative_error
    assert error > 0.5
    text = spaced(found.goal.recommendation)
    assert text.startswith("None of the settings tried keeps useful counts. The best, randomized response at epsilon ")
    assert f"is off by {shown(error)} on the 20 most frequent items." in text
    assert (
        f"Local hashing would be off by {shown(hashing.utility.top_20.relative_error)}, but allows 10 guesses" in text
    )
    needed = people_needed(again(response), Senders.of(split_traces(traces)), Wanted(0.9), error)
    digits = 10 ** (len(str(needed)) - 2)
    people = math.ceil(needed / digits) * digits
    assert f"about {people:,} people (off by 10 % with the noise that so many need)" in text
    assert (
        "or an error rate of 50 % instead of 90 %" in text
    )  # local hashing is useful at 0.5 and beyond, but too exposed
    rich = protect(crowd(600, 3), split_traces(crowd(600, 3)), 0.9)
    assert "None of" not in rich.goal.recommendation
    kept = protect(crowd(2000, 20), split_traces(crowd(2000, 20)), 0.995)  # noise that leaves something
    assert kept.goal.noise_needed
    assert kept.recommended.utility.top_20.relative_error < 0.5
    assert "None of" not in kept.goal.recommendation


def test_an_easier_goal_that_would_keep_useful_counts_is_named():
    traces = crowd(2000, 200)
    found = protect(traces, split_traces(traces), 0.99, also=(0.2, 0.9, 0.95))
    assert found.recommended is None
    best = None
    for error in (0.95, 0.9, 0.2):  # what the table would recommend there, by the same rule
        points = [point for point in found.frontier if point.wanted_error == error]
        least = min(1.0 - point.list_error for point in points)
        allowed = [point for point in points if 1.0 - point.list_error <= 2.0 * least and point.useful]
        best = best or min(allowed, key=lambda point: point.relative_error_top_20, default=None)
    assert best is not None
    said = f"or an error rate of {best.wanted_error * 100:g} % instead of 99 % "
    assert said + f"(off by {shown(best.relative_error_top_20)})." in spaced(found.goal.recommendation)


def test_counts_that_need_no_data_are_beaten_or_the_counts_are_not_useful():
    """All zero and all equal, by plain arithmetic; where everybody sends each item alike, equal shares are the truth."""
    senders = Senders.of(split_traces(crowd(200, 40)))
    kept = measure_utility(MECHANISMS[0], senders, seed=4, repetitions=2)[0]
    truth = senders.truth.tolist()
    top = sorted(truth, reverse=True)[:20]
    top = [share for share in top if share > 0]
    equal = [abs(1 / 40 - share) / share for share in top]
    assert kept.trivial_top_20 == pytest.approx(min(1.0, sum(equal) / len(equal)))
    assert kept.distribution.trivial_l2 == pytest.approx(
        min(sum(p * p for p in truth), sum((p - 1 / 40) ** 2 for p in truth))
    )
    alike = Senders.of(loners(40))
    assert exact_utility(alike).useful
    noisy = measure_utility(LocalHashing(domain_size=40, hash_size=40, epsilon=9.0), alike, seed=1, repetitions=2)[0]
    assert noisy.top_20.relative_error < 0.5  # small, and yet no better than to say that all are equal
    assert (noisy.trivial_top_20, noisy.distribution.trivial_l2, noisy.useful) == (0.0, 0.0, False)


@pytest.mark.parametrize("hashing", [False, True])
def test_the_people_needed_do_have_useful_counts(hashing):
    """So many people, who do the same, with noise calibrated for them; half as many do not."""
    few, wanted = Senders.of(split_traces(crowd(300, 200))), 0.9
    used = best_response(few, wanted)
    if hashing:
        used = best_hashing(few, wanted, used.epsilon)

    def off(senders: Senders) -> float:
        mechanism = best_response(senders, wanted)
        if hashing:
            size, limit, low, high = used.hash_size, mechanism.epsilon, 0.0, 1.0
            for _ in range(12):
                theta = (low + high) / 2.0
                tried = LocalHashing.from_theta(domain_size=200, hash_size=size, theta=theta)
                fits = tried.epsilon <= limit and tried.guarantee(users=senders.users).bayes_error >= wanted
                low, high = (theta, high) if fits else (low, theta)
            mechanism = LocalHashing.from_theta(domain_size=200, hash_size=size, theta=low)
        errors = []
        for draw in range(40):
            reports = mechanism.simulate(senders.sent.items, np.random.default_rng([7, draw]))
            shares, truth = mechanism.estimate(reports).probabilities, senders.truth
            top = np.argsort(-truth)[:20]
            errors.append(float((np.abs(shares - truth)[top] / truth[top]).mean()))
        return float(np.mean(errors))

    def times(many: int) -> Senders:
        everybody = np.resize(np.arange(few.users), many)
        return dataclasses.replace(few, train=few.train.take(everybody), sent=few.sent.take(everybody))

    needed = people_needed(used, few, Wanted(wanted), off(few))
    assert off(times(needed)) == pytest.approx(0.1, rel=0.15)
    assert off(times(needed // 2)) > 0.12  # power
    at_this_noise = few.users * (off(few) / 0.1) ** 2  # more people need less noise
    assert needed < 0.7 * at_this_noise


def test_estimates_that_are_a_distribution_are_tried_and_used_where_they_are_closer():
    senders = Senders.of(split_traces(crowd(400, 600)))
    noisy = best_response(senders, 0.9)
    kept = measure_utility(noisy, senders, seed=3, repetitions=5)[0]
    top = np.argsort(-senders.truth, kind="stable")[:20]
    plain, consistent = [], []
    for draw in range(5):
        numbers = noisy.to_parameters()
        key = [int(numbers[name]) for name in ("hash_size", "theta_numerator") if name in numbers]
        estimates = noisy.estimate(noisy.simulate(senders.sent.items, np.random.default_rng([3, draw, *key])))
        for found, shares in ((plain, estimates.probabilities), (consistent, estimates.consistent)):
            found.append((np.abs(shares - senders.truth)[top] / senders.truth[top]).mean())
    assert kept.estimate == "consistent"
    assert kept.top_20.relative_error == pytest.approx(np.mean(consistent))
    assert kept.top_20.relative_error_unbiased == pytest.approx(np.mean(plain))
    assert np.mean(consistent) < 0.9 * np.mean(plain)
    clear = RandomizedResponse(domain_size=600, epsilon=14.0)
    assert measure_utility(clear, senders, seed=3, repetitions=5)[0].top_20.relative_error < 0.05


def test_what_is_sent_is_compared_with_all_events_too():
    split = split_traces(crowd(300, 100))
    senders = Senders.of(split)
    whole = np.bincount(split.target.items, minlength=100) / split.target.events
    sent = np.bincount([split.target.items[begin] for begin in split.target.offsets[:-1]], minlength=100) / 300
    top = np.argsort(-whole, kind="stable")[:20]
    off = (np.abs(sent - whole)[top] / whole[top]).mean()
    kept = exact_utility(senders)
    assert (kept.top_20.relative_error, kept.estimate) == (0.0, "exact")
    assert kept.top_20.of_all == pytest.approx(off)
    assert off > 0.1
    assert exact_utility(senders, everything=True).top_20.of_all == 0.0
    noiseless = RandomizedResponse(domain_size=100, epsilon=60.0)
    assert measure_utility(noiseless, senders, seed=1, repetitions=2)[0].top_20.of_all == pytest.approx(off)


def test_another_collection_lies_in_the_range_shown():
    senders = Senders.of(split_traces(crowd(300, 100)))
    noisy = best_response(senders, 0.9)
    top = np.argsort(-senders.truth, kind="stable")[:20]
    inside = narrow = 0
    for seed in range(200):
        kept = measure_utility(noisy, senders, seed=seed, repetitions=5)[0]
        estimates = noisy.estimate(noisy.simulate(senders.sent.items, np.random.default_rng([9, seed])))
        shares = estimates.consistent if kept.estimate == "consistent" else estimates.probabilities
        off = float((np.abs(shares - senders.truth)[top] / senders.truth[top]).mean())
        range_ = kept.top_20
        inside += range_.low <= off <= range_.high
        half = (range_.high - range_.relative_error) / student(4) / math.sqrt(1.2)
        narrow += abs(off - range_.relative_error) <= 1.2 * half  # about what the extremes of five reach
    assert inside >= 175  # 95 % of 200, less five standard deviations
    assert narrow < 170  # power


def test_students_law_is_known():
    """Closed forms for one and two degrees of freedom, Gauss's law for many, and a simulation between."""
    assert student(1) == pytest.approx(math.tan(0.475 * math.pi))
    assert student(2) == pytest.approx(0.95 * math.sqrt(2.0 / (1.0 - 0.95**2)))
    assert student(2, 0.5) == pytest.approx(0.5 * math.sqrt(2.0 / 0.75))
    assert student(4000) == pytest.approx(1.96, abs=0.001)
    drawn = np.random.default_rng(3).standard_t(5, 200_000)
    assert (np.abs(drawn) <= student(5)).mean() == pytest.approx(0.95, abs=0.0025)  # five standard deviations


def test_documented_keys_in_strict_json():
    traces = crowd(60, 30)
    found = protect(traces, split_traces(traces), 0.7)
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert set(document) == {"protection", "protection_goal", "frontier"}
    for key, kind in (("protection", list[Row]), ("protection_goal", Goal), ("frontier", list[Point])):
        msgspec.convert(document[key], kind)
    assert document["protection_goal"]["bayes_error"] == 0.7
    assert isinstance(document["protection_goal"]["noise_needed"], bool)
    assert document["protection_goal"]["recommendation"] == found.goal.recommendation
    assert document["protection"][-1]["mechanism"]["kind"] == "glh"
    assert document["protection"][-1]["mechanism"]["hash_size"] >= 2


def test_few_items_need_no_noise_whatever_the_data():
    traces = crowd(200, 3)
    found = protect(traces, split_traces(traces), 0.9)
    assert found.goal.basis == "all data"
    assert found.goal.error_of_any_data == pytest.approx(1.0 - 3 / 200)
    assert found.recommended.name == "pseudonyms alone"
    assert found.rows[1].mechanism.theta == 1.0  # randomized response that need not lie
    assert found.to_json()["protection"][1]["mechanism"]["epsilon"] is None
    assert "no limit on epsilon" in found.rows[1].sentence


def test_people_who_are_alike_need_no_noise_in_these_data():
    items = np.tile(np.arange(30, dtype=np.uint32), 20)  # twenty people who all did all thirty items
    traces = Traces(np.arange(21) * 30, items, 30)
    found = protect(traces, split_traces(traces), 0.8)
    assert found.goal.pie_bits == pytest.approx(0.0, abs=1e-12)
    assert found.goal.error_known_all == pytest.approx(1.0 - 1 / 20)
    assert found.goal.basis == "these data"
    assert found.recommended.name == "pseudonyms alone"
    assert "No noise is needed" in found.goal.sentence


def test_a_measured_error_is_called_measured():
    rng = np.random.default_rng(8)  # habits that change between the halves: the attacker learned nothing of use
    halves = [rng.integers(0, 500, (100, 5)), rng.integers(500, 1000, (100, 5))]
    traces = Traces(np.arange(101) * 10, np.concatenate(halves, axis=1).ravel().astype(np.uint32), 1000)
    found = protect(traces, split_traces(traces), 0.8, scope=("profile",))
    assert found.goal.not_run == ["points"]
    assert found.goal.error_known_all < 0.8 <= found.goal.error_measured
    assert found.goal.basis == "measured"
    assert found.recommended.name == "pseudonyms alone"
    assert "This is measured, not guaranteed" in spaced(found.goal.sentence)
    # whoever knows the event that is sent finds nearly everybody: what earlier behaviour cannot do is no ground
    knowing = protect(traces, split_traces(traces), 0.8)
    assert knowing.goal.noise_needed
    assert knowing.goal.error_measured < 0.3
    assert knowing.goal.not_run == ["crowd", "joint"]


def test_known_events_of_what_is_sent_by_hand():
    """One event each: its senders are the candidates. Through noise, the guarantee holds for this attacker too."""
    traces = crowd(200, 300)
    split = split_traces(traces)
    found = protect(traces, split, 0.7, dataclasses.replace(FAST, seed=3))
    first = split.target.items[split.target.offsets[:-1]]
    plain, *noisy = found.rows
    assert 1.0 - plain.known_events.identification_error.value == pytest.approx(np.unique(first).size / 200)
    assert plain.known_events.identification_error.value < plain.attack.identification_error.value - 0.2
    for row in noisy:
        assert row.known_events.identification_error.high >= row.guarantee.bayes_error
        assert row.known_events.identification_error.value <= row.attack.identification_error.value + 0.05
        assert "By who knows events that are sent: " in row.sentence


@pytest.mark.parametrize("wanted", [0.98, 0.99])
def test_errors_beyond_guessing_are_refused(wanted):
    traces = crowd(50, 20)
    split = split_traces(traces)
    for ask in (lambda: protect(traces, split, wanted), lambda: frontier(split, wanted)):
        with pytest.raises(Unreachable, match=r"it is 0\.98 by chance; ask for less"):
            ask()


def test_bad_requests_are_refused():
    traces = crowd(50, 20)
    split = split_traces(traces)
    for wanted in (-0.1, 0, 0.0, 1, 1.0, 1.2, math.nan, "much", True):
        rule = re.escape(f"Parameter `protect` must be a share above 0 and below 1, got {wanted!r} instead.")
        for ask in (lambda: protect(traces, split, wanted), lambda: frontier(split, wanted)):  # noqa: B023
            with pytest.raises(InvalidParameter, match=rule):
                ask()
    assert wanted_error_value(0.5) == 0.5
    with pytest.raises(InvalidParameter, match="reports_per_user"):
        protect(traces, split, 0.5, reports_per_user=0)
    alike = Traces(np.arange(3) * 4, np.zeros(8, np.uint32), 1)
    with pytest.raises(InvalidInput, match="two different items"):
        protect(alike, split_traces(alike), 0.3)
    lonely = Traces(np.array([0, 4]), np.arange(4, dtype=np.uint32), 4)
    with pytest.raises(InvalidInput, match="two people"):
        protect(lonely, split_traces(lonely), 0.3)


def test_several_reports_keep_the_promise_for_all_of_them():
    traces = crowd(100, 50)
    found = protect(traces, split_traces(traces), 0.8, reports_per_user=3)
    for row in found.rows[1:]:
        assert row.reports_per_user == 3
        assert row.guarantee.bayes_error == pytest.approx(again(row).guarantee(users=100, reports=3).bayes_error)
        assert row.guarantee.bayes_error >= 0.8 - 1e-9
        assert row.attack.identification_error.value >= 0.8 - 5 * math.sqrt(0.16 / 100)
        assert "at most 3 reports each" in row.sentence
    assert found.goal.error_known_all is None


def test_who_holds_everybodys_reports_can_be_the_attacker():
    traces = crowd(100, 50)
    alone, store = (protect(traces, split_traces(traces), 0.6, leak=leak) for leak in ("alone", "all"))
    for found, one in zip(store.rows[1:], alone.rows[1:], strict=True):
        assert found.guarantee.all_reports.bayes_error >= 0.6 - 1e-9
        assert found.guarantee.all_reports.bayes_error == pytest.approx(0.6, abs=2e-3)  # no more noise than needed
        assert found.guarantee.bayes_error >= one.guarantee.bayes_error - 1e-9
    assert {point.mechanism for point in store.frontier} == {"rr", "glh"}
    assert store.goal.basis != "measured"


def test_a_tighter_budget_binds_both_mechanisms():
    traces = crowd(100, 50)
    found = protect(traces, split_traces(traces), 0.5, max_epsilon=1.0)
    for row in found.rows[1:]:
        assert row.mechanism.epsilon <= 1.0
        assert row.guarantee.bayes_error > 0.5


def test_neither_names_nor_threads_change_a_result():
    traces = crowd(80, 60)
    moved = traces.take(np.random.default_rng(3).permutation(80))
    first = protect(traces, split_traces(traces), 0.8, Run(seed=2, replicates=20, threads=1), also=(0.5,)).to_json()
    again = Run(seed=2, replicates=20, threads=2)
    assert protect(moved, split_traces(moved), 0.8, again, also=(0.5,)).to_json() == first
    other = protect(traces, split_traces(traces), 0.8, dataclasses.replace(FAST, seed=9)).to_json()
    assert other["protection"][1]["utility"] != first["protection"][1]["utility"]


def test_left_out_people_are_left_out_everywhere():
    traces = crowd(50, 20)
    items = np.concatenate((traces.items, np.array([7], np.uint32)))  # one event only: nothing to attack
    more = Traces(np.append(traces.offsets, traces.events + 1), items, 20)
    split = split_traces(more)
    assert split.dropped_users == 1
    assert protect(more, split, 0.7).to_json() == protect(traces, split_traces(traces), 0.7).to_json()


def test_the_frontier_recommends_what_the_table_does():
    points = frontier(split_traces(crowd(50, 30)), 0.6, repetitions=5)
    wanted = sorted({point.wanted_error for point in points})
    assert wanted == [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]  # 0.99 is beyond guessing among fifty
    assert len(points) == 2 * len(wanted)
    chosen = [point for point in points if point.recommended]
    at_goal = [point for point in points if point.wanted_error == 0.6]
    least = min(1.0 - point.list_error for point in at_goal)
    allowed = [point for point in at_goal if 1.0 - point.list_error <= 2.0 * least and point.useful]
    assert chosen == sorted(allowed, key=lambda point: point.relative_error_top_20)[:1]
    for kind in ("rr", "glh"):
        curve = [point for point in points if point.mechanism == kind]
        assert all(point.bayes_error >= point.wanted_error - 1e-9 for point in curve)
        assert curve[-1].relative_error_top_20 > 2 * curve[0].relative_error_top_20
        assert all((point.hash_size is None) == (kind == "rr") for point in curve)
        budgets = [math.inf if point.epsilon is None else point.epsilon for point in curve]
        assert all(a > b for a, b in itertools.pairwise(budgets))
    document = [point.to_json() for point in points]
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_a_random_event_that_says_little_does_not_excuse_a_first_event_that_says_all():
    """Everybody begins with an event of her own and then does what all do: the first event names her."""
    people, length = 60, 30
    rows = np.full((people, length), people, np.uint32)
    rows[:, 0] = np.arange(people)
    traces = Traces(np.arange(people + 1) * length, rows.ravel(), people + 1)
    split = split_traces(traces, SplitRule(rule="history", train_events=5))
    found = protect(traces, split, 0.9, repetitions=2)
    assert found.goal.error_known_all > 0.9  # an event drawn at random is nearly always the common one
    assert found.goal.error_measured == 0.0
    assert found.goal.noise_needed
    # and the number for a random event, which the attack beats, is not shown as if it bound the attack
    assert "That is no bound here: the attack is on the first event of each person" in found.goal.details
    assert "which the attacker already knows" in found.goal.details
    assert "exactly" not in found.goal.details
    assert "Fano" not in found.goal.details
    assert "habits" not in found.rows[0].sentence


def test_a_number_for_a_random_event_is_called_that():
    traces = crowd(200, 300)
    found = protect(traces, split_traces(traces), 0.9)
    assert not found.goal.bound_is_beaten(found.rows[0].attack.identification_error.value)
    text = spaced(found.goal.details)
    assert f"exactly {shown(found.goal.error_known_all)} knowing all habits" in text
    assert "One random event of a person carries" in text
    assert "is on the first event of each person, not a random one" in text
    assert "already knows" not in text
    assert "from a random event" in found.rows[0].sentence


def test_a_bound_that_is_beaten_is_no_ground():
    """The attack errs in half the cases, which meets the goal; an event at random promises more, but is not sent."""
    people, length = 60, 30
    rows = np.full((people, length), people, np.uint32)
    rows[: people // 2, 0] = np.arange(people // 2)
    traces = Traces(np.arange(people + 1) * length, rows.ravel(), people + 1)
    split = split_traces(traces, SplitRule(rule="history", train_events=5))
    found = protect(traces, split, 0.3, repetitions=2)
    error = found.rows[0].attack.identification_error
    assert 0.3 < error.low < error.value < 0.9 < found.goal.error_known_all
    assert found.goal.basis == "measured"


def test_whether_the_first_event_was_seen():
    traces = crowd(50, 20)
    assert Senders.of(split_traces(traces, SplitRule(rule="history", train_events=2))).first_seen
    assert Senders.of(split_traces(traces, SplitRule(knowledge="maximum"))).first_seen
    assert not Senders.of(split_traces(traces)).first_seen


def table(traces: Traces) -> pa.Table:
    people = np.repeat(np.arange(traces.users), np.diff(traces.offsets))
    return pa.table({"user": people, "item": traces.items, "time": 1_600_000_000 + np.arange(traces.events)})


def test_events_in_protection_out(tmp_path):
    """What an assessment of the same table finds as it is, and what its protection finds, in one call."""
    traces = crowd(60, 30)
    events = table(traces)
    found = entropie.protect(events, 0.6, matchers=["visit", "bayes"], seed=3, threads=1)
    plain = entropie.assess(events, matchers=["visit", "bayes"], known_events=[], seed=3, threads=1, control=False)
    best = as_it_is_of(plain.attackers)
    split = split_traces(traces)
    same = protect_split(traces, split, Wanted(0.6), Run(seed=3, threads=1), best)
    assert found.to_json() == same.to_json()
    assert repr(found).splitlines()[0] == "Protection of 60 people"
    assert len(repr(found)) < 1500
    assert found._repr_html_().count("<tr>") == 5
    written = found.write(tmp_path / "new")
    assert json.loads(written.read_text(encoding="utf-8")) == json.loads(json.dumps(found.to_json()))
    with pytest.raises(InvalidParameter, match=r"`error` must be a share above 0 and below 1, got 1\.5"):
        entropie.protect(events, 1.5)
