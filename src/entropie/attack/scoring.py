"""All-pairs scoring: blocks of users and targets, partial results that merge, the outcome of the attack."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import Matching, ragged, summed
from entropie.attack.index import (
    KEY_BITS,
    NOBODY,
    TIE,
    Extent,
    Index,
    Targets,
    Units,
    arrange,
    blocks,
    build_index,
    genuine_scores,
)
from entropie.attack.partial import LawPart, Partial, merge_partials
from entropie.errors import InvalidParameter
from entropie.kernels.attack_law import EMPTY, cluster_keys, levels_up
from entropie.kernels.scoring import score_targets
from entropie.measures.law import ScoreLaw
from entropie.workers import Workers

CANDIDATES = 10
"""Best users kept per target unless asked otherwise."""

MAX_VALUES = 2**18
"""Distinct values that a law keeps before its cells double in width."""

MANY_USERS = 2**14
"""Beyond so many users a law keeps a quarter of that: its table stays in cache, and its cells below 0.001."""

PILOT_VALUES = 2**20
"""Distinct values that the law of a pilot keeps, and about the pairs that it scores."""

_PILOT_TARGETS = (16, 256)
_ATOM_SHARE = 1 / 256


@dataclass(frozen=True, slots=True)
class AttackOutcome:
    """What the attack found: the law of all scores, and per target the decision and the genuine user's rank."""

    law: ScoreLaw
    best: NDArray[np.float64]  # best score over users
    ties: NDArray[np.int64]  # users that share it to 1e-9
    credit: NDArray[np.float64]  # 1/ties where the genuine user is among the best, else 0
    rank_low: NDArray[np.int64]  # users strictly better than the genuine one, plus 1
    rank_high: NDArray[np.int64]  # users strictly better or tied with the genuine one, herself included
    candidates: NDArray[np.uint32]  # targets x k best users, best first, equal scores by number
    candidate_scores: NDArray[np.float64]
    clarity: NDArray[np.float64]  # how far the best stands ahead of the second, which the attacker sees; 0 if alone
    grid: float = 0.0  # width of the law's cells; 0 where all its values are exact


def attack(
    matching: Matching,
    *,
    candidates: int = CANDIDATES,
    threads: int | None = None,
    max_values: int | None = None,
    progress: Callable[[float], None] | None = None,
    pilot: NDArray[np.int64] | None = None,
    atoms: NDArray[np.int64] | None = None,
) -> AttackOutcome:
    """Score all users for all targets; exact over all pairs, never a matrix.

    `threads` is the number of cores unless given. It changes the time, not one bit of the result. `progress` is
    told the share done; `pilot` and `atoms` are as in `prepare`.
    """
    index, targets = prepare(matching, candidates=candidates, max_values=max_values, pilot=pilot, atoms=atoms)
    kept = min(candidates, index.user_count)
    values = law_size(index.user_count, max_values)
    workers = core_count(threads)
    jobs = (
        lambda level, begin=begin, end=end: score_block(
            index, targets.part(begin, end), candidates=kept, max_values=values, level=level
        )
        for begin, end in blocks(index, targets, workers)
    )
    return outcome_of(index.units, index.atoms, run_blocks(jobs, targets.ids.size, workers, progress))


def prepare(
    matching: Matching,
    *,
    candidates: int = CANDIDATES,
    max_values: int | None = None,
    pilot: NDArray[np.int64] | None = None,
    atoms: NDArray[np.int64] | None = None,
) -> tuple[Index, Targets]:
    """Build the index, arrange the targets and find the atoms: all that workers share.

    The atoms come from a pilot run on the targets whose numbers stand first in `pilot`, which has all people's; without
    it what they hold decides. `atoms`, keys that the law keeps exactly, are taken as given instead.
    """
    if candidates < 1:
        raise InvalidParameter.of("candidates", "at least 1", candidates)
    users, wanted, sizes, penalty = matching.users, matching.targets, matching.target_size, matching.user_penalty
    extent = Extent.of_users(users, penalty).merge(Extent.of_targets(wanted, sizes))
    units = extent.merge(Extent(weight=matching.largest_weight)).units()
    genuine = genuine_scores(users, wanted, penalty, sizes, units, matching.owners)
    index, targets = build_index(
        users, wanted, units=units, genuine=genuine, penalty=penalty, sizes=sizes, ids=matching.owners
    )
    targets = arrange(index, targets)
    if atoms is not None:
        return replace(index, atoms=np.unique(atoms).astype(np.int64)), targets
    if not needs_atoms(index.user_count, targets.ids.size, max_values):
        return index, targets
    if pilot is None:
        rows = np.sort(np.argsort(targets.content(), kind="stable")[: pilot_size(index.user_count)])
    else:
        rows = np.flatnonzero(np.isin(targets.ids, pilot[: pilot_places(index.user_count, targets.ids.size)]))
    partial = score_block(index, targets.take(rows), candidates=1, max_values=PILOT_VALUES)
    return replace(index, atoms=atoms_of(units, partial)), targets


