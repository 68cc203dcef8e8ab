"""What the adversary learns from and what she attacks: two aligned halves of the same users' traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from entropie.data.traces import Traces, cut_runs
from entropie.errors import InvalidInput, InvalidParameter

__all__ = [
    "Knowledge",
    "Split",
    "check_split",
    "first_events",
    "halves_of",
    "split_halves",
    "split_history",
    "split_traces",
]

Knowledge = Literal["partial", "maximum"]


@dataclass(frozen=True, slots=True)
class Split:
    """Training and target events of the same users: target i is of the user whose training is train i.

    Users without a training or without a target event are in neither; `dropped_users` counts them.
    """

    train: Traces
    target: Traces
    users: NDArray[np.int64]  # code of each user in the traces that were split
    dropped_users: int


def split_traces(
    traces: Traces,
    *,
    rule: Literal["halves", "history"] = "halves",
    knowledge: Knowledge = "partial",
    target_events: int | None = None,
    train_events: int | None = None,
) -> Split:
    """Split as an attack asks: rule, knowledge, and how many first events of target and training are used.

    Rule `halves`: target X = second half of the trace. Rule `history` (the paper's rating history): X = the
    whole trace. `target_events` cuts X to its first events. Maximum knowledge trains on X itself; partial on
    the first half, or under `history` on the first events of X, 1 to 5 of them in the paper.
    """
    return _aligned(
        *halves_of(traces, rule=rule, knowledge=knowledge, target_events=target_events, train_events=train_events)
    )


def halves_of(
    traces: Traces,
    *,
    rule: Literal["halves", "history"] = "halves",
    knowledge: Knowledge = "partial",
    target_events: int | None = None,
    train_events: int | None = None,
) -> tuple[Traces, Traces]:
    """Training and target of all users, of those with nothing in one of them too."""
    check_split(rule, knowledge, train_events)
    if rule == "history":
        target = traces if target_events is None else first_events(traces, target_events)
        train = target
    else:
        train, target = _halves(traces)
        if target_events is not None:
            target = first_events(target, target_events)
        if knowledge == "maximum":
            train = target
    if train_events is not None:
        train = first_events(train, train_events)
    return train, target


def check_split(rule: str, knowledge: str, train_events: int | None) -> None:
    """Refuse what no traces can be split by."""
    if rule not in ("halves", "history"):
        raise InvalidParameter.of("rule", "halves or history", rule)
    if knowledge not in ("partial", "maximum"):
        raise InvalidParameter.of("knowledge", "partial or maximum", knowledge)
    if rule == "history" and knowledge == "partial" and train_events is None:
        raise InvalidParameter.of("train_events", "given under rule history with partial knowledge", None)


def split_halves(traces: Traces) -> Split:
    """Train on the first ceil(c/2) of a user's c events; the rest is the target."""
    return split_traces(traces)


def split_history(traces: Traces, known_events: int) -> Split:
    """Train on the first events of X itself, target X: the paper's rule for rating histories."""
    return split_traces(traces, rule="history", train_events=known_events)


def first_events(traces: Traces, count: int) -> Traces:
    """Keep the first events of every user, all of them where there are fewer."""
    if count < 1:
        raise InvalidParameter.of("count", "at least 1 event", count)
    lengths = np.minimum(np.diff(traces.offsets), count)
    return cut_runs(traces, traces.offsets[:-1], lengths)


def _halves(traces: Traces) -> tuple[Traces, Traces]:
    counts = np.diff(traces.offsets)
    first = (counts + 1) // 2
    starts = traces.offsets[:-1]
    return cut_runs(traces, starts, first), cut_runs(traces, starts + first, counts - first)


def _aligned(train: Traces, target: Traces) -> Split:
    """Leave out users with nothing to learn from or nothing to attack."""
    users = np.flatnonzero((np.diff(train.offsets) > 0) & (np.diff(target.offsets) > 0))
    dropped = train.users - users.size
    if users.size == 0:
        raise InvalidInput(
            f"None of {train.users} users has events both to learn from and to attack; "
            "two events per user are needed to split a trace into halves."
        )
    if dropped:
        same = train is target
        train = train.take(users)
        target = train if same else target.take(users)
    return Split(train, target, users, dropped)
