"""Mergeable counts: how many reports support each item. Add, merge, save, load; the sum is all that is kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.atomic import replacing
from entropie.errors import InvalidInput, InvalidParameter, ParametersMismatch

Counters = NDArray[np.uint32] | NDArray[np.int64]
"""32 bits while there are fewer than 2^32 reports, since none counts an item twice; 64 bits from then on."""

FORMAT_VERSION = 1
LARGEST_TABLE = 2**30
"""Counting every item needs a counter per item; beyond this many (8 GB) a list of items must be given."""


class Counts:
    """Support counts of reports made under one parameter document.

    parameters   the canonical parameter document, as text: counts of other parameters do not merge
    items        the items counted (sorted), or None for the whole domain
    counts       one counter per item
    reports      how many reports went in
    """

    __slots__ = ("_handed_out", "counts", "domain_size", "items", "parameters", "reports")

    def __init__(self, parameters: str, domain_size: int, items: ArrayLike | None = None) -> None:
        if items is None and domain_size > LARGEST_TABLE:
            raise InvalidParameter(
                f"Parameter `items` must be given when the domain has more than {LARGEST_TABLE} items, "
                f"it has {domain_size}; list the items to count."
            )
        self.parameters = parameters
        self.domain_size = domain_size
        self.items = None if items is None else checked_items(items, domain_size)
        size = domain_size if self.items is None else len(self.items)
        self.counts: Counters = np.zeros(size, np.uint32)
        self.reports = 0
        self._handed_out = False

    def add_supports(self, supports: Counters, reports: int) -> None:
        """Add what `reports` more reports support; the array is kept, so the caller must not change it later."""
        if self.reports == 0:
            self.counts = supports
        else:
            mine = self.counts.copy() if self._handed_out else self.counts
            self.counts = _added(mine, supports, self.reports + reports)
        self._handed_out = False
        self.reports += reports

    def snapshot(self) -> Counters:
        """The counters as they are now; they stay so when these counts grow, which then make a copy first."""
        self._handed_out = True
        return self.counts

    def merge(self, other: Counts) -> Counts:
        """The counts of both sets of reports together, as a new value."""
        if self.parameters != other.parameters:
            raise ParametersMismatch(
                "Counts of different parameters cannot be merged; count each set of reports with its own document."
            )
        if not np.array_equal(self._counted(), other._counted()):
            raise InvalidInput("Counts of different lists of items cannot be merged; count the same items in both.")
        both = Counts.__new__(Counts)
        both.parameters, both.domain_size, both.items = self.parameters, self.domain_size, self.items
        both._handed_out = False
        both.reports = self.reports + other.reports
        both.counts = _added(self.counts.copy(), other.counts, both.reports)
        return both

    def _counted(self) -> NDArray[np.uint64]:
        return np.empty(0, np.uint64) if self.items is None else self.items

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to `path` at once: either the whole file is there or nothing is."""
        arrays = {
            "version": np.array(FORMAT_VERSION),
            "parameters": np.frombuffer(self.parameters.encode(), np.uint8),
            "domain_size": np.array(self.domain_size, np.uint64),
            "reports": np.array(self.reports, np.int64),
            "counts": self.counts,
        }
        if self.items is not None:
            arrays["items"] = self.items
        with replacing(path) as hidden, hidden.open("wb") as handle:
            np.savez(handle, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Counts:
        """Read what `save` wrote; a file that is damaged, or whose parts do not fit together, is refused."""
        try:
            with Path(path).open("rb") as handle, np.load(handle, allow_pickle=False) as file:
                parts = {name: file[name] for name in file.files}
        except FileNotFoundError:
            raise InvalidInput(f"Counts file {path} does not exist.") from None
        except Exception:  # whatever a damaged archive makes the reader stumble over
            raise InvalidInput(f"Counts file {path} is damaged or not a counts file.") from None
        counts = cls._of(parts)
        if counts is None:
            raise InvalidInput(f"Counts file {path} is damaged, or of another version than {FORMAT_VERSION}.")
        return counts

    @classmethod
    def _of(cls, parts: dict[str, NDArray[Any]]) -> Counts | None:
        """The counts that these arrays describe, or None where they cannot be right."""
        needed = {"version", "parameters", "domain_size", "reports", "counts"}
        if not needed <= set(parts) <= needed | {"items"}:
            return None
        scalars = [parts[name] for name in ("version", "domain_size", "reports")]
        if any(part.ndim != 0 or part.dtype.kind not in "ui" for part in scalars):
            return None
        version, domain_size, reports = (int(part) for part in scalars)
        if version != FORMAT_VERSION or domain_size < 1 or reports < 0 or parts["parameters"].dtype != np.uint8:
            return None
        try:
            document = parts["parameters"].tobytes().decode()
        except UnicodeDecodeError:
            return None
        items, numbers = parts.get("items"), parts["counts"]
        if items is not None and not _are_items(items, domain_size):
            return None
        size = domain_size if items is None else len(items)
        if numbers.shape != (size,) or numbers.dtype not in (np.uint32, np.int64):
            return None
        if size and (int(numbers.min()) < 0 or int(numbers.max()) > reports):
            return None
        counts = cls.__new__(cls)
        counts.parameters, counts.domain_size, counts.items = document, domain_size, items
        counts.counts, counts.reports, counts._handed_out = numbers, reports, False
        return counts


def _are_items(items: NDArray[Any], domain_size: int) -> bool:
    """Whether these are sorted, different codes of the domain."""
    if items.ndim != 1 or items.dtype != np.uint64 or len(items) == 0:
        return False
    return int(items[-1]) < domain_size and bool((items[1:] > items[:-1]).all())


def _added(counts: Counters, more: Counters, reports: int) -> Counters:
    """The sum, in place where the type of `counts` can hold this many reports."""
    if counts.dtype == np.uint32 and reports >= 2**32:
        counts = counts.astype(np.int64)
    counts += more.astype(counts.dtype, copy=False)
    return counts


def checked_items(items: ArrayLike, domain_size: int) -> NDArray[np.uint64]:
    """Sorted distinct item codes, each inside the domain."""
    try:
        codes = np.asarray(items)
    except ValueError:  # lists of different lengths
        codes = np.empty((0, 0))
    if codes.ndim != 1 or codes.size == 0 or codes.dtype.kind not in "ui":
        raise InvalidParameter("Parameter `items` must be a non-empty list of item codes.")
    if codes.min() < 0 or int(codes.max()) >= domain_size:
        outside = int(codes.min()) if codes.min() < 0 else int(codes.max())
        raise InvalidParameter.of("items", f"item codes from 0 to {domain_size - 1}", outside)
    return np.unique(codes.astype(np.uint64))
