"""The terminal view of `--protect`: ways to hand over the data, side by side, and which of them is worth it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from entropie.cli import output
from entropie.words import digits, percent, stated

_ATTACKERS = {"points": "known events", "crowd": "the crowd of all traces", "joint": "one-to-one matching"}
_READING = (
    "Alone, all: the share re-identified at most, on average, by any attacker who sees one person's reports, or all "
    "reports, whatever else they know. Certain: the most that the worst outcome tells whoever holds all reports about "
    "one person. Earlier, known: what our own attacks re-identify. Noise protects what is sent from now on, not "
    "data that have already left."
)


def protection_text(document: Mapping[str, Any], *, verbose: bool) -> str:
    """The rows side by side and the recommendation; with `verbose` a sentence for each row."""
    rows, goal = document["protection"], document["protection_goal"]
    taken = any(row["recommended"] for row in rows)
    headers = ["protection", "alone", "all reports", "earlier", "known", "top 20", "of all"]
    if verbose:
        headers = ["protection", "epsilon", "alone", "all", "certain", "earlier", "known", "top 20"]
    lines = [
        output.paragraph(f"People re-identified; the goal is an error rate of at least {stated(goal['bayes_error'])}:"),
        output.table(headers, [_cells(row, verbose) for row in rows]),
        output.paragraph(_not_run(goal)),
        output.paragraph(_legend(rows)),
        output.paragraph(f"Recommended: {goal['recommendation']}" if taken else goal["recommendation"]),
    ]
    if verbose:
        sentences = [goal["sentence"], goal["details"], *(row["sentence"] for row in rows), _READING]
        lines += [line for sentence in sentences for line in ("", output.paragraph(sentence))]
    return "\n".join(line for line in lines if line or verbose)


def _not_run(goal: Mapping[str, Any]) -> str:
    """Which attackers in scope were not tried on what is sent."""
    left = [_ATTACKERS[name] for name in goal["not_run"]]
    return f"Not tried on what is sent: {', '.join(left)}." if left else ""


def _legend(rows: Sequence[Mapping[str, Any]]) -> str:
    """What is sent in which row, and what the last column is."""
    least = rows[-1]["sends"]
    said = f"As it is: {rows[0]['sends']} is sent; the others: {least}. " if rows[0]["sends"] != least else ""
    said += (
        "Alone, all reports: guaranteed at most, from one person's reports and for whoever holds all. Earlier, known: "
        "by who knows earlier behaviour, or events that are sent. Top 20: error of the counts of the 20 most frequent "
        "items among what is sent, and among all events; at 100 % nothing is left of them."
    )
    return said


def _cells(row: Mapping[str, Any], verbose: bool) -> list[str]:
    mechanism, guarantee, utility = row["mechanism"], row["guarantee"], row["utility"]
    name = f"{row['name']} *" if row["recommended"] else row["name"]
    guaranteed, *store = ("none", "", "") if guarantee is None else _bounds(guarantee)
    top = [_relative(utility["top_20"][key]) for key in ("relative_error", "of_all")]
    attack = percent(1.0 - row["attack"]["identification_error"]["value"])
    known = row["known_events"]
    attacks = [attack, "not run" if known is None else percent(1.0 - known["identification_error"]["value"])]
    if not verbose:
        return [name, guaranteed, store[0], *attacks, *top]
    epsilon = "" if mechanism is None else digits(mechanism["epsilon"])
    return [name, epsilon, guaranteed, *store, *attacks, top[0]]


def _bounds(guarantee: Mapping[str, Any]) -> tuple[str, str, str]:
    """Re-identified at most from one person's reports, from all reports, and the worst-case certainty there."""
    store = guarantee["all_reports"]
    shares = (1.0 - guarantee["bayes_error"], 1.0 - store["bayes_error"], store["posterior_max"])
    return percent(shares[0]), percent(shares[1]), percent(shares[2])


def _relative(error: float) -> str:
    """A relative error; it has no upper end."""
    return "exact" if error == 0.0 else percent(error)
