"""Several reports of one person, exactly: randomized response over k answers, n <= k people, t reports of each.

The worst data. Fix all reports but one. With r_u the weight that the others leave to person u, naming the best one is
worth sum_z max(w M_z, max r), M_z the largest r_u among people whose datum here is z. Two people with one datum share a
term; give one of them a datum that nobody has, and the other's term stays while a term max r grows: so in every report
different data for all are worst, whatever the prior. For L guesses the sum of the L largest weights is a weighted rank
in a matroid, submodular in the set of raised people, and the same exchange works. For information, the entropy of
the report is a concave function of the shares of its answers, which merging makes less even. Relabelling the answers
makes it the repetition code: person u sends their own letter u every time; by symmetry equally likely people are worst.
A collector who chooses the next question after seeing the answers gains nothing: in the last report different data for
all are worst after every history, then in the last but one, and so on. A device that repeats a noisy answer instead of
drawing a new one has sent one report, however often it is seen.

A fixed hash function makes local hashing randomized response over g answers, so that with n <= g people the same value
with g for k bounds it for every family of hash functions.

With N_v how often letter v is reported, L guesses name the person with probability
    (1-theta)^t L/n + sum_i Bin(i; t, w/Z) sum_{a<=i} w^(a-i) (1-1/w) E min(1, L/(1+C_a)),
i the count of the person's own letter and C_a the number of others with N_v >= a, after t-i reports that are uniform
over the k-1 other letters; and I(U;Y) = E log[n w^(N_u) / sum_v w^(N_v)], its logarithm written as an integral of
exponentials, which factor over letters.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.theory.special import LN2, binomial_pmf, binomial_upper_tail

MOST_REPORTS = 128
"""Beyond this many reports the bounds of `composition` are used: exact values would take seconds."""
_LARGEST_BUDGET = 4000.0  # the integral has a point for each _STEP of it
_STEP = 0.25  # of the integral in ln z, a power of two: its error is exp(-pi^2/step), 7e-18
Array = NDArray[np.float64]
Marks = NDArray[Any]  # complex at roots of unity, else real


def is_exact(users: int, answers: int, reports: int) -> bool:
    """Whether the values here hold and are cheap."""
    return users <= answers and reports <= MOST_REPORTS


def success(users: int, answers: int, theta: float, reports: int, list_size: int = 1) -> float:
    """Probability that L guesses name one of n <= k equally likely people after t reports each, worst over all data."""
    if list_size >= users:
        return 1.0
    company = _company(users, answers, reports, list_size)
    return _named(theta, answers, reports, list_size / users, company)


def success_ideal_hash(users: int, hash_size: int, theta: float, reports: int, list_size: int = 1) -> float:
    """The same for local hashing with an ideal hash, n <= k: another person's count is Bin(t, 1/g), independent."""
    if list_size >= users:
        return 1.0
    tails = [binomial_upper_tail(least, reports, 1.0 / hash_size) for least in range(reports + 1)]
    shared = np.array([[_shared(users, tail, list_size)] for tail in tails])
    return _named(theta, hash_size, reports, list_size / users, np.broadcast_to(shared, (reports + 1, reports + 1)))


def _shared(users: int, tail: float, guesses: int) -> float:
    """E min(1, L/(1+C)) for C ~ Bin(n-1, tail)."""
    if tail <= 0.0:
        return 1.0
    if guesses == 1:
        return -math.expm1(users * math.log1p(-min(tail, 1.0 - 1e-16))) / (users * tail)
    sure = 1.0 - binomial_upper_tail(guesses, users - 1, tail)
    return min(1.0, sure + guesses / (users * tail) * binomial_upper_tail(guesses + 1, users, tail))


def _named(theta: float, answers: int, reports: int, chance: float, share: Array) -> float:
    """The sum over the count i of the own letter and the least count a of a rival: share[a, t-i]."""
    lie = (1.0 - theta) / answers
    truth = theta + lie
    rest = lie / truth  # 1/w
    own = np.arange(1, reports + 1)
    weights = np.tril((rest ** np.arange(reports))[np.abs(own[:, None] - own)])
    rivals = (weights * share[1:, reports - own].T).sum(axis=1)
    return min(1.0, (1.0 - theta) ** reports * chance + (1.0 - rest) * float(_masses(reports, truth)[1:] @ rivals))


def _masses(trials: int, probability: float) -> Array:
    """Pr(N = 0 .. trials) for N ~ Bin(trials, probability), by ratios of neighbours from the likeliest on."""
    odds = probability / (1.0 - probability) if probability < 1.0 else math.inf
    if not 0.0 < odds < math.inf:
        return np.asarray(np.eye(trials + 1)[trials if odds else 0])
    counts = np.arange(1.0, trials + 1.0)
    ratios = (trials + 1.0 - counts) / counts * odds  # of each count to the one before
    middle = min(trials, int((trials + 1) * probability))
    found = np.ones(trials + 1)
    found[middle + 1 :] = np.cumprod(ratios[middle:])
    found[:middle] = np.cumprod(1.0 / ratios[:middle][::-1])[::-1]
    return np.asarray(found * binomial_pmf(middle, trials, probability))


