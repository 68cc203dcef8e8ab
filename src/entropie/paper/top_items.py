"""Figure 8: the twenty most visited places, their true and estimated shares, at two settings of each mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np

from entropie.paper.charts import Rows, Spec, bars
from entropie.paper.figure import Results
from entropie.paper.losses import METHODS, loss_step, most_truth, theorem_theta
from entropie.paper.published import RELATIVE_ERRORS
from entropie.paper.settings import Settings
from entropie.paper.single import MECHANISMS, TITLES
from entropie.paper.sources import Kind, single_data
from entropie.paper.steps import Step

name = "8"
title = "The twenty most visited places"
claim = (
    "The mean relative error of the twenty largest shares is 1.05 at epsilon 10 and 0.10 at the setting that "
    "guarantees an error rate of 0.92."
)
kinds: tuple[Kind, ...] = ("check-ins",)
shown = ("mechanism", "setting", "theta", "method", "bayes_error_paper", "bayes_error", "mean_relative_error")


def steps(settings: Settings) -> list[Step]:
    """The estimates; their settings follow from the numbers of people and places, which the data tell."""
    return [Step(f"top places: {kind}", estimated, {"kind": kind}, 1.0) for kind in MECHANISMS]


def estimated(settings: Settings, *, kind: str) -> list[dict[str, Any]]:
    """Estimates at the plain budget, at the theorem's setting for the wanted error, and at the exact one."""
    scale, data = settings.scale, single_data(settings)
    n, k = data.users, data.domain_size
    answers = k if kind == "rr" else scale.hash_size
    thetas = {
        f"error {scale.wanted_error:g} by the theorem": theorem_theta(n, k, scale.wanted_error),
        f"error {scale.wanted_error:g} exactly": most_truth(kind, n, k, answers, scale.wanted_error),
    }
    plain = loss_step(settings, kind, epsilon=scale.plain_epsilon)
    found = [{"setting": f"epsilon {scale.plain_epsilon:g}", **plain.work(settings, **plain.arguments)}]
    for setting, theta in thetas.items():
        step = loss_step(settings, kind, theta=theta)
        found.append({"setting": setting, **step.work(settings, **step.arguments)})
    return found


def data(settings: Settings, results: Results) -> Rows:
    """One row per mechanism, setting, method and place; the mean relative error of the twenty stands in each."""
    rows = []
    for kind in MECHANISMS:
        for found in results[f"top places: {kind}"]:
            truth = np.array(found["top_shares"])
            for method in METHODS:
                estimates = np.array(found["top_estimates"][method])
                relative = float(np.mean(np.abs(estimates - truth) / truth))
                for place, (share, estimate) in enumerate(zip(truth, estimates, strict=True), start=1):
                    rows.append(
                        {
                            "mechanism": TITLES[kind],
                            "setting": found["setting"],
                            "epsilon": found["epsilon"],
                            "theta": found["theta"],
                            "bayes_error": found["bayes_error"],
                            "bayes_error_paper": found["bayes_error_paper"],
                            "method": method,
                            "place": place,
                            "share": float(share),
                            "estimate": float(estimate),
                            "mean_relative_error": relative,
                        }
                    )
    return rows


def specs(rows: Rows) -> dict[str, Spec]:
    """Truth and estimates side by side, for local hashing."""
    same = [row for row in rows if row["mechanism"] == TITLES["glh"] and row["method"] == "emp"]
    first = same[0]["setting"]
    drawn = [{"place": row["place"], "share": row["share"], "what": "truth"} for row in same if row["setting"] == first]
    drawn += [{"place": row["place"], "share": row["estimate"], "what": row["setting"]} for row in same]
    x = {"field": "place", "type": "ordinal", "axis": {"title": "place, most visited first", "labelAngle": 0}}
    y = {"field": "share", "type": "quantitative", "axis": {"title": "share of people", "format": "~g"}}
    return {"": bars(drawn, x, y, "what", description="Shares of the twenty most visited places: truth and estimates.")}


def findings(rows: Rows) -> list[str]:
    """The relative errors of the plain estimates; the table also has those after the threshold."""
    errors: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        if row["method"] == "emp":
            errors.setdefault(row["mechanism"], {})[row["setting"]] = row
    lines = []
    for mechanism, settings in errors.items():
        parts = [f"{row['mean_relative_error']:.2g} at {setting}" for setting, row in settings.items()]
        lines.append(f"{mechanism.capitalize()}, mean relative error: {', '.join(parts)}.")
    return [
        *lines,
        (
            f"Published: {RELATIVE_ERRORS['plain']:g} and {RELATIVE_ERRORS['guaranteed']:g}. The error depends on the "
            "largest shares, which a simulation only resembles."
        ),
    ]
