from __future__ import annotations

import datetime
from statistics import NormalDist
from typing import Any

import pytest
from gate_documents import GROUPS, SHA, assessment, row, wilson

from entropie.document import typed
from entropie.document.verdict import Verdict
from entropie.errors import EntropieError, InvalidInput, InvalidParameter
from entropie.gate.judge import EXIT_CODES, Gate, exit_code
from entropie.gate.profiles import PROFILES
from entropie.gate.waiver import Waiver
from entropie.request import Limits

TODAY = datetime.date(2026, 11, 16)
ATTACKER = "an attacker who knows the first half of each person's events"
HOUSE = {"limit": 0.5, "limit_name": "house rule", "fail_on": "average"}
EMA = {"profile": "ema"}


def judge(
    document: dict[str, Any], waiver: Waiver | None = None, today: datetime.date = TODAY, **limits: Any
) -> Verdict:
    gate = Gate.of(Limits(**limits))
    verdict = Gate(gate.profile, gate.measure, gate.declared, waiver).judge(typed(document), today)
    assert verdict is not None
    return verdict


def approximately(share: float, people: int, groups: int = GROUPS) -> Any:
    """The interval that so many groups looked at ask for."""
    return {name: pytest.approx(end, abs=1e-12) for name, end in wilson(share, people, groups).items()}


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


def test_average_is_that_of_the_strongest_attacker():
    found = judge(assessment(average=0.25), **HOUSE)
    assert found.measured_risk.to_json() == approximately(0.25, 1000, 4)
    assert (found.decision, found.measure, found.people, found.share) == ("PASS", "average", 1000, 1.0)
    assert (found.attacker, found.knows) == ("profile", "the first half of each person's events")


def test_worst_is_the_most_exposed_group():
    found = judge(assessment(average=0.01, worst=0.9), **EMA)
    assert found.measured_risk.to_json() == found.judged_risk.to_json() == approximately(0.9, 100)
    assert (found.decision, found.measure, found.people, found.share) == ("FAIL", "worst", 100, 0.1)
    assert said(found.whom) == "the most exposed 10 % of people"
    assert (
        "Measured: 90 % (95 % CI 79 to 96 %) of the 100 people whose match is clearest are re-identified (the worst of 8 "
        "groups looked at)."
    ) in statements(found)


def test_a_worst_group_of_everybody_is_told():
    found = judge(assessment(average=0.5, worst=0.4), **EMA)
    assert (found.whom, found.people) == ("people", 1000)
    assert (
        "of the 1,000 people attacked are re-identified (8 groups looked at). No group stands out as more exposed."
        in statements(found)
    )
    assert "clearest" not in statements(found)


def test_another_attacker_may_be_the_strongest():
    document = assessment(average=0.01, worst=0.02)
    document["attackers"][3] = row("points", {100: 0.6, 1000: 0.2})
    found = judge(document, **EMA)
    assert (found.decision, found.attacker, found.measured_risk.value) == ("FAIL", "points", 0.6)
    assert "an attacker who knows 4 random events, to the hour, re-identifies 60 % of the most exposed" in said(
        found.headline
    )
    assert judge(document, **EMA, fail_on="average").measured_risk.value == 0.2


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
             "interval 67 to 89 %)"),
        ),
        (
            HOUSE, "INCONCLUSIVE",
            (f"INCONCLUSIVE   house rule limit 50 %: {ATTACKER} re-identifies 50 % of the 1,000 people attacked (95 % "
             "confidence interval 46 to 54 %)"),
        ),
        (
            {**EMA, "attempt_probability": 0.05}, "PASS (limited)",
            (f"PASS (limited)   ema limit 9 %: {ATTACKER} re-identifies 4 % of the most exposed 10 % of people (95 % "
             "confidence interval 3.4 to 4.4 %), with the attempt probability declared"),
        ),
    ],
)  # fmt: skip
def test_the_first_line(limits, decision, headline):
    found = judge(assessment(), **limits)
    assert (found.decision, said(found.headline)) == (decision, headline)


def test_a_number_never_looks_like_the_limit_it_is_not():
    found = judge(assessment(average=0.0904, worst=0.0, people=10**7, exposed=10**6), **EMA)
    assert said(found.headline).endswith(
        "9.04 % of the 10,000,000 people attacked (95 % confidence interval 9.02 to 9.1 %)"
    )
    assert said(found.sentence) == (
        "FAIL: the risk of people is at least 9.02 %, above the limit of 9 % (European Medicines Agency, Policy 0070)."
    )


