"""docs/reproduction.md: the findings are what the tables on the page say, and the charts are there.

`UPDATE_DOCS=1` writes the findings anew from the tables and draws the charts that the tables hold all numbers of.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from entropie import drawing
from entropie.paper.charts import WIDTH
from entropie.paper.outputs import caption, title_of
from entropie.paper.registry import FIGURES

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "reproduction.md"
NOT_IN_THE_TABLES = {"4", "8"}
"""Figures whose charts show more numbers than the table: curves point by point, places one by one."""
LARGEST_CHART = 40_000


def part(name: str) -> str:
    """The section of a figure."""
    _, _, after = PAGE.read_text(encoding="utf-8").partition(f"## {title_of(FIGURES[name])}\n")
    return f"## {title_of(FIGURES[name])}\n{after.partition(chr(10) + '## ')[0]}"


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def number(cell: str) -> Any:
    if not cell:
        return None
    return int(cell.replace(",", "")) if re.fullmatch(r"\d{1,3}(,\d{3})*", cell) else float(cell)


def rows(name: str) -> list[dict[str, Any]]:
    """The table of a figure; a column with a word in it is a column of words."""
    lines = [line for line in part(name).splitlines() if line.startswith("|")]
    columns = cells(lines[0])
    table = [dict(zip(columns, cells(line), strict=True)) for line in lines[2:]]
    for column in columns:
        try:
            values = [number(row[column]) for row in table]
        except ValueError:
            continue
        for row, value in zip(table, values, strict=True):
            row[column] = value
    return table


@pytest.mark.parametrize("name", FIGURES)
def test_the_findings_are_what_the_table_says(name: str) -> None:
    told = caption(FIGURES[name], rows(name))
    if os.environ.get("UPDATE_DOCS"):
        old = part(name).partition("\n![")[0].partition("\n<details>")[0]
        PAGE.write_text(PAGE.read_text(encoding="utf-8").replace(old, told), encoding="utf-8")
    assert part(name).startswith(told)


@pytest.mark.parametrize("name", FIGURES)
def test_the_charts_are_small_and_there(name: str) -> None:
    charts = re.findall(r"^!\[(.+)\]\((figures/[\w-]+\.svg)\)$", part(name), re.MULTILINE)
    if name not in NOT_IN_THE_TABLES:
        specs = FIGURES[name].specs(rows(name))
        assert [words for words, _ in charts] == [spec["description"] for spec in specs.values()]
        if os.environ.get("UPDATE_DOCS") and drawing.available():
            for (_, file), spec in zip(charts, specs.values(), strict=True):
                (DOCS / file).write_text(drawing.svg(spec, WIDTH) + "\n", encoding="utf-8")
    assert charts
    for words, file in charts:
        text = (DOCS / file).read_text(encoding="utf-8")
        assert len(text) < LARGEST_CHART
        assert f'aria-label="{words}"' in text.replace("&gt;", ">")
