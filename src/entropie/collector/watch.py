"""Looks at a collection again and again: judges it, keeps its alerts in the store, tells what has changed.

Once a day the attack on the collection's own parameters is simulated and its outcome judged with the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from entropie.collector.alerts import Alert, changes, judge, log_lines
from entropie.collector.facts import Facts, observed
from entropie.collector.regression import Attacked, attacked
from entropie.collector.status import ItemEstimate, Status, named, status
from entropie.collector.store import Held, Store
from entropie.collector.webhook import Webhook

_ALERTS, _NIGHT = "alerts", "attack"


class Night(msgspec.Struct, frozen=True):
    """The attack that was simulated on a day, which is counted from 1970."""

    day: int
    outcome: Attacked


@dataclass(slots=True)
class Watch:
    """A store that is watched.

    path      its file, where it is one: its disk is looked at
    log       takes a line for each change
    webhook   where changes go too
    """

    store: Store
    path: Path | None
    log: Callable[[str], None]
    webhook: Webhook | None = None
    _most: dict[str, int] = field(default_factory=dict)

    def look(self, held: Held) -> None:
        """Judge a collection and tell what has changed."""
        facts, before = self._facts(held), self._alerts(held)
        self._most[held.id] = max(facts.total, self._most.get(held.id, 0))
        now = judge(facts, before, self._night(facts))
        told = changes(facts, before, now)
        if now != before:
            self.store.note(f"{_ALERTS} {held.id}", msgspec.json.encode(now).decode())
        if told is None:
            return
        for line in log_lines(told):
            self.log(line)
        problem = None if self.webhook is None else self.webhook.send(told, int(time.time()))
        if problem is not None:
            self.log(problem)

    def status(self, held: Held) -> Status:
        """The collection as people see it; changes nothing."""
        facts, night = self._facts(held), self._kept_night(held.id)
        outcome = None if night is None else night.outcome
        return status(facts, judge(facts, self._alerts(held), outcome), outcome)

    def named(self, held: Held, name: str) -> ItemEstimate | None:
        """The estimate of one name; None without reports."""
        return next(iter(named(self._facts(held), [name])), None)

    def seen(self, held: Held) -> None:
        """Forget the alerts of a collection: those whose cause is still there are raised again."""
        self._most.pop(held.id, None)
        self.store.note(f"{_ALERTS} {held.id}", "[]")

    def _facts(self, held: Held) -> Facts:
        return observed(self.store, held, self._most.get(held.id, 0), self.path)

    def _alerts(self, held: Held) -> tuple[Alert, ...]:
        kept = self.store.note(f"{_ALERTS} {held.id}")
        return () if kept is None else msgspec.json.decode(kept, type=tuple[Alert, ...])

    def _kept_night(self, collection: str) -> Night | None:
        kept = self.store.note(f"{_NIGHT} {collection}")
        return None if kept is None else msgspec.json.decode(kept, type=Night)

    def _night(self, facts: Facts) -> Attacked:
        """Today's attack; simulated where it was not yet."""
        day, name = facts.hour // 24, facts.collection.id
        kept = self._kept_night(name)
        if kept is None or kept.day != day:
            kept = Night(day, attacked(facts.collection, np.random.default_rng()))
            self.store.note(f"{_NIGHT} {name}", msgspec.json.encode(kept).decode())
        return kept.outcome
