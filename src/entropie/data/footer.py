"""The footer of a Parquet file: what each column chunk of it says it holds.

Arrow reads it too, but where a chunk's statistics contradict its type the program ends inside Arrow as soon as the
chunk is looked at, past any error that Python could catch. The footer is a struct in Thrift's compact protocol; only
what is asked for is kept of it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

_ROW_GROUPS, _COLUMNS, _META_DATA = 4, 1, 3  # numbers of the fields on the way from the file to a chunk
_TYPE, _ENCODINGS, _VALUES, _UNPACKED, _DICTIONARY = 1, 2, 5, 6, 11
_BYTE_ARRAY, _DELTA_BYTE_ARRAY = 6, 7
_TRUE, _FALSE, _BYTE, _SHORT, _INT, _LONG, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_FIXED = {_TRUE: 0, _FALSE: 0, _BYTE: 1, _DOUBLE: 8}  # bytes; a truth value is in its header
_DEEPEST = 64


class Chunk(NamedTuple):
    """One column of one row group."""

    column: int
    text: bool
    """Its values have a length each."""
    values: int
    unpacked: int
    """Bytes."""
    dictionary: bool
    """Values may be numbers of a dictionary's entries."""
    prefixed: bool
    """A value may repeat the beginning of the one before."""


def chunks_of(path: Path, columns: frozenset[int]) -> list[list[Chunk]]:
    """The chunks of some columns in every row group; an error of Arrow where the footer is none."""
    status = path.stat()
    return _read(path, columns, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=2)  # tasks of a cluster read a file group by group
def _read(path: Path, columns: frozenset[int], size: int, _changed: int) -> list[list[Chunk]]:
    with path.open("rb") as file:
        file.seek(max(0, size - 8))
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != b"PAR1" or length > size - 8:
            raise pa.ArrowInvalid("it has no footer")
        file.seek(size - 8 - length)
        data = file.read(length)
    try:
        return _row_groups(data, columns)
    except IndexError:
        raise pa.ArrowInvalid("its footer ends early") from None


def _row_groups(data: bytes, columns: frozenset[int]) -> list[list[Chunk]]:
    groups: list[list[Chunk]] = []
    footer = _Struct(data, 0)
    for field, kind in footer:
        if (field, kind) != (_ROW_GROUPS, _LIST):
            continue
        for group in footer.structs():
            chunks: list[Chunk] = []
            for field, kind in group:
                if (field, kind) == (_COLUMNS, _LIST):
                    chunks += [_chunk(chunk, n) for n, chunk in enumerate(group.structs()) if n in columns]
            groups.append(chunks)
    return groups


def _chunk(chunk: _Struct, column: int) -> Chunk:
    found: dict[int, int] = {}
    encodings: list[int] = []
    for field, kind in chunk:
        if (field, kind) != (_META_DATA, _STRUCT):
            continue
        meta = _Struct(chunk.data, chunk.at)
        for number, of in meta:
            if number == _ENCODINGS and of == _LIST:
                encodings = meta.numbers()
            elif of in (_INT, _LONG):
                found[number] = meta.number()
        chunk.at = meta.at
    if not {_TYPE, _VALUES, _UNPACKED} <= found.keys():
        raise pa.ArrowInvalid("its footer does not say how large a column is")
    return Chunk(
        column,
        found[_TYPE] == _BYTE_ARRAY,
        found[_VALUES],
        found[_UNPACKED],
        _DICTIONARY in found,
        _DELTA_BYTE_ARRAY in encodings,
    )


class _Struct:
    """Iterates over the fields of a struct, number and kind of each; what its reader leaves unread is passed over."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def __iter__(self) -> Iterator[tuple[int, int]]:
        number = 0
        while header := self.data[self.at]:
            self.at += 1
            number = number + (header >> 4) if header > 0x0F else self.number()
            kind, before = header & 0x0F, self.at
            yield number, kind
            if self.at == before:
                self.at = _after(self.data, before, kind)
        self.at += 1

    def structs(self) -> Iterator[_Struct]:
        """The structs of a list, which is the field's value."""
        size, kind, self.at = _list_header(self.data, self.at)
        for _ in range(size):
            if kind != _STRUCT:
                raise pa.ArrowInvalid("its footer holds something else than row groups and columns")
            element = _Struct(self.data, self.at)
            yield element
            self.at = _after(self.data, self.at, _STRUCT) if element.at == self.at else element.at

    def number(self) -> int:
        """A whole number, which is the field's value."""
        value, self.at = _unsigned(self.data, self.at)
        return (value >> 1) ^ -(value & 1)

    def numbers(self) -> list[int]:
        """The whole numbers of a list, which is the field's value."""
        size, _, self.at = _list_header(self.data, self.at)
        return [self.number() for _ in range(size)]


def _after(data: bytes, at: int, kind: int, depth: int = 0) -> int:
    """Where a value ends."""
    if depth > _DEEPEST:
        raise pa.ArrowInvalid("its footer is no footer")
    if _SHORT <= kind <= _LONG:
        while data[at] > 0x7F:
            at += 1
        return at + 1
    if kind == _STRUCT:
        while header := data[at]:
            at += 1
            if header <= 0x0F:
                at = _after(data, at, _SHORT)
            at = _after(data, at, header & 0x0F, depth + 1)
        return at + 1
    if kind == _BINARY:
        size, at = _unsigned(data, at)
        return at + size
    if kind in _FIXED:
        return at + _FIXED[kind]
    if kind in (_LIST, _SET):
        size, of, at = _list_header(data, at)
        return _after_all(data, at, size, (of,), depth)
    if kind == _MAP:
        size, at = _unsigned(data, at)
        return _after_all(data, at + 1, size, (data[at] >> 4, data[at] & 0x0F), depth) if size else at
    raise pa.ArrowInvalid("its footer is no footer")


def _after_all(data: bytes, at: int, size: int, kinds: tuple[int, ...], depth: int) -> int:
    """Where so many values of some kinds end, one after the other."""
    if all(kind in _FIXED for kind in kinds):
        return at + size * sum(max(1, _FIXED[kind]) for kind in kinds)  # a truth value in a list is a byte
    for _ in range(size):
        for kind in kinds:
            at = _after(data, at, _BYTE if kind in (_TRUE, _FALSE) else kind, depth + 1)
    return at


def _list_header(data: bytes, at: int) -> tuple[int, int, int]:
    """How many values of which kind, and where they begin."""
    size, kind = data[at] >> 4, data[at] & 0x0F
    if size < 0x0F:
        return size, kind, at + 1
    size, at = _unsigned(data, at + 1)
    return size, kind, at


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[at]) > 0x7F:
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if shift > 63:
            raise pa.ArrowInvalid("its footer holds a number that is too large")
    return value | byte << shift, at + 1
