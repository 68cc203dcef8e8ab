"""Columns of a table that were not named: whether one of them has another value for nearly everybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from entropie.data.arrow import comparable
from entropie.document.base import Part

NEARLY = 0.99
"""An identifier has so many different values among those that are there; a few mistakes make it no other column."""
MOST_BYTES, SHARE = 256 * 10**6, 1 / 8  # of the memory allowed
"""Values that are kept to be told apart; a column that was an identifier until then counts as one."""

_SOME = 50  # repeated values that do not rule out an identifier while the rest has not been seen


class UnnamedColumn(Part, frozen=True):
    """A column that was not assessed, and whether nearly nobody shares a value in it."""

    name: str
    identifier: bool


@dataclass(slots=True)
class _Seen:
    """What has been seen of a column that may be an identifier."""

    rows: int = 0
    there: int = 0
    repeated: int = 0
    parts: list[Any] = field(default_factory=list)

    def repeats(self, more: int) -> bool:
        """Whether so many repeated values more rule it out."""
        return self.repeated + more > _SOME + (1.0 - NEARLY) * self.there

    @property
    def told(self) -> bool:
        """Whether it is one: at least half of the people have a value, and hardly any of them the same."""
        return self.repeated <= (1.0 - NEARLY) * self.there and 2 * self.there >= self.rows > 0


class Unnamed:
    """The columns that may still tell everybody apart, batch by batch; most are out after the first."""

    def __init__(self, names: Sequence[str], allowed: int) -> None:
        self.names = tuple(names)
        self._seen = {name: _Seen() for name in names}
        self._most = min(MOST_BYTES, int(SHARE * allowed))
        self.nbytes = 0

    def see(self, batch: pa.RecordBatch) -> None:
        """Look at some rows; a column is out before values that are written once and repeated are unfolded."""
        for name, seen in list(self._seen.items()):
            column = comparable(batch.column(name))
            if pa.types.is_dictionary(column.type):
                if seen.repeats(len(column) - _different(column.indices)):
                    del self._seen[name]
                    continue
                column = column.dictionary_decode()
            values = _there(column)
            seen.rows += batch.num_rows
            seen.there += len(values)
            repeated = len(values) - _different(values)
            if seen.repeats(repeated):
                del self._seen[name]
                continue
            seen.repeated += repeated
            if self.nbytes < self._most:
                self.nbytes += values.nbytes
                seen.parts.append(values)

    def told(self) -> tuple[UnnamedColumn, ...]:
        """What was found, in the order of the table."""
        for seen in self._seen.values():
            if seen.parts:
                seen.repeated += sum(map(_different, seen.parts)) - _different(pa.chunked_array(seen.parts))
        return tuple(UnnamedColumn(name, name in self._seen and self._seen[name].told) for name in self.names)


def _there(values: Any) -> Any:
    """The values that are no blank."""
    text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    return values.filter(pc.not_equal(values, "")) if text else values


def _different(values: Any) -> int:
    return int(pc.count_distinct(values).as_py())
