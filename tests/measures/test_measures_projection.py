from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures import projection
from entropie.measures.cells import log_gamma
from entropie.measures.projection import FURTHEST, RankModel, Ranks, fitted, project

Z = 5.0  # a correct estimate fails a check once in 1.7 million


def exact_share(a: Fraction, b: Fraction, population: int, guesses: int) -> Fraction:
    """Pr(rank < guesses) by adding up the beta-binomial law in whole numbers."""

    def rising(x: Fraction, times: int) -> Fraction:
        return math.prod((x + j for j in range(times)), start=Fraction(1))

    trials = population - 1
    return sum(
        (
            math.comb(trials, rank) * rising(a, rank) * rising(b, trials - rank) / rising(a + b, trials)
            for rank in range(guesses)
        ),
        start=Fraction(0),
    )


def drawn_ranks(rng: np.random.Generator, people: int, model: RankModel) -> NDArray[np.int64]:
    """Ranks as the model says they come about: a chance of being beaten per person, then strangers one by one."""
    informed = rng.random(people) < model.informed
    beaten = np.where(informed, rng.beta(model.a, model.b, people), rng.random(people))
    return np.asarray((rng.random((people, people - 1)) < beaten[:, None]).sum(axis=1))


def some_ranks(rng: np.random.Generator, people: int, model: RankModel) -> Ranks:
    informed = rng.random(people) < model.informed
    beaten = np.where(informed, rng.beta(model.a, model.b, people), rng.random(people))
    ranks = rng.binomial(people - 1, beaten)
    return Ranks.of(ranks, ranks, people)


small = st.fractions(Fraction(1, 20), 8, max_denominator=20)


@settings(deadline=None, max_examples=60)
@given(a=small, b=small, population=st.integers(1, 40), guesses=st.integers(1, 12))
def test_closed_form_is_the_sum(a: Fraction, b: Fraction, population: int, guesses: int) -> None:
    exact = Fraction(1) if guesses >= population else exact_share(a, b, population, guesses)
    assert RankModel(float(a), float(b)).share(population, guesses) == pytest.approx(float(exact), rel=1e-10)
    mixed = 0.75 * float(exact) + 0.25 * min(1.0, guesses / population)
    assert RankModel(float(a), float(b), 0.75).share(population, guesses) == pytest.approx(mixed, rel=1e-10)


@pytest.mark.parametrize("population", [10**6, 10**9, 10**15])
def test_large_populations_keep_their_digits(population: int) -> None:
    with mpmath.workdps(50):
        exact = mpmath.beta("0.1", mpmath.mpf("2.5") + population - 1) / mpmath.beta("0.1", "2.5")
        assert RankModel(0.1, 2.5).share(population) == pytest.approx(float(exact), rel=1e-9)


@settings(deadline=None, max_examples=100)
@given(st.floats(1e-3, 50.0), st.floats(1e-2, 500.0), st.floats(0.0, 1.0), st.integers(2, 10**6))
def test_shares_fall_with_people_and_rise_with_guesses(a: float, b: float, informed: float, population: int) -> None:
    model = RankModel(a, b, informed)
    assert model.share(1) == 1.0
    assert model.share(2 * population) <= model.share(population) + 1e-12
    assert model.share(population, 1) <= model.share(population, 2) + 1e-12 <= 1.0 + 1e-9


@settings(deadline=None, max_examples=100)
@given(st.floats(1e-4, 1e9))
def test_log_gamma(x: float) -> None:
    assert float(log_gamma(x)) == pytest.approx(math.lgamma(x), rel=1e-11, abs=1e-11)


def test_ties_and_draws_count_in_parts() -> None:
    """Two people: one first, one tied with two strangers behind one; with two draws each counts for half."""
    one = Ranks.of([0, 1], [0, 3], 5)
    assert one.weights.tolist() == pytest.approx([1, 1 / 3, 1 / 3, 1 / 3, 0])
    two = Ranks.of([[0, 2], [1, 1]], [[0, 2], [3, 1]], 5)
    assert two.weights.tolist() == pytest.approx([1 / 2, 1 / 6 + 1 / 2, 1 / 6 + 1 / 2, 1 / 6, 0])
    assert two.people == pytest.approx(2.0)


