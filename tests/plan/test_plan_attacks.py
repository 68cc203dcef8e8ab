"""Which attacks a plan has, in what order, and what is told once they have been run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack import measured
from entropie.attack.chance import by_content, exchanged_targets
from entropie.attack.features import Matching, length_histogram
from entropie.attack.matchers import MATCHERS, matcher
from entropie.attack.measured import measured_attack
from entropie.attack.scoring import AttackOutcome, attack
from entropie.data.split import Split, split_traces
from entropie.data.traces import Traces
from entropie.engine.local import LocalEngine
from entropie.errors import InvalidInput
from entropie.measures.best import BestAttack
from entropie.plan.attacks import AttackSpec, _quantile, known_event_steps
from entropie.plan.execution import Attacked, Outcome, executed
from entropie.plan.plan import Counts, Plan, plan_of
from entropie.request import Attackers, Request, Run, Source, SplitRule


@pytest.fixture(scope="module")
def habits() -> Split:
    """120 people with five favourites each among 200 places, 24 events."""
    rng = np.random.default_rng(3)
    rows = [rng.choice(rng.integers(0, 200, 5), 24) for _ in range(120)]
    return split_traces(Traces(np.arange(121) * 24, np.concatenate(rows).astype(np.uint32), 200))


def request(*matchers: str, known: Sequence[int] | None = (), control: bool = False, **split: Any) -> Request:
    steps = None if known is None else tuple(known)
    return Request(Source(), split=SplitRule(**split), attackers=Attackers(matchers, steps, control))


def plan(split: Split, *matchers: str, **options: Any) -> Plan:
    return plan_of(request(*matchers, **options), Counts.of(split))


def ran(split: Split, *matchers: str, run: Run | None = None, **options: Any) -> Outcome:
    return LocalEngine.of(split, run or Run(replicates=10)).execute(plan(split, *matchers, **options))


def test_knowing_some_events_is_an_attack_with_training_cut_by_hand(habits: Split) -> None:
    outcome = ran(habits, "visit", known=(3, 1, 3))
    rows = outcome.by_known_events
    assert [row.train_events for row in rows] == [1, 3, None]
    assert [level.level for level in outcome.attacker_levels] == ["weak", "medium", "strong"]
    for row in rows[:2]:
        assert row.train_events is not None
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
    levels = ran(habits, "visit", known=(1,)).attacker_levels
    assert [level.level for level in levels] == ["weak", "medium", "strong"]
    errors = [level.figure.error.value for level in levels]
    assert errors[0] > errors[1] > errors[2]
    by_hand = attack(matcher("visit")(habits.target, habits.target))
    assert errors[2] == pytest.approx(1.0 - by_hand.credit.mean(), abs=1e-12)
    levels = ran(habits, "visit", known=(1,), knowledge="maximum").attacker_levels
    assert [level.level for level in levels] == ["weak", "strong"]
    outcome = ran(habits, "visit", known=(2,))
    assert ([row.train_events for row in outcome.by_known_events], outcome.attacker_levels) == ([2, None], ())
    outcome = ran(habits, "visit")
    assert (outcome.by_known_events, outcome.attacker_levels) == ((), ())


class Listed:
    """An engine that runs nothing: it lists what it is asked for."""

    def __init__(self, split: Split) -> None:
        self.measures = {name: measured_attack(name, split, Run(replicates=2)) for name in MATCHERS}
        self.asked: list[tuple[AttackSpec, ...]] = []

    def attacked(self, plan: Plan, specs: Sequence[AttackSpec]) -> list[Attacked]:
        self.asked.append(tuple(specs))
        return [Attacked(self.measures[spec.matcher], 1.0) for spec in specs]


@pytest.fixture(scope="module")
def listed(habits: Split) -> Listed:
    return Listed(habits)


def test_an_engine_is_asked_for_what_the_plan_lists_and_for_nothing_else(habits: Split, listed: Listed) -> None:
    listed.asked.clear()
    mine = plan(habits, "markov", "pitman_yor", known=(1, 8), control=True)
    outcome = executed(mine, listed)
    best = BestAttack.of({name: listed.measures[name] for name in mine.matchers}).matcher
    assert listed.asked == [*mine.first_stage, mine.second_stage(best)]
    assert mine.first_stage == (
        tuple(AttackSpec(name, shuffled=shuffled) for name in mine.matchers for shuffled in (False, True)),
    )
    assert mine.second_stage("markov") == (
        AttackSpec("markov", 1),
        AttackSpec("pitman_yor", 1),
        AttackSpec("markov", 8),
        AttackSpec("markov", "target"),
    )
    assert {spec.training for stage in listed.asked for spec in stage} == set(mine.trainings)
    assert [attack.seconds for attack in outcome.attacks] == [2.0, 2.0]
    assert [(attack.matcher, attack.null is not None) for attack in outcome.attacks] == [
        ("markov", True),
        ("pitman_yor", True),
    ]
    assert len(outcome.attacker_levels) == 3
    assert [row.figure.tried for row in outcome.by_known_events] == [2 if best == "markov" else 1, 1, 2]


def test_many_people_are_attacked_by_one_matcher_after_the_other() -> None:
    few, many = (plan_of(request("visit", "bayes", known=None), Counts.even(n, 15, 15)) for n in (20_000, 20_001))
    assert [len(group) for group in few.first_stage] == [2]
    assert few.known_events == (1, 2, 5, 10)
    assert few.models == 2
    assert many.first_stage == ((AttackSpec("visit"),), (AttackSpec("bayes"),))
    assert many.known_events == ()
    assert many.models == 1
    asked = plan_of(request("visit", known=(4,)), Counts.even(30_000, 15, 15))
    assert asked.second_stage("visit") == (AttackSpec("visit", 4),)


def test_all_matchers_are_run_where_none_is_named(habits: Split) -> None:
    assert plan(habits).matchers == tuple(MATCHERS)


def test_one_person_is_too_few(habits: Split) -> None:
    with pytest.raises(InvalidInput, match="at least two people"):
        plan_of(request("visit"), Counts.even(1, 5, 5))


@pytest.mark.parametrize("name", ["visit", "pitman_yor"])
def test_the_control_is_attacked_with_targets_exchanged_by_hand(habits: Split, name: str) -> None:
    run = Run(seed=5, replicates=2)
    specs = [AttackSpec(name), AttackSpec(name, shuffled=True), AttackSpec(name)]
    done = LocalEngine.of(habits, run).attacked(plan(habits, name), specs)
    plain, control, again = (found.measures.to_json() for found in done)
    moved = habits.target.take(exchanged_targets(habits, 5))
    assert plain == again == measured_attack(name, habits, run).to_json()
    assert control == measured_attack(name, replace(habits, target=moved), run).to_json() != plain


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_pilot_is_of_the_same_targets_wherever_they_stand(
    habits: Split, shuffled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Matching, np.ndarray]] = []

    def spy(matching: Matching, *, pilot: np.ndarray, **options: Any) -> AttackOutcome:
        seen.append((matching, pilot))
        return attack(matching)

    monkeypatch.setattr(measured, "attack_all_pairs", spy)
    LocalEngine.of(habits, Run(replicates=2)).attacked(plan(habits), [AttackSpec("visit", shuffled=shuffled)])
    ((matching, pilot),) = seen
    row_of = np.arange(pilot.size) if matching.owners is None else np.argsort(matching.owners)
    in_order = matching.targets.take(row_of[pilot])
    expected = matcher("visit")(habits.train, habits.target).targets.take(by_content(habits))
    assert np.array_equal(in_order.features, expected.features)
    assert np.array_equal(in_order.offsets, expected.offsets)
    assert (pilot.tolist() == by_content(habits).tolist()) is not shuffled


def test_clarity_is_the_gap_between_the_two_best(habits: Split) -> None:
    outcome = attack(matcher("visit")(habits.train, habits.target))
    gaps = [best - second for best, second in outcome.candidate_scores[:, :2]]
    assert outcome.clarity == pytest.approx(gaps)
    assert np.all(outcome.clarity[outcome.ties > 1] <= 1e-9)
    lone = attack(matcher("visit")(habits.train, habits.target), candidates=1)
    assert not lone.clarity.any()


def test_steps_stay_below_what_most_people_have(habits: Split) -> None:
    assert known_event_steps(*length_histogram(habits.train)) == (1, 2, 5, 10)
    assert known_event_steps(np.array([5]), np.array([3])) == (1, 2)  # five known events are all of them
    assert plan(habits, known=None).known_events == (1, 2, 5, 10)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=40), st.sampled_from([0.9, 0.5, 0.1, 0.0, 1.0]))
@settings(max_examples=200, deadline=None)
def test_the_quantile_of_a_histogram_is_that_of_the_people(lengths: list[int], share: float) -> None:
    assert _quantile(*np.unique(lengths, return_counts=True), share) == np.quantile(lengths, share)


def test_another_matcher_is_tried_where_few_events_are_known(habits: Split) -> None:
    seen: list[str] = []
    run = Run(replicates=2, progress=lambda stage, share: seen.append(stage))
    outcome = ran(habits, "markov", "pitman_yor", run=run, known=(2, 8))
    best = BestAttack.of({attack.matcher: attack.measures for attack in outcome.attacks}).matcher
    few = dict.fromkeys([f"knowing 2: {best}", "knowing 2: pitman_yor"])
    assert list(dict.fromkeys(seen))[2:] == [*few, f"knowing 8: {best}"]
    assert outcome.by_known_events[0].figure.tried == len(few)
