"""The profile attacker from end to end: learn on the training cut in two, then name the targets.

    training --cut in two--> quarters --candidates, evidence--> weights, temperature
    training, targets --candidates, evidence x weights--> plain --crowd--> --joint-->

Nothing here knows whose a target is: the owners enter in `rows`, which measures.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import check_same_people, item_rows
from entropie.attack.profile.candidates import (
    HABITS,
    USUAL_HABITS,
    Candidates,
    best_candidates,
    index_of,
    looks,
    scene_of,
    search_among,
)
from entropie.attack.profile.everybody import (
    Everybody,
    asked_tally,
    everybody_from,
    fingerprints,
    known_tally,
    merge_tallies,
)
from entropie.attack.profile.evidence import evidence_for, fused, lacking, weighed
from entropie.attack.profile.fusion import Fusion, learn_fusion
from entropie.attack.profile.habits import USUAL, Level, steps_back
from entropie.attack.profile.hours import level_of
from entropie.attack.profile.joint import ROUNDS, choose_rounds, choose_temperature, crowd_scores, joint_scores
from entropie.attack.profile.occasional import OCCASIONAL, TIMED, Habit, Occasional, habits_of
from entropie.attack.scoring import core_count
from entropie.data.traces import Traces, cut_runs, in_blocks
from entropie.errors import InvalidInput, option
from entropie.kernels.profile_evidence import FEATURES
from entropie.kernels.profile_search import meeting_places
from entropie.request import MANY_TARGETS

KEPT, KEPT_OF_MANY = 200, 50
"""People who come into question for a target; fewer where more than `MANY_TARGETS` are attacked, to fit memory."""

AT_ONCE = 1 << 16
"""Targets that are described at once."""

NEARBY = 4096
"""Targets who share an item that so many people have at most are looked at together."""

PROBED, MOST_LOOKS = 64, 2**40
"""Where many targets are attacked, so many are tried to foretell how many people will be looked at; and the most that
are, some five hours of a core.
"""


LEARNED = 132
"""The same in the lists that weights are learned on, a quarter of them found by habits alone."""

LEARNERS = 4000
"""Weights are learned on so many people at most, those whose fingerprints are lowest."""

DISTINCTIVE = 100
"""So many more whose habits differ most from everybody's, for each kind of habit: others do not teach what few have."""

REPEATING = 0.5
"""Where a smaller share of people has an item in both quarters, candidates need not share an item with the target."""

LEAST_MISSING = 1e-6
"""An item known to be released is missing from a trace of its person no less often than this."""

_OF_SHARED_ITEMS = np.isin(FEATURES, ("item", "presence", "item_hour", "reverse", "again"))


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """What the training taught: how much each kind of evidence counts, and how sharply to match."""

    fusion: Fusion
    temperature: float
    repeats: bool  # whether most people meet items again
    rounds: tuple[int, int] = (1, ROUNDS)  # of matching, for the crowd and one-to-one
    missing: float = 0.0  # what an item counts that is known of a person and not in the target
    level: Level = USUAL  # how finely hours tell people apart
    habits: tuple[Habit, ...] = ()  # those of few data that somebody here has

    def crowd(self, plain: Candidates, users: int) -> Candidates:
        """Scores against the crowd of targets."""
        return crowd_scores(plain, users, self.temperature, self.rounds[0])

    def joint(self, plain: Candidates, users: int) -> Candidates:
        """Scores matched one-to-one."""
        return joint_scores(plain, users, self.temperature, self.rounds[1])


@dataclass(frozen=True, slots=True, eq=False)
class ProfileAttack:
    """Whom the attacker names: by each target alone, by the crowd of targets, and one-to-one."""

    lesson: Lesson
    plain: Candidates
    crowd: Candidates
    joint: Candidates


