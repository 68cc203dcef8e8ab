"""k-anonymity: the smallest class of people who share a combination, and how the sizes are spread (Sweeney 2002)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.document.table import Anonymity, ClassSizes
from entropie.words import count, plural

_BEGINS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)


def anonymity(columns: tuple[str, ...], sizes: NDArray[np.int64]) -> Anonymity:
    """The smallest class, and how many classes and people there are of which size.

    >>> [(row.at_least, row.at_most, row.people) for row in anonymity(("age",), np.array([1, 1, 4, 2000])).sizes]
    [(1, 1, 2), (3, 4, 4), (1000, None, 2000)]
    """
    smallest = int(sizes.min())
    place = np.searchsorted(_BEGINS, sizes, side="right") - 1
    classes = np.bincount(place, minlength=len(_BEGINS))
    people = np.bincount(place, weights=sizes, minlength=len(_BEGINS)).astype(np.int64)
    ends = [*(begin - 1 for begin in _BEGINS[1:]), None]
    rows = tuple(
        ClassSizes(begin, end, int(some), int(many))
        for begin, end, some, many in zip(_BEGINS, ends, classes, people, strict=True)
        if some
    )
    return Anonymity(columns, smallest, int(sizes.size), rows, _shared(smallest, sizes))


def _shared(smallest: int, sizes: NDArray[np.int64]) -> str:
    if smallest > 1:
        others = plural(smallest - 1, "other person", "other people")
        return f"k = {count(smallest)}: everybody shares their values with at least {others}."
    alone = int(np.count_nonzero(sizes == 1))
    verb = "shares" if alone == 1 else "share"
    return f"k = 1: {plural(alone, 'person', 'people')} {verb} their values with nobody."
