"""A distribution of items on file: the counts or shares that an earlier collection found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.budget import Budget
from entropie.data.columns import read_columns
from entropie.data.tables import open_table
from entropie.errors import InvalidInput

_COLUMNS = ("count", "consistent_share", "share")
"""Which column is taken, the first that is there: `estimate --out` writes the last two."""


def read_shares(path: Path, memory: int | None = None) -> NDArray[np.float64]:
    """A number per item; estimates that came out below 0 are taken for 0."""
    header = open_table(path).header
    name = next((column for column in _COLUMNS if column in header.columns), None)
    if name is None:
        raise InvalidInput(f"{path.name} needs a column {' or '.join(_COLUMNS)}; found: {header.listed(_COLUMNS)}.")
    budget, parts, size = Budget(str(path), memory), [], 0
    for batch, place in read_columns(path, [name]):
        column = batch.column(0)
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise InvalidInput(
                f"Column `{name}` of {path.name} is blank {place.of(row)}; fill it or leave the row out."
            )
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise InvalidInput(f"Column `{name}` of {path.name} must hold numbers, it holds {column.type}.")
        parts.append(np.maximum(column.to_numpy(zero_copy_only=False).astype(np.float64), 0.0))
        size += parts[-1].nbytes
        budget.keep("items", 4 * size)
    return np.concatenate(parts)
