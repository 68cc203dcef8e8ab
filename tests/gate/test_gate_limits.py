"""What narrows an assessment makes a PASS limited; what leaves it open takes the PASS away."""

from __future__ import annotations

import pytest
from gate_documents import assessment, row

from entropie.document import typed
from entropie.gate.judge import Gate, exit_code
from entropie.request import Limits

EMA = {"profile": "ema"}
CALM = {"average": 0.01, "worst": 0.0}


def judge(document, **limits):
    verdict = Gate.of(Limits(**{**EMA, **limits})).judge(typed(document))
    assert verdict is not None
    return verdict


def without(*names):
    document = assessment(**CALM)
    document["attackers"] = [one for one in document["attackers"] if one["attacker"] not in names]
    return document


def of_points(**changes):
    document = without("points")
    return {**document, "attackers": [*document["attackers"], row("points", {1000: 0.0}, **changes)]}


def with_matchers(*names):
    document = assessment(**CALM)
    document["attacks"] = [one for one in document["attacks"] if one["matcher"] in names]
    return {**document, "strongest": 0}


def of_many(people, **facts):
    """A calm assessment of so many people."""
    document = assessment(**CALM, facts=facts)
    rows = [{**one, "people": people, "targets": people} for one in document["attackers"]]
    return {**document, "users": people, "attackers": rows}


