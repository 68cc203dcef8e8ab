"""All-pairs scoring through an inverted index: exact sums, exact counts of scores, no matrix.

Scores are whole multiples of 2^-q in 64-bit integers, so that addition is exact and no order of summation, block or
thread changes one bit.

Targets with the same *head* (rank-one term and first features) share a base: the score that every user has from the
head alone, counted once per class of equal scores (see `attack_base`). A target then visits only the postings of its
other features, and corrects the users reached there. An empty head is the base zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from entropie.kernels.arrays import Codes, Ints
from entropie.kernels.attack_base import (
    Base,
    Bases,
    base_at,
    common_path,
    new_bases,
    offer,
    posting_parts,
    size_parts,
    take_step,
)
from entropie.kernels.attack_law import (
    EMPTY,
    count_all,
    count_rest,
    count_scores,
    law_of,
    needs_room,
    new_tally,
    sum_sorted,
)
from entropie.kernels.attack_records import CountedLaw, Standings, TargetBlock, Unit, UserBlock, inner
from entropie.kernels.caching import njit


class _Reached(NamedTuple):
    """Room for the users that a target's own features reach, in the order in which they are met."""

    sums: Ints  # by user: what those features add, EMPTY where they reach nobody
    users: Codes
    scores: Ints
    bases: Ints  # what the base alone gives them
    best_scores: Ints  # of all users, best first
    best_users: Ints


class _Near(NamedTuple):
    """The scores within the tolerance of the best, target after target."""

    offsets: Ints
    scores: Ints
    counts: Ints


@inner
def _room_for(users: int, candidates: int) -> _Reached:
    return _Reached(
        np.full(users, EMPTY, np.int64),
        np.empty(users, np.uint32),
        np.empty(users, np.int64),
        np.empty(users, np.int64),
        np.empty(candidates, np.int64),
        np.empty(candidates, np.int64),
    )


@inner
def _descend(bases: Bases, step: int, users: UserBlock, targets: TargetBlock, target: int, scale: float) -> Bases:
    """Take one step of a target's head: the rank-one term first, if there is one, then a feature."""
    ranked = targets.sizes.shape[0] > 0
    if ranked and step == 0:
        parts = np.empty(users.user_count, np.int64)
        size_parts(targets.sizes[target], users.penalty, scale, parts)
        return take_step(bases, step, np.arange(users.user_count).astype(np.uint32), parts)
    place = targets.offsets[target] + step - ranked
    posting = slice(users.starts[targets.features[place]], users.starts[targets.features[place] + 1])
    parts = np.empty(posting.stop - posting.start, np.int64)
    posting_parts(users.fixed[posting], targets.weights[place], parts)
    return take_step(bases, step, users.users[posting], parts)


@inner
def _visit(users: UserBlock, targets: TargetBlock, target: int, reached: _Reached) -> int:
    """Add the features beyond a target's head to the sums of the users who have them; returns how many are reached."""
    starts, holders, fixed, sums, met = users.starts, users.users, users.fixed, reached.sums, reached.users
    count = 0
    for place in range(targets.offsets[target] + targets.heads[target], targets.offsets[target + 1]):
        feature = targets.features[place]
        weight = targets.weights[place]
        whole = np.int64(weight)
        exact = np.float64(whole) == weight
        for post in range(starts[feature], starts[feature + 1]):
            user = holders[post]
            part = whole * fixed[post] if exact else np.int64(np.rint(weight * np.float64(fixed[post])))
            total = sums[user]
            if total == EMPTY:
                sums[user] = part
                met[count] = user
                count += 1
            else:
                sums[user] = total + part
    return count


@inner
def _settle(base: Base, reached: _Reached, count: int) -> int:
    """Take the users reached out of their classes, add the base to their sums, keep the best; returns how many.

    Bases and scores are lined up, so that what follows need not look users up again.
    """
    sums, users, scores, bases = reached.sums, reached.users, reached.scores, reached.bases
    classes, values, removed = base.classes, base.values, base.removed
    best_scores, best_users = reached.best_scores, reached.best_users
    size = best_scores.shape[0]
    filled = 0
    entry = EMPTY  # what a score must reach to be among the best
    for place in range(count):
        user = np.int64(users[place])
        number = classes[user]
        removed[number] += 1
        bases[place] = values[number]
        score = sums[user] + values[number]
        scores[place] = score
        if score >= entry:
            filled = offer(best_scores, best_users, filled, score, user)
            if filled == size:
                entry = best_scores[size - 1]
    return filled


