"""Bases: the scores that all users have from the head of a target, kept as classes of equal score.

A head is a path: first the rank-one term, then features. Each step moves the users of one posting to new classes and
leaves the others where they are, so a step costs its posting and a copy of the class numbers, and targets whose heads
begin alike share the steps. Steps only append classes, so those of a shorter path stay valid. Two classes may have
equal values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from entropie.kernels.arrays import Codes, Floats, Ints
from entropie.kernels.attack_law import slot_of
from entropie.kernels.attack_records import TargetBlock, inner
from entropie.kernels.caching import njit


class Bases(NamedTuple):
    """A path: at depth d, user u has the score values[classes[d, u]]."""

    values: Ints  # of the classes of all depths
    known: Ints  # classes that there are at each depth
    classes: Codes  # depth x user
    counts: Ints  # depth x class: users in it
    orders: Ints  # depth x place: the classes by value
    leaders: Ints  # depth x place: some of the best users, best first


class Base(NamedTuple):
    """What targets at the end of a path have in common."""

    values: Ints
    classes: Codes  # of the users
    counts: Ints
    leaders: Ints
    ladder: Ints  # the values that users have, ascending
    above: Ints  # users who reach each of them or more, with 0 at the end
    removed: Ints  # class: users reached otherwise, over all targets; written to


@inner
def new_bases(users: int, depths: int, leaders: int) -> Bases:
    """Begin with all users in one class of score zero."""
    bases = Bases(
        np.zeros(1024, np.int64),
        np.ones(depths, np.int64),
        np.zeros((depths, users), np.uint32),
        np.zeros((depths, 1024), np.int64),
        np.zeros((depths, 1024), np.int64),
        np.zeros((depths, leaders), np.int64),
    )
    bases.counts[0, 0] = users
    for place in range(leaders):
        bases.leaders[0, place] = place
    return bases


@inner
def common_path(targets: TargetBlock, one: int, other: int) -> int:
    """Count the steps that the heads of two targets have in common."""
    steps = 0
    if targets.sizes.shape[0] > 0:
        if targets.sizes[one] != targets.sizes[other]:
            return 0
        steps = 1
    for step in range(min(targets.heads[one], targets.heads[other])):
        first = targets.offsets[one] + step
        second = targets.offsets[other] + step
        if targets.features[first] != targets.features[second] or targets.weights[first] != targets.weights[second]:
            break
        steps += 1
    return steps


@inner
def size_parts(size: float, penalty: Floats, scale: float, parts: Ints) -> None:
    """What the rank-one term adds to every user's score."""
    for user in range(penalty.shape[0]):
        parts[user] = -np.int64(np.rint(size * penalty[user] * scale))


@inner
def posting_parts(fixed: Ints, weight: float, parts: Ints) -> None:
    """What a feature adds to the scores of the users in its posting."""
    whole = np.int64(weight)
    exact = np.float64(whole) == weight
    for post in range(fixed.shape[0]):
        parts[post] = whole * fixed[post] if exact else np.int64(np.rint(weight * np.float64(fixed[post])))


@inner
def take_step(bases: Bases, depth: int, movers: Codes, parts: Ints) -> Bases:
    """Go from `depth` one deeper: copy its classes, move the movers by their parts, and put all in order.

    Returns the bases, which may have grown.
    """
    first = bases.known[depth]
    _copy(bases.classes[depth], bases.classes[depth + 1], bases.classes.shape[1])
    _copy(bases.counts[depth], bases.counts[depth + 1], first)
    slots = np.full(1024, -1, np.int64)
    place = 0
    last = first
    while True:
        place, last = _move_users(bases, depth, movers, parts, place, slots, last)
        if place == movers.shape[0]:
            break
        if last == bases.values.shape[0]:
            bases = _with_room(bases)
        if 2 * (last - first) >= slots.shape[0]:
            slots = _more_slots(slots, bases.values, first, last)
    bases.known[depth + 1] = last
    _merge_order(bases.values, bases.orders[depth], first, last, bases.orders[depth + 1])
    _lead(bases, depth, movers, parts)
    return bases


@inner
def _copy(source: NDArray[np.integer], copy: NDArray[np.integer], size: int) -> None:
    """Copy the first numbers: a loop, because an assignment of slices compiles what tells wrong shapes in words."""
    for place in range(size):
        copy[place] = source[place]


