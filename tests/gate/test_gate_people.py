"""How many people a verdict speaks of and would need, held against counting one by one."""

from __future__ import annotations

import datetime
import math

import pytest
from gate_documents import assessment, interval
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.gate.declared import Declared
from entropie.gate.people import MOST_PEOPLE, assessed_sentence, people_needed
from entropie.gate.profiles import PROFILES, own_profile
from entropie.gate.verdict import judge
from entropie.measures.intervals import wilson

TODAY = datetime.date(2026, 11, 16)
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


def wilson_document(right: int, people: int, attacks: int, share: float = 1.0) -> dict:
    """An assessment whose intervals are what so many people named rightly give."""
    low, high = map(float, wilson(right, people, 1.0 - 0.05 / attacks))
    three = (right / people, low, high)
    document = assessment(average=three, users=round(people / share))
    document["headline"] |= {
        "chosen_among": attacks,
        "most_exposed": {"matcher": "visit", "share": share, "people": people, "right": interval(three)},
    }
    return document


@pytest.mark.parametrize("attacks", [1, 6])
@pytest.mark.parametrize("chance", [None, 0.5])
@pytest.mark.parametrize(("part", "limit"), [(1 / 10, 0.12), (1 / 2, 0.4), (0.0, 0.02)])
def test_so_many_people_do_decide(attacks, chance, part, limit):
    """Assessed again with the number that was named, and with one fewer."""
    profile = own_profile(limit if chance is None else limit * chance, "house rule", "average")

    def decided(people: int):
        low, high = map(float, wilson(part * people, people, 1.0 - 0.05 / attacks))
        document = assessment(average=(part, low, high), users=people)
        document["headline"]["chosen_among"] = attacks
        return judge(document, profile, declared=Declared(attempt_probability=chance), today=TODAY)

    first = decided(20)
    assert first.decision == "INCONCLUSIVE"
    needed = first.people_needed
    assert decided(needed).decision == ("PASS" if part < limit else "FAIL")
    assert decided(needed).people_needed is None
    assert decided(needed - 1).decision == "INCONCLUSIVE"
    goal = "PASS" if part < limit else "FAIL"
    assert (
        f"it takes about {needed:,} people to tell ({goal}), {needed - 20:,} more than were assessed." in first.sentence
    )


@pytest.mark.parametrize(("attacks", "inside"), [(1, 39), (6, 71)])
def test_a_tenth_needs_ten_times_as_many(attacks, inside):
    found = judge(wilson_document(0, 20, attacks, share=0.1), PROFILES["ema"], today=TODAY)
    assert (found.decision, found.people_needed) == ("INCONCLUSIVE", 10 * inside)
    assert found.to_json()["people_needed"] == 10 * inside


def test_an_old_documents_tenth_has_a_plain_interval():
    low, high = map(float, wilson(0, 20))
    old = assessment(worst=(0.0, low, high))
    assert judge(old, PROFILES["ema"], today=TODAY).people_needed == 390


@pytest.mark.parametrize(
    ("people", "facts", "split", "sentence"),
    [
        (120, {}, {}, "Assessed were all 120 people in the data."),
        (100, {"users": None}, {}, "Assessed were 100 people."),
        (
            100, {"dropped_users": 20}, {},
            ("Assessed were 100 of 120 people; the other 20 have fewer than 10 events and were not assessed: nothing is "
            "said about their risk."),
        ),
        (
            1511, {"users": 3785, "dropped_users": 2274}, {"dropped_users": 0},
            ("Assessed were 1,511 of 3,785 people; the other 2,274 have fewer than 10 events and were not assessed: "
            "nothing is said about their risk."),
        ),
        (
            47, {"dropped_users": 20, "sampled_users": 50}, {"dropped_users": 3},
            ("Assessed were 47 of 120 people; the other 73 were not assessed (20 have fewer than 10 events; 50 are not in "
            "the sample; 3 have nothing to learn from or nothing to attack): nothing is said about their risk."),
        ),
        (
            100, {"dropped_users": 7}, {},  # an account that does not add up is not repeated
            "Assessed were 100 of 120 people; the other 20 were not assessed: nothing is said about their risk.",
        ),
    ],
)  # fmt: skip
def test_how_many_were_assessed(people, facts, split, sentence):
    document = assessment(users=people)
    document["input"] |= facts
    document["split"] |= split
    assert assessed_sentence(document) == sentence
    assert sentence in judge(document, PROFILES["ema"], today=TODAY).sentence
