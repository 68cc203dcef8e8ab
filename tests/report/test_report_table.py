"""The report of a table with one row per person: every number the document's, the frame of all reports, nothing breaks."""

from __future__ import annotations

import functools
import itertools
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import report_documents as documents
import report_marks as marks

import entropie
from entropie import drawing
from entropie.page import is_about, render

ABOUT = {"title": "Survey", "organisation": "Bureau", "author": "Ann", "purpose": "study", "recipient": "lab"}


@functools.cache
def made(kind: str) -> dict[str, Any]:
    """People with skewed columns, in the ways a page differs."""
    rng = np.random.default_rng(7)
    people = 19 if kind == "few" else 400
    columns: dict[str, Any] = {
        "id": [f"p{i}" for i in range(people)],
        "age": rng.integers(18, 90, people),
        "sex": rng.choice(["f", "m"], people),
        "town": rng.choice([f"t{i}" for i in range(9)], people, p=np.arange(1, 10) / 45),
        "ill": rng.choice(["yes", "no"], people),
    }
    asked: dict[str, Any] = {"columns": ["age", "sex", "town"], "id_column": "id"}
    match kind:
        case "limited":
            asked |= {"columns": ["sex"], "profile": "ema", "population": 10_000, "attacker": "a neighbour", **ABOUT}
        case "FAIL":
            asked |= {"profile": "ema", "attempt_probability": 0.5, **ABOUT}
        case "average":
            asked |= {"limit": 0.99, "limit_name": "board", "fail_on": "average"}
        case "identifier":
            asked |= {"columns": ["age", "id"], "id_column": None, "profile": "arx-success"}
        case "few":
            asked |= {"profile": "ema"}
        case "one column":
            asked |= {"columns": ["age"]}
        case "measured":
            asked |= {"sensitive": ["ill", "town"], "columns": ["age", "sex"], "link": [(("age",), ("sex",))]}
            asked |= {"population": pa.table({**columns, "id": columns["id"]}), "profile": "ema"}
        case "many":
            columns |= {f"c{i}": rng.integers(0, 3, people) for i in range(30)}
            asked |= {"columns": [name for name in columns if name not in ("id", "ill")], "profile": "ema"}
    return entropie.attributes(pa.table(columns), **asked).document


KINDS = ["none", "limited", "FAIL", "average", "identifier", "few", "one column", "measured", "many"]
CONSTANTS = {"95", "05/2014", "29", "SHA-256"}


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest) -> tuple[dict[str, Any], marks.Reader, str]:
    document = made(request.param)
    page = render(document)
    return document, marks.read(page), page


def test_every_marked_number_is_the_documents(case: Any) -> None:
    document, page, _ = case
    assert len(page.marks) > 60
    for path, form, shown in page.marks:
        assert shown == marks.OWN_FORMATS[form](marks.at(document, path)), (path, form)


def test_no_number_is_unmarked(case: Any) -> None:
    words = set()
    for text in case[1].loose:
        words.update(re.findall(r"[\w./-]*\d[\w./-]*", text.replace("\N{NO-BREAK SPACE}", " ")))
    assert {word.strip(".-") for word in words} - CONSTANTS == set()


