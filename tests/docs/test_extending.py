"""The example of docs/extending.md as a package that is really installed: it passes the contract and it runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"
SOURCES = Path(__file__).resolve().parents[2] / "src"


def files_of(page: str) -> dict[str, str]:
    """Blocks that begin with a file's name; continued ones are put together."""
    files: dict[str, str] = {}
    for name, body in re.findall(r"```\w+\n# (\w+\.\w+)(?:, continued)?\n(.*?)```", page, re.DOTALL):
        files[name] = files.get(name, "") + body
    return files


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the package is installed into."""
    project, folder = tmp_path_factory.mktemp("mine"), tmp_path_factory.mktemp("site")
    for name, text in files_of(PAGE.read_text(encoding="utf-8")).items():
        (project / name).write_text(text, encoding="utf-8")
    quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([sys.executable, "-m", "pip", "install", *quiet, "--target", folder, project], check=True)
    (folder / "test_mine.py").write_bytes((project / "test_mine.py").read_bytes())
    return folder


def run(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(installed), str(SOURCES)])
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=installed, env=environment, capture_output=True, text=True, check=False)


def entropie(installed: Path, *arguments: str) -> str:
    done = run(installed, "-c", "from entropie.cli.main import main; main()", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_contract_is_passed(installed: Path) -> None:
    done = run(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py")
    assert re.search(r"2\d passed", done.stdout), done.stdout


def test_both_run_by_their_names(installed: Path) -> None:
    rows = [f"{user},{user * 2 + step % 3},{step}" for user in range(40) for step in range(12)]
    (installed / "events.csv").write_text("\n".join(["user,item,time", *rows]) + "\n")
    columns = ("--user", "user", "--item", "item", "--time", "time")
    asked = ("assess", "events.csv", *columns, "--matcher", "overlap", "--no-control", "--json", "--no-report")
    assessed = json.loads(entropie(installed, *asked))
    assert [attack["matcher"] for attack in assessed["attacks"]] == ["overlap"]
    assert assessed["attacks"][0]["identification_error"]["value"] < 0.9

    crowd = ("--domain", "100", "--users", "40", "--epsilon", "1")
    guaranteed = json.loads(entropie(installed, "guarantee", "--mechanism", "ask", *crowd, "--json"))
    assert guaranteed["mechanism"]["kind"] == "ask"
    sent = ("obfuscate", "events.csv", "--column", "item", "--domain", "100", "--mechanism", "ask", "--epsilon", "1")
    entropie(installed, *sent, "--out", "reports.parquet")
    document = "reports.parquet.parameters.json"
    estimated = json.loads(entropie(installed, "estimate", "reports.parquet", "--parameters", document, "--json"))
    assert estimated["reports"] == len(rows)


def test_an_unknown_name_is_refused_with_the_known_ones(installed: Path) -> None:
    program = "from entropie.attack.matchers import matcher; matcher('nobody')"
    done = run(installed, "-c", program)
    assert "one of markov, visit, tfidf, cosine, bayes, pitman_yor, overlap, got 'nobody'" in done.stderr
