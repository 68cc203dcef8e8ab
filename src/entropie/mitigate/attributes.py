"""How much the attributes of a table say about who a person is: bits, uniqueness, and what to give up first.

One row per person and nothing random: I(U;X) of a set of columns is the entropy of their combinations. Everything
follows from the sizes of the groups of people who share a combination, which are counted and never compared.
"""

from __future__ import annotations

import itertools
import math
import time as clock
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from entropie.document.assessment import TailGroup
from entropie.document.base import Provenance, converted
from entropie.document.measured import ShareInterval
from entropie.errors import InvalidParameter, option
from entropie.findings import provenance_of
from entropie.measures.classes import group_sizes
from entropie.measures.entropy import entropy
from entropie.measures.exposure import LEAST_GROUP, TAIL
from entropie.measures.intervals import normal_quantile, share_interval
from entropie.mitigate.attribute_measures import Measures, keys_of
from entropie.mitigate.attribute_risk import (
    SMALL_GROUP,
    AttributeRisk,
    ColumnAttacker,
    ColumnRisk,
    GroupRisk,
    Remedy,
    Step,
    TableInput,
    width_text,
)
from entropie.mitigate.attribute_table import (
    AttributeTable,
    Bands,
    BinRule,
    Column,
    bands_for,
    round_width,
)
from entropie.progress import Progress, silent
from entropie.request import Run
from entropie.words import percent

USUAL_SET, MOST_SETS = 3, 3000
SHAPLEY_COLUMNS = 8
POINTS = (1, 2, 4, 8)
"""Numbers of random columns that attackers know."""

_COUNTED_SETS, _COUNTED_ROWS = (20, 200), 20_000_000  # sets counted at least and at most; rows of all sets together
_MERGED_SHARE = 0.05
Sizes = NDArray[np.int64]


def assess_table(
    table: AttributeTable, max_set: int | None, measures: Measures, progress: Progress = silent
) -> AttributeRisk:
    """Assess a table with one row per person that has been read and measured.

    All sets of up to `max_set` columns are assessed as they stand, and all columns together.
    """
    begun = clock.perf_counter()
    names = [column.name for column in table.columns]
    most = min(max_set or USUAL_SET, len(names))
    while max_set is None and most > 1 and _sets_up_to(most, len(names)) > MOST_SETS:
        most -= 1
    if (asked := _sets_up_to(most, len(names))) > MOST_SETS:
        raise InvalidParameter(
            f"{len(names)} columns make {asked:,} sets of up to {most}, more than {MOST_SETS:,}; lower "
            f"{option('max_set')} or name fewer columns."
        )
    ledger = _Ledger(table.people, table.columns, measures.beside)
    wanted = list(_subsets(names, most))
    for place, chosen in enumerate(wanted):
        progress("counting sets", place / len(wanted))
        ledger.risk(chosen)
    progress("comparing columns", 0.0)
    together = ledger.risk(names)
    kept = [column for column in table.columns if not column.identifier or column.proposed is not None]
    kept = kept or list(table.columns)
    coarse = _Ledger(table.people, [column.in_bands() for column in kept], measures.beside)
    left = [column.name for column in kept]
    start = coarse.risk(left)
    return AttributeRisk(
        input=TableInput(table.name, table.sha256, table.people, table.dropped, table.id_column, table.unnamed),
        people=table.people,
        name_bits=math.log2(table.people),
        small_group=SMALL_GROUP,
        guessing_success=1.0 / table.people,
        columns=tuple(_column_risk(ledger, column, names, together) for column in table.columns),
        identifiers=tuple(column.name for column in table.columns if column.identifier),
        sets=tuple(ledger.risk(chosen) for chosen in wanted),
        together=together,
        without_identifiers=ledger.risk(left) if len(left) < len(names) else None,
        banded=start if any(column.proposed is not None for column in kept) else None,
        greedy=_greedy(ledger, names),
        attackers=tuple(_knowing(ledger, names, points) for points in POINTS if points <= len(names)),
        remedies=_remedies(coarse, start),
        **keys_of(measures),
        knows="",
        sentences=(),
        provenance=converted(provenance_of(Run(), begun), Provenance, "The run", "run it again"),
        exposed=exposed(ledger.sizes(names)),
    )


def _sets_up_to(largest: int, columns: int) -> int:
    return sum(math.comb(columns, size) for size in range(1, largest + 1))


