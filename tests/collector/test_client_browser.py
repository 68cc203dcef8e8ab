"""The JavaScript client in Chromium: the committed vectors, and an answer that a real service counts."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from collector_made import drinks
from collector_running import running, written

CLIENTS = Path(__file__).resolve().parents[2] / "clients"
DRINKS = drinks()


class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map: ClassVar = {".js": "text/javascript", ".json": "application/json", "": "text/html"}

    def do_GET(self) -> None:
        if self.path == "/":
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>device</title>")
            return
        super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(CLIENTS))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        context = browser.new_context()
        made = context.new_page()
        made.goto(f"http://127.0.0.1:{server.server_port}/")
        yield made
        context.close()
        server.shutdown()
        thread.join()


def test_vectors(page):
    found = page.evaluate(
        """async () => {
            const { checkVectors } = await import("/js/test/check_vectors.js");
            return checkVectors(await (await fetch("/vectors.json")).json());
        }"""
    )
    assert found["failures"] == []
    assert found["checks"] > 100


def test_a_browser_answers_once_and_is_counted_once(page, tmp_path):
    """Two tabs of a site, one ledger: the second sends what the first drew; nothing but 24 bytes leaves."""
    with running(tmp_path / "store", "--collection", written(DRINKS, tmp_path)) as service:
        sent: list[Any] = []
        page.context.on("request", lambda request: sent.append(request))
        other = page.context.new_page()
        other.goto(page.url)
        answer = """async (url) => {
            const { Client } = await import("/js/src/index.js");
            const client = await Client.open(url, { policy: { minError: 0, maxCertainty: 1 } });
            const words = await client.preview();
            return { words, sent: await client.report("drink 1") };
        }"""
        found = [tab.evaluate(answer, service.url(DRINKS)) for tab in (page, other)]
        assert [one["sent"]["repeated"] for one in found] == [False, True]
        assert "24 bytes" in found[0]["words"]
        posts = [request for request in sent if request.method == "POST"]
        assert [len(request.post_data_buffer) for request in posts] == [24]
        headers = posts[0].all_headers()
        assert not {"cookie", "referer", "authorization"} & set(headers)
        status, counted = service.admin("GET", f"/v1/collections/{DRINKS.id}/status")
        assert (status, counted["came"]["reports"]) == (200, 1)


def test_tabs_at_once_draw_one_answer(page, tmp_path):
    """Eight answers at the same time from four tabs: one is drawn, under the lock that the tabs share."""
    with running(tmp_path / "store", "--collection", written(DRINKS, tmp_path)) as service:
        tabs = [page, *(page.context.new_page() for _ in range(3))]
        for tab in tabs[1:]:
            tab.goto(page.url)
        begin = """async (url) => {
            const { Client } = await import("/js/src/index.js");
            const client = await Client.open(url, { policy: { minError: 0, maxCertainty: 1 } });
            window.answers = () => Promise.all(["drink 1", "drink 2"].map((one) => client.report(one)));
        }"""
        for tab in tabs:
            tab.evaluate(begin, service.url(DRINKS))
        for tab in tabs:
            tab.evaluate("() => { window.made = window.answers(); }")
        found = [one["repeated"] for tab in tabs for one in tab.evaluate("() => window.made")]
        assert sorted(found) == [False] + [True] * 7
        status, counted = service.admin("GET", f"/v1/collections/{DRINKS.id}/status")
        assert (status, counted["came"]["reports"]) == (200, 1)


@pytest.mark.parametrize(
    "without",
    [
        "Object.defineProperty(globalThis, 'indexedDB', { value: undefined })",
        "Object.defineProperty(navigator, 'locks', { value: undefined })",
        "IDBFactory.prototype.open = () => { throw new DOMException('denied', 'SecurityError'); }",
        "IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); }",
    ],
)
def test_a_browser_that_keeps_nothing_draws_and_sends_nothing(page, tmp_path, without):
    with running(tmp_path / "store", "--collection", written(DRINKS, tmp_path)) as service:
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.method))
        said = page.evaluate(
            f"""async (url) => {{
                {without};
                let drawn = 0;
                const values = crypto.getRandomValues.bind(crypto);
                crypto.getRandomValues = (into) => (drawn++, values(into));
                const {{ Client, NotPersistent }} = await import("/js/src/index.js");
                const client = await Client.open(url, {{ policy: {{ minError: 0, maxCertainty: 1 }} }});
                try {{
                    await client.report("drink 1");
                }} catch (problem) {{
                    return {{ kept: !(problem instanceof NotPersistent), drawn }};
                }}
                return {{ kept: true, drawn }};
            }}""",
            service.url(DRINKS),
        )
        assert said["kept"] is False
        assert said["drawn"] == 0 or "put" in without  # a full disk shows when the answer is written
        assert "POST" not in sent
