"""The Pitman-Yor matcher: its formula pair by pair."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from attack_oracles import SEEDS, dense_scores, random_traces, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.matchers.pitman_yor import SLOTS, PitmanYor, Settings
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter

CHOICES = st.builds(
    Settings,
    strength=st.sampled_from([0.5, 10.0, 200.0]),
    discount=st.sampled_from([0.0, 0.5, 0.9]),
    recency=st.sampled_from([0.0, 0.1, 2.0]),
    fade=st.sampled_from([0.0, 0.3]),
    damping=st.sampled_from([0.4, 1.0]),
    item_hours=st.sampled_from([0.0, 1.0]),
    rhythm=st.sampled_from([0.0, 0.5]),
)


def slot(time: int) -> int:
    day = (time // 86_400 + 3) % 7
    return (6 if day >= 5 else 0) + time % 86_400 // 14_400


def expected(train: Traces, target: Traces, choice: Settings) -> np.ndarray:
    """The score from the definition: damped weights times log ratios of probabilities."""
    people = []
    for user, row in enumerate(rows_of(train)):
        weights = [1 / (1 + choice.recency * (len(row) - 1 - place)) for place in range(len(row))]
        slots = (
            [0] * len(row)
            if train.times is None
            else [slot(t) for t in train.times[train.offsets[user] :][: len(row)].tolist()]
        )
        people.append((row, weights, slots))
    holders = Counter(x for row, _, _ in people for x in set(row))
    entries = sum(holders.values())
    common: defaultdict[int, float] = defaultdict(float)  # everybody's, in whole multiples of 2^-24
    for _, weights, slots in people:
        for weight, h in zip(weights, slots, strict=True):
            common[h] += round(weight * 2**24)
    everything = sum(common.values())

    scores = np.zeros((target.users, train.users))
    for j, asked in enumerate(rows_of(target)):
        asked_slots = (
            [0] * len(asked)
            if target.times is None
            else [slot(t) for t in target.times[target.offsets[j] :][: len(asked)].tolist()]
        )
        coming = [1 / (1 + choice.fade * place) for place in range(len(asked))]
        sums: defaultdict[int, float] = defaultdict(float)
        for x, weight in zip(asked, coming, strict=True):
            sums[x] += weight
        size = round(4 * math.fsum(s**choice.damping for s in sums.values())) / 4
        for i, (row, weights, slots) in enumerate(people):
            c: defaultdict[int, float] = defaultdict(float)
            at: defaultdict[tuple[int, int], float] = defaultdict(float)
            hours: defaultdict[int, float] = defaultdict(float)
            for x, weight, h in zip(row, weights, slots, strict=True):
                c[x] += weight
                at[x, h] += weight
                hours[h] += weight
            total = math.fsum(weights)
            room = choice.strength + math.fsum(choice.discount * min(v, 1) for v in c.values())
            score = -size * math.log((total + choice.strength) / room)
            for x, s in sums.items():
                if c[x]:
                    p = holders[x] / entries
                    score += s**choice.damping * math.log(1 + (c[x] - choice.discount * min(c[x], 1)) / (room * p))
            if train.times is not None:
                for x, weight, h in zip(asked, coming, asked_slots, strict=True):
                    damped = weight * sums[x] ** (choice.damping - 1)
                    usual = common[h] / everything if everything else 0.0
                    habit = (hours[h] + 20 * usual) / (total + 20)
                    if c[x]:
                        spread = (at[x, h] + 5 * habit) / (c[x] + 5) / habit if at[x, h] else 5 / (c[x] + 5)
                        score += choice.item_hours * damped * math.log(spread)
                    if usual:
                        score += choice.rhythm * damped * math.log(habit / usual)
            scores[j, i] = score
    return scores


@given(SEEDS, CHOICES, st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_formula(seed: int, choice: Settings, timed: bool) -> None:
    rng = np.random.default_rng(seed)
    train, target = (random_traces(rng, 8, 10, 6) for _ in range(2))
    if timed:
        train, target = (
            Traces(t.offsets, t.items, t.domain_size, rng.integers(-(10**6), 10**6, t.events)) for t in (train, target)
        )
    found = dense_scores(PitmanYor(choice)(train, target))
    want = expected(train, target, choice)
    sizes = PitmanYor(choice)(train, target).target_size
    assert sizes is not None
    near_half = np.abs((sizes * 4) % 1) > 0  # rounding of a size that lies between two quarters may go either way
    np.testing.assert_allclose(found[~near_half], want[~near_half], atol=1e-9)


def test_slots_begin_on_monday_in_universal_time() -> None:
    monday = 4 * 86_400  # 5 January 1970
    assert [slot(monday + hour * 3600) for hour in (0, 4, 23)] == [0, 1, 5]
    assert [slot(monday + day * 86_400) for day in range(7)] == [0, 0, 0, 0, 0, 6, 6]
    assert SLOTS == 12


@pytest.mark.parametrize(
    ("name", "value"), [("strength", 0.0), ("discount", 1.0), ("recency", -1.0), ("damping", math.inf)]
)
def test_refusals(name: str, value: float) -> None:
    with pytest.raises(InvalidParameter, match=f"`{name}` must be"):
        Settings(**{name: value})
