"""The job for a table with one row per person, whole: columns in; groups, verdict and report out.

found = entropie.attributes("people.csv", columns=["age", "sex", "region"], profile="ema")
found.verdict.decision
found.write("out")
"""

from __future__ import annotations

import datetime
import os
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from entropie.atomic import claimed
from entropie.document.base import converted, json_text
from entropie.errors import EntropieError, InvalidInput, interruptible, option
from entropie.findings import provenance_of
from entropie.gate.judge import Gate, exit_code
from entropie.measures.record_risk import AT_RISK
from entropie.mitigate.attribute_measures import Link, Measures, Wanted, link_of, widths_of
from entropie.mitigate.attribute_risk import FILE, AttributeRisk
from entropie.mitigate.attribute_table import BinRule, read_attributes, rule_of
from entropie.mitigate.attributes import assess_table
from entropie.progress import Progress, silent
from entropie.table_request import TableRequest

FILES = (FILE, "report.html")


class TableAssessment(AttributeRisk, frozen=True, tag_field="schema", tag=AttributeRisk.__struct_config__.tag):
    """How identifiable the people in a table are, judged where a limit was named."""

    @property
    def document(self) -> dict[str, Any]:
        """All of it as plain values, as in attributes.json."""
        return self.to_json()

    @property
    def problem(self) -> EntropieError | None:
        """What was asked for beside the result and could not be done: nothing."""
        return None

    @property
    def exit_code(self) -> int:
        """0 the limit is met, waived or not named; 1 it is not met; 3 the data cannot tell."""
        return exit_code(self.document["verdict"])

    def __repr__(self) -> str:
        judged = [] if self.verdict is None else [self.verdict.headline]
        return "\n".join([*judged, AttributeRisk.__repr__(self)])

    def write(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write attributes.json and report.html into a folder, made where it does not exist; returns the files."""
        with claimed(folder) as place:
            return self.write_into(place)

    def write_into(self, folder: Path, *, report: bool = True) -> tuple[Path, ...]:
        """Write both files into a folder that this run has claimed; the first also where the second cannot be made."""
        from entropie.page import write_both

        return write_both(folder, FILES, json_text(self.document), self.document if report else None)


@interruptible
def attributes(
    table: object,
    *,
    columns: Sequence[str],
    id_column: str | None = None,
    max_set: int | None = None,
    bins: Mapping[str, BinRule | int | str] | None = None,
    sensitive: Sequence[str] = (),
    within: Mapping[str, float] | None = None,
    population: object = None,
    link: Sequence[Link] = (),
    at_risk: float = AT_RISK,
    seed: int = 0,
    profile: str | None = None,
    limit: float | str | None = None,
    limit_name: str | None = None,
    fail_on: Literal["average", "worst"] | None = None,
    waiver: str | os.PathLike[str] | None = None,
    attacker: str | None = None,
    context: str | None = None,
    attempt_probability: float | None = None,
    one_id_per_person: bool = False,
    accept_limited: bool = False,
    review_date: datetime.date | str | None = None,
    title: str | None = None,
    organisation: str | None = None,
    author: str | None = None,
    purpose: str | None = None,
    recipient: str | None = None,
    data_version: str | None = None,
    memory: int | str | None = None,
    progress: Progress = silent,
) -> TableAssessment:
    """Assess a table with one row per person: a path, or anything with `__arrow_c_stream__`.

    All sets of up to `max_set` columns (3, fewer where there are many columns) are assessed as they stand, and all
    columns together. `bins` says into which bands numbers are cut as a remedy: at most so many (10), of a width
    ("width:5") or none ("exact"); without it, bands are proposed for numbers with many different values. `sensitive`
    are columns that an attacker wants to learn, and `within` says how near a guess of a number must be; `population` is
    a table of the population or how many people it has; `link` are pairs of column sets,
    `[(("age", "sex"), ("region",))]`, that rows are joined from; records with a risk above `at_risk` are counted.
    `profile`, or `limit` with `limit_name` and `fail_on`, is what the risk is judged against: of everybody (`average`)
    or of those in the smallest groups (`worst`). `memory` is what the table may fill, in bytes; half of the machine's
    if not given.
    """
    texts = {
        "bins": tuple(map(_rule_text, (bins or {}).items())),
        "within": tuple(f"{column}={width!r}" for column, width in (within or {}).items()),
        "link": tuple(":".join(map(",".join, sides)) for sides in link),
    }
    given = {name: value for name, value in locals().items() if name not in ("table", "texts", *texts)}
    return assessed(TableRequest.of(table, given | texts))


def assessed(request: TableRequest) -> TableAssessment:
    """Run one request from its table to its verdict; writes nothing."""
    begun = clock.perf_counter()
    gate, rules = checked(request)
    asked, how = request.table, request.run
    links = tuple(map(link_of, asked.link))
    wanted = Wanted(asked.sensitive, widths_of(asked.within), asked.population, links, asked.at_risk, how.seed)
    others = wanted.others(asked.columns, asked.id_column)
    how.progress("reading", 0.0)
    read = read_attributes(
        asked.table, asked.columns, others=others, id_column=asked.id_column, bins=rules, memory=how.memory
    )
    found = assess_table(read, asked.max_set, Measures.of(read, wanted, how.memory, how.progress), how.progress)
    document = found.to_json() | {"about": request.about.to_json(), "provenance": provenance_of(how, begun)}
    return converted(gate.applied(document), TableAssessment, "The result", "run it again")


def checked(request: TableRequest) -> tuple[Gate, dict[str, BinRule]]:
    """What the risk is judged against, and the bands: all that is refused before a row is read."""
    if request.table.table is None:
        raise InvalidInput("No table is named; give a file.")
    if not request.table.columns:
        raise InvalidInput(f"No columns are named; say with {option('columns')} which an attacker may know.")
    people = request.table.population
    limits = replace(request.verdict, population=people if isinstance(people, int) else None)
    return Gate.of(limits), dict(map(rule_of, request.table.bins))


def _rule_text(rule: tuple[str, BinRule | int | str]) -> str:
    """A rule for bands as the command line writes it."""
    column, value = rule
    if isinstance(value, BinRule):
        value = f"width:{value.width!r}" if value.width is not None else "exact" if value.bands is None else value.bands
    return f"{column}={value}"
