"""The report of a sweep: the answer first, every number where it came from, no script, nothing that a name can break."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from report_marks import at, percent, read

from entropie.page import render_sweep
from entropie.page.sweep import frontier

ENDS = {"value": 0.5, "low": 0.4, "high": 0.6}


def row(name: str, cost: float, risk: float, decision: str, **more: Any) -> dict[str, Any]:
    return {
        "steps": [{"mitigation": "top", "setting": 3}], "name": name, "action": f"do {name}; then {name}", "cost": cost,
        "decision": decision, "meets": decision == "PASS", "at_least": False, "attacker": "points",
        "risk": {"value": risk, "low": max(0.0, risk - 0.1), "high": min(1.0, risk + 0.1)}, "knows": "4 events",
        "whom": "people", "reidentified": ENDS, "items": 3, "events": 9, "people": 4, "pseudonyms": 4, "doubts": [],
        "note": None, **more,
    }  # fmt: skip


def document(**more: Any) -> dict[str, Any]:
    rows = [row("a", 0.2, 0.8, "FAIL", at_least=True), row("b", 0.4, 0.9, "INCONCLUSIVE"), row("c", 0.6, 0.05, "PASS")]
    return {
        "schema": "entropie.sweep/2", "input": {"users": 100, "events": 999}, "scale": "items", "outcome": "met",
        "profile": {"name": "own", "title": "ours", "limit": 0.2}, "measure": "worst", "combinations": 12, "implied": 3,
        "left": 2, "as_it_is": row("as is", 0.0, 1.0, "FAIL", steps=[]), "rows": rows, "chosen": 2, "frontier": [0, 2],
        "sentences": ["The answer.", "What it rests on."], "plan": None,
        "provenance": {"date": "2026-11-18T08:00:00+00:00", "seed": 3, "version": "1.0"}, **more,
    }  # fmt: skip


class Seen(HTMLParser):
    """Tags, and the text outside of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.text += data


def test_the_answer_stands_first_and_numbers_come_from_the_document() -> None:
    page = render_sweep(document())
    text = re.sub(r"\s+", " ", Seen(page).text.replace("\N{NO-BREAK SPACE}", " "))
    assert "Limit of 20 %: ours" in text
    assert text.index("The limit can be met") < text.index("5 % of people are still re-identified")
    assert "at a cost of 60 % (error of the item counts)" in text
    assert "Do c. Then c." in text
    assert "What it rests on." in text
    assert "3 of 12 combinations were attacked; 3 go no further" in text
    assert "from 80 %" in text
    assert json.loads(page.partition('id="sweep">')[2].partition("</script>")[0]) == document()
    marks = read(page).marks
    assert len(marks) > 40
    for path, form, text in marks:
        if form == "percent":
            assert text == percent(at(document(), path)), path


@pytest.mark.parametrize(("outcome", "word"), [("not met", "The limit is not met"), ("open", "Left open")])
def test_without_a_choice_nothing_is_advised(outcome: str, word: str) -> None:
    page = render_sweep(document(outcome=outcome, chosen=None))
    assert word in page
    assert "Do this" not in page
    assert "The answer." in page


def test_no_script_no_link_and_no_name_breaks_out() -> None:
    nasty = "</script><script>alert(1)</script><img src=x onerror=y>"
    rows = [row(nasty, 0.1, 0.1, "PASS")]
    page = render_sweep(document(rows=rows, chosen=0, frontier=[0], sentences=[nasty, nasty]))
    tags = Seen(page).tags
    assert [one.get("type") for tag, one in tags if tag == "script"] == ["application/json"]
    assert not any(tag == "img" for tag, _ in tags)
    assert not any(name.startswith("on") for _, one in tags for name in one)
    assert not any(str(one.get("href", "#")).startswith("http") for _, one in tags)


def test_the_chart_holds_every_combination_the_limit_and_the_choice() -> None:
    (spec,) = frontier(document(), 700)
    marks = [layer["mark"]["type"] for layer in spec["layer"]]
    assert marks == ["rule", "line", "rule", "point", "text", "text", "point"]
    points = spec["layer"][3]["data"]["values"]
    assert [(point["cost"], point["value"]) for point in points] == [(0.0, 1.0), (0.2, 0.8), (0.4, 0.9), (0.6, 0.05)]
    assert [point["cost"] for point in spec["layer"][1]["data"]["values"]] == [0.0, 0.2, 0.6]
    assert spec["layer"][0]["data"]["values"][0]["value"] == 0.2
    assert spec["layer"][-1]["data"]["values"][0]["cost"] == 0.6
    assert len(frontier(document(chosen=None), 300)[0]["layer"]) == 6


def test_a_sweep_that_tried_nothing_has_a_page() -> None:
    assert "Left open" in render_sweep(document(outcome="open", rows=[], chosen=None, frontier=[]))
