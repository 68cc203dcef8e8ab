"""Figure 9: loss of local hashing against the number of hash values, at a fixed probability of the truth."""

from __future__ import annotations

import math

from entropie.paper.charts import Rows, Spec, axis, lines, series
from entropie.paper.figure import Results
from entropie.paper.losses import loss_step
from entropie.paper.settings import Settings
from entropie.paper.sources import Kind
from entropie.paper.steps import Step

name = "9"
title = "Loss against the number of hash values"
claim = "With the truth told half of the time (theta = 0.5) the loss falls as g grows, towards p(1-theta)/(n theta)."
kinds: tuple[Kind, ...] = ("check-ins",)
shown = (
    "hash_size", "epsilon", "l2_top", "formula_top", "paper_formula_top", "l2_all", "formula_all", "bayes_error",
)  # fmt: skip

THETA = 0.5
_COLUMNS = {
    "hash_size": "hash_size",
    "epsilon": "epsilon",
    "theta": "theta",
    "l2_top": "emp top",
    "l2_top_standard_error": "emp top standard_error",
    "l2_all": "emp all",
    "l2_all_standard_error": "emp all standard_error",
    "formula_top": "formula top",
    "formula_all": "formula all",
    "paper_formula_top": "paper formula top",
    "bayes_error": "bayes_error",
    "runs": "runs",
}
"""Of the table, and where they stand in the results."""


def steps(settings: Settings) -> list[Step]:
    """One estimate per hash size."""
    return [loss_step(settings, "glh", theta=THETA, hash_size=size) for size in settings.scale.hash_sizes]


def data(settings: Settings, results: Results) -> Rows:
    """One row per hash size: measured, by the formula for the family in use, by the paper's formula."""
    return [{column: results[step.name][source] for column, source in _COLUMNS.items()} for step in steps(settings)]


def specs(rows: Rows) -> dict[str, Spec]:
    """Points measured, lines by formula."""
    x, y = axis("hash_size", "hash values g", log=True), axis("l2", "squared error", log=True)
    formulas = {"formula_top": "100 most visited, formula", "formula_all": "all places, formula"}
    measured = {"l2_top": "100 most visited, measured", "l2_all": "all places, measured"}
    return {
        "": lines(
            series(rows, formulas, "l2", "places"), x, y, "places", points=series(rows, measured, "l2", "places"),
            description="Squared error of local hashing against the number of hash values at theta = 0.5.",
        )
    }  # fmt: skip


def findings(rows: Rows) -> list[str]:
    """How the loss falls and what the formula says."""
    first, last = rows[0], rows[-1]
    ratios = [row["l2_all"] / row["formula_all"] for row in rows]
    off = max(abs(row["paper_formula_top"] / row["formula_top"] - 1.0) for row in rows)
    above = (math.floor(off * 1e3) + 1) / 10.0  # percent, rounded up
    return [
        (
            f"From g = {first['hash_size']:,} to {last['hash_size']:,} the loss over all places falls from "
            f"{first['l2_all']:.2g} to {last['l2_all']:.2g}."
        ),
        f"Over the 100 most visited it falls from {first['l2_top']:.2g} to {last['l2_top']:.2g}.",
        f"Measured over all places: {min(ratios):.2f} to {max(ratios):.2f} times the formula.",
        (
            f"The paper's formula (collisions with probability 1/g) differs by less than {above:.1f} % for the "
            "most visited places."
        ),
    ]
