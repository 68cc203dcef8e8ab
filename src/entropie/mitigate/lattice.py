"""The cheapest generalisation of a table that meets a limit: optimal over all combinations of levels.

A node says for each column how far it is generalised. Two things fall or rise along the lattice and allow to leave
nodes out without losing the optimum (proofs in docs/attributes.md, checked against all nodes in the tests):

- the fewest people to leave out never rise when a column is generalised further, so a node that does not meet the
  limit speaks for all that generalise no column further;
  That holds of every rule on groups that a union keeps once one of them does: a size, a number of sensitive values. A
  distance of the values from those of all people is kept by a union of groups that all keep it, so nobody is left out;
- the cost of a node is that of its levels, `base`, which never falls upwards, and what leaving out people adds to it,
  `extra`, at least 0; where the limit is a smallest group alone, `extra` never rises upwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from entropie.kernels.grouping import roll_up, sum_steps
from entropie.measures.closeness import distances
from entropie.measures.diversity import Contents
from entropie.progress import Progress, silent

Scale = Literal["information", "loss", "discernibility"]
SCALES: tuple[Scale, ...] = ("information", "loss", "discernibility")
Levels = tuple[int, ...]
_KEPT_GROUPS = 20_000_000
"""Groups of nodes that are kept to roll others up from: 16 bytes each."""
_ALIKE = 1e-12


@dataclass(frozen=True, slots=True)
class Limit:
    """What a table must meet once people in groups that break it are left out.

    smallest     every group has at least so many people: k-anonymity, a highest risk of 1/k
    different    every group has at least so many values of the sensitive column: distinct l-diversity
    distance     its values are at most so far from those of all people (earth mover): t-closeness
    average      groups divided by people, the average risk of being re-identified, at most
    left_out     how many people may be left out at most
    """

    smallest: int = 1
    average: float = 1.0
    left_out: int = 0
    different: int = 1
    distance: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """The levels of one column: groups[l][value] is the group of a value at level l; level 0 tells all values apart."""

    groups: tuple[NDArray[np.int64], ...]
    counts: NDArray[np.int64]  # people of each value

    def losses(self, scale: Scale) -> list[NDArray[np.float64]]:
        """What is lost of each value at each level, from 0 to what is lost when it is left out."""
        losses = []
        for groups in self.groups:
            if scale == "loss":
                leaves = np.bincount(groups)[groups]
                losses.append((leaves - 1) / max(1, self.counts.size - 1))
            else:
                whole = np.bincount(groups, weights=self.counts)[groups]
                losses.append(np.log2(whole / self.counts))
        return losses

    def left_out(self, scale: Scale) -> NDArray[np.float64]:
        """What is lost of each value of a person who is left out: all that can be."""
        if scale == "loss":
            return np.ones(self.counts.size)
        return np.asarray(np.log2(self.counts.sum() / self.counts))


@dataclass(frozen=True, slots=True, eq=False)
class Sensitive:
    """What an attacker wants to learn of everybody: codes, in the order of the values where they are `ordered`."""

    codes: NDArray[np.int64]
    ordered: bool

    @property
    def size(self) -> int:
        """How many codes there may be."""
        return int(self.codes.max()) + 1


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of a node: a row of each, how many people it has, and which sensitive values."""

    firsts: NDArray[np.int64]
    counts: NDArray[np.int64]
    contents: Contents | None = None
    ordered: bool = False

    def fits(self, limit: Limit) -> NDArray[np.bool_]:
        """Which of them meet what is asked of every group."""
        fits = self.counts >= limit.smallest
        if self.contents is not None and limit.different > 1:
            fits &= self.contents.distinct >= limit.different
        if self.contents is not None and limit.distance < 1.0:
            fits &= distances(self.contents, ordered=self.ordered) <= limit.distance + _ALIKE
        return np.asarray(fits)


@dataclass(frozen=True, slots=True)
class Node:
    """What a node comes to: who is left out, what is left, and what it costs.

    cost   on the scale chosen, as a share of what there is to lose
    """

    levels: Levels
    meets: bool
    left_out: int
    groups: int
    smallest: int
    base: float
    cost: float


@dataclass(frozen=True, slots=True)
class Search:
    """The cheapest node that meets the limit (None: there is none), out of how many, and how many were counted."""

    best: Node | None
    nodes: int
    counted: int


def kept_groups(
    counts: NDArray[np.int64], fits: NDArray[np.bool_], average: float, extras: NDArray[np.float64] | None = None
) -> NDArray[np.bool_]:
    """Which groups stay: those that fit, without the fewest and smallest that go for the average, of equals the
    cheapest.

    All are kept where no number of them left out would do: the caller sees that the limit is broken.
    """
    if np.count_nonzero(fits) <= average * counts[fits].sum():
        return fits
    order = np.lexsort((np.zeros(counts.size) if extras is None else extras * counts, counts, fits))
    removed = np.arange(1, counts.size)
    people = counts.sum() - np.cumsum(counts[order])[:-1]
    meets = (counts.size - removed <= average * people) & (removed >= np.count_nonzero(~fits))
    if not meets.any():
        return np.ones(counts.size, np.bool_)
    kept = np.ones(counts.size, np.bool_)
    kept[order[: int(removed[np.argmax(meets)])]] = False
    return kept


