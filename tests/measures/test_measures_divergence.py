from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.data.scoresets import ScoreMatrix
from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.divergence import divergence, finite_divergence
from entropie.measures.law import ScoreLaw

LN2 = math.log(2.0)
Z = 5.0  # a correct estimator fails a check once in 1.7 million
NORMAL = NormalDist()
STEP = 1e-3
EDGES = np.arange(-7.0, 7.0 + STEP / 2, STEP)
CDF = np.array([NORMAL.cdf(x) for x in EDGES])
BINS = np.diff(CDF) / np.diff(CDF).sum()


def normal_law(rng: np.random.Generator, mu: float, n: int, m: int) -> ScoreLaw:
    """Genuine N(mu,1), impostors N(0,1), both on one grid of 0.001; the impostors as counts, however many."""
    genuine = np.floor((rng.normal(mu, 1.0, n) - EDGES[0]) / STEP)
    return ScoreLaw.weighted(np.arange(BINS.size, dtype=np.float64), rng.multinomial(m, BINS), genuine)


def coarseness(mu: float, n: int, m: int) -> float:
    """What the cells must lose, in nats, computed from the normal laws alone.

    Cells hold at least 10 (or n/1000) genuine scores; beyond the highest of m impostors, at the 1/m quantile, an impostor
    probability of 3/m stands for what cannot be seen.
    """
    top = min(-NORMAL.inv_cdf(1.0 / m), mu + 6.0)
    unseen = 1.0 - NORMAL.cdf(top - mu)
    share = max(10, n // 1000) / n
    levels = np.append(np.arange(unseen, 1.0 - share, share), 1.0)
    cuts = [top] + [mu - NORMAL.inv_cdf(level) for level in levels[1:-1]] + [-math.inf]
    kept = unseen * math.log(unseen * m / 3.0) if unseen > 0 else 0.0
    for high, low in itertools.pairwise(cuts):
        p, q = (NORMAL.cdf(high - shift) - NORMAL.cdf(low - shift) for shift in (mu, 0.0))
        kept += p * math.log(p / q)
    return mu * mu / 2.0 - kept


@pytest.mark.parametrize("mu", [0.0, 0.5, 1.0, 2.0, 3.0])
@pytest.mark.parametrize(("n", "runs"), [(100, 100), (1_000, 20), (10_000, 4), (100_000, 1)])
def test_normal_laws_have_half_mu_squared_nats(mu: float, n: int, runs: int) -> None:
    """Bias within what the cells must lose; sd: log ratio over n, impostor noise over m, cell noise 1/(2 n J)."""
    rng = np.random.default_rng([n, round(10 * mu)])
    m = n * (n - 1)
    found = [divergence(normal_law(rng, mu, n, m), rng, replicates=2).value * LN2 for _ in range(runs)]
    variance = mu * mu / n + min(math.exp(mu * mu), m / 10) / m + 1 / (2 * 10 * n)
    spread = Z * math.sqrt(variance / runs)
    off = float(np.mean(found)) - mu * mu / 2.0
    assert -spread - coarseness(mu, n, m) - 2 / n <= off <= spread + 2 / n
    if n >= 1000 and mu >= 1.0:  # power: the same check refuses scores that are 10 % off
        wrong = float(np.mean(found)) - (1.1 * mu) ** 2 / 2.0
        assert not -spread - coarseness(1.1 * mu, n, m) - 2 / n <= wrong <= spread + 2 / n


def test_cells_of_impostors_alone_would_find_bits_in_noise() -> None:
    """Why cells need genuine scores too: ten impostors per cell and first-order corrections give 5.9 bits for equal laws."""
    rng = np.random.default_rng(0)
    n, m = 1000, 999_000
    genuine, impostor = np.sort(rng.normal(size=n)), np.sort(rng.normal(size=m))
    edges = impostor[9::10]
    in_cell, others = (np.bincount(np.searchsorted(edges, x), minlength=edges.size + 1) for x in (genuine, impostor))
    g, i = in_cell[in_cell > 0] / n, np.maximum(others[in_cell > 0], 3) / m
    naive = np.sum(g * np.log(g / i)) - ((g.size - 1) / (2 * n) + np.sum(g * (1 - i) / (2 * m * i)))
    assert 5.7 < naive / LN2 < 6.1
    assert abs(divergence(ScoreLaw.from_scores(genuine, impostor), rng, replicates=2).value) < 0.05


@pytest.mark.parametrize(("n", "runs"), [(200, 100), (3_000, 20)])
def test_atoms_with_known_divergence(n: int, runs: int) -> None:
    rng = np.random.default_rng(n)
    g, i, m = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.9, 0.08, 0.015, 0.005]), n * (n - 1)
    values = np.arange(4.0)
    laws = [
        ScoreLaw.weighted(values, rng.multinomial(m, i), np.repeat(values, rng.multinomial(n, g))) for _ in range(runs)
    ]
    found = np.mean([divergence(law, rng, replicates=2).value * LN2 for law in laws])
    ratio = np.log(g / i)
    truth = float(np.sum(g * ratio))
    tolerance = Z * math.sqrt(((np.sum(g * ratio**2) - truth**2) / n + np.sum(g * g / i) / m) / runs)
    assert found == pytest.approx(truth, abs=tolerance)
    assert abs(found - 1.1 * truth) > tolerance  # power
    assert all(divergence(law, rng, replicates=2).unmatched_genuine_share == 0.0 for law in laws)


