"""Figure 3: PSE with partial knowledge, by training locations and by known ratings."""

from __future__ import annotations

from entropie import words
from entropie.paper.attacks import attack_step
from entropie.paper.charts import Rows, Spec, axis, lines
from entropie.paper.figure import Results
from entropie.paper.settings import Settings
from entropie.paper.sources import Kind
from entropie.paper.steps import Step

name = "3"
title = "PSE with partial knowledge"
claim = "PSE is drawn against 100 to 500 training locations and 1 to 5 known ratings."
kinds: tuple[Kind, ...] = ("check-ins", "ratings")
shown = (
    "data", "matcher", "known", "users", "pse_bits", "pse_low_bits", "pse_high_bits", "resolvable_bits",
    "unmatched_share", "pse_paper_bits", "error", "error_low", "error_high",
)  # fmt: skip

MATCHERS = ("markov", "visit")
RATINGS_KNOWN = (1, 2, 3, 4, 5)


def plan(settings: Settings) -> list[tuple[Kind, str, int, Step]]:
    """Every attack: data, matcher, events known, step.

    All training lengths are tried on the same people, those with enough check-ins for the longest of them.
    """
    scale = settings.scale
    attacks: list[tuple[Kind, str, int, Step]] = []
    for matcher in MATCHERS:
        for known in scale.known:
            step = attack_step(
                "check-ins", matcher, "partial", users=scale.sampled, train_events=known,
                min_events=scale.panel_events
            )  # fmt: skip
            attacks.append(("check-ins", matcher, known, step))
        for known in RATINGS_KNOWN:
            users = min(scale.sampled, scale.raters)
            step = attack_step("ratings", matcher, "partial", users=users, train_events=known)
            attacks.append(("ratings", matcher, known, step))
    return attacks


def steps(settings: Settings) -> list[Step]:
    """All attacks."""
    return [step for *_, step in plan(settings)]


def data(settings: Settings, results: Results) -> Rows:
    """One row per attack."""
    return [
        {"data": kind, "matcher": matcher, "known": known, **results[step.name]}
        for kind, matcher, known, step in plan(settings)
    ]


def specs(rows: Rows) -> dict[str, Spec]:
    """Bits against what is known, a chart for each kind of data."""
    charts = {}
    for kind, suffix, title in (("check-ins", "", "training check-ins"), ("ratings", "-ratings", "known ratings")):
        drawn = [
            {"known": row["known"], "bits": row[key], "estimate": name, "matcher": row["matcher"]}
            for row in rows
            if row["data"] == kind
            for key, name in (("pse_bits", "all pairs"), ("pse_paper_bits", "the paper's estimate"))
        ]
        charts[suffix] = lines(
            drawn,
            axis("known", title),
            axis("bits", "PSE (bits)"),
            "matcher",
            dash="estimate",
            description=f"PSE with partial knowledge against the {title}, by matcher and estimate.",
        )
    return charts


def findings(rows: Rows) -> list[str]:
    """How much knowing more helps."""
    lines = []
    for kind in ("check-ins", "ratings"):
        for matcher in MATCHERS:
            same = [row for row in rows if row["data"] == kind and row["matcher"] == matcher]
            first, last = same[0], same[-1]
            lines.append(
                f"{kind.capitalize()}, {matcher}, {last['users']:,} people: {words.percent(1.0 - first['error'])} "
                f"re-identified with {first['known']} known, {words.percent(1.0 - last['error'])} with {last['known']} "
                f"({words.bits(first['pse_bits'])} and {words.bits(last['pse_bits'])} bits)."
            )
    return lines
