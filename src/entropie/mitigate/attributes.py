"""How much the attributes of a table say about who a person is: bits, uniqueness, and what to give up first.

One row per person and nothing random: I(U;X) of a set of columns is the entropy of their combinations. Everything
follows from the sizes of the groups of people who share a combination, which are counted and never compared.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from entropie._version import __version__
from entropie.atomic import replacing
from entropie.errors import InvalidParameter, option
from entropie.measures.special import normal_quantile
from entropie.mitigate.attribute_table import (
    AttributeTable,
    BinRule,
    Column,
    bands_for,
    read_attributes,
    round_width,
    rule_from,
)
from entropie.notebook import html_table
from entropie.progress import Progress, silent
from entropie.theory import checks
from entropie.words import listed, percent, plural

__all__ = [
    "SCHEMA",
    "AttributeRisk",
    "ColumnRisk",
    "GroupRisk",
    "Remedy",
    "attributes",
    "group_risk",
    "group_sizes",
    "width_text",
]

SCHEMA = "entropie.attributes/1"
SMALL_GROUP = 10
"""A combination that fewer people share singles them out, or nearly so."""
MOST_SETS = 3000
SHAPLEY_COLUMNS = 8
_LONE_SHARE = 0.05
_MERGED_SHARE = 0.05
_LARGEST_CODE = 2**62
_HELPS = 0.8  # bands are advised where at most this share of the risk is left
_MOST = 0.5
_FEW = 6  # columns that a sentence lists by name
Sizes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GroupRisk:
    """What knowing some columns of everybody gives an attacker.

    bits           information about who a person is, exact for these people: the entropy of the combinations
    bits_low/high  95 % interval for the people they are a sample of; no upper end where too many are alone
    success        expected share of people re-identified by picking anybody of those who fit: groups/people
    unique_share   people who share their combination with nobody
    small_share    people who share it with fewer than ten, themselves counted
    """

    columns: tuple[str, ...]
    bits: float
    bits_low: float
    bits_high: float | None
    groups: int
    smallest_group: int
    success: float
    unique_share: float
    small_share: float


@dataclass(frozen=True, slots=True)
class ColumnRisk:
    """One column: what it says alone, what it adds to the others, and what is left of that in bands.

    kind            numbers; codes written in digits, which bands would make no sense of; or categories
    can_be_banded   whether its values are numbers that bands can be made of on request
    identifier      whether it is different for everybody: it identifies people by itself and should be dropped
    alone           what its values say
    bands           how many bands are proposed for its numbers, and of which width; None where none are
    banded          what it says in these bands
    adds_bits       bits lost when it alone is dropped from all columns; adds_success likewise
    average_bits    the same averaged over all orders in which columns become known (Shapley); None for many columns
    """

    name: str
    kind: Literal["numbers", "codes", "categories"]
    can_be_banded: bool
    identifier: bool
    values: int
    missing_share: float
    alone: GroupRisk
    bands: int | None
    band_width: float | None
    banded: GroupRisk | None
    adds_bits: float
    adds_success: float
    average_bits: float | None


@dataclass(frozen=True, slots=True)
class Step:
    """One column more for an attacker who learns the most identifying one next."""

    column: str
    adds_bits: float
    bits: float
    success: float


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something to give up, and what that does to the risk of all columns together.

    bits_given_up   information of the column itself that is lost: the price
    success_drop    by how much the expected success falls: what is bought
    drop_per_bit    the second over the first; None where the column holds nothing
    """

    action: Literal["drop", "coarsen"]
    column: str
    how: str
    bits_given_up: float
    success: float
    success_drop: float
    unique_share: float
    drop_per_bit: float | None


