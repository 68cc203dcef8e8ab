from __future__ import annotations

import math

import numpy as np
import pytest
from gate_documents import SHA, assessment, headed, wilson
from hypothesis import given
from hypothesis import strategies as st

from entropie.errors import InvalidInput, InvalidParameter
from entropie.gate.comparison import compare
from entropie.gate.difference import Difference, difference
from entropie.gate.judge import Gate
from entropie.measures.intervals import Interval
from entropie.measures.intervals import wilson as score_interval
from entropie.request import Limits


def newcombe(right_1: int, n_1: int, right_2: int, n_2: int) -> tuple[float, float]:
    """Newcombe's hybrid score interval for p2 - p1 from counts, written from the roots of the score equation."""

    def roots(right: int, n: int) -> tuple[float, float]:
        # the p with |right/n - p| = z sqrt(p (1-p) / n): a quadratic in p
        z2, p = 1.959963984540054**2, right / n
        a, b, c = 1.0 + z2 / n, -(2.0 * p + z2 / n), p * p
        root = math.sqrt(b * b - 4.0 * a * c)
        return (-b - root) / (2.0 * a), (-b + root) / (2.0 * a)

    (l1, u1), (l2, u2) = roots(right_1, n_1), roots(right_2, n_2)
    p1, p2 = right_1 / n_1, right_2 / n_2
    return (
        p2 - p1 - math.sqrt((p2 - l2) ** 2 + (u1 - p1) ** 2),
        p2 - p1 + math.sqrt((u2 - p2) ** 2 + (p1 - l1) ** 2),
    )


def of_counts(right: int, n: int) -> Interval:
    low, high = score_interval(right, n)
    return Interval(right / n, float(low), float(high))


# Newcombe (1998), Statistics in Medicine 17:873-890, table II, method 10: published ends of p1 - p2
@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0),
        ((10, 10), (0, 10), 0.6075, 1.0),
    ],
)
def test_published_intervals(first, second, low, high):
    found = difference(of_counts(*second), of_counts(*first))
    assert (found.low, found.high) == pytest.approx((low, high), abs=5.1e-5)


@given(st.integers(0, 50), st.integers(1, 50), st.integers(0, 50), st.integers(1, 50))
def test_newcombe_from_counts(right_1, more_1, right_2, more_2):
    n_1, n_2 = right_1 + more_1, right_2 + more_2
    found = difference(of_counts(right_1, n_1), of_counts(right_2, n_2))
    assert (found.low, found.high) == pytest.approx(newcombe(right_1, n_1, right_2, n_2), abs=1e-9)
    assert found.value == right_2 / n_2 - right_1 / n_1


def test_the_interval_covers():
    """Coverage over 4,000 pairs of samples; one that pretends to half the width falls far short."""
    rng = np.random.default_rng(11)
    runs, n_1, n_2, p_1, p_2 = 4000, 120, 200, 0.2, 0.35
    covered = halved = 0
    for right_1, right_2 in zip(rng.binomial(n_1, p_1, runs), rng.binomial(n_2, p_2, runs), strict=True):
        found = difference(of_counts(int(right_1), n_1), of_counts(int(right_2), n_2))
        truth = p_2 - p_1
        covered += found.low <= truth <= found.high
        halved += (found.low + found.value) / 2 <= truth <= (found.high + found.value) / 2
    allowed = 4.0 * math.sqrt(0.95 * 0.05 / runs)  # four standard errors of the share covered
    assert abs(covered / runs - 0.95) < allowed + 0.005  # the method itself is off by up to half a percent
    assert halved / runs < 0.8


@given(*[st.tuples(st.floats(-9, 9), st.floats(0, 3), st.floats(0, 3)) for _ in range(2)])
def test_the_other_way_round_is_the_mirror(one, other):
    old, new = (Interval(value, value - below, value + above) for value, below, above in (one, other))
    there, back = difference(old, new), difference(new, old)
    assert (there.value, there.low, there.high) == pytest.approx((-back.value, -back.high, -back.low), abs=1e-12)
    assert there.low <= there.value <= there.high


def test_an_end_on_the_wrong_side_counts_as_no_doubt():
    found = difference(Interval(1.0, 1.2, 1.4), Interval(2.0, 1.5, 1.9))
    assert (found.low, found.high) == pytest.approx((1.0 - math.hypot(0.5, 0.4), 1.0))


