"""The attacker who holds another file of the same people: another source, another period.

Everybody of the known file is a candidate. Every trace of the release is attacked, or those of some people who are in
both, drawn by their ids; what counts is how many who are in both are found. Whoever is in one file only stays, as in
the world.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from entropie.attack.attacker import AttackerRow, Naming, Release
from entropie.attack.chance import scattered
from entropie.attack.matchers import MATCHERS
from entropie.attack.measured import Models
from entropie.attack.point_errors import beliefs_of, score_queries
from entropie.attack.points import RESOLUTIONS, TO, PointIndex, Resolution, drawn_points, draws_for, own_resolution
from entropie.attack.profile.attack import learn, name_targets
from entropie.attack.profile.candidates import Candidates
from entropie.attack.profile.conjunctions import MOST_EVENTS
from entropie.attack.profile.rows import MATCHER, naming_of, together_row
from entropie.attack.scoring import core_count
from entropie.data.known import KnownFile
from entropie.data.traces import Traces, cut_runs
from entropie.quantities import PointErrors
from entropie.request import Request
from entropie.words import plural

NAME = "known-file"
CONTAINED = 0.5
"""Share of the known events in the release from which on the known file counts as a part of it."""


def known_rows(release: Release, request: Request) -> Iterator[AttackerRow]:
    """Rows of the attacker who holds another file: by all evidence weighed, by each matcher, by some of its events."""
    if isinstance(release.known, KnownFile):
        yield from _profile_rows(release.known, request)
        yield from _matcher_rows(release.known, request)
        yield from _point_rows(release.known, request)


def shuffled_pairs(pairs: int, seed: int) -> NDArray[np.int64]:
    """A random exchange of the people in both files: the control."""
    return scattered(np.arange(pairs), pairs, seed)


def _profile_rows(file: KnownFile, request: Request) -> Iterator[AttackerRow]:
    """Everything that traces tell: each trace by itself, against all traces, one-to-one."""
    run, users, threads = request.run, file.known.users, core_count(request.run.threads)
    run.progress("attacking: known file", 0.0)
    begun = clock.perf_counter()
    shared = file.facts.same_events_share or 0.0
    lesson = learn(file.known, contained=shared if shared >= CONTAINED else 0.0, threads=threads)
    plain = name_targets(file.known, file.release, lesson, rows=file.attacked, threads=threads)
    found = {
        MATCHER: plain,
        f"{MATCHER}, crowd": lesson.crowd(plain, users),
        f"{MATCHER}, one-to-one": lesson.joint(plain, users),
    }
    seconds = (clock.perf_counter() - begun) / len(found)
    owners, shuffled = file.targets, shuffled_pairs(file.pairs, run.seed)[file.targets]
    for matcher, everybody in found.items():
        lists = Candidates(everybody.people[: owners.size], everybody.scores[: owners.size])
        control = naming_of(lists, shuffled, users) if request.attackers.control else None
        row = naming_of(lists, owners, users)
        yield AttackerRow.of(NAME, "the known file", users, row, control, matcher=matcher, seconds=seconds)
    if shared < CONTAINED and max(file.known.events, file.release.events) <= MOST_EVENTS:
        sides = (file.known, file.release, None, file.attacked)
        yield together_row(request, NAME, "the known file", sides, owners, shuffled)


def _matcher_rows(file: KnownFile, request: Request) -> Iterator[AttackerRow]:
    """The traces of people in both, by one matcher after the other."""
    run, users = request.run, file.known.users
    lengths = np.append(np.diff(file.release.offsets[: file.pairs + 1]), np.zeros(users - file.pairs, np.int64))
    starts = np.append(file.release.offsets[: file.pairs], np.zeros(users - file.pairs, np.int64))
    target = cut_runs(file.release, starts, lengths)  # nothing for people of the known file alone
    order = np.concatenate((shuffled_pairs(file.pairs, run.seed), np.arange(file.pairs, users)))
    for name in request.attackers.matchers or MATCHERS:
        begun = clock.perf_counter()
        models = Models.of(name, file.known, target, file.attacked)
        row = Naming.of_outcome(models.attack(run, stage=f"attacking: known file, {name}"), file.targets.size)
        control = None
        if request.attackers.control:
            control = Naming.of_outcome(
                models.exchanged(order).attack(run, stage=f"control: known file, {name}"), file.targets.size
            )
        seconds = clock.perf_counter() - begun
        yield AttackerRow.of(NAME, "the known file", users, row, control, matcher=name, seconds=seconds)


def _point_rows(file: KnownFile, request: Request) -> Iterator[AttackerRow]:
    """Some random events of the known file, which the release may or may not have, looked up in the release.

    A point may be missing from the release, so people are scored by the points they match; `--point-errors` says how
    far times may be apart.
    """
    run, errors = request.run, request.attackers.point_errors or PointErrors()
    people = file.known.take(file.targets)
    draws = draws_for(people.users)
    drawn = drawn_points(people, request.attackers.points[-1], draws, run.seed)
    beliefs = beliefs_of(people, drawn, PointErrors(), run.seed)  # errors of another file are real, none are made
    owners, shuffled = file.targets, shuffled_pairs(file.pairs, run.seed)[file.targets]
    index = PointIndex.of(file.release, run.threads)
    for resolution in common_resolutions(file.known, file.release):
        for points in request.attackers.points:
            begun = clock.perf_counter()
            run.progress(f"{points} events of the known file: {TO[resolution]}", 0.0)
            queries = beliefs.queries(points, resolution, errors.time_seconds)
            found = [score_queries(index, queries, np.repeat(who, draws), run.threads) for who in (owners, shuffled)]
            row, control = (scores.naming(draws) for scores in found)
            yield AttackerRow.of(
                NAME,
                f"{plural(points, 'event')} of the known file, {TO[resolution]}",
                file.release.users,
                row,
                control if request.attackers.control else None,
                points=points,
                time_resolution=resolution,
                item_resolution="item",
                matcher="points",
                seconds=clock.perf_counter() - begun,
            )


def common_resolutions(known: Traces, release: Traces) -> tuple[Resolution, ...]:
    """The finest resolution that both files have, and none."""
    names = list(RESOLUTIONS)
    finest = names[max(names.index(own_resolution(traces)) for traces in (known, release))]
    return tuple(dict.fromkeys((finest, names[-1])))
