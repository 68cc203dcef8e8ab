"""`sweep` and the table of `--window`: exact output, files, every bad request, and the document that shows it."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from entropie.cli.summary import windows_text
from entropie.cli.sweep import sweep as sweep_command
from entropie.data.events import read_events
from entropie.mitigate.mitigation import KINDS, Mitigation
from entropie.mitigate.sweep import sweep
from entropie.mitigate.windows import windows
from entropie.request import People, Run, Source
from entropie.schemas import schema

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "sweep.md"
MADE_BY = re.compile(r"```python\n(import csv\n.*?)```", re.DOTALL)
SHOWN = re.compile(r"(?<=```sh-session\n)\$ (?P<command>[^\n]*)\n(?P<output>.*?)(?=```)", re.DOTALL)
COLUMNS = ("--user", "person", "--item", "place", "--time", "time")


def people(count: int = 40, seed: int = 5) -> pa.Table:
    """Everybody has three places of her own choice and goes elsewhere now and then; three come too seldom."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(count):
        own = rng.choice(50, 3, replace=False)
        for event in range(5 if person < 3 else int(rng.integers(12, 25))):
            place = int(own[rng.integers(3)] if rng.random() < 0.8 else rng.integers(50))
            time = 1_600_000_000 + event * 40_000 + int(rng.integers(9000))
            rows.append((f"person-{person:03d}", f"place {place}", time, f"kind {place % 4}", 52 + place / 100, 13.4))
    names = ("person", "place", "time", "kind", "north", "east")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@pytest.fixture
def visits(tmp_path):
    pa_csv.write_csv(people(), str(tmp_path / "visits.csv"))
    return tmp_path / "visits.csv"


def without_clock(document: dict) -> dict:
    for key in ("seconds", "date", "command", "run"):
        del document["provenance"][key]
    return document


def test_exact_output(entropie, visits, matches_golden):
    ran = entropie("sweep", "visits.csv", *COLUMNS, "--category", "kind", "--grid", "5km", "--lat", "north", "--lon",
                   "east", "--thin", "0.5,0.2", "--first", "3")  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    matches_golden("sweep.txt", ran.out)


