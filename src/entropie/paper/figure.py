"""What a figure is: steps to run, rows to make of their results, charts to draw, findings in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from entropie.paper.charts import Rows, Spec
from entropie.paper.settings import Settings
from entropie.paper.sources import Kind
from entropie.paper.steps import Step

__all__ = ["Figure", "Results", "no_steps"]

Results = dict[str, Any]
"""Results of steps by their names."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the paper.

    kinds     the data it needs
    steps     the work it needs; steps that several figures need run once
    data      its table, from the results of the steps: one flat row per number shown
    specs     its charts, by what is added to the name of the file ("" for the first)
    findings  what was found, a short line each and the main one first, from the columns shown alone
    shown     columns of the table that a page shows
    """

    name: str
    title: str
    claim: str  # of the paper; empty where the figure is not in it
    kinds: tuple[Kind, ...]
    steps: Callable[[Settings], list[Step]]
    data: Callable[[Settings, Results], Rows]
    specs: Callable[[Rows], dict[str, Spec]]
    findings: Callable[[Rows], list[str]]
    shown: tuple[str, ...]


def no_steps(settings: Settings) -> list[Step]:
    """A figure of formulas alone needs no work on data."""
    return []
