"""All-pairs scoring through an inverted index: exact sums, exact law, no matrix.

Scores are whole multiples of 2^-q in 64-bit integers, so that addition is exact and no order of summation, block or
thread changes one bit.

Targets with the same *head* (rank-one term and first features) share a base: the score that every user has from the
head alone, counted once per class of equal scores (see `attack_base`). A target then visits only the postings of its
other features, and corrects the users reached there. An empty head is the base zero.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from entropie.kernels.attack_base import (
    common_path,
    ladder_of,
    lead,
    merge_order,
    move_users,
    offer,
    posting_parts,
    size_parts,
)
from entropie.kernels.attack_law import EMPTY, count_scores, empty_table, law_of, make_room, slot_of, sum_sorted

__all__ = ["score_targets"]


@njit(nogil=True, cache=True)
def _take_step(
    movers: NDArray[np.uint32],
    parts: NDArray[np.int64],
    depth: int,
    classes: NDArray[np.uint32],
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    orders: NDArray[np.int64],
    known: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Go from `depth` one deeper: copy its classes, then move the users of a posting.

    Returns values, counts and orders of classes, which may have grown.
    """
    first = known[depth]
    classes[depth + 1] = classes[depth]
    counts[depth + 1, :first] = counts[depth, :first]
    slots = np.full(1024, -1, np.int64)
    place = 0
    found = first
    while True:
        place, found = move_users(
            movers, parts, place, classes[depth], classes[depth + 1], values, counts[depth + 1], slots, first, found
        )
        if place == movers.shape[0]:
            break
        if found == values.shape[0]:
            more_values = np.zeros(2 * found, np.int64)
            more_values[:found] = values
            values = more_values
            more_counts = np.zeros((counts.shape[0], 2 * found), np.int64)
            more_counts[:, :found] = counts
            counts = more_counts
            more_orders = np.zeros((orders.shape[0], 2 * found), np.int64)
            more_orders[:, :found] = orders
            orders = more_orders
        if 2 * (found - first) >= slots.shape[0]:
            slots = np.full(4 * slots.shape[0], -1, np.int64)
            mask = slots.shape[0] - 1
            for number in range(first, found):
                slot = slot_of(values[number], mask)
                while slots[slot] >= 0:
                    slot = (slot + 1) & mask
                slots[slot] = number
    known[depth + 1] = found
    merge_order(values, orders[depth], first, found, orders[depth + 1])
    return values, counts, orders


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
            filled = offer(best_scores, best_users, filled, score, user)
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
                filled = offer(best_scores, best_users, filled, score, np.int64(user))
    return filled


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
    removed: NDArray[np.int64],
    bases: NDArray[np.int64],
    settled: NDArray[np.int64],
    top_scores: NDArray[np.int64],
    top_users: NDArray[np.int64],
) -> int:
    """Take the users reached out of their classes, add the base to their scores, keep the best; returns how many.

    Bases and scores are lined up in `bases` and `settled`, so that what follows need not look users up again.
    """
    size = top_scores.shape[0]
    filled = 0
    entry = EMPTY  # what a score must reach to be among the best
    for place in range(found):
        user = np.int64(reached[place])
        number = classes[user]
        removed[number] += 1
        bases[place] = values[number]
        score = scores[user] + values[number]
        settled[place] = score
        if score >= entry:
            filled = offer(top_scores, top_users, filled, score, user)
            if filled == size:
                entry = top_scores[size - 1]
    return filled


@njit(nogil=True, cache=True)
def _standing(
    own_score: int,
    tolerance: int,
    settled: NDArray[np.int64],
    bases: NDArray[np.int64],
    found: int,
    ladder: NDArray[np.int64],
    above: NDArray[np.int64],
) -> tuple[int, int]:
    """Count the users better than the genuine score, and those tied with it."""
    over = own_score + tolerance + 1
    near = own_score - tolerance
    over_own = 0
    near_own = 0
    for place in range(found):
        score = settled[place]
        over_own += score >= over
        near_own += score >= near
    if ladder[-1] >= near:  # users not reached may count: all by their base, less those reached
        over_own += above[np.searchsorted(ladder, over)]
        near_own += above[np.searchsorted(ladder, near)]
        for place in range(found):
            score = bases[place]
            over_own -= score >= over
            near_own -= score >= near
    return over_own, near_own - over_own


