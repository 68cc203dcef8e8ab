from __future__ import annotations

import math

import numpy as np
import pytest
from attack_oracles import traces_of
from hypothesis import given, settings
from hypothesis import strategies as st
from profile_oracles import Oracle, random_case

from entropie.attack.profile import candidates
from entropie.attack.profile.attack import everybody_of, halves
from entropie.attack.profile.candidates import (
    ASKED_HABITS,
    HABITS,
    OWN_HABITS,
    Candidates,
    Scene,
    Search,
    SearchIndex,
    best_candidates,
    habitual_people,
    index_of,
    joined,
    own_habits,
    scene_of,
    search_among,
)
from entropie.data.traces import Traces
from entropie.kernels.features import feature_postings
from entropie.kernels.profile_habits import combinations, telling_bins
from entropie.kernels.profile_records import NOBODY, Company, item_hour
from entropie.kernels.profile_search import best_people, ceilings_of, meeting_places, nearest_people


def scene_from(seed: int, users: int = 40, timed: bool = True) -> Scene:
    case = random_case(seed, users=users, timed=timed)
    return scene_of(case.train, case.target, everybody_of(case.train, case.target, case.categories))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("summed", [True, False])
def test_the_best_are_those_of_the_slow_oracle(seed: int, timed: bool, summed: bool) -> None:
    case = random_case(seed, users=15, timed=timed)
    oracle = Oracle(case)
    scene = scene_of(case.train, case.target, everybody_of(case.train, case.target, case.categories))
    found = best_candidates(scene, Search(5, True, (0.6,) * HABITS if summed else None))
    for number in range(case.target.users):
        wanted = {}
        for person in range(case.train.users):
            seen = oracle.evidence(number, person)
            if summed or seen["again"] < 0:
                rest = sum(seen.get(kind, 0.0) for kind in ("hour", "gap", "return", "day")) if summed else 0.0
                wanted[person] = seen["item"] + 0.7 * seen.get("item_hour", 0.0) + 0.6 * rest
        best = sorted(wanted, key=lambda person: -wanted[person])[:5]
        assert found.people[number].tolist() == best + [NOBODY] * (5 - len(best))
        assert found.scores[number, : len(best)] == pytest.approx([wanted[one] for one in best], abs=1e-6)


