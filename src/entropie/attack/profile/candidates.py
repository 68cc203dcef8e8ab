"""The people who come into question for each target: the k best by an index of items, or by what goes together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from entropie.attack.profile.everybody import Everybody, company_of
from entropie.attack.profile.occasional import OCCASIONAL
from entropie.attack.profile.people import known_people, targets_of
from entropie.data.traces import Traces
from entropie.kernels.features import feature_postings
from entropie.kernels.profile_habits import alike_people, asked_bins, combinations, keep_highest, telling_bins
from entropie.kernels.profile_records import NOBODY, Company, KnownPeople, Targets
from entropie.kernels.profile_search import (
    Ceilings,
    best_people,
    ceilings_of,
    drop_twins,
    likely_people,
    nearest_people,
)

SUMMED_USERS = 5000
"""Up to so many people items and habits are summed up for every pair; beyond, each of them finds its own candidates."""

HABIT_PAIRS = 5 * 10**10
"""Of more pairs of targets and people not all are compared by habits, but those who have some of their own alike."""

OWN_HABITS, ASKED_HABITS, ALIKE = 4, 6, 32
"""Of a person so many bins and of a target so many, those that tell most, are combined; and of the people of each
combination so many are looked at, those whom their habits tell best.
"""

HOUR_WEIGHT, HABIT_WEIGHT, LEAST_WEIGHT = 0.7, 0.6, 0.1

USUAL_HABITS = 4
"""Kinds of habits that are looked at on all data: hours, gaps, returns, days. Those of few data follow."""

HABITS = USUAL_HABITS + len(OCCASIONAL)

_STEPS, _MOST = 16.0, 2.0**16  # steps of ln P/p, and what the weights of a target sum to: 127 x _MOST is below 2^24
_PEOPLE, _ROWS = 8192, 256
_BLOCKS, _BLOCK = 16, (64, 4096)  # blocks of targets, and how many targets one has at least and at most
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Per target the best people and their scores; `NOBODY` with -inf where there are fewer than wanted."""

    people: NDArray[np.int64]
    scores: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Search:
    """How candidates are found, and how much each kind of habit counts in it.

    summed   weights beside the items that are shared; None: too many people to sum up for every pair
    alone    weights by which habits find candidates of their own; None: they do not
    alike    among those alone who have habits of their own in common with the target, instead of among everybody
    """

    kept: int  # so many of each target at most
    repeats: bool  # most people meet items again
    summed: tuple[float, ...] | None
    alone: tuple[float, ...] | None = None
    alike: bool = False

    @property
    def shares(self) -> tuple[int, int, int]:
        """How many are found by items they share with the target, by what goes with its items, by habits alone."""
        habitual = 0 if self.alone is None else self.kept // (4 if self.repeats else 8)
        sharing = self.kept - habitual if self.repeats else self.kept // 2
        return sharing, self.kept - habitual - sharing, habitual


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """All that a search takes: profiles, targets, and the company that items keep."""

    people: KnownPeople
    targets: Targets
    company: Company

    @property
    def users(self) -> int:
        """Number of known people."""
        return self.people.penalty.size

    def asking(self, target: Traces, rows: NDArray[np.int64], everybody: Everybody) -> Scene:
        """The same with other targets, those in `rows`; `target` has everybody's."""
        targets = targets_of(target.take(rows), everybody, self.users)
        return replace(self, targets=targets._replace(own=self.users + rows))


class SearchIndex(NamedTuple):
    """Per item the people who have it, their entries, and what an event at it can add to their scores."""

    starts: NDArray[np.int64]
    owners: NDArray[np.uint32]
    entries: NDArray[np.uint32]
    ceilings: Ceilings
    habits: NDArray[np.int8]  # of everybody, in steps
    alike: tuple[NDArray[np.int64], NDArray[np.uint32]] | None  # people by combinations of habits, if needed


