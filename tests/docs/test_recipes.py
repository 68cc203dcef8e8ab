"""Every block of docs/recipes.md is run, on tables where the answer is known."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import entropie as package

RECIPES = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"
BLOCK = re.compile(r"^<!-- recipe: (\w+) -->\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DAY = 86_400


def recipes() -> dict[str, tuple[str, str]]:
    return {name: (kind, text) for name, kind, text in BLOCK.findall(RECIPES.read_text(encoding="utf-8"))}


def table(loyalty: float, *, people: int = 80, names: tuple[str, str, str] = ("user", "item", "time")) -> pa.Table:
    """People are where everybody is at that hour, with probability `loyalty` at one of three places of their own.

    60 days, 24 events each. Without loyalty nobody can be told from anybody.
    """
    rng = np.random.default_rng(8)
    rows = []
    for person in range(people):
        own = rng.choice(100, 3, replace=False)
        for event in range(24):
            place = f"own {own[rng.integers(3)]}" if rng.random() < loyalty else f"place {event % 5}"
            rows.append((f"person-{person}", place, 1_600_041_600 + event * 60 * DAY // 24))
    return pa.table([list(column) for column in zip(*rows, strict=True)], names=list(names))


@pytest.fixture
def shell(tmp_path, tmp_path_factory):
    """Run a recipe in an empty folder, with this installation's `entropie` and `python` first on the path.

    As on an installation without the extra `report`: no recipe looks at the pictures, which take half of the time.
    """
    here = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": here + os.pathsep + os.environ["PATH"], "COLUMNS": "100"}
    stub = tmp_path_factory.mktemp("stub")
    (stub / "vl_convert.py").write_text("raise ImportError")
    environment["PYTHONPATH"] = os.pathsep.join([str(stub), os.environ.get("PYTHONPATH", "")])

    def run(name: str, words: str | None = None) -> subprocess.CompletedProcess[str]:
        kind, text = ("sh", words) if words is not None else recipes()[name]
        assert kind == "sh"
        return subprocess.run(
            ["sh", "-eu", "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )

    return run


def test_every_block_is_tested():
    text = RECIPES.read_text(encoding="utf-8")
    assert text.count("```") == 2 * len(recipes())
    assert recipes().keys() == {
        *("ci", "compare", "duckdb", "drift", "cron"),
        *("suite", "github", "gitlab", "precommit", "airflow", "dbt"),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loyalty", "people", "code", "words"),
    [
        (0.9, 80, 1, "Limit not met: stop."),
        (0.0, 400, 0, "Limit met: go on."),
        (0.0, 24, 3, "cannot tell: ask a person"),
    ],
)
def test_continuous_integration(shell, tmp_path, loyalty, people, code, words):
    pq.write_table(table(loyalty, people=people), tmp_path / "events.parquet")
    ran = shell("ci")
    assert (ran.returncode, ran.stderr) == (code, "")
    assert words in ran.stdout
    assert json.loads((tmp_path / "assessment" / "assessment.json").read_text())["verdict"]["profile"]["limit"] == 0.2
    assert "entropie_verdict{" in (tmp_path / "entropie.prom").read_text()


@pytest.mark.slow
def test_continuous_integration_without_data(shell):
    ran = shell("ci")
    assert ran.returncode == 2
    assert "The assessment did not run." in ran.stdout


@pytest.mark.slow
def test_compare_stops_a_rise(shell, tmp_path):
    for folder, loyalty in (("accepted", 0.0), ("assessment", 0.9)):
        found = package.assess(table(loyalty), matchers=["visit"], control=False)
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "assessment.json").write_text(json.dumps(found.to_json()))
    ran = shell("compare")
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "The risk has risen" in ran.stdout
    shutil.rmtree(tmp_path / "accepted")
    shutil.copytree(tmp_path / "assessment", tmp_path / "accepted")
    assert shell("compare").returncode == 0


@pytest.mark.slow
def test_export_from_duckdb(shell, tmp_path):
    visits = table(0.9, names=("person", "place", "seen_at"))
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as warehouse:
        warehouse.register("arrow", visits)
        warehouse.sql("create table visits as select *, 'x' as secret from arrow")
    ran = shell("duckdb")
    assert (ran.returncode, ran.stderr) == (1, "")
    assert pq.read_schema(tmp_path / "visits.parquet").names == ["person", "place", "seen_at"]
    assert json.loads((tmp_path / "assessment" / "assessment.json").read_text())["users"] == 80


@pytest.mark.slow
def test_drift(shell, tmp_path):
    accepted = tmp_path / "accepted" / "assessment.json"

    def month(loyalty: float) -> subprocess.CompletedProcess[str]:
        pq.write_table(table(loyalty), tmp_path / "events.parquet")
        return shell("drift")

    first = month(0.0)
    assert (first.returncode, first.stderr) == (0, "")
    assert re.search(r"^2020-09-14 2020-10-14 \d+ people: -?\d+\.\d\d bits \(.+ to .+\)$", first.stdout, re.MULTILINE)
    kept = accepted.read_text()
    risen = month(0.9)
    assert (risen.returncode, risen.stderr) == (1, "")
    assert "The risk has risen" in risen.stdout
    assert accepted.read_text() == kept
    assert (tmp_path / "new" / "assessment.json").exists()
    same = month(0.0)
    assert (same.returncode, same.stderr) == (0, "")
    assert accepted.read_text() != kept  # the new one, with its own date and time
    assert not (tmp_path / "new").exists()


def test_the_line_for_cron():
    """Five fields, then a command that runs the script of the recipe before it, as the text names it."""
    kind, text = recipes()["cron"]
    assert kind == "crontab"
    minute, hour, day, month, weekday, command = text.strip().split(maxsplit=5)
    assert 0 <= int(minute) < 60
    assert 0 <= int(hour) < 24
    assert (day, month, weekday) == ("1", "*", "*")
    assert subprocess.run(["sh", "-n", "-c", command], capture_output=True).returncode == 0
    script = command.split()[-1]
    assert f"Save it as `{script}`" in RECIPES.read_text(encoding="utf-8")


def commands() -> dict[str, str]:
    """What each pipeline runs of ours, read from its recipe by the parser of its format."""
    github, gitlab, hooks = (yaml.safe_load(recipes()[name][1]) for name in ("github", "gitlab", "precommit"))
    steps = [step["run"] for step in github["jobs"]["check"]["steps"] if "run" in step]
    calls = [
        call
        for call in ast.walk(ast.parse(recipes()["airflow"][1]))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "BashOperator"
    ]
    named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in calls[0].keywords}
    return {
        "github": f"code=0\n{steps[1]} || code=$?\n{steps[2]}\nexit $code",
        "gitlab": "\n".join(gitlab["privacy"]["script"]),
        "precommit": hooks["repos"][0]["hooks"][0]["entry"],
        "airflow": named["bash_command"],
        "dbt": recipes()["dbt"][1],
    }


@pytest.mark.slow
def test_pipelines_run_the_suite(shell, tmp_path):
    """Data that can be told apart stop every pipeline; what is installed before is not installed again."""
    (tmp_path / "suite.toml").write_text(recipes()["suite"][1])
    pq.write_table(table(0.9), tmp_path / "events.parquet")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "dbt").write_text("#!/bin/sh\n")
    (bin_folder / "dbt").chmod(0o755)
    for name, text in commands().items():
        words = f'export PATH="$PATH:{bin_folder}" GITHUB_STEP_SUMMARY="{tmp_path}/summary"\n{text}'
        ran = shell(name, words)
        assert ran.returncode == 1, (name, ran.stderr)
    assert "| FAIL | `events` |" in (tmp_path / "summary").read_text()
    assert (tmp_path / yaml.safe_load(recipes()["gitlab"][1])["privacy"]["artifacts"]["reports"]["junit"]).exists()
