"""What is known of everybody: the same from blocks as from all, and rows that do not tell how people were cut."""

from __future__ import annotations

import numpy as np
import pytest
from attack_blocks import block_of, cuts, random_halves
from attack_oracles import SEEDS
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.features import FeatureRows, item_counts
from entropie.attack.matchers import MATCHERS, ItemMatcher, Trained
from entropie.attack.matchers.bayes import Bayes, merge_terms, smoothing_from, smoothing_terms
from entropie.attack.matchers.pitman_yor import (
    PitmanYor,
    Settings,
    first_settings,
    hour_sums,
)
from entropie.errors import InvalidInput

BY_ROWS = [made for made in MATCHERS.values() if isinstance(made, ItemMatcher)]
SETTINGS = st.builds(
    Settings,
    recency=st.sampled_from([0.0, 0.1, 0.4]),
    fade=st.sampled_from([0.0, 0.2]),
    damping=st.sampled_from([0.4, 0.6, 1.0]),
    item_hours=st.sampled_from([0.0, 0.5, 1.0]),
    rhythm=st.sampled_from([0.0, 0.25]),
)


def name_of(made: ItemMatcher) -> str:
    return made.name


@given(SEEDS, st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_statistics_of_blocks_add_up(seed: int, users: int) -> None:
    train, target = random_halves(seed, users, timed=True)
    rng = np.random.default_rng(seed)
    whole = Bayes().population(train, target)
    holders, events = np.zeros_like(whole.holders), np.zeros_like(whole.events)
    hours = np.zeros(12, np.int64)
    parts = []
    for people in cuts(rng, users):
        block, codes = block_of(train, people, rng.integers(0, 12, 2))
        items, at_item, having = item_counts(block)
        holders[codes[items]] += having
        events[codes[items]] += at_item
        hours += hour_sums(block, 0.1)
        parts.append(smoothing_terms(Trained(block, codes.astype(np.uint32)), whole.cut(codes)))
    assert holders.tolist() == whole.holders.tolist()
    assert events.tolist() == whole.events.tolist() == np.bincount(train.items, minlength=12).tolist()
    assert (whole.all_holders, whole.all_events) == (holders.sum(), train.events)
    assert hours.tolist() == hour_sums(train, 0.1).tolist()
    rng.shuffle(parts)  # type: ignore[arg-type]
    assert smoothing_from(merge_terms(parts), whole) == whole.settings


@pytest.mark.parametrize("made", BY_ROWS, ids=name_of)
@given(SEEDS, st.integers(1, 16), st.booleans(), SETTINGS)
@settings(max_examples=40, deadline=None)
def test_rows_of_a_block_are_those_of_all(
    made: ItemMatcher, seed: int, users: int, timed: bool, choice: Settings
) -> None:
    train, target = random_halves(seed, users, timed)
    rng = np.random.default_rng(seed)
    made = PitmanYor(choice) if isinstance(made, PitmanYor) else made
    population = made.population(train, target)
    for traces, rows_of in ((train, made.user_rows), (target, made.target_rows)):
        rows, term = rows_of(traces, population)
        for people in cuts(rng, users):
            block, codes = block_of(traces, people, rng.integers(0, 12, 3))
            found, found_term = rows_of(block, population.cut(codes))
            assert _entries(found, codes, 12) == _entries(rows.take(people), np.arange(12), 12)
            assert (term is None) == (found_term is None)
            if term is not None and found_term is not None:
                assert found_term.tobytes() == term[people].tobytes()


@pytest.mark.parametrize("made", BY_ROWS, ids=name_of)
@pytest.mark.parametrize("timed", [False, True])
def test_rows_of_long_blocks_are_those_of_all(made: ItemMatcher, timed: bool) -> None:
    """Long arrays go through the wide instructions of the machine, short ones and ends may not."""
    train, target = random_halves(6, 500, timed, longest=60, domain=300)
    population = made.population(train, target)
    for traces, rows_of in ((train, made.user_rows), (target, made.target_rows)):
        rows, term = rows_of(traces, population)
        for people in np.split(np.arange(500), [1, 2, 5, 12, 40, 203, 499]):
            block, codes = block_of(traces, people, np.empty(0))
            found, found_term = rows_of(block, population.cut(codes))
            assert _entries(found, codes, 300) == _entries(rows.take(people), np.arange(300), 300)
            if term is not None and found_term is not None:
                assert found_term.tobytes() == term[people].tobytes()


def _entries(rows: FeatureRows, codes: np.ndarray, domain: int) -> list[list[tuple[int, bytes]]]:
    """Features in everybody's numbers, with the very bits of their weights."""
    features = rows.features.astype(np.int64)
    hours = 12 * codes[:, None] + np.arange(12)
    everybodys = np.concatenate((codes, domain + hours.ravel(), 13 * domain + np.arange(12)))
    named = list(zip(everybodys[features].tolist(), [weight.tobytes() for weight in rows.weights], strict=True))
    return [named[low:high] for low, high in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)]


def test_first_settings_leave_out_what_cannot_be_used() -> None:
    assert first_settings(True, 20_000) == Settings()
    assert first_settings(True, 20_001) == Settings(rhythm=0.0)
    assert first_settings(False, 5) == Settings(item_hours=0.0, rhythm=0.0)


def test_refusals() -> None:
    train, _ = random_halves(1, 5, timed=False)
    with pytest.raises(InvalidInput, match="Hours need the time"):
        hour_sums(train, 0.1)
