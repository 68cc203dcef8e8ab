"""What a reader in a hurry would miss: the number judged, who was assessed, what was declared, what is not covered."""

from __future__ import annotations

import datetime
import html
import re

import pytest
import report_documents as documents

from entropie import drawing
from entropie.gate.waiver import Waiver
from entropie.page import render

EMA = {"profile": "ema"}


@pytest.fixture
def words(monkeypatch):
    """The page's text between two pieces of its markup; drawing takes a second, and words are tested here."""
    monkeypatch.setattr(drawing, "available", lambda: False)

    def text(document, begin="<main", end="</main>"):
        page = render(document)
        start = page.index(begin)
        part = page[start : page.index(end, start + 1)]
        return " ".join(html.unescape(re.sub(r"<[^>]+>", "", part)).split())

    return text


def box(words, document):
    return words(document, '<div class="verdict', "</div>")


def advice(words, document):
    return words(document, '<div class="next', "</div>")


def section(words, document, name):
    return words(document, f'aria-labelledby="{name}"', "</section>")


def judged(average=0.5, worst=0.9, **limits):
    """A document whose most exposed and average risks are set, judged anew."""
    return documents.rejudged(documents.risky(documents.full(), average, worst), **limits)


# The verdict


def test_the_number_beside_the_verdict_is_the_number_judged(words):
    text = box(words, judged(**EMA))
    assert text.startswith("FAIL 90 % of the most exposed 31 % of people are re-identified by an attacker who knows")
    assert re.search(
        r"\(95 % confidence interval \d+ to 9\d(\.\d)? %\)\. The limit is 9 %: European Medicines Agency", text
    )
    average = {"limit": 0.2, "limit_name": "house rule", "fail_on": "average"}
    assert box(words, judged(**average)).startswith("FAIL 50 % of people are re-identified by an attacker")


def test_the_verdict_is_told_once(words):
    document = documents.full()
    text = words(document)
    assert document["verdict"]["headline"] not in text
    assert document["verdict"]["sentence"] not in text
    assert text.count(document["verdict"]["rests_on"][0].replace("\N{NO-BREAK SPACE}", " ")) == 1


def test_what_it_rests_on_is_the_documents(words):
    document = documents.full()
    rests = words(document, 'id="rests-on"', "</ul>")
    for statement in document["verdict"]["rests_on"]:
        assert statement.replace("\N{NO-BREAK SPACE}", " ") in rests


def test_without_a_limit_nothing_is_judged(words):
    document = documents.plain()
    text = box(words, document)
    assert text.startswith("NO VERDICT")
    assert "No limit was named, so nothing is judged." in text
    assert "--profile ema" in advice(words, document)
    assert "none: no limit was named" in section(words, document, "sign-off")


@pytest.mark.parametrize(
    ("decision", "says"),
    [
        ("PASS", "The limit is met. Keep this report with the release."),
        ("PASS (limited)", "Do not take this for a PASS: it rests on less than everything (see above). Assess without"),
        ("FAIL", "Do not release the data as they are."),
        ("INCONCLUSIVE", "Do not rely on these data being within the limit. Assess about "),
    ],
)
def test_every_verdict_is_coloured_and_advises(words, decision, says):
    document = documents.full(decision)
    colour = "inconclusive" if decision == "PASS (limited)" else decision.lower()
    assert f'<div class="verdict {colour}">' in render(document)
    assert says in advice(words, document)


def test_people_who_will_not_be_released_and_ids_are_in_the_sign_off(words):
    document = judged(**EMA, not_released=True, one_id_per_person=True)
    assert "Release only the people assessed, without the rows that were excluded: that was declared." in advice(
        words, document
    )
    assert "Declaredpeople who were not assessed and rows that were excluded will not be released" in section(
        words, document, "sign-off"
    )
    assert "Declaredevery id is another person" in section(words, document, "sign-off")
    assert "People not assessed, rows excludedwill not be released" in words(
        document, "Declared by the user", "</table>"
    )
    assert "will not be released" not in words(judged(**EMA))


def test_what_limits_a_pass_is_in_the_sign_off(words):
    document = documents.full("PASS (limited)")
    (limit,) = document["verdict"]["limits"]
    assert f"Limits of the PASSnot accepted: {limit}" in section(words, document, "sign-off")
    document["verdict"]["limits_accepted"] = True
    assert f"Limits of the PASSaccepted: {limit}" in section(words, document, "sign-off")
    assert "That was accepted; have whoever answers for the data confirm it in writing." in advice(words, document)