@inner
def _offer_unreached(base: Base, reached: _Reached, filled: int) -> None:
    """Offer the best users that the target's own features did not reach, until none can enter any more."""
    sums, classes, values, leaders = reached.sums, base.classes, base.values, base.leaders
    best_scores, best_users = reached.best_scores, reached.best_users
    size = best_scores.shape[0]
    offered = 0
    for place in range(leaders.shape[0]):
        user = leaders[place]
        if sums[user] == EMPTY:
            score = values[classes[user]]
            if filled == size and score < best_scores[size - 1]:
                return
            filled = offer(best_scores, best_users, filled, score, user)
            offered += 1
            if offered == size:
                return
    if leaders.shape[0] == sums.shape[0]:
        return
    last = leaders[-1]
    last_score = values[classes[last]]
    for user in range(sums.shape[0]):
        if sums[user] == EMPTY:
            score = values[classes[user]]
            if score < last_score or (score == last_score and user > last):
                filled = offer(best_scores, best_users, filled, score, np.int64(user))


@inner
def _standing(base: Base, reached: _Reached, count: int, genuine: int, tolerance: int) -> tuple[int, int]:
    """Count the users better than the genuine score, and those tied with it."""
    scores, bases, ladder, above = reached.scores, reached.bases, base.ladder, base.above
    over = genuine + tolerance + 1
    near = genuine - tolerance
    over_own = 0
    near_own = 0
    for place in range(count):
        score = scores[place]
        over_own += score >= over
        near_own += score >= near
    if ladder[-1] >= near:  # users not reached may count: all by their base, less those reached
        over_own += above[np.searchsorted(ladder, over)]
        near_own += above[np.searchsorted(ladder, near)]
        for place in range(count):
            score = bases[place]
            over_own -= score >= over
            near_own -= score >= near
    return over_own, near_own - over_own


@inner
def _near_best(base: Base, reached: _Reached, count: int, tolerance: int) -> tuple[Ints, Ints]:
    """List the distinct scores within `tolerance` of the best, falling, and how many users have each.

    Mostly all these users are exactly at the best; only where they are not are the values told apart.
    """
    scores, bases, ladder, above = reached.scores, reached.bases, base.ladder, base.above
    best = reached.best_scores[0]
    near = best - tolerance
    low = np.searchsorted(ladder, near)
    at_best = above[np.searchsorted(ladder, best)]
    at_near = above[low]
    entries = ladder.shape[0] - low
    for place in range(count):
        at_best += np.int64(scores[place] >= best) - np.int64(bases[place] >= best)
        at_near += np.int64(scores[place] >= near) - np.int64(bases[place] >= near)
        entries += np.int64(scores[place] >= near) + np.int64(bases[place] >= near)
    if at_best == at_near:
        return np.full(1, best, np.int64), np.full(1, at_best, np.int64)
    values = np.empty(entries, np.int64)
    counts = np.empty(entries, np.int64)
    filled = 0
    for rung in range(low, ladder.shape[0]):
        values[filled] = ladder[rung]
        counts[filled] = above[rung] - above[rung + 1]
        filled += 1
    for place in range(count):
        if scores[place] >= near:
            values[filled] = scores[place]
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


@inner
def _note_candidates(near: _Near, target: int, best: Ints, tolerance: int) -> None:
    """Note the scores near the best of a target, where all users who have them are among the candidates."""
    scores, counts, offsets = near.scores, near.counts, near.offsets
    end = offsets[target]
    for place in range(best.shape[0]):
        if best[place] < best[0] - tolerance:
            break
        if place > 0 and best[place] == best[place - 1]:
            counts[end - 1] += 1
        else:
            scores[end] = best[place]
            counts[end] = 1
            end += 1
    offsets[target + 1] = end


@inner
def _note_all(near: _Near, target: int, scores: Ints, counts: Ints) -> _Near:
    """Note the scores near the best of a target, however many there are."""
    begin = near.offsets[target]
    end = begin + scores.shape[0]
    near = _with_room(near, end)
    for place in range(scores.shape[0]):
        near.scores[begin + place] = scores[place]
        near.counts[begin + place] = counts[place]
    near.offsets[target + 1] = end
    return near


