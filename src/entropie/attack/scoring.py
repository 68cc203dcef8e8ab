"""All-pairs scoring: blocks of targets against the index, partial results that merge, the outcome of the attack."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import Matching
from entropie.attack.index import KEY_BITS, TIE, Index, Targets, arrange, blocks, build_index
from entropie.errors import InvalidParameter
from entropie.kernels.attack_law import atom_table, cluster_keys, levels_up, sum_sorted
from entropie.kernels.scoring import score_targets
from entropie.measures.law import ScoreLaw

__all__ = [
    "CANDIDATES",
    "MAX_VALUES",
    "AttackOutcome",
    "Partial",
    "Progress",
    "attack",
    "core_count",
    "law_size",
    "merge_partials",
    "outcome_of",
    "prepare",
    "run_blocks",
    "score_block",
]

CANDIDATES = 10
"""Best users kept per target unless asked otherwise."""

MAX_VALUES = 2**18
"""Distinct values that a law keeps before its cells double in width."""

MANY_USERS = 2**14
"""Beyond so many users a law keeps a quarter of that: its table stays in cache, and its cells below 0.001."""

_PILOT_TARGETS = (16, 256)
_PILOT_PAIRS = 2**20
_ATOM_SHARE = 1 / 256

Progress = Callable[[int, int], None]
"""Called with the targets done and the targets to do."""


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
    grid: float = 0.0  # width of the law's cells; 0 where all its values are exact

    @property
    def clarity(self) -> NDArray[np.float64]:
        """How far the best candidate stands ahead of the second, which the attacker sees without knowing the truth."""
        if self.candidate_scores.shape[1] < 2:
            return np.zeros(self.best.size)
        gaps: NDArray[np.float64] = self.candidate_scores[:, 0] - self.candidate_scores[:, 1]
        return gaps


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """The result of some targets, in units of the index; partial results of disjoint targets merge.

    Targets are sorted by user. The impostor law is the counts of the index's atoms, and keys at `level` with counts.
    """

    ids: NDArray[np.int64]
    genuine: NDArray[np.int64]
    ties: NDArray[np.int64]
    better: NDArray[np.int64]
    tied: NDArray[np.int64]
    candidates: NDArray[np.uint32]
    candidate_scores: NDArray[np.int64]
    atom_counts: NDArray[np.int64]
    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    level: int
    max_values: int

    def merge(self, other: Partial) -> Partial:
        """Join with the result of other targets; any order of merging gives the same."""
        return merge_partials((self, other))


def attack(
    matching: Matching,
    *,
    candidates: int = CANDIDATES,
    threads: int | None = None,
    max_values: int | None = None,
    progress: Progress | None = None,
) -> AttackOutcome:
    """Score all users for all targets; exact over all pairs, never a matrix.

    `threads` is the number of cores unless given. It changes the time, not one bit of the result.
    """
    index, targets = prepare(matching, candidates=candidates, max_values=max_values)
    workers = core_count(threads)
    pieces = list(blocks(index, targets, workers))
    jobs = (
        lambda level, begin=begin, end=end: score_block(
            index, targets.part(begin, end), candidates=candidates, max_values=max_values, level=level
        )
        for begin, end in pieces
    )
    return outcome_of(index, run_blocks(jobs, targets.ids.size, workers, progress))


def prepare(
    matching: Matching, *, candidates: int = CANDIDATES, max_values: int | None = None
) -> tuple[Index, Targets]:
    """Build the index, arrange the targets and find the atoms: all that workers share."""
    if candidates < 1:
        raise InvalidParameter.of("candidates", "at least 1", candidates)
    index, targets = build_index(matching)
    targets = arrange(index, targets)
    if index.user_count * targets.ids.size <= law_size(index.user_count, max_values):
        return index, targets  # every score can be a value of its own: no cell grows, so atoms need not be kept apart
    return replace(index, atoms=_atoms(index, targets)), targets


def score_block(
    index: Index,
    targets: Targets,
    *,
    candidates: int = CANDIDATES,
    max_values: int | None = None,
    level: int = 0,
) -> Partial:
    """Score all users for some targets: the one function that every driver runs, here or on a cluster.

    `level` may be the level of any result it will be merged with: it saves the steps up to it and changes nothing.
    """
    max_values = law_size(index.user_count, max_values)
    (genuine, ties, better, tied, best_users, best_scores, atom_counts, keys, counts, level) = score_targets(
        index.starts,
        index.users,
        index.fixed,
        index.user_count,
        index.penalty,
        index.scale,
        index.tolerance,
        index.shift,
        atom_table(index.atoms),
        index.atoms.size,
        targets.offsets,
        targets.features,
        targets.weights,
        targets.heads,
        targets.sizes,
        targets.ids,
        min(candidates, index.user_count),
        max_values,
        level,
    )
    order = np.argsort(targets.ids, kind="stable")
    return Partial(
        targets.ids[order],
        genuine[order],
        ties[order],
        better[order],
        tied[order],
        best_users[order],
        best_scores[order],
        atom_counts,
        keys,
        counts,
        int(level),
        max_values,
    )


def law_size(users: int, max_values: int | None = None) -> int:
    """Check how many values a law may keep, or choose it from the number of users alone."""
    if max_values is None:
        return MAX_VALUES if users <= MANY_USERS else MAX_VALUES // 4
    if max_values < 2:
        raise InvalidParameter.of("max_values", "at least 2", max_values)
    return max_values


def merge_partials(partials: Sequence[Partial]) -> Partial:
    """Join results of disjoint targets: targets stand side by side, laws add up at the coarsest level needed."""
    first = partials[0]
    ids = np.concatenate([partial.ids for partial in partials])
    order = np.argsort(ids, kind="stable")
    level = max(partial.level for partial in partials)
    keys, counts, level = _summed(
        np.concatenate([partial.keys >> (level - partial.level) for partial in partials]),
        np.concatenate([partial.counts for partial in partials]),
        level,
        first.max_values,
    )
    columns = ("genuine", "ties", "better", "tied", "candidates", "candidate_scores")
    joined = {name: np.concatenate([getattr(p, name) for p in partials])[order] for name in columns}
    return Partial(
        ids=ids[order],
        **joined,
        atom_counts=np.sum([partial.atom_counts for partial in partials], axis=0),
        keys=keys,
        counts=counts,
        level=level,
        max_values=first.max_values,
    )


def _summed(
    keys: NDArray[np.int64], counts: NDArray[np.int64], level: int, max_values: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Sum the counts of equal keys and go up as many levels as it takes."""
    order = np.argsort(keys, kind="stable")
    keys, counts = sum_sorted(keys[order], counts[order], 0)
    up = levels_up(keys, max_values)
    if up:
        keys, counts = sum_sorted(keys, counts, up)
    return keys, counts, level + int(up)


