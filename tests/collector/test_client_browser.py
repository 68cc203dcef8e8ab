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
