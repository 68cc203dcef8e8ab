"""Text in blocks of whole rows, read and cut in this thread: Arrow is handed memory and never calls back for more.

Every block says how many rows it holds, counted apart from the parser that cuts them into fields.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from entropie.data.dialect import Dialect
from entropie.data.rejects import Place
from entropie.errors import InvalidInput
from entropie.workers import Workers

# A line longer than this is no row; with it memory stays bounded whatever a packed file unfolds to.
LINE_LIMIT_BYTES = 1 << 22
LINE_BREAKS = 20
"""A field in quotes may span this many line ends: a longer one is a quote that was never closed."""
# Stands in for each byte that is not UTF-8 (ASCII's own sign for it), so that an id that holds it can be told.
UNREADABLE = "\x1a"
ONE_BYTE = "\x1f"
"""The unit separator stands in for a delimiter of two bytes."""
_LINE_ENDS = re.compile(rb"\r\n|\r|\n")
_KINDS = re.compile(rb"[0-9]+|[A-Za-z\x80-\xff]+")
_PAIRS_LOOKED_AT = 2000
BOM = b"\xef\xbb\xbf"
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Block:
    """Some whole rows: their text, the number of the line they begin with, how many lines and rows they are.

    Blank lines may be among the rows: whoever finds another number asks for `exact_rows`. `swallowed` are not among
    them: a quoted field over several lines, each of which would be a row by itself, given by first line and lines.
    """

    data: bytes
    first_line: int
    lines: int
    rows: int
    swallowed: tuple[tuple[int, int], ...] = ()

    @property
    def place(self) -> Place:
        """Where the rows are; blank lines and breaks inside fields may push them down."""
        return Place(self.first_line, "line", self.lines <= self.rows)


def row_blocks(read: Callable[[int], bytes], dialect: Dialect, name: str) -> Iterator[Block]:
    """Cut a stream into blocks of whole rows, their delimiter one byte. Lines without anything are no rows."""
    held, line, skip, final = b"", 1, dialect.skip_lines, False
    wide = dialect.delimiter.encode() if len(dialect.delimiter) > 1 else b""
    while not final:
        fresh = filled(read, LINE_LIMIT_BYTES - len(held))
        final = len(held) + len(fresh) < LINE_LIMIT_BYTES
        data = held + fresh if held else fresh
        if line == 1:
            data = data.removeprefix(BOM)
        if skip:
            data, skipped = _without_lines(data, skip)
            line, skip = line + skipped, 0
        if wide:
            data = data.replace(wide, ONE_BYTE.encode())
        cut = _cut(data, dialect, final, name, line)
        if not cut.end and not final:
            raise InvalidInput(
                f"Line {line:,} of {name} is longer than {LINE_LIMIT_BYTES >> 20} MiB; is it a table with one row per "
                "line?"
            )
        if cut.rows or cut.swallowed:
            yield Block(cut.without if cut.swallowed else data[: cut.end], line, cut.lines, cut.rows, cut.swallowed)
        held, line = data[cut.end :], line + cut.lines


def ahead(made: Iterator[_Made]) -> Generator[_Made, None, None]:
    """The same values, each made by a thread while the one before is used; none is being made when this ends."""
    with Workers(1, "entropie-reading") as pool:
        coming = pool.submit(next, made, None)
        while (value := coming.result()) is not None:
            coming = pool.submit(next, made, None)
            yield value


def clean(data: bytes) -> bytes:
    """The same text as valid UTF-8, with one sign for each bad byte."""
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return data.decode(errors=_ERRORS).encode()
    return data


@dataclass(frozen=True, slots=True)
class _Cut:
    end: int
    lines: int
    rows: int
    swallowed: tuple[tuple[int, int], ...] = ()
    without: bytes = b""  # the text up to the end, if something was swallowed


def filled(read: Callable[[int], bytes], size: int) -> bytes:
    """So many bytes, fewer only at the end."""
    parts = [read(size)]
    while parts[-1] and (missing := size - sum(map(len, parts))):
        parts.append(read(missing))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _without_lines(data: bytes, lines: int) -> tuple[bytes, int]:
    """Text without its first lines, and how many there were."""
    place = 0
    for done in range(lines):
        ends = [end for end in (data.find(b"\n", place), data.find(b"\r", place)) if end >= 0]
        if not ends:
            return b"", done
        place = min(ends) + 1
        if data[place - 1 : place + 1] == b"\r\n":
            place += 1
    return data[place:], lines


def _cut(data: bytes, dialect: Dialect, final: bool, name: str, line: int) -> _Cut:
    """Where the last whole row ends, and how many lines and rows there are up to it."""
    if b"\r" not in data and not (dialect.quoted and b'"' in data):  # blank lines, if any, count as rows here
        end = len(data) if final else data.rfind(b"\n") + 1
        lines = data.count(b"\n", 0, end)
        return _Cut(end, lines, lines + (final and end > 0 and data[end - 1] != 0x0A))
    return _scanned(data, dialect, final, name, line)


def exact_rows(block: Block, dialect: Dialect, name: str) -> int:
    """The rows of a block without its blank lines."""
    settled = replace(dialect, columns=())  # what was swallowed is out
    return _scanned(block.data, settled, True, name, block.first_line).rows


def _scanned(data: bytes, dialect: Dialect, final: bool, name: str, line: int) -> _Cut:
    from entropie.kernels.lines import ENDLESS, MISPLACED, SWALLOWED, UNCLOSED, scan_rows

    view = np.frombuffer(data, np.uint8)
    delimiter = ord(dialect.delimiter if len(dialect.delimiter) == 1 else ONE_BYTE)
    start, lines, rows = 0, 0, 0
    swallowed, kept = [], []
    pairs = _Pairs(data, delimiter) if len(dialect.columns) == 2 else None
    while True:
        end, more, whole, fault, before, seen = scan_rows(
            view[start:], delimiter, dialect.quoted, final, LINE_BREAKS, len(dialect.columns)
        )
        rows += whole
        if fault != SWALLOWED:
            break
        if pairs is not None and not pairs.look_like(data[start + end : start + seen]):
            rows += 1  # a text of several lines with one delimiter in each
            kept.append(data[start : start + seen])
        else:
            swallowed.append((line + lines + more, before - more))
            kept.append(data[start : start + end])
        start, lines = start + seen, lines + before
    if fault:
        what = {
            UNCLOSED: "is never closed",
            ENDLESS: f"is not closed for more than {LINE_BREAKS} lines",
            MISPLACED: "is closed lines later, in the middle of a field",
        }[fault]
        raise InvalidInput(
            f"The quote that opens a field in line {line + lines + before:,} of {name} {what}; the rows after it would "
            "be lost. Close it, or double a quote that is part of the text."
        )
    kept.append(data[start : start + end])
    return _Cut(start + end, lines + more, rows, tuple(swallowed), b"".join(kept) if swallowed else b"")


class _Pairs:
    """What the two fields of the rows of a block are made of, to tell lines that are such rows from lines of a text.

    A line of a table with two columns has one delimiter, and so may every line of an address.
    """

    def __init__(self, data: bytes, delimiter: int) -> None:
        self._data, self._cut = data, bytes([delimiter])
        self._made_of: list[set[bytes]] | None = None

    def look_like(self, lines: bytes) -> bool:
        """Whether every line of a row over several lines could be a row by itself, without the only two quotes."""
        if lines.count(b'"') != 2:
            return False  # a writer that quotes what needs no quotes: a lost one would not be closed in its place
        if self._made_of is None:
            self._made_of = [set(), set()]
            for line in self._rows():
                self._add(line, self._made_of)
        first, *others = _LINE_ENDS.split(lines.strip(b"\r\n").replace(b'"', b""))
        known, found = [part.copy() for part in self._made_of], [set[bytes](), set[bytes]()]
        self._add(first, known)
        for line in others:
            self._add(line, found)
        return found[0] <= known[0] and found[1] <= known[1]

    def _rows(self) -> Iterator[bytes]:
        """Some rows without any quotes."""
        inside = False
        for line in _LINE_ENDS.split(self._data, _PAIRS_LOOKED_AT)[:_PAIRS_LOOKED_AT]:
            quotes = line.count(b'"')
            if not (quotes or inside) and line.count(self._cut) == 1:
                yield line
            inside ^= quotes % 2 == 1

    def _add(self, line: bytes, made_of: list[set[bytes]]) -> None:
        for field, known in zip(line.split(self._cut), made_of, strict=False):
            kinds = _KINDS.sub(lambda run: b"0" if run[0].isdigit() else b"a", field)
            known.update(kinds[place : place + 1] for place in range(len(kinds)))
            if not kinds or kinds[:1] == b" ":
                known.add(b"^" + kinds[:1])


def _substitute(error: UnicodeError) -> tuple[str, int]:
    """Put one sign for each bad byte, so that no piece grows."""
    assert isinstance(error, UnicodeDecodeError)
    return UNREADABLE * (error.end - error.start), error.end


_ERRORS = "entropie.substitute"
codecs.register_error(_ERRORS, _substitute)
