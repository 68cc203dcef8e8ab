"""The distribution of scores as counts of keys, in bounded memory and in no particular order.

Scores are whole multiples of 2^-q. Their key is the score rounded to a multiple of 2^-34, shifted right by `level`:
level 0 keeps every value, each level up doubles the width of the cells. It lives at the lowest level that leaves
no more keys than allowed. A level maps the keys of the one below, so the level of a set of scores depends on the set
alone, not on the order in which it was added or merged; and a part of the scores never needs a higher level than the
whole. Atoms, a few keys known beforehand, are counted apart and stay exact at every level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from entropie.kernels.arrays import Ints
from entropie.kernels.attack_records import CountedLaw, inner
from entropie.kernels.caching import njit

EMPTY = -(2**63)
"""No key, no score: sums stay within 2^62 by the choice of q."""

_GOLDEN = np.int64(0x9E3779B97F4A7C15 - 2**64)


class Tally(NamedTuple):
    """Counts in the making. The arrays are written to; the table is replaced when it is full."""

    table: Ints  # rows of (key, count), a power of two of them
    state: Ints  # keys in the table, level, most keys before the table needs room
    atoms: Ints  # table of (key, position) of the atoms
    atom_counts: Ints
    max_keys: int
    shift: int  # bits of a score below its key


@inner
def slot_of(key: int, mask: int) -> int:
    """Scatter a key over a table of up to 2^24 rows by the golden ratio, modulo 2^64."""
    return int(((key * _GOLDEN) >> 40) & mask)


@inner
def _empty_table(rows: int) -> Ints:
    """Make a table of (key, count) with no key in it; rows are a power of two."""
    table = np.zeros((rows, 2), np.int64)
    table[:, 0] = EMPTY
    return table


@inner
def _add_key(table: Ints, state: Ints, key: int, count: int) -> None:
    """Count a key."""
    mask = table.shape[0] - 1
    slot = slot_of(key, mask)
    while table[slot, 0] != key:
        if table[slot, 0] == EMPTY:
            table[slot, 0] = key
            state[0] += 1
            break
        slot = (slot + 1) & mask
    table[slot, 1] += count


@inner
def _atom_table(atoms: Ints) -> Ints:
    """Make the table key -> position of the atoms, small enough to stay in the nearest cache."""
    rows = 2
    while rows < 4 * atoms.shape[0]:
        rows *= 2
    table = _empty_table(rows)
    for position in range(atoms.shape[0]):
        slot = slot_of(atoms[position], rows - 1)
        while table[slot, 0] != EMPTY:
            slot = (slot + 1) & (rows - 1)
        table[slot, 0] = atoms[position]
        table[slot, 1] = position
    return table


@inner
def new_tally(atoms: Ints, max_keys: int, shift: int, level: int) -> Tally:
    """Begin to count at `level`, with these atoms apart."""
    state = np.array([0, level, min(512, 2 * max_keys)])
    return Tally(_empty_table(1024), state, _atom_table(atoms), np.zeros(atoms.shape[0], np.int64), max_keys, shift)


@njit(nogil=True, cache=True)
def levels_up(keys: Ints, max_keys: int) -> int:
    """Count the levels that the sorted distinct keys must go up until at most `max_keys` are left.

    Neighbours fall together at the level above their highest different bit, so one pass tells it for every level.
    """
    apart = np.zeros(65, np.int64)
    for place in range(1, keys.shape[0]):
        different = keys[place] ^ keys[place - 1]
        bits = 0
        if different < 0:
            bits = 64
        else:
            while different >> bits != 0:
                bits += 1
        apart[bits] += 1
    left = keys.shape[0]
    level = 0
    while left > max_keys and level < 63:
        level += 1
        left -= apart[level]
    return level


@njit(nogil=True, cache=True)
def sum_sorted(keys: Ints, counts: Ints, up: int) -> tuple[Ints, Ints]:
    """Sum the counts of sorted keys that are equal `up` levels higher."""
    out_keys = np.empty(keys.shape[0], np.int64)
    out_counts = np.empty(keys.shape[0], np.int64)
    place = 0
    for step in range(keys.shape[0]):
        key = keys[step] >> up
        if place > 0 and out_keys[place - 1] == key:
            out_counts[place - 1] += counts[step]
        else:
            out_keys[place] = key
            out_counts[place] = counts[step]
            place += 1
    return out_keys[:place].copy(), out_counts[:place].copy()


@inner
def law_of(tally: Tally) -> CountedLaw:
    """Read a tally out: sorted keys, at most `max_keys`, and their counts; its state[1] becomes their level.

    At level 0 the atoms stand in the table with the others; they move to their own counts first.
    """
    table, state, atoms, atom_counts = tally.table, tally.state, tally.atoms, tally.atom_counts
    keys = np.empty(state[0], np.int64)
    counts = np.empty(state[0], np.int64)
    kept = 0
    for row in range(table.shape[0]):
        key = table[row, 0]
        if key == EMPTY:
            continue
        slot = slot_of(key, atoms.shape[0] - 1)
        while atoms[slot, 0] != EMPTY and atoms[slot, 0] != key:
            slot = (slot + 1) & (atoms.shape[0] - 1)
        if state[1] == 0 and atoms[slot, 0] == key:
            atom_counts[atoms[slot, 1]] += table[row, 1]
        else:
            keys[kept] = key
            counts[kept] = table[row, 1]
            kept += 1
    order = np.argsort(keys[:kept], kind="mergesort")
    keys = keys[order]
    counts = counts[order]
    up = levels_up(keys, tally.max_keys)
    state[1] += up
    if up > 0:
        keys, counts = sum_sorted(keys, counts, up)
    return CountedLaw(atom_counts, keys, counts, state[1])


@inner
def _make_room(tally: Tally) -> Tally:
    """Double the table, or where it has twice the keys allowed, go up to the level that all scores will need."""
    state = tally.state
    rows = tally.table.shape[0]
    if state[0] > 2 * tally.max_keys:
        law = law_of(tally)
        keys, counts = law.keys, law.counts
    else:
        used = tally.table[tally.table[:, 0] != EMPTY]
        keys, counts = used[:, 0].copy(), used[:, 1].copy()
        rows *= 2
    fresh = _empty_table(rows)
    state[0] = 0
    state[2] = min(rows // 2, 2 * tally.max_keys)
    for place in range(keys.shape[0]):
        _add_key(fresh, state, keys[place], counts[place])
    return Tally(fresh, state, tally.atoms, tally.atom_counts, tally.max_keys, tally.shift)


@inner
def count_scores(tally: Tally, scores: Ints, counts: Ints, begin: int, end: int) -> int:
    """Count scores begin..end-1; `counts` is one for all or one for each.

    Stops where the table needs room (see `count_rest`); returns the place of the next score. (A loop that replaced
    the table itself would spend most of its time on the reference count.)
    """
    table, state, atoms, atom_counts, shift = tally.table, tally.state, tally.atoms, tally.atom_counts, tally.shift
    half = (1 << shift) >> 1
    level = state[1]
    used = state[0]
    atom_mask = atoms.shape[0] - 1
    mask = table.shape[0] - 1
    single = counts.shape[0] == 1
    place = begin
    while place < end and used <= state[2]:
        key = (scores[place] + half) >> shift
        count = counts[0] if single else counts[place]
        place += 1
        if count == 0:
            continue
        if level > 0:
            slot = slot_of(key, atom_mask)
            while atoms[slot, 0] != EMPTY and atoms[slot, 0] != key:
                slot = (slot + 1) & atom_mask
            if atoms[slot, 0] == key:
                atom_counts[atoms[slot, 1]] += count
                continue
            key >>= level
        slot = slot_of(key, mask)
        while table[slot, 0] != EMPTY and table[slot, 0] != key:
            slot = (slot + 1) & mask
        if table[slot, 0] == EMPTY:
            table[slot, 0] = key
            used += 1
        table[slot, 1] += count
    state[0] = used
    return place


@inner
def count_all(tally: Tally, scores: Ints, counts: Ints, end: int) -> Tally:
    """Count scores 0..end-1, making room wherever it is needed."""
    place = count_scores(tally, scores, counts, 0, end)
    return count_rest(tally, scores, counts, place, end) if needs_room(tally.state) else tally


@inner
def needs_room(state: Ints) -> bool:
    """Tell from a tally's state whether its table is full."""
    return bool(state[0] > state[2])


@inner
def count_rest(tally: Tally, scores: Ints, counts: Ints, begin: int, end: int) -> Tally:
    """Make room, then count scores begin..end-1, making more wherever it is needed."""
    place = begin
    while needs_room(tally.state):
        tally = _make_room(tally)
        place = count_scores(tally, scores, counts, place, end)
    return tally


@njit(nogil=True, cache=True)
def cluster_keys(keys: Ints, width: int) -> Ints:
    """Replace each of the sorted keys by the first of its group; a group spans at most `width`."""
    first = np.empty_like(keys)
    for place in range(keys.shape[0]):
        if place > 0 and keys[place] - first[place - 1] <= width:
            first[place] = first[place - 1]
        else:
            first[place] = keys[place]
    return first
