"""A mechanism as a matrix on file: numbers in CSV, a NumPy array, or the sparse arrays that SciPy saves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.data.budget import Budget
from entropie.errors import InvalidInput

Floats = NDArray[np.float64]
_REMEDY = "save one row of probabilities per item as .csv, .npy or .npz"
_SPARSE = {"format", "shape", "data", "indices", "indptr"}


def read_matrix(path: Path, memory: int | None = None) -> Floats:
    """The table of probabilities in a file; rows that sum to 1 but for rounding are made to sum to 1."""
    if not path.exists():
        raise InvalidInput(f"Matrix {path} does not exist; {_REMEDY}.")
    budget = Budget(str(path), memory)
    budget.require(4 * path.stat().st_size)
    try:
        found = _numbers(path) if path.suffix == ".csv" else _arrays(path, budget)
        table = np.asarray(found, dtype=np.float64)
    except InvalidInput:
        raise
    except Exception:  # whatever a damaged file makes the readers stumble over
        raise InvalidInput(f"Matrix {path} cannot be read as numbers; {_REMEDY}.") from None
    if table.ndim != 2 or table.size == 0:
        raise InvalidInput(f"Matrix {path} has {table.ndim} dimensions or no entries; {_REMEDY}.")
    return _stochastic(table, path)


def _stochastic(table: Floats, path: Path) -> Floats:
    if not np.isfinite(table).all() or (table < 0.0).any():
        row = int(np.flatnonzero((~np.isfinite(table) | (table < 0.0)).any(axis=1))[0])
        raise InvalidInput(f"Row {row + 1} of {path} holds what is no probability; every entry must be from 0 to 1.")
    sums = table.sum(axis=1)
    off = np.abs(sums - 1.0)
    if off.max() > 1e-6:
        row = int(off.argmax())
        raise InvalidInput(f"Row {row + 1} of {path} sums to {sums[row]:.6g}; every row must sum to 1.")
    return np.asarray(table / sums[:, None])


def _numbers(path: Path) -> Any:
    with path.open(encoding="utf-8") as lines:
        return np.loadtxt(lines, delimiter=",", ndmin=2)


def _arrays(path: Path, budget: Budget) -> Any:
    budget.require_unpacked(path)
    with path.open("rb") as handle:
        loaded = np.load(handle, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            parts = {name: loaded[name] for name in loaded.files}
    if set(parts) >= _SPARSE:
        return _dense(parts, budget)
    if len(parts) != 1:
        raise InvalidInput(f"Matrix {path} holds {len(parts)} arrays; {_REMEDY}.")
    return next(iter(parts.values()))


def _dense(parts: dict[str, NDArray[Any]], budget: Budget) -> Floats:
    """Compressed rows or columns written out."""
    rows, columns = (int(size) for size in parts["shape"])
    budget.require(8 * rows * columns)
    kind = parts["format"].item()
    by_row = (kind.decode() if isinstance(kind, bytes) else str(kind)) == "csr"
    table = np.zeros((rows, columns) if by_row else (columns, rows))
    lines = np.repeat(np.arange(len(table)), np.diff(parts["indptr"]))
    np.add.at(table, (lines, parts["indices"]), parts["data"])
    return table if by_row else table.T
