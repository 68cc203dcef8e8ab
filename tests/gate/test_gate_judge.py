from __future__ import annotations

import datetime
import itertools
from typing import Any

import pytest
from gate_documents import SHA, assessment
from hypothesis import given
from hypothesis import strategies as st

from entropie.document import typed
from entropie.document.measured import ShareInterval
from entropie.document.verdict import Verdict
from entropie.errors import EntropieError, InvalidInput, InvalidParameter
from entropie.gate.judge import EXIT_CODES, Gate, decide, exit_code
from entropie.gate.profiles import PROFILES
from entropie.gate.waiver import Waiver
from entropie.request import Limits

TODAY = datetime.date(2026, 11, 16)
ATTACKER = "an attacker who knows the first half of each person's events"
HOUSE = {"limit": 0.5, "limit_name": "house rule", "fail_on": "average"}
EMA = {"profile": "ema"}
shares = st.floats(0.0, 1.0)


def judge(
    document: dict[str, Any], waiver: Waiver | None = None, today: datetime.date = TODAY, **limits: Any
) -> Verdict:
    gate = Gate.of(Limits(**limits))
    verdict = Gate(gate.profile, gate.measure, gate.declared, waiver).judge(typed(document), today)
    assert verdict is not None
    return verdict


def said(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def statements(verdict: Verdict) -> str:
    return said(" ".join(verdict.rests_on))


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
        assert decide(ShareInterval(value, low, high), 0.5) == decision


@given(shares, shares, shares)
def test_decisions_in_words(one, other, limit):
    """PASS: every risk in the interval is within the limit. FAIL: none is."""
    low, high = sorted((one, other))
    grid = [low, high, *(low + (high - low) * step / 7 for step in range(8))]
    within = [min(max(risk, low), high) <= limit for risk in grid]
    wanted = "PASS" if all(within) else "FAIL" if not any(within) else "INCONCLUSIVE"
    assert decide(ShareInterval(low, low, high), limit) == wanted


def test_a_wider_interval_is_never_surer():
    limit = 0.3
    for value, half, more in itertools.product((0.1, 0.3, 0.5), (0.0, 0.05, 0.3), (0.0, 0.1, 0.5)):
        narrow = decide(ShareInterval(value, value - half, value + half), limit)
        wide = decide(ShareInterval(value, value - half - more, value + half + more), limit)
        assert wide in (narrow, "INCONCLUSIVE")


def test_average_is_one_minus_the_headlines_error():
    found = judge(assessment(average=(0.25, 0.2, 0.3)), **HOUSE)
    risk = found.measured_risk
    assert (risk.value, risk.low, risk.high) == pytest.approx((0.25, 0.2, 0.3))
    assert (found.decision, found.measure, found.people, found.share) == ("PASS", "average", 100, 1.0)


def test_worst_is_the_headlines_most_exposed_group():
    found = judge(assessment(worst=(0.9, 0.55, 0.99)), **EMA)
    assert found.measured_risk == found.judged_risk == ShareInterval(0.9, 0.55, 0.99)
    assert (found.decision, found.measure, found.people, found.share) == ("FAIL", "worst", 10, 0.1)
    assert said(found.whom) == "the most exposed 10 % of people"
    assert "re-identifies 90 % (95 % CI 55 to 99 %) of the 10 people whose match is clearest." in statements(found)


def test_a_worst_group_of_everybody_is_told():
    found = judge(assessment(worst=(0.5, 0.4, 0.6), share=1.0), **EMA)
    assert (found.whom, found.people) == ("people", 100)
    assert "of the 100 people assessed. No group stands out as more exposed." in statements(found)
    assert "clearest" not in statements(found)


@pytest.mark.parametrize("name", PROFILES)
def test_without_a_measure_the_profile_chooses(name):
    assert judge(assessment(), profile=name).measure == PROFILES[name].measure
    assert judge(assessment(), profile=name.upper()).profile == PROFILES[name]


@pytest.mark.parametrize(
    ("limits", "decision", "headline"),
    [
        (
            EMA, "FAIL",
            (f"FAIL   ema limit 9 %: {ATTACKER} re-identifies 80 % of the most exposed 10 % of people (95 % confidence "
             "interval 70 to 90 %)"),
        ),
        (
            HOUSE, "INCONCLUSIVE",
            (f"INCONCLUSIVE   house rule limit 50 %: {ATTACKER} re-identifies 50 % of the 100 people assessed (95 % "
             "confidence interval 40 to 60 %)"),
        ),
        (
            {**EMA, "attempt_probability": 0.05}, "PASS",
            (f"PASS   ema limit 9 %: {ATTACKER} re-identifies 4 % of the most exposed 10 % of people (95 % confidence "
             "interval 3.5 to 4.5 %), with an attempt probability of 5 % declared"),
        ),
    ],
)  # fmt: skip
def test_the_first_line(limits, decision, headline):
    found = judge(assessment(), **limits)
    assert (found.decision, said(found.headline)) == (decision, headline)


def test_a_number_never_looks_like_the_limit_it_is_not():
    found = judge(assessment(worst=(0.0904, 0.0903, 0.0906)), **EMA)
    assert said(found.headline).endswith(
        "9.04 % of the most exposed 10 % of people (95 % confidence interval 9.03 to 9.1 %)"
    )
    assert said(found.sentence) == (
        "FAIL: the risk of the most exposed 10 % of people is at least 9.03 %, above the limit of 9 % (European Medicines "
        "Agency, Policy 0070)."
    )


def test_sentences_of_all_decisions():
    passed = judge(assessment(average=(0.1, 0.05, 0.15)), **HOUSE)
    assert said(passed.sentence) == "PASS: the risk of people is at most 15 %, within the limit of 50 % (house rule)."
    open_ = judge(assessment(), **HOUSE)
    assert said(open_.sentence) == (
        "INCONCLUSIVE: the risk of people lies between 40 and 60 %, and so does the limit of 50 % (house rule)."
    )


@pytest.mark.parametrize(
    ("name", "measure", "words"),
    [
        ("ema", "average", "for the risk of any one person; the average judged can be far below it"),
        ("ema", "worst", "for the risk of any one person; the most exposed group is the nearest an attack can measure"),
        ("arx-success", "worst", "for the average; the most exposed were judged, which is stricter"),
    ],
)
def test_what_the_limit_is_for_is_told(name, measure, words):
    assert words in statements(judge(assessment(), profile=name, fail_on=measure))


def test_nothing_to_tell_where_average_is_judged_as_average():
    assert "The limit is for" not in statements(judge(assessment(), profile="arx-success", fail_on="average"))


def test_exact_document():
    found = judge(assessment(average=(0.5, 0.375, 0.625)), **HOUSE)
    half = {"value": 0.5, "low": 0.375, "high": 0.625}
    shown = found.to_json()
    shown |= {
        "headline": said(found.headline), "sentence": said(found.sentence),
        "rests_on": [said(text) for text in found.rests_on],
    }  # fmt: skip
    assert shown == {
        "decision": "INCONCLUSIVE",
        "headline": (
            f"INCONCLUSIVE   house rule limit 50 %: {ATTACKER} re-identifies 50 % of the 100 people assessed (95 % "
            "confidence interval 38 to 62 %)"
        ),
        "sentence": (
            "INCONCLUSIVE: the risk of people lies between 38 and 62 %, and so does the limit of 50 % (house rule)."
        ),
        "rests_on": [
            "INCONCLUSIVE only because the average was judged. On the most exposed people: FAIL.",
            "The measured share is so close to the limit that no number of people would decide.",
            "Measured: the strongest attacker re-identifies 50 % (95 % CI 38 to 62 %) of the 100 people assessed.",
            "100 of 120 people were assessed; excluded: 20 with fewer than 10 events. Their risk is not covered.",
        ],
        "profile": {
            "name": "own",
            "title": "house rule",
            "limit": 0.5,
            "speaks_of": "average",
            "source": "declared by the user",
            "note": "Whoever set it answers for it.",
        },
        "measure": "average",
        "whom": "people",
        "people": 100,
        "share": 1.0,
        "measured_risk": half,
        "attempt_probability": None,
        "judged_risk": half,
        "limit": 0.5,
        "people_needed": None,
        "without_declaration": None,
        "on_most_exposed": "FAIL",
        "waiver": None,
    }


def test_a_declared_attempt_multiplies_the_risk():
    found = judge(assessment(average=(0.5, 0.375, 0.625)), **HOUSE, attempt_probability=0.5)
    assert found.measured_risk == ShareInterval(0.5, 0.375, 0.625)
    assert found.judged_risk == ShareInterval(0.25, 0.1875, 0.3125)
    assert (found.decision, found.without_declaration) == ("PASS", "INCONCLUSIVE")
    assert said(found.rests_on[0]) == (
        "PASS only because an attempt probability of 50 % was declared; without it: INCONCLUSIVE."
    )
    assert "Declared, not measured: an attempt is made with probability 50 %." in statements(found)
    assert "The number judged is 50 % times 50 %." in statements(found)


def test_a_declaration_that_changes_nothing_is_not_blamed():
    found = judge(assessment(), **EMA, fail_on="average", attempt_probability=0.9)
    assert (found.decision, found.without_declaration) == ("FAIL", "FAIL")
    assert "only because" not in statements(found)


def test_a_pass_of_the_average_alone_says_so_first():
    document = assessment(average=(0.5, 0.4, 0.6), worst=(0.95, 0.9, 0.99))
    limits = {"profile": "custodian-020", "fail_on": "average"}
    found = judge(document, **limits, attempt_probability=0.3)
    assert (found.decision, found.on_most_exposed) == ("PASS", "FAIL")
    assert statements(found).startswith(
        "PASS only because an attempt probability of 30 % was declared; without it: FAIL. PASS only because the average "
        "was judged; the limit is for the risk of any one person. On the most exposed people: FAIL. "
    )
    calm = judge(assessment(average=(0.1, 0.05, 0.15), worst=(0.11, 0.02, 0.19)), **limits)
    assert (calm.decision, calm.on_most_exposed) == ("PASS", "PASS")
    assert "only because" not in statements(calm)


def test_an_average_of_ones_own_does_not_hide_the_most_exposed():
    found = judge(assessment(average=(0.23, 0.2, 0.26), worst=(0.88, 0.8, 0.95)), **HOUSE)
    assert (found.decision, found.on_most_exposed) == ("PASS", "FAIL")
    assert found.rests_on[0] == "PASS only because the average was judged. On the most exposed people: FAIL."
    assert judge(assessment(), **EMA).on_most_exposed is None


@pytest.mark.parametrize(
    ("split", "knows"),
    [
        ({"train_events": 2}, "only the first 2 events of each person"),
        ({"train_events": 1}, "only the first event of each person"),
        ({"rule": "history"}, "the history of each person"),
        ({"knowledge": "maximum", "train_events": 2}, "the attacked events themselves"),
    ],
)
def test_an_attacker_who_was_limited_is_told(split, knows):
    found = judge(assessment(split=split), **EMA)
    assert f": an attacker who knows {knows} re-identifies " in found.headline
    assert ("The attacker was limited to the first " in statements(found)) == knows.startswith("only")


def test_reports_of_a_mechanism_are_told():
    warning = "The risk is understated: these data are reports of a mechanism, which the attack does not know."
    assert warning not in statements(judge(assessment(average=(0.1, 0.0, 0.2)), **HOUSE))
    found = judge(assessment(average=(0.1, 0.0, 0.2), worst=(0.2, 0.1, 0.3), facts={"obfuscated": True}), **HOUSE)
    assert found.decision == "PASS"
    assert found.rests_on[0].startswith(warning)


def test_other_declarations_do_not_move_the_risk():
    found = judge(assessment(), **HOUSE, attacker="a rival", population=10**6, context="public")
    assert found.judged_risk == ShareInterval(0.5, 0.4, 0.6)


@pytest.mark.parametrize(("average", "decision"), [((0.5, 0.4, 0.6), "FAIL"), ((0.1, 0.05, 0.2), "INCONCLUSIVE")])
def test_a_waiver_changes_the_exit_code_and_not_the_decision(average, decision):
    found = judge(assessment(average=average), waiver(), **EMA, fail_on="average")
    assert (found.decision, exit_code(found.to_json())) == (decision, 0)
    assert found.headline.startswith(f"{decision} (waived until 2026-12-31)   ema limit ")
    without = judge(assessment(average=average), **EMA, fail_on="average")
    assert exit_code(without.to_json()) == EXIT_CODES[decision]
    assert found.rests_on[-1] == "Waived until 2026-12-31 by J. Doe: pilot with ten testers."
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
    found = judge(assessment(), waiver(**changes), **EMA)
    assert (found.decision, exit_code(found.to_json())) == ("FAIL", 1)
    assert "waived" not in found.headline
    assert found.waiver is not None
    assert not found.waiver.applies
    assert words in found.waiver.reason_without_effect
    assert found.rests_on[-1] == found.waiver.reason_without_effect


def test_a_waiver_holds_on_its_last_day():
    last = waiver(expires=TODAY)
    assert judge(assessment(), last, **EMA).waived
    assert not judge(assessment(), last, TODAY + datetime.timedelta(days=1), **EMA).waived


def test_a_waiver_for_this_input_and_in_capitals():
    assert judge(assessment(), waiver(input_sha256=SHA, profile="EMA"), **EMA).waived


def test_a_waiver_of_a_limit_of_ones_own_goes_by_its_title():
    strict = {**HOUSE, "limit": 0.1}
    assert judge(assessment(), waiver(profile="house rule"), **strict).waived
    assert not judge(assessment(), waiver(profile="own"), **strict).waived


def test_a_waiver_that_is_not_needed():
    found = judge(assessment(average=(0.1, 0.0, 0.2)), waiver(), **HOUSE)
    assert (found.decision, exit_code(found.to_json()), found.waived) == ("PASS", 0, False)
    assert found.rests_on[-1] == "A waiver was given and is not needed."


def test_the_document_is_filled():
    document = assessment()
    gate = Gate.of(Limits(**EMA, attacker="a rival", population=5000))
    found = gate.applied(document, TODAY)
    assert found["declared"] == {
        "attacker": "a rival", "population": 5000, "context": None, "attempt_probability": None
    }  # fmt: skip
    assert found["verdict"] == gate.judge(typed(document), TODAY).to_json()
    assert found["review"] == {"date": "2027-11-16"}
    assert {name: found[name] for name in document if name not in ("declared", "verdict", "review")} == {
        name: value for name, value in document.items() if name not in ("declared", "verdict", "review")
    }
    typed(found)
    unjudged = Gate.of(Limits()).applied(document, TODAY)
    assert unjudged["verdict"] is None
    assert exit_code(None) == 0


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        ("2026-11-16T10:30:00+00:00", "2027-11-16"),
        ("2028-02-29T10:30:00+00:00", "2029-02-28"),
        ("2026-12-31T23:30:00-02:00", "2028-01-01"),  # already the next year in UTC
    ],
)
def test_review_in_a_year(made, wanted):
    document = assessment()
    document["provenance"]["date"] = made
    assert Gate().applied(document, TODAY)["review"] == {"date": wanted}


