"""The job for a table with one row per person, as one frozen value: what is read, which columns are known, the limit.

Limits, sign-off, outputs and how to run are those of `entropie.request`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from entropie.errors import InvalidParameter, option
from entropie.job import Job, free_of
from entropie.kinds import declare
from entropie.request import About, Limits, Output, Run
from entropie.theory import checks

OF_EVENTS = ("judge_population", "not_released", "made_by_mechanism", "protect")


@dataclass(frozen=True, slots=True)
class Table:
    """Where the table comes from, and what of it an attacker may know.

    table    a path, or anything with `__arrow_c_stream__`
    columns  those that an attacker may know of everybody
    max_set  the largest sets of columns shown; as large as 3 where there are not too many if None
    bins     bands to try, each as `age=10`, `age=width:5` or `age=exact`
    sensitive, within   columns that an attacker wants to learn; how near a guess of a number must be (`income=1000`)
    population          a table of the population, or how many people it has
    link                pairs of column sets that rows are joined from, each as `a,b:c`
    at_risk             records with a risk above this are counted
    """

    table: Any = None
    columns: tuple[str, ...] = declare((), "Columns that an attacker may know.", "names", "A,B,C", group="Attacker")
    id_column: str | None = declare(None, "Column that holds the person, once each.", metavar="C", spelled="id")
    max_set: int | None = declare(None, "Largest set of columns to show. [3]", "count", "N", group="Output")
    bins: tuple[str, ...] = declare(
        (), "Bands: age=10 (at most), age=width:5, age=exact.", "texts", "C=N", group="Mitigation"
    )

    sensitive: tuple[str, ...] = declare(
        (), "Column that an attacker wants to learn; repeatable.", "texts", "C", group="Attacker"
    )
    within: tuple[str, ...] = declare((), "How near a guess of a number must be.", "texts", "C=W", group="Attacker")
    population: Any = declare(None, "Table of the population, or its size.", "population", "FILE|N", group="Attacker")
    link: tuple[str, ...] = declare((), "Column sets to join rows from.", "texts", "A,B:C", group="Attacker")
    at_risk: float = declare(0.09, "Count records with a risk above this.", "share", "SHARE", group="Attacker")

    def __post_init__(self) -> None:
        if self.max_set is not None:
            checks.whole_number("max_set", self.max_set, at_least=1)


@dataclass(frozen=True, slots=True)
class TableOutput(Output):
    """What is written; nothing unless a folder is named."""

    out: Path | None = declare(None, "Folder for attributes.json and report.html.", "path", "DIR")  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class TableRequest(Job):
    """One assessment of a table, fully described."""

    table: Table
    verdict: Limits = Limits()
    about: About = About()
    output: TableOutput = TableOutput()
    run: Run = Run()

    DATA: ClassVar[str] = "table"
    FREE: ClassVar[frozenset[str]] = frozenset({"table", "max_set", "bins"}) | free_of(About, TableOutput, Run)

    @property
    def inputs(self) -> list[Path]:
        """The files that it reads: the table, that of the population, the waiver."""
        named = (self.table.table, self.table.population, self.verdict.waiver)
        return [Path(path) for path in named if isinstance(path, str | Path)]

    def __post_init__(self) -> None:
        for name in OF_EVENTS:
            if getattr(self.verdict, name) not in (None, False):
                raise InvalidParameter(f"{option(name)} is for events, not for a table with one row per person.")
        if self.run.engine == "spark":
            raise InvalidParameter(f"{option('engine')} spark is for events; a table is assessed on one machine.")
