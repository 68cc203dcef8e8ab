"""Randomized response with given noise: its law, what it guarantees against enumeration, and what it estimates."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.store import attack_store
from entropie.cli.main import run
from entropie.errors import EntropieError, InvalidInput, InvalidParameter
from entropie.mechanisms.noise_response import NoiseResponse
from entropie.mechanisms.parameters import from_document, to_document
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.theory import channel, randomized_response
from entropie.theory.unequal_noise import capacity_bits

NOISE = [0.5, 0.3, 0.15, 0.05]
MADE = NoiseResponse(noise=NOISE, epsilon=2.0)


def law(theta: float, noise: list[float]) -> np.ndarray:
    return theta * np.eye(len(noise)) + (1 - theta) * np.array([noise] * len(noise))


def test_the_law_is_the_definition() -> None:
    assert np.allclose(MADE.matrix(), law(MADE.theta, NOISE), atol=1e-15)
    assert channel.epsilon(law(MADE.theta, NOISE)) == pytest.approx(MADE.epsilon, rel=1e-12)
    w = 1 + MADE.theta / (1 - MADE.theta) / 0.05
    assert MADE.epsilon == pytest.approx(math.log(w), rel=1e-12)
    assert MADE.epsilon <= 2.0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(1e-6, 1.0), min_size=2, max_size=40), st.floats(0.0, 12.0))
def test_the_rarest_noise_is_no_rarer_than_was_asked_for(weights: list[float], epsilon: float) -> None:
    """So that at a given theta epsilon is never above that of the noise asked for; given epsilon, it is kept."""
    shares = np.array(weights) / np.sum(weights)
    made = NoiseResponse(noise=shares, epsilon=epsilon)
    assert sum(made.noise_numerators) == 2**64
    exact = [Fraction(one) / sum(map(Fraction, shares.tolist())) for one in shares.tolist()]
    for numerator, share in zip(made.noise_numerators, exact, strict=True):
        assert abs(numerator - share * 2**64) <= 1
    least = min(exact) * 2**64
    assert min(made.noise_numerators) >= (least if exact.count(min(exact)) == 1 else math.floor(least))
    assert made.epsilon <= epsilon
    more = made.with_theta(Fraction(min(2**64, made.theta_numerator + 1), 2**64))
    assert more.epsilon > epsilon * (1 - 1e-12)  # theta is the largest that keeps it
    assert from_document(to_document(made)) == made


@pytest.mark.parametrize("noise", [NOISE, [0.25] * 4, [0.97, 0.01, 0.01, 0.01], [0.5, 0.5, 0.0, 0.0]])
@pytest.mark.parametrize("theta", [0.01, 0.3, 0.9])
def test_information_is_the_capacity_of_the_worst_items(noise: list[float], theta: float) -> None:
    Q, made = law(theta, noise), NoiseResponse.from_theta(noise=noise, theta=theta)
    for users in (1, 2, 3, 4, 9):
        sets = itertools.combinations(range(4), min(users, 4))
        told = max(channel.capacity(Q[list(some)], 1e-11).low_bits for some in sets)
        assert made.bits_alone(users) == pytest.approx(told, abs=2e-11)
        named = max(Q[list(some)].max(axis=0).sum() for some in itertools.combinations(range(4), min(users, 4))) / users
        assert float(made.success_alone(users)) == pytest.approx(named, rel=1e-12)


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.5), (5, 1.0), (1000, 3.0), (7, 1e-3), (3, 20.0), (60_000, 9.0)])
def test_uniform_noise_is_randomized_response(k: int, epsilon: float) -> None:
    made, plain = (
        NoiseResponse(noise=np.full(k, 1 / k), epsilon=epsilon),
        RandomizedResponse(domain_size=k, epsilon=epsilon),
    )
    assert made.theta == pytest.approx(plain.theta, rel=1e-11)
    assert made.bits_alone(10**6) == pytest.approx(randomized_response.alpha_bits(10**6, k, epsilon), rel=1e-9)
    ours, theirs = made.guarantee(users=1000), plain.guarantee(users=1000)
    assert ours.bayes_error == pytest.approx(theirs.bayes_error, rel=1e-12)
    assert ours.all_reports.posterior_max == pytest.approx(theirs.all_reports.posterior_max, rel=1e-9)


def test_without_noise_and_without_truth() -> None:
    assert capacity_bits(1.0, np.zeros(8)) == pytest.approx(3.0, rel=1e-12)
    assert capacity_bits(0.0, np.full(8, 0.125)) == 0.0
    assert NoiseResponse.from_theta(noise=NOISE, theta=0.0).epsilon == 0.0
    assert NoiseResponse.from_theta(noise=NOISE, theta=1.0).epsilon == math.inf


@pytest.mark.parametrize("theta", [0.0, 1e-15, 1e-6, 0.5, 1 - 1e-12, 1.0])
@pytest.mark.parametrize("noise", [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1 - 2e-15, 1e-15, 1e-15]])
def test_sane_at_the_ends(theta: float, noise: list[float]) -> None:
    made = NoiseResponse.from_theta(noise=noise, theta=theta)
    told = [made.bits_alone(users) for users in (1, 2, 3, 10**9)]
    assert told == sorted(told)
    for users, bits in zip((1, 2, 3, 10**9), told, strict=True):
        found = made.guarantee(users=users, reports=3)
        assert 0.0 <= bits <= math.log2(min(users, 3)) + 1e-12
        assert bits <= found.alpha_bits + 1e-12
        assert 1 / users <= found.all_reports.posterior_max <= 1.0
    assert set(made.simulate([0, 1, 2], np.random.default_rng(1)).tolist()) <= {0, 1, 2}


@pytest.mark.parametrize("n", [2, 3, 4])
def test_certainty_with_all_reports_is_attained(n: int) -> None:
    """The two items that noise names least: one person has one of them, all others the other, and all report it."""
    told = attack_store(MADE, [3] + [2] * (n - 1), np.array([3] + [2] * (n - 1), np.uint64))
    first, second = (1 + MADE.theta / (1 - MADE.theta) / noise for noise in (0.05, 0.15))
    assert told.certainty == pytest.approx(first * second / (first * second + n - 1), rel=1e-9)
    found = MADE.guarantee(users=n)
    assert found.all_reports.posterior_max == pytest.approx(told.certainty, rel=1e-9)
    assert MADE.certainty_alone(n) == pytest.approx(first / (first + n - 1), rel=1e-9)


@pytest.mark.parametrize("n", [2, 3])
def test_no_store_is_surer(n: int) -> None:
    """Every assignment of items and every outcome."""
    bound = MADE.guarantee(users=n).all_reports
    Q = MADE.matrix()
    for data in itertools.combinations_with_replacement(range(4), n):
        success = 0.0
        for sent in itertools.product(range(4), repeat=n):
            told = attack_store(MADE, data, np.array(sent, np.uint64))
            assert told.certainty <= bound.posterior_max * (1 + 1e-9)
            success += told.expected * math.prod(Q[x, y] for x, y in zip(data, sent, strict=True))
        assert success <= 1 - bound.bayes_error + 1e-12


def test_estimates_of_each_item() -> None:
    """Unbiased with the stated variance: 400 rounds, z = 5; taking off uniform noise instead would be noticed."""
    shares, n, rounds = np.array([0.1, 0.2, 0.3, 0.4]), 2000, 400
    rng, data = np.random.default_rng(8), np.repeat(np.arange(4), (shares * n).astype(int))
    found = np.array([MADE.estimate(MADE.simulate(data, rng)).probabilities for _ in range(rounds)])
    spread = MADE.variance(shares, n)
    assert np.all(np.abs(found.mean(axis=0) - shares) < 5 * np.sqrt(spread / rounds))
    wrong = found + (MADE._named - (1 - MADE.theta) / 4) / MADE.theta
    assert np.any(np.abs(wrong.mean(axis=0) - shares) > 5 * np.sqrt(spread / rounds))
    noise_alone = found.var(axis=0)  # people are given: less than the variance of a sample of people
    assert np.all(noise_alone < spread * 1.4)


def test_what_estimates_say() -> None:
    counts = [500, 300, 150, 1050]
    reports = np.repeat(np.arange(4, dtype=np.uint64), counts)
    found = MADE.estimate(reports)
    low, high = found.intervals()
    assert np.all((low <= np.clip(found.probabilities, 0, 1)) & (np.clip(found.probabilities, 0, 1) <= high))
    assert found.stands_out().tolist() == [False, False, False, True]
    assert found.top(1).tolist() == [3]
    assert found.consistent.sum() == pytest.approx(1.0)
    assert found.consistent.min() >= 0.0
    likeliest = float(np.array(counts) @ np.log(MADE.theta * found.consistent + MADE._named))
    for other in np.random.default_rng(1).dirichlet(np.ones(4), 500):
        assert likeliest >= float(np.array(counts) @ np.log(MADE.theta * other + MADE._named)) - 1e-9
    some = MADE.estimate(reports, items=[1, 3])
    assert np.allclose(some.probabilities, found.probabilities[[1, 3]])
    assert np.allclose(some.intervals()[0], low[[1, 3]])
    assert np.all(found.standard_errors > 0.0)
    with pytest.raises(InvalidInput, match="all items"):
        _ = some.consistent
    quiet = NoiseResponse.from_theta(noise=[0.5, 0.5, 0.0], theta=0.4).estimate(np.array([0, 0, 1, 2], np.uint64))
    assert quiet.stands_out().tolist() == [False, False, True]
    assert quiet.consistent.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "noise", [[], [1.0], [0.5, 0.6], [0.5, -0.5, 1.0], [float("nan"), 1.0], [[0.5, 0.5]], ["a", "b"], None]
)
def test_what_is_no_distribution_is_refused(noise: object) -> None:
    with pytest.raises(EntropieError):
        NoiseResponse(noise=noise, epsilon=1.0)


def test_refusals_say_why() -> None:
    with pytest.raises(InvalidParameter, match="above 0 for every item"):
        NoiseResponse(noise=[0.5, 0.5, 0.0], epsilon=1.0)
    with pytest.raises(InvalidParameter, match="each of 5 items"):
        NoiseResponse(noise=NOISE, epsilon=1.0, domain_size=5)
    document = json.loads(to_document(MADE))
    for change in (
        {"noise_numerators": ["1"] * 4},
        {"noise_numerators": document["noise_numerators"][:3]},
        {"noise_numerators": "1"},
        {"theta_numerator": str(2**64 + 1)},
    ):
        with pytest.raises(EntropieError):
            from_document(json.dumps({**document, **change}))


def test_from_the_command_line(tmp_path, capsys) -> None:
    (tmp_path / "noise.csv").write_text("0.5,0.3,0.15,0.05\n")
    (tmp_path / "items.csv").write_text("item\n" + "3\n" * 300)
    mechanism = ["--mechanism", "noise", "--noise", str(tmp_path / "noise.csv"), "--domain", "4", "--epsilon", "2"]
    assert run(["guarantee", *mechanism, "--users", "100", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["bayes_error"] == pytest.approx(MADE.guarantee(users=100).bayes_error)
    out = str(tmp_path / "reports.csv")
    sent = ["obfuscate", str(tmp_path / "items.csv"), "--column", "item", "--out", out, "--seed", "1", "--json"]
    assert run([*sent, *mechanism]) == 0
    capsys.readouterr()
    assert run(["estimate", out, "--json"]) == 0
    shares = {row["code"]: row["share"] for row in json.loads(capsys.readouterr().out)["estimates"]}
    assert shares[3] > 0.7
    (tmp_path / "noise.csv").write_text("0.5,0.5\n0.5,0.5\n")
    assert run(["guarantee", *mechanism, "--users", "100"]) == 2
    assert "--noise takes one row" in capsys.readouterr().err
    assert run(["guarantee", "--mechanism", "noise", "--domain", "4", "--epsilon", "2", "--users", "9"]) == 2
    assert "needs --noise" in capsys.readouterr().err
