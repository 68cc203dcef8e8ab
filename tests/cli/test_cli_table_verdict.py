"""`attributes` with a limit: exit codes, files, job files, suites, comparisons, and tables made to break it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

import entropie
from entropie.schemas import schema

EMA = ["--columns", "town,age", "--id", "person", "--profile", "ema"]
OWN = ["--limit", "10%", "--limit-name", "board", "--fail-on"]
NASTY = ["<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "=cmd|x", "a.b~c/d", "\u202eevil", "x" * 90, "naïve 中文"]


def write(path: Path, sizes: list[int], header: str = "person,town,age", cells: str = "") -> Path:
    """Groups of these sizes, one person in each row."""
    places = [group for group, size in enumerate(sizes) for _ in range(size)]
    rows = [f"p{i},t{g // 3},{g % 3}{cells}" for i, g in enumerate(places)]
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def safe(tmp_path: Path) -> Path:
    return write(tmp_path / "people.csv", [12] * 20)


@pytest.fixture
def exposed(tmp_path: Path) -> Path:
    return write(tmp_path / "exposed.csv", [12] * 20 + [2])


@pytest.mark.parametrize(
    ("sizes", "asked", "decision", "code"),
    [
        ([12] * 20, EMA, "PASS", 0),
        ([12] * 20 + [2], EMA, "FAIL", 1),
        ([5, 6], EMA, "INCONCLUSIVE", 3),
        ([12] * 20, [*EMA, "--fail-on", "average"], "PASS (limited)", 3),
        ([12] * 20, [*EMA, "--fail-on", "average", "--accept-limited"], "PASS (limited)", 0),
        ([12] * 20, [*EMA[:2], *EMA[4:]], "INCONCLUSIVE", 3),  # the ids stay in the table, and nobody named them
        ([12] * 20 + [2], [*EMA[:4], *OWN, "average"], "PASS", 0),
        ([12] * 20 + [2], [*EMA[:4], *OWN, "worst"], "FAIL", 1),
    ],
)
def test_exit_codes_and_documents(entropie, tmp_path, sizes, asked, decision, code):
    table = write(tmp_path / "people.csv", sizes)
    files = ["--out", "out", "--junit", "j.xml", "--markdown", "m.md", "--metrics", "m.prom"]
    ran = entropie("attributes", table, *asked, *files)
    assert (ran.code, ran.err) == (code, "")
    assert ran.out.startswith(f"{decision} ")
    assert len(ran.out.splitlines()) <= 25
    assert max(map(len, ran.out.splitlines())) <= 80
    document = json.loads(Path("out/attributes.json").read_text())
    jsonschema.validate(document, schema("attributes"))
    assert document["verdict"]["decision"] == decision
    assert decision in Path("out/report.html").read_text()
    case = ElementTree.parse("j.xml").getroot().find(".//testcase")
    assert case is not None
    assert case.get("classname") == "entropie.attributes"
    assert (case.find("failure") is None) == (code == 0)
    assert Path("m.md").read_text().startswith(f"### {decision}")
    assert f'decision="{decision}"}} 1.0' in Path("m.prom").read_text()
    above = document["verdict"]["goal"] is not None
    assert ("Next:   lower it (entropie generalise" in ran.out) == above
    assert ("Next:   settle what is open" in ran.out) == (decision == "INCONCLUSIVE" and not above)


def test_without_a_limit_nothing_is_judged_and_no_folder_nothing_is_written(entropie, safe):
    ran = entropie("attributes", safe, *EMA[:4], "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["verdict"] is None
    assert [path.name for path in Path().iterdir()] == ["people.csv"]


def test_all_of_a_verdict(entropie, exposed):
    ran = entropie("attributes", exposed, *EMA, "--verbose")
    said = " ".join(ran.out.replace("\N{NO-BREAK SPACE}", " ").split())
    assert said.startswith("FAIL ema limit 9 %: an attacker who knows town and age re-identifies 50 % of the 2 people")
    assert "FAIL: the risk of the 2 people in groups of 2 is 50 %, above the limit of 9 %" in said
    assert "Enough would be: entropie generalise --k 11." in said
    assert "Source of the limit: European Medicines Agency" in said
    assert "The ids in person are taken to say nothing about who people are." in said


def test_a_job_file_is_the_same_job_and_pins_it(entropie, exposed):
    asked = [*EMA, "--bins", "age=2", "--title", "People", "--out", "one"]
    job = entropie("attributes", exposed, *asked, "--print-config")
    Path("job.toml").write_text(job.out)
    assert not Path("one").exists()
    assert entropie("attributes", "--config", "job.toml").code == 1
    first = json.loads(Path("one/attributes.json").read_text())
    assert entropie("attributes", exposed, *asked[:-1], "two").code == 1
    second = json.loads(Path("two/attributes.json").read_text())
    for document in (first, second):
        del document["provenance"]
    assert first == second
    Path("job.toml").write_text(job.out.replace("[verdict]", "[verdict]\npinned = true"))
    refused = entropie("attributes", "--config", "job.toml", "--columns", "age")
    assert refused.code == 2
    assert "--columns may not be given beside job.toml, which pins the verdict" in refused.err
    assert entropie("attributes", exposed, "--config", "job.toml", "--title", "Other", "--out", "three").code == 1


def test_the_report_is_made_again_and_runs_are_compared(entropie, safe, exposed):
    assert entropie("attributes", safe, *EMA, "--out", "old", "-q").code == 0
    assert entropie("attributes", exposed, *EMA, "--out", "new", "-q").code == 1
    page = Path("new/report.html").read_text()
    Path("new/report.html").unlink()
    assert entropie("report", "new/attributes.json").code == 0
    assert Path("new/report.html").read_text() == page
    risen = entropie("compare", "old", "new", "--junit", "j.xml")
    assert risen.code == 1
    assert "The risk has risen by more than zero." in " ".join(risen.out.split())
    assert "Note: The verdict was PASS and is FAIL now." in risen.out
    assert entropie("compare", "new", "old").code == 0
    assert entropie("compare", "new/attributes.json", "new").out.startswith("Unchanged")
    document = json.loads(entropie("compare", "old", "new", "--json").out)
    jsonschema.validate(document, schema("table-comparison"))
    assert document["outcome"] == "risen"
    assert document["highest_difference"] == pytest.approx(1 / 2 - 1 / 12)
    assert document["risk_difference"]["value"] == pytest.approx(21 / 242 - 20 / 240)
    tolerated = entropie("compare", "old", "new", "--tolerance-error", "50%")
    assert "No rise by more than the accepted 50" in " ".join(tolerated.out.split())
    assert tolerated.code == 1  # the limit fails now, whatever the rise


def test_events_and_tables_are_not_compared(entropie, safe, tmp_path):
    events = "user,item\n" + "".join(f"u{n % 30},i{n % 7}\n" for n in range(600))
    (tmp_path / "events.csv").write_text(events)
    entropie("assess", "events.csv", "--out", "a", "--no-report", "--matcher", "visit", "-q")
    entropie("attributes", safe, *EMA, "--out", "t", "-q")
    ran = entropie("compare", "a", "t")
    assert ran.code == 2
    assert ran.err.endswith("One assessment is of events and the other of a table; compare two of a kind.\n")


def test_a_suite_of_tables(entropie, safe, exposed):
    entry = 'kind = "attributes"\ntable = {{table = "{}", columns = ["town", "age"], id_column = "person"}}\n'
    Path("suite.toml").write_text(
        '[defaults.verdict]\nprofile = "ema"\n'
        + "".join(f'[[entry]]\nname = "{path.stem}"\n{entry.format(path.name)}' for path in (safe, exposed))
    )
    ran = entropie("check", "suite.toml", "--out", "checked", "--markdown", "m.md")
    assert ran.code == 1
    document = json.loads(Path("checked/check.json").read_text())
    assert [(one["kind"], one["decision"]) for one in document["entries"]] == [
        ("attributes", "PASS"),
        ("attributes", "FAIL"),
    ]
    assert sorted(path.name for path in Path("checked/people").iterdir()) == ["attributes.json", "report.html"]
    assert "counted" in ran.out  # no interval where everybody was counted
    Path("suite.toml").write_text(f'[[entry]]\nname = "a"\n{entry.format("people.csv")}')
    assert "There is no limit to judge by" in entropie("check", "suite.toml").err
    Path("suite.toml").write_text(
        f'[defaults.verdict]\nprofile = "ema"\n[[entry]]\nname = "a"\n{entry.format("people.csv")}'.replace(
            "town", "twn"
        )
    )
    refused = entropie("check", "suite.toml", "--out", "never")
    assert refused.code == 2
    assert "did you mean `town`" in refused.err
    assert not Path("never").exists()


@pytest.mark.parametrize("name", NASTY, ids=range(len(NASTY)))
def test_names_of_columns_do_nothing(entropie, tmp_path, name):
    quoted = '"' + name.replace('"', '""') + '"'
    table = write(tmp_path / "people.csv", [12] * 20, f"person,{quoted},age")
    job = f'[table]\ntable = "people.csv"\ncolumns = [{json.dumps(name)}, "age"]\n[verdict]\nprofile = "ema"\n'
    Path("job.toml").write_text(job, encoding="utf-8")
    files = ["--out", "out", "--junit", "j.xml", "--markdown", "m.md", "--metrics", "m.prom"]
    ran = entropie("attributes", table, "--config", "job.toml", *files)
    assert (ran.code, ran.err) == (3, "")  # the ids were not named, and tell everybody apart
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert page.count("<script") == 1
    assert "<script>alert" not in page
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", page)
    ElementTree.parse("j.xml")
    assert "<script>" not in Path("m.md").read_text(encoding="utf-8")
    assert json.loads(Path("out/attributes.json").read_text())["columns"][0]["name"] == name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--profile", "ema"], "No columns are named; say with --columns which an attacker may know."),
        (["--columns", "age", "--profile", "none"], "must be one of custodian-033"),
        (["--columns", "age", "--limit", "10%"], "missing: --limit-name, --fail-on"),
        (["--columns", "age", "--accept-limited"], "need a limit"),
        (["--columns", "age", "--metrics", "people.csv"], "is also an input"),
        (["--columns", "age", "--review-date", "2001-01-01"], "--review-date"),
        (["--config", "none.toml"], "none.toml does not exist"),
    ],
)
def test_bad_requests_write_nothing(entropie, safe, arguments, words):
    ran = entropie("attributes", safe, *arguments, "--out", "out")
    assert ran.code == 2
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert [path.name for path in Path().iterdir()] == ["people.csv"]


def test_one_column_and_one_row(entropie, tmp_path):
    (tmp_path / "one.csv").write_text("age\n" + "".join(f"{i % 10}\n" for i in range(300)))
    ran = entropie("attributes", "one.csv", "--columns", "age", "--profile", "ema", "--out", "out")
    assert ran.code == 3
    assert ran.out.startswith("PASS (limited)")
    (tmp_path / "row.csv").write_text("age\n3\n")
    refused = entropie("attributes", "row.csv", "--columns", "age", "--profile", "ema", "--out", "never")
    assert refused.code == 2
    assert "at least two people" in refused.err
    assert not Path("never").exists() or not list(Path("never").iterdir())


def test_in_python(safe, tmp_path, monkeypatch):
    found = entropie.attributes(safe, columns=["town", "age"], id_column="person", profile="ema", title="People")
    assert found.verdict.decision == "PASS"
    assert found.exit_code == 0
    files = found.write(tmp_path / "out")
    assert [file.name for file in files] == ["attributes.json", "report.html"]
    assert entropie.compare(found, files[0]).outcome == "unchanged"
    assert entropie.report(tmp_path / "out", tmp_path / "again.html").read_text() == files[1].read_text()