def test_an_atom_beside_a_continuous_part() -> None:
    """Nearly all impostors at the floor, as the Markov matcher makes them; above it normal laws of mean 2 and 0."""
    rng = np.random.default_rng(7)
    n, m = 4000, 4_000_000
    above, high = rng.binomial(n, 0.6), rng.binomial(m, 0.03)
    genuine = np.concatenate((np.full(n - above, -50.0), rng.normal(2, 1, above)))
    values, counts = np.append(rng.normal(0, 1, high), -50.0), np.append(np.ones(high, np.int64), m - high)
    law = ScoreLaw.weighted(values, counts, genuine)
    truth = 0.4 * math.log(0.4 / 0.97) + 0.6 * (math.log(0.6 / 0.03) + 2.0)
    second = 0.4 * math.log(0.4 / 0.97) ** 2 + 0.6 * ((math.log(20) + 2.0) ** 2 + 4.0)
    sd = math.sqrt((second - truth**2) / n + 0.36 / 0.03 * math.exp(4) / m)
    found = divergence(law, rng).value * LN2
    assert found == pytest.approx(truth, abs=Z * sd + 0.01)
    assert abs(found - 1.1 * truth) > Z * sd + 0.01


def test_genuine_scores_without_impostors_are_bounded_and_reported() -> None:
    rng = np.random.default_rng(0)
    law = ScoreLaw.weighted([0.0], [1_000_000], [5.0] * 300)
    found = divergence(law, rng)
    assert found.unmatched_genuine_share == 1.0
    assert found.value == pytest.approx(math.log2(1_000_000 / 3), abs=1e-9)
    assert found.resolvable == pytest.approx(math.log2(100_000))
    half = divergence(ScoreLaw.weighted([0.0], [1_000_000], [5.0] * 300 + [0.0] * 300), rng)
    assert half.unmatched_genuine_share == 0.5
    assert half.value == pytest.approx(0.5 * math.log2(0.5 * 1_000_000 / 3) - 0.5, abs=0.01)
    inside = divergence(ScoreLaw.weighted([0.0, 2.0], [500_000, 500_000], [1.0] * 300), rng)
    assert inside.unmatched_genuine_share == 1.0
    below = divergence(ScoreLaw.weighted([0.0], [1_000_000], [-1.0] * 3 + [0.0] * 297), rng)
    assert below.unmatched_genuine_share == pytest.approx(0.01)


def test_one_impostor_above_all_does_not_hide_the_rest() -> None:
    """A single odd impostor at the top: the value stays near what ten impostors in m can show."""
    rng = np.random.default_rng(3)
    law = ScoreLaw.from_scores(rng.normal(20, 1, 1000), np.append(rng.normal(0, 1, 99_999), 99.0))
    found = divergence(law, rng)
    assert found.value > found.resolvable - 0.5
    assert found.resolvable == pytest.approx(math.log2(10_000))


def test_permuted_labels_show_no_bits() -> None:
    """Rows of a matrix with strong user effects, dealt out anew: genuine and impostor scores have one law."""
    rng = np.random.default_rng(11)
    n = 400
    scores = rng.normal(0, 2, n)[:, None] + rng.normal(0, 1, n)[None, :] + rng.normal(size=(n, n))
    scores[np.arange(n), np.arange(n)] += 6
    scores = scores[rng.permutation(n)]
    law = ScoreLaw.from_scores(np.diag(scores), scores[~np.eye(n, dtype=bool)])
    found = divergence(law, rng)
    tolerance = Z * math.sqrt(1 / (2 * 10 * n)) / LN2
    assert abs(found.value) < tolerance
    assert abs(finite_divergence(law, n, rng).value) < tolerance


