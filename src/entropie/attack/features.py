"""The common language of matchers and scorer: sparse rows of features, cut by offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from entropie.data.traces import Traces
from entropie.data.traces import ragged as ragged
from entropie.errors import InvalidInput
from entropie.kernels.attack_law import sum_sorted
from entropie.kernels.features import feature_totals, row_counts, row_sums, row_totals


@dataclass(frozen=True, slots=True)
class FeatureRows:
    """One sparse row per user or target: which features it has and how much each weighs.

    Row r holds features[offsets[r]:offsets[r + 1]], each at most once, with the weights beside them.
    """

    offsets: NDArray[np.int64]
    features: NDArray[np.uint32]
    weights: NDArray[np.float64]
    feature_count: int

    def __post_init__(self) -> None:
        if self.offsets.size == 0 or self.offsets[0] != 0 or self.offsets[-1] != self.features.size:
            raise InvalidInput(
                f"Feature rows: `offsets` must run from 0 to the number of features, {self.features.size}."
            )
        if self.weights.size != self.features.size:
            raise InvalidInput(
                f"Feature rows: `weights` must have one value per feature, {self.features.size}, "
                f"got {self.weights.size} instead."
            )
        if not 0 <= self.feature_count <= 2**32:
            raise InvalidInput(f"Feature rows: at most 2^32 features fit, got {self.feature_count}.")
        if self.features.size and int(self.features.max()) >= self.feature_count:
            raise InvalidInput(f"Feature rows: `features` must stay below {self.feature_count}.")

    @property
    def rows(self) -> int:
        """Number of rows, empty ones included."""
        return self.offsets.size - 1

    def totals(self) -> NDArray[np.float64]:
        """Sum of the weights of each row."""
        totals: NDArray[np.float64] = row_totals(self.offsets, self.weights)
        return totals

    def row_of_each(self) -> NDArray[np.uint32]:
        """Row number of every feature."""
        return np.repeat(np.arange(self.rows, dtype=np.uint32), np.diff(self.offsets))

    def holders(self) -> NDArray[np.int64]:
        """How many rows have each feature."""
        holders: NDArray[np.int64] = feature_totals(self.features, self.feature_count)
        return holders

    def sums(self) -> NDArray[np.int64]:
        """Sum of the weights of each feature, which are whole numbers."""
        return np.bincount(self.features, self.weights, self.feature_count).astype(np.int64)

    def take(self, rows: NDArray[np.int64]) -> FeatureRows:
        """Copy the named rows in the order named."""
        offsets, places = ragged(self.offsets, rows)
        return FeatureRows(offsets, self.features[places], self.weights[places], self.feature_count)

    @classmethod
    def concat(cls, parts: Sequence[FeatureRows]) -> FeatureRows:
        """Rows of several blocks over the same features, one after the other."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(
            np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))),
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.weights for part in parts]),
            parts[0].feature_count,
        )

    def with_weights(self, weights: NDArray[np.float64]) -> FeatureRows:
        """Return the same features with other weights."""
        return FeatureRows(self.offsets, self.features, weights, self.feature_count)


@dataclass(frozen=True, slots=True)
class Matching:
    """What a matcher makes of training and target traces.

    The score of user i for target j is the sum over common features of user weight times target weight, minus
    target_size[j] * user_penalty[i] where a rank-one term is given. Row j of the targets is user owners[j]'s, or user
    j's where `owners` is None. A matcher that leaves out what no target has gives the `largest_weight` that any user
    may have, so that what is left out does not matter to the unit of the sums.
    """

    users: FeatureRows
    targets: FeatureRows
    target_size: NDArray[np.float64] | None = None
    user_penalty: NDArray[np.float64] | None = None
    largest_weight: float = 0.0
    owners: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        owned = self.users.rows if self.owners is None else self.owners.size
        if owned != self.targets.rows:
            raise InvalidInput(f"Every target needs its user, got {owned} users and {self.targets.rows} targets.")
        if self.users.feature_count != self.targets.feature_count:
            raise InvalidInput("Users and targets must share one set of features.")
        if (self.target_size is None) != (self.user_penalty is None):
            raise InvalidInput("A rank-one term needs both `target_size` and `user_penalty`.")
        for name, rows in (("target_size", self.targets), ("user_penalty", self.users)):
            term = getattr(self, name)
            if term is not None and (term.size != rows.rows or not np.isfinite(term).all()):
                raise InvalidInput(f"Matching `{name}` must be one finite number per row.")
        if not (np.isfinite(self.users.weights).all() and np.isfinite(self.targets.weights).all()):
            raise InvalidInput("Matching weights must be finite.")

    def exchanged(self, order: NDArray[np.int64]) -> Matching:
        """Give user i the target of user order[i]: a matcher makes of a target what it is, whosever it is."""
        now_of = np.empty_like(order)
        now_of[order] = np.arange(order.size)
        return replace(self, owners=now_of if self.owners is None else now_of[self.owners])


def summed(keys: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Add up the counts of equal keys; keys come out sorted."""
    order = np.argsort(keys, kind="stable")
    sums: tuple[NDArray[np.int64], NDArray[np.int64]] = sum_sorted(keys[order], counts[order], 0)
    return sums


def item_rows(traces: Traces) -> FeatureRows:
    """Count every user's distinct items."""
    return FeatureRows(*row_counts(traces.offsets, traces.items), traces.domain_size)


def item_counts(traces: Traces) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Items that some people have, their events and how many people have each; sums over blocks are those of all."""
    counts = item_rows(traces)
    holders = counts.holders()
    items = np.flatnonzero(holders)
    return items, counts.sums()[items], holders[items]


def weighted_item_rows(traces: Traces, weights: NDArray[np.float64]) -> FeatureRows:
    """Sum the weights of the events at each of a user's distinct items."""
    return FeatureRows(*row_sums(traces.offsets, traces.items, weights), traces.domain_size)


def length_histogram(traces: Traces) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of events that people have, rising, and how many people have each."""
    lengths, people = np.unique(np.diff(traces.offsets), return_counts=True)
    return lengths, people


def side_by_side(parts: list[FeatureRows]) -> FeatureRows:
    """Join rows over separate features into longer rows."""
    shifts = np.cumsum([0, *(part.feature_count for part in parts)])
    order = np.argsort(np.concatenate([part.row_of_each() for part in parts]), kind="stable")
    features = np.concatenate([part.features + np.uint32(shift) for part, shift in zip(parts, shifts, strict=False)])
    weights = np.concatenate([part.weights for part in parts])
    offsets = np.sum([part.offsets for part in parts], axis=0)
    return FeatureRows(offsets, features[order], weights[order], int(shifts[-1]))


def check_same_people(train: Traces, target: Traces) -> None:
    """Refuse halves that do not belong together: other users or another numbering of items."""
    if train.users != target.users:
        raise InvalidInput(
            f"Training and target must hold the same users, got {train.users} and {target.users}; split them together."
        )
    if train.domain_size != target.domain_size:
        raise InvalidInput(
            f"Training and target must share one numbering of items, got domains of {train.domain_size} and "
            f"{target.domain_size}; encode them together."
        )
    if train.users == 0:
        raise InvalidInput("An attack needs at least one user, got none.")
