"""Who sent what in a shuffled store: the chances of every kind of sender for every kind of entry.

The order of a store tells nothing: all orders are equally likely. Entries that look alike can be exchanged, and senders
with the same data, so that kinds are matched, not people. L[e, c] is the chance of an entry of kind e from a sender of
kind c, and m_c the number of senders of that kind. With P(z) the product over all entries of sum_c L[e, c] z_c, an
entry e comes from kind c with probability

    L[e, c]  x  coefficient of z^(m - 1_c) in P(z) / sum_c L[e, c] z_c   over   coefficient of z^m in P(z).

These are permanents, written so that every term is positive. The product has prod (m_c + 1) coefficients that matter;
where they are too many, belief propagation (whose fixed point is unique: Vontobel 2013) comes close.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidInput

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

MOST_STATES = 1 << 22
"""Choices of senders times entries: what the exact way holds in memory."""
MOST_STEPS = 1 << 26
"""The same times kinds of senders: what it computes."""
_ROUNDS = 500
_CLOSE = 1e-10
_ALMOST = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class Senders:
    """`chances[e, c]`: an entry of kind e is from a sender of kind c. Rows sum to 1."""

    chances: Floats
    exact: bool


def senders_of(likelihoods: Floats, entries: Counts, people: Counts) -> Senders:
    """The chances of each kind of sender, for every kind of entry; `entries` and `people` have as many in all."""
    top = likelihoods.max(axis=1, keepdims=True)
    if (top <= 0.0).any():
        raise InvalidInput("A report cannot come from any of these data; give the data that the reports were made of.")
    scaled = likelihoods / top
    states = math.prod(int(count) + 1 for count in people)
    sends = int(entries.sum())
    exact = states * sends <= MOST_STATES and states * sends * len(people) <= MOST_STEPS
    found = _enumerated(scaled, entries, people) if exact else _propagated(scaled, entries, people)
    return Senders(found, exact)


def _enumerated(L: Floats, entries: Counts, people: Counts) -> Floats:
    """Forward over the entries, then back: what precedes an entry, and what follows, is a sum over choices of senders.

    A choice of senders is a number whose digit c counts those of kind c; what follows uses the other senders, so that
    its array read from the end fits what precedes.
    """
    shapes = _shapes(people)
    order = np.repeat(np.arange(len(entries)), entries)
    begin = np.zeros(math.prod(int(count) + 1 for count in people))
    begin[0] = 1.0
    before = [begin]
    for kind in order[:-1]:
        before.append(_with(before[-1], L[kind], shapes))
    after, found = begin, np.zeros_like(L)
    for place in range(len(order) - 1, -1, -1):
        kind = order[place]
        if place == 0 or order[place - 1] != kind:
            others = after[::-1]
            found[kind] = [
                chance * float((_part(before[place], shape)[:, :-1] * _part(others, shape)[:, 1:]).sum())
                for chance, shape in zip(L[kind], shapes, strict=True)
            ]
        after = _with(after, L[kind], shapes)
    totals = found.sum(axis=1, keepdims=True)
    if not (totals > 0.0).all():
        raise InvalidInput("These reports cannot come from these data; give the data that the reports were made of.")
    return np.asarray(found / totals)


def _shapes(people: Counts) -> list[tuple[int, int, int]]:
    """An array over choices of senders, seen from each kind: the kinds above it, its own digit, the kinds below."""
    sizes = [int(count) + 1 for count in people]
    return [(math.prod(sizes[:at]), size, math.prod(sizes[at + 1 :])) for at, size in enumerate(sizes)]


def _part(states: Floats, shape: tuple[int, int, int]) -> Floats:
    return states.reshape(shape)


def _with(states: Floats, chances: Floats, shapes: list[tuple[int, int, int]]) -> Floats:
    """One entry more: it takes a sender of any kind. Scaled, so that nothing underflows."""
    more = np.zeros_like(states)
    for chance, shape in zip(chances, shapes, strict=True):
        if chance > 0.0:
            _part(more, shape)[:, 1:] += chance * _part(states, shape)[:, :-1]
    top = float(more.max())
    return more / top if top > 0.0 else more


def _propagated(L: Floats, entries: Counts, people: Counts) -> Floats:
    """Belief propagation: an entry tells a person how much it needs them, given all others, and the other way round."""
    rows, columns = entries[:, None].astype(np.float64), people[None, :].astype(np.float64)
    of_person = np.ones_like(L)
    found = L
    for _ in range(_ROUNDS):
        of_entry = L / _others(L * of_person, columns, 1)
        of_person = 1.0 / _others(of_entry, rows, 0)
        odds = of_entry * of_person
        belief = odds / (1.0 + odds) * columns
        belief /= belief.sum(axis=1, keepdims=True)
        change = float(np.abs(belief - found).max())
        found = belief
        if change < _CLOSE:
            break
    return found


def _others(weights: Floats, counts: Floats, axis: int) -> Floats:
    """The sum over all others of a side: over all, without one's own."""
    total = (weights * counts).sum(axis=axis, keepdims=True)
    floor = np.maximum(total * _ALMOST, np.finfo(np.float64).tiny)
    return np.asarray(np.maximum(total - weights, floor), np.float64)
