"""What a kind of mitigation is: what its settings look like, how it is called, and the function that does it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from entropie import words
from entropie.data.grid import MapGrid
from entropie.errors import InvalidParameter
from entropie.mitigate.draft import Blocks, Change, Material
from entropie.mitigate.hierarchy import Hierarchy
from entropie.quantities import read_count, read_seconds, read_share
from entropie.theory import checks

Setting = int | float | str
AXES = ("items", "times", "cells", "people", "events", "pseudonyms")
"""What mitigations act on, in the order in which they are applied; a combination has at most one for each."""
_LONGEST_SECONDS = 400 * 86_400


def _stated(setting: Setting) -> str:
    return setting if isinstance(setting, str) else words.count(int(setting))


class Values(NamedTuple):
    """What the settings of a kind are: read from text, called in a sentence, checked, shown, the file they name."""

    read: Callable[[str], Setting]
    called: str
    check: Callable[[str, Any], object]
    show: Callable[[Any], str] = _stated
    file: Callable[[Any], Path | None] = lambda setting: None


def _whole(name: str, value: Any) -> None:
    if isinstance(value, float):  # 1.0 counts no items
        raise InvalidParameter.of(name, "a whole number, written without a point", value)
    checks.whole_number(name, value, at_least=1, at_most=2**31)


def _share(name: str, value: Any) -> None:
    rule = "a share above 0 and below 1"
    if not 0.0 < checks.real_number(name, value, rule, 0.0, 1.0) < 1.0:
        raise InvalidParameter.of(name, rule, value)


def _length(name: str, value: Any) -> None:
    try:
        usable = isinstance(value, str) and 0 < read_seconds(value) <= _LONGEST_SECONDS
    except ValueError:
        usable = False
    if not usable:
        raise InvalidParameter.of(name, "a length of time up to 400 days, such as 30min or 2h", value)


def _levels(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise InvalidParameter.of(name, "a file and a level, such as places.csv:2", value)
    Hierarchy.parse(value)


def _size(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise InvalidParameter.of(name, "a size, such as 500m or 0.01deg", value)
    MapGrid.parse(value)


def _column(name: str, value: Any) -> None:
    if not (isinstance(value, str) and value):
        raise InvalidParameter.of(name, "the name of a column", value)


def _text(text: str) -> str:
    if not text:
        raise ValueError(text)
    return text


def one_of(*names: str, called: str) -> Values:
    """Settings that are one of a few names."""

    def check(name: str, value: Any) -> None:
        if value not in names:
            raise InvalidParameter.among(name, names, value)

    return Values(_text, called, check)


WHOLE = Values(read_count, "whole numbers with commas between them", _whole)
SHARES = Values(read_share, "shares with commas between them, such as 50%,0.1", _share, words.stated)
LENGTH = Values(_text, "lengths of time with commas between them, such as 30min,2h", _length)
SIZE = Values(_text, "sizes with commas between them, such as 500m,2km", _size)
COLUMN = Values(_text, "columns", _column)
LEVEL = Values(_text, "files and levels", _levels, file=lambda setting: Hierarchy.parse(str(setting))[0])


def less(setting: Any) -> float:
    """The strength of a setting of which less takes more away."""
    return -float(setting)


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to make data safer.

    values          what its settings are
    metavar, help   of its option; without a comma in the metavar the option is repeated instead of taking a list
    title, action   it in two or three words; what to do, as the beginning of a sentence
    axis            what it acts on
    strength        how far a setting goes: of two of the same kind the higher takes more away
    prepare         looks at the events and gives what to do with each block of them
    tried           the settings that are tried unless others are named
    columns         the columns that a setting needs beside the events
    on_map, timed   whether it needs coordinates, and times
    unlike          title and action of settings that are called otherwise
    """

    name: str
    values: Values
    metavar: str
    help: str
    title: str
    action: str
    axis: str
    strength: Callable[[Any], float]
    prepare: Callable[[Blocks, Any], Change]
    tried: Callable[[Material], Iterable[Setting]] = lambda material: ()
    columns: Callable[[Any], tuple[str, ...]] = lambda setting: ()
    on_map: bool = False
    timed: Callable[[Any], bool] = lambda setting: False
    unlike: Mapping[Setting, tuple[str, str]] = field(default_factory=dict)


Prepare = Callable[[Blocks, Any], Change]


class Declarations:
    """The kinds of one axis, in the order in which they are declared: each above the function that does it."""

    def __init__(self, axis: str) -> None:
        self.axis = axis
        self.kinds: list[Kind] = []

    def __call__(
        self, values: Values, metavar: str, help: str, *, title: str, action: str, strength: Callable[[Any], float],
        **more: Any,
    ) -> Callable[[Prepare], Prepare]:  # fmt: skip
        """Declare the function below: its name is that of the kind."""

        def declared(prepare: Prepare) -> Prepare:
            name = prepare.__name__
            self.kinds.append(Kind(name, values, metavar, help, title, action, self.axis, strength, prepare, **more))
            return prepare

        return declared
