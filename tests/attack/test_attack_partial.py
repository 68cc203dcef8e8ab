"""Partial results: every cell of users and targets as a slow count finds it, and any merging of them the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from attack_oracles import SEEDS, cell_result, near_matching, random_matching, same_outcome, same_partial, whole_scores
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.features import FeatureRows, Matching
from entropie.attack.index import Extent, Index, Targets, Units, build_index, genuine_scores
from entropie.attack.partial import LawPart, Partial, merge_laws, merge_partials, merge_users
from entropie.attack.scoring import (
    PILOT_VALUES,
    atoms_of,
    attack,
    level_hint,
    needs_atoms,
    outcome_of,
    pilot_size,
    prepare,
    score_block,
)
from entropie.errors import InvalidInput

KINDS = st.sampled_from(["few values", "normal", "near"])
VALUES = st.sampled_from([2, 5, 17, 64, 2**18])


def matching_of(rng: np.random.Generator, users: int, kind: str) -> Matching:
    return near_matching(rng, users, 5) if kind == "near" else random_matching(rng, users, 6, kind)


def units_of(matching: Matching) -> Units:
    users = Extent.of_users(matching.users, matching.user_penalty)
    return users.merge(Extent.of_targets(matching.targets, matching.target_size)).units()


def cell_of(
    matching: Matching, units: Units, users: np.ndarray, targets: np.ndarray, atoms: np.ndarray
) -> tuple[Index, Targets]:
    """Index and targets of one cell, as a worker would make them from the rows of two blocks of people."""
    penalty, sizes = matching.user_penalty, matching.target_size
    genuine = genuine_scores(matching.users, matching.targets, penalty, sizes, units)
    index, rows = build_index(
        matching.users.take(users),
        matching.targets.take(targets),
        units=units,
        genuine=genuine[targets],
        penalty=None if penalty is None else penalty[users],
        sizes=None if sizes is None else sizes[targets],
        people=users,
        ids=targets,
    )
    return replace(index, atoms=atoms), rows


def in_disorder(targets: Targets, rng: np.random.Generator) -> Targets:
    """The same targets in any order with any heads: neither may matter."""
    taken = targets.take(rng.permutation(targets.ids.size))
    return replace(taken, heads=rng.integers(0, np.diff(taken.offsets) + 1))


def some_atoms(scores: np.ndarray, units: Units, rng: np.random.Generator) -> np.ndarray:
    keys = units.keys(scores.ravel())
    return np.unique(rng.choice(keys, int(rng.integers(0, 4)))).astype(np.int64)


def cut(rng: np.random.Generator, people: int, pieces: int) -> list[np.ndarray]:
    """Deal people to blocks at random; blocks need not be runs, and some may be empty."""
    block = rng.integers(0, pieces, people)
    return [np.flatnonzero(block == number) for number in range(pieces)]


@given(SEEDS, KINDS, st.integers(1, 14), st.integers(1, 16), VALUES)
@settings(max_examples=150, deadline=None)
def test_a_cell_is_what_a_slow_count_finds(seed: int, kind: str, people: int, candidates: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    matching = matching_of(rng, people, kind)
    units = units_of(matching)
    scores = whole_scores(matching, units)
    atoms = some_atoms(scores, units, rng)
    users = np.flatnonzero(np.append(rng.random(people - 1) < 0.7, True))
    targets = np.flatnonzero(rng.random(people) < 0.7)
    index, rows = cell_of(matching, units, users, targets, atoms)
    found = score_block(index, in_disorder(rows, rng), candidates=candidates, max_values=values)
    lists = users.tolist(), targets.tolist()
    want = cell_result(scores, units, *lists, candidates=candidates, max_values=values, atoms=atoms.tolist())
    assert same_partial(found, want)
    assert found.ties.tolist() == [
        sum(scores[j, i] >= scores[j, users].max() - units.tolerance for i in users) for j in targets
    ]


def merged_at_random(cells: list[list[Partial]], tolerance: int, rng: np.random.Generator) -> Partial:
    """Merge a grid of cells: users first or targets first, in any order and any grouping."""

    def grouped(parts: list[Partial], users: bool) -> Partial:
        parts = [parts[i] for i in rng.permutation(len(parts))]
        while len(parts) > 1:
            size = int(rng.integers(2, len(parts) + 1))
            some = parts[:size]
            parts = [*parts[size:], merge_users(some, tolerance) if users else merge_partials(some)]
        return parts[0]

    if rng.random() < 0.5:
        return grouped([grouped(list(row), True) for row in zip(*cells, strict=True)], False)
    return grouped([grouped(row, False) for row in cells], True)


@given(SEEDS, KINDS, st.integers(1, 14), st.integers(1, 16), VALUES, st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_cells_merge_to_the_whole_in_any_order(
    seed: int, kind: str, people: int, candidates: int, values: int, user_blocks: int, target_blocks: int
) -> None:
    rng = np.random.default_rng(seed)
    matching = matching_of(rng, people, kind)
    units = units_of(matching)
    scores = whole_scores(matching, units)
    atoms = some_atoms(scores, units, rng)
    everybody = np.arange(people)
    index, rows = cell_of(matching, units, everybody, everybody, atoms)
    whole = score_block(index, in_disorder(rows, rng), candidates=candidates, max_values=values)
    everyone = everybody.tolist()
    want = cell_result(
        scores, units, everyone, everyone, candidates=candidates, max_values=values, atoms=atoms.tolist()
    )
    assert same_partial(whole, want)
    splits = cut(rng, people, target_blocks)
    cells = []
    for users in cut(rng, people, user_blocks):
        cells.append([])
        for targets in splits:
            index, rows = cell_of(matching, units, users, targets, atoms)
            level = int(rng.integers(0, whole.law.level + 1))  # what another cell may have told
            rows = in_disorder(rows, rng)
            cells[-1].append(score_block(index, rows, candidates=candidates, max_values=values, level=level))
    found = merged_at_random(cells, units.tolerance, rng)
    assert same_partial(found, whole)
    laws = [cell.law for row in cells for cell in row]
    alone = merge_laws([laws[i] for i in rng.permutation(len(laws))])
    for name in LawPart.__slots__:
        np.testing.assert_array_equal(getattr(alone, name), getattr(whole.law, name))
    outcome = outcome_of(units, atoms, found)
    assert outcome.candidates.shape == (people, min(candidates, people))
    assert same_outcome(outcome, attack(matching, candidates=candidates, max_values=values, atoms=atoms))


def test_near_scores_join_and_are_cut_at_the_new_best() -> None:
    # Two blocks with bests 10 units apart: what is near the lower best falls away where it is not near the higher.
    unit = 2.0**-44
    weights = 1.0 + np.array([0, -5, -17_590, -17_592, 10, 10, -17_582, -17_583]) * unit
    users = FeatureRows(np.arange(9), np.zeros(8, np.uint32), weights, 1)
    matching = Matching(users, users.with_weights(np.ones(8)))
    units = units_of(matching)
    assert units == Units(44)
    best = 2**44
    nothing = np.empty(0, np.int64)
    parts = []
    for people in (np.arange(4), np.arange(4, 8)):
        index, rows = cell_of(matching, units, people, np.array([1]), nothing)
        parts.append(score_block(index, rows, candidates=2, max_values=64))
    near = [list(zip((part.near_scores - best).tolist(), part.near_counts.tolist(), strict=True)) for part in parts]
    assert near == [[(0, 1), (-5, 1), (-17_590, 1), (-17_592, 1)], [(10, 2), (-17_582, 1)]]
    both = merge_users(parts, units.tolerance)
    assert (both.near_scores - best).tolist() == [10, 0, -5, -17_582]
    assert both.near_counts.tolist() == [2, 1, 1, 1]
    assert both.ties.tolist() == [5]
    assert both.candidates.tolist() == [[4, 5]]
    assert (both.better.tolist(), both.tied.tolist()) == ([0], [8])  # all within 17,592 units of -5


def test_equal_scores_of_blocks_stand_by_number() -> None:
    users = FeatureRows(np.arange(7), np.zeros(6, np.uint32), np.ones(6), 1)
    matching = Matching(users, users)
    units = units_of(matching)
    parts = []
    for people in (np.array([1, 4]), np.array([0, 5]), np.array([2, 3])):
        index, rows = cell_of(matching, units, people, np.arange(6), np.empty(0, np.int64))
        parts.append(score_block(index, rows, candidates=4, max_values=64))
    assert parts[0].candidates[0].tolist() == [1, 4, 2**32 - 1, 2**32 - 1]
    assert merge_users(parts, units.tolerance).candidates.tolist() == [[0, 1, 2, 3]] * 6


@given(SEEDS, KINDS, st.integers(2, 14), st.sampled_from([2, 5, 17]), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_a_pilot_merged_over_users_gives_atoms_and_a_level(
    seed: int, kind: str, people: int, values: int, user_blocks: int
) -> None:
    rng = np.random.default_rng(seed)
    matching = matching_of(rng, people, kind)
    units = units_of(matching)
    order = rng.permutation(people)
    if not needs_atoms(people, people, values):
        assert people * people <= values
        return
    pilot = np.sort(order[: pilot_size(people)])
    parts = []
    for users in cut(rng, people, user_blocks):
        index, rows = cell_of(matching, units, users, pilot, np.empty(0, np.int64))
        parts.append(score_block(index, rows, candidates=1, max_values=PILOT_VALUES))
    partial = merge_users(parts, units.tolerance)
    atoms = atoms_of(units, partial)
    index, targets = prepare(matching, max_values=values, pilot=order)
    assert index.atoms.tolist() == atoms.tolist()
    keys = units.keys(whole_scores(matching, units)[pilot].ravel())
    found, counts = np.unique(keys, return_counts=True)
    assert atoms.tolist() == found[counts >= max(2, keys.size / 256)].tolist()
    whole = score_block(index, targets, max_values=values)
    hint = level_hint(partial, values, atoms)
    assert hint <= whole.law.level
    assert same_partial(whole, score_block(index, targets, max_values=values, level=hint))
    if pilot.size == people:
        assert hint == whole.law.level
    given_atoms = attack(matching, max_values=values, atoms=rng.permutation(np.concatenate((atoms, atoms))))
    assert same_outcome(given_atoms, attack(matching, max_values=values, pilot=order))


def test_the_pilot_is_the_first_targets_of_the_order() -> None:
    # 300 people, of whom 256 make a pilot. Targets below 150 are empty: all their scores are 0, an atom.
    people = 300
    rng = np.random.default_rng(3)
    users = FeatureRows(np.arange(people + 1), np.zeros(people, np.uint32), rng.normal(size=people), 1)
    asked = np.arange(people) >= 150
    offsets = np.concatenate(([0], np.cumsum(asked))).astype(np.int64)
    weights = 1 + rng.random(150)
    matching = Matching(users, FeatureRows(offsets, np.zeros(150, np.uint32), weights, 1))
    assert pilot_size(people) == 256
    first = np.arange(people)
    assert prepare(matching, max_values=50, pilot=first)[0].atoms.tolist() == [0]
    assert prepare(matching, max_values=50, pilot=first[::-1][:150])[0].atoms.tolist() == []
    beyond = np.concatenate((rng.permutation(first[:256]), rng.permutation(first[256:])))
    assert same_outcome(
        attack(matching, max_values=50, pilot=first), attack(matching, max_values=50, pilot=beyond, threads=1)
    )
    assert [pilot_size(n) for n in (1, 4096, 4097, 2**15, 2**16, 10**8)] == [256, 256, 255, 32, 16, 16]
    assert [needs_atoms(n, n) for n in (512, 513)] == [False, True]
    assert [needs_atoms(2**15, 2**k) for k in (1, 2)] == [False, True]


def test_a_pilot_with_more_values_than_it_keeps_names_no_atom() -> None:
    law = LawPart(np.zeros(0, np.int64), np.arange(4) * 8, np.ones(4, np.int64), 2, 4)
    partial = Partial.unscored(np.arange(1), np.zeros(1, np.int64), 1, law)
    nothing = atoms_of(Units(44), partial)
    assert nothing.size == 0
    assert level_hint(partial, 4, nothing) == 2
    assert level_hint(partial, 2, nothing) == 2 + 4  # 0, 8, 16, 24 become 0, 0, 1, 1
    assert level_hint(partial, 5, nothing) == 0  # with room for more values the law may need less than the pilot's


def test_no_users_and_no_targets_change_nothing() -> None:
    matching = random_matching(np.random.default_rng(4), 6, 5, "normal")
    units = units_of(matching)
    atoms = np.zeros(1, np.int64)
    everybody, nobody = np.arange(6), np.empty(0, np.int64)

    def scored(users: np.ndarray, targets: np.ndarray) -> Partial:
        return score_block(*cell_of(matching, units, users, targets, atoms), candidates=3, max_values=8)

    whole = scored(everybody, everybody)
    assert same_partial(merge_users([scored(nobody, everybody), whole], units.tolerance), whole)
    assert same_partial(merge_partials([whole, scored(everybody, nobody)]), whole)
    empty = merge_users([scored(nobody, everybody)] * 2, units.tolerance)
    assert same_partial(empty, scored(nobody, everybody))
    assert empty.ties.tolist() == [0] * 6


def test_refusals() -> None:
    matching = random_matching(np.random.default_rng(5), 6, 5, "normal")
    units = units_of(matching)
    everybody, nothing = np.arange(6), np.empty(0, np.int64)
    index, targets = cell_of(matching, units, everybody, everybody, nothing)
    part = score_block(index, targets, max_values=8)
    with pytest.raises(InvalidInput, match="must be of the same targets"):
        merge_users([part, score_block(index, targets.part(0, 3), max_values=8)], units.tolerance)
    with pytest.raises(InvalidInput, match="the same genuine scores"):
        merge_users([part, replace(part, genuine=part.genuine + 1)], units.tolerance)
    with pytest.raises(InvalidInput, match="the same `max_values`"):
        merge_laws([part.law, LawPart.empty(0, 9)])
    with pytest.raises(AssertionError, match="genuine score"):
        score_block(index, replace(targets, genuine=targets.genuine + 1), max_values=8)
