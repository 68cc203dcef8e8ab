"""JSON Lines: one object per line, its chosen keys as columns; every line is read by itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from entropie.data.arrow import from_numpy, from_texts, masked
from entropie.data.blocks import Block
from entropie.data.dialect import Dialect
from entropie.data.rejects import NOT_UTF8
from entropie.data.text import Parsed, exactly
from entropie.errors import InvalidInput

NOT_JSON = "not one JSON object per line"
NESTED = "list or object in a column"
_LINE_ENDS = re.compile(rb"\r\n|\r|\n")
_Value = str | int | float | bool | None


class JsonParser:
    """Cuts blocks into the chosen columns as text; the first block settles the types of those that are inferred."""

    def __init__(self, name: str, dialect: Dialect, columns: Sequence[str], inferred: Collection[str]) -> None:
        self.dialect = dialect
        self._name = name
        self._columns = list(columns)
        self._types: list[pa.DataType | None] = [None if column in inferred else pa.string() for column in columns]
        fields = [f"field{place}" for place in range(len(columns))]
        try:
            row = msgspec.defstruct(
                "Row", [(field, _Value, None) for field in fields], rename=dict(zip(fields, columns, strict=True))
            )
            self._decode = msgspec.json.Decoder(row).decode
        except ValueError:
            raise InvalidInput(f"A column of {name} has a name with control characters or quotes; rename it.") from None

    def parse(self, block: Block) -> Parsed:
        """Cut one block, in this thread."""
        lines = [line for line in _LINE_ENDS.split(block.data) if line]
        refused: list[tuple[str, int, str]] = []
        try:
            rows = list(map(self._decode, lines))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            rows = self._one_by_one(block.data, refused)
        arrays = []
        for place in range(len(self._columns)):
            values = [getattr(row, f"field{place}") for row in rows]
            arrays.append(self._column(place, values))
        batch = pa.RecordBatch.from_arrays(arrays, names=self._columns)
        if block.rows != len(lines):
            block = exactly(block, self.dialect, self._name)
        return Parsed(batch, refused, block.rows, block.place, block.swallowed)

    def _one_by_one(self, data: bytes, refused: list[tuple[str, int, str]]) -> list[Any]:
        rows = []
        for number, line in enumerate(_LINE_ENDS.split(data)):
            if not line:
                continue
            try:
                rows.append(self._decode(line))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
                refused.append((_reason(line, problem), number, line[:60].decode(errors="replace")))
        return rows

    def _column(self, place: int, values: list[Any]) -> pa.Array:
        kinds = set(map(type, values)) - {type(None)}
        kind = self._types[place]
        if kind is None:
            kind = pa.int64() if kinds == {int} else pa.float64() if kinds and kinds <= {int, float} else pa.string()
            self._types[place] = kind
        if pa.types.is_string(kind):
            return _texts(values, kinds)
        if not kinds <= ({int} if pa.types.is_integer(kind) else {int, float}):
            raise self._mixed(place, kind)
        try:
            there = np.array([value is not None for value in values], np.bool_)
            numbers = np.array([0 if value is None else value for value in values], kind.to_pandas_dtype())
        except OverflowError:
            raise self._mixed(place, kind) from None
        return masked(from_numpy(numbers), there)

    def _mixed(self, place: int, kind: pa.DataType) -> InvalidInput:
        return InvalidInput(
            f"Column `{self._columns[place]}` of {self._name} holds a value that is no {kind}, as those before are; "
            "make the column one kind."
        )


def _texts(values: list[Any], kinds: set[type]) -> pa.Array:
    if kinds == {int} and None not in values:
        return from_texts(list(map(str, values)))
    if kinds - {str}:
        values = [value if value is None or type(value) is str else _text(value) for value in values]
    there = np.array([value is not None and value != "" for value in values], np.bool_)
    return masked(from_texts([value or "" for value in values]), there)


def _text(value: float | bool) -> str:
    """A number as a table would hold it: 12.0 is the id 12, as where a missing value made whole numbers decimal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2.0**53:
        return str(int(value))
    return repr(value)


def _reason(line: bytes, problem: Exception) -> str:
    try:
        line.decode()
    except UnicodeDecodeError:
        return NOT_UTF8
    return NESTED if isinstance(problem, msgspec.ValidationError) and "`$" in str(problem) else NOT_JSON


def keys_of(lines: Sequence[str]) -> list[str] | None:
    """The keys of some lines in the order in which they come; None if the first is no object."""
    found: dict[str, None] = {}
    for place, line in enumerate(lines):
        try:
            row = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            if place == 0:
                return None
            continue
        found |= dict.fromkeys(row)
    return list(found)