def test_wide_bins_keep_every_person_and_the_share_found() -> None:
    rng = np.random.default_rng(0)
    ranks = np.minimum(rng.geometric(0.001, 50_000) - 1, 49_999)
    found = Ranks.of(ranks, ranks, 50_000)
    assert found.before.size < 300
    assert found.people == pytest.approx(50_000)
    assert found.found == pytest.approx(np.mean(ranks == 0))
    assert found.before @ found.weights == pytest.approx(ranks.sum(), rel=0.01)


MODELS = [RankModel(0.15, 2.0), RankModel(0.1, 5.0, 0.85), RankModel(0.6, 1.5)]


@pytest.mark.parametrize("model", MODELS)
def test_simulated_people_give_back_the_share_among_sixteen_times_as_many(model: RankModel) -> None:
    """20,000 people among 500: the truth is known exactly, and at N = m the curve is the share measured.

    Tolerance: Z standard errors of the share measured, doubled for the fit; the priors weigh 1/20,000 of it.
    """
    rng = np.random.default_rng(round(100 * model.b))
    people, targets = 500, 20_000
    informed = rng.random(targets) < model.informed
    beaten = np.where(informed, rng.beta(model.a, model.b, targets), rng.random(targets))
    ranks = rng.binomial(people - 1, beaten)
    found = fitted(Ranks.of(ranks, ranks, people))
    for population in (people, 16 * people):
        truth = model.share(population)
        tolerance = 2.0 * Z * math.sqrt(truth * (1.0 - truth) / targets)
        assert found.share(population) == pytest.approx(truth, abs=tolerance)
    wrong = RankModel(1.3 * model.a, model.b, model.informed).share(16 * people)  # power
    assert abs(found.share(16 * people) - wrong) > 2.0 * Z * math.sqrt(wrong * (1.0 - wrong) / targets)


def test_strangers_one_by_one_give_the_share_of_the_model() -> None:
    """No formula on the one side: every stranger is drawn."""
    rng, model, people = np.random.default_rng(5), RankModel(0.3, 2.0, 0.9), 60
    ranks = np.concatenate([drawn_ranks(rng, people, model) for _ in range(200)])
    for guesses in (1, 5):
        share, found = model.share(people, guesses), float(np.mean(ranks < guesses))
        assert abs(found - share) < Z * math.sqrt(share * (1.0 - share) / ranks.size)
        assert abs(found - 1.1 * share) > Z * math.sqrt(share * (1.0 - share) / ranks.size)  # power


def test_intervals_hold_the_truth() -> None:
    """At least 95 % nominal, as they are widened for what independent ranks do not have; 30 samples of 150 people."""
    rng, model, hits, shrunk = np.random.default_rng(2), RankModel(0.15, 2.0, 0.95), 0, 0
    for _ in range(30):
        made = project(some_ranks(rng, 150, model), 1200, rng, replicates=40).reidentified
        assert made is not None
        truth = model.share(1200)
        hits += made.low <= truth <= made.high
        shrunk += abs(made.value - truth) <= 0.25 * (made.high - made.low) / 2.0
    assert hits >= 30 * (0.95 - Z * math.sqrt(0.95 * 0.05 / 30))
    assert shrunk < 30 * (0.95 - Z * math.sqrt(0.95 * 0.05 / 30))  # power


