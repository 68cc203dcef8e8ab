"""Information in a joint law of users and items: against the definition, dense, sparse and with many digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from theory_oracles import (
    hashed_matrix,
    information_bits,
    linear_tables,
    normalised,
    random_channel,
    random_conditional,
    random_law,
    response_matrix,
    steady,
)
from theory_precise import log2, mp, relative_error

from entropie.errors import InvalidParameter
from entropie.theory import joint
from entropie.theory.joint import Joint
from entropie.theory.special import epsilon_of, theta_of

SEEDS = st.integers(0, 2**32)


def random_table(rng: np.random.Generator, users: int, items: int, empty: float) -> np.ndarray:
    """Weights with many zeros; at least one is left."""
    table = rng.gamma(0.7, size=(users, items)) * (rng.random((users, items)) >= empty)
    table[0, 0] += 0.1
    return table


def defined_bits(table: np.ndarray, theta: float, k: int):
    """I(U;Y) = sum p(u, y) log p(u, y)/(p(u) p(y)), y = x with probability theta, else any, in 120 digits."""
    total = mp.fsum(mp.mpf(float(v)) for v in table.ravel())
    noise = (1 - mp.mpf(theta)) / k
    rows = [[mp.mpf(float(v)) / total for v in row] for row in table]
    rows = [[mp.mpf(theta) * v + noise * mp.fsum(row) for v in row] for row in rows if any(row)]
    columns = [mp.fsum(column) for column in zip(*rows, strict=True)]
    bits = mp.mpf(0)
    for row in rows:
        own = mp.fsum(row)
        bits += mp.fsum(v * log2(v / (own * c)) for v, c in zip(row, columns, strict=True) if v > 0)
    return bits


def to_sparse(table: np.ndarray, rng: np.random.Generator) -> Joint:
    """CSR by hand: rows shuffled inside, some entries split in two."""
    offsets, items, weights = [0], [], []
    for row in table:
        entries = [(x, w * part) for x, w in enumerate(row) if w > 0 for part in (0.25, 0.75)]
        for position in rng.permutation(len(entries)):
            items.append(entries[position][0])
            weights.append(entries[position][1])
        offsets.append(len(items))
    return Joint.sparse(offsets, items, weights, table.shape[1])


@steady(100)
@given(SEEDS, st.integers(1, 6), st.integers(2, 6), st.floats(0.0, 0.9), st.sampled_from([0.0, 1e-6, 0.01, 0.5, 1.0]))
def test_dense_and_sparse_are_the_definition(seed: int, users: int, items: int, empty: float, theta: float) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(rng, users, items, empty)
    true = defined_bits(table, theta, items)
    dense = joint.pie_bits(Joint.dense(table), theta)
    sparse = joint.pie_bits(to_sparse(table, rng), theta)
    assert dense == pytest.approx(float(true), rel=1e-10, abs=1e-27)
    assert sparse == pytest.approx(dense, rel=1e-10, abs=1e-27)


@steady(60)
@given(SEEDS, st.integers(1, 5), st.integers(2, 6), st.floats(0.0, 0.8), st.floats(0.01, 5.0))
def test_a_matrix_in_between(seed: int, users: int, items: int, empty: float, spread: float) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(rng, users, items, empty)
    table = table[table.sum(axis=1) > 0]
    prior, laws = table.sum(axis=1) / table.sum(), normalised(table)
    Q = random_channel(rng, items, 4, spread)
    assert joint.pie_bits_through(Joint.dense(table), Q) == pytest.approx(information_bits(prior, laws @ Q), abs=1e-13)
    theta = theta_of(spread, items)
    through = joint.pie_bits_through(Joint.dense(table), response_matrix(items, spread))
    assert joint.pie_bits(Joint.dense(table), theta) == pytest.approx(through, rel=1e-9, abs=1e-14)
    assert joint.pie_bits_through(Joint.dense(table), np.eye(items)) == pytest.approx(
        joint.pie_bits(Joint.dense(table)), rel=1e-11, abs=1e-14
    )


def test_laws() -> None:
    known = Joint.sparse([0, 3, 3, 4], [2, 0, 2, 1], [1.0, 2.0, 3.0, 2.0], 4)
    assert known.user_law == pytest.approx([0.75, 0.0, 0.25])
    assert known.item_law == pytest.approx([0.25, 0.25, 0.5])
    assert known.codes[known.held].tolist() == [0, 2, 1]
    assert known.offsets.tolist() == [0, 2, 2, 3]
    assert known.rows.tolist() == [0, 0, 2]


@pytest.mark.parametrize("theta", [1e-12, 1e-8, 1e-4])
def test_tiny_information_keeps_its_digits(theta: float) -> None:
    """Hardly any truth: 1e-12 bits are 1e-12 bits and not rounding."""
    rng = np.random.default_rng(11)
    table = random_table(rng, 12, 40, 0.8)
    true = defined_bits(table, theta, 40)
    assert true < 1e-6
    assert relative_error(joint.pie_bits(Joint.dense(table), theta), true) < 1e-11


@pytest.mark.parametrize("theta", [1.0, 0.3, 1e-6])
def test_people_who_are_almost_alike_keep_their_digits(theta: float) -> None:
    """Every user has every item and differs from the others by one part in 10^5.

    What the entries themselves lose in rounding is 1e-16 of 1e-5: eleven digits remain, nine are asked for.
    """
    rng = np.random.default_rng(12)
    table = np.outer(rng.uniform(1, 2, 8), rng.uniform(1, 2, 9)) * (1 + 1e-5 * rng.standard_normal((8, 9)))
    true = defined_bits(table, theta, 9)
    assert true < 1e-9
    assert relative_error(joint.pie_bits(Joint.dense(table), theta), true) < 1e-9


def test_alike_means_nothing() -> None:
    assert joint.pie_bits(Joint.dense(np.ones((5, 7)))) == pytest.approx(0.0, abs=1e-15)
    assert joint.pie_bits(Joint.dense(np.ones((1, 7)))) == pytest.approx(0.0, abs=1e-15)
    assert joint.pie_bits(Joint.dense(np.eye(8))) == pytest.approx(3.0, rel=1e-13)
    assert joint.pie_bits(Joint.dense(np.eye(8)), 0.0) == 0.0


def test_people_without_data_change_nothing() -> None:
    table = random_table(np.random.default_rng(2), 5, 6, 0.5)
    padded = np.vstack([table[:2], np.zeros((3, 6)), table[2:]])
    assert joint.pie_bits(Joint.dense(padded), 0.4) == pytest.approx(joint.pie_bits(Joint.dense(table), 0.4), rel=1e-13)


def test_many_users_and_items_in_little_time_and_memory() -> None:
    """10^5 users with two of 10^6 items each; everyone's first item is her own, the second is shared by all."""
    users, items = 10**5, 10**6
    columns = np.column_stack([np.arange(1, users + 1), np.zeros(users, int)]).ravel()
    known = Joint.sparse(np.arange(0, 2 * users + 1, 2), columns, np.full(2 * users, 1.0), items)
    assert joint.pie_bits(known) == pytest.approx(0.5 * math.log2(users), rel=1e-10)


