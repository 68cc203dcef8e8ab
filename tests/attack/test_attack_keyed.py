"""Rows over 64-bit keys: dictionaries as the oracle, and the scores of the local matchers whatever the blocks."""

from __future__ import annotations

import numpy as np
import pytest
from attack_blocks import random_halves
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.features import FeatureRows
from entropie.attack.keyed import KeyedRows, match_keys
from entropie.attack.matchers import contract, matcher
from entropie.attack.matchers.contract import Matcher
from entropie.errors import InvalidInput

WORDS = st.integers(0, 2**64 - 2) | st.integers(0, 40) | st.integers(2**40, 2**40 + 40)


def keyed_of(rows: list[dict[int, float]]) -> KeyedRows:
    ordered = [sorted(row.items()) for row in rows]
    return KeyedRows(
        np.cumsum([0, *map(len, ordered)]).astype(np.int64),
        np.array([key for row in ordered for key, _ in row], np.uint64),
        np.array([weight for row in ordered for _, weight in row], np.float64),
    )


def lists(rows: FeatureRows | KeyedRows) -> list[list[tuple[int, float]]]:
    keys = rows.features if isinstance(rows, FeatureRows) else rows.keys
    entries = list(zip(keys.tolist(), rows.weights.tolist(), strict=True))
    return [entries[low:high] for low, high in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)]


ROWS = st.lists(st.dictionaries(WORDS, st.floats(-9, 9), max_size=12), max_size=12)


@given(ROWS, ROWS)
@settings(max_examples=150, deadline=None)
def test_keys_are_numbered_as_by_a_dictionary(users: list[dict[int, float]], targets: list[dict[int, float]]) -> None:
    numbers = {key: number for number, key in enumerate(sorted({key for row in targets for key in row}))}
    found = match_keys(keyed_of(users), keyed_of(targets))
    for rows, want in zip(found, (users, targets), strict=True):
        assert rows.feature_count == len(numbers)
        assert lists(rows) == [[(numbers[key], row[key]) for key in sorted(row) if key in numbers] for row in want]


@pytest.mark.parametrize("size", [0, 1, 8, 9, 1024, 1025, 70_000])
def test_many_keys_in_one_table(size: int) -> None:
    rng = np.random.default_rng(size)
    near = np.arange(size, dtype=np.uint64) << np.uint64(20)
    targets = np.concatenate((near, rng.integers(2**40, 2**63, size).astype(np.uint64), near[::-1]))
    users = np.concatenate((targets[: size + 5], rng.integers(2**40, 2**63, size).astype(np.uint64)))
    numbers = {key: number for number, key in enumerate(sorted(set(targets.tolist())))}
    one_row = [KeyedRows(np.array([0, keys.size]), keys, np.arange(keys.size) + 0.5) for keys in (users, targets)]
    found = match_keys(*one_row)
    for rows, keys in zip(found, (users, targets), strict=True):
        known = [place for place, key in enumerate(keys.tolist()) if key in numbers]
        assert rows.features.tolist() == [numbers[int(keys[place])] for place in known]
        assert rows.weights.tolist() == [place + 0.5 for place in known]


@given(ROWS, st.data())
@settings(max_examples=60, deadline=None)
def test_blocks_are_taken_apart_and_put_together(rows: list[dict[int, float]], data: st.DataObject) -> None:
    bare = keyed_of(rows)
    keyed = KeyedRows(bare.offsets, bare.keys, bare.weights, np.arange(bare.rows) / 2)
    chosen = np.array(
        data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=15) if rows else st.just([])), np.int64
    )
    taken = keyed.take(chosen)
    assert lists(taken) == [lists(keyed)[row] for row in chosen]
    assert taken.term is not None
    assert taken.term.tolist() == (chosen / 2).tolist()
    joined = KeyedRows.concat([keyed, taken])
    assert lists(joined) == lists(keyed) + lists(taken)
    assert joined.term is not None
    assert joined.term.tolist() == [*(np.arange(len(rows)) / 2), *(chosen / 2)]
    assert KeyedRows.concat([bare, bare]).term is None
    assert KeyedRows.concat([]).rows == 0


def test_keys_are_as_documented() -> None:
    train, target = random_halves(3, 6, timed=True)
    codes = np.arange(12, dtype=np.uint32) * 1000
    population = matcher("pitman_yor").population(train, target)
    keys = set(matcher("pitman_yor").user_keys(train, codes, population).keys.tolist())
    items = set((train.items.astype(int) * 1000).tolist())
    assert {key for key in keys if key < 2**40} == items
    assert {(key - 2**40) // 12 for key in keys if 2**40 <= key < 2**41} == items
    assert {key for key in keys if key >= 2**41} == {2**41 + slot for slot in range(12)}
    first, second = (train.items[train.offsets[np.argmax(np.diff(train.offsets))] + step] * 1000 for step in (0, 1))
    keys = set(matcher("markov").user_keys(train, codes, population).keys.tolist())
    assert int(first) << 32 | int(second) in keys
    assert (0xFFFFFFFF << 32) | int(first) in keys


def test_refusals() -> None:
    train, target = random_halves(3, 6, timed=False)
    population = matcher("markov").population(train, target)
    with pytest.raises(InvalidInput, match="one item code per item, 12, got 3"):
        matcher("markov").user_keys(train, np.arange(3, dtype=np.uint32), population)
    with pytest.raises(InvalidInput, match="must rise"):
        matcher("markov").target_keys(target, np.arange(12, dtype=np.uint32)[::-1], population)
    with pytest.raises(InvalidInput, match="at or below 4294967294"):
        matcher("visit").user_keys(train, np.arange(2**32 - 12, 2**32).astype(np.uint32), population)
    keyed = keyed_of([{1: 1.0}])
    with pytest.raises(InvalidInput, match="with a weight each, got 2"):
        KeyedRows(keyed.offsets, keyed.keys, np.zeros(2))
    with pytest.raises(InvalidInput, match="one value per row, 1, got 2"):
        KeyedRows(keyed.offsets, keyed.keys, keyed.weights, np.zeros(2))
    with pytest.raises(InvalidInput, match="or none"):
        KeyedRows.concat([keyed, KeyedRows(keyed.offsets, keyed.keys, keyed.weights, np.zeros(1))])


@pytest.mark.parametrize("name", ["markov", "bayes"])
def test_people_are_matched_a_few_at_a_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    train, target = random_halves(3, 7, timed=False)
    whole = Matcher.__call__(matcher(name), train, target)
    monkeypatch.setattr(contract, "_BLOCK", 2)
    few = Matcher.__call__(matcher(name), train, target)
    assert lists(few.users) == lists(whole.users)
    assert lists(few.targets) == lists(whole.targets)
    assert few.largest_weight == whole.largest_weight
    assert (few.user_penalty is None) == (name == "markov")
    assert few.user_penalty is None or few.user_penalty.tolist() == whole.user_penalty.tolist()