def test_a_pass_that_a_declaration_made(words):
    document = judged(**EMA, attempt_probability=0.05)
    assert box(words, document).startswith("PASS (limited) 4.5 % ")
    assert "with an attempt probability of 5 % declared" in box(words, document)
    assert "An attempt probability of 5 % was declared, not measured" in words(document)


def test_what_is_open_comes_before_more_people(words):
    document = judged(limit=0.6, limit_name="house rule", fail_on="average")
    assert "Assess about " in advice(words, document)
    document["verdict"]["unsettled"] = ["Several ids behave as one person."]
    assert "Settle first what is open (see above)." in advice(words, document)


def test_a_limited_pass_that_holds_for_the_most_exposed_too(words):
    document = judged(**EMA, attempt_probability=0.05)
    document["verdict"]["on_most_exposed"] = "PASS"
    assert "--fail-on worst" not in advice(words, document)


def test_another_measure_than_the_limits(words):
    document = judged(profile="custodian-033", fail_on="average", average=0.1)
    assert "--fail-on worst" in advice(words, document)
    assert "On the most exposed people: FAIL." in words(document)
    assert "--fail-on worst" not in advice(words, judged(**EMA))


def test_more_people_would_not_decide(words):
    document = judged(limit=0.5, limit_name="house rule", fail_on="average")
    assert document["verdict"]["people_needed"] is None
    assert "More people would not decide it; lower the risk." in advice(words, document)


def test_waivers(words):
    waiver = Waiver("a pilot with consenting staff", datetime.date(2999, 3, 31), "M. Okafor", "ema")
    document = documents.full(waiver=waiver)
    assert box(words, document).startswith("FAIL waived until 31 March 2999")
    assert "beyond what the waiver covers" in advice(words, document)
    assert "FAIL (ema), waived" in section(words, document, "sign-off")
    expired = Waiver("a pilot", datetime.date(2020, 3, 31), "M. Okafor", "ema")
    document = documents.full(waiver=expired)
    assert "waived" not in box(words, document)
    assert "expired on 2020-03-31 and has no effect" in words(document)


def test_reports_of_a_mechanism_are_warned_of(words):
    document = documents.full("PASS")
    assert "reports with noise" not in words(document)
    document["input"]["obfuscated"] = True
    assert "The risk is understated: these are reports with noise." in words(document, '<div class="warning"', "</div>")
    document["attackers"][0]["attacker"] = "reports"  # who knows the mechanism was run
    assert "reports with noise" not in words(document)


# People


def test_who_was_assessed_and_who_was_not(words):
    document = documents.full()
    assert "All 64 people in the data were assessed. By known events alone: 4 with fewer than 5 events." in section(
        words, document, "people"
    )
    for row in document["attackers"]:
        row["people"] = 60
    document["input"] |= {"users": 72, "dropped_users": 10}
    assert "60 of 72 people were assessed. Excluded, and not covered: 10 with fewer" in section(
        words, document, "people"
    )
    document["split"] |= {"dropped_users": 2}
    assert "10 with fewer than 5 events; 2 with nothing to learn from or nothing to attack." in section(words, document, "people")  # fmt: skip
    document["input"]["users"] = None
    assert "60 people were assessed." in section(words, document, "people")
    assert "attacked among all" not in section(words, document, "people")
    document["attacks"][document["strongest"]]["targets"] = 40
    assert "40 of them, drawn at random, were attacked among all." in section(words, document, "people")


@pytest.mark.parametrize(
    ("share", "right", "says"),
    [
        (0.1, (0.95, 0.03), "The risk differs between people"),
        (0.1, (0.5, 0.2), "no group is shown to be at greater risk than the average"),
        (1.0, (0.5, 0.03), "No group of people stands out"),
    ],
)
def test_the_most_exposed(words, share, right, says):
    document = documents.plain()
    document["headline"]["identification_error"] = documents.around(0.5, 0.03)
    document["headline"]["most_exposed"] |= {"share": share, "right": documents.around(*right)}
    text = section(words, document, "people")
    assert says in text
    assert ("the most exposed 10 %" in text) == (share < 1)


def test_few_people_and_no_control(words):
    document = documents.plain()
    assert "So few people" not in section(words, document, "people")
    document |= {"users": 25}
    document["headline"]["null_identification_error"] = None
    for row in document["attackers"]:
        row["control"] = None
    assert "So few people say little about any others." in section(words, document, "people")
    assert "The control with shuffled identities was skipped." in section(words, document, "people")
    assert "Control" not in section(words, document, "attackers")