OUTCOMES = [
    ((0.2, 0.15, 0.25), (0.6, 0.55, 0.65), 0.0, "risen", 1, 1),
    ((0.2, 0.15, 0.25), (0.6, 0.55, 0.65), 0.5, "not risen", 0, 0),
    ((0.2, 0.15, 0.25), (0.6, 0.55, 0.65), 0.4, "undecided", 0, 3),
    ((0.6, 0.55, 0.65), (0.2, 0.15, 0.25), 0.0, "fallen", 0, 0),
    ((0.5, 0.45, 0.55), (0.5, 0.45, 0.56), 0.0, "undecided", 0, 3),
    ((0.5, 0.45, 0.55), (0.5, 0.45, 0.56), 0.1, "not risen", 0, 0),
    ((0.5, 0.45, 0.55), (0.5, 0.45, 0.55), 0.0, "unchanged", 0, 0),
    ((0.5, 0.45, 0.55), (0.5, 0.45, 0.55), 0.1, "unchanged", 0, 0),
    ((0.5, 0.3, 0.7), (0.6, 0.4, 0.8), 0.0, "undecided", 0, 3),
]


@pytest.mark.parametrize(("old", "new", "tolerance", "outcome", "code", "strict_code"), OUTCOMES)
def test_outcomes_and_exit_codes(old, new, tolerance, outcome, code, strict_code):
    found = compare(headed(average=old), headed(average=new), tolerance)
    assert found.outcome == outcome
    assert (found.exit_code(), found.exit_code(strict=True)) == (code, strict_code)


def test_exact_document():
    old = headed(average=(0.25, 0.125, 0.375), pie_bits=2.0)
    new = headed(average=(0.75, 0.625, 0.875), pie_bits=2.5)
    new["provenance"]["date"] = "2026-12-16T10:30:00+00:00"
    for document in (old, new):
        document["attacks"][document["strongest"]]["pse_bits"] |= {
            "value": 3.0, "low": 2.5, "high": 3.5, "resolvable": 9.0
        }  # fmt: skip
    half = math.hypot(0.125, 0.125)
    bits = math.hypot(0.5, 0.5)
    side = {
        "source": "events.csv",
        "sha256": SHA,
        "users": 1000,
        "events": old["events"],
        "matcher": old["attacks"][old["strongest"]]["matcher"],
        "pse_bits": {"value": 3.0, "low": 2.5, "high": 3.5},
        "pse_bits_are_lower_bound": False,
    }
    for document in (old, new):
        for of in document["attackers"]:
            of["tail"] = of["tail"][-1:]  # nobody stands out
    found = compare(old, new, 0.05).to_json()
    found["sentence"] = found["sentence"].replace("\N{NO-BREAK SPACE}", " ")
    assert found == {
        "schema": "entropie.comparison/1",
        "old": {
            **side,
            "date": "2026-11-16T10:30:00+00:00",
            "identification_risk": {"value": 0.25, "low": 0.125, "high": 0.375},
            "pie_bits": 2.0,
        },
        "new": {
            **side,
            "date": "2026-12-16T10:30:00+00:00",
            "identification_risk": {"value": 0.75, "low": 0.625, "high": 0.875},
            "pie_bits": 2.5,
        },
        "same_input": True,
        "tolerance_error": 0.05,
        "risk_difference": {"value": 0.5, "low": 0.5 - half, "high": 0.5 + half},
        "risk_level": "at least 95 %",
        "error_difference": {"value": -0.5, "low": -0.5 - half, "high": half - 0.5},
        "pse_bits_difference": {"value": 0.0, "low": -bits, "high": bits},
        "pie_bits_difference": 0.5,
        "outcome": "risen",
        "most_exposed": [],
        "most_exposed_failing": [],
        "newly_failed": False,
        "sentence": (
            "75 % of people are re-identified, before 25 %: +50.0 points (at least 95 % CI +32.3 to +67.7 points). The "
            "risk has risen: the whole interval is above the accepted 5 % of people."
        ),
        "assumption": (
            "The intervals take the two results for independent. Both are of the same people: results on the same people "
            "mostly rise and fall together, so these intervals are wider than necessary."
        ),
        "warnings": [],
    }


def test_other_people():
    other = headed()
    other["input"]["sha256"] = "cd" * 32
    found = compare(headed(), other)
    assert not found.to_json()["same_input"]
    assert "Where many people are in both inputs" in found.assumption
    unknown = headed()
    unknown["input"]["sha256"] = None
    assert not compare(unknown, unknown).to_json()["same_input"]