def test_cost_depends_on_the_entries_and_not_on_the_domain() -> None:
    """Three people, four items out of 10^15: what nobody has takes no room."""
    k, theta = 10**15, 0.4
    known = Joint.sparse([0, 2, 3, 4], [5, 10**14, 5, 10**15 - 1], [1.0, 1.0, 2.0, 4.0], k)
    held = np.array([[1.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 4.0]]) / 8
    rows = [[mp.mpf(theta) * v + (1 - mp.mpf(theta)) * sum(row) / k for v in row] for row in held.tolist()]
    prior = [mp.mpf(sum(row)) for row in held.tolist()]
    columns = [mp.fsum(column) for column in zip(*rows, strict=True)]
    true = mp.fsum(
        v * log2(v / (own * c)) for row, own in zip(rows, prior, strict=True) for v, c in zip(row, columns, strict=True)
    )  # every other answer comes from all three alike
    assert relative_error(joint.pie_bits(known, theta), true) < 1e-10


# --- local hashing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("prime", "g", "theta"), [(7, 3, 0.6), (11, 4, 0.2)])
def test_sampled_functions_agree_with_the_whole_family(prime: int, g: int, theta: float) -> None:
    rng = np.random.default_rng(21)
    users, items = 6, 7
    prior, laws = random_law(rng, users), random_conditional(rng, users, items)
    Q = hashed_matrix(linear_tables(prime, g, items), g, epsilon_of(theta, g))
    true = information_bits(prior, laws @ Q)
    found = joint.pie_bits_local_hashing(Joint.dense(prior[:, None] * laws), [theta], prime, g, rng, functions=1500)
    assert abs(found.bits[0] - true) < 5 * found.standard_error_bits[0]
    assert abs(found.bits[0] - 1.1 * true) > 5 * found.standard_error_bits[0]  # a tenth more would have been noticed


