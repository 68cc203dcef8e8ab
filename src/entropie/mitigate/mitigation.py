"""Mitigations: one table of kinds, from which options, help, names, schema and the settings tried by default follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from entropie import words
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.quantities import read_count, read_seconds, read_share
from entropie.theory import checks

if TYPE_CHECKING:
    from entropie.mitigate.draft import Draft, Material

Setting = int | float | str
AXES = ("items", "times", "cells", "people", "events", "pseudonyms")
"""What mitigations act on, in the order in which they are applied; a combination has at most one for each."""
_LONGEST_SECONDS = 400 * 86_400
_UNITS, _PERIODS = ("hour", "day", "week", "none"), ("week", "day")


class Values(NamedTuple):
    """What the settings of a kind are: read from text, called in a sentence, checked."""

    read: Callable[[str], Setting]
    called: str
    check: Callable[[str, Any], object]


def _whole(name: str, value: Any) -> None:
    if isinstance(value, float):  # 1.0 counts no items
        raise InvalidParameter.of(name, "a whole number, written without a point", value)
    checks.whole_number(name, value, at_least=1, at_most=2**31)


def _share(name: str, value: Any) -> None:
    rule = "a share above 0 and below 1"
    if not 0.0 < checks.real_number(name, value, rule, 0.0, 1.0) < 1.0:
        raise InvalidParameter.of(name, rule, value)


def _one_of(*names: str) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if value not in names:
            raise InvalidParameter.of(name, f"one of {', '.join(names)}", value)

    return check


def _length(name: str, value: Any) -> None:
    try:
        usable = isinstance(value, str) and 0 < read_seconds(value) <= _LONGEST_SECONDS
    except ValueError:
        usable = False
    if not usable:
        raise InvalidParameter.of(name, "a length of time up to 400 days, such as 30min or 2h", value)


def _levels(name: str, value: Any) -> None:
    from entropie.mitigate.hierarchy import Hierarchy

    if not isinstance(value, str):
        raise InvalidParameter.of(name, "a file and a level, such as places.csv:2", value)
    Hierarchy.parse(value)


def _size(name: str, value: Any) -> None:
    from entropie.data.grid import MapGrid

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


_WHOLE = Values(read_count, "whole numbers with commas between them", _whole)
_SHARES = Values(read_share, "shares with commas between them, such as 50%,0.1", _share)
_UNIT = Values(_text, "units with commas between them, such as hour,day,week", _one_of(*_UNITS))
_PERIOD = Values(_text, "periods with commas between them, such as day,week", _one_of(*_PERIODS))
_LENGTH = Values(_text, "lengths of time with commas between them, such as 30min,2h", _length)
_SIZE = Values(_text, "sizes with commas between them, such as 500m,2km", _size)
_COLUMN = Values(_text, "columns", _column)
_LEVEL = Values(_text, "files and levels", _levels)


def _minus(setting: Any) -> float:
    return -float(setting)


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to make data safer; what it does is the function of its name in `entropie.mitigate.changes`.

    metavar, help   of its option; without a comma in the metavar the option is repeated instead of taking a list
    title, action   it in two or three words; what to do, as the beginning of a sentence
    axis            what it acts on
    strength        how far a setting goes: of two of the same kind the higher takes more away
    tried           the settings that are tried unless others are named
    columns         the columns that a setting needs beside the events
    on_map, timed   whether it needs coordinates, and times
    unlike          settings whose action is another
    """

    name: str
    values: Values
    metavar: str
    help: str
    title: str
    action: str
    axis: str
    strength: Callable[[Any], float]
    tried: Callable[[Material], Iterable[Setting]] = lambda material: ()
    columns: Callable[[Any], tuple[str, ...]] = lambda setting: ()
    on_map: bool = False
    timed: Callable[[Any], bool] = lambda setting: False
    unlike: Mapping[Setting, str] = field(default_factory=dict)


def _metres(size: str) -> float:
    from entropie.data.grid import MapGrid

    return MapGrid.parse(size).step


