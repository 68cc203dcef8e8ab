"""Exchanges by chance: real permutations, as random as they must be, and any part of them alone."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from attack_blocks import block_of, cuts, random_halves
from attack_oracles import SEEDS, random_traces, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.chance import (
    by_content,
    content_hashes,
    dealt_anew,
    dealt_people,
    exchanged_targets,
    scattered,
)
from entropie.attack.features import length_histogram
from entropie.data.split import Split
from entropie.errors import InvalidInput, InvalidParameter
from entropie.kernels.keyed import permuted_places

Z = 5.0  # one false alarm in a million for a normal law; seeds are fixed


def by_rounds(size: int, rounds: int, seed: int = 0) -> np.ndarray:
    """The same network with other numbers of rounds: too few are what the tests must notice."""
    half_bits = max(4, ((size - 1).bit_length() + 1) // 2)
    keys = np.random.SeedSequence(seed).generate_state(rounds, np.uint64)
    return permuted_places(np.arange(size), size, half_bits, keys)


def by_hand(place: int, size: int, seed: int) -> int:
    """The network in whole numbers of Python."""
    bits = next(bits for bits in range(4, 32) if 4**bits >= size)
    word = 2**64 - 1

    def mixed(x: int) -> int:
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & word
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & word
        return x ^ (x >> 31)

    keys = np.random.SeedSequence(seed).generate_state(8, np.uint64).tolist()
    while True:
        left, right = divmod(place, 2**bits)
        for key in keys:
            left, right = right, left ^ (mixed((right + key) & word) % 2**bits)
        place = left * 2**bits + right
        if place < size:
            return place


@pytest.mark.parametrize("size", [*range(1, 70), 127, 128, 255, 256, 257, 1009, 4095, 4096, 4097, 65_536, 65_537])
def test_every_place_is_taken_once(size: int) -> None:
    for seed in (0, 1, 2**40):
        assert np.array_equal(np.sort(scattered(np.arange(size), size, seed)), np.arange(size))


@given(st.integers(1, 2**62), st.integers(0, 2**64 - 1), st.data())
@settings(max_examples=100, deadline=None)
def test_places_one_by_one(size: int, seed: int, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, size - 1), max_size=3))
    found = scattered(np.array(places, np.int64), size, seed)
    assert found.tolist() == [by_hand(place, size, seed) for place in places]
    assert np.unique(found).size == len(set(places))
    assert all(0 <= place < size for place in found.tolist())


def test_small_permutations_are_equally_likely() -> None:
    """Chi-square over all 24 orders of 4: mean 23, variance 46."""
    seeds = 6000

    def chi_square(orders: Counter[tuple[int, ...]]) -> float:
        expected = seeds / 24
        return sum((count - expected) ** 2 for count in orders.values()) / expected + (24 - len(orders)) * expected

    limit = 23 + Z * math.sqrt(46)
    assert chi_square(Counter(tuple(scattered(np.arange(4), 4, seed).tolist()) for seed in range(seeds))) < limit
    weak = Counter(tuple(by_rounds(4, 2, seed).tolist()) for seed in range(seeds))
    assert chi_square(weak) > limit  # power: two rounds are too few


def test_as_many_stay_in_place_as_chance_lets() -> None:
    """People in place: mean 1 and variance 1 for each seed, and close to Poisson's law."""
    seeds, size = 3000, 60
    fixed = [int(np.sum(scattered(np.arange(size), size, seed) == np.arange(size))) for seed in range(seeds)]
    assert abs(np.mean(fixed) - 1) < Z / math.sqrt(seeds)
    expected = [seeds * math.exp(-1) / math.factorial(k) for k in range(5)]
    expected.append(seeds - sum(expected))
    counts = np.bincount(np.minimum(fixed, 5), minlength=6)
    limit = 5 + Z * math.sqrt(10)
    assert sum((c - e) ** 2 / e for c, e in zip(counts, expected, strict=True)) < limit
    weak = np.bincount([min(5, int(np.sum(by_rounds(size, 1, seed) == np.arange(size)))) for seed in range(seeds)])
    weak = np.pad(weak, (0, 6 - weak.size))
    assert sum((c - e) ** 2 / e for c, e in zip(weak, expected, strict=True)) > limit  # power


