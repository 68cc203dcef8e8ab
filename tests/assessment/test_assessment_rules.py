"""Who is attacked, with what knowledge and how much of it: every rule against a slow attack in plain loops."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pyarrow as pa
import pytest
from assessment_tables import differences, people_with_habits, slow_attack, table_of, without_clock
from hypothesis import given, settings
from hypothesis import strategies as st

import entropie
from entropie.attack.measured import attack_outcome
from entropie.data.prepare import prepare
from entropie.request import Attackers, Request

QUICK = {"replicates": 2, "control": False}
RULES = [
    {},
    {"min_events": 14},
    {"target_events": 1},
    {"target_events": 3},
    {"train_events": 1},
    {"train_events": 4, "target_events": 2},
    {"knowledge": "maximum"},
    {"knowledge": "maximum", "target_events": 3},
    {"knowledge": "maximum", "train_events": 2},
    {"rule": "history", "train_events": 1},
    {"rule": "history", "train_events": 5},
    {"rule": "history", "train_events": 2, "target_events": 4},
    {"rule": "history", "knowledge": "maximum"},
]


def check_against_loops(table: pa.Table, matchers: list[str], **options: object) -> None:
    found = entropie.assess(table, matchers=matchers, **QUICK, **options)
    for attack in found.attacks:
        wanted = slow_attack(table, attack.matcher, **options)
        assert found.users == attack.measures.users == attack.measures.targets == wanted.users
        assert found.split["dropped_users"] == wanted.dropped_by_split
        assert attack.error == pytest.approx(wanted.error, abs=1e-12)
        assert {guess.k: guess.error for guess in attack.measures.top_k} == pytest.approx(wanted.top_k, abs=1e-12)
        assert any(
            attack.measures.equal_error_rate.value == pytest.approx(rate, abs=1e-12)
            for rate in wanted.equal_error_rates
        )
        assert found.pie_bits == pytest.approx(wanted.pie_bits, abs=1e-9)


@pytest.mark.parametrize("options", RULES, ids=str)
def test_every_rule_does_what_it_says(options):
    check_against_loops(people_with_habits(41, 60, items=40), ["markov", "visit", "cosine"], **options)


@settings(deadline=None, max_examples=30, derandomize=True)
@given(
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=9), min_size=2, max_size=9),
    st.sampled_from(RULES),
    st.integers(0, 3),
)
def test_every_rule_on_small_tables_full_of_ties(traces, options, min_events):
    options = {**options, "min_events": min_events}
    table = table_of(traces)
    attackable = slow_attack_users(table, options)
    if attackable >= 2:
        check_against_loops(table, ["markov", "visit", "cosine"], **options)
    else:
        with pytest.raises(entropie.InvalidInput):
            entropie.assess(table, **QUICK, **options)


def slow_attack_users(table: pa.Table, options: dict) -> int:
    lengths = np.unique(table["user"].to_numpy(), return_counts=True)[1]
    lengths = lengths[lengths >= options["min_events"]]
    return int((lengths >= (1 if options.get("rule") == "history" else 2)).sum())


def test_one_event_is_attacked_as_any_other_number():
    """Targets of one event take a path of their own; a second event nobody knows must not change a thing."""
    table = people_with_habits(42, 80, items=40, events=(11, 11))
    short = entropie.assess(table, matchers=["markov", "visit"], target_events=1, **QUICK)
    places = np.arange(11)
    unknown = [-1 - user for user in range(80)]  # never seen in training
    items = table["item"].to_numpy().reshape(80, 11).copy()
    items[:, 7] = unknown
    times = np.tile(places, 80)
    longer = pa.table({"user": table["user"], "item": items.ravel(), "time": times})
    longer = entropie.assess(longer, matchers=["markov", "visit"], target_events=2, **QUICK)
    for one, two in zip(short.attacks, longer.attacks, strict=True):
        assert differences(one.measures.to_json(), two.measures.to_json(), 1e-9) == {}


def test_min_events_keeps_users_and_items_in_use():
    traces = [["a", "b"] * 5, ["b", "c"] * 6, ["d"] * 9]
    found = entropie.assess(table_of(traces), **QUICK)
    assert (found.users, found.items, found.events) == (2, 3, 22)
    assert (found.input["users"], found.input["items"], found.input["events"]) == (3, 4, 31)
    assert (found.input["dropped_users"], found.input["dropped_events"]) == (1, 9)
    everybody = entropie.assess(table_of(traces), min_events=9, **QUICK)
    assert (everybody.users, everybody.items, everybody.events) == (3, 4, 31)


def test_users_whom_the_split_leaves_without_a_target_are_counted():
    traces = [["a", "b"] * 5, ["b", "c"] * 6, ["d"], ["e"]]
    found = entropie.assess(table_of(traces), min_events=1, **QUICK)
    assert (found.users, found.split["dropped_users"]) == (2, 2)
    assert found.pie_bits == pytest.approx(slow_attack(table_of(traces), "visit", min_events=1).pie_bits)


def test_the_sizes_told_are_those_of_what_was_attacked():
    """Users without a target are not attacked; neither they nor their items and events are part of the figures."""
    found = entropie.assess(table_of([["a", "b"] * 5, ["b", "c"] * 6, ["d"], ["e"]]), min_events=1, **QUICK)
    assert (found.users, found.items, found.events) == (2, 3, 22)


@pytest.mark.parametrize("kind", ["numbers", "text"])
def test_who_is_attacked_is_drawn_by_the_id_alone_and_met_by_everybody(kind):
    table = people_with_habits(43, 60, items=12)
    if kind == "text":
        names = [f"user {user}" for user in table["user"].to_pylist()]
        table = table.set_column(0, "user", [names])
    found = entropie.assess(table, targets=20, **QUICK)
    best = found.best.measures
    assert (found.users, best.users, best.targets, best.impostors) == (60, 60, 20, 20 * 59)

    def digest(user: object) -> bytes:
        return hashlib.blake2b(b"\0" + str(user).encode(), digest_size=8, person=b"entropie").digest()

    people = sorted(set(table["user"].to_pylist()))
    chosen = [people.index(user) for user in sorted(people, key=digest)[:20]]
    split = prepare(Request.of(table, {})).split
    everybody = attack_outcome(found.best.matcher, split.train, split.target)
    assert found.best.error == pytest.approx(1.0 - everybody.credit[chosen].mean(), abs=1e-12)
    assert 0.0 < found.best.error != pytest.approx(1.0 - everybody.credit.mean())
    shuffled = table.take(np.random.default_rng(0).permutation(table.num_rows))
    again = differences(
        without_clock(found.to_json()), without_clock(entropie.assess(shuffled, targets=20, **QUICK).to_json())
    )
    assert set(again) == {"/input/sha256"}


def test_all_are_everybody_and_so_are_more_than_there_are():
    table = people_with_habits(43, 20)
    whole, *other = (without_clock(entropie.assess(table, targets=n, **QUICK).to_json()) for n in (None, 20, 99, "all"))
    assert other == [whole] * 3


def test_of_many_people_some_are_attacked_unless_asked_otherwise():
    counts = [Attackers(targets=wanted).attacked(n) for wanted in (None, "all", 5) for n in (50_000, 50_001, 3)]
    assert counts == [50_000, 20_000, 3, 50_000, 50_001, 3, 5, 5, 3]


def test_ratings_below_the_least_are_left_out_by_rule():
    table = people_with_habits(44, 20, events=(30, 40))
    stars = np.random.default_rng(0).integers(1, 6, table.num_rows)
    rated = table.append_column("rating", [stars])
    found = entropie.assess(rated, min_rating=4.0, **QUICK)
    kept = table.filter(pa.array(stars >= 4))
    assert found.input["dropped"] == {"rating below the minimum": table.num_rows - kept.num_rows}
    apart = differences(without_clock(found.to_json()), without_clock(entropie.assess(kept, **QUICK).to_json()))
    assert {path for path in apart if not path.startswith("/input/")} == set()


def test_columns_may_have_any_name():
    table = people_with_habits(45, 20).rename_columns(["who", "which", "when"])
    found = entropie.assess(table, user="who", item="which", time="when", **QUICK)
    plain = entropie.assess(table.rename_columns(["user", "item", "time"]), **QUICK)
    apart = differences(without_clock(found.to_json()), without_clock(plain.to_json()))
    assert {path for path in apart if not path.startswith("/input/columns/")} == set()


def test_convergence_shows_bits_against_users():
    groups, size = 20, 20
    users = groups * size
    table = table_of([[f"group {user % groups}"] * 10 for user in range(users)])
    found = entropie.assess(table, matchers=["visit"], converge=True, replicates=20, control=False)
    document = found.to_json()["convergence"]
    sizes = [point["users"] for point in document["points"]]
    assert sizes == [100] * 4 + [200] * 4 + [400]
    assert document["points"][-1]["pse_bits"]["value"] == found.attacks[0].measures.pse_bits.value
    # All genuine scores sit on one atom; its impostor share q = sum s(s-1)/(n(n-1)) over the groups of a subsample has
    # the expected value (size-1)/(users-1). With n drawn, sum s^2 is n^2/groups + (n/groups) X, X about chi-squared
    # with groups-1 degrees of freedom: a relative deviation of q of at most sqrt(2(groups-1))/(n - groups).
    truth = math.log2((users - 1) / (size - 1))
    for point in document["points"]:
        relative = 5 * math.sqrt(2 * (groups - 1)) / (point["users"] - groups)
        assert abs(point["pse_bits"]["value"] - truth) <= -math.log2(1 - relative), point
    assert document["slope_bits_per_doubling"].keys() == {"value", "low", "high"}
    assert abs(document["slope_bits_per_doubling"]["value"]) < document["tolerance_bits"]
    assert document["settled"] in (True, None)
    assert document["limited"] is False


def test_convergence_is_refuted_where_everybody_is_unique():
    table = table_of([[f"only {user}"] * 10 for user in range(400)])
    found = entropie.assess(table, matchers=["visit"], converge=True, replicates=20, control=False)
    shown = found.convergence
    assert shown.limited is True  # the bits follow the resolution, log2(m/3): two more per doubling
    assert shown.slope_bits_per_doubling.value == pytest.approx(2.0, abs=0.05)
    assert shown.settled is False


def test_convergence_needs_two_sizes():
    table = people_with_habits(46, 60)
    assert entropie.assess(table, matchers=["visit"], converge=True, **QUICK).convergence is None
    assert entropie.assess(table, matchers=["visit"], **QUICK).to_json()["convergence"] is None


def test_progress_tells_every_stage():
    seen: list[tuple[str, float]] = []
    table = people_with_habits(46, 20)
    entropie.assess(
        table, matchers=["visit", "bayes"], replicates=2, progress=lambda stage, share: seen.append((stage, share))
    )
    stages = list(dict.fromkeys(stage for stage, _ in seen))
    assert [stage for stage in stages if not stage.startswith("reading: ")] == [
        *("attacking: visit", "control: visit", "attacking: bayes", "control: bayes"),
        *(f"attacking: known events, {how}" for how in ("to the second", "to the minute", "to the hour", "to the day")),
        *("attacking: known events, times unknown", "attacking: earlier behaviour"),
    ]
    assert stages[0].startswith("reading: ")
    assert all(0.0 <= share <= 1.0 for _, share in seen)


TABLE = table_of([["a", "b"] * 5, ["b", "c"] * 6])


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"matchers": ["magic"]}, "matcher"),
        ({"matchers": ["visit", "magic"]}, "matcher"),
        ({"rule": "thirds"}, "rule"),
        ({"knowledge": "none"}, "knowledge"),
        ({"rule": "history"}, "train_events"),
        ({"seed": -1}, "seed"),
        ({"threads": 0}, "threads"),
        ({"targets": 1}, "targets"),
        ({"targets": "few"}, "targets"),
        ({"min_events": -1}, "min_events"),
        ({"replicates": 1}, "replicates"),
        ({"max_dirty_share": 1.5}, "max_dirty_share"),
        ({"preset": "myspace"}, "preset"),
        ({"grid": "500m"}, "grid"),
        ({"memory": "lots"}, "memory"),
        ({"target_events": 0}, "target_events"),
        ({"train_events": 0}, "train_events"),
    ],
    ids=str,
)
def test_parameters_that_make_no_sense_are_named(options, name):
    with pytest.raises(entropie.InvalidParameter, match=f"Parameter `{name}`"):
        entropie.assess(TABLE, **options)


def test_a_file_that_changes_while_it_is_read(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("user,item\n" + "a,b\nc,d\n" * 500)

    def grow(stage: str, share: float) -> None:
        if stage.startswith("reading") and share > 0:
            with path.open("a") as file:
                file.write("e,f\n")

    with pytest.raises(entropie.InvalidInput, match="changed while it was read"):
        entropie.assess(path, progress=grow)


def test_one_person_is_not_enough():
    with pytest.raises(entropie.InvalidInput, match="at least two people"):
        entropie.assess(table_of([["a"] * 10]))
