"""Delimited text, packed or not: its dialect, and its chosen columns as Arrow batches."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv as pa_csv

from entropie.data.files import HashedFile, InputFile, open_bytes
from entropie.data.rejects import Rejects
from entropie.errors import InvalidInput

__all__ = ["UNREADABLE", "Dialect", "find_dialect", "guess_delimiter", "read_text"]

# A line longer than this is no row of events; with it memory stays bounded whatever a packed file unfolds to.
LINE_LIMIT_BYTES = 1 << 22
# Stands in for each byte that is not UTF-8 (ASCII's own sign for it), so that an id that holds it can be told.
UNREADABLE = "\x1a"
_SAMPLE_BYTES = 1 << 18
_DELIMITERS = (",", "\t", ";", "|", "::")
_DELIMITER_NAMES = "comma, tab, semicolon, | or ::"
_LINE_END = re.compile(r"\r\n|\r|\n")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_VALUE = re.compile(r"\s*|[+-]?[\d.,]+([eE][+-]?\d+)?|\d{4}[-/]\d\d[-/]\d\d.*|\w{3} \w{3} \d\d .*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text file is cut into fields, and what its columns are called."""

    delimiter: str
    header: bool
    columns: tuple[str, ...]  # without a header: "1", "2", ... or the preset's names
    first_line: tuple[str, ...]
    skip_lines: int  # before the first row
    quoted: bool = True


def find_dialect(file: InputFile, *, delimiter: str | None = None, header: bool | None = None) -> Dialect:
    """Find delimiter and header from the first lines; what the caller knows is not guessed."""
    lines = _first_lines(file)
    blank = next(place for place, line in enumerate(lines) if line)
    lines = [line for line in lines if line]
    if delimiter is None:
        delimiter = "\t" if ".tsv" in file.path.suffixes else guess_delimiter(lines)
    if delimiter is None and not header:
        raise InvalidInput(
            f"{file.path} has one column; events need a user and an item, with {_DELIMITER_NAMES} between them."
        )
    delimiter = delimiter or ","  # a header and one column are a table too
    first = _fields(lines[0], delimiter)
    if header is None:
        # Names are words; a number, a time or nothing in the first line means that it is already a row.
        header = not any(_VALUE.fullmatch(field) for field in first)
    names = [field.strip() for field in first] if header else [str(i + 1) for i in range(len(first))]
    return Dialect(delimiter, header, tuple(names), tuple(first), blank + int(header))


def read_text(
    file: InputFile,
    opened: HashedFile,
    dialect: Dialect,
    columns: Sequence[str],
    rejects: Rejects,
    inferred: Collection[str] = (),
) -> Iterator[pa.RecordBatch]:
    """Stream the chosen columns as text, those inferred as what their first values look like.

    Lines that do not fit are told to `rejects`.
    """

    def skip(row: pa_csv.InvalidRow) -> str:
        reason = "too few fields" if row.actual_columns < row.expected_columns else "too many fields"
        try:
            rejects.add_dirty(reason, row.text.count("\n") + 1, row.text[:60])
        except InvalidInput as error:
            given_up.append(error)
            return "error"
        return "skip"

    given_up: list[InvalidInput] = []
    names = [f"column {place}" for place in range(len(dialect.columns))]
    wanted = [names[dialect.columns.index(column)] for column in columns]
    texts = [name for name, column in zip(wanted, columns, strict=True) if column not in inferred]
    try:
        reader = pa_csv.open_csv(
            pa.PythonFile(_CleanStream(open_bytes(opened, file.packing), dialect.delimiter), mode="r"),
            read_options=pa_csv.ReadOptions(
                column_names=names, skip_rows=dialect.skip_lines, block_size=LINE_LIMIT_BYTES
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=dialect.delimiter if len(dialect.delimiter) == 1 else _ONE_BYTE,
                quote_char='"' if dialect.quoted else False,
                newlines_in_values=dialect.quoted,
                invalid_row_handler=skip,
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=wanted, column_types=dict.fromkeys(texts, pa.string()), null_values=[""]
            ),
        )
        for batch in reader:
            rejects.accepted += batch.num_rows
            yield pa.RecordBatch.from_arrays(batch.columns, names=list(columns))
    except (pa.ArrowException, OSError) as error:
        raise given_up[0] if given_up else _readable(error, file) from None


