"""A suite run: everything checked that can be, then one entry after the other, one exit code.

check = entropie.check("suite.toml", out="checked")
check.exit_code
"""

from __future__ import annotations

import datetime
import os
import time as clock
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from entropie._version import __version__
from entropie.atomic import FULL, check_file, check_folder, claimed, refuse_overwriting, write_file
from entropie.document.base import json_text
from entropie.document.suite import Check, CheckedEntry, CheckRun
from entropie.errors import EntropieError, OutputFailed, interrupted, interruptible, unexpected, without_password
from entropie.gate.judged import Judged, worst
from entropie.gate.junit import write_junit
from entropie.gate.markdown import write_markdown
from entropie.progress import EXPECTED, Progress, silent
from entropie.suite.kinds import Answer
from entropie.suite.suite import FILE, Entry, Suite, in_file, of_entry
from entropie.words import count, seconds


@dataclass(frozen=True, slots=True)
class Written:
    """What a run of a suite writes: a folder per entry with the whole in `check.json`, and what pipelines read."""

    out: Path | None = None
    report: bool = True
    junit: Path | None = None
    markdown: Path | None = None

    def check(self, suite: Suite) -> None:
        """Refuse what cannot be written, or would be written over what is read."""
        further = [path for path in (self.junit, self.markdown) if path is not None]
        own = [] if self.out is None else [self.out / FILE, *_files(suite, self.out)]
        read = [suite.path, *(path for entry in suite.entries for path in entry.job.inputs)]
        refuse_overwriting(read, [*own, *further])
        for path in further:
            check_file(path)
        for folder in [] if self.out is None else [self.out / entry.name for entry in suite.entries]:
            check_folder(folder)


def _files(suite: Suite, out: Path) -> list[Path]:
    return [out / entry.name / name for entry in suite.entries for name in entry.job.files]


@interruptible
def check(
    suite: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    report: bool = True,
    junit: str | os.PathLike[str] | None = None,
    markdown: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    progress: Progress = silent,
) -> Check:
    """Judge every entry of a suite file, and say what all of it comes to.

    Files, columns, limits and outputs are checked before the first computation: what is wrong with any entry is raised
    and nothing is written. An entry whose data turn out to be unusable later, or that meets an error of the program, is
    an ERROR in the result, and the others are judged all the same. `out` gets a folder per entry, `junit` and
    `markdown` what pipelines read.
    """
    places = [None if path is None else Path(path) for path in (out, junit, markdown)]
    written = Written(places[0], report, places[1], places[2])
    result, problem = checked(Suite.read(suite, {"threads": threads, "memory": memory}), written, progress)
    if problem is not None:
        raise problem
    return result


def checked(
    suite: Suite,
    written: Written,
    progress: Progress = silent,
    say: Callable[[str], None] = lambda sentence: None,
    command: str | None = None,
    trace: Callable[[Exception], None] = lambda problem: None,
) -> tuple[Check, OutputFailed | None]:
    """Run a suite and write what was asked for; the result, and what could not be written.

    `say` is told what each entry came to, and how long the others may take, `trace` of errors of the program.
    """
    begun = clock.perf_counter()
    left = _Left(suite, [_size(entry) for entry in suite.entries], progress)
    written.check(suite)
    failed: list[OutputFailed] = []
    run = _Run(written, command, failed, trace)
    with ExitStack() as stack:
        if written.out is not None:
            stack.enter_context(claimed(written.out))
        found = []
        for place, entry in enumerate(suite.entries):
            found.append(run.entry(entry, left.of(place)))
            say(left.after(place, found[-1][0]))
        result = _check(suite, found, written.out, command, clock.perf_counter() - begun)
        _write(result, [judged for judged, _ in found], written, failed)
    return result, OutputFailed(" ".join(map(str, failed))) if failed else None


def _size(entry: Entry) -> float:
    try:
        return max(1.0, entry.job.check())
    except EntropieError as problem:
        raise of_entry(entry.name, problem) from None
    except Exception as problem:
        if interrupted(problem):
            raise
        return 1.0  # the entry will meet it again, by itself


