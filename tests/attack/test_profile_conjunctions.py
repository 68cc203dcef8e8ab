"""Conjunctions: cells against a slow count, likelihood ratios against the formula, and who is named by them alone."""

from __future__ import annotations

import itertools
import math
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent / "gate"))

from adversarial import Crowd, harmless
from attack_oracles import random_traces
from together import NOT_ALWAYS, TOGETHER

from entropie.attack.attacker import Naming
from entropie.attack.profile.conjunctions import (
    EACH,
    Loudest,
    chances_of,
    conjunctions,
    posted_by,
    shares_of,
)
from entropie.attack.profile.parts import SPANS, parts_of
from entropie.attack.profile.rows import loudest_naming
from entropie.data.prepare import prepare
from entropie.data.split import Split
from entropie.data.traces import Traces
from entropie.findings import release_of
from entropie.kernels.conjunctions import Cells, cells_of, own_cells, own_odds, told_people
from entropie.request import Request

DAY = 86_400


def case(seed: int, users: int = 12, events: int = 150, width: int = 1) -> tuple[Cells, list[Counter[tuple[int, int]]]]:
    """Cells of random traces, and the same counted one by one."""
    rng = np.random.default_rng(seed)
    offsets = np.sort(np.append(rng.integers(0, events, users - 1), [0, events])).astype(np.int64)
    contexts, outcomes = (rng.integers(0, size, events).astype(np.uint32) for size in (3, 4))
    there = rng.random(events) < 0.9
    slow = [
        Counter((int(contexts[event]), int(outcomes[event])) for event in range(low, high) if there[event])
        for low, high in itertools.pairwise(offsets)
    ]
    return cells_of(offsets, contexts, outcomes, there, width), slow


def total(counts: Counter[tuple[int, int]], context: int) -> int:
    return sum(number for (there, _), number in counts.items() if there == context)


