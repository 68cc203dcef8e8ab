"""Loops that find the people who come into question for a target."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from entropie.kernels.attack_records import inner
from entropie.kernels.profile_records import NOBODY, Company, KnownPeople, Targets, add_company, habit, item_hour

__all__ = ["best_people", "likely_people"]


@njit(nogil=True, cache=True)
def best_people(
    people: KnownPeople,
    targets: Targets,
    starts: NDArray[np.int64],
    entries: NDArray[np.int64],
    owners: NDArray[np.int64],
    hours: float,
    habits: float,
    kept: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k best people of each target by items, `hours` x hours given items and `habits` x habits.

    starts, entries   per item the entries of people who have it
    owners            person of each entry
    habits            0: only people who share an item come into question
    """
    rows = targets.offsets.shape[0] - 1
    count = people.penalty.shape[0]
    best = np.full((rows, kept), NOBODY, np.int64)
    scores = np.full((rows, kept), -np.inf)
    sums = np.zeros(count)
    met = np.zeros(count, np.bool_)
    reached = np.empty(count, np.int64)
    for row in range(rows):
        found = 0
        for place in range(targets.offsets[row], targets.offsets[row + 1]):
            item = targets.items[place]
            for post in range(starts[item], starts[item + 1]):
                entry = entries[post]
                person = owners[entry]
                if not met[person]:
                    met[person] = True
                    reached[found] = person
                    found += 1
                sums[person] += targets.weights[place] * people.evidence[entry]
                if hours > 0.0:
                    sums[person] += hours * item_hour(people, targets, entry, place)
        if habits > 0.0:
            found = count
            for person in range(count):
                reached[person] = person
                sums[person] += habits * habit(people, targets, person, row, 0, targets.habits.shape[1])
        standing = np.empty(found)
        for place in range(found):
            person = reached[place]
            standing[place] = sums[person] - targets.sizes[row] * people.penalty[person]
            sums[person] = 0.0
            met[person] = False
        _keep_best(reached, standing, best[row], scores[row])
    return best, scores


@njit(nogil=True, cache=True)
def likely_people(
    people: KnownPeople,
    targets: Targets,
    company: Company,
    starts: NDArray[np.int64],
    entries: NDArray[np.int64],
    owners: NDArray[np.int64],
    kept: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k people of each target whose items go best with its items, where nobody meets an item twice.

    People who have an item of the target do not come into question.
    """
    rows = targets.offsets.shape[0] - 1
    count = people.penalty.shape[0]
    domain = company.popularity.shape[0]
    best = np.full((rows, kept), NOBODY, np.int64)
    scores = np.full((rows, kept), -np.inf)
    expected = np.zeros(domain)
    sums = np.zeros(count)
    out = np.zeros(count, np.bool_)
    reached = np.empty(count, np.int64)
    for row in range(rows):
        own = targets.own[row]
        for place in range(targets.offsets[row], targets.offsets[row + 1]):
            item = targets.items[place]
            add_company(company, item, own, targets.weights[place] / company.popularity[item], expected)
            for post in range(starts[item], starts[item + 1]):
                out[owners[entries[post]]] = True
        for item in range(domain):
            if expected[item] > 0.0:
                share = expected[item] / (company.reach[item] + company.shrink)
                for post in range(starts[item], starts[item + 1]):
                    sums[owners[entries[post]]] += people.shares[entries[post]] * share
                expected[item] = 0.0
        found = 0
        standing = np.empty(count)
        for person in range(count):
            if not out[person]:
                reached[found] = person
                standing[found] = sums[person]
                found += 1
            sums[person] = 0.0
            out[person] = False
        _keep_best(reached, standing[:found], best[row], scores[row])
    return best, scores


@inner
def _keep_best(
    reached: NDArray[np.int64], standing: NDArray[np.float64], best: NDArray[np.int64], scores: NDArray[np.float64]
) -> None:
    """Write the best, best first; equal ones as they stand."""
    kept = min(best.shape[0], standing.shape[0])
    if kept == 0:
        return
    level = np.partition(standing, standing.shape[0] - kept)[standing.shape[0] - kept]
    chosen = np.flatnonzero(standing >= level)
    order = np.argsort(-standing[chosen], kind="mergesort")
    for rank in range(kept):
        best[rank] = reached[chosen[order[rank]]]
        scores[rank] = standing[chosen[order[rank]]]
