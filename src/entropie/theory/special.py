"""The few functions the formulas are made of, each without overflow or cancellation.

By hand, because SciPy costs too much at every start: `scipy.special` 0.2 s and 25 MB, `scipy.stats` 1 s and 74 MB, and
a small assessment may take 300 MB in all (`scripts/bench foundation` prints it). The tails here hold at 10^12 trials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

LN2 = math.log(2.0)

LARGE_EPSILON = 700.0
"""Beyond this budget e^epsilon leaves the floating-point range and a lie is rarer than 1 in 10^285."""


def psi(a: float) -> float:
    """(1+a) ln(1+a) - a for a >= -1: the divergence generator behind every formula here. psi(-1) = 1."""
    if a <= -1.0:
        return 1.0
    if abs(a) < 0.03:  # the closed form loses digits here; the series gives them all
        total, power = 0.0, a * a
        for j in range(2, 13):
            total += power / (j * (j - 1))
            power *= -a
        return total
    return (1.0 + a) * math.log1p(a) - a


def binary_divergence_bits(p: float, q: float) -> float:
    """D(Bernoulli(p) || Bernoulli(q)) in bits, exact also where p is close to q."""
    if q <= 0.0 or q >= 1.0:
        return 0.0 if p == q else math.inf
    return (q * psi((p - q) / q) + (1.0 - q) * psi((q - p) / (1.0 - q))) / LN2


def theta_of(epsilon: float, size: float) -> float:
    """(w-1)/(size+w-1): the probability of telling the truth among `size` answers."""
    if epsilon > LARGE_EPSILON:
        return 1.0
    lift = math.expm1(epsilon)
    return lift / (size + lift)


def lie_probability(epsilon: float, size: int) -> float:
    """1 - theta, without cancellation where theta is close to 1."""
    if epsilon > LARGE_EPSILON:
        return 0.0
    return size / (size + math.expm1(epsilon))


def epsilon_of(theta: float, size: float) -> float:
    """ln(1 + size theta/(1-theta)): the inverse of `theta_of`."""
    return math.inf if theta >= 1.0 else math.log1p(size * theta / (1.0 - theta))


def _stirling_error(n: float) -> float:
    """Ln n! minus Stirling's leading terms (n + 1/2) ln n - n + ln(2 pi)/2."""
    if n < 16.0:
        return math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2.0 * math.pi)
    square = n * n
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / n


def log_factorial_gap(n: int) -> float:
    """Ln n - (1/n) ln n!, without cancellation: 0 for one, towards 1 for many."""
    return 0.0 if n <= 1 else 1.0 - (0.5 * math.log(2.0 * math.pi * n) + _stirling_error(n)) / n


def binomial_pmf(count: int, trials: int, probability: float) -> float:
    """Pr(N = count) for N ~ Bin(trials, probability), to full relative precision for 10^12 trials and more.

    Stirling's formula with its error term (C. Loader, 2000) instead of differences of log-factorials,
    which would leave no correct digit.
    """
    if not 0 <= count <= trials:
        return 0.0
    if probability >= 1.0 or probability <= 0.0:
        return 1.0 if count == (trials if probability >= 1.0 else 0) else 0.0
    if count == 0:
        return math.exp(trials * math.log1p(-probability))
    if count == trials:
        return math.exp(trials * math.log(probability))
    rest = trials - count
    mean, rest_mean = trials * probability, trials * (1.0 - probability)
    exponent = (
        _stirling_error(trials)
        - _stirling_error(count)
        - _stirling_error(rest)
        - mean * psi((count - mean) / mean)
        - rest_mean * psi((rest - rest_mean) / rest_mean)
    )
    return math.exp(exponent) * math.sqrt(trials / (2.0 * math.pi * count * rest))


def binomial_points(trials: int, probability: float) -> Iterator[tuple[int, float]]:
    """Counts and weights w with E f(N) = sum of w f(count) for smooth f, N ~ Bin(trials, probability).

    Every count within 12 standard deviations where those are few. Where they are many, every h-th one with
    h a quarter of a standard deviation: by Poisson's summation formula the sum over that grid differs from
    the whole sum by a factor of about exp(-300).
    """
    mean = trials * probability
    deviation = math.sqrt(mean * (1.0 - probability))
    stride = 1 if mean < 400.0 or deviation < 12.0 else max(1, int(deviation / 4.0))
    low = max(0, math.floor(mean - 12.0 * deviation - 20.0))
    high = min(trials, math.ceil(mean + 12.0 * deviation + 40.0))
    counts = range(low, high + 1, stride)
    masses = [binomial_pmf(count, trials, probability) for count in counts]
    total = math.fsum(masses)
    return ((count, mass / total) for count, mass in zip(counts, masses, strict=True))


def binomial_expectation(f: Callable[[int], float], trials: int, probability: float) -> float:
    """E f(N) for N ~ Bin(trials, probability) and f smooth on the scale of a standard deviation."""
    return math.fsum(weight * f(count) for count, weight in binomial_points(trials, probability) if weight > 0.0)


def binomial_upper_tail(first: int, trials: int, probability: float) -> float:
    """Pr(N >= first) for N ~ Bin(trials, probability).

    Beyond the mean it is the first term times a continued fraction, that of the incomplete beta function
    I_p(first, trials-first+1); up to the mean the terms below are taken from 1.
    """
    if first <= 0:
        return 1.0
    if first > trials or probability <= 0.0:
        return 0.0
    if probability >= 1.0:
        return 1.0
    if first > trials * probability:
        head = binomial_pmf(first, trials, probability) * (1.0 - probability)
        return min(1.0, head * _beta_fraction(first, trials, probability))
    below = 0.0
    for count in range(first - 1, -1, -1):
        mass = binomial_pmf(count, trials, probability)
        below += mass
        if mass <= 1e-18 * below:
            break
    return max(0.0, 1.0 - below)


def exact_interval(count: int, trials: int, level: float) -> tuple[float, float]:
    """The probabilities under which neither `count` or more nor `count` or fewer is rarer than (1 - level)/2.

    C. Clopper and E. Pearson, 1934: whatever the probability, it is covered at least as often as the level says.
    """
    tail = (1.0 - level) / 2.0
    seen = count / trials
    low = largest_where(lambda p: binomial_upper_tail(count, trials, p) <= tail, 0.0, seen)
    off = largest_where(lambda q: binomial_upper_tail(trials - count, trials, q) <= tail, 0.0, 1.0 - seen)
    return low, 1.0 - off


def _beta_fraction(first: int, trials: int, probability: float) -> float:
    """The continued fraction of I_p(a, b), a = first, b = trials-first+1, by Lentz's method."""
    a, b = float(first), float(trials - first + 1)
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * probability / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 100_000):
        even = m * (b - m) * probability / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * probability / ((a + 2 * m) * (a + 2 * m + 1.0))
        for step in (even, odd):
            d = 1.0 + step * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + step / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return value


def last_where(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The last whole number at which a condition holds that does at `low` and does not, once for all, at `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def largest_where(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Largest x in [low, high] with holds(x), for a condition that turns from true to false once.

    Bisection down to neighbouring floating-point numbers; `holds(low)` is taken for granted.
    """
    if holds(high):
        return high
    while True:
        middle = low + (high - low) / 2.0
        if not low < middle < high:
            return low
        if holds(middle):
            low = middle
        else:
            high = middle
