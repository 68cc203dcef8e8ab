"""How many people a verdict speaks of and would need, held against counting one by one."""

from __future__ import annotations

import math

import pytest
from gate_documents import assessment
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.document import typed
from entropie.document.verdict import Declared
from entropie.gate.judge import Gate
from entropie.gate.people import MOST_PEOPLE, assessed_statement, people_needed
from entropie.gate.profiles import PROFILES, own_profile
from entropie.measures.intervals import share_interval

Z_95 = 1.959963984540054


def ends(share: float, people: int, z: float) -> tuple[float, float]:
    """Wilson's interval from the roots of the score equation: |share - p| = z sqrt(p (1-p) / people)."""
    a, b, c = 1.0 + z * z / people, -(2.0 * share + z * z / people), share * share
    root = math.sqrt(max(0.0, b * b - 4.0 * a * c))
    return (-b - root) / (2.0 * a), (-b + root) / (2.0 * a)


@settings(max_examples=60)
@given(st.floats(0.0, 1.0), st.floats(0.01, 0.99))
def test_the_fewest_people_found_by_counting(share, limit):
    found = people_needed(share, limit, 0.95)
    for people in range(1, 3000):
        low, high = ends(share, people, Z_95)
        if min(abs(low - limit), abs(high - limit)) < 1e-12:
            return  # rounding decides here
        if high <= limit or low > limit:
            assert found == people
            return
    assert found is None or found >= 3000


@pytest.mark.parametrize(
    ("share", "limit", "level", "people"),
    [
        (0.0, 0.09, 0.95, 39),  # z^2 (1 - L) / L = 3.8415 x 10.11 = 38.8
        (0.0, 0.09, 1.0 - 0.05 / 6.0, 71),  # z = 2.638
        (1.0, 0.5, 0.95, 4),  # low = n / (n + z^2) > 1/2
        (0.5, 0.2, 0.95, 7),  # 3.8415 x 0.16 / 0.09 = 6.8
    ],
)
def test_by_hand(share, limit, level, people):
    assert people_needed(share, limit, level) == people


def test_a_share_at_the_limit_never_tells():
    assert people_needed(0.09, 0.09, 0.95) is None
    assert people_needed(0.09 + 1e-9, 0.09, 0.95) is None
    assert people_needed(0.09, 0.0900001, 0.95) is None
    near = people_needed(0.09, 0.09002, 0.95)
    assert 10**8 < near < MOST_PEOPLE
    assert people_needed(0.3, 7.0, 0.95) == 1  # a limit beyond every share


def three(right: float, people: int, attacks: int) -> tuple[float, float, float]:
    """A share with the interval that so many people and attacks give."""
    found = share_interval(right / people, people, 1.0 - 0.05 / attacks)
    return found.value, found.low, found.high


@pytest.mark.parametrize("attacks", [1, 6])
@pytest.mark.parametrize("chance", [None, 0.5])
@pytest.mark.parametrize(("part", "limit"), [(1 / 10, 0.12), (1 / 2, 0.4), (0.0, 0.02)])
def test_so_many_people_do_decide(attacks, chance, part, limit):
    """Assessed again with the number that was named, and with one fewer."""
    profile = own_profile(limit if chance is None else limit * chance, "house rule", "average")
    gate = Gate(profile, declared=Declared(None, None, None, chance))

    def decided(people: int):
        average = three(part * people, people, attacks)
        return gate.judge(typed(assessment(average=average, people=people, among=attacks)))

    first = decided(20)
    assert first.decision == "INCONCLUSIVE"
    needed = first.people_needed
    goal = "PASS" if part < limit else "FAIL"
    assert decided(needed).decision == goal
    assert decided(needed).people_needed is None
    assert decided(needed - 1).decision == "INCONCLUSIVE"
    words = f"about {needed:,} people are needed to decide ({goal}): {needed - 20:,} more than were assessed."
    assert any(words in text for text in first.rests_on)


@pytest.mark.parametrize(("attacks", "inside"), [(1, 39), (6, 71)])
def test_a_tenth_needs_ten_times_as_many(attacks, inside):
    document = assessment(worst=three(0, 20, attacks), people=200, among=attacks, facts={"users": 200})
    verdict = Gate(PROFILES["ema"]).judge(typed(document))
    assert (verdict.decision, verdict.people_needed) == ("INCONCLUSIVE", 10 * inside)


@pytest.mark.parametrize(
    ("people", "facts", "split", "statement"),
    [
        (120, {}, {}, "All 120 people in the data were assessed."),
        (100, {"users": None}, {}, "100 people were assessed."),
        (100, {}, {}, "100 of 120 people were assessed; excluded: 20 with fewer than 10 events. Their risk is not covered."),
        (
            1511, {"users": 3785, "dropped_users": 2274}, {"dropped_users": 0},
            ("1,511 of 3,785 people were assessed; excluded: 2,274 with fewer than 10 events. Their risk is not covered."),
        ),
        (
            97, {"dropped_users": 20}, {"dropped_users": 3},
            ("97 of 120 people were assessed; excluded: 20 with fewer than 10 events; 3 with nothing to learn from or "
            "nothing to attack. Their risk is not covered."),
        ),
        (
            100, {"dropped_users": 7}, {},  # an account that does not add up is not repeated
            "100 of 120 people were assessed; excluded: 20. Their risk is not covered.",
        ),
    ],
)  # fmt: skip
def test_how_many_were_assessed(people, facts, split, statement):
    document = typed(assessment(people=people, facts=facts, split=split))
    assert assessed_statement(document) == statement
    assert statement in Gate(PROFILES["ema"]).judge(document).rests_on


def test_who_was_attacked_is_said():
    document = assessment(people=100)
    for attack in document["attacks"]:
        attack["targets"] = 40
    said = assessed_statement(typed(document))
    assert said.endswith("Their risk is not covered. 40 of them, drawn at random, were attacked among all.")
