"""The pages in a real browser: live, literal, accessible, on a phone, and with nothing asked of another host."""

from __future__ import annotations

import http.server
import json
import re
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from collector_made import drinks, fixed, places
from facts_made import honest

import entropie
from entropie.collector.alerts import judge
from entropie.collector.dashboard import pages, site
from entropie.collector.document import Limits
from entropie.collector.regression import attacked
from entropie.collector.status import ItemEstimate, Status, status
from entropie.collector.store import Hour
from entropie.errors import InvalidInput, printable
from entropie.words import percent

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'\"><svg onload=alert(1)>",
    "{{ 7*7 }}{% raw %}",
    "<iframe srcdoc='<script>parent.alert(1)</script>'>",
    "</style><style>body{display:none}</style>",
    "</title><h1>taken</h1>",
    "<base href=http://127.0.0.1:9/>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "<svg><image href='http://127.0.0.1:9/x.png'/></svg>",
    "\u202egnp.exe",
    "\u2028alert(1)\u2029",
    "x" * 900,
    "&lt;b&gt;",
)


def watched(collection: Any, reports: int = 2000, **more: Any) -> Status:
    hours = tuple(Hour(490_000 + i, 40 + i % 7, i % 3, 0) for i in range(60))
    facts = honest(collection, reports, hours=hours, hour=490_060, **more)
    outcome = attacked(collection, np.random.default_rng(1), people=50, trials=2)
    return status(facts, judge(facts, attacked=outcome), outcome)


@dataclass
class Held:
    """What the pages ask for; tests change it while a page is open."""

    shown: dict[str, Status]
    extra: bytes = b""
    policy: bool = True

    def statuses(self) -> list[Status]:
        return list(self.shown.values())

    def status(self, collection: str) -> Status | None:
        return self.shown.get(collection)

    def named(self, collection: str, name: str) -> ItemEstimate | None:
        if name == "not listed":
            raise InvalidInput("The name is not among the items of the collection; send one that is listed.")
        return ItemEstimate(7, name, 0.125, 0.1, 0.15, stands_out=True)


@dataclass
class Opened:
    page: Any
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def server_of(held: Held) -> http.server.ThreadingHTTPServer:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urllib.parse.urlsplit(self.path)
            if parts.path == "/login":
                found = site.login(wrong=parts.query == "wrong")
            else:
                found = site.answer(held, parts.path, dict(urllib.parse.parse_qsl(parts.query)))
            body = found.body.replace(b"</main>", held.extra + b"</main>")
            self.send_response(found.status)
            self.send_header("Content-Type", found.media_type)
            self.send_header("Content-Length", str(len(body)))
            for name, value in site.HEADERS.items() if held.policy else ():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    ends = []

    def open_page(held: Held, path: str, width: int = 1200, **more: Any) -> Opened:
        server = server_of(held)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        context = browser.new_context(viewport={"width": width, "height": 900}, **more)
        ends.extend([context.close, server.shutdown, server.server_close, thread.join])
        shown = Opened(context.new_page())
        shown.page.clock.install()
        shown.page.on("dialog", lambda dialog: (shown.dialogs.append(dialog.message), dialog.dismiss()))
        shown.page.on("request", lambda request: shown.requests.append(request.url))
        shown.page.on("console", lambda message: shown.complaints.append(message.text))
        shown.page.on("pageerror", lambda error: shown.complaints.append(str(error)))
        shown.origin = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
        shown.stop = server.shutdown  # type: ignore[attr-defined]
        shown.page.goto(shown.origin + path)  # type: ignore[attr-defined]
        return shown

    yield open_page
    for end in ends:
        end()


@pytest.fixture(scope="module")
def hostile() -> Status:
    collection = fixed(drinks(items=len(HOSTILE)), items=list(HOSTILE), title="</title><script>alert(2)</script>")
    return watched(collection)


