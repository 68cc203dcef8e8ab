"""Figure 4: DET curves of check-ins with the most training, and of score sets."""

from __future__ import annotations

from entropie import words
from entropie.measures.intervals import Interval
from entropie.paper.attacks import attack_step
from entropie.paper.biometrics import biometric_steps
from entropie.paper.charts import Rows, Spec, axis, lines
from entropie.paper.figure import Results
from entropie.paper.settings import Settings
from entropie.paper.sources import Kind
from entropie.paper.steps import Step

name = "4"
title = "DET curves"
claim = "The trade-off of check-ins with 500 training locations is drawn beside those of biometric features."
kinds: tuple[Kind, ...] = ("check-ins",)
shown = ("curve", "users", "equal_error", "equal_error_low", "equal_error_high")

MATCHERS = ("markov", "visit")


def _attacks(settings: Settings) -> dict[str, Step]:
    scale = settings.scale
    return {
        f"check-ins, {matcher}": attack_step(
            "check-ins", matcher, "partial", users=scale.sampled, train_events=max(scale.known),
            min_events=scale.panel_events, det=True
        )
        for matcher in MATCHERS
    }  # fmt: skip


def steps(settings: Settings) -> list[Step]:
    """Two attacks and the score sets."""
    return [*_attacks(settings).values(), *biometric_steps(settings)]


def data(settings: Settings, results: Results) -> Rows:
    """One row per point of a curve; the equal-error rate of the curve stands in each."""
    curves = {title: results[step.name] for title, step in _attacks(settings).items()}
    curves |= {step.name.removeprefix("scores: "): results[step.name] for step in biometric_steps(settings)}
    return [
        {
            "curve": title,
            "far": far,
            "frr": frr,
            "users": found["users"],
            "equal_error": found["equal_error"],
            "equal_error_low": found["equal_error_low"],
            "equal_error_high": found["equal_error_high"],
        }
        for title, found in curves.items()
        for far, frr in found["det"]
    ]


def specs(rows: Rows) -> dict[str, Spec]:
    """FRR against FAR, both on logarithmic axes."""
    spec = lines(
        rows,
        axis("far", "impostors accepted (FAR)", log=True),
        axis("frr", "genuine rejected (FRR)", log=True),
        "curve",
        description="False rejections against false acceptances of check-ins and of biometric score sets.",
    )
    spec["layer"][0]["mark"] = {"type": "line", "clip": True}
    return {"": spec}


def findings(rows: Rows) -> list[str]:
    """The equal-error rates."""
    curves = {row["curve"]: row for row in rows}
    lines = [
        f"Equal-error rate of {title}, {row['users']:,} people: {words.percent(row['equal_error'])} (95 % CI "
        f"{words.interval(Interval(row['equal_error'], row['equal_error_low'], row['equal_error_high']))})."
        for title, row in curves.items()
    ]
    return lines if len(curves) > len(MATCHERS) else [*lines, "Not drawn: score sets; none (bssr1_*.csv) in --data."]
