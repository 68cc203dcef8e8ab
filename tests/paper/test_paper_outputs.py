"""Files of a reproduction: tables that spreadsheets and pages can take, charts that can be drawn."""

from __future__ import annotations

import csv
import io

import pytest

from entropie import drawing
from entropie.paper.charts import axis, lines
from entropie.paper.outputs import csv_text, markdown_table, results_page
from entropie.paper.registry import FIGURES


def test_cells_that_look_like_formulas_are_quoted_and_numbers_are_not():
    text = csv_text([{"a": "=1+1", "b": -2.5}, {"a": "@x", "c": None}])
    assert list(csv.reader(io.StringIO(text))) == [["a", "b", "c"], ["'=1+1", "-2.5", ""], ["'@x", "", ""]]


def test_tables_leave_out_empty_columns_and_keep_digits_near_one():
    rows = [{"a": 1_370_637, "b": None, "c": 0.9999993}, {"a": 2, "b": None, "c": 0.25}]
    assert markdown_table(rows, ("a", "b", "c")).splitlines() == [
        "| a | c |",
        "|---|---|",
        "| 1,370,637 | 0.9999993 |",
        "| 2 | 0.25 |",
    ]


def test_the_page_names_the_machine_and_every_step(small):
    figure = FIGURES["1"]
    page = results_page([(figure, small.rows["1"])], small.steps, small.settings, "entropie reproduce 1")
    assert "Python" in page
    assert "`entropie reproduce 1`" in page
    assert all(f"| {step.name} |" in page for step in small.steps)
    assert "](fig1.svg)" in page


@pytest.mark.skipif(not drawing.available(), reason="charts need vl_convert")
def test_points_that_a_logarithmic_axis_cannot_show_are_left_out():
    rows = [{"x": 1.0, "y": value, "name": "n"} for value in (0.0, -1.0, 10.0, 1000.0, 1e5)]
    spec = lines(rows, axis("x", "x"), axis("y", "y", log=True), "name", description="words")
    assert [row["y"] for row in spec["layer"][0]["data"]["values"]] == [10.0, 1000.0, 1e5]
    assert spec["layer"][0]["encoding"]["y"]["axis"]["values"] == [10.0, 100.0, 1000.0, 1e4, 1e5]
    assert 'aria-label="words"' in drawing.svg(spec, 400)