def run_blocks(
    jobs: Iterable[Callable[[int], Partial]], total: int, threads: int, progress: Progress | None
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
        level = max(level, partial.level)
        pile.append(partial)
        while len(pile) > 1 and pile[-2].ids.size <= 2 * pile[-1].ids.size:
            pile[-2:] = [merge_partials(pile[-2:])]
        if progress is not None:
            progress(done, total)
    return merge_partials(pile)


def _results(
    begun: Callable[[Callable[[int], Partial]], Partial],
    jobs: Iterator[Callable[[int], Partial]],
    threads: int,
) -> Iterator[Partial]:
    """Yield results as they come; blocks not yet begun are dropped when the caller stops."""
    pool = ThreadPoolExecutor(threads)
    running: set[Future[Partial]] = set()
    try:
        for job in jobs:
            running.add(pool.submit(begun, job))
            if len(running) > 2 * threads:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def outcome_of(index: Index, partial: Partial) -> AttackOutcome:
    """Turn units into scores and join the law's values that are tied."""
    among_best = partial.genuine >= partial.candidate_scores[:, 0] - index.tolerance
    return AttackOutcome(
        law=_law(index, partial),
        best=partial.candidate_scores[:, 0] / index.scale,
        ties=partial.ties,
        credit=np.where(among_best, 1.0 / partial.ties, 0.0),
        rank_low=partial.better + 1,
        rank_high=partial.better + partial.tied,
        candidates=partial.candidates,
        candidate_scores=partial.candidate_scores / index.scale,
        grid=2.0 ** (partial.level - KEY_BITS) if partial.level else 0.0,
    )


def _law(index: Index, partial: Partial) -> ScoreLaw:
    """Put impostor and genuine scores on one grid.

    At level 0 all values are exact and those within `TIE` join. Above it a score is an atom, or stands at the centre of
    its cell, which is half a key beside every atom.
    """
    own = index.keys(partial.genuine)
    seen = partial.atom_counts > 0
    atoms, atom_counts = index.atoms[seen], partial.atom_counts[seen]
    unit = 2.0**-KEY_BITS
    if partial.level == 0:
        keys = np.concatenate((partial.keys, atoms))
        counts = np.concatenate((partial.counts, atom_counts))
        joined = _joined(np.concatenate((keys, own))) * unit
        return ScoreLaw.weighted(joined[: keys.size], counts, joined[keys.size :])
    atom_values = _joined(atoms) * unit
    own_values = _centres(own >> partial.level, partial.level)
    if atoms.size:
        place = np.minimum(np.searchsorted(atoms, own), atoms.size - 1)
        own_values = np.where(atoms[place] == own, atom_values[place], own_values)
    return ScoreLaw.weighted(
        np.concatenate((_centres(partial.keys, partial.level), atom_values)),
        np.concatenate((partial.counts, atom_counts)),
        own_values,
    )


def _joined(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Replace keys by the lowest of their group; members of a group are tied."""
    distinct, inverse = np.unique(keys, return_inverse=True)
    first: NDArray[np.int64] = cluster_keys(distinct, int(TIE * 2**KEY_BITS))
    return first[inverse]


def _centres(keys: NDArray[np.int64], level: int) -> NDArray[np.float64]:
    return ((keys.astype(np.float64) + 0.5) * 2.0**level - 0.5) * 2.0**-KEY_BITS


def _atoms(index: Index, targets: Targets) -> NDArray[np.int64]:
    """Find the values that hold a notable share of all scores, from some targets picked by what they hold."""
    some = int(np.clip(_PILOT_PAIRS // index.user_count, *_PILOT_TARGETS))
    pilot = np.sort(np.argsort(targets.content(), kind="stable")[:some])
    partial = score_block(index, targets.take(pilot), candidates=1, max_values=_PILOT_PAIRS)
    if partial.level:
        return np.empty(0, np.int64)
    keys, counts, _ = _summed(
        np.concatenate((partial.keys, index.keys(partial.genuine))),
        np.concatenate((partial.counts, np.ones(partial.genuine.size, np.int64))),
        0,
        2**62,
    )
    frequent: NDArray[np.int64] = keys[counts >= max(2.0, _ATOM_SHARE * counts.sum())]
    return frequent


def core_count(threads: int | None) -> int:
    """Check a number of threads, or take the number of cores."""
    if threads is not None and threads < 1:
        raise InvalidParameter.of("threads", "at least 1", threads)
    return threads or os.cpu_count() or 1