def test_the_people_compared_are_those_that_were_assessed():
    """Known events cover also who has too few to be attacked by earlier behaviour."""
    document = headed(users=600, events=5_000)
    document["input"] |= {"users": 1000, "events": 6_000}
    assert {row["people"] for row in document["attackers"]} == {1000}
    side = compare(document, document).old
    assert (side.users, side.events) == (1000, 6_000)
    for row in document["attackers"]:
        row["in_scope"] &= row["attacker"] != "points"
        row["people"] = 600 if row["attacker"] != "points" else 1000
    side = compare(document, document).old
    assert (side.users, side.events) == (600, 5_000)


def test_the_same_assessment_is_unchanged():
    """Another day, folder or limit does not make it another result; another number does."""
    old = headed()
    again = headed(review={"date": "2027-06-01"})
    again["provenance"]["date"] = "2027-01-01T00:00:00+00:00"
    again["input"]["source"] = "elsewhere/events.csv"
    found = compare(old, again)
    assert (found.outcome, found.exit_code(strict=True), found.warnings) == ("unchanged", 0, [])
    assert found.risk_difference == found.pse_bits_difference == Difference(0.0, 0.0, 0.0)
    assert found.sentence == (
        "Unchanged: the same results of the same input; 50\N{NO-BREAK SPACE}% of people are re-identified in both."
    )
    assert found.assumption == (
        "The same people were attacked in the same way: the difference is zero and has no interval."
    )
    again["attacks"][0]["pse_bits"]["value"] += 0.01
    assert compare(old, again).outcome == "undecided"


@pytest.mark.parametrize(("among", "level"), [((1, 1), "95 %"), ((1, 2), "at least 95 %"), ((6, 1), "at least 95 %")])
def test_an_interval_made_of_wider_ones_is_called_so(among, level):
    old, new = headed(average=(0.2, 0.1, 0.3)), headed(average=(0.3, 0.2, 0.4))
    for document, number in zip((old, new), among, strict=True):
        document["headline"]["chosen_among"] = number
    found = compare(old, new)
    assert found.to_json()["risk_level"] == level
    assert f" ({level} CI " in found.sentence


@pytest.mark.parametrize(
    ("name", "value", "topic"),
    [
        ("rule", "history", "how events are split into known and attacked differs"),
        ("knowledge", "maximum", "what the attacker knows differs"),
        ("train_events", 5, "the number of events the attacker knows differs"),
        ("target_events", 5, "the number of events attacked differs"),
    ],
)
@pytest.mark.parametrize("averages", [((0.2, 0.15, 0.25), (0.6, 0.55, 0.65)), ((0.6, 0.55, 0.65), (0.2, 0.15, 0.25))])
def test_another_attack_is_not_compared(name, value, topic, averages):
    old, new = (headed(average=average) for average in averages)
    assert compare(old, new).outcome in ("risen", "fallen")
    new["split"][name] = value
    found = compare(old, new)
    assert (found.outcome, found.exit_code(), found.exit_code(strict=True)) == ("not comparable", 0, 3)
    assert found.sentence.startswith(f"Not comparable: {topic}. ")
    assert found.sentence.endswith("Two different attacks do not show whether the risk rose.")


def test_caveats_come_first_in_the_sentence():
    new = headed(average=(0.9, 0.85, 0.95), people=500)
    new["input"]["min_events"] = 20
    found = compare(headed(), new)
    assert (found.outcome, found.exit_code()) == ("risen", 1)
    assert found.sentence.startswith(
        "Read with care: the least number of events of a person differs; the number of people differs (1,000, now 500). "
        "90\N{NO-BREAK SPACE}% of people are re-identified, before 50\N{NO-BREAK SPACE}%"
    )


