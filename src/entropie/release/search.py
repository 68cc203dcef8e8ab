"""The cheapest combination that meets a limit, in few tries.

Every candidate has a price. One that does not meet the limit speaks for all that go no further on any axis: they are
not tried. One that meets it makes all that cost as much or more needless. Of those still open the one in the middle of
the prices is tried next, until none is open or the budget is used up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    meets: Callable[[int], bool],
    goes_on: Callable[[], bool],
) -> Found:
    """Search; `meets` tries a candidate by its place, `goes_on` says whether the budget allows another."""
    order = sorted(range(len(candidates)), key=lambda place: (prices[place], len(candidates[place].parts), place))
    undecided, tried = order, list[int]()
    implied: list[int] = []
    chosen: int | None = None
    while undecided and goes_on():
        place = undecided[len(undecided) // 2]
        tried.append(place)
        undecided = [one for one in undecided if one != place]
        if meets(place):
            chosen = place
            undecided = [one for one in undecided if prices[one] < prices[place]]
            implied = [one for one in implied if prices[one] < prices[place]]
            continue
        weaker = [one for one in undecided if candidates[one].at_most(candidates[place])]
        implied += weaker
        undecided = [one for one in undecided if one not in set(weaker)]
    return Found(chosen, tuple(tried), len(implied), len(undecided))
