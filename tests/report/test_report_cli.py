"""`entropie report`: files in, files out, one sentence for everything that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from real_documents import real

from entropie import drawing
from entropie.cli.main import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "assessment.json").write_text(json.dumps(real("--matcher", "visit", "--matcher", "bayes")))
    return tmp_path


def test_the_page_goes_beside_the_assessment(folder, capsys):
    assert run(["report", "assessment.json"]) == 0
    assert capsys.readouterr().out == "Report: report.html\n"
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_json(folder, capsys):
    assert run(["report", "assessment.json", "--out", "here.html", "--json"]) == 0
    made = Path("here.html")
    assert json.loads(capsys.readouterr().out) == {
        "report": "here.html",
        "size_bytes": made.stat().st_size,
        "charts": True,
    }


@pytest.mark.usefixtures("folder")
def test_without_pictures(capsys, monkeypatch):
    monkeypatch.setattr(drawing, "hindrance", lambda: "for these run: pip install 'entropie[report]'")
    assert run(["report", "assessment.json"]) == 0
    assert capsys.readouterr().out == (
        "Report: report.html\nIt has no charts; for these run: pip install 'entropie[report]'\n"
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "Assessment bad.json does not exist; make one with `entropie assess`."),
        (b"{", "Assessment bad.json is not whole JSON (damaged or cut off); make it anew with `entropie assess`."),
        (b"\xff\xfe", "Assessment bad.json is not JSON; make it anew with `entropie assess`."),
        (b"[" * 100_000, "Assessment bad.json is not whole JSON (damaged or cut off); make it anew with `entropie assess`."),
        (b'{"users": NaN}', "Assessment bad.json is not whole JSON (damaged or cut off); make it anew with `entropie assess`."),
        (b"{}", "Assessment bad.json must have the schema entropie.assessment/1, got None instead; make it anew with `entropie assess`."),
        (b"[]", "Assessment bad.json must have the schema entropie.assessment/1, got None instead; make it anew with `entropie assess`."),
    ],
)  # fmt: skip
def test_bad_documents(folder, capsys, content, sentence):
    if content is not None:
        (folder / "bad.json").write_bytes(content)
    assert run(["report", "bad.json"]) == 2
    assert capsys.readouterr().err == f"entropie: {sentence}\n"
    assert not (folder / "report.html").exists()


def test_the_assessment_is_never_overwritten(folder, capsys):
    before = (folder / "assessment.json").read_bytes()
    assert run(["report", "assessment.json", "--out", "assessment.json"]) == 2
    assert "is also an input and would be lost" in capsys.readouterr().err
    assert (folder / "assessment.json").read_bytes() == before