def test_reports_of_a_mechanism():
    plain, reports = headed(average=(0.6, 0.55, 0.65)), headed(average=(0.2, 0.15, 0.25))
    reports["input"]["obfuscated"] = True
    found = compare(plain, reports)
    assert (found.outcome, found.exit_code(), found.exit_code(strict=True)) == ("not comparable", 0, 3)
    assert found.sentence.startswith(
        "Not comparable: only the new data are reports of a mechanism, so their risk is understated. "
    )
    assert "only the old data are reports" in compare(reports, plain).sentence
    more = headed(average=(0.3, 0.25, 0.35))
    more["input"]["obfuscated"] = True
    found = compare(reports, more)
    assert (found.outcome, found.exit_code()) == ("risen", 1)
    assert found.sentence.startswith(
        "Read with care: both data are reports of a mechanism, so their risk is understated. "
    )
    (warning,) = found.warnings
    assert warning.startswith(
        "Both data are reports of a mechanism; the attack does not know the mechanism and understates"
    )
    assert compare(reports, reports).sentence.startswith(warning)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"split": {"rule": "history"}}, "Not the same attack: how events are split into known and attacked differs"),
        (
            {"split": {"knowledge": "maximum"}},
            "what the attacker knows differs (split.knowledge partial, now maximum).",
        ),
        ({"split": {"train_events": 5}}, "(split.train_events not set, now 5)."),
        ({"split": {"target_events": 5}}, "the number of events attacked differs"),
        (
            {"input": {"min_events": 20}},
            "Not the same choice of people: the least number of events of a person differs (input.min_events 10, now 20).",
        ),
        (
            {"users": 1500},
            "The number of people differs (1,000, now 1,500): for that reason alone it became harder to re-identify",
        ),
        (
            {"users": 500},
            "The number of people differs (1,000, now 500): for that reason alone it became easier to re-identify",
        ),
    ],
)
def test_what_cannot_be_compared_is_told(change, words):
    new = headed()
    for name, value in change.items():
        new[name] = {**new[name], **value} if isinstance(value, dict) else value
    (warning,) = compare(headed(), new).warnings
    assert words in warning


def test_a_verdict_that_turned_is_told_first():
    """Under 99 % the same data pass, under 5 % they fail; the share of people is the same in both."""
    kind, strict = (
        Gate.of(Limits(limit=limit, limit_name="ours", fail_on="average")).applied(headed()) for limit in (0.99, 0.05)
    )
    turned = [document["verdict"]["decision"] for document in (kind, strict)]
    assert turned[0] != turned[1] == "FAIL"
    found = compare(kind, strict)
    assert found.warnings[0] == f"The verdict was {turned[0]} and is FAIL now."
    assert (found.newly_failed, found.exit_code()) == (True, 1)
    assert compare(kind, kind).warnings == []
    for old, new in ((kind, kind), (strict, strict), (strict, kind), (headed(), strict)):
        assert (compare(old, new).newly_failed, compare(old, new).exit_code()) == (False, 0)


def limited(worst: float, kind: float, sha: str) -> dict:
    """A group of each attacker, and one of 20 people by one kind of conjunction, which stands before all of its row."""
    document = assessment(0.02, worst, facts={"sha256": sha})
    alone = {"share": 0.02, "people": 20, "reidentified": wilson(kind, 20)}
    document["attackers"][1]["tail"][:0] = [alone, {**alone, "alike": 2}, {**alone, "reidentified": wilson(0.0, 20)}]
    return Gate.of(Limits(limit=0.33, limit_name="ours", fail_on="worst")).applied(document)


def test_the_most_exposed_are_compared():
    """The average stays; of the 100 most exposed 20 were re-identified, 60 are now: all five differences hold together."""
    old, new = limited(0.2, 0.0, "ab" * 32), limited(0.6, 0.9, "cd" * 32)
    found = compare(old, new)
    groups = sorted((change.attacker, change.new.people) for change in found.most_exposed)
    assert groups == [("crowd", 20), ("crowd", 100), ("joint", 100), ("points", 100), ("profile", 100)]
    before, now = (Interval(**wilson(share, 100, 5)) for share in (0.2, 0.6))
    first, want = found.most_exposed[0], difference(before, now)
    assert first.difference.to_json() == pytest.approx(want.to_json())
    assert found.most_exposed_failing == ["earlier behaviour", "against all traces"]
    first_words = (
        "The most exposed 10 % of people, by earlier behaviour: 60 % are re-identified, before 20 %: +40.0 points"
    )
    said = [warning.replace("\N{NO-BREAK SPACE}", " ") for warning in found.warnings]
    assert said[1] == f"{first_words} (at least 95 % CI +{100 * want.low:.1f} to +{100 * want.high:.1f} points)."
    both = "those by earlier behaviour and against all traces"
    assert said[2] == f"The most exposed exceed the limit now, and did not surely before: {both}."
    back = compare(new, old)
    assert (back.most_exposed_failing, len(back.warnings)) == ([], 1)
    assert back.most_exposed[-1].difference.value == pytest.approx(-0.4)
    assert compare(new, limited(0.7, 0.9, "ef" * 32)).most_exposed_failing == []  # they failed before
    other = compare({**old, "attackers": old["attackers"][1:]}, new)
    assert {change.attacker for change in other.most_exposed} == {"crowd", "joint", "points"}
    assert other.most_exposed_failing == ["against all traces"]