# fmt: off
_KINDS = (
    Kind("top", _WHOLE, "N,...", "Keep the N most frequent items, merge the others.",
         "top {} items", "keep the {} most frequent items and merge the others into one", "items", _minus,
         tried=lambda material: (10**power for power in range(1, 10) if 10**power < material.traces.domain_size)),
    Kind("category", _COLUMN, "C", "Release this column instead of the item.",
         "column {}", "release the column {} instead of the item", "items", lambda column: 0.0,
         columns=lambda column: (column,)),
    Kind("grid", _SIZE, "SIZE,...", "Release map cells of this size, such as 500m.",
         "map cells of {}", "release map cells of {} instead of the item", "items", _metres,
         tried=lambda material: ("500m", "2km") if material.coordinates is not None else (), on_map=True),
    Kind("prefix", _WHOLE, "N,...", "Release the first N characters of the item.",
         "first {} characters", "release only the first {} characters of the item", "items", _minus),
    Kind("hierarchy", _LEVEL, "FILE:L", "Release level L of groups in a file.",
         "groups of {}", "release the groups of {} instead of the item", "items", lambda level: 0.0),
    Kind("time_unit", _UNIT, "U,...", "Round times to hour, day, week; none: drop.",
         "times: {}", "round times to the {} and drop the order within", "times", lambda unit: _UNITS.index(unit),
         tried=lambda material: ("day", "week", "none") if material.timed else ("none",),
         timed=lambda unit: unit != "none", unlike={"none": "release neither times nor the order of events"}),
    Kind("jitter", _LENGTH, "T,...", "Move times at random by up to T, as 2h.",
         "times within {}", "move every time at random by up to {}", "times", lambda length: read_seconds(length),
         timed=lambda length: True),
    Kind("rare_items", _WHOLE, "N,...", "Drop items of fewer than N people.",
         "items of {} people", "drop the items of fewer than {} people", "cells", float,
         tried=lambda material: (10,)),
    Kind("rare_cells", _WHOLE, "N,...", "Drop items in an hour of fewer than N people.",
         "cells of {} people", "drop every item in an hour (or wider unit) that fewer than {} people have", "cells",
         float),
    Kind("exposed", _SHARES, "P,...", "Drop the most exposed share P of people.",
         "without {} exposed", "leave out the most exposed {} of people", "people", float,
         tried=lambda material: (0.1,)),
    Kind("scatter", _SHARES, "P,...", "Events of the most exposed P each on its own.",
         "{} scattered", "give every event of the most exposed {} of people a pseudonym of its own", "people", float),
    Kind("sample", _SHARES, "P,...", "Release a random share P of people.",
         "{} of people", "release a random {} of people", "people", _minus),
    Kind("first", _WHOLE, "N,...", "Release the first N events of each person.",
         "first {} events", "release only the first {} events of each person", "events", _minus,
         tried=lambda material: (count for count in (10,) if count < material.longest)),
    Kind("last", _WHOLE, "N,...", "Release the last N events of each person.",
         "last {} events", "release only the last {} events of each person", "events", _minus),
    Kind("thin", _SHARES, "P,...", "Release each event with probability P.",
         "random {}", "release a random {} of the events", "events", _minus,
         tried=lambda material: (0.5, 0.1)),
    Kind("rotate", _PERIOD, "U,...", "Change pseudonyms every day or week.",
         "pseudonyms by {}", "give everybody a new pseudonym every {}", "pseudonyms",
         lambda period: _PERIODS.index(period),
         tried=lambda material: _PERIODS if material.timed and material.longest > 1 else (),
         timed=lambda period: True),
)
# fmt: on
KINDS: dict[str, Kind] = {kind.name: kind for kind in _KINDS}
"""Every mitigation, in the order of the help."""


