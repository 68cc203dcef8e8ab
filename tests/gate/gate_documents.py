"""Assessment documents with risks of one's choice: only what the gate reads, and nothing computed."""

from __future__ import annotations

import copy
from typing import Any

SHA = "ab" * 32
Three = tuple[float, float, float]


def interval(three: Three) -> dict[str, float]:
    return dict(zip(("value", "low", "high"), three, strict=True))


def assessment(
    average: Three = (0.5, 0.4, 0.6), worst: Three | None = (0.8, 0.7, 0.9), **changes: Any
) -> dict[str, Any]:
    """The strongest attack is the second one; the first would give other numbers."""
    error = (1.0 - average[0], 1.0 - average[2], 1.0 - average[1])
    attacks = [
        {
            "matcher": "visit",
            "pse_bits": {**interval((1.0, 0.9, 1.1)), "resolvable": 9.0, "unmatched_genuine_share": 0.0},
            "exposure": {"most_exposed": {"share": 0.1, "people": 7, "right": interval((0.01, 0.0, 0.02))}},
        },
        {
            "matcher": "bayes",
            "pse_bits": {**interval((3.0, 2.5, 3.5)), "resolvable": 9.0, "unmatched_genuine_share": 0.0},
            "exposure": None
            if worst is None
            else {"most_exposed": {"share": 0.1, "people": 1234, "right": interval(worst)}},
        },
    ]
    document = {
        "schema": "entropie.assessment/1",
        "input": {"source": "events.csv", "sha256": SHA, "users": 120, "min_events": 10},
        "split": {"rule": "halves", "knowledge": "partial", "train_events": None, "target_events": None},
        "users": 100,
        "items": 50,
        "events": 2000,
        "attacks": attacks,
        "guessing_error": 0.99,
        "name_bits": 6.64,
        "pie_bits": 2.5,
        "pie_null_bits": 1.0,
        "strongest": 1,
        "headline": {"matcher": "bayes", "identification_error": interval(error), "chosen_among": 2},
        "declared": None,
        "verdict": None,
        "review": None,
        "provenance": {"version": "0.1.0", "date": "2026-11-16T10:30:00+00:00", "seconds": 1.5, "command": None},
    }
    return copy.deepcopy({**document, **changes})