# Attackers


def test_attackers_side_by_side(words):
    document = documents.plain()
    page = render(document)
    part = page[page.index('aria-labelledby="attackers"') :]
    rows = re.findall(r'<th scope="row">(.*?)</th>', part[: part.index("</table>")])
    names = [" ".join(html.unescape(re.sub("<[^>]+>", "", row)).split()) for row in rows]
    known = [row["train_events"] for row in document["by_known_events"] if row["train_events"]]
    wanted = [f"Only the first {events} events" if events > 1 else "Only the first event" for events in reversed(known)]
    judged = ("4 known events", "Earlier behaviour", "... against all traces", "... matched one-to-one")
    assert names == [*(f"{name} judged" for name in judged), *wanted, "Chance"]


def test_what_the_attacker_knows(words):
    document = documents.plain()
    document["headline"]["knows"] = "the shopping lists of each person"
    assert "by an attacker who knows the shopping lists of each person. No limit was named" in box(words, document)


# What drives it


def test_rare_items_come_first(words):
    document = documents.plain()
    document["identifying_items"]["rare"] = {"items": 2950, "share_of_events": 0.412, "bits": 4.31}
    document["pie_bits"] = 6.9
    text = section(words, document, "drivers")
    assert "Rare items carry most of it: 2,950 items that fewer than 10 people have carry 4.3 of 6.9 bits with 41 % of events." in text  # fmt: skip
    assert text.index("2,950 rare items") < text.index(document["identifying_items"]["shown"][0]["item"])
    document["identifying_items"]["rare"]["bits"] = 1.2
    assert "Rare items (2,950, of fewer than 10 people each) carry 1.2 of 6.9 bits" in section(
        words, document, "drivers"
    )
    document["identifying_items"]["rare"] = {"items": 0, "share_of_events": 0.0, "bits": 0.0}
    assert "There are no rare items" in section(words, document, "drivers")


def test_one_event_that_says_no_more_than_chance(words):
    document = documents.plain()
    document |= {"pie_bits": 4.87, "pie_null_bits": 4.0}
    assert "do not tell which items identify" not in words(document)
    document |= {"pie_null_bits": 5.43}
    text = section(words, document, "drivers")
    assert "These data do not tell which items identify" in text
    assert "chance alone shows 5.4 bits with all events shuffled, and one event 4.9 bits as is." in text
    assert "Rare items" not in text


def test_an_attacker_who_gains_nothing_by_choosing(words):
    document = documents.plain()
    for group in document["attacks"][document["strongest"]]["exposure"]["groups"]:
        group["right"] = documents.around(0.3, 0.1)
    assert "The intervals overlap: no difference is shown." in words(document)


def test_windows_that_are_too_small_leave_a_gap(words):
    document = documents.full()
    text = words(document, '<figure id="windows"', "</figure>")
    assert [window["reason"] is None for window in document["windows"]] == [True, True, False]
    assert "the share re-identified went from" in text
    assert "Windows without a point were not attacked" in text
    assert document["windows"][2]["reason"] in text
    for place, says in ((1, "Only the window that begins on"), (0, "No window could be attacked")):
        document["windows"][place] |= {"identification_error": None, "pse_bits": None, "reason": "too few"}
        assert says in words(document, '<figure id="windows"', "</figure>")


# What would lower it


def test_a_recommended_option_and_none_that_is_usable(words):
    document = documents.full()
    for place, row in enumerate(document["protection"]):
        row["recommended"] = place == 2
    document["protection_goal"]["recommendation"] = "randomized response, because it meets the goal"
    text = section(words, document, "lower")
    assert (
        "Recommended where whoever sees one person's reports, and not everybody's, is to have an error rate of at least 80 %. Randomized response"
        in text
    )
    assert "Protect what is sent" in advice(words, document)
    for row in document["protection"]:
        row["recommended"] = False
    document["protection"][3]["utility"]["useful"] = True
    text = section(words, document, "lower")
    assert "No option is recommended where whoever sees one person's reports" in text
    assert "Recommended" not in text
    assert "No protection tried is recommended" in advice(words, document)
    for row in document["protection"][2:]:
        row["utility"]["useful"] = False
    assert "Nothing tried is usable where whoever sees one person's reports" in section(words, document, "lower")


def test_what_is_sent_stands_beside_every_option(words):
    document = documents.full()
    cells = re.findall(r'<td class="sends" data-label="Each person sends">(.*?)</td>', render(document))
    assert [re.sub("<[^>]+>", "", cell) for cell in cells] == [row["sends"] for row in document["protection"]]
    usable = re.findall(r'<td data-label="Counts usable">(.*?)</td>', render(document))
    assert usable == ["yes" if row["utility"]["useful"] else "no" for row in document["protection"]]