@dataclass(frozen=True, slots=True)
class Mitigation:
    """One way to make data safer, and how far to go.

    top          a number: the most frequent items stay, all others become one item
    category     a column: its value replaces the item
    grid         a size such as 500m: the map cell replaces the item
    prefix       a number: items with the same first characters become one
    hierarchy    a file and a level such as places.csv:2: the group named there replaces the item
    time_unit    hour, day or week: times are rounded down, and the order within is lost; none: no times, no order
    jitter       a length such as 2h: times are moved at random by up to so much
    rare_items   a number: items that fewer people have are dropped
    rare_cells   a number: items in an hour (or the wider unit of the times) that fewer people have are dropped
    exposed      a share: the people whom four known events give away most surely are left out
    scatter      a share: every event of these people gets a pseudonym of its own
    sample       a share: so many people, drawn at random, are released
    first, last  a number: so many of each person's events stay
    thin         a probability: each event stays with it
    rotate       day or week: everybody gets a new pseudonym so often
    """

    kind: str
    setting: Setting

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidParameter.of("mitigation", f"one of {', '.join(KINDS)}", self.kind)
        self.of.values.check(self.kind, self.setting)

    @property
    def of(self) -> Kind:
        """What is said and done about it."""
        return KINDS[self.kind]

    @property
    def name(self) -> str:
        """It in two or three words, for tables."""
        return self.of.title.format(self._value)

    @property
    def action(self) -> str:
        """What to do, as the beginning of a sentence."""
        return self.of.unlike.get(self.setting, self.of.action).format(self._value)

    @property
    def needs_times(self) -> bool:
        """Whether it works on times alone."""
        return self.of.timed(self.setting)

    @property
    def file(self) -> Path | None:
        """The file that it reads, where it reads one."""
        from entropie.mitigate.hierarchy import Hierarchy

        return Hierarchy.parse(str(self.setting))[0] if self.of.values is _LEVEL else None

    def applied(self, draft: Draft) -> Draft:
        """What it makes of a draft."""
        changed: Draft = getattr(import_module("entropie.mitigate.changes"), self.kind)(draft, self.setting)
        return changed

    @property
    def _value(self) -> str:
        if isinstance(self.setting, str):
            return self.setting
        return words.stated(self.setting) if self.of.values is _SHARES else words.count(int(self.setting))


@dataclass(frozen=True)
class Combination:
    """Mitigations, at most one on each axis, in the order in which they are applied; none: the data as they are."""

    parts: tuple[Mitigation, ...] = ()

    def __post_init__(self) -> None:
        places = [AXES.index(part.of.axis) for part in self.parts]
        if places != sorted(set(places)):
            raise InvalidParameter(
                f"A combination has at most one mitigation for each of {words.listed(AXES)}, in this order."
            )

    @property
    def name(self) -> str:
        """It in a few words, for tables."""
        return " + ".join(part.name for part in self.parts) or "as is"

    @property
    def action(self) -> str:
        """What to do, as the beginning of a sentence."""
        return "; ".join(part.action for part in self.parts) or "release the data as they are"

    @cached_property
    def by_axis(self) -> dict[str, Mitigation]:
        """What is done on each axis."""
        return {part.of.axis: part for part in self.parts}

    def applied(self, draft: Draft) -> Draft:
        """What all of them make of a draft, one after the other."""
        for part in self.parts:
            draft = part.applied(draft)
        return draft

    def at_most(self, other: Combination) -> bool:
        """Whether it merges and rounds no further than another one, and drops and cuts the same.

        What drops events or changes pseudonyms also makes other people rarer, so that more of it may be worse.
        """
        return all(_no_further(self.by_axis.get(axis), other.by_axis.get(axis), axis in AXES[:2]) for axis in AXES)


def _no_further(mine: Mitigation | None, theirs: Mitigation | None, coarsens: bool) -> bool:
    if mine == theirs or not coarsens:
        return mine == theirs
    if mine is None or theirs is None:
        return mine is None
    return theirs.kind == mine.kind and theirs.of.strength(theirs.setting) > mine.of.strength(mine.setting)


def candidates(material: Material, named: Sequence[Mitigation], *, only: bool) -> list[Combination]:
    """Every combination to choose from: of the kinds named their settings, of the others (unless `only`) the usual."""
    kinds = {one.kind for one in named}
    tried = list(dict.fromkeys(named))
    if not only:
        others = [kind for kind in KINDS.values() if kind.name not in kinds]
        tried += [Mitigation(kind.name, setting) for kind in others for setting in kind.tried(material)]
    for one in named:
        if one.needs_times and not material.timed:
            raise InvalidInput(
                f"{option(one.kind)} {one.setting} needs times, and only the order of events is known; leave it out, "
                f"or name a column of times with {option('time')}."
            )
    by_axis = [[None, *(one for one in tried if one.of.axis == axis)] for axis in AXES]
    return [Combination(tuple(part for part in parts if part is not None)) for parts in product(*by_axis)]
