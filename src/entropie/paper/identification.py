"""Figure 6: identification error of one check-in against epsilon, with every lower bound."""

from __future__ import annotations

from entropie import words
from entropie.paper import bounds
from entropie.paper.charts import Rows, Spec, axis, series
from entropie.paper.sources import Kind

name = "6"
title = "Error rate of identification from one check-in"
claim = "The error rate of the attack and lower bounds for every attack are drawn against epsilon."
kinds: tuple[Kind, ...] = ("check-ins",)
shown = (
    "mechanism", "epsilon", "theta", "error", "error_low", "error_high", "error_expected", "error_exact",
    "error_by_fano", "error_by_theorem", "error_by_pse", "error_by_proposition",
)  # fmt: skip
steps, data = bounds.steps, bounds.data

_ERRORS = {
    "error_by_proposition": "bound by the proposition",
    "error_by_theorem": "bound by the theorem",
    "error_by_pse": "by PSE, which is no bound",
    "error_exact": "bound, exact",
    "error": "measured",
}


def specs(rows: Rows) -> dict[str, Spec]:
    """Error rate against epsilon for the two mechanisms."""
    y = axis("error", "error rate of the attacker", domain=(0.0, 1.0))
    text = "Error rate of the attacker against epsilon: measured above, lower bounds below it."
    return bounds.against_epsilon(series(rows, _ERRORS, "error", "bound"), y, text)


def findings(rows: Rows) -> list[str]:
    """Whether attacks stay above the bounds, and how close the bounds come."""
    below = sum(row["error_high"] < row["error_exact"] for row in rows)
    lines = [
        "No attack has an error rate below the exact bound by more than chance."
        if below == 0
        else f"The 95 % intervals of {below} of {len(rows)} measured error rates lie below the exact bound."
    ]
    for kind in dict.fromkeys(row["mechanism"] for row in rows):
        row = min((row for row in rows if row["mechanism"] == kind), key=lambda row: abs(row["error"] - 0.75))
        lines.append(
            f"{kind.capitalize()}, epsilon {row['epsilon']:g}: error rate {words.percent(row['error'])}; bounds "
            f"{words.percent(row['error_exact'])} (exact), {words.percent(row['error_by_fano'])} (Fano, solved), "
            f"{words.percent(row['error_by_theorem'])} (theorem), {words.percent(row['error_by_proposition'])} "
            "(proposition)."
        )
    return [*lines, "A measured error rate holds for this attacker, a bound for all.", *_crossed(rows)]


def _crossed(rows: Rows) -> list[str]:
    """Fano's inequality holds for the information in the data, of which the scores may carry less."""
    crossed = [row for row in rows if row["error_high"] < row["error_by_pse"]]
    if not crossed:
        return []
    first = min(crossed, key=lambda row: row["epsilon"])
    measured = words.percent(first["error"], beside=first["error_by_pse"])
    return [
        (
            f"Fano's inequality with PSE in place of the information is no bound: from epsilon {first['epsilon']:g} "
            f"({first['mechanism']}) the measured error rate, {measured}, lies "
            f"below its {words.percent(first['error_by_pse'])}. A score carries less than the data it was made of."
        )
    ]
