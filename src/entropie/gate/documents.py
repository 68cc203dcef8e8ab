"""Reading what the gate needs out of an assessment's document, and one sentence where it is not there."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from entropie.errors import InvalidInput
from entropie.measures.intervals import Interval

SCHEMA = "entropie.assessment/1"
"""The same as the assessment's own; named here so that reading a document loads no attack."""

Document = dict[str, Any]


def read_assessment(path: str | os.PathLike[str]) -> Document:
    """The document of an assessment on file."""
    name = Path(path)
    try:
        found = json.loads(name.read_text(encoding="utf-8"), parse_constant=_refuse)
    except FileNotFoundError:
        raise InvalidInput(f"Assessment {name} does not exist; make one with `entropie assess`.") from None
    except (IsADirectoryError, PermissionError):
        raise InvalidInput(f"Assessment {name} cannot be read; name the file assessment.json.") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise InvalidInput(f"Assessment {name} is not a JSON document; name the file assessment.json.") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        written = found.get("schema") if isinstance(found, dict) else None
        raise InvalidInput(f"Assessment {name} must have the schema {SCHEMA}, got {written!r}; assess the data again.")
    return found


def entry(document: Document, *path: str | int) -> Any:
    """The value at a path of keys and indices, or one sentence that it is missing."""
    value: Any = document
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            place = ".".join(map(str, path))
            raise InvalidInput(f"The assessment has no `{place}`; assess the data again with this version.") from None
    return value


def number(document: Document, *path: str | int) -> float:
    """A finite number at a path."""
    value = entry(document, *path)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(f"The assessment's `{'.'.join(map(str, path))}` must be a number, got {value!r} instead.")
    return float(value)


def interval(document: Document, *path: str | int) -> Interval:
    """A value with its ends at a path."""
    value, low, high = (number(document, *path, end) for end in ("value", "low", "high"))
    if not low <= high:
        raise InvalidInput(f"The assessment's `{'.'.join(map(str, path))}` has its ends the wrong way round.")
    return Interval(value, low, high)


def strongest(document: Document) -> int:
    """Index of the attack that counts."""
    index = entry(document, "strongest")
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        raise InvalidInput(f"The assessment's `strongest` must be the index of an attack, got {index!r} instead.")
    entry(document, "attacks", index)
    return index


def complement(error: Interval) -> Interval:
    """Risk from error: one minus it, the ends changed over."""
    return Interval(1.0 - error.value, 1.0 - error.high, 1.0 - error.low)


def average_risk(document: Document) -> Interval:
    """Share of people named rightly by the strongest attack, allowing for its having been chosen."""
    return complement(interval(document, "headline", "identification_error"))


def worst_risk(document: Document) -> Interval:
    """Share named rightly among the people of whom the strongest attack is surest."""
    return interval(document, "attacks", strongest(document), "exposure", "most_exposed", "right")


def _refuse(constant: str) -> float:
    raise json.JSONDecodeError(f"{constant} is not JSON", constant, 0)
