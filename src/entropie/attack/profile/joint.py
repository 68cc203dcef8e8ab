"""What the crowd of targets tells: normalisation per person, and one-to-one matching over the k best.

Who holds all targets knows that each is of another person. Sinkhorn's iteration scales exp(scores) until the chances of
every target and of every person sum to 1; after one round people who suit many targets count less (the crowd), at the
end the matching is one-to-one (joint). Where there are fewer targets than people, a person has one at most. Only the k
best of each target take part: never all pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.attack.index import TIE
from entropie.attack.profile.candidates import Candidates
from entropie.kernels.profile_joint import scaled

ROUNDS = 50
TEMPERATURES = (0.7, 1.0, 1.4, 2.0)
"""Scores are multiplied by one of these before they are matched, whichever serves best in training."""

_LEAST_CHANCE = 1e-6


def crowd_scores(found: Candidates, users: int, temperature: float = 1.0, rounds: int = 1) -> Candidates:
    """Normalise per person over all targets: ln of the chance of each candidate."""
    return _normalised(found, users, temperature, rounds)


def joint_scores(found: Candidates, users: int, temperature: float = 1.0, rounds: int = ROUNDS) -> Candidates:
    """Match one-to-one: ln of the chance of each candidate."""
    return _normalised(found, users, temperature, rounds)


def choose_rounds(found: Candidates, users: int, right: NDArray[np.int64], temperature: float) -> tuple[int, int]:
    """Rounds of matching for the crowd and one-to-one: fewer than usual only where they name clearly more right people
    in training. 0 leaves the order of each target's candidates as it is.
    """
    named = {rounds: _named(_normalised(found, users, temperature, rounds), right) for rounds in (0, 1, ROUNDS)}
    crowd = 0 if _clearly_more(named[0], named[1]) else 1
    return crowd, crowd if _clearly_more(named[crowd], named[ROUNDS]) else ROUNDS


def _clearly_more(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Whether one way names more by two standard deviations of the targets that the two name differently."""
    gains = one - other
    return float(gains.sum()) > 2.0 * float(np.sqrt((gains**2).sum()))


def _named(found: Candidates, right: NDArray[np.int64]) -> NDArray[np.float64]:
    """Whether each right person has the highest score; those tied with others in part."""
    best = (found.scores >= found.scores.max(axis=1, keepdims=True) - TIE) & (found.people >= 0)
    hits = (best & (found.people == right[:, None])).any(axis=1)
    return np.asarray(hits / np.maximum(best.sum(axis=1), 1), np.float64)


def choose_temperature(found: Candidates, users: int, right: NDArray[np.int64]) -> float:
    """The temperature under which joint matching is least surprised by the right people, in training."""
    surprises = [mean_surprise(joint_scores(found, users, choice), right) for choice in TEMPERATURES]
    return TEMPERATURES[int(np.argmin(surprises))]


def mean_surprise(found: Candidates, right: NDArray[np.int64]) -> float:
    """Mean of -ln of the chance of the right person, which is never taken to be below one in a million."""
    chances = np.where(found.people == right[:, None], np.exp(found.scores), 0.0).sum(axis=1)
    return -float(np.log(np.maximum(chances, _LEAST_CHANCE)).mean())


def _normalised(found: Candidates, users: int, temperature: float, rounds: int) -> Candidates:
    least = 1.0 if found.people.shape[0] < users else 0.0  # with fewer targets than people, not everybody has one
    return Candidates(found.people, scaled(found.people, found.scores * temperature, users, rounds, least))
