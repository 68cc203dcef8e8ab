"""The strongest matcher: a Pitman-Yor model of every user, fading with time, tuned on the training data alone.

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

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import FeatureRows, side_by_side, weighted_item_rows
from entropie.attack.matchers.contract import ItemMatcher, MatcherRates, Pass, Population, Rows, Trained
from entropie.attack.scoring import attack
from entropie.data.traces import Traces, cut_runs
from entropie.errors import InvalidInput, InvalidParameter
from entropie.kernels.features import row_sums

SLOTS = 12
"""Six times of day, on working days and at weekends (in universal time)."""

RHYTHM_USERS = 20_000
"""Up to so many users the hour alone is matched: it is evidence for every pair, and so costs pairs."""

TUNING_USERS = (50, 1000)
"""Settings are tuned on so many people at least and at most."""

HOUR_UNITS = 2**24
"""Weights of events are summed over people in whole numbers of 1/HOUR_UNITS: the same sum in any order."""

_ITEM_HOUR_PRIOR = 5.0
_HOUR_PRIOR = 20.0
_SIZE_STEPS = 4  # target sizes are rounded to quarters: equal sizes are scored together
_TUNING_EVENTS = 4
_TUNING_VALUES = 2**10  # tuning looks at ranks, not at the law

_CHOICES: dict[str, tuple[float, ...]] = {
    "strength": (1, 3, 10, 30, 100, 300),
    "discount": (0, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9),
    "recency": (0, 0.02, 0.05, 0.1, 0.2, 0.4),
    "fade": (0, 0.02, 0.05, 0.1, 0.2, 0.4),
    "damping": (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1),
    "item_hours": (0, 0.5, 1),
    "rhythm": (0, 0.25, 0.5, 0.75),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the matcher; the defaults serve where there is too little training data to choose."""

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


@dataclass(frozen=True, slots=True)
class Tuned:
    """What the passes settle: the settings, and the share of everybody's faded events per slot where hours count."""

    settings: Settings
    hours: NDArray[np.float64] | None = None


class Sample(NamedTuple):
    """People to tune on: those whose training hashes lowest, in that order; where hashes are equal, by number.

    Items are everybody's codes. The hash is of what a person did, so that the numbers of people do not matter.
    """

    hashes: NDArray[np.uint64]
    people: NDArray[np.int64]
    offsets: NDArray[np.int64]
    items: NDArray[np.uint32]
    times: NDArray[np.int64] | None


@dataclass(frozen=True)
class PitmanYor(ItemMatcher):
    """Match by the Pitman-Yor model.

    settings   chosen from the training data unless given: those under which later training events best single out
               their user. Of the target events only their usual number is looked at, never whose they are.
    """

    name = "pitman_yor"
    counts_items = True
    slots = SLOTS
    rates = MatcherRates(
        reach=2.51, matched_ns=5.5, pair_ns=50.0, pair_users=RHYTHM_USERS, target_ns=250_000.0, model_ns=1.4e9,
        user_entries=2.0, target_entries=2.0,
    )  # fmt: skip
    settings: Settings | None = None

    def next_pass(self, population: Population) -> Pass | None:
        """Tune on some people first; then sum everybody's hours, where they count."""
        if self.settings is None and population.settings is None:
            return Pass(lowest_hashes, merge_samples, tuned_on)
        tuned = self._tuned(population)
        if tuned.hours is None and population.timed and tuned.settings.uses_hours:
            return Pass(self._hour_sums, sum_of, self._with_hours)
        return None

    def user_rows(self, train: Traces, population: Population) -> Rows:
        """Rows and penalties of some users.

        Features are the items; where hours speak, then (item, slot), then the slots where the rhythm counts.
        """
        tuned = self._tuned(population)
        settings, hours = tuned.settings, tuned.hours
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
        tuned = self._tuned(population)
        settings, hours = tuned.settings, tuned.hours
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

    def _tuned(self, population: Population) -> Tuned:
        if population.settings is None:
            assert self.settings is not None
            return Tuned(self.settings)
        tuned: Tuned = population.settings
        return tuned

    def _hour_sums(self, trained: Trained, population: Population) -> NDArray[np.int64]:
        return hour_sums(trained.train, self._tuned(population).settings.recency)

    def _with_hours(self, sums: NDArray[np.int64], population: Population) -> Tuned:
        return replace(self._tuned(population), hours=hour_shares(sums))


def hour_sums(train: Traces, recency: float) -> NDArray[np.int64]:
    """Faded weights of some people's training events in each slot, in whole numbers of 1/HOUR_UNITS: blocks add up."""
    units = np.rint(HOUR_UNITS / (1.0 + recency * _events_after(train))).astype(np.int64)
    slots = _slots(_times(train))
    return np.array([units[slots == slot].sum() for slot in range(SLOTS)], np.int64)


def hour_shares(sums: NDArray[np.int64]) -> NDArray[np.float64]:
    """Share of each slot in everybody's sums; zeros where there are no events."""
    return np.asarray(sums / max(int(sums.sum()), 1), dtype=np.float64)


