"""The contract of a matcher: the same scores to the bit however people are cut and numbered, and no peeking."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import Matching
from entropie.attack.index import Extent
from entropie.attack.keyed import KeyedRows, match_keys
from entropie.attack.matchers import Matcher, Population, Trained, matcher
from entropie.attack.matchers.contract import gathered
from entropie.attack.scoring import AttackOutcome, attack
from entropie.data.traces import Traces

_DOMAIN = 12
_MOST_PASSES = 10


class MatcherContract:
    """Subclass it in a test file and set `matcher`."""

    matcher: Matcher

    def test_it_is_found_by_its_name(self) -> None:
        """Registered under `name`, in the group `entropie.matchers` where it is not built in."""
        assert isinstance(self.matcher, Matcher)
        assert self.matcher.name.isidentifier(), f"`name` must be an identifier, got {self.matcher.name!r}"
        assert type(matcher(self.matcher.name)) is type(self.matcher)

    def test_its_rates_are_numbers_above_zero(self) -> None:
        """What `entropie plan` multiplies with."""
        rates = self.matcher.rates
        assert min(rates.reach, rates.matched_ns, rates.user_entries, rates.target_entries) > 0
        assert min(rates.pair_ns, rates.pair_users) >= 0

    def test_blocks_score_as_everybody_at_once(self) -> None:
        """However people are cut into blocks, whatever items a block has, and whatever codes the items have."""
        for seed, train, target in _cases():
            rng = np.random.default_rng(seed)
            _same(
                attack(self.matcher(train, target), threads=1), attack(self._from_blocks(train, target, rng), threads=1)
            )

    def test_passes_end_and_merge_in_any_order(self) -> None:
        """Settings are the same from any cut; they can be sent to another process, as every part can."""
        for seed, train, target in _cases():
            rng = np.random.default_rng(seed)
            whole = self.matcher.population(train, target)
            assert pickle.dumps(self._passed(train, target, rng).settings) == pickle.dumps(whole.settings)

    def test_keys_rise_within_a_row(self) -> None:
        """And no row has a key twice."""
        for _, train, target in _cases():
            population = self.matcher.population(train, target)
            codes = np.arange(_DOMAIN, dtype=np.uint32)
            for rows in (
                self.matcher.user_keys(train, codes, population),
                self.matcher.target_keys(target, codes, population),
            ):
                row = np.repeat(np.arange(rows.rows), np.diff(rows.offsets))
                assert np.all((rows.keys[1:] > rows.keys[:-1]) | (row[1:] > row[:-1]))

    def test_numbers_of_people_do_not_matter(self) -> None:
        """Nobody is told by the place at which they stand."""
        rng = np.random.default_rng(8)
        train, target = _traces(rng, 150, 20, 80, 8), _traces(rng, 150, 20, 80, 8)
        order = rng.permutation(150)
        one = attack(self.matcher(train, target), threads=1)
        other = attack(self.matcher(train.take(order), target.take(order)), threads=1)
        assert np.array_equal(one.law.values, other.law.values)
        assert np.array_equal(one.law.counts, other.law.counts)
        assert np.array_equal(one.rank_low[order], other.rank_low)

    def test_targets_can_be_exchanged(self) -> None:
        """A matcher makes of a target what it is, whosever it is: the control relies on it."""
        for seed, train, target in _cases():
            order = np.random.default_rng(seed).permutation(train.users)
            direct = attack(self.matcher(train, target.take(order)), threads=1)
            _same(direct, attack(self.matcher(train, target).exchanged(order), threads=1))

    def test_traces_are_left_as_they_are(self) -> None:
        """Inputs are shared by all matchers."""
        for _, train, target in _cases():
            before = pickle.dumps((train, target))
            self.matcher(train, target)
            assert pickle.dumps((train, target)) == before

    def test_people_without_events_are_scored(self) -> None:
        """Every pair has a finite score."""
        train = _from_lists([[], [0, 1, 0], [], [2]])
        target = _from_lists([[0], [], [4], [2, 2]])
        outcome = attack(self.matcher(train, target), threads=1)
        assert outcome.law.impostors == 12
        assert np.isfinite(outcome.law.values).all()

    def test_a_verbatim_release_is_recognised(self) -> None:
        """Where the attacker knows the attacked events themselves, most people are re-identified."""
        released = _traces(np.random.default_rng(3), 120, 40, 500, 20)
        assert attack(self.matcher(released, released), threads=1).credit.mean() > 0.5

    def test_noise_is_guessing(self) -> None:
        """Targets of nobody: 400 of them in 20 worlds find Poisson(20) people, beyond 45 with probability 4e-7."""
        hits = 0.0
        for seed in range(20):
            rng = np.random.default_rng(seed)
            train, target = _traces(rng, 400, 12, 60, 6), _traces(rng, 400, 12, 60, 6)
            hits += attack(self.matcher(train, target), threads=1).credit.sum()
        assert hits < 45

    def test_the_largest_weight_is_not_exceeded(self) -> None:
        """Where it is given."""
        for _, train, target in _cases():
            largest = float(np.abs(self.matcher(train, target).users.weights).max(initial=0.0))
            assert self.matcher.largest_weight == 0.0 or largest <= self.matcher.largest_weight

    def test_one_event_is_scored_as_visit_does_where_it_says_so(self) -> None:
        """`first_by_visit` stands for a short way that gives the same ranks."""
        if not self.matcher.first_by_visit:
            return
        rng = np.random.default_rng(2)
        train, target = _traces(rng, 60, 20, 40, 3), _traces(rng, 60, 1, 40, 1)
        one, other = (attack(made(train, target), threads=1) for made in (self.matcher, matcher("visit")))
        assert np.array_equal(one.rank_low, other.rank_low)
        assert np.array_equal(one.rank_high, other.rank_high)

    def _passed(self, train: Traces, target: Traces, rng: np.random.Generator) -> Population:
        population = gathered(self.matcher, train, target)
        for _ in range(_MOST_PASSES):
            step = self.matcher.next_pass(population)
            if step is None:
                return population
            parts = []
            for people in _cuts(rng, train.users):
                block, codes = _block(train, people, rng)
                cut = population.cut(codes)
                parts.append(step.part(Trained(block, codes.astype(np.uint32)), cut))
            parts = pickle.loads(pickle.dumps(parts))
            first = int(rng.integers(1, len(parts) + 1))
            ahead = step.merge(parts[:first])
            merged = step.merge([*parts[first:], ahead]) if parts[first:] else ahead
            population = replace(population, settings=pickle.loads(pickle.dumps(step.settle(merged, population))))
        raise AssertionError(f"`next_pass` must return None after at most {_MOST_PASSES} passes.")

    def _from_blocks(self, train: Traces, target: Traces, rng: np.random.Generator) -> Matching:
        population = self._passed(train, target, rng)
        everybodys = np.sort(rng.choice(2**32 - 1, train.domain_size, replace=False)).astype(np.uint32)
        joined, extent = [], Extent(weight=self.matcher.largest_weight)
        for traces, keys_of in ((train, self.matcher.user_keys), (target, self.matcher.target_keys)):
            parts = []
            for people in _cuts(rng, train.users):
                block, codes = _block(traces, people, rng)
                parts.append(keys_of(block, everybodys[codes], population.cut(codes)))
            joined.append(KeyedRows.concat(parts))
        extent = extent.merge(Extent.of_users(joined[0], joined[0].term))
        return Matching(*match_keys(*joined), joined[1].term, joined[0].term, extent.weight)


def _cases() -> Iterator[tuple[int, Traces, Traces]]:
    """Small crowds with and without times, and one whose arrays are long enough for wide instructions."""
    for seed in range(24):
        rng = np.random.default_rng(seed)
        users, timed = 1 + seed % 14, seed % 2 == 0
        yield seed, _timed(rng, users, 14, timed), _timed(rng, users, 14, timed)
    for timed in (False, True):
        rng = np.random.default_rng(6)
        yield 24 + timed, _timed(rng, 200, 60, timed), _timed(rng, 200, 60, timed)


def _traces(rng: np.random.Generator, users: int, longest: int, domain: int, shortest: int = 0) -> Traces:
    lengths = rng.integers(shortest, longest, users, endpoint=True)
    items = (domain * rng.random(int(lengths.sum())) ** 2).astype(np.uint32)
    return Traces(np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))), items, domain)


def _timed(rng: np.random.Generator, users: int, longest: int, timed: bool) -> Traces:
    traces = _traces(rng, users, longest, _DOMAIN)
    times = rng.integers(-(10**7), 10**7, traces.events) if timed else None
    return replace(traces, times=times)


def _from_lists(rows: list[list[int]]) -> Traces:
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    return Traces(offsets, np.array([x for row in rows for x in row], np.uint32), 5)


def _cuts(rng: np.random.Generator, users: int) -> list[NDArray[np.int64]]:
    """Contiguous blocks of people, some of them empty."""
    bounds = np.sort(rng.integers(0, users + 1, rng.integers(0, 5)))
    return np.split(np.arange(users), bounds)


def _block(traces: Traces, people: NDArray[np.int64], rng: np.random.Generator) -> tuple[Traces, NDArray[np.int64]]:
    """A block with its items, and some that it has not, numbered anew; and everybody's codes of them."""
    part = traces.take(people)
    spare = rng.integers(0, traces.domain_size, 2)
    codes = np.unique(np.concatenate((part.items.astype(np.int64), spare)))
    items = np.searchsorted(codes, part.items).astype(np.uint32)
    return Traces(part.offsets, items, codes.size, part.times), codes


def _same(one: AttackOutcome, other: AttackOutcome) -> None:
    for field in ("genuine", "values", "counts"):
        assert np.array_equal(getattr(one.law, field), getattr(other.law, field)), f"scores differ: {field}"
    for field in ("rank_low", "rank_high", "credit"):
        assert np.array_equal(getattr(one, field), getattr(other, field)), f"results differ: {field}"
