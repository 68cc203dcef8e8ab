from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures import nearest_neighbour
from entropie.measures.law import ScoreLaw
from entropie.measures.nearest_neighbour import _within, nearest_neighbour_bits, paper_estimate

LN2 = math.log(2.0)
Z = 5.0


def naive_bits(genuine: list[float], impostor: list[float]) -> float:
    """The formula term by term over all pairs."""
    n, m = len(genuine), len(impostor)
    total = mpmath.mpf(0)
    for index, x in enumerate(genuine):
        rho = sorted(abs(y - x) for other, y in enumerate(genuine) if other != index)
        nu = sorted(abs(y - x) for y in impostor)
        eps = max(rho[0], nu[0])
        l_i, k_i = sum(d <= eps for d in rho), sum(d <= eps for d in nu)
        far_rho, far_nu = rho[l_i - 1], nu[k_i - 1]
        if far_rho > 0 and far_nu > 0:
            total += mpmath.log(far_nu) - mpmath.log(far_rho) + mpmath.digamma(l_i) - mpmath.digamma(k_i)
        elif far_rho > 0:
            total += mpmath.digamma(l_i) - mpmath.digamma(k_i + 1)
        elif far_nu > 0:
            total += mpmath.digamma(l_i + 1) - mpmath.digamma(k_i)
        else:
            total += mpmath.digamma(l_i) - mpmath.digamma(k_i)
    return float((total / n + mpmath.log(mpmath.mpf(m) / (n - 1))) / mpmath.log(2))


grid = st.integers(-6, 6).map(lambda x: x / 4)
real = st.floats(-3, 3, allow_nan=False, width=32)


@settings(deadline=None, max_examples=300)
@given(
    genuine=st.lists(grid, min_size=2, max_size=12) | st.lists(real, min_size=2, max_size=12),
    impostor=st.lists(grid, min_size=1, max_size=15) | st.lists(real, min_size=1, max_size=15),
)
def test_equals_the_formula_over_all_pairs(genuine: list[float], impostor: list[float]) -> None:
    spacing = np.diff(np.unique(genuine + impostor))
    assume(not spacing.size or spacing.min() > 1e-9)  # quotients of denormal distances are not the subject
    found = nearest_neighbour_bits(ScoreLaw.from_scores(genuine, impostor))
    assert found == pytest.approx(naive_bits(genuine, impostor), abs=1e-9)


def test_the_rim_is_told_by_distances_not_by_rounded_sums() -> None:
    """Points within an ulp or two of centre +- radius, where the sum rounds one way and the difference the other."""
    rng = np.random.default_rng(0)
    differing = 0
    for _ in range(2000):
        centre, radius = rng.normal(), abs(rng.normal()) + 0.1
        rims = [centre - radius, centre + radius]
        near = [rim + steps * np.spacing(rim) for rim in rims for steps in (-2, -1, 0, 1, 2)]
        points = np.unique([centre, *near])
        inside = [p for p in points if abs(p - centre) <= radius]
        summed = [p for p in points if centre - radius <= p <= centre + radius]
        differing += inside != summed
        count, farthest = _within(points, np.ones(points.size, np.int64), np.array([centre]), np.array([radius]))
        assert count.tolist() == [len(inside)]
        assert farthest.tolist() == [max(abs(p - centre) for p in inside)]
    assert differing > 100


@settings(deadline=None, max_examples=100)
@given(genuine=st.lists(grid, min_size=2, max_size=10), impostor=st.lists(grid, min_size=1, max_size=10))
def test_counts_stand_for_repeated_scores(genuine: list[float], impostor: list[float]) -> None:
    law = ScoreLaw.from_scores(genuine, impostor)
    thrice = ScoreLaw.weighted(law.values, law.counts * 3, genuine)
    assert nearest_neighbour_bits(thrice) == pytest.approx(
        nearest_neighbour_bits(ScoreLaw.from_scores(genuine, impostor * 3)), abs=1e-12
    )


@pytest.mark.parametrize(("n", "m", "runs"), [(100, 9_900, 100), (1000, 1000, 50), (20_000, 200_000, 1)])
@pytest.mark.parametrize("mu", [0.0, 1.0])
def test_normal_laws(mu: float, n: int, m: int, runs: int) -> None:
    """Variance: of the log ratio over n, of the two nearest-neighbour logarithms (pi^2/6 each, at most) over n, of L over m.

    The density varies within eps, which biases the estimate by less than 1/sqrt(n) of a nat at the tails.
    """
    rng = np.random.default_rng([n, m])
    found = np.mean(
        [
            nearest_neighbour_bits(ScoreLaw.from_scores(rng.normal(mu, 1, n), rng.normal(0, 1, m))) * LN2
            for _ in range(runs)
        ]
    )
    tolerance = Z * math.sqrt((mu * mu / n + math.pi**2 / 3 / n + math.exp(mu * mu) / m) / runs) + 1 / math.sqrt(n) / 2
    assert abs(found - mu * mu / 2) < tolerance
    if mu and n > 1000:
        assert abs(found - (1.3 * mu) ** 2 / 2) > tolerance