def test_other_matchers_and_bits_beyond_the_data():
    new = headed()
    best = new["strongest"]
    new["attacks"] = [new["attacks"][best]]
    new["strongest"] = 0
    new["attackers"] = new["attackers"][:3]
    new["attacks"][0]["pse_bits"] |= {"value": 3.0, "low": 2.5, "high": 3.5, "resolvable": 2.9}
    found = compare(headed(), new)
    matchers, attackers, beyond = found.warnings
    assert matchers == (
        "Read with care: the matchers differ (bayes, cosine, markov, pitman_yor, tfidf, visit; now "
        f"{new['attacks'][0]['matcher']})."
    )
    assert attackers == (
        "Read with care: the attackers judged differ (crowd, joint, points, profile; now crowd, joint, profile)."
    )
    assert beyond == (
        "The scores of the new assessment carry more bits than its data can show: the bits are a lower bound, and "
        "their difference is not known."
    )
    shown = found.to_json()
    assert shown["pse_bits_difference"] is None
    assert shown["new"]["pse_bits"] == {"value": 2.9, "low": 2.5, "high": 2.9}
    assert (shown["old"]["pse_bits_are_lower_bound"], shown["new"]["pse_bits_are_lower_bound"]) == (False, True)


def test_it_says_what_it_is_in_a_few_lines():
    found = compare(headed(), headed(people=800))
    first, second = repr(found).split("\n")
    assert first == f"Comparison of 1,000 people before, 800 now: {found.outcome}"
    assert second.strip() == found.sentence
    assert "Both are of the same people" not in found.assumption


@pytest.mark.parametrize("tolerance", [-0.1, 1.0, float("nan")])
def test_a_tolerance_is_a_share(tolerance):
    with pytest.raises(InvalidParameter, match="`tolerance_error` must be a share of people from 0 to below 1"):
        compare(headed(), headed(), tolerance)


def test_a_document_without_a_headline():
    broken = headed()
    del broken["headline"]
    with pytest.raises(InvalidInput, match="missing required field `headline`; make it anew"):
        compare(headed(), broken)


def columns(how: str, **named: str) -> dict:
    return {role: {"column": column, "how": how} for role, column in named.items()}


def test_guessed_and_named_columns_are_the_same_columns():
    old, new = headed(), headed()
    old["input"]["columns"] = columns("guessed", user="user", item="venue")
    new["input"]["columns"] = columns("given", user="user", item="venue")
    found = compare(old, new)
    assert (found.outcome, found.warnings) == ("unchanged", [])
    new["input"]["columns"] = columns("given", user="user", item="place")
    assert compare(old, new).outcome != "unchanged"


@pytest.mark.parametrize("role", ["user", "item", "time"])
def test_another_column_is_told(role):
    old, new = headed(), headed()
    old["input"]["columns"] = columns("given", **{role: "a"})
    new["input"]["columns"] = columns("given", **{role: "b"})
    found = compare(old, new)
    assert f"Read with care: the {role} columns differ (a; now b)." in found.warnings
    assert found.sentence.startswith(f"Read with care: the {role} columns differ")


def test_a_rise_under_another_column_is_still_a_rise():
    """Whoever renames a column does not get past the gate."""
    old, new = headed((0.1, 0.05, 0.15)), headed((0.9, 0.85, 0.95))
    old["input"]["columns"] = columns("given", item="a")
    new["input"]["columns"] = columns("given", item="b")
    found = compare(old, new)
    assert (found.outcome, found.exit_code()) == ("risen", 1)


def test_seed_version_and_points_are_told_where_results_differ():
    old, new = headed((0.1, 0.05, 0.15)), headed((0.9, 0.85, 0.95))
    new["provenance"] |= {"seed": 7, "version": "99.0"}
    for row in new["attackers"]:
        if row["attacker"] == "points":
            row["points"] = 2
    found = " ".join(compare(old, new).warnings)
    assert "the seeds differ (0; now 7)" in found
    assert "the versions of entropie differ (" in found
    assert "now 99.0)" in found
    assert "the attackers run differ" in found
    same = headed()
    same["provenance"] |= {"seed": 7, "version": "99.0"}
    assert compare(headed(), same).warnings == []  # the same results all the same
