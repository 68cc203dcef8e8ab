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
    assert "bands of 2,000 (--bins)" in ran.out
    assert ran.out.endswith("All numbers: all.json\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--columns", "age,height"], "Column `height` is missing from people.csv; found: person, age, sex"),
        (["--columns", "age", "--id", "region"], "a table of attributes has one row per person"),
        (["--columns", "age", "--bins", "age=many"], "Option --bins must be COLUMN=N"),
        (["--columns", "sex", "--bins", "sex=3"], "does not hold numbers only"),
        (["--columns", "age", "--max-set", "0"], "max_set"),
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
