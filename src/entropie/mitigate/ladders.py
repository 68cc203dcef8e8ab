"""How far each column of a table can be generalised: as it is, in bands, prefixes or groups of a file, dropped.

The group of a value at a level is the text that is released for it, so what is counted is what is written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.contents import read_bytes
from entropie.data.budget import Budget
from entropie.data.columns import read_columns
from entropie.document.base import Count, Part, Sha256
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.mitigate.attribute_table import BinRule, Column, bands_for, read_attributes, sensitive_codes
from entropie.mitigate.hierarchy import rows_of
from entropie.mitigate.lattice import Ladder, Lattice, Scale, Sensitive
from entropie.words import plural

_FEW_BANDS = 10  # to begin with, for numbers that have few values
_FEWEST_VALUES = 4
_LONGEST = 50  # characters that are kept of a code at most, where not all are: each number of them is a level
_MOST_LEVELS = 50  # of a hierarchy, each of which groups every value
_VALUE_BYTES = 300  # of a distinct value: its text, and what stands for it at a level
Texts = list[str | None]


class ColumnLevel(Part, frozen=True):
    """What is released of one column.

    width, first, last   bands: of this width, the first and the last that are told apart, open to their sides
    characters           codes: how many characters stay
    file, level, sha256  groups of a file: their level, and the hash of the file
    """

    column: str
    method: Literal["as is", "bands", "prefix", "hierarchy", "drop"]
    width: float | None = None
    first: int | None = None
    last: int | None = None
    characters: Count | None = None
    file: str | None = None
    level: Count | None = None
    sha256: Sha256 | None = None

    @property
    def told(self) -> str:
        """In words."""
        match self.method:
            case "bands":
                return f"bands of {_number(self.width or 0.0)}"
            case "prefix":
                return f"first {plural(self.characters or 0, 'character')}"
            case "hierarchy":
                return f"level {self.level} of {Path(self.file or '').name}"
            case _:
                return self.method

    def labels(self, values: Texts, numbers: NDArray[np.float64] | None) -> Texts:
        """What is released for each value; nothing stays nothing."""
        match self.method:
            case "drop":
                return [None] * len(values)
            case "prefix":
                kept = self.characters or 0
                return [None if value is None else f"{value[:kept]}*" for value in values]
            case "bands":
                if numbers is None or len(numbers) != len(values):
                    raise InvalidInput(f"Column `{self.column}` does not hold numbers only, the plan asks for bands.")
                return self._bands(numbers)
            case "hierarchy":
                return self._looked_up(values)
            case _:
                return values

    def _bands(self, numbers: NDArray[np.float64]) -> Texts:
        width, first, last = self.width or 1.0, self.first or 0, self.last or 0
        absent = np.isnan(numbers)
        with np.errstate(over="ignore"):
            place = np.clip(np.floor(np.where(absent, 0.0, numbers) / width + 1e-9), first, last).astype(np.int64)
        named = {band: _band(band, width, first, last) for band in np.unique(place).tolist()}
        return [None if gone else named[band] for band, gone in zip(place.tolist(), absent.tolist(), strict=True)]

    def _looked_up(self, values: Texts) -> Texts:
        path = Path(self.file or "")
        if self.sha256 != _sha256(path):
            raise InvalidInput(f"Hierarchy {path} has changed since the plan was made; make the plan again.")
        group_of = {row[0]: row[self.level or 0] or None for _, row in rows_of(path)}
        missing = sum(value is not None and value not in group_of for value in values)
        if missing:
            raise InvalidInput(
                f"Hierarchy {path} has no row for {missing:,} of {plural(len(values), 'value')} of column "
                f"`{self.column}`; add a row for each."
            )
        return [None if value is None else group_of[value] for value in values]


def _band(band: int, width: float, first: int, last: int) -> str:
    low, high = _number(band * width), _number((band + 1) * width)
    if first == last:
        return "any"
    return f"< {high}" if band == first else f">= {low}" if band == last else f"[{low}, {high})"


def _number(value: float) -> str:
    return f"{value:.12g}"


@dataclass(frozen=True, slots=True, eq=False)
class Person:
    """One column of everybody: its codes, what each code stands for, and what can be released of it."""

    column: Column
    values: Texts

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many people have each value."""
        return np.bincount(self.column.exact, minlength=self.column.exact_size)

    def groups(self, level: ColumnLevel) -> NDArray[np.int64]:
        """The group of each value at a level."""
        if level.method == "as is":
            return np.arange(self.column.exact_size)
        number: dict[str | None, int] = {}
        labels = level.labels(self.values, self.column.numbers)
        return np.array([number.setdefault(label, len(number)) for label in labels], np.int64)

    def ladder(self, levels: Sequence[ColumnLevel]) -> Ladder:
        """The levels as groups of values."""
        return Ladder(tuple(self.groups(level) for level in levels), self.counts)


