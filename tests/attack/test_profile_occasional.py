"""Habits that few data have: their bins by hand, and when they are looked at."""

from __future__ import annotations

import numpy as np
import pytest
from attack_oracles import traces_of

from entropie.attack.profile.attack import halves
from entropie.attack.profile.occasional import OCCASIONAL, TIMED, Occasional, bins_of_habit, habits_of, item_keys
from entropie.data.traces import Traces

DAY = 86_400


def crowd(seed: int, users: int = 300, events: int = 40, people_of_habit: int = 0) -> Traces:
    """Everybody at one of three places at any hour; some come at a minute of their own."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 300 * DAY, (users, events)), axis=1)
    some = times[:people_of_habit]
    some += (np.arange(people_of_habit)[:, None] * 60) - some % 3600
    offsets = np.arange(users + 1) * events
    return Traces(offsets, rng.integers(0, 3, times.size).astype(np.uint32), 3, times.ravel())


def test_rows_of_events_but_the_first_and_the_last() -> None:
    traces = traces_of([[1, 1, 2, 2, 2, 1, 3], [5, 5]], 6)
    assert bins_of_habit(traces, "run", None).tolist() == [-1, -1, 2, -1, -1, 0, -1, -1, -1]


def test_days_of_the_month_in_long_traces_only() -> None:
    """1 January, 1 February and 1 March 1970 span 59 days; the other trace 31."""
    months = [0, 31 * DAY, 59 * DAY]
    traces = traces_of([[0, 0, 0], [0, 0]], 1, [months, months[:2]])
    assert bins_of_habit(traces, "month", None).tolist() == [0, 0, 0, -1, -1]


def test_minutes_seconds_and_pauses() -> None:
    traces = traces_of([[0, 0, 0]], 1, [[3 * 3600 + 7 * 60 + 5, 3 * 3600 + 8 * 60 + 5, 4 * 3600 + 8 * 60 + 5]])
    assert bins_of_habit(traces, "minute", None).tolist() == [7, 8, 8]
    assert bins_of_habit(traces, "second", None).tolist() == [5, 5, 5]
    assert bins_of_habit(traces, "pace", None).tolist() == [-1, int(4 * np.log2(61)), int(4 * np.log2(3601))]


def test_a_beat_is_when_in_the_usual_interval() -> None:
    """Every tenth day, from a day of their own; the third comes at any time and has none."""
    traces = traces_of(
        [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
        1,
        [[4 * DAY, 14 * DAY, 24 * DAY], [7 * DAY, 17 * DAY, 27 * DAY], [DAY, 4 * DAY, 40 * DAY]],
    )
    bins = bins_of_habit(traces, "period", None)
    assert len(set(bins[:3].tolist())) == len(set(bins[3:6].tolist())) == 1
    assert bins[0] != bins[3]
    assert min(bins[:6]) >= 0
    assert bins[6:].tolist() == [-1, -1, -1]


@pytest.mark.parametrize("habit", ["weekday", "pair", "triple"])
def test_names_of_items_play_no_part(habit: str) -> None:
    traces = crowd(1)
    renamed = Traces(traces.offsets, np.array([2, 0, 1], np.uint32)[traces.items], 3, traces.times)
    keys, others = item_keys(traces, traces), item_keys(renamed, renamed)
    assert len(set(keys.tolist())) == 3
    found = bins_of_habit(traces, habit, keys)  # type: ignore[arg-type]
    assert np.array_equal(found, bins_of_habit(renamed, habit, others))  # type: ignore[arg-type]
    assert np.unique(found).size > 5


def test_nothing_is_looked_at_where_nobody_has_habits() -> None:
    """Each of the habits shows by chance in about one crowd of ten thousand."""
    found = [habits_of(*halves(crowd(seed)), dated=True) for seed in range(5)]
    assert found == [()] * 5


def test_a_few_of_many_are_enough() -> None:
    traces = crowd(2, 1000, people_of_habit=20)
    assert habits_of(*halves(traces), dated=True) == ("minute",)
    untimed = Traces(traces.offsets, traces.items, 3)
    assert not TIMED & set(habits_of(*halves(untimed), dated=False))


def test_the_order_of_people_changes_nothing() -> None:
    earlier, later = halves(crowd(3, 200, people_of_habit=15))
    order = np.random.default_rng(0).permutation(200)
    assert habits_of(earlier.take(order), later.take(order), dated=True) == habits_of(earlier, later, dated=True)


def test_tables_are_of_the_habits_looked_at() -> None:
    earlier, later = halves(crowd(4, 50))
    found = Occasional.of(earlier, later, ("minute", "run"))
    assert [part.size for part in found.parts] == [
        size if habit in ("minute", "run") else 0 for habit, size in OCCASIONAL.items()
    ]
    known, asked = found.known(earlier), found.asked(later)
    assert known.shape == asked.shape == (50, 108)
    assert found.shares is not None
    whole = (found.shares * np.exp(known))[:, :60].sum(axis=1)
    assert whole == pytest.approx(np.ones(50))  # P_i sums to one
    assert asked[:, :60].sum(axis=1) == pytest.approx(np.full(50, np.sqrt(20)))
    assert Occasional.of(earlier, later, ()).known(earlier).shape == (50, 0)


def test_what_one_never_does_does_not_depend_on_who_is_asked_together() -> None:
    rng = np.random.default_rng(0)
    rows = [[item for item in range(12) if item != left_out] for left_out in rng.integers(0, 12, 200)]
    offsets = np.arange(201, dtype=np.int64) * 11
    traces = Traces(offsets, np.concatenate(rows).astype(np.uint32), 12)
    occasional = Occasional.of(traces, traces, ("absent",))
    few = traces.take(np.arange(5))
    assert occasional.asked(traces).any()
    assert np.array_equal(occasional.asked(traces)[:5], occasional.asked(few))
    assert np.array_equal(occasional.known(traces)[:5], occasional.known(few))
