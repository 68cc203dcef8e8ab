"""The strongest matcher: a Pitman-Yor model of every user, fading with time.

User i meets item x with probability

    P_i(x) = (c_i(x) - d_i(x) + Lambda_i p(x)) / (N_i + lambda),    Lambda_i = lambda + sum over x of d_i(x),

where c_i(x) sums the weights 1/(1 + r a) of the training events at x (a = how many events ago), d_i = delta min(c_i, 1)
is the discount that makes room for new items, and p(x) is the share of *users* that have x (the Kneser-Ney choice:
an item that one user repeats a hundred times is not common). Against `bayes` this adds three things: users who explore
leave more room than users who repeat; the recent past counts more; and repeated target events are damped: the events
of a target at x weigh s^gamma together, where s sums 1/(1 + f b) over them (b = events before).

Score: sum of damped weights times ln(P_i(x)/p(x)), that is ln(1 + (c-d)/(Lambda_i p(x))) per item and the rank-one
term T ln((N_i + lambda)/Lambda_i). Where events have times, the hour speaks too: ln(P_i(h|x)/P_i(h)) and
ln(P_i(h)/p(h)) over twelve slots of the week, both Dirichlet-smoothed, each with a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import FeatureRows, side_by_side, weighted_item_rows
from entropie.attack.matchers.contract import ItemMatcher, MatcherRates, Pass, Population, Rows, Trained
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.kernels.features import row_sums

SLOTS = 12
"""Six times of day, on working days and at weekends (in universal time)."""

RHYTHM_USERS = 20_000
"""Up to so many users the hour alone is matched: it is evidence for every pair, and so costs pairs."""

HOUR_UNITS = 2**24
"""Weights of events are summed over people in whole numbers of 1/HOUR_UNITS: the same sum in any order."""

_ITEM_HOUR_PRIOR = 5.0
_HOUR_PRIOR = 20.0
_SIZE_STEPS = 4  # target sizes are rounded to quarters: equal sizes are scored together


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the matcher; the defaults serve check-ins of cities that they were not chosen on."""

    strength: float = 10.0  # lambda
    discount: float = 0.7  # delta
    recency: float = 0.1  # r
    fade: float = 0.1  # f
    damping: float = 0.6  # gamma
    item_hours: float = 1.0  # weight of ln P_i(h|x)/P_i(h)
    rhythm: float = 0.25  # weight of ln P_i(h)/p(h)

    def __post_init__(self) -> None:
        if not self.strength > 0:
            raise InvalidParameter.of("strength", "positive", self.strength)
        if not 0 <= self.discount < 1:
            raise InvalidParameter.of("discount", "at least 0 and below 1", self.discount)
        for name in ("recency", "fade", "damping", "item_hours", "rhythm"):
            if not 0 <= getattr(self, name) < np.inf:
                raise InvalidParameter.of(name, "at least 0", getattr(self, name))

    @property
    def uses_hours(self) -> bool:
        """Whether the hour has any weight."""
        return self.item_hours > 0.0 or self.rhythm > 0.0


@dataclass(frozen=True)
class PitmanYor(ItemMatcher):
    """Match by the Pitman-Yor model.

    settings   the defaults unless given, without what cannot be used

    What the one pass over everybody settles is the share of their faded events per slot, where hours count.
    """

    name = "pitman_yor"
    counts_items = True
    slots = SLOTS
    rates = MatcherRates(
        reach=2.51, matched_ns=5.5, pair_ns=50.0, pair_users=RHYTHM_USERS, target_ns=250_000.0,
        user_entries=2.0, target_entries=2.0,
    )  # fmt: skip
    settings: Settings | None = None

    def next_pass(self, population: Population) -> Pass | None:
        """Sum everybody's hours, where they count."""
        if population.settings is None and population.timed and self._chosen(population).uses_hours:
            return Pass(self._hour_sums, sum_of, lambda sums, _: hour_shares(sums))
        return None

    def user_rows(self, train: Traces, population: Population) -> Rows:
        """Rows and penalties of some users.

        Features are the items; where hours speak, then (item, slot), then the slots where the rhythm counts.
        """
        settings, hours = self._chosen(population), population.settings
        past = 1.0 / (1.0 + settings.recency * _events_after(train))
        known = weighted_item_rows(train, past)
        weights, penalty = _item_evidence(known, settings, population.holders / max(population.all_holders, 1))
        users = known.with_weights(weights)
        if hours is None:
            return users, penalty
        slots = _slots(_times(train))
        person = np.repeat(np.arange(train.users), np.diff(train.offsets))
        by_slot = _sums(person * SLOTS + slots, past, train.users * SLOTS).reshape(-1, SLOTS)
        habit = (by_slot + _HOUR_PRIOR * hours) / (by_slot.sum(axis=1, keepdims=True) + _HOUR_PRIOR)
        at_hours = FeatureRows(*row_sums(train.offsets, _item_slots(train, slots), past), train.domain_size * SLOTS)
        expected = _ITEM_HOUR_PRIOR * habit[at_hours.row_of_each(), at_hours.features % SLOTS]
        at_hours = at_hours.with_weights(settings.item_hours * np.log1p(at_hours.weights / expected))
        # the normaliser of P_i(h|x) goes with the item
        items = users.with_weights(users.weights - settings.item_hours * np.log1p(known.weights / _ITEM_HOUR_PRIOR))
        if not settings.rhythm:
            return side_by_side([items, at_hours]), penalty
        with np.errstate(divide="ignore"):
            surprise = np.where(hours > 0, np.log(habit / np.where(hours > 0, hours, 1.0)), 0.0)
        return side_by_side([items, at_hours, _dense_rows(settings.rhythm * surprise)]), penalty

    def target_rows(self, target: Traces, population: Population) -> Rows:
        """Rows and sizes of some targets, over the same features as the users' rows."""
        settings, hours = self._chosen(population), population.settings
        coming = 1.0 / (1.0 + settings.fade * _events_before(target))
        items = weighted_item_rows(target, coming)
        damped = items.with_weights(items.weights**settings.damping)
        sizes = np.round(damped.totals() * _SIZE_STEPS) / _SIZE_STEPS
        if hours is None:
            return damped, sizes
        slots = _item_slots(target, _slots(_times(target)))
        asked = FeatureRows(*row_sums(target.offsets, slots, coming), target.domain_size * SLOTS)
        asked = asked.with_weights(_damped_like_items(asked, settings.damping))
        if not settings.rhythm:
            return side_by_side([damped, asked]), sizes
        places = asked.row_of_each() * np.int64(SLOTS) + asked.features % SLOTS
        spread = _sums(places, asked.weights, target.users * SLOTS)
        return side_by_side([damped, asked, _dense_rows(spread.reshape(-1, SLOTS))]), sizes

    def _chosen(self, population: Population) -> Settings:
        return first_settings(population.timed, population.users) if self.settings is None else self.settings

    def _hour_sums(self, trained: Trained, population: Population) -> NDArray[np.int64]:
        return hour_sums(trained.train, self._chosen(population).recency)


