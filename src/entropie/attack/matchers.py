"""The matchers: each turns training and target traces into sparse rows whose product is the score."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import FeatureRows, Matching, check_same_people, item_rows
from entropie.attack.pitman_yor import asked_rows, known_rows, pitman_yor
from entropie.attack.population import Population
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.kernels.features import markov_targets, markov_users, row_totals, transition_table

__all__ = [
    "FLOOR",
    "MATCHERS",
    "bayes",
    "cosine",
    "largest_weight",
    "markov",
    "matcher",
    "target_rows",
    "tfidf",
    "user_rows",
    "visit",
]

FLOOR = 1e-8
"""d: what the paper puts in place of a probability of zero."""

Rows = tuple[FeatureRows, NDArray[np.float64] | None]
"""Rows, and the part of the rank-one term that goes with them: penalties of users or sizes of targets."""


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
    rows = FeatureRows(*users, feature_count), FeatureRows(*targets, feature_count)
    return Matching(*rows, largest_weight=largest_weight("markov"))


def largest_weight(name: str) -> float:
    """What no weight of a user exceeds, where it is known beforehand; else 0."""
    return -math.log(FLOOR) if name == "markov" else 0.0


def visit(train: Traces, target: Traces) -> Matching:
    """Match every event by the visit vector: ln pi_i(x) - ln d."""
    return _matched("visit", train, target)


def cosine(train: Traces, target: Traces) -> Matching:
    """Match by the angle between vectors of counts."""
    return _matched("cosine", train, target)


def tfidf(train: Traces, target: Traces) -> Matching:
    """Match by the angle between vectors of counts times ln(users / users that have the item in training)."""
    return _matched("tfidf", train, target)


def bayes(train: Traces, target: Traces, *, smoothing: float | None = None) -> Matching:
    """Match by likelihood ratio: a Dirichlet-smoothed model of the user against the population p.

    Score: ln(1 + c_i(x) / (lambda p(x))) per event, minus T ln(1 + N_i/lambda). `smoothing` is lambda; unless given
    it is chosen from the training data.
    """
    return _matched("bayes", train, target, smoothing)


def user_rows(name: str, train: Traces, population: Population) -> Rows:
    """Rows and penalties of some users, from their own training and what is known of everybody.

    For all matchers but markov, whose features are the transitions that some target makes.
    """
    return _rows_of(name, _USER_ROWS)(train, population)


def target_rows(name: str, target: Traces, population: Population) -> Rows:
    """Rows and sizes of some targets, over the same features."""
    return _rows_of(name, _TARGET_ROWS)(target, population)


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


def _rows_of(name: str, rows: dict[str, Callable[[Traces, Population], Rows]]) -> Callable[[Traces, Population], Rows]:
    if name not in rows:
        raise InvalidParameter.of("matcher", f"one of {', '.join(rows)}", name)
    return rows[name]


def _matched(name: str, train: Traces, target: Traces, smoothing: float | None = None) -> Matching:
    check_same_people(train, target)
    population = Population.of(name, train, target, smoothing=smoothing)
    users, penalty = user_rows(name, train, population)
    targets, sizes = target_rows(name, target, population)
    return Matching(users, targets, sizes, penalty)


def _visit_users(train: Traces, population: Population) -> Rows:
    counts = item_rows(train)
    share = counts.weights / np.repeat(counts.totals(), np.diff(counts.offsets))
    return counts.with_weights(np.log(share) - np.log(FLOOR)), None


def _visit_targets(target: Traces, population: Population) -> Rows:
    return item_rows(target), None


def _angle_rows(traces: Traces, population: Population) -> Rows:
    return _unit(item_rows(traces)), None


def _rare_angle_rows(traces: Traces, population: Population) -> Rows:
    counts = item_rows(traces)
    rarity = np.log(population.users / np.maximum(population.holders, 1))
    return _unit(counts.with_weights(counts.weights * rarity[counts.features])), None


def _bayes_users(train: Traces, population: Population) -> Rows:
    assert population.smoothing is not None
    counts = item_rows(train)
    popularity = population.events / max(population.all_events, 1)
    weights = np.log1p(counts.weights / (population.smoothing * popularity[counts.features]))
    return counts.with_weights(weights), np.log1p(counts.totals() / population.smoothing)


def _bayes_targets(target: Traces, population: Population) -> Rows:
    asked = item_rows(target)
    return asked, asked.totals()


def _pitman_yor_users(train: Traces, population: Population) -> Rows:
    assert population.settings is not None
    return known_rows(train, population.settings, population.holders, population.all_holders, population.hours)


def _pitman_yor_targets(target: Traces, population: Population) -> Rows:
    assert population.settings is not None
    return asked_rows(target, population.settings, population.hours)


_USER_ROWS: dict[str, Callable[[Traces, Population], Rows]] = {
    "visit": _visit_users,
    "tfidf": _rare_angle_rows,
    "cosine": _angle_rows,
    "bayes": _bayes_users,
    "pitman_yor": _pitman_yor_users,
}
_TARGET_ROWS: dict[str, Callable[[Traces, Population], Rows]] = {
    "visit": _visit_targets,
    "tfidf": _rare_angle_rows,
    "cosine": _angle_rows,
    "bayes": _bayes_targets,
    "pitman_yor": _pitman_yor_targets,
}


def _unit(rows: FeatureRows) -> FeatureRows:
    """Scale every row to length 1; rows of zeros stay."""
    lengths = np.sqrt(row_totals(rows.offsets, rows.weights**2))
    lengths[lengths == 0] = 1.0
    return rows.with_weights(rows.weights / np.repeat(lengths, np.diff(rows.offsets)))