def _first_lines(file: InputFile) -> list[str]:
    """Read the first lines, and refuse what is no text."""
    try:
        with HashedFile(file.path) as opened:
            sample: bytes = open_bytes(opened, file.packing).read(_SAMPLE_BYTES)
    except OSError as error:
        raise _readable(error, file) from None
    if not sample.removeprefix(b"\xef\xbb\xbf").strip():
        raise InvalidInput(f"{file.path} is empty; a table needs a header and at least one row.")
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InvalidInput(f"{file.path} is UTF-16 text; save it as UTF-8.")
    if _CONTROL.search(sample):
        raise InvalidInput(
            f"{file.path} is not text (it holds control bytes); expected CSV or TSV (also .gz, .zst, .bz2) or Parquet."
        )
    text = sample.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
    lines = _LINE_END.split(text)
    if len(sample) == _SAMPLE_BYTES and len(lines) > 1:
        lines.pop()  # cut in the middle
    elif len(sample) == _SAMPLE_BYTES:
        raise InvalidInput(f"The first line of {file.path} is longer than {_SAMPLE_BYTES // 1024} KiB; is it a table?")
    if not any(lines):
        raise InvalidInput(f"{file.path} begins with {len(lines):,} blank lines; remove them.")
    return lines[:200] if any(lines[:200]) else lines


def guess_delimiter(lines: Sequence[str], among: Sequence[str] = _DELIMITERS) -> str | None:
    """Take the delimiter that cuts most lines into as many fields as the first one, at least two."""
    best, score = None, (0, 0)
    for delimiter in among:
        counts = [len(_fields(line, delimiter)) for line in lines]
        if counts[0] > 1 and (counts.count(counts[0]), counts[0]) > score:
            score, best = (counts.count(counts[0]), counts[0]), delimiter
    return best


def _fields(line: str, delimiter: str) -> list[str]:
    if len(delimiter) > 1:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return line.split(delimiter)


def _readable(error: Exception, file: InputFile) -> InvalidInput:
    """Say what an Arrow error means to whoever owns the file."""
    text = str(error)
    if "straddling" in text:
        return InvalidInput(
            f"A line of {file.path} is longer than {LINE_LIMIT_BYTES >> 20} MiB, or a quote is never closed; "
            "is it a table?"
        )
    if "runcated" in text:
        return InvalidInput(f"{file.path} ends early: its {file.packing} stream is cut off; fetch it again.")
    if file.packing and re.search("inflate|ZSTD|bz2", text, re.IGNORECASE):
        return InvalidInput(f"{file.path} is damaged: its {file.packing} stream cannot be unpacked; fetch it again.")
    return InvalidInput(f"{file.path} cannot be read: {text.splitlines()[0].rstrip('.')}.")


_ONE_BYTE = "\x1f"  # the unit separator stands in for a delimiter of two bytes


class _CleanStream(io.RawIOBase):
    """A stream that Arrow can always parse: valid UTF-8, and a delimiter of one byte."""

    def __init__(self, stream: pa.NativeFile, delimiter: str) -> None:
        super().__init__()
        self._stream = stream
        self._wide = delimiter.encode() if len(delimiter) > 1 else b""
        self._held = b""

    def readable(self) -> bool:
        """Say so to Arrow."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Clean the next piece; never longer than asked for, empty only at the end."""
        fresh: bytes = self._stream.read(max(1, size - len(self._held)))
        data = self._held + fresh
        cut = len(data) - (self._unfinished(data) if fresh else 0)
        data, self._held = data[:cut], data[cut:]
        if fresh and not data:
            return self.read(size)
        try:
            data.decode()
        except UnicodeDecodeError:
            data = data.decode(errors=_ERRORS).encode()
        return data.replace(self._wide, _ONE_BYTE.encode()) if self._wide else data

    def _unfinished(self, data: bytes) -> int:
        """Count the bytes at the end that begin a character or a delimiter and do not finish it."""
        if self._wide and (len(data) - len(data.rstrip(self._wide[:1]))) % 2:
            return 1
        for back in range(1, min(3, len(data)) + 1):
            byte = data[-back]
            if byte < 0x80:
                return 0
            if byte >= 0xC0:
                return back if back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) else 0
        return 0


def _substitute(error: UnicodeError) -> tuple[str, int]:
    """Put one sign for each bad byte, so that no piece grows."""
    assert isinstance(error, UnicodeDecodeError)
    return UNREADABLE * (error.end - error.start), error.end


_ERRORS = "entropie.substitute"
codecs.register_error(_ERRORS, _substitute)
