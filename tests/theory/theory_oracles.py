"""Slow and obvious: channels as matrices, every assignment of items to users, definitions written out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from hypothesis import settings


def steady(examples: int) -> settings:
    """The same examples on every run."""
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None)


# --- channels -------------------------------------------------------------------------------------------------


def response_matrix(k: int, epsilon: float) -> np.ndarray:
    """Q[x, y] of randomized response: e^eps for the truth against 1 for each other answer."""
    weights = np.ones((k, k))
    weights[np.arange(k), np.arange(k)] = math.exp(epsilon)
    return weights / weights.sum(axis=1, keepdims=True)


def hashed_matrix(tables: np.ndarray, g: int, epsilon: float) -> np.ndarray:
    """Q[x, (h, y)] of local hashing; `tables[h, x]` = h(x), every h equally likely and part of the report."""
    answer = response_matrix(g, epsilon)
    functions, k = tables.shape
    Q = np.empty((k, functions * g))
    for x in range(k):
        Q[x] = np.concatenate([answer[tables[h, x]] for h in range(functions)]) / functions
    return Q


def linear_tables(prime: int, g: int, k: int) -> np.ndarray:
    """h(x) = ((a x + b) mod P) mod g for every a in 1..P-1 and b in 0..P-1."""
    return np.array(
        [[(a * x + b) % prime % g for x in range(k)] for a in range(1, prime) for b in range(prime)], dtype=int
    )


def all_tables(g: int, k: int) -> np.ndarray:
    """Every function from k items to g values."""
    return np.array(list(itertools.product(range(g), repeat=k)), dtype=int)


def repeated(Q: np.ndarray, t: int) -> np.ndarray:
    """The channel of t independent reports: rows are t-tuples of items, columns t-tuples of answers."""
    product = Q
    for _ in range(t - 1):
        product = np.kron(product, Q)
    return product


def assignments(n: int, k: int) -> np.ndarray:
    """Every f: [n] -> [k]."""
    return np.array(list(itertools.product(range(k), repeat=n)), dtype=int)


def subsets(n: int, k: int) -> Iterator[np.ndarray]:
    """Every non-empty set of at most n items, the sets of one size as rows."""
    for size in range(1, min(n, k) + 1):
        yield np.array(list(itertools.combinations(range(k), size)), dtype=int)


def random_channel(rng: np.random.Generator, k: int, outputs: int, spread: float) -> np.ndarray:
    """Rows of probabilities, none zero; `spread` is how different they may be."""
    return normalised(rng.uniform(0.2, 1.0, outputs) * np.exp(rng.uniform(0.0, spread, (k, outputs))))


def normalised(rows: np.ndarray) -> np.ndarray:
    return rows / rows.sum(axis=-1, keepdims=True)


def budget_of(Q: np.ndarray) -> float:
    """Largest ln Q(y|x)/Q(y|x'), pair by pair."""
    return max(abs(math.log(a / b)) for column in Q.T for a, b in itertools.combinations(column, 2))


# --- information ----------------------------------------------------------------------------------------------


def information_bits(p: np.ndarray, Q: np.ndarray) -> float:
    """I(U;Y) = sum p(u) p(y|u) log p(y|u)/p(y)."""
    return float(np.asarray(p) @ divergences_bits(Q, np.asarray(p) @ Q))


def divergences_bits(Q: np.ndarray, output: np.ndarray) -> np.ndarray:
    """D(Q_u || output) for every row u."""
    safe = np.where(Q > 0.0, Q, 1.0)
    bottom = np.where(output > 0.0, output, 1.0)
    return np.where(Q > 0.0, Q * np.log2(safe / bottom), 0.0).sum(axis=-1)


def capacities(channels: np.ndarray, step: float = 1.0, rounds: int = 2000, gap: float = 1e-10) -> tuple:
    """Blahut-Arimoto over a stack of channels: what is attained and what is not exceeded, for each.

    Both ends hold whatever the step is: I(p) <= C <= max_u D(Q_u || pQ).
    """
    p = np.full(channels.shape[:2], 1.0 / channels.shape[1])
    for _ in range(rounds):
        output = np.einsum("bu,buy->by", p, channels)
        D = divergences_bits(channels, output[:, None, :])
        low, high = np.einsum("bu,bu->b", p, D), D.max(axis=1)
        if (high - low).max() <= gap:
            break
        p = normalised(p * np.exp2(step * (D - high[:, None])))
    return low, high


def quickest_step(epsilon: float) -> float:
    """Weak channels need long steps; this length keeps the ascent monotone."""
    return 1.0 / math.tanh(epsilon / 2.0) ** 2


def sibson_bits(p: np.ndarray, Q: np.ndarray, order: float) -> float:
    """a/(a-1) log sum_y (sum_u p_u Q(y|u)^a)^(1/a); the maximum over used rows at infinity."""
    if math.isinf(order):
        return float(np.log2(Q[np.asarray(p) > 0.0].max(axis=0).sum()))
    inner = np.asarray(p) @ Q**order
    return float(order / (order - 1.0) * np.log2((inner ** (1.0 / order)).sum()))


def sibson_ceiling_bits(p: np.ndarray, Q: np.ndarray, order: float) -> float:
    """No prior on these rows has more: F = sum_y (sum_u p_u Q^a)^(1/a) is concave, so F* <= F(p) + largest slope."""
    inner = np.asarray(p) @ Q**order
    F = (inner ** (1.0 / order)).sum()
    slopes = (Q**order * inner ** (1.0 / order - 1.0)).sum(axis=1) / order
    return float(order / (order - 1.0) * np.log2(F + slopes.max() - np.asarray(p) @ slopes))


# --- guessing -------------------------------------------------------------------------------------------------


def success(p: np.ndarray, Q: np.ndarray, guesses: int = 1) -> float:
    """The attacker sees y and names the `guesses` users with the largest p_u Q(y|u)."""
    joint = np.asarray(p)[:, None] * Q
    return float(np.sort(joint, axis=0)[-guesses:].sum())


def worst_success(Q: np.ndarray, p: np.ndarray, guesses: int = 1) -> float:
    """The same, worst over every assignment of items to users."""
    return max(success(p, Q[f], guesses) for f in assignments(len(p), len(Q)))


def uniform(n: int) -> np.ndarray:
    return np.full(n, 1.0 / n)


def random_law(rng: np.random.Generator, n: int) -> np.ndarray:
    """Sometimes even, sometimes nearly all on one."""
    return rng.dirichlet(np.full(n, float(rng.choice([0.1, 1.0, 10.0]))))


def random_conditional(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """p(x|u) of every user."""
    return np.array([random_law(rng, k) for _ in range(n)])


# --- repetition codes: every user sends her own letter t times ------------------------------------------------


def partitions(total: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """Every way to write `total` as a sum of falling positive parts."""
    if total == 0:
        yield ()
        return
    for part in range(min(total, largest or total), 0, -1):
        for rest in partitions(total - part, part):
            yield (part, *rest)


def repetition_code(n: int, k: int, epsilon: float, t: int) -> tuple[float, float]:
    """(I(U;Y^t) in bits, success) for n <= k equally likely users, over how often each letter is reported."""
    w = math.exp(epsilon)
    Z = k + w - 1.0
    bits, right = [], []
    for used in range(t + 1):
        elsewhere = math.comb(t, used) * ((k - n) / Z) ** (t - used)
        for counts in partitions(used):
            if len(counts) > n:
                continue
            ways = math.perm(n, len(counts)) * math.factorial(used)
            for part in counts:
                ways //= math.factorial(part)
            for multiplicity in (counts.count(part) for part in set(counts)):
                ways //= math.factorial(multiplicity)
            weight = elsewhere * ways / Z**used / n  # of one pattern and one user whose letter was reported 0 times
            total = math.fsum([w**part for part in counts]) + n - len(counts)
            right.append(weight * max([w**part for part in counts], default=1.0))
            bits += [weight * w**part * math.log2(n * w**part / total) for part in counts]
            bits.append(weight * (n - len(counts)) * math.log2(n / total))
    return math.fsum(bits), math.fsum(right)
