"""Loops for one event per target: everything from the postings, in time linear in them."""

from __future__ import annotations

import math

import numpy as np

from entropie.kernels.arrays import Codes, Floats, Ints
from entropie.kernels.attack_law import count_all, law_of, new_tally
from entropie.kernels.attack_records import CountedLaw, Standings, Unit, UserBlock, inner
from entropie.kernels.caching import njit


@inner
def _by_feature(asked: Ints, features: int) -> tuple[Ints, Ints]:
    """Group targets by the feature asked: those with feature f are targets[starts[f]:starts[f + 1]]."""
    starts = np.zeros(features + 1, np.int64)
    for target in range(asked.shape[0]):
        if asked[target] >= 0:
            starts[asked[target] + 1] += 1
    for feature in range(features):
        starts[feature + 1] += starts[feature]
    cursor = starts[:-1].copy()
    targets = np.empty(starts[-1], np.int64)
    for target in range(asked.shape[0]):
        if asked[target] >= 0:
            targets[cursor[asked[target]]] = target
            cursor[asked[target]] += 1
    return starts, targets


@inner
def _note_near(ladder: Ints, users: int, tolerance: int, scores: Ints, counts: Ints, rungs: int) -> int:
    """Write the distinct scores near the best and their counts from place `rungs` on; returns the next place.

    `ladder` are the falling scores of a feature's holders, negated.
    """
    for place in range(np.searchsorted(ladder, ladder[0] + tolerance + 1)):
        if place == 0 or ladder[place] != ladder[place - 1]:
            scores[rungs] = -ladder[place]
            rungs += 1
        counts[rungs - 1] += 1
    length = ladder.shape[0]
    if -ladder[0] <= tolerance and length < users:  # so near are those who lack the feature too
        if scores[rungs - 1] != 0:
            scores[rungs] = 0
            rungs += 1
        counts[rungs - 1] += users - length
    return rungs


@inner
def _best_of_posting(holders: Codes, ranking: Ints, candidates: int) -> Codes:
    """The best holders of a feature, then the first users that lack it."""
    best = np.empty(candidates, np.uint32)
    filled = min(candidates, holders.shape[0])
    for place in range(filled):
        best[place] = holders[ranking[place]]
    stranger = 0
    beside = 0
    while filled < candidates:
        while beside < holders.shape[0] and holders[beside] < stranger:
            beside += 1
        if beside == holders.shape[0] or holders[beside] != stranger:
            best[filled] = stranger
            filled += 1
        stranger += 1
    return best


