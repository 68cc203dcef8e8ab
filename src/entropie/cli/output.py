"""How results are shown: numbers with units, tables, strict JSON, progress on standard error."""

from __future__ import annotations

import contextlib
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from entropie.words import percent as percent


def print_json(document: Any) -> None:
    """One strict JSON document on standard output."""
    click.echo(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False))


def count(number: int) -> str:
    """1370637 as 1,370,637."""
    return f"{number:,}"


def bits(value: float | None) -> str:
    """An amount of information, four digits and the unit."""
    if value is None or math.isinf(value):
        return "no limit"
    return f"{value:.4g} bit" if value == 1 else f"{value:.4g} bits"


def plain_bits(value: float) -> str:
    """Bits with two decimals, for tables and sentences that name the unit; never -0.00."""
    return f"{round(value, 2) + 0.0:.2f}"


def number(value: float | None) -> str:
    """A plain number, four significant digits."""
    if value is None or math.isinf(value):
        return "infinite"
    return f"{value:.4g}"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned with spaces, the first to the left and the others to the right."""
    widths = [max(len(row[i]) for row in (headers, *rows)) for i in range(len(headers))]

    def line(row: Sequence[str]) -> str:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        return "  " + "   ".join(cells).rstrip()

    return "\n".join([line(headers), "  " + "-" * (sum(widths) + 3 * (len(widths) - 1)), *map(line, rows)])


def paragraph(text: str) -> str:
    """Text broken into lines that fit a terminal."""
    return click.wrap_text(re.sub(r"[ \n]+", " ", text), width=88)


@contextlib.contextmanager
def progress_bar(title: str) -> Iterator[Any]:
    """A callback for the share done; shows a bar with time left on standard error when that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)

        def show(share: float, stage: str | None = None) -> None:
            if stage is not None:
                bar.reset(task, description=stage)
            bar.update(task, completed=share)

        yield show


@contextlib.contextmanager
def stages() -> Iterator[Callable[[str, float], None]]:
    """Progress of several stages one after the other, each with its own bar on standard error."""
    with progress_bar("starting") as bar:
        shown = ""

        def tell(stage: str, share: float) -> None:
            nonlocal shown
            if bar is not None:
                bar(share, None if stage == shown else stage)
                shown = stage

        yield tell
