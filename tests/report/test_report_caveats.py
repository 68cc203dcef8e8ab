"""What a reader in a hurry would miss: who was assessed, what was declared, what is not shown, and what is chance."""

from __future__ import annotations

import html
import re

import pytest
import report_documents as documents
import report_marks as marks

from entropie import drawing
from entropie.report import pictures, render
from entropie.report.document import Document
from entropie.report.specs import NARROW, WIDE


@pytest.fixture
def words(monkeypatch):
    """The page's text, and the part of it that a selector's first element holds."""
    monkeypatch.setattr(drawing, "available", lambda: False)

    def text(document, begin="<main", end="</main>"):
        page = render(document)
        start = page.index(begin)
        part = page[start : page.index(end, start)]
        return " ".join(html.unescape(re.sub(r"<[^>]+>", "", part)).split())

    return text


def box(words, document):
    return words(document, '<div class="verdict', "</div>")


def advice(words, document):
    return words(document, '<div class="next', "</div>")


# Who was assessed


@pytest.mark.parametrize("decision", ["PASS", "FAIL", "INCONCLUSIVE", None])
def test_the_box_says_how_many_of_how_many_people_were_assessed(words, decision):
    document = documents.plain() if decision is None else documents.full(decision)
    assert (
        "1,511 of 3,785 people were assessed. This says nothing about the others: 2,274 have fewer than 10 events."
    ) in box(words, document)


def test_every_reason_for_leaving_people_out_is_named(words):
    document = documents.full()
    document["input"] |= {"dropped_users": 2000, "sampled_users": 1520}
    document["split"] |= {"dropped_users": 9}
    assert (
        "2,000 have fewer than 10 events, 9 have no event to learn from or none to attack, of the rest only a sample "
        "of 1,520 was taken."
    ) in box(words, document)


def test_where_nobody_is_left_out_the_box_says_so(words):
    document = documents.full("PASS")
    document["input"] |= {"users": documents.USERS, "dropped_users": 0}
    assert "All 1,511 people of the input were assessed." in box(words, document)
    assert "The limit is met. Keep" in advice(words, document | {"verdict": undeclared(document)})
    del document["input"]["users"], document["input"]["rows"]
    assert "1,511 people were assessed." in box(words, document)


def test_a_pass_with_people_left_out_is_a_pass_for_the_people_assessed(words):
    document = documents.full("PASS")
    assert "The limit is met for the people assessed." in advice(words, document)
    assert "Release only the people assessed, or assess the others as well" in advice(words, document)


def undeclared(document):
    return document["verdict"] | {"attempt_probability": None, "judged_risk": document["verdict"]["measured_risk"]}


# Reports of a mechanism


def test_reports_of_a_mechanism_are_warned_of_on_the_first_screen(words):
    document = documents.current("PASS")
    assert "these are reports with noise" not in words(document)
    document["input"]["obfuscated"] = True
    warning = words(document, '<div class="warning"', "</div>")
    assert "The risk is understated: these are reports with noise." in warning
    assert "entropie guarantee" in warning
    assert "Do not rely on this PASS" in advice(words, document)
    assert "The limit is met" not in advice(words, document)


# What a declaration or another measure decided


def declared(probability, limit):
    document = documents.full("PASS")
    risk = documents.around(0.5702, 0.0335)
    document["verdict"] |= {
        "attempt_probability": probability,
        "measured_risk": risk,
        "judged_risk": {name: probability * value for name, value in risk.items()},
        "limit": limit,
    }
    return document


@pytest.mark.parametrize(("limit", "without"), [(0.2, "FAIL"), (0.57, "INCONCLUSIVE")])
def test_a_pass_that_a_declaration_made_says_so_in_the_box(words, limit, without):
    document = declared(0.3, limit)
    assert (
        "PASS only because it was declared that somebody tries with a probability of 30 %. No data show that. Without "
        f"the declaration the decision would be {without}: measured is a risk of 57.0 % (95 % interval 53.7 % to "
        "60.4 %)."
    ) in box(words, document)
    assert "The limit is met only if the declaration holds." in advice(words, document)
    assert "Keep this report" not in advice(words, document)