@inner
def _move_users(
    bases: Bases, depth: int, movers: Codes, parts: Ints, begin: int, slots: Ints, last: int
) -> tuple[int, int]:
    """Move users begin.. to new classes, numbered from known[depth] up to below `last`; next user and next number.

    Stops where the slots are half full or the classes have no room.
    """
    before, after, values, counts = (
        bases.classes[depth],
        bases.classes[depth + 1],
        bases.values,
        bases.counts[depth + 1],
    )
    first = bases.known[depth]
    mask = slots.shape[0] - 1
    place = begin
    while place < movers.shape[0] and 2 * (last - first) <= mask and last < values.shape[0]:
        user = movers[place]
        old = before[user]
        score = values[old] + parts[place]
        slot = slot_of(score, mask)
        while slots[slot] >= 0 and values[slots[slot]] != score:
            slot = (slot + 1) & mask
        number = slots[slot]
        if number < 0:
            number = last
            slots[slot] = number
            values[number] = score
            counts[number] = 0
            last += 1
        after[user] = number
        counts[old] -= 1
        counts[number] += 1
        place += 1
    return place, last


@inner
def _with_room(bases: Bases) -> Bases:
    """Make room for twice as many classes."""
    depths, room = bases.counts.shape
    values = np.zeros(2 * room, np.int64)
    counts = np.zeros((depths, 2 * room), np.int64)
    orders = np.zeros((depths, 2 * room), np.int64)
    _copy(bases.values, values, room)
    for depth in range(depths):
        _copy(bases.counts[depth], counts[depth], room)
        _copy(bases.orders[depth], orders[depth], room)
    return Bases(values, bases.known, bases.classes, counts, orders, bases.leaders)


@inner
def _more_slots(slots: Ints, values: Ints, first: int, last: int) -> Ints:
    """Enter classes first..last-1 by their values into four times as many slots."""
    slots = np.full(4 * slots.shape[0], -1, np.int64)
    mask = slots.shape[0] - 1
    for number in range(first, last):
        slot = slot_of(values[number], mask)
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = number
    return slots


@inner
def _merge_order(values: Ints, before: Ints, first: int, last: int, after: Ints) -> None:
    """Put the classes below `last` in order of value, given those below `first` in order."""
    fresh = np.argsort(values[first:last], kind="mergesort")
    old = 0
    new = 0
    for place in range(last):
        if old < first and (new == last - first or values[before[old]] <= values[first + fresh[new]]):
            after[place] = before[old]
            old += 1
        else:
            after[place] = first + fresh[new]
            new += 1


@njit(nogil=True, cache=True, inline="always")
def offer(best_scores: Ints, best_users: Ints, filled: int, score: int, user: np.int64) -> int:
    """Insert a user among the best, higher scores first and equal scores by number; returns how many there are."""
    size = best_scores.shape[0]
    if filled == size:
        if score < best_scores[size - 1] or (score == best_scores[size - 1] and user > best_users[size - 1]):
            return filled
        place = size - 1
    else:
        place = filled
        filled += 1
    while place > 0 and (
        best_scores[place - 1] < score or (best_scores[place - 1] == score and best_users[place - 1] > user)
    ):
        best_scores[place] = best_scores[place - 1]
        best_users[place] = best_users[place - 1]
        place -= 1
    best_scores[place] = score
    best_users[place] = user
    return filled


@inner
def _lead(bases: Bases, depth: int, movers: Codes, parts: Ints) -> None:
    """Find the users who lead after a step, from those who led before it and those who moved.

    Nobody who neither led nor moved can lead now, unless some users moved down: then all are looked at.
    """
    classes, values, first = bases.classes[depth + 1], bases.values, bases.known[depth]
    former, leaders = bases.leaders[depth], bases.leaders[depth + 1]
    scores = np.empty(leaders.shape[0], np.int64)
    filled = 0
    for place in range(former.shape[0]):
        user = former[place]
        if classes[user] < first:
            filled = offer(scores, leaders, filled, values[classes[user]], user)
    down = False
    for place in range(movers.shape[0]):
        down |= parts[place] < 0
        user = np.int64(movers[place])
        score = values[classes[user]]
        if filled < leaders.shape[0] or score >= scores[filled - 1]:
            filled = offer(scores, leaders, filled, score, user)
    if down and movers.shape[0] < classes.shape[0]:
        filled = 0
        for user in range(classes.shape[0]):
            score = values[classes[user]]
            if filled < leaders.shape[0] or score > scores[filled - 1]:
                filled = offer(scores, leaders, filled, score, np.int64(user))


@inner
def base_at(bases: Bases, depth: int) -> Base:
    """Look at one depth: its classes, and the values that users have there."""
    classes = bases.known[depth]
    counts = bases.counts[depth, :classes]
    ladder = np.empty(classes, np.int64)
    above = np.zeros(classes + 1, np.int64)
    rung = classes
    for place in range(classes - 1, -1, -1):
        number = bases.orders[depth, place]
        if counts[number] > 0:
            rung -= 1
            ladder[rung] = bases.values[number]
            above[rung] = above[rung + 1] + counts[number]
    removed = np.zeros(classes, np.int64)
    leaders = bases.leaders[depth]
    return Base(bases.values, bases.classes[depth], counts, leaders, ladder[rung:], above[rung:], removed)
