"""The category of each item: the one that most of its rows have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import absent_in, one_of, truths_of
from entropie.data.blocks import UNREADABLE
from entropie.data.classify import readable
from entropie.data.rules import NULLS


@dataclass(frozen=True, slots=True, eq=False)
class ItemCategories:
    """A category per item, 0 and up; items without any share one of their own.

    several   items whose rows name more than one category
    without   items whose rows name none
    """

    of_item: NDArray[np.int64]
    categories: int
    several: int
    without: int

    @classmethod
    def of(cls, items: NDArray[np.uint32], named: NDArray[np.uint32], size: int, blank: int) -> ItemCategories:
        """Settle by majority, the first in order among equals; rows with the category `blank` say nothing."""
        told = named != blank
        count = int(named[told].max(initial=0)) + 1
        pairs, rows = np.unique(items[told].astype(np.int64) * count + named[told], return_counts=True)
        item, category = np.divmod(pairs, count)
        order = np.lexsort((category, -rows, item))
        first = order[np.unique(item[order], return_index=True)[1]]
        of_item = np.full(size, count, np.int64)
        of_item[item[first]] = category[first]
        several = int((np.bincount(item, minlength=size) > 1).sum())
        return cls(of_item, count, several, int((of_item == count).sum()))

    def take(self, items: NDArray[np.int64]) -> ItemCategories:
        """Those of some items; the account stays that of all."""
        return ItemCategories(self.of_item[items], self.categories, self.several, self.without)

    def to_json(self) -> dict[str, int]:
        """The account, as in assessment.json."""
        return {"categories": self.categories, "items_with_several": self.several, "items_without": self.without}


def category_told(column: pa.Array) -> NDArray[np.bool_]:
    """Rows that name a category: not blank, not a word for nothing, readable."""
    told = ~absent_in(column)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        text = readable(column)
        told &= ~one_of(pc.utf8_trim_whitespace(text), (*NULLS, ""))
        told &= ~truths_of(pc.match_substring(text, UNREADABLE))
    return told