@pytest.mark.parametrize("size", [40_000, 65_536, 100_003])
@pytest.mark.parametrize("apart", [1, 2, 256])
def test_neighbours_are_sent_anywhere(size: int, apart: int) -> None:
    """Correlation of neighbours: deviation 1/sqrt(n). Where both go, in 16 x 16 cells: chi-square, at most 255 + Z
    deviations, and no more even than that many degrees of freedom less 30 for the margins allow."""

    def statistics(sent: np.ndarray) -> tuple[float, float]:
        correlation = float(np.corrcoef(sent[:-apart], sent[apart:])[0, 1]) * math.sqrt(size)
        cells = np.bincount((sent[:-apart] * 16 // size) * 16 + sent[apart:] * 16 // size, minlength=256)
        expected = cells.sum() / 256
        return correlation, float(((cells - expected) ** 2).sum() / expected)

    def looks_random(sent: np.ndarray) -> bool:
        correlation, chi_square = statistics(sent)
        spread = Z * math.sqrt(2 * 255)
        return abs(correlation) < Z and 225 - spread < chi_square < 255 + spread

    assert all(looks_random(scattered(np.arange(size), size, seed)) for seed in range(5))
    assert looks_random(np.random.default_rng(0).permutation(size))
    assert not looks_random(by_rounds(size, 1))  # power
    assert not looks_random(np.arange(size))


def test_seeds_send_a_place_anywhere() -> None:
    """Where one place goes under many seeds: chi-square over 50 places, mean 49, variance 98."""
    sent = np.bincount([int(scattered(np.array([7]), 50, seed)[0]) for seed in range(10_000)], minlength=50)
    assert ((sent - 200) ** 2 / 200).sum() < 49 + Z * math.sqrt(98)


@given(SEEDS, st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_events_dealt_anew(seed: int, users: int) -> None:
    traces = random_traces(np.random.default_rng(seed), users, 9, 8)
    dealt = dealt_anew(traces, seed)
    popular = sorted(np.bincount(traces.items, minlength=8).tolist())
    events = [item for item, times in enumerate(popular) for _ in range(times)]
    slots = iter(range(len(events)))
    lengths = sorted(len(row) for row in rows_of(traces))
    sent = scattered(np.arange(len(events)), len(events), seed) if events else []
    want = [[events[sent[next(slots)]] for _ in range(length)] for length in lengths]
    assert rows_of(dealt) == want
    assert dealt.domain_size == 8
    shapes = (*length_histogram(traces), *np.unique(popular, return_counts=True))
    rng = np.random.default_rng(seed)
    for people in cuts(rng, users):
        if people.size:
            part = dealt_people(*shapes, seed, int(people[0]), int(people[-1]) + 1)
            assert rows_of(part) == [want[person] for person in people]
            assert part.domain_size == 8
    assert dealt_people(*shapes, seed, users, users).users == 0


@given(SEEDS, st.integers(1, 15))
@settings(max_examples=40, deadline=None)
def test_hashes_of_blocks_are_those_of_all(seed: int, users: int) -> None:
    train, target = random_halves(seed, users, timed=False)
    rng = np.random.default_rng(seed)
    popular = [np.bincount(traces.items, minlength=12) for traces in (train, target)]
    whole = content_hashes(train, target, *popular)
    found = []
    for people in cuts(rng, users):
        ours, codes = block_of(train, people, target.take(people).items)  # items that either half has
        theirs, _ = block_of(target, people, train.take(people).items)
        found += content_hashes(ours, theirs, *(counts[codes] for counts in popular)).tolist()
    assert found == whole.tolist()
    split = Split(train, target, np.arange(users), 0)
    order = by_content(split)
    assert order.tolist() == sorted(range(users), key=lambda person: (int(whole[person]), person))
    exchanged = exchanged_targets(split, seed)
    assert sorted(exchanged.tolist()) == list(range(users))
    assert exchanged.tolist() == exchanged_targets(split, seed, order).tolist()
    for place, sent in enumerate(scattered(np.arange(users), users, seed)):
        assert exchanged[order[place]] == order[sent]


def test_refusals() -> None:
    with pytest.raises(InvalidParameter, match="`size` must be between 1 and"):
        scattered(np.arange(0), 0, 0)
    with pytest.raises(InvalidParameter, match="`places` must be between 0 and 2"):
        scattered(np.array([3]), 3, 0)
    one = np.array([1])
    with pytest.raises(InvalidInput, match="People have 2 events and items 1"):
        dealt_people(one, one * 2, one, one, 0, 0, 1)
    with pytest.raises(InvalidParameter, match="within the 1 people"):
        dealt_people(one, one, one, one, 0, 0, 2)
