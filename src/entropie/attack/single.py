"""One event per target: the attack and its information, exact, in time linear in the training data."""

from __future__ import annotations

import math

import numpy as np

from entropie.attack.features import FeatureRows, check_same_people, item_rows, ragged
from entropie.attack.index import Extent, build_index, genuine_scores
from entropie.attack.mechanism import report_weights
from entropie.attack.partial import LawPart, Partial
from entropie.attack.scoring import CANDIDATES, AttackOutcome, law_size, outcome_of
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.kernels.attack_single import information_nats, score_single


def attack_single(
    train: Traces,
    target: Traces,
    *,
    theta: float = 1.0,
    candidates: int = CANDIDATES,
    max_values: int | None = None,
) -> AttackOutcome:
    """Score all users for targets of at most one event, without visiting pairs.

    A user who has the event's item weighs ln pi_i - ln d, or under randomized response ln(1 + theta k pi_i/(1-theta)):
    all targets with the same item see the same scores, so each posting is read once.
    """
    check_same_people(train, target)
    lengths = np.diff(target.offsets)
    if lengths.max() > 1:
        raise InvalidInput(
            f"A single-datum attack takes one event per target, got up to {lengths.max()}; keep the first of each."
        )
    if candidates < 1:
        raise InvalidParameter.of("candidates", "at least 1", candidates)
    users = report_weights(train, theta)
    asked_rows = FeatureRows(target.offsets, target.items, np.ones(target.events), target.domain_size)
    units = Extent.of_users(users).merge(Extent.of_targets(asked_rows)).units()
    genuine = genuine_scores(users, asked_rows, None, None, units)
    index, targets = build_index(users, asked_rows, units=units, genuine=genuine)
    atoms = np.zeros(1, np.int64)
    kept = law_size(train.users, max_values)
    asked = np.full(train.users, -1, np.int64)
    asked[np.diff(targets.offsets) > 0] = targets.features
    scored, groups, law = score_single(
        index.record, asked, genuine, units.record, min(candidates, index.user_count), atoms, kept
    )
    near_offsets, places = ragged(scored.near_offsets, groups)
    near = near_offsets, scored.near_scores[places], scored.near_counts[places]
    best = scored.best_users, scored.best_scores
    partial = Partial(targets.ids, genuine, scored.better, scored.tied, *near, *best, LawPart(*law, kept))
    return outcome_of(units, atoms, partial)


def pie_bits(traces: Traces, *, theta: float = 1.0) -> float:
    """Compute the exact PIE, I(U;Y) in bits, when a user who sends one datum draws it from their own trace.

    Users are uniform and q_i(y) = theta pi_i(y) + (1 - theta)/k; users without events are left out.
    """
    if not 0 <= theta <= 1:
        raise InvalidParameter.of("theta", "between 0 and 1", theta)
    active = np.flatnonzero(np.diff(traces.offsets) > 0)
    if active.size == 0:
        raise InvalidInput("The information of a datum needs at least one event, got none.")
    counts = item_rows(traces if active.size == traces.users else traces.take(active))
    shares = counts.weights / np.repeat(counts.totals(), np.diff(counts.offsets))
    nats = information_nats(counts.offsets, counts.features, shares, traces.domain_size, theta)
    return float(nats) / math.log(2)
