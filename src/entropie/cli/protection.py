"""The terminal view of `--protect`: ways to hand over the data, side by side, and which of them is worth it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from entropie.cli import output
from entropie.words import digits, percent, stated

_READING = (
    "Guaranteed: the error rate of every attacker on average, whatever they know. 10 guesses: the same for an attacker "
    "who names ten people. Attack: the error rate of our own attack. Top 20, top 100: mean relative error of the "
    "estimated counts of the most frequent items; at 100 % nothing is left of them. Noise protects what is sent from "
    "now on, not data that have already left."
)


def protection_text(document: Mapping[str, Any], *, verbose: bool) -> str:
    """The rows side by side and the recommendation; with `verbose` a sentence for each row."""
    rows, goal = document["protection"], document["protection_goal"]
    headers = ["protection", "guaranteed", "attack", "top 20"]
    if verbose:
        headers = ["protection", "epsilon", "guaranteed", "10 guesses", "attack", "top 20", "top 100"]
    lines = [
        output.paragraph(f"Protection to an error rate of at least {stated(goal['bayes_error'])}:"),
        output.table(headers, [_cells(row, verbose) for row in rows]),
        output.paragraph(f"Recommended: {goal['recommendation']}" if _is_recommended(rows) else goal["recommendation"]),
    ]
    if verbose:
        sentences = [goal["sentence"], goal["details"], *(row["sentence"] for row in rows), _READING]
        lines += [line for sentence in sentences for line in ("", output.paragraph(sentence))]
    return "\n".join(line for line in lines if line or verbose)


def _is_recommended(rows: Sequence[Mapping[str, Any]]) -> bool:
    return any(row["recommended"] for row in rows)


def _cells(row: Mapping[str, Any], verbose: bool) -> list[str]:
    mechanism, guarantee, utility = row["mechanism"], row["guarantee"], row["utility"]
    name = f"{row['name']} *" if row["recommended"] else row["name"]
    guaranteed, listed = ("nothing", "nothing") if guarantee is None else (
        percent(guarantee["bayes_error"]), percent(guarantee["list_error"])
    )  # fmt: skip
    tops = [_relative(utility[top]["relative_error"]) for top in ("top_20", "top_100")]
    attack = percent(row["attack"]["identification_error"]["value"])
    if not verbose:
        return [name, guaranteed, attack, tops[0]]
    epsilon = "" if mechanism is None else digits(mechanism["epsilon"])
    return [name, epsilon, guaranteed, listed, attack, *tops]


def _relative(error: float) -> str:
    """A relative error; it has no upper end."""
    return "exact" if error == 0.0 else percent(error)
