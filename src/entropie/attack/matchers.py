"""The matchers: each turns training and target traces into sparse rows whose product is the score."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import FeatureRows, Matching, check_same_people, item_rows
from entropie.attack.pitman_yor import pitman_yor
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.kernels.features import markov_targets, markov_users, row_totals, transition_table

__all__ = ["FLOOR", "MATCHERS", "bayes", "choose_smoothing", "cosine", "markov", "matcher", "tfidf", "visit"]

FLOOR = 1e-8
"""d: what the paper puts in place of a probability of zero."""

_SMOOTHINGS = 2.0 ** (np.arange(-8, 81) / 4)
_UNINFORMED_SMOOTHING = 32.0


def markov(train: Traces, target: Traces) -> Matching:
    """Match as the paper does: first event by visit vector, later ones by transition matrix, relative to the floor."""
    check_same_people(train, target)
    starts, successors = transition_table(target.offsets, target.items, target.domain_size)
    feature_count = target.domain_size + successors.size
    if feature_count > 2**32:
        raise InvalidInput(f"Items and transitions must be at most 2^32 together, got {feature_count}.")
    is_first = np.zeros(target.domain_size, np.bool_)
    is_first[target.items[target.offsets[:-1][np.diff(target.offsets) > 0]]] = True
    users = markov_users(train.offsets, train.items, starts, successors, is_first, FLOOR)
    targets = markov_targets(target.offsets, target.items, starts, successors)
    return Matching(FeatureRows(*users, feature_count), FeatureRows(*targets, feature_count))


def visit(train: Traces, target: Traces) -> Matching:
    """Match every event by the visit vector: ln pi_i(x) - ln d."""
    check_same_people(train, target)
    counts = item_rows(train)
    share = counts.weights / np.repeat(counts.totals(), np.diff(counts.offsets))
    return Matching(counts.with_weights(np.log(share) - np.log(FLOOR)), item_rows(target))


def cosine(train: Traces, target: Traces) -> Matching:
    """Match by the angle between vectors of counts."""
    check_same_people(train, target)
    return Matching(_unit(item_rows(train)), _unit(item_rows(target)))


def tfidf(train: Traces, target: Traces) -> Matching:
    """Match by the angle between vectors of counts times ln(users / users that have the item in training)."""
    check_same_people(train, target)
    counts, asked = item_rows(train), item_rows(target)
    rarity = np.log(train.users / np.maximum(counts.holders(), 1))
    return Matching(
        _unit(counts.with_weights(counts.weights * rarity[counts.features])),
        _unit(asked.with_weights(asked.weights * rarity[asked.features])),
    )


def bayes(train: Traces, target: Traces, *, smoothing: float | None = None) -> Matching:
    """Match by likelihood ratio: a Dirichlet-smoothed model of the user against the population p.

    Score: ln(1 + c_i(x) / (lambda p(x))) per event, minus T ln(1 + N_i/lambda). `smoothing` is lambda; unless given
    it is chosen from the training data.
    """
    check_same_people(train, target)
    counts, asked = item_rows(train), item_rows(target)
    if smoothing is None:
        smoothing = choose_smoothing(counts)
    if not smoothing > 0 or not np.isfinite(smoothing):
        raise InvalidParameter.of("smoothing", "a positive number", smoothing)
    popularity = _popularity(counts)
    weights = np.log1p(counts.weights / (smoothing * popularity[counts.features]))
    return Matching(counts.with_weights(weights), asked, asked.totals(), np.log1p(counts.totals() / smoothing))


def choose_smoothing(counts: FeatureRows) -> float:
    """Choose lambda by the likelihood of each training event given the user's others.

    Maximises sum c ln((c - 1 + lambda p(x)) / (N - 1 + lambda)) over quarter octaves. Terms are gathered by (count,
    item total) and by N, so that the cost hardly grows with the data and the order of users does not matter.
    """
    totals = _item_totals(counts)
    events = totals.sum()
    own = counts.weights.astype(np.int64)
    pairs, times = np.unique((totals[counts.features] << 24) | np.minimum(own, 2**24 - 1), return_counts=True)
    own, total = pairs & (2**24 - 1), pairs >> 24
    sizes, users = np.unique(counts.totals(), return_counts=True)
    sizes, users = sizes[sizes > 0], users[sizes > 0]
    if sizes.size == 0 or sizes[-1] == 1:
        return _UNINFORMED_SMOOTHING
    gains = [
        float(np.sum(times * own * np.log(own - 1 + smoothing * (total / events))))
        - float(np.sum(users * sizes * np.log(sizes - 1 + smoothing)))
        for smoothing in _SMOOTHINGS
    ]
    return float(_SMOOTHINGS[int(np.argmax(gains))])


MATCHERS: dict[str, Callable[[Traces, Traces], Matching]] = {
    "markov": markov,
    "visit": visit,
    "tfidf": tfidf,
    "cosine": cosine,
    "bayes": bayes,
    "pitman_yor": pitman_yor,
}
"""Every matcher by name."""


def matcher(name: str) -> Callable[[Traces, Traces], Matching]:
    """Find a matcher by name."""
    if name not in MATCHERS:
        raise InvalidParameter.of("matcher", f"one of {', '.join(MATCHERS)}", name)
    return MATCHERS[name]


def _unit(rows: FeatureRows) -> FeatureRows:
    """Scale every row to length 1; rows of zeros stay."""
    lengths = np.sqrt(row_totals(rows.offsets, rows.weights**2))
    lengths[lengths == 0] = 1.0
    return rows.with_weights(rows.weights / np.repeat(lengths, np.diff(rows.offsets)))


def _item_totals(counts: FeatureRows) -> NDArray[np.int64]:
    """Events at each item over all users."""
    return np.bincount(counts.features, counts.weights, counts.feature_count).astype(np.int64)


def _popularity(counts: FeatureRows) -> NDArray[np.float64]:
    totals = _item_totals(counts)
    return totals / max(int(totals.sum()), 1)
