"""The plan: what an engine is to do, from a request and counts. The engine decides nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from entropie.attack.matchers import MATCHERS
from entropie.data.split import Split
from entropie.errors import InvalidInput, option
from entropie.plan.attacks import (
    FEW_EVENTS,
    FOR_FEW_EVENTS,
    MANY_PEOPLE,
    AttackSpec,
    Histogram,
    Training,
)
from entropie.plan.grid import TASK_MEMORY, Bins, Grid, Workers, grid_of
from entropie.request import MATCHERS_ALONE, Request, Run


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The people in numbers: who has how many events to learn from and to attack, and where along the codes.

    attacked   how many of them are attacked
    """

    train: Histogram
    target: Histogram
    bins: Bins
    attacked: int

    @classmethod
    def of(cls, split: Split) -> Counts:
        """Count people whose traces have been split."""
        train, target = (np.diff(traces.offsets) for traces in (split.train, split.target))
        asked = target
        if split.attacked is not None:
            asked = np.zeros_like(target)
            asked[split.attacked] = target[split.attacked]
        bins = Bins.of_people(split.users, train, asked, split.users.size + split.dropped_users)
        lengths = [np.unique(part, return_counts=True) for part in (train, target)]
        return cls(lengths[0], lengths[1], bins, split.targets)

    @classmethod
    def even(cls, people: int, train_events: float, target_events: float, attacked: int | None = None) -> Counts:
        """People who have no data yet: all alike, with so many events each on average."""
        attacked = people if attacked is None else attacked
        first = np.arange(0, people, Bins.width(people))
        edges = np.append(first, people)
        asked = target_events * attacked / people
        events = [np.diff(np.floor(edges * each)).astype(np.int64) for each in (train_events, asked)]
        bins = Bins(first, np.diff(edges), events[0], events[1], people)
        return cls(_two_lengths(people, train_events), _two_lengths(people, target_events), bins, attacked)

    @property
    def people(self) -> int:
        """People assessed: the candidates."""
        return int(self.train[1].sum())

    @property
    def train_events(self) -> int:
        """Events to learn from."""
        return int((self.train[0] * self.train[1]).sum())

    @property
    def target_events(self) -> int:
        """Events of all people on the side that is attacked."""
        return int((self.target[0] * self.target[1]).sum())


def _two_lengths(people: int, each: float) -> Histogram:
    """The two whole numbers about the average, and how many people have which."""
    low = int(each)
    more = round(people * (each - low))
    lengths, counts = np.array([low, low + 1]), np.array([people - more, more])
    return lengths[counts > 0], counts[counts > 0]


@dataclass(frozen=True, slots=True)
class Plan:
    """Every attack of an assessment, and the blocks they run on.

    people         candidates; `targets` of them are attacked
    known_events   numbers of events that weaker attackers know, rising
    single         whether no target has more than one event
    attackers      whether the attackers beside the matchers run, who need everybody's traces at once
    """

    people: int
    targets: int
    matchers: tuple[str, ...]
    control: bool
    known_events: tuple[int, ...]
    knows_targets: bool
    single: bool
    grid: Grid
    attackers: bool = True

    @property
    def first_stage(self) -> tuple[tuple[AttackSpec, ...], ...]:
        """The attacks by every matcher, in groups that run together; neighbours share their models."""
        shuffled = (False, True) if self.control else (False,)
        each = [tuple(AttackSpec(name, shuffled=one) for one in shuffled) for name in self.matchers]
        return (tuple(spec for specs in each for spec in specs),) if self.together else tuple(each)

    def second_stage(self, strongest: str) -> tuple[AttackSpec, ...]:
        """The attackers who know less, once it is known which matcher does best."""
        return tuple(spec for step in self.known_events for spec in self.knowing(step, strongest))

    def knowing(self, step: int, strongest: str) -> tuple[AttackSpec, ...]:
        """The attacks of someone who knows so many events; the best of them counts."""
        few = step <= FEW_EVENTS and FOR_FEW_EVENTS in self.matchers
        names = (strongest, FOR_FEW_EVENTS) if few else (strongest,)
        return tuple(AttackSpec(name, step) for name in dict.fromkeys(names))

    @property
    def together(self) -> bool:
        """Whether all matchers run at once."""
        return self.people <= MANY_PEOPLE

    @property
    def models(self) -> int:
        """Models of a group of the first stage."""
        return len(self.matchers) if self.together else 1

    @property
    def trainings(self) -> tuple[Training, ...]:
        """Everything that is learned from in either stage."""
        return (None, *self.known_events)


def plan_of(request: Request, counts: Counts, workers: Workers | None = None) -> Plan:
    """Say what the request takes for people of these counts; `workers` are those of this machine unless given."""
    people = counts.people
    if people < 2:
        raise InvalidInput(
            f"An attack needs at least two people with enough events, there is one; lower {option('min_events')}."
        )
    if counts.attacked < 2:
        raise InvalidInput(
            f"At least two people must be attacked, of those drawn {counts.attacked} can be; raise {option('targets')}."
        )
    attackers = request.attackers
    matchers = attackers.matchers or tuple(MATCHERS)
    models = len(matchers) if people <= MANY_PEOPLE else 1
    return Plan(
        people=people,
        targets=counts.attacked,
        matchers=matchers,
        control=attackers.control,
        known_events=attackers.known_events,
        knows_targets=request.split.knowledge == "maximum",
        single=int(counts.target[0][-1]) == 1,
        grid=grid_of(counts.bins, workers or workers_of(request.run), models, counts.attacked),
        attackers=request.run.engine == "local" or attackers.scope != MATCHERS_ALONE,
    )


def workers_of(run: Run, cores: int | None = None) -> Workers:
    """What the run has: the threads of this machine, or as many tasks of a cluster."""
    if run.engine == "local":
        return Workers(run.threads or os.cpu_count() or 1, run.memory, True, run.block_users)
    return Workers(cores or 1, TASK_MEMORY if run.memory is None else run.memory, False, run.block_users)
