"""Counting reports: how many support each item."""

from __future__ import annotations

import numpy as np

from entropie.kernels.caching import njit
from entropie.kernels.modular import first_visit, hash_value, multiply, visit_interval

_U0 = np.uint64(0)
_U1 = np.uint64(1)

BATCH = 16384
"""Reports walked side by side: their states (seven words each) stay in the second-level cache."""
BLOCK = 65536
"""Items counted at a time: 256 kB of counters stay in the second-level cache, five times faster than without."""
SWEEP_BLOCK = 8192
LANES = 128


@njit(nogil=True, cache=True)
def count_values(values, counts):
    """counts[v] += 1 for every v."""
    for value in values:
        counts[value] += 1


@njit(nogil=True, cache=True)
def scale_counts(counts, slope, shift, out):
    """out = slope counts - shift, in one pass."""
    for i in range(len(counts)):
        out[i] = slope * counts[i] - shift


@njit(nogil=True, cache=True)
def count_hashed(a, b, y, prime, hash_size, inverse, counts):
    """counts[x] += 1 for every report and every item x < len(counts) with h(x) = y.

    The items of each report come sorted (see `modular`), so a batch of reports walks through the domain together,
    block by block, and the counters it touches stay in cache.
    """
    domain_size = np.uint64(len(counts))
    block = max(np.uint64(BLOCK), np.uint64(8) * hash_size)
    xs = np.empty(BATCH, np.uint64)
    ts = np.empty(BATCH, np.uint64)
    right_times = np.empty(BATCH, np.uint64)
    rights = np.empty(BATCH, np.uint64)
    left_times = np.empty(BATCH, np.uint64)
    lefts = np.empty(BATCH, np.uint64)
    turns = np.empty(BATCH, np.uint64)
    for begin in range(0, len(a), BATCH):
        waiting = 0
        for i in range(begin, min(begin + BATCH, len(a))):
            step, start, length = visit_interval(a[i], b[i], y[i], prime, hash_size, inverse)
            x, t, right_time, right, left_time, left = first_visit(step, start, length, prime)
            if x >= domain_size:
                continue
            if length == _U1:
                counts[x] += 1
                continue
            xs[waiting], ts[waiting] = x, t
            right_times[waiting], rights[waiting] = right_time, right
            left_times[waiting], lefts[waiting] = left_time, left
            turns[waiting] = length - right
            waiting += 1
        end = _U0
        while waiting > 0 and end < domain_size:
            end = min(end + block, domain_size)
            for i in range(waiting):
                x = xs[i]
                if x >= end:
                    continue
                t, turn = ts[i], turns[i]
                right_time, right, left_time, left = right_times[i], rights[i], left_times[i], lefts[i]
                both_times, both, back = right_time + left_time, right - left, _U0 - left
                while x < end:
                    counts[x] += 1
                    # selects, not branches: which of the three returns comes next cannot be predicted
                    turned = t >= left
                    hop = right_time if t < turn else (left_time if turned else both_times)
                    shift = right if t < turn else (back if turned else both)
                    x += hop
                    t += shift
                xs[i], ts[i] = x, t


@njit(nogil=True, cache=True)
def _add_visits(offsets, base, prime, length, counts):
    """counts[j] += 1 where (offsets[j] + base) mod P < J; all in 32 bits, so that it vectorises."""
    for j in range(len(counts)):
        position = np.uint32(offsets[j] + base)
        wrapped = np.uint32(position - prime)
        position = position if position < wrapped else wrapped
        counts[j] = np.uint32(counts[j] + np.uint32(position < length))


@njit(nogil=True, cache=True)
def count_hashed_sweep(a, b, y, prime, hash_size, inverse, counts):
    """The same as `count_hashed` by testing every item, for small g and P < 2^31.

    When one item in a few supports a report, a vectorised test of all of them beats walking.
    """
    prime32 = np.uint32(prime)
    offsets = np.empty(LANES, np.uint32)
    for begin in range(0, len(counts), SWEEP_BLOCK):
        end = min(begin + SWEEP_BLOCK, len(counts))
        for i in range(len(a)):
            step, start, length = visit_interval(a[i], b[i], y[i], prime, hash_size, inverse)
            length32 = np.uint32(length)
            t = _U0
            for j in range(LANES):
                offsets[j] = np.uint32(t)
                t += step
                if t >= prime:
                    t -= prime
            hop = np.uint32(t)
            base = np.uint32((multiply(step, np.uint64(begin) % prime, prime) + start) % prime)
            for x in range(begin, end, LANES):
                stop = min(x + LANES, end)
                _add_visits(offsets, base, prime32, length32, counts[x:stop])
                base = np.uint32(base + hop)
                if base >= prime32:
                    base = np.uint32(base - prime32)


@njit(nogil=True, cache=True)
def count_hashed_items(a, b, y, prime, hash_size, items, counts):
    """counts[j] += 1 for every report and every listed item with h(items[j]) = y."""
    for i in range(len(a)):
        for j in range(len(items)):
            if hash_value(a[i], b[i], items[j], prime, hash_size) == y[i]:
                counts[j] += 1
