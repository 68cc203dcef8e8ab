"""Categories of items, by the majority of their rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import entropie
from entropie.data.categories import ItemCategories, category_told
from entropie.data.events import read_events
from entropie.errors import InvalidInput
from entropie.request import Source

BLANK = 99


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0, 1, 2, BLANK])), min_size=1, max_size=60))
def test_an_item_has_the_category_of_most_of_its_rows(rows: list[tuple[int, int]]) -> None:
    items, named = (np.array(column, np.uint32) for column in zip(*rows, strict=True))
    found = ItemCategories.of(items, named, 6, BLANK)
    told = {item: Counter(kind for one, kind in rows if one == item and kind != BLANK) for item in range(6)}
    for item, kinds in told.items():
        best = min(kinds, key=lambda kind: (-kinds[kind], kind)) if kinds else found.categories
        assert found.of_item[item] == best
    assert found.several == sum(len(kinds) > 1 for kinds in told.values())
    assert found.without == sum(not kinds for kinds in told.values())


def test_words_for_nothing_are_no_category() -> None:
    column = pa.array(["bar", "", None, " null ", "bar"])
    assert category_told(column).tolist() == [True, False, False, False, True]


def test_categories_reach_the_attack_and_are_accounted_for() -> None:
    """Nobody has an item twice; the kind of place is all that tells people apart."""
    rng = np.random.default_rng(5)
    user = np.repeat(np.arange(40), 20)
    kind = user % 8
    table = pa.table({"user": user, "item": np.arange(800), "kind": [f"kind {one}" for one in kind]})
    table = table.take(np.concatenate([rng.permutation(20) + 20 * person for person in range(40)]))
    read = read_events(Source(table, category="kind"))
    assert read.categories is not None
    assert read.categories.to_json() == {"categories": 8, "items_with_several": 0, "items_without": 0}
    shares = []
    for column in (None, "kind"):
        found = entropie.assess(table, category=column, matchers=["visit"], replicates=2)
        shares.append(max(row.reidentified.value for row in found.attackers if row.matcher == "fused"))
        assert ("categories" in found.input) == (column is not None)
    assert shares[1] > shares[0] + 0.05  # one of 5 people of a kind instead of one of 40


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Column `kinds` is missing"):
        entropie.assess(pa.table({"user": [1], "item": [2]}), category="kinds")
