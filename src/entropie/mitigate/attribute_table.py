"""A table with one row per person, column by column as small whole numbers; numbers with bands to cut them into."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import decoded, type_within
from entropie.data.columns import checked_texts
from entropie.data.rejects import Rejects
from entropie.data.roles import require_columns
from entropie.data.tables import ArrowTable, ParquetTable, TextTable, open_table
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.mitigate.unnamed import Unnamed, UnnamedColumn
from entropie.progress import silent

BANDS = 20
"""For numbers with more different values than this, at most so many bands are proposed, unless told otherwise."""
CODE_WORDS = frozenset(
    ("id", "uid", "uuid", "guid", "code", "zip", "zipcode", "postcode", "postalcode", "plz", "ssn", "iban")
)
"""Words in a column's name that say that its digits count nothing: near codes are not alike."""
_DROPPED_SHARE = 0.01
_CODES_BYTES = 24  # of a value, while it is numbered
_TAIL = 0.01
_MOST_BANDS = 2**52  # so that they can be counted
_STEPS = (1.0, 2.0, 5.0)
_LARGEST = 1e290


@dataclass(frozen=True, slots=True)
class BinRule:
    """How one column of numbers is cut: at most `bands` bands, bands of one `width`, or not at all (neither)."""

    bands: int | None = None
    width: float | None = None