def crowd_scene(
    seed: int, users: int, timed: bool, items: int = 200, famous: int = 5, attacked: int | None = None
) -> Scene:
    """People with a few places of their own and some that everybody goes to."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 14, users)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    own = (np.repeat(rng.integers(0, items, users), lengths) + rng.integers(0, 3, offsets[-1])) % items
    known = (famous * rng.random(offsets[-1]) ** 2).astype(np.int64)
    codes = np.where(rng.random(offsets[-1]) < 0.5, own, known).astype(np.uint32)
    traces = Traces(offsets, codes, items, np.arange(offsets[-1]) * 5_000 if timed else None)
    train, target = halves(traces)
    return scene_of(train, target, everybody_of(train, target), None if attacked is None else np.arange(attacked))


def full_search(scene: Scene, hours: float, kept: int) -> tuple[list[list[int]], list[list[float]], int]:
    """Every list of every target, in the order of items."""
    people, targets = scene.people, scene.targets
    lists, scores, visits = [], [], 0
    entry_of = [
        {int(people.items[entry]): entry for entry in range(*people.offsets[person : person + 2])}
        for person in range(scene.users)
    ]
    for row in range(targets.sizes.size):
        wanted: dict[int, float] = {}
        for person, entries in enumerate(entry_of):
            total, shares = 0.0, False
            for place in range(*targets.offsets[row : row + 2]):
                entry = entries.get(int(targets.items[place]))
                if entry is not None:
                    shares, visits = True, visits + 1
                    total += targets.weights[place] * people.evidence[entry]
                    if hours > 0.0:
                        total += hours * item_hour.py_func(people, targets, entry, place)  # type: ignore[attr-defined]
            if shares:
                wanted[person] = total - targets.sizes[row] * people.penalty[person]
        best = sorted(wanted, key=lambda person: (-wanted[person], person))[:kept]
        lists.append(best)
        scores.append([wanted[one] for one in best])
    return lists, scores, visits


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from([8, 60]), st.booleans(), st.sampled_from([1, 3, 10]))
def test_a_search_that_ends_early_finds_what_a_full_one_does(seed: int, users: int, timed: bool, kept: int) -> None:
    scene = crowd_scene(seed, users, timed)
    found = best_candidates(scene, Search(kept, True, None))
    lists, scores, _ = full_search(scene, 0.7 if timed else 0.0, kept)
    for row, (best, standing) in enumerate(zip(lists, scores, strict=True)):
        assert found.people[row].tolist() == best + [NOBODY] * (kept - len(best))
        assert found.scores[row, : len(best)].tolist() == standing


def visits(scene: Scene, kept: int) -> tuple[int, int]:
    """Places of lists that a search looks at, and those of all lists of all targets."""
    people, targets = scene.people, scene.targets
    postings = feature_postings(people.offsets, people.items, scene.company.popularity.size, np.arange(scene.users))
    ceilings = ceilings_of(people, *postings, 0.0)
    looked = nearest_people(people, targets, *postings[:2], ceilings, 0.0, kept)[2]
    return looked, int(np.diff(postings[0])[targets.items].sum())


def test_an_item_that_everybody_has_is_left_out() -> None:
    """Where a target has places of its own: others need it. Places of lists are counted, not seconds."""
    looked, whole = visits(crowd_scene(3, 6_000, False, 6_000, 1, 60), 2)
    assert whole > 60 * 4_096
    assert looked < whole / 2


@pytest.mark.parametrize(("timed", "kept"), [(True, 2), (False, 20)])
def test_where_long_lists_are_left_out_the_best_are_those_of_everybody(timed: bool, kept: int) -> None:
    """Of 6,000 people, by the search that scores all of them for each target."""
    scene = crowd_scene(3, 6_000, timed, 6_000, 2, 60)
    people, targets = scene.people, scene.targets._replace(habits=np.zeros_like(scene.targets.habits))
    postings = feature_postings(people.offsets, people.items, scene.company.popularity.size, np.arange(scene.users))
    hours = 0.7 if timed else 0.0
    found = nearest_people(people, targets, *postings[:2], ceilings_of(people, *postings, hours), hours, kept)
    assert found[2] < np.diff(postings[0])[targets.items].sum()
    lists, scores = best_people(people, targets, *postings, people.habits.T.copy(), hours, kept)
    sharing = found[0] != NOBODY
    assert np.array_equal(found[0][sharing], lists[sharing])
    assert found[1][sharing] == pytest.approx(scores[sharing], abs=1e-9)
    assert sharing.mean() > 0.5


def test_where_everybody_shares_one_item_each_list_is_looked_at_once() -> None:
    traces = Traces(np.arange(401, dtype=np.int64) * 4, np.zeros(1_600, np.uint32), 1)
    train, target = halves(traces)
    looked, whole = visits(scene_of(train, target, everybody_of(train, target)), 5)
    assert looked == whole == 400 * 400


def test_where_nothing_repeats_people_are_found_by_what_goes_together() -> None:
    case = random_case(5, users=15, timed=False)
    oracle = Oracle(case)
    scene = scene_of(case.train, case.target, everybody_of(case.train, case.target))
    found = best_candidates(scene, Search(8, False, None))
    sharing = best_candidates(scene, Search(4, True, None))
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


@pytest.mark.parametrize(("people", "bins", "kept"), [(300, 40, 7), (5, 3, 9), (50, 0, 4)])
def test_who_is_found_by_habits_is_found_by_looking_at_everybody(
    people: int, bins: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(people)
    known = rng.integers(-127, 128, (people, bins)).astype(np.int8)
    known[people // 2] = known[0]  # equal ones: the first stays
    asked = rng.random((20, bins)) * (rng.random((20, bins)) < 0.3)
    found = habitual_people(known, asked, kept)
    for row in range(20 if bins else 0):
        wanted = np.rint(asked[row] * 2.0**16 / max(asked[row].sum(), 1e-12)).astype(np.int64)
        standing = known.astype(np.int64) @ wanted
        best = np.argsort(-standing, kind="stable")[:kept]
        assert found[0][row, : best.size].tolist() == best.tolist()
        assert (found[0][row, best.size :] == NOBODY).all()
        assert found[1][row, : best.size] == pytest.approx((known[best] / 16.0) @ asked[row], abs=0.01)
    monkeypatch.setattr(candidates, "_PEOPLE", 7)
    monkeypatch.setattr(candidates, "_ROWS", 3)
    blocks = habitual_people(known, asked, kept)
    assert np.array_equal(found[0], blocks[0])
    assert np.array_equal(found[1], blocks[1])


def test_the_sums_of_habits_are_exact() -> None:
    """The largest that a sum can be is a whole number that the short floats hold."""
    known = np.full((3, 400), 127, np.int8)
    known[1, 0] = 126
    asked = np.full((1, 400), 123.4)
    people, scores = habitual_people(known, asked, 3)
    assert people.tolist() == [[0, 2, 1]]
    assert scores[0, 0] > scores[0, 2]


def test_nobody_stands_twice_in_a_list() -> None:
    first = np.array([[3, 1], [4, NOBODY]]), np.array([[2.0, 1.0], [1.0, -np.inf]])
    second = np.array([[1, 2], [NOBODY, 4]]), np.array([[9.0, 8.0], [-np.inf, 7.0]])
    people, scores = joined([first, second])
    assert people.tolist() == [[3, 1, NOBODY, 2], [4, NOBODY, NOBODY, NOBODY]]
    assert scores[0].tolist() == [2.0, 1.0, -np.inf, 8.0]


def test_threads_change_nothing() -> None:
    scene = scene_from(7, users=300)
    one, two = (best_candidates(scene, search_among(300, 10, True), threads) for threads in (1, 2))
    assert np.array_equal(one.people, two.people)
    assert np.array_equal(one.scores, two.scores)


def test_habits_find_candidates_among_any_number_of_people() -> None:
    learned = np.linspace(0.0, 2.0, HABITS)
    few, many, films = (search_among(*one, learned) for one in ((5000, 8, True), (5001, 8, True), (5000, 8, False)))
    assert (few.shares, many.shares, films.shares) == ((8, 0, 0), (6, 0, 2), (4, 3, 1))
    assert few.summed is not None
    assert many.summed is None
    assert many.alone is not None
    assert min(many.alone) > 0.0  # what few people have may not have been learned
    assert not many.alike
    all_of_a_million = search_among(10**6, 8, True, learned, 10**6)
    assert (all_of_a_million.shares, all_of_a_million.alike) == ((6, 0, 2), True)


def test_nobody_comes_into_question_where_nothing_is_shared() -> None:
    train, target = traces_of([[0, 1], [2, 3]], 6), traces_of([[4], [5]], 6)
    found = best_candidates(scene_of(train, target, everybody_of(train, target)), Search(2, True, None))
    assert (found.people == NOBODY).all()
    assert np.isneginf(found.scores).all()


def test_a_meeting_place_is_the_item_that_most_people_have_of_those_that_are_not_too_common() -> None:
    target = traces_of([[0, 1, 2], [3, 0], [0], [], [2, 2, 1]], 4)
    holders = np.array([900, 30, 40, 1])
    places = meeting_places(target.offsets, target.items, holders, np.array([4, 0, 1, 2, 3]), 100)
    assert places.tolist() == [2, 2, 3, -1, -1]


def habits_of_few(seed: int, people: int, bins: int, shown: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps of ln P/p of people who each have a few habits, and what a target of each of them asks."""
    rng = np.random.default_rng(seed)
    has = np.argsort(rng.random((people, bins)), axis=1)[:, :shown]
    known = np.full((people, bins), -5, np.int8)
    np.put_along_axis(known, has, rng.integers(10, 60, has.shape).astype(np.int8), axis=1)
    return known, np.where(known > 0, 1.0, 0.0)


