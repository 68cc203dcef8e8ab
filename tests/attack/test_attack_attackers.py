"""Weaker and stronger attackers beside the one assessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack import measured
from entropie.attack.attackers import Attackers, _quantile, known_event_steps
from entropie.attack.chance import by_content, exchanged_targets
from entropie.attack.features import Matching, length_histogram
from entropie.attack.matchers import matcher
from entropie.attack.measured import Attack, AttackSpec, LocalEngine, attack_by_each, measured_attack
from entropie.attack.scoring import AttackOutcome, attack
from entropie.data.split import Knowledge, Split, split_traces
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter
from entropie.measures.best import BestAttack
from entropie.measures.summary import Measures


@pytest.fixture(scope="module")
def habits() -> Split:
    """120 people with five favourites each among 200 places, 24 events."""
    rng = np.random.default_rng(3)
    rows = [rng.choice(rng.integers(0, 200, 5), 24) for _ in range(120)]
    return split_traces(Traces(np.arange(121) * 24, np.concatenate(rows).astype(np.uint32), 200))


def attacks(habits: Split, *names: str, knowledge: Knowledge = "partial") -> tuple[Attack, ...]:
    return attack_by_each(LocalEngine.of(habits, replicates=2), names, knowledge, null_baseline=False)


def test_knowing_some_events_is_an_attack_with_training_cut_by_hand(habits: Split) -> None:
    rows, levels = Attackers.beside(attacks(habits, "visit"), (3, 1, 3)).run(LocalEngine.of(habits, replicates=10))
    assert [row.train_events for row in rows] == [1, 3, None]
    assert [level.level for level in levels] == ["weak", "medium", "strong"]
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
    engine = LocalEngine.of(habits, replicates=10)
    _, levels = Attackers.beside(attacks(habits, "visit"), (1,)).run(engine)
    assert [level.level for level in levels] == ["weak", "medium", "strong"]
    errors = [level.figure.error.value for level in levels]
    assert errors[0] > errors[1] > errors[2]
    by_hand = attack(matcher("visit")(habits.target, habits.target))
    assert errors[2] == pytest.approx(1.0 - by_hand.credit.mean(), abs=1e-12)
    _, levels = Attackers.beside(attacks(habits, "visit", knowledge="maximum"), (1,)).run(engine)
    assert [level.level for level in levels] == ["weak", "strong"]
    known, levels = Attackers.beside(attacks(habits, "visit"), (2,)).run(engine)
    assert ([row.train_events for row in known], levels) == ([2, None], ())
    assert Attackers.beside(attacks(habits, "visit"), ()).run(engine) == ((), ())


class Listed:
    """An engine that runs nothing: it lists what it is asked for, in one go."""

    def __init__(self, found: Measures) -> None:
        self.found = found
        self.asked: list[tuple[AttackSpec, ...]] = []

    def measures(self, specs: Sequence[AttackSpec]) -> list[Measures]:
        self.asked.append(tuple(specs))
        return [self.found] * len(specs)


def test_an_engine_is_asked_for_everything_at_once(habits: Split) -> None:
    assessed = attacks(habits, "markov", "pitman_yor")
    engine = Listed(assessed[0].measures)
    known, levels = Attackers(BestAttack.of({"markov": assessed[0].measures}), "partial", (1, 8), "pitman_yor").run(
        engine
    )
    assert engine.asked == [
        (
            AttackSpec("markov", 1),
            AttackSpec("pitman_yor", 1),
            AttackSpec("markov", 8),
            AttackSpec("markov", "target"),
        )
    ]
    assert [row.figure.tried for row in known] == [2, 1, 1]
    assert len(levels) == 3
    listed = Listed(assessed[0].measures)
    found = attack_by_each(listed, ["visit", "visit", "bayes"], "partial", null_baseline=True)
    assert listed.asked == [(AttackSpec(name), AttackSpec(name, exchanged=True)) for name in ("visit", "bayes")]
    assert [(attack.matcher, attack.null is not None) for attack in found] == [("visit", True), ("bayes", True)]


@pytest.mark.parametrize("name", ["visit", "pitman_yor"])
def test_permuted_people_are_attacked_with_targets_exchanged_by_hand(habits: Split, name: str) -> None:
    engine = LocalEngine.of(habits, seed=5, replicates=2)
    specs = [AttackSpec(name), AttackSpec(name, exchanged=True), AttackSpec(name)]
    plain, permuted, again = (found.to_json() for found in engine.measures(specs))
    moved = habits.target.take(exchanged_targets(habits, 5))
    assert plain == again == measured_attack(name, habits.train, habits.target, seed=5, replicates=2).to_json()
    assert permuted == measured_attack(name, habits.train, moved, seed=5, replicates=2).to_json() != plain


@pytest.mark.parametrize("exchanged", [False, True])
def test_the_pilot_is_of_the_same_targets_wherever_they_stand(
    habits: Split, exchanged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Matching, np.ndarray]] = []

    def spy(matching: Matching, *, pilot: np.ndarray, **options: Any) -> AttackOutcome:
        seen.append((matching, pilot))
        return attack(matching)

    monkeypatch.setattr(measured, "attack_all_pairs", spy)
    LocalEngine.of(habits, replicates=2).measures([AttackSpec("visit", exchanged=exchanged)])
    ((matching, pilot),) = seen
    in_order = matching.targets.take(pilot)
    expected = matcher("visit")(habits.train, habits.target).targets.take(by_content(habits))
    assert np.array_equal(in_order.features, expected.features)
    assert np.array_equal(in_order.offsets, expected.offsets)
    assert (pilot.tolist() == by_content(habits).tolist()) is not exchanged


def test_clarity_is_the_gap_between_the_two_best(habits: Split) -> None:
    outcome = attack(matcher("visit")(habits.train, habits.target))
    gaps = [best - second for best, second in outcome.candidate_scores[:, :2]]
    assert outcome.clarity == pytest.approx(gaps)
    assert np.all(outcome.clarity[outcome.ties > 1] <= 1e-9)
    lone = attack(matcher("visit")(habits.train, habits.target), candidates=1)
    assert not lone.clarity.any()


def test_steps_stay_below_what_most_people_have(habits: Split) -> None:
    assert known_event_steps(*length_histogram(habits.train)) == (1, 2, 5, 10)
    with pytest.raises(InvalidParameter, match="at least 1"):
        Attackers.beside(attacks(habits, "visit"), (0,))


@given(st.lists(st.integers(0, 60), min_size=1, max_size=40), st.sampled_from([0.9, 0.5, 0.1, 0.0, 1.0]))
@settings(max_examples=200, deadline=None)
def test_the_quantile_of_a_histogram_is_that_of_the_people(lengths: list[int], share: float) -> None:
    assert _quantile(*np.unique(lengths, return_counts=True), share) == np.quantile(lengths, share)


def test_the_best_of_several_matchers_counts_and_its_interval_allows_for_the_choice(habits: Split) -> None:
    found = {name: measured_attack(name, habits.train, habits.target, replicates=2) for name in ("markov", "visit")}
    best = BestAttack.of(found)
    assert best.matcher == min(found, key=lambda name: found[name].identification_error.value)
    alone = found[best.matcher].identification_error
    assert best.error.value == alone.value
    assert best.error.low < alone.low
    assert best.error.high > alone.high


def test_another_matcher_helps_where_few_events_are_known(habits: Split) -> None:
    seen: list[str] = []
    engine = LocalEngine.of(habits, replicates=2, tell=lambda stage, share: seen.append(stage))
    whole = BestAttack.of({"markov": measured_attack("markov", habits.train, habits.target, replicates=2)})
    rows, _ = Attackers(whole, "partial", (2, 8), "visit").run(engine)
    assert list(dict.fromkeys(seen)) == ["knowing 2: markov", "knowing 2: visit", "knowing 8: markov"]
    alone, _ = Attackers(whole, "partial", (2, 8)).run(engine)
    assert rows[0].figure.matcher == "visit"
    assert rows[0].figure.error.value < alone[0].figure.error.value
    assert rows[1].figure.error == alone[1].figure.error
