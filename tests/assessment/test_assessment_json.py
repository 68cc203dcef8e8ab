"""assessment.json: the documented keys, strict JSON, and nobody's name in it."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from assessment_tables import ALL_MATCHERS, numbers, people_with_habits, table_of

import entropie
from entropie.attack.measured import best_attack

INTERVAL = {"value", "low", "high"}
TOP = {
    *("schema", "input", "split", "users", "items", "events", "attacks", "guessing_error", "name_bits", "pie_bits"),
    *("strongest", "convergence", "by_known_events", "attackers", "identifying_items"),
    *("protection", "declared", "verdict", "review", "provenance"),
}
ATTACK = {
    *("matcher", "knowledge", "users", "targets", "impostors", "identification_error", "guessing_error", "lift"),
    *("top_k", "pse_bits", "pse_finite_bits", "pse_paper_bits", "equal_error_rate", "det", "frr_at_far"),
    *("null_baseline", "seconds"),
}


@pytest.fixture(scope="module")
def found():
    return entropie.assess(people_with_habits(31, 120), replicates=50)


@pytest.fixture(scope="module")
def document(found):
    return found.to_json()


def test_the_documented_keys(document):
    assert document.keys() >= TOP
    assert document["schema"] == "entropie.assessment/1"
    assert document["input"].keys() >= {"sha256", "events", "users", "items", "dropped"}
    assert document["provenance"].keys() >= {"version", "seed", "seconds"}
    assert document["provenance"]["version"] == entropie.__version__
    assert [attack["matcher"] for attack in document["attacks"]] == list(ALL_MATCHERS)
    for attack in document["attacks"]:
        assert attack.keys() >= ATTACK
        assert attack["identification_error"].keys() == INTERVAL
        assert attack["pse_bits"].keys() == {*INTERVAL, "at_least", "resolvable", "unmatched_genuine_share"}
        assert attack["pse_finite_bits"].keys() >= INTERVAL
        assert attack["pse_paper_bits"].keys() == {"value", "jitter", "seed"}
        assert attack["equal_error_rate"].keys() >= INTERVAL
        assert all(guess.keys() >= {"k", "error"} for guess in attack["top_k"])
        assert all(len(point) == 2 for point in attack["det"])
        assert [rate["far"] for rate in attack["frr_at_far"]] == [1e-2, 1e-3, 1e-4]
        null = attack["null_baseline"]
        assert null.keys() >= {"identification_error", "pse_bits", "pse_finite_bits", "equal_error_rate"}


def test_numbers_make_sense(document):
    users = document["users"]
    assert users == 120
    assert document["guessing_error"] == pytest.approx(1 - 1 / users)
    assert document["name_bits"] == pytest.approx(math.log2(users))
    assert 0 < document["pie_bits"] <= document["name_bits"]
    for attack in document["attacks"]:
        assert (attack["targets"], attack["impostors"]) == (users, users * (users - 1))
        for place in ("identification_error", "pse_bits", "pse_finite_bits", "equal_error_rate"):
            value = attack[place]
            assert value["low"] <= value["value"] <= value["high"]
            null = attack["null_baseline"][place]
            assert null["low"] <= null["value"] <= null["high"]
        assert attack["pse_finite_bits"]["value"] <= document["name_bits"]
        assert attack["pse_bits"]["resolvable"] == pytest.approx(math.log2(users * (users - 1) / 10))
        errors = [guess["error"] for guess in attack["top_k"]]
        assert errors == sorted(errors, reverse=True)
        assert errors[0] == pytest.approx(attack["identification_error"]["value"], abs=1e-12)
        assert attack["lift"] == pytest.approx((1 - errors[0]) * users)
        far, frr = zip(*attack["det"], strict=True)
        assert list(far) == sorted(far, reverse=True)
        assert list(frr) == sorted(frr)
        assert (far[-1], frr[-1]) == (0.0, 1.0)


@pytest.mark.parametrize(
    "table",
    [
        people_with_habits(31, 120),
        table_of([["same"] * 10] * 5),
        table_of([[f"only {user}"] * 10 for user in range(5)]),
        table_of([[f"{user} {event}" for event in range(10)] for user in range(2)]),
        table_of([["a"] * 10, ["b"] * 11]),
        table_of([[1, 2] * 300, [2, 3] * 300, [3, 1] * 5]),
    ],
    ids=["habits", "all the same", "own items", "nothing shared", "two people", "long and short"],
)
def test_strict_json_there_and_back(table):
    document = entropie.assess(table, replicates=20).to_json()
    text = json.dumps(document, allow_nan=False)  # raises on NaN and infinity
    assert json.loads(text) == document
    leaves = numbers(document).values()
    assert {type(leaf) for leaf in leaves} <= {int, float, str, bool, type(None), dict, list}


def test_the_strongest_has_the_smallest_error(found, document):
    errors = [attack["identification_error"]["value"] for attack in document["attacks"]]
    assert document["strongest"] == found.strongest
    assert errors[document["strongest"]] == min(errors)
    assert len(set(errors)) > 1  # there was a choice


def test_bits_decide_between_equal_errors():
    found = entropie.assess(
        people_with_habits(5, 100),
        knowledge="maximum",
        matchers=["cosine", "visit"],
        replicates=20,
        control=False,
    )
    assert [attack.error for attack in found.attacks] == [0.0, 0.0]
    bits = [attack.measures.pse_bits.value for attack in found.attacks]
    assert found.strongest == bits.index(max(bits))


def test_the_order_of_matchers_is_kept_and_repeats_count_once():
    found = entropie.assess(
        people_with_habits(5, 30), matchers=["visit", "markov", "visit"], replicates=2, control=False
    )
    assert [attack.matcher for attack in found.attacks] == ["visit", "markov"]


def test_nobody_is_named():
    table = people_with_habits(31, 60)
    names = [f"Zoë.Quist-{user:05d}@example.org" for user in table["user"].to_pylist()]
    found = entropie.assess(table.set_column(0, "user", [names]), replicates=20, targets=50)
    text = json.dumps(found.to_json(), ensure_ascii=False) + repr(found.to_json())
    assert "Quist" not in text
    assert "example.org" not in text
    numeric = table.set_column(0, "user", [[5_550_000_017 + 101 * user for user in table["user"].to_pylist()]])
    text = json.dumps(entropie.assess(numeric, replicates=20).to_json())
    assert not any(str(5_550_000_017 + 101 * user) in text for user in range(60))


def test_what_was_left_out_is_counted():
    table = people_with_habits(31, 40, events=(5, 15))
    short = pa.table({"user": [7, None, 8], "item": [1, 2, None], "time": [1, 2, 3]})
    lengths = table.group_by("user").aggregate([("item", "count")])["item_count"].to_numpy().copy()
    document = entropie.assess(pa.concat_tables([table, short]), max_dirty_share=0.1, replicates=2).to_json()
    facts = document["input"]
    assert facts["rows"] == table.num_rows + 3
    assert facts["events"] == table.num_rows + 1
    assert facts["dropped"] == {"missing item": 1, "missing user": 1}
    lengths[7] += 1
    assert facts["dropped_users"] == (lengths < 10).sum() > 0
    assert facts["dropped_events"] == lengths[lengths < 10].sum()
    assert document["users"] == (lengths >= 10).sum()
    assert document["events"] == lengths[lengths >= 10].sum()


def test_the_headline_allows_for_the_choice_of_the_matcher():
    """On noise the best of six beats guessing by luck; its interval must not say that it is more than luck."""
    beaten = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table = pa.table({"user": np.repeat(np.arange(40), 20), "item": rng.integers(0, 60, 800)})
        found = entropie.assess(table, user="user", item="item", seed=seed, replicates=10, known_events=[])
        assert best_attack(found.attacks).error.low <= found.best.measures.identification_error.low
        assert (
            best_attack(found.attacks).error.value == found.best.error == min(attack.error for attack in found.attacks)
        )
        controls = [row.control.value for row in found.attackers if row.in_scope]
        assert found.null_error == 1.0 - max(controls)
        beaten += best_attack(found.attacks).error.high < found.guessing_error
    # at most 5 % of data sets: 4 or more of 20 would happen with probability 0.016
    assert beaten <= 3


def test_pie_by_chance_is_all_there_is_in_noise():
    rng = np.random.default_rng(8)
    table = pa.table({"user": np.repeat(np.arange(200), 20), "item": rng.integers(0, 100, 4000)})
    found = entropie.assess(table, user="user", item="item", matchers=["visit"], control=False, replicates=10)
    assert found.pie_bits == pytest.approx(found.pie_null_bits, abs=0.02)
    assert found.pie_bits > 1.0
