"""Matchers: their definitions pair by pair, their limits, and reference values on real check-ins."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from attack_oracles import (
    SEEDS,
    assert_outcome,
    dense_scores,
    markov_score,
    random_traces,
    rows_of,
    visit_score,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.matchers import MATCHERS, matcher
from entropie.attack.matchers.bayes import Bayes
from entropie.attack.scoring import attack
from entropie.data.events import read_events
from entropie.data.filter import keep_active_users
from entropie.data.split import split_traces
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter
from entropie.request import Source

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
SHAPES = (st.integers(1, 14), st.integers(0, 12), st.integers(1, 8))


def halves(seed: int, users: int, longest: int, domain: int) -> tuple[Traces, Traces]:
    rng = np.random.default_rng(seed)
    return random_traces(rng, users, longest, domain), random_traces(rng, users, longest, domain)


def all_pairs(train: Traces, target: Traces, score) -> np.ndarray:  # type: ignore[no-untyped-def]
    return np.array([[score(user, asked) for user in rows_of(train)] for asked in rows_of(target)])


@given(SEEDS, *SHAPES)
@settings(max_examples=40, deadline=None)
def test_markov_and_visit(seed: int, users: int, longest: int, domain: int) -> None:
    train, target = halves(seed, users, longest, domain)
    assert_outcome(attack(matcher("markov")(train, target), threads=1), all_pairs(train, target, markov_score))
    assert_outcome(attack(matcher("visit")(train, target), threads=1), all_pairs(train, target, visit_score))


@given(SEEDS, *SHAPES)
@settings(max_examples=40, deadline=None)
def test_angles(seed: int, users: int, longest: int, domain: int) -> None:
    train, target = halves(seed, users, longest, domain)

    def angle(one: dict[int, float], other: dict[int, float]) -> float:
        lengths = [math.sqrt(math.fsum(v * v for v in vector.values())) for vector in (one, other)]
        product = math.fsum(v * other[f] for f, v in one.items() if f in other)
        return product / (lengths[0] * lengths[1]) if all(lengths) else 0.0

    holders = Counter(x for row in rows_of(train) for x in set(row))

    def rare(counts: Counter[int]) -> dict[int, float]:
        return {x: c * math.log(users / max(holders[x], 1)) for x, c in counts.items()}

    plain = all_pairs(train, target, lambda a, b: angle(Counter(a), Counter(b)))
    weighed = all_pairs(train, target, lambda a, b: angle(rare(Counter(a)), rare(Counter(b))))
    np.testing.assert_allclose(dense_scores(matcher("cosine")(train, target)), plain, atol=1e-12)
    np.testing.assert_allclose(dense_scores(matcher("tfidf")(train, target)), weighed, atol=1e-12)


@given(SEEDS, *SHAPES, st.floats(0.1, 1000))
@settings(max_examples=40, deadline=None)
def test_bayes_is_a_likelihood_ratio(seed: int, users: int, longest: int, domain: int, smoothing: float) -> None:
    train, target = halves(seed, users, longest, domain)
    total = Counter(train.items.tolist())

    def ratio(user: list[int], asked: list[int]) -> float:
        counts = Counter(user)
        score = 0.0
        for x in asked:
            p = total[x] / train.events if train.events else 0.0
            smoothed = (counts[x] + smoothing * p) / (len(user) + smoothing)
            score += math.log(smoothed / p) if p else math.log(smoothing / (len(user) + smoothing))
        return score

    found = attack(Bayes(smoothing)(train, target), threads=1)
    assert_outcome(found, all_pairs(train, target, ratio))


@given(SEEDS, *SHAPES)
@settings(max_examples=25, deadline=None)
def test_smoothing_is_the_most_likely(seed: int, users: int, longest: int, domain: int) -> None:
    train, _ = halves(seed, users, longest, domain)
    total = Counter(train.items.tolist())

    def likelihood(smoothing: float) -> float:
        gain = 0.0
        for row in rows_of(train):
            for x, c in Counter(row).items():
                gain += c * math.log((c - 1 + smoothing * total[x] / train.events) / (len(row) - 1 + smoothing))
        return gain

    chosen = Bayes().population(train, train).settings
    grid = [2.0 ** (quarter / 4) for quarter in range(-8, 81)]
    if max(map(len, rows_of(train)), default=0) < 2:
        assert chosen == 32.0
    else:
        assert chosen in grid
        assert likelihood(chosen) >= max(map(likelihood, grid)) - 1e-9 * train.events


@pytest.mark.parametrize("name", MATCHERS)
def test_a_verbatim_release_is_found_nearly_always(name: str) -> None:
    released = random_traces(np.random.default_rng(3), 120, 40, 500, shortest=20)
    assert attack(matcher(name)(released, released)).credit.mean() > 0.98


def test_names() -> None:
    assert matcher("visit") is MATCHERS["visit"]
    with pytest.raises(InvalidParameter, match="one of markov, visit"):
        matcher("nobody")
    with pytest.raises(InvalidParameter, match="`smoothing` must be a positive number, got 0"):
        Bayes(0)


def equal_error_rate(found) -> float:  # type: ignore[no-untyped-def]
    genuine = np.sort(found.law.genuine)
    below = np.concatenate(([0], np.cumsum(found.law.counts)))
    false_accept = 1 - below[np.searchsorted(found.law.values, genuine)] / below[-1]
    false_reject = np.searchsorted(genuine, genuine) / genuine.size
    place = np.argmin(np.abs(false_accept - false_reject))
    return float(false_accept[place] + false_reject[place]) / 2


def real_halves(city: str) -> tuple[Traces, Traces]:
    path = DATA / f"foursquare_{city}.parquet"
    if not path.exists():
        pytest.skip("the shared check-ins are not here")
    split = split_traces(keep_active_users(read_events(Source(path)).traces).traces)
    return split.train, split.target


@pytest.mark.parametrize(
    ("city", "name", "error", "equal_error"),
    [
        ("nyc", "markov", 0.6281847565345025, 0.2222),
        ("nyc", "visit", 0.49867637326273995, 0.1639),
        ("saopaulo", "markov", 0.3760053654575358, 0.1110),
        ("saopaulo", "visit", 0.30759104870557263, 0.1074),
    ],
)
def test_reference_values(city: str, name: str, error: float, equal_error: float) -> None:
    found = attack(MATCHERS[name](*real_halves(city)))
    assert abs(1 - found.credit.mean() - error) < 1e-9
    assert abs(equal_error_rate(found) - equal_error) < 1e-3  # published to four places, thresholds at genuine scores


@pytest.mark.parametrize(("city", "sheet", "stronger"), [("nyc", 0.468, 0.44), ("saopaulo", 0.28, 0.24)])
def test_stronger_than_the_sheet(city: str, sheet: float, stronger: float) -> None:
    train, target = real_halves(city)
    if city == "nyc":
        found = attack(Bayes(100.0)(train, target))
        assert abs(1 - found.credit.mean() - sheet) < 5e-4
        assert abs(equal_error_rate(found) - 0.096) < 1e-3
    assert 1 - attack(MATCHERS["pitman_yor"](train, target)).credit.mean() < stronger