def test_atoms_with_known_divergence() -> None:
    rng = np.random.default_rng(4)
    g, i, n, m = np.array([0.6, 0.4]), np.array([0.95, 0.05]), 5000, 10**12
    law = ScoreLaw.weighted([0.0, 1.0], rng.multinomial(m, i), np.repeat([0.0, 1.0], rng.multinomial(n, g)))
    ratio = np.log(g / i)
    truth = float(np.sum(g * ratio))
    sd = math.sqrt(float(np.sum(g * ratio**2) - truth**2) / n)
    assert nearest_neighbour_bits(law) * LN2 == pytest.approx(truth, abs=Z * sd)


def test_an_atom_without_impostors_gives_a_finite_value() -> None:
    law = ScoreLaw.from_scores([1.0] * 50, np.linspace(-1, 0, 2450))
    assert nearest_neighbour_bits(law) == pytest.approx(math.log2(50 * 50), abs=2.0)


def test_one_genuine_score_is_not_enough() -> None:
    for genuine, impostor in (([1.0], [0.0]), ([1.0, 2.0], [])):
        with pytest.raises(InvalidInput, match="two genuine"):
            nearest_neighbour_bits(ScoreLaw.from_scores(genuine, impostor))
        with pytest.raises(InvalidInput, match="two genuine"):
            paper_estimate(ScoreLaw.from_scores(genuine, impostor), 0)


def test_paper_estimate_is_seeded_labelled_and_right_for_normal_laws() -> None:
    rng = np.random.default_rng(9)
    n = 4000
    law = ScoreLaw.from_scores(rng.normal(1, 1, n), rng.normal(0, 1, 400_000))
    found = paper_estimate(law, 3)
    assert found == paper_estimate(law, 3)
    assert found.value != paper_estimate(law, 4).value
    assert (found.jitter, found.seed) == (1e-4, 3)
    tolerance = Z * math.sqrt((1 + math.pi**2 / 3 + math.e) / n) / LN2
    assert found.value == pytest.approx(0.5 / LN2, abs=tolerance)


def test_paper_estimate_of_many_targets_draws_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(10)
    n, some = 20_000, 4000
    law = ScoreLaw.from_scores(rng.normal(1, 1, n).round(1), rng.normal(0, 1, 400_000).round(1))
    everybody = paper_estimate(law, 3)
    monkeypatch.setattr(nearest_neighbour, "MOST_TARGETS", some)
    seen: list[ScoreLaw] = []
    estimate = nearest_neighbour.nearest_neighbour_bits
    monkeypatch.setattr(nearest_neighbour, "nearest_neighbour_bits", lambda law: (seen.append(law), estimate(law))[1])
    found = paper_estimate(law, 3)
    assert {(drawn.targets, drawn.impostors) for drawn in seen} == {(some, some)}
    assert found == paper_estimate(law, 3) != everybody
    values, repeats = np.unique(law.genuine, return_counts=True)
    drawn_values, drawn_repeats = np.unique(seen[0].genuine.round(1), return_counts=True)
    assert set(drawn_values) <= set(values)
    expected = some * repeats / n
    common = expected >= 5
    missed = drawn_repeats[np.searchsorted(drawn_values, values[common])] - expected[common]
    assert np.sum(missed**2 / expected[common]) < common.sum() + Z * math.sqrt(2 * common.sum())
    tolerance = Z * math.sqrt((1 + math.pi**2 / 3 + math.e) / some) / LN2
    assert found.value == pytest.approx(0.5 / LN2, abs=tolerance)


def test_paper_estimate_is_set_by_its_jitter_where_there_is_no_impostor() -> None:
    """The slip it is labelled for: a genuine atom away from the impostors."""
    law = ScoreLaw.weighted([0.0], [10**9], [1.0] * 500)
    coarse, fine = (paper_estimate(law, 1, jitter=jitter).value for jitter in (1e-2, 1e-6))
    assert fine - coarse > 10


@pytest.mark.parametrize("jitter", [0.0, -1.0, math.inf, math.nan])
def test_jitter_must_be_positive(jitter: float) -> None:
    with pytest.raises(InvalidParameter, match="jitter"):
        paper_estimate(ScoreLaw.from_scores([1.0, 2.0], [0.0]), 0, jitter=jitter)
