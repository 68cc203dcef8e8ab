"""A release plan: what to do to which events. It is bound to them by their hash, or by counts where there is none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from entropie.contents import read_bytes
from entropie.data.events import IngestReport
from entropie.document.base import Count, Part, Sha256, converted, parsed
from entropie.document.measured import ShareInterval
from entropie.errors import InvalidInput, InvalidParameter, option, without_password
from entropie.mitigate.kinds import KINDS
from entropie.mitigate.mitigation import Combination, Mitigation
from entropie.release.table_plan import TAG as TABLE_TAG
from entropie.release.table_plan import TablePlan
from entropie.request import Request, Source

FILE = "plan.json"
_STORED = ("source", "query", "table")
_CELLS = ("lat", "lon", "cells", "stays")
_TOLD = ("format", "time_format", "time_zone", "preset", "min_rating", "max_dirty_share", *_STORED, *_CELLS)
_TAG = "entropie.release/1"


class MitigationStep(Part, frozen=True):
    """One mitigation; `setting` says how far: a number, a share, a size, a unit, a file or the name of a column."""

    mitigation: Annotated[str, Meta(extra_json_schema={"enum": list(KINDS)})]
    setting: int | float | str

    @property
    def chosen(self) -> Mitigation:
        """It as Python has it."""
        return Mitigation(self.mitigation, self.setting)


class Columns(Part, frozen=True):
    """The column of each role."""

    user: str
    item: str
    time: str | None
    rating: str | None


class Data(Part, frozen=True):
    """The events that a plan is for, and how they are read.

    coordinates  columns of latitude and longitude, where a step needs them
    further      columns that were read beside the events; the hash of a table in memory or a database covers them
    source       the database they come from, without a password, and the query or the table there
    lat ... stays  how items were made from coordinates
    """

    sha256: Sha256 | None
    rows: Count
    events: Count
    users: Count
    items: Count
    columns: Columns
    format: Literal["csv", "jsonl", "parquet"] | None
    time_format: str | None
    time_zone: str | None
    preset: str | None
    min_rating: float | None
    max_dirty_share: float
    coordinates: tuple[str, str] | None
    further: tuple[str, ...] = ()
    source: str | None = None
    query: str | None = None
    table: str | None = None
    lat: str | None = None
    lon: str | None = None
    cells: str | None = None
    stays: str | None = None

    @classmethod
    def of(
        cls, read: IngestReport, source: Source, coordinates: tuple[str, str] | None, further: Sequence[str] = ()
    ) -> Data:
        """What was read."""
        named: dict[str, Any] = {choice.role: choice.column for choice in read.columns}
        columns = Columns(named["user"], named["item"], named.get("time"), named.get("rating"))
        told: dict[str, Any] = {name: getattr(source, name) for name in _TOLD}
        if source.source is not None:
            told["source"] = without_password(source.source)
        counts = (read.rows, read.events, read.users, read.items)
        return cls(read.sha256, *counts, columns=columns, coordinates=coordinates, further=tuple(further), **told)

    def reading(self, events: object, url: str | None = None) -> Source:
        """These events, read in the same way; of a database `url` may say how to get in."""
        if url is not None and self.source is None:
            raise InvalidParameter(
                f"The plan is for events of a file or a table in memory; leave {option('source')} out and name them."
            )
        if events is None and self.source is None:
            raise InvalidInput("No events are named; give those that were swept.")
        named: dict[str, Any] = {} if self.preset is not None else self.columns.to_json()
        if self.cells is not None:
            named.pop("item", None)
        told = {name: getattr(self, name) for name in _TOLD}
        if events is not None:
            if url is not None:
                raise InvalidParameter(f"{option('source')} names where events come from; leave EVENTS out.")
            told |= dict.fromkeys(_STORED)
        elif url is not None:
            told["source"] = url
        return Source(events, **told, **named)

    def check(self, read: IngestReport) -> None:
        """Refuse other data."""
        same_file = self.sha256 is not None and self.sha256 == read.sha256
        counts = (read.rows, read.events, read.users, read.items)
        unknown = self.sha256 is None or read.sha256 is None
        if not same_file and not (unknown and counts == (self.rows, self.events, self.users, self.items)):
            order = f" (rows of a database count in their order: sweep a {option('query')} with `order by`)"
            raise InvalidInput(
                "The plan is for other data: the events differ from those that were swept; sweep these events and "
                f"apply that plan{'' if self.source is None else order}."
            )


class Judging(Part, frozen=True):
    """How the events were judged, so that the file can be judged in the same way: the options of an assessment."""

    min_events: Count
    profile: str | None = None
    limit: Annotated[float, Meta(gt=0, lt=1)] | None = None
    limit_name: str | None = None
    fail_on: Literal["average", "worst"] | None = None
    attempt_probability: Annotated[float, Meta(gt=0, le=1)] | None = None
    one_id_per_person: bool = False
    accept_limited: bool = False
    scope: tuple[str, ...] = ()
    matchers: tuple[str, ...] = ()

    @classmethod
    def of(cls, request: Request) -> Judging:
        """Those of a request."""
        sections = (request.people, request.verdict, request.attackers)
        found = {one: getattr(part, one) for part in sections for one in cls.__struct_fields__ if hasattr(part, one)}
        return cls(**found)


class ReleasePlan(Part, frozen=True, tag_field="schema", tag=_TAG):
    """What to do to which events before they are released, and what was found then.

    seed        of the steps that draw at random: the file written is the one that was judged
    risk        the number judged under this plan, against the limit of this name
    judged      how that was
    """

    steps: tuple[MitigationStep, ...]
    data: Data
    seed: Count
    limit: Annotated[float, Meta(gt=0, lt=1)]
    limit_name: str
    risk: ShareInterval
    min_events: Count
    version: str
    judged: Judging = Judging(10)

    @property
    def combination(self) -> Combination:
        """The steps as Python has them."""
        return Combination(tuple(step.chosen for step in self.steps))

    def check(self, read: IngestReport) -> None:
        """Refuse other data, and steps that need what these events, read as the plan says, do not have."""
        self.data.check(read)
        for step in self.steps:
            coordinates = step.chosen.of.on_map and self.data.coordinates is None
            if coordinates or (step.chosen.needs_times and read.order_only):
                needed = "coordinates, and no columns of them are" if coordinates else "times, and none are"
                raise InvalidInput(
                    f"Step `{step.mitigation}` of the plan needs {needed} read under it; sweep these events and apply "
                    "that plan."
                )

    @property
    def columns(self) -> list[str]:
        """The columns to read beside the events."""
        named = [column for step in self.steps for column in step.chosen.of.columns(step.setting)]
        return list(dict.fromkeys([*self.data.further, *named, *(self.data.coordinates or ())]))


def read_plan(path: str | os.PathLike[str]) -> ReleasePlan | TablePlan:
    """The plan in a file, for events or for a table with one row per person."""
    name = f"Plan {path}"
    remedy = f"`entropie sweep --out DIR` writes DIR/{FILE} where a combination meets the limit"
    values = parsed(read_bytes(path, name), name, remedy)
    found = values.get("schema") if isinstance(values, dict) else None
    if found == TABLE_TAG:
        return converted(values, TablePlan, name, "`entropie generalise --out DIR` writes it")
    if found != _TAG:
        raise InvalidInput(f"{name} must have the schema {_TAG}, got {found!r} instead; {remedy}.")
    plan = converted(values, ReleasePlan, name, remedy)
    plan.combination  # noqa: B018 - a setting that breaks a rule is refused before anything is read
    return plan
