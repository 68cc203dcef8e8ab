"""All-pairs scoring through an inverted index: exact sums, exact law, no matrix.

Scores are whole multiples of 2^-q in 64-bit integers, so that addition is exact and no order of summation, block or
thread changes one bit.

Targets with the same *head* (first features and rank-one term) share a base: the score that every user has from the
head alone, counted once per distinct value. A target then visits only the postings of its other features, and
corrects the users reached there. A head without features and without a rank-one term is the base zero.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from entropie.kernels.attack_law import EMPTY, count_scores, empty_table, law_of, make_room, slot_of

__all__ = ["score_targets"]


@njit(nogil=True, cache=True)
def _base_scores(
    base: NDArray[np.int64],
    size: float,
    penalty: NDArray[np.float64],
    scale: float,
    starts: NDArray[np.int64],
    users: NDArray[np.uint32],
    fixed: NDArray[np.int64],
    features: NDArray[np.uint32],
    weights: NDArray[np.float64],
) -> None:
    """Every user's score from the head alone: minus the rank-one term, plus the head's features."""
    if penalty.shape[0] > 0:
        for user in range(base.shape[0]):
            base[user] = -np.int64(np.rint(size * penalty[user] * scale))
    else:
        base[:] = 0
    for place in range(features.shape[0]):
        feature = features[place]
        weight = weights[place]
        whole = np.int64(weight)
        if np.float64(whole) == weight:
            for post in range(starts[feature], starts[feature + 1]):
                base[users[post]] += whole * fixed[post]
        else:
            for post in range(starts[feature], starts[feature + 1]):
                base[users[post]] += np.int64(np.rint(weight * np.float64(fixed[post])))


@njit(nogil=True, cache=True)
def _classify(
    base: NDArray[np.int64],
    begin: int,
    classes: NDArray[np.uint32],
    slots: NDArray[np.int64],
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    found: int,
) -> tuple[int, int]:
    """Number base scores from user `begin` on until all slots that may be used are; next user, classes found."""
    mask = slots.shape[0] - 1
    last = EMPTY
    number = 0
    run = 0  # users in a row with the same score
    user = begin
    while user < base.shape[0] and 2 * found <= mask:
        score = base[user]
        if score != last:
            counts[number] += run
            run = 0
            last = score
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
        classes[user] = number
        run += 1
        user += 1
    counts[number] += run
    return user, found


@njit(nogil=True, cache=True)
def _base_classes(base: NDArray[np.int64], classes: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the distinct base scores in order of appearance; returns their values and how many users have each."""
    slots = np.full(1024, -1, np.int64)
    values = np.zeros(513, np.int64)
    counts = np.zeros(513, np.int64)
    user, found = _classify(base, 0, classes, slots, values, counts, 0)
    while user < base.shape[0]:
        rows = 4 * slots.shape[0]
        slots = np.full(rows, -1, np.int64)
        more = np.zeros(rows // 2 + 1, np.int64)
        more[:found] = values[:found]
        values = more
        more = np.zeros(rows // 2 + 1, np.int64)
        more[:found] = counts[:found]
        counts = more
        for number in range(found):
            slot = slot_of(values[number], rows - 1)
            while slots[slot] >= 0:
                slot = (slot + 1) & (rows - 1)
            slots[slot] = number
        user, found = _classify(base, user, classes, slots, values, counts, found)
    return values[:found].copy(), counts[:found].copy()


@njit(nogil=True, cache=True)
def _leaders(
    base: NDArray[np.int64], ladder: NDArray[np.int64], above: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """Name the `size` users best by base score, best first, equal scores by number.

    `ladder` are the distinct base scores, sorted; above[c] users reach ladder[c] or more.
    """
    size = min(size, base.shape[0])
    rung = ladder.shape[0] - 1
    while above[rung] < size:
        rung -= 1
    lowest = ladder[rung]
    at_lowest = size - above[rung + 1]
    leaders = np.empty(size, np.int64)
    place = 0
    for user in range(base.shape[0]):
        if base[user] > lowest:
            leaders[place] = user
            place += 1
        elif base[user] == lowest and at_lowest > 0:
            leaders[place] = user
            place += 1
            at_lowest -= 1
        if place == size:
            break
    keys = np.empty(size, np.int64)
    for place in range(size):
        keys[place] = -base[leaders[place]]
    return leaders[np.argsort(keys, kind="mergesort")]


@njit(nogil=True, cache=True)
def _base(
    base: NDArray[np.int64], classes: NDArray[np.uint32], leading: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sort users into classes of equal base score.

    Returns the value and the number of users of each class, the values sorted (the ladder), how many users reach each
    rung or more, and the leading users.
    """
    values, counts = _base_classes(base, classes)
    order = np.argsort(values)
    ladder = values[order]
    above = np.zeros(values.shape[0] + 1, np.int64)
    for rung in range(values.shape[0] - 1, -1, -1):
        above[rung] = above[rung + 1] + counts[order[rung]]
    return values, counts, ladder, above, _leaders(base, ladder, above, leading)


@njit(nogil=True, cache=True)
def _offer(
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
def _offer_unreached(
    best_scores: NDArray[np.int64],
    best_users: NDArray[np.int64],
    filled: int,
    leaders: NDArray[np.int64],
    scores: NDArray[np.int64],
    classes: NDArray[np.uint32],
    values: NDArray[np.int64],
) -> int:
    """Offer the best users that the target's own features did not reach, until none can enter any more."""
    size = best_scores.shape[0]
    offered = 0
    for place in range(leaders.shape[0]):
        user = leaders[place]
        if scores[user] == EMPTY:
            score = values[classes[user]]
            if filled == size and score < best_scores[size - 1]:
                return filled
            filled = _offer(best_scores, best_users, filled, score, user)
            offered += 1
            if offered == size:
                return filled
    if leaders.shape[0] == scores.shape[0]:
        return filled
    last = leaders[-1]
    last_score = values[classes[last]]
    for user in range(scores.shape[0]):
        if scores[user] == EMPTY:
            score = values[classes[user]]
            if score < last_score or (score == last_score and user > last):
                filled = _offer(best_scores, best_users, filled, score, np.int64(user))
    return filled


@njit(nogil=True, cache=True)
def _same_base(
    one: int,
    other: int,
    offsets: NDArray[np.int64],
    features: NDArray[np.uint32],
    weights: NDArray[np.float64],
    heads: NDArray[np.int64],
    sizes: NDArray[np.float64],
) -> bool:
    if heads[one] != heads[other] or (sizes.shape[0] > 0 and sizes[one] != sizes[other]):
        return False
    for step in range(heads[one]):
        first = offsets[one] + step
        second = offsets[other] + step
        if features[first] != features[second] or weights[first] != weights[second]:
            return False
    return True


@njit(nogil=True, cache=True)
def _visit(
    starts: NDArray[np.int64],
    users: NDArray[np.uint32],
    fixed: NDArray[np.int64],
    features: NDArray[np.uint32],
    weights: NDArray[np.float64],
    scores: NDArray[np.int64],
    reached: NDArray[np.uint32],
) -> int:
    """Add the features of a target to the scores of the users who have them; returns how many users that are."""
    found = 0
    for place in range(features.shape[0]):
        feature = features[place]
        weight = weights[place]
        whole = np.int64(weight)
        exact = np.float64(whole) == weight
        for post in range(starts[feature], starts[feature + 1]):
            user = users[post]
            part = whole * fixed[post] if exact else np.int64(np.rint(weight * np.float64(fixed[post])))
            score = scores[user]
            if score == EMPTY:
                scores[user] = part
                reached[found] = user
                found += 1
            else:
                scores[user] = score + part
    return found


@njit(nogil=True, cache=True)
def _settle(
    reached: NDArray[np.uint32],
    found: int,
    scores: NDArray[np.int64],
    classes: NDArray[np.uint32],
    values: NDArray[np.int64],
    settled: NDArray[np.int64],
    top_scores: NDArray[np.int64],
    top_users: NDArray[np.int64],
) -> int:
    """Add the base to the scores of the users reached, line them up in `settled`, keep the best; returns how many."""
    flat = values.shape[0] == 1
    size = top_scores.shape[0]
    filled = 0
    entry = EMPTY  # what a score must reach to be among the best
    for place in range(found):
        user = np.int64(reached[place])
        score = scores[user] + (values[0] if flat else values[classes[user]])
        settled[place] = score
        if score >= entry:
            filled = _offer(top_scores, top_users, filled, score, user)
            if filled == size:
                entry = top_scores[size - 1]
    return filled


@njit(nogil=True, cache=True)
def _standing(
    own_score: int,
    best: int,
    tolerance: int,
    settled: NDArray[np.int64],
    found: int,
    reached: NDArray[np.uint32],
    classes: NDArray[np.uint32],
    values: NDArray[np.int64],
    ladder: NDArray[np.int64],
    above: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Count the users tied for the best, better than the genuine one, and tied with her (herself included)."""
    near_best = best - tolerance
    over = own_score + tolerance + 1
    near = own_score - tolerance
    at_top = 0
    over_own = 0
    near_own = 0
    for place in range(found):
        score = settled[place]
        at_top += score >= near_best
        over_own += score >= over
        near_own += score >= near
    if ladder[-1] >= near:  # users not reached may count: all by their base, less those reached
        at_top += above[np.searchsorted(ladder, near_best)]
        over_own += above[np.searchsorted(ladder, over)]
        near_own += above[np.searchsorted(ladder, near)]
        for place in range(found):
            score = values[classes[reached[place]]]
            at_top -= score >= near_best
            over_own -= score >= over
            near_own -= score >= near
    return at_top, over_own, near_own - over_own


@njit(nogil=True, cache=True)
def score_targets(
    starts: NDArray[np.int64],
    users: NDArray[np.uint32],
    fixed: NDArray[np.int64],
    user_count: int,
    penalty: NDArray[np.float64],
    scale: float,
    tolerance: int,
    shift: int,
    atoms: NDArray[np.int64],
    atom_count: int,
    offsets: NDArray[np.int64],
    features: NDArray[np.uint32],
    weights: NDArray[np.float64],
    heads: NDArray[np.int64],
    sizes: NDArray[np.float64],
    genuine_users: NDArray[np.int64],
    candidates: int,
    max_keys: int,
    level: int,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.uint32],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    int,
]:
    """Score every user for every target of a block.

    Returns per target the genuine score, the number of users tied for the best, the number better than the genuine
    one and tied with it (itself included), the best users and their scores; and the impostor law of the block:
    counts of the atoms, then keys and counts of the others, and their level, at least the one given.
    """
    targets = offsets.shape[0] - 1
    genuine = np.empty(targets, np.int64)
    ties = np.empty(targets, np.int64)
    better = np.empty(targets, np.int64)
    tied = np.empty(targets, np.int64)
    best_users = np.zeros((targets, candidates), np.uint32)
    best_scores = np.zeros((targets, candidates), np.int64)
    atom_counts = np.zeros(atom_count, np.int64)
    table = empty_table(1024)
    state = np.array([0, level, min(512, 2 * max_keys)])
    one = np.ones(1, np.int64)

    scores = np.full(user_count, EMPTY, np.int64)  # of the users that a target's own features reach
    reached = np.empty(user_count, np.uint32)
    settled = np.empty(user_count, np.int64)
    top_scores = np.empty(candidates, np.int64)
    top_users = np.empty(candidates, np.int64)

    base = np.zeros(user_count, np.int64)
    classes = np.zeros(user_count, np.uint32)
    values, counts, ladder, above, leaders = _base(base, classes, candidates + 64)
    removed = np.zeros(values.shape[0], np.int64)
    begin = 0  # first target on this base

    for target in range(targets + 1):
        if target == targets or not _same_base(begin, target, offsets, features, weights, heads, sizes):
            left = counts * (target - begin) - removed
            entered = 0
            while entered < left.shape[0]:
                entered = count_scores(values, left, entered, left.shape[0], shift, atoms, atom_counts, table, state)
                if state[0] > state[2]:
                    table = make_room(table, state, atoms, atom_counts, max_keys)
            if target == targets:
                break
        if target == 0 or not _same_base(begin, target, offsets, features, weights, heads, sizes):
            head = slice(offsets[target], offsets[target] + heads[target])
            size = sizes[target] if sizes.shape[0] > 0 else 0.0
            _base_scores(base, size, penalty, scale, starts, users, fixed, features[head], weights[head])
            values, counts, ladder, above, leaders = _base(base, classes, candidates + 64)
            removed = np.zeros(values.shape[0], np.int64)
            begin = target

        rest = slice(offsets[target] + heads[target], offsets[target + 1])
        found = _visit(starts, users, fixed, features[rest], weights[rest], scores, reached)
        filled = _settle(reached, found, scores, classes, values, settled, top_scores, top_users)
        _offer_unreached(top_scores, top_users, filled, leaders, scores, classes, values)

        own = genuine_users[target]
        own_class = classes[own]
        own_score = values[own_class]
        if scores[own] != EMPTY:
            own_score += scores[own]
        ties[target], better[target], tied[target] = _standing(
            own_score, top_scores[0], tolerance, settled, found, reached, classes, values, ladder, above
        )
        genuine[target] = own_score
        best_scores[target] = top_scores
        for place in range(candidates):
            best_users[target, place] = top_users[place]

        impostors = 0
        for place in range(found):
            user = reached[place]
            scores[user] = EMPTY
            removed[classes[user]] += 1
            settled[impostors] = settled[place]
            impostors += user != own
        removed[own_class] += impostors == found
        entered = 0
        while entered < impostors:
            entered = count_scores(settled, one, entered, impostors, shift, atoms, atom_counts, table, state)
            if state[0] > state[2]:
                table = make_room(table, state, atoms, atom_counts, max_keys)

    keys, key_counts = law_of(table, state, atoms, atom_counts, max_keys)
    return genuine, ties, better, tied, best_users, best_scores, atom_counts, keys, key_counts, state[1]