def first_settings(timed: bool, users: int) -> Settings:
    """Settings to begin with: hours are left out where there are none, the rhythm where it would cost too much."""
    if not timed:
        return Settings(item_hours=0.0, rhythm=0.0)
    return Settings() if users <= RHYTHM_USERS else Settings(rhythm=0.0)


def lowest_hashes(trained: Trained, population: Population) -> Sample:
    """The people to tune on among those of a block."""
    able, hashes = tuning_hashes(trained.train, trained.codes)
    lowest = np.lexsort((trained.people[able], hashes))[: TUNING_USERS[1]]
    mine = trained.train.take(able[lowest])
    people = trained.people[able[lowest]]
    return Sample(hashes[lowest], people, mine.offsets, trained.codes[mine.items], mine.times)


def merge_samples(parts: Sequence[Sample]) -> Sample:
    """The people to tune on among those of several blocks."""
    if len(parts) == 1:
        return parts[0]
    hashes, people = (np.concatenate(column) for column in zip(*(part[:2] for part in parts), strict=True))
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    items = np.concatenate([part.items for part in parts])
    times = None if parts[0].times is None else np.concatenate([part.times for part in parts if part.times is not None])
    order = np.lexsort((people, hashes))[: TUNING_USERS[1]]
    lowest = Traces(offsets, items, 2**32, times).take(order)
    return Sample(hashes[order], people[order], lowest.offsets, lowest.items, lowest.times)


def tuned_on(sample: Sample, population: Population) -> Tuned:
    """The settings that serve the sample best."""
    codes, items = np.unique(sample.items, return_inverse=True)
    traces = Traces(sample.offsets, items.astype(np.uint32), codes.size, sample.times)
    return Tuned(tune(traces, population.target_length, first_settings(population.timed, population.users)))


def sum_of(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Sums of several blocks, slot by slot."""
    return np.asarray(np.sum(parts, axis=0), dtype=np.int64)


def tuning_hashes(train: Traces, item_codes: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Rows with enough events to tune on, and a hash of what each did, so that their numbers do not matter.

    `item_codes` are everybody's codes of the items in these traces.
    """
    words = item_codes.astype(np.uint64)[train.items] * np.uint64(0x9E3779B97F4A7C15)
    words += (_events_before(train).astype(np.uint64) + np.uint64(1)) * np.uint64(0xC2B2AE3D27D4EB4F)
    words = (words ^ (words >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    running = np.concatenate((np.zeros(1, np.uint64), np.cumsum(words ^ (words >> np.uint64(32)))))
    content = running[train.offsets[1:]] - running[train.offsets[:-1]]
    able = np.flatnonzero(np.diff(train.offsets) >= _TUNING_EVENTS)
    return able, content[able]


def tune(sample: Traces, usual: int, first: Settings) -> Settings:
    """Tune on the training of the chosen people, from `first` on; `usual` is how long targets usually are.

    The training of each is split in halves; the second halves, no longer than targets usually are, stand for the
    targets. One setting at a time moves along its choices while the mean log rank of the right user clearly falls.
    Items may be numbered in any way that keeps their order.
    """
    settings = first
    if sample.users < TUNING_USERS[0]:
        return settings
    earlier, later = _halves(sample, usual)
    current = _log_ranks(earlier, later, settings)
    for name, choices in _CHOICES.items():
        if getattr(settings, name) == 0.0 and name in ("item_hours", "rhythm"):
            continue
        for direction in (1, -1):
            place = choices.index(getattr(settings, name)) + direction
            moved = False
            while 0 <= place < len(choices):
                trial = replace(settings, **{name: choices[place]})
                ranks = _log_ranks(earlier, later, trial)
                if not _clearly_lower(ranks, current):
                    break
                settings, current, moved = trial, ranks, True
                place += direction
            if moved:
                break
    return settings


def _clearly_lower(ranks: NDArray[np.float64], current: NDArray[np.float64]) -> bool:
    """Tell whether the mean falls by more than its standard error: chance alone should move no setting."""
    fall = current - ranks
    return math.fsum(fall) > math.sqrt(math.fsum((fall - math.fsum(fall) / fall.size) ** 2))


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


def _halves(traces: Traces, longest: int) -> tuple[Traces, Traces]:
    counts = np.diff(traces.offsets)
    first = (counts + 1) // 2
    later = np.minimum(counts - first, longest)
    return cut_runs(traces, traces.offsets[:-1], first), cut_runs(traces, traces.offsets[:-1] + first, later)


def _log_ranks(train: Traces, target: Traces, settings: Settings) -> NDArray[np.float64]:
    outcome = attack(PitmanYor(settings)(train, target), candidates=1, max_values=_TUNING_VALUES)
    ranks: NDArray[np.float64] = np.log((outcome.rank_low + outcome.rank_high) / 2)
    return ranks
