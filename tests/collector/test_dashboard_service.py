"""The dashboard of a real service: who signs in sees reports arrive, who does not sees nothing."""

from __future__ import annotations

import urllib.parse

import numpy as np
import pytest
from collector_made import drinks
from collector_running import asked, body_of, running, written

from entropie.collector.dashboard.site import HEADERS

DRINKS = drinks()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dashboard")
    with running(folder / "store", "--collection", written(DRINKS, folder)) as made:
        yield made


def get(service, path: str, **headers: str):
    return asked(service.admin_port, "GET", path, None, headers)


PAGES = ["/", "/design", "/design.json", f"/collections/{DRINKS.id}", f"/collections/{DRINKS.id}/status.json"]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("cookie", [None, "entropie=wrong", "entropie=", "other=1"])
def test_without_the_token_there_is_only_the_way_in(service, path, cookie):
    status, body, headers = get(service, path, **({} if cookie is None else {"Cookie": cookie}))
    assert (status, headers["location"], body) == (303, "/login", b"")


def test_every_answer_carries_the_policy(service):
    cookie = {"Cookie": f"entropie={service.token}"}
    for path in (*PAGES, "/login", "/static/refresh.js", "/static/dashboard.css", "/collections/nothing"):
        _, _, headers = get(service, path, **cookie)
        for name, value in HEADERS.items():
            assert headers[name.lower()] == value, (path, name)


def test_the_cookie_changes_nothing(service):
    """A page elsewhere can make a browser send the cookie, never the header."""
    cookie = {"Cookie": f"entropie={service.token}"}
    status, _, _ = asked(service.admin_port, "POST", f"/v1/collections/{DRINKS.id}/close", b"", cookie)
    assert status == 401
    assert get(service, f"/v1/collections/{DRINKS.id}/status", **cookie)[0] == 401


@pytest.mark.parametrize("form", [b"", b"token=", b"token=wrong", b"x" * 100_000, b"\xff\xfe=%ff", b"token=%00"])
def test_a_wrong_token_is_refused(service, form):
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    status, body, headers = asked(service.admin_port, "POST", "/login", form, kind)
    assert status == 401
    assert b"not the one of this service" in body
    assert "set-cookie" not in headers


def test_a_cookie_that_no_script_and_no_other_site_gets(service):
    form = urllib.parse.urlencode({"token": service.token}).encode()
    status, _, headers = asked(service.admin_port, "POST", "/login", form, {})
    assert (status, headers["location"]) == (303, "/")
    assert {"HttpOnly", "SameSite=strict"} <= {part.strip() for part in headers["set-cookie"].split(";")}


def test_alerts_are_forgotten_when_somebody_has_seen_them(service):
    path = f"/v1/collections/{DRINKS.id}/alerts/seen"
    assert service.admin("POST", path) == (200, {"id": DRINKS.id, "seen": True})
    assert asked(service.admin_port, "POST", path, b"", {})[0] == 401


def test_reports_are_seen_as_they_arrive(service, browser):
    from playwright.sync_api import expect

    context = browser.new_context()
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.clock.install()
    page.goto(f"http://127.0.0.1:{service.admin_port}/")
    page.get_by_label("Admin token").fill(service.token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Drinks").click()
    expect(page.locator("#came h2")).to_have_text("0 reports of 10,000 expected")
    assert service.send(DRINKS, body_of([2] * 30, np.random.default_rng(1)))[0] == 200
    page.clock.fast_forward(11_000)
    expect(page.locator("#came h2")).to_have_text("30 reports of 10,000 expected")
    expect(page.locator("#estimates tbody th").first).to_have_text("drink 2")
    page.get_by_role("link", name="Design").click()
    expect(page.locator("#result h2")).to_contain_text("epsilon")
    assert complaints == []
    context.close()
