"""What the page says and how it is built, without a browser."""

from __future__ import annotations

import copy
import html
import itertools
import math
import re

import pytest
import report_documents as documents
import report_marks as marks

from entropie import drawing
from entropie.errors import InvalidInput
from entropie.report import render


@pytest.fixture(scope="module")
def full():
    return render(documents.full())


@pytest.fixture
def without_pictures(monkeypatch):
    """Words alone: drawing takes a second, and only its absence is tested by these."""
    monkeypatch.setattr(drawing, "available", lambda: False)


def text_of(page: str) -> str:
    page = re.sub(r"(?s)<(script|style|svg).*?</\1>", "", page)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).split())


def test_order_of_the_page(full):
    names = [text for level, text in marks.read(full).headings if level <= 2]
    assert names[1:] == [
        "What to do next",
        "Measured, declared, combined",
        "In sentences",
        "In pictures",
        "In tables",
        "Appendix",
    ]
    assert names[0].startswith("How identifiable are the people in ")


def test_headings_never_skip_a_level(full):
    levels = [level for level, _ in marks.read(full).headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@pytest.mark.parametrize(
    ("decision", "says"),
    [
        (
            "PASS",
            "The combined average risk is at most 57.4 %, the upper end of its 95 % interval: within the limit of 75 %",
        ),
        (
            "FAIL",
            "The combined average risk is at least 51.0 %, the lower end of its 95 % interval: above the limit of 9 %",
        ),
        (
            "INCONCLUSIVE",
            "The combined average risk lies between 51.0 % and 57.4 % (95 % interval), and so does the limit of 56 %",
        ),
    ],
)
@pytest.mark.usefixtures("without_pictures")
def test_the_verdict_is_worded_and_coloured(decision, says):
    page = render(documents.full(decision))
    assert f'<div class="verdict {decision.lower()}">' in page
    assert says in text_of(page)


@pytest.mark.usefixtures("without_pictures")
def test_without_a_profile_nothing_is_judged():
    text = text_of(render(documents.plain()))
    assert "NO VERDICT No profile was named, so nothing is judged." in text
    assert not re.search(r"\b(PASS|FAIL|INCONCLUSIVE)\b", text)
    assert "--profile" in text


@pytest.mark.usefixtures("without_pictures")
def test_a_waiver_is_shown_and_one_without_effect_says_so():
    document = documents.full()
    assert "Waived until 31 March 2027 by M. Okafor: Pilot with consenting staff." in text_of(render(document))
    document["verdict"]["waiver"]["applies"] = False
    text = text_of(render(document))
    assert "A waiver by M. Okafor (until 31 March 2027) has no effect here." in text
    assert "WAIVED" not in text


@pytest.mark.usefixtures("without_pictures")
def test_the_worst_measure_is_named():
    document = documents.full()
    document["verdict"] |= {"measure": "worst", "attempt_probability": None}
    assert "The risk of the most exposed people is at least" in text_of(render(document))


def test_what_the_report_does_not_show(full):
    assert (
        "This does not show: inference of attributes, membership, attackers with other data, releases combined with "
        "earlier ones."
    ) in text_of(full)


def test_sentences_of_protection(full):
    assert (
        "With randomized response at epsilon 5.912, no attacker can beat 10.0 % on average (proved; assumes every "
        "person sends one report and the attacker knows everything but who sent it); our attack got 7.0 % (95 % "
        "interval 5.8 % to 8.2 %); the top-20 items keep a relative error of 41.0 % "
        "(36.9 % to 45.1 % in repeated collections)."
    ) in text_of(full)
    assert "With local hashing to 512 values at epsilon 4.2, no attacker can beat 10.0 %" in text_of(full)
    assert ", nor 48.8 % with 10 guesses; our attack got" in text_of(full)


def test_every_criterion_has_its_coverage(full):
    table = full[full.index("Opinion 05/2014 on") : full.index("Attackers: weak, medium, strong</h3>")]
    rows = re.findall(
        r'<th scope="row">(.*?)</th><td data-label="Covered"><span class="tag [\w-]+">(.*?)</span>', table
    )
    assert rows == [("Singling out", "partly"), ("Linkability", "partly"), ("Inference", "not covered")]


def test_missing_parts_are_named_with_the_way_to_get_them():
    text = text_of(render(documents.bare()))
    for part in ("--protect 0.9", "--window 30d", "rank curve", "distribution of risk over people", "--attacker"):
        assert part in text
    assert "Named rightly" in text


@pytest.mark.usefixtures("without_pictures")
def test_values_beyond_what_the_data_can_show_are_never_claimed():
    document = documents.plain()
    document["attacks"][5]["pse_bits"] |= {"value": 23.456, "low": 23.4, "high": 23.5}
    page = render(document)
    assert "23.4" not in text_of(page)
    assert "over 17.80" in text_of(page)


@pytest.mark.parametrize("known", [1, 3, None])
@pytest.mark.parametrize("rule", ["halves", "history"])
@pytest.mark.parametrize("knowledge", ["partial", "maximum"])
@pytest.mark.usefixtures("without_pictures")
def test_what_the_attacker_holds(known, rule, knowledge):
    document = documents.plain()
    document["split"] |= {"train_events": known, "rule": rule, "knowledge": knowledge}
    text = text_of(render(document))
    if knowledge == "maximum":
        expected = "the very events that are attacked, with names"
    elif known is None:
        expected = "the history of each person" if rule == "history" else "the first half of each person's events"
    else:
        expected = "the first event of each person" if known == 1 else "the first 3 events of each person"
    assert f"by an attacker who holds {expected}" in text


def test_the_page_is_one_file_without_script(full):
    page = marks.read(full)
    scripts = [found for tag, found in page.tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "assessment"}]
    for tag, found in page.tags:
        assert tag not in ("link", "iframe", "object", "embed", "form", "base", "img", "image", "a:xlink")
        assert not [name for name in found if name.startswith("on") or name in ("src", "srcdoc", "xlink:href")]
        if "href" in found:
            assert str(found["href"]).startswith("#")
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in full
    assert "http:" not in re.sub(r'(?s)<script type="application/json".*?</script>', "", full).replace(
        "http://www.w3.org/2000/svg", ""
    )