@inner
def _with_room(near: _Near, end: int) -> _Near:
    """Make the arrays long enough to write up to below `end`."""
    while end > near.scores.shape[0]:
        more = np.empty_like(near.scores)
        near = _Near(near.offsets, np.concatenate((near.scores, more)), np.concatenate((near.counts, more)))
    return near


@inner
def _check_genuine(base: Base, reached: _Reached, own: int, genuine: int) -> None:
    if own >= 0:
        score = base.values[base.classes[own]] + (reached.sums[own] if reached.sums[own] != EMPTY else 0)
        assert score == genuine, "a genuine score given is not the one scored"


@inner
def _impostors(base: Base, reached: _Reached, count: int, own: int) -> int:
    """Forget the sums, take the genuine user out of the scores or of the base; returns how many scores are left."""
    sums, users, scores = reached.sums, reached.users, reached.scores
    classes, removed = base.classes, base.removed
    left = 0
    for place in range(count):
        user = users[place]
        sums[user] = EMPTY
        scores[left] = scores[place]
        left += user != own
    if own >= 0:
        removed[classes[own]] += left == count
    return left


@njit(nogil=True, cache=True)
def score_targets(
    users: UserBlock, targets: TargetBlock, unit: Unit, candidates: int, atoms: Ints, max_keys: int, level: int
) -> tuple[Standings, CountedLaw]:
    """Score every user of a block for every target of a block.

    Where the genuine user of a target is in another block, all are impostors. `atoms` are keys counted apart, `level`
    is the least level of the other keys.
    """
    count = targets.offsets.shape[0] - 1
    ranked = targets.sizes.shape[0] > 0
    better = np.empty(count, np.int64)
    tied = np.empty(count, np.int64)
    best_users = np.zeros((count, candidates), np.uint32)
    best_scores = np.zeros((count, candidates), np.int64)
    near = _Near(
        np.zeros(count + 1, np.int64), np.empty(count + candidates, np.int64), np.empty(count + candidates, np.int64)
    )
    tally = new_tally(atoms, max_keys, unit.shift, level)
    state = tally.state
    reached = _room_for(users.user_count, candidates)
    scores, best, leading = reached.scores, reached.best_scores, reached.best_users
    deepest = np.max(targets.heads) + ranked if count > 0 else 0
    bases = new_bases(users.user_count, deepest + 1, min(candidates + 64, users.user_count))
    one = np.ones(1, np.int64)
    shared = 0  # steps of the head that were taken for the target before
    begin = 0
    while begin < count:
        depth = targets.heads[begin] + ranked
        for step in range(shared, depth):
            bases = _descend(bases, step, users, targets, begin, unit.scale)
        base = base_at(bases, depth)
        target = begin
        while target == begin or (target < count and shared == depth == targets.heads[target] + ranked):
            own = targets.own[target]
            genuine = targets.genuine[target]
            met = _visit(users, targets, target, reached)
            _offer_unreached(base, reached, _settle(base, reached, met))
            _check_genuine(base, reached, own, genuine)
            better[target], tied[target] = _standing(base, reached, met, genuine, unit.tolerance)
            if near.offsets[target] + candidates > near.scores.shape[0]:
                near = _with_room(near, near.offsets[target] + candidates)
            if candidates == users.user_count or best[-1] < best[0] - unit.tolerance:
                _note_candidates(near, target, best, unit.tolerance)
            else:
                near = _note_all(near, target, *_near_best(base, reached, met, unit.tolerance))
            for place in range(candidates):
                best_scores[target, place] = best[place]
                best_users[target, place] = leading[place]
            impostors = _impostors(base, reached, met, own)
            counted = count_scores(tally, scores, one, 0, impostors)
            if needs_room(state):
                tally = count_rest(tally, scores, one, counted, impostors)
            target += 1
            shared = common_path(targets, target - 1, target) if target < count else 0
        left = base.counts * (target - begin) - base.removed
        tally = count_all(tally, base.values, left, left.shape[0])
        begin = target
    rungs = near.offsets[count]
    near_scores, near_counts = near.scores[:rungs].copy(), near.counts[:rungs].copy()
    return Standings(better, tied, near.offsets, near_scores, near_counts, best_users, best_scores), law_of(tally)
