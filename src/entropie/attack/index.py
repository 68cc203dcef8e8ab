"""The inverted index (feature -> users) and the order in which targets are best scored against it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import FeatureRows, ragged
from entropie.attack.keyed import KeyedRows
from entropie.errors import InvalidInput
from entropie.kernels.attack_index import index_postings, index_rows, largest_row, length_ranks, row_scores
from entropie.kernels.attack_records import Rows, TargetBlock, Unit, UserBlock
from entropie.kernels.features import feature_totals
from entropie.kernels.keyed import mixed

TIE = 1e-9
"""Scores that agree to this are tied."""

KEY_BITS = 34
"""The law tells scores apart to 2^-34 = 6e-11 before those within `TIE` are joined."""

NOBODY = 2**32 - 1
"""Number that stands where there is no candidate."""

_Places = slice | NDArray[np.int64]
_LARGEST_EXPONENT = 44
_HEAD_LIMIT = 8
_SHORTEST_SHARE = 4096  # a posting that fewer than one user in so many has is not worth a step
_MOVE_COST = 4.0  # visits that moving a user costs
_COPY_COST = 0.1  # visits that copying a user's class costs


@dataclass(frozen=True, slots=True)
class Units:
    """The unit of the sums, 2^-exponent, in which all scores are whole numbers."""

    exponent: int

    @property
    def scale(self) -> float:
        """Units in a score of 1."""
        return float(2.0**self.exponent)

    @property
    def tolerance(self) -> int:
        """`TIE` in units."""
        return int(TIE * self.scale)

    @property
    def shift(self) -> int:
        """Bits of a sum below its key."""
        return self.exponent - KEY_BITS

    @property
    def record(self) -> Unit:
        """As kernels take it."""
        return Unit(self.scale, self.tolerance, self.shift)

    def keys(self, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Keys of scores: rounded to multiples of 2^-KEY_BITS."""
        rounded: NDArray[np.int64] = (scores + ((1 << self.shift) >> 1)) >> self.shift
        return rounded


@dataclass(frozen=True, slots=True)
class Extent:
    """How large scores may be, from numbers that merge over blocks of users and of targets by their maximum."""

    weight: float = 0.0  # largest magnitude of a user's weight
    target: float = 0.0  # largest sum of the magnitudes of one target's weights
    penalty: float = 0.0  # largest magnitude of a user's penalty
    size: float = 0.0  # largest magnitude of a target's size

    @classmethod
    def of_users(cls, rows: FeatureRows | KeyedRows, penalty: NDArray[np.float64] | None = None) -> Extent:
        """What a block of users adds."""
        return cls(weight=_largest(rows.weights), penalty=_largest(penalty))

    @classmethod
    def of_targets(cls, rows: FeatureRows | KeyedRows, sizes: NDArray[np.float64] | None = None) -> Extent:
        """What a block of targets adds; the order of a row's features does not change it."""
        return cls(target=float(largest_row(rows.offsets, rows.weights)), size=_largest(sizes))

    def merge(self, other: Extent) -> Extent:
        """The extent of both; any order of merging gives the same."""
        return Extent(
            max(self.weight, other.weight),
            max(self.target, other.target),
            max(self.penalty, other.penalty),
            max(self.size, other.size),
        )

    def units(self) -> Units:
        """The finest units in which no score overflows."""
        return Units(exponent_for(self.weight * self.target + self.penalty * self.size))


