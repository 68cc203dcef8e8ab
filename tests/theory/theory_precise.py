"""The same quantities from their definitions with 120 digits, for any size of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import zip_longest

from mpmath import MPContext

mp = MPContext()
mp.dps = 120


def log2(x):
    return mp.log(x) / mp.ln2


def relative_error(got: float, true) -> float:
    """|got - true|/|true|; what is below 1e-280 only has to be that small (a lie beyond e^700 counts as none)."""
    if math.isnan(got):
        return math.inf
    if true == mp.inf or math.isinf(got):
        return 0.0 if true == got else math.inf
    if true == 0:
        return 0.0 if 0.0 <= got <= 1e-15 else math.inf
    if abs(true) < 1e-280:
        return 0.0 if abs(got) < 1e-280 else math.inf
    return float(abs(mp.mpf(got) - true) / abs(true))


# --- one report -----------------------------------------------------------------------------------------------


def weight(epsilon: float):
    return mp.exp(mp.mpf(epsilon))


def theta(epsilon: float, size: int):
    """Truth told on purpose: what is left of Q(x|x) after the even part 1/Z over all answers is taken away."""
    if math.isinf(epsilon):
        return mp.mpf(1)
    w = weight(epsilon)
    return (w - 1) / (size + w - 1)


def lie(epsilon: float, size: int):
    """The even part over all answers, 1 - theta: kept apart, since 120 digits do not hold 1 - e^-700."""
    return mp.mpf(0) if math.isinf(epsilon) else size / (size + weight(epsilon) - 1)


def information_bits(size: int, inputs: int, epsilon: float):
    """I of `inputs` equally likely letters into randomized response over `size`: sum of p log p(y|x)/p(y)."""
    if inputs == 1:
        return mp.mpf(0)
    if math.isinf(epsilon):
        return log2(mp.mpf(inputs))
    w = weight(epsilon)
    m = mp.mpf(inputs)
    truth, other = w / (size + w - 1), 1 / (size + w - 1)
    return truth * log2(w * m / (w + m - 1)) + (m - 1) * other * log2(m / (w + m - 1))


def success(users: int, answers: int, used: int, epsilon: float, guesses: int = 1):
    """Sum over the answers of the largest `guesses` probabilities; `used` answers have users of their own."""
    share = mp.mpf(min(guesses, users)) / users
    t = theta(epsilon, answers)
    return t * min(mp.mpf(1), used * share) + lie(epsilon, answers) * share


def success_with_prior_max(users: int, prior_max: float, k: int, epsilon: float):
    """As many users as possible at the maximum, one with the rest, each with an item of her own."""
    p = mp.mpf(prior_max)
    full = min(users, int(mp.floor(1 / p)))
    rest = max(mp.mpf(0), 1 - full * p)
    m = min(users, k)
    other = lie(epsilon, k) / k
    truth = theta(epsilon, k) + other
    hits = min(full, m) * truth * p
    if m > full:
        hits += max(truth * rest, other * p) + (m - full - 1) * other * p
    return hits + (k - m) * other * p


def ldp_bits(users: int, k: int, epsilon: float):
    """Ratio Q(y|x)/q(y) two-valued with quotient w and mean 1; the best share of the larger value is s = v."""
    cap = log2(mp.mpf(min(users, k)))
    if math.isinf(epsilon):
        return cap
    if epsilon == 0:
        return mp.mpf(0)
    w, e = weight(epsilon), mp.mpf(epsilon)
    v = e * w / (w - 1)
    return min(cap, (v - 1 - mp.log(v)) / mp.ln2)


def sibson_bits(size: int, inputs: int, epsilon: float, order: float):
    if inputs == 1:
        return mp.mpf(0)
    if order == 1.0:
        return information_bits(size, inputs, epsilon)
    if math.isinf(order):
        return log2(1 + theta(epsilon, size) * (inputs - 1))
    if math.isinf(epsilon):
        return log2(mp.mpf(inputs))
    w, a, m = weight(epsilon), mp.mpf(order), mp.mpf(inputs)
    column = ((w**a + m - 1) / m) ** (1 / a)
    return a / (a - 1) * log2((m * column + size - m) / (size + w - 1))


# --- ideal hash: means over N ~ Bin(m, 1/g) -------------------------------------------------------------------

LAST_MOMENT = 26


def binomial_mean(f: Callable, taylor: Callable[[object, int], Sequence], m: int, g: int):
    """E f(N/m): term by term while N is moderate, else from the moments of N and f's series at 1/g."""
    if m / g <= 3000:
        return _direct_mean(f, m, g)
    series = taylor(mp.mpf(1) / g, LAST_MOMENT)
    return mp.fsum(c * mu for c, mu in zip(series, share_moments(m, g), strict=True))


def _direct_mean(f: Callable, m: int, g: int):
    p = mp.mpf(1) / g
    mass, total = (1 - p) ** m, mp.mpf(0)
    for count in range(m + 1):
        total += mass * f(mp.mpf(count) / m)
        if count > m * p and mass < mp.mpf(10) ** -60:
            break
        mass *= (m - count) * p / ((count + 1) * (1 - p))
    return total