def index_by_habits(known: np.ndarray, shares: np.ndarray) -> SearchIndex:
    scene = scene_from(1)
    told, sums = telling_bins(known, shares, 16.0, OWN_HABITS)
    alike = combinations(told, np.argsort(-sums, kind="stable"), 1 << 22)
    return index_of(scene, search_among(9_999, 8, True))._replace(habits=known, alike=alike)


def of_one_kind(bins: int) -> Company:
    return scene_from(1).company._replace(bounds=np.array([0, bins]), shares=np.full(bins, 1.0 / bins))


def test_who_has_a_telling_habit_alike_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an end to how many are looked at: the best of all who have any of the telling bins in common.

    Now and then two combinations have one place, so that somebody is compared who need not be.
    """
    monkeypatch.setattr(candidates, "ALIKE", 10**6)
    bins = 30
    known, asked = habits_of_few(3, 200, bins, 7)
    company = of_one_kind(bins)
    people, scores = own_habits(index_by_habits(known, company.shares), asked, company, 20)
    spoken = np.where(known > 0, np.exp(known / 16.0) * known, -1.0)
    own = [set(np.argsort(-row, kind="stable")[:OWN_HABITS]) for row in spoken]
    for row in range(asked.shape[0]):
        wanted = np.rint(asked[row] * 2.0**16 / asked[row].sum()).astype(np.int64)
        asks = set(np.flatnonzero(asked[row])[:ASKED_HABITS])  # all tell alike: the first
        standing = {one: int(known[one].astype(np.int64) @ wanted) for one in range(200) if own[one] & asks}
        best = sorted(standing, key=lambda one: (-standing[one], one))[:5]
        found = {one: score for one, score in zip(people[row].tolist(), scores[row], strict=True) if one in standing}
        assert list(found)[:5] == best
        assert [found[one] for one in best] == pytest.approx([known[one] @ asked[row] / 16.0 for one in best], abs=0.01)


def test_people_of_own_habits_are_found_in_a_large_crowd() -> None:
    """Of 20,000 people with five habits of sixty each, any one of which 1,700 have: of those whom a comparison with
    everybody finds nearly all are found, though fifty times fewer are looked at.
    """
    known, asked = habits_of_few(5, 20_000, 60, 5)
    company = of_one_kind(60)
    asked = asked[:500]
    right = np.arange(500)[:, None]
    everybody = (habitual_people(known, asked, 4)[0] == right).any(axis=1)
    found = (own_habits(index_by_habits(known, company.shares), asked, company, 4)[0] == right).any(axis=1)
    assert everybody.mean() > 0.8
    assert found[everybody].mean() > 0.95
