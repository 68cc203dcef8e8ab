from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Opened:
    """A page in the browser and all it did that it should not have done."""

    page: Any
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Open a page from file, listening before it loads."""
    contexts = []

    def open_page(html: str, width: int = 1440, height: int = 900) -> Opened:
        file = tmp_path / "report.html"
        file.write_bytes(html.encode())
        context = browser.new_context(viewport={"width": width, "height": height})
        contexts.append(context)
        shown = Opened(context.new_page())

        def dismiss(dialog: Any) -> None:
            shown.dialogs.append(dialog.message)
            dialog.dismiss()

        shown.page.on("dialog", dismiss)
        shown.page.on("request", lambda request: shown.requests.append(request.url))
        shown.page.on("console", lambda message: shown.complaints.append(message.text))
        shown.page.on("pageerror", lambda error: shown.complaints.append(str(error)))
        shown.page.goto(file.as_uri())
        return shown

    yield open_page
    for context in contexts:
        context.close()
