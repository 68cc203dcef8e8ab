"""The index of a block of users: the unit of the sums, genuine scores known beforehand, who stands where."""

from __future__ import annotations

import itertools
import math
from functools import reduce

import numpy as np
import pytest
from attack_oracles import SEEDS, dense_scores, near_matching, random_matching, whole_scores
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.features import FeatureRows, Matching, ragged
from entropie.attack.index import Extent, Targets, Units, arrange, blocks, build_index, genuine_scores
from entropie.errors import InvalidInput
from entropie.kernels.attack_index import largest_row, posted_scores

KINDS = st.sampled_from(["few values", "normal", "near"])


def matching_of(rng: np.random.Generator, users: int, features: int, kind: str) -> Matching:
    return near_matching(rng, users, features) if kind == "near" else random_matching(rng, users, features, kind)


def extent_of(matching: Matching) -> Extent:
    return Extent.of_users(matching.users, matching.user_penalty).merge(
        Extent.of_targets(matching.targets, matching.target_size)
    )


def shuffled(rows: FeatureRows, rng: np.random.Generator) -> FeatureRows:
    """The same rows with their features in another order."""
    order = np.lexsort((rng.random(rows.features.size), rows.row_of_each()))
    return FeatureRows(rows.offsets, rows.features[order], rows.weights[order], rows.feature_count)


