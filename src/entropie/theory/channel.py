"""Any mechanism given as a matrix Q[x, y] = Pr(y | x): capacity, success, contraction, and what it inherits.

With fewer people than items only some rows are used. What is worst over the choice is found by branch and bound where
the matrix is small, and else bounded from both sides: a choice that attains the lower end, and a ceiling for all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.document.base import Part, Unlimited
from entropie.errors import InvalidParameter
from entropie.theory import checks
from entropie.theory.capacity import Capacity, capacity_of

Floats = NDArray[np.float64]
_MOST_NODES = 400
_MOST_WORK = 3e8  # multiplications of all nodes, about
_CELLS = 1 << 22
_MOST_PAIRS = 20_000
_SLOPES = 40


class Between(Part, frozen=True):
    """A value that certainly lies between these two; the same number twice where it is exact."""

    low: Unlimited
    high: Unlimited


def capacity(matrix: ArrayLike, tolerance_bits: float = 1e-9) -> Capacity:
    """alpha* of a mechanism when users are at least as many as items; for fewer `high_bits` still is a bound."""
    return capacity_of(checked_matrix(matrix), tolerance_bits)


def alpha_bits(matrix: ArrayLike, users: int, tolerance_bits: float = 1e-9, known: Capacity | None = None) -> Between:
    """The largest capacity over all choices of at most n rows; `known` is that of all rows, where it is."""
    Q, n = checked_matrix(matrix), checks.whole_number("users", users)
    whole = known or capacity_of(Q, tolerance_bits)
    ceiling = min(whole.high_bits, math.log2(n), doeblin_theta(Q) * math.log2(min(n, len(Q))))
    if n >= len(Q) or np.count_nonzero(whole.inputs > 0.0) <= n:
        return Between(min(whole.low_bits, ceiling), ceiling)

    def bounded(rows: NDArray[np.intp]) -> tuple[float, NDArray[np.intp]]:
        """No choice from these rows has more, and the rows in the order of their use."""
        found = whole if len(rows) == len(Q) else capacity_of(Q[rows], tolerance_bits)
        return found.high_bits, rows[np.argsort(-found.inputs, kind="stable")]

    def attained(rows: NDArray[np.intp]) -> float:
        return capacity_of(Q[rows], tolerance_bits).low_bits

    best, left = _branch_and_bound(len(Q), n, bounded, attained, tolerance_bits, Q.size * len(Q))
    return Between(best, max(best, min(ceiling, left)))


def success(matrix: ArrayLike, users: int) -> Between:
    """Worst-case chance of naming one of n equally likely people: the largest sum_y max_x Q(y|x) / n over n rows."""
    Q, n = checked_matrix(matrix), checks.whole_number("users", users)
    whole = float(Q.max(axis=0).sum())
    if n >= len(Q):
        return Between(whole / n, whole / n)
    if math.comb(len(Q), n) * n * Q.shape[1] <= _MOST_WORK:
        best = max(
            float(Q[np.array(some)].max(axis=1).sum(axis=1).max())
            for some in _batched(itertools.combinations(range(len(Q)), n), max(1, _CELLS // (n * Q.shape[1])))
        )
        return Between(best / n, best / n)
    theta = doeblin_theta(Q)

    def bounded(rows: NDArray[np.intp]) -> tuple[float, NDArray[np.intp]]:
        """Covering is submodular: what a greedy choice covers, and the n largest gains that remain."""
        part = Q[rows]
        chosen, covered, ceiling = [], np.zeros(Q.shape[1]), math.inf
        for _ in range(min(n, len(rows))):
            gains = np.maximum(part - covered, 0.0).sum(axis=1)
            ceiling = min(ceiling, float(covered.sum() + np.sort(gains)[-n:].sum()))
            chosen.append(int(gains.argmax()))
            covered = np.maximum(covered, part[chosen[-1]])
        rest = [place for place in range(len(rows)) if place not in set(chosen)]
        return min(ceiling, float(part.max(axis=0).sum())), rows[chosen + rest]

    best, left = _branch_and_bound(len(Q), n, bounded, lambda rows: float(Q[rows].max(axis=0).sum()), 1e-12, Q.size * n)
    return Between(best / n, max(best, min(left, whole, theta * n + 1.0 - theta)) / n)


def _batched(choices: Iterable[tuple[int, ...]], size: int) -> Iterator[list[tuple[int, ...]]]:
    """In lists of so many."""
    rest = iter(choices)
    while some := list(itertools.islice(rest, size)):
        yield some


def _branch_and_bound(
    items: int,
    n: int,
    bounded: Callable[[NDArray[np.intp]], tuple[float, NDArray[np.intp]]],
    attained: Callable[[NDArray[np.intp]], float],
    tolerance: float,
    work: float,
) -> tuple[float, float]:
    """The best of n rows found, and a ceiling for all: the same where the search came to its end.

    A node takes about so much `work`: of a large matrix only few are opened.

    A node has rows that are kept and rows that are left out; it is bounded by all rows that are not left out, and split
    at the row that its own best choice uses most among those that are not kept.
    """
    best, ceiling, nodes, most = 0.0, 0.0, 0, min(_MOST_NODES, _MOST_WORK / work)
    waiting: list[tuple[frozenset[int], NDArray[np.intp]]] = [(frozenset(), np.arange(items))]
    while waiting:
        kept, rows = waiting.pop()
        limit, order = bounded(rows)
        if limit <= best + tolerance:
            ceiling = max(ceiling, min(limit, best + tolerance))
            continue
        free = [int(row) for row in order if int(row) not in kept]
        chosen = np.array(sorted({*kept, *free[: n - len(kept)]}), np.intp)
        best = max(best, attained(chosen))
        nodes += 1
        if nodes >= most:
            ceiling = max([ceiling, limit, *(bounded(more)[0] for _, more in waiting)])
            break
        if len(rows) <= n:
            ceiling = max(ceiling, min(limit, best + tolerance))
            continue
        split = free[0]
        waiting.append((kept, rows[rows != split]))
        if len(kept) + 1 < n:
            waiting.append((kept | {split}, rows))
        else:
            full = np.array(sorted({*kept, split}), np.intp)
            best = max(best, attained(full))
    return best, max(best, ceiling)


def doeblin_theta(matrix: ArrayLike) -> float:
    """1 - sum_y min_x Q(y|x): the mechanism inherits the randomized-response theorem with this theta."""
    return max(0.0, 1.0 - float(checked_matrix(matrix).min(axis=0).sum()))


def epsilon(matrix: ArrayLike) -> float:
    """The local differential privacy of the matrix: largest ln Q(y|x)/Q(y|x')."""
    Q = checked_matrix(matrix)
    low, high = Q.min(axis=0), Q.max(axis=0)
    used = high > 0.0
    with np.errstate(divide="ignore"):
        return float(np.log(high[used] / low[used]).max())


def dobrushin(matrix: ArrayLike) -> float:
    """Largest total variation distance of two rows: no divergence keeps a larger share."""
    Q = checked_matrix(matrix)
    return max((float(np.abs(Q[x + 1 :] - Q[x]).sum(axis=1).max()) / 2.0 for x in range(len(Q) - 1)), default=0.0)


def contraction(matrix: ArrayLike) -> Between:
    """The eta of I(U;Y) <= eta I(U;X), best possible.

    Two inputs attain it (Ordentlich & Polyanskiy 2021): it is the largest 1 - sum_y P Q/(b P + (1-b) Q) over two rows
    and b in (0, 1), concave in b. Pairs are tried in the order of their distance, which bounds them; where there are
    too many, or none is left that could have more, the next distance is the ceiling.
    """
    Q = checked_matrix(matrix)
    if len(Q) == 1:
        return Between(0.0, 0.0)
    ones, others = np.triu_indices(len(Q), 1)
    far = np.concatenate([np.abs(Q[x + 1 :] - Q[x]).sum(axis=1) / 2.0 for x in range(len(Q) - 1)])
    order = np.argsort(-far, kind="stable")
    low = high = 0.0
    budget = max(50, _MOST_PAIRS * 50 // Q.shape[1])
    for tried, pair in enumerate(order):
        if far[pair] <= low or tried == budget:
            return Between(low, max(high, float(far[pair]) if far[pair] > low else low))
        found = _le_cam(Q[ones[pair]], Q[others[pair]], low)
        low, high = max(low, found.low), max(high, found.high)
    return Between(low, high)


def _le_cam(P: Floats, Q: Floats, enough: float) -> Between:
    """Max over b of a concave function: bisection on its slope, the tangents at both ends its ceiling."""
    used = (P > 0.0) & (Q > 0.0)
    P, Q = P[used], Q[used]
    product, difference = P * Q, P - Q

    def value(b: float) -> tuple[float, float]:
        mixed = b * P + (1.0 - b) * Q
        terms = product / mixed
        return 1.0 - float(terms.sum()), float((terms / mixed) @ difference)

    begin, end, low, high = 0.0, 1.0, 0.0, 1.0
    for _ in range(_SLOPES):
        middle = (begin + end) / 2.0
        at, slope = value(middle)
        low = max(low, at)
        high = min(high, at + abs(slope) * (end - begin) / 2.0)
        if high <= enough or high - low < 1e-12 or slope == 0.0:
            break
        begin, end = (middle, end) if slope > 0.0 else (begin, middle)
    return Between(low, high)


def order_capacity_bits(matrix: ArrayLike, order: float, rounds: int = 2000, tolerance_bits: float = 1e-6) -> Between:
    """Order-a information (Sibson) at its largest over input laws, a > 1: a/(a-1) log max F, F = sum_y (p Q^a)^(1/a).

    F is concave in p, so F(p) + the largest slope - p slopes is its ceiling; p grows in proportion to its slopes.
    """
    Q = checked_matrix(matrix)
    if math.isinf(order):
        bits = math.log2(float(Q.max(axis=0).sum()))
        return Between(bits, bits)
    if not order > 1.0:
        raise InvalidParameter.of("order", "a number above 1 (infinity is maximal leakage)", order)
    scale = Q.max(axis=0)  # so that no power underflows
    powers = np.divide(Q, scale, out=np.zeros_like(Q), where=scale > 0.0) ** order
    p, ends = np.full(len(Q), 1.0 / len(Q)), Between(0.0, math.inf)
    for _ in range(rounds):
        inner = p @ powers
        weight = np.divide(scale * inner ** (1.0 / order), inner, out=np.zeros_like(inner), where=inner > 0.0)
        F, slopes = float((weight * inner).sum()), (powers @ weight) / order
        low, high = (order / (order - 1.0) * math.log2(bound) for bound in (F, F + slopes.max() - float(p @ slopes)))
        ends = Between(max(ends.low, low), min(ends.high, high))
        if ends.high - ends.low <= tolerance_bits:
            break
        p = p * slopes
        p /= p.sum()
    return ends


def checked_matrix(matrix: ArrayLike) -> Floats:
    """A table whose rows are probabilities."""
    Q = np.asarray(matrix, dtype=np.float64)
    if Q.ndim != 2 or Q.size == 0:
        raise InvalidParameter("Parameter `matrix` must be a table of probabilities, one row per item.")
    if not np.isfinite(Q).all() or (Q < 0.0).any() or np.abs(Q.sum(axis=1) - 1.0).max() > 1e-9:
        raise InvalidParameter("Parameter `matrix` must have rows of probabilities that sum to 1.")
    return Q
