"""The attack on blocks of people, step by step, as every engine takes it; pure functions of arrays.

    rows of users, rows of targets --units--> own scores --pilot--> scale --cells--> partial results
                                                          --merged over user blocks, then over targets--> measured

A cell is one user block against one target block. All sums are whole numbers, so that no cut into blocks and no order
of merging changes a bit of the result. On one machine with room for everybody there is one cell, and
`entropie.attack.scoring.attack` takes the same steps on rows that are numbered already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from entropie.attack.index import Extent, Units, arrange, build_index, genuine_scores
from entropie.attack.index import blocks as pieces_of
from entropie.attack.keyed import KeyedRows, match_keys
from entropie.attack.matchers import Matcher
from entropie.attack.partial import LawPart, Partial, merge_partials, merge_users
from entropie.attack.scoring import (
    PILOT_VALUES,
    AttackOutcome,
    atoms_of,
    level_hint,
    outcome_of,
    run_blocks,
    score_block,
)

CANDIDATES = 2
"""Best users kept per target: the second best tells how clear the best is."""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A block of users: who they are, ascending, and their rows."""

    people: NDArray[np.int64]
    rows: KeyedRows


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A block of targets: as whose each is attacked, the score of that person, and the rows."""

    labels: NDArray[np.int64]
    genuine: NDArray[np.int64]
    rows: KeyedRows


@dataclass(frozen=True, slots=True)
class Scale:
    """What is known of an attack's scores before they are counted: their unit, frequent values, a level to begin at."""

    units: Units
    atoms: NDArray[np.int64]
    level: int = 0

    @classmethod
    def plain(cls, units: Units) -> Scale:
        """Where every score is a value of its own."""
        return cls(units, np.empty(0, np.int64))

    @classmethod
    def short(cls, units: Units) -> Scale:
        """Where targets have one event: those who do not have its item score 0, and they are many."""
        return cls(units, np.zeros(1, np.int64))


def extent_of(by: Matcher, users: KeyedRows, targets: KeyedRows) -> Extent:
    """How large the scores of some rows may be; extents of all blocks merge, and give the units."""
    extent = Extent.of_users(users, users.term).merge(Extent.of_targets(targets, targets.term))
    return extent.merge(Extent(weight=by.largest_weight))


def own_scores(users: KeyedRows, targets: KeyedRows, units: Units) -> NDArray[np.int64]:
    """The score of user j for target j, for every row j."""
    known, wanted = match_keys(users, targets)
    return genuine_scores(known, wanted, users.term, targets.term, units)


def cell(
    known: Known,
    asked: Asked,
    scale: Scale,
    *,
    max_values: int,
    candidates: int = CANDIDATES,
    threads: int = 1,
) -> Partial:
    """Score a block of users for a block of targets; `max_values` and `candidates` follow from all people."""
    users, targets = match_keys(known.rows, asked.rows)
    index, arranged = build_index(
        users,
        targets,
        units=scale.units,
        genuine=asked.genuine,
        penalty=known.rows.term,
        sizes=asked.rows.term,
        people=known.people,
        ids=asked.labels,
    )
    index = replace(index, atoms=scale.atoms)
    arranged = arrange(index, arranged)
    if threads == 1:
        return score_block(index, arranged, candidates=candidates, max_values=max_values, level=scale.level)
    jobs = (
        lambda level, begin=begin, end=end: score_block(
            index,
            arranged.part(begin, end),
            candidates=candidates,
            max_values=max_values,
            level=max(level, scale.level),
        )
        for begin, end in pieces_of(index, arranged, threads)
    )
    return run_blocks(jobs, arranged.ids.size, threads)


def pilot_cell(known: Known, asked: Asked, units: Units) -> Partial:
    """Score a block of users for the targets that are tried beforehand."""
    return cell(known, asked, Scale.plain(units), candidates=1, max_values=PILOT_VALUES)


def scale_of(units: Units, tried: Sequence[Partial], max_values: int) -> Scale:
    """Find the frequent values, from the pilot's targets against every block of users."""
    merged = merge_users(tried, units.tolerance)
    atoms = atoms_of(units, merged)
    return Scale(units, atoms, level_hint(merged, max_values, atoms))


def outcome(scale: Scale, results: Sequence[Partial], law: LawPart | None = None) -> AttackOutcome:
    """The attack from results of all targets, merged over users; `law` instead of theirs, where it went apart."""
    merged = merge_partials(results)
    return outcome_of(scale.units, scale.atoms, merged if law is None else replace(merged, law=law))
