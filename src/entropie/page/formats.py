"""How a value is written, chosen by name; numbers are written by `entropie.words` alone."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from entropie import words

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
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


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
