"""The job as one frozen value, checked once: where events come from, which people, how they are split, who attacks,
what is wanted, who answers for it, what is written, how to run.

Command line, Python and a TOML file all make this value (`Request.of`, `Request.read`). Every option is declared here
and nowhere else: its name, its kind, its default and the line that explains it.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

from entropie.errors import InvalidParameter, option
from entropie.job import Job, free_of
from entropie.kinds import declare
from entropie.progress import Progress, silent
from entropie.quantities import PointErrors
from entropie.theory import checks

LARGEST_THREADS = 256
REPLICATES = 1000
"""Bootstrap replicates behind an interval."""

RULES = ("date", "halves", "history")
TIME_UNITS = ("s", "ms", "us", "ns", "order")
ATTACKERS = ("points", "profile", "crowd", "joint", "known-file", "reports")
"""Attackers by what they know, as `scope` names them."""

POINTS, MOST_POINTS = (1, 2, 4, 8), 64
"""Numbers of points that are tried unless told otherwise, and the most."""


MATCHERS_ALONE = ("profile",)
"""The scope in which matchers may stand for the attackers of known events, the crowd and all traces, on a cluster."""

MANY_TARGETS, USUAL_TARGETS = 50_000, 20_000
"""Of more people than the first, the second number are attacked unless asked otherwise."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the events come from and how their columns are read.

    events   a path (file, folder, pattern; `-`: standard input), anything with `__arrow_c_stream__`, a Spark DataFrame
    source   a database instead: its URL, with a query or a table
    name     what messages and reports call it, where it has no path
    header   whether text begins with a line of names; told from that line if None
    order    column that orders a person's rows of equal time, where a table has no order of its own (Spark)
    """

    events: Any = None
    name: str | None = None
    header: bool | None = None
    source: str | None = declare(None, "Read a database: postgresql://, sqlite:, duckdb:.", metavar="URL")
    query: str | None = declare(None, "What to select there (SQL).", metavar="SQL")
    table: str | None = declare(None, "Or the table to read there.", metavar="T")
    format: Literal["csv", "jsonl", "parquet"] | None = declare(
        None, "Of EVENTS: csv, jsonl, parquet. [told by it]", "choice", "KIND", choices=("csv", "jsonl", "parquet")
    )
    user: str | None = declare(None, "Column that holds the person.", metavar="C")
    item: str | None = declare(None, "Column of the item; several: city,shop.", "columns", "C,...")
    time: str | None = declare(None, "Column that holds the time. [none: order of rows]", metavar="C")
    time_format: str | None = declare(None, "Of times: s, ms, order, day-first, '%d.%m.%y'.", metavar="HOW")
    time_zone: str | None = declare(None, "Zone of times that name none. [UTC]", metavar="NAME")
    category: str | None = declare(None, "Column that holds the category of the item.", metavar="C")
    rating: str | None = declare(None, "Column that holds a rating, for --min-rating.", metavar="C")
    min_rating: float | None = declare(None, "Exclude rows with a lower rating.", "number", "R")
    preset: str | None = declare(None, "A published data set: its columns and rules.", metavar="NAME")
    grid: str | None = declare(None, "Size of a map cell, such as 500m (geolife).", metavar="SIZE")
    lat: str | None = declare(None, "Column that holds the latitude, for --cells.", metavar="C")
    lon: str | None = declare(None, "Column that holds the longitude, for --cells.", metavar="C")
    cells: str | None = declare(None, "Items are map cells: h3:9, or grid:500m.", metavar="KIND")
    stays: str | None = declare(None, "Visits from raw positions: 200m,20min.", metavar="D,T")
    order: str | None = None
    max_dirty_share: float = declare(0.01, "Allowed share of unreadable rows.", "share", "SHARE")

    def __post_init__(self) -> None:
        if self.min_rating is not None:
            checks.real_number("min_rating", self.min_rating, "a finite number", -1e308, 1e308)
        if self.format not in (None, "csv", "jsonl", "parquet"):
            raise InvalidParameter.among("format", ("csv", "jsonl", "parquet"), self.format)
        checks.real_number("max_dirty_share", self.max_dirty_share, "a share from 0 to 1", 0.0, 1.0)

    @property
    def roles(self) -> dict[str, str | None]:
        """The column named for each role."""
        return {role: getattr(self, role) for role in ("user", "item", "time", "category", "rating")}

    @property
    def times_are(self) -> str | None:
        """The unit of times that are numbers, or `order`, where the format says no more."""
        return self.time_format if self.time_format in TIME_UNITS else None


@dataclass(frozen=True, slots=True)
class People:
    """Which people are assessed."""

    min_events: int = declare(10, "Exclude people with fewer events.", "count", "N")

    def __post_init__(self) -> None:
        checks.whole_number("min_events", self.min_events, at_least=0)


@dataclass(frozen=True, slots=True)
class SplitRule:
    """How each trace is split into what the attacker knows and what is attacked.

    Rule `date`: events before one date for all are known, those from it on are attacked. Rule `halves`: the attacker
    knows the first half of each trace, the second is attacked. Rule `history` (the paper's rating history): the whole
    trace is attacked, the attacker knows its first events. Maximum knowledge is of the attacked events themselves.
    None: by date where the times allow it (see `entropie.data.split`), else halves.
    """

    rule: Literal["date", "halves", "history"] | None = declare(
        None, "Attack what follows a date, the 2nd half, or all.", "choice", "RULE", choices=RULES
    )
    knowledge: Literal["partial", "maximum"] = declare(
        "partial", "partial: of other events; maximum: of these.", "choice", "HOW", choices=("partial", "maximum")
    )
    train_events: int | None = declare(None, "The attacker knows the first N events only.", "count", "N")
    target_events: int | None = declare(None, "Attack the first N events only.", "count", "N")
    cut: int | None = None  # the first second that is attacked under rule date; found in the data

    def __post_init__(self) -> None:
        if self.rule is not None and self.rule not in RULES:
            raise InvalidParameter.among("rule", RULES, self.rule)
        if self.knowledge not in ("partial", "maximum"):
            raise InvalidParameter.among("knowledge", ("partial", "maximum"), self.knowledge)
        for name in ("train_events", "target_events"):
            if getattr(self, name) is not None:
                checks.whole_number(name, getattr(self, name), at_least=1)
        if self.rule == "history" and self.knowledge == "partial" and self.train_events is None:
            raise InvalidParameter.of("train_events", "given under rule history with partial knowledge", None)


@dataclass(frozen=True, slots=True)
class Attackers:
    """Which attackers are run.

    matchers       the ways to compare traces; all of them where empty
    known_events   numbers of events to show weaker attackers for
    targets        how many people are attacked, each among everybody; None: everybody, `USUAL_TARGETS` of many
    point_errors   how wrong points may be; they are taken to be right where None
    known, truth   another file about the same people, and who is who in both; the same ids where None
    parameters     parameter document of the reports attacked, where it is not beside them
    dictionary     item names behind the codes of reports, where the known file has names
    control        also attack with identities shuffled, where there is nothing to find
    scope          attackers that are judged, by name; all of them where empty
    points         numbers of points that the attacker of points holds
    """

    matchers: tuple[str, ...] = declare((), "Matcher to run; repeatable. [all]", "texts", "M", spelled="matcher")
    known_events: tuple[int, ...] = declare((), "Add an attacker who knows N events; repeatable.", "counts", "N")
    control: bool = declare(True, "Skip the control with shuffled identities.", "flag", spelled="no-control")
    converge: bool = declare(False, "Show information against number of people.", "flag")
    window: str | None = declare(None, "Attack each window of time too, such as 30d.", metavar="LENGTH")
    targets: int | Literal["all"] | None = declare(
        None, "Attack N people among everybody. [20,000 of many]", "some", "N|all"
    )
    scope: tuple[str, ...] = declare((), "Attacker to judge; repeatable. [all]", "texts", "NAME")
    points: tuple[int, ...] = declare(POINTS, "Numbers of known events; repeatable.", "counts", "N")
    point_errors: PointErrors | None = declare(None, "Points may be wrong, as in time=30min,items=10%.", "errors", "E")
    known: Any = declare(None, "The attacker's own file about the same people.", "table", "FILE")
    truth: Any = declare(None, "Who is who: its ids, those of EVENTS. [same ids]", "table", "FILE")
    parameters: Path | None = declare(None, "Parameters of reports. [beside EVENTS]", "path", "FILE")
    dictionary: Path | None = declare(None, "Item names and codes of reports.", "path", "FILE")

    def __post_init__(self) -> None:
        object.__setattr__(self, "matchers", tuple(dict.fromkeys(self.matchers)))
        object.__setattr__(self, "scope", tuple(dict.fromkeys(self.scope)))
        for name in self.scope:
            if name not in ATTACKERS:
                raise InvalidParameter.among("scope", ATTACKERS, name)
        for name, most in (("known_events", checks.LARGEST_SIZE), ("points", MOST_POINTS)):
            numbers = {checks.whole_number(name, number, at_least=1, at_most=most) for number in getattr(self, name)}
            object.__setattr__(self, name, tuple(sorted(numbers)))
        if self.truth is not None and self.known is None:
            raise InvalidParameter(f"{option('truth')} goes with {option('known')}, and only there.")
        if self.targets not in (None, "all"):
            checks.whole_number("targets", self.targets, at_least=2)

    def attacked(self, people: int) -> int:
        """How many of so many people are attacked."""
        if self.targets == "all" or (self.targets is None and people <= MANY_TARGETS):
            return people
        return min(people, USUAL_TARGETS if self.targets is None else self.targets)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the risk is judged against, what is declared for that, and which protection is wanted.

    pinned   set in a file: options beside it may not change what is judged
    """

    profile: str | None = declare(None, "Judge the risk against this published limit.", metavar="NAME")
    limit: float | None = declare(None, "Your own limit, such as 10%; needs the next two.", "share", "SHARE")
    limit_name: str | None = declare(None, "Where your own limit comes from.", metavar="TEXT")
    fail_on: Literal["average", "worst"] | None = declare(
        None, "Judge the average, or the worst (most exposed).", "choice", "WHOM", choices=("average", "worst")
    )
    waiver: Path | None = declare(None, "Waiver for a limit that is not met (TOML).", "path", "FILE")
    attacker: str | None = declare(None, "Declare who might try.", metavar="TEXT")
    population: int | None = declare(None, "Declare how many people there are to tell apart.", "count", "N")
    judge_population: bool = declare(False, "Judge the share projected to --population.", "flag")
    context: str | None = declare(None, "Declare how the data are released.", metavar="TEXT")
    attempt_probability: float | None = declare(None, "Declare how likely an attempt is.", "share", "P")
    not_released: bool = declare(
        False, "Declare that what was left out stays private.", "flag", spelled="excluded-not-released"
    )
    one_id_per_person: bool = declare(False, "Declare that no person has several ids.", "flag")
    made_by_mechanism: bool = declare(False, "Declare that reports are of their mechanism.", "flag")
    accept_limited: bool = declare(False, "Let a limited PASS exit with 0.", "flag")
    pinned: bool = False
    review_date: datetime.date | None = declare(None, "When to review. [in a year]", "date", "DATE")
    protect: float | None = declare(None, "Find noise for this error of who sees one person.", "share", "ERROR")


@dataclass(frozen=True, slots=True)
class About:
    """Who answers for the assessment, for the sign-off of its report."""

    title: str | None = declare(None, "Title of the report.", metavar="TEXT")
    organisation: str | None = declare(None, "Organisation that holds the data.", metavar="TEXT")
    author: str | None = declare(None, "Who made the assessment.", metavar="TEXT")
    purpose: str | None = declare(None, "What the data are released for.", metavar="TEXT")
    recipient: str | None = declare(None, "Who will receive the data.", metavar="TEXT")
    data_version: str | None = declare(None, "Version or extract of the data.", metavar="TEXT")

    def to_json(self) -> dict[str, str | None]:
        """The documented object `about`."""
        return {declared.name: getattr(self, declared.name) for declared in fields(self)}


@dataclass(frozen=True, slots=True)
class Output:
    """What is written."""

    out: Path = declare(Path("entropie-out"), "Folder for both files.", "path", "DIR")
    report: bool = declare(True, "Write no report.html.", "flag", spelled="no-report")
    metrics: Path | None = declare(None, "Also write the numbers for Prometheus.", "path", "FILE")
    junit: Path | None = declare(None, "Also write the verdict as JUnit XML.", "path", "FILE")
    markdown: Path | None = declare(None, "Also write the verdict for a pull request.", "path", "FILE")
    public: bool = declare(False, "Let others read the files (0644, not 0600).", "flag")


@dataclass(frozen=True, slots=True)
class Run:
    """How the job runs. Nothing here but `seed` and `replicates` changes a number."""

    seed: int = declare(0, "Seed of everything drawn at random.", "count", "S")
    replicates: int = REPLICATES
    threads: int | None = declare(None, "Threads to use. [all cores]", "count", "N")
    memory: int | None = declare(None, "Memory for the data, as 4GB. [half]", "bytes", "SIZE")
    engine: Literal["local", "spark"] = declare(
        "local", "Run on this machine or a cluster: local, spark.", "choice", "NAME", choices=("local", "spark")
    )
    master: str | None = declare(None, "Spark master, such as spark://host:7077.", metavar="URL")
    partitions: int | None = None
    block_users: int | None = None
    spark: Any = field(default=None, compare=False, repr=False)
    progress: Progress = field(default=silent, compare=False, repr=False)
    command: str | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        checks.whole_number("seed", self.seed, at_least=0)
        checks.whole_number("replicates", self.replicates, at_least=2)
        if self.threads is not None:
            checks.whole_number("threads", self.threads, at_least=1, at_most=LARGEST_THREADS)
        if self.engine not in ("local", "spark"):
            raise InvalidParameter.of("engine", "local or spark", self.engine)
        if self.master is not None and self.engine != "spark":
            raise InvalidParameter(f"{option('master')} goes with {option('engine')} spark, and only there.")
        for name in ("partitions", "block_users", "memory"):
            if getattr(self, name) is not None:
                checks.whole_number(name, getattr(self, name), at_least=1)


@dataclass(frozen=True, slots=True)
class Request(Job):
    """One assessment, fully described."""

    source: Source
    people: People = People()
    split: SplitRule = SplitRule()
    attackers: Attackers = Attackers()
    verdict: Limits = Limits()
    about: About = About()
    output: Output = Output()
    run: Run = Run()

    DATA: ClassVar[str] = "events"
    FREE: ClassVar[frozenset[str]] = frozenset({"events", "name", "window", "converge", "protect"}) | free_of(
        About, Output, Run
    )

    @property
    def inputs(self) -> list[Path]:
        """The files that it reads: events, the attacker's files, parameters, the waiver."""
        asked = self.attackers
        tables = (self.source.events, asked.known, asked.truth, asked.parameters, asked.dictionary)
        return [Path(path) for path in (*tables, self.verdict.waiver) if isinstance(path, str | Path)]