class _Ledger:
    """Risks of sets of columns, each counted once."""

    def __init__(self, people: int, columns: Sequence[Column], population: int | None) -> None:
        self.people, self.population = people, population
        self.columns = {column.name: column for column in columns}
        self._order = {name: place for place, name in enumerate(self.columns)}
        self._known: dict[tuple[str, ...], GroupRisk] = {}

    def risk(self, names: Iterable[str]) -> GroupRisk:
        """The risk of these columns, in the order of the table."""
        key = tuple(sorted(names, key=self._order.__getitem__))
        if key not in self._known:
            self._known[key] = self.risk_of(key, [self.columns[name] for name in key])
        return self._known[key]

    def sizes(self, names: Iterable[str]) -> Sizes:
        """How many people share each combination of these columns."""
        return group_sizes([(self.columns[name].codes, self.columns[name].size) for name in names])

    def risk_of(self, names: tuple[str, ...], columns: Sequence[Column]) -> GroupRisk:
        """The risk of columns that need not be the table's own."""
        sizes = group_sizes([(column.codes, column.size) for column in columns])
        return group_risk(names, sizes, self.people, self.population)


def group_risk(names: tuple[str, ...], sizes: Sizes, people: int, population: int | None = None) -> GroupRisk:
    """What groups of these sizes say."""
    bits, low, high = entropy(sizes, people, population)
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


def exposed(sizes: Sizes) -> tuple[TailGroup, ...]:
    """The people in the smallest groups: the smallest group, 20 people, 0.1 %, 1 %, 10 %, everybody; exact shares.

    Whoever is in a group of so many is found with probability 1/so many. Of people in groups of one size none comes
    first, and no part of them is at a greater risk than all of them.
    """
    people, ordered = int(sizes.sum()), np.sort(sizes)
    smallest = int(ordered[0] * np.searchsorted(ordered, ordered[0], side="right"))
    parts = {max(LEAST_GROUP, math.ceil(round(share * people, 6))) for share in TAIL} | {LEAST_GROUP}
    ends = np.cumsum(ordered)
    found = []
    for part in sorted({smallest, people, *(part for part in parts if smallest < part < people)}):
        whole = int(np.searchsorted(ends, part, side="left"))  # groups that are in it wholly
        before = int(ends[whole - 1]) if whole else 0
        share = (whole + (part - before) / float(ordered[whole])) / part
        found.append(TailGroup(part / people, part, ShareInterval(share, share, share)))
    return tuple(found)


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


def _knowing(ledger: _Ledger, names: Sequence[str], points: int) -> ColumnAttacker:
    """The attacker who knows so many random columns: the mean over all sets of so many, or over some drawn of them.

    The interval is over people; where sets are drawn it is wider by the spread of their mean.
    """
    most = int(np.clip(_COUNTED_ROWS // ledger.people, *_COUNTED_SETS))
    everything = math.comb(len(names), points) <= most
    rng = np.random.default_rng(points)
    chosen = (
        itertools.combinations(names, points)
        if everything
        else (rng.choice(names, points, replace=False).tolist() for _ in range(most))
    )
    risks = [ledger.risk(known) for known in chosen]
    named, alone = (
        _mean_share([getattr(risk, what) for risk in risks], ledger.people, everything)
        for what in ("success", "unique_share")
    )
    known = f"{points} random columns" if points > 1 else "one random column"
    people = ledger.people
    return ColumnAttacker("points", known, points, len(risks), everything, people, people, named, alone)


def _mean_share(shares: Sequence[float], people: int, everything: bool) -> ShareInterval:
    mean = float(np.mean(shares))
    drawn = 0.0 if everything else normal_quantile(0.975) * float(np.std(shares, ddof=1)) / math.sqrt(len(shares))
    ends = share_interval(mean, people)
    return ShareInterval(mean, max(0.0, ends.low - drawn), min(1.0, ends.high + drawn))


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
        return _wider(column, wider)
    if column.identifier:
        return None
    if column.numbers is not None and not column.digits and column.size > 3:
        wider = bands_for(column, BinRule(bands=column.size // 2))
        return _wider(column, wider)
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


def _wider(column: Column, bands: Bands | None) -> tuple[str, Column] | None:
    """A column in these bands, where they merge some of its values and not all."""
    if bands is None:
        return None
    changed = column.banded(bands)
    return (f"bands of {width_text(bands.width)}", changed) if 1 < changed.size < column.size else None
