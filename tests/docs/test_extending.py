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


PROGRAM = """
import json, sys
from entropie.cli.main import run
for words in json.loads(sys.argv[1]):
    assert run(words) == 0, words
    print(end="\\f")
"""


def entropie(installed: Path, *commands: tuple[str, ...]) -> list[str]:
    """What each command prints, one after the other in one process that finds the package installed."""
    done = run(installed, "-c", PROGRAM, json.dumps(commands))
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\f")[:-1]


def test_the_contract_is_passed(installed: Path) -> None:
    done = run(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py")
    assert re.search(r"2\d passed", done.stdout), done.stdout


def test_both_run_by_their_names(installed: Path) -> None:
    rows = [f"{user},{user * 2 + step % 3},{step}" for user in range(40) for step in range(12)]
    (installed / "events.csv").write_text("\n".join(["user,item,time", *rows]) + "\n")
    columns = ("--user", "user", "--item", "item", "--time", "time")
    asked = ("assess", "events.csv", *columns, "--matcher", "overlap", "--no-control", "--json", "--no-report")
    crowd = ("--domain", "100", "--users", "40", "--epsilon", "1")
    promised = ("guarantee", "--mechanism", "ask", *crowd, "--json")
    sent = ("obfuscate", "events.csv", "--column", "item", "--domain", "100", "--mechanism", "ask", "--epsilon", "1")
    document = "reports.parquet.parameters.json"
    counted = ("estimate", "reports.parquet", "--parameters", document, "--json")

    printed = entropie(installed, asked, promised, (*sent, "--out", "reports.parquet"), counted)
    assessed, guaranteed, estimated = (json.loads(printed[place]) for place in (0, 1, 3))
    assert [attack["matcher"] for attack in assessed["attacks"]] == ["overlap"]
    assert assessed["attacks"][0]["identification_error"]["value"] < 0.9
    assert guaranteed["mechanism"]["kind"] == "ask"
    assert estimated["reports"] == len(rows)


def test_an_unknown_name_is_refused_with_the_known_ones(installed: Path) -> None:
    program = "from entropie.attack.matchers import matcher; matcher('nobody')"
    done = run(installed, "-c", program)
    assert "one of markov, visit, tfidf, cosine, bayes, pitman_yor, overlap, got 'nobody'" in done.stderr
