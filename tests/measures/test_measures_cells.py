from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.measures.cells import Cells, cells_of
from entropie.measures.law import ScoreLaw

K = 10


def naive_cells(genuine: list[float], impostor: list[float]) -> list[tuple[float, int, int]]:
    """(lowest score, genuine, impostors) of each cell, by walking down the scores one by one."""
    n, m = len(genuine), len(impostor)
    full = max(10, n // 1000)
    points = [(v, genuine.count(v), impostor.count(v)) for v in sorted({*genuine, *impostor}, reverse=True)]

    def kind(point: tuple[float, int, int]) -> object:
        value, g, i = point
        if g >= full or i >= max(K, full * m / n):
            return value  # alone
        if value > max(impostor):
            return "above"
        if value < min(impostor):
            return "below"
        return "inside"

    cells: list[tuple[float, int, int]] = []
    for _, stretch in itertools.groupby(points, key=kind):
        begun: list[tuple[float, int, int]] = []
        lowest, g, i = math.inf, 0, 0
        for value, more_g, more_i in stretch:
            lowest, g, i = value, g + more_g, i + more_i
            if g >= full and i >= K:
                begun.append((lowest, g, i))
                lowest, g, i = math.inf, 0, 0
        if g + i:
            if begun and g < full and i < K:
                _, old_g, old_i = begun.pop()
                begun.append((lowest, old_g + g, old_i + i))
            else:
                begun.append((lowest, g, i))
        cells += begun
    return cells[::-1]


@settings(deadline=None, max_examples=200)
@given(data=st.data(), coarse=st.sampled_from([1, 3, 40, 1000]))
def test_cells_equal_the_naive_walk(data: st.DataObject, coarse: int) -> None:
    score = st.integers(-coarse, coarse).map(float)
    heavy = st.sampled_from([0.0, 1.0, 7.5])
    genuine = data.draw(st.lists(score | heavy, min_size=1, max_size=80))
    impostor = data.draw(st.lists(score | heavy, min_size=1, max_size=200))
    found = cells_of(ScoreLaw.from_scores(genuine, impostor))
    listed = list(zip(found.lowest.tolist(), found.genuine.tolist(), found.impostors.tolist(), strict=True))
    assert listed == naive_cells(genuine, impostor)


def test_cells_are_few_however_many_the_scores() -> None:
    rng = np.random.default_rng(1)
    law = ScoreLaw.from_scores(rng.normal(1, 1, 50_000), rng.normal(0, 1, 200_000))
    assert cells_of(law).lowest.size < 1100


def remainder(n: int, p: float) -> float:
    """R_n(p): the integral of t^(n-1)/(1-t) from 0 to 1-p."""
    return float(mpmath.quad(lambda t: t ** (n - 1) / (1 - t), [0, 1 - p]))


@pytest.mark.parametrize(("n", "m", "p", "q"), [(7, 60, 0.3, 0.4), (12, 40, 0.08, 0.5), (5, 50, 0.5, 0.5)])
def test_expected_value_on_fixed_cells_is_the_closed_form(n: int, m: int, p: float, q: float) -> None:
    """Enumerate both binomial counts of a two-cell law: the bias is p R_n(p) - p R_{m+1}(q), summed over the cells."""
    expected = 0.0
    for a in range(n + 1):
        for b in range(m + 1):
            cells = Cells(np.array([0.0, 1.0]), np.array([a, n - a]), np.array([b, m - b]))
            ratio = np.where(cells.genuine > 0, cells.log_genuine_share() - cells.log_impostor_share(), 0.0)
            chance = math.comb(n, a) * p**a * (1 - p) ** (n - a) * math.comb(m, b) * q**b * (1 - q) ** (m - b)
            expected += chance * float(np.sum(cells.genuine_share * ratio))
    truth = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
    bias = sum(u * (remainder(n, u) - remainder(m + 1, v)) for u, v in ((p, q), (1 - p, 1 - q)))
    floored = m * m * max(q, 1 - q) ** (m - 2)  # chance of fewer than three in a cell, where 3/m is used instead
    assert expected == pytest.approx(truth + bias, abs=5 * floored + 1e-9)


@pytest.mark.parametrize(("n", "limit"), [(50, 0.284), (1000, 0.282)])
def test_a_cell_costs_about_028_over_n_at_worst(n: int, limit: float) -> None:
    worst = max(n * p * remainder(n, p) for p in np.linspace(0.05, 4.0, 80) / n)
    assert 0.25 < worst < limit


def test_impostor_shares_stop_at_three_over_m() -> None:
    cells = Cells(np.array([0.0, 1.0, 2.0]), np.array([5, 5, 5]), np.array([997, 3, 0]))
    assert cells.log_impostor_share()[2] == pytest.approx(math.log(3 / 1000))
    assert cells.log_impostor_share()[1] > math.log(3 / 1000)
    assert cells.unmatched_genuine_share == pytest.approx(1 / 3)
    tiny = Cells(np.array([0.0, 1.0]), np.array([1, 1]), np.array([2, 0]))
    assert tiny.log_impostor_share().tolist() == [0.0, 0.0]  # a share is never above one