@dataclass(frozen=True, slots=True, eq=False)
class PeopleTable:
    """A table with one row per person: the columns that are generalised, others as text, and a sensitive one of these
    as `attributes` reads it.
    """

    name: str
    sha256: str | None
    people: int
    columns: tuple[Person, ...]
    kept: dict[str, pa.ChunkedArray]
    sensitive: Sensitive | None = None

    def lattice(self, ladders: Sequence[Ladder], scale: Scale) -> Lattice:
        """All nodes of these levels."""
        return Lattice([person.column.exact for person in self.columns], ladders, scale, self.sensitive)


def read_people(
    source: object,
    columns: Sequence[str],
    *,
    keep: Sequence[str] = (),
    sensitive: str | None = None,
    id_column: str | None = None,
    bins: Mapping[str, BinRule] | None = None,
    room: int | None = None,
) -> PeopleTable:
    """Read the columns and what their values are; a row that cannot be read is refused, for it cannot be released."""
    for name in keep:
        if name in columns or name == id_column or list(keep).count(name) > 1:
            raise InvalidParameter(
                f"{option('keep')} names column `{name}`, which is already among {option('columns')}, holds the "
                "people or is named twice; leave it out."
            )
    held = pa.table(source) if hasattr(source, "__arrow_c_stream__") else source
    others = [] if sensitive is None else [sensitive]
    read = read_attributes(held, columns, others=others, id_column=id_column, bins=bins, memory=room)
    wanted = [*columns, *keep]
    budget, batches, size = Budget(read.name, room), [], 0
    for batch, _ in read_columns(held, wanted, texts=wanted):
        batches.append(batch)
        size += batch.nbytes
        budget.keep("texts", size)
    budget.keep("values", _VALUE_BYTES * sum(column.exact_size for column in read.columns))
    texts = pa.Table.from_batches(batches)
    if texts.num_rows != read.people:
        raise InvalidInput(f"{read.name} has rows that cannot be read; mend the file.")
    people = []
    for column in read.columns:
        firsts = np.unique(column.exact, return_index=True)[1]
        values = texts.column(column.name).take(pa.array(firsts)).to_pylist()
        if column.missing:
            values[-1] = None  # the missing are numbered last
        people.append(Person(column, values))
    kept = {name: texts.column(name) for name in keep}
    for name, values in kept.items():
        if read.people > 1 and alone_in(values) == read.people:
            raise InvalidParameter(
                f"{option('keep')} names column `{name}`, in which everybody has a value of their own: "
                f"released as it is, it identifies them. Leave it out, or name it in {option('columns')}."
            )
    learnt = None if sensitive is None else _sensitive(read.others[0])
    return PeopleTable(read.name, read.sha256, read.people, tuple(people), kept, learnt)


def _sensitive(column: Column) -> Sensitive:
    if column.size == 1:
        raise InvalidInput(f"Column `{column.name}` holds one value for everybody, so that there is nothing to learn.")
    codes, ordered = sensitive_codes(column)
    return Sensitive(codes, ordered)