@dataclass(frozen=True, slots=True, repr=False)
class AttributeRisk:
    """What a table of attributes says about who its people are.

    sets                 every set of up to so many columns, as they stand
    together             all columns as they stand
    without_identifiers  the columns left when those that identify people by themselves are dropped; None where none do
                         or none is left
    banded               these columns with numbers in the bands of `columns`; None where no bands are proposed
    remedies             what to give up next, starting from `start`
    """

    name: str
    sha256: str | None
    people: int
    dropped: dict[str, int]
    columns: tuple[ColumnRisk, ...]
    sets: tuple[GroupRisk, ...]
    together: GroupRisk
    without_identifiers: GroupRisk | None
    banded: GroupRisk | None
    greedy: tuple[Step, ...]
    remedies: tuple[Remedy, ...]
    command: str | None = None

    @property
    def name_bits(self) -> float:
        """Bits that identify anybody here, and the most that so many people can show."""
        return math.log2(self.people)

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Columns that are different for everybody."""
        return tuple(column.name for column in self.columns if column.identifier)

    @property
    def start(self) -> GroupRisk:
        """The table that the remedies start from: identifiers dropped, numbers in bands, where there are any."""
        return self.banded or self.without_identifiers or self.together

    @property
    def sentences(self) -> tuple[str, ...]:
        """The risk of the table as it stands; what is left of it without identifiers, and in bands."""
        risk, chance = self.together, percent(1.0 / self.people)
        people = plural(self.people, "person", "people")
        first = (
            f"{percent(risk.success)} of {people} are re-identified by {_named(risk)} (by chance: {chance}); "
            f"{percent(risk.unique_share)} share their values with nobody."
        )
        found = [first]
        if self.without_identifiers is not None:
            rest = self.without_identifiers
            dropped = [name for name in self.identifiers if name not in rest.columns]
            found.append(
                f"Drop {listed(dropped)}, different for everybody: {percent(rest.success)} are still re-identified by "
                f"{_named(rest)}."
            )
        if self.banded is not None:
            found.append(self._bands_sentence(self.banded, (self.without_identifiers or risk).success))
        return tuple(found)

    def _bands_sentence(self, banded: GroupRisk, before: float) -> str:
        """Whether to release bands: only where they lower the risk noticeably, and how much is left."""
        widths = [f"{width_text(one.band_width)} ({one.name})" for one in self.columns if one.band_width is not None]
        left = f"{percent(banded.success, beside=before)} are still re-identified instead of {percent(before)}"
        if banded.success >= before:
            return f"Bands of {listed(widths)} do not help: {percent(before)} are re-identified all the same."
        if banded.success > _HELPS * before:
            return f"Bands of {listed(widths)} hardly help: {left}."
        most = "most people, " if banded.success > _MOST else ""
        return f"Release bands of {listed(widths)} instead of the numbers: {most}{left}."

    def to_json(self) -> dict[str, Any]:
        """The document `entropie.attributes/1`: sizes of groups and widths of bands, nobody's values."""
        return {
            "schema": SCHEMA,
            "input": {"name": self.name, "sha256": self.sha256, "people": self.people, "dropped": self.dropped},
            "people": self.people,
            "name_bits": self.name_bits,
            "small_group": SMALL_GROUP,
            "guessing_success": 1.0 / self.people,
            "columns": [_plain(column) for column in self.columns],
            "sets": [_plain(risk) for risk in self.sets],
            "together": _plain(self.together),
            "identifiers": list(self.identifiers),
            "without_identifiers": None if self.without_identifiers is None else _plain(self.without_identifiers),
            "banded": None if self.banded is None else _plain(self.banded),
            "greedy": [_plain(step) for step in self.greedy],
            "remedies": [_plain(remedy) for remedy in self.remedies],
            "sentences": list(self.sentences),
            "provenance": {"version": __version__, "command": self.command},
        }

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write attributes.json into a folder, made where it is not there; return its path."""
        target = Path(folder) / "attributes.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as hidden:
            hidden.write_text(json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
        return target

    def __repr__(self) -> str:
        head = f"Attributes of {plural(self.people, 'person', 'people')} in {plural(len(self.columns), 'column')}"
        return "\n".join([head, *(f"  {sentence}" for sentence in self.sentences)])

    def _repr_html_(self) -> str:
        headers = ("column", "values", "bits", "re-identified", "alone", "adds bits")
        rows = [
            (one.name, one.values, one.alone.bits, one.alone.success, one.alone.unique_share, one.adds_bits)
            for one in self.columns
        ]
        return html_table(" ".join(self.sentences), headers, rows)


def attributes(
    table: object,
    *,
    columns: Sequence[str],
    id_column: str | None = None,
    max_set: int = 3,
    bins: Mapping[str, BinRule | int | str] | None = None,
    progress: Progress = silent,
) -> AttributeRisk:
    """Assess a table with one row per person: a path, or anything with `__arrow_c_stream__`.

    All sets of up to `max_set` columns are assessed as they stand, and all columns together. `bins` says into which
    bands numbers are cut as a remedy: at most so many (10), of a width ("width:5") or none ("exact"); without it, bands
    are proposed for numbers with many different values.
    """
    max_set = checks.whole_number("max_set", max_set)
    progress("reading", 0.0)
    rules = {name: rule_from(rule) for name, rule in (bins or {}).items()}
    return assess_table(read_attributes(table, columns, id_column=id_column, bins=rules), max_set, progress)


def assess_table(table: AttributeTable, max_set: int, progress: Progress = silent) -> AttributeRisk:
    """The same for a table that has been read."""
    names = [column.name for column in table.columns]
    max_set = min(max_set, len(names))
    asked = sum(math.comb(len(names), size) for size in range(1, max_set + 1))
    if asked > MOST_SETS:
        raise InvalidParameter(
            f"{len(names)} columns make {asked:,} sets of up to {max_set}, more than {MOST_SETS:,}; lower "
            f"{option('max_set')} or name fewer columns."
        )
    ledger = _Ledger(table.people, table.columns)
    wanted = list(_subsets(names, max_set))
    for place, chosen in enumerate(wanted):
        progress("counting sets", place / len(wanted))
        ledger.risk(chosen)
    progress("comparing columns", 0.0)
    together = ledger.risk(names)
    kept = [column for column in table.columns if not column.identifier or column.proposed is not None]
    kept = kept or list(table.columns)
    coarse = _Ledger(table.people, [column.in_bands() for column in kept])
    left = [column.name for column in kept]
    start = coarse.risk(left)
    return AttributeRisk(
        name=table.name,
        sha256=table.sha256,
        people=table.people,
        dropped=table.dropped,
        columns=tuple(_column_risk(ledger, column, names, together) for column in table.columns),
        sets=tuple(ledger.risk(chosen) for chosen in wanted),
        together=together,
        without_identifiers=ledger.risk(left) if len(left) < len(names) else None,
        banded=start if any(column.proposed is not None for column in kept) else None,
        greedy=_greedy(ledger, names),
        remedies=_remedies(coarse, start),
    )


class _Ledger:
    """Risks of sets of columns, each counted once."""

    def __init__(self, people: int, columns: Sequence[Column]) -> None:
        self.people = people
        self.columns = {column.name: column for column in columns}
        self._order = {name: place for place, name in enumerate(self.columns)}
        self._known: dict[tuple[str, ...], GroupRisk] = {}

    def risk(self, names: Iterable[str]) -> GroupRisk:
        """The risk of these columns, in the order of the table."""
        key = tuple(sorted(names, key=self._order.__getitem__))
        if key not in self._known:
            self._known[key] = self.risk_of(key, [self.columns[name] for name in key])
        return self._known[key]

    def risk_of(self, names: tuple[str, ...], columns: Sequence[Column]) -> GroupRisk:
        """The risk of columns that need not be the table's own."""
        return group_risk(names, group_sizes([(column.codes, column.size) for column in columns]), self.people)


