"""What the attacker learns from and what is attacked: two aligned parts of the same users' traces.

By one date for all people where times span four weeks or more and at least 95 % of people have events on both sides of
the best date; else by halves. Halves make a target as long as its owner's training, and begin where that ends: what
no release has. Of the dates that serve within 1 % of people as many as the best, the one that cuts events most evenly
is taken; days are those of UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from entropie.data.traces import Traces, cut_runs
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.request import SplitRule
from entropie.words import known_events

Knowledge = Literal["partial", "maximum"]
DAY_SECONDS = 86_400
LEAST_DAYS, LEAST_COVERED = 28, 0.95
"""What times must span, and the share of people with events on both sides, for a split by date unless told."""

_ALIKE = 0.01  # dates that cover so much less of the people than the best are as good
_HALVES = SplitRule("halves")


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

    Rule `date`: target X = events from the cut on. Rule `halves`: X = second half of the trace. Rule `history` (the
    paper's rating history): X = the whole trace. `target_events` cuts X to its first events. Maximum knowledge trains
    on X itself; partial on what comes before X, or under `history` on the first events of X, 1 to 5 in the paper.
    """
    split = aligned(*halves_of(traces, settled(rule, traces)))
    if drawn is None:
        return split
    return replace(split, attacked=np.flatnonzero(np.isin(split.users, drawn, assume_unique=True)))


def halves_of(traces: Traces, rule: SplitRule = _HALVES) -> tuple[Traces, Traces]:
    """Training and target of all users, of those with nothing in one of them too."""
    if rule.rule == "history":
        target = traces if rule.target_events is None else first_events(traces, rule.target_events)
        train = target
    else:
        train, target = _cut(traces, _first_parts(traces, rule))
        if rule.target_events is not None:
            target = first_events(target, rule.target_events)
        if rule.knowledge == "maximum":
            train = target
    if rule.train_events is not None:
        train = first_events(train, rule.train_events)
    return train, target


def knows(rule: SplitRule) -> str:
    """What the attacker of earlier behaviour knows, in a few words."""
    return known_events(rule.rule, rule.knowledge, rule.train_events, None if rule.cut is None else cut_date(rule.cut))


def cut_date(cut: int) -> str:
    """The first day that is attacked."""
    return str(np.datetime64(cut // DAY_SECONDS, "D"))


def first_events(traces: Traces, count: int) -> Traces:
    """Keep the first events of every user, all of them where there are fewer."""
    if count < 1:
        raise InvalidParameter.of("count", "at least 1 event", count)
    lengths = np.minimum(np.diff(traces.offsets), count)
    return cut_runs(traces, traces.offsets[:-1], lengths)


def _first_parts(traces: Traces, rule: SplitRule) -> NDArray[np.int64]:
    """How many events of each trace are known: all before the cut, or the longer half."""
    if rule.rule != "date":
        return (np.diff(traces.offsets) + 1) // 2
    assert traces.times is not None
    assert rule.cut is not None
    before = np.zeros(traces.events + 1, np.int64)
    np.cumsum(traces.times < rule.cut, out=before[1:])
    return before[traces.offsets[1:]] - before[traces.offsets[:-1]]


def _cut(traces: Traces, first: NDArray[np.int64]) -> tuple[Traces, Traces]:
    counts, starts = np.diff(traces.offsets), traces.offsets[:-1]
    return cut_runs(traces, starts, first), cut_runs(traces, starts + first, counts - first)


@dataclass(frozen=True, slots=True, eq=False)
class Days:
    """Days of some people: how many begin, how many end, how many events there are on each; parts merge."""

    days: NDArray[np.int64]  # since 1970, rising
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    events: NDArray[np.int64]

    @classmethod
    def of(cls, traces: Traces) -> Days:
        """Count the people of some traces."""
        assert traces.times is not None
        each = traces.times // DAY_SECONDS
        some = np.flatnonzero(np.diff(traces.offsets) > 0)
        days, place = np.unique(each, return_inverse=True)
        first, last = place[traces.offsets[:-1][some]], place[traces.offsets[1:][some] - 1]
        return cls(days, *(np.bincount(places, minlength=days.size) for places in (first, last, place)))

    @classmethod
    def merged(cls, parts: Sequence[Days]) -> Days:
        """The days of all."""
        days, place = np.unique(np.concatenate([part.days for part in parts]), return_inverse=True)
        columns = (np.concatenate([getattr(part, name) for part in parts]) for name in ("begin", "end", "events"))
        return cls(days, *(np.bincount(place, column, days.size).astype(np.int64) for column in columns))

    def settled(self, rule: SplitRule) -> SplitRule:
        """The rule with its cut; a rule that is left open becomes `date` or `halves`."""
        before = [np.cumsum(column)[:-1] for column in (self.begin, self.end, self.events)]
        people, events = int(self.begin.sum()), int(self.events.sum())
        covered = before[0] - before[1]  # by a cut at the beginning of each day but the first
        best = int(covered.max(initial=0))
        if rule.rule is None:
            wide = self.days.size > 0 and self.days[-1] - self.days[0] >= LEAST_DAYS
            if not wide or best < LEAST_COVERED * people:
                return replace(rule, rule="halves")
        if not best:
            raise InvalidInput(
                f"No date has events of a person before and after it; split by {option('rule')} halves instead."
            )
        uneven = np.where(covered >= best - _ALIKE * people, np.abs(2 * before[2] - events), events + 1)
        return replace(rule, rule="date", cut=int(self.days[1:][np.argmin(uneven)]) * DAY_SECONDS)


def settled(rule: SplitRule, traces: Traces) -> SplitRule:
    """The rule with what the data decide: whether it goes by date, and by which."""
    if not is_open(rule):
        return rule
    return untimed(rule) if traces.times is None else Days.of(traces).settled(rule)


def is_open(rule: SplitRule) -> bool:
    """Whether the data have to decide."""
    return rule.rule in (None, "date") and rule.cut is None


def untimed(rule: SplitRule) -> SplitRule:
    """The rule where only the order of events is known."""
    if rule.rule == "date":
        raise InvalidParameter(f"{option('rule')} date needs the times of events; name them with {option('time')}.")
    return replace(rule, rule="halves")


def nobody_to_attack(users: int) -> InvalidInput:
    """The error for people none of whom can be split."""
    return InvalidInput(
        f"None of {users} users has events both to learn from and to attack; two events per user are needed to split a "
        "trace."
    )


def aligned(train: Traces, target: Traces) -> Split:
    """Leave out users with nothing to learn from or nothing to attack."""
    users = np.flatnonzero((np.diff(train.offsets) > 0) & (np.diff(target.offsets) > 0))
    dropped = train.users - users.size
    if users.size == 0:
        raise nobody_to_attack(train.users)
    if dropped:
        same = train is target
        train = train.take(users)
        target = train if same else target.take(users)
    return Split(train, target, users, dropped)
