from __future__ import annotations

import math

import numpy as np
import pytest
from attack_oracles import traces_of
from profile_oracles import Oracle, random_case

from entropie.attack.profile.attack import everybody_of
from entropie.attack.profile.candidates import (
    HABIT_USERS,
    Candidates,
    Scene,
    Search,
    best_candidates,
    merge_candidates,
    scene_of,
    search_among,
)
from entropie.attack.profile.people import known_people
from entropie.kernels.profile_records import NOBODY


def scene_from(seed: int, users: int = 40, timed: bool = True) -> Scene:
    case = random_case(seed, users=users, timed=timed)
    return scene_of(case.train, case.target, everybody_of(case.train, case.target, case.categories))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("habits", [True, False])
def test_the_best_are_those_of_the_slow_oracle(seed: int, timed: bool, habits: bool) -> None:
    case = random_case(seed, users=15, timed=timed)
    oracle = Oracle(case)
    scene = scene_of(case.train, case.target, everybody_of(case.train, case.target, case.categories))
    found = best_candidates(scene, Search(5, repeats=True, habits=habits))
    for number in range(case.target.users):
        wanted = {}
        for person in range(case.train.users):
            seen = oracle.evidence(number, person)
            if habits or seen["again"] < 0:
                rest = seen.get("hour", 0.0) + seen.get("gap", 0.0) + seen["return"] if habits else 0.0
                wanted[person] = seen["item"] + 0.7 * seen.get("item_hour", 0.0) + 0.6 * rest
        best = sorted(wanted, key=lambda person: -wanted[person])[:5]
        assert found.people[number].tolist() == best + [NOBODY] * (5 - len(best))
        assert found.scores[number, : len(best)] == pytest.approx([wanted[one] for one in best], abs=1e-6)


def test_where_nothing_repeats_people_are_found_by_what_goes_together() -> None:
    case = random_case(5, users=15, timed=False)
    oracle = Oracle(case)
    scene = scene_of(case.train, case.target, everybody_of(case.train, case.target))
    found = best_candidates(scene, Search(8, repeats=False, habits=False))
    sharing = best_candidates(scene, Search(4, repeats=True, habits=False))
    assert np.array_equal(found.people[:, :4], sharing.people)  # half of the places are for those who do repeat
    found = Candidates(found.people[:, 4:], found.scores[:, 4:])
    everybody = everybody_of(case.train, case.target)
    for number, asked in enumerate(oracle.target):
        own = len(oracle.train) + number
        coming: dict[int, float] = {}
        for place, x in enumerate(asked):
            coming[x] = coming.get(x, 0.0) + 1 / (1 + 0.1 * place)
        wanted = {}
        for person, items in enumerate(oracle.train):
            if set(items) & set(asked):
                continue
            known: dict[int, float] = {}
            for weight, y in zip(oracle.past(person), items, strict=True):
                known[y] = known.get(y, 0.0) + weight
            share = oracle.model(known)[1]
            wanted[person] = sum(
                s**0.6 / oracle.popularity[x] * share[y] / (everybody.reach[y] + 10)
                * sum(1 / math.sqrt(len(t)) for place, t in enumerate(oracle.sets) if place != own and {x, y} <= t)
                for x, s in coming.items()
                for y in share
            )  # fmt: skip
        best = sorted(wanted, key=lambda person: -wanted[person])[:4]
        assert sorted(found.scores[number][: len(best)], reverse=True) == pytest.approx([wanted[b] for b in best])
        assert (found.people[number] == NOBODY).sum() == 4 - len(best)


@pytest.mark.parametrize("repeats", [True, False])
def test_blocks_of_people_merge_to_the_whole(repeats: bool) -> None:
    case = random_case(6, users=60)
    everybody = everybody_of(case.train, case.target, case.categories)
    scene = scene_of(case.train, case.target, everybody)
    how = search_among(60, 7, repeats)
    whole = best_candidates(scene, how)
    parts = []
    for block in (np.arange(40, 60), np.arange(0, 3), np.arange(3, 40)):
        mine = Scene(known_people(case.train.take(block), everybody), scene.targets, scene.company)
        found = best_candidates(mine, how)
        parts.append(Candidates(np.where(found.people == NOBODY, NOBODY, block[found.people]), found.scores))
    merged = merge_candidates(parts, how)
    assert np.array_equal(whole.scores, merged.scores)
    assert np.array_equal(whole.people, merged.people)


def test_threads_change_nothing() -> None:
    scene = scene_from(7, users=300)
    one, two = (best_candidates(scene, search_among(300, 10, True), threads) for threads in (1, 2))
    assert np.array_equal(one.people, two.people)
    assert np.array_equal(one.scores, two.scores)


def test_habits_find_candidates_among_few_people_only() -> None:
    assert search_among(HABIT_USERS, 9, True).habits
    assert not search_among(HABIT_USERS + 1, 9, True).habits


def test_nobody_comes_into_question_where_nothing_is_shared() -> None:
    train, target = traces_of([[0, 1], [2, 3]], 6), traces_of([[4], [5]], 6)
    found = best_candidates(scene_of(train, target, everybody_of(train, target)), Search(2, True, habits=False))
    assert (found.people == NOBODY).all()
    assert np.isneginf(found.scores).all()
