"""Weaker and stronger attackers beside the one assessed."""

from __future__ import annotations

import numpy as np
import pytest

from entropie.attack.attackers import Attackers, Figure, known_event_steps
from entropie.attack.matchers import matcher
from entropie.attack.measured import measured_attack
from entropie.attack.scoring import attack
from entropie.data.split import Split, split_traces
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter


@pytest.fixture(scope="module")
def habits() -> Split:
    """120 people with five favourites each among 200 places, 24 events."""
    rng = np.random.default_rng(3)
    rows = [rng.choice(rng.integers(0, 200, 5), 24) for _ in range(120)]
    return split_traces(Traces(np.arange(121) * 24, np.concatenate(rows).astype(np.uint32), 200))


def test_knowing_some_events_is_an_attack_with_training_cut_by_hand(habits: Split) -> None:
    whole = Figure.best({"visit": measured_attack("visit", habits.train, habits.target, replicates=10)})
    rows = Attackers("visit", habits, replicates=10).by_known_events((3, 1), whole)
    assert [row.train_events for row in rows] == [1, 3, None]
    for row in rows[:2]:
        cut = Traces(
            np.arange(121) * row.train_events,
            habits.train.items.reshape(120, 12)[:, : row.train_events].ravel().copy(),
            200,
        )
        by_hand = attack(matcher("visit")(cut, habits.target))
        assert row.figure.error.value == pytest.approx(1.0 - by_hand.credit.mean(), abs=1e-12)
    errors = [row.figure.error.value for row in rows]
    assert errors[0] > errors[-1] + 0.1  # favourites are learned: more events, fewer errors


def test_levels_are_ordered_and_the_strong_one_holds_the_target(habits: Split) -> None:
    attackers = Attackers("visit", habits, replicates=10)
    whole = Figure.best({"visit": measured_attack("visit", habits.train, habits.target, replicates=10)})
    one = attackers.by_known_events((1,), whole)[0].figure
    levels = attackers.levels("partial", whole, one)
    assert [level.level for level in levels] == ["weak", "medium", "strong"]
    errors = [level.figure.error.value for level in levels]
    assert errors[0] > errors[1] > errors[2]
    by_hand = attack(matcher("visit")(habits.target, habits.target))
    assert errors[2] == pytest.approx(1.0 - by_hand.credit.mean(), abs=1e-12)
    assert [level.level for level in attackers.levels("maximum", whole, one)] == ["weak", "strong"]


def test_clarity_is_the_gap_between_the_two_best(habits: Split) -> None:
    outcome = attack(matcher("visit")(habits.train, habits.target))
    gaps = [best - second for best, second in outcome.candidate_scores[:, :2]]
    assert outcome.clarity == pytest.approx(gaps)
    assert np.all(outcome.clarity[outcome.ties > 1] <= 1e-9)
    lone = attack(matcher("visit")(habits.train, habits.target), candidates=1)
    assert not lone.clarity.any()


def test_steps_stay_below_what_most_people_have(habits: Split) -> None:
    assert known_event_steps(habits) == (1, 2, 5, 10)
    whole = Figure.best({"visit": measured_attack("visit", habits.train, habits.target, replicates=2)})
    with pytest.raises(InvalidParameter, match="at least 1"):
        Attackers("visit", habits).by_known_events((0,), whole)


def test_the_best_of_several_matchers_counts_and_its_interval_allows_for_the_choice(habits: Split) -> None:
    found = {name: measured_attack(name, habits.train, habits.target, replicates=2) for name in ("markov", "visit")}
    best = Figure.best(found)
    assert best.matcher == min(found, key=lambda name: found[name].identification_error.value)
    alone = found[best.matcher].identification_error
    assert best.error.value == alone.value
    assert best.error.low < alone.low
    assert best.error.high > alone.high


def test_another_matcher_helps_where_few_events_are_known(habits: Split) -> None:
    seen: list[str] = []
    attackers = Attackers("markov", habits, "visit", replicates=2, tell=lambda stage, share: seen.append(stage))
    whole = Figure.best({"markov": measured_attack("markov", habits.train, habits.target, replicates=2)})
    rows = attackers.by_known_events((2, 8), whole)
    assert list(dict.fromkeys(seen)) == ["knowing 2: markov", "knowing 2: visit", "knowing 8: markov"]
    alone = Attackers("markov", habits, replicates=2).by_known_events((2, 8), whole)
    assert rows[0].figure.matcher == "visit"
    assert rows[0].figure.error.value < alone[0].figure.error.value
    assert rows[1].figure.error == alone[1].figure.error