def test_standard_error_is_that_of_a_mean() -> None:
    """Over repeated draws the mean varies as much as its standard error says."""
    known = Joint.dense(random_table(np.random.default_rng(4), 4, 7, 0.3))
    drawn = [joint.pie_bits_local_hashing(known, [0.7], 7, 3, np.random.default_rng(s), 32) for s in range(100)]
    spread = np.std([d.bits[0] for d in drawn], ddof=1)
    stated = math.sqrt(np.mean([d.standard_error_bits[0] ** 2 for d in drawn]))
    assert stated == pytest.approx(spread, rel=5 / math.sqrt(2 * 99))


def test_the_seed_decides() -> None:
    known = Joint.dense(np.eye(5))
    one, other = (joint.pie_bits_local_hashing(known, [0.5, 0.9], 5, 2, np.random.default_rng(1), 8) for _ in range(2))
    assert one.bits.tolist() == other.bits.tolist()
    alone = joint.pie_bits_local_hashing(known, [0.9], 5, 2, np.random.default_rng(1), 8)
    assert alone.bits[0] == one.bits[1]


def test_hashing_without_collisions_is_randomized_response() -> None:
    """P = g: the functions are permutations."""
    known = Joint.dense(random_table(np.random.default_rng(5), 4, 7, 0.3))
    found = joint.pie_bits_local_hashing(known, [0.4], 7, 7, np.random.default_rng(0), 5)
    assert found.bits[0] == pytest.approx(joint.pie_bits(known, 0.4), rel=1e-12)
    assert found.standard_error_bits[0] == pytest.approx(0.0, abs=1e-14)


def test_a_huge_hash_range_takes_no_room() -> None:
    """g = 10^18 as chosen for faithful estimates: no two of seven items meet, so it is randomized response over g."""
    g, prime, theta = 10**18, 10**18 + 3, 0.4
    table = random_table(np.random.default_rng(5), 12, 7, 0.3)
    found = joint.pie_bits_local_hashing(Joint.dense(table), [theta], prime, g, np.random.default_rng(0), 3)
    padded = joint.pie_bits(Joint.dense(np.hstack([table, np.zeros((12, 10**5))])), theta)
    assert padded < found.bits[0] < joint.pie_bits(Joint.dense(table))
    noise_free = theta * joint.pie_bits(Joint.dense(table))  # a lie meets an item once in 10^17 reports
    assert found.bits[0] == pytest.approx(noise_free, rel=1e-9)


# --- bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: Joint.dense([1.0, 2.0]), "table"),
        (lambda: Joint.dense([[0.0, 0.0]]), "weights"),
        (lambda: Joint.dense([[1.0, -1.0]]), "weights"),
        (lambda: Joint.dense([[1.0, math.nan]]), "weights"),
        (lambda: Joint.sparse([0, 2], [0], [1.0], 3), "offsets"),
        (lambda: Joint.sparse([1, 1], [0], [1.0], 3), "offsets"),
        (lambda: Joint.sparse([0, 2, 1, 2], [0, 1], [1.0, 1.0], 3), "offsets"),
        (lambda: Joint.sparse([0, 1], [3], [1.0], 3), "items"),
        (lambda: Joint.sparse([0, 1], [-1], [1.0], 3), "items"),
        (lambda: Joint.sparse([0, 1], [0], [1.0], 0), "domain_size"),
        (lambda: joint.pie_bits(Joint.dense([[1.0]]), 1.5), "theta"),
        (lambda: joint.pie_bits_through(Joint.dense([[1.0, 1.0]]), np.eye(3)), "matrix"),
        (lambda: joint.pie_bits_through(Joint.dense([[1.0, 1.0]]), [[0.5, 0.6], [0.5, 0.5]]), "matrix"),
        (
            lambda: joint.pie_bits_local_hashing(Joint.dense([[1.0]]), [0.5], 5, 2, np.random.default_rng(0), 1),
            "functions",
        ),
    ],
)
def test_bad_input_is_named(call, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        call()