@given(SEEDS, KINDS, st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_extent_merges_and_bounds_every_score(seed: int, kind: str, users: int) -> None:
    rng = np.random.default_rng(seed)
    matching = matching_of(rng, users, 6, kind)
    whole = extent_of(matching)
    cuts = np.unique(np.concatenate(([0, users], rng.integers(0, users + 1, 3))))
    parts = []
    for low, high in itertools.pairwise(cuts.tolist()):
        rows = np.arange(low, high)
        some = [None if term is None else term[rows] for term in (matching.user_penalty, matching.target_size)]
        parts.append(Extent.of_users(matching.users.take(rows), some[0]))
        parts.append(Extent.of_targets(shuffled(matching.targets.take(rows), rng), some[1]))
    merged = reduce(Extent.merge, [parts[i] for i in rng.permutation(len(parts))], Extent())
    assert merged == whole
    bound = whole.weight * whole.target + whole.penalty * whole.size
    assert np.abs(dense_scores(matching)).max() <= bound + 1e-12
    assert bound <= 2.0 ** (61 - whole.units().exponent)


@given(st.lists(st.lists(st.floats(-1e6, 1e6), max_size=6), max_size=5))
def test_largest_row_is_the_largest_sum_of_magnitudes(rows: list[list[float]]) -> None:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    found = largest_row(offsets, np.array([x for row in rows for x in row], np.float64))
    want = max((sum(math.ceil(abs(x) * 2**16) for x in row) for row in rows), default=0) / 2**16
    assert found == want
    exact = max((math.fsum(map(abs, row)) for row in rows), default=0.0)
    assert exact <= found <= exact + 6 * 2.0**-16 + 1e-9


def test_units_and_the_extent_of_nothing() -> None:
    nothing = FeatureRows(np.zeros(3, np.int64), np.empty(0, np.uint32), np.empty(0), 0)
    assert Extent.of_users(nothing, None) == Extent.of_targets(nothing, np.empty(0)) == Extent()
    units = Extent().units()
    assert (units, units.scale, units.tolerance, units.shift) == (Units(44), 2.0**44, 17592, 10)
    assert units.keys(np.array([0, 511, 512, -512, -513])).tolist() == [0, 0, 1, 0, -1]
    assert Units(34).keys(np.array([-3, 5])).tolist() == [-3, 5]
    assert Extent(weight=2.0**20).merge(Extent(target=4.0)).units() == Units(39)
    assert Extent(weight=1.0, target=2.0**20, penalty=2.0, size=2.0**20).units() == Units(39)
    with pytest.raises(InvalidInput, match="more than the 1e8 that exact sums allow"):
        Extent(weight=1e9, target=1.0).units()


@given(SEEDS, KINDS, st.integers(1, 12), st.booleans())
@settings(max_examples=80, deadline=None)
def test_genuine_scores_are_the_diagonal(seed: int, kind: str, users: int, in_order: bool) -> None:
    rng = np.random.default_rng(seed)
    matching = matching_of(rng, users, 8, kind)
    units = extent_of(matching).units()
    rows = (matching.users, matching.targets)
    if not in_order:
        rows = (shuffled(rows[0], rng), shuffled(rows[1], rng))
    found = genuine_scores(*rows, matching.user_penalty, matching.target_size, units)
    np.testing.assert_array_equal(found, np.diag(whole_scores(matching, units)))


@given(SEEDS, KINDS, st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_postings_give_any_score(seed: int, kind: str, users: int) -> None:
    rng = np.random.default_rng(seed)
    plain = matching_of(rng, users, 8, kind)
    matching = Matching(plain.users, plain.targets)
    units = extent_of(matching).units()
    index, targets = build_index(
        matching.users, matching.targets, units=units, genuine=np.zeros(users, np.int64)
    )  # no score is asked for here
    asked = rng.integers(0, users, users)
    rows = (targets.offsets, targets.features, targets.weights)
    found = posted_scores(index.starts, index.users, index.fixed, *rows, asked)
    np.testing.assert_array_equal(found, whole_scores(matching, units)[np.arange(users), asked])


@given(SEEDS, st.integers(0, 6), st.integers(0, 6))
@settings(max_examples=40, deadline=None)
def test_rows_become_postings_and_rows_again(seed: int, users: int, asking: int) -> None:
    rng = np.random.default_rng(seed)
    matching = random_matching(rng, 8, 6, "normal")
    people, ids = (np.sort(rng.choice(8, size, replace=False)) for size in (users, asking))
    rows, wanted = matching.users.take(people), matching.targets.take(ids)
    units = extent_of(matching).units()
    genuine = rng.integers(0, 9, asking)
    index, targets = build_index(rows, wanted, units=units, people=people, ids=ids, genuine=genuine)
    assert index.user_count == users
    assert index.people.tolist() == people.tolist()
    assert targets.genuine.tolist() == genuine.tolist()
    where = {person: place for place, person in enumerate(people.tolist())}
    assert targets.own.tolist() == [where.get(number, -1) for number in ids.tolist()]
    lengths = np.diff(index.starts)
    assert np.all(lengths > 0)
    assert np.all(np.diff(lengths) <= 0)
    held = [set(rows.features[rows.offsets[i] : rows.offsets[i + 1]].tolist()) for i in range(users)]
    asked = [set(wanted.features[wanted.offsets[j] : wanted.offsets[j + 1]].tolist()) for j in range(asking)]
    assert lengths.sum() == sum(len(has & set().union(*asked)) for has in held)
    assert np.diff(targets.offsets).tolist() == [len(row & set().union(*held)) for row in asked]
    arranged = arrange(index, targets)
    assert sorted(arranged.ids.tolist()) == ids.tolist()
    order = np.argsort(arranged.ids)
    assert arranged.own[order].tolist() == targets.own.tolist()
    assert arranged.genuine[order].tolist() == genuine.tolist()
    pieces = list(blocks(index, arranged, 2))
    assert [number for low, high in pieces for number in range(low, high)] == list(range(asking))


def test_a_part_of_targets_is_itself() -> None:
    targets = Targets(
        np.arange(3),
        np.array([0, 2, 2, 3]),
        np.arange(3, dtype=np.uint32),
        np.ones(3),
        np.zeros(3, np.int64),
        np.empty(0),
        np.array([5, -1, 7]),
        np.array([10, 11, 12]),
    )
    part = targets.part(1, 3)
    assert (part.offsets.tolist(), part.features.tolist(), part.ids.tolist()) == ([0, 0, 1], [2], [1, 2])
    assert (part.own.tolist(), part.genuine.tolist()) == ([-1, 7], [11, 12])
    taken = targets.take(np.array([2, 0]))
    assert (taken.offsets.tolist(), taken.features.tolist(), taken.ids.tolist()) == ([0, 1, 3], [2, 0, 1], [2, 0])
    assert (taken.own.tolist(), taken.genuine.tolist()) == ([7, 5], [12, 10])


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.data())
def test_ragged_rows_are_taken_whole(lengths: list[int], data: st.DataObject) -> None:
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    rows = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=8))
    taken, places = ragged(offsets, np.array(rows, np.int64))
    want = [list(range(offsets[row], offsets[row + 1])) for row in rows]
    assert [places[low:high].tolist() for low, high in itertools.pairwise(taken.tolist())] == want


def test_refusals() -> None:
    rows = FeatureRows(np.arange(3), np.zeros(2, np.uint32), np.ones(2), 1)
    one = rows.take(np.array([0]))
    given_scores = np.zeros(2, np.int64)
    with pytest.raises(InvalidInput, match="needs its user's row, got 1 users and 2 targets"):
        genuine_scores(one, rows, None, None, Units(44))
    for people in ([1, 0], [3, 3], [-1, 0], [0, 2**32 - 1]):
        with pytest.raises(InvalidInput, match="`people` of an index must ascend and stay below 4294967295"):
            build_index(rows, rows, units=Units(44), genuine=given_scores, people=np.array(people))
    with pytest.raises(InvalidInput, match="one of `people` per row, 2, got 1"):
        build_index(rows, rows, units=Units(44), genuine=given_scores, people=np.array([0]))
    with pytest.raises(InvalidInput, match="one of `genuine` per row, 1, got 2"):
        build_index(rows, one, units=Units(44), genuine=given_scores)
    with pytest.raises(InvalidInput, match="both `penalty` and `sizes`"):
        build_index(rows, rows, units=Units(44), genuine=given_scores, sizes=np.ones(2))
