"""Reading what the gate needs out of an assessment's document, and one sentence where it is not there."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from entropie.errors import InvalidInput
from entropie.measures.best import level_among
from entropie.measures.intervals import LEVEL, Interval

SCHEMA = "entropie.assessment/1"
"""The same as the assessment's own; named here so that reading a document loads no attack."""

Document = dict[str, Any]


def read_assessment(path: str | os.PathLike[str]) -> Document:
    """The document of an assessment on file."""
    name = Path(path)
    found = read_json("Assessment", name)
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        written = found.get("schema") if isinstance(found, dict) else None
        raise InvalidInput(f"Assessment {name} must have the schema {SCHEMA}, got {written!r}; assess the data again.")
    return found


def read_json(what: str, path: Path) -> Any:
    """A JSON document on file, or a sentence that says why it cannot be read."""

    def refuse(constant: str) -> NoReturn:
        raise InvalidInput(f"{what} {path} holds {constant}, which is not JSON; make it anew with `entropie assess`.")

    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    except FileNotFoundError:
        raise InvalidInput(f"{what} {path} does not exist; make one with `entropie assess`.") from None
    except (IsADirectoryError, PermissionError):
        raise InvalidInput(f"{what} {path} cannot be read; name the file assessment.json.") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise InvalidInput(
            f"{what} {path} is not whole JSON (damaged or cut off); make it anew with `entropie assess`."
        ) from None


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
    return error.complement


def average_risk(document: Document) -> Interval:
    """Share of people named rightly by the strongest attack, allowing for its having been chosen."""
    return complement(interval(document, "headline", "identification_error"))


@dataclass(frozen=True, slots=True)
class Exposed:
    """The people at the greatest risk whom an attacker can pick out; `share` 1 where no group stands out.

    level   confidence level of the interval by itself; above 95 % where it allows for a choice among attacks
    """

    matcher: str
    share: float
    people: int
    right: Interval
    level: float


def most_exposed(document: Document) -> Exposed:
    """The group that counts as the worst; in documents without one, the strongest attack's clearest tenth."""
    chosen = _has_headline_group(document)
    index = strongest(document)
    place: tuple[str | int, ...] = (
        ("headline", "most_exposed") if chosen else ("attacks", index, "exposure", "most_exposed")
    )
    return Exposed(
        matcher=str(entry(document, *(place if chosen else ("attacks", index)), "matcher")),
        share=number(document, *place, "share"),
        people=int(number(document, *place, "people")),
        right=interval(document, *place, "right"),
        level=headline_level(document) if chosen else LEVEL,
    )


@dataclass(frozen=True, slots=True)
class ScoreBits:
    """Bits of the strongest attack's scores; above `resolvable` they are a lower bound and worth no digits."""

    measured: Interval
    resolvable: float

    @property
    def over(self) -> bool:
        """Whether they are more than the data can show."""
        return self.measured.value > self.resolvable

    @property
    def shown(self) -> Interval:
        """No more than the data can show."""
        most = self.resolvable
        if not self.over:
            return self.measured
        return Interval(most, min(self.measured.low, most), min(self.measured.high, most))


def score_bits(document: Document) -> ScoreBits:
    """The bits of the attack that counts."""
    place = ("attacks", strongest(document), "pse_bits")
    return ScoreBits(interval(document, *place), number(document, *place, "resolvable"))


def tells_most_exposed(document: Document) -> bool:
    """Whether there is a group that counts as the worst."""
    return _has_headline_group(document) or document["attacks"][strongest(document)].get("exposure") is not None


def headline_level(document: Document) -> float:
    """Level of the headline's intervals by themselves: all of the attacks chosen among share the 5 % of doubt."""
    return level_among(number(document, "headline", "chosen_among"))


def obfuscated(document: Document) -> bool:
    """Whether what was assessed are reports of a mechanism."""
    return document.get("input", {}).get("obfuscated") is True


def _has_headline_group(document: Document) -> bool:
    return document.get("headline", {}).get("most_exposed") is not None
