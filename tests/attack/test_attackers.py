"""Attackers by what they know: their rows against plain counting, on people whose risk is known."""

from __future__ import annotations

import numpy as np
import pytest
from attack_oracles import traces_of

from entropie.attack.attacker import AttackerRow, Naming, Release, worse_than_guessing
from entropie.attack.attackers import attacker_rows, scoped
from entropie.attack.chance import exchanged_targets
from entropie.attack.profile import profile_attack, rows
from entropie.attack.profile.rows import naming_of
from entropie.data.split import Split, knows, split_traces
from entropie.data.traces import Traces
from entropie.document.measured import Guess
from entropie.request import Attackers, Request, Run, Source, SplitRule

DAY = 86_400


def habits(seed: int, users: int = 60, events: int = 20, days: int = 20) -> Traces:
    """Everybody has four places of their own among 120 and sometimes goes elsewhere, at hours of their own."""
    rng = np.random.default_rng(seed)
    rows, times = [], []
    for _ in range(users):
        own = rng.integers(0, 120, 4)
        rows.append(np.where(rng.random(events) < 0.6, rng.choice(own, events), rng.integers(0, 120, events)).tolist())
        moments = (
            np.sort(rng.integers(0, days, events)) * DAY + (rng.integers(0, 24) + rng.integers(0, 3, events)) * 3600
        )
        times.append(np.sort(moments + rng.integers(0, 3600, events)).tolist())
    return traces_of(rows, 120, times)


def request(**attackers: object) -> Request:
    return Request(Source(), attackers=Attackers(**attackers), run=Run(threads=1))  # type: ignore[arg-type]


def rows_of(traces: Traces, rule: SplitRule = SplitRule("halves"), **attackers: object) -> tuple[AttackerRow, ...]:
    asked = request(**attackers)
    contained = rule.rule == "history" or rule.knowledge == "maximum"
    release = Release(traces, split_traces(traces, rule), contained=contained, knows=knows(rule))
    return scoped(list(attacker_rows(release, asked)), asked)


@pytest.fixture(scope="module")
def found() -> tuple[AttackerRow, ...]:
    return rows_of(habits(1))


def test_every_attacker_has_its_rows(found: tuple[AttackerRow, ...]) -> None:
    points = [(row.time_resolution, row.points) for row in found if row.attacker == "points"]
    resolutions = ("second", "minute", "hour", "day", "none")
    assert points == [(resolution, number) for resolution in resolutions for number in (1, 2, 4, 8)]
    names = [(row.attacker, row.matcher) for row in found if row.points is None]
    assert names == [*((name, "fused") for name in ("profile", "crowd", "joint")), ("profile", "conjunctions")]
    for row in found:
        assert (row.people, row.targets) == (60, 60)
        assert row.reidentified.low <= row.reidentified.value <= row.reidentified.high
        assert row.control is not None
        assert row.control.value < 0.15
        assert not row.failed
        assert (row.unicity is None) == (row.points is None)
        if row.matcher != "conjunctions":  # of which each of the surest kinds has groups of its own
            assert [group.people for group in row.tail if group.alike == 1] == [20, row.targets]
        assert row.tail[-1].reidentified.value == pytest.approx(row.reidentified.value)
        assert row.top_k[0].error == pytest.approx(1.0 - row.reidentified.value)


def test_conjunctions_are_not_looked_at_among_too_many_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_EVENTS", 10)
    assert "conjunctions" not in {row.matcher for row in rows_of(habits(1), scope=("profile",))}


def test_who_is_in_scope(found: tuple[AttackerRow, ...]) -> None:
    """By default everybody; of points four at the data's own resolution, which cannot be left out."""
    judged = [(row.attacker, row.points, row.time_resolution) for row in found if row.in_scope]
    assert judged == [
        ("points", 4, "second"),
        *((name, None, "hour") for name in ("profile", "crowd", "joint")),
        ("profile", None, None),
    ]
    few = rows_of(habits(1), points=(2,), scope=("points",), control=False)
    assert {row.points for row in few} == {2, 4, None}
    assert [row.points for row in few if row.in_scope] == [4]
    assert all(row.control is None for row in few)


def test_the_control_is_the_attack_with_targets_exchanged(found: tuple[AttackerRow, ...]) -> None:
    """What the row takes from the same lists, the whole attack finds on exchanged targets."""
    split = split_traces(habits(1), SplitRule("halves"))
    order = exchanged_targets(split, 0)
    anew = profile_attack(split.train, split.target.take(order), threads=1)
    control = next(row.control for row in found if row.attacker == "profile")
    assert control is not None
    assert naming_of(anew.plain, np.arange(60), 60).credit.mean() == pytest.approx(control.value, abs=1e-12)


@pytest.mark.parametrize("rule", [SplitRule("history", train_events=5), SplitRule("halves", "maximum")])
def test_known_events_among_the_attacked_ones_speak_for_a_person(rule: SplitRule) -> None:
    """Nobody meets an item twice: in the training alone an item met before would speak against its owner."""
    rng = np.random.default_rng(4)
    films = traces_of([rng.choice(400, 24, replace=False).tolist() for _ in range(60)], 400)
    shares = {row.attacker: row.reidentified.value for row in rows_of(films, rule) if row.points is None}
    assert min(shares.values()) > 0.9


def test_everybody_released_is_attacked_by_points() -> None:
    traces = habits(2)
    few = traces_of([[3], [3, 5]], 120, [[7], [7, 9]])
    released = Traces(
        np.concatenate((traces.offsets, few.offsets[1:] + traces.events)),
        np.concatenate((traces.items, few.items)),
        120,
        np.concatenate((traces.times, few.times)),  # type: ignore[arg-type]
    )
    release = Release(released, split_traces(traces, SplitRule("halves")))
    by_name = {row.attacker: row.people for row in attacker_rows(release, request())}
    assert by_name == {"points": 62, "profile": 60, "crowd": 60, "joint": 60}


def test_some_people_are_attacked_among_everybody(found: tuple[AttackerRow, ...]) -> None:
    traces, chosen = habits(1), np.array([3, 17, 40])
    whole = split_traces(traces, SplitRule("halves"))
    split = Split(whole.train, whole.target, whole.users, 0, chosen)
    some = {
        (row.attacker, row.points, row.time_resolution): row
        for row in attacker_rows(Release(traces, split, attacked=chosen), request())
    }
    for row in found:
        if row.attacker not in ("points", "profile"):
            continue  # the crowd of fewer targets is another
        mine = some[row.attacker, row.points, row.time_resolution]
        assert row.naming is not None
        assert mine.naming is not None
        assert (mine.people, mine.targets) == (60, 3)
        assert mine.naming.credit.tolist() == row.naming.credit[chosen].tolist()


def test_a_model_worse_than_guessing_is_called_failed() -> None:
    """With everybody's right person last, and not where people are named at random."""
    people = 400
    last = np.full(people, people - 1)
    worst = AttackerRow.of("profile", "", people, Naming(np.zeros(people), np.zeros(people), last, last))
    assert worst.failed
    ranks = np.random.default_rng(1).permutation(people)
    chance = Naming((ranks == 0).astype(float), np.zeros(people), ranks, ranks)
    assert not AttackerRow.of("profile", "", people, chance).failed
    assert not worse_than_guessing([Guess(1, 1.0, 1.0, 1.0)], people, people)  # one name of 400 tells nothing
