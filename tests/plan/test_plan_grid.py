"""How a run is cut into blocks: everybody in one block, blocks within memory, enough cells."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropie.plan.grid import BYTES_PER_USER, BYTES_PER_USER_EVENT, Bins, Workers, cut, grid_of
from entropie.plan.plan import Counts, workers_of
from entropie.request import Run

weights = st.lists(st.integers(0, 1000), min_size=1, max_size=50)


@given(weights, st.integers(1, 20), st.integers(1, 60))
def test_a_cut_covers_every_code_once_and_only_at_bins(weights: list[int], width: int, blocks: int) -> None:
    first = np.arange(len(weights), dtype=np.int64) * width
    end = len(weights) * width
    bounds = cut(first, np.array(weights, np.float64), end, blocks)
    assert bounds.size <= blocks + 1
    assert bounds[0] == 0
    assert bounds[-1] == end
    assert np.all(np.diff(bounds) > 0)
    assert set(bounds[1:-1]) <= set(first)


@given(weights, st.integers(1, 60))
def test_no_block_weighs_more_than_its_part_by_more_than_a_bin(weights: list[int], blocks: int) -> None:
    first = np.arange(len(weights), dtype=np.int64)
    bounds = cut(first, np.array(weights, np.float64), len(weights), blocks)
    sums = np.add.reduceat(np.array(weights), bounds[:-1])
    assert sums.max() <= sum(weights) / blocks + max(weights)


def bins(count: int, people: int, events: int) -> Bins:
    """So many bins alike, each with so many people and events on either side."""
    each = np.full(count, people), np.full(count, events), np.full(count, events)
    return Bins(np.arange(count, dtype=np.int64) * people, *each, count * people)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("memory", [1 << 16, 1 << 20, 1 << 30])
def test_half_of_the_memory_is_for_the_users_of_a_cell(memory: int, shared: bool) -> None:
    grid = grid_of(bins(100, 50, 1500), Workers(2, memory, shared), 1)
    per_bin = BYTES_PER_USER * 50 + BYTES_PER_USER_EVENT * 1500
    largest = np.diff(grid.users).max() / 50 * per_bin
    assert largest <= max(memory / 2, per_bin) + per_bin
    assert (grid.user_blocks == 1) == (100 * per_bin <= memory / 2)
    assert grid.cells >= (1 if shared else 2)


@pytest.mark.parametrize(("cores", "models"), [(2, 1), (2, 6), (7, 1), (64, 2)])
def test_small_cells_are_as_many_as_cores(cores: int, models: int) -> None:
    grid = grid_of(bins(1000, 200, 2400), Workers(cores, 1 << 34, shared=False), models)
    assert grid.user_blocks == 1
    wanted = min(3, max(1, 200_000**2 * models // (cores << 34))) * cores
    assert grid.cells == max(1, -(-wanted // models))


@pytest.mark.parametrize(("people", "cores", "cells"), [(10**6, 4, 15), (10**7, 4, 240), (10**7, 8, 480)])
def test_cells_take_minutes_at_most_unless_there_would_be_too_many(people: int, cores: int, cells: int) -> None:
    """2^36 pairs each: 10^12 pairs are 14.6 cells; of 10^14 there would be 1,455, and each core has sixty."""
    grid = grid_of(bins(1000, people // 1000, people // 100), Workers(cores, 1 << 40, shared=False), 1)
    assert grid.cells == pytest.approx(cells, abs=1)


def test_one_machine_cuts_only_for_memory() -> None:
    assert grid_of(bins(1000, 10_000, 10**6), Workers(64), 6).cells == 1


def test_blocks_of_a_given_size() -> None:
    grid = grid_of(bins(97, 1, 1), Workers(8, 1, shared=False, block_users=10), 1)
    assert np.diff(grid.users).max() <= 10
    assert grid.largest_block <= 10
    assert grid.user_block(np.array([0, 96])).tolist() == [0, grid.user_blocks - 1]
    assert grid.users == grid.targets


@given(st.integers(1, 200_000), st.floats(1.0, 50.0), st.floats(1.0, 50.0))
def test_people_who_are_all_alike_have_the_events_they_should(people: int, train: float, target: float) -> None:
    counts = Counts.even(people, train, target)
    assert counts.people == people == int(counts.bins.people.sum())
    for each, (lengths, some), binned in (
        (train, counts.train, counts.bins.train),
        (target, counts.target, counts.bins.target),
    ):
        assert some.sum() == people
        assert set(lengths) <= {math.floor(each), math.floor(each) + 1}
        assert int((lengths * some).sum()) == pytest.approx(people * each, abs=1)
        assert int(binned.sum()) == pytest.approx(people * each, abs=1)


def test_who_works_follows_from_the_run() -> None:
    assert workers_of(Run(threads=3, memory=10**9)) == Workers(3, 10**9, True)
    assert workers_of(Run(engine="spark"), 12) == Workers(12, 10**9, False)
    assert workers_of(Run(engine="spark", memory=5, block_users=7), 12) == Workers(12, 5, False, 7)


def test_blocks_without_number_are_one_for_each_bin() -> None:
    """A byte of memory asks for 10^12 blocks: what is held is that of the bins, and soon."""
    first, weights = np.arange(0, 4000, 2), np.random.default_rng(1).random(2000) + 0.5
    assert cut(first, weights, 4000, 10**12).tolist() == [*first.tolist(), 4000]
