"""Arithmetic modulo a prime P < 2^62, and the items that a hash function sends to a given value.

h(x) = ((a x + b) mod P) mod g equals y exactly when (a' x + b') mod P < J, where a' = a/g, b' = (b-y)/g modulo P
and J is how many v < P leave the remainder y. So the items wanted are the times at which a rotation of the circle
Z/P visits an interval. By the three-gap theorem the waiting times between visits take at most three values, which
Euclid's algorithm yields; the items come out sorted, in O(k/g + log P) instead of O(k) or O(P/g) steps.
"""

from __future__ import annotations

import numpy as np

from entropie.kernels.caching import njit

_U0 = np.uint64(0)
_U1 = np.uint64(1)
_U31 = np.uint64(31)
_LOW31 = np.uint64((1 << 31) - 1)
_TWO31 = np.uint64(1 << 31)
_TWO32 = np.uint64(1 << 32)


@njit(nogil=True, cache=True, inline="always")
def _times_small(a, c, prime, reciprocal):
    """a c mod P for a < P < 2^62 and c <= 2^31: the quotient fits a double, the rest wraps to the right value."""
    quotient = np.uint64(np.float64(a) * np.float64(c) * reciprocal)
    rest = np.int64(a * c - quotient * prime)
    if rest < 0:
        rest += np.int64(prime)
    elif rest >= np.int64(prime):
        rest -= np.int64(prime)
    return np.uint64(rest)


@njit(nogil=True, cache=True)
def multiply(a, b, prime):
    """A b mod P for a, b < P < 2^62, without 128-bit integers."""
    if prime <= _TWO32:
        return (a * b) % prime
    reciprocal = 1.0 / np.float64(prime)
    high = _times_small(a, b >> _U31, prime, reciprocal)
    high = _times_small(high, _TWO31, prime, reciprocal)
    total = high + _times_small(a, b & _LOW31, prime, reciprocal)
    return total - prime if total >= prime else total


@njit(nogil=True, cache=True)
def hash_value(a, b, x, prime, hash_size):
    """((a x + b) mod P) mod g."""
    total = multiply(a, x, prime) + b
    if total >= prime:
        total -= prime
    return total % hash_size


@njit(nogil=True, cache=True)
def hash_values(a, b, x, prime, hash_size):
    """The hash of x[i] under the function (a[i], b[i])."""
    out = np.empty(len(x), np.uint64)
    for i in range(len(x)):
        out[i] = hash_value(a[i], b[i], x[i], prime, hash_size)
    return out


@njit(nogil=True, cache=True)
def visit_interval(a, b, y, prime, hash_size, inverse):
    """Rotation (a', b') and interval length J with h(x) = y exactly when (a' x + b') mod P < J."""
    quotient = prime // hash_size
    length = quotient + _U1 if y < prime - quotient * hash_size else quotient
    shifted = b - y if b >= y else b + prime - y
    return multiply(a, inverse, prime), multiply(shifted, inverse, prime), length


@njit(nogil=True, cache=True)
def first_visit(step, start, length, prime):
    """When (start + step x) mod P first lies in [0, J), where it then is, and the two basic returns.

    Returns (x, t, right_time, right, left_time, left): from a visit at t the next one comes after `right_time`
    steps at t + right if that is below J, else after `left_time` at t - left if that is not negative, else after
    both. The pair shrinks by Euclid's algorithm from (step, P - step), every point of the circle being a visit
    at first; (x, t) is carried along to the first visit of the interval [0, right + left) that is left.
    """
    right, left = step, prime - step
    right_time, left_time = _U1, _U1
    x, t = _U0, start
    while right >= length or left >= length:
        if right > left:
            times = min((right - length) // left + _U1, (right - _U1) // left)
            end = right - times * left + left
            if t >= end:
                hops = (t - end) // left + _U1
                t -= hops * left
                x += hops * left_time
            right -= times * left
            right_time += times * left_time
        elif left > right:
            times = min((left - length) // right + _U1, (left - _U1) // right)
            hop = _U0 if t >= left else (left - t + right - _U1) // right
            if hop < times:
                t -= left - hop * right
                x += left_time + hop * right_time
            left -= times * right
            left_time += times * right_time
        else:  # both are 1 and J is 1: the only visit
            break
    if t >= length:
        t -= left
        x += left_time
    return x, t, right_time, right, left_time, left


@njit(nogil=True, cache=True)
def preimages(a, b, y, prime, hash_size, inverse, domain_size, out):
    """Write the items x < k with h(x) = y into `out`, sorted; return how many there are (also beyond its end)."""
    step, start, length = visit_interval(a, b, y, prime, hash_size, inverse)
    x, t, right_time, right, left_time, left = first_visit(step, start, length, prime)
    found = 0
    while x < domain_size:
        if found < len(out):
            out[found] = x
        found += 1
        if length == _U1:
            break
        if t + right < length:
            t += right
            x += right_time
        elif t >= left:
            t -= left
            x += left_time
        else:
            t = t + right - left
            x += right_time + left_time
    return found
