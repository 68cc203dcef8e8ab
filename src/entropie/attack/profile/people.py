"""Profiles of known people and targets, as the kernels take them; each row from its own trace and from everybody's.

The model of items is that of `entropie.attack.matchers.pitman_yor` with fixed settings: the weights that fusion learns
do the work of a search over settings.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from entropie.attack.profile.everybody import LONGEST, RARITIES, RECENCY, SHRINK, Everybody
from entropie.attack.profile.habits import (
    DAYS,
    GAPS,
    HOURS,
    RETURNS,
    SLOTS,
    Bins,
    bins_of,
    events_after,
    events_before,
    smoothed_hours,
)
from entropie.data.traces import Traces, in_blocks, ragged
from entropie.errors import InvalidParameter
from entropie.kernels.features import row_sums
from entropie.kernels.profile_records import KnownPeople, Targets

STRENGTH, DISCOUNT = 10.0, 0.7
FADE, DAMPING, PRESENCE_DAMPING = 0.1, 0.6, 0.2
ITEM_HOUR_PRIOR, HABIT_PRIOR, RHYTHM_PRIOR = 5.0, 20.0, 5.0


class _Rows(NamedTuple):
    """Sums of weights by code, one row per trace."""

    offsets: NDArray[np.int64]
    codes: NDArray[np.uint32]
    sums: NDArray[np.float64]

    @property
    def row(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    def totals(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(self.row, values, self.offsets.size - 1).astype(np.float64)


class _Slots(NamedTuple):
    """The slots of every entry of some rows: starts, slots, sums of weights, row of each."""

    starts: NDArray[np.int64]
    slots: NDArray[np.uint8]
    sums: NDArray[np.float64]
    row: NDArray[np.int64]


class _Model(NamedTuple):
    """The Pitman-Yor model of some rows of items."""

    evidence: NDArray[np.float64]
    shares: NDArray[np.float64]
    penalty: NDArray[np.float64]


def known_people(train: Traces, everybody: Everybody) -> KnownPeople:
    """Profiles of some people from their training, made block by block: what they are made from takes more room."""
    parts = [most_telling(_known_people(some, everybody)) for some in in_blocks(train)]
    if len(parts) == 1:
        return parts[0]
    columns = [list(reversed(column)) for column in zip(*parts, strict=True)]
    del parts
    return KnownPeople(*(_joined(name, column) for name, column in zip(KnownPeople._fields, columns, strict=True)))


def most_telling(people: KnownPeople) -> KnownPeople:
    """Of each person `LONGEST` items at most, those with the most evidence."""
    lengths = np.diff(people.offsets)
    if lengths.max(initial=0) <= LONGEST:
        return people
    row = np.repeat(np.arange(lengths.size), lengths)
    by_evidence = np.lexsort((-people.evidence, row))
    kept = np.sort(by_evidence[np.arange(row.size) - people.offsets[row] < LONGEST])
    starts, slots = ragged(people.slot_starts, kept)
    names = ("items", "evidence", "near", "weights", "slot_penalty")
    return people._replace(
        offsets=np.append(0, np.cumsum(np.minimum(lengths, LONGEST))),
        slot_starts=starts,
        slots=people.slots[slots],
        slot_evidence=people.slot_evidence[slots],
        **{name: getattr(people, name)[kept] for name in names},
    )


def _joined(name: str, parts: list[NDArray[Any]]) -> NDArray[Any]:
    """A column of all blocks, the first of which stands last; each block goes once it is copied. One of offsets goes on
    where the block before ended.
    """
    if name in ("offsets", "slot_starts", "category_offsets", "category_slot_starts"):
        lengths = np.concatenate([np.diff(part) for part in reversed(parts)])
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    whole = np.empty((sum(map(len, parts)), *parts[0].shape[1:]), parts[0].dtype)
    end = 0
    while parts:
        part = parts.pop()
        begin, end = end, end + len(part)
        whole[begin:end] = part
    return whole


def _known_people(train: Traces, everybody: Everybody) -> KnownPeople:
    past = 1.0 / (1.0 + RECENCY * events_after(train))
    bins = bins_of(train, everybody.timed, everybody.level)
    rows = _Rows(*row_sums(train.offsets, train.items, past))
    model = _model(rows, everybody)
    habit = _slot_habit(train, bins, past, everybody)
    damped = rows.sums**DAMPING
    slots = _entry_slots(train, train.items, bins, past)
    categories, category_slots = _categories(train, bins, past, everybody)
    rarities = everybody.rarity_bins[train.items]
    return KnownPeople(
        offsets=rows.offsets,
        items=rows.codes,
        evidence=model.evidence,
        near=model.shares / (everybody.reach[rows.codes] + SHRINK),
        weights=damped,
        slot_starts=slots.starts,
        slots=slots.slots,
        slot_evidence=_slot_evidence(slots, habit),
        slot_penalty=np.log1p(rows.sums / ITEM_HOUR_PRIOR),
        sizes=rows.totals(damped),
        penalty=model.penalty,
        habits=np.concatenate(
            (_habit_tables(train, bins, past, everybody), everybody.occasional.known(train)), axis=1, dtype=np.float32
        ),
        rarity=surprise(binned(train, rarities, past, RARITIES), everybody.rarities, HABIT_PRIOR),
        category_offsets=categories.offsets,
        categories=categories.codes,
        category_evidence=np.log1p(categories.sums / (HABIT_PRIOR * everybody.categories[categories.codes])),
        category_lack=np.log(HABIT_PRIOR / (categories.totals(categories.sums) + HABIT_PRIOR)),
        category_slot_starts=category_slots.starts,
        category_slots=category_slots.slots,
        category_slot_evidence=_slot_evidence(category_slots, habit),
        category_slot_penalty=np.log1p(categories.sums / ITEM_HOUR_PRIOR),
    )


def targets_of(target: Traces, everybody: Everybody, first: int) -> Targets:
    """Some targets; their own traces stand in the company from number `first` on."""
    coming = 1.0 / (1.0 + FADE * events_before(target))
    bins = bins_of(target, everybody.timed, everybody.level)
    rows = _Rows(*row_sums(target.offsets, target.items, coming))
    damped, presence = rows.sums**DAMPING, rows.sums**PRESENCE_DAMPING
    sizes = rows.totals(damped)
    each = _damped_events(target, rows, coming)
    slots = _entry_slots(target, target.items, bins, each)
    return Targets(
        rows.offsets,
        rows.codes,
        damped,
        presence,
        _model(rows, everybody).evidence,
        slots.starts,
        slots.slots,
        slots.sums,
        sizes,
        rows.totals(presence),
        np.concatenate(
            (_asked_habits(target, bins, each, sizes, everybody), everybody.occasional.asked(target)), axis=1
        ),
        first + np.arange(target.users, dtype=np.int64),
    )


def _model(rows: _Rows, everybody: Everybody) -> _Model:
    """ln(1 + (c - d)/(Lambda p)), shares of the discounts d, and ln((N + lambda)/Lambda)."""
    discount = DISCOUNT * np.minimum(rows.sums, 1.0)
    given = rows.totals(discount)
    room = STRENGTH + given
    evidence = np.log1p((rows.sums - discount) / (room[rows.row] * everybody.popularity[rows.codes]))
    return _Model(evidence, discount / given[rows.row], np.log((rows.totals(rows.sums) + STRENGTH) / room))


def binned(traces: Traces, bins: NDArray[np.int64], weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Sum the weights of each trace's events by bin; events without a bin count nowhere."""
    there = bins >= 0
    person = np.repeat(np.arange(traces.users), np.diff(traces.offsets))[there]
    sums = np.bincount(person * size + bins[there], weights[there], traces.users * size)
    return np.asarray(sums, np.float64).reshape(traces.users, size)


