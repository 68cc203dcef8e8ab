"""Real assessments with risks of one's choice."""

from __future__ import annotations

from typing import Any

from real_documents import real

SHA = "ab" * 32
Three = tuple[float, float, float]


def interval(three: Three) -> dict[str, float]:
    return dict(zip(("value", "low", "high"), three, strict=True))


def assessment(
    average: Three = (0.5, 0.4, 0.6),
    worst: Three = (0.8, 0.7, 0.9),
    *,
    share: float = 0.1,
    people: int = 100,
    among: int = 2,
    facts: dict[str, Any] | None = None,
    split: dict[str, Any] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """So many people of 120; `share` of them are the most exposed."""
    document = real("--matcher", "visit", "--matcher", "bayes")
    document["users"] = people
    for attack in document["attacks"]:
        attack["users"] = attack["targets"] = people
    document["input"] |= {"source": "events.csv", "sha256": SHA, "users": 120, "dropped_users": 20, **(facts or {})}
    document["split"] |= split or {}
    document["headline"] |= {
        "identification_error": interval((1.0 - average[0], 1.0 - average[2], 1.0 - average[1])),
        "most_exposed": {
            "matcher": "visit", "share": share, "people": round(people * share), "right": interval(worst)
        },
        "chosen_among": among,
    }  # fmt: skip
    document["provenance"]["date"] = "2026-11-16T10:30:00+00:00"
    return {**document, **changes}
