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
        "guarantee": None if promised is None else {"bayes_error": promised[0], "list_error": promised[1]},
        "attack": {"matcher": "visit", "identification_error": {"value": 0.75, "low": 0.7, "high": 0.8}},
        "utility": {"top_20": {"relative_error": errors[0]}, "top_100": {"relative_error": errors[1]}},
        "recommended": False,
        "sentence": f"A sentence about {name}.",
        **more,
    }


GOAL = {
    "bayes_error": 0.9,
    "basis": None,
    "sentence": "Noise is needed.",
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
    row("randomized response", epsilon=5.5, promised=(0.9, 0.885), errors=(1.5, 12.25)),
    row("local hashing", epsilon=5.25, promised=(0.92, 0.1), errors=(0.5, 0.755), recommended=True),
]


def test_exact_text():
    assert protection_text(ROWS, GOAL).replace("\N{NO-BREAK SPACE}", "~") == (
        """\
Wanted: an attacker errs in at least 90.00~% of cases

Noise is needed.

All rows but the first send one event per person; the first sends every event. Most of
the fall of the risk from 'as it is' to 'pseudonyms alone' comes from sending less.

  protection            events sent   epsilon   promised   10 guesses    attack        95 % interval   top-20   top-100
  ---------------------------------------------------------------------------------------------------------------------
  as it is                   51,282              nothing      nothing   10.00~%    5.00~% to 20.00~%    exact     exact
  pseudonyms alone            1,500              nothing      nothing   75.00~%   70.00~% to 80.00~%    exact     exact
  randomized response         1,500       5.5    90.00~%      88.50~%   75.00~%   70.00~% to 80.00~%    150~%   1,225~%
  local hashing *             1,500      5.25    92.00~%      10.00~%   75.00~%   70.00~% to 80.00~%   50.0~%    75.5~%

Events sent: by all people together. Promised: the share of people that every attacker
names wrongly, on average, whatever she knows; 10 guesses: the same where she may name
ten people and errs if none is right. Attack: the share that our own attack named
wrongly. Top-20 and top-100: mean relative error of the estimated shares of the most
frequent items; where it is as large as the share itself, nothing is left of them. Noise
protects what is sent from now on; it does not protect data that have already left in
clear.

A sentence about as it is.

A sentence about pseudonyms alone.

A sentence about randomized response.

A sentence about local hashing.

* Recommended: local hashing, one event per person, because it is so. Rule: the rule."""
    )


def test_no_fall_is_explained_where_there_is_none():
    rows = copy.deepcopy(ROWS)
    rows[0]["attack"]["identification_error"]["value"] = 0.75
    text = protection_text(rows, GOAL)
    assert "All rows but the first send one event per person; the first sends every event.\n\n" in text
    assert "fall" not in text
    alike = protection_text(rows[1:], GOAL)
    assert "All rows send one event per person.\n\n" in alike


@pytest.mark.parametrize("wanted", ["1.2", "0", "1"])
def test_an_impossible_wish_names_the_option(entropie, wanted):
    lines = ["user,item,time"]
    for user in range(12):
        lines += [f"u{user},i{(user + day) % 5},2024-01-{day + 1:02}" for day in range(12)]
    Path("events.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    names = ("--user", "user", "--item", "item", "--time", "time", "--matcher", "visit", "--no-null", "--no-report")
    ran = entropie("assess", "events.csv", *names, "--protect", wanted, "--out", "out")
    assert ran.code == 2
    assert "--protect" in ran.err
    assert f"must be a share above 0 and below 1, got {float(wanted)} instead" in ran.err
    assert "bayes_error" not in ran.err
