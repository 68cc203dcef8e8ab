"""Loops over 64-bit keys: rows of markov keys, dense numbers for keys, and a keyed permutation of whole numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from entropie.kernels.arrays import Codes, Floats, Ints, Words
from entropie.kernels.caching import njit

_U1 = np.uint64(1)
_U2 = np.uint64(2)
_U27 = np.uint64(27)
_U29 = np.uint64(29)
_U30 = np.uint64(30)
_U31 = np.uint64(31)
_U32 = np.uint64(32)
_FIRST = np.uint64(0xFFFFFFFF << 32)
_EMPTY = np.uint64(2**64 - 1)
_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_MULTIPLIER = np.uint64(0x94D049BB133111EB)


@njit(nogil=True, cache=True)
def mixed(word: Any) -> Any:
    """Scatter 64-bit words, one or many: xor-shifts and odd multiplications, modulo 2^64 (splitmix64's finalizer)."""
    word = (word ^ (word >> _U30)) * _MULTIPLIER
    word = (word ^ (word >> _U27)) * _SECOND_MULTIPLIER
    return word ^ (word >> _U31)


@njit(nogil=True, cache=True)
def markov_user_keys(offsets: Ints, items: Codes, floor: float) -> tuple[Ints, Words, Floats]:
    """Weigh all of every user's transitions by ln Lambda - ln d and items (as first items) by ln pi - ln d.

    Keys: (a << 32) | b for a -> b, then (0xFFFFFFFF << 32) | x for x; they ascend within a row.
    """
    rows = offsets.shape[0] - 1
    out_offsets = np.zeros(rows + 1, np.int64)
    keys = np.empty(2 * items.shape[0], np.uint64)
    weights = np.empty(2 * items.shape[0], np.float64)
    log_floor = math.log(floor)
    place = 0
    for row in range(rows):
        low = offsets[row]
        length = offsets[row + 1] - low
        pairs = np.empty(max(length - 1, 0), np.uint64)
        for step in range(length - 1):
            pairs[step] = (np.uint64(items[low + step]) << _U32) | np.uint64(items[low + step + 1])
        pairs.sort()
        begin = 0
        while begin < pairs.shape[0]:
            origin = pairs[begin] >> _U32
            last = begin + 1
            while last < pairs.shape[0] and pairs[last] >> _U32 == origin:
                last += 1
            leaving = last - begin
            while begin < last:
                end = begin + 1
                while end < last and pairs[end] == pairs[begin]:
                    end += 1
                keys[place] = pairs[begin]
                weights[place] = math.log((end - begin) / leaving) - log_floor
                place += 1
                begin = end
        run = items[low : low + length].copy()
        run.sort()
        begin = 0
        while begin < length:
            end = begin + 1
            while end < length and run[end] == run[begin]:
                end += 1
            keys[place] = _FIRST | np.uint64(run[begin])
            weights[place] = math.log((end - begin) / length) - log_floor
            place += 1
            begin = end
        out_offsets[row + 1] = place
    return out_offsets, keys[:place], weights[:place]


@njit(nogil=True, cache=True)
def markov_target_keys(offsets: Ints, items: Codes) -> tuple[Ints, Words, Floats]:
    """Count every target's transitions and its first item, under the same keys."""
    rows = offsets.shape[0] - 1
    out_offsets = np.zeros(rows + 1, np.int64)
    keys = np.empty(items.shape[0], np.uint64)
    counts = np.empty(items.shape[0], np.float64)
    place = 0
    for row in range(rows):
        low = offsets[row]
        length = offsets[row + 1] - low
        if length > 0:
            pairs = np.empty(length - 1, np.uint64)
            for step in range(length - 1):
                pairs[step] = (np.uint64(items[low + step]) << _U32) | np.uint64(items[low + step + 1])
            pairs.sort()
            for step in range(length - 1):
                if step > 0 and pairs[step] == pairs[step - 1]:
                    counts[place - 1] += 1.0
                else:
                    keys[place] = pairs[step]
                    counts[place] = 1.0
                    place += 1
            keys[place] = _FIRST | np.uint64(items[low])
            counts[place] = 1.0
            place += 1
        out_offsets[row + 1] = place
    return out_offsets, keys[:place], counts[:place]


@njit(nogil=True, cache=True)
def _slot_of(slots: Words, key: np.uint64) -> np.uint64:
    """Find the slot that holds the key, or the empty one where it belongs."""
    last = np.uint64(slots.shape[0] - 1)
    slot: np.uint64 = mixed(key) & last
    while slots[slot] != key and slots[slot] != _EMPTY:
        slot = (slot + _U1) & last
    return slot


@njit(nogil=True, cache=True)
def key_table(numbered: Words) -> tuple[Words, Codes]:
    """Enter distinct keys below 2^64 - 1 into a table of at least twice as many slots: the key and its number."""
    size = 16
    while size < 2 * numbered.shape[0]:
        size *= 2
    slots = np.full(size, _EMPTY, np.uint64)
    numbers = np.empty(size, np.uint32)
    for number in range(numbered.shape[0]):
        slot = _slot_of(slots, numbered[number])
        slots[slot] = numbered[number]
        numbers[slot] = number
    return slots, numbers


@njit(nogil=True, cache=True)
def number_rows(
    offsets: Ints, keys: Words, weights: Floats, slots: Words, numbers: Codes
) -> tuple[Ints, Codes, Floats]:
    """Replace keys by their numbers; those that are not in the table are left out."""
    out_offsets = np.zeros_like(offsets)
    features = np.empty(keys.shape[0], np.uint32)
    kept = np.empty(keys.shape[0], np.float64)
    place = 0
    for row in range(offsets.shape[0] - 1):
        for entry in range(offsets[row], offsets[row + 1]):
            slot = _slot_of(slots, keys[entry])
            if slots[slot] != _EMPTY:
                features[place] = numbers[slot]
                kept[place] = weights[entry]
                place += 1
        out_offsets[row + 1] = place
    return out_offsets, features[:place].copy(), kept[:place].copy()


@njit(nogil=True, cache=True)
def permuted_places(places: Ints, size: int, half_bits: int, round_keys: Words) -> Ints:
    """Evaluate a permutation of 0..size-1 at the places: a balanced Feistel network on 2 half_bits bits.

    A value beyond size - 1 is permuted again until it falls below: so the rest is a permutation of its own.
    """
    shift = np.uint64(half_bits)
    mask = (_U1 << shift) - _U1
    limit = np.uint64(size)
    out = np.empty(places.shape[0], np.int64)
    for place in range(places.shape[0]):
        value = np.uint64(places[place])
        while True:
            left = value >> shift
            right = value & mask
            for key in round_keys:
                left, right = right, left ^ (mixed(right + key) & mask)
            value = (left << shift) | right
            if value < limit:
                break
        out[place] = np.int64(value)
    return out


@njit(nogil=True, cache=True)
def trace_hashes(offsets: Ints, items: Codes, kinds: Words, factor: np.uint64) -> Words:
    """Hash each trace by the kinds of its items, one after the other."""
    hashes = np.zeros(offsets.shape[0] - 1, np.uint64)
    for row in range(hashes.shape[0]):
        odd = _U1
        for place in range(offsets[row], offsets[row + 1]):
            word = kinds[items[place]] * factor
            word ^= word >> _U29
            hashes[row] += word * odd
            odd += _U2
    return hashes


@njit(nogil=True, cache=True)
def numbers_of(keys: Words, slots: Words, numbers: Codes) -> Codes:
    """The number of each key, 2^32 - 1 of one that is not in the table."""
    found = np.empty(keys.shape[0], np.uint32)
    for place in range(keys.shape[0]):
        slot = _slot_of(slots, keys[place])
        found[place] = np.uint32(0xFFFFFFFF) if slots[slot] == _EMPTY else numbers[slot]
    return found