def test_ids_are_unique_and_every_link_inside_the_page_leads_somewhere(full):
    tags = marks.read(full).tags
    ids = [found["id"] for _, found in tags if "id" in found]
    assert len(ids) == len(set(ids)) > 20
    for _, found in tags:
        for name in ("href", "aria-labelledby", "clip-path"):
            if name in found:
                target = re.sub(r"^(#|url\(#)|\)$", "", str(found[name]))
                assert target in ids, found


def test_every_table_has_a_caption_and_every_header_a_scope(full):
    tables = re.findall(r"(?s)<table.*?</table>", full)
    assert len(tables) > 15
    for table in tables:
        assert "<caption>" in table
        assert all("scope=" in header for header in re.findall(r"<th\b[^>]*>", table))


def test_every_picture_has_a_text_alternative_and_a_table(full):
    figures = re.findall(r"(?s)<figure.*?</figure>", full)
    assert [re.search(r'id="(\w+)"', figure).group(1) for figure in figures] == [
        "known", "exposure", "ranks", "laws", "det", "bits", "guarantee", "frontier", "windows",
    ]  # fmt: skip
    for figure in figures:
        drawings = re.findall(r"<svg[^>]*>", figure)
        assert len(drawings) in (2, 4)
        assert all(re.search(r'role="img" aria-label="[^"]{20,}"', drawing) for drawing in drawings)
        assert "<details>" in figure
        assert "<tbody>" in figure
        assert "<p>" in figure


@pytest.mark.usefixtures("without_pictures")
def test_without_the_extra_the_page_has_its_tables():
    page = render(documents.full())
    assert "<svg" not in page
    assert "they need the extra report, pip install 'entropie[report]'" in text_of(page)
    assert page.count("<figure") == 9
    assert marks.read(page).marks


def test_same_document_same_page(full):
    assert render(documents.full()) == full


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d.update(schema="entropie.sweep/1"), "A report needs a document of schema entropie.assessment/1, got 'entropie.sweep/1' instead"),
        (lambda d: d.pop("headline"), "The document lacks `headline.identification_error`"),
        (lambda d: d.update(strongest=6), "`strongest` must be the index of an attack, got 6 instead"),
        (lambda d: d.update(items="<b>many</b>"), "`items` cannot be written as count: it is '<b>many</b>'"),
        (lambda d: d.update(pie_bits=None), "`pie_bits` cannot be written as bits: it is None"),
        (lambda d: d.update(pie_bits=math.nan), "The document holds NaN or an infinite number"),
        (lambda d: d.update(pie_bits=True), "`pie_bits` cannot be written as bits: it is True"),
        (lambda d: d["provenance"].update(date="tomorrow"), "`provenance.date` must be a date, got 'tomorrow' instead"),
        (lambda d: d["attacks"][5].pop("equal_error_rate"), "lacks `attacks.5.equal_error_rate."),
        (lambda d: d["attacks"][5].update(laws={"edges": [0, 1], "genuine": [1]}), "not a whole assessment"),
        (lambda d: d.update(verdict={**documents.full()["verdict"], "decision": "MAYBE"}), "not a whole assessment"),
    ],
)  # fmt: skip
def test_documents_that_cannot_be_shown_get_one_sentence(change, sentence):
    document = documents.plain()
    change(document)
    with pytest.raises(InvalidInput) as refused:
        render(document)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("document", [None, [], "x", 3, {}])
def test_things_that_are_no_document(document):
    with pytest.raises(InvalidInput, match="A report needs a document of schema"):
        render(document)


def test_the_document_is_not_changed():
    document = documents.hostile("<b>\x00")
    before = copy.deepcopy(document)
    render(document)
    assert document == before
