"""The cheapest combination that meets a limit, in few tries.

Every candidate has a price. One that does not meet the limit speaks for all that go no further on any axis: they are
not tried. One that meets it makes all that cost as much or more needless. Of those still open the next is the
one that settles most others whatever comes of it, until none is open or the budget is used up. What is found then is
tried without each of its steps, unless that costs more: no step is in it for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from entropie.mitigate.mitigation import Combination


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to.

    chosen    the cheapest that meets the limit, by its place; None where none of those tried does
    tried     places of those that were tried, in this order
    implied   cheaper ones (all, where nothing is chosen) that were not tried because one that goes further failed
    left      cheaper ones that nothing is known of: the budget was used up
    """

    chosen: int | None
    tried: tuple[int, ...]
    implied: int
    left: int


def cheapest(
    candidates: Sequence[Combination],
    prices: Sequence[float],
    meets: Callable[[int], bool | None],
    goes_on: Callable[[bool], bool],
) -> Found:
    """Search; `meets` tries a candidate by its place, `goes_on` says whether the budget allows another: while something
    better than what was found is looked for (true), so that some is left for its steps, or else (false).

    None of `meets` is an answer that says nothing about others.
    """
    order = sorted(range(len(candidates)), key=lambda place: (prices[place], len(candidates[place].parts), place))
    covers = np.array([[candidates[one].at_most(candidates[other]) for one in order] for other in order], np.bool_)
    cost, undecided = np.array([prices[place] for place in order]), np.ones(len(order), np.bool_)
    steps = np.array([len(candidates[place].parts) for place in order], np.int64)
    answers, implied = dict[int, bool | None](), np.zeros(len(order), np.bool_)
    chosen: int | None = None
    while undecided.any() and goes_on(chosen is not None):
        open_ = np.flatnonzero(undecided)
        weaker = covers[np.ix_(open_, open_)].sum(axis=1)
        dearer = open_.size - np.searchsorted(cost[open_], cost[open_])
        place = int(open_[np.argmax(np.minimum(weaker, dearer))])
        undecided[place] = False
        answer = answers[place] = meets(order[place])
        if answer:
            chosen = place
            better = (cost < cost[place]) | ((cost == cost[place]) & (steps < steps[place]))
            undecided &= better
            implied &= better
        elif answer is False:
            implied |= undecided & covers[place]
            undecided &= ~covers[place]
    places = {candidates[one]: place for place, one in enumerate(order)}
    while chosen is not None:
        fewer = (places.get(one) for one in candidates[order[chosen]].without_one)
        cheaper = sorted(place for place in fewer if place is not None and cost[place] <= cost[chosen])
        better_still = None
        for place in cheaper:
            if place not in answers and goes_on(False):
                undecided[place] = implied[place] = False
                answers[place] = meets(order[place])
            if answers.get(place):
                better_still = place
                break
        if better_still is None:
            break
        chosen = better_still
        undecided[chosen:] = implied[chosen:] = False
    found = None if chosen is None else order[chosen]
    return Found(found, tuple(order[place] for place in answers), int(implied.sum()), int(undecided.sum()))
