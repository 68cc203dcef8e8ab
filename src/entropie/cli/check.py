"""`check`: several limits over several data sets, run in one go."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie.cli import output
from entropie.cli.options import (
    FILE,
    FOLDER,
    Command,
    given,
    junit_option,
    markdown_option,
    option,
    options_of,
    public_option,
    viewed,
)
from entropie.request import Output, Run

if TYPE_CHECKING:
    from entropie.document.suite import Check, CheckedEntry

_SCREEN = 25
EXIT_UNEXPECTED = 70


@click.command(cls=Command)
@click.argument("suite", type=FILE)
@option("--out", "Output", "Folder for all results, one in it per entry.", FOLDER, "DIR")
@options_of(Output, only=("report",))
@junit_option
@markdown_option
@public_option
@viewed()
@options_of(Run, only=("threads", "memory"))
def check(
    suite: Path,
    out: Path | None,
    report: bool | None,
    junit: Path | None,
    markdown: Path | None,
    view: output.View,
    **options: Any,
) -> int:
    """Judge all that SUITE lists, a TOML file: several limits, several data sets.

    An entry is a job as `assess --config` reads it, with a name. Files, columns, limits and outputs are checked before
    the first computation. The exit code is the worst of all entries: 70 one met an error of the program, else 2 one
    could not be judged, else 1 a limit is not met, else 3 the data cannot tell, else 0.

    \b
    [defaults.verdict]
    profile = "ema"
    [[entry]]
    name = "checkins"
    source = {events = "checkins.parquet", user = "user", item = "venue"}

    \b
    entropie check suite.toml --out checked --junit checked.xml
    """
    from entropie.suite.check import Written, checked
    from entropie.suite.suite import Suite

    read = Suite.read(suite, given(options))
    written = Written(out, report is not False, junit, markdown)
    say = (lambda sentence: None) if view.quiet else output.complain
    with nullcontext() if view.quiet else output.stages() as progress:
        tell = progress or (lambda stage, share: None)
        trace = output.trace if click.get_current_context().obj else (lambda problem: None)
        result, problem = checked(read, written, tell, say, output.command(), trace)
    view.show(result.to_json, lambda: check_text(result, out, verbose=view.verbose))
    if problem is not None:
        raise problem
    return result.exit_code


def check_text(result: Check, out: Path | None, *, verbose: bool) -> str:
    """The decision on all, a row for each entry, the worst first where not all fit on a screen."""
    shown = len(result.entries)
    text = _text(result, out, result.entries, verbose)
    while not verbose and shown > 1 and len(text.splitlines()) > _SCREEN:
        shown -= 1
        ranked = sorted(result.entries, key=_rank)[:shown]
        text = _text(result, out, [entry for entry in result.entries if entry in ranked], verbose)
    return text


def _rank(entry: CheckedEntry) -> int:
    from entropie.gate.judged import WORST_FIRST

    return WORST_FIRST.index(entry.exit_code)


def _text(result: Check, out: Path | None, entries: list[CheckedEntry], verbose: bool) -> str:
    from entropie.gate.markdown import cells, headline
    from entropie.words import plural

    judged = [_judged(entry) for entry in result.entries]
    rows = [[entry.name, entry.decision, *cells(_judged(entry))] for entry in entries]
    parts = [
        headline(judged),
        output.table(["entry", "decision", "re-identified", "95 % CI", "limit"], rows, left=2),
    ]
    hidden = len(result.entries) - len(entries)
    notes = [
        output.paragraph(f"{entry.name}: {entry.sentence}") for entry in entries if verbose or entry.decision == "ERROR"
    ]
    if verbose:
        notes = [
            "\n".join([note, *(output.paragraph(f"- {line}") for line in entry.rests_on)])
            for note, entry in zip(notes, entries, strict=True)
        ]
    if notes:
        parts.append("\n".join(notes))
    foot = [f"{plural(hidden, 'further entry', 'further entries')}, none worse: --verbose."] if hidden else []
    if result.exit_code == EXIT_UNEXPECTED:
        foot.append("Run again with --debug to see more.")
    if out is not None:
        foot.append(f"All numbers and reports: {output.name(out)}")
    return "\n\n".join([*parts, *(["\n".join(foot)] if foot else [])])


def _judged(entry: CheckedEntry) -> Any:
    from entropie.gate.judged import Judged

    return Judged(
        entry.name, entry.kind, entry.decision, entry.exit_code, entry.sentence, risk=entry.risk, limit=entry.limit
    )
