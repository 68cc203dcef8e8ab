"""Mitigations: one table of kinds, from which options, help, names, schema and the settings tried by default follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from entropie import words
from entropie.document.base import Part, Share
from entropie.errors import InvalidParameter
from entropie.quantities import read_count, read_share
from entropie.theory import checks

if TYPE_CHECKING:
    from entropie.data.coarsen import TimeUnit
    from entropie.mitigate.material import Material, Released

Measure = Literal["item information", "order", "events"]
Setting = int | float | str
_UNITS = ("hour", "day", "week")


class Cost(Part, frozen=True):
    """What a mitigation takes away, as a share of what there was."""

    value: Share
    of: Measure


class Values(NamedTuple):
    """What the settings of a kind are: read from text, called in a sentence, checked."""

    read: Callable[[str], Setting]
    called: str
    check: Callable[[str, Any], object]


def _whole(name: str, value: Any) -> None:
    checks.whole_number(name, value, at_least=1, at_most=2**31)


def _share(name: str, value: Any) -> None:
    rule = "a share above 0 and below 1"
    if not 0.0 < checks.real_number(name, value, rule, 0.0, 1.0) < 1.0:
        raise InvalidParameter.of(name, rule, value)


def _unit(name: str, value: Any) -> None:
    if value not in _UNITS:
        raise InvalidParameter.of(name, f"one of {', '.join(_UNITS)}", value)


def _size(name: str, value: Any) -> None:
    from entropie.data.grid import MapGrid

    MapGrid.parse(str(value))


def _column(name: str, value: Any) -> None:
    if not (isinstance(value, str) and value):
        raise InvalidParameter.of(name, "the name of a column", value)


def _text(text: str) -> str:
    if not text:
        raise ValueError(text)
    return text


_WHOLE = Values(read_count, "whole numbers with commas between them", _whole)
_SHARES = Values(read_share, "shares with commas between them, such as 50%,0.1", _share)
_UNIT = Values(_text, "units with commas between them, such as hour,day,week", _unit)
_SIZE = Values(_text, "sizes with commas between them, such as 500m,2km", _size)
_COLUMN = Values(_text, "columns", _column)


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to make data safer.

    metavar, help   of its option; without a comma in the metavar the option is repeated instead of taking a list
    title, action   it in two or three words; what to do, as the beginning of a sentence
    cost            what its cost is a share of
    release         what is attacked under a setting
    tried           the settings that are tried unless others are named
    columns         the columns that a setting needs beside the events
    on_map          whether it needs coordinates
    """

    name: str
    values: Values
    metavar: str
    help: str
    title: str
    action: str
    cost: Measure
    release: Callable[[Material, Any], Released]
    tried: Callable[[Material], Iterable[Setting]] = lambda material: ()
    columns: Callable[[Any], tuple[str, ...]] = lambda setting: ()
    on_map: bool = False


def _top(material: Material, count: int) -> Released:
    from entropie.data.coarsen import keep_top_items

    return material.recoded(keep_top_items(material.traces, count))


def _category(material: Material, column: str) -> Released:
    from entropie.data.event_columns import category_labels

    return material.labelled(category_labels(material.columns[column]), "no category")


def _grid(material: Material, size: str) -> Released:
    from entropie.data.coarsen import grid_labels
    from entropie.data.event_columns import numbers
    from entropie.data.grid import MapGrid

    latitude, longitude = (numbers(material.columns[name]) for name in material.coordinates or ())
    return material.labelled(grid_labels(latitude, longitude, MapGrid.parse(size)), "no place on the Earth")


def _prefix(material: Material, length: int) -> Released:
    from entropie.data.coarsen import merge_items, prefix_groups

    return material.recoded(merge_items(material.traces, prefix_groups(material.item_ids, length)))


def _time_unit(material: Material, unit: TimeUnit) -> Released:
    from entropie.data.coarsen import coarsen_time, time_units
    from entropie.mitigate.material import order_lost

    train, before = material.split.train, material.split.target
    lost = order_lost(before, time_units(before, unit))
    return material.released(coarsen_time(train, unit), coarsen_time(before, unit), lost)


def _first(material: Material, count: int) -> Released:
    from entropie.data.split import first_events

    return material.fewer(first_events(material.split.target, count))


def _last(material: Material, count: int) -> Released:
    from entropie.data.coarsen import last_events

    return material.fewer(last_events(material.split.target, count))


def _thin(material: Material, probability: float) -> Released:
    from entropie.data.coarsen import thin

    return material.fewer(thin(material.split.target, probability, seed=material.seed, keys=material.keys))


# fmt: off
_KINDS = (
    Kind("top", _WHOLE, "N,...", "Keep the N most frequent items, merge the others.",
         "top {} items", "keep the {} most frequent items and merge the others into one",
         "item information", _top,
         tried=lambda material: (10**power for power in range(1, 10) if 10**power < material.items_released)),
    Kind("category", _COLUMN, "C", "Release this column instead of the item.",
         "column {}", "release the column {} instead of the item",
         "item information", _category,
         columns=lambda column: (column,)),
    Kind("grid", _SIZE, "SIZE,...", "Release map cells of this size, such as 500m.",
         "map cells of {}", "release map cells of {} instead of the item",
         "item information", _grid,
         tried=lambda material: ("100m", "500m", "2km") if material.coordinates is not None else (), on_map=True),
    Kind("prefix", _WHOLE, "N,...", "Release the first N characters of the item.",
         "first {} characters", "release only the first {} characters of the item",
         "item information", _prefix),
    Kind("time_unit", _UNIT, "U,...", "Round times to the hour, day or week.",
         "times to the {}", "round times to the {} and drop the order within",
         "order", _time_unit,
         tried=lambda material: _UNITS if material.timed and material.longest > 1 else ()),
    Kind("first", _WHOLE, "N,...", "Release the first N events of each person.",
         "first {} events", "release only the first {} events of each person",
         "events", _first,
         tried=lambda material: (count for count in (5, 10, 20) if count < material.longest)),
    Kind("last", _WHOLE, "N,...", "Release the last N events of each person.",
         "last {} events", "release only the last {} events of each person",
         "events", _last),
    Kind("thin", _SHARES, "P,...", "Release each event with probability P.",
         "random {}", "release a random {} of the events",
         "events", _thin,
         tried=lambda material: (0.5, 0.1)),
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
    time_unit    hour, day or week: times are rounded down, and the order within is lost
    first, last  a number: so many of each person's released events stay
    thin         a probability: each released event stays with it
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
        return self.of.action.format(self._value)

    @property
    def _value(self) -> str:
        if isinstance(self.setting, str):
            return self.setting
        return words.stated(self.setting) if self.of.values is _SHARES else words.count(int(self.setting))