def profile_attack(
    train: Traces,
    target: Traces,
    item_categories: NDArray[np.int64] | None = None,
    *,
    attacked: NDArray[np.int64] | None = None,
    contained: float = 0.0,
    threads: int | None = None,
) -> ProfileAttack:
    """Learn on the training, attack the targets of the people `attacked`, or all, who are the crowd then.

    `item_categories` has the category of every item, 0 and up; `contained` is the share of the training that is among
    the target's events, 1 under the rule history, and 0 where the one comes before the other.
    """
    check_same_people(train, target)
    workers = core_count(threads)
    lesson = learn(train, item_categories, contained=contained, threads=workers)
    plain = name_targets(train, target, lesson, item_categories, rows=attacked, threads=workers)
    return ProfileAttack(lesson, plain, lesson.crowd(plain, train.users), lesson.joint(plain, train.users))


def learn(
    train: Traces, item_categories: NDArray[np.int64] | None = None, *, contained: float = 0.0, threads: int = 1
) -> Lesson:
    """Learn from people whose training can be cut in two: the earlier part is known, the later one attacked, or all.

    Where the known events are among the attacked ones, nothing need be learned of that: a person of whom an item is
    known that the target lacks is as unlikely as the share of events that are not. The rest counts beside it as far as
    it is of items that both have: how the target goes on cannot be learned from a few events among a few.
    """
    lengths = np.diff(train.offsets)
    able = train.take(np.flatnonzero(lengths >= 2))
    missing = math.log(max(1.0 - contained, LEAST_MISSING)) if contained else 0.0
    if able.users < 2:
        return Lesson(Fusion(np.ones(len(FEATURES)), 0), 1.0, True, missing=missing)
    earlier, later = halves(able)
    level = level_of(earlier, later)
    habits = habits_of(earlier, later, dated=not steps_back(able))
    later = able if contained else later
    everybody = everybody_of(earlier, later, item_categories, level, habits)
    rows = np.sort(np.argsort(fingerprints(able, everybody), kind="stable")[:LEARNERS])
    scene = scene_of(earlier, later, everybody, rows)
    if rows.size < able.users:
        rows = np.union1d(rows, distinctive(scene.people.habits, everybody))
        scene = scene.asking(later, rows, everybody)
    repeats = repeating(earlier.take(rows), later.take(rows)) >= REPEATING
    lists = best_candidates(scene, search_among(able.users, LEARNED, repeats, targets=rows.size), threads).people
    seen = evidence_for(scene, lists, threads)
    if contained:
        seen[:, :, ~_OF_SHARED_ITEMS] = 0.0
    settled = missing * lacking(scene, lists, seen)
    fusion = learn_fusion(seen, lists, rows, settled, threads)
    found = Candidates(lists, fused(seen, fusion.weights, lists, settled))
    temperature = choose_temperature(found, able.users, rows)
    rounds = choose_rounds(found, able.users, rows, temperature)
    counting = zip(OCCASIONAL, fusion.weights[USUAL_HABITS - HABITS :], strict=True)
    told = tuple(habit for habit, weight in counting if weight > 0.0 and habit in habits)
    return Lesson(fusion, temperature, repeats, rounds, missing, level, told)


def distinctive(known: NDArray[np.float32], everybody: Everybody) -> NDArray[np.int64]:
    """The people whose habits differ most from everybody's, by the sum of P_i ln P_i/p: a few of each kind."""
    found, begin = [], 0
    for shares in everybody.habits:
        differ = np.zeros(len(known))
        for first in range(0, len(known), AT_ONCE):  # several copies of what is looked at are held
            table = known[first : first + AT_ONCE, begin : begin + shares.size]
            differ[first : first + AT_ONCE] = (shares * np.exp(table) * table).sum(axis=1)
        found.append(np.argsort(-np.rint(differ * 2.0**20), kind="stable")[: DISTINCTIVE if shares.size else 0])
        begin += shares.size
    return np.concatenate(found)