def test_sentences_of_all_decisions():
    passed = judge(assessment(average=0.1), **HOUSE)
    assert said(passed.sentence) == "PASS: the risk of people is at most 13 %, within the limit of 50 % (house rule)."
    open_ = judge(assessment(), **HOUSE)
    assert said(open_.sentence) == (
        "INCONCLUSIVE: the risk of people lies between 46 and 54 %, and so does the limit of 50 % (house rule)."
    )


def test_what_the_limit_is_for_is_told():
    stricter = "for the average; the most exposed were judged, which is stricter"
    nearest = "for the risk of any one person; the most exposed group is the nearest an attack can measure"
    assert nearest in statements(judge(assessment(), profile="ema"))
    assert stricter in statements(judge(assessment(), profile="arx-success", fail_on="worst"))
    assert "The limit is for" not in statements(judge(assessment(), profile="arx-success", fail_on="average"))


def test_exact_document():
    found = judge(assessment(), **HOUSE)
    half = approximately(0.5, 1000, 4)
    shown = found.to_json()
    shown |= {
        "headline": said(found.headline), "sentence": said(found.sentence),
        "rests_on": [said(text) for text in found.rests_on],
    }  # fmt: skip
    assert shown == {
        "decision": "INCONCLUSIVE",
        "headline": (
            f"INCONCLUSIVE   house rule limit 50 %: {ATTACKER} re-identifies 50 % of the 1,000 people attacked (95 % "
            "confidence interval 46 to 54 %)"
        ),
        "sentence": (
            "INCONCLUSIVE: the risk of people lies between 46 and 54 %, and so does the limit of 50 % (house rule)."
        ),
        "rests_on": [
            "INCONCLUSIVE on average only. On the most exposed people: FAIL.",
            "The measured share is so close to the limit that no number of people would decide.",
            (
                "Measured: 50 % (95 % CI 46 to 54 %) of the 1,000 people attacked are re-identified (the worst of 4 groups "
                "looked at)."
            ),
            "All 1,000 people in the data were assessed.",
        ],
        "limits": [],
        "limits_accepted": False,
        "unsettled": [],
        "profile": {
            "name": "own",
            "title": "house rule",
            "limit": 0.5,
            "speaks_of": "average",
            "source": "declared by the user",
            "note": "Whoever set it answers for it.",
            "smallest_group": None,
        },
        "measure": "average",
        "attacker": "profile",
        "knows": "the first half of each person's events",
        "whom": "people",
        "people": 1000,
        "share": 1.0,
        "measured_risk": half,
        "attempt_probability": None,
        "judged_risk": half,
        "limit": 0.5,
        "people_needed": None,
        "without_declaration": None,
        "on_most_exposed": "FAIL",
        "waiver": None,
        "goal": None,
    }


def test_a_declared_attempt_multiplies_the_risk():
    found = judge(assessment(), **HOUSE, attempt_probability=0.5)
    assert found.measured_risk.to_json() == approximately(0.5, 1000, 4)
    assert found.judged_risk == found.measured_risk.times(0.5)
    assert (found.decision, found.without_declaration) == ("PASS (limited)", "INCONCLUSIVE")


def test_a_declaration_that_changes_nothing_is_told_too():
    found = judge(assessment(), **EMA, fail_on="average", attempt_probability=0.9)
    assert (found.decision, found.without_declaration) == ("FAIL", "FAIL")
    assert "Without it: FAIL." in statements(found)


def test_the_average_does_not_hide_the_most_exposed():
    found = judge(assessment(average=0.23, worst=0.88), **HOUSE)
    assert (found.decision, found.on_most_exposed) == ("PASS", "FAIL")
    assert found.rests_on[0] == "PASS on average only. On the most exposed people: FAIL."
    calm = judge(assessment(average=0.1, worst=0.11), **HOUSE)
    assert (calm.decision, calm.on_most_exposed) == ("PASS", "PASS")
    assert "on average only" not in statements(calm)
    assert judge(assessment(), **EMA).on_most_exposed is None


def test_other_declarations_do_not_move_the_risk():
    found = judge(assessment(), **HOUSE, attacker="a rival", population=10**6, context="public")
    assert found.judged_risk == judge(assessment(), **HOUSE).judged_risk


@pytest.mark.parametrize(("average", "decision"), [(0.5, "FAIL"), (0.09, "INCONCLUSIVE"), (0.01, "PASS (limited)")])
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
    found = judge(assessment(average=0.1), waiver(), **HOUSE)
    assert (found.decision, exit_code(found.to_json()), found.waived) == ("PASS", 0, False)
    assert found.rests_on[-1] == "A waiver was given and is not needed."