def test_all_users_identical_is_zero_bits() -> None:
    found = divergence(ScoreLaw.weighted([1.5], [9900], [1.5] * 100), np.random.default_rng(0))
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)
    finite = finite_divergence(ScoreLaw.weighted([1.5], [9900], [1.5] * 100), 100, np.random.default_rng(0))
    assert finite.value == pytest.approx(0.0, abs=1e-15)


def test_two_users_are_enough_to_answer() -> None:
    found = divergence(ScoreLaw.from_scores([3.0, 4.0], [0.0, 1.0]), np.random.default_rng(0))
    assert found.unmatched_genuine_share == 1.0
    assert found.value == 0.0  # two impostors rule out nothing
    assert found.resolvable == 0.0


@pytest.mark.parametrize(("genuine", "impostor"), [([], [1.0]), ([1.0], []), ([], [])])
def test_bits_need_both_laws(genuine: list[float], impostor: list[float]) -> None:
    with pytest.raises(InvalidInput, match="at least two users"):
        divergence(ScoreLaw.from_scores(genuine, impostor), np.random.default_rng(0))


def test_halving_the_grid_hardly_moves_the_bits() -> None:
    rng = np.random.default_rng(2)
    genuine, impostor = rng.normal(2, 1, 5000), rng.normal(0, 1, 500_000)
    bits = [
        divergence(ScoreLaw.from_scores(np.floor(genuine / h), np.floor(impostor / h)), rng, replicates=2).value
        for h in (2e-3, 1e-3)
    ]
    assert abs(bits[0] - bits[1]) < 0.01


@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_order_and_monotone_scale_do_not_matter(data: st.DataObject) -> None:
    genuine = data.draw(st.lists(st.integers(0, 30).map(float), min_size=2, max_size=60))
    impostor = data.draw(st.lists(st.integers(-10, 30).map(float), min_size=2, max_size=200))
    value = divergence(ScoreLaw.from_scores(genuine, impostor), np.random.default_rng(0), replicates=2).value
    moved = ScoreLaw.from_scores([math.exp(x / 9) for x in genuine[::-1]], [math.exp(x / 9) for x in impostor[::-1]])
    assert divergence(moved, np.random.default_rng(0), replicates=2).value == value


# --- finite number of users


def exact_information_bits(users: int, g: list[float], i: list[float]) -> float:
    """I(U;S) by enumerating every score vector: U uniform, her score from g, the others' from i."""
    total = 0.0
    for vector in itertools.product(range(len(g)), repeat=users):
        given = [math.prod(g[s] if v == u else i[s] for v, s in enumerate(vector)) for u in range(users)]
        mean = sum(given) / users
        total += sum(p * math.log2(p / mean) for p in given if p > 0) / users
    return total


@pytest.mark.parametrize("users", [1, 2, 3, 6])
@pytest.mark.parametrize("g", [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1]])
def test_finite_value_bounds_the_exact_information_from_below(users: int, g: list[float]) -> None:
    i, n, m = [0.7, 0.2, 0.1], 1_000_000, 10**12
    counts = (n * np.array(g)).round().astype(int)
    law = ScoreLaw.weighted([0.0, 1, 2], (m * np.array(i)).astype(np.int64), np.repeat([0.0, 1, 2], counts))
    found = finite_divergence(law, users, np.random.default_rng(0), replicates=2).value
    formula = sum(p * -math.log2((users - 1) / users * q / p + 1 / users) for p, q in zip(g, i, strict=True))
    assert found == pytest.approx(formula, abs=1e-5)
    assert found <= exact_information_bits(users, g, i) + 1e-9
    assert found <= math.log2(users) + 1e-12


def test_finite_value_saturates_at_log_users_while_divergence_does_not() -> None:
    law = ScoreLaw.weighted([0.0], [10**12], [1.0] * 1000)
    rng = np.random.default_rng(0)
    assert finite_divergence(law, 1000, rng).value == pytest.approx(math.log2(1000), abs=1e-5)
    assert divergence(law, rng).value > 38
    assert finite_divergence(law, 10**6, rng).value > finite_divergence(law, 1000, rng).value


