"""The report on score sets: several systems side by side, and their detection error trade-offs in one chart."""

from __future__ import annotations

import datetime
import os
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Meta, convert

from entropie._version import __version__
from entropie.atomic import claimed, write_together
from entropie.document.base import Part, json_text
from entropie.document.measured import Measured, Scores
from entropie.drawing import BLUE, GREEN, GREY, INK, ORANGE
from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.scoreset import ScoreSetMeasures
from entropie.page.charts import det_chart
from entropie.page.page import drawn, filled
from entropie.page.specs import Spec

FILES = ("scores.json", "report.html")
COLOURS = (BLUE, ORANGE, GREEN, INK, GREY)
"""Of the systems, in the order given: as many as one chart can tell apart."""


class System(Part, frozen=True):
    """One system and what its scores come to."""

    name: Annotated[str, Meta(min_length=1, max_length=60)]
    measured: Scores


class Systems(Part, frozen=True, tag_field="schema", tag="entropie.scores/1"):
    """Score sets side by side."""

    systems: Annotated[tuple[System, ...], Meta(min_length=1)]
    version: str
    date: datetime.datetime

    @classmethod
    def of(cls, measured: Mapping[str, ScoreSetMeasures]) -> Systems:
        """What was measured of each system, by its name."""
        check_names(measured)
        found = tuple(System(name, convert(one.to_json(), Scores)) for name, one in measured.items())
        return cls(found, __version__, datetime.datetime.now(datetime.UTC).replace(microsecond=0))

    def write(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write scores.json and report.html into a folder, made where it is not there; returns their paths."""
        with claimed(folder) as place:
            return self.write_into(place)

    def write_into(self, folder: Path) -> tuple[Path, ...]:
        """Write both into a folder that this run has claimed."""
        document = self.to_json()
        return write_together(folder, dict(zip(FILES, (json_text(document), render_scores(self)), strict=True)))


def check_names(names: Collection[str]) -> None:
    """Refuse more systems than a chart can tell apart, and names that no table has room for."""
    if not 0 < len(names) <= len(COLOURS):
        raise InvalidInput(f"A report shows 1 to {len(COLOURS)} systems, got {len(names)}; leave some out.")
    for name in names:
        if not 0 < len(name) <= 60:
            raise InvalidParameter.of("system", "a name of 1 to 60 characters", name)


def render_scores(found: Systems) -> str:
    """The page of some systems."""
    charts = {"det": partial(trade_offs, found)}
    return filled("scores.html", found.to_json(), drawn=drawn(charts), colours=COLOURS, inside="scores")


def trade_offs(found: Systems, width: int) -> list[Spec]:
    """False rejections against false acceptances of every system."""
    curves: list[tuple[Measured, str]] = [
        (one.measured, colour) for one, colour in zip(found.systems, COLOURS, strict=False) if one.measured.det
    ]
    return det_chart(curves, width, "Detection error trade-off of every system, with dashed reference lines.")
