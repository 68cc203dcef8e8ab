"""A verdict in the terminal, and as pipelines read it: `--junit FILE`, `--markdown FILE`, checked before the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from entropie.cli import output
from entropie.cli.output import Attempts, View
from entropie.request import Request
from entropie.table_request import TableRequest
from entropie.words import plural

if TYPE_CHECKING:
    from entropie.assessment import Assessment
    from entropie.gate.judged import Judged
    from entropie.table import TableAssessment

Asked = TypeVar("Asked", bound=Request | TableRequest)
Found = TypeVar("Found", bound="Assessment | TableAssessment")


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Where to write them; None: nowhere."""

    junit: Path | None
    markdown: Path | None

    @property
    def paths(self) -> list[Path]:
        """The files named."""
        return [path for path in (self.junit, self.markdown) if path is not None]

    def write(self, attempts: Attempts, judged: Callable[[], Judged], title: str) -> None:
        """Write those that are wanted; one that fails keeps nothing else from being done."""
        from entropie.gate.junit import write_junit
        from entropie.gate.markdown import write_markdown

        for path, write in ((self.junit, write_junit), (self.markdown, write_markdown)):
            if path is not None:
                attempts.run(partial(write, path, [judged()], title))


@dataclass(frozen=True, slots=True)
class Work(Generic[Asked, Found]):
    """A job of a command: what runs it, the files that its result writes, and its text."""

    name: str
    run: Callable[[Asked], Found]
    files: tuple[str, ...]
    text: Callable[[Found, Sequence[Path], bool], str]


def judged(request: Asked, work: Work[Asked, Found], view: View) -> Found:
    """Run a request, write its files, print what it came to.

    Nothing found is lost for a file that cannot be written: each is tried, the result is printed, then it is said.
    """
    from entropie.atomic import claimed, publicly, written
    from entropie.gate.judged import Judged
    from entropie.gate.metrics import write_metrics

    wanted = request.output
    own = [] if wanted.out is None else [wanted.out / file for file in work.files]
    verdicts = Verdicts(wanted.junit, wanted.markdown)
    output.check_writable(request.inputs, [wanted.metrics, *verdicts.paths], own)
    tried = Attempts()
    with (
        publicly() if wanted.public else nullcontext(),
        nullcontext() if wanted.out is None else claimed(wanted.out),
    ):
        with output.stages(quiet=view.quiet) as progress:
            progress("reading", 0.0)
            how = replace(request.run, progress=progress, command=output.command())
            result = work.run(replace(request, run=how))
        if wanted.out is not None:
            tried.run(partial(result.write_into, wanted.out, report=wanted.report))
        if wanted.metrics is not None:
            tried.run(partial(write_metrics, wanted.metrics, result.document))
        verdicts.write(tried, lambda: Judged.of_assessment(result.document, kind=work.name), work.name)
    files = [file for file in own if file in written()]
    tried.run(lambda: view.show(lambda: result.document, lambda: work.text(result, files, view.verbose)))
    tried.raise_failed()
    return result


def conditions(verdict: Mapping[str, Any], more: str = "") -> list[str]:
    """What the decision rests on beside the number: first whatever narrows the assessment. `more` is how to get more
    people where they are needed.
    """
    from entropie.gate.people import DECLARED

    lines = []
    if verdict["limits"] and verdict["decision"] != "FAIL":  # no attacker who was left out makes a FAIL better
        lines.append(f"Rests on less than everything. {' '.join(verdict['limits'])}")
    if verdict["decision"] == "PASS (limited)":
        unless = "Exit code 3: a pipeline goes on only with --accept-limited."
        lines.append("Accepted by --accept-limited." if verdict["limits_accepted"] else unless)
    lines += [why for why in verdict["unsettled"] if why[1:].rstrip(".") not in verdict["headline"]]
    if verdict["decision"] != "FAIL":
        lines += [said for said in verdict["rests_on"] if said.startswith(DECLARED) and said not in verdict["limits"]]
    exposed = verdict["on_most_exposed"]
    if exposed not in (None, "PASS", verdict["decision"]) and verdict["profile"]["speaks_of"] == "average":
        lines.append(f"On average only; for the most exposed people: {exposed}.")
    if verdict["people_needed"] is not None:
        needed = plural(verdict["people_needed"], "person", "people")
        lines.append(f"About {needed} would be needed to tell{more}.")
    if verdict["waiver"] is not None and verdict["waiver"]["applies"]:
        lines.append(f"Waived until {verdict['waiver']['expires']}.")
    return lines


def rests_on(document: Mapping[str, Any]) -> list[str]:
    """The verdict with all that stands behind it, as lines of a terminal."""
    verdict = document["verdict"]
    lines = [verdict["sentence"], *verdict["rests_on"], f"Source of the limit: {verdict['profile']['source']}."]
    return [*map(output.paragraph, lines), f"Review by {document['review']['date']}."]


def files_text(files: Sequence[Path]) -> list[str]:
    """Where to read more, of the files that were written."""
    report = next((file for file in files if file.suffix == ".html"), None)
    if report is None:
        return [f"All numbers: {output.name(files[0])}"] if files else []
    from entropie.drawing import hindrance

    why = hindrance()
    return [f"Report: {output.name(report)}", *([] if why is None else [f"The report has no charts; {why}"])]
