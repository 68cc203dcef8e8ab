"""The terminal view of `--protect`: exact text for a table made by hand."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from entropie.cli.protection import protection_text


def row(name: str, *, epsilon: float | None = None, promised: tuple | None = None, errors=(0.0, 0.0), **more) -> dict:
    return {
        "name": name,
        "mechanism": None if epsilon is None else {"kind": "rr", "epsilon": epsilon},
        "sends": "one event per person",
        "events_sent": 1500,
        "guarantee": None if promised is None else guaranteed(*promised),
        "attack": {"matcher": "visit", "identification_error": {"value": 0.75, "low": 0.7, "high": 0.8}},
        "utility": {"top_20": {"relative_error": errors[0], "of_all": errors[1]}},
        "recommended": False,
        "known_events": {"matcher": "points", "identification_error": {"value": 0.375, "low": 0.3, "high": 0.4}},
        "sentence": f"A sentence about {name}.",
        **more,
    }


def guaranteed(error: float, listed: float, together: float, certainty: float) -> dict:
    store = {"bayes_error": together, "posterior_max": certainty}
    return {"bayes_error": error, "list_error": listed, "all_reports": store}


GOAL = {
    "bayes_error": 0.9,
    "basis": None,
    "not_run": ["joint"],
    "sentence": "Noise is needed.",
    "details": "One event carries bits.",
    "recommendation": "local hashing, one event per person, because it is so. Rule: the rule.",
}
ROWS = [
    row(
        "as it is",
        sends="every event",
        events_sent=51282,
        attack={"matcher": "bayes", "identification_error": {"value": 0.1, "low": 0.05, "high": 0.2}},
    ),
    row("pseudonyms alone"),
    row("randomized response", epsilon=5.5, promised=(0.9, 0.885, 0.89, 0.999), errors=(1.5, 12.25)),
    row("local hashing", epsilon=5.25, promised=(0.92, 0.1, 0.45, 0.9999), errors=(0.5, 0.755), recommended=True),
]


DOCUMENT = {"protection": ROWS, "protection_goal": GOAL}


def text(document: dict, *, verbose: bool) -> str:
    return protection_text(document, verbose=verbose).replace("\N{NO-BREAK SPACE}", "~")


def test_exact_text():
    assert text(DOCUMENT, verbose=False) == (
        """\
People re-identified; the goal is an error rate of at least 90~%:
protection            alone   all reports   earlier   known   top 20    of all
──────────────────────────────────────────────────────────────────────────────
as it is               none                    90~%    62~%    exact     exact
pseudonyms alone       none                    25~%    62~%    exact     exact
randomized response    10~%          11~%      25~%    62~%    150~%   1,225~%
local hashing *         8~%          55~%      25~%    62~%     50~%      76~%
Not tried on what is sent: one-to-one matching.
As it is: every event is sent; the others: one event per person. Alone, all
reports: guaranteed at most, from one person's reports and for whoever holds
all. Earlier, known: by who knows earlier behaviour, or events that are sent.
Top 20: error of the counts of the 20 most frequent items among what is sent,
and among all events; at 100 % nothing is left of them.
Recommended: local hashing, one event per person, because it is so. Rule: the
rule."""
    )


def test_exact_text_with_all_numbers():
    assert text(DOCUMENT, verbose=True) == (
        """\
People re-identified; the goal is an error rate of at least 90~%:
protection           epsilon   alone    all   certain   earlier   known   top 20
────────────────────────────────────────────────────────────────────────────────
as it is                        none                       90~%    62~%    exact
pseudonyms alone                none                       25~%    62~%    exact
randomized               5.5    10~%   11~%    99.9~%      25~%    62~%    150~%
response
local hashing *         5.25     8~%   55~%   99.99~%      25~%    62~%     50~%
Not tried on what is sent: one-to-one matching.
As it is: every event is sent; the others: one event per person. Alone, all
reports: guaranteed at most, from one person's reports and for whoever holds
all. Earlier, known: by who knows earlier behaviour, or events that are sent.
Top 20: error of the counts of the 20 most frequent items among what is sent,
and among all events; at 100 % nothing is left of them.
Recommended: local hashing, one event per person, because it is so. Rule: the
rule.

Noise is needed.

One event carries bits.

A sentence about as it is.

A sentence about pseudonyms alone.

A sentence about randomized response.

A sentence about local hashing.

Alone, all: the share re-identified at most, on average, by any attacker who
sees one person's reports, or all reports, whatever else they know. Certain: the
most that the worst outcome tells whoever holds all reports about one person.
Earlier, known: what our own attacks re-identify. Noise protects what is sent
from now on, not data that have already left."""
    )


def test_nothing_is_called_recommended_where_nothing_is():
    document = copy.deepcopy(DOCUMENT)
    document["protection"][-1]["recommended"] = False
    document["protection_goal"]["recommendation"] = "None of the settings tried keeps useful counts."
    shown = text(document, verbose=False)
    assert shown.endswith("\nNone of the settings tried keeps useful counts.")
    assert "ecommended" not in shown
    assert "*" not in shown


@pytest.mark.parametrize("wanted", ["1.2", "0", "1"])
def test_an_impossible_wish_names_the_option(entropie, wanted):
    lines = ["user,item,time"]
    for user in range(12):
        lines += [f"u{user},i{(user + day) % 5},2024-01-{day + 1:02}" for day in range(12)]
    Path("events.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    names = ("--user", "user", "--item", "item", "--time", "time", "--matcher", "visit", "--no-control", "--no-report")
    ran = entropie("assess", "events.csv", *names, "--protect", wanted, "--out", "out")
    assert ran.code == 2
    assert "--protect" in ran.err
    assert f"must be a share above 0 and below 1, got {float(wanted)} instead" in ran.err
    assert "bayes_error" not in ran.err
