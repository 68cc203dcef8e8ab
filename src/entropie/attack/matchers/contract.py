"""What a matcher is: from a person's events to sparse rows whose product is the score, on any cut of the people.

A row of a user or of a target depends on that person's events and on a `Population`: a few statistics of everybody that
are gathered block by block and add up exactly. So people may be matched in blocks of any size, with items numbered
anew in each as long as their order is kept, and every score comes out the same to the bit: on one machine and on many.

A matcher is a subclass of `ItemMatcher` (features are items, perhaps with slots of time) or of `Matcher` (any features
that fit a 64-bit key). docs/extending.md has a complete example.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import FeatureRows, Matching, check_same_people, item_rows
from entropie.attack.keyed import KeyedRows, KeyNumbers, check_codes
from entropie.data.traces import Traces, in_blocks

Rows = tuple[FeatureRows, NDArray[np.float64] | None]
"""Rows, and the part of the rank-one term that goes with them: penalties of users or sizes of targets."""

_ITEM_SLOT = np.uint64(2**40)
_SLOT = np.uint64(2**41)
_BLOCK = 1 << 12


@dataclass(frozen=True, slots=True)
class Population:
    """What is known of everybody. The arrays have one number per item, or none for a matcher that needs none.

    A block of people may have them cut to its own items; `all_holders` and `all_events` are of all items even so.
    `settings` is what the matcher's passes have settled so far.
    """

    users: int
    timed: bool  # events to learn from and attacked events have times
    holders: NDArray[np.int64]  # people who have the item in training
    events: NDArray[np.int64]  # training events at the item
    all_holders: int
    all_events: int
    settings: Any = None

    def cut(self, items: NDArray[np.integer]) -> Population:
        """The same with the arrays cut to some items, in the order named."""
        if not self.holders.size:
            return self
        return replace(self, holders=self.holders[items], events=self.events[items])


@dataclass(frozen=True, slots=True)
class Trained:
    """The training of a block of people: items are numbered in the block, `codes` are everybody's codes of them."""

    train: Traces
    codes: NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over everybody's training, before rows are made.

    part     what a block of people sends; the population is cut to the block's items
    merge    of several parts one; grouping and order must not matter
    settle   the population's new `settings`, from the part of everybody
    """

    part: Callable[[Trained, Population], Any]
    merge: Callable[[Sequence[Any]], Any]
    settle: Callable[[Any, Population], Any]


@dataclass(frozen=True, slots=True)
class MatcherRates:
    """What a matcher costs on one core, for `entropie plan`; the defaults are those of `bayes`.

    reach            matched pairs (feature of a target, person who has it) per person who has the item of an event
    matched_ns       time per matched pair
    pair_ns          time per pair of target and person, matched or not, up to `pair_users` people
    target_ns        time per target and block of people; more where scores hardly ever repeat
    model_ns         time before rows are made, however many people there are; less where fewer events are known
    user_entries     features of a person's row per distinct item of theirs
    target_entries   features of a target's row per distinct item it has
    """

    reach: float = 1.26
    matched_ns: float = 2.0
    pair_ns: float = 0.0
    pair_users: int = 0
    target_ns: float = 8_000.0
    model_ns: float = 0.0
    user_entries: float = 1.0
    target_entries: float = 1.0


class Matcher(ABC):
    """A way to compare traces: called with training and target of the same people, it makes the `Matching` to score.

    name             how it is asked for
    counts_items     whether the population must have `holders` and `events` of every item
    first_by_visit   whether a target of one event is scored exactly as `visit` scores it, which has a short way
    largest_weight   what no weight of a user exceeds, where rows leave out what no target has; else 0
    rates            what it costs
    """

    name: ClassVar[str]
    counts_items: ClassVar[bool] = False
    first_by_visit: ClassVar[bool] = False
    largest_weight: ClassVar[float] = 0.0
    rates: ClassVar[MatcherRates] = MatcherRates()

    @abstractmethod
    def user_keys(self, train: Traces, codes: NDArray[np.uint32], population: Population) -> KeyedRows:
        """Rows of some users, over keys that mean the same in every block; `codes` are everybody's of their items."""

    @abstractmethod
    def target_keys(self, target: Traces, codes: NDArray[np.uint32], population: Population) -> KeyedRows:
        """Rows of some targets, under the same keys."""

    def next_pass(self, population: Population) -> Pass | None:
        """The pass over everybody that is needed next, given the `settings` so far; None: rows can be made."""
        return None

    def population(self, train: Traces, target: Traces) -> Population:
        """What is known of everybody, from all people at once."""
        population = gathered(self, train, target)
        trained = Trained(train, _all_codes(train))
        while (step := self.next_pass(population)) is not None:
            part = step.merge([step.part(trained, population)])
            population = replace(population, settings=step.settle(part, population))
        return population

    def __call__(self, train: Traces, target: Traces, attacked: NDArray[np.int64] | None = None) -> Matching:
        """Match all targets, or those of the people `attacked`, with all users at once."""
        check_same_people(train, target)
        population = self.population(train, target)
        targets = self.target_keys(taken(target, attacked), _all_codes(target), population)
        numbers, codes = KeyNumbers(targets), _all_codes(train)
        largest, rows, terms = self.largest_weight, [], []
        for some in in_blocks(train, _BLOCK):  # most of their keys are of no target, and are not kept
            block = self.user_keys(some, codes, population)
            largest = max(largest, float(np.abs(block.weights).max(initial=0.0)))
            rows.append(numbers.rows(block))
            terms += [] if block.term is None else [block.term]
        penalty = np.concatenate(terms) if terms else None
        return Matching(FeatureRows.concat(rows), numbers.rows(targets), targets.term, penalty, largest, attacked)


