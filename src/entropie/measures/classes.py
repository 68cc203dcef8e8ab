"""Classes of people who share a combination of columns: their sizes, and which one everybody is in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidParameter

Codes = NDArray[np.int64]
_LARGEST_CODE = 2**62


def group_sizes(columns: Sequence[tuple[Codes, int]]) -> Codes:
    """How many people share each combination that occurs; columns are codes and how many there are."""
    code, size = _combined(columns)
    if size <= 4 * code.size + 1024:
        counts = np.bincount(code, minlength=1)
        return counts[counts > 0]
    ordered = np.sort(code)
    ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), code.size - 1)
    return np.diff(ends, prepend=-1)


def classes_of(columns: Sequence[tuple[Codes, int]]) -> tuple[Codes, Codes]:
    """The class of everybody, from 0, and the sizes of the classes.

    >>> [found.tolist() for found in classes_of([(np.array([1, 0, 1]), 2), (np.array([3, 3, 3]), 9)])]
    [[1, 0, 1], [1, 2]]
    """
    _, places, sizes = np.unique(_combined(columns)[0], return_inverse=True, return_counts=True)
    return places.astype(np.int64), sizes


def _combined(columns: Sequence[tuple[Codes, int]]) -> tuple[Codes, int]:
    """One code for each combination, and a number that none of them reaches."""
    if not columns:
        raise InvalidParameter("Parameter `columns` must name at least one column.")
    code, size = columns[0]
    for codes, values in columns[1:]:
        if size * values >= _LARGEST_CODE:  # number the combinations that occur, to make room
            used, code = np.unique(code, return_inverse=True)
            size = used.size
        code, size = code * values + codes, size * values
    return code, size
