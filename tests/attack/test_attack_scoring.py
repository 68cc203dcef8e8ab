"""All-pairs scoring: against a dense matrix, and the same to the last bit however the work is cut."""

from __future__ import annotations

import itertools
import math
import threading
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from attack_oracles import (
    SEEDS,
    assert_outcome,
    dense_scores,
    random_matching,
    same_outcome,
    same_partial,
    traces_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.features import FeatureRows, Matching
from entropie.attack.matchers.bayes import Bayes
from entropie.attack.partial import Partial, merge_partials
from entropie.attack.scoring import AttackOutcome, attack, outcome_of, prepare, run_blocks, score_block
from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.divergence import divergence

KINDS = st.sampled_from(["few values", "normal"])


@given(SEEDS, KINDS, st.integers(1, 25), st.integers(1, 12), st.integers(1, 12))
@settings(max_examples=150, deadline=None)
def test_against_the_dense_matrix(seed: int, kind: str, users: int, features: int, candidates: int) -> None:
    matching = random_matching(np.random.default_rng(seed), users, features, kind)
    found = attack(matching, candidates=candidates, threads=1)
    assert_outcome(found, dense_scores(matching), candidates)


@given(SEEDS, st.integers(100, 180), st.sampled_from([(-1.0, 1.0, 2.0), (-3.0, -2.0, -1.0)]))
@settings(max_examples=10, deadline=None)
def test_more_users_than_are_kept_at_hand(seed: int, users: int, weights: tuple[float, ...]) -> None:
    # Sixty-four users beside the candidates lead by base score; a target that reaches all of them needs the rest,
    # and where all who move move down, the rest lead.
    rng = np.random.default_rng(seed)
    every = FeatureRows(
        np.arange(users + 1, dtype=np.int64), np.zeros(users, np.uint32), rng.choice([-1.0, 1.0, 2.0], users), 2
    )
    some = np.arange(users) < users - 3
    offsets = np.concatenate(([0], np.cumsum(some))).astype(np.int64)
    reached = FeatureRows(offsets, np.zeros(int(some.sum()), np.uint32), rng.choice(weights, some.sum()), 2)
    for penalty in (None, rng.random(users)):
        sizes = None if penalty is None else np.ones(users)
        matching = Matching(reached, every, sizes, penalty)
        assert_outcome(attack(matching, candidates=5), dense_scores(matching), 5)


def score_in_pieces(
    matching: Matching, rng: np.random.Generator, max_values: int, threads: int
) -> tuple[AttackOutcome, Partial]:
    """Shuffle targets, give them arbitrary heads, cut them anywhere, merge in any order."""
    index, targets = prepare(matching, max_values=max_values)
    order = rng.permutation(targets.ids.size)
    targets = targets.take(order)
    heads = rng.integers(0, np.diff(targets.offsets) + 1)
    targets = replace(targets, heads=heads)
    cuts = np.unique(np.concatenate(([0, order.size], rng.integers(0, order.size + 1, 5))))
    pieces = [targets.part(int(low), int(high)) for low, high in itertools.pairwise(cuts)]
    if threads:
        jobs = [
            lambda level, piece=piece: score_block(index, piece, max_values=max_values, level=level) for piece in pieces
        ]
        partial = run_blocks(jobs, order.size, threads, None)
    else:
        partials = [score_block(index, piece, max_values=max_values) for piece in pieces]
        partial = merge_partials([partials[i] for i in rng.permutation(len(partials))])
    return outcome_of(index.units, index.atoms, partial), partial


@given(SEEDS, KINDS, st.integers(2, 25), st.sampled_from([2, 5, 17, 64, 2**18]), st.integers(0, 3))
@settings(max_examples=120, deadline=None)
def test_pieces_threads_heads_and_order_change_nothing(
    seed: int, kind: str, users: int, max_values: int, threads: int
) -> None:
    rng = np.random.default_rng(seed)
    matching = random_matching(rng, users, 8, kind)
    whole = attack(matching, threads=1, max_values=max_values)
    pieces, partial = score_in_pieces(matching, rng, max_values, threads)
    assert same_outcome(whole, pieces)
    assert partial.law.keys.size <= max_values
    assert np.all(partial.law.counts > 0)
    assert_outcome(whole, dense_scores(matching))


@given(SEEDS, KINDS, st.sampled_from([16, 2**18]))
@settings(max_examples=40, deadline=None)
def test_numbers_of_users_do_not_matter(seed: int, kind: str, max_values: int) -> None:
    rng = np.random.default_rng(seed)
    matching = random_matching(rng, 20, 8, kind)
    order = rng.permutation(20)
    moved = Matching(
        _taken(matching.users, order),
        _taken(matching.targets, order),
        None if matching.target_size is None else matching.target_size[order],
        None if matching.user_penalty is None else matching.user_penalty[order],
    )
    one, other = attack(matching, max_values=max_values), attack(moved, max_values=max_values)
    np.testing.assert_array_equal(one.law.values, other.law.values)
    np.testing.assert_array_equal(one.law.counts, other.law.counts)
    np.testing.assert_array_equal(one.law.genuine[order], other.law.genuine)
    for name in ("best", "ties", "credit", "rank_low", "rank_high", "candidate_scores", "clarity"):
        np.testing.assert_array_equal(getattr(one, name)[order], getattr(other, name))


def _taken(rows: FeatureRows, order: np.ndarray) -> FeatureRows:
    parts = [slice(rows.offsets[i], rows.offsets[i + 1]) for i in order]
    lengths = np.diff(rows.offsets)[order]
    return FeatureRows(
        np.concatenate(([0], np.cumsum(lengths))),
        np.concatenate([rows.features[part] for part in parts]),
        np.concatenate([rows.weights[part] for part in parts]),
        rows.feature_count,
    )


def test_sums_in_another_order_tie() -> None:
    # ln 2 + ln 3 + ln 5 + ln 7 in four groupings: equal in mathematics, not in floating point.
    logs = [math.log(x) for x in (2, 3, 5, 7)]
    rows = [logs, [math.log(6), math.log(5), math.log(7), 0.0], [math.log(210), 0, 0, 0], [0, 0, 0, math.log(210)]]
    users = FeatureRows(np.arange(0, 17, 4), np.tile(np.arange(4, dtype=np.uint32), 4), np.concatenate(rows), 4)
    targets = users.with_weights(np.ones(16))
    found = attack(Matching(users, targets))
    assert found.ties.tolist() == [4] * 4
    assert found.credit.tolist() == [0.25] * 4
    assert found.law.values.size == 1
    assert found.law.counts.tolist() == [12]
    assert set(found.law.genuine) == set(found.law.values)


def test_scores_a_millionth_apart_do_not_tie() -> None:
    users = FeatureRows(np.arange(4), np.zeros(3, np.uint32), np.array([1.0, 1.0 + 1e-6, 1.0 + 0.9e-9]), 1)
    found = attack(Matching(users, users.with_weights(np.ones(3))))
    assert found.ties.tolist() == [1, 1, 1]
    assert found.rank_low.tolist() == [2, 1, 2]
    assert found.rank_high.tolist() == [3, 1, 3]
    assert found.law.values.size == 2


def test_nothing_in_common() -> None:
    empty = FeatureRows(np.zeros(6, np.int64), np.empty(0, np.uint32), np.empty(0), 0)
    found = attack(Matching(empty, empty))
    assert found.credit.tolist() == [0.2] * 5
    assert found.candidates.tolist() == [[0, 1, 2, 3, 4]] * 5
    assert (found.law.values.tolist(), found.law.counts.tolist()) == ([0.0], [20])
    alone = attack(
        Matching(
            FeatureRows(np.zeros(2, np.int64), *empty_columns()), FeatureRows(np.zeros(2, np.int64), *empty_columns())
        )
    )
    assert (alone.credit.tolist(), alone.law.impostors) == ([1.0], 0)


def empty_columns() -> tuple[np.ndarray, np.ndarray, int]:
    return np.empty(0, np.uint32), np.empty(0), 0


def test_heavy_atoms_stay_exact_on_a_coarse_grid() -> None:
    rng = np.random.default_rng(5)
    users = 300
    sizes = rng.integers(0, 2, users)  # half of the targets have nothing in common with anybody
    rows = FeatureRows(
        np.arange(users + 1, dtype=np.int64), rng.integers(0, 4, users).astype(np.uint32), rng.normal(3, 1, users), 5
    )
    target = rows.with_weights(rng.random(users) + 0.5)
    target = FeatureRows(
        np.concatenate(([0], np.cumsum(sizes))), target.features[sizes > 0], target.weights[sizes > 0], 5
    )
    matching = Matching(rows, target)
    exact, coarse = attack(matching), attack(matching, max_values=50)
    assert exact.grid == 0
    assert coarse.grid > 0
    zero = exact.law.counts[exact.law.values == 0]
    assert zero.size == 1
    assert zero == coarse.law.counts[coarse.law.values == 0]
    assert (exact.law.genuine == 0).sum() == (coarse.law.genuine == 0).sum() > 0
    for name in ("best", "ties", "credit", "rank_low", "rank_high", "candidates", "candidate_scores", "clarity"):
        np.testing.assert_array_equal(getattr(exact, name), getattr(coarse, name))


def test_halving_the_grid_moves_the_bits_by_less_than_a_hundredth() -> None:
    rng = np.random.default_rng(11)
    rows = []
    for _ in range(600):  # an eighth of the events goes to a favourite
        favourites = rng.integers(0, 300, 5)
        rows.append(np.where(rng.random(200) < 0.12, rng.choice(favourites, 200), rng.integers(0, 300, 200)).tolist())
    train, target = (traces_of([row[half::2] for row in rows], 300) for half in (0, 1))
    matching = Bayes(30.0)(train, target)
    grids: list[float] = []
    bits: list[float] = []
    for max_values in (2**14, 2**15, 2**16, 2**17, 2**19):
        found = attack(matching, max_values=max_values)
        grids.append(found.grid)
        bits.append(divergence(found.law, rng, replicates=2).value)
    assert all(coarse >= 2 * fine > 0 for coarse, fine in itertools.pairwise(grids[:-1]))
    assert grids[-1] == 0
    assert bits[-1] > 1
    assert all(abs(one - other) < 0.01 for one, other in itertools.pairwise(bits)), (grids, bits)


def test_progress_and_interrupt() -> None:
    matching = random_matching(np.random.default_rng(1), 30, 6, "normal")
    index, targets = prepare(matching)
    begun: list[int] = []
    shares: list[float] = []

    def job(number: int):
        def run(level: int) -> Partial:
            begun.append(number)
            return score_block(index, targets.part(number, number + 1), max_values=64, level=level)

        return run

    run_blocks([job(i) for i in range(30)], 30, 2, shares.append)
    assert shares[-1] == 1.0
    assert shares == sorted(shares)

    begun.clear()

    def stop(share: float) -> None:
        raise KeyboardInterrupt

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        run_blocks([job(i) for i in range(30)], 30, 2, stop)
    assert len(begun) <= 6  # two running, four waiting, none of the others was begun
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive()


def test_merging_needs_no_order() -> None:
    matching = random_matching(np.random.default_rng(2), 12, 6, "normal")
    index, targets = prepare(matching)
    parts = [score_block(index, targets.part(i, i + 1), max_values=8) for i in range(12)]
    one = merge_partials(parts)
    left = reduce(lambda a, b: merge_partials([a, b]), parts)
    right = reduce(lambda a, b: merge_partials([b, a]), parts)
    for other in (left, right):
        assert same_partial(one, other)


def test_refusals() -> None:
    rows = FeatureRows(np.arange(3), np.zeros(2, np.uint32), np.ones(2), 1)
    with pytest.raises(InvalidParameter, match="`candidates` must be at least 1, got 0"):
        attack(Matching(rows, rows), candidates=0)
    with pytest.raises(InvalidParameter, match="`threads` must be at least 1, got 0"):
        attack(Matching(rows, rows), threads=0)
    with pytest.raises(InvalidParameter, match="`max_values` must be at least 2, got 1"):
        attack(Matching(rows, rows), max_values=1)
    with pytest.raises(InvalidInput, match="more than the 1e8 that exact sums allow"):
        attack(Matching(rows.with_weights(np.full(2, 1e9)), rows))
    with pytest.raises(InvalidInput, match="finite"):
        Matching(rows.with_weights(np.array([1.0, np.nan])), rows)
    with pytest.raises(InvalidInput, match="both `target_size` and `user_penalty`"):
        Matching(rows, rows, np.ones(2))
    with pytest.raises(InvalidInput, match="needs its user"):
        Matching(rows, FeatureRows(np.arange(2), np.zeros(1, np.uint32), np.ones(1), 1))
    with pytest.raises(InvalidInput, match="below 1"):
        FeatureRows(np.arange(2), np.ones(1, np.uint32), np.ones(1), 1)