def test_the_lower_end_allows_for_a_share_that_falls_ever_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Log-normal chances of being beaten, 300 people of 4,800: both ways say too much, and widths by chance are small."""

    def beaten(rng: np.random.Generator, people: int) -> NDArray[np.float64]:
        return np.asarray(np.minimum(1.0, np.exp(rng.normal(-8.0, 3.0, people))))

    truth = float(np.mean((1.0 - beaten(np.random.default_rng(0), 200_000)) ** 4799))
    rng = np.random.default_rng(5)
    before = rng.binomial(299, beaten(rng, 300))

    def low() -> float:
        made = project(Ranks.of(before, before, 300), 4800, np.random.default_rng(1), replicates=20).reidentified
        assert made is not None
        assert made.value > 1.5 * truth
        return made.low

    assert low() < truth
    monkeypatch.setattr(projection, "_steeper", lambda ranks, population: (1.0, 1.0))
    assert low() > truth + 0.02  # power


def test_where_everybody_is_found_the_lower_end_allows_for_near_misses() -> None:
    """50 of 50 first: a law under which one in twenty would not have been among so many leaves few of 1,600."""
    ranks = np.zeros(50, dtype=np.int64)
    made = project(Ranks.of(ranks, ranks, 50), 1600, np.random.default_rng(0), replicates=20).reidentified
    assert made is not None
    beaten = 1.0 - 0.95 ** (1.0 / 49.0)
    assert made.low < (1.0 - beaten) ** 1599
    near = project(Ranks.of(ranks, ranks, 50), 50, np.random.default_rng(0), replicates=20).reidentified
    assert near is not None
    assert near.low > 0.85  # power: among the people at hand Wilson's lower end, 0.93, less the shared crowd


def test_what_the_curve_missed_at_hand_widens_the_side_it_missed_on() -> None:
    """Three people in four are found among any number, the others by chance: a law of ranks with a step.

    From a part of the people the curve says less than is found, and says less than the truth among more people.
    """
    rng, people = np.random.default_rng(8), 60
    ranks = np.where(np.arange(people) % 4 > 0, 0, rng.integers(0, people, people))
    made = project(Ranks.of(ranks, ranks, people), 16 * people, rng, replicates=20)
    assert made.fit is not None
    assert made.reidentified is not None
    missed = (made.fit.half_sample_found - made.fit.eighth_sample_predicted) / math.log2(people / 21)
    assert missed > 0.01
    assert made.reidentified.high >= made.reidentified.value + 2.0 * missed * 4.0
    assert made.reidentified.value < 0.75 < made.reidentified.high


def test_nothing_is_projected_where_parts_of_the_crowd_do_not_predict_the_whole() -> None:
    """Half of 2,000 people have forty doubles each, the others none: the curve has a step that no beta law has."""
    rng = np.random.default_rng(3)
    ranks = np.where(rng.random(2000) < 0.5, rng.binomial(1999, 0.02, 2000), 0)
    refused = project(Ranks.of(ranks, ranks, 2000), 20_000, rng)
    assert refused.reidentified is None
    assert refused.fit is not None
    assert not refused.fit.good
    assert refused.to_json()["reason"] == "the curve does not predict what was found"
    smooth = project(some_ranks(rng, 2000, MODELS[0]), 20_000, rng)
    assert smooth.fit is not None
    assert smooth.fit.good


@pytest.mark.parametrize("rank", [0, 199])
def test_everybody_and_nobody_re_identified_still_have_an_interval(rank: int) -> None:
    ranks = np.full(200, rank)
    made = project(Ranks.of(ranks, ranks, 200), 2000, np.random.default_rng(0)).reidentified
    assert made is not None
    assert 0.0 <= made.low <= made.value <= made.high <= 1.0
    assert made.high - made.low > 0.002


def test_too_few_and_too_far_are_refused_with_a_reason() -> None:
    rng = np.random.default_rng(0)
    few = project(Ranks.of([0] * 10, [0] * 10, 10), 100, rng)
    assert (few.reidentified, few.reason) == (None, "fewer than 20 people")
    far = project(some_ranks(rng, 100, MODELS[0]), 100 * FURTHEST + 1, rng)
    assert far.reidentified is None
    with pytest.raises(InvalidParameter, match="population"):
        project(some_ranks(rng, 100, MODELS[0]), 99, rng)
    with pytest.raises(InvalidInput, match="Ranks"):
        Ranks.of([0, 5], [0, 5], 5)


def test_the_same_seed_gives_the_same_projection() -> None:
    ranks = some_ranks(np.random.default_rng(1), 100, MODELS[1])
    first, again = (project(ranks, 800, np.random.default_rng(7), replicates=50) for _ in range(2))
    assert first == again
