from __future__ import annotations

import numpy as np
import pytest
from attack_oracles import traces_of
from profile_oracles import DAY, HOUR, WEEK, random_case

from entropie.attack.profile import ProfileAttack, profile_attack
from entropie.attack.profile import attack as attack_module
from entropie.attack.profile import candidates as candidates_module
from entropie.attack.profile import everybody as everybody_module
from entropie.attack.profile import people as people_module
from entropie.attack.profile.attack import everybody_of, learn, name_targets
from entropie.attack.profile.candidates import Candidates, scene_of
from entropie.attack.profile.rows import naming_of
from entropie.data import traces as data_traces
from entropie.data.split import Split, split_traces
from entropie.data.traces import Traces, cut_runs
from entropie.errors import InvalidInput
from entropie.kernels.profile_evidence import FEATURES
from entropie.kernels.profile_records import NOBODY


def lifelike(seed: int, users: int = 150, timed: bool = True) -> tuple[Split, np.ndarray]:
    """People with favourite places, hours and kinds of place, seen 12 to 60 times."""
    rng = np.random.default_rng(seed)
    domain = 400
    rows, times = [], []
    for _ in range(users):
        count = int(rng.integers(12, 60))
        home = rng.integers(0, domain)
        near = (home + rng.integers(-15, 16, 5)) % domain
        fresh = (home + rng.normal(0, 25, count).astype(int)) % domain
        rows.append(np.where(rng.random(count) < 0.4, rng.choice(near, count), fresh))
        hour = rng.integers(0, 24)
        times.append(np.arange(count) * 30 * HOUR // 24 * 24 + (hour + rng.integers(-2, 3, count)) % 24 * HOUR)
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    clock = np.concatenate(times).astype(np.int64) if timed else None
    traces = Traces(offsets, np.concatenate(rows).astype(np.uint32), domain, clock)
    return split_traces(traces), (np.arange(domain) // 3) % 11


def credit(found: Candidates, owners: np.ndarray) -> np.ndarray:
    return naming_of(found, owners, owners.size).credit


def errors(found: ProfileAttack, owners: np.ndarray) -> list[float]:
    return [1.0 - float(credit(one, owners).mean()) for one in (found.plain, found.crowd, found.joint)]


def same(one: Candidates, other: Candidates) -> bool:
    return np.array_equal(one.people, other.people) and np.array_equal(one.scores, other.scores)


def test_blocks_of_people_and_of_targets_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    split, categories = lifelike(4, 60)
    whole = profile_attack(split.train, split.target, categories, threads=1)
    some = np.array([3, 4, 40, 59])
    monkeypatch.setattr(data_traces, "BLOCK_USERS", 7)
    monkeypatch.setattr(attack_module, "AT_ONCE", 11)
    blocks = profile_attack(split.train, split.target, categories, threads=1)
    drawn = profile_attack(split.train, split.target, categories, attacked=some, threads=1)
    for name in ("plain", "crowd", "joint"):
        one, other = getattr(whole, name), getattr(blocks, name)
        assert np.array_equal(one.people, other.people)
        assert np.array_equal(one.scores, other.scores)
    assert np.array_equal(drawn.plain.people, whole.plain.people[some])
    assert np.array_equal(drawn.plain.scores, whole.plain.scores[some])


@pytest.mark.parametrize("nearby", [0, 3, 1_000])
def test_the_order_in_which_targets_are_looked_at_changes_nothing(nearby: int, monkeypatch: pytest.MonkeyPatch) -> None:
    split, categories = lifelike(5, 60)
    whole = profile_attack(split.train, split.target, categories, threads=1)
    monkeypatch.setattr(attack_module, "NEARBY", nearby)
    monkeypatch.setattr(attack_module, "AT_ONCE", 13)
    other = profile_attack(split.train, split.target, categories, threads=1)
    assert same(whole.plain, other.plain)
    assert same(whole.joint, other.joint)


def test_habits_find_people_where_not_everybody_is_compared_in_any_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    split, _ = lifelike(6, 60)
    monkeypatch.setattr(candidates_module, "SUMMED_USERS", 10)
    monkeypatch.setattr(candidates_module, "HABIT_PAIRS", 60 * 60 - 1)
    lesson = learn(split.train)
    found = name_targets(split.train, split.target, lesson, kept=12)
    strangers = 0
    for number in range(60):
        asked = set(split.target.items[slice(*split.target.offsets[number : number + 2])].tolist())
        for person in found.people[number][found.people[number] != NOBODY].tolist():
            strangers += not asked & set(split.train.items[slice(*split.train.offsets[person : person + 2])].tolist())
    assert strangers > 0
    monkeypatch.setattr(attack_module, "AT_ONCE", 13)
    assert same(found, name_targets(split.train, split.target, lesson, kept=12, threads=2))


def test_what_would_take_many_hours_is_refused_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody at one of three items: all people would be compared with all."""
    traces = Traces(np.arange(401, dtype=np.int64) * 6, (np.arange(2_400) * 7 % 11 % 3).astype(np.uint32), 3)
    split = split_traces(traces)
    lesson = learn(split.train)
    monkeypatch.setattr(candidates_module, "SUMMED_USERS", 10)
    monkeypatch.setattr(attack_module, "MANY_TARGETS", 100)
    name_targets(split.train, split.target, lesson)
    monkeypatch.setattr(attack_module, "MOST_LOOKS", 100_000)
    with pytest.raises(
        InvalidInput, match=r"400 people must take at most 100,000 comparisons, got about .*; attack some"
    ):
        name_targets(split.train, split.target, lesson)
    name_targets(split.train, split.target, lesson, rows=np.arange(100))  # not many


def test_one_person_with_a_great_many_items_is_looked_at_no_longer_than_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted: entries of profiles, and items of traces that say what goes together."""
    split, categories = lifelike(7, 60)
    giant = np.random.default_rng(0).permutation(400)[:300].astype(np.uint32)
    train, target = (
        Traces(
            np.append(part.offsets, part.offsets[-1] + giant.size),
            np.concatenate((part.items, giant)),
            400,
            np.append(part.times, np.arange(giant.size) * HOUR),
        )
        for part in (split.train, split.target)
    )
    plain = scene_of(train, target, everybody_of(train, target, categories))
    for module in (everybody_module, people_module):
        monkeypatch.setattr(module, "LONGEST", 60)
    everybody = everybody_of(train, target, categories)
    scene = scene_of(train, target, everybody)
    lengths = np.diff(scene.people.offsets)
    assert lengths.max() == lengths[60] == 60
    assert np.flatnonzero(scene.company.weights == 0.0).tolist() == [60, 121]
    assert (everybody.reach < everybody_of(split.train, split.target, categories).reach + 1e-6).all()
    first, kept = plain.people.offsets[60], scene.people.items[scene.people.offsets[60] :]
    told = dict(zip(plain.people.items[first:].tolist(), plain.people.evidence[first:].tolist(), strict=True))
    least = min(told[item] for item in kept.tolist())
    assert sum(value > least for value in told.values()) < 60
    assert np.all(np.diff(kept.astype(np.int64)) > 0)
    assert scene.people.slot_starts.size == scene.people.items.size + 1
    assert scene.people.slot_starts[-1] == scene.people.slots.size == scene.people.slot_evidence.size
    found = profile_attack(train, target, categories, threads=1)
    assert credit(found.plain, np.arange(61))[60] == 1.0
    assert (
        errors(found, np.arange(61))[0]
        <= errors(profile_attack(split.train, split.target, threads=1), np.arange(60))[0] + 0.1
    )


def test_people_are_found_and_the_crowd_helps() -> None:
    split, categories = lifelike(1)
    plain, crowd, joint = errors(profile_attack(split.train, split.target, categories, threads=1), np.arange(150))
    assert plain < 0.5
    assert joint <= crowd <= plain
    untimed = Traces(split.train.offsets, split.train.items, 400), Traces(split.target.offsets, split.target.items, 400)
    assert plain < errors(profile_attack(*untimed, threads=1), np.arange(150))[0]


def test_owners_of_targets_teach_nothing() -> None:
    """Shuffling the targets changes neither what is learned nor what is found for any of them."""
    split, categories = lifelike(2, users=80)
    order = np.random.default_rng(0).permutation(80)
    plain = profile_attack(split.train, split.target, categories, threads=1)
    moved = profile_attack(split.train, split.target.take(order), categories, threads=1)
    assert np.array_equal(plain.lesson.fusion.weights, moved.lesson.fusion.weights)
    assert plain.lesson.temperature == moved.lesson.temperature
    assert np.array_equal(plain.plain.people[order], moved.plain.people)
    assert np.array_equal(plain.plain.scores[order], moved.plain.scores)
    assert plain.joint.scores[order] == pytest.approx(moved.joint.scores, abs=1e-6)
    assert errors(plain, np.arange(80)) == pytest.approx(errors(moved, order))


def test_names_of_people_and_items_do_not_matter() -> None:
    split, categories = lifelike(3, users=80)
    rng = np.random.default_rng(1)
    people, names = rng.permutation(80), rng.permutation(400)
    renamed = [
        Traces(t.offsets, names.astype(np.uint32)[t.items], 400, t.times)
        for t in (split.train.take(people), split.target.take(people))
    ]
    moved_categories = np.empty(400, np.int64)
    moved_categories[names] = categories
    plain = profile_attack(split.train, split.target, categories, threads=1)
    moved = profile_attack(renamed[0], renamed[1], moved_categories, threads=1)
    assert moved.lesson.fusion.weights == pytest.approx(plain.lesson.fusion.weights, abs=1e-4)
    assert errors(moved, np.arange(80)) == pytest.approx(errors(plain, np.arange(80)), abs=0.5 / 80)


def test_dates_do_not_matter() -> None:
    """Moving every trace by weeks of its own changes not one bit: a target does not begin where a training ends."""
    split, categories = lifelike(4, users=80)
    rng = np.random.default_rng(2)

    def moved(traces: Traces) -> Traces:
        assert traces.times is not None
        weeks = np.repeat(rng.integers(-20, 900, traces.users) * WEEK, np.diff(traces.offsets))
        return Traces(traces.offsets, traces.items, traces.domain_size, traces.times + weeks)

    here = profile_attack(split.train, split.target, categories, threads=1)
    there = profile_attack(moved(split.train), moved(split.target), categories, threads=1)
    assert same(here.plain, there.plain)
    assert same(here.joint, there.joint)


@pytest.mark.parametrize("kind", ["places", "films", "hours", "days"])
def test_lengths_name_nobody(kind: str) -> None:
    """Everybody draws from one law; only the length of a target is that of its owner's training. No attack finds that.

    The number found by guessing is about Poisson(1); more than 12 of 300 come by chance once in 10^10 runs. Naming the
    training of the nearest length, the scorer that must not be, finds more.
    """
    rng = np.random.default_rng(7)
    users, domain = 300, 30_000
    lengths = np.clip(np.exp(rng.normal(3, 0.9, users)).astype(int), 5, 300)
    rows = [rng.choice(domain, 2 * one, replace=kind != "films") for one in lengths]
    clock = [np.cumsum(rng.exponential(9 * HOUR, 2 * one)).astype(int).tolist() for one in lengths]
    if kind == "days":  # halves cut a day
        clock = [
            (np.repeat(np.arange(2 * one), rng.integers(1, 10, 2 * one))[: 2 * one] * DAY).tolist() for one in lengths
        ]
    traces = traces_of([row.tolist() for row in rows], domain, clock if kind in ("hours", "days") else None)
    split = split_traces(traces)
    found = profile_attack(split.train, split.target, threads=1)
    for error in errors(found, np.arange(users)):
        assert (1.0 - error) * users <= 12
    measured = np.diff(split.train.offsets)
    tied = np.abs(measured[:, None] - np.diff(split.target.offsets)[None, :]) == 0
    assert (np.diag(tied) / np.maximum(tied.sum(axis=0), 1)).sum() > 25


@pytest.mark.parametrize("own", [True, False])
def test_people_are_told_apart_by_events_a_day_where_that_is_a_habit(own: bool) -> None:
    """Twenty people come so many times a day as nobody else, on as many days as they need to have 240 events."""
    rng = np.random.default_rng(9)
    numbers = [3 + person if person < 20 else 2 for person in range(300)]
    days = [np.repeat(np.arange(240), number if own else rng.integers(1, 9, 240))[:240] for number in numbers]
    clock = [(one * DAY).tolist() for one in days]
    split = split_traces(traces_of(rng.integers(0, 5, (300, 240)).tolist(), 5, clock))
    found = profile_attack(split.train, split.target, threads=1)
    named = credit(found.plain, np.arange(300))
    if own:
        assert named[:20].mean() > 0.6
        assert found.lesson.fusion.weights[FEATURES.index("day")] > 0.0
    else:
        assert named.sum() <= 12  # as in the test of lengths


def test_lengths_permuted_between_people_change_little() -> None:
    """Targets cut to lengths drawn from other people: what is lost is lost by shorter targets, not by the draw."""
    split, categories = lifelike(5)
    lesson = learn(split.train, categories)
    counts = np.diff(split.target.offsets)
    share = np.random.default_rng(3).uniform(0.4, 1.0, counts.size)
    found = []
    for lengths in (np.ceil(counts * share), np.ceil(counts * 0.7)):
        kept = np.arange(split.target.events) - np.repeat(split.target.offsets[:-1], counts) < np.repeat(
            lengths, counts
        )
        assert split.target.times is not None
        offsets = np.concatenate(([0], np.cumsum(np.add.reduceat(kept, split.target.offsets[:-1])))).astype(np.int64)
        target = Traces(offsets, split.target.items[kept], 400, split.target.times[kept])
        found.append(credit(name_targets(split.train, target, lesson, categories), np.arange(150)).mean())
    assert found[0] == pytest.approx(found[1], abs=0.12)  # three standard errors of a paired difference


def test_people_who_never_repeat_are_found_by_taste() -> None:
    rng = np.random.default_rng(8)
    users, domain = 120, 1200
    rows = []
    for person in range(users):
        taste = person % 12
        pool = np.concatenate((np.arange(100) + 100 * taste, rng.choice(domain, 20)))
        rows.append(rng.choice(np.unique(pool), 40, replace=False).tolist())
    split = split_traces(traces_of(rows, domain))
    found = profile_attack(split.train, split.target, threads=1)
    assert not found.lesson.repeats
    plain, _, joint = errors(found, np.arange(users))
    assert plain < 0.95
    assert joint < plain
    named = found.plain.people[:, 0]
    assert (named % 12 == np.arange(users) % 12).mean() > 0.9
    assert found.lesson.fusion.weights[FEATURES.index("again")] > 1.0  # having seen a film speaks against


def test_few_who_repeat_are_found_among_many_who_do_not() -> None:
    """A twentieth of the people keeps coming back to places of their own; everybody else meets everything once."""
    rng = np.random.default_rng(11)
    users, few, domain = 400, 20, 8000
    rows = [rng.choice(domain - few, 24, replace=False) for _ in range(users)]
    for person in range(few):
        rows[person][rng.random(24) < 0.4] = domain - few + person
    split = split_traces(traces_of([row.tolist() for row in rows], domain))
    found = profile_attack(split.train, split.target, threads=1)
    assert not found.lesson.repeats
    for one in (found.plain, found.joint):
        assert credit(one, np.arange(users))[:few].mean() > 0.9


def test_some_targets_are_attacked_as_among_all() -> None:
    split, categories = lifelike(9, users=80)
    lesson = learn(split.train, categories)
    rows = np.array([70, 3, 41])
    whole = name_targets(split.train, split.target, lesson, categories)
    some = name_targets(split.train, split.target, lesson, categories, rows=rows)
    assert same(Candidates(whole.people[rows], whole.scores[rows]), some)


def test_threads_change_nothing() -> None:
    split, categories = lifelike(6, users=150)
    one = profile_attack(split.train, split.target, categories, threads=1)
    two = profile_attack(split.train, split.target, categories, threads=2)
    assert same(one.plain, two.plain)
    assert same(one.joint, two.joint)


@pytest.mark.parametrize("rows", [[[0, 1]], [[0], [0]], [[0, 1], [1, 0], [2, 2]], [[5, 5, 5, 5]] * 3])
def test_tiny_inputs(rows: list[list[int]]) -> None:
    traces = traces_of(rows, 6)
    found = profile_attack(traces, traces, threads=1)
    share = credit(found.joint, np.arange(len(rows)))
    assert share.shape == (len(rows),)
    assert np.isfinite(share).all()
    if rows == [[5, 5, 5, 5]] * 3:
        assert share.tolist() == pytest.approx([1 / 3] * 3)  # who behaves alike shares the credit


def test_ties_share_credit() -> None:
    found = Candidates(np.array([[3, 1, 2], [0, 1, 2], [NOBODY] * 3]), np.array([[5, 5, 1], [9, 8, 8], [-np.inf] * 3]))
    named = naming_of(found, np.array([1, 1, 2]), 4)
    assert named.credit.tolist() == [0.5, 0.0, 0.25]  # where nobody comes into question the attacker guesses
    assert named.rank_low is not None
    assert named.rank_high is not None
    assert (named.rank_low.tolist(), named.rank_high.tolist()) == ([0, 1, 0], [1, 2, 3])
    assert named.clarity.tolist() == [0.0, 1.0, -1.0]
    assert naming_of(found, np.array([3, 0, 0]), 4).credit.tolist() == [0.5, 1.0, 0.25]
    alone = Candidates(np.array([[2, NOBODY], [1, 0]]), np.array([[3.0, -np.inf], [7.0, 3.0]]))
    assert naming_of(alone, np.array([2, 0]), 3).clarity.tolist() == [5.0, 4.0]


def test_halves_must_belong_together() -> None:
    case = random_case(1)
    with pytest.raises(InvalidInput, match="same users"):
        profile_attack(case.train, case.target.take(np.arange(3)))


def test_who_knows_some_of_the_attacked_events_rules_out_whoever_lacks_one() -> None:
    """Five known films of ninety: how the rest of the trace goes on is noise, and was once weighed as evidence."""
    rng = np.random.default_rng(11)
    popular = rng.permutation(300)[np.minimum(rng.geometric(0.012, (250, 90)) - 1, 299)]
    times = np.cumsum(rng.integers(1, 40, popular.shape), axis=1) * HOUR
    offsets = np.arange(251, dtype=np.int64) * 90
    whole = Traces(offsets, popular.ravel().astype(np.uint32), 300, times.ravel())
    known = cut_runs(whole, offsets[:-1], np.full(250, 5))
    held = [set(row) for row in popular.tolist()]
    fits = np.array([[set(row[:5]) <= one for row in popular.tolist()] for one in held])  # [target, candidate]
    found = profile_attack(known, whole, contained=1.0, threads=1)
    for lists in (found.plain, found.crowd, found.joint):
        named = lists.people[np.arange(250), lists.scores.argmax(axis=1)]
        assert fits[np.arange(250), named].all()
    assert min(1.0 - error for error in errors(found, np.arange(250))) > (1.0 / fits.sum(axis=1)).mean() - 0.02
