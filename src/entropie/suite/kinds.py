"""The kinds of entries a suite may have. A new kind is a class with the face of `Job`, registered in `KINDS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from entropie import table
from entropie.assessment import FILES, assessed, check_events, checked
from entropie.data.events import open_events, open_source
from entropie.data.files import find_files
from entropie.data.roles import require_columns
from entropie.data.tables import open_table
from entropie.errors import EntropieError, InvalidInput
from entropie.gate.judged import Judged
from entropie.job import read_job
from entropie.progress import Progress
from entropie.request import Limits, Output, Request
from entropie.table_request import TableOutput, TableRequest

Layers = Sequence[tuple[str, Mapping[str, Any]]]
"""Tables of settings, each with the name that messages call it; later ones overrule earlier ones."""


class Answer(Protocol):
    """What a job came to: its document, and the files it writes into a folder that the run has claimed."""

    @property
    def document(self) -> dict[str, Any]:
        """All of it as plain values, with a `verdict`."""

    @property
    def problem(self) -> EntropieError | None:
        """What was asked for beside the verdict and could not be done."""

    def write_into(self, folder: Path, *, report: bool = True) -> tuple[Path, ...]:
        """Write the files."""


class Job(Protocol):
    """An entry's work."""

    @property
    def files(self) -> tuple[str, ...]:
        """The names of what it writes."""

    @property
    def inputs(self) -> list[Path]:
        """The files that it reads, none of which may be written to."""

    def check(self) -> float:
        """Refuse all that can be told before the work; returns how large the work is, such as bytes to read."""

    def run(self, tell: Progress, asked: str | None) -> Answer:
        """Do it, telling how far it is; `asked` is the command to be kept with the result."""

    def judged(self, answer: Answer, name: str) -> Judged:
        """What was decided."""


def _opened(layers: Layers) -> list[tuple[str, Mapping[str, Any]]]:
    """Tables of sections. The suite says what is written: a job file's own table for that counts for nothing.

    `config` beside the tables of a layer names a job file, which they overrule.
    """
    opened: list[tuple[str, Mapping[str, Any]]] = []
    for called, tables in layers:
        inner = dict(tables)
        config = inner.pop("config", None)
        if "output" in inner:
            raise InvalidInput(f"{called} may not have the table `output`: what a suite writes is said by `--out`.")
        if config is not None:
            if not isinstance(config, str) or not config:
                raise InvalidInput(f"{called}: `config` must be the name of a job file, got {config!r} instead.")
            job = read_job(config)
            opened.append((config, {name: table for name, table in job.items() if name != "output"}))
        opened.append((called, inner))
    return opened


@dataclass(frozen=True, slots=True)
class AssessJob:
    """What `assess --config job.toml` does, with a limit."""

    request: Request
    files: tuple[str, ...] = FILES

    @classmethod
    def of(cls, layers: Layers, options: Mapping[str, Any]) -> AssessJob:
        """From tables of sections."""
        return cls(replace(Request.of_tables(_opened(layers), options), output=Output()))

    @property
    def inputs(self) -> list[Path]:
        """Events, the attacker's files, parameters, the waiver."""
        return self.request.inputs

    def check(self) -> float:
        """Limits, matchers, files and columns."""
        _check_limited(self.request.verdict)
        if self.request.source.events == "-":
            raise InvalidInput("Standard input can be read by one job alone; name a file, or run `entropie assess -`.")
        check_events(self.request)
        checked(self.request)
        if self.request.run.engine == "local":
            open_events(self.request.source, memory=self.request.run.memory)
            if self.request.attackers.known is not None:
                kept = replace(self.request.source, source=None, query=None, table=None, name=None)
                open_source(replace(kept, events=self.request.attackers.known))
        for path in self.inputs:
            find_files(path)
        events = self.request.source.events
        return 0.0 if events is None else float(sum(file.stat().st_size for file in find_files(events)))

    def run(self, tell: Progress, asked: str | None) -> Answer:
        """Attack and judge."""
        return assessed(replace(self.request, run=replace(self.request.run, progress=tell, command=asked)))

    def judged(self, answer: Answer, name: str) -> Judged:
        """The verdict of the assessment."""
        return Judged.of_assessment(answer.document, name)


@dataclass(frozen=True, slots=True)
class AttributesJob:
    """What `attributes --config job.toml` does, with a limit."""

    request: TableRequest
    files: tuple[str, ...] = table.FILES

    @classmethod
    def of(cls, layers: Layers, options: Mapping[str, Any]) -> AttributesJob:
        """From tables of sections."""
        return cls(replace(TableRequest.of_tables(_opened(layers), options), output=TableOutput()))

    @property
    def inputs(self) -> list[Path]:
        """The table, that of the population, and the waiver."""
        return self.request.inputs

    def check(self) -> float:
        """Limits, the file and its columns."""
        _check_limited(self.request.verdict)
        table.checked(self.request)
        asked = self.request.table
        wanted = [*asked.columns, *([asked.id_column] if asked.id_column else [])]
        require_columns(wanted, open_table(asked.table).header)
        return float(sum(file.stat().st_size for path in self.inputs for file in find_files(path)))

    def run(self, tell: Progress, asked: str | None) -> Answer:
        """Count and judge."""
        return table.assessed(replace(self.request, run=replace(self.request.run, progress=tell, command=asked)))

    def judged(self, answer: Answer, name: str) -> Judged:
        """The verdict of the assessment."""
        return Judged.of_assessment(answer.document, name, "attributes")


def _check_limited(asked: Limits) -> None:
    if asked.profile is None and asked.limit is None:
        raise InvalidInput("There is no limit to judge by; name one with `profile` in its table `verdict`.")


KINDS: dict[str, Callable[[Layers, Mapping[str, Any]], Job]] = {
    "assess": AssessJob.of,
    "attributes": AttributesJob.of,
}
"""How the job of each kind is made from an entry's tables and the options of the command line."""