def group_sizes(columns: Sequence[tuple[NDArray[np.int64], int]]) -> Sizes:
    """How many people share each combination that occurs; columns are codes and how many there are."""
    if not columns:
        raise InvalidParameter("Parameter `columns` must name at least one column.")
    code, size = columns[0]
    for codes, values in columns[1:]:
        if size * values >= _LARGEST_CODE:  # number the combinations that occur, to make room
            used, code = np.unique(code, return_inverse=True)
            size = used.size
        code, size = code * values + codes, size * values
    if size <= 4 * code.size + 1024:
        counts = np.bincount(code, minlength=1)
        return counts[counts > 0]
    ordered = np.sort(code)
    ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), code.size - 1)
    return np.diff(ends, prepend=-1)


def group_risk(names: tuple[str, ...], sizes: Sizes, people: int) -> GroupRisk:
    """What groups of these sizes say."""
    bits, low, high = _entropy(sizes, people)
    return GroupRisk(
        columns=names,
        bits=bits,
        bits_low=low,
        bits_high=high,
        groups=sizes.size,
        smallest_group=int(sizes.min()),
        success=sizes.size / people,
        unique_share=float(np.count_nonzero(sizes == 1)) / people,
        small_share=float(sizes[sizes < SMALL_GROUP].sum()) / people,
    )