def _largest(numbers: NDArray[np.float64] | None) -> float:
    return 0.0 if numbers is None or numbers.size == 0 else float(max(numbers.max(), -numbers.min()))


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Everything about a block of users that scoring needs: postings, rank-one penalties, the unit of the sums.

    Posting f is users[starts[f]:starts[f + 1]] with the weights `fixed`, whole multiples of the unit. Features are
    numbered by falling length of their postings, users by their place; people[place] is who that is, ascending.
    `atoms` are keys that the law counts exactly at any level.
    """

    starts: NDArray[np.int64]
    users: NDArray[np.uint32]
    fixed: NDArray[np.int64]
    people: NDArray[np.uint32]
    penalty: NDArray[np.float64]
    units: Units
    atoms: NDArray[np.int64]

    @property
    def user_count(self) -> int:
        """Users of this block."""
        return self.people.size

    @property
    def record(self) -> UserBlock:
        """As kernels take it."""
        return UserBlock(self.starts, self.users, self.fixed, self.penalty, self.user_count)


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Target rows in the index's numbers; target r is of person ids[r].

    They stand at place own[r] of the index, -1 where they are in another block of users; genuine[r] is their score in
    units, known beforehand. The first heads[r] features of a row are its head. Neighbours with the same head and size
    are scored on one base, which saves time and changes no result.
    """

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    features: NDArray[np.uint32]
    weights: NDArray[np.float64]
    heads: NDArray[np.int64]
    sizes: NDArray[np.float64]
    own: NDArray[np.int64]
    genuine: NDArray[np.int64]

    @property
    def record(self) -> TargetBlock:
        """As kernels take it."""
        return TargetBlock(self.offsets, self.features, self.weights, self.heads, self.sizes, self.own, self.genuine)

    def part(self, begin: int, end: int) -> Targets:
        """Cut out targets begin..end-1, sharing memory."""
        offsets = self.offsets[begin : end + 1]
        return self._cut(slice(begin, end), offsets - offsets[0], slice(offsets[0], offsets[-1]))

    def take(self, rows: NDArray[np.int64]) -> Targets:
        """Copy the named targets in the order named."""
        return self._cut(rows, *ragged(self.offsets, rows))

    def _cut(self, rows: _Places, offsets: NDArray[np.int64], entries: _Places) -> Targets:
        return Targets(
            self.ids[rows],
            offsets,
            self.features[entries],
            self.weights[entries],
            self.heads[rows],
            self.sizes[rows] if self.sizes.size else self.sizes,
            self.own[rows],
            self.genuine[rows],
        )

    def content(self) -> NDArray[np.uint64]:
        """Hash what each target holds, whoever it is of."""
        running = self._running_hash()
        content: NDArray[np.uint64] = running[self.offsets[1:]] - running[self.offsets[:-1]] + self._size_hash()
        return content

    def head(self) -> NDArray[np.uint64]:
        """Hash the head of each target."""
        running = self._running_hash()
        begin = self.offsets[:-1]
        head: NDArray[np.uint64] = running[begin + self.heads] - running[begin] + self._size_hash()
        return head

    def _running_hash(self) -> NDArray[np.uint64]:
        parts = mixed(self.features.astype(np.uint64) ^ mixed(self.weights.view(np.uint64)))
        running: NDArray[np.uint64] = np.concatenate((np.zeros(1, np.uint64), np.cumsum(parts)))
        return running

    def _size_hash(self) -> NDArray[np.uint64]:
        sizes = self.sizes if self.sizes.size else np.zeros(self.ids.size)
        hashes: NDArray[np.uint64] = mixed(sizes.view(np.uint64) + np.uint64(1))
        return hashes


