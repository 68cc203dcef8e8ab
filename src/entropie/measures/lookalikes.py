"""Look-alike ids: several ids that behave as one person, so that the attacker finds *a* right id and not *the* id.

Where a person's events are spread over c ids, the genuine id is named in one case of c and the risk looks small. The
ids give themselves away: whom id i's attacked events point to, b, points back to i by events of b that had no part in
the first comparison. So the share of targets whose best candidate is the genuine id, or has the genuine id among its
own k best, is what finding a right id comes to; where ids have nothing in common it is k in the number of people.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.document.assessment import LookAlikes
from entropie.measures.intervals import share_interval

GUESSES, LEAST_TARGETS = 20, 20
_SHARE_OF_PEOPLE = 10


def look_alikes(best: NDArray[np.int64], owners: NDArray[np.int64], people: int) -> LookAlikes | None:
    """Ask the candidates of each target, best first and -1 for nobody, whether they point back at its owner.

    Where only some people are attacked, those candidates speak for all who can be asked. None with too few to tell.

    >>> look_alikes(np.zeros((5, 1), np.int64), np.arange(5), 5) is None
    True
    """
    guesses = min(GUESSES, people // _SHARE_OF_PEOPLE, best.shape[1])
    if guesses < 1 or owners.size < LEAST_TARGETS:
        return None
    target_of = np.full(people + 1, -1, np.int64)  # nobody is asked last
    target_of[owners] = np.arange(owners.size)
    first = best[:, 0]
    asked, own = target_of[first], first == owners
    points_back = (best[asked, :guesses] == owners[:, None]).any(axis=1) & (asked >= 0)
    told = ~own & ((asked >= 0) | (first < 0))  # the best candidate was attacked, or there is none
    if told.sum() + own.sum() < LEAST_TARGETS:
        return None
    right = float(own.mean())
    either = right + (1.0 - right) * (float(points_back[told].mean()) if told.any() else 0.0)
    return LookAlikes(guesses, share_interval(either, int(told.sum() + own.sum())), guesses / people)
