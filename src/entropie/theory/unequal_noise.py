"""The information in a report that is the truth with probability theta, else noise that names some items more often.

With b_y the probability that noise names item y, a_y = theta/b_y and psi(a) = (1+a) ln(1+a) - a, items in shares p are
told apart by I(p) = sum_y g_y(p_y) nats, g_y(p) = b_y [p psi(a_y) - psi(a_y p)]: a sum of concave functions, each the
larger the smaller b_y is. So the items that noise names least tell most, and the best shares make all slopes one
number s theta: p_y = (exp(psi(a_y)/a_y - s) - 1)/a_y where that is above 0.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from entropie.theory.special import LN2

Floats = NDArray[np.float64]
_ROUNDS = 200
_LARGEST = 700.0


def capacity_bits(theta: float, noise: Floats) -> float:
    """The largest I(p) over shares of these items, `noise` the probability that a report names each as noise.

    The value of the dual at s is at least that of every p: it is certified from above but for rounding.
    """
    if theta == 0.0 or len(noise) < 2:
        return 0.0
    low, high = -1.0, min(_LARGEST, float(_slope(theta, noise).max()))
    while _shares(theta, noise, low).sum() < 1.0:  # few items: more of each is worse, but shares must sum to 1
        low *= 2.0
    for _ in range(_ROUNDS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if _shares(theta, noise, middle).sum() > 1.0 else (low, middle)
    shares = _shares(theta, noise, low)
    nats = theta * low + float((_information(theta, noise, shares) - theta * low * shares).sum())
    return min(math.log2(len(noise)), theta * math.log2(len(noise)), max(0.0, nats / LN2))


def _slope(theta: float, noise: Floats) -> Floats:
    """psi(a)/a: the slope of an item without a share, in units of theta; infinite where there is no noise."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        a = theta / noise
        return np.where(np.isfinite(a), _psi(a) / a, np.inf)


def _shares(theta: float, noise: Floats, s: float) -> Floats:
    """The share at which each item's slope is s theta."""
    noisy = noise > 0.0
    found = np.full(len(noise), math.exp(-1.0 - s))  # the limit without noise
    with np.errstate(over="ignore"):
        excess = np.maximum(_slope(theta, noise[noisy]) - s, 0.0)
        found[noisy] = np.expm1(np.minimum(excess, _LARGEST)) * noise[noisy] / theta
    return found


def _information(theta: float, noise: Floats, shares: Floats) -> Floats:
    """g_y(p_y)."""
    quiet = noise <= 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        a = theta / noise
        found = noise * (shares * _psi(a) - _psi(a * shares))
        found = np.where(quiet, -theta * shares * np.log(np.where(shares > 0.0, shares, 1.0)), found)
    return np.asarray(found)


def _psi(a: Floats) -> Floats:
    small = a < 1e-4
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(small, a * a / 2.0 - a**3 / 6.0 + a**4 / 12.0, (1.0 + a) * np.log1p(a) - a)
