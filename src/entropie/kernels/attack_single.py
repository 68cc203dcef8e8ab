"""Loops for one event per target: everything from the postings, in time linear in them."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from entropie.kernels.attack_law import count_scores, empty_table, law_of, make_room

__all__ = ["information_nats", "score_single"]


@njit(nogil=True, cache=True)
def score_single(
    starts: NDArray[np.int64],
    users: NDArray[np.uint32],
    fixed: NDArray[np.int64],
    user_count: int,
    tolerance: int,
    shift: int,
    atoms: NDArray[np.int64],
    atom_count: int,
    asked: NDArray[np.int64],
    genuine: NDArray[np.int64],
    candidates: int,
    max_keys: int,
) -> tuple[
    NDArray[np.int64],
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
    """Score every user for targets of one feature: asked[j] is that of user j's target, -1 where nobody has it.

    Weights are positive, so users who have the feature stand before all others. Returns what `score_targets` does, but
    for the scores near the best: all targets with a feature share them, so they come once for each group of targets,
    with the group of each target before them. Group 0 are the targets whose feature nobody has.
    """
    groups = np.zeros(user_count, np.int64)
    better = np.zeros(user_count, np.int64)
    tied = np.full(user_count, user_count, np.int64)
    best_users = np.zeros((user_count, candidates), np.uint32)
    best_scores = np.zeros((user_count, candidates), np.int64)
    atom_counts = np.zeros(atom_count, np.int64)
    table = empty_table(1024)
    state = np.array([0, 0, min(512, 2 * max_keys)])

    features = starts.shape[0] - 1
    near_offsets = np.zeros(features + 2, np.int64)
    near_scores = np.zeros(users.shape[0] + features + 1, np.int64)
    near_counts = np.zeros(users.shape[0] + features + 1, np.int64)
    near_counts[0] = user_count
    rungs = 1
    near_offsets[1] = 1
    asking = np.zeros(features + 1, np.int64)
    for target in range(user_count):
        if asked[target] >= 0:
            asking[asked[target] + 1] += 1
    for feature in range(features):
        asking[feature + 1] += asking[feature]
    cursor = asking[:-1].copy()
    order = np.empty(asking[-1], np.int64)
    zero_pairs = 0
    for target in range(user_count):
        if asked[target] >= 0:
            order[cursor[asked[target]]] = target
            cursor[asked[target]] += 1
        else:
            zero_pairs += user_count - 1
            for place in range(candidates):
                best_users[target, place] = place

    for feature in range(features):
        near_offsets[feature + 2] = rungs
        if asking[feature] == asking[feature + 1]:
            continue
        low = starts[feature]
        length = starts[feature + 1] - low
        holders = users[low : low + length]
        weights = fixed[low : low + length]
        shared = asking[feature + 1] - asking[feature]
        times = np.empty(length, np.int64)
        for place in range(length):
            times[place] = shared - (asked[holders[place]] == feature)
        entered = 0
        while entered < length:
            entered = count_scores(weights, times, entered, length, shift, atoms, atom_counts, table, state)
            if state[0] > state[2]:
                table = make_room(table, state, atoms, atom_counts, max_keys)

        ranking = np.argsort(-weights, kind="mergesort")
        ladder = -weights[ranking]  # ascending
        for place in range(np.searchsorted(ladder, ladder[0] + tolerance + 1)):
            if place == 0 or ladder[place] != ladder[place - 1]:
                near_scores[rungs] = -ladder[place]
                rungs += 1
            near_counts[rungs - 1] += 1
        if -ladder[0] <= tolerance and length < user_count:  # so near are those who lack the feature too
            if near_scores[rungs - 1] != 0:
                near_scores[rungs] = 0
                rungs += 1
            near_counts[rungs - 1] += user_count - length
        near_offsets[feature + 2] = rungs
        top_users = np.empty(candidates, np.uint32)
        filled = min(candidates, length)
        for place in range(filled):
            top_users[place] = holders[ranking[place]]
        stranger = 0
        beside = 0
        while filled < candidates:  # the first users that lack the feature
            while beside < length and holders[beside] < stranger:
                beside += 1
            if beside == length or holders[beside] != stranger:
                top_users[filled] = stranger
                filled += 1
            stranger += 1
        for step in range(asking[feature], asking[feature + 1]):
            target = order[step]
            own = np.searchsorted(holders, np.uint32(target))
            has = own < length and holders[own] == target
            score = genuine[target]
            over = np.searchsorted(ladder, -score - tolerance)
            near = np.searchsorted(ladder, -score + tolerance + 1)
            if score <= tolerance:
                near += user_count - length
            better[target] = over
            tied[target] = near - over
            groups[target] = feature + 1
            zero_pairs += user_count - length - (0 if has else 1)
            for place in range(candidates):
                best_users[target, place] = top_users[place]
                if place < length:
                    best_scores[target, place] = -ladder[place]

    zero = np.zeros(1, np.int64)
    pairs = np.full(1, zero_pairs, np.int64)
    count_scores(zero, pairs, 0, 1, shift, atoms, atom_counts, table, state)
    keys, counts = law_of(table, state, atoms, atom_counts, max_keys)
    return (
        better,
        tied,
        groups,
        near_offsets,
        near_scores,
        near_counts,
        best_users,
        best_scores,
        atom_counts,
        keys,
        counts,
        state[1],
    )


@njit(nogil=True, cache=True)
def _psi(a: float) -> float:
    """(1 + a) ln(1 + a) - a, also near 0 and at -1."""
    if abs(a) < 1e-4:
        return a * a * (0.5 - a / 6.0 + a * a / 12.0)
    if a <= -1.0:
        return 1.0
    return (1.0 + a) * math.log1p(a) - a


@njit(nogil=True, cache=True)
def information_nats(
    offsets: NDArray[np.int64],
    features: NDArray[np.uint32],
    shares: NDArray[np.float64],
    domain_size: int,
    theta: float,
) -> float:
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
