"""The people who come into question for each target: the k best by an index of items, or by what goes together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from entropie.attack.profile.everybody import Everybody, company_of
from entropie.attack.profile.people import known_people, targets_of
from entropie.data.traces import Traces
from entropie.kernels.features import feature_postings
from entropie.kernels.profile_records import Company, KnownPeople, Targets
from entropie.kernels.profile_search import Ceilings, best_people, ceilings_of, likely_people, nearest_people

HABIT_USERS = 5000
"""Up to so many people habits find candidates too: they are evidence for every pair, and so cost pairs."""

HOUR_WEIGHT, HABIT_WEIGHT = 0.7, 0.6

_BLOCKS, _BLOCK = 16, (64, 4096)  # blocks of targets, and how many targets one has at least and at most
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Per target the best people and their scores; `NOBODY` with -inf where there are fewer than wanted."""

    people: NDArray[np.int64]
    scores: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Search:
    """How candidates are found."""

    kept: int  # so many of each target at most
    repeats: bool  # most people meet items again
    habits: bool  # habits find candidates too


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


def index_of(people: KnownPeople, domain: int) -> SearchIndex:
    """Turn profiles over, to be searched."""
    postings = feature_postings(people.offsets, people.items, domain, np.arange(people.penalty.size))
    return SearchIndex(*postings, ceilings_of(people, *postings, HOUR_WEIGHT if people.slots.size else 0.0))


def scene_of(train: Traces, target: Traces, everybody: Everybody, rows: NDArray[np.int64] | None = None) -> Scene:
    """Profiles of all, and the targets in `rows` or all; the company is of everybody in either case."""
    company = company_of(train, target, everybody)
    targets = targets_of(target if rows is None else target.take(rows), everybody, train.users)
    if rows is not None:
        targets = targets._replace(own=train.users + rows)
    return Scene(known_people(train, everybody), targets, company)


def search_among(users: int, kept: int, repeats: bool) -> Search:
    """How to search among so many people: never a matter of how they are cut into blocks."""
    return Search(kept, repeats, users <= HABIT_USERS)


def best_candidates(scene: Scene, how: Search, threads: int = 1, index: SearchIndex | None = None) -> Candidates:
    """The k best people of each target; `index` is that of the scene's people, made here unless given.

    Where most people meet items again, by the items they share with the target, their hours, and habits if there are
    not too many people. Elsewhere half of them by the items they share, in case this one does meet items again, and
    half by how well their items go with the target's, among people who share none.
    """
    people, kept = scene.people, how.kept
    index = index_of(people, scene.company.popularity.size) if index is None else index
    postings, ceilings = (index.starts, index.owners, index.entries), index.ceilings
    hours = HOUR_WEIGHT if people.slots.size else 0.0

    def search(targets: Targets, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        if how.repeats and how.habits:
            found = best_people(people, targets, *postings, hours, HABIT_WEIGHT, kept)
            return found[0], found[1]
        sharers = kept if how.repeats else kept // 2
        sharing = nearest_people(people, targets, *postings[:2], ceilings, hours, sharers)[:2]
        if how.repeats:
            return sharing
        likely = likely_people(people, targets, scene.company, *postings, kept - kept // 2)
        lists, scores = (np.concatenate(pair, axis=1) for pair in zip(sharing, likely, strict=True))
        return lists, scores

    blocks = pieces(search, scene.targets, scene.targets.own, threads)
    return Candidates(np.concatenate([block[0] for block in blocks]), np.concatenate([block[1] for block in blocks]))


def looks(scene: Scene, how: Search, index: SearchIndex) -> float:
    """At how many people a search looks for each of the scene's targets, in the mean."""
    hours = HOUR_WEIGHT if scene.people.slots.size else 0.0
    seen = nearest_people(scene.people, scene.targets, index.starts, index.owners, index.ceilings, hours, how.kept)[2]
    everybody = 0 if how.repeats and not how.habits else scene.users + index.starts.size
    return seen / max(scene.targets.sizes.size, 1) + everybody


def merge_candidates(parts: Sequence[Candidates], how: Search) -> Candidates:
    """The best over several blocks of people, whose numbers are everybody's; equal scores by number."""
    middle = 0 if how.repeats else how.kept // 2
    halves = [_merged(parts, begin, end) for begin, end in ((0, middle), (middle, how.kept))]
    return Candidates(*(np.concatenate(pair, axis=1) for pair in zip(*halves, strict=True)))


def _merged(parts: Sequence[Candidates], begin: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The best of the same columns of all parts, as many as there are columns."""
    people = np.concatenate([part.people[:, begin:end] for part in parts], axis=1)
    scores = np.concatenate([part.scores[:, begin:end] for part in parts], axis=1)
    order = np.lexsort((people, -scores), axis=1)[:, : end - begin]
    return np.take_along_axis(people, order, axis=1), np.take_along_axis(scores, order, axis=1)


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
