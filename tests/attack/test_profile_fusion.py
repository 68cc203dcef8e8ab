from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from entropie.attack.profile import fusion
from entropie.attack.profile.attack import LEARNED
from entropie.attack.profile.fusion import LEAST_SPREAD, RIDGE, learn_fusion
from entropie.kernels.profile_evidence import FEATURES
from entropie.plan.costs import attacker_bytes


def lists(
    seed: int, truth: NDArray[np.float64], count: int = 400, width: int = 12
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Lists in which the right person is drawn by the model."""
    rng = np.random.default_rng(seed)
    evidence = rng.normal(size=(count, width, truth.size)) * rng.uniform(0.5, 3.0, truth.size)
    candidates = np.array([rng.permutation(1000)[:width] for _ in range(count)])
    noise = rng.gumbel(size=(count, width))
    right = candidates[np.arange(count), (evidence @ truth + noise).argmax(axis=1)]
    return evidence, candidates, right


def slow_weights(evidence: NDArray[np.float64], place: NDArray[np.int64]) -> NDArray[np.float64]:
    """Projected gradient descent with small steps on standardised evidence."""
    centred = evidence - evidence.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=(0, 1)))
    x = centred / spread
    weights = np.zeros(x.shape[2])
    for _ in range(6000):
        chances = np.exp(x @ weights)
        chances /= chances.sum(axis=1, keepdims=True)
        slope = np.mean((chances[:, :, None] * x).sum(axis=1) - x[np.arange(len(x)), place], axis=0) + RIDGE * weights
        weights = np.maximum(weights - 0.5 * slope, 0.0)
    return weights / spread


@pytest.mark.parametrize("truth", [[1.0, 0.5, 0.0], [0.3, -0.8, 0.7], [0.0, 0.0, 0.0], [2.0, 2.0, 2.0]])
def test_weights_are_those_of_a_slow_optimiser(truth: list[float]) -> None:
    evidence, candidates, right = lists(1, np.array(truth))
    place = (candidates == right[:, None]).argmax(axis=1)
    found = learn_fusion(evidence, candidates, right)
    assert found.weights == pytest.approx(slow_weights(evidence, place), abs=1e-4)
    assert (found.weights >= 0.0).all()
    assert found.lists == 400


def test_weights_come_close_to_those_that_made_the_lists() -> None:
    truth = np.array([1.0, 0.5, 0.0])
    found = learn_fusion(*lists(2, truth, count=4000)).weights
    assert found == pytest.approx(truth, abs=0.1)  # four standard errors
    assert learn_fusion(*lists(2, 1.3 * truth, count=4000)).weights != pytest.approx(truth, abs=0.1)


def test_learning_holds_the_evidence_once_more_as_the_plan_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion, "STEPS", 1)
    evidence, candidates, right = lists(4, np.linspace(0.0, 0.5, len(FEATURES)), count=2000, width=LEARNED)
    tracemalloc.start()
    learn_fusion(evidence, candidates, right)
    most = tracemalloc.get_traced_memory()[1] + evidence.nbytes
    tracemalloc.stop()
    assert 2 * evidence.nbytes < most < 2.6 * evidence.nbytes
    assert 0.9 < attacker_bytes(2000, 0, 0) / (2 * evidence.nbytes) < 1.1


def test_lists_without_the_right_person_and_places_without_anybody_teach_nothing() -> None:
    evidence, candidates, right = lists(3, np.array([1.0, 0.5]))
    more = np.concatenate((evidence, evidence[:50] * 7))
    nobody = np.full((450, 3), -1)
    wide = np.concatenate((more, np.full((450, 3, 2), 99.0)), axis=1)
    listed = np.concatenate((np.concatenate((candidates, candidates[:50])), nobody), axis=1)
    found = learn_fusion(wide, listed, np.concatenate((right, np.full(50, 5000))))
    assert found.weights == pytest.approx(learn_fusion(evidence, candidates, right).weights, abs=1e-5)
    assert found.lists == 400


def test_evidence_that_hardly_differs_gets_no_weight() -> None:
    """A trace of lengths, blown up by a huge weight, would name people by how much they report."""
    evidence, candidates, right = lists(4, np.array([1.0, 1.0]))
    place = (candidates == right[:, None]).argmax(axis=1)
    tell = np.zeros((*candidates.shape, 1))
    tell[np.arange(400), place, 0] = LEAST_SPREAD / 2
    found = learn_fusion(np.concatenate((evidence, tell), axis=2), candidates, right)
    assert found.weights[2] == 0.0
    told = learn_fusion(np.concatenate((evidence, tell * 100), axis=2), candidates, right)
    assert told.weights[2] > 1.0


def test_without_lists_every_kind_counts_once() -> None:
    found = learn_fusion(np.zeros((2, 3, 4)), np.full((2, 3), -1), np.array([0, 1]))
    assert found.weights.tolist() == [1.0] * 4
    assert found.lists == 0