def test_the_document_is_filled():
    document = assessment()
    gate = Gate.of(Limits(**EMA, attacker="a rival", population=5000))
    found = gate.applied(document, TODAY)
    assert found["declared"] == {
        "attacker": "a rival", "population": 5000, "context": None, "attempt_probability": None,
        "excluded_not_released": False, "one_id_per_person": False,
        "judge_population": False, "made_by_mechanism": False,
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
        ({"profile": "gdpr"}, "(a limit of your own goes with `limit=`), got 'gdpr' instead."),
        ({"fail_on": "worst"}, "`fail_on=`, `waiver=` and `accept_limited=` need a limit: name one with"),
        ({"accept_limited": True}, "`accept_limited=` need a limit: name one with `profile=` or `limit=`."),
        ({"waiver": "w.toml"}, "`fail_on=`, `waiver=` and `accept_limited=` need a limit: name one with"),
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
    Gate.of(Limits(population=1000)).applied(assessment())
    Gate.of(Limits()).check_people(10**9)
    with pytest.raises(InvalidInput, match="population of 999 is smaller than the 1,000 people in the data"):
        Gate.of(Limits(population=999)).applied(assessment())


def projected(share: float | None, low: float = 0.0, high: float = 1.0, reason: str | None = None) -> dict[str, Any]:
    fit = {
        "a": 0.5, "b": 9.0, "informed": 0.9, "half_sample_predicted": 0.3, "eighth_sample_predicted": 0.3,
        "half_sample_found": 0.3, "good": reason is None,
    }  # fmt: skip
    return {
        "population": 20_000, "attacker": "profile", "knows": "the first half of each person's events", "fit": fit,
        "reidentified": None if share is None else {"value": share, "low": low, "high": high},
        "reason": reason, "judged": False,
    }  # fmt: skip


AMONG = {"population": 20_000, "judge_population": True}


def test_a_projection_is_judged_where_that_is_declared():
    document = {**assessment(average=0.3, worst=0.3), "projection": projected(0.08, 0.06, 0.1)}
    limit = {"limit": 0.2, "limit_name": "house rule", "fail_on": "average"}
    assert judge(document, **limit).decision == "FAIL"
    found = judge(document, **limit, **AMONG)
    assert (found.decision, found.without_declaration) == ("PASS (limited)", "FAIL")
    assert found.whom == "people among the 20,000 declared"
    # four attackers share the doubt: the interval is as much wider as a normal one would be
    z = NormalDist().inv_cdf
    assert found.judged_risk.high == pytest.approx(0.08 + 0.02 * z(1 - 0.025 / 4) / z(0.975))
    assert "30 % were found among 1,000" in said(found.limits[0])
    assert judge({**document, "projection": projected(0.3, 0.25, 0.35)}, **limit, **AMONG).decision == "FAIL"
    assert judge({**document, "projection": projected(0.18, 0.1, 0.35)}, **limit, **AMONG).decision == "INCONCLUSIVE"
    assert Gate.of(Limits(**limit, **AMONG)).applied(document, TODAY)["projection"]["judged"] is True
    assert Gate.of(Limits(**limit, population=20_000)).applied(document, TODAY)["projection"]["judged"] is False


@pytest.mark.parametrize("average", [0.01, 0.3])
def test_without_a_projection_nothing_is_decided_among_more_people(average: float) -> None:
    """Neither a PASS where the curve does not fit, nor a FAIL by what was found among few."""
    limit = {"limit": 0.2, "limit_name": "house rule", "fail_on": "worst"}
    bad = projected(None, reason="the curve does not predict what was found")
    for projection in (bad, None):
        found = judge({**assessment(average=average, worst=average), "projection": projection}, **limit, **AMONG)
        assert found.decision == "INCONCLUSIVE"
        assert "among 20,000 people was to be judged and cannot be told" in statements(found)


def test_a_part_of_the_people_is_judged_as_found_among_few() -> None:
    """Its risk among more people is no higher: within the limit it passes, above it leaves the verdict open."""
    limit = {"limit": 0.3, "limit_name": "house rule", "fail_on": "worst"}
    projection = projected(0.05, 0.04, 0.06)
    assert judge({**assessment(average=0.1, worst=0.1), "projection": projection}, **limit, **AMONG).decision == (
        "PASS (limited)"
    )
    found = judge({**assessment(average=0.1, worst=0.9), "projection": projection}, **limit, **AMONG)
    assert (found.decision, found.without_declaration, found.people_needed) == ("INCONCLUSIVE", "FAIL", None)


def test_a_population_to_judge_must_be_declared_with_a_limit() -> None:
    with pytest.raises(InvalidParameter, match="needs"):
        Gate.of(Limits(**HOUSE, judge_population=True))
    with pytest.raises(InvalidParameter, match="needs"):
        Gate.of(Limits(population=100, judge_population=True))