@dataclass(frozen=True, slots=True)
class Bands:
    """Bands of one round width, [j width, (j+1) width); the first and the last are open, they hold the tails."""

    width: float
    first: int
    last: int

    @property
    def count(self) -> int:
        """How many bands there are."""
        return self.last - self.first + 1

    def of(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The band of each value, from 0."""
        return np.clip(_place(values, self.width), self.first, self.last).astype(np.int64) - self.first


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One attribute of everybody: codes 0 .. size-1.

    values    what the exact codes stand for but for the missing one, to be looked up elsewhere and never shown
    numbers   the number behind each exact value (NaN where it is missing), where the column holds numbers
    exact     the codes before they were cut into bands
    digits    whether the values are codes written in digits, which are not numbers to be cut
    proposed  bands to cut the numbers into; None where there are few, for codes and where all are different
    bands     the bands they have been cut into
    """

    name: str
    codes: NDArray[np.int64]
    size: int
    missing: int
    exact: NDArray[np.int64]
    exact_size: int
    numbers: NDArray[np.float64] | None
    digits: bool
    proposed: Bands | None
    values: Any
    bands: Bands | None = None

    @property
    def identifier(self) -> bool:
        """Whether the value is different for everybody, so that it identifies people by itself."""
        return self.exact_size == self.exact.size

    def in_bands(self) -> Column:
        """The attribute in the bands proposed for it, as it is where there are none."""
        return self if self.proposed is None else self.banded(self.proposed)

    def banded(self, bands: Bands) -> Column:
        """The same attribute in bands; a missing value stays a value of its own."""
        assert self.numbers is not None
        absent = np.isnan(self.numbers)
        place = bands.of(np.where(absent, 0.0, self.numbers))
        return self.recoded(np.where(absent, bands.count, place), self.exact, bands)

    def recoded(self, new: NDArray[np.int64], old: NDArray[np.int64], bands: Bands | None = None) -> Column:
        """The same attribute with the value new[j] for the old code j; values nobody has take no room."""
        used, dense = np.unique(new, return_inverse=True)
        return replace(self, codes=dense[old].astype(np.int64), size=used.size, bands=bands)


@dataclass(frozen=True, slots=True)
class AttributeTable:
    """Everybody's attributes, and what was read; `others` are columns that no attacker knows."""

    name: str
    sha256: str | None  # of the file's bytes; None for a table in memory
    people: int
    dropped: dict[str, int]
    columns: tuple[Column, ...]
    others: tuple[Column, ...] = ()
    id_column: str | None = None
    unnamed: tuple[UnnamedColumn, ...] = ()


def rule_of(text: str) -> tuple[str, BinRule]:
    """Read `age=10` (at most ten bands), `age=width:5` or `age=exact`."""
    column, equals, value = text.rpartition("=")
    if not (equals and column):
        raise _no_rule(text)
    try:
        return column, rule_from(int(value) if value.isascii() and value.lstrip("-").isdigit() else value)
    except ValueError:  # no rule, or a number of thousands of digits
        raise _no_rule(text) from None


def rule_from(value: BinRule | int | str) -> BinRule:
    """A rule as Python writes it: 10 (at most ten bands), "width:5" or "exact"."""
    if isinstance(value, BinRule):
        return value
    if value == "exact":
        return BinRule()
    if isinstance(value, str) and value.startswith("width:"):
        try:
            width = float(value.removeprefix("width:"))
        except ValueError:
            width = 0.0
        if 0.0 < width < math.inf:
            return BinRule(width=width)
    elif isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST_BANDS:
        return BinRule(bands=value)
    raise InvalidParameter.of("bins", "a number of bands, 'width:5' or 'exact' for each column", value)


def _no_rule(text: str) -> InvalidParameter:
    return InvalidParameter.of("bins", "COLUMN=N (at most N bands), COLUMN=width:W or COLUMN=exact", text)


def round_width(width: float) -> float:
    """The smallest of 1, 2, 5, 10, 20 ... (and 0.5, 0.2 ...) that is at least `width`."""
    power = math.floor(math.log10(width))
    for exponent in (power, power + 1):
        for step in _STEPS:
            rounded = float(f"{step:g}e{exponent}")  # the nearest number to the round one
            if rounded >= width * (1.0 - 1e-12):
                return rounded
    return float(f"2e{power + 1}")


def read_attributes(
    source: object,
    columns: Sequence[str],
    *,
    others: Sequence[str] = (),
    id_column: str | None = None,
    bins: Mapping[str, BinRule] | None = None,
    memory: int | None = None,
) -> AttributeTable:
    """Read the named columns of a CSV or Parquet file, or of anything with `__arrow_c_stream__`."""
    names, beside = list(columns), list(others)
    if not names or len(set(names)) != len(names):
        raise InvalidParameter("Parameter `columns` must name at least one column, none of them twice.")
    if id_column in names:
        raise InvalidParameter(
            f"Column `{id_column}` holds the people and cannot be assessed too; drop it from {option('columns')}."
        )
    rules = dict(bins or {})
    for name in rules:
        if name not in names:
            raise InvalidParameter(f"{option('bins')} names column `{name}`, which is not among {option('columns')}.")
    wanted = [*names, *beside, *([id_column] if id_column else [])]
    opened = open_table(source)
    name = Path(opened.name).name
    rejects = Rejects(opened.name, memory)
    further = [column for column in opened.columns if column not in (*names, id_column)]
    unnamed = Unnamed(further, rejects.budget.limit)
    table, dropped = _read(opened, wanted, rejects, unnamed)
    people = table.num_rows
    if people < 2:
        raise InvalidInput(f"{name} has {people} usable row(s); at least two people are needed.")
    if id_column:
        _check_one_row_each(table.column(id_column), id_column, rejects)
    typed = not isinstance(opened, TextTable)  # in text files all is text, elsewhere what is text is so on purpose
    coded = [_column(column, table.column(column), rules.get(column), typed) for column in (*names, *beside)]
    known, unknown = tuple(coded[: len(names)]), tuple(coded[len(names) :])
    sha256 = None if isinstance(opened, ArrowTable) else opened.sha256()
    return AttributeTable(name, sha256, people, dropped, known, unknown, id_column, unnamed.told())


def _read(
    opened: TextTable | ParquetTable | ArrowTable, wanted: list[str], rejects: Rejects, unnamed: Unnamed
) -> tuple[pa.Table, dict[str, int]]:
    """The wanted columns, an empty text as nothing, and the lines that do not fit the header by reason."""
    require_columns(wanted, opened.header)
    for column in wanted:
        _check_kind(column, opened.type_of(column))
    batches, size = [], 0
    for whole in opened.select(list(dict.fromkeys([*wanted, *unnamed.names])), rejects, silent):
        unnamed.see(whole)
        batches.append(checked_texts(_unfolded(whole.select(wanted)), rejects))
        size += batches[-1].nbytes + _CODES_BYTES * whole.num_rows * len(wanted)
        rejects.budget.keep("columns", size + unnamed.nbytes)
    held = map(opened.type_of, wanted)
    kinds = map(type_within, held)
    table = pa.Table.from_batches(batches, pa.schema(list(zip(wanted, kinds, strict=True))))
    rejects.check_complete(table.num_rows)
    lost = rejects.dirty.total()
    if lost > _DROPPED_SHARE * (lost + table.num_rows):
        raise InvalidInput(
            f"{lost} of {lost + table.num_rows} rows of {opened.name} do not fit its header ({rejects.summary()}); "
            "mend the file."
        )
    return table, dict(rejects.dirty)


def _unfolded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The values themselves of columns that number them: what they take counts, a small file may repeat a long one."""
    columns = [decoded(one) for one in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _check_kind(name: str, kind: pa.DataType) -> None:
    """Refuse what holds several values in one."""
    if pa.types.is_nested(kind):
        raise InvalidInput(f"Column `{name}` has type {kind}, which is no attribute; make it text, numbers or dates.")


def _check_one_row_each(ids: Any, name: str, rejects: Rejects) -> None:
    plain = _plain(name, ids)
    if plain.null_count:
        first = rejects.place(pc.index(plain.is_null(), True).as_py())
        raise InvalidInput(
            f"Column `{name}` is blank in {plain.null_count:,} rows, first {first}; every row needs its person."
        )
    encoded = plain.dictionary_encode()
    repeated = len(plain) - len(encoded.dictionary)
    if repeated:
        codes = encoded.indices.to_numpy()
        first = rejects.place(int(np.argmax(codes != np.arange(codes.size))))  # numbered as they come
        raise InvalidInput(
            f"Column `{name}` repeats {repeated:,} people, first {first}: a table of attributes has one row per "
            "person; events are assessed by `entropie assess`."
        )


def _column(name: str, values: Any, rule: BinRule | None, typed: bool) -> Column:
    """Number the values of a column, and propose bands where it holds many different numbers."""
    encoded = _plain(name, values).dictionary_encode()
    distinct = encoded.dictionary
    size, missing = len(distinct), encoded.null_count
    codes = encoded.indices.fill_null(size).to_numpy(zero_copy_only=False).astype(np.int64)
    numbers = _numbers(distinct)
    digits = _all_digits(distinct) and (numbers is None or typed or _named_as_code(name))
    digits |= numbers is not None and _is_whole(numbers) and _named_as_code(name)
    if numbers is not None and missing:
        numbers = np.append(numbers, np.nan)
    size += bool(missing)
    if rule is not None and numbers is None:
        raise InvalidParameter(
            f"{option('bins')} asks for bands of column `{name}`, which does not hold numbers only; leave it out."
        )
    digits &= rule is None or rule == BinRule()  # who asks for bands has said that these are numbers
    column = Column(name, codes, size, missing, codes, size, numbers, digits, None, distinct)
    if numbers is None or rule == BinRule():
        return column
    if rule is None and (size <= BANDS or column.digits or column.identifier):
        return column
    bands = bands_for(column, rule or BinRule(bands=BANDS))
    if bands is None and rule is not None:
        raise InvalidParameter(
            f"{option('bins')} asks for bands of column `{name}` that are too narrow for its numbers to be told apart; "
            "ask for wider ones."
        )
    return replace(column, proposed=bands)


def _all_digits(distinct: Any) -> bool:
    """Whether values are text made of digits alone."""
    if len(distinct) == 0 or not (pa.types.is_string(distinct.type) or pa.types.is_large_string(distinct.type)):
        return False
    return bool(pc.all(pc.match_substring_regex(distinct, r"^\s*\d+\s*$")).as_py())


def _is_whole(numbers: NDArray[np.float64]) -> bool:
    return bool((numbers == np.floor(numbers)).all())


def _named_as_code(name: str) -> bool:
    """Whether a word of the column's name (user_id, postCode, ZIP5) speaks of a code."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return any(word.lower() in CODE_WORDS for word in words)


def bands_for(column: Column, rule: BinRule) -> Bands | None:
    """Bands of a round width that cut the middle 98 % of people into at most so many, or of the width given.

    None where a number cannot tell the bands apart.
    """
    assert column.numbers is not None
    counts = np.bincount(column.exact, minlength=column.exact_size)
    order = np.argsort(column.numbers)  # NaN, the missing, comes last
    order = order[~np.isnan(column.numbers[order])]
    values, heap = column.numbers[order], np.cumsum(counts[order])
    low, high = (float(values[np.searchsorted(heap, share * heap[-1])]) for share in (_TAIL, 1.0 - _TAIL))
    if low == high:
        low, high = float(values[0]), float(values[-1])
    most = rule.bands or BANDS
    largest, narrowest = max(abs(low), abs(high)), rule.width or high / most - low / most
    bounded = low == high and rule.width is None
    if largest > _LARGEST or (not bounded and (narrowest < 1.0 / _LARGEST or largest / narrowest > _MOST_BANDS)):
        return None
    if rule.width is not None:
        return Bands(rule.width, *_ends(low, high, rule.width))
    if most == 1 or low == high:
        return Bands(round_width(max(abs(low), abs(high), 1.0)), 0, 0)
    width = round_width((high - low) / most)
    while (bands := Bands(width, *_ends(low, high, width))).count > most:
        width = round_width(width * 1.5)  # ends with one band, or with two where there are both signs
    return bands


def _ends(low: float, high: float, width: float) -> tuple[int, int]:
    first, last = _place(np.array([low, high]), width)
    return int(first), int(last)


def _place(values: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """Which band a value falls in; a value a rounding error below an edge belongs to the band above."""
    with np.errstate(over="ignore"):  # beyond the last band
        return np.asarray(np.floor(values / width + 1e-9))


def _plain(name: str, values: Any) -> Any:
    """One array of a type whose values can be told apart; NaN is missing."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(array, pa.ChunkedArray):  # too long for one array of text
        array = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in array.chunks])
    kind = array.type
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_nan(array), None, array)
    if pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return array
    if pa.types.is_decimal(kind):
        return array.cast(pa.float64())
    try:
        return array.cast(pa.string())
    except pa.ArrowException:
        raise InvalidInput(
            f"Column `{name}` has type {kind}, which is no attribute; make it text, numbers or dates."
        ) from None


def _numbers(distinct: Any) -> NDArray[np.float64] | None:
    """The numbers that values are, where all of them are finite and none is a code such as 007."""
    if len(distinct) == 0:
        return None
    if pa.types.is_string(distinct.type) or pa.types.is_large_string(distinct.type):
        if pc.any(pc.match_substring_regex(distinct, r"^\s*[+-]?0\d")).as_py():
            return None
        try:
            distinct = pc.utf8_trim_whitespace(distinct).cast(pa.float64())
        except pa.ArrowException:
            return None
    numbers = np.asarray(distinct.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    return numbers if np.isfinite(numbers).all() else None


def sensitive_codes(column: Column) -> tuple[NDArray[np.int64], bool]:
    """Codes of a column that an attacker wants to learn, numbers in their order and what is missing last; whether they
    have one.
    """
    if column.numbers is None or column.digits:
        return column.codes, False
    ranks = np.empty(column.size, np.int64)
    ranks[np.argsort(column.numbers, kind="stable")] = np.arange(column.size)
    return ranks[column.codes], True
