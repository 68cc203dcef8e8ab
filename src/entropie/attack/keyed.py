"""Rows over 64-bit feature keys that mean the same in every block of people, and their way back to dense numbers.

Each matcher says which keys it gives; 2^64 - 1 is no key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import FeatureRows, ragged
from entropie.data.traces import Traces
from entropie.errors import InvalidInput
from entropie.kernels.keyed import key_table, number_rows

_LARGEST_CODE = 2**32 - 2  # the next one marks first items under markov


@dataclass(frozen=True, slots=True, eq=False)
class KeyedRows:
    """Sparse rows over keys, which ascend within a row; `term` is each row's part of the rank-one term, if any."""

    offsets: NDArray[np.int64]
    keys: NDArray[np.uint64]
    weights: NDArray[np.float64]
    term: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if (
            self.offsets.size == 0
            or self.offsets[0] != 0
            or not self.offsets[-1] == self.keys.size == self.weights.size
        ):
            raise InvalidInput(
                f"Keyed rows: `offsets` must run from 0 to the number of keys, {self.keys.size}, "
                f"with a weight each, got {self.weights.size}."
            )
        if self.term is not None and self.term.size != self.rows:
            raise InvalidInput(f"Keyed rows: `term` must have one value per row, {self.rows}, got {self.term.size}.")

    @property
    def rows(self) -> int:
        """Number of rows, empty ones included."""
        return self.offsets.size - 1

    def take(self, rows: NDArray[np.int64]) -> KeyedRows:
        """Copy the named rows in the order named."""
        offsets, places = ragged(self.offsets, rows)
        term = None if self.term is None else self.term[rows]
        return KeyedRows(offsets, self.keys[places], self.weights[places], term)

    @classmethod
    def concat(cls, parts: Sequence[KeyedRows]) -> KeyedRows:
        """Rows of several blocks, one after the other."""
        if not parts:
            return cls(np.zeros(1, np.int64), np.empty(0, np.uint64), np.empty(0))
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        terms = [part.term for part in parts if part.term is not None]
        if len(terms) not in (0, len(parts)):
            raise InvalidInput("Keyed rows: all blocks must have a `term`, or none.")
        return cls(
            np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))),
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.weights for part in parts]),
            np.concatenate(terms) if terms else None,
        )


class KeyNumbers:
    """The keys that some target has, numbered rising."""

    def __init__(self, targets: KeyedRows) -> None:
        keys = np.sort(targets.keys)
        numbered = keys[np.concatenate(([True], keys[1:] != keys[:-1]))] if keys.size else keys
        if numbered.size > 2**32:
            raise InvalidInput(f"A block of targets must have at most 2^32 features, got {numbered.size}.")
        self._count, self._table = numbered.size, key_table(numbered)

    def rows(self, keyed: KeyedRows) -> FeatureRows:
        """Rows over the numbers; keys that no target has are left out."""
        return FeatureRows(*number_rows(keyed.offsets, keyed.keys, keyed.weights, *self._table), self._count)


def match_keys(users: KeyedRows, targets: KeyedRows) -> tuple[FeatureRows, FeatureRows]:
    """Rows of users and targets over the keys that some target has."""
    numbers = KeyNumbers(targets)
    return numbers.rows(users), numbers.rows(targets)


def check_codes(traces: Traces, item_codes: NDArray[np.uint32]) -> None:
    """Refuse codes that are not one per item, rising, below the one that marks first items."""
    if item_codes.size != traces.domain_size:
        raise InvalidInput(f"There must be one item code per item, {traces.domain_size}, got {item_codes.size}.")
    if item_codes.size and (np.any(item_codes[1:] <= item_codes[:-1]) or int(item_codes[-1]) > _LARGEST_CODE):
        raise InvalidInput(f"Item codes must rise and stay at or below {_LARGEST_CODE}.")