def alone_in(values: pa.ChunkedArray) -> int:
    """People whose value nobody else has; a missing one tells nobody apart."""
    counts = pc.value_counts(values.drop_null().combine_chunks()).field("counts")
    return int(pc.sum(pc.equal(counts, 1)).as_py() or 0)


def levels_of(person: Person, hierarchy: Path | None, rule: BinRule | None, prefix: bool) -> tuple[ColumnLevel, ...]:
    """What can be released of a column, from all to nothing; a level that merges nothing is left out."""
    column, name = person.column, person.column.name
    if hierarchy is not None:
        steps = _file_levels(name, hierarchy)
    elif prefix or (column.digits and rule is None):
        longest = max((len(value) for value in person.values if value is not None), default=0)
        steps = [ColumnLevel(name, "prefix", characters=kept) for kept in range(min(longest - 1, _LONGEST), 0, -1)]
    elif column.numbers is not None and rule != BinRule():
        steps = _band_levels(person)
    else:
        steps = []
    levels = [ColumnLevel(name, "as is")]
    groups = person.groups(levels[0])
    for step in steps:
        found = person.groups(step)
        if not _nested(groups, found):
            raise InvalidInput(
                f"Hierarchy {step.file} is not nested: two values of column `{name}` that share a group at one level "
                f"have different ones at level {step.level}; mend the file."
            )
        if 1 < found.max(initial=0) + 1 < groups.max() + 1:
            levels.append(step)
            groups = found
    if groups.max() > 0:
        levels.append(ColumnLevel(name, "drop"))
    return tuple(levels)


def _nested(finer: NDArray[np.int64], coarser: NDArray[np.int64]) -> bool:
    """Whether values of one finer group share their coarser group."""
    first = np.empty(int(finer.max(initial=0)) + 1, np.int64)
    first[finer] = coarser
    return bool((first[finer] == coarser).all())


def _band_levels(person: Person) -> list[ColumnLevel]:
    """Bands whose width doubles from level to level."""
    column = person.column
    if column.proposed is None and column.exact_size < _FEWEST_VALUES:
        return []
    bands = column.proposed or bands_for(column, BinRule(bands=_FEW_BANDS))
    steps = []
    while bands is not None and bands.first < bands.last:
        steps.append(ColumnLevel(column.name, "bands", width=bands.width, first=bands.first, last=bands.last))
        wider = (bands.first >> 1, bands.last >> 1)
        if wider == (bands.first, bands.last):  # -1 and 0: two signs never meet
            break
        bands = type(bands)(2.0 * bands.width, *wider)
    return steps


def _file_levels(name: str, path: Path) -> list[ColumnLevel]:
    rows = rows_of(path)
    if not rows:
        raise InvalidInput(f"Hierarchy {path} is empty; it has one row per value.")
    if len(rows[0][1]) - 1 > _MOST_LEVELS:
        raise InvalidInput(f"Hierarchy {path} has more than {_MOST_LEVELS} levels; leave some out.")
    seen: set[str] = set()
    for number, row in rows:
        if len(row) != len(rows[0][1]) or len(row) < 2:
            raise InvalidInput(
                f"Hierarchy {path} has {plural(len(row) - 1, 'level')} in row {number} and "
                f"{len(rows[0][1]) - 1} in the first; every row needs the same, at least one."
            )
        if row[0] in seen:
            raise InvalidInput(f"Hierarchy {path} has a second row for the value of row {number}; leave one.")
        seen.add(row[0])
    digest = _sha256(path)
    return [
        ColumnLevel(name, "hierarchy", file=str(path), level=level, sha256=digest)
        for level in range(1, len(rows[0][1]))
    ]


def _sha256(path: Path) -> str:
    return hashlib.sha256(read_bytes(path, f"Hierarchy {path}")).hexdigest()
