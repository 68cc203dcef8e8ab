"""What a price is asked for: how many people with how many events, what they share, and on which machines."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from entropie.errors import InvalidParameter
from entropie.plan.attacks import Training
from entropie.plan.grid import Workers
from entropie.plan.plan import Counts
from entropie.quantities import MOST_BYTES
from entropie.request import SplitRule
from entropie.theory import checks

ZIPF_EXPONENT = 0.7
"""Check-ins of New York are shared as by a Zipf law of 0.64, of São Paulo as by one of 0.68; a little more is safe."""
DISTINCT_SHARE = 0.5
"""Items over events of a person in half of their events: 0.48 in New York, 0.34 in São Paulo, near 1 for films."""
TASK_SHARE = 0.6
"""Share of an executor's memory that its Python tasks have together."""
MOST_EXECUTORS = 10**6
_EXACT_ITEMS = 4096
_MB = 10**6


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """What the price of a plan depends on beside it.

    sharing    mean number of people who have the item of a random target event in training
    distinct   distinct items per training event of a person
    """

    counts: Counts
    items: int
    sharing: float
    distinct: float = DISTINCT_SHARE

    def __post_init__(self) -> None:
        if not 0.0 < self.distinct <= 1.0:
            raise InvalidParameter.of("distinct", "a share above 0 and at most 1", self.distinct)
        if not 0.0 < self.sharing <= self.counts.people:
            rule = f"above 0 and at most the number of people, {self.counts.people}"
            raise InvalidParameter.of("people_per_event", rule, self.sharing)

    @property
    def events(self) -> int:
        """Events of all people."""
        return self.counts.train_events + self.counts.target_events

    def distinct_items(self, training: Training) -> float:
        """Items of all people in what is learned from, each person's counted once.

        Among a person's first k of T events are k^b distinct items, with the b that gives the share `distinct` at T.
        """
        people, counts = self.counts.people, self.counts
        learned = counts.target_events if training == "target" else counts.train_events
        length = learned / people
        known = min(float(training), length) if isinstance(training, int) else length
        if length <= 1.0:
            return people * known
        power = max(0.0, 1.0 + math.log(self.distinct) / math.log(length))
        return people * float(known**power)

    @property
    def target_items(self) -> float:
        """Items of those who are attacked, each target's counted once."""
        return self.distinct_items("target") * self.counts.attacked / self.counts.people

    def shared(self, training: Training) -> float:
        """People who have the item of a target event among what is learned from."""
        return self.sharing * self.distinct_items(training) / self.distinct_items(None)


@dataclass(frozen=True, slots=True)
class Machines:
    """What the work runs on; `throughput` is bytes per second that one executor writes or reads in a shuffle."""

    executors: int = 1
    cores: int = 4
    memory: float = 16e9
    throughput: float = 200e6

    def __post_init__(self) -> None:
        checks.whole_number("executors", self.executors, at_least=1, at_most=MOST_EXECUTORS)
        checks.whole_number("cores", self.cores, at_least=1, at_most=4096)
        if not 0 < self.memory <= MOST_BYTES:  # also where a whole number is too large for one with a point
            raise InvalidParameter.of("memory", "a positive size", self.memory)
        if not 0 < self.throughput <= MOST_BYTES:
            raise InvalidParameter.of("throughput", "a positive number of MB per second", self.throughput / _MB)

    @property
    def all_cores(self) -> int:
        """Cores of all executors."""
        return self.executors * self.cores

    @property
    def task_memory(self) -> int:
        """What one task may fill: the value for `assess --memory`."""
        return max(1, int(TASK_SHARE * self.memory / self.cores))

    @property
    def workers(self) -> Workers:
        """The tasks of a cluster of these."""
        return Workers(self.all_cores, self.task_memory, shared=False)


def people_per_event(users: int, events: int, items: int, *, distinct: float, exponent: float) -> float:
    """How many people have the item of a random event, if all drew their items from one Zipf law.

    n sum_x p(x) (1 - (1 - p(x))^t) with p(x) proportional to x^-exponent and t distinct items per person in half of
    their events. People who live in different places share less, and those who follow a fashion more.
    """
    if not 0.0 <= exponent <= 3.0:
        raise InvalidParameter.of("zipf", "between 0 and 3", exponent)
    head = min(items, _EXACT_ITEMS)
    edges = np.unique(np.round(np.geomspace(head + 1, items + 1, 2048))) if items > head else np.array([head + 1.0])
    ranks = np.concatenate((np.arange(1.0, head + 1.0), (edges[1:] + edges[:-1] - 1.0) / 2.0))
    times = np.concatenate((np.ones(head), np.diff(edges)))
    share = ranks**-exponent
    share /= float(np.sum(times * share))
    drawn = distinct * events / (2 * users)
    has = -np.expm1(drawn * np.log1p(-np.minimum(share, 1.0 - 1e-12)))
    return float(users * np.sum(times * share * has))


def even_counts(users: int, events: int, split: SplitRule, attacked: int | None = None) -> Counts:
    """Counts of people who are all alike, split by the rule; `attacked` of them are attacked, all unless given."""
    each = events / users
    train = (each + 1) // 2 if each == int(each) else each / 2
    target = each - train
    if split.rule == "history":
        target = each
    if split.target_events is not None:
        target = min(target, float(split.target_events))
    if split.rule == "history" or split.knowledge == "maximum":
        train = target
    if split.train_events is not None:
        train = min(train, float(split.train_events))
    return Counts.even(users, train, target, attacked)
