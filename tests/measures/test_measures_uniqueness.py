"""A population of which only the size is known: Pitman-Yor against its own definition, estimates against known truths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from entropie.measures.pitman_yor import PitmanYor, _log_likelihood
from entropie.measures.uniqueness import estimate, estimated_risks, expected_k_map


def drawn_partition(discount: float, strength: float, people: int, rng: np.random.Generator) -> np.ndarray:
    """Person after person joins a class or opens one, as the process is defined."""
    sizes: list[int] = []
    for person in range(people):
        place = rng.random() * (strength + person)
        for number, size in enumerate(sizes):
            place -= size - discount
            if place < 0:
                sizes[number] += 1
                break
        else:
            sizes.append(1)
    return np.array(sizes)


def census(rng: np.random.Generator, people: int) -> np.ndarray:
    """The class of everybody: age, sex, a town of a heavy tail and a job."""
    age, sex = (rng.beta(1.3, 1.8, people) * 90).astype(np.int64), rng.integers(0, 2, people)
    town, job = rng.zipf(1.6, people) % 500, rng.geometric(0.1, people)
    return np.unique(np.stack((age, sex, town, job)), axis=1, return_inverse=True)[1].ravel()


@pytest.mark.parametrize(("a", "b"), [(0.4, 3.0), (0.95, 5.0), (2.5, 9.0)])
def test_likelihood_is_that_of_joining_one_by_one(a, b):
    sizes, d, theta = [3, 1, 2], 1.0 - a, a + b - 1.0
    held, log_chance = [0, 0, 0], 0.0
    for person, number in enumerate(np.repeat([0, 1, 2], sizes).tolist()):
        opened = sum(size > 0 for size in held)
        weight = held[number] - d if held[number] else theta + d * opened
        log_chance += math.log(weight / (theta + person)) if person else 0.0
        held[number] += 1
    assert _log_likelihood(a, b, np.array([1.0, 2.0, 3.0]), np.ones(3)) == pytest.approx(log_chance)


def test_fit_finds_the_settings_that_were_drawn_with():
    rng = np.random.default_rng(1)
    found = [PitmanYor.fitted(drawn_partition(0.5, 20.0, 2000, rng)) for _ in range(5)]
    assert np.mean([fit.a for fit in found]) == pytest.approx(0.5, abs=0.06)
    assert np.mean([fit.b for fit in found]) == pytest.approx(20.5, rel=0.5)
    limited = rng.multinomial(3000, rng.dirichlet(np.full(400, 2.0)))
    fit = PitmanYor.fitted(limited[limited > 0])
    assert (fit.a - 1.0) == pytest.approx(2.0, rel=0.4)  # -d
    assert (fit.a + fit.b - 1.0) / (fit.a - 1.0) == pytest.approx(400, rel=0.05)  # as many classes as there are


def test_classes_grow_as_drawn():
    """Polya's urn with 30 people at hand and 40 more to come, drawn again and again."""
    rng = np.random.default_rng(2)
    sizes, population = np.array([1, 1, 2, 4, 8, 14]), 70
    fit = PitmanYor.fitted(sizes)
    below = fit.growth(np.array([1, 4]), 30, population, 20)
    runs = 4000
    for row, size in enumerate((1, 4)):
        shares = rng.beta(size + fit.a - 1.0, fit.b + 30 - size, runs)
        reached = size + rng.binomial(population - 30, shares)
        for fewer in (size + 1, 6, 12):
            chance = float(np.mean(reached < fewer))
            assert below[row, fewer] == pytest.approx(chance, abs=5 * math.sqrt(0.25 / runs))
    assert np.all(np.diff(below, axis=1) >= -1e-12)


def test_expected_among_more_people_holds_the_truth():
    rng = np.random.default_rng(3)
    everybody = census(rng, 40_000)
    size = np.bincount(everybody)[everybody]
    held, named, errors, plain, smallest = 0, 0, [], [], []
    runs = 4
    for _ in range(runs):
        who = rng.choice(40_000, 4000, replace=False)
        sizes = np.bincount(everybody[who])
        sizes = sizes[sizes > 0]
        found = estimate(sizes, 40_000, rng)
        alone = float(np.mean(size[who] == 1))
        assert found.unique is not None
        held += found.unique.low <= alone <= found.unique.high
        errors.append(abs(found.unique.value - alone))
        plain.append(np.count_nonzero(sizes == 1) / 4000 - alone)
        smallest.append(found.k_map)
        named += found.success.low <= float(np.mean(1.0 / size[who])) <= found.success.high
        risk = estimated_risks(sizes, found, 0.09)[1]
        assert risk.at_risk == pytest.approx(float(np.mean(size[who] < 1 / 0.09)), abs=0.05)
    assert min(held, named) >= runs - 1
    assert max(errors) < min(plain) / 3  # power: the share alone in the sample is far above
    assert max(smallest) < 1.01  # somebody is alone


def test_expected_smallest_class_where_nobody_is_alone():
    """Forty values of equal shares: everybody's class grows tenfold."""
    rng = np.random.default_rng(4)
    everybody = rng.integers(0, 40, 20_000)
    truth, told = [], []
    for _ in range(10):
        who = rng.choice(20_000, 2000, replace=False)
        told.append(expected_k_map(np.bincount(everybody[who]), 20_000))
        truth.append(np.bincount(everybody).min())
    assert np.mean(told) == pytest.approx(np.mean(truth), rel=0.12)
    assert np.mean(told) > 5 * np.bincount(everybody[:2000]).min()  # power: not what the table itself says


def test_nothing_is_told_where_nothing_can_be():
    rng = np.random.default_rng(5)
    assert estimate(np.array([1, 2]), 30, rng).reason == "fewer than 20 people"
    far = estimate(np.ones(100, np.int64), 10_000, rng)
    assert (far.unique, far.k_map, far.reason) == (None, None, "more than 33 times the people at hand")
    assert [risk.attacker for risk in estimated_risks(np.ones(100, np.int64), far, 0.09)] == ["prosecutor", "marketer"]
    two = np.concatenate((np.full(500, 1), np.full(3, 4000)))  # half-hidden: few huge classes and many of one
    whole = estimate(two, int(two.sum()), rng)
    assert whole.unique.low == whole.unique.high == 500 / two.sum()  # the table is the population
    assert whole.k_map == 1.0
