"""Rows in random order: every order equally likely, in memory and through files, nothing lost."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from entropie.data.shuffle import Shuffle, random_order
from entropie.mechanisms.randomness import SystemSource


def batches(rows: int, size: int) -> list[pa.RecordBatch]:
    names = [f"row {i}" for i in range(rows)]
    return [
        pa.RecordBatch.from_pydict({"code": np.arange(at, min(at + size, rows)), "name": names[at : at + size]})
        for at in range(0, rows, size)
    ]


def shuffled(rows: int, size: int, limit: int, words, folder: Path) -> list[pa.RecordBatch]:
    with Shuffle(words, folder, limit) as shuffle:
        for batch in batches(rows, size):
            shuffle.add(batch)
        return list(shuffle.batches())


@pytest.mark.parametrize(
    ("limit", "rows"), [(10**9, 5000), (20_000, 5000), (3_000, 5000), (10**9, 200_000), (10**9, 1)]
)
def test_every_row_comes_out_once(tmp_path: Path, limit: int, rows: int) -> None:
    """In memory, through files, and through files of files; in batches of one size but the last."""
    out = shuffled(rows, 700, limit, SystemSource().words, tmp_path)
    table = pa.Table.from_batches(out)
    codes = table["code"].to_numpy()
    assert np.array_equal(np.sort(codes), np.arange(rows))
    assert table["name"].to_pylist() == [f"row {code}" for code in codes]
    assert all(batch.num_rows == 1 << 16 for batch in out[:-1])
    assert rows == 1 or abs(np.corrcoef(codes, np.arange(rows))[0, 1]) < 5 / rows**0.5
    assert not os.listdir(tmp_path)  # noqa: PTH208 - names of hidden files too


@pytest.mark.parametrize("limit", [10**9, 30])
def test_every_order_is_equally_likely(tmp_path: Path, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six orders of three rows, 300 times: chi-squared with 5 degrees of freedom stays below 35 but once in 10^6."""
    monkeypatch.setattr("entropie.data.shuffle._FILES", 4)
    rng = np.random.default_rng(3)
    seen: Counter[tuple[int, ...]] = Counter()
    draws = 300
    for _ in range(draws):
        out = shuffled(3, 1, limit, lambda size: rng.integers(0, 2**64, size, np.uint64), tmp_path)
        seen[tuple(pa.Table.from_batches(out)["code"].to_pylist())] += 1
    expected = draws / 6
    statistic = sum((seen[order] - expected) ** 2 / expected for order in itertools.permutations(range(3)))
    assert statistic < 35
    assert (
        sum((n - expected) ** 2 / expected for n in (draws // 2, draws // 2, 0, 0, 0, 0)) > 35
    )  # and would be noticed


def test_equal_numbers_are_drawn_again() -> None:
    """With ties the order would depend on where rows stood."""
    drawn = iter([np.array([5, 5, 1], np.uint64), np.array([7, 3, 9], np.uint64)])
    assert random_order(3, lambda size: next(drawn)).tolist() == [1, 0, 2]