def hour_sums(train: Traces, recency: float) -> NDArray[np.int64]:
    """Faded weights of some people's training events in each slot, in whole numbers of 1/HOUR_UNITS: blocks add up."""
    units = np.rint(HOUR_UNITS / (1.0 + recency * _events_after(train))).astype(np.int64)
    slots = _slots(_times(train))
    return np.array([units[slots == slot].sum() for slot in range(SLOTS)], np.int64)


def hour_shares(sums: NDArray[np.int64]) -> NDArray[np.float64]:
    """Share of each slot in everybody's sums; zeros where there are no events."""
    return np.asarray(sums / max(int(sums.sum()), 1), dtype=np.float64)


def first_settings(timed: bool, users: int) -> Settings:
    """The default settings: hours are left out where there are none, the rhythm where it would cost too much."""
    if not timed:
        return Settings(item_hours=0.0, rhythm=0.0)
    return Settings() if users <= RHYTHM_USERS else Settings(rhythm=0.0)


def sum_of(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Sums of several blocks, slot by slot."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.int64)


def _item_evidence(
    known: FeatureRows, settings: Settings, popularity: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ln(1 + (c - d)/(Lambda_i p)) per user and item, and ln((N_i + lambda)/Lambda_i) per user."""
    discount = settings.discount * np.minimum(known.weights, 1.0)
    room = settings.strength + known.with_weights(discount).totals()
    expected = np.repeat(room, np.diff(known.offsets)) * popularity[known.features]
    return np.log1p((known.weights - discount) / expected), np.log((known.totals() + settings.strength) / room)


def _times(traces: Traces) -> NDArray[np.int64]:
    if traces.times is None:
        raise InvalidInput("Hours need the time of every event; these traces have none.")
    return traces.times


def _sums(places: NDArray[np.int64], weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    return np.asarray(np.bincount(places, weights, size), dtype=np.float64)


def _damped_like_items(asked: FeatureRows, damping: float) -> NDArray[np.float64]:
    """Share the damped weight of a target's item among the slots at which it occurs."""
    item = asked.row_of_each().astype(np.int64) * (asked.feature_count // SLOTS) + asked.features // SLOTS
    if item.size == 0:
        return asked.weights
    starts = np.flatnonzero(np.concatenate(([True], item[1:] != item[:-1])))
    totals = np.add.reduceat(asked.weights, starts)
    lengths = np.diff(np.append(starts, item.size))
    return asked.weights * np.repeat(totals ** (damping - 1.0), lengths)


def _dense_rows(matrix: NDArray[np.float64]) -> FeatureRows:
    rows, columns = matrix.shape
    features = np.tile(np.arange(columns, dtype=np.uint32), rows)
    return FeatureRows(np.arange(rows + 1, dtype=np.int64) * columns, features, matrix.ravel(), columns)


def _slots(times: NDArray[np.int64]) -> NDArray[np.int64]:
    day = (times // 86_400 + 3) % 7  # the epoch was a Thursday; 0 = Monday
    return np.where(day >= 5, 6, 0) + times % 86_400 // 14_400


def _item_slots(traces: Traces, slots: NDArray[np.int64]) -> NDArray[np.uint32]:
    if traces.domain_size * (SLOTS + 1) + SLOTS > 2**32:
        raise InvalidParameter.of("domain_size", "below 2^32/13 to match hours", traces.domain_size)
    return (traces.items * np.uint32(SLOTS) + slots.astype(np.uint32)).astype(np.uint32)


def _events_before(traces: Traces) -> NDArray[np.float64]:
    starts = np.repeat(traces.offsets[:-1], np.diff(traces.offsets))
    return (np.arange(traces.events) - starts).astype(np.float64)


def _events_after(traces: Traces) -> NDArray[np.float64]:
    ends = np.repeat(traces.offsets[1:], np.diff(traces.offsets))
    return (ends - 1 - np.arange(traces.events)).astype(np.float64)