@pytest.fixture(scope="module")
def plain() -> Status:
    limits = Limits("0.9", "0.5", None, "1")
    return watched(drinks(people=20_000, epsilon=2.0, items=20, limits=limits), free_bytes=10**8, disk_bytes=10**12)


def wait_for(page: Any, place: str, text: str) -> None:
    from playwright.sync_api import expect  # its own polling asks for eval, which the policy forbids

    expect(page.locator(place)).to_contain_text(text)


def at(shown: Status) -> str:
    return f"/collections/{shown.asked.id}"


def test_hostile_names_are_shown_literally(opened, hostile):
    shown = opened(Held({hostile.asked.id: hostile}), at(hostile))
    shown.page.wait_for_timeout(50)
    assert shown.dialogs == []
    assert shown.complaints == []
    assert all(url.startswith(shown.origin + "/") for url in shown.requests)
    assert shown.page.evaluate("document.scripts.length") == 1
    assert shown.page.locator("img, iframe, base, style, h1:nth-of-type(2)").count() == 0
    names = shown.page.locator("#estimates tbody th").all_text_contents()
    wanted = [printable(HOSTILE[one.code]) for one in hostile.estimates.shown]
    assert names == [name if len(name) <= 80 else name[:79] + "…" for name in wanted]
    assert shown.page.locator("h1").text_content() == "</title><script>alert(2)</script>"
    assert "\u202e" not in shown.page.content()
    assert shown.page.evaluate("document.documentElement.scrollWidth") == 1200


def test_a_script_that_gets_in_would_be_noticed_and_the_policy_stops_it(opened, plain):
    extra = b"<img src=http://127.0.0.1:9/x.png onerror=alert(2)><script>alert(1)</script>"
    held = Held({plain.asked.id: plain}, extra, policy=False)
    free = opened(held, at(plain))
    free.page.wait_for_timeout(200)
    assert "1" in free.dialogs
    held.policy = True
    safe = opened(held, at(plain))
    safe.page.wait_for_timeout(200)
    assert safe.dialogs == []
    assert len(safe.complaints) >= 2


