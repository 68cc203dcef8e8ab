"""How a text file is cut into fields and what its columns are called, found from its first lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from entropie.data.files import InputFile, Unpacked
from entropie.data.roles import are_names
from entropie.errors import InvalidInput

_SAMPLE_BYTES = 1 << 18
_DELIMITERS = (",", "\t", ";", "|", "::")
_DELIMITER_NAMES = "comma, tab, semicolon, | or ::"
_LINE_END = re.compile(r"\r\n|\r|\n")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_VALUE = re.compile(
    r"\s*|[+-]?[\d.,]+([eE][+-]?\d+)?|\d{4}[-/]\d\d[-/]\d\d.*|\d\d?[/.-]\d\d?[/.-]\d{4}.*|\w{3} \w{3} \d\d .*", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text file is cut into fields, and what its columns are called."""

    delimiter: str
    header: bool
    columns: tuple[str, ...]  # without a header: "1", "2", ... or the preset's names
    first_line: tuple[str, ...]
    skip_lines: int  # before the first row
    quoted: bool = True
    json: bool = False  # one object per line instead of fields
    certain: bool = True  # that the names are names, and no values of a first row


def find_dialect(
    file: InputFile, *, delimiter: str | None = None, header: bool | None = None, form: str | None = None
) -> Dialect:
    """Find delimiter and header from the first lines; what the caller knows is not guessed."""
    lines = _first_lines(file)
    if form == "jsonl" or (form is None and delimiter is None):
        found = _json(file, [line for line in lines if line], needed=form == "jsonl")
        if found is not None:
            return found
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
    if header:
        _check_closed(lines[0], delimiter, file)
    names = [field.strip() for field in first] if header else [str(i + 1) for i in range(len(first))]
    certain = not header or are_names(names)
    return Dialect(delimiter, header, tuple(names), tuple(first), blank + int(header), certain=certain)


def _json(file: InputFile, lines: Sequence[str], needed: bool) -> Dialect | None:
    """The columns of JSON Lines; None for other text. JSON that does not come in lines is refused."""
    first = lines[0].strip()
    if not needed and not first.startswith(("{", "[")):
        return None
    from entropie.data.json_lines import keys_of

    names = keys_of(lines)
    if names:
        return Dialect("", True, tuple(names), (), 0, quoted=False, json=True, certain=are_names(names))
    if needed or first in ("{", "[", "[]", "{}") or first.startswith("[{"):
        raise InvalidInput(
            f"{file.path} does not begin with one JSON object in a line; of a list make lines with "
            "`jq -c '.[]' old.json > new.jsonl`."
        )
    return None


def _first_lines(file: InputFile) -> list[str]:
    """Read the first lines, and refuse what is no text."""
    try:
        with file.peek() as opened, Unpacked(opened, file.packing) as stream:
            sample = stream.read(_SAMPLE_BYTES)
    except (OSError, pa.ArrowException) as error:  # Arrow tells some damage of packed files in its own way
        raise file.unreadable(error) from None
    if not sample.removeprefix(b"\xef\xbb\xbf").strip():
        raise InvalidInput(f"{file.path} is empty; a table needs a header and at least one row.")
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InvalidInput(f"{file.path} is UTF-16 text; save it as UTF-8.")
    if _CONTROL.search(sample):
        raise InvalidInput(
            f"{file.path} is not text (it holds control bytes); expected CSV, TSV or JSON Lines (also .gz, .zst, .bz2) "
            "or Parquet."
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


def _check_closed(line: str, delimiter: str, file: InputFile) -> None:
    """Refuse a line of names that a quote carries on into the next one."""
    if '"' not in line or len(delimiter) > 1:
        return
    import numpy as np

    from entropie.kernels.lines import UNCLOSED, scan_rows

    text = np.frombuffer(line.encode(errors="replace"), np.uint8)
    if scan_rows(text, ord(delimiter), True, True, 0, 0)[3] == UNCLOSED:
        raise InvalidInput(f"A quote in the line of names of {file.path} is not closed in that line; close it.")