def _entropy(sizes: Sizes, people: int) -> tuple[float, float, float | None]:
    """Entropy of the groups in bits, and an interval for the population they are drawn from.

    The entropy of a sample is too small by (K-1)/(2n) nats (Miller and Madow); its variance is that of -log p, plus
    the (K-1)/(2n^2) that is left where all p are equal. Where more than a twentieth of the people are alone, values
    not seen yet may add any number of bits: no upper end. Nothing above log n can be told from n people.
    """
    distinct, times = np.unique(sizes, return_counts=True)  # there are few different ones
    shares, weights = distinct / people, distinct * times / people
    surprise = -np.log2(shares)
    bits = max(0.0, float(weights @ surprise))
    lacking = (sizes.size - 1) / (2.0 * people * math.log(2.0))
    variance = max(0.0, float(weights @ surprise**2) - bits**2) / people
    variance += (sizes.size - 1) / (2.0 * (people * math.log(2.0)) ** 2)
    reach = normal_quantile(0.975) * math.sqrt(variance)
    ceiling = math.log2(people)
    low, high = max(0.0, min(ceiling, bits + lacking - reach)), bits + lacking + reach
    alone = float(np.count_nonzero(sizes == 1)) / people
    return bits, low, None if alone > _LONE_SHARE or high > ceiling else high


def _subsets(names: Sequence[str], largest: int) -> Iterable[tuple[str, ...]]:
    for size in range(1, largest + 1):
        yield from itertools.combinations(names, size)


def _column_risk(ledger: _Ledger, column: Column, names: Sequence[str], together: GroupRisk) -> ColumnRisk:
    people = ledger.people
    bands = column.proposed
    rest = [name for name in names if name != column.name]
    bits, success = 0.0, 1.0 / people
    if rest:
        bits, success = ledger.risk(rest).bits, ledger.risk(rest).success
    return ColumnRisk(
        name=column.name,
        kind="codes" if column.digits else "categories" if column.numbers is None else "numbers",
        can_be_banded=column.numbers is not None,
        identifier=column.identifier,
        values=column.size,
        missing_share=column.missing / people,
        alone=ledger.risk([column.name]),
        bands=None if bands is None else bands.count,
        band_width=None if bands is None else bands.width,
        banded=None if bands is None else ledger.risk_of((column.name,), [column.in_bands()]),
        adds_bits=max(0.0, together.bits - bits),
        adds_success=together.success - success,
        average_bits=_average_bits(ledger, column.name, rest),
    )


def _average_bits(ledger: _Ledger, name: str, rest: Sequence[str]) -> float | None:
    """What a column adds, averaged over all orders of all columns: exact, from all sets of the others."""
    if len(rest) >= SHAPLEY_COLUMNS:
        return None
    total = 0.0
    for size in range(len(rest) + 1):
        orders = 1.0 / ((len(rest) + 1) * math.comb(len(rest), size))
        for before in itertools.combinations(rest, size):
            known = ledger.risk(before).bits if before else 0.0
            total += orders * (ledger.risk((*before, name)).bits - known)
    return max(0.0, total)


