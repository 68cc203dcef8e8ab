from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from attack_oracles import traces_of
from profile_oracles import DAY, HOUR, WEEK, Oracle, day_bin, days_of, random_case

from entropie.attack.profile.attack import everybody_of
from entropie.attack.profile.candidates import scene_of
from entropie.attack.profile.everybody import asked_tally, everybody_from, fingerprints, known_tally, merge_tallies
from entropie.attack.profile.evidence import evidence_for, weighed
from entropie.attack.profile.habits import DAYS, bins_of, smoothed_hours, steps_back
from entropie.data.traces import Traces
from entropie.errors import InvalidInput
from entropie.kernels.profile_evidence import FEATURES


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("timed", [True, False])
def test_all_evidence_is_that_of_the_slow_oracle(seed: int, timed: bool) -> None:
    case = random_case(seed, timed=timed)
    oracle = Oracle(case)
    scene = scene_of(case.train, case.target, everybody_of(case.train, case.target, case.categories))
    everyone = np.tile(np.arange(case.train.users), (case.target.users, 1))
    found = evidence_for(scene, everyone)
    for number in range(case.target.users):
        for person in range(case.train.users):
            wanted = oracle.evidence(number, person)
            row = dict(zip(FEATURES, found[number, person].tolist(), strict=True))
            for name in FEATURES:
                assert row[name] == pytest.approx(wanted.get(name, 0.0), abs=2e-5), (number, person, name)


def test_where_only_hours_of_the_week_are_known_there_are_no_days() -> None:
    case = random_case(3)
    assert case.train.times is not None
    folded = dataclasses.replace(case, train=dataclasses.replace(case.train, times=case.train.times % WEEK))
    assert steps_back(folded.train) > 0
    oracle = Oracle(folded)
    scene = scene_of(folded.train, folded.target, everybody_of(folded.train, folded.target, folded.categories))
    found = evidence_for(scene, np.tile(np.arange(12), (12, 1)))
    assert not found[:, :, FEATURES.index("day")].any()
    assert found[4, 5, FEATURES.index("gap")] == pytest.approx(oracle.evidence(4, 5)["gap"], abs=2e-5)


def test_weighing_is_the_sum_of_evidence_and_no_candidate_is_never_named() -> None:
    case = random_case(7)
    scene = scene_of(case.train, case.target, everybody_of(case.train, case.target, case.categories))
    lists = np.tile(np.arange(case.train.users), (case.target.users, 1))
    lists[:, 3] = -1
    weights = np.linspace(0.0, 1.0, len(FEATURES))
    scores = weighed(scene, lists, weights)
    assert np.isneginf(scores[:, 3]).all()
    kept = lists[0] >= 0
    assert np.allclose(scores[:, kept], (evidence_for(scene, lists) @ weights)[:, kept])


def test_threads_and_blocks_of_targets_change_nothing() -> None:
    case = random_case(8, users=300, domain=90)
    everybody = everybody_of(case.train, case.target, case.categories)
    lists = np.tile(np.arange(20), (300, 1))
    whole = evidence_for(scene_of(case.train, case.target, everybody), lists)
    assert np.array_equal(whole, evidence_for(scene_of(case.train, case.target, everybody), lists, threads=2))
    some = np.array([3, 150, 299])
    assert np.array_equal(whole[some], evidence_for(scene_of(case.train, case.target, everybody, some), lists[some]))


def test_tallies_add_up_over_any_blocks() -> None:
    case = random_case(9, users=40)
    whole = everybody_of(case.train, case.target, case.categories)
    blocks = [np.arange(25, 40), np.arange(0, 10), np.arange(10, 25)]
    parts = [known_tally(case.train.take(block), True) for block in blocks]
    parts += [asked_tally(case.target.take(block)) for block in blocks]
    merged = everybody_from(merge_tallies([merge_tallies(parts[:4]), *parts[4:]]), True, case.categories)
    for name in (
        "holders",
        "popularity",
        "reach",
        "slots",
        "hours",
        "gaps",
        "returns",
        "days",
        "rarities",
        "categories",
    ):
        assert np.array_equal(getattr(whole, name), getattr(merged, name)), name


