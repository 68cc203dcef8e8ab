from __future__ import annotations

import datetime
import itertools

import pytest
from gate_documents import SHA, assessment
from hypothesis import given
from hypothesis import strategies as st

from entropie.errors import InvalidInput
from entropie.gate.declared import Declared
from entropie.gate.profiles import PROFILES, own_profile
from entropie.gate.verdict import EXIT_CODES, decide, judge
from entropie.gate.waiver import Waiver
from entropie.measures.intervals import Interval

TODAY = datetime.date(2026, 11, 16)
HOUSE = own_profile(0.5, "house rule", "average")
shares = st.floats(0.0, 1.0)


def waiver(**changes: object) -> Waiver:
    values = {
        "reason": "pilot with ten testers",
        "expires": datetime.date(2026, 12, 31),
        "granted_by": "J. Doe",
        "profile": "ema",
    }
    return Waiver(**{**values, **changes})


@pytest.mark.parametrize(
    ("low", "high", "decision"),
    [
        (0.0, 0.4, "PASS"),
        (0.4, 0.5, "PASS"),  # a risk that equals the limit is within it
        (0.5, 0.5, "PASS"),
        (0.5, 0.6, "INCONCLUSIVE"),
        (0.4, 0.6, "INCONCLUSIVE"),
        (0.51, 0.6, "FAIL"),
        (1.0, 1.0, "FAIL"),
    ],
)
def test_the_ends_decide_and_not_the_point(low, high, decision):
    for value in (low, high):
        assert decide(Interval(value, low, high), 0.5) == decision


@given(shares, shares, shares)
def test_decisions_in_words(one, other, limit):
    """PASS: every risk in the interval is within the limit. FAIL: none is."""
    low, high = sorted((one, other))
    grid = [low, high, *(low + (high - low) * step / 7 for step in range(8))]
    within = [min(max(risk, low), high) <= limit for risk in grid]
    wanted = "PASS" if all(within) else "FAIL" if not any(within) else "INCONCLUSIVE"
    assert decide(Interval(low, low, high), limit) == wanted


def test_a_wider_interval_is_never_surer():
    limit = 0.3
    for value, half, more in itertools.product((0.1, 0.3, 0.5), (0.0, 0.05, 0.3), (0.0, 0.1, 0.5)):
        narrow = decide(Interval(value, value - half, value + half), limit)
        wide = decide(Interval(value, value - half - more, value + half + more), limit)
        assert wide in (narrow, "INCONCLUSIVE")


def test_average_is_one_minus_the_headlines_error():
    found = judge(assessment(average=(0.25, 0.2, 0.3)), HOUSE, today=TODAY)
    assert (found.measured_risk.value, found.measured_risk.low, found.measured_risk.high) == pytest.approx(
        (0.25, 0.2, 0.3)
    )
    assert (found.decision, found.measure, found.exit_code) == ("PASS", "average", 0)


def test_worst_is_the_most_exposed_of_the_strongest_attack():
    found = judge(assessment(worst=(0.8, 0.7, 0.9)), PROFILES["ema"], today=TODAY)
    assert found.measured_risk == Interval(0.8, 0.7, 0.9)
    assert (found.decision, found.measure, found.exit_code) == ("FAIL", "worst", 1)
    assert "of the 1,234 people whom the strongest attack is surest about" in found.sentence


@pytest.mark.parametrize("name", PROFILES)
def test_without_a_measure_the_profile_chooses(name):
    profile = PROFILES[name]
    assert judge(assessment(), profile, today=TODAY).measure == profile.measure


@pytest.mark.parametrize(
    ("name", "measure", "words"),
    [
        ("ema", "average", "speaks of the maximum, the risk of any one person; judged was the average"),
        (
            "ema",
            "worst",
            "speaks of the maximum, the risk of any one person; the share of the most exposed is the nearest",
        ),
        ("arx-success", "worst", "speaks of the average over all people; judged were the most exposed"),
    ],
)
def test_what_the_profile_speaks_of_is_told(name, measure, words):
    assert words in judge(assessment(), PROFILES[name], measure, today=TODAY).sentence


def test_nothing_to_tell_where_average_is_judged_as_average():
    assert "speaks of" not in judge(assessment(), PROFILES["arx-success"], "average", today=TODAY).sentence


def test_exact_document():
    found = judge(assessment(average=(0.5, 0.375, 0.625)), HOUSE, "average", today=TODAY)
    assert found.to_json() == {
        "decision": "INCONCLUSIVE",
        "profile": {
            "name": "own",
            "title": "house rule",
            "limit": 0.5,
            "speaks_of": "average",
            "source": "set by the user",
        },
        "measure": "average",
        "measured_risk": {"value": 0.5, "low": 0.375, "high": 0.625},
        "attempt_probability": None,
        "combined_risk": {"value": 0.5, "low": 0.375, "high": 0.625},
        "limit": 0.5,
        "sentence": (
            "INCONCLUSIVE: the risk lies between 37.50\N{NO-BREAK SPACE}% and 62.50\N{NO-BREAK SPACE}% (95 % interval), "
            "and so does the limit of 50\N{NO-BREAK SPACE}% (house rule); assess more people to tell. Measured: the "
            "strongest attack names 50.00\N{NO-BREAK SPACE}% of people rightly (95 % interval 37.50\N{NO-BREAK SPACE}% "
            "to 62.50\N{NO-BREAK SPACE}%), on average over all people."
        ),
        "waiver": None,
    }


