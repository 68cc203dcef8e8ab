"""The profile attacker as rows: each target by itself, against the crowd of all targets, one-to-one."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from entropie.attack.attacker import AttackerRow, Naming, Release
from entropie.attack.chance import exchanged_targets
from entropie.attack.index import TIE
from entropie.attack.profile.attack import profile_attack
from entropie.attack.profile.candidates import Candidates
from entropie.attack.profile.conjunctions import MOST_EVENTS, Loudest, conjunctions
from entropie.attack.scoring import core_count
from entropie.data.traces import Traces
from entropie.kernels.profile_records import NOBODY
from entropie.measures.lookalikes import look_alikes
from entropie.request import MANY_TARGETS, Request

MATCHER = "fused"
"""What the rows call the way that traces are compared: all evidence, weighed by what the training teaches."""

TOGETHER = "conjunctions"
"""The same of the row in which what goes together speaks for itself."""

ALIKE = (2, 4, 8)
"""So many candidates who are alike may stand ahead of the others together: each of them is then named now and then."""

_KNOWS = {"profile": "", "crowd": ", and all released traces", "joint": ", all traces matched one-to-one"}


def profile_rows(release: Release, request: Request) -> Iterator[AttackerRow]:
    """Rows of the attackers who know people's earlier behaviour: `profile`, `crowd` and `joint`.

    Whose a target is enters here and nowhere before; with the owners shuffled it is the control.
    """
    split, run, users = release.split, request.run, release.split.train.users
    rows = np.arange(users) if split.attacked is None else split.attacked
    owners, shuffled = np.arange(users), np.empty(users, np.int64)
    shuffled[exchanged_targets(split, run.seed)] = owners
    run.progress("attacking: earlier behaviour", 0.0)
    begun = clock.perf_counter()
    found = profile_attack(
        split.train,
        split.target,
        release.item_categories,
        attacked=split.attacked,
        contained=float(release.contained),
        threads=run.threads,
    )
    few = f"; {found.plain.people.shape[1]} candidates each" if rows.size > MANY_TARGETS else ""
    timed = split.train.times is not None and split.target.times is not None
    for name, lists in (("profile", found.plain), ("crowd", found.crowd), ("joint", found.joint)):
        control = naming_of(lists, shuffled[rows], users) if request.attackers.control else None
        naming = naming_of(lists, owners[rows], users)
        alike = look_alikes(lists.people, owners[rows], users) if name == "profile" else None
        seconds, begun = clock.perf_counter() - begun, clock.perf_counter()
        yield AttackerRow.of(
            name, f"{release.knows}{_KNOWS[name]}{few}", users, naming, control, matcher=MATCHER, seconds=seconds,
            look_alikes=alike, time_resolution=found.lesson.level if timed else None,
        )  # fmt: skip
    if not release.contained and split.train.events + split.target.events <= MOST_EVENTS:
        sides = (split.train, split.target, release.item_categories, rows)
        yield together_row(request, "profile", release.knows, sides, rows, shuffled[rows])


def together_row(
    request: Request,
    attacker: str,
    knows: str,
    sides: tuple[Traces, Traces, NDArray[np.int64] | None, NDArray[np.int64] | None],
    owners: NDArray[np.int64],
    shuffled: NDArray[np.int64],
) -> AttackerRow:
    """The row of who looks for what goes together in nobody else's life; `sides` are those of `conjunctions`."""
    users, begun = sides[0].users, clock.perf_counter()
    found = conjunctions(*sides, threads=core_count(request.run.threads)).first(owners.size)
    control = loudest_naming(found, shuffled, users) if request.attackers.control else None
    naming = loudest_naming(found, owners, users)
    seconds = clock.perf_counter() - begun
    return AttackerRow.of(attacker, knows, users, naming, control, matcher=TOGETHER, seconds=seconds)


def loudest_naming(found: Loudest, owners: NDArray[np.int64], users: int) -> Naming:
    """What naming the person of whom the loudest conjunction speaks achieves, if target t is of person owners[t]."""
    fewest = ALIKE if found.alone else ALIKE[:1]
    among = {alike: found.clarity(alike) for alike in fewest if alike < min(users, found.named.people.shape[1])}
    alone = tuple(loudest_naming(one, owners, users) for one in found.alone)
    return replace(naming_of(found.named, owners, users), clarity=found.clarity(), among=among, alone=alone)


def naming_of(found: Candidates, owners: NDArray[np.int64], users: int) -> Naming:
    """What naming the best candidate of every target achieves, if target t is of person owners[t].

    Where nobody comes into question the attacker guesses.
    """
    there = found.people != NOBODY
    listed = there.sum(axis=1)
    own = np.where((found.people == owners[:, None]) & there, found.scores, -np.inf).max(axis=1, initial=-np.inf)
    inside = np.isfinite(own)
    better = ((found.scores > own[:, None] + TIE) & there).sum(axis=1)
    not_worse = ((found.scores >= own[:, None] - TIE) & there).sum(axis=1) - 1
    low, high = np.where(inside, better, listed), np.where(inside, not_worse, users - 1)
    credit = np.where(inside & (low == 0), 1.0 / (high + 1.0), np.where(listed == 0, 1.0 / users, 0.0))
    among = {alike: _clarity(found, alike) for alike in ALIKE if alike < min(users, found.scores.shape[1])}
    return Naming(credit, _clarity(found), np.minimum(low, users - 1), high, among=among)


def _clarity(found: Candidates, alike: int = 1) -> NDArray[np.float64]:
    """How far the best stands ahead of the second, or of the first after so many who are alike; who stands alone is
    clearer than all others.
    """
    if found.scores.shape[1] <= alike:
        return np.where(np.isfinite(found.scores).any(axis=1), 1.0, -1.0)
    best, next_ = found.scores.max(axis=1), np.partition(found.scores, -1 - alike, axis=1)[:, -1 - alike]
    with np.errstate(invalid="ignore"):
        ahead = np.where(np.isfinite(best), best - next_, -1.0)
    widest = float(ahead[np.isfinite(ahead)].max(initial=0.0))
    return np.where(np.isfinite(ahead), ahead, widest + 1.0)