@cache
def share_moments(m: int, g: int) -> tuple:
    """E (N/m - 1/g)^r by Romanovsky's recursion mu_{r+1} = p(1-p) [m r mu_{r-1} + d mu_r/dp], in integers."""
    polynomials = [[1], [0]]
    for r in range(1, LAST_MOMENT):
        first = [m * r * c for c in polynomials[r - 1]]
        slope = [j * c for j, c in enumerate(polynomials[r])][1:]
        inner = [a + b for a, b in zip_longest(first, slope, fillvalue=0)]
        polynomials.append([a - b for a, b in zip([0, *inner, 0], [0, 0, *inner], strict=True)])
    p = mp.mpf(1) / g
    return tuple(mp.fsum(c * p**j for j, c in enumerate(poly)) / mp.mpf(m) ** r for r, poly in enumerate(polynomials))


def ideal_bits(users: int, k: int, g: int, epsilon: float):
    """H(bucket answer | h) - H(answer | item, h) for equally likely items."""
    m = min(users, k)
    if m == 1:
        return mp.mpf(0)
    if math.isinf(epsilon):
        return -g * binomial_mean(_x_log_x, _x_log_x_series, m, g) / mp.ln2
    w = weight(epsilon)
    rise = w - 1

    def f(s):
        return (1 + rise * s) * mp.log(1 + rise * s)

    def series(s, last):
        z = 1 + rise * s
        tail = [(-1) ** r * rise**r / (r * (r - 1) * z ** (r - 1)) for r in range(2, last + 1)]
        return [f(s), rise * (mp.log(z) + 1), *tail]

    return (w * mp.mpf(epsilon) - g * binomial_mean(f, series, m, g)) / (g + w - 1) / mp.ln2


def _x_log_x(s):
    return s * mp.log(s) if s > 0 else mp.mpf(0)


def _x_log_x_series(s, last):
    tail = [(-1) ** r / (r * (r - 1) * s ** (r - 1)) for r in range(2, last + 1)]
    return [_x_log_x(s), mp.log(s) + 1, *tail]


def filled(m: int, g: int):
    if m == 1:
        return mp.mpf(1)
    return g * (1 - (1 - mp.mpf(1) / g) ** m)


# --- several reports ------------------------------------------------------------------------------------------


def saturating_mean(value: Callable, cap, truth, t: int):
    """E min(cap, value(S)), S ~ Bin(t, truth), value rising: the sum below the cap and all the rest at it."""
    below, seen = mp.mpf(0), mp.mpf(0)
    truth = mp.mpf(truth)
    if value(1) == value(0):  # one possible answer
        return min(cap, value(0))
    for s in range(t + 1):
        if value(s) >= cap:
            return below + cap * (1 - seen)
        mass = math.comb(t, s) * truth**s * (1 - truth) ** (t - s)
        below, seen = below + mass * value(s), seen + mass
    return below


def composed_success(truth, answers: int, users: int, t: int, guesses: int = 1, prior_max: float | None = None):
    largest = mp.mpf(1) / users if prior_max is None else mp.mpf(prior_max)
    base = min(mp.mpf(1), min(guesses, users) * largest)
    return saturating_mean(lambda s: base * mp.mpf(answers) ** s, mp.mpf(1), truth, t)


def composed_bits(single: float, truth, answers: int, users: int, t: int):
    cap = log2(mp.mpf(users))
    if t == 1:
        return min(mp.mpf(single), cap)
    revealed = saturating_mean(lambda s: s * log2(mp.mpf(answers)), cap, truth, t)
    return min(t * mp.mpf(single), cap, revealed)


# --- guessing from information --------------------------------------------------------------------------------


def binary_divergence_bits(p, q):
    p, q = mp.mpf(p), mp.mpf(q)
    first = p * mp.log(p / q) if p > 0 else mp.mpf(0)
    second = (1 - p) * mp.log((1 - p) / (1 - q)) if p < 1 else mp.mpf(0)
    return (first + second) / mp.ln2


def fano_success(bits, start):
    """The s in [start, 1] with d(s || start) = bits, by bisection."""
    start = mp.mpf(start)
    if start >= 1 or bits >= -log2(start):
        return mp.mpf(1)
    low, high = start, mp.mpf(1)
    with mp.workdps(50):
        while high - low > low * mp.mpf(10) ** -20:
            middle = (low + high) / 2
            if binary_divergence_bits(middle, start) <= bits:
                low = middle
            else:
                high = middle
    return low


# --- loss -----------------------------------------------------------------------------------------------------


def variance(p: float, users: int, answers: int, epsilon: float, collision):
    """Of the estimate of a share p: supports are Bernoulli, rate Q(x|x) from owners and nu from the others."""
    t, even, p = theta(epsilon, answers), lie(epsilon, answers) / answers, mp.mpf(p)
    if t == 0:
        return mp.inf
    nu = even + t * collision
    owners = (t + even) * even * (answers - 1)  # mu times 1 - mu, all other answers together
    return (p * owners + (1 - p) * nu * (1 - nu)) / (users * (t - t * collision) ** 2)


def normal_quantile(upper: float):
    """z with Pr(N > z) = upper."""
    with mp.workdps(40):
        target = mp.mpf(upper)
        low, high = mp.mpf(-40), mp.mpf(40)
        while high - low > mp.mpf(10) ** -22:
            middle = (low + high) / 2
            if mp.erfc(middle / mp.sqrt(2)) / 2 > target:
                low = middle
            else:
                high = middle
    return low