def genuine_scores(
    users: FeatureRows,
    targets: FeatureRows,
    penalty: NDArray[np.float64] | None,
    sizes: NDArray[np.float64] | None,
    units: Units,
    owners: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Score user owners[j], or user j, for target j in units, for every row j, exactly as all pairs are scored.

    Features need not be in order within a row; rows where they ascend are joined without sorting.
    """
    owned = users.rows if owners is None else owners.size
    if owned != targets.rows:
        raise InvalidInput(f"Every target needs its user's row, got {owned} users and {targets.rows} targets.")
    scores: NDArray[np.int64] = row_scores(
        Rows(users.offsets, users.features, users.weights),
        Rows(targets.offsets, targets.features, targets.weights),
        np.arange(users.rows) if owners is None else owners,
        np.empty(0) if penalty is None else penalty,
        np.empty(0) if sizes is None else sizes,
        units.scale,
    )
    return scores


def build_index(
    users: FeatureRows,
    targets: FeatureRows,
    *,
    units: Units,
    genuine: NDArray[np.int64],
    penalty: NDArray[np.float64] | None = None,
    sizes: NDArray[np.float64] | None = None,
    people: NDArray[np.integer] | None = None,
    ids: NDArray[np.int64] | None = None,
) -> tuple[Index, Targets]:
    """Turn a block of users into postings of the features that some of these targets has.

    `people` and `ids` are the numbers of the users and of the targets, 0, 1, 2... unless given; people must ascend.
    The genuine user of a target is the one with its number, in this block or another; `genuine` are their scores in
    units, wherever they are.
    """
    if (penalty is None) != (sizes is None):
        raise InvalidInput("A rank-one term needs both `penalty` and `sizes`.")
    numbers = np.arange(users.rows) if people is None else people.astype(np.int64)
    if numbers.size and not (numbers[0] >= 0 and numbers[-1] < NOBODY and np.all(np.diff(numbers) > 0)):
        raise InvalidInput(f"The `people` of an index must ascend and stay below {NOBODY}; sort the rows by person.")
    ids = np.arange(targets.rows) if ids is None else ids
    own = _places(numbers, ids)
    columns = {"people": (numbers, users), "ids": (ids, targets), "genuine": (genuine, targets)}
    for name, (given, of) in columns.items():
        if given.size != of.rows:
            raise InvalidInput(f"An index needs one of `{name}` per row, {of.rows}, got {given.size} instead.")
    wanted = np.zeros(users.feature_count, np.bool_)
    wanted[targets.features] = True
    lengths = feature_totals(users.features, users.feature_count)
    ranks, starts = length_ranks(lengths, wanted, users.rows)
    postings = index_postings(users.offsets, users.features, users.weights, ranks, starts, units.scale)
    penalties = np.empty(0) if penalty is None else penalty
    index = Index(starts, *postings, numbers.astype(np.uint32), penalties, units, np.empty(0, np.int64))
    rows = index_rows(targets.offsets, targets.features, targets.weights, ranks)
    heads = np.zeros(targets.rows, np.int64)
    return index, Targets(ids, *rows, heads, np.empty(0) if sizes is None else sizes, own, genuine)


def _places(people: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of the ids stands among the ascending numbers of people; -1 for those that do not."""
    if people.size == 0:
        return np.full(ids.size, -1, np.int64)
    places = np.minimum(np.searchsorted(people, ids), people.size - 1)
    return np.where(people[places] == ids, places, -1)


def exponent_for(bound: float) -> int:
    """Choose the unit 2^-q of the sums: as fine as a score up to `bound` allows in 62 bits."""
    exponent = min(_LARGEST_EXPONENT, 61 - int(np.ceil(np.log2(max(bound, 1.0)))))
    if exponent < KEY_BITS:
        raise InvalidInput(
            f"Scores may reach {bound:.3g}, more than the 1e8 that exact sums allow; shorten the longest traces."
        )
    return exponent


def arrange(index: Index, targets: Targets) -> Targets:
    """Order targets so that heads that begin alike stand together, and say how long the heads are.

    Skipping a posting of length l for m targets saves m l visits; it costs a step, which is l moves and a copy of the
    users' classes. So heads grow, longest postings first, as long as that pays; targets whose head is too rare fall
    back to a shorter one.
    """
    if targets.ids.size == 0:
        return targets
    lengths = np.diff(targets.offsets)
    postings = np.diff(index.starts)
    running = targets._running_hash()
    begin = targets.offsets[:-1]
    depth = np.zeros(targets.ids.size, np.int64)
    for step in range(_HEAD_LIMIT):
        longer = np.flatnonzero((depth == step) & (lengths > step))
        feature = targets.features[begin[longer] + step]
        depth[longer[postings[feature] >= index.user_count // _SHORTEST_SHARE + 1]] = step + 1
    size = targets._size_hash()
    head = running[begin + depth] - running[begin] + size
    for step in range(_HEAD_LIMIT, 0, -1):
        deep = np.flatnonzero(depth == step)
        if deep.size == 0:
            continue
        _, group, shared = np.unique(head[deep], return_inverse=True, return_counts=True)
        last = begin[deep] + step - 1
        visits = postings[targets.features[last]]
        rare = shared[group] * visits < _MOVE_COST * visits + _COPY_COST * index.user_count
        depth[deep[rare]] = step - 1
        head[deep[rare]] -= running[last[rare] + 1] - running[last[rare]]
    steps = [running[begin + np.minimum(depth, step)] - running[begin] for step in range(int(depth.max()), 0, -1)]
    return replace(targets, heads=depth).take(np.lexsort((*steps, size)))


def blocks(index: Index, targets: Targets, threads: int) -> Iterator[tuple[int, int]]:
    """Cut arranged targets into runs of about equal work, short enough to stop between them."""
    if targets.ids.size == 0:
        return
    postings = np.diff(index.starts)
    visits = np.concatenate(([0], np.cumsum(postings[targets.features])))
    work = np.cumsum(visits[targets.offsets[1:]] - visits[targets.offsets[:-1] + targets.heads] + 64)
    head = targets.head()
    work += np.cumsum(np.concatenate(([True], head[1:] != head[:-1]))) * (index.user_count // 4)
    piece = max(16 * index.user_count, 2**20, min(int(work[-1]) // (8 * threads), 2**25))
    begin = 0
    while begin < targets.ids.size:
        before = int(work[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(work, before + piece, side="right")))
        yield begin, end
        begin = end