def name_targets(
    train: Traces,
    target: Traces,
    lesson: Lesson,
    item_categories: NDArray[np.int64] | None = None,
    *,
    rows: NDArray[np.int64] | None = None,
    kept: int | None = None,
    threads: int = 1,
) -> Candidates:
    """The people who come into question for the targets in `rows`, or all, with their fused scores, best first."""
    rows = np.arange(target.users) if rows is None else rows
    many = rows.size > MANY_TARGETS
    kept = (KEPT_OF_MANY if many else KEPT) if kept is None else kept
    everybody = everybody_of(train, target, item_categories, lesson.level, lesson.habits)
    how = search_among(train.users, kept, lesson.repeats, lesson.fusion.weights[-HABITS:], rows.size)
    scene = scene_of(train, target, everybody, rows[:AT_ONCE])
    index = index_of(scene, how)
    if many:
        some = rows[np.linspace(0, rows.size - 1, PROBED).astype(np.int64)]
        check_looks(looks(scene.asking(target, some, everybody), how, index), rows.size)
    people: NDArray[Any] = np.empty((rows.size, kept), np.int32 if many else np.int64)
    scores = np.empty((rows.size, kept))
    for mine in together(target, rows, everybody):
        scene = scene.asking(target, rows[mine], everybody)
        lists = best_candidates(scene, how, threads, index).people
        standing = weighed(scene, lists, lesson.fusion.weights, threads, lesson.missing)
        order = np.lexsort((lists, -standing), axis=1)
        people[mine] = np.take_along_axis(lists, order, axis=1)
        scores[mine] = np.take_along_axis(standing, order, axis=1)
    return Candidates(people, scores)


def check_looks(each: float, targets: int) -> None:
    """Refuse what would take many hours, before it begins: where all share a few items, everybody is compared."""
    if each * targets > MOST_LOOKS:
        raise InvalidInput(
            f"Earlier behaviour of {targets:,} people must take at most {MOST_LOOKS:,} comparisons, got about "
            f"{each * targets:.2g}; attack some of them, {option('targets')} {int(MOST_LOOKS / each):,} or fewer."
        )


def together(target: Traces, rows: NDArray[np.int64], everybody: Everybody) -> Iterator[NDArray[np.int64]]:
    """Numbers of the targets that are looked at one after the other, so many at a time: who go to the same places.

    They are compared with the same people, which is found again in the processor's cache; results do not depend on it.
    """
    places = meeting_places(target.offsets, target.items, everybody.holders, rows, NEARBY)
    order = np.argsort(places, kind="stable")
    for begin in range(0, rows.size, AT_ONCE):
        yield order[begin : begin + AT_ONCE]


def everybody_of(
    train: Traces,
    target: Traces,
    item_categories: NDArray[np.int64] | None = None,
    level: Level = USUAL,
    habits: tuple[Habit, ...] = (),
) -> Everybody:
    """What is known of everybody, from all people at once, hours at a level, with these habits of few data."""
    if item_categories is not None and item_categories.size != train.domain_size:
        raise InvalidInput(
            f"Every item needs one category, got {item_categories.size} categories for {train.domain_size} items."
        )
    timed = train.times is not None and target.times is not None
    known = (known_tally(some, timed, level) for some in in_blocks(train))
    asked = (asked_tally(some, level) for some in in_blocks(target))
    everybody = everybody_from(merge_tallies(itertools.chain(known, asked)), timed, item_categories, level)
    habits = tuple(habit for habit in habits if timed or habit not in TIMED)  # learned where both sides have times
    return replace(everybody, occasional=Occasional.of(train, target, habits)) if habits else everybody


def halves(traces: Traces) -> tuple[Traces, Traces]:
    """The first half of every trace, the longer one where events are odd, and the second."""
    lengths = np.diff(traces.offsets)
    first = (lengths + 1) // 2
    starts = traces.offsets[:-1]
    return cut_runs(traces, starts, first), cut_runs(traces, starts + first, lengths - first)


def repeating(earlier: Traces, later: Traces) -> float:
    """Share of people whose later part has an item of the earlier one."""
    known, asked = item_rows(earlier), item_rows(later)
    domain = np.int64(earlier.domain_size)
    had = known.row_of_each() * domain + known.features
    again = asked.row_of_each() * domain + asked.features
    return float(np.unique(again[np.isin(again, had)] // domain).size / later.users)
