"""Score sets side by side: the page against the document, hostile names, and what is refused before anything is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from report_marks import at, percent, read

import entropie as package
from entropie.cli.main import run
from entropie.errors import InvalidInput
from entropie.page import Systems
from entropie.page.scores import trade_offs


@dataclass(frozen=True)
class Ran:
    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture
def entropie(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """The command line inside an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Ran:
        code = run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    return call


def written(path: Path, shift: float, people: int = 40) -> Path:
    scores = (
        np.random.default_rng(int(10 * shift)).normal(size=(people, people)).round(3) + shift * np.eye(people) + 20.0
    )
    names = [f"s{row}" for row in range(people)]
    lines = [",".join(["", *names])]
    lines += [",".join([name, *(f"{score:g}" for score in row)]) for name, row in zip(names, scores, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_two_systems_side_by_side(entropie, tmp_path: Path) -> None:
    face, finger = written(tmp_path / "face.csv", 2.0), written(tmp_path / "finger.csv", 3.0)
    ran = entropie("scores", face, "--system", f"left={finger}", "--out", "out")
    assert ran.exit_code == 0, ran.stderr
    assert "Report: out/report.html" in ran.stdout
    lines = [line for line in ran.stdout.splitlines() if line.startswith(("face", "left"))]
    document = json.loads(Path("out/scores.json").read_text())
    assert [one["name"] for one in document["systems"]] == ["face", "left"]
    for line, one, path in zip(lines, document["systems"], (face, finger), strict=True):
        assert one["measured"] == package.scores(path).to_json()
        assert percent(1.0 - one["measured"]["identification_error"]["value"]) in line
        assert percent(one["measured"]["equal_error_rate"]["value"]) in line
    page = Path("out/report.html").read_text()
    assert json.loads(read(page).data) == document
    marks = read(page).marks
    assert len(marks) > 30
    for place, form, text in marks:
        if form == "percent":
            assert text == percent(at(document, place)), place
        if form == "right":
            assert text == percent(1.0 - at(document, place)), place
    assert oct(Path("out/report.html").stat().st_mode)[-3:] == "600"


def test_one_system_is_printed_as_ever_and_written_too(entropie, tmp_path: Path) -> None:
    face = written(tmp_path / "face.csv", 2.0)
    alone = entropie("scores", face)
    beside = entropie("scores", face, "--name", "camera", "--out", "out")
    assert beside.stdout.startswith(alone.stdout)
    assert json.loads(Path("out/scores.json").read_text())["systems"][0]["name"] == "camera"
    assert entropie("scores", face, "--json").stdout == entropie("scores", face, "--out", "out", "--json").stdout


def test_lists_have_bits_and_rates_and_nobody_to_identify(entropie, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    for name, mean in (("genuine", 2.0), ("impostor", 0.0)):
        (tmp_path / f"{name}.txt").write_text("\n".join(f"{x:.4f}" for x in rng.normal(mean, 1, 300)))
    lists = f"lists={tmp_path / 'genuine.txt'},{tmp_path / 'impostor.txt'}"
    ran = entropie("scores", written(tmp_path / "face.csv", 2.0), "--system", lists, "--out", "out", "--json")
    found = json.loads(ran.stdout)
    assert found == json.loads(Path("out/scores.json").read_text())
    assert found["systems"][1]["measured"]["identification_error"] is None
    assert "lists, not people" in Path("out/report.html").read_text()


def test_every_system_has_a_curve_of_its_own(tmp_path: Path) -> None:
    measured = {f"s{n}": package.scores(written(tmp_path / f"{n}.csv", n)) for n in (1.0, 2.0, 3.0)}
    (spec,) = trade_offs(Systems.of(measured), 700)
    lines = [one["mark"] for one in spec["layer"] if one["mark"].get("interpolate") == "step-before"]
    assert len({one["color"] for one in lines}) == 3
    for one, layer in zip(
        measured.values(),
        [one for one in spec["layer"] if one["mark"].get("interpolate") == "step-before"],
        strict=True,
    ):
        assert len(layer["data"]["values"]) == len(one.to_json()["det"])


def test_no_name_breaks_out_of_the_page(tmp_path: Path) -> None:
    nasty = "</script><img src=x onerror=y>\x1b[31m\u202e"
    Systems.of({nasty: package.scores(written(tmp_path / "a.csv", 2.0))}).write(tmp_path / "out")
    tags = read((tmp_path / "out" / "report.html").read_text()).tags
    assert not any(tag == "img" for tag, _ in tags)
    assert [one.get("type") for tag, one in tags if tag == "script"] == ["application/json"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--system", "finger"], "NAME=PATH"),
        (["--system", "=a.csv"], "NAME=PATH"),
        (["--system", "face=face.csv"], "Two systems are called face"),
        (["--system", "x=gone.csv"], "There is no file or directory gone.csv"),
        ([f"--system=s{n}=face.csv" for n in range(5)], "1 to 5 systems, got 6"),
        (["--name", "x" * 61], "1 to 60 characters"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_a_sentence(entropie, tmp_path: Path, given: list[str], said: str) -> None:
    written(Path("face.csv"), 2.0)
    ran = entropie("scores", "face.csv", *given, "--out", "out")
    assert ran.exit_code == 2
    assert said in ran.stderr.replace("\n", " ").replace("\N{NO-BREAK SPACE}", " ")
    assert not Path("out").exists()


def test_nothing_is_no_report() -> None:
    with pytest.raises(InvalidInput, match="1 to 5 systems"):
        Systems.of({})
