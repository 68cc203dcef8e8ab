"""Every command that is printed as the one to give next runs as it stands, and answers the question it is for."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

NEXT = re.compile(r"^(Sweep|Apply|Confirm|Lower):\s+entropie ((?:.*\\\n)*.*)$", re.MULTILINE)
FEW = ("--only", "--budget", "3", "--matcher", "visit", "--limit", "0.97", "--limit-name", "our own", "--fail-on",
       "average", "--one-id-per-person", "--accept-limited")  # fmt: skip


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A file as people have them: German dates, semicolons, blanks in its name and in that of a column."""
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(40), 15)
    place = np.where(rng.random(600) < 0.6, person % 12, rng.integers(0, 12, 600))
    day = np.datetime64("2024-01-01T00:00") + rng.integers(0, 60 * 24 * 60, 600).astype("timedelta64[m]")
    when = [f"{one.day:02d}.{one.month:02d}.{one.year} {one:%H:%M}" for one in day.tolist()]
    table = pa.table({"the person": [f"p{n}" for n in person], "Ort": [f"o{n}" for n in place], "wann": when})
    path = tmp_path / "our visits.csv"
    pa_csv.write_csv(table, str(path), pa_csv.WriteOptions(delimiter=";"))
    return path


def followed(entropie: Callable, text: str) -> dict[str, str]:
    """Run every command of a text; what each printed, by what it is for."""
    said = {}
    for what, told in NEXT.findall(text):
        assert max(map(len, told.splitlines())) <= 80
        command = told.replace("\\\n", "")  # as a shell reads it
        ran = entropie(*shlex.split(command), *(["--budget", "1"] if what == "Sweep" else []))
        assert ran.code in (0, 1, 3), (command, ran.err)
        assert not ran.err.startswith("entropie:")
        said[what] = ran.out
    return said


def test_from_events_to_a_file_that_is_confirmed(entropie: Callable, visits: Path) -> None:
    columns = ("--user", "the person", "--item", "Ort", "--time", "wann")
    first = entropie("assess", visits.name, *columns, "--matcher", "visit", "--limit", "0.2", "--limit-name", "our own",
                     "--fail-on", "worst", "--one-id-per-person")  # fmt: skip
    assert first.code == 1
    assert set(followed(entropie, first.out)) == {"Sweep"}
    found = entropie("sweep", visits.name, *columns, *FEW, "--top", "3", "--time-unit", "none", "--out", "found")
    assert found.code == 0, found.out
    said = followed(entropie, found.out)
    assert set(said) == {"Apply"}
    confirmed = followed(entropie, said["Apply"])["Confirm"]
    assert confirmed.startswith("PASS")


@pytest.mark.parametrize(
    "steps",
    [
        {"time_unit": "none"},
        {"time_unit": "week", "rotate": "week"},
        {"rare_items": 6, "exposed": 0.1, "thin": 0.3},
        {"jitter": "2h", "scatter": 0.5, "first": 3},
    ],
    ids=lambda steps: "+".join(steps),
)
def test_what_is_written_says_how_to_confirm_it(entropie: Callable, visits: Path, steps: dict[str, str]) -> None:
    named = ("--user", "the person", "--item", "Ort", "--time", "wann")
    assert entropie("sweep", visits.name, *named, *FEW, "--time-unit", "none", "--out", "found").code == 0
    assert set(followed(entropie, planned(entropie, visits, steps).out)) == {"Confirm"}


def test_events_that_each_have_a_pseudonym_are_not_to_be_assessed(entropie: Callable, visits: Path) -> None:
    named = ("--user", "the person", "--item", "Ort", "--time", "wann")
    assert entropie("sweep", visits.name, *named, *FEW, "--time-unit", "none", "--out", "found").code == 0
    made = planned(entropie, visits, {"first": 1})
    assert "Manifest:" in made.out
    assert "Confirm:" not in made.out


def planned(entropie: Callable, visits: Path, steps: dict[str, object]) -> Any:
    """Apply other steps than those of the plan that was found."""
    plan = visits.parent / "found" / "plan.json"
    wanted = [{"mitigation": name, "setting": setting} for name, setting in steps.items()]
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {"steps": wanted}))
    made = entropie("apply", "found/plan.json", visits.name, "--out", "safer file.csv")
    assert made.code == 0, made.err
    return made


def test_from_a_table_to_one_that_is_confirmed(entropie: Callable, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    people = {"age": rng.integers(18, 80, 300), "home town": [f"t{n}" for n in rng.integers(0, 6, 300)]}
    pa_csv.write_csv(pa.table({**people, "job": [f"j{n}" for n in rng.integers(0, 4, 300)]}), str(tmp_path / "t.csv"))
    first = entropie("attributes", "t.csv", "--columns", "age,home town", "--profile", "ema", "--verbose")
    assert first.code == 1
    assert "highest risk" in followed(entropie, first.out)["Lower"]
    found = entropie("generalise", "t.csv", "--columns", "age,home town", "--k", "5", "--sensitive", "job",
                     "--l-diversity", "2", "--out", "found")  # fmt: skip
    said = followed(entropie, found.out)
    assert followed(entropie, said["Apply"])["Confirm"].count("job")