@dataclass(frozen=True, slots=True)
class _Run:
    """What the entries share, none of which keeps the others from being judged."""

    written: Written
    command: str | None
    failed: list[OutputFailed]
    trace: Callable[[Exception], None]

    def entry(self, entry: Entry, progress: Progress) -> tuple[Judged, Answer | None]:
        """Run an entry in a folder of its own; an old result goes where there is no new one."""
        begun = clock.perf_counter()
        with ExitStack() as stack:
            folder = None
            try:
                folder = self._claimed(entry, stack)
                judged, answer = self._answered(entry, folder, progress)
                return replace(judged, seconds=clock.perf_counter() - begun), answer
            except Exception as problem:
                if interrupted(problem):
                    raise
                for old in [] if folder is None else [folder / name for name in entry.job.files]:
                    with suppress(OSError):
                        old.unlink(missing_ok=True)
                return self._without(entry, problem, clock.perf_counter() - begun), None

    def _claimed(self, entry: Entry, stack: ExitStack) -> Path | None:
        try:
            return None if self.written.out is None else stack.enter_context(claimed(self.written.out / entry.name))
        except OutputFailed as problem:
            self.failed.append(problem)
            return None

    def _answered(self, entry: Entry, folder: Path | None, progress: Progress) -> tuple[Judged, Answer]:
        answer = entry.job.run(progress, self.command)
        judged = entry.job.judged(answer, entry.name)
        if answer.problem is not None:  # what was found stands; what was asked for beside it could not be done
            judged = replace(judged, details=(*judged.details, in_file(answer.problem)), code=judged.code or 2)
        if folder is not None:
            try:
                answer.write_into(folder, report=self.written.report)
            except OutputFailed as problem:
                self.failed.append(problem)
        return judged, answer

    def _without(self, entry: Entry, problem: Exception, seconds: float) -> Judged:
        """An entry that could not be judged, and why."""
        sentence, code = f"{problem}.", 2
        if isinstance(problem, OSError) and problem.errno in FULL:  # there was no room for what it puts aside
            problem = OutputFailed(f"{problem.strerror}: {problem.filename or 'a file of its own'}.")
        if isinstance(problem, OutputFailed):
            self.failed.append(problem)
        if isinstance(problem, EntropieError):
            sentence = in_file(problem)
        elif not isinstance(problem, OSError):
            sentence, code = unexpected(problem), 70
            self.trace(problem)
        return Judged.failed(entry.name, entry.kind, sentence, seconds, code)


def _check(
    suite: Suite, found: Sequence[tuple[Judged, Answer | None]], out: Path | None, command: str | None, took: float
) -> Check:
    return Check(
        schema="entropie.check/1",
        suite=str(suite.path),
        exit_code=worst(judged.code for judged, _ in found),
        entries=[_entry(judged, answer, out) for judged, answer in found],
        provenance=CheckRun(
            __version__,
            datetime.datetime.now(datetime.UTC).replace(microsecond=0),
            None if command is None else without_password(command),
            took,
        ),
    )


def _entry(judged: Judged, answer: Answer | None, out: Path | None) -> CheckedEntry:
    verdict: dict[str, Any] | None = None if answer is None else answer.document["verdict"]
    return CheckedEntry(
        name=judged.name,
        kind=judged.kind,
        decision=judged.decision,
        exit_code=judged.code,
        sentence=judged.sentence,
        rests_on=list(judged.details),
        risk=judged.risk,
        limit=judged.limit,
        verdict=verdict,
        folder=None if answer is None or out is None else str(out / judged.name),
        seconds=judged.seconds,
    )


def _write(result: Check, judged: Sequence[Judged], written: Written, failed: list[OutputFailed]) -> None:
    """Each is tried, whatever becomes of the others."""
    title = Path(result.suite).name
    works: list[Callable[[], None]] = []
    if written.out is not None:
        works.append(partial(write_file, written.out / FILE, json_text(result.to_json())))
    if written.junit is not None:
        works.append(partial(write_junit, written.junit, judged, title))
    if written.markdown is not None:
        works.append(partial(write_markdown, written.markdown, judged, title))
    for work in works:
        try:
            work()
        except OutputFailed as problem:
            failed.append(problem)


class _Left:
    """How far a suite is, and how long the rest will take if it takes as long by size as what is done."""

    def __init__(self, suite: Suite, sizes: Sequence[float], progress: Progress) -> None:
        self._names = [entry.name for entry in suite.entries]
        self._sizes = sizes
        self._progress = progress
        self._begun = clock.perf_counter()
        self._left = ""

    def of(self, place: int) -> Progress:
        """The progress of one entry: its stages under its name."""
        title = f"{self._names[place]} ({place + 1} of {count(len(self._names))}{self._left})"

        def tell(stage: str, share: float) -> None:
            told = f"{EXPECTED}{title}, {stage.removeprefix(EXPECTED)}" if stage.startswith(EXPECTED) else None
            self._progress(told or f"{title}: {stage}", share)

        return tell

    def after(self, place: int, judged: Judged) -> str:
        """What an entry came to, and what is left."""
        done, rest = sum(self._sizes[: place + 1]), sum(self._sizes[place + 1 :])
        took = clock.perf_counter() - self._begun
        self._left = f", about {seconds(took * rest / done)} left" if rest else ""
        return f"{judged.name}: {judged.decision} ({place + 1} of {count(len(self._names))}{self._left})."
