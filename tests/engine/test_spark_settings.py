"""How a run is cut into blocks: everybody in one block, blocks within memory, enough cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropie.engine.spark.settings import BYTES_PER_USER, BYTES_PER_USER_EVENT, cut, grid_of, parse_size
from entropie.errors import InvalidParameter

bins = st.lists(st.integers(0, 1000), min_size=1, max_size=50)


@given(bins, st.integers(1, 20), st.integers(1, 60))
def test_a_cut_covers_every_code_once_and_only_at_bins(weights: list[int], width: int, blocks: int) -> None:
    first = np.arange(len(weights), dtype=np.int64) * width
    end = len(weights) * width
    bounds = cut(first, np.array(weights, np.float64), end, blocks)
    assert bounds.size <= blocks + 1
    assert bounds[0] == 0
    assert bounds[-1] == end
    assert np.all(np.diff(bounds) > 0)
    assert set(bounds[1:-1]) <= set(first)


@given(bins, st.integers(1, 60))
def test_no_block_weighs_more_than_its_part_by_more_than_a_bin(weights: list[int], blocks: int) -> None:
    first = np.arange(len(weights), dtype=np.int64)
    bounds = cut(first, np.array(weights, np.float64), len(weights), blocks)
    sums = np.add.reduceat(np.array(weights), bounds[:-1])
    assert sums.max() <= sum(weights) / blocks + max(weights)


@pytest.mark.parametrize("memory", [1 << 16, 1 << 20, 1 << 30])
def test_half_of_the_memory_is_for_the_users_of_a_cell(memory: int) -> None:
    people, events = np.full(100, 50), np.full(100, 1500)
    grid = grid_of(np.arange(100, dtype=np.int64) * 50, people, events, events, 5000, memory=memory, cores=2, models=1)
    per_bin = BYTES_PER_USER * 50 + BYTES_PER_USER_EVENT * 1500
    largest = np.diff(grid.users).max() / 50 * per_bin
    assert largest <= max(memory / 2, per_bin) + per_bin
    assert (grid.user_blocks == 1) == (100 * per_bin <= memory / 2)
    assert grid.user_blocks * grid.target_blocks >= 2


@pytest.mark.parametrize(("cores", "models"), [(2, 1), (2, 6), (7, 1), (64, 2)])
def test_small_cells_are_as_many_as_cores(cores: int, models: int) -> None:
    many = np.full(1000, 200)
    grid = grid_of(
        np.arange(1000, dtype=np.int64) * 200,
        many,
        12 * many,
        12 * many,
        200_000,
        memory=1 << 34,
        cores=cores,
        models=models,
    )
    assert grid.user_blocks == 1
    wanted = min(3, max(1, 200_000**2 * models // (cores << 34))) * cores
    assert grid.cells == max(1, -(-wanted // models))


def test_blocks_of_a_given_size() -> None:
    ones = np.ones(97, np.int64)
    grid = grid_of(np.arange(97, dtype=np.int64), ones, ones, ones, 97, memory=1, cores=8, models=1, block_users=10)
    assert np.diff(grid.users).max() <= 10
    assert grid.user_block(np.array([0, 96])).tolist() == [0, grid.user_blocks - 1]
    assert np.array_equal(grid.users, grid.targets)


@pytest.mark.parametrize(
    ("text", "size"), [("512MB", 512 << 20), ("4GB", 4 << 30), ("1.5 kib", 1536), ("7", 7), (9, 9)]
)
def test_sizes_are_read(text: str | int, size: int) -> None:
    assert parse_size("memory", text) == size


@pytest.mark.parametrize("text", ["", "much", "-1GB", "0", 0])
def test_other_sizes_are_refused_by_name(text: str | int) -> None:
    with pytest.raises(InvalidParameter, match="memory"):
        parse_size("memory", text)
