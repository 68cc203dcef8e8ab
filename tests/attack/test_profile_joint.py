from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from entropie.attack.profile.candidates import Candidates
from entropie.attack.profile.joint import (
    ROUNDS,
    TEMPERATURES,
    choose_rounds,
    choose_temperature,
    crowd_scores,
    joint_scores,
    mean_surprise,
)


def everyone(scores: NDArray[np.float64]) -> Candidates:
    """All people as candidates, best first."""
    order = np.argsort(-scores, axis=1, kind="stable")
    return Candidates(order, np.take_along_axis(scores, order, axis=1))


def as_matrix(found: Candidates, users: int) -> NDArray[np.float64]:
    matrix = np.full((found.people.shape[0], users), -np.inf)
    for row, (people, scores) in enumerate(zip(found.people, found.scores, strict=True)):
        for person, score in zip(people, scores, strict=True):
            if person >= 0:
                matrix[row, person] = score
    return matrix


def total(logs: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    top = logs.max(axis=axis, keepdims=True)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=axis, keepdims=True)))


def dense_sinkhorn(scores: NDArray[np.float64], rounds: int) -> NDArray[np.float64]:
    """Section 11 word by word: over people, then over targets; at the end chances within each target."""
    logs = scores.copy()
    for _ in range(rounds):
        logs = logs - total(logs, 1)
        logs = logs - total(logs, 0)
    return logs - total(logs, 1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rounds", [1, 3, 50])
def test_sparse_is_dense_sinkhorn(seed: int, rounds: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(7, 7)) * 3
    found = as_matrix(joint_scores(everyone(scores), 7, 1.3, rounds), 7)
    assert found == pytest.approx(dense_sinkhorn(1.3 * scores, rounds), abs=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_sharp_matching_is_the_best_assignment(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(6, 6)) * 2
    best = max(
        itertools.permutations(range(6)), key=lambda order: sum(scores[row, one] for row, one in enumerate(order))
    )
    found = as_matrix(joint_scores(everyone(scores), 6, 30.0, rounds=20_000), 6)
    assert found.argmax(axis=1).tolist() == list(best)


def test_the_crowd_is_one_normalisation_per_person() -> None:
    scores = np.random.default_rng(3).normal(size=(9, 9)) * 2
    posterior = scores - total(scores, 1)
    normalised = posterior - total(posterior, 0)
    found = as_matrix(crowd_scores(everyone(scores), 9), 9)
    assert found == pytest.approx(normalised - total(normalised, 1), abs=1e-9)


def test_somebody_who_suits_all_is_left_to_the_one_who_is_suited_best() -> None:
    """Person 0 is everybody's best; only by elimination do targets 1 and 2 find their own."""
    scores = np.array([[9.0, 0.0, 0.0], [3.0, 2.5, 0.0], [3.0, 0.0, 2.5]])
    for found in (crowd_scores(everyone(scores), 3), joint_scores(everyone(scores), 3)):
        assert as_matrix(found, 3).argmax(axis=1).tolist() == [0, 1, 2]


def test_short_lists_and_empty_ones() -> None:
    people = np.array([[0, 1, -1], [1, -1, -1], [-1, -1, -1]])
    scores = np.where(people >= 0, [[1.0, 2.0, 0.0], [0.5, 0.0, 0.0], [0.0] * 3], -np.inf)
    found = joint_scores(Candidates(people, scores), 4)
    assert np.isneginf(found.scores[people < 0]).all()
    assert found.scores[0].argmax() == 0  # person 1 is needed by the second target
    assert np.exp(found.scores[:2]).sum(axis=1) == pytest.approx([1.0, 1.0])


def test_hopeless_candidates_do_not_break_the_sums() -> None:
    scores = np.array([[0.0, -5000.0], [0.0, -4000.0]])
    assert np.isfinite(joint_scores(everyone(scores), 2).scores).all()


def test_names_of_targets_and_people_do_not_matter() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(30, 30)) * 3
    rows, columns = rng.permutation(30), rng.permutation(30)
    plain = as_matrix(joint_scores(everyone(scores), 30), 30)
    moved = as_matrix(joint_scores(everyone(scores[rows][:, columns]), 30), 30)
    assert moved == pytest.approx(plain[rows][:, columns], abs=1e-9)


def test_the_temperature_is_the_least_surprised() -> None:
    rng = np.random.default_rng(6)
    scores = rng.normal(size=(200, 200))
    scores[np.arange(200), np.arange(200)] += 3.0  # under N(mu, 1) against N(0, 1) the ratio is mu times the score
    found = everyone(scores)
    right = np.arange(200)
    chosen = choose_temperature(found, 200, right)
    surprises = {choice: mean_surprise(joint_scores(found, 200, choice), right) for choice in TEMPERATURES}
    assert chosen == min(surprises, key=lambda choice: surprises[choice])
    assert chosen == 2.0
    assert choose_temperature(everyone(scores * 10), 200, right) == 0.7


def test_a_right_person_who_is_not_listed_is_a_bounded_surprise() -> None:
    found = Candidates(np.array([[1, 2]]), np.array([[0.0, -1.0]]))
    assert mean_surprise(found, np.array([7])) == pytest.approx(-np.log(1e-6))


@pytest.mark.parametrize("seed", range(5))
def test_fewer_targets_than_people_leave_some_people_without(seed: int) -> None:
    """Nobody has more than one target, and who has less is not pulled towards one."""
    scores = np.random.default_rng(seed).normal(size=(4, 9)) * 3
    chances = np.exp(as_matrix(joint_scores(everyone(scores), 9, rounds=20_000), 9))
    assert chances.sum(axis=1) == pytest.approx(np.ones(4))
    assert chances.sum(axis=0).max() <= 1.0 + 1e-4
    held = chances.sum(axis=0) > 1.0 - 1e-4
    # who is not held back keeps the odds that the scores give against others who are not
    free = np.flatnonzero(~held)
    for row in range(4):
        odds = np.log(chances[row, free]) - scores[row, free]
        assert odds == pytest.approx(np.full(free.size, odds[0]), abs=1e-6)


def test_one_target_alone_is_told_nothing_by_the_crowd() -> None:
    scores = np.random.default_rng(1).normal(size=(1, 50)) * 3
    for found in (crowd_scores(everyone(scores), 50), joint_scores(everyone(scores), 50)):
        assert as_matrix(found, 50) == pytest.approx(scores - total(scores, 1))


def test_matching_is_used_where_it_helps_in_training() -> None:
    """One target each: one-to-one helps. Many targets of one person: no round may take them away from that person."""
    rng = np.random.default_rng(8)
    scores = rng.normal(size=(200, 200))
    scores[np.arange(200), np.arange(200)] += 3.0
    assert choose_rounds(everyone(scores), 200, np.arange(200), 1.4) == (1, ROUNDS)
    right = np.arange(200) // 20
    crowded = rng.normal(size=(200, 200))
    crowded[np.arange(200), right] += 6.0
    assert choose_rounds(everyone(crowded), 200, right, 2.0) == (0, 0)
    kept = joint_scores(everyone(crowded), 200, 2.0, rounds=0)
    assert np.array_equal(np.argsort(kept.scores, axis=1), np.argsort(everyone(crowded).scores, axis=1))