def _smoothed(counts: NDArray[np.float64], shares: NDArray[np.float64], prior: float) -> NDArray[np.float64]:
    return np.asarray((counts + prior * shares) / (counts.sum(axis=1, keepdims=True) + prior), np.float64)


def surprise(counts: NDArray[np.float64], shares: NDArray[np.float64], prior: float) -> NDArray[np.float64]:
    """ln P_i/p of every bin."""
    return np.log(_smoothed(counts, shares, prior) / shares)


def _habit_tables(train: Traces, bins: Bins, past: NDArray[np.float64], everybody: Everybody) -> NDArray[np.float64]:
    tables = []
    if bins.hours is not None and bins.gaps is not None:
        hours = smoothed_hours(binned(train, bins.hours, past, HOURS[everybody.level]))
        tables.append(surprise(hours, everybody.hours, HABIT_PRIOR))
        tables.append(surprise(binned(train, bins.gaps, past, GAPS), everybody.gaps, RHYTHM_PRIOR))
    tables.append(surprise(binned(train, bins.returns, past, RETURNS), everybody.returns, RHYTHM_PRIOR))
    if bins.days is not None and everybody.days.size:
        tables.append(surprise(binned(train, bins.days, np.ones(past.size), DAYS), everybody.days, RHYTHM_PRIOR))
    return np.concatenate(tables, axis=1)