def test_a_declared_attempt_multiplies_the_risk():
    document = assessment(average=(0.5, 0.375, 0.625))
    found = judge(document, HOUSE, "average", Declared(attempt_probability=0.5), today=TODAY)
    assert found.measured_risk == Interval(0.5, 0.375, 0.625)
    assert found.combined_risk == Interval(0.25, 0.1875, 0.3125)
    assert (found.decision, found.attempt_probability) == ("PASS", 0.5)
    assert "tries with probability 50\N{NO-BREAK SPACE}%" in found.sentence
    assert "Without it the decision would be INCONCLUSIVE." in found.sentence


def test_a_declaration_that_changes_nothing_is_not_blamed():
    found = judge(assessment(), PROFILES["ema"], "average", Declared(attempt_probability=0.9), today=TODAY)
    assert found.decision == "FAIL"
    assert "Without it" not in found.sentence


def test_other_declarations_do_not_move_the_risk():
    stated = Declared(attacker="a rival", population=10**6, context="public")
    assert judge(assessment(), HOUSE, declared=stated, today=TODAY).combined_risk == Interval(0.5, 0.4, 0.6)


@pytest.mark.parametrize(("average", "decision"), [((0.5, 0.4, 0.6), "FAIL"), ((0.1, 0.05, 0.2), "INCONCLUSIVE")])
def test_a_waiver_changes_the_exit_code_and_not_the_decision(average, decision):
    found = judge(assessment(average=average), PROFILES["ema"], "average", waiver=waiver(), today=TODAY)
    assert (found.decision, found.exit_code) == (decision, 0)
    assert judge(assessment(average=average), PROFILES["ema"], "average", today=TODAY).exit_code == EXIT_CODES[decision]
    assert found.sentence.endswith("Waived until 2026-12-31 by J. Doe: pilot with ten testers.")
    assert found.to_json()["waiver"] == {
        "reason": "pilot with ten testers",
        "expires": "2026-12-31",
        "granted_by": "J. Doe",
        "applies": True,
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"expires": datetime.date(2026, 11, 15)}, "expired on 2026-11-15 and has no effect"),
        ({"profile": "public-005"}, "for the profile 'public-005', not for 'ema', and has no effect"),
        ({"input_sha256": "cd" * 32}, "for another input (its SHA-256 differs) and has no effect"),
    ],
)
def test_a_waiver_that_does_not_hold(changes, words):
    found = judge(assessment(), PROFILES["ema"], waiver=waiver(**changes), today=TODAY)
    assert (found.decision, found.exit_code) == ("FAIL", 1)
    assert words in found.sentence
    assert found.to_json()["waiver"]["applies"] is False


def test_a_waiver_holds_on_its_last_day():
    assert judge(assessment(), PROFILES["ema"], waiver=waiver(expires=TODAY), today=TODAY).exit_code == 0
    after = TODAY + datetime.timedelta(days=1)
    assert judge(assessment(), PROFILES["ema"], waiver=waiver(expires=TODAY), today=after).exit_code == 1


def test_a_waiver_for_this_very_input():
    assert judge(assessment(), PROFILES["ema"], waiver=waiver(input_sha256=SHA), today=TODAY).exit_code == 0


def test_a_waiver_of_a_limit_of_ones_own_goes_by_its_title():
    strict = own_profile(0.1, "house rule", "average")
    assert judge(assessment(), strict, waiver=waiver(profile="house rule"), today=TODAY).waived
    assert not judge(assessment(), strict, waiver=waiver(profile="own"), today=TODAY).waived


def test_a_waiver_that_is_not_needed():
    found = judge(assessment(average=(0.1, 0.0, 0.2)), HOUSE, waiver=waiver(), today=TODAY)
    assert (found.decision, found.exit_code, found.waived) == ("PASS", 0, False)
    assert found.sentence.endswith("A waiver was given and is not needed.")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (assessment(worst=None), "has no `attacks.1.exposure.most_exposed.right.value`; assess the data again"),
        (assessment(strongest=2), "has no `attacks.2`"),
        (assessment(strongest="x"), "`strongest` must be the index of an attack, got 'x'"),
        (assessment(strongest=-1), "`strongest` must be the index of an attack, got -1"),
        (assessment(worst=(None, 0.1, 0.2)), "must be a number, got None"),
        (assessment(worst=(0.1, 0.2, 0.1)), "ends the wrong way round"),
    ],
)
def test_a_document_that_lacks_what_is_judged(document, words):
    with pytest.raises(InvalidInput) as caught:
        judge(document, PROFILES["ema"], today=TODAY)
    assert words in str(caught.value)