def test_a_declaration_that_changes_nothing_is_named_and_no_more(words):
    document = declared(0.95, 0.75)
    assert "with a probability of 95 %; the decision is the same without." in box(words, document)
    assert "only because" not in box(words, document)


def test_without_a_declaration_nothing_is_said_of_one(words):
    document = documents.full("PASS")
    document["verdict"] = undeclared(document)
    assert "declar" not in box(words, document)


def test_another_measure_than_the_profiles_is_named_in_the_box(words):
    document = documents.current("PASS")
    said = box(words, document)
    assert "The profile speaks of the maximum, the risk of any one person; judged was the average" in said
    assert "On the most exposed people the decision would be FAIL." in said
    assert "--fail-on worst" in advice(words, document)
    document["headline"]["most_exposed"]["right"] = documents.around(0.6, 0.02)
    assert "would be FAIL" not in box(words, document)
    document["verdict"]["profile"]["speaks_of"] = "average"
    assert "judged was" not in box(words, document)
    document["verdict"]["measure"] = "worst"
    assert "The profile speaks of the average; judged were the most exposed people, which is stricter." in box(
        words, document
    )


def test_the_number_of_people_that_would_tell(words):
    document = documents.current("INCONCLUSIVE")
    assert "it takes about 10,431 people to tell." in box(words, document)
    assert "Assess about 10,431 people" in advice(words, document)
    document["verdict"]["people_needed"] = None
    assert "so close to the limit that no number of people would tell" in box(words, document)
    del document["verdict"]["people_needed"]
    assert "to tell" not in box(words, document)
    assert "Assess more people, which narrows the interval" in advice(words, document)


def test_why_a_waiver_has_no_effect(words):
    document = documents.current()
    document["verdict"]["waiver"] |= {"applies": False, "reason_without_effect": "The waiver expired on 2020-01-01."}
    assert "The waiver expired on 2020-01-01." in box(words, document)


# The most exposed


def test_the_most_exposed_of_the_headline_count(words):
    document = documents.current()
    assert "Of the 151 whose match is clearest she names 95.3 %." in words(document)
    assert "The risk is not the same for everybody." in words(document)


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_where_no_group_stands_out_the_page_says_that(words, share):
    document = documents.current()
    people, right = (151, documents.around(0.61, 0.06)) if share < 1 else (1511, documents.around(0.5702, 0.0335))
    document["headline"]["most_exposed"] |= {"share": share, "people": people, "right": right}
    text = words(document)
    assert "No group is shown to be at greater risk than the average." in text
    assert "No group of people is shown to be at greater risk than the average" in text
    assert "The risk is not the same for everybody" not in text
    assert ("Worst risk: no group was named more often than all people together" in text) == (share == 1.0)


def test_an_attacker_who_gains_nothing_by_choosing_is_not_said_to(words):
    document = documents.full()
    assert "so she can choose" in words(document)
    for group in document["attacks"][5]["exposure"]["groups"]:
        group["right"] = documents.around(0.0089, 0.004)
    text = words(document)
    assert "so she can choose" not in text
    assert "no difference between clear and unclear matches is shown" in text


# Protection


def test_one_event_per_person_is_said_wherever_protection_is_spoken_of(words):
    document = documents.full()
    assert "Each person then sends one event only, not the whole history." in advice(words, document)
    table = words(document, '<h3 id="protection"', "<h3>All attacks")
    assert "In all other rows each person sends one event" in table
    page = render(document)
    sent = re.findall(r'<td data-label="Sent by each person">(.*?)</td>', page)
    assert sent == ["whole history", "one event", "one event", "one event"]
    for figure in ("guarantee", "frontier"):
        assert "Each person sends one event" in words(document, f'<figure id="{figure}"', "</figure>")
    for row in document["protection"]:
        row["reports_per_user"] = 3
    assert "Each person then sends 3 events only" in advice(words, document)