def _asked_habits(
    target: Traces, bins: Bins, each: NDArray[np.float64], sizes: NDArray[np.float64], everybody: Everybody
) -> NDArray[np.float64]:
    """Weights by bin; those of gaps and returns over the root of the size, so that what is learned carries over.

    Days weigh alike, over the root of their number.
    """
    root = np.sqrt(np.maximum(sizes, 1e-9))[:, None]
    tables = []
    if bins.hours is not None and bins.gaps is not None:
        tables.append(binned(target, bins.hours, each, HOURS[everybody.level]))
        tables.append(binned(target, bins.gaps, each, GAPS) / root)
    tables.append(binned(target, bins.returns, each, RETURNS) / root)
    if bins.days is not None and everybody.days.size:
        days = binned(target, bins.days, np.ones(each.size), DAYS)
        tables.append(days / np.sqrt(np.maximum(days.sum(axis=1, keepdims=True), 1.0)))
    return np.concatenate(tables, axis=1)


def _damped_events(target: Traces, rows: _Rows, coming: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share the damped weight of an item among the events at it."""
    domain = np.int64(target.domain_size)
    person = np.repeat(np.arange(target.users), np.diff(target.offsets))
    places = np.searchsorted(rows.row * domain + rows.codes, person * domain + target.items)
    return np.asarray(coming * (rows.sums ** (DAMPING - 1.0))[places], np.float64)


def _entry_slots(traces: Traces, codes: NDArray[np.uint32], bins: Bins, weights: NDArray[np.float64]) -> _Slots:
    """Slots of every distinct code of every trace, in the order of the entries; none without times."""
    if bins.slots is None:
        entries = row_sums(traces.offsets, codes, weights)[1].size
        return _Slots(np.zeros(entries + 1, np.int64), np.empty(0, np.uint8), np.empty(0), np.empty(0, np.int64))
    if int(codes.max(initial=0)) >= 2**32 // SLOTS:
        raise InvalidParameter.of("domain_size", "below 2^32/12 to match hours", traces.domain_size)
    keys = (codes * np.uint32(SLOTS) + bins.slots.astype(np.uint32)).astype(np.uint32)
    rows = _Rows(*row_sums(traces.offsets, keys, weights))
    code, row = rows.codes // SLOTS, rows.row
    new = np.ones(code.size, np.bool_)
    new[1:] = (code[1:] != code[:-1]) | (row[1:] != row[:-1])
    starts = np.append(np.flatnonzero(new), code.size).astype(np.int64)
    return _Slots(starts, (rows.codes % SLOTS).astype(np.uint8), rows.sums, row)


def _slot_habit(train: Traces, bins: Bins, past: NDArray[np.float64], everybody: Everybody) -> NDArray[np.float64]:
    """P_i(slot)."""
    if bins.slots is None:
        return np.zeros((train.users, SLOTS))
    return _smoothed(binned(train, bins.slots, past, SLOTS), everybody.slots, HABIT_PRIOR)


def _slot_evidence(slots: _Slots, habit: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln(1 + c(x, slot)/(prior P_i(slot))) of every slot of an entry."""
    return np.asarray(np.log1p(slots.sums / (ITEM_HOUR_PRIOR * habit[slots.row, slots.slots])), np.float64)


def _categories(train: Traces, bins: Bins, past: NDArray[np.float64], everybody: Everybody) -> tuple[_Rows, _Slots]:
    """Rows of categories and their slots; empty without categories."""
    if everybody.item_categories is None:
        rows = _Rows(np.zeros(train.users + 1, np.int64), np.empty(0, np.uint32), np.empty(0))
        return rows, _Slots(np.zeros(1, np.int64), np.empty(0, np.uint8), np.empty(0), np.empty(0, np.int64))
    codes = everybody.item_categories[train.items].astype(np.uint32)
    return _Rows(*row_sums(train.offsets, codes, past)), _entry_slots(train, codes, bins, past)
