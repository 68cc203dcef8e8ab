"""Channels over cells: geo-indistinguishability by going through all triples, and what the matrix guarantees."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from theory_oracles import random_channel

from entropie.cli.main import run
from entropie.errors import InvalidParameter
from entropie.theory import channel
from entropie.theory.crowd import Crowd
from entropie.theory.location import (
    geo_epsilon,
    globe_distances,
    graph_distances,
    location_channel,
    plane_distances,
)

GRID = [(250.0 * x, 250.0 * y) for x in range(4) for y in range(3)]
STREETS = [(0, 1, 100.0), (1, 2, 150.0), (2, 3, 80.0), (1, 4, 300.0), (3, 4, 60.0), (4, 4, 5.0)]


def by_triples(Q: np.ndarray, d: np.ndarray) -> float:
    """The definition."""
    return max(
        math.log(Q[x, y] / Q[other, y]) / d[x, other] if Q[other, y] else math.inf
        for x, other in itertools.permutations(range(len(Q)), 2)
        for y in range(Q.shape[1])
        if Q[x, y]
    )


CELLS = {
    "grid": plane_distances(GRID),
    "list": plane_distances(np.random.default_rng(2).uniform(0, 3000, (15, 2))),
    "globe": globe_distances([(48.85, 2.35), (48.86, 2.34), (48.87, 2.36), (48.80, 2.40)]),
    "streets": graph_distances(5, STREETS),
}


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("epsilon", [1e-4, math.log(4) / 500, 0.02])
def test_all_pairs_keep_the_stated_budget(name: str, epsilon: float) -> None:
    """And nearly spend it: a larger rate would not; at half the budget per metre it would always be kept."""
    made = location_channel(CELLS[name], epsilon)
    assert made.epsilon_per_metre == pytest.approx(by_triples(made.matrix, made.distances), rel=1e-9)
    assert made.epsilon_per_metre == pytest.approx(epsilon, rel=1e-6)
    assert made.epsilon_per_metre <= epsilon * (1 + 1e-9)
    assert epsilon / 2 <= made.rate_per_metre <= epsilon
    assert np.allclose(made.matrix.sum(axis=1), 1.0, atol=1e-14)
    weights = np.exp(-1.01 * made.rate_per_metre * made.distances)
    assert by_triples(weights / weights.sum(axis=1, keepdims=True), made.distances) > epsilon


def test_where_all_cells_are_alike_nothing_is_given_away() -> None:
    """On a ring every cell has the same Z: the rate is the whole budget. Two cells are randomized response."""
    ring = graph_distances(8, [(cell, (cell + 1) % 8, 100.0) for cell in range(8)])
    assert location_channel(ring, 0.01).rate_per_metre == pytest.approx(0.01, rel=1e-12)
    two = location_channel([[0.0, 50.0], [50.0, 0.0]], 0.02)
    assert two.matrix[0, 0] / two.matrix[1, 0] == pytest.approx(math.e, rel=1e-9)
    assert channel.epsilon(two.matrix) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_any_matrix_is_measured(seed: int) -> None:
    rng = np.random.default_rng(seed)
    Q = random_channel(rng, 6, 4, 0.5)
    if seed == 3:
        Q[:, 1] += Q[:, 0]
        Q[:, 0] = 0.0
    if seed == 2:
        Q[1] = [1.0, 0.0, 0.0, 0.0]
    d = plane_distances(rng.uniform(0, 10, (6, 2)))
    found = geo_epsilon(Q, d)
    assert found == math.inf if seed == 2 else found == pytest.approx(by_triples(Q, d), rel=1e-12)


def test_distances() -> None:
    assert CELLS["grid"][0, 5] == pytest.approx(math.hypot(250.0, 500.0))
    assert globe_distances([(0, 0), (0, 90)])[0, 1] == pytest.approx(math.pi / 2 * 6_371_008.8)
    assert globe_distances([(90, 0), (-90, 77)])[0, 1] == pytest.approx(math.pi * 6_371_008.8)
    streets = CELLS["streets"]
    ways = {(a, b): metres for one, other, metres in STREETS for a, b in ((one, other), (other, one))}
    for start, end in itertools.permutations(range(5), 2):
        between = [cell for cell in range(5) if cell not in (start, end)]
        routes = ((start, *middle, end) for size in range(4) for middle in itertools.permutations(between, size))
        lengths = (sum(ways.get(step, math.inf) for step in itertools.pairwise(route)) for route in routes)
        assert streets[start, end] == min(lengths)


def test_more_noise_is_further_off() -> None:
    near, far = (location_channel(CELLS["grid"], epsilon) for epsilon in (0.02, 0.002))
    assert near.mean_error_metres() < far.mean_error_metres()
    by_hand = sum(far.matrix[0, y] * far.distances[0, y] for y in range(12))
    assert far.mean_error_metres(np.eye(12)[0]) == pytest.approx(by_hand)


def test_the_file_goes_into_guarantee(tmp_path, capsys) -> None:
    made = location_channel(CELLS["grid"], math.log(4) / 500)
    made.save(tmp_path / "cells.npy")
    assert run(["guarantee", "--matrix", str(tmp_path / "cells.npy"), "--users", "40", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["inputs"] == printed["outputs"] == 12
    assert printed["epsilon"] == pytest.approx(channel.epsilon(made.matrix), rel=1e-9)
    assert printed["epsilon"] <= made.epsilon_per_metre * made.distances.max() + 1e-9
    assert printed["bayes_error"]["low"] == pytest.approx(made.guarantee(Crowd(40)).bayes_error.low)


def test_what_is_no_set_of_cells_is_refused(tmp_path) -> None:
    short = [[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [9.0, 1.0, 0.0]]
    with pytest.raises(InvalidParameter, match="triangle inequality"):
        location_channel(short, 1.0)
    for wrong in ([[0.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [2.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]], [0.0, 1.0]):
        with pytest.raises(InvalidParameter, match="distances"):
            location_channel(wrong, 1.0)
    with pytest.raises(InvalidParameter, match="metres apart"):
        location_channel(CELLS["grid"], 10.0)
    for epsilon in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InvalidParameter, match="epsilon_per_metre"):
            location_channel(CELLS["grid"], epsilon)
    with pytest.raises(InvalidParameter, match="connect all cells"):
        graph_distances(3, [(0, 1, 5.0)])
    with pytest.raises(InvalidParameter, match="edges"):
        graph_distances(3, [(0, 5, 5.0)])
    with pytest.raises(InvalidParameter, match="latitudes"):
        globe_distances([(100.0, 0.0), (0.0, 0.0)])
    with pytest.raises(InvalidParameter, match="pairs of numbers"):
        plane_distances([1.0, 2.0])
    with pytest.raises(InvalidParameter, match="ends in"):
        location_channel(CELLS["grid"], 0.01).save(tmp_path / "cells.csv")
    with pytest.raises(InvalidParameter, match="12 rows"):
        geo_epsilon(np.eye(3), CELLS["grid"])