def needs_atoms(users: int, targets: int, max_values: int | None = None) -> bool:
    """Whether cells may grow, so that atoms must be kept apart; else every score can be a value of its own."""
    return users * targets > law_size(users, max_values)


def pilot_size(users: int) -> int:
    """Number of targets that a pilot run scores."""
    return int(np.clip(PILOT_VALUES // users, *_PILOT_TARGETS))


def pilot_places(users: int, targets: int) -> int:
    """How many people, in the order of content, a pilot looks among for targets, so that about `pilot_size` are."""
    return -(-pilot_size(users) * users // targets)


def atoms_of(units: Units, partial: Partial) -> NDArray[np.int64]:
    """Find the values that hold a notable share of all scores, from a pilot merged over all users.

    The pilot is scored without atoms and keeps `PILOT_VALUES`. Where they do not suffice, no value is notable.
    """
    law = partial.law
    if law.level:
        return np.empty(0, np.int64)
    keys = np.concatenate((law.keys, units.keys(partial.genuine)))
    counts = np.concatenate((law.counts, np.ones(partial.genuine.size, np.int64)))
    keys, counts = summed(keys, counts)
    frequent: NDArray[np.int64] = keys[counts >= max(2.0, _ATOM_SHARE * counts.sum())]
    return frequent


def level_hint(partial: Partial, max_values: int, atoms: NDArray[np.int64]) -> int:
    """The level that the pilot's law alone needs, its atoms kept apart: the law of all pairs needs at least that."""
    law = partial.law
    if law.level == 0:
        return int(levels_up(law.keys[~np.isin(law.keys, atoms)], max_values))
    return law.level + int(levels_up(law.keys, max_values)) if max_values <= law.max_values else 0


def score_block(
    index: Index,
    targets: Targets,
    *,
    max_values: int,
    candidates: int = CANDIDATES,
    level: int = 0,
) -> Partial:
    """Score a block of users for a block of targets: the one function that every driver runs, here or on a cluster.

    `max_values` is the `law_size` of all users, not of this block. `level` may be the level of any result it will be
    merged with: it saves the steps up to it and changes nothing.
    """
    order = np.argsort(targets.ids, kind="stable")
    ids, genuine = targets.ids[order], targets.genuine[order]
    if index.user_count == 0:
        return Partial.unscored(ids, genuine, candidates, LawPart.empty(index.atoms.size, max_values))
    kept = min(candidates, index.user_count)
    users, block, unit = index.record, targets.record, index.units.record
    scored, law = score_targets(users, block, unit, kept, index.atoms, max_values, level)
    near_offsets, places = ragged(scored.near_offsets, order)
    return Partial(
        ids,
        genuine,
        scored.better[order],
        scored.tied[order],
        near_offsets,
        scored.near_scores[places],
        scored.near_counts[places],
        _padded(index.people[scored.best_users[order]], candidates, NOBODY),
        _padded(scored.best_scores[order], candidates, EMPTY),
        LawPart(*law, max_values),
    )


def _padded(columns: NDArray[Any], wanted: int, filler: int) -> NDArray[Any]:
    """Widen to as many columns as wanted."""
    missing = wanted - columns.shape[1]
    return np.pad(columns, ((0, 0), (0, missing)), constant_values=filler) if missing else columns


def law_size(users: int, max_values: int | None = None) -> int:
    """Check how many values a law may keep, or choose it from the number of users alone."""
    if max_values is None:
        return MAX_VALUES if users <= MANY_USERS else MAX_VALUES // 4
    if max_values < 2:
        raise InvalidParameter.of("max_values", "at least 2", max_values)
    return max_values


def run_blocks(
    jobs: Iterable[Callable[[int], Partial]],
    total: int,
    threads: int,
    progress: Callable[[float], None] | None = None,
) -> Partial:
    """Run jobs on threads, a few ahead, and merge as they finish; an interrupt stops between blocks.

    A job is told the highest level that any block has reached.
    """
    pile: list[Partial] = []
    done = 0
    level = 0

    def begun(job: Callable[[int], Partial]) -> Partial:
        return job(level)

    for partial in _results(begun, iter(jobs), threads):
        done += partial.ids.size
        level = max(level, partial.law.level)
        pile.append(partial)
        while len(pile) > 1 and pile[-2].ids.size <= 2 * pile[-1].ids.size:
            pile[-2:] = [merge_partials(pile[-2:])]
        if progress is not None:
            progress(done / total)
    return merge_partials(pile)


def _results(
    begun: Callable[[Callable[[int], Partial]], Partial],
    jobs: Iterator[Callable[[int], Partial]],
    threads: int,
) -> Iterator[Partial]:
    """Yield results as they come; blocks not yet begun are dropped when the caller stops."""
    running: set[Future[Partial]] = set()
    with Workers(threads) as pool:
        for job in jobs:
            running.add(pool.submit(begun, job))
            if len(running) > 2 * threads:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)


def outcome_of(units: Units, atoms: NDArray[np.int64], partial: Partial) -> AttackOutcome:
    """Turn the result of all users, in units, into scores, and join the law's values that are tied."""
    kept = int(np.count_nonzero((partial.candidate_scores != EMPTY).any(axis=0)))
    scores = partial.candidate_scores[:, :kept]
    ties = partial.ties
    level = partial.law.level
    return AttackOutcome(
        law=_law(units, atoms, partial),
        best=scores[:, 0] / units.scale,
        ties=ties,
        credit=np.where(partial.genuine >= scores[:, 0] - units.tolerance, 1.0 / ties, 0.0),
        rank_low=partial.better + 1,
        rank_high=partial.better + partial.tied,
        candidates=partial.candidates[:, :kept],
        candidate_scores=scores / units.scale,
        clarity=(scores[:, 0] - scores[:, 1]) / units.scale if kept > 1 else np.zeros(ties.size),
        grid=2.0 ** (level - KEY_BITS) if level else 0.0,
    )


def _law(units: Units, known: NDArray[np.int64], partial: Partial) -> ScoreLaw:
    """Put impostor and genuine scores on one grid.

    At level 0 all values are exact and those within `TIE` join. Above it a score is an atom, or stands at the centre of
    its cell, which is half a key beside every atom.
    """
    law = partial.law
    own = units.keys(partial.genuine)
    seen = law.atom_counts > 0
    atoms, atom_counts = known[seen], law.atom_counts[seen]
    unit = 2.0**-KEY_BITS
    if law.level == 0:
        keys = np.concatenate((law.keys, atoms))
        counts = np.concatenate((law.counts, atom_counts))
        joined = _joined(np.concatenate((keys, own))) * unit
        return ScoreLaw.weighted(joined[: keys.size], counts, joined[keys.size :])
    atom_values = _joined(atoms) * unit
    own_values = _centres(own >> law.level, law.level)
    if atoms.size:
        place = np.minimum(np.searchsorted(atoms, own), atoms.size - 1)
        own_values = np.where(atoms[place] == own, atom_values[place], own_values)
    return ScoreLaw.weighted(
        np.concatenate((_centres(law.keys, law.level), atom_values)),
        np.concatenate((law.counts, atom_counts)),
        own_values,
    )


def _joined(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Replace keys by the lowest of their group; members of a group are tied."""
    distinct, inverse = np.unique(keys, return_inverse=True)
    first: NDArray[np.int64] = cluster_keys(distinct, int(TIE * 2**KEY_BITS))
    return first[inverse]


def _centres(keys: NDArray[np.int64], level: int) -> NDArray[np.float64]:
    return ((keys.astype(np.float64) + 0.5) * 2.0**level - 0.5) * 2.0**-KEY_BITS


def core_count(threads: int | None) -> int:
    """Check a number of threads, or take the number of cores."""
    if threads is not None and threads < 1:
        raise InvalidParameter.of("threads", "at least 1", threads)
    return threads or os.cpu_count() or 1