def test_the_numbers_that_matter_are_shown(case: Any) -> None:
    document, page, _ = case
    shown = {path for path, _, _ in page.marks}
    wanted = {"together.success", "together.unique_share", "guessing_success", "people", "provenance.version", "knows"}
    wanted |= {f"columns.{i}.alone.success" for i in range(len(document["columns"]))}
    wanted |= {f"exposed.{i}.reidentified.value" for i in range(len(document["exposed"]) - 1)}
    some = [row["points"] < len(document["columns"]) for row in document["attackers"]]
    wanted |= {f"attackers.{i}.reidentified.value" for i, shown in enumerate(some) if shown}
    wanted |= {f"remedies.{i}.success" for i, row in enumerate(document["remedies"]) if row["success_drop"] > 0}
    wanted |= {f"sentences.{i}" for i in range(1, len(document["sentences"]))}
    if document["verdict"]:
        wanted |= {"verdict.decision", "verdict.limit", "verdict.judged_risk.value", "verdict.whom", "review.date"}
        wanted |= {f"verdict.rests_on.{i}" for i in range(len(document["verdict"]["rests_on"]))}
    wanted |= {f"record_risk.{i}.average" for i in range(len(document["record_risk"]))} | {"anonymity.meaning"}
    for i in range(len(document["sensitive"])):
        wanted |= {f"sensitive.{i}.meaning", f"sensitive.{i}.t", f"sensitive.{i}.inference.in_table.value"}
    wanted |= {f"links.{i}.meaning" for i in range(len(document["links"]))}
    wanted |= {f"{name}.meaning" for name in ("population", "estimate") if document[name]}
    wanted |= {f"about.{name}" for name, value in document["about"].items() if value}
    assert wanted <= shown


def test_the_page_is_built_like_the_other_report(case: Any) -> None:
    document, page, text = case
    assert marks.inlined(page) == document
    names = [name for level, name in page.headings if level == 2]
    assert names[-7:] == [
        "How many people, and how sure",
        "Who could do it",
        "What drives it",
        "What would lower it, and what that costs",
        "What is not covered",
        "Sign-off",
        "Annex: method and numbers",
    ]
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1 == levels.count(1)
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert [found for tag, found in page.tags if tag == "script"] == [{"type": "application/json", "id": "assessment"}]
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in text
    ids = [found["id"] for _, found in page.tags if "id" in found]
    assert len(ids) == len(set(ids))
    for _, found in page.tags:
        assert not [name for name in found if name.startswith("on") or name in ("src", "srcdoc")]
        for name in ("href", "aria-labelledby"):
            if name in found:
                assert re.sub("^#", "", str(found[name])) in ids, found
    for table in re.findall(r"(?s)<table.*?</table>", text):
        assert "<caption>" in table
        assert all("scope=" in header for header in re.findall(r"<th\b[^>]*>", table))


def test_a_page_knows_its_document(tmp_path: Any) -> None:
    (tmp_path / "report.html").write_text(render(made("FAIL")))
    assert is_about(tmp_path / "report.html", made("FAIL"))
    assert not is_about(tmp_path / "report.html", made("limited"))


def test_without_charts_the_page_has_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "available", lambda: False)
    page = render(made("FAIL"))
    assert "<svg" not in page
    assert "they need the extra" in page


@pytest.mark.parametrize("width", [320, 390, 1440])
@pytest.mark.parametrize("kind", ["FAIL", "many"])
def test_nothing_sticks_out(kind: str, width: int, opened: Any) -> None:
    shown = opened(render(made(kind)), width=width)
    shown.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert shown.page.evaluate("document.documentElement.scrollWidth") == width
    assert shown.complaints == []


def test_it_is_accessible(opened: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    shown = opened(render(made("FAIL")), width=390)
    shown.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = axe.Axe().run(shown.page).response["violations"]
    assert [v["id"] for v in found if v["impact"] in ("serious", "critical")] == []


@pytest.mark.parametrize("place", range(1, len(documents.PAYLOADS), 2))
def test_names_of_other_peoples_making_do_nothing(place: int, opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    payload = documents.PAYLOADS[place]
    of = pa.table({"other": ["x"] * 40, payload.replace("\ud800", "?"): [str(i % 3) for i in range(40)]})
    name = of.column_names[1]
    document = entropie.attributes(of, columns=[name], one_id_per_person=True, profile="ema").document
    shown = opened(render(document))
    shown.page.wait_for_timeout(50)
    assert shown.dialogs == []
    assert shown.complaints == []
    assert len(shown.requests) == 1
    assert shown.page.evaluate("document.scripts.length") == 1
    assert shown.page.evaluate("document.querySelectorAll('img, iframe, link, base, form').length") == 0
    assert shown.page.evaluate("document.querySelectorAll('h1').length") == 1
