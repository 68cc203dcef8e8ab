"""The attack on a collection's own parameters, simulated: what an attacker reaches beside what is guaranteed.

People who do not exist hold data that differ as much as the items allow, the worst case; devices answer as the document
says, hash pool included. The attacker knows all data and names who sent what: once from one person's reports alone,
once from everybody's, where among equal fits somebody is named who was not yet. Both shares must stay below the
guarantee; `chance` is how often an attacker at the guaranteed share would be as lucky.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.collector.document import Collection
from entropie.collector.pool import hash_functions
from entropie.document.base import AtLeastOne, Part, Share
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.probability import happens
from entropie.mechanisms.randomness import SimulationSource
from entropie.theory.special import binomial_upper_tail

MOST_PEOPLE = 1_000
_MOST_WORK = 2 * 10**7
_DEPENDENCE = 2
"""Names that exclude each other are right or wrong together: their number varies up to twice as much, by trial."""
Codes = NDArray[np.uint64]


class Reached(Part, frozen=True):
    """What one attacker reached: their share of people named rightly, the share allowed, the chance of that luck."""

    share: Share
    allowed: Share
    chance: Share


class Attacked(Part, frozen=True):
    """A simulated attack on everybody: people, trials with new reports each, and both attackers."""

    people: AtLeastOne
    trials: AtLeastOne
    alone: Reached
    all_reports: Reached


def attacked(collection: Collection, rng: np.random.Generator, people: int = 200, trials: int = 20) -> Attacked:
    """Attack this many people of the collection, or all where they are fewer."""
    people = min(people, collection.users, MOST_PEOPLE)
    trials = max(1, min(trials, _MOST_WORK // (people * people * collection.reports) + 1))
    data = _data(people, collection.reports, collection.device.domain_size)
    alone = together = 0
    for _ in range(trials):
        scores = _scores(collection, data, rng)
        alone += _named_alone(scores, rng)
        together += _named_together(scores, rng)
    given = collection.guarantee_for(people)
    entries = people * trials
    return Attacked(
        people,
        trials,
        _reached(alone, entries, 1.0 - given.bayes_error, 1),
        _reached(together, entries, 1.0 - given.all_reports.bayes_error, _DEPENDENCE),
    )


def _reached(named: int, entries: int, allowed: float, dependence: int) -> Reached:
    """The chance is the exact binomial tail, for as many names as are worth independent ones."""
    chance = binomial_upper_tail(-(-named // dependence), entries // dependence, allowed)
    return Reached(named / entries, allowed, chance)


def _data(people: int, reports: int, domain_size: int) -> Codes:
    """Item codes of each person, as different as can be: all different in every report where there are enough items.

    Else person i has i mod k first and i + floor(i/k^s) mod k in report s, so that no two have the same twice.
    """
    numbers = np.arange(people, dtype=np.uint64)
    columns = [numbers % np.uint64(domain_size)]
    rest = numbers
    for _ in range(1, reports):
        rest = rest // np.uint64(domain_size)
        columns.append((numbers + rest) % np.uint64(domain_size))
    return np.stack(columns, axis=1)


def _scores(collection: Collection, data: Codes, rng: np.random.Generator) -> NDArray[np.int64]:
    """How many reports of each person (rows) fit the data of each person (columns)."""
    device, source, people = collection.device, SimulationSource(rng), len(data)
    fits = np.zeros((people, people), np.int64)
    for column in data.T:
        truthful = happens(device.theta_numerator, source.words(people))
        if isinstance(device, LocalHashing):
            index = source.below(collection.functions, people)
            a, b = hash_functions(collection.seed_bytes, index, device.prime)
            lies = source.below(device.hash_size, people)
            sent = np.where(truthful, device.family.values(a, b, column), lies)
            for row in range(people):
                same = np.full(people, a[row]), np.full(people, b[row])
                fits[row] += device.family.values(*same, column) == sent[row]
        else:
            sent = np.where(truthful, column, source.below(device.domain_size, people))
            fits += sent[:, None] == column[None, :]
    return fits


def _named_alone(scores: NDArray[np.int64], rng: np.random.Generator) -> int:
    """Rows whose best column, ties broken at random, is their own."""
    return int((np.argmax(scores + rng.random(scores.shape), axis=1) == np.arange(len(scores))).sum())


def _named_together(scores: NDArray[np.int64], rng: np.random.Generator) -> int:
    """The same with an eye on all reports: among equal fits, somebody who was not named yet.

    Those that fit best and have the fewest rivals are named first.
    """
    people = len(scores)
    best = scores.max(axis=1)
    rivals = (scores == best[:, None]).sum(axis=1)
    order = np.lexsort((rng.random(people), rivals, -best))
    free, right = np.ones(people, bool), 0
    for row in order.tolist():
        chosen = int(np.argmax(scores[row] + 0.5 * free + 0.4 * rng.random(people)))
        free[chosen] = False
        right += chosen == row
    return right
