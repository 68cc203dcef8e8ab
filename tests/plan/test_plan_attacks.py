"""Which attacks a plan has, in what order, and what is told once they have been run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from entropie.attack import measured
from entropie.attack.chance import by_content, exchanged_targets
from entropie.attack.features import Matching
from entropie.attack.matchers import MATCHERS, matcher
from entropie.attack.measured import measured_attack
from entropie.attack.scoring import AttackOutcome, attack
from entropie.data.split import Split, split_traces
from entropie.data.traces import Traces
from entropie.engine.local import LocalEngine
from entropie.errors import InvalidInput
from entropie.measures.best import BestAttack
from entropie.plan.attacks import AttackSpec
from entropie.plan.execution import Attacked, Outcome, executed
from entropie.plan.plan import Counts, Plan, plan_of
from entropie.request import Attackers, Request, Run, Source, SplitRule


@pytest.fixture(scope="module")
def habits() -> Split:
    """120 people with five favourites each among 200 places, 24 events."""
    rng = np.random.default_rng(3)
    rows = [rng.choice(rng.integers(0, 200, 5), 24) for _ in range(120)]
    return split_traces(Traces(np.arange(121) * 24, np.concatenate(rows).astype(np.uint32), 200))


def request(*matchers: str, known: Sequence[int] = (), control: bool = False, **split: Any) -> Request:
    return Request(Source(), split=SplitRule(**split), attackers=Attackers(matchers, tuple(known), control))


def plan(split: Split, *matchers: str, **options: Any) -> Plan:
    return plan_of(request(*matchers, **options), Counts.of(split))


def ran(split: Split, *matchers: str, run: Run | None = None, **options: Any) -> Outcome:
    return LocalEngine.of(split, run or Run(replicates=10)).execute(plan(split, *matchers, **options))


def test_knowing_some_events_is_an_attack_with_training_cut_by_hand(habits: Split) -> None:
    outcome = ran(habits, "visit", known=(3, 1, 3))
    rows = outcome.by_known_events
    assert [row.train_events for row in rows] == [1, 3, None]
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
    )
    assert {spec.training for stage in listed.asked for spec in stage} == set(mine.trainings)
    assert [attack.seconds for attack in outcome.attacks] == [2.0, 2.0]
    assert [(attack.matcher, attack.null is not None) for attack in outcome.attacks] == [
        ("markov", True),
        ("pitman_yor", True),
    ]
    assert [row.figure.tried for row in outcome.by_known_events] == [2 if best == "markov" else 1, 1, 2]


def test_many_people_are_attacked_by_one_matcher_after_the_other() -> None:
    few, many = (plan_of(request("visit", "bayes"), Counts.even(n, 15, 15)) for n in (20_000, 20_001))
    assert [len(group) for group in few.first_stage] == [2]
    assert few.models == 2
    assert many.first_stage == ((AttackSpec("visit"),), (AttackSpec("bayes"),))
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


def test_another_matcher_is_tried_where_few_events_are_known(habits: Split) -> None:
    seen: list[str] = []
    run = Run(replicates=2, progress=lambda stage, share: seen.append(stage))
    outcome = ran(habits, "markov", "pitman_yor", run=run, known=(2, 8))
    best = BestAttack.of({attack.matcher: attack.measures for attack in outcome.attacks}).matcher
    few = dict.fromkeys([f"knowing 2: {best}", "knowing 2: pitman_yor"])
    assert list(dict.fromkeys(seen))[2:] == [*few, f"knowing 8: {best}"]
    assert outcome.by_known_events[0].figure.tried == len(few)
