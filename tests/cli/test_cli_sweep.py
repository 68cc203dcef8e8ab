"""`sweep` and the table of `--window`: exact output, files, every bad request, and the document that shows it."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
from pathlib import Path

import click
import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import entropie.cli.sweep as shown_by
from entropie.cli.summary import windows_text
from entropie.cli.sweep import sweep as sweep_command
from entropie.data.events import read_events
from entropie.mitigate.kinds import KINDS
from entropie.mitigate.mitigation import Mitigation
from entropie.mitigate.windows import windows
from entropie.release.sweep import sweep
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


JUDGED = ("--limit", "40%", "--limit-name", "ours", "--fail-on", "average", "--one-id-per-person", "--threads", "1")
FEW = (*COLUMNS, *JUDGED, "--only", "--category", "kind", "--time-unit", "week,none")


def test_exact_output(entropie, visits, matches_golden):
    ran = entropie("sweep", "visits.csv", *FEW)
    assert (ran.code, ran.err) == (0, "")
    matches_golden("sweep.txt", ran.out)


def test_all_numbers_and_no_text(entropie, visits, matches_golden):
    ran = entropie("sweep", "visits.csv", *FEW, "--verbose", "--cost", "items")
    assert (ran.code, ran.err) == (0, "")
    matches_golden("sweep_verbose.txt", ran.out)
    quiet = entropie("sweep", "visits.csv", *FEW, "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_exit_codes_are_those_of_assess(entropie, visits):
    few = (*COLUMNS, "--only", "--thin", "0.9,0.8", "--profile", "ema")
    assert entropie("sweep", "visits.csv", *few).code == 1
    assert entropie("sweep", "visits.csv", *few, "--seconds", "0").code == 3


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
        DOCUMENT.write_text(SHOWN.sub(lambda found: f"$ {found['command']}\n{ran.out}", text, 1), encoding="utf-8")
    assert SHOWN.search(DOCUMENT.read_text(encoding="utf-8"))["output"] == ran.out


def test_every_kind_has_an_option():
    options = [
        p.opts[0]
        for p in sweep_command.get_params(click.Context(sweep_command))
        if getattr(p, "group", "") == "Mitigation"
    ]
    own = ["--only", "--cost"]
    assert options == [*(f"--{kind.replace('_', '-')}" for kind in KINDS), *own]


def test_json_is_the_file_is_what_python_gives_and_fits_the_schema(entropie, visits):
    ran = entropie("sweep", "visits.csv", *FEW, "--min-events", "11", "--seed", "3", "--json", "--out", "some/new")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert document == json.loads(Path("some/new/sweep.json").read_text(encoding="utf-8"))
    assert {path.name for path in Path("some/new").iterdir()} == {"sweep.json", "sweep.csv", "plan.json", "report.html"}
    jsonschema.Draft202012Validator(schema("sweep")).validate(document)
    parts = [Mitigation("category", "kind"), Mitigation("time_unit", "week"), Mitigation("time_unit", "none")]
    found = sweep(
        "visits.csv", parts, only=True, user="person", item="place", time="time", min_events=11, seed=3, limit=0.4,
        limit_name="ours", fail_on="average", one_id_per_person=True,
    )  # fmt: skip
    assert without_clock(document) == without_clock(json.loads(json.dumps(found.to_json())))


def test_without_out_nothing_is_written(entropie, visits, tmp_path):
    assert entropie("sweep", "visits.csv", *FEW).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["visits.csv"]


def test_the_table_for_spreadsheets_runs_no_formula(entropie, tmp_path):
    hostile = people().rename_columns(['=HYPERLINK("x")' if name == "kind" else name for name in people().column_names])
    pa_csv.write_csv(hostile, str(tmp_path / "visits.csv"))
    few = (*COLUMNS, *JUDGED, "--only", "--category", '=HYPERLINK("x")', "--out", "out")
    assert entropie("sweep", "visits.csv", *few).code in (0, 1, 3)
    with Path("out/sweep.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    document = json.loads(Path("out/sweep.json").read_text(encoding="utf-8"))
    assert [row["combination"] for row in rows] == ["as is", 'column =HYPERLINK("x")']
    for cell in (cell for row in rows for cell in row.values()):
        assert not cell.startswith(("=", "+", "@", "-"))
    for row, wanted in zip(rows, (document["as_it_is"], *document["rows"]), strict=True):
        assert float(row["risk"]) == wanted["risk"]["value"]
        assert float(row["cost"]) == wanted["cost"]


def test_nobody_and_no_item_is_named(entropie, visits):
    ran = entropie("sweep", "visits.csv", *FEW, "--out", "out")
    text = ran.out + ran.err + "".join(path.read_text() for path in Path("out").iterdir())
    for name in ("person-0", "place 1", "kind 1"):
        assert name not in text


def test_a_file_that_was_not_written_is_told(entropie, visits, tmp_path):
    limit = ("--limit", "0.1%", "--limit-name", "none", "--fail-on", "average", "--only", "--time-unit", "day")
    ran = entropie("sweep", "visits.csv", *COLUMNS, *limit, "--apply", "safer.csv")
    assert ran.code == 1
    assert "safer.csv was not written: no combination was found that meets the limit." in ran.out
    assert "Next:        broader steps of your own" in ran.out
    assert not (tmp_path / "safer.csv").exists()


def test_the_combination_chosen_is_always_in_the_table(entropie, visits, monkeypatch):
    """However many cheaper ones there are that leave a higher risk."""
    monkeypatch.setattr(shown_by, "_LEAST_ROWS", 1)
    monkeypatch.setattr(shown_by, "_SCREEN", 0)
    ran = entropie("sweep", "visits.csv", *FEW, "--out", "out")
    found = json.loads(Path("out/sweep.json").read_text(encoding="utf-8"))
    assert found["frontier"][0] < found["chosen"]
    assert sum(line.endswith(" PASS") for line in ran.out.splitlines()) == 1


def test_the_safer_file_is_written_at_once_or_from_the_plan(entropie, visits, tmp_path):
    ran = entropie("sweep", "visits.csv", *FEW, "--out", "out", "--apply", "safer.csv")
    assert (ran.code, ran.err) == (0, "")
    told = [
        line for line in ran.out.splitlines() if line.startswith(("safer.csv", "  r", "No key", "Manifest", "Confirm"))
    ]
    events = people().num_rows
    assert told == [
        f"safer.csv: {events} events of 40 people, made from {events} events of 40 people",
        "  release the column kind instead of the item",
        "  round times to the week and drop the order within",
        "No key was kept: nobody can tell any more who is behind a pseudonym.",
        "Manifest: safer.csv.manifest.json (for you, not for who receives the file)",
        "Confirm: entropie assess safer.csv --user person --item place --time time \\",
    ]
    again = entropie("apply", "out/plan.json", "visits.csv", "--out", "again.parquet", "--keep-key", "key.csv")
    assert (again.code, again.err) == (0, "")
    assert "Warning: key.csv says who is behind each pseudonym; keep it apart." in again.out
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "again.parquet", "again.parquet.manifest.json", "key.csv", "out", "safer.csv", "safer.csv.manifest.json",
        "visits.csv",
    ]  # fmt: skip
    quiet = entropie("apply", "out/plan.json", "visits.csv", "--out", "again.parquet", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_where_none_meets_the_limit_no_file_is_written(entropie, visits, tmp_path):
    few = (*COLUMNS, "--only", "--thin", "0.9", "--profile", "ema", "--apply", "safer.csv", "--out", "out")
    assert entropie("sweep", "visits.csv", *few).code == 1
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "out",
        "report.html",
        "sweep.csv",
        "sweep.json",
        "visits.csv",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no.json", "visits.csv", "--out", "a.csv"], "Plan no.json does not exist"),
        (["visits.csv", "visits.csv", "--out", "a.csv"], "Plan visits.csv is not JSON"),
        (["visits.csv", "visits.csv", "--out", "visits.csv"], "is also an input and would be lost"),
        (["visits.csv", "visits.csv", "--out", "no/folder/a.csv"], "no/folder"),
        (["visits.csv", "visits.csv"], "Missing option '--out'"),
    ],
)
def test_bad_requests_to_apply_get_one_sentence(entropie, visits, tmp_path, arguments, said):
    ran = entropie("apply", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["visits.csv"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.csv", *JUDGED], "nothing.csv"),
        (["", *JUDGED], "No events are named"),
        (
            ["visits.csv", *COLUMNS],
            "A sweep looks for what meets a limit: name it with --profile, such as ema, or with",
        ),
        (["visits.csv", *COLUMNS, *JUDGED, "--top", "ten"], "'ten' is not a list of whole numbers with commas"),
        (["visits.csv", *COLUMNS, *JUDGED, "--top", "10,,5"], "is not a list of whole numbers"),
        (["visits.csv", *COLUMNS, *JUDGED, "--top", "0"], "--top must be a whole number from 1"),
        (["visits.csv", *COLUMNS, *JUDGED, "--thin", "2"], "--thin must be a share above 0 and below 1, got 2.0"),
        (["visits.csv", *COLUMNS, *JUDGED, "--thin", "half"], "'half' is not a list of shares"),
        (["visits.csv", *COLUMNS, *JUDGED, "--time-unit", "month"], "--time-unit must be one of hour, day, week, none"),
        (["visits.csv", *COLUMNS, *JUDGED, "--jitter", "x"], "--jitter must be a length of time"),
        (["visits.csv", *COLUMNS, *JUDGED, "--rare-items", "0"], "--rare-items must be a whole number from 1"),
        (["visits.csv", *COLUMNS, *JUDGED, "--grid", "5"], "--grid must be a size such as 500m"),
        (["visits.csv", *COLUMNS, *JUDGED, "--grid", "5km"], "name them with --lat and --lon"),
        (["visits.csv", *COLUMNS, *JUDGED, "--lat", "north"], "need both columns of coordinates"),
        (["visits.csv", *COLUMNS, *JUDGED, "--grid", "5km", "--lat", "kind", "--lon", "east"], "no place on the Earth"),
        (
            ["visits.csv", *COLUMNS, *JUDGED, "--category", "sort"],
            "Column `sort` is missing from visits.csv; found: person",
        ),
        (["visits.csv", *COLUMNS, *JUDGED, "--category", "place"], "Column `place` of visits.csv is already the item"),
        (["visits.csv", *COLUMNS, *JUDGED, "--hierarchy", "h.csv:1"], "Hierarchy h.csv does not exist"),
        (["visits.csv", *COLUMNS, *JUDGED, "--only"], "--only needs a mitigation to be named"),
        (["visits.csv", *COLUMNS, *JUDGED, "--cost", "beauty"], "--cost must be one of information, items"),
        (["visits.csv", *COLUMNS, *JUDGED, "--budget", "0"], "--budget must be a whole number from 1"),
        (["visits.csv", *COLUMNS, *JUDGED, "--min-events", "99"], "lower --min-events"),
        (["visits.csv", *JUDGED, "--user", "person", "--item", "place", "--rotate", "day"], "--rotate day needs times"),
        (["visits.csv", *JUDGED, "--item", "place", "--user", "who"], "Column `who` is missing from visits.csv"),
        (["visits.csv", *COLUMNS, *JUDGED, "--out", "visits.csv/x"], "cannot be written to; name another with --out"),
    ],
)
def test_bad_requests_get_one_sentence_and_exit_code_2(entropie, visits, tmp_path, arguments, said):
    if "day" in arguments:
        pa_csv.write_csv(people().drop(["time"]), str(visits))
    ran = entropie("sweep", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["visits.csv"]


def test_an_input_is_never_overwritten(entropie, tmp_path):
    pa_csv.write_csv(people(), str(tmp_path / "sweep.csv"))
    before = (tmp_path / "sweep.csv").read_bytes()
    ran = entropie("sweep", "sweep.csv", *FEW, "--out", ".")
    assert ran.code == 2
    assert "is also an input and would be lost" in ran.err
    assert (tmp_path / "sweep.csv").read_bytes() == before


def test_table_of_windows(matches_golden):
    table = people().rename_columns(["user", "item", *people().column_names[2:]])
    found = windows(
        read_events(Source(table)).traces, 2 * 86_400, People(min_events=3), run=Run(replicates=20), min_people=36
    )
    matches_golden("windows.txt", windows_text([window.to_json() for window in found]) + "\n")
