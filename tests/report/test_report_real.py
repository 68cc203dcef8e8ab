"""Documents that the program itself writes: every number of their pages is theirs, and every part is there."""

from __future__ import annotations

import json
import random

import pytest
import report_marks as marks

from entropie.cli.main import run
from entropie.report import render

MONTH_SECONDS = 30 * 86_400


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """40 people with habits of their own, over four months; everything that `assess` can be asked for."""
    folder = tmp_path_factory.mktemp("real")
    chance = random.Random(7)
    rows = ["user,item,time"]
    for user in range(40):
        favourites = [f"place {chance.randrange(60)}" for _ in range(4)]
        for event in range(48):
            item = chance.choice(favourites) if chance.random() < 0.6 else f"place {chance.randrange(12)}"
            rows.append(f"u{user},{item},{1_700_000_000 + event * MONTH_SECONDS // 12 + user}")
    (folder / "events.csv").write_text("\n".join(rows) + "\n")
    asked = [
        "--profile",
        "ema",
        "--protect",
        "0.5",
        "--window",
        "30d",
        "--attempt-probability",
        "0.5",
        "--context",
        "a test",
    ]
    run(["assess", str(folder / "events.csv"), "--out", str(folder / "out"), "--seed", "3", *asked])
    return json.loads((folder / "out" / "assessment.json").read_text())


def test_every_marked_number_is_the_documents(document):
    page = marks.read(render(document))
    assert len(page.marks) > 300
    for path, form, shown in page.marks:
        assert shown == marks.OWN_FORMATS[form](marks.at(document, path)), (path, form)


def test_every_picture_is_there(document):
    page = render(document)
    for name in ("known", "exposure", "ranks", "laws", "det", "bits", "guarantee", "frontier", "windows"):
        assert f'<figure id="{name}"' in page
    assert "Not in this document" not in page


def test_no_user_id_is_in_the_page(document):
    page = render(document)
    for user in range(10, 40):
        assert f'"u{user}"' not in page
        assert f">u{user}<" not in page


def test_a_window_with_too_few_people_does_not_break_the_page(tmp_path):
    """40 people in the first month, five of them in the second."""
    chance = random.Random(5)
    rows = ["user,item,time"]
    for user in range(40):
        rows += [
            f"u{user},place {(user * 3 + chance.randrange(6)) % 50},{1_700_006_400 + event * 100_000 + user}"
            for event in range(48 if user < 5 else 24)
        ]
    (tmp_path / "events.csv").write_text("\n".join(rows) + "\n")
    asked = ["--window", "30d", "--no-null", "--threads", "1"]
    assert run(["assess", str(tmp_path / "events.csv"), "--out", str(tmp_path / "out"), *asked]) == 0
    document = json.loads((tmp_path / "out" / "assessment.json").read_text())
    assert [window["pse_bits"] is None for window in document["windows"]] == [False, True]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "5 people have 10 events or more in this window, 30 are needed." in page
