"""Bases: the scores that all users have from the head of a target, kept as classes of equal score.

A head is a path: first the rank-one term, then features. Each step moves the users of one posting to new classes and
leaves the others where they are, so a step costs its posting and a copy of the class numbers, and targets whose heads
begin alike share the steps. At depth d, user u has the score values[classes[d, u]]; class c < sizes[d] has counts[d, c]
users. Steps only append to `values`, so the classes of a shorter path stay valid. Two classes may have equal values.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from entropie.kernels.attack_law import slot_of

__all__ = ["common_path", "ladder_of", "lead", "merge_order", "move_users", "offer", "posting_parts", "size_parts"]


@njit(nogil=True, cache=True)
def common_path(
    one: int,
    other: int,
    offsets: NDArray[np.int64],
    features: NDArray[np.uint32],
    weights: NDArray[np.float64],
    heads: NDArray[np.int64],
    sizes: NDArray[np.float64],
) -> int:
    """Count the steps that the heads of two targets have in common."""
    steps = 0
    if sizes.shape[0] > 0:
        if sizes[one] != sizes[other]:
            return 0
        steps = 1
    for step in range(min(heads[one], heads[other])):
        first = offsets[one] + step
        second = offsets[other] + step
        if features[first] != features[second] or weights[first] != weights[second]:
            break
        steps += 1
    return steps


@njit(nogil=True, cache=True)
def size_parts(size: float, penalty: NDArray[np.float64], scale: float, parts: NDArray[np.int64]) -> None:
    """What the rank-one term adds to every user's score."""
    for user in range(penalty.shape[0]):
        parts[user] = -np.int64(np.rint(size * penalty[user] * scale))


@njit(nogil=True, cache=True)
def posting_parts(fixed: NDArray[np.int64], weight: float, parts: NDArray[np.int64]) -> None:
    """What a feature adds to the scores of the users in its posting."""
    whole = np.int64(weight)
    exact = np.float64(whole) == weight
    for post in range(fixed.shape[0]):
        parts[post] = whole * fixed[post] if exact else np.int64(np.rint(weight * np.float64(fixed[post])))


@njit(nogil=True, cache=True)
def move_users(
    users: NDArray[np.uint32],
    parts: NDArray[np.int64],
    begin: int,
    before: NDArray[np.uint32],
    after: NDArray[np.uint32],
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    slots: NDArray[np.int64],
    first: int,
    found: int,
) -> tuple[int, int]:
    """Move users begin.. of a posting to new classes, numbered from `first`; next place and classes there are.

    Stops where the slots are half full or the classes have no room.
    """
    mask = slots.shape[0] - 1
    place = begin
    while place < users.shape[0] and 2 * (found - first) <= mask and found < values.shape[0]:
        user = users[place]
        old = before[user]
        score = values[old] + parts[place]
        slot = slot_of(score, mask)
        while slots[slot] >= 0 and values[slots[slot]] != score:
            slot = (slot + 1) & mask
        number = slots[slot]
        if number < 0:
            number = found
            slots[slot] = number
            values[number] = score
            counts[number] = 0
            found += 1
        after[user] = number
        counts[old] -= 1
        counts[number] += 1
        place += 1
    return place, found


@njit(nogil=True, cache=True)
def offer(
    best_scores: NDArray[np.int64], best_users: NDArray[np.int64], filled: int, score: int, user: np.int64
) -> int:
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


@njit(nogil=True, cache=True)
def lead(
    users: NDArray[np.uint32],
    parts: NDArray[np.int64],
    classes: NDArray[np.uint32],
    values: NDArray[np.int64],
    first: int,
    former: NDArray[np.int64],
    leaders: NDArray[np.int64],
) -> None:
    """Find the users who lead after a step, best first: `former` led before, those with classes from `first` moved.

    Nobody who neither led nor moved can lead now, unless some users moved down: then all are looked at.
    """
    scores = np.empty(leaders.shape[0], np.int64)
    filled = 0
    for place in range(former.shape[0]):
        user = former[place]
        if classes[user] < first:
            filled = offer(scores, leaders, filled, values[classes[user]], user)
    down = False
    for place in range(users.shape[0]):
        down |= parts[place] < 0
        user = np.int64(users[place])
        score = values[classes[user]]
        if filled < leaders.shape[0] or score >= scores[filled - 1]:
            filled = offer(scores, leaders, filled, score, user)
    if down and users.shape[0] < classes.shape[0]:
        filled = 0
        for user in range(classes.shape[0]):
            score = values[classes[user]]
            if filled < leaders.shape[0] or score > scores[filled - 1]:
                filled = offer(scores, leaders, filled, score, np.int64(user))


@njit(nogil=True, cache=True)
def merge_order(
    values: NDArray[np.int64], before: NDArray[np.int64], first: int, found: int, after: NDArray[np.int64]
) -> None:
    """Put the classes below `found` in order of value, given those below `first` in order."""
    fresh = np.argsort(values[first:found], kind="mergesort")
    old = 0
    new = 0
    for place in range(found):
        if old < first and (new == found - first or values[before[old]] <= values[first + fresh[new]]):
            after[place] = before[old]
            old += 1
        else:
            after[place] = first + fresh[new]
            new += 1


@njit(nogil=True, cache=True)
def ladder_of(
    values: NDArray[np.int64], counts: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the values that users have, ascending; and how many users reach each of them or more, with 0 at the end."""
    ladder = np.empty(order.shape[0], np.int64)
    above = np.zeros(order.shape[0] + 1, np.int64)
    rung = order.shape[0]
    for place in range(order.shape[0] - 1, -1, -1):
        number = order[place]
        if counts[number] > 0:
            rung -= 1
            ladder[rung] = values[number]
            above[rung] = above[rung + 1] + counts[number]
    return ladder[rung:], above[rung:]
