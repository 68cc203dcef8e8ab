"""The whole job in Python: what the command does, in three lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from assessment_tables import people_with_habits

import entropie
from entropie.cli.main import run

QUICK = {"replicates": 2, "control": False, "matchers": ("visit", "bayes"), "known_events": ()}


@pytest.fixture(scope="module")
def habits():
    return people_with_habits(3, 60)


def test_a_verdict_and_files_in_three_lines(habits, tmp_path):
    a = entropie.assess(habits, profile="EMA", **QUICK)
    assert a.verdict["decision"] == "FAIL"
    assert a.exit_code == 1
    files = a.write(tmp_path / "new" / "out")
    assert [file.name for file in files] == ["assessment.json", "report.html"]
    assert json.loads(files[0].read_text(encoding="utf-8")) == json.loads(json.dumps(a.to_json()))
    assert a.verdict["headline"] in a.document["verdict"]["headline"]
    assert a.write(tmp_path, report=False) == (tmp_path / "assessment.json",)


def test_the_command_and_python_give_the_same_document(habits, tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    monkeypatch.chdir(tmp_path)
    pq.write_table(habits, "events.parquet")
    options = ["--limit", "20%", "--limit-name", "ours", "--fail-on", "average", "--title", "A release"]
    assert run(
        ["assess", "events.parquet", *options, "--matcher", "visit", "--no-control", "--quiet", "--no-report"]
    ) in (0, 1, 3)
    written = json.loads(Path("entropie-out/assessment.json").read_text(encoding="utf-8"))
    there = entropie.assess(
        "events.parquet",
        limit=0.2,
        limit_name="ours",
        fail_on="average",
        title="A release",
        matchers=["visit"],
        control=False,
    ).to_json()
    for document in (written, there):
        del document["provenance"]
        for attack in (*document["attacks"], *document["attackers"]):
            del attack["seconds"]
    assert json.loads(json.dumps(there)) == written
    assert written["about"]["title"] == "A release"


def test_a_result_says_of_itself_a_few_lines(habits):
    shown = repr(entropie.assess(habits, profile="ema", **QUICK))
    assert len(shown.splitlines()) <= 6
    assert len(shown) < 600
    assert shown.startswith("FAIL")
    assert "60 people" in shown
    assert "<table>" in entropie.assess(habits, **QUICK)._repr_html_()


def test_nothing_is_judged_without_a_limit(habits):
    a = entropie.assess(habits, **QUICK)
    assert (a.verdict, a.exit_code) == (None, 0)


def test_what_can_be_refused_is_refused_before_the_events_are_read():
    for options in ({"profile": "none"}, {"limit": 0.1}, {"window": "moon"}, {"protect": 2.0}, {"matchers": ["guess"]}, {"waiver": "none.toml", "profile": "ema"}):  # fmt: skip
        with pytest.raises(entropie.EntropieError) as raised:
            entropie.assess("no such file.csv", **options)
        assert "no such file" not in str(raised.value)


def test_protection_is_part_of_the_result(habits):
    a = entropie.assess(habits, protect=0.5, **QUICK)
    assert [row["name"] for row in a.document["protection"]][:2] == ["as it is", "pseudonyms alone"]
    with pytest.raises(entropie.EntropieError):
        entropie.assess(habits, protect=0.9999999, **QUICK)


def test_compare_and_report_take_an_assessment_in_any_form(habits, tmp_path):
    a, b = (entropie.assess(habits, seed=seed, **QUICK) for seed in (0, 1))
    path = a.write(tmp_path, report=False)[0]
    outcomes = {entropie.compare(old, b).outcome for old in (a, a.document, path, str(path))}
    assert len(outcomes) == 1
    page = entropie.report(path, tmp_path / "again.html")
    a.write(tmp_path)
    assert page.read_bytes() == (tmp_path / "report.html").read_bytes()
