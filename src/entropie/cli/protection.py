"""The terminal view of `--protect`: ways to hand over the data, side by side, and which of them is worth it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from entropie.cli import output
from entropie.words import digits, percent, stated

_READING = (
    "Alone, all: the share re-identified at most, on average, by any attacker who sees one person's reports, or all "
    "reports, whatever else they know. Certain: the most that the worst outcome tells whoever holds all reports about "
    "one person. Attack: the share that our own attack re-identifies. Noise protects what is sent from now on, not "
    "data that have already left."
)


def protection_text(document: Mapping[str, Any], *, verbose: bool) -> str:
    """The rows side by side and the recommendation; with `verbose` a sentence for each row."""
    rows, goal = document["protection"], document["protection_goal"]
    headers = ["protection", "at most, alone", "all reports", "our attack", "top 20 off by"]
    if verbose:
        headers = ["protection", "epsilon", "alone", "all", "certain", "attack", "top 20", "top 100"]
    lines = [
        output.paragraph(f"People re-identified; the goal is an error rate of at least {stated(goal['bayes_error'])}:"),
        output.table(headers, [_cells(row, verbose) for row in rows]),
        output.paragraph(_legend(rows)),
        output.paragraph(f"Recommended: {goal['recommendation']}" if _is_recommended(rows) else goal["recommendation"]),
    ]
    if verbose:
        sentences = [goal["sentence"], goal["details"], *(row["sentence"] for row in rows), _READING]
        lines += [line for sentence in sentences for line in ("", output.paragraph(sentence))]
    return "\n".join(line for line in lines if line or verbose)


def _legend(rows: Sequence[Mapping[str, Any]]) -> str:
    """What is sent in which row, and what the last column is."""
    least = rows[-1]["sends"]
    said = f"As it is: {rows[0]['sends']} is sent; the others: {least}. " if rows[0]["sends"] != least else ""
    said += "Guaranteed at most: from one person's reports alone, and for whoever holds all reports. "
    return f"{said}Top 20: error of the counts of the 20 most frequent items; at 100 % nothing is left of them."


def _is_recommended(rows: Sequence[Mapping[str, Any]]) -> bool:
    return any(row["recommended"] for row in rows)


def _cells(row: Mapping[str, Any], verbose: bool) -> list[str]:
    mechanism, guarantee, utility = row["mechanism"], row["guarantee"], row["utility"]
    name = f"{row['name']} *" if row["recommended"] else row["name"]
    unknown = "none" if verbose else "no guarantee"
    guaranteed, *store = (unknown, "", "") if guarantee is None else _bounds(guarantee)
    tops = [_relative(utility[top]["relative_error"]) for top in ("top_20", "top_100")]
    attack = percent(1.0 - row["attack"]["identification_error"]["value"])
    if not verbose:
        return [name, guaranteed, store[0], attack, tops[0]]
    epsilon = "" if mechanism is None else digits(mechanism["epsilon"])
    return [name, epsilon, guaranteed, *store, attack, *tops]


def _bounds(guarantee: Mapping[str, Any]) -> tuple[str, str, str]:
    """Re-identified at most from one person's reports, from all reports, and the worst-case certainty there."""
    alone, store = percent(1.0 - guarantee["bayes_error"]), guarantee.get("all_reports")
    return (alone, "", "") if store is None else (
        alone, percent(1.0 - store["bayes_error"]), percent(store["posterior_max"])
    )  # fmt: skip


def _relative(error: float) -> str:
    """A relative error; it has no upper end."""
    return "exact" if error == 0.0 else percent(error)