def test_shifting_traces_by_whole_weeks_changes_no_evidence() -> None:
    case = random_case(10)
    lists = np.tile(np.arange(case.train.users), (case.target.users, 1))

    def shifted(traces: Traces, seed: int) -> Traces:
        weeks = np.random.default_rng(seed).integers(0, 500, traces.users) * WEEK
        assert traces.times is not None
        times = traces.times + np.repeat(weeks, np.diff(traces.offsets))
        return Traces(traces.offsets, traces.items, traces.domain_size, times)

    def found(train: Traces, target: Traces) -> np.ndarray:
        return evidence_for(scene_of(train, target, everybody_of(train, target, case.categories)), lists)

    moved = found(shifted(case.train, 1), shifted(case.target, 2))
    assert np.array_equal(found(case.train, case.target), moved)


def test_fingerprints_depend_on_no_name() -> None:
    case = random_case(11)
    names = np.random.default_rng(0).permutation(case.train.domain_size).astype(np.uint32)
    renamed = [Traces(t.offsets, names[t.items], t.domain_size, t.times) for t in (case.train, case.target)]
    prints = fingerprints(case.train, everybody_of(case.train, case.target))
    assert np.array_equal(prints, fingerprints(renamed[0], everybody_of(*renamed)))
    assert np.unique(prints).size == prints.size


def test_bins_of_events() -> None:
    monday = 4 * DAY
    times = [[monday, monday + HOUR, monday + 4 * HOUR, monday + 5 * DAY, monday + 5 * DAY, monday + 3 * HOUR]]
    bins = bins_of(traces_of([[1, 2, 1, 3, 2, 2]], 4, times), timed=True)
    assert bins.hours is not None
    assert bins.slots is not None
    assert bins.gaps is not None
    assert bins.hours.tolist() == [0, 1, 4, 24, 24, 3]
    assert bins.slots.tolist() == [0, 0, 1, 6, 6, 0]
    assert bins.gaps.tolist() == [-1, 1, 2, 6, 0, 5]  # the last goes round the week: 51 hours
    assert bins.returns.tolist() == [-1, -1, -1, -1, 2, 0]
    assert bins_of(traces_of([[1, 2]], 4), timed=False).hours is None


def test_bins_of_days() -> None:
    """Of the first event of each day between the first and the last of a trace; other traces do not matter."""
    days = [[], [5], [5, 5, 6, 6], [6, 7, 7, 7, 9], [9] * 3 + [10] * 70 + [11] * 17 + [12], []]
    traces = traces_of([[0] * len(own) for own in days], 1, [[day * DAY + 7 for day in own] for own in days])
    bins = bins_of(traces, timed=True).days
    assert bins is not None
    found = {int(place): int(bins[place]) for place in np.flatnonzero(bins >= 0)}
    assert found == {6: 2, 13: 31, 83: 15}
    assert steps_back(traces) == 0
    assert bins_of(traces_of([[], []], 1, [[], []]), timed=True).days is not None


def test_bins_of_every_number_of_events_a_day() -> None:
    numbers = list(range(1, 100))
    times = [0, *(day * DAY for day, number in enumerate(numbers, 1) for _ in range(number)), 100 * DAY]
    bins = bins_of(traces_of([[0] * len(times)], 1, [times]), timed=True).days
    assert bins is not None
    assert days_of(times) == numbers
    assert bins[bins >= 0].tolist() == [day_bin(number) for number in numbers]
    assert bins.max() == DAYS - 1


def test_days_that_the_split_cuts_tell_nothing() -> None:
    """Fewer events on the first and the last day of a trace: the days between stay as they are."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        counts = rng.integers(1, 9, 6)
        times = np.repeat(np.arange(6) * DAY, counts)
        kept = times[rng.integers(0, counts[0]) : times.size - rng.integers(0, counts[-1])]
        found = [bins_of(traces_of([[0] * own.size], 1, [own.tolist()]), timed=True).days for own in (times, kept)]
        assert all(one is not None for one in found)
        assert [one[one >= 0].tolist() for one in found if one is not None] == [(counts[1:-1] - 1).tolist()] * 2


def test_hours_are_smoothed_round_the_clock() -> None:
    counts = np.zeros((1, 48))
    counts[0, [0, 47]] = 9.0
    smooth = smoothed_hours(counts)[0]
    assert smooth[[22, 23, 0, 1, 2]].tolist() == pytest.approx([1, 2, 3, 2, 1])
    assert smooth[[45, 46, 47, 24, 25]].tolist() == pytest.approx([1, 2, 3, 2, 1])


def test_categories_must_be_one_per_item() -> None:
    case = random_case(12)
    with pytest.raises(InvalidInput, match="one category"):
        everybody_of(case.train, case.target, np.zeros(3, np.int64))
