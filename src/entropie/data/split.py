"""What the attacker learns from and what is attacked: two aligned halves of the same users' traces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from entropie.data.traces import Traces, cut_runs
from entropie.errors import InvalidInput, InvalidParameter
from entropie.request import SplitRule

Knowledge = Literal["partial", "maximum"]
_HALVES = SplitRule()


@dataclass(frozen=True, slots=True)
class Split:
    """Training and target events of the same users: target i is of the user whose training is train i.

    Users without a training or without a target event are in neither; `dropped_users` counts them. `attacked` are the
    rows of those who are attacked, ascending; None: everybody.
    """

    train: Traces
    target: Traces
    users: NDArray[np.int64]  # code of each user in the traces that were split
    dropped_users: int
    attacked: NDArray[np.int64] | None = None

    @property
    def targets(self) -> int:
        """How many people are attacked."""
        return self.users.size if self.attacked is None else self.attacked.size


def split_traces(traces: Traces, rule: SplitRule = _HALVES, drawn: NDArray[np.int64] | None = None) -> Split:
    """Split as an attack asks: rule, knowledge, and how many first events of target and training are used.

    `drawn` are the users who are attacked, everybody unless given.

    Rule `halves`: target X = second half of the trace. Rule `history` (the paper's rating history): X = the
    whole trace. `target_events` cuts X to its first events. Maximum knowledge trains on X itself; partial on
    the first half, or under `history` on the first events of X, 1 to 5 of them in the paper.
    """
    split = _aligned(*halves_of(traces, rule))
    if drawn is None:
        return split
    return replace(split, attacked=np.flatnonzero(np.isin(split.users, drawn, assume_unique=True)))


def halves_of(traces: Traces, rule: SplitRule = _HALVES) -> tuple[Traces, Traces]:
    """Training and target of all users, of those with nothing in one of them too."""
    if rule.rule == "history":
        target = traces if rule.target_events is None else first_events(traces, rule.target_events)
        train = target
    else:
        train, target = _halves(traces)
        if rule.target_events is not None:
            target = first_events(target, rule.target_events)
        if rule.knowledge == "maximum":
            train = target
    if rule.train_events is not None:
        train = first_events(train, rule.train_events)
    return train, target


def split_halves(traces: Traces) -> Split:
    """Train on the first ceil(c/2) of a user's c events; the rest is the target."""
    return split_traces(traces)


def split_history(traces: Traces, known_events: int) -> Split:
    """Train on the first events of X itself, target X: the paper's rule for rating histories."""
    return split_traces(traces, SplitRule("history", train_events=known_events))


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