def test_what_is_sent_and_why_a_row_is_recommended_are_the_documents_words(words):
    document = documents.current()
    cells = re.findall(r'<td data-label="Sent by each person">(.*?)</td>', render(document))
    assert [re.sub("<[^>]+>", "", cell) for cell in cells] == [
        "every event (48,871 in all)",
        *["one event per person (1,511 in all)"] * 3,
    ]
    assert "Recommended: local hashing, because 10 guesses name few people." in words(document)
    document["protection"][3]["utility"]["top_20"]["relative_error"] = 1.09
    assert "a relative error of 109.0 % (nothing is left of them)" in advice(words, document)


def test_several_guesses_are_bounded_on_the_first_screen_and_in_the_table(words):
    document = documents.full()
    assert "nor 48.8 % with 10 guesses; our attack got 7.9 %" in advice(words, document)
    assert "the top 100 of 187.0 % (nothing is left of them)" in advice(words, document)
    cells = re.findall(r'<td class="n" data-label="The same with several guesses">(.*?)</td>', render(document))
    assert [html.unescape(re.sub("<[^>]+>", "", cell)) for cell in cells] == [
        "\N{EN DASH}",
        "\N{EN DASH}",
        "\N{EN DASH}",
        "51.2\N{NO-BREAK SPACE}% with 10",
    ]


# Bits


def test_bits_that_reach_zero_are_none(words):
    document = documents.full()
    document["attacks"][5]["pse_bits"] |= {"value": -0.01, "low": -0.05, "high": 0.03}
    text = words(document)
    assert "The attacker's scores carry no bits that can be told from none (95 % interval -0.05 to 0.03)" in text
    assert "-0.01" not in text
    assert text.count("none shown") > 1


def test_an_interval_of_no_width_is_not_written_as_one(words):
    document = documents.full()
    document["attacks"][5]["pse_finite_bits"] = {"value": 9.271, "low": 9.2701, "high": 9.2712}
    document["attacks"][5]["pse_bits"] |= {"value": 9.31, "low": 9.31, "high": 9.31}
    text = words(document)
    assert "9.27 bits (the same in every resampling)" in text
    assert "9.31 bits (the same in every resampling)" in text
    assert not re.search(r"(\d+\.\d+)( %)? to \1\b", text)


def test_an_interval_never_ends_beyond_what_can_be_shown(words):
    document = documents.full()
    document["attacks"][5]["pse_bits"] |= {"value": 17.2, "low": 16.5, "high": 19.43}
    text = words(document)
    assert "16.50 to over 17.80" in text
    assert "19.43" not in text
    (spec,) = pictures.bits(Document(document), WIDE)
    assert spec["layer"][0]["data"]["values"][0]["high"] == 17.8


def test_the_papers_estimate_is_commented(words):
    document = documents.full()
    assert "6.10 bits; it is here to be compared with the paper, has no interval" in words(document)
    document["attacks"][5]["pse_paper_bits"]["value"] = 27.09
    assert "27.09 bits; that is more than these data can show" in words(document)


def test_one_event_that_says_no_more_than_chance(words):
    document = documents.full()
    assert "nothing can be told from this number" not in words(document)
    document |= {"pie_bits": 4.87, "pie_null_bits": 5.43}
    assert "chance alone shows 5.43 bits with so few events each: no less than the data themselves, so that nothing can be told" in words(document)  # fmt: skip


def test_an_equal_error_rate_of_a_coin(words):
    document = documents.full()
    document["attacks"][5]["equal_error_rate"] |= documents.around(0.56, 0.02)
    text = words(document)
    assert "is not shown to do better than tossing a coin" in text
    assert "rejects people equally often at" not in text
    assert "Here no difference is shown" in text


# Windows


def test_windows_that_are_too_small_leave_a_gap(words):
    document = documents.with_small_windows()
    text = words(document, '<figure id="windows"', "</figure>")
    assert (
        "From the window that begins on 1 April 2012 to the one that begins on 1 July 2012 the bits went from" in text
    )
    assert "Windows without a point were not attacked" in text
    assert "8 people have 10 events or more in this window, 30 are needed." in text
    assert "1 July 2012" in text
    assert "28 July 2012 (the data end before)" in text
    (spec,) = pictures.windows(Document(document), WIDE)
    points = spec["layer"][2]["data"]["values"]
    assert [(row["from"], row["run"]) for row in points] == [("2012-04-01", 0), ("2012-05-01", 0), ("2012-07-01", 1)]
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [f"2012-0{month}-01" for month in (4, 5, 6, 7)]


