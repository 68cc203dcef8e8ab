"""The main job, whole: events in; attacks, protection, verdict and report out.

assessment = entropie.assess("checkins.csv", profile="ema")
assessment.verdict
assessment.write("out")
"""

from __future__ import annotations

import datetime
import os
import time as clock
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from entropie import document as documents
from entropie.atomic import claimed
from entropie.data.prepare import Prepared, prepare
from entropie.errors import EntropieError, InvalidInput, InvalidParameter, interruptible, option
from entropie.findings import Findings, check_matchers, findings_of
from entropie.gate.judge import Gate, exit_code
from entropie.plan.expected import check_room, foretell
from entropie.progress import Progress, silent
from entropie.request import POINTS, REPLICATES, People, Request

FILES = (documents.FILE, "report.html")


@dataclass(frozen=True, slots=True, repr=False)
class Assessment(Findings):
    """How identifiable the people behind some events are, judged where a limit was named.

    document   all of it as plain values, as in assessment.json
    problem    what was asked for beside the attacks and could not be done; everything else stands
    """

    document: dict[str, Any] = field(default_factory=dict)
    problem: EntropieError | None = None

    @property
    def verdict(self) -> dict[str, Any] | None:
        """Decision, what it rests on, the number judged and the limit; None where no limit was named."""
        judged: dict[str, Any] | None = self.document["verdict"]
        return judged

    @property
    def exit_code(self) -> int:
        """0 the limit is met, waived or not named; 1 it is not met; 3 the data cannot tell."""
        return exit_code(self.verdict)

    def to_json(self) -> dict[str, Any]:
        """The document `assessment.json`: plain values, None instead of NaN."""
        return self.document

    def write(self, folder: str | os.PathLike[str] = "entropie-out", *, report: bool = True) -> tuple[Path, ...]:
        """Write assessment.json and report.html into a folder, made where it does not exist; returns the files.

        They appear together, readable by their owner alone; an old report goes where none is wanted.
        """
        with claimed(folder) as out:
            return self.write_into(out, report=report)

    def write_into(self, folder: Path, *, report: bool = True) -> tuple[Path, ...]:
        """Write both files into a folder that this run has claimed; the first also where the second cannot be made."""
        from entropie.page import write_both

        return write_both(folder, FILES, documents.text_of(self.document), self.document if report else None)

    def _lines(self) -> Iterator[str]:
        if self.verdict is not None:
            yield str(self.verdict["headline"])
        yield from Findings._lines(self)


@interruptible
def assess(
    events: object = None,
    *,
    source: str | None = None,
    query: str | None = None,
    table: str | None = None,
    format: Literal["csv", "jsonl", "parquet"] | None = None,
    user: str | None = None,
    item: str | Sequence[str] | None = None,
    time: str | None = None,
    time_format: str | None = None,
    time_zone: str | None = None,
    order: str | None = None,
    category: str | None = None,
    rating: str | None = None,
    min_rating: float | None = None,
    preset: str | None = None,
    grid: str | None = None,
    lat: str | None = None,
    lon: str | None = None,
    cells: str | None = None,
    stays: str | None = None,
    max_dirty_share: float = 0.01,
    min_events: int = 10,
    rule: Literal["date", "halves", "history"] | None = None,
    knowledge: Literal["partial", "maximum"] = "partial",
    train_events: int | None = None,
    target_events: int | None = None,
    scope: Sequence[str] = (),
    points: Sequence[int] = POINTS,
    matchers: Sequence[str] = (),
    known_events: Sequence[int] = (),
    point_errors: str | None = None,
    known: object = None,
    truth: object = None,
    parameters: str | os.PathLike[str] | None = None,
    dictionary: str | os.PathLike[str] | None = None,
    targets: int | Literal["all"] | None = None,
    control: bool = True,
    converge: bool = False,
    window: str | None = None,
    profile: str | None = None,
    limit: float | str | None = None,
    limit_name: str | None = None,
    fail_on: Literal["average", "worst"] | None = None,
    waiver: str | os.PathLike[str] | None = None,
    attacker: str | None = None,
    population: int | None = None,
    judge_population: bool = False,
    context: str | None = None,
    attempt_probability: float | None = None,
    not_released: bool = False,
    one_id_per_person: bool = False,
    made_by_mechanism: bool = False,
    accept_limited: bool = False,
    review_date: datetime.date | str | None = None,
    protect: float | None = None,
    title: str | None = None,
    organisation: str | None = None,
    author: str | None = None,
    purpose: str | None = None,
    recipient: str | None = None,
    data_version: str | None = None,
    seed: int = 0,
    replicates: int = REPLICATES,
    threads: int | None = None,
    memory: int | str | None = None,
    engine: Literal["local", "spark"] = "local",
    master: str | None = None,
    spark: Any = None,
    partitions: int | None = None,
    block_users: int | None = None,
    progress: Progress = silent,
) -> Assessment:
    """Assess an event table: a path, `-` for standard input, anything with `__arrow_c_stream__` (pandas, Polars,
    DuckDB, PyArrow), or a Spark DataFrame.

    `source` is the URL of a database instead (postgresql://, sqlite:, duckdb:), with a `query` or a `table`. Columns
    are guessed where not named; `item` may name several, `time_format` says how times are written (day-first,
    month-first, or a pattern of strftime) and `time_zone` whose clock they are of.
    `cells` (h3:9, grid:500m) makes items from the coordinates `lat` and `lon`, and `stays` (200m,20min) visits from raw
    positions. People with fewer than `min_events` events are excluded;
    `targets` people, drawn by a hash of their id, are attacked among all the others (everybody up to 50,000 people,
    else 20,000).
    `rule` and `knowledge` say what the attacker knows, `train_events` and `target_events` how much of it; `points`
    lists numbers of random events that attackers hold, `known_events` numbers of first events, and `scope` names the
    attackers that are judged. `known` is another file about the same people that the attacker holds, `truth` a map of
    its ids to those of the events; reports that `obfuscate` wrote are attacked with their `parameters` and, where items
    have names, their `dictionary`. `profile`, or `limit` with `limit_name` and `fail_on`, is what the risk is judged
    against, with `judge_population` the risk projected to `population` people; `protect` looks for noise that gives
    whoever sees one person's reports alone at least this error rate. With `engine="spark"` (or a
    DataFrame) the work is done on a cluster, with the same result; there `order` names the column that says which of a
    person's rows of equal time came first, and `memory` is what one task may fill. Same data and seed, same result.
    Every parameter is a field of `entropie.request`.
    """
    result = assessed(Request.of(events, {name: value for name, value in locals().items() if name != "events"}))
    if result.problem is not None:
        raise result.problem
    return result