@lru_cache(maxsize=64)
def _company(users: int, answers: int, reports: int, guesses: int) -> Array:
    """E min(1, L/(1+C_a)) for a = 1 .. t (rows) after 0 .. t uniform reports (columns); theta plays no part.

    The law of C_a comes from its generating function at roots of unity.
    """
    t = reports
    company = np.ones((t + 1, t + 1))
    if users == 1:
        return company
    roots = [np.exp(2j * np.pi * np.arange(count // 2 + 1) / count) for count in (t // a + 1 for a in range(1, t + 1))]
    marks = np.ones((t + 1, sum(map(len, roots))), np.complex128)
    begin = 0
    for a, points in enumerate(roots, start=1):
        marks[a:, begin : begin + len(points)] = points
        begin += len(points)
    found = _over_letters(users - 1, answers - 1, marks)
    begin = 0
    for a, points in enumerate(roots, start=1):
        size = t // a + 1
        law = np.fft.irfft(found[:, begin : begin + len(points)].conj(), n=size, axis=1)
        company[a] = np.clip(law @ np.minimum(1.0, guesses / np.arange(1.0, size + 1.0)), 0.0, 1.0)
        begin += len(points)
    return company


def alpha_bits(users: int, answers: int, epsilon: float, reports: int) -> float:
    """I(U;Y) of t reports of each of n <= k people, worst over all data, rounded up by 1e-11 bits.

    Log n where the budget is huge.
    """
    if users == 1 or epsilon == 0.0:
        return 0.0
    if reports * epsilon > _LARGEST_BUDGET:
        return math.log2(users)
    w = math.exp(epsilon)
    truth, t = w / (answers - 1.0 + w), reports
    most = max(t * epsilon, math.log(users)) + LN2  # of ln sum_v w^(N_v)
    log_z = _STEP * np.arange(math.floor((-most - 40.0) / _STEP), math.ceil(math.log(40.0 / users) / _STEP) + 1)
    counts = np.arange(t + 1.0)[:, None]
    marks = np.exp(np.exp(log_z) - np.exp(np.minimum(log_z + counts * epsilon, 50.0)))
    others = _over_letters(users - 1, answers - 1, marks)
    own = _masses(t, truth)
    own /= own.sum()
    together = (own[:, None] * marks * others[::-1]).sum(axis=0)
    lifted = _STEP * float((np.exp(-users * np.exp(log_z)) * (1.0 - together)).sum())  # E ln(sum_v w^(N_v)/n)
    counted = epsilon * float(own @ np.arange(t + 1.0))
    return min(math.log2(users), max(0.0, (counted - lifted) / LN2) + 1e-11)


def _over_letters(people: int, letters: int, marks: Marks) -> Marks:
    """E prod_v marks[N_v] over the letters of `people`, after r = 0 .. t reports uniform over `letters` >= people.

    `marks[c]` is the factor of a letter reported c times, one column per case, marks[0] = 1. The exponential generating
    function A(x)^N e^(rest x) obeys A f' = (N A' + rest A) f, a recurrence of positive terms where N >= t; few people
    are multiplied out.
    """
    t = len(marks) - 1
    choose = _choices(t)
    if people < t:
        return _multiplied_out(people, letters, marks, choose)
    found, rest = np.ones_like(marks), (letters - people) / letters
    scale = [float(letters) ** -i for i in range(t + 1)]
    for m in range(1, t + 1):
        width = min(m, _width(people, letters, t))
        high = np.array([((people + 1.0) * i - m) / m * choose[m][i] * scale[i] for i in range(1, width + 1)])
        low = np.array([rest * choose[m - 1][i - 1] * scale[i - 1] for i in range(1, width + 1)])
        factors = high[:, None] * marks[1 : width + 1] + low[:, None] * marks[:width]
        found[m] = (factors * found[m - width : m][::-1]).sum(axis=0)
    return found


@lru_cache(maxsize=8)
def _choices(most: int) -> list[list[float]]:
    return [[float(math.comb(m, i)) for i in range(m + 1)] for m in range(most + 1)]


def _width(people: int, letters: int, t: int) -> int:
    """Counts that another letter reaches with a probability above 1e-25."""
    for count in range(2, t):
        if math.log(people) + math.log(math.comb(t, count)) - count * math.log(letters) < -58.0:
            return count
    return t


def _multiplied_out(people: int, letters: int, marks: Marks, choose: list[list[float]]) -> Marks:
    scale = np.array([float(letters) ** -i for i in range(len(marks))])[:, None]
    rest = np.array([((letters - people) / letters) ** i for i in range(len(marks))])[:, None]
    found: Marks = np.broadcast_to(rest, marks.shape).astype(marks.dtype)
    power = marks * scale
    while people:
        if people & 1:
            found = _product(found, power, choose)
        people >>= 1
        if people:
            power = _product(power, power, choose)
    return found


def _product(one: Marks, other: Marks, choose: list[list[float]]) -> Marks:
    """The product of exponential generating functions."""
    made = np.empty_like(one)
    for m in range(len(one)):
        made[m] = (np.array(choose[m])[:, None] * one[: m + 1] * other[m::-1]).sum(axis=0)
    return made
