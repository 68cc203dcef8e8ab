"""What a verdict is about, as the gate sees it: an assessment of events, or of a table with one row per person."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from entropie.document import Document
from entropie.document.assessment import Projection
from entropie.document.verdict import Declared, Measure
from entropie.gate import tables
from entropie.gate.groups import Group, groups_of
from entropie.gate.limits import limits_of
from entropie.gate.people import assessed_statement, declared_statements, taken_as_seconds, unsettled_by
from entropie.mitigate.attribute_risk import AttributeRisk


@dataclass(frozen=True, slots=True)
class Subject:
    """What the gate asks of a document.

    people      all people in the data; date: the day of the assessment
    exact       everybody was counted: the share is no estimate and has no interval
    groups      those judged by a measure, where so many assessments were searched for one that passes
    limits      what narrows the assessment, given what was declared
    unsettled   why no number within a limit is enough, given what was declared
    told        what else a reader of the verdict must know
    """

    people: int
    sha256: str | None
    date: datetime.date
    projection: Projection | None
    exact: bool
    groups: Callable[[Measure, int], list[Group]]
    limits: Callable[[Declared], Sequence[str]]
    unsettled: Callable[[float, Declared], Sequence[str]]
    told: Callable[[Declared], Sequence[str | None]]


def subject_of(document: Document | AttributeRisk) -> Subject:
    """The same as the gate sees it."""
    date = document.provenance.date.astimezone(datetime.UTC).date()
    if isinstance(document, AttributeRisk):
        return Subject(
            people=document.people,
            sha256=document.input.sha256,
            date=date,
            projection=None,
            exact=True,
            groups=lambda measure, searched: tables.groups_of(document, measure),
            limits=partial(tables.limits_of, document),
            unsettled=lambda limit, declared: tables.unsettled_by(document),
            told=partial(tables.told, document),
        )
    return Subject(
        people=max(document.users, document.input.users or 0),
        sha256=document.input.sha256,
        date=date,
        projection=document.projection,
        exact=False,
        groups=partial(groups_of, document),
        limits=partial(limits_of, document),
        unsettled=partial(unsettled_by, document),
        told=lambda declared: [
            taken_as_seconds(document), *declared_statements(declared), assessed_statement(document)
        ],
    )  # fmt: skip
