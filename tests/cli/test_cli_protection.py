"""The terminal view of `--protect`: exact text for a table made by hand."""

from __future__ import annotations

import copy

from entropie.cli.protection import protection_text


def row(name: str, *, epsilon: float | None = None, promised: float | None = None, errors=(0.0, 0.0), **more) -> dict:
    return {
        "name": name,
        "mechanism": None if epsilon is None else {"kind": "rr", "epsilon": epsilon},
        "promise": None if promised is None else {"bayes_error": promised},
        "attack": {"matcher": "visit", "identification_error": {"value": 0.75, "low": 0.7, "high": 0.8}},
        "utility": {"top_20": {"relative_error": errors[0]}, "top_100": {"relative_error": errors[1]}},
        "recommended": False,
        "sentence": f"A sentence about {name}.",
        **more,
    }


GOAL = {"bayes_error": 0.9, "basis": None, "sentence": "Noise is needed."}
ROWS = [
    row("as it is"),
    row("pseudonyms alone"),
    row("randomized response", epsilon=5.5, promised=0.9, errors=(1.5, 12.25)),
    row("local hashing", epsilon=5.25, promised=0.92, errors=(0.5, 0.755), recommended=True),
]


def test_exact_text():
    assert protection_text(ROWS, GOAL).replace("\N{NO-BREAK SPACE}", "~") == (
        """\
Wanted: an attacker errs in at least 90.00~% of cases

Noise is needed.

  protection            epsilon   promised wrong   attack wrong        95 % interval   top-20   top-100
  -------------------------------------------------------------------------------------------------------------------
  as it is                               nothing        75.00~%   70.00~% to 80.00~%    exact     exact
  pseudonyms alone                       nothing        75.00~%   70.00~% to 80.00~%    exact     exact
  randomized response       5.5          90.00~%        75.00~%   70.00~% to 80.00~%    150~%   1,225~%
  local hashing            5.25          92.00~%        75.00~%   70.00~% to 80.00~%   50.0~%    75.5~%   recommended

Promised: the share of people that every attacker names wrongly, on average, whatever
she knows. Attack: the share that our own attack named wrongly. Top-20 and top-100: mean
relative error of the estimated shares of the most frequent items; where it is as large
as the share itself, nothing is left of them. Noise protects what is sent from now on;
it does not protect data that have already left in clear.

A sentence about as it is.

A sentence about pseudonyms alone.

A sentence about randomized response.

A sentence about local hashing.

Recommended: local hashing, because its promise meets the goal, and the most frequent
items keep the smallest error."""
    )


def test_the_ground_of_a_recommendation_is_named():
    rows = copy.deepcopy(ROWS)
    rows[3]["recommended"], rows[1]["recommended"] = False, True
    for basis, words in (("all data", "proved"), ("these data", "these data"), ("measured", "measured, not proved")):
        last = protection_text(rows, {**GOAL, "basis": basis}).rpartition("\n\n")[2].replace("\n", " ")
        assert last.startswith("Recommended: pseudonyms alone, because")
        assert words in last
