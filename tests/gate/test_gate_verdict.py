from __future__ import annotations

import datetime
import itertools

import pytest
from gate_documents import SHA, assessment, interval
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
    assert "of the 1,234 people whom the attack is surest about" in found.sentence


def exposed(share: float, right: tuple[float, float, float], **changes: object) -> dict:
    """A document with a headline of its own for the most exposed, other than the strongest attack's."""
    document = assessment(**changes)
    group = {"matcher": "visit", "share": share, "people": round(100 * share), "right": interval(right)}
    document["headline"]["most_exposed"] = group
    return document


def test_worst_is_the_headlines_group_where_there_is_one():
    found = judge(exposed(0.1, (0.9, 0.55, 0.99)), PROFILES["ema"], today=TODAY)
    assert found.measured_risk == Interval(0.9, 0.55, 0.99)
    assert (
        "of the 10 people whom the attack is surest about (10.00\N{NO-BREAK SPACE}% of the people assessed; matcher "
        "visit), it names 90.00\N{NO-BREAK SPACE}% rightly (95 % interval 55.00\N{NO-BREAK SPACE}% to "
        "99.00\N{NO-BREAK SPACE}%)."
    ) in found.sentence


def test_a_worst_group_of_everybody_is_told():
    found = judge(exposed(1.0, (0.5, 0.4, 0.6)), PROFILES["ema"], today=TODAY)
    assert (
        "no group of people stands out as more exposed than the others; the strongest attack names "
        "50.00\N{NO-BREAK SPACE}% of the people assessed"
    ) in found.sentence
    assert "surest" not in found.sentence


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
        ("arx-success", "worst", "speaks of the average; judged were the most exposed"),
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
            "source": "declared by the user",
        },
        "measure": "average",
        "measured_risk": {"value": 0.5, "low": 0.375, "high": 0.625},
        "attempt_probability": None,
        "combined_risk": {"value": 0.5, "low": 0.375, "high": 0.625},
        "limit": 0.5,
        "people_needed": None,
        "sentence": (
            "INCONCLUSIVE: the risk lies between 37.50\N{NO-BREAK SPACE}% and 62.50\N{NO-BREAK SPACE}% (95 % interval), "
            "and so does the limit of 50\N{NO-BREAK SPACE}% (house rule, own limit). The measured share is so close to "
            "the limit that no number of people would tell. Assessed were 100 of 120 people; the other 20 were not "
            "assessed: nothing is said about their risk. Measured: the strongest attack names 50.00\N{NO-BREAK SPACE}% "
            "of the people assessed rightly (95 % interval 37.50\N{NO-BREAK SPACE}% to 62.50\N{NO-BREAK SPACE}%)."
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
    assert found.sentence.startswith(
        "PASS only because an attempt probability of 50\N{NO-BREAK SPACE}% was declared; without it INCONCLUSIVE. "
        "The combined risk is at most 31.25\N{NO-BREAK SPACE}%"
    )


def test_a_declaration_that_changes_nothing_is_not_blamed():
    found = judge(assessment(), PROFILES["ema"], "average", Declared(attempt_probability=0.9), today=TODAY)
    assert found.decision == "FAIL"
    assert found.sentence.startswith("FAIL: the combined risk is at least ")
    assert "only because" not in found.sentence


def test_a_pass_of_the_average_alone_says_so_first():
    document = assessment(average=(0.5, 0.4, 0.6), worst=(0.95, 0.9, 0.99))
    profile = PROFILES["custodian-020"]
    found = judge(document, profile, "average", Declared(attempt_probability=0.3), today=TODAY)
    assert found.decision == "PASS"
    assert found.sentence.startswith(
        "PASS only because an attempt probability of 30\N{NO-BREAK SPACE}% was declared; without it FAIL. Also PASS only "
        "because the average was judged, though the profile speaks of the maximum; on the most exposed people FAIL. The "
        "combined risk is at most "
    )
    calm = assessment(average=(0.1, 0.05, 0.15), worst=(0.11, 0.02, 0.19))
    assert judge(calm, profile, "average", today=TODAY).sentence.startswith("PASS: the risk is at most ")
    unknown = assessment(average=(0.1, 0.05, 0.15), worst=None)
    assert judge(unknown, profile, "average", today=TODAY).sentence.startswith("PASS: the risk is at most ")


def test_reports_of_a_mechanism_are_told():
    document = assessment(average=(0.1, 0.0, 0.2))
    warning = "reports of a mechanism, and the attack does not know the mechanism, so it understates the risk"
    assert warning not in judge(document, HOUSE, today=TODAY).sentence
    document["input"]["obfuscated"] = True
    found = judge(document, HOUSE, today=TODAY)
    assert found.decision == "PASS"
    assert warning in found.sentence
    assert found.sentence.index(warning) < found.sentence.index("Assessed were")


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
        "reason_without_effect": None,
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
    shown = found.to_json()["waiver"]
    assert shown["applies"] is False
    assert words in shown["reason_without_effect"]
    assert shown["reason_without_effect"] in found.sentence


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
    assert found.to_json()["waiver"]["reason_without_effect"] == "A waiver was given and is not needed."


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (assessment(worst=None), "has no `attacks.1.exposure.most_exposed.share`; assess the data again"),
        (assessment(strongest=2), "has no `attacks.2`"),
        (assessment(strongest="x"), "`strongest` must be the index of an attack, got 'x'"),
        (assessment(strongest=-1), "`strongest` must be the index of an attack, got -1"),
        (assessment(worst=(None, 0.1, 0.2)), "must be a number, got None"),
        (assessment(worst=(0.1, 0.2, 0.1)), "ends the wrong way round"),
        (assessment(headline={"most_exposed": {"matcher": "visit", "share": 0.1}}), "`headline.most_exposed.people`"),
    ],
)
def test_a_document_that_lacks_what_is_judged(document, words):
    with pytest.raises(InvalidInput) as caught:
        judge(document, PROFILES["ema"], today=TODAY)
    assert words in str(caught.value)