@pytest.mark.parametrize(
    ("until", "wanted"),
    [("2027-01-31", "2027-01-31"), ("2026-11-16", "2026-11-16"), ("2999-01-31", "2027-11-16"), ("2020-01-31", "2027-11-16")],
)  # fmt: skip
def test_review_no_later_than_the_end_of_a_waiver_that_holds(until, wanted):
    held = waiver(expires=datetime.date.fromisoformat(until))
    assert Gate(PROFILES["ema"], waiver=held).applied(assessment(), TODAY)["review"] == {"date": wanted}
    asked = datetime.date(2027, 6, 1)
    found = Gate(PROFILES["ema"], waiver=held, review=asked).applied(assessment(), TODAY)
    assert found["review"] == {"date": "2027-06-01"}


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        ({"limit": 0.1}, "A limit of your own is given by three options, such as `limit=` 10%"),
        ({"limit": 0.1}, "(or average); missing: `limit_name=`, `fail_on=`."),
        ({"limit_name": "x"}, "(or average); missing: `limit=`, `fail_on=`."),
        ({"limit": 0.1, "limit_name": "x"}, "(or average); missing: `fail_on=`."),
        ({**EMA, "limit": 0.1}, "Give either `profile=`, or `limit=` with `limit_name=`, not both."),
        ({"profile": "gdpr"}, "got 'gdpr' instead; a limit of your own goes with `limit=`."),
        ({"fail_on": "worst"}, "`fail_on=` and `waiver=` need a limit: name one with `profile=` or `limit=`."),
        ({"waiver": "w.toml"}, "`fail_on=` and `waiver=` need a limit: name one with `profile=` or `limit=`."),
        ({**EMA, "waiver": "none.toml"}, "Waiver none.toml does not exist; check the name."),
        ({"review_date": datetime.date(2020, 1, 1)}, "or later, got '2020-01-01' instead."),
        ({"population": 1}, "`population` must be a whole number from 2"),
        ({"population": 2.5}, "`population` must be a whole number from 2"),
        ({"attempt_probability": 1.5}, "`attempt_probability` must be a probability above 0 and up to 1, got 1.5"),
        ({"attempt_probability": 0}, "`attempt_probability` must be a probability above 0 and up to 1, got 0"),
        ({"attempt_probability": -0.0}, "`attempt_probability` must be a probability above 0 and up to 1, got -0.0"),
        ({"attempt_probability": float("nan")}, "must be a probability above 0 and up to 1, got nan"),
        ({"attacker": " "}, "`attacker` must be a text that is not empty, got ' '"),
        ({"context": ""}, "`context` must be a text that is not empty, got ''"),
    ],
)
def test_limits_that_cannot_be_used(limits, sentence):
    with pytest.raises(EntropieError) as caught:
        Gate.of(Limits(**limits))
    assert sentence in str(caught.value)
    assert isinstance(caught.value, InvalidParameter | InvalidInput)


def test_a_population_contains_the_people():
    Gate.of(Limits(population=120)).applied(assessment())
    Gate.of(Limits()).check_people(10**9)
    with pytest.raises(InvalidInput, match="population of 119 is smaller than the 120 people in the data"):
        Gate.of(Limits(population=119)).applied(assessment())
