"""Loops that count people: who have events in a slot, and who have all cells of a query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.kernels.arrays import Codes, Flags, Ints
from entropie.kernels.caching import njit

_NOBODY = np.uint32(0xFFFFFFFF)
_U1, _U2, _U4, _U56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
_PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_BYTES, _SUM = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


@njit(nogil=True, cache=True)
def count_people(people: Ints, slots: Ints, kept: Flags, first: int, seen: Codes, counts: Codes) -> None:
    """Add to each slot the people who have an event in it that is kept.

    A person's events stand together. `seen` says who was counted last at each slot, by numbers from `first` on.
    """
    for event in range(people.shape[0]):
        if kept[event]:
            person = np.uint32(first + people[event])
            slot = slots[event]
            if seen[slot] != person:
                seen[slot] = person
                counts[slot] += np.uint32(1)


@njit(nogil=True, cache=True)
def post_people(offsets: Ints, cells: Codes, domain: int) -> tuple[Ints, Codes]:
    """The people who have each cell, ascending and once each: where each cell's begin, and the people.

    A cell of `domain` or more is none.
    """
    starts = np.zeros(domain + 1, np.int64)
    seen = np.full(domain, _NOBODY, np.uint32)
    for person in range(offsets.shape[0] - 1):
        for event in range(offsets[person], offsets[person + 1]):
            cell = cells[event]
            if cell < domain and seen[cell] != person:
                seen[cell] = person
                starts[cell + 1] += 1
    for cell in range(domain):
        starts[cell + 1] += starts[cell]
    cursor = starts[:-1].copy()
    posted = np.empty(starts[-1], np.uint32)
    for person in range(offsets.shape[0] - 1):
        for event in range(offsets[person], offsets[person + 1]):
            cell = cells[event]
            if cell < domain and (cursor[cell] == starts[cell] or posted[cursor[cell] - 1] != person):
                posted[cursor[cell]] = person
                cursor[cell] += 1
    return starts, posted


@njit(nogil=True, cache=True)
def fill_bits(starts: Ints, posted: Codes, cells: Ints, bits: NDArray[np.uint64]) -> None:
    """One row of bits for each of some cells: bit p of row r says that person p has it. `bits` are 0 before."""
    for row in range(cells.shape[0]):
        for place in range(starts[cells[row]], starts[cells[row] + 1]):
            person = posted[place]
            bits[row, person >> 6] |= _U1 << np.uint64(person & 63)


@njit(nogil=True, cache=True)
def _ones(word: np.uint64) -> np.uint64:
    """How many bits are set."""
    word -= (word >> _U1) & _PAIRS
    word = (word & _FOURS) + ((word >> _U2) & _FOURS)
    word = (word + (word >> _U4)) & _BYTES
    return (word * _SUM) >> _U56


@njit(nogil=True, cache=True)
def add_holders(
    queries: Codes,
    starts: Ints,
    posted: Codes,
    rows: Codes,
    bits: NDArray[np.uint64],
    begin: int,
    end: int,
    counts: Ints,
) -> None:
    """Add to the queries begin..end-1 the people who have all their cells: four cells each, a cell may be repeated.

    `rows` has the row of bits of each cell that has one. The shortest list is walked through, and the others are asked
    by their bits, or walked along, both being ascending. Where all have bits they are compared 64 people at a time.
    """
    cells = np.empty(4, np.int64)
    place = np.empty(4, np.int64)
    words = bits.shape[1]
    for query in range(begin, end):
        for which in range(4):  # the shortest list first
            cell = np.int64(queries[query, which])
            length = starts[cell + 1] - starts[cell]
            rank = which
            while rank > 0 and starts[cells[rank - 1] + 1] - starts[cells[rank - 1]] > length:
                cells[rank] = cells[rank - 1]
                rank -= 1
            cells[rank] = cell
        if starts[cells[0] + 1] == starts[cells[0]]:
            continue
        if rows[cells[0]] != _NOBODY:
            one, two, three, four = rows[cells[0]], rows[cells[1]], rows[cells[2]], rows[cells[3]]
            total = np.uint64(0)
            for word in range(words):
                total += _ones(bits[one, word] & bits[two, word] & bits[three, word] & bits[four, word])
            counts[query] += np.int64(total)
            continue
        for which in range(1, 4):
            place[which] = starts[cells[which]]
        for at in range(starts[cells[0]], starts[cells[0] + 1]):
            person = posted[at]
            has_all = True
            for which in range(1, 4):
                row = rows[cells[which]]
                if row != _NOBODY:
                    has_all = (bits[row, person >> 6] >> np.uint64(person & 63)) & _U1 == _U1
                else:
                    last = starts[cells[which] + 1]
                    while place[which] < last and posted[place[which]] < person:
                        place[which] += 1
                    has_all = place[which] < last and posted[place[which]] == person
                if not has_all:
                    break
            counts[query] += has_all
