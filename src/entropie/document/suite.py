"""The document of a suite: what was decided of every entry, and the one exit code."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta

from entropie.document.base import Part, Share, Size
from entropie.document.measured import ShareInterval

ExitCode = Annotated[int, Meta(ge=0, le=70)]


class CheckedEntry(Part, frozen=True):
    """One entry.

    decision   that of its verdict; WAIVED where a waiver holds, ERROR where nothing could be judged
    sentence   the decision and the number it rests on, or what went wrong
    rests_on   what the decision rests on
    verdict    as in its own document; null where nothing was judged
    folder     where its files are; null where nothing was written
    """

    name: str
    kind: str
    decision: str
    exit_code: ExitCode
    sentence: str
    rests_on: list[str]
    risk: ShareInterval | None
    limit: Share | None
    verdict: dict[str, Any] | None
    folder: str | None
    seconds: Size


class CheckRun(Part, frozen=True):
    """How to make the document again."""

    version: str
    date: Annotated[datetime.datetime, Meta(tz=True)]
    command: str | None
    seconds: Size


class Check(Part, frozen=True):
    """A suite that was run. The exit code is the worst of its entries': 70, then 2, then 1, then 3, then 0."""

    schema: Literal["entropie.check/1"]
    suite: str
    exit_code: ExitCode
    entries: list[CheckedEntry]
    provenance: CheckRun

    def __repr__(self) -> str:
        lines = [f"  {entry.name}: {entry.decision}, {entry.sentence}" for entry in self.entries]
        return "\n".join([f"Check of {self.suite}: exit code {self.exit_code}", *lines])
