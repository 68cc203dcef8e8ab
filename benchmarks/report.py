"""How long the report of the New York check-ins takes to make and to show, and how large it is.

Run with the check-ins in ../shared/data beside the project; showing needs Chromium.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "foursquare_nyc.parquet"
WIDTHS = (1440, 390)


def document() -> dict[str, Any]:
    import entropie

    return entropie.assess(DATA, user="user", item="venue", time="time").to_json()


def shown_seconds(page: Path, width: int) -> float:
    """From asking for the page to its first painted frame after loading."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": 900})
        begun = time.perf_counter()
        tab.goto(page.as_uri())
        tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        seconds = time.perf_counter() - begun
        browser.close()
    return seconds


def main() -> None:
    from entropie.page import write_report

    if not DATA.exists():
        sys.exit("The check-ins of New York are not beside the project.")
    found = document()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write_report(found, page)
        begun = time.perf_counter()
        size = write_report(found, page)
        made = time.perf_counter() - begun
        print("| page | result | to reach |\n|---|---|---|")
        print(f"| New York, size | {size / 1e6:.2f} MB | 1.5 MB |")
        print(f"| New York, made | {made:.1f} s | |")
        if shutil.which("chromium"):
            for width in WIDTHS:
                print(f"| New York, shown in Chromium at {width} px | {shown_seconds(page, width):.2f} s | 2 s |")


if __name__ == "__main__":
    main()
