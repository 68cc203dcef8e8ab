"""`attributes`: exact output for the table of the documents, JSON as the schema says, sentences for bad input."""

from __future__ import annotations

import csv
import json
import math
import os
import random
from pathlib import Path

import jsonschema
import pytest

from entropie.cli.assess import attributes
from entropie.cli.main import cli
from entropie.schemas import schema

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "attributes.md"
ASK = ["--id", "person", "--columns", "age,sex,region,income"]


@pytest.fixture(autouse=True)
def known_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.commands, "attributes", attributes)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """The 5,000 people of docs/attributes.md; only uniform numbers are drawn, so that they stay the same."""
    draw = random.Random(1).random
    with (tmp_path / "people.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "age", "sex", "region", "income"])
        for i in range(5000):
            age, sex = 18 + int(72 * draw()), "fm"[draw() < 0.5]
            region = next(name for name, share in (("north", 0.4), ("south", 0.7), ("east", 0.9), ("west", 1.0)) if draw() < share or share == 1.0)  # fmt: skip
            income = round(30_000 * math.exp(0.6 * (sum(draw() for _ in range(12)) - 6.0)))
            writer.writerow([f"p{i}", age, sex, region, income])
    return tmp_path / "people.csv"


def test_output_is_what_the_document_shows(entropie, people):
    shown = DOCUMENT.read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    ran = entropie("attributes", people, *ASK)
    assert ran.code == 0, ran.err
    if os.environ.get("UPDATE_DOCS"):
        text = DOCUMENT.read_text(encoding="utf-8")
        DOCUMENT.write_text(text.replace(f"```text\n{shown}```", f"```text\n{ran.out}```"), encoding="utf-8")
        shown = ran.out
    assert ran.out == shown
    assert ran.err == ""
    assert len(ran.out.splitlines()) <= 25


def test_a_sensitive_column_is_on_the_first_screen(entropie, people):
    ran = entropie("attributes", people, "--columns", "age,sex", "--sensitive", "region")
    assert ran.code == 0
    assert "region: guessed right for " in ran.out
    assert len(ran.out.splitlines()) <= 25


def test_all_numbers_and_no_text(entropie, people, matches_golden):
    ran = entropie("attributes", people, *ASK, "--verbose")
    assert (ran.code, ran.err) == (0, "")
    matches_golden("attributes_verbose.txt", ran.out)
    assert max(map(len, ran.out.splitlines())) <= 80
    quiet = entropie("attributes", people, *ASK, "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_a_screen_holds_the_default_output_whatever_the_table(entropie, tmp_path):
    draw = random.Random(5).random
    names = ["id", "badge", "postcode", "zip", "age", "income", "height", "weight", "street", "town", "job", "sex"]
    lines = [",".join(names)]
    for i in range(600):
        cells = [
            10_000 + i,
            f"b{i}",
            *(20_000 + int(300 * draw()) for _ in range(2)),
            *(int(900 * draw()) for _ in range(8)),
        ]
        lines.append(",".join(map(str, cells)))
    (tmp_path / "people.csv").write_text("\n".join([*lines, "cut off"]) + "\n", encoding="utf-8")
    ran = entropie("attributes", "people.csv", "--columns", ",".join(names), "--max-set", "1", "--out", "out")
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) <= 25
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "more such columns: --verbose" in ran.out
    assert "re-identified by 12 columns" in ran.out


def test_json_on_standard_output_and_in_a_file(entropie, people):
    ran = entropie("attributes", people, *ASK, "--json", "--out", "found", "--max-set", "2", "--bins", "age=exact")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert document == json.loads(Path("found/attributes.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema("attributes"))
    assert document["people"] == 5000
    assert len(document["sets"]) == 4 + 6
    assert [column["band_width"] for column in document["columns"]] == [None, None, None, 10000.0]
    assert document["columns"][0]["values"] == 72


def test_one_column_has_no_sets_to_show(entropie, people):
    ran = entropie("attributes", people, "--columns", "income", "--bins", "income=100", "--out", "all")
    assert ran.code == 0, ran.err
    assert "Riskiest set" not in entropie("attributes", people, "--columns", "income", "--verbose").out
    assert ran.out.startswith("95\N{NO-BREAK SPACE}% of 5,000 people are re-identified by income")  # as it stands
    assert "Release bands of 2,000 (income)" in ran.out
    assert ran.out.endswith("Report: all/report.html\n")
    assert sorted(path.name for path in Path("all").iterdir()) == ["attributes.json", "report.html"]


def test_codes_and_identifiers_are_not_cut_into_bands_silently(entropie, tmp_path):
    draw = random.Random(3).random
    rows = [(100_000 + 3 * i, 18 + int(72 * draw()), 10_000 + 50 * int(200 * draw())) for i in range(2000)]
    text = "id,age,postcode\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows)
    (tmp_path / "people.csv").write_text(text, encoding="utf-8")
    ran = entropie("attributes", "people.csv", "--columns", "id,age,postcode")
    assert ran.code == 0, ran.err
    out = ran.out.replace("\N{NO-BREAK SPACE}", " ")
    lines, said = out.splitlines(), " ".join(out.split())
    assert "id: different for everybody, an identifier; drop it or cut it into bands" not in out  # it is a code
    assert "id: different for everybody, an identifier; drop it" in lines
    assert "postcode: 200 different codes, not cut into bands; if they are numbers: --bins postcode=10" in said
    assert said.startswith("100 % of 2,000 people are re-identified by id, age and postcode")
    exact = len({row[1:] for row in rows}) / 2000
    assert f"Drop id, different for everybody: {exact * 100:.0f} % are still re-identified by age and postcode." in said
    assert "bands of 5 (age)" in said.lower()
    assert "Once without identifiers and in bands (" in said
    assert "most risk removed per bit lost first:" in said
    ran = entropie("attributes", "people.csv", "--columns", "age,postcode", "--bins", "postcode=10")
    said = " ".join(ran.out.split())
    assert "Release bands of 5 (age) and 1,000 (postcode) instead of the numbers: " in said
    assert "different codes" not in said


def test_bands_that_do_not_help_are_not_advised(entropie, tmp_path):
    text = "name,age\n" + "".join(f"town{i // 2},{20 + i % 2 + 2 * (i % 30)}\n" for i in range(90))
    (tmp_path / "people.csv").write_text(text, encoding="utf-8")
    ran = entropie("attributes", "people.csv", "--columns", "name,age", "--bins", "age=width:1")
    assert "Bands of 1 (age) do not help" in ran.out
    assert "Release bands" not in ran.out


def test_digits_with_leading_zeros_are_not_said_to_be_cuttable(entropie, tmp_path):
    text = "postcode,age\n" + "".join(f"0{1000 + i % 50},{20 + i % 60}\n" for i in range(300))
    (tmp_path / "people.csv").write_text(text, encoding="utf-8")
    ran = entropie("attributes", "people.csv", "--columns", "postcode,age")
    assert "postcode: 50 different codes, not cut into bands\n" in ran.out
    assert "--bins" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--columns", "age,height"], "people.csv; found: person, age, sex"),
        (["--columns", "age,icome"], "people.csv; did you mean `income`? Found: person, age, sex, region, income."),
        (["--columns", "age", "--id", "region"], "a table of attributes has one row per person"),
        (["--columns", "age", "--bins", "age=many"], "Option --bins must be COLUMN=N"),
        (["--columns", "sex", "--bins", "sex=3"], "does not hold numbers only"),
        (["--columns", "age", "--max-set", "0"], "--max-set"),
        (["--columns", "age", "--out", "people.csv"], "people.csv"),
        ([], "No columns are named; say with --columns which an attacker may know."),
    ],
)
def test_bad_requests(entropie, people, arguments, words):
    before = people.read_bytes()
    ran = entropie("attributes", people, *arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert people.read_bytes() == before
    assert sorted(path.name for path in Path().iterdir()) == ["people.csv"]