def test_without_protection_the_way_to_get_it_is_named(words):
    text = section(words, documents.plain(), "lower")
    assert "entropie sweep" in text
    assert "--protect 0.9" in text


# Not covered, sign-off, annex


def test_what_is_not_covered(words):
    text = section(words, documents.plain(), "not-covered")
    for part in ("Attackers with other data", "inferred about a person", "better than ours"):
        assert part in text
    assert "excluded" not in text  # all people were assessed, some by known events alone
    document = documents.plain()
    document["input"] |= {"users": 72, "dropped": {"unreadable time": 3}}
    text = section(words, document, "not-covered")
    assert "The people excluded." in text
    assert "The rows excluded (see the annex)." in text
    rows = re.findall(
        r'<th scope="row">(.*?)</th><td data-label="Covered"><span class="tag [\w-]+">(.*?)</span>',
        render(documents.plain()),
    )
    assert rows == [("Singling out", "partly"), ("Linkability", "partly"), ("Inference", "not covered")]


def test_sign_off(words):
    text = section(words, documents.full(), "sign-off")
    for part in ("Bus study", "City of Example", "A. Analyst", "planning of bus lines", "a university", "2026-10"):
        assert part in text
    assert text.endswith("Decision Date Name and signature")
    page = render(documents.plain())
    assert page.count('<span class="fill') == 6 + 3  # nothing was stated: lines to write on


JARGON = ("PSE", "PIE", "DET", "qual-error", "Bonferroni", "pitman", "bayes", "visit", "epsilon", "impostor")


def test_science_words_stay_in_the_annex(words):
    document = documents.full()
    for row in document["protection"]:
        row["sentence"] = ""
    document["protection_goal"] |= {"recommendation": "r", "sentence": "s", "details": "d"}
    before = words(document, "<main", 'id="annex"')
    assert [word for word in JARGON if word in before.replace("Epsilon", "")] == []
    annex = section(words, document, "annex")
    for term in ("PSE", "PIE", "DET curve", "Equal-error rate", "Matcher"):
        assert annex.index(term) < annex.index("All attacks")


@pytest.mark.parametrize("old", ["she", "her", "named rightly", "guessing", "promise", "permuted", "left out", "law"])
def test_words_that_nobody_says(words, old):
    document = documents.full()
    assert not re.search(rf"\b{old}\b", words(document).lower())


def test_bits_that_reach_zero_or_lie_beyond_the_data(words):
    document = documents.plain()
    bits = document["attacks"][document["strongest"]]["pse_bits"]
    bits |= {"value": -0.01, "low": -0.05, "high": 0.03}
    text = words(document)
    assert "Here no bits that can be told from none (95 % CI -0.1 to 0.0)" in text or "none shown" in text
    bits |= {"value": 30.0, "low": 29.0, "high": 31.0, "resolvable": 9.4}
    text = words(document)
    assert "over 9.4 bits, the most these data can show" in text
    assert "30.0" not in text
    bits |= {"value": 9.0, "low": 8.5, "high": 11.0}
    assert "8.5 to over 9.4" in words(document)


def test_the_papers_estimate_is_commented(words):
    document = documents.plain()
    best = document["attacks"][document["strongest"]]
    best["pse_paper_bits"]["value"] = best["pse_bits"]["resolvable"] - 1.0
    assert "for comparison with the paper only." in words(document)
    best["pse_paper_bits"]["value"] = best["pse_bits"]["resolvable"] + 1.0
    assert "more than these data can show: it follows from the jitter" in words(document)


def test_an_equal_error_rate_of_a_coin(words):
    document = documents.plain()
    rate = document["attacks"][document["strongest"]]["equal_error_rate"]
    assert "no better than a coin" not in words(document)
    rate |= documents.around(0.48, 0.05)
    assert words(document).count("no better than a coin is shown") == 2


def test_whether_bits_have_settled(words):
    document = documents.plain()
    assert "With twice the people" not in words(document)
    slope = {"value": 0.1, "low": -0.1, "high": 0.3}
    document["convergence"] = {
        "points": [], "slope_bits_per_doubling": slope, "tolerance_bits": 0.2, "settled": None, "limited": True
    }  # fmt: skip
    assert "changes by 0.1 bits (95 % CI -0.1 to 0.3): it cannot be said to have settled or not." in words(document)
