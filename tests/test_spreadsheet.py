"""Cells that a spreadsheet must not run."""

from __future__ import annotations

import csv

import pytest

from entropie.cli.main import run
from entropie.spreadsheet import safe_cell


@pytest.mark.parametrize("cell", ["=1+1", "+49", "-cmd", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
def test_what_begins_like_a_formula_becomes_text(cell: str) -> None:
    assert safe_cell(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["bakery", "", "a=b", 3, -1.5, None, True])
def test_all_else_stays(cell: object) -> None:
    assert safe_cell(cell) is cell


def test_estimates_for_a_spreadsheet_hold_no_formula(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("place\n" + "=HYPERLINK(1)\nbakery\n" * 50)
    options = ["--column", "place", "--dictionary", "d.csv", "--mechanism", "rr", "--epsilon", "9", "--seed", "1"]
    assert run(["obfuscate", "visits.csv", *options, "--out", "sent.csv"]) == 0
    known = ["--parameters", "sent.csv.parameters.json", "--dictionary", "d.csv"]
    assert run(["estimate", "sent.csv", *known, "--out", "found.csv"]) == 0
    with (tmp_path / "found.csv").open(newline="") as file:
        assert {row["item"] for row in csv.DictReader(file)} == {"'=HYPERLINK(1)", "bakery"}