def violations(page: Any) -> list[tuple[str, str]]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    return [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")]


@pytest.mark.parametrize(
    ("path", "width"),
    [("collection", 1200), ("collection", 390), ("/", 390), ("/design", 390), ("/login?wrong", 390), ("/nothing", 390)],
)
def test_accessible_and_nothing_sticks_out(path, width, opened, plain, hostile):
    held = Held({one.asked.id: one for one in (plain, hostile)})
    shown = opened(held, at(plain) if path == "collection" else path, width=width)
    assert violations(shown.page) == []
    assert shown.page.evaluate("document.documentElement.scrollWidth") == width
    assert [text for text in shown.complaints if "40" not in text] == []


def test_the_first_thing_is_what_is_wrong(opened, plain):
    page = opened(Held({plain.asked.id: plain}), at(plain)).page
    first = page.locator(".alert").first
    assert first.bounding_box()["y"] < 300
    assert "100\N{NO-BREAK SPACE}MB of 1\N{NO-BREAK SPACE}TB are free" in first.text_content()
    assert page.locator("#came h2").text_content() == "2,000 reports of 20,000 expected"


def test_numbers_on_the_page_are_those_of_the_status(opened, plain):
    page = opened(Held({plain.asked.id: plain}), at(plain)).page
    rows = page.locator("#guarantees tbody tr")
    for place, one in enumerate(plain.guarantees):
        cells = rows.nth(place).locator("td").all_text_contents()
        assert cells == [f"{one.people:,}", percent(one.error), percent(one.certainty)]
    shares = page.locator("#estimates td[data-label='Share']").all_text_contents()
    assert shares == [percent(one.share) for one in plain.estimates.shown]
    sent = page.request.get(f"{page.url}/status.json").json()
    assert sent == json.loads(json.dumps(plain.to_json(), default=str))


def test_the_page_keeps_up_and_says_when_it_does_not(opened, plain):
    held = Held({plain.asked.id: plain})
    shown = opened(held, at(plain))
    page, title = shown.page, shown.page.locator("#came h2")
    later = watched(drinks(people=20_000, items=20, limits=Limits("0.9", "0.5", None, "1")), reports=3000)
    held.shown[plain.asked.id] = later
    page.clock.fast_forward(11_000)
    wait_for(page, "#came h2", "3,000")
    assert page.locator(".alert").count() == len(later.alerts)
    page.get_by_role("button", name="Stop updating").press("Enter")
    held.shown[plain.asked.id] = plain
    page.clock.fast_forward(30_000)
    page.wait_for_timeout(100)
    assert title.text_content().startswith("3,000")
    page.get_by_role("button", name="Update again").press("Enter")
    wait_for(page, "#came h2", "2,000")
    held.shown.clear()
    page.clock.fast_forward(11_000)
    wait_for(page, "#live", "these numbers are old")
    assert title.text_content().startswith("2,000")


def test_a_name_is_looked_up_literally(opened):
    one = watched(places(), reports=500)
    shown = opened(Held({one.asked.id: one}), at(one), width=390)
    field, found = shown.page.get_by_role("textbox", name="Name"), shown.page.locator("#found")
    field.fill("</p><script>alert(1)</script>")
    field.press("Enter")
    assert found.text_content().replace("\N{NO-BREAK SPACE}", " ") == (
        "</p><script>alert(1)</script>: 12 % (95 % interval 10 to 15 %); it stands out from noise."
    )
    assert violations(shown.page) == []
    assert shown.page.evaluate("document.documentElement.scrollWidth") == 390
    shown.page.get_by_role("textbox", name="Name").fill("not listed")
    shown.page.get_by_role("button", name="Look up").click()
    assert found.text_content().startswith("The name is not among the items")
    assert (shown.dialogs, shown.complaints) == ([], [])


def test_keyboard_reaches_everything(opened, plain):
    page = opened(Held({plain.asked.id: plain}), at(plain)).page
    reached = []
    for _ in range(6):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim()"))
    assert reached[:4] == ["Skip to the content", "Collections", "Design", "Stop updating"]
    assert "all numbers as JSON" in reached


def test_sliders_ask_the_package(opened, plain):
    shown = opened(Held({}), "/design")
    page = shown.page
    people = page.get_by_label("People")
    people.press("ArrowRight")
    assert people.get_attribute("aria-valuetext") == "200,000"
    page.clock.fast_forward(1000)
    page.wait_for_url("**people=200000**")
    goal = entropie.Goal(entropie.Crowd(200_000), 1000, bayes_error=0.9, certainty=0.5)
    made = entropie.design(goal, ("rr", "glh"))
    assert made.guarantee.mechanism.kind == "glh"
    assert f"epsilon {made.guarantee.mechanism.epsilon:.4g}" in page.locator("#result h2").text_content()
    assert percent(made.expected_loss.share_1pct_sd) in page.locator("#result .facts").text_content()
    assert page.locator("#result tbody tr.chosen").count() == 1
    page.get_by_label("People").press("Home")
    page.clock.fast_forward(1000)
    wait_for(page, "#result h2", "Only pure noise keeps these limits")
    assert shown.complaints == []


def test_the_design_page_works_without_scripts(opened):
    page = opened(Held({}), "/design", java_script_enabled=False).page
    page.get_by_label("Reports per person").select_option("3")
    page.get_by_role("button", name="Compute").click()
    assert "reports=3" in page.url
    made = entropie.calibrate(users=100_000, domain_size=1000, bayes_error=0.9, certainty=0.5, reports=3)
    assert f"epsilon {made.guarantee.mechanism.epsilon:.4g}" in page.locator("#result h2").text_content()


def test_the_design_endpoint_is_the_packages_calibration():
    query = {"people": "5000", "items": "20", "error": "0.95", "certainty": "0.3", "reports": "2"}
    found = site.answer(Held({}), "/design.json", query)
    goal = entropie.Goal(entropie.Crowd(5000, reports=2), 20, bayes_error=0.95, certainty=0.3)
    made = entropie.design(goal, ("rr", "glh"))
    assert json.loads(found.body)["calibration"] == json.loads(json.dumps(made.to_json()))
    assert found.status == 200


@pytest.mark.parametrize(
    "query",
    [
        {"people": "x"},
        {"people": "1"},
        {"people": "1e999"},
        {"people": "nan"},
        {"people": "2.5"},
        {"items": "-3"},
        {"error": "2"},
        {"certainty": "<b>"},
        {"reports": "31"},
        {"people": "9" * 400},
    ],
)
def test_a_wish_that_cannot_be_is_refused_in_a_sentence(query):
    (name,) = query
    found = site.answer(Held({}), "/design.json", query)
    assert found.status == 400
    assert f"`{name}` must be" in json.loads(found.body)["reason"]
    page = site.answer(Held({}), "/design", query)
    assert page.status == 400
    assert b"<b>" not in page.body


def test_a_wish_beside_the_stops_is_shown_as_it_is():
    html = site.answer(Held({}), "/design", {"people": "12345"}).body.decode()
    assert '<option value="12345" selected>12,345</option>' in html


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ({"certainty": "0.01"}, "raise the certainty allowed, or"),
        ({"error": "0.999"}, "lower the wanted error rate, or"),
    ],
)
def test_a_limit_that_cannot_be_met_is_said_in_the_words_of_the_page(limit, said):
    found = json.loads(site.answer(Held({}), "/design.json", {"people": "10", **limit}).body)
    assert found["calibration"] is None
    assert said in found["reason"]
    assert "`" not in found["reason"]
    assert "No setting keeps these limits" in found["html"]


