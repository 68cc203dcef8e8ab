"""The terminal view of `--protect`: ways to hand over the data, side by side, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from entropie.cli import output

_READING = (
    "Promised: the share of people that every attacker names wrongly, on average, whatever she knows. Attack: the "
    "share that our own attack named wrongly. Top-20 and top-100: mean relative error of the estimated shares of the "
    "most frequent items; where it is as large as the share itself, nothing is left of them. Noise protects what is "
    "sent from now on; it does not protect data that have already left in clear."
)


def protection_text(rows: Sequence[Mapping[str, Any]], goal: Mapping[str, Any]) -> str:
    """A table and a sentence per row, from the objects `protection` and `protection_goal` of assessment.json."""
    headers = ["protection", "epsilon", "promised wrong", "attack wrong", "95 % interval", "top-20", "top-100", ""]
    chosen = next((row for row in rows if row["recommended"]), None)
    lines = [
        f"Wanted: an attacker errs in at least {output.percent(goal['bayes_error'])} of cases",
        "",
        output.paragraph(goal["sentence"]),
        "",
        output.table(headers, [_cells(row) for row in rows]),
        "",
        output.paragraph(_READING),
    ]
    for row in rows:
        lines += ["", output.paragraph(row["sentence"])]
    if chosen is not None:
        lines += ["", output.paragraph(_recommendation(chosen, goal))]
    return "\n".join(lines)


def _cells(row: Mapping[str, Any]) -> list[str]:
    mechanism, promise, utility = row["mechanism"], row["promise"], row["utility"]
    error = row["attack"]["identification_error"]
    tops = ["", ""]
    if utility is not None:
        tops = [_relative(utility[top]["relative_error"]) for top in ("top_20", "top_100")]
    return [
        row["name"],
        "" if mechanism is None else output.number(mechanism["epsilon"]),
        "nothing" if promise is None else output.percent(promise["bayes_error"]),
        output.percent(error["value"]),
        f"{output.percent(error['low'])} to {output.percent(error['high'])}",
        *tops,
        "recommended" if row["recommended"] else "",
    ]


def _relative(error: float) -> str:
    """A relative error in percent; it has no upper end."""
    return "exact" if error == 0.0 else f"{error * 100:,.{1 if error < 1.0 else 0}f}\N{NO-BREAK SPACE}%"


def _recommendation(row: Mapping[str, Any], goal: Mapping[str, Any]) -> str:
    reasons = {
        "all data": "its promise is proved for all data with so few items",
        "these data": "these data say so little about people that it suffices while they behave alike",
        "measured": "it meets the goal against our own attack; that is measured, not proved",
        None: "its promise meets the goal, and the most frequent items keep the smallest error",
    }
    basis = goal["basis"] if row["name"] == "pseudonyms alone" else None
    return f"Recommended: {row['name']}, because {reasons[basis]}."
