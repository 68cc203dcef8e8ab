"""Attacks of the figures on identification: one step from traces to bits and errors, shared by several figures."""

from __future__ import annotations

import math
from typing import Any, Literal

from entropie.attack.measured import attack_outcome, measure_outcome
from entropie.attack.scoring import AttackOutcome
from entropie.data.split import Knowledge, Split, split_traces
from entropie.measures.nearest_neighbour import JITTER, paper_estimate
from entropie.measures.summary import Measures
from entropie.paper.settings import Settings
from entropie.paper.sources import Kind, at_least, sample, source
from entropie.paper.steps import Step
from entropie.request import Run, SplitRule

WIDE = 10.0
"""How many times wider the noise is whose effect on the paper's estimate is shown."""


def attack_step(
    kind: Kind,
    matcher: str,
    knowledge: Knowledge,
    *,
    users: int,
    target_events: int | None = None,
    train_events: int | None = None,
    min_events: int = 0,
    det: bool = False,
) -> Step:
    """The step of one attack; steps with equal arguments are the same step."""
    events = "whole" if target_events is None else str(target_events)
    known = "" if train_events is None else f", {train_events} known"
    name = f"{kind}: {matcher}, {knowledge} knowledge, {events} attacked{known}, {users} people"
    arguments = {
        "kind": kind,
        "matcher": matcher,
        "users": users,
        "split": {"knowledge": knowledge, "target_events": target_events, "train_events": train_events},
        "min_events": min_events,
        "det": det,
    }
    return Step(f"{name}, curve" if det else name, attacked, arguments, _seconds(users, target_events, min_events))


def _seconds(users: int, target_events: int | None, min_events: int) -> float:
    """About how long an attack takes: all pairs of whole traces grow with the square, few events hardly overlap."""
    if min_events:
        return 0.5  # few people have so many
    return 0.3 + (1.5 * (users / 4_000) ** 2 if target_events is None else users / 80_000)


def attacked(
    settings: Settings,
    *,
    kind: Kind,
    matcher: str,
    users: int,
    split: dict[str, Any],
    min_events: int,
    det: bool,
) -> dict[str, Any]:
    """Attack so many people of one kind of data, all pairs of them."""
    people = at_least(source(settings, kind).traces, min_events)
    chosen = sample(people, users, settings.seed)
    rule: Literal["halves", "history"] = "halves" if kind == "check-ins" else "history"
    parts = split_traces(chosen, SplitRule(rule, **split))
    return {**measured_traces(settings, matcher, parts, det), "people_to_choose_from": people.users}


def measured_traces(settings: Settings, matcher: str, split: Split, det: bool = False) -> dict[str, Any]:
    """Attack every target of a split."""
    outcome = attack_outcome(matcher, split.train, split.target, Run(threads=settings.threads))
    return measured(outcome, split.train.users, settings, det)


def measured(outcome: AttackOutcome, users: int, settings: Settings, det: bool = False) -> dict[str, Any]:
    """Bits and errors of an attack, as plain values.

    `pse_bits` is the estimate from the scores of all pairs, `pse_paper_bits` the paper's own with one impostor
    score per person, `pse_paper_wide_bits` the same with ten times the noise: where the two differ by log2 10 = 3.32
    bits the noise sets the value. `resolvable_bits` is the most that so many impostor scores can show.
    """
    measures = measure_outcome(outcome, users=users, seed=settings.seed, replicates=settings.scale.replicates)
    return {
        "users": users,
        "name_bits": math.log2(users),
        **errors_and_bits(measures),
        "pse_paper_wide_bits": paper_estimate(outcome.law, settings.seed, jitter=WIDE * JITTER).value,
        **(trade_off(measures) if det else {}),
    }


def errors_and_bits(measures: Measures) -> dict[str, Any]:
    """Columns of the figures on identification."""
    error, pse = measures.identification_error, measures.pse_bits
    assert error is not None
    return {
        "error": error.value,
        "error_low": error.low,
        "error_high": error.high,
        "pse_bits": pse.value,
        "pse_low_bits": pse.low,
        "pse_high_bits": pse.high,
        "resolvable_bits": pse.resolvable,
        "unmatched_share": pse.unmatched_genuine_share,
        "pse_finite_bits": measures.pse_finite_bits.value,
        "pse_paper_bits": None if measures.pse_paper_bits is None else measures.pse_paper_bits.value,
    }


def trade_off(measures: Measures) -> dict[str, Any]:
    """Columns of the figure of DET curves."""
    return {
        "equal_error": measures.equal_error_rate.value,
        "equal_error_low": measures.equal_error_rate.low,
        "equal_error_high": measures.equal_error_rate.high,
        "det": measures.det,
    }