@pytest.mark.parametrize(("seed", "width"), [(0, 1), (1, 1), (2, 3)])
def test_cells_are_counted(seed: int, width: int) -> None:
    cells, slow = case(seed, width=width)
    for row, counts in enumerate(slow):
        mine = slice(cells.offsets[row], cells.offsets[row + 1])
        keys = [(int(key) >> 32, int(key) & (2**32 - 1)) for key in cells.keys[mine]]
        assert keys == sorted(counts)
        assert cells.counts[mine].tolist() == [counts[key] for key in keys]
        assert cells.totals[mine].tolist() == [total(counts, context) // width for context, _ in keys]


def betaln(one: float, other: float) -> float:
    return math.log(
        math.factorial(int(one) - 1) * math.factorial(int(other) - 1) / math.factorial(int(one + other) - 1)
    )


def ratio(count: int, of: int, asked: int, among: int, share: float, chance: float, unknown: float) -> float:
    """ln of how much likelier a target has an outcome `asked` times of `among`, knowing that a person had it `count`
    times of `of`, than knowing nothing.
    """
    own = chance * share * math.exp(betaln(count + 1, of - count + 1))
    sure = own / (own + (1.0 - chance * share) * share**count * (1.0 - share) ** (of - count))
    mine = (count + 1.0) / (of + 2.0)
    usual = share**asked * (1.0 - share) ** (among - asked)
    known = (1.0 - sure) * usual + sure * mine**asked * (1.0 - mine) ** (among - asked)
    nothing = (1.0 - unknown) * usual + unknown * share * math.exp(betaln(asked + 1, among - asked + 1))
    return math.log(known / nothing)


@pytest.mark.parametrize("seed", range(3))
def test_likelihood_ratios_are_those_of_the_formula(seed: int) -> None:
    """Everybody's cells, with everybody listed: each sum against the formula, cell by cell."""
    known, counted = case(seed)
    asked, wanted = case(seed + 100)
    users, unknown = len(counted), 0.1
    shares = np.random.default_rng(seed).uniform(0.02, 0.6, known.keys.size)
    chances = np.random.default_rng(seed + 1).uniform(0.01, 0.9, users)
    own, worth = own_cells(known, shares, own_odds(known, shares)[0], chances, 32)
    passed = np.arange(users) % 3
    people, scores, others = told_people(own, posted_by(own, worth, users), asked, passed, unknown, users)
    kept = [set(own.keys[own.offsets[row] : own.offsets[row + 1]].tolist()) for row in range(users)]
    compared = 0
    for target in range(users):
        found = dict(zip(people[target].tolist(), scores[target].tolist(), strict=True))
        assert int(passed[target]) not in found
        assert others[target] <= math.log(users)  # only those of whom nothing speaks are not listed
        for person in range(users):
            sums, there, met = 0.0, 0.0, False
            for place in range(known.offsets[person], known.offsets[person + 1]):
                key = int(known.keys[place])
                cell = (key >> 32, key & (2**32 - 1))
                among = total(wanted[target], cell[0])
                if key in kept[person] and among:
                    met |= wanted[target][cell] > 0
                    one = ratio(
                        int(known.counts[place]), int(known.totals[place]), wanted[target][cell], among,
                        float(shares[place]), float(chances[person]), unknown,
                    )  # fmt: skip
                    sums += one
                    there += one if wanted[target][cell] else 0.0
            if person in found:
                compared += 1
                assert met
                assert found[person] == pytest.approx(sums, abs=1e-4)
            else:  # what speaks against a person is looked at only where something speaks for them
                assert person == passed[target] or min(sums, there) < 1e-4
    assert compared > users


def test_shares_are_those_of_the_others() -> None:
    """Three people at one place: who alone comes at an hour is compared with those who never do."""
    offsets, contexts = np.array([0, 4, 8, 12]), np.zeros(12, np.uint32)
    hours = np.array([7, 7, 7, 8, 8, 8, 8, 9, 9, 9, 8, 8], np.uint32)
    cells = cells_of(offsets, contexts, hours, np.ones(12, np.bool_), 1)
    shares = shares_of(cells)
    first = {int(key) & 255: float(share) for key, share in zip(cells.keys[:2], shares[:2], strict=True)}
    backed = 2.0 * 3 / 12  # of the outcome in all contexts, as if of two events, or of two people
    assert first[7] in (pytest.approx(backed / (8 + 2)), pytest.approx(backed / (2 + 2)))
    assert first[8] > first[7]


def test_shares_are_of_events_where_each_has_several_outcomes() -> None:
    """Five people, everybody always with both outcomes: the share of each is nearly 1, not a half."""
    offsets, contexts = np.arange(0, 41, 8), np.zeros(40, np.uint32)
    cells = cells_of(offsets, contexts, np.tile([1, 2], 20).astype(np.uint32), np.ones(40, np.bool_), 2)
    assert shares_of(cells).min() > 0.9
    assert own_odds(cells, shares_of(cells))[1].max() <= 0.5


def test_others_of_the_day_stand_beside_an_event() -> None:
    """The next three of the day, after its last the first: items unlike the event's and each other."""
    rng = np.random.default_rng(3)
    drawn = random_traces(rng, 20, 14, 5, 1)
    times = np.concatenate([np.sort(rng.integers(0, 4 * DAY, size)) for size in np.diff(drawn.offsets)])
    traces = Traces(drawn.offsets, drawn.items, 5, times)
    parts = parts_of(traces, None)
    beside, there = parts["beside"]
    numbers, whole = parts["number a day"]
    seen = 0
    for low, high in itertools.pairwise(traces.offsets):
        for event in range(low, high):
            day = [other for other in range(low, high) if times[other] // DAY == times[event] // DAY]
            after = [day[(day.index(event) + step) % len(day)] for step in range(1, min(4, len(day)))]
            items = {int(traces.items[other]) for other in after} - {int(traces.items[event])}
            assert {int(code) for code in beside[event] if code < traces.domain_size} == items
            assert len(set(beside[event].tolist())) == 3
            assert whole[event] == (day[0] > low and day[-1] < high - 1)  # first and last days may be cut
            assert not whole[event] or numbers[event] == len(day)
            seen += len(items)
    assert seen > 50
    assert there.all()


def test_how_many_have_outcomes_of_their_own_is_told() -> None:
    """Of 200 people with 8 contexts each, 20 have one of their own in every context: the odds tell who and how many."""
    whose = np.repeat(np.arange(200), 8)
    odds = np.where(whose < 20, 6.0, 0.4)
    chances, unknown = chances_of(odds, whose, 200)
    assert chances[:20].min() > 0.8
    assert chances[20:].max() < 0.01
    assert unknown == pytest.approx(0.1 * 0.9, abs=0.01)


def test_names_play_no_part() -> None:
    """Other codes of items and another order of people: the same clarity and credit of each."""
    rng = np.random.default_rng(5)
    train, target = random_traces(rng, 40, 12, 6, 2), random_traces(rng, 40, 12, 6, 2)
    size = max(train.domain_size, target.domain_size)
    codes, order = rng.permutation(size).astype(np.uint32), rng.permutation(40)
    renamed = [Traces(one.offsets, codes[one.items], size, one.times).take(order) for one in (train, target)]
    plain = naming(conjunctions(train, target))
    other = naming(conjunctions(*renamed))
    assert np.allclose(other.clarity, plain.clarity[order], atol=1e-4)
    assert np.allclose(other.credit, plain.credit[order])


def naming(found: Loudest) -> Naming:
    users = found.beside.size
    return loudest_naming(found, np.arange(users), users)


def test_dates_are_no_habits() -> None:
    """Traces of a week each, in weeks of their own: nothing is made of days, which would tell when they were cut."""
    times = (np.arange(50) // 10 * 30 * DAY + np.arange(50) % 10 * 60_000).astype(np.int64)
    short = Traces(np.arange(0, 51, 10), np.zeros(50, np.uint32), 1, times)
    there = {name: mask for name, (_, mask) in parts_of(short, None).items()}
    assert {name for name, needed in SPANS.items() if needed > 7 * DAY} == {
        name for name in SPANS if not there[name].any()
    }
    assert there["hour"].all()


def split_of(kind: str, crowd: Crowd) -> tuple[Split, NDArray[np.int64] | None]:
    made = harmless if kind == "harmless" else TOGETHER[kind]
    prepared = prepare(Request.of(made(crowd), {}))
    return prepared.split, release_of(prepared).item_categories


FOUND = [kind for kind in TOGETHER if kind not in ("seldom but surely", "last of the day")]  # the last cost most


@pytest.mark.parametrize("kind", FOUND)
def test_who_has_a_conjunction_of_their_own_is_named(kind: str) -> None:
    """Of the surest 20 by some kind of conjunction most are, who are 24 of 320; with identities shuffled, hardly any."""
    split, categories = split_of(kind, Crowd(320, 20, 24, 8))
    found = conjunctions(split.train, split.target, categories, threads=2)
    users = split.train.users
    named = loudest_naming(found, np.arange(users), users)
    shuffled = loudest_naming(found, np.roll(np.arange(users), users // 2), users)
    best, chance = (
        max(group.alike * group.reidentified.value for group in row.tail if group.people <= users // 10)
        for row in (named, shuffled)
    )
    assert best >= (0.3 if kind in NOT_ALWAYS else 0.5)
    assert chance <= 0.25


def test_what_speaks_loudly_of_wrong_people_is_turned_down() -> None:
    """Two and two are always at a place of their own: the other is surely wrong, and nobody is named with great odds."""
    both = [Traces(np.arange(0, 1201, 6), np.repeat(np.arange(200) // 2, 6).astype(np.uint32), 100) for _ in range(2)]
    assert conjunctions(*both).clarity(2).max() <= -1.0


def test_nobody_is_named_where_all_do_alike() -> None:
    split, _ = split_of("harmless", Crowd(600, 20, 0, 3))
    row = naming(conjunctions(split.train, split.target, threads=2))
    assert len(row.alone) > 1
    for group in row.tail:
        assert group.reidentified.value <= 0.2  # the chance that 5 of 20 are named rightly by guessing is below 1e-9


def test_fewer_candidates_than_are_kept() -> None:
    rng = np.random.default_rng(1)
    train, target = random_traces(rng, 3, 6, 4, 1), random_traces(rng, 3, 6, 4, 1)
    found = conjunctions(train, target)
    assert found.named.people.shape[0] == 3
    assert np.isfinite(found.clarity(EACH)).all()