def test_all_numbers_and_no_text(entropie, visits, matches_golden):
    arguments = ("sweep", "visits.csv", *COLUMNS, "--category", "kind", "--thin", "20%,0.5")
    ran = entropie(*arguments, "--verbose")
    assert (ran.code, ran.err) == (0, "")
    matches_golden("sweep_verbose.txt", ran.out)
    quiet = entropie(*arguments, "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_a_screen_holds_the_default_output_whatever_is_tried(entropie, visits):
    many = ("--top", "1,2,3,4,5,6,7,8,9,10,11,12", "--category", "kind", "--lat", "north", "--lon", "east")
    out = entropie("sweep", "visits.csv", *COLUMNS, *many, "--out", "out").out
    assert re.search(r"^\d more mitigations, less useful or at a greater loss\.", out, re.MULTILINE)
    assert len(out.splitlines()) <= 25
    assert max(map(len, out.splitlines())) <= 80


def test_the_document_shows_what_the_command_prints(entropie, tmp_path):
    """docs/sweep.md makes its own small table; the block below it is the whole output."""
    text = DOCUMENT.read_text(encoding="utf-8")
    made_by, shown = MADE_BY.search(text), SHOWN.search(text)
    assert made_by
    assert shown
    exec(made_by[1], {})
    ran = entropie(*shlex.split(shown["command"])[1:])
    assert (ran.code, ran.err) == (0, "")
    if os.environ.get("UPDATE_DOCS"):
        DOCUMENT.write_text(SHOWN.sub(lambda found: f"$ {found['command']}\n{ran.out}", text), encoding="utf-8")
    assert SHOWN.search(DOCUMENT.read_text(encoding="utf-8"))["output"] == ran.out


def test_every_kind_has_an_option():
    options = [p.opts[0] for p in sweep_command.params if getattr(p, "group", "") == "Mitigation"]
    assert options == [*(f"--{kind.replace('_', '-')}" for kind in KINDS), "--lat", "--lon"]


def test_json_is_the_file_is_what_python_gives_and_fits_the_schema(entropie, visits):
    arguments = ("sweep", "visits.csv", *COLUMNS, "--category", "kind", "--top", "5,1e1", "--prefix", "7", "--time-unit",
                 "hour,week", "--last", "4", "--min-events", "11", "--targets", "25", "--seed", "3", "--threads", "1")  # fmt: skip
    ran = entropie(*arguments, "--json", "--out", "some/new/folder")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert document == json.loads(Path("some/new/folder/sweep.json").read_text(encoding="utf-8"))
    assert {path.name for path in Path("some/new/folder").iterdir()} == {"sweep.json", "sweep.csv"}
    jsonschema.Draft202012Validator(schema("sweep")).validate(document)
    mitigations = [Mitigation("top", 5), Mitigation("top", 10), Mitigation("category", "kind"), Mitigation("prefix", 7), Mitigation("time_unit", "hour"),
              Mitigation("time_unit", "week"), Mitigation("last", 4)]  # fmt: skip
    found = sweep(
        "visits.csv", mitigations, user="person", item="place", time="time", min_events=11, targets=25, seed=3
    )
    assert without_clock(document) == without_clock(json.loads(json.dumps(found.to_json())))
    assert len(document["rows"]) == 7


def test_without_out_nothing_is_written(entropie, visits, tmp_path):
    assert entropie("sweep", "visits.csv", *COLUMNS, "--thin", "0.5").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["visits.csv"]


def test_default_mitigations(entropie, visits):
    rows = json.loads(entropie("sweep", "visits.csv", *COLUMNS, "--lat", "north", "--lon", "east", "--json").out)[
        "rows"
    ]
    assert sorted((row["mitigation"], str(row["setting"])) for row in rows) == sorted(
        [("top", "10"), ("grid", "100m"), ("grid", "500m"), ("grid", "2km"), ("time_unit", "hour"), ("time_unit", "day"),
         ("time_unit", "week"), ("first", "5"), ("first", "10"), ("thin", "0.5"), ("thin", "0.1")]
    )  # fmt: skip


def test_the_table_for_spreadsheets_runs_no_formula(entropie, tmp_path):
    names = people().column_names
    hostile = people().rename_columns(['=HYPERLINK("x")' if name == "kind" else name for name in names])
    pa_csv.write_csv(hostile, str(tmp_path / "visits.csv"))
    ran = entropie("sweep", "visits.csv", *COLUMNS, "--category", '=HYPERLINK("x")', "--thin", "0.5", "--out", "out")
    assert ran.code == 0, ran.err
    with Path("out/sweep.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["mitigation"] for row in rows} == {"as is", "category", "thin"}
    cells = [cell for row in rows for cell in row.values()]
    assert """'=HYPERLINK("x")""" in cells
    for cell in cells:
        assert not cell.startswith(("=", "+", "@"))
        assert not cell.startswith("-") or float(cell) <= 0
    document = json.loads(Path("out/sweep.json").read_text(encoding="utf-8"))
    by_setting = {str(row["setting"]): row for row in document["rows"]}
    for row in rows[1:]:
        wanted = by_setting[row["setting"].removeprefix("'")]
        assert float(row["reidentified"]) == pytest.approx(1 - wanted["identification_error"]["value"])
        assert float(row["cost"]) == wanted["cost"]["value"]
        assert row["useful"] == str(wanted["useful"])


def test_nobody_and_no_item_is_named(entropie, visits):
    ran = entropie("sweep", "visits.csv", *COLUMNS, "--category", "kind", "--top", "10", "--out", "out")
    text = ran.out + ran.err + Path("out/sweep.json").read_text() + Path("out/sweep.csv").read_text()
    for name in ("person-0", "place 1", "kind 1"):
        assert name not in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.csv"], "nothing.csv"),
        ([""], "The name of the events is empty"),
        (["visits.csv", *COLUMNS, "--top", "ten"], "'ten' is not a list of whole numbers with commas"),
        (["visits.csv", *COLUMNS, "--top", "10,,5"], "is not a list of whole numbers"),
        (["visits.csv", *COLUMNS, "--top", "0"], "--top must be a whole number from 1"),
        (["visits.csv", *COLUMNS, "--thin", "2"], "--thin must be a share above 0 and below 1, got 2.0"),
        (["visits.csv", *COLUMNS, "--thin", "nan"], "'nan' is not a list of shares"),
        (["visits.csv", *COLUMNS, "--thin", "half"], "'half' is not a list of shares"),
        (["visits.csv", *COLUMNS, "--time-unit", "month"], "--time-unit must be one of hour, day, week, got 'month'"),
        (["visits.csv", *COLUMNS, "--grid", "5"], "--grid must be a size such as 500m"),
        (
            ["visits.csv", *COLUMNS, "--grid", "5km"],
            "need both columns of coordinates: name them with --lat and --lon",
        ),
        (["visits.csv", *COLUMNS, "--lat", "north"], "need both columns of coordinates"),
        (["visits.csv", *COLUMNS, "--grid", "5km", "--lat", "kind", "--lon", "east"], "have no place on the Earth"),
        (["visits.csv", *COLUMNS, "--category", "sort"], "Column `sort` is missing from visits.csv; found: person"),
        (["visits.csv", *COLUMNS, "--category", "place"], "Column `place` of visits.csv is already the item"),
        (["visits.csv", *COLUMNS, "--preset", "geolife", "--category", "kind"], "--preset must be one whose files"),
        (["visits.csv", *COLUMNS, "--min-events", "99"], "No user has 99 events"),
        (["visits.csv", "--item", "place", "--user", "who"], "Column `who` is missing from visits.csv"),
        (["visits.csv", "--user", "person", "--item", "place", "--time", "kind"], "holds no time that can be read"),
        (["visits.csv", *COLUMNS, "--out", "visits.csv/x"], "cannot be written to; name another with --out"),
    ],
)
def test_bad_requests_get_one_sentence_and_exit_code_2(entropie, visits, tmp_path, arguments, said):
    ran = entropie("sweep", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["visits.csv"]


def test_an_input_is_never_overwritten(entropie, tmp_path):
    pa_csv.write_csv(people(), str(tmp_path / "sweep.csv"))
    before = (tmp_path / "sweep.csv").read_bytes()
    ran = entropie("sweep", "sweep.csv", *COLUMNS, "--thin", "0.5", "--out", ".")
    assert ran.code == 2
    assert "is also an input and would be lost" in ran.err
    assert (tmp_path / "sweep.csv").read_bytes() == before


def test_table_of_windows(matches_golden):
    table = people().rename_columns(["user", "item", *people().column_names[2:]])
    found = windows(
        read_events(Source(table)).traces, 2 * 86_400, People(min_events=3), run=Run(replicates=20), min_people=36
    )
    matches_golden("windows.txt", windows_text([window.to_json() for window in found]) + "\n")
