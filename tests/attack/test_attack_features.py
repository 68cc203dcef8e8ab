"""Feature rows: counts, sums and transitions against dictionaries."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
from attack_oracles import SEEDS, random_traces, rows_of, traces_of
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.features import check_same_people, item_rows, weighted_item_rows
from entropie.attack.matchers import matcher
from entropie.attack.scoring import attack
from entropie.data.split import split_traces
from entropie.data.traces import Traces
from entropie.errors import InvalidInput
from entropie.kernels.keyed import markov_target_keys, markov_user_keys

SHAPES = (st.integers(0, 12), st.integers(0, 15), st.integers(1, 9))


@given(SEEDS, *SHAPES)
@settings(max_examples=60, deadline=None)
def test_counts_and_sums(seed: int, users: int, longest: int, domain: int) -> None:
    rng = np.random.default_rng(seed)
    traces = random_traces(rng, users, longest, domain)
    weights = rng.normal(size=traces.events)
    counts, sums = item_rows(traces), weighted_item_rows(traces, weights)
    holders: Counter[int] = Counter()
    for user, row in enumerate(rows_of(traces)):
        want = sorted(Counter(row).items())
        part = slice(counts.offsets[user], counts.offsets[user + 1])
        assert list(zip(counts.features[part].tolist(), counts.weights[part].tolist(), strict=True)) == want
        assert sums.features[part].tolist() == [item for item, _ in want]
        by_item: defaultdict[int, float] = defaultdict(float)
        for item, weight in zip(row, weights[traces.offsets[user] :], strict=False):
            by_item[item] += weight
        assert sums.weights[part].tolist() == [by_item[item] for item, _ in want]
        assert counts.totals()[user] == len(row)
        assert counts.row_of_each()[part].tolist() == [user] * len(want)
        holders.update(set(row))
    assert counts.holders().tolist() == [holders[item] for item in range(domain)]


@given(SEEDS, *SHAPES)
@settings(max_examples=60, deadline=None)
def test_transitions(seed: int, users: int, longest: int, domain: int) -> None:
    rng = np.random.default_rng(seed)
    train, target = (random_traces(rng, users, longest, domain) for _ in range(2))

    def keys(row: list[int]) -> Iterator[int]:
        yield from ((a << 32) | b for a, b in itertools.pairwise(row))

    def first(item: int) -> int:
        return (0xFFFFFFFF << 32) | item

    offsets, found, counts = markov_target_keys(target.offsets, target.items)
    for user, row in enumerate(rows_of(target)):
        want = Counter([*keys(row), *map(first, row[:1])])
        part = slice(offsets[user], offsets[user + 1])
        assert found[part].tolist() == sorted(want)
        assert dict(zip(found[part].tolist(), counts[part].tolist(), strict=True)) == want

    offsets, found, weights = markov_user_keys(train.offsets, train.items, 1e-8)
    for user, row in enumerate(rows_of(train)):
        leaving = Counter(row[:-1])
        ratios = {first(item): count / len(row) for item, count in Counter(row).items()}
        for pair, count in Counter(itertools.pairwise(row)).items():
            ratios[next(keys(list(pair)))] = count / leaving[pair[0]]
        part = slice(offsets[user], offsets[user + 1])
        assert found[part].tolist() == sorted(ratios)
        by_key = dict(zip(found[part].tolist(), weights[part].tolist(), strict=True))
        assert by_key == pytest.approx({key: math.log(p) - math.log(1e-8) for key, p in ratios.items()}, rel=1e-14)


def test_halves_that_do_not_belong_together() -> None:
    one = traces_of([[0], [1]], 2)
    with pytest.raises(InvalidInput, match="the same users, got 2 and 1"):
        check_same_people(one, traces_of([[0]], 2))
    with pytest.raises(InvalidInput, match="domains of 2 and 3"):
        check_same_people(one, traces_of([[0], [1]], 3))
    with pytest.raises(InvalidInput, match="at least one user"):
        check_same_people(traces_of([], 2), traces_of([], 2))


@pytest.mark.parametrize("name", ["markov", "visit", "tfidf", "cosine", "bayes", "pitman_yor"])
@pytest.mark.parametrize("timed", [False, True])
def test_exchanging_rows_of_a_matching_is_matching_exchanged_targets(name: str, timed: bool) -> None:
    rng = np.random.default_rng(12)
    lengths = rng.integers(4, 30, 40)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    times = np.concatenate([np.sort(rng.integers(0, 10**7, n)) for n in lengths]) if timed else None
    split = split_traces(Traces(offsets, rng.integers(0, 25, offsets[-1]).astype(np.uint32), 25, times))
    order = rng.permutation(40)
    direct = attack(matcher(name)(split.train, split.target.take(order)))
    exchanged = attack(matcher(name)(split.train, split.target).exchanged(order))
    assert exchanged.law == direct.law
    assert np.array_equal(exchanged.credit, direct.credit)
    assert np.array_equal(exchanged.candidate_scores, direct.candidate_scores)
