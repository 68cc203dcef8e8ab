"""How results are shown: numbers with units, tables, strict JSON, progress on standard error.

Everything that is printed goes through here. Names come from data and from whoever named a file: what a terminal would
obey, or a reader would see in another order, is spelled out.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import re
import shlex
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from entropie import words
from entropie.errors import EntropieError, OutputFailed, printable, without_password
from entropie.progress import EXPECTED

if TYPE_CHECKING:
    from entropie.document.measured import ScoreBits

_Made = TypeVar("_Made")
_LONG_WORD = re.compile(r"(\S{200})\S{200,}")
_COLOURS = {"PASS": "green", "FAIL": "red", "INCONCLUSIVE": "yellow"}
WIDTH = 80
"""Columns of a terminal that everything fits."""


def show(text: str) -> None:
    """Print lines on standard output, a decision at their beginning in its colour.

    Where nobody reads them any more, as after `| head`, they are lost in silence.
    """
    lines = "\n".join(map(printable, text.split("\n")))
    decision = next((word for word in _COLOURS if lines.startswith(word)), "")
    shown = click.style(decision, fg=_COLOURS[decision], bold=True) if decision else ""
    try:
        click.echo(shown + lines.removeprefix(decision))
    except BrokenPipeError:
        _to_nowhere(sys.stdout)
    except OSError as problem:
        _to_nowhere(sys.stdout)
        raise OutputFailed(f"Standard output could not be written: {problem.strerror or problem}.") from None


@dataclasses.dataclass(frozen=True, slots=True)
class View:
    """How much is printed, and in which form."""

    as_json: bool = False
    verbose: bool = False
    quiet: bool = False

    def show(self, document: Callable[[], Any], text: Callable[[], str]) -> None:
        """Print one of the two, or nothing."""
        if self.as_json:
            print_json(document())
        elif not self.quiet:
            show(text())


def nobody_reads() -> bool:
    """Whether whoever read standard output has gone; then nothing is printed there any more."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _to_nowhere(sys.stdout)
        return True
    return False


def complain(sentence: str) -> None:
    """Print one sentence on standard error, where that can be written to; no word of it fills the screen."""
    brief = _LONG_WORD.sub(r"\1...", printable(sentence))
    try:
        click.echo(f"entropie: {brief}", err=True)
    except OSError:
        _to_nowhere(sys.stderr)


def trace(problem: BaseException) -> None:
    """Print where an error comes from, where that can be written to; it may quote values of the data."""
    with contextlib.suppress(OSError):
        traceback.print_exception(problem)


def _to_nowhere(stream: TextIO) -> None:
    """Let what is still to be printed go nowhere, so that the end of the program does not fail over it."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class Ended(Exception):
    """What was asked for beside the result could not be done; the result has its own exit code."""

    def __init__(self, problem: EntropieError, code: int) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.code = code


class Attempts:
    """Things to do one by one: one that fails keeps none of the others from being done."""

    def __init__(self) -> None:
        self._failed: list[Exception] = []

    def run(self, work: Callable[[], _Made]) -> _Made | None:
        """Do it, or keep what went wrong for later."""
        try:
            return work()
        except Exception as problem:
            self._failed.append(problem)
            return None

    def raise_failed(self) -> None:
        """Raise all that went wrong as one; what nobody expected comes first."""
        for problem in self._failed:
            if not isinstance(problem, OutputFailed):
                raise problem
        if self._failed:
            raise OutputFailed(" ".join(map(str, self._failed)))


def check_writable(read: Iterable[Path | None], files: Iterable[Path | None], inside: Sequence[Path] = ()) -> None:
    """Refuse files that cannot be written, that are among those read, or the same; `inside` a folder yet to be made."""
    from entropie.atomic import check_file, refuse_overwriting

    wanted = [file for file in files if file is not None]
    refuse_overwriting(read, [*inside, *wanted])
    for file in wanted:
        check_file(file)


def command() -> str:
    """The command as it was given, to be kept with its results."""
    return printable(shlex.join(["entropie", *map(without_password, sys.argv[1:])]))


def name(text: object) -> str:
    """The name of a file or a column, on one line."""
    return printable(str(text))


def print_json(document: Any) -> None:
    """One strict JSON document on standard output; what cannot be printed as it is stands there as JSON's escapes."""
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    show("\n".join(map(_escaped, text.split("\n"))))


def _escaped(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(letter if printable(letter) == letter else json.dumps(letter)[1:-1] for letter in line)


def plain_bits(value: float) -> str:
    """Bits with two decimals, for tables and sentences that name the unit; never -0.00."""
    return f"{round(value, 2) + 0.0:.2f}"


def shown_bits(pse: ScoreBits) -> str:
    """Bits, or the limit where the value lies beyond what the data can show."""
    over = pse.value > pse.resolvable
    return f"over {words.bits(pse.resolvable)}" if over else words.bits(pse.value)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Columns that fit the terminal, the first `left` of them to the left and the others to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, header in enumerate(headers):
        drawn.add_column(_plain(header), justify="left" if place < left else "right", overflow="fold")
    for row in rows:
        drawn.add_row(*(_plain(cell) for cell in row))
    text = io.StringIO()
    Console(file=text, width=WIDTH, color_system=None, markup=False, highlight=False, emoji=False).print(drawn)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(printable(text))


def paragraph(text: str) -> str:
    """Text broken into lines that fit a terminal."""
    return textwrap.fill(printable(re.sub(r"[ \n]+", " ", text)), WIDTH, break_long_words=False, break_on_hyphens=False)


@contextlib.contextmanager
def stage(title: str, *, quiet: bool = False) -> Iterator[Callable[[str, float], None]]:
    """Progress of work that is one stage to whoever waits, whatever its own stages are called."""
    with stages(quiet=quiet) as tell:
        yield lambda stage, share: tell(title, share)


@contextlib.contextmanager
def stages(*, quiet: bool = False) -> Iterator[Callable[[str, float], None]]:
    """Progress of several stages one after the other, each with its own bar on standard error where that is a terminal.

    How long all of it will take is told even where there are no bars, unless nothing is to be said.
    """
    with contextlib.ExitStack() as stack:
        bar = stack.enter_context(_bar()) if sys.stderr.isatty() else None
        shown = ""

        def tell(stage: str, share: float) -> None:
            nonlocal shown
            if stage.startswith(EXPECTED):
                if not quiet:
                    complain(f"{stage}.")
            elif bar is not None:
                task = bar.task_ids[0]
                if stage != shown:
                    bar.reset(task, description=printable(stage))
                bar.update(task, completed=share)
                shown = stage

        yield tell


def _bar() -> Any:
    """A bar with the time left, for one stage after the other."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("starting", total=1.0)
    return bar
