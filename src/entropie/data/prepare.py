"""From a table to what is attacked: events read, people chosen, traces split, and an account of all of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from entropie.data.events import Events, read_events
from entropie.data.filter import keep_active_users, sample_users
from entropie.data.split import Knowledge, Split, split_traces
from entropie.data.traces import Traces
from entropie.progress import silent, under
from entropie.request import Run, Source, SplitRule, converted

__all__ = ["Prepared", "Rule", "prepare_events"]

Rule = Literal["halves", "history"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything an assessment starts from.

    traces        the people who stay, all their events
    split         what the attacker learns from and what she attacks
    item_ids      the id behind each item code of the traces
    knowledge     partial or maximum
    input_facts   what was read and left out, as in assessment.json
    split_facts   how it was split, as in assessment.json
    """

    traces: Traces
    split: Split
    item_ids: pa.Array
    knowledge: Knowledge
    input_facts: dict[str, Any]
    split_facts: dict[str, Any]


def prepare_events(
    events: object,
    *,
    user: str | None = None,
    item: str | None = None,
    time: str | None = None,
    rating: str | None = None,
    preset: str | None = None,
    min_rating: float | None = None,
    grid: str | None = None,
    min_events: int = 10,
    max_dirty_share: float = 0.01,
    sample: int | None = None,
    knowledge: Knowledge = "partial",
    rule: Rule = "halves",
    target_events: int | None = None,
    train_events: int | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Prepared:
    """Read, filter, sample and split; the arguments are those of `entropie.assess`."""
    source = Source(
        events, user=user, item=item, time=time, rating=rating, preset=preset, min_rating=min_rating, grid=grid,
        max_dirty_share=max_dirty_share,
    )  # fmt: skip
    memory = None if memory_limit is None else converted("memory_limit", "bytes", memory_limit)
    read = read_events(source, Run(threads=threads, memory=memory, progress=under(progress or silent, "reading")))
    chosen, facts = _selected(read, min_events, sample)
    del read
    split = split_traces(chosen.traces, SplitRule(rule, knowledge, train_events, target_events))
    split_facts = {
        "rule": rule,
        "knowledge": knowledge,
        "train_events": train_events,
        "target_events": target_events,
        "dropped_users": split.dropped_users,
    }
    return Prepared(chosen.traces, split, chosen.item_ids, knowledge, facts, split_facts)


def _selected(read: Events, min_events: int, sample: int | None) -> tuple[Events, dict[str, Any]]:
    """The people to attack, and the account of what was read and left out."""
    selection = keep_active_users(read.traces, min_events)
    facts = {
        **read.report.as_dict(),
        "min_events": min_events,
        "dropped_users": selection.dropped_users,
        "dropped_events": selection.dropped_events,
    }
    chosen = read.select(selection)
    if sample is None or sample >= chosen.traces.users:
        return chosen, facts
    chosen = chosen.select(sample_users(chosen.traces, chosen.user_ids, count=sample))
    return chosen, {**facts, "sampled_users": chosen.traces.users}
