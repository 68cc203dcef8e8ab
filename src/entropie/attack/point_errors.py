"""The attacker whose points may be wrong: times off by some minutes, some items mistaken.

Every person is scored by the points they match, a rare point counting more, and the best is named (Narayanan &
Shmatikov, Robust De-anonymization of Large Sparse Datasets, 2008). How far the best stands ahead of the second, in
deviations of all scores, is visible to the attacker; beyond `MARGIN` the best stands out. Where points are right,
whoever holds them all scores best: the plain intersection.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.attack.attacker import AttackerRow, Naming, Release
from entropie.attack.points import (
    ALWAYS,
    JUDGED_POINTS,
    RESOLUTIONS,
    TO,
    PointAttack,
    PointIndex,
    Queries,
    Resolution,
    resolutions_of,
)
from entropie.attack.scoring import core_count
from entropie.data.traces import Traces
from entropie.kernels.point_scores import score_points
from entropie.quantities import PointErrors
from entropie.request import Request
from entropie.words import plural, shortest, stated

MARGIN = 1.5
"""The best stands out where it leads by so many deviations (the eccentricity of Narayanan & Shmatikov)."""

_BLOCK = 256
_TIE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class PointScores:
    """What points say of people, one value per query.

    own, best, second   score of the person they are of, the best score, the best below it
    tied                people who share the best score
    better, level       people above the owner, and as high as the owner, who is one of them
    deviation           standard deviation of everybody's scores
    """

    own: NDArray[np.float64]
    best: NDArray[np.float64]
    second: NDArray[np.float64]
    tied: NDArray[np.int64]
    better: NDArray[np.int64]
    level: NDArray[np.int64]
    deviation: NDArray[np.float64]

    @property
    def credit(self) -> NDArray[np.float64]:
        """Chance that the owner is named: 1/s where the owner is among the s best."""
        return np.where(self.own >= self.best - _TIE, 1.0 / self.tied, 0.0)

    @property
    def clarity(self) -> NDArray[np.float64]:
        """Lead of the best in deviations of all scores; 0 where several are best."""
        lead = np.where(self.tied == 1, self.best - self.second, 0.0)
        return np.divide(lead, self.deviation, out=np.zeros_like(lead), where=self.deviation > 0.0)

    def naming(self, draws: int, errors: PointErrors | None = None) -> Naming:
        """What naming the best achieves, `draws` queries per person; unique: the person stands out.

        Where points are right, any lead decides.
        """
        margin = 0.0 if errors is not None and errors.none else MARGIN
        unique = self.credit * ((self.tied == 1) & (self.clarity >= margin))
        credit, clarity, unique = (each.reshape(-1, draws).mean(axis=1) for each in (self.credit, self.clarity, unique))
        low, high = (each.reshape(-1, draws) for each in (self.better, self.better + self.level - 1))
        return Naming(credit, clarity, low, high, unique)


def score_queries(
    index: PointIndex, queries: Queries, owners: NDArray[np.int64], threads: int | None = None
) -> PointScores:
    """Score everybody who shares a point of each query; `owners` are the right people."""
    asked, people = index.ticked(queries), index.offsets.size - 1

    def part(begin: int) -> NDArray[np.float64]:
        end = min(begin + _BLOCK, asked.count)
        found: NDArray[np.float64] = score_points(
            index.starts, index.posted, people, owners[begin:end], *asked.part(begin, end).arrays
        )
        return found

    with ThreadPoolExecutor(core_count(threads)) as pool:
        found = np.concatenate([np.empty((0, 7)), *pool.map(part, range(0, asked.count, _BLOCK))])
    own, best, second, *counts, deviation = found.T
    tied, better, level = (column.astype(np.int64) for column in counts)
    return PointScores(own, best, second, tied, better, level, deviation)


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """What the attacker believes of events, [person, draw, point]: whether there is one, its item, its time."""

    known: NDArray[np.bool_]
    items: NDArray[np.uint32]
    times: NDArray[np.int64] | None

    def queries(self, points: int, resolution: Resolution, slack_seconds: int = 0) -> Queries:
        """The first points of every draw, a query each: bins of the resolution that reach so far around the times."""
        known = self.known[:, :, :points].reshape(-1, points)
        offsets = np.zeros(known.shape[0] + 1, np.int64)
        np.cumsum(known.sum(axis=1), out=offsets[1:])
        items, width = self.items[:, :, :points].reshape(-1, points)[known], RESOLUTIONS[resolution]
        if width is None or self.times is None:
            return Queries(offsets, items, *(np.full(items.size, end) for end in ALWAYS))
        times = self.times[:, :, :points].reshape(-1, points)[known]
        since, until = ((times + reach) // width * width for reach in (-slack_seconds, slack_seconds))
        return Queries(offsets, items, since, until + (width - 1))


def beliefs_of(traces: Traces, drawn: NDArray[np.int64], errors: PointErrors, seed: int) -> Beliefs:
    """What the attacker believes of drawn events, -1 being none.

    A time is off by a number of seconds, all those allowed being as likely; a mistaken item is that of any event.
    """
    known, places = drawn >= 0, np.maximum(drawn, 0)
    rng = np.random.default_rng([seed, 2008])
    wrong = rng.random(drawn.shape) < errors.items
    other = rng.integers(0, max(1, traces.events), drawn.shape)
    off = rng.integers(-errors.time_seconds, errors.time_seconds, drawn.shape, endpoint=True)
    items = traces.items[np.where(wrong, other, places)]
    return Beliefs(known, items, None if traces.times is None else traces.times[places] + off)


def error_rows(release: Release, request: Request) -> Iterator[AttackerRow]:
    """Rows of the attacker of points that may be wrong, where errors are asked for: the same points as without."""
    errors, run = request.attackers.point_errors, request.run
    if errors is None:
        return
    wanted = sorted({*request.attackers.points, JUDGED_POINTS})
    attack = PointAttack.of(release.released, wanted[-1], run, release.attacked)
    beliefs = beliefs_of(release.released, attack.drawn, errors, run.seed)
    draws, people = attack.drawn.shape[1], release.released.users
    owners = np.arange(people) if release.attacked is None else release.attacked
    for resolution in resolutions_of(release.released):
        for points in wanted:
            run.progress(f"{points} known with errors: {TO[resolution]}", 0.0)
            begun = clock.perf_counter()
            queries = beliefs.queries(points, resolution, errors.time_seconds)
            row, control = (
                score_queries(attack.index, queries, np.repeat(who, draws), run.threads).naming(draws, errors)
                for who in (owners, attack.others)
            )
            yield AttackerRow.of(
                "points",
                f"{plural(points, 'random event')}, {TO[resolution]}, {_told(errors)}",
                people,
                row,
                control if request.attackers.control else None,
                points=points,
                time_resolution=resolution,
                item_resolution="item",
                matcher="rarity",
                seconds=clock.perf_counter() - begun,
            )


def _told(errors: PointErrors) -> str:
    """How wrong, in the few words that a table has."""
    times = [f"±{shortest(errors.time_seconds)}"] if errors.time_seconds else []
    return ", ".join([*times, *([f"{stated(errors.items)} of items wrong"] if errors.items else [])]) or "no errors"
