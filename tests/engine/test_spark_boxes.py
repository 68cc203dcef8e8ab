"""Boxes hold what was put into them, and rows are cut so that they fit."""

import numpy as np
import pytest

from entropie.engine.spark.blocks import pieces
from entropie.engine.spark.boxes import LARGEST_BOX, Box, Boxing, in_order, opened
from entropie.errors import InvalidInput


def _boxes(_: object) -> list[Box]:
    return [Box(3, 1, 1 << 40, (np.arange(5), None, "word")), Box(4, 0, 0, ())]


def test_boxes_come_out_as_they_went_in() -> None:
    first, second = opened(Boxing(_boxes)(iter(())))
    assert (first.key, first.side, first.part) == (3, 1, 1 << 40)
    assert first.arrays[0].tolist() == [0, 1, 2, 3, 4]
    assert first.arrays[1:] == (None, "word")
    assert second == Box(4, 0, 0, ())


def test_rows_are_cut_into_runs_that_cover_all_and_fit() -> None:
    lengths = np.array([0, 5, LARGEST_BOX // 16, 3, 0, LARGEST_BOX // 8, 1])
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    runs = list(pieces(7, offsets, 16))
    assert [part for part, _, _ in runs] == list(range(7, 7 + len(runs)))
    assert [begin for _, begin, _ in runs] == [0, *(end for _, _, end in runs[:-1])]
    assert runs[-1][2] == lengths.size
    assert len(runs) > 1
    for _, begin, end in runs:
        assert end - begin == 1 or (offsets[end] - offsets[begin]) * 16 <= LARGEST_BOX


def test_boxes_out_of_order_are_noticed() -> None:
    with pytest.raises(InvalidInput, match="out of order"):
        list(in_order([Box(1, 0, 0, ()), Box(0, 0, 0, ())]))