class ItemMatcher(Matcher):
    """A matcher whose features are the items; where rows are wider, then (item, slot), then the slots alone.

    slots   how many slots there are, at most 256: hours of the day, for example
    """

    slots: ClassVar[int] = 0

    @abstractmethod
    def user_rows(self, train: Traces, population: Population) -> Rows:
        """Rows and penalties of some users, from their own training and what is known of everybody."""

    @abstractmethod
    def target_rows(self, target: Traces, population: Population) -> Rows:
        """Rows and sizes of some targets, over the same features."""

    def user_keys(self, train: Traces, codes: NDArray[np.uint32], population: Population) -> KeyedRows:
        """The rows of users; item x has the key x, with a slot 2^40 + slots x + slot, a slot alone 2^41 + slot."""
        check_codes(train, codes)
        return self._keyed(self.user_rows(train, population), codes)

    def target_keys(self, target: Traces, codes: NDArray[np.uint32], population: Population) -> KeyedRows:
        """The rows of targets."""
        check_codes(target, codes)
        return self._keyed(self.target_rows(target, population), codes)

    def __call__(self, train: Traces, target: Traces, attacked: NDArray[np.int64] | None = None) -> Matching:
        """The same; items are numbered as they are, no key is looked up."""
        check_same_people(train, target)
        population = self.population(train, target)
        users, penalty = self.user_rows(train, population)
        targets, sizes = self.target_rows(taken(target, attacked), population)
        return Matching(users, targets, sizes, penalty, self.largest_weight, attacked)

    def _keyed(self, made: Rows, codes: NDArray[np.uint32]) -> KeyedRows:
        rows, term = made
        items = codes.astype(np.uint64)
        keys = [items]
        if rows.feature_count > items.size:
            slots = np.arange(self.slots, dtype=np.uint64)
            keys += [(_ITEM_SLOT + np.uint64(self.slots) * items[:, None] + slots).ravel(), _SLOT + slots]
        return KeyedRows(rows.offsets, np.concatenate(keys)[rows.features], rows.weights, term)


def taken(traces: Traces, people: NDArray[np.int64] | None) -> Traces:
    """The traces of some people, or all."""
    return traces if people is None else traces.take(people)


def gathered(matcher: Matcher, train: Traces, target: Traces) -> Population:
    """What is known of everybody before any pass."""
    timed = train.times is not None and target.times is not None
    if not matcher.counts_items:
        return Population(train.users, timed, np.empty(0, np.int64), np.empty(0, np.int64), 0, 0)
    counts = item_rows(train)
    holders, events = counts.holders(), counts.sums()
    return Population(train.users, timed, holders, events, int(holders.sum()), train.events)


def _all_codes(traces: Traces) -> NDArray[np.uint32]:
    return np.arange(traces.domain_size, dtype=np.uint32)