def index_of(scene: Scene, how: Search) -> SearchIndex:
    """Turn profiles over, to be searched."""
    people = scene.people
    postings = feature_postings(people.offsets, people.items, scene.company.popularity.size, np.arange(scene.users))
    ceilings = ceilings_of(people, *postings, HOUR_WEIGHT if people.slots.size else 0.0)
    habits = np.empty(people.habits.shape, np.int8)
    for begin in range(0, scene.users, _PEOPLE):
        some = slice(begin, begin + _PEOPLE)
        habits[some] = np.clip(np.rint(people.habits[some] * _STEPS), -127, 127)
    alike = None
    if how.alike and how.alone is not None:
        told, sums = telling_bins(habits, _of_bins(how.alone, scene) * scene.company.shares, _STEPS, OWN_HABITS)
        order = np.argsort(-np.rint(sums * 2.0**20), kind="stable")
        alike = combinations(told, order, 1 << (4 * scene.users).bit_length())
    return SearchIndex(*postings, ceilings, habits, alike)


def _of_bins(weights: tuple[float, ...], scene: Scene) -> NDArray[np.float64]:
    """Weights of kinds of habits, for each bin."""
    return np.repeat(weights, np.diff(scene.company.bounds))


def scene_of(train: Traces, target: Traces, everybody: Everybody, rows: NDArray[np.int64] | None = None) -> Scene:
    """Profiles of all, and the targets in `rows` or all; the company is of everybody in either case."""
    company = company_of(train, target, everybody)
    targets = targets_of(target if rows is None else target.take(rows), everybody, train.users)
    if rows is not None:
        targets = targets._replace(own=train.users + rows)
    return Scene(known_people(train, everybody), targets, company)


def search_among(
    users: int, kept: int, repeats: bool, weights: NDArray[np.float64] | None = None, targets: int = 1
) -> Search:
    """How to search among so many people for so many targets: never a matter of how they are cut into blocks.

    `weights` are those of the kinds of habits, where they have been learned. Before that those of few data find
    candidates of their own, so that they can be learned.
    """
    seldom = HABITS - USUAL_HABITS
    if users > SUMMED_USERS or not repeats:
        alone = np.ones(HABITS) if weights is None else np.maximum(weights, LEAST_WEIGHT)
        return Search(kept, repeats, None, tuple(alone.tolist()), targets * users > HABIT_PAIRS)
    usual = (HABIT_WEIGHT,) * USUAL_HABITS
    if weights is None:
        return Search(kept, repeats, (*usual, *[0.0] * seldom), (*[0.0] * USUAL_HABITS, *[1.0] * seldom))
    return Search(kept, repeats, (*usual, *np.minimum(weights[USUAL_HABITS:], HABIT_WEIGHT).tolist()))


