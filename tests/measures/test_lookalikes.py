"""Ids that behave as one person, held against counting pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropie.measures.lookalikes import look_alikes


def counted(best, owners, guesses):
    """One target after the other; who was not attacked cannot be asked."""
    lists = {owner: list(row) for owner, row in zip(owners, best, strict=True)}
    own = back = told = 0
    for owner, row in zip(owners, best, strict=True):
        first = row[0]
        if first == owner:
            own += 1
        elif first == -1 or first in lists:
            told += 1
            back += first in lists and owner in lists[first][:guesses]
    share = own / len(owners)
    return share + (1.0 - share) * (back / told if told else 0.0), own + told


@given(st.integers(20, 90), st.integers(1, 30), st.integers(0, 2**32 - 1), st.booleans())
def test_against_counting(people, listed, seed, all_attacked):
    rng = np.random.default_rng(seed)
    owners = np.arange(people) if all_attacked else np.sort(rng.choice(people, 20, replace=False))
    best = np.stack([rng.permutation(people)[: min(listed, people)] for _ in owners])
    best[rng.random(best.shape) < 0.1] = -1  # nobody
    guesses = min(20, people // 10, best.shape[1])
    wanted, asked = counted(best, owners, guesses)
    found = look_alikes(best, owners, people)
    assert (found is None) == (asked < 20)
    if found is not None:
        assert (found.guesses, found.chance) == (guesses, guesses / people)
        assert found.found.value == pytest.approx(wanted)


def ids(clusters: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Each id's candidates: those of its cluster in any order, then strangers."""
    people = clusters * size
    lists = []
    for one in range(people):
        own = one // size * size + rng.permutation(size)
        strangers = rng.permutation(people)
        lists.append(np.concatenate((own, strangers[~np.isin(strangers, own)]))[:20])
    return np.stack(lists)


def test_ids_of_one_person_are_found_and_strangers_are_not():
    rng = np.random.default_rng(2)
    alike = look_alikes(ids(40, 20, rng), np.arange(800), 800)
    assert alike.found.low > 0.99
    some = np.sort(rng.choice(800, 200, replace=False))
    assert look_alikes(ids(40, 20, rng)[some], some, 800).found.low > 0.9
    strangers = look_alikes(np.stack([rng.permutation(800)[:20] for _ in range(800)]), np.arange(800), 800)
    assert strangers.found.low < strangers.chance < strangers.found.high
    villages = look_alikes(ids(4, 400, rng), np.arange(1600), 1600)
    assert villages.found.value == pytest.approx(20 / 400, abs=0.025)  # four standard errors


def test_too_few_to_tell():
    assert look_alikes(np.zeros((9, 5), np.int64), np.arange(9), 9) is None
    assert look_alikes(np.zeros((19, 5), np.int64), np.arange(19), 500) is None
