"""`attributes`: exact output for the table of the documents, JSON as the schema says, sentences for bad input."""

from __future__ import annotations

import csv
import json
import math
import random
from pathlib import Path

import jsonschema
import pytest

from entropie.cli.attributes import attributes
from entropie.cli.main import cli
from entropie.schemas import schema

ROOT = Path(__file__).resolve().parents[2]
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
    shown = (ROOT / "docs" / "attributes.md").read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    ran = entropie("attributes", people, *ASK)
    assert ran.code == 0, ran.err
    assert ran.out == shown
    assert ran.err == ""


def test_json_on_standard_output_and_in_a_file(entropie, people):
    ran = entropie("attributes", people, *ASK, "--json", "--out", "found.json", "--max-set", "2", "--bins", "age=exact")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert document == json.loads(Path("found.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema("attributes"))
    assert document["people"] == 5000
    assert len(document["sets"]) == 4 + 6
    assert [column["band_width"] for column in document["columns"]] == [None, None, None, 10000.0]
    assert document["columns"][0]["values"] == 72


def test_one_column_has_no_sets_to_show(entropie, people):
    ran = entropie("attributes", people, "--columns", "income", "--bins", "income=100", "--out", "all.json")
    assert ran.code == 0, ran.err
    assert "riskiest set" not in ran.out
    assert "names 95.48\N{NO-BREAK SPACE}% of these 5,000 people" in ran.out.replace("\n", " ")  # as it stands
    assert "In bands of 2,000 (income):" in ran.out
    assert ran.out.endswith("All numbers: all.json\n")


def test_codes_and_identifiers_are_not_cut_into_bands_silently(entropie, tmp_path):
    draw = random.Random(3).random
    rows = [(100_000 + 3 * i, 18 + int(72 * draw()), 10_000 + 50 * int(200 * draw())) for i in range(2000)]
    text = "id,age,postcode\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows)
    (tmp_path / "people.csv").write_text(text, encoding="utf-8")
    ran = entropie("attributes", "people.csv", "--columns", "id,age,postcode")
    assert ran.code == 0, ran.err
    out = ran.out.replace("\N{NO-BREAK SPACE}", " ")
    lines, said = out.splitlines(), " ".join(out.split())
    assert "id: different for everybody, an identifier; leave it out or cut it into bands" not in out  # it is a code
    assert lines[1:3] == [
        "id: different for everybody, an identifier; leave it out",
        "postcode: 200 different codes, not cut into bands; if they are numbers: --bins postcode=10",
    ]
    assert "names 100 % of these 2,000 people" in said
    exact = len({row[1:] for row in rows}) / 2000
    assert f"Without id, different for everybody: {exact * 100:.2f} % are named by age and postcode." in said
    assert "In bands of 5 (age): " in said
    assert "once without identifiers and in bands, cheapest first" in said
    ran = entropie("attributes", "people.csv", "--columns", "age,postcode", "--bins", "postcode=10")
    said = " ".join(ran.out.split())
    assert "In bands of 5 (age) and 1,000 (postcode): " in said
    assert "different codes" not in said


def test_bands_that_do_not_help_are_not_advised(entropie, tmp_path):
    text = "name,age\n" + "".join(f"town{i // 2},{20 + i % 2 + 2 * (i % 30)}\n" for i in range(90))
    (tmp_path / "people.csv").write_text(text, encoding="utf-8")
    ran = entropie("attributes", "people.csv", "--columns", "name,age", "--bins", "age=width:1")
    assert "In bands of 1 (age): " in ran.out
    assert "These bands do not help." in ran.out.replace("\n", " ")
    assert "Release the bands" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--columns", "age,height"], "Column `height` is missing from people.csv; found: person, age, sex"),
        (["--columns", "age", "--id", "region"], "a table of attributes has one row per person"),
        (["--columns", "age", "--bins", "age=many"], "Option --bins must be COLUMN=N"),
        (["--columns", "sex", "--bins", "sex=3"], "does not hold numbers only"),
        (["--columns", "age", "--max-set", "0"], "--max-set"),
        (["--columns", "age", "--out", "people.csv"], "is also an input and would be lost"),
        ([], "Missing option '--columns'"),
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