def best_candidates(scene: Scene, how: Search, threads: int = 1, index: SearchIndex | None = None) -> Candidates:
    """The k best people of each target; `index` is that of the scene's people, made here unless given.

    Where most people meet items again, by the items they share with the target, their hours, and habits, summed up, if
    there are not too many people, and a quarter of them by habits alone. Elsewhere half of them by the items they
    share, in case this one does meet items again, the others by how well their items go with the target's, among people
    who share none, and by habits.
    """
    people = scene.people
    index = index_of(scene, how) if index is None else index
    postings, ceilings = (index.starts, index.owners, index.entries), index.ceilings
    hours = HOUR_WEIGHT if people.slots.size else 0.0
    sharers, likely, habitual = how.shares
    summed, alone = (None if each is None else _of_bins(each, scene) for each in (how.summed, how.alone))
    columns = np.zeros((0, 0), np.float32) if summed is None else np.ascontiguousarray(people.habits.T)

    def search(targets: Targets, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        if summed is None:
            parts = [nearest_people(people, targets, *postings[:2], ceilings, hours, sharers)[:2]]
        else:
            weighed = targets._replace(habits=targets.habits * summed)
            parts = [best_people(people, weighed, *postings, columns, hours, sharers)]
        if likely:
            parts.append(likely_people(people, targets, scene.company, *postings, likely))
        if alone is not None and alone.any():
            asked = targets.habits * alone
            if index.alike is None:
                parts.append(habitual_people(index.habits, asked, habitual))
            else:
                parts.append(own_habits(index, asked, scene.company, habitual))
        return joined(parts)

    blocks = pieces(search, scene.targets, scene.targets.own, threads)
    return Candidates(np.concatenate([block[0] for block in blocks]), np.concatenate([block[1] for block in blocks]))


def looks(scene: Scene, how: Search, index: SearchIndex) -> float:
    """At how many people a search looks for each of the scene's targets, in the mean."""
    hours = HOUR_WEIGHT if scene.people.slots.size else 0.0
    seen = nearest_people(
        scene.people, scene.targets, index.starts, index.owners, index.ceilings, hours, how.shares[0]
    )[2]
    everybody = 0 if how.repeats and how.summed is None else scene.users + index.starts.size
    return seen / max(scene.targets.sizes.size, 1) + everybody


def joined(
    parts: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Lists side by side; whoever stands in an earlier list too is left out of the later one."""
    people, scores = (np.concatenate(pair, axis=1) for pair in zip(*parts, strict=True))
    drop_twins(people, scores)
    return people, scores


def habitual_people(
    known: NDArray[np.int8], asked: NDArray[np.float64], kept: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k people whose habits speak best for each target, among everybody, by a product of matrices in blocks.

    Both sides are whole numbers small enough for every sum to be exact, so that no cut into blocks changes a result.
    """
    best = np.full((asked.shape[0], kept), NOBODY, np.int64)
    scores = np.full((asked.shape[0], kept), -np.inf)
    if not known.shape[1]:
        return best, scores
    wanted, units = _whole_weights(asked)
    found = np.full(best.shape, -np.inf, np.float32)
    for begin in range(0, known.shape[0], _PEOPLE):
        some = known[begin : begin + _PEOPLE].T.astype(np.float32)
        for low in range(0, wanted.shape[0], _ROWS):
            rows = slice(low, low + _ROWS)
            keep_highest(wanted[rows].astype(np.float32) @ some, begin, best[rows], found[rows])
    order = np.lexsort((best, -found), axis=1)
    return np.take_along_axis(best, order, axis=1), np.take_along_axis(found, order, axis=1) / (units * _STEPS)


def own_habits(
    index: SearchIndex, asked: NDArray[np.float64], company: Company, kept: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The same among those who have habits that tell a target best in common with it, however many people there are."""
    assert index.alike is not None
    wanted, units = _whole_weights(asked)
    told = asked_bins(asked, company.shares, company.bounds, ASKED_HABITS)
    best, scores = alike_people(index.habits, wanted.astype(np.int64), told, *index.alike, ALIKE, kept)
    return best, np.where(best == NOBODY, -np.inf, scores / (units * _STEPS))


def _whole_weights(asked: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights of each target as whole numbers, and in which units."""
    units = _MOST / np.maximum(np.abs(asked).sum(axis=1, keepdims=True), 1e-12)
    return np.rint(asked * units), units


def pieces(
    work: Callable[[Targets, NDArray[np.int64]], _Found], targets: Targets, beside: NDArray[np.int64], threads: int
) -> list[_Found]:
    """Work on blocks of targets, with the rows of `beside`, on threads; the results stand in the targets' order."""
    count = targets.sizes.size
    size = min(max(-(-count // _BLOCKS), _BLOCK[0]), _BLOCK[1])
    cuts = [(begin, min(begin + size, count)) for begin in range(0, count, size)]
    jobs = [(_part(targets, begin, end), beside[begin:end]) for begin, end in cuts]
    if threads == 1:
        return [work(*job) for job in jobs]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda job: work(*job), jobs))


def _part(targets: Targets, begin: int, end: int) -> Targets:
    """Some of the targets; entries stay where they are."""
    return targets._replace(
        offsets=targets.offsets[begin : end + 1],
        sizes=targets.sizes[begin:end],
        presence_sizes=targets.presence_sizes[begin:end],
        habits=targets.habits[begin:end],
        own=targets.own[begin:end],
    )
