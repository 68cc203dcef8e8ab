"""The two ends of the scale: everything released verbatim, and nothing to find."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from assessment_tables import ALL_MATCHERS, people_with_habits, table_of

import entropie

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
Z = 5.0  # one false alarm in a million for a normal law; seeds are fixed


def finds_nothing(measures) -> bool:
    """Whether error and bits are those of an attack with nothing to find, within chance.

    Error: the credits of a target over all users sum to 1. Where users and targets are matched by a uniform
    permutation the expected total of credits is therefore 1, and Hoeffding's combinatorial variance is at most
    (sum of squared credits)/(n-1) <= n/(n-1), whatever the data. Where targets are drawn from one law for all,
    independently of the training, the total is a sum of independent credits with expected value 1 and variance <= 1.

    Bits: 2n times the plain estimate is about chi-squared with C-1 degrees of freedom for C cells, so that the
    corrected one has mean 0 and deviation sqrt(2C)/(2n) nats; cells hold ten genuine scores or stand beside an atom
    that does, so that C <= n/5 + 3. A uniform permutation leaves F people in place (expected 1, variance 1); they may
    stand where no impostor does, with the impostor probability 3/m.
    """
    n = measures.targets
    total = n * (1 - measures.identification_error.value)
    fixed = 1 + Z
    chance = Z * math.sqrt(2 * (n / 5 + 3)) / (2 * n)
    in_place = fixed / n * math.log(max(1.0, fixed / n * measures.impostors / 3))
    limit_bits = (chance + in_place) / math.log(2)
    return (
        abs(total - 1) <= Z * math.sqrt(n / (n - 1))
        and abs(measures.pse_bits.value) <= limit_bits
        and abs(measures.pse_finite_bits.value) <= limit_bits
    )


def noise(seed: int, users: int = 400, items: int = 40, events: int = 24) -> pa.Table:
    """All users draw from one law."""
    drawn = np.random.default_rng(seed).integers(0, items, (users, events))
    return table_of(drawn.tolist())


def test_pure_noise_finds_nothing():
    found = entropie.assess(noise(11), replicates=20, control=False)
    for attack in found.attacks:
        assert finds_nothing(attack.measures), attack.matcher
        assert abs(attack.error - found.guessing_error) <= Z / found.users
    # power: a tenth of the people whose second half repeats the first is enough to be noticed
    leaky = [row[:12] * 2 if user % 10 == 0 else row for user, row in enumerate(_rows(noise(11)))]
    leaks = entropie.assess(table_of(leaky), replicates=20, control=False)
    assert [attack.matcher for attack in leaks.attacks if finds_nothing(attack.measures)] == []


def _rows(table: pa.Table) -> list[list[int]]:
    users = table["user"].to_numpy().max() + 1
    return table["item"].to_numpy().reshape(users, -1).tolist()


def test_verbatim_release_names_nearly_everybody():
    table = people_with_habits(5, 300)
    found = entropie.assess(table, knowledge="maximum", replicates=20, control=False)
    errors = {attack.matcher: attack.error for attack in found.attacks}
    # Nobody fits a trace better than its own frequencies, nor points in its direction more exactly.
    assert errors["visit"] == errors["cosine"] == errors["tfidf"] == 0.0
    assert found.attacks[found.strongest].error == 0.0
    assert max(errors.values()) < 0.02, errors
    assert {attack.knowledge for attack in found.attacks} == {"maximum"}
    # power: with other events of the same people to learn from, nothing of the kind holds
    partial = entropie.assess(table, replicates=20, control=False)
    assert min(attack.error for attack in partial.attacks) > 0.02


def test_verbatim_release_of_noise():
    found = entropie.assess(noise(12), knowledge="maximum", replicates=20, control=False)
    assert found.attacks[found.strongest].error == 0.0


@pytest.mark.parametrize(
    ("table", "options"),
    [
        (people_with_habits(5, 300), {}),
        (people_with_habits(6, 400, loyalty=0.3), {"target_events": 5}),
        (people_with_habits(5, 300), {"knowledge": "maximum"}),
        (people_with_habits(7, 300), {"rule": "history", "train_events": 3}),
        (table_of([[f"only {user}"] * 12 for user in range(300)]), {}),
        (table_of([[f"group {user % 15}"] * 12 for user in range(300)]), {}),
    ],
    ids=["habits", "five events", "verbatim", "history", "own items", "groups"],
)
def test_null_baseline_finds_nothing_where_there_is_much(table, options):
    found = entropie.assess(table, replicates=20, **options)
    for attack in found.attacks:
        assert finds_nothing(attack.null), (attack.matcher, attack.null.identification_error, attack.null.pse_bits)
        assert not finds_nothing(attack.measures), attack.matcher  # power: the same on people in place


def test_null_baseline_is_unbiased_over_seeds():
    """Where every person is recognised the total of credits is the number of people left in place: mean 1, variance 1.

    A permutation that leaves nobody in place would have mean 0, none at all 60.
    """
    table = table_of([[f"only {user}"] * 10 for user in range(60)])
    seeds = 40
    totals = [
        60
        * (
            1
            - entropie.assess(table, matchers=["visit"], seed=seed, replicates=2)
            .attacks[0]
            .null.identification_error.value
        )
        for seed in range(seeds)
    ]
    assert abs(np.mean(totals) - 1) <= Z / math.sqrt(seeds)
    assert Z / math.sqrt(seeds) < 1
    assert len({round(total) for total in totals}) > 1  # the seed matters


def test_null_baseline_is_left_out_on_request():
    found = entropie.assess(noise(3, users=20), matchers=["visit"], replicates=2, control=False)
    assert found.attacks[0].null is None
    assert found.to_json()["attacks"][0]["null_baseline"] is None


def test_null_baseline_of_real_check_ins():
    path = DATA / "foursquare_nyc.parquet"
    if not path.exists():
        pytest.skip("the shared check-ins are not here")
    found = entropie.assess(path, matchers=["markov", "bayes"], replicates=20)
    for attack in found.attacks:
        assert finds_nothing(attack.null), (attack.matcher, attack.null.identification_error, attack.null.pse_bits)
        assert not finds_nothing(attack.measures), attack.matcher


def test_all_matchers_are_tried_unless_asked_otherwise():
    found = entropie.assess(noise(4, users=20), replicates=2, control=False)
    assert tuple(attack.matcher for attack in found.attacks) == ALL_MATCHERS