def test_more_reports_than_people_may_send_are_no_larger_crowd():
    one = watched(drinks(people=500, limits=Limits("0.9", "0.5", None, "1")), 1300)
    assert one.came.people == 500
    assert one.guarantees[2].certainty == one.guarantees[1].certainty
    html = pages.collection(one)
    assert "They are 800 more than 500 declared people may send" in html
    assert "Critical" in html


def test_what_no_number_can_say_is_said_in_words():
    html = pages.collection(watched(drinks(limits=Limits("0.9", "0.5", None, "1")), 3, closed=True))
    assert "No item stands out from noise" in html
    assert "With so few reports no share would" in html
    assert "Delete the counts" in html


def test_a_phone_shows_two_lines_for_an_item(opened, plain):
    page = opened(Held({plain.asked.id: plain}), at(plain), width=390).page
    rows = page.locator("#estimates tbody tr")
    assert max(row.bounding_box()["height"] for row in rows.all()) < 90
    assert page.locator("#estimates td.chart").first.is_hidden()
    assert page.locator("#estimates td[data-label='Stands out']").first.is_visible()


@pytest.mark.parametrize("path", ["/collections/" + "0" * 64, "/static/../site.py", "/static/", "/x", "/collections/"])
def test_what_is_not_here(path, plain):
    assert site.answer(Held({plain.asked.id: plain}), path, {}).status == 404


def test_hours_without_reports_leave_a_gap():
    from entropie.collector.dashboard.drawn import volume
    from entropie.collector.status import Volume

    hours = [Volume(f"2026-11-{day}T{hour:02}Z", 10, 0, 0) for day, hour in ((17, 22), (17, 23), (18, 1), (18, 20))]
    places = [float(text) for text in re.findall(r'<rect x="([\d.]+)"', str(volume(hours)))]
    np.testing.assert_allclose(np.diff(places), [28, 56, 532])  # 672 wide, 24 hours: 28 an hour
    assert places[-1] == 672 - 28


def test_a_collection_before_its_first_report_and_one_of_codes():
    for one in (status(honest(drinks(), 0)), status(honest(places(), 300)), status(honest(drinks(), 5, closed=True))):
        html = pages.collection(one)
        assert "None" not in html
        assert "undefined" not in html
    assert "code " in pages.collection(status(honest(places(), 300)))
