"""Values of a plain document found by path, each shown with the path it came from, in a format chosen by name.

Numbers are written by `entropie.words` alone.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup

from entropie import words

Path = str | Sequence[str | int]
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_FREE_TEXT = ("text", "name", "file_name")


class Marked:
    """A plain document as the templates see it, without characters that no page can hold."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.content: dict[str, Any] = _printable(document)

    def at(self, path: Path) -> Any:
        """What stands at the path, or None."""
        value: Any = self.content
        for step in path.split(".") if isinstance(path, str) else path:
            if isinstance(value, list):
                value = value[int(step)] if int(step) < len(value) else None
            else:
                value = None if value is None else value.get(step)
        return value

    def has(self, path: Path) -> bool:
        """Whether something other than null, or than an empty list, object or text, stands at the path."""
        value = self.at(path)
        return value is not None and value not in ([], {}, "")

    def mark(self, path: Path, form: str) -> Markup:
        """The value at the path, escaped and formatted, in an element that says where it came from."""
        if self.at(path) is None:
            return Markup("not known")
        # bdi: a name of somebody else's making must not turn around the text beside it
        element = "bdi" if form in _FREE_TEXT else "span"
        return Markup(f'<{element} data-path="{{}}" data-format="{{}}">{{}}</{element}>').format(
            _dotted(path), form, written(self.at(path), form)
        )

    def same(self, first: Path, second: Path, form: str) -> bool:
        """Whether two values look the same as they are written."""
        return written(self.at(first), form) == written(self.at(second), form)


def _dotted(path: Path) -> str:
    """Steps joined with dots; `~` and `.` inside a step are written `~0` and `~1`."""
    if isinstance(path, str):
        return path
    return ".".join(str(step).replace("~", "~0").replace(".", "~1") for step in path)


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {_printable(key): _printable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_printable(inner) for inner in value]
    return value


_LONGEST_NAME = 80


def right(error: float) -> str:
    """The share re-identified, where the document holds the attacker's error rate."""
    return words.percent(1.0 - error)


def small_bits(value: float) -> str:
    """Bits of one item among thousands."""
    return words.digits(value, 2)


def date(text: str) -> str:
    """2027-11-16 or 2027-11-16T09:30:00+00:00 as 16 November 2027."""
    day = datetime.datetime.fromisoformat(text).date()
    return f"{day.day} {day:%B} {day.year}"


def moment(text: str) -> str:
    r"""A day as `date` writes it, and the time too where the text has one.

    >>> moment("2023-11-15"), moment("2023-11-15T06:30Z")
    ('15 November 2023', '15 November 2023, 06:30\xa0UTC')
    """
    if len(text) <= len("2023-11-15"):
        return date(text)
    at = datetime.datetime.fromisoformat(text)
    at = at.replace(tzinfo=datetime.UTC) if at.tzinfo is None else at.astimezone(datetime.UTC)
    return f"{date(at.isoformat())}, {at:%H:%M}\N{NO-BREAK SPACE}UTC"


def name(text: str) -> str:
    """A name of somebody else's making, cut where it is too long for a table."""
    return words.cut(text, _LONGEST_NAME)


def file_name(text: str) -> str:
    """The last part of a path."""
    return name(text.replace("\\", "/").rstrip("/").rpartition("/")[2] or text)


def sentence(text: str) -> str:
    """A statement as it is, with a capital at its beginning and a full stop at its end."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


FORMATS: dict[str, Callable[[Any], str]] = {
    "percent": words.percent,
    "limit": words.stated,
    "right": right,
    "bare_percent": words.bare,
    "bare_right": lambda error: words.bare(1.0 - error),
    "bits": words.bits,
    "small_bits": small_bits,
    "count": words.count,
    "number": words.digits,
    "seconds": words.seconds,
    "date": date,
    "moment": moment,
    "name": name,
    "file_name": file_name,
    "text": str,
    "sentence": sentence,
}


def written(value: Any, form: str) -> str:
    """`value` in the named format."""
    return FORMATS[form](value)
