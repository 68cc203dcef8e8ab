"""How many people a verdict speaks of and would need, held against counting one by one."""

from __future__ import annotations

import math

import pytest
from gate_documents import GROUPS, assessment
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.document import typed
from entropie.document.verdict import Declared
from entropie.gate.judge import Gate
from entropie.gate.people import MOST_PEOPLE, assessed_statement, people_needed
from entropie.gate.profiles import PROFILES, own_profile

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


@pytest.mark.parametrize("chance", [None, 0.5])
@pytest.mark.parametrize(("part", "limit"), [(1 / 10, 0.12), (1 / 2, 0.4), (0.0, 0.02)])
def test_so_many_people_do_decide(chance, part, limit):
    """Assessed again with the number that was named, and with one fewer."""
    profile = own_profile(limit if chance is None else limit * chance, "house rule", "average")
    gate = Gate(profile, declared=Declared(None, None, None, chance))

    def decided(people: int):
        found = gate.judge(typed(assessment(average=part, people=people, exposed=people)))
        return found.decision.removesuffix(" (limited)"), found

    decision, first = decided(20)
    assert decision == "INCONCLUSIVE"
    needed = first.people_needed
    goal = "PASS" if part < limit else "FAIL"
    assert decided(needed)[0] == goal
    assert decided(needed)[1].people_needed is None
    assert decided(needed - 1)[0] == "INCONCLUSIVE"
    words = f"about {needed:,} people are needed to decide ({goal}): {needed - 20:,} more than were assessed."
    assert any(words in text for text in first.rests_on)


def test_a_tenth_needs_ten_times_as_many():
    """Two thirds of the limit in a tenth of 4,000 people: the tenth itself must be large enough."""
    document = assessment(average=0.0, worst=0.06, people=4000, exposed=400)
    verdict = Gate(PROFILES["ema"]).judge(typed(document))
    assert (verdict.decision, verdict.share) == ("INCONCLUSIVE", 0.1)
    inside = people_needed(0.06, 0.09, 1.0 - 0.05 / GROUPS)
    assert inside > 400
    assert verdict.people_needed == 10 * inside


@pytest.mark.parametrize(
    ("facts", "few", "statement"),
    [
        ({}, 0, "All 1,000 people in the data were assessed."),
        ({"users": None}, 0, "All 1,000 people in the data were assessed."),
        ({"users": 1020}, 0, "1,000 of 1,020 people were assessed; 20 were excluded."),
        (
            {"users": 1020}, 15,
            ("1,000 of 1,020 people were assessed; 15 of them have too few events for more than the attacker of known "
            "events; 20 were excluded."),
        ),
    ],
)  # fmt: skip
def test_how_many_were_assessed(facts, few, statement):
    document = assessment(facts=facts)
    document["users"] -= few
    assert assessed_statement(typed(document)) == statement
    assert statement in Gate(PROFILES["ema"]).judge(typed(document)).rests_on
