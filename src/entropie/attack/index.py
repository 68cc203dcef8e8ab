"""The inverted index (feature -> users) and the order in which targets are best scored against it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import Matching
from entropie.errors import InvalidInput
from entropie.kernels.attack_index import index_postings, index_rows, length_ranks, score_bound
from entropie.kernels.features import feature_totals

__all__ = ["KEY_BITS", "TIE", "Index", "Targets", "arrange", "blocks", "build_index", "exponent_for"]

TIE = 1e-9
"""Scores that agree to this are tied."""

KEY_BITS = 34
"""The law tells scores apart to 2^-34 = 6e-11 before those within `TIE` are joined."""

_LARGEST_EXPONENT = 44
_HEAD_LIMIT = 8
_SHORTEST_SHARE = 4096  # a posting that fewer than one user in so many has is not worth a step
_MOVE_COST = 2.0  # visits that moving a user costs
_COPY_COST = 0.1  # visits that copying a user's class costs


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Everything about the users that scoring needs: postings, rank-one penalties, the unit of the sums.

    Posting f is users[starts[f]:starts[f + 1]] with the weights `fixed`, whole multiples of 2^-exponent. Features are
    numbered by falling length of their postings. `atoms` are keys that the law counts exactly at any level.
    """

    starts: NDArray[np.int64]
    users: NDArray[np.uint32]
    fixed: NDArray[np.int64]
    user_count: int
    penalty: NDArray[np.float64]
    exponent: int
    atoms: NDArray[np.int64]

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

    def keys(self, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Keys of scores: rounded to multiples of 2^-KEY_BITS."""
        rounded: NDArray[np.int64] = (scores + ((1 << self.shift) >> 1)) >> self.shift
        return rounded


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Target rows in the index's numbers; target r is of user ids[r].

    The first heads[r] features of a row are its head. Neighbours with the same head and size are scored on one base,
    which saves time and changes no result.
    """

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    features: NDArray[np.uint32]
    weights: NDArray[np.float64]
    heads: NDArray[np.int64]
    sizes: NDArray[np.float64]

    def part(self, begin: int, end: int) -> Targets:
        """Cut out targets begin..end-1, sharing memory."""
        low, high = self.offsets[begin], self.offsets[end]
        return Targets(
            self.ids[begin:end],
            self.offsets[begin : end + 1] - low,
            self.features[low:high],
            self.weights[low:high],
            self.heads[begin:end],
            self.sizes[begin:end] if self.sizes.size else self.sizes,
        )

    def take(self, rows: NDArray[np.int64]) -> Targets:
        """Copy the named targets in the order named."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        places = np.repeat(self.offsets[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Targets(
            self.ids[rows],
            offsets,
            self.features[places],
            self.weights[places],
            self.heads[rows],
            self.sizes[rows] if self.sizes.size else self.sizes,
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
        parts = _mixed(self.features.astype(np.uint64) ^ _mixed(self.weights.view(np.uint64)))
        running: NDArray[np.uint64] = np.concatenate((np.zeros(1, np.uint64), np.cumsum(parts)))
        return running

    def _size_hash(self) -> NDArray[np.uint64]:
        sizes = self.sizes if self.sizes.size else np.zeros(self.ids.size)
        return _mixed(sizes.view(np.uint64) + np.uint64(1))


def build_index(matching: Matching) -> tuple[Index, Targets]:
    """Turn user rows into postings of the features that some target has."""
    users, targets = matching.users, matching.targets
    penalty = np.empty(0) if matching.user_penalty is None else matching.user_penalty
    sizes = np.empty(0) if matching.target_size is None else matching.target_size
    bound = score_bound(
        users.features, users.weights, users.feature_count, targets.offsets, targets.features, targets.weights
    )
    if penalty.size:
        bound += float(np.abs(sizes).max() * np.abs(penalty).max())
    exponent = exponent_for(bound)
    wanted = np.zeros(users.feature_count, np.bool_)
    wanted[targets.features] = True
    lengths = feature_totals(users.features, users.feature_count)
    ranks, starts = length_ranks(lengths, wanted, users.rows)
    postings = index_postings(users.offsets, users.features, users.weights, ranks, starts, 2.0**exponent)
    index = Index(starts, *postings, users.rows, penalty, exponent, np.empty(0, np.int64))
    rows = index_rows(targets.offsets, targets.features, targets.weights, ranks)
    ids = np.arange(users.rows, dtype=np.int64)
    return index, Targets(ids, *rows, np.zeros_like(ids), sizes)


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


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scatter 64-bit words: xor-shifts and odd multiplications, modulo 2^64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
