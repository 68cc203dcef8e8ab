"""The page in a real browser: nothing runs, nothing is fetched, it is accessible, fits a phone and prints."""

from __future__ import annotations

import contextlib
import re
import zlib

import pytest
import report_documents as documents

from entropie.page import render

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def full():
    return render(documents.full())


@pytest.mark.parametrize("place", range(0, len(documents.PAYLOADS), 2), ids=lambda i: repr(documents.PAYLOADS[i][:24]))
def test_names_of_other_peoples_making_do_nothing(place, opened):
    """Item names, columns, reasons, commands, declarations, profiles, waivers: all are shown as they are."""
    payload = documents.PAYLOADS[place]
    shown = opened(render(documents.hostile(payload)))
    shown.page.wait_for_timeout(50)
    assert shown.dialogs == []
    assert shown.complaints == []
    assert len(shown.requests) == 1
    assert shown.page.evaluate("document.scripts.length") == 1
    assert shown.page.evaluate("JSON.parse(document.getElementById('assessment').textContent).schema")
    assert shown.page.evaluate("document.querySelectorAll('img, iframe, link, base, image, form, style').length") == 1
    assert shown.page.evaluate("document.querySelectorAll('h1').length") == 1
    printable = re.sub("[\x00\ud800]", "\N{REPLACEMENT CHARACTER}", payload)
    cell = shown.page.locator("[data-path='identifying_items.shown.0.item']").text_content()
    assert cell == (printable if len(printable) <= 80 else printable[:79] + "…")
    declared = shown.page.locator("[data-path='declared.attacker']").text_content()
    assert declared == printable
    assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_script_would_be_noticed(opened, full):
    """The same watch sees an alert, a request and an error in a page without the policy."""
    unsafe = full.replace("Content-Security-Policy", "X-None").replace(
        "</main>", "<img src=http://127.0.0.1:9/x.png><script>alert(1)</script></main>"
    )
    shown = opened(unsafe)
    shown.page.wait_for_timeout(200)
    assert shown.dialogs == ["1"]
    assert len(shown.requests) == 2


def test_the_policy_stops_what_escaping_would_miss(opened, full):
    """Even markup that got into the page cannot run a script or fetch anything."""
    shown = opened(
        full.replace("</main>", "<img src=http://127.0.0.1:9/x.png onerror=alert(2)><script>alert(1)</script></main>")
    )
    shown.page.wait_for_timeout(200)
    assert shown.dialogs == []
    assert len(shown.complaints) >= 2


def violations(page, context=None):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page, context=context).response["violations"]
    return [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")]


@pytest.mark.parametrize(("kind", "width"), [("full", 1440), ("full", 390), ("plain", 390)])
def test_accessible(kind, width, opened):
    shown = opened(render(getattr(documents, kind)()), width=width)
    shown.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert violations(shown.page) == []


@pytest.mark.parametrize("decision", ["PASS", "INCONCLUSIVE"])
def test_every_verdict_can_be_read(decision, opened):
    assert violations(opened(render(documents.full(decision))).page, ".verdict") == []


def test_axe_sees_a_violation(opened, full):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    shown = opened(full.replace('<html lang="en">', "<html>").replace("--soft: #4a525b", "--soft: #b0b5ba"))
    found = {v["id"] for v in axe.Axe().run(shown.page).response["violations"]}
    assert {"html-has-lang", "color-contrast"} <= found


@pytest.mark.parametrize("width", [320, 390, 768, 1024, 1440])
def test_nothing_sticks_out(width, opened, full):
    shown = opened(full, width=width)
    shown.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert shown.page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize(("width", "seen"), [(390, "narrow"), (1440, "wide")])
def test_one_drawing_of_each_picture_is_seen(width, seen, opened, full):
    page = opened(full, width=width).page
    other = {"narrow": "wide", "wide": "narrow"}[seen]
    assert page.locator(f".picture .{seen}:visible").count() == 6  # those of the annex are folded away
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.locator(f".picture .{seen}:visible").count() == 11
    assert page.locator(f".picture .{other}:visible").count() == 0
    smallest = page.evaluate(
        """() => Math.min(...[...document.querySelectorAll('.picture text')].filter(t => t.getClientRects().length)
           .map(t => parseFloat(getComputedStyle(t).fontSize) * Math.hypot(t.getScreenCTM().c, t.getScreenCTM().d)))"""
    )
    assert smallest >= 11.5


def test_charts_are_as_wide_as_their_column(opened, full):
    for width in (390, 1440):
        page = opened(full, width=width).page
        column = page.locator("main h2:visible").first.bounding_box()["width"]
        for chart in page.locator(".picture svg:visible").all():
            assert chart.bounding_box()["width"] == pytest.approx(column, abs=2)


def test_the_first_screen_tells_the_risk_how_sure_and_what_to_do(opened):
    page = opened(render(documents.full(profile="ema"))).page
    assert page.locator(".verdict").bounding_box()["y"] < 150
    place = page.locator(".next li").first.bounding_box()
    assert place["y"] + place["height"] <= 900


@pytest.mark.parametrize("label", ["Not covered", "Re-identified", "By known events", "Error of top 20"])
def test_the_columns_that_matter_are_on_a_phones_screen(label, opened, full):
    cells = opened(full, width=390).page.locator(f"td[data-label='{label}']:visible")
    assert cells.count() >= 3
    for cell in cells.all():
        place = cell.bounding_box()
        assert place["x"] >= 0
        assert place["x"] + place["width"] <= 390
        assert place["height"] < 200


def test_a_warning_can_be_read(opened):
    document = documents.full("PASS")
    document["input"]["obfuscated"] = True
    shown = opened(render(document))
    assert shown.page.locator(".warning").bounding_box()["y"] < 700
    assert violations(shown.page, ".warning") == []


def test_print(opened, full):
    shown = opened(full)
    shown.page.emulate_media(media="print")
    assert shown.page.locator(".picture .wide:visible").count() == 6
    assert shown.page.locator("nav:visible").count() == 0
    assert shown.page.locator("details:visible").count() == 0  # folded away
    made = shown.page.pdf(prefer_css_page_size=True)
    assert made.startswith(b"%PDF")
    assert 3 <= pages(made) <= 8
    sizes = set(re.findall(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)", made))
    assert {(round(float(w)), round(float(h))) for w, h in sizes} == {(595, 842)}


def pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def texts(pdf: bytes) -> list[int]:
    """How many pieces of text each page holds."""
    counts = []
    for stream in re.findall(rb"(?s)stream\r?\n(.*?)\r?\nendstream", pdf):
        with contextlib.suppress(zlib.error):
            counts.append(len(re.findall(rb"\bBT\b", zlib.decompress(stream))))
    return [count for count in counts if count]


def test_every_printed_page_has_its_number(opened, full):
    numbered = texts(opened(full).page.pdf(prefer_css_page_size=True))
    without = texts(opened(full.replace("@bottom-right {", "@none {")).page.pdf(prefer_css_page_size=True))
    assert len(numbered) == len(without) >= 3
    assert all(more > fewer for more, fewer in zip(numbered, without, strict=True))


def test_what_is_opened_is_printed(opened, full):
    shown = opened(full)
    shown.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert pages(shown.page.pdf(prefer_css_page_size=True)) > 8


def test_size(full):
    assert len(full.encode()) < 1.5 * MEGABYTE