def assessed(request: Request) -> Assessment:
    """Run one request from its events to its verdict; writes nothing."""
    begun = clock.perf_counter()
    gate, further = checked(request)
    if _on_spark(request):
        findings = _from_spark(request)
        gate.check_people(max(findings.users, findings.input["users"]))
        document, problem = findings.to_json(), None
    else:
        prepared = prepare(request)
        gate.check_people(max(prepared.split.train.users, prepared.input_facts["users"]))
        check_room(request, prepared.split)
        foretell(request, prepared.split)
        findings = findings_of(prepared, request, begun)
        document = findings.to_json()
        problem = further.added_to(document, findings, prepared)
    document["about"] = request.about.to_json()
    return Assessment(**findings.parts(), document=gate.applied(document), problem=problem)


def checked(request: Request) -> tuple[Gate, _Further]:
    """What the risk is judged against and what is asked for beside it: all that is refused before a row is read."""
    check_matchers(request.attackers.matchers)
    return Gate.of(request.verdict), _Further.of(request)


def check_named(events: object, source: str | None) -> None:
    """Refuse a command that names nothing to read."""
    if source is None and (not events or "\0" in str(events)):
        raise InvalidInput("No events are named; give a file, a folder, a pattern, - (standard input) or --source URL.")


def check_events(request: Request) -> None:
    """Refuse a job that names no events, or a cluster that it cannot reach from here."""
    check_named(request.source.events, request.source.source)
    if request.run.engine == "spark":
        from entropie.engine.spark.session import require

        if request.run.master is None:
            raise InvalidParameter(f"{option('engine')} spark needs {option('master')} URL.")
        require()


@dataclass(frozen=True, slots=True)
class _Further:
    """What is asked for beside the attacks: protection to a wanted error, windows of time."""

    request: Request
    wanted_error: float | None
    window_seconds: int | None

    @classmethod
    def of(cls, request: Request) -> _Further:
        """Check both before any work begins."""
        from entropie.mitigate.obfuscation import wanted_error_value
        from entropie.mitigate.windows import parse_window

        wanted, window = request.verdict.protect, request.attackers.window
        return cls(
            request,
            None if wanted is None else wanted_error_value(wanted),
            None if window is None else parse_window(window),
        )

    def added_to(self, document: dict[str, Any], findings: Findings, prepared: Prepared) -> EntropieError | None:
        """Put what was asked for into the document; returns what went wrong, so that nothing found before is lost."""
        try:
            if self.wanted_error is not None:
                self._protect(self.wanted_error, document, findings, prepared)
            if self.window_seconds is not None:
                self._windows(self.window_seconds, document, prepared)
        except EntropieError as problem:
            return problem
        return None

    def _protect(self, wanted: float, document: dict[str, Any], findings: Findings, prepared: Prepared) -> None:
        from entropie.mitigate.obfuscation import Wanted
        from entropie.mitigate.protect import as_it_is_of, protect_split

        goal, before = Wanted(wanted, scope=self.request.attackers.scope), as_it_is_of(findings.attackers)
        document |= protect_split(prepared.traces, prepared.split, goal, self.request.run, before).to_json()

    def _windows(self, length: int, document: dict[str, Any], prepared: Prepared) -> None:
        from entropie.mitigate.windows import windows

        people = People(max(2, self.request.people.min_events))
        released, asked = prepared.released, self.request
        each = windows(released, length, people, asked.attackers, asked.run, drawn=prepared.attacked)
        document["windows"] = [window.to_json() for window in each]


def _on_spark(request: Request) -> bool:
    """Whether the work is done on a cluster: asked for, or the events are a table of one."""
    kind = type(request.source.events)
    return request.run.engine == "spark" or (kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark."))


def _from_spark(request: Request) -> Findings:
    """What one machine would find, from a cluster."""
    alone = {
        "stays": request.source.stays,
        "source": request.source.source,
        "converge": request.attackers.converge,
        "window": request.attackers.window,
        "protect": request.verdict.protect,
        "threads": request.run.threads,
    }
    for name, value in alone.items():
        if value:
            raise InvalidParameter(
                f"{option(name)} runs on one machine only; leave it out, or run it there with few {option('targets')}."
            )
    from entropie.engine.spark.assessment import assess_on_spark

    request.run.progress("connecting", 0.0)
    return assess_on_spark(request)