@pytest.mark.parametrize(("attacked", "says"), [(1, "Only the window that begins on 1 April 2012"), (0, "No window")])
def test_one_window_or_none_that_could_be_attacked(words, attacked, says):
    document = documents.with_small_windows(attacked=attacked)
    assert f"{says} could be attacked" in words(document, '<figure id="windows"', "</figure>")
    assert len(pictures.windows(Document(document), NARROW)) == attacked


def test_windows_shorter_than_a_day_have_places_of_their_own(words):
    document = documents.with_small_windows(attacked=4, hours=True)
    text = words(document, '<figure id="windows"', "</figure>")
    assert "From the window that begins on 15 November 2023, 00:00 UTC to the one that begins on 15 November 2023, 18:00 UTC" in text  # fmt: skip
    (spec,) = pictures.windows(Document(document), WIDE)
    places = [row["from"] for row in spec["layer"][2]["data"]["values"]]
    assert places == [f"2023-11-15 {hour}:00" for hour in ("00", "06", "12", "18")]


def test_bits_of_windows_are_drawn_at_the_limit():
    document = documents.full()
    document["windows"][2]["pse_bits"] |= {"value": 30.0, "low": 29.0, "high": 31.0}
    (spec,) = pictures.windows(Document(document), WIDE)
    row = spec["layer"][2]["data"]["values"][2]
    assert (row["low"], row["value"], row["high"]) == (17.8, 17.8, 17.8)


def test_small_windows_are_really_drawn():
    page = render(documents.with_small_windows(hours=True))
    assert marks.read(page[page.index('<figure id="windows"') :]).tags
    assert "<svg" in page[page.index('<figure id="windows"') :]


# Items, captions, words


def test_items_are_ordered_by_one_event_and_keep_their_part(words):
    document = documents.current()
    page = words(document)
    assert "Items whose single event says most about who did it" in page
    assert "Items that identify most" not in page
    row = words(document, '<tr><th scope="row"><bdi data-path="identifying_items.shown.0.item"', "</tr>")
    assert row == "Grand Central8.820.04614101.2 %"
    old = words(documents.full())
    assert "Items that identify most" in old
    assert "Bits of one event" not in old


def test_captions_say_among_how_many_matchers_the_best_was_chosen(words):
    document = documents.current()
    document["attacker_levels"][0]["matchers_tried"] = 1
    text = words(document)
    sentence = "in each row the best of up to 6 matchers counts, and the interval allows for that choice"
    assert text.count(sentence) == 2
    assert sentence not in words(documents.full())


def test_a_declared_population_is_said_not_to_be_used(words):
    assert "8,400,000 people; kept for the record, not used in any number of this page" in words(documents.full())


def test_the_band_is_only_spoken_of_where_it_can_be_seen(words):
    document = documents.full()
    best = document["attacks"][5]
    best["det_band"] = [[frr * 0.7, min(1.0, frr * 1.3)] for _, frr in best["det"]]
    assert "The band is the 95 % interval." in words(document)
    best["det"] = [[1.0, 0.0], [1e-5, 0.0], [0.0, 1.0]]
    best["det_band"] = [[0.0, 0.003], [0.0, 0.003], [0.997, 1.0]]
    text = words(document)
    assert "The band is the 95 % interval." not in text
    assert "to be seen here; the table has it." in text


@pytest.mark.parametrize("jargon", ["dealt out anew", "normal laws", "impostor law", "all people named"])
def test_words_that_nobody_knows(words, jargon):
    assert jargon not in words(documents.current())


@pytest.mark.parametrize("kind", ["bare", "plain", "full", "current"])
def test_documents_of_every_age_are_shown(words, kind):
    assert "were assessed" in words(getattr(documents, kind)())