@njit(nogil=True, cache=True)
def _near_best(
    best: int,
    tolerance: int,
    settled: NDArray[np.int64],
    bases: NDArray[np.int64],
    found: int,
    ladder: NDArray[np.int64],
    above: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the distinct scores within `tolerance` of the best, falling, and how many users have each.

    Mostly all these users are exactly at the best; only where they are not are the values told apart.
    """
    near = best - tolerance
    low = np.searchsorted(ladder, near)
    at_best = above[np.searchsorted(ladder, best)]
    at_near = above[low]
    entries = ladder.shape[0] - low
    for place in range(found):
        at_best += np.int64(settled[place] >= best) - np.int64(bases[place] >= best)
        at_near += np.int64(settled[place] >= near) - np.int64(bases[place] >= near)
        entries += np.int64(settled[place] >= near) + np.int64(bases[place] >= near)
    if at_best == at_near:
        return np.full(1, best, np.int64), np.full(1, at_best, np.int64)
    values = np.empty(entries, np.int64)
    counts = np.empty(entries, np.int64)
    filled = 0
    for rung in range(low, ladder.shape[0]):
        values[filled] = ladder[rung]
        counts[filled] = above[rung] - above[rung + 1]
        filled += 1
    for place in range(found):
        if settled[place] >= near:
            values[filled] = settled[place]
            counts[filled] = 1
            filled += 1
        if bases[place] >= near:
            values[filled] = bases[place]
            counts[filled] = -1
            filled += 1
    order = np.argsort(values, kind="mergesort")
    values, counts = sum_sorted(values[order], counts[order], 0)
    left = np.flatnonzero(counts)[::-1]
    return values[left], counts[left]


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
    owners: NDArray[np.int64],
    genuine: NDArray[np.int64],
    candidates: int,
    max_keys: int,
    level: int,
) -> tuple[
    NDArray[np.int64],
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
    """Score every user of a block for every target of a block.

    genuine[j] is the genuine score of target j, owners[j] her place among the users, -1 where she is in another block:
    then all are impostors. Returns per target the number of users better than the genuine score and tied with it
    (herself included where she is here), the distinct scores within `tolerance` of the best as offsets, scores and
    counts, the best users and their scores; and the impostor law of the block: counts of the atoms, then keys and
    counts of the others, and their level, at least the one given.
    """
    targets = offsets.shape[0] - 1
    better = np.empty(targets, np.int64)
    tied = np.empty(targets, np.int64)
    near_offsets = np.zeros(targets + 1, np.int64)
    near_scores = np.empty(targets + candidates, np.int64)
    near_counts = np.empty(targets + candidates, np.int64)
    rungs = 0
    best_users = np.zeros((targets, candidates), np.uint32)
    best_scores = np.zeros((targets, candidates), np.int64)
    atom_counts = np.zeros(atom_count, np.int64)
    table = empty_table(1024)
    state = np.array([0, level, min(512, 2 * max_keys)])
    one = np.ones(1, np.int64)

    scores = np.full(user_count, EMPTY, np.int64)  # of the users that a target's own features reach
    reached = np.empty(user_count, np.uint32)
    settled = np.empty(user_count, np.int64)
    bases = np.empty(user_count, np.int64)
    top_scores = np.empty(candidates, np.int64)
    top_users = np.empty(candidates, np.int64)

    ranked = sizes.shape[0] > 0
    deepest = np.max(heads) + ranked if targets > 0 else 0
    everyone = np.arange(user_count if ranked else 0).astype(np.uint32)
    parts = np.empty(user_count if deepest > 0 else 0, np.int64)
    classes = np.zeros((deepest + 1, user_count), np.uint32)
    values = np.zeros(1024, np.int64)
    counts = np.zeros((deepest + 1, 1024), np.int64)
    counts[0, 0] = user_count
    orders = np.zeros((deepest + 1, 1024), np.int64)  # of the classes at each depth, by value
    known = np.ones(deepest + 1, np.int64)  # classes at each depth
    leaders = np.zeros((deepest + 1, min(candidates + 64, user_count)), np.int64)
    leaders[0] = np.arange(leaders.shape[1])
    ladder = np.zeros(1, np.int64)
    above = np.array([user_count, 0])
    removed = np.zeros(1, np.int64)
    depth = 0
    begin = 0  # first target on this base

    for target in range(targets + 1):
        shared = 0
        wanted = -1
        if target < targets:
            wanted = heads[target] + ranked
            if target > 0:
                shared = common_path(target - 1, target, offsets, features, weights, heads, sizes)
        moved = target == 0 or wanted != depth or shared != depth
        if moved and target > 0:
            left = counts[depth, : known[depth]] * (target - begin) - removed
            entered = 0
            while entered < left.shape[0]:
                entered = count_scores(values, left, entered, left.shape[0], shift, atoms, atom_counts, table, state)
                if state[0] > state[2]:
                    table = make_room(table, state, atoms, atom_counts, max_keys)
        if target == targets:
            break
        if moved:
            for step in range(shared, wanted):
                if ranked and step == 0:
                    movers = everyone
                    size_parts(sizes[target], penalty, scale, parts)
                else:
                    place = offsets[target] + step - ranked
                    feature = features[place]
                    movers = users[starts[feature] : starts[feature + 1]]
                    posting_parts(fixed[starts[feature] : starts[feature + 1]], weights[place], parts)
                values, counts, orders = _take_step(movers, parts, step, classes, values, counts, orders, known)
                lead(movers, parts, classes[step + 1], values, known[step], leaders[step], leaders[step + 1])
            depth = wanted
            ladder, above = ladder_of(values, counts[depth], orders[depth, : known[depth]])
            removed = np.zeros(known[depth], np.int64)
            begin = target

        rest = slice(offsets[target] + heads[target], offsets[target + 1])
        own_classes = classes[depth]
        found = _visit(starts, users, fixed, features[rest], weights[rest], scores, reached)
        filled = _settle(reached, found, scores, own_classes, values, removed, bases, settled, top_scores, top_users)
        _offer_unreached(top_scores, top_users, filled, leaders[depth], scores, own_classes, values)

        own = owners[target]
        if own >= 0:
            own_score = values[own_classes[own]] + (scores[own] if scores[own] != EMPTY else 0)
            assert own_score == genuine[target], "a genuine score given is not the one scored"
        better[target], tied[target] = _standing(genuine[target], tolerance, settled, bases, found, ladder, above)

        if rungs + candidates > near_scores.shape[0]:
            near_scores = np.concatenate((near_scores, np.empty_like(near_scores)))
            near_counts = np.concatenate((near_counts, np.empty_like(near_counts)))
        near = top_scores[0] - tolerance
        if candidates == user_count or top_scores[candidates - 1] < near:  # all of them are among the candidates
            for place in range(candidates):
                if top_scores[place] < near:
                    break
                if place > 0 and top_scores[place] == top_scores[place - 1]:
                    near_counts[rungs - 1] += 1
                else:
                    near_scores[rungs] = top_scores[place]
                    near_counts[rungs] = 1
                    rungs += 1
        else:
            more_scores, more_counts = _near_best(top_scores[0], tolerance, settled, bases, found, ladder, above)
            while rungs + more_scores.shape[0] > near_scores.shape[0]:
                near_scores = np.concatenate((near_scores, np.empty_like(near_scores)))
                near_counts = np.concatenate((near_counts, np.empty_like(near_counts)))
            near_scores[rungs : rungs + more_scores.shape[0]] = more_scores
            near_counts[rungs : rungs + more_scores.shape[0]] = more_counts
            rungs += more_scores.shape[0]
        near_offsets[target + 1] = rungs
        best_scores[target] = top_scores
        for place in range(candidates):
            best_users[target, place] = top_users[place]

        impostors = 0
        for place in range(found):
            user = reached[place]
            scores[user] = EMPTY
            settled[impostors] = settled[place]
            impostors += user != own
        if own >= 0:
            removed[own_classes[own]] += impostors == found
        entered = 0
        while entered < impostors:
            entered = count_scores(settled, one, entered, impostors, shift, atoms, atom_counts, table, state)
            if state[0] > state[2]:
                table = make_room(table, state, atoms, atom_counts, max_keys)

    keys, key_counts = law_of(table, state, atoms, atom_counts, max_keys)
    return (
        better,
        tied,
        near_offsets,
        near_scores[:rungs].copy(),
        near_counts[:rungs].copy(),
        best_users,
        best_scores,
        atom_counts,
        keys,
        key_counts,
        state[1],
    )