def test_finite_value_needs_a_user() -> None:
    with pytest.raises(InvalidParameter, match="users"):
        finite_divergence(ScoreLaw.from_scores([1.0], [0.0]), 0, np.random.default_rng(0))


# --- intervals


def coverage(runs: int, n: int, mu: float, effect: float, by_user: bool) -> tuple[float, float]:
    """Share of intervals, and of intervals shrunk to 0.4 of their width, that hold the true divergence.

    Users have additive effects of variance `effect`, as probes and as references.
    """
    rng = np.random.default_rng([n, runs, round(10 * effect)])
    truth = mu * mu / 2.0 / (1.0 + 2.0 * effect) / LN2
    hits = np.zeros(2)
    who = np.arange(n)
    for _ in range(runs):
        probe, reference = rng.normal(0.0, math.sqrt(effect), (2, n))
        scores = probe[:, None] + reference[None, :] + rng.normal(size=(n, n))
        scores[who, who] += mu
        law = ScoreLaw.from_scores(np.diag(scores), scores[~np.eye(n, dtype=bool)])
        matrix = ScoreMatrix(scores, who, who, n) if by_user else None
        found = divergence(law, rng, comparisons=matrix, replicates=200)
        low, high, value = found.low, found.high, found.value
        hits += [value + s * (low - value) <= truth <= value + s * (high - value) for s in (1.0, 0.4)]
    return float(hits[0] / runs), float(hits[1] / runs)


@pytest.mark.parametrize(("effect", "by_user"), [(0.0, False), (0.0, True), (0.5, True)])
def test_intervals_hold_the_truth_as_often_as_they_say(effect: float, by_user: bool) -> None:
    """95 % nominal; 3 % is allowed for estimating quantiles from 150 users and 200 replicates."""
    runs = 120
    tolerance = Z * math.sqrt(0.95 * 0.05 / runs) + 0.03
    full, shrunk = coverage(runs, 150, 1.5, effect, by_user)
    assert full >= 0.95 - tolerance
    assert shrunk < 0.95 - tolerance  # power


def test_the_same_seed_gives_the_same_interval() -> None:
    law = normal_law(np.random.default_rng(1), 1.0, 200, 39_800)
    first, second, other = (divergence(law, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert first == second
    assert first.value == other.value
    assert first.low < first.value < first.high


def list_coverage(runs: int, n: int, m: int, mu: float) -> tuple[float, float]:
    """Share of intervals that hold the divergence of two normal lists; and of those with the impostors held fixed."""
    rng = np.random.default_rng([n, m])
    truth, hits = mu * mu / 2.0 / LN2, np.zeros(2)
    for _ in range(runs):
        law = ScoreLaw.from_scores(rng.normal(mu, 1.0, n), rng.normal(size=m))
        found = divergence(law, rng, replicates=200)
        known = divergence(ScoreLaw.weighted(law.values, law.counts * 1000, law.genuine), rng, replicates=200)
        hits[0] += found.low <= truth and (found.at_least or truth <= found.high)
        hits[1] += known.low <= truth <= known.high
    return float(hits[0] / runs), float(hits[1] / runs)


@pytest.mark.parametrize(("n", "m"), [(3000, 500), (200, 200)])
def test_lists_vary_on_both_sides(n: int, m: int) -> None:
    """At least 95 %, one-sided where impostors do not reach as far; taken for a thousand times as many they mislead."""
    runs = 60
    tolerance = Z * math.sqrt(0.95 * 0.05 / runs)
    both, fixed = list_coverage(runs, n, m, 1.0)
    assert both >= 0.95 - tolerance
    assert fixed < 0.95 - tolerance  # power


def test_bits_are_called_a_lower_bound_where_genuine_scores_have_no_impostor_beside_them() -> None:
    rng = np.random.default_rng(3)
    apart = divergence(ScoreLaw.from_scores(rng.normal(4, 1, 500), rng.normal(0, 1, 500)), rng, replicates=50)
    assert apart.at_least
    assert apart.to_json()["at_least"] is True
    assert apart.low < 8.0 / LN2
    near = divergence(ScoreLaw.from_scores(rng.normal(0, 1, 200), rng.normal(0, 1, 200_000)), rng, replicates=50)
    assert near.at_least == (near.unmatched_genuine_share > 0.0)