@njit(nogil=True, cache=True)
def score_single(
    users: UserBlock, asked: Ints, genuine: Ints, unit: Unit, candidates: int, atoms: Ints, max_keys: int
) -> tuple[Standings, Ints, CountedLaw]:
    """Score every user for targets of one feature: asked[j] is that of user j's target, -1 where nobody has it.

    Weights are positive, so users who have the feature stand before all others. Returns what `score_targets` does, but
    for the scores near the best: all targets with a feature share them, so they come once for each group of targets,
    and the group of each target stands beside them. Group 0 are the targets whose feature nobody has.
    """
    features = users.starts.shape[0] - 1
    groups = np.zeros(users.user_count, np.int64)
    better = np.zeros(users.user_count, np.int64)
    tied = np.full(users.user_count, users.user_count, np.int64)
    best_users = np.zeros((users.user_count, candidates), np.uint32)
    best_scores = np.zeros((users.user_count, candidates), np.int64)
    near_offsets = np.zeros(features + 2, np.int64)
    near_scores = np.zeros(users.users.shape[0] + features + 1, np.int64)
    near_counts = np.zeros(users.users.shape[0] + features + 1, np.int64)
    near_counts[0] = users.user_count
    near_offsets[1] = 1
    tally = new_tally(atoms, max_keys, unit.shift, 0)
    starts, targets = _by_feature(asked, features)
    zero_pairs = 0
    for target in range(users.user_count):
        if asked[target] < 0:
            zero_pairs += users.user_count - 1
            for place in range(candidates):
                best_users[target, place] = place
    for feature in range(features):
        near_offsets[feature + 2] = near_offsets[feature + 1]
        if starts[feature] == starts[feature + 1]:
            continue
        holders = users.users[users.starts[feature] : users.starts[feature + 1]]
        weights = users.fixed[users.starts[feature] : users.starts[feature + 1]]
        length = holders.shape[0]
        times = np.empty(length, np.int64)
        for place in range(length):
            times[place] = starts[feature + 1] - starts[feature] - (asked[holders[place]] == feature)
        tally = count_all(tally, weights, times, length)
        ranking = np.argsort(-weights, kind="mergesort")
        ladder = -weights[ranking]  # ascending
        near_offsets[feature + 2] = _note_near(
            ladder, users.user_count, unit.tolerance, near_scores, near_counts, near_offsets[feature + 1]
        )
        best = _best_of_posting(holders, ranking, candidates)
        for step in range(starts[feature], starts[feature + 1]):
            target = targets[step]
            own = np.searchsorted(holders, np.uint32(target))
            has = own < length and holders[own] == target
            score = genuine[target]
            over = np.searchsorted(ladder, -score - unit.tolerance)
            near = np.searchsorted(ladder, -score + unit.tolerance + 1)
            if score <= unit.tolerance:
                near += users.user_count - length
            better[target] = over
            tied[target] = near - over
            groups[target] = feature + 1
            zero_pairs += users.user_count - length - (0 if has else 1)
            for place in range(candidates):
                best_users[target, place] = best[place]
                if place < length:
                    best_scores[target, place] = -ladder[place]
    tally = count_all(tally, np.zeros(1, np.int64), np.full(1, zero_pairs, np.int64), 1)
    standings = Standings(better, tied, near_offsets, near_scores, near_counts, best_users, best_scores)
    return standings, groups, law_of(tally)


@inner
def _psi(a: float) -> float:
    """(1 + a) ln(1 + a) - a, also near 0 and at -1."""
    if abs(a) < 1e-4:
        return a * a * (0.5 - a / 6.0 + a * a / 12.0)
    if a <= -1.0:
        return 1.0
    return (1.0 + a) * math.log1p(a) - a


@njit(nogil=True, cache=True)
def information_nats(offsets: Ints, features: Codes, shares: Floats, domain_size: int, theta: float) -> float:
    """I(U;Y) of uniform users with q_i(y) = theta pi_i(y) + (1 - theta)/k, from the non-zero pi alone.

    I = sum over y of qbar(y)/n sum over i of psi(q_i(y)/qbar(y) - 1): all terms are positive, nothing cancels.
    Users who lack y all add the same; items that nobody has add nothing. Summed with compensation.
    """
    users = offsets.shape[0] - 1
    mean = np.zeros(domain_size, np.float64)
    holders = np.zeros(domain_size, np.int64)
    for place in range(features.shape[0]):
        mean[features[place]] += shares[place]
        holders[features[place]] += 1
    mean /= users
    lie = (1.0 - theta) / domain_size
    total = 0.0
    missing = 0.0
    for row in range(-1, users):
        part = 0.0
        if row < 0:
            for item in range(domain_size):
                if holders[item] > 0:
                    chance = theta * mean[item] + lie
                    part += (users - holders[item]) * chance * _psi(-theta * mean[item] / chance)
        else:
            for place in range(offsets[row], offsets[row + 1]):
                item = features[place]
                chance = theta * mean[item] + lie
                part += chance * _psi(theta * (shares[place] - mean[item]) / chance)
        fresh = total + part
        missing += (total - fresh) + part if total >= part else (part - fresh) + total
        total = fresh
    nats: float = (total + missing) / users
    return nats