NARROWED = [
    (
        of_many(300_000), {},
        "Habits were compared with people who have some alike, not with everybody: too many for that (--targets).",
    ),
    (without("points"), {}, "Not judged: an attacker who knows a few events of the release itself."),
    (
        without("crowd", "joint"), {},
        "Not judged: an attacker who knows the crowd of all targets and who matches all targets one to one.",
    ),
    (of_points(in_scope=False), {}, "Not judged: an attacker who knows a few events of the release itself."),
    (of_points(points=2), {}, "The attacker knew 2 events of the release, not 4."),
    (
        with_matchers("visit", "markov", "bayes", "tfidf"), {},
        "Only 4 of 6 ways to compare traces were tried (--matcher).",
    ),
    (
        assessment(**CALM, split={"train_events": 1}), {},
        "The attacker was limited to the first event of each person; one who knows more may re-identify more people.",
    ),
    (
        assessment(**CALM, split={"target_events": 3}), {},
        "Only the first 3 events of what is released of each person were attacked.",
    ),
    (of_points(targets=400), {}, "400 of 1,000 people were attacked, drawn at random."),
    (
        assessment(**CALM, facts={"unused": ["device", "ip\x1b[2J"]}), {},
        "No attacker looked at 2 columns (device and ip\\x1b[2J): leave out what is not released.",
    ),
    (
        {**assessment(**CALM, facts={"min_events": 10}), "users": 980}, {},
        "20 people with fewer than 10 events were attacked by known events alone (--min-events 2).",
    ),
    (
        {**assessment(**CALM, split={"dropped_users": 30, "cut": "2026-03-01"}), "users": 970}, {},
        "30 people with no events before or after 2026-03-01 were attacked by known events alone (--rule halves).",
    ),
    (
        {**assessment(**CALM, split={"dropped_users": 30}), "users": 970}, {},
        "30 people with no events in the later half were attacked by known events alone.",
    ),
    (
        {**assessment(**CALM), "events": 2_000_001}, {},
        "Conjunctions (a place at an hour) were not looked at: more than 2,000,000 events.",
    ),
    (assessment(**CALM, facts={"obfuscated": True}), {}, "The risk is understated: these data are reports of a mechanism"),
    (
        assessment(average=0.1, worst=0.1), {"attempt_probability": 0.1},
        ("An attempt probability of 10 % was declared, not measured: the number judged is 10 % times 10 %. Without it: "
        "INCONCLUSIVE."),
    ),
    (
        assessment(average=0.01, worst=0.5), {"fail_on": "average"},
        "The average was judged, and the limit is for the risk of any one person. On the most exposed people: FAIL.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("document", "limits", "sentence"), NARROWED)
def test_whatever_narrows_makes_a_pass_limited(document, limits, sentence):
    found = judge(document, **limits)
    assert found.decision == "PASS (limited)"
    assert found.headline.startswith("PASS (limited)   ema limit ")
    assert found.sentence.startswith("PASS (limited): the risk of ")
    (limit,) = found.limits
    assert limit.replace("\N{NO-BREAK SPACE}", " ").startswith(sentence)
    assert found.rests_on[0] == limit  # first of all
    assert exit_code(found.to_json()) == 3
    accepted = judge(document, **limits, accept_limited=True)
    assert (accepted.decision, accepted.limits_accepted) == ("PASS (limited)", True)
    assert exit_code(accepted.to_json()) == 0


def test_rows_that_nobody_read_may_hide_a_group() -> None:
    """24 people whose rows all lack a time, among 4,000, got a PASS: they were in no number."""
    document = assessment(**CALM, facts={"rows": 80_000, "dropped": {"missing time": 12, "no user": 8}})
    found = judge(document)
    assert (found.decision, exit_code(found.to_json())) == ("INCONCLUSIVE", 3)
    assert found.unsettled[0].startswith("20 rows were excluded (missing time, no user) and are part of no attack")
    declared = judge(document, not_released=True)
    assert declared.decision == "PASS"
    assert "and rows that were excluded will not be released." in "".join(declared.rests_on)


@pytest.mark.parametrize(
    ("document", "limits"),
    [
        (assessment(**CALM), {}),
        (assessment(**CALM), {"attempt_probability": 1.0}),
        (assessment(**CALM, split={"train_events": 3, "knowledge": "maximum"}), {}),
        (of_many(5000, time_format="integer"), {}),
        (of_many(5001, time_format="integer", order_only=True), {}),
        (of_many(5001, time_format=None), {}),
        (assessment(**CALM, facts={"rows": 1000, "dropped": {"no user": 19}}), {}),
        (assessment(**CALM, facts={"rows": 1000, "dropped": {"no user": 19, "same stay as the row before": 700}}), {}),
        (
            {**without(), "attackers": [*without()["attackers"], row("reports", {1000: 0.0})]}
            | {"input": assessment(**CALM, facts={"obfuscated": True})["input"]},
            {},
        ),
        (assessment(average=0.01, worst=0.5), {"profile": "arx-success", "fail_on": "average"}),
    ],
)
def test_nothing_else_does(document, limits):
    found = judge(document, **limits)
    assert (found.decision, found.limits, exit_code(found.to_json())) == ("PASS", [], 0)


def test_limits_do_not_soften_what_is_no_pass():
    for risk, decision, code in ((0.5, "FAIL", 1), (0.09, "INCONCLUSIVE", 3)):
        document = assessment(average=risk, worst=risk, split={"train_events": 1})
        found = judge(document, accept_limited=True)
        assert (found.decision, exit_code(found.to_json())) == (decision, code)
        assert found.rests_on[0] == found.limits[0]


def excluded(many, **limits):
    return judge(assessment(**CALM, facts={"users": 1000 + many, "dropped_users": many}), **limits)


def test_people_not_assessed():
    assert excluded(52).decision == "PASS"  # 52 of 1,052 are less than 5 %
    found = excluded(53)
    assert (found.decision, exit_code(found.to_json())) == ("INCONCLUSIVE", 3)
    (reason,) = found.unsettled
    assert reason == (
        "53 of 1,053 people were not assessed; lower --min-events, or declare that they will not be released "
        "(--excluded-not-released)."
    )
    assert found.headline.endswith(", but 53 of 1,053 people were not assessed")
    assert ", but 53 of 1,053 people were not assessed." in found.sentence
    declared = excluded(53, not_released=True)
    assert (declared.decision, declared.unsettled) == ("PASS", [])
    assert (
        "Declared, not checked: people who were not assessed and rows that were excluded will not be released."
        in declared.rests_on
    )
    assert Gate.of(Limits(not_released=True)).declared.excluded_not_released


def test_who_is_attacked_by_points_is_assessed():
    document = assessment(**CALM, facts={"users": 5000})
    document["attackers"][3] = row("points", {5000: 0.0})
    found = judge(document)
    assert found.decision == "PASS (limited)"  # 4,000 people whom known events alone attacked may hide a group
    assert found.rests_on[-1] == (
        "All 5,000 people in the data were assessed; 4,000 of them have too few events for more than the attacker of "
        "known events."
    )
    document["attackers"][3]["in_scope"] = False  # assessed by an attacker that is not judged
    assert judge(document).decision == "INCONCLUSIVE"


def test_a_failed_model_is_named_and_never_passes():
    document = assessment(**CALM)
    document["attackers"] += [row("profile", {1000: 0.0}, matcher=name, failed=True) for name in ("visit", "bayes")]
    found = judge(document)
    assert (found.decision, exit_code(found.to_json())) == ("INCONCLUSIVE", 3)
    assert found.unsettled == [
        (
            "The model of visit and bayes fails on these data: it finds the right person less often than chance, which says "
            "nothing about safety."
        )
    ]
    for one in document["attackers"][-2:]:
        one["in_scope"] = False
    assert judge(document).decision == "PASS"


def alike(low, **limits):
    document = assessment(**CALM)
    found = {"value": low + 0.01, "low": low, "high": low + 0.02}
    document["attackers"][0]["look_alikes"] = {"guesses": 20, "found": found, "chance": 0.02}
    return judge(document, **limits)


def test_ids_that_look_alike():
    assert alike(0.1).decision == "PASS"  # 8 % beyond chance: within the limit
    found = alike(0.12)
    assert (found.decision, exit_code(found.to_json())) == ("INCONCLUSIVE", 3)
    (reason,) = found.unsettled
    assert reason.replace("\N{NO-BREAK SPACE}", " ") == (
        "Several ids behave as one person: the attacker finds the right id or one like it in 13 % of cases (by chance "
        "2 %). If they are of one person, merge them; if they are not, declare it (--one-id-per-person)."
    )
    assert found.headline.endswith(", but several ids behave as one person")
    document = assessment(average=0.05, worst=0.05)
    document["attackers"][0]["look_alikes"] = {
        "guesses": 20, "found": {"value": 0.07, "low": 0.065, "high": 0.08}, "chance": 0.02
    }  # fmt: skip
    own = judge(document, profile=None, limit=0.04, limit_name="x", fail_on="worst")
    assert own.unsettled == []  # the right ids themselves are found as often
    declared = alike(0.12, one_id_per_person=True)
    assert (declared.decision, declared.unsettled) == ("PASS", [])
    assert "Declared, not checked: every id is another person." in declared.rests_on


def test_too_few_people():
    document = assessment(facts={"users": 12}, people=12)
    document["attackers"] = [row(name, {12: 0.9}) for name in ("profile", "crowd", "joint", "points")]
    found = judge(document)
    assert (found.decision, exit_code(found.to_json())) == ("INCONCLUSIVE", 3)
    assert found.unsettled[0] == "Only 12 people were attacked, and fewer than 20 decide nothing."
    assert found.people_needed == 20
    assert found.limits == []  # all of them were judged, each of too few people: said once


def test_nothing_in_scope():
    document = assessment(**CALM)
    for one in document["attackers"]:
        one["in_scope"] = False
    assert judge(document).decision == "INCONCLUSIVE"