def _greedy(ledger: _Ledger, names: Sequence[str]) -> tuple[Step, ...]:
    """Columns in the order of an attacker who always learns the most identifying one next."""
    steps: list[Step] = []
    taken: tuple[str, ...] = ()
    bits = 0.0
    while len(taken) < len(names):
        rest = [name for name in names if name not in taken]
        best = max(rest, key=lambda name: (ledger.risk((*taken, name)).bits, -names.index(name)))
        taken = (*taken, best)
        risk = ledger.risk(taken)
        steps.append(Step(best, max(0.0, risk.bits - bits), risk.bits, risk.success))
        bits = risk.bits
    return tuple(steps)


def _remedies(ledger: _Ledger, together: GroupRisk) -> tuple[Remedy, ...]:
    """What can be given up, the most risk saved per bit of data lost first."""
    columns = list(ledger.columns.values())
    remedies = []
    for column in columns:
        others = [other for other in columns if other is not column]
        held = ledger.risk([column.name]).bits
        after = ledger.risk([other.name for other in others]) if others else None
        remedies.append(_remedy("drop", column.name, "drop it", held, after, together, ledger.people))
        coarser = _coarser(column)
        if coarser is not None:
            how, changed = coarser
            kept = ledger.risk_of((column.name,), [changed]).bits
            mixed = [changed if other is column else other for other in columns]
            after = ledger.risk_of(together.columns, mixed)
            remedies.append(_remedy("coarsen", column.name, how, held - kept, after, together, ledger.people))
    return tuple(sorted(remedies, key=lambda remedy: math.inf if remedy.drop_per_bit is None else -remedy.drop_per_bit))


def _remedy(
    action: Literal["drop", "coarsen"],
    column: str,
    how: str,
    price_bits: float,
    after: GroupRisk | None,
    together: GroupRisk,
    people: int,
) -> Remedy:
    """Compare the risk afterwards with the risk before; without any column only guessing is left."""
    success, unique = (1.0 / people, 0.0) if after is None else (after.success, after.unique_share)
    price, drop = max(0.0, price_bits), together.success - success
    worth = None if price < 1e-12 else drop / price
    return Remedy(action, column, how, price, success, drop, unique, worth)


def _coarser(column: Column) -> tuple[str, Column] | None:
    """The next coarser form of a column: wider bands for numbers, the rarest values merged for categories."""
    if column.bands is not None:
        wider = bands_for(column, BinRule(width=round_width(column.bands.width * 1.5)))
        changed = column.banded(wider)
        return (f"bands of {width_text(wider.width)}", changed) if 1 < changed.size < column.size else None
    if column.identifier:
        return None
    if column.numbers is not None and not column.digits and column.size > 3:
        wider = bands_for(column, BinRule(bands=column.size // 2))
        changed = column.banded(wider)
        return (f"bands of {width_text(wider.width)}", changed) if 1 < changed.size < column.size else None
    counts = np.bincount(column.codes, minlength=column.size)
    order = np.argsort(counts, kind="stable")
    heap = np.cumsum(counts[order])
    rare = order[(counts[order] < SMALL_GROUP) | (heap <= _MERGED_SHARE * heap[-1])]
    if rare.size < 2 or rare.size == column.size:
        return None
    new = np.arange(column.size)
    new[rare] = column.size
    share = counts[rare].sum() / heap[-1]
    how = f"merge the {rare.size:,} rarest values ({percent(float(share))} of people)"
    return how, column.recoded(new, column.codes)


def _named(risk: GroupRisk) -> str:
    """The columns of a set; only their number where there are many."""
    return listed(risk.columns) if len(risk.columns) <= _FEW else f"{len(risk.columns)} columns"


def width_text(width: float) -> str:
    """The width of a band as people write it."""
    return f"{width:,.0f}" if width >= 1.0 and width == round(width) else f"{width:g}"


def _plain(value: Any) -> dict[str, Any]:
    """A value as JSON has it: lists instead of tuples."""
    return asdict(value, dict_factory=lambda pairs: {k: list(v) if isinstance(v, tuple) else v for k, v in pairs})
