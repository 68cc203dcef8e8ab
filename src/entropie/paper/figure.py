"""What a figure is: a module with steps to run, rows to make of their results, charts to draw, findings in words."""

from __future__ import annotations

from typing import Any, Protocol

from entropie.paper.charts import Rows, Spec
from entropie.paper.settings import Settings
from entropie.paper.sources import Kind
from entropie.paper.steps import Step

Results = dict[str, Any]
"""Results of steps by their names."""


class Figure(Protocol):
    """What the module of a figure holds.

    claim   what the paper says; empty where the figure is not in it
    kinds   the data it needs
    """

    name: str
    title: str
    claim: str
    kinds: tuple[Kind, ...]

    @property
    def shown(self) -> tuple[str, ...]:
        """Columns of the table that a page shows."""

    def steps(self, settings: Settings, /) -> list[Step]:
        """The work it needs; steps that several figures need run once."""

    def data(self, settings: Settings, results: Results, /) -> Rows:
        """Its table, from the results of the steps: one flat row per number shown."""

    def specs(self, rows: Rows, /) -> dict[str, Spec]:
        """Its charts, by what is added to the name of the file ("" for the first)."""

    def findings(self, rows: Rows, /) -> list[str]:
        """What was found, a short line each and the main one first, from the columns shown alone."""
