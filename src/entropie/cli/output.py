"""How results are shown: numbers with units, tables, strict JSON, progress on standard error."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from entropie import words
from entropie.words import percent as percent

if TYPE_CHECKING:
    from entropie.measures.divergence import Divergence

WIDTH = 80
"""Columns of a terminal that everything fits."""


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


def shown_bits(pse: Divergence) -> str:
    """Bits, or the limit where the value lies beyond what the data can show."""
    over = pse.value_bits > pse.resolvable_bits
    return f"over {words.bits(pse.resolvable_bits)}" if over else words.bits(pse.value_bits)


def number(value: float | None) -> str:
    """A plain number, four significant digits."""
    if value is None or math.isinf(value):
        return "infinite"
    return f"{value:.4g}"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Columns that fit the terminal, the first `left` of them to the left and the others to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, header in enumerate(headers):
        drawn.add_column(header, justify="left" if place < left else "right", overflow="fold")
    for row in rows:
        drawn.add_row(*(_plain(cell) for cell in row))
    text = io.StringIO()
    Console(file=text, width=WIDTH, color_system=None, markup=False, highlight=False, emoji=False).print(drawn)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(text)


def paragraph(text: str) -> str:
    """Text broken into lines that fit a terminal."""
    return textwrap.fill(re.sub(r"[ \n]+", " ", text), WIDTH, break_long_words=False, break_on_hyphens=False)


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
def stage(title: str) -> Iterator[Callable[[str, float], None]]:
    """Progress of work that is one stage to whoever waits, whatever its own stages are called."""
    with stages() as tell:
        yield lambda stage, share: tell(title, share)


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
