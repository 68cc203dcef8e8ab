"""The search for the cheapest that meets a limit: with fakes, against trying everything."""

from __future__ import annotations

import random

import pytest

from entropie.mitigate.kind import AXES
from entropie.mitigate.mitigation import Combination, Mitigation
from entropie.release.search import Found, cheapest

AXIS_OF = {
    "items": [Mitigation("top", n) for n in (9, 5, 2)],
    "times": [Mitigation("time_unit", unit) for unit in ("hour", "day", "week", "none")],
    "events": [Mitigation("thin", share) for share in (0.5, 0.2)],
}


def grid() -> list[Combination]:
    found: list[tuple[Mitigation, ...]] = [()]
    for axis in AXES:
        found = [(*parts, one) if one else parts for parts in found for one in (None, *AXIS_OF.get(axis, []))]
    return [Combination(parts) for parts in found]


GRID = grid()


def strength(one: Combination) -> tuple[int, ...]:
    return tuple(1 + AXIS_OF[axis].index(one.by_axis[axis]) if axis in one.by_axis else 0 for axis in AXIS_OF)


def searched(prices: list[float], good: list[bool], budget: int = 10**6) -> tuple[Found, list[int]]:
    asked: list[int] = []

    def meets(place: int) -> bool:
        asked.append(place)
        return good[place]

    return cheapest(GRID, prices, meets, lambda improving: len(asked) < budget), asked


@pytest.mark.parametrize("seed", range(30))
def test_where_going_further_never_harms_the_cheapest_is_found_in_few_tries(seed: int) -> None:
    chance = random.Random(seed)
    weights, need = [chance.random() for _ in AXIS_OF], [chance.random() * 5 for _ in AXIS_OF]
    enough = chance.random() * 12
    good = [sum(n * s for n, s in zip(need, strength(one), strict=True)) >= enough for one in GRID]
    prices = [sum(w * s for w, s in zip(weights, strength(one), strict=True)) for one in GRID]
    found, asked = searched(prices, good)
    best = min((price for price, fine in zip(prices, good, strict=True) if fine), default=None)
    assert (None if found.chosen is None else prices[found.chosen]) == best
    assert found.left == 0
    assert found.tried == tuple(asked)
    assert len(set(asked)) == len(asked) <= 30 < len(GRID) == 60
    cheaper = [place for place in range(60) if best is None or prices[place] < best]
    assert found.implied + len({*asked} & {*cheaper}) == len(cheaper)


def test_what_fails_speaks_for_those_that_go_no_further_and_for_no_others() -> None:
    prices = [float(sum(strength(one))) for one in GRID]
    found, asked = searched(prices, [False] * 60)
    assert found.chosen is None
    strongest = max(range(60), key=lambda place: strength(GRID[place]))
    assert strongest in asked
    assert found.implied + len(asked) == 60
    for place in range(60):
        if place not in asked:
            assert any(
                all(a <= b for a, b in zip(strength(GRID[place]), strength(GRID[one]), strict=True)) for one in asked
            )


def test_an_answer_that_tells_nothing_settles_nothing_else() -> None:
    """The strongest leave too little to tell: the cheapest of the others is found."""
    prices = [float(sum(strength(one))) for one in GRID]
    answers = [None if sum(strength(one)) > 5 else sum(strength(one)) == 5 for one in GRID]
    found = cheapest(GRID, prices, lambda place: answers[place], lambda improving: True)
    assert found.chosen is not None
    assert prices[found.chosen] == 5.0
    nothing = cheapest(GRID, prices, lambda place: None, lambda improving: True)
    assert nothing == Found(None, nothing.tried, 0, 0)
    assert len(nothing.tried) == 60


def test_the_budget_is_kept_and_what_is_left_is_counted() -> None:
    prices = [float(place) for place in range(60)]
    found, asked = searched(prices, [False] * 60, budget=1)
    assert len(asked) == 1
    assert found.left + found.implied == 59
    found, _ = searched(prices, [True] * 60, budget=1)
    assert found.chosen is not None
    assert found == Found(found.chosen, (found.chosen,), 0, found.chosen)
    assert searched(prices, [True] * 60)[0].chosen == 0
    assert searched(prices, [True] * 60, budget=0)[0] == Found(None, (), 0, 60)


@pytest.mark.parametrize("seed", range(40))
def test_no_step_of_what_is_found_is_needless(seed: int) -> None:
    """Whether going further helps, harms or does nothing, and where steps cost nothing."""
    chance = random.Random(seed)
    price = [chance.choice([0.0, 0.0, chance.random()]) for _ in AXIS_OF]
    prices = [sum(w * s for w, s in zip(price, strength(one), strict=True)) for one in GRID]
    good = [chance.random() < 0.3 for _ in GRID]
    answers = [True if fine else chance.choice([False, None]) for fine in good]
    found = cheapest(GRID, prices, lambda place: answers[place], lambda improving: True)
    if found.chosen is not None:
        places = {one: place for place, one in enumerate(GRID)}
        fewer = [places[one] for one in GRID[found.chosen].without_one]
        assert not any(good[place] and prices[place] <= prices[found.chosen] for place in fewer)
        assert answers[found.chosen] is True


def test_without_the_last_look_needless_steps_stay() -> None:
    kept = 0
    for seed in range(40):
        chance = random.Random(seed)
        prices = [sum(strength(one)) * chance.choice([0.0, 0.1]) for one in GRID]
        good = [chance.random() < 0.3 for _ in GRID]
        kept += needless(prices, good)
    assert kept > 0


def needless(prices: list[float], good: list[bool]) -> bool:
    """Whether a search that stops where it has found something finds something with a needless step."""
    seen: list[bool] = []

    def meets(place: int) -> bool:
        seen.append(good[place])
        return good[place]

    found = cheapest(GRID, prices, meets, lambda improving: improving or True not in seen)
    if found.chosen is None:
        return False
    places = {one: place for place, one in enumerate(GRID)}
    fewer = [places[one] for one in GRID[found.chosen].without_one]
    return any(good[place] and prices[place] <= prices[found.chosen] for place in fewer)
