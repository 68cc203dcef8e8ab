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
from entropie.page import render


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
    assert names == [
        "",  # the title is marked
        "What it rests on",
        "What to do next",
        "How many people, and how sure",
        "Who could do it",
        "What drives it",
        "What would lower it, and what that costs",
        "What is not covered",
        "Sign-off",
        "Annex: method and numbers",
    ]
    assert "Bus study" in text_of(full[full.index("<h1") : full.index("</h1>")])
    untitled = render(documents.plain())
    assert "How identifiable are the people in checkins.csv?" in text_of(untitled)


def test_headings_never_skip_a_level(full):
    levels = [level for level, _ in marks.read(full).headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


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


def test_every_chart_has_a_text_alternative_and_its_numbers(full):
    figures = re.findall(r"(?s)<figure.*?</figure>", full)
    assert len(figures) == 9
    for figure in figures:
        drawings = re.findall(r"<svg[^>]*>", figure)
        assert len(drawings) in (2, 4)
        assert all(re.search(r'role="img" aria-label="[^"]{20,}"', drawing) for drawing in drawings)
        assert "<tbody>" in figure
        assert "<figcaption>" in figure
    assert len(re.findall(r"<svg", full)) == 2 * (9 + 1 + 2)  # score distributions have two panels; gauge and attackers


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
        (lambda d: d.update(schema="entropie.sweep/1"), "must have the schema entropie.assessment/1, got 'entropie.sweep/1' instead"),
        (lambda d: d.pop("headline"), "missing required field `headline`"),
        (lambda d: d.update(items="<b>many</b>"), "wrong at `items`: expected `int`, got `str`"),
        (lambda d: d.update(pie_bits=math.nan), "holds NaN or an infinite number"),
        (lambda d: d["attacks"][0].pop("equal_error_rate"), "wrong at `attacks[0]`: object missing required field `equal_error_rate`"),
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
    with pytest.raises(InvalidInput, match=r"must have the schema entropie\.assessment/1"):
        render(document)


@pytest.mark.usefixtures("without_pictures")
def test_traces_in_memory_have_a_page():
    """Nothing is known of their input."""
    document = documents.plain() | {"input": {}, "split": {"converge": False}}
    assert "traces in memory" in text_of(render(document))


def test_no_user_id_is_in_the_page(full):
    assert "person-0" not in full
    assert "seldom-" not in full


def test_the_document_is_not_changed():
    document = documents.hostile("<b>\x00")
    before = copy.deepcopy(document)
    render(document)
    assert document == before