class Lattice:
    """All nodes of a table, counted from the nearest finer one that has been counted before.

    What is counted and kept are people alike in all columns; with a `sensitive` one in that too.
    """

    def __init__(
        self,
        codes: Sequence[NDArray[np.int64]],
        ladders: Sequence[Ladder],
        scale: Scale,
        sensitive: Sensitive | None = None,
    ) -> None:
        self.scale = scale
        self.shape = tuple(len(ladder.groups) for ladder in ladders)
        self.people = int(codes[0].size)
        self.sensitive = sensitive
        columns = [*codes, *([] if sensitive is None else [sensitive.codes])]
        self._codes = np.ascontiguousarray(np.stack([code.astype(np.int32) for code in columns], axis=1))
        steps = [group for ladder in ladders for group in ladder.groups]
        values = 0 if sensitive is None else sensitive.size
        self._steps = np.concatenate([*steps, np.arange(values)]).astype(np.int32)
        self._values_begin = np.array([] if sensitive is None else [self._steps.size - values], np.int64)
        sizes = [[group.size for group in ladder.groups] for ladder in ladders]
        ends = np.cumsum([0, *(size for column in sizes for size in column)])
        self._begins: list[NDArray[np.int64]] = []
        for levels in self.shape:
            self._begins.append(ends[:levels].astype(np.int64))
            ends = ends[levels:]
        self._prices(ladders)
        self._slots = np.full(1 << (2 * self.people).bit_length(), -1, np.int32)
        self._kept: dict[Levels, Groups] = {}
        self._held = 0
        everybody = Groups(np.arange(self.people), np.ones(self.people, np.int64))
        self._bottom = self._alike((0,) * len(self.shape), everybody)

    def _prices(self, ladders: Sequence[Ladder]) -> None:
        """The share lost by each level of each column, and what leaving out a person of a value adds to that."""
        self.base: NDArray[np.float64] | None = None
        self._extras: NDArray[np.float64] | None = None
        if self.scale == "discernibility":
            return
        whole = sum(float(ladder.counts @ ladder.left_out(self.scale)) for ladder in ladders) or 1.0
        extras, base = [], np.zeros(self.shape)
        for place, ladder in enumerate(ladders):
            losses = ladder.losses(self.scale)
            extras += [np.maximum(0.0, ladder.left_out(self.scale) - loss) / whole for loss in losses]
            level = np.maximum.accumulate([float(ladder.counts @ loss) / whole for loss in losses])
            base += level.reshape([-1 if axis == place else 1 for axis in range(len(self.shape))])
        self.base, self._extras = base, np.concatenate(extras)

    def _offsets(self, levels: Levels) -> NDArray[np.int64]:
        return np.array([begins[level] for begins, level in zip(self._begins, levels, strict=True)])

    def _rolled(self, offsets: NDArray[np.int64], finer: Groups) -> tuple[Groups, NDArray[np.int64]]:
        slots = self._slots[: 1 << max(4, (2 * finer.firsts.size).bit_length())]
        firsts, counts, into = roll_up(self._codes, self._steps, offsets, finer.firsts, finer.counts, slots)
        return Groups(firsts, counts), into

    def _alike(self, levels: Levels, finer: Groups) -> Groups:
        """People alike in all columns at these levels, from people alike at finer ones."""
        return self._rolled(np.concatenate((self._offsets(levels), self._values_begin)), finer)[0]

    def groups(self, levels: Levels) -> Groups:
        """The groups of a node, from the finer node at hand that has fewest."""
        alike = self._found(levels)
        if self.sensitive is None:
            return alike
        groups, owner = self._rolled(self._offsets(levels), alike)
        values = self.sensitive.codes[alike.firsts]
        order = np.lexsort((values, owner))
        begins = np.flatnonzero(np.diff(owner[order], prepend=-1))
        held = Contents(begins, values[order], alike.counts[order], groups.counts, self.sensitive.size)
        return Groups(groups.firsts, groups.counts, held, self.sensitive.ordered)

    def _found(self, levels: Levels) -> Groups:
        if levels in self._kept:
            return self._kept[levels]
        finer = self._bottom
        if self._kept:
            nodes = list(self._kept)
            below = (np.array(nodes) <= np.array(levels)).all(axis=1)
            for place in np.flatnonzero(below).tolist():
                if self._kept[nodes[place]].counts.size < finer.counts.size:
                    finer = self._kept[nodes[place]]
        found = self._alike(levels, finer)
        self._keep(levels, found)
        return found

    def _keep(self, levels: Levels, found: Groups) -> None:
        self._kept[levels] = found
        self._held += found.counts.size
        while self._held > _KEPT_GROUPS or len(self._kept) > 500:
            oldest = self._kept.pop(next(iter(self._kept)))
            self._held -= oldest.counts.size

    def node(self, levels: Levels, limit: Limit) -> Node:
        """Count a node."""
        groups = self.groups(levels)
        extras = self._extra_of(groups, levels)
        fits = groups.fits(limit)
        kept = kept_groups(groups.counts, fits, limit.average, extras)
        sizes = groups.counts[kept]
        people = int(sizes.sum())
        left_out = self.people - people
        meets = (
            people > 0
            and left_out <= limit.left_out
            and bool(fits[kept].all())
            and sizes.size <= limit.average * people
        )
        extra = float(groups.counts[~kept] @ extras[~kept])
        if self.base is None:
            base = float(groups.counts @ groups.counts) / self.people**2
        else:
            base = float(self.base[levels])
        smallest = int(sizes.min(initial=self.people))
        return Node(levels, meets, left_out, sizes.size, smallest, base, base + extra)

    def kept_rows(self, levels: Levels, limit: Limit) -> NDArray[np.bool_]:
        """Which people stay at a node, counted from the rows."""
        group = np.zeros(self.people, np.int64)
        for column, begin in enumerate(self._offsets(levels).tolist()):
            codes = self._steps[begin + self._codes[:, column]].astype(np.int64)
            group = np.unique(group * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
        firsts = np.unique(group, return_index=True)[1]
        found = Groups(firsts, np.bincount(group))
        if self.sensitive is not None:
            held = Contents.of(group, self.sensitive.codes, self.sensitive.size)
            found = Groups(firsts, held.totals, held, self.sensitive.ordered)
        extras = self._extra_of(found, levels)
        return np.asarray(kept_groups(found.counts, found.fits(limit), limit.average, extras)[group])

    def _extra_of(self, groups: Groups, levels: Levels) -> NDArray[np.float64]:
        """What leaving out one person of each group adds to the cost."""
        if self._extras is None:
            return np.asarray((self.people - groups.counts) / self.people**2)
        return np.asarray(sum_steps(self._codes, self._extras, self._offsets(levels), groups.firsts))


@dataclass(slots=True)
class _Open:
    """What is known of nodes that have not been counted.

    base, extra   at least so much each costs by its levels, and by who is left out
    open    whether it may still be the cheapest that meets the limit
    meets   whether it is known to meet it
    """

    base: NDArray[np.float64]
    extra: NDArray[np.float64]
    open: NDArray[np.bool_]
    meets: NDArray[np.bool_]
    best: Node | None = None
    counted: int = 0

    @property
    def low(self) -> NDArray[np.float64]:
        """At least so much each node costs."""
        return self.base + self.extra


def cheapest(lattice: Lattice, limit: Limit, progress: Progress = silent) -> Search:
    """Search: from the cheapest open node a path leads upwards; halving it finds where the limit begins to be met."""
    shape = lattice.shape
    base = np.zeros(shape) if lattice.base is None else lattice.base.copy()
    state = _Open(base, np.zeros(shape), np.ones(shape, np.bool_), np.zeros(shape, np.bool_))
    nodes = int(np.prod(shape))
    while state.open.any():
        progress("searching", 1.0 - float(np.count_nonzero(state.open)) / nodes)
        start = _cheapest_open(state)
        path = [start] if state.meets[start] else _path(state, start)
        low, high = 0, len(path)  # nodes below `low` break the limit, those from `high` on meet it
        while low < high:
            middle = (low + high) // 2
            node = lattice.node(path[middle], limit)
            _learn(state, node, falls=limit.average >= 1.0, separable=lattice.base is not None)
            low, high = (low, middle) if node.meets else (middle + 1, high)
    return Search(state.best, nodes, state.counted)


def _cheapest_open(state: _Open) -> Levels:
    flat = np.where(state.open, state.low, np.inf).argmin()
    return tuple(int(place) for place in np.unravel_index(int(flat), state.open.shape))


def _path(state: _Open, start: Levels) -> list[Levels]:
    """From a node upwards, always to the cheapest neighbour that is still open."""
    path = [start]
    while True:
        here = path[-1]
        above = [
            (*here[:axis], here[axis] + 1, *here[axis + 1 :])
            for axis in range(len(here))
            if here[axis] + 1 < state.open.shape[axis]
        ]
        above = [node for node in above if state.open[node]]
        if not above:
            return path
        path.append(min(above, key=lambda node: state.base[node] + state.extra[node]))


def _learn(state: _Open, node: Node, *, falls: bool, separable: bool) -> None:
    """What a counted node says about itself, those below and those above."""
    state.counted += 1
    below = tuple(slice(0, level + 1) for level in node.levels)
    above = tuple(slice(level, None) for level in node.levels)
    state.open[node.levels] = False
    changed = False
    if not separable:
        np.maximum(state.base[above], node.base, out=state.base[above])
        changed = True
    if node.meets:
        state.meets[above] = True
        if falls:
            np.maximum(state.extra[below], node.cost - node.base, out=state.extra[below])
            changed = True
        if state.best is None or (node.cost, node.levels) < (state.best.cost, state.best.levels):
            state.best, changed = node, True
    else:
        state.open[below] = False
    if changed and state.best is not None:
        state.open &= state.low < state.best.cost - _ALIKE
