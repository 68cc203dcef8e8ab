"""Figure 9: loss of local hashing against the number of hash values, at a fixed probability of the truth."""

from __future__ import annotations

import math

from entropie.paper.charts import Rows, Spec, axis, lines
from entropie.paper.figure import Figure, Results
from entropie.paper.losses import loss_step
from entropie.paper.settings import Settings
from entropie.paper.steps import Step

__all__ = ["FIGURE"]

THETA = 0.5


def steps(settings: Settings) -> list[Step]:
    """One estimate per hash size."""
    return [loss_step(settings, "glh", theta=THETA, hash_size=size) for size in settings.scale.hash_sizes]


def data(settings: Settings, results: Results) -> Rows:
    """One row per hash size: measured, by the formula for the family in use, by the paper's formula."""
    rows = []
    for step in steps(settings):
        found = results[step.name]
        rows.append(
            {
                "hash_size": found["hash_size"],
                "epsilon": found["epsilon"],
                "theta": found["theta"],
                "l2_top": found["emp top"],
                "l2_top_standard_error": found["emp top standard_error"],
                "l2_all": found["emp all"],
                "l2_all_standard_error": found["emp all standard_error"],
                "formula_top": found["formula top"],
                "formula_all": found["formula all"],
                "paper_formula_top": found["paper formula top"],
                "bayes_error": found["bayes_error"],
                "runs": found["runs"],
            }
        )
    return rows


def specs(rows: Rows) -> dict[str, Spec]:
    """Points measured, lines by formula."""
    x, y = axis("hash_size", "hash values g", log=True), axis("l2", "squared error", log=True)
    curves = [
        {"hash_size": row["hash_size"], "l2": row[key], "places": name}
        for key, name in (("formula_top", "100 most visited, formula"), ("formula_all", "all places, formula"))
        for row in rows
    ]
    found = [
        {"hash_size": row["hash_size"], "l2": row[key], "places": name}
        for key, name in (("l2_top", "100 most visited, measured"), ("l2_all", "all places, measured"))
        for row in rows
    ]
    return {
        "": lines(
            curves, x, y, "places", points=found,
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


FIGURE = Figure(
    name="9",
    title="Loss against the number of hash values",
    claim="With the truth told half of the time (theta = 0.5) the loss falls as g grows, towards p(1-theta)/(n theta).",
    kinds=("check-ins",),
    steps=steps,
    data=data,
    specs=specs,
    findings=findings,
    shown=(
        "hash_size",
        "epsilon",
        "l2_top",
        "formula_top",
        "paper_formula_top",
        "l2_all",
        "formula_all",
        "bayes_error",
    ),
)
