from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.data.scoresets import ScoreMatrix
from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.det import DetCurve, det_curve, equal_error_rate, frr_at_far
from entropie.measures.intervals import wilson
from entropie.measures.law import ScoreLaw

scores = st.lists(st.integers(0, 8).map(float), min_size=1, max_size=25)


def naive_points(genuine: list[float], impostor: list[float]) -> set[tuple[float, float]]:
    """Operating points over every threshold that no other threshold beats in both rates."""
    points = set()
    for threshold in [*genuine, *impostor, math.inf]:
        far = sum(x >= threshold for x in impostor) / len(impostor)
        frr = sum(x < threshold for x in genuine) / len(genuine)
        points.add((far, frr))
    return {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}


@settings(deadline=None, max_examples=200)
@given(genuine=scores, impostor=scores)
def test_curve_is_what_no_threshold_beats(genuine: list[float], impostor: list[float]) -> None:
    curve = det_curve(ScoreLaw.from_scores(genuine, impostor))
    points = list(zip(curve.far.tolist(), curve.frr.tolist(), strict=True))
    assert set(points) - {(0.0, 1.0)} == naive_points(genuine, impostor) - {(0.0, 1.0)}
    assert points[-1] == (0.0, 1.0)  # the end that rejects everything is always there
    assert np.all(np.diff(curve.far[:-1]) < 0)
    assert np.all(np.diff(curve.frr) > 0)
    for threshold, far, frr in zip(curve.threshold, curve.far, curve.frr, strict=True):
        assert far == sum(x >= threshold for x in impostor) / len(impostor)
        assert frr == sum(x < threshold for x in genuine) / len(genuine)
    assert np.all((curve.frr_low <= curve.frr + 1e-12) & (curve.frr <= curve.frr_high + 1e-12))


@settings(deadline=None, max_examples=200)
@given(genuine=scores, impostor=scores, rate=st.sampled_from([0.05, 0.2, 0.5]))
def test_frr_at_far_is_the_best_threshold_that_exists(genuine: list[float], impostor: list[float], rate: float) -> None:
    (found,) = frr_at_far(det_curve(ScoreLaw.from_scores(genuine, impostor)), [rate])
    if len(impostor) * rate < 1:
        assert (found.frr, found.low, found.high) == (None, None, None)
        return
    allowed = [
        sum(x < threshold for x in genuine) / len(genuine)
        for threshold in [*genuine, *impostor, math.inf]
        if sum(x >= threshold for x in impostor) / len(impostor) <= rate
    ]
    assert found.frr == min(allowed)


@settings(deadline=None, max_examples=200)
@given(genuine=scores, impostor=scores)
def test_equal_error_rate_by_hand(genuine: list[float], impostor: list[float]) -> None:
    found = equal_error_rate(ScoreLaw.from_scores(genuine, impostor), np.random.default_rng(0), replicates=20)
    points = sorted(naive_points(genuine, impostor) | {(0.0, 1.0)}, key=lambda p: (-p[0], p[1]))
    closest = min(abs(far - frr) for far, frr in points)
    assert any(
        found.value == pytest.approx((far + frr) / 2) for far, frr in points if abs(far - frr) <= closest + 1e-12
    )
    assert found.value == pytest.approx((found.far + found.frr) / 2)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    crossing = next(i for i, (far, frr) in enumerate(points) if frr >= far)
    if crossing:
        (far0, frr0), (far1, frr1) = points[crossing - 1], points[crossing]
        assert min(far1, frr0) - 1e-12 <= found.interpolated <= max(far0, frr1) + 1e-12
        t = (far0 - frr0) / (far0 - frr0 + frr1 - far1)
        assert found.interpolated == pytest.approx(far0 + t * (far1 - far0))
        assert found.interpolated == pytest.approx(frr0 + t * (frr1 - frr0))


def test_perfect_separation_and_no_separation() -> None:
    rng = np.random.default_rng(0)
    apart = equal_error_rate(ScoreLaw.from_scores(np.arange(50) + 100.0, np.arange(1000.0) / 100), rng)
    assert (apart.value, apart.low, apart.interpolated) == (0.0, 0.0, 0.0)
    assert 0.0 < apart.high < 0.1  # fifty users cannot promise zero
    one = equal_error_rate(ScoreLaw.weighted([0.0], [9900], [0.0] * 100), rng)
    assert (one.value, one.interpolated) == (0.5, 0.5)


def test_an_atom_keeps_the_two_rates_apart_and_this_is_shown() -> None:
    """Forty per cent of the genuine and 97 % of the impostor scores at the floor, as in check-ins."""
    law = ScoreLaw.weighted([0.0, 1.0], [97_000, 3_000], [0.0] * 40 + [1.0] * 60)
    found = equal_error_rate(law, np.random.default_rng(0))
    assert (found.far, found.frr) == (0.03, 0.4)
    assert found.value == pytest.approx(0.215)
    assert found.interpolated == pytest.approx(0.4 * 1 / (1 - 0.03 + 0.4), abs=1e-12)


def test_counts_beyond_a_million_million() -> None:
    law = ScoreLaw.weighted([0.0, 1.0, 2.0], [10**13, 10**10, 10**7], [0.0, 1.0, 2.0, 3.0])
    curve = det_curve(law)
    total = 10**13 + 10**10 + 10**7
    assert curve.far.tolist() == [1.0, (10**10 + 10**7) / total, 10**7 / total, 0.0, 0.0]
    assert curve.frr.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]


def normal_coverage(runs: int, n: int, by_user: bool) -> tuple[float, float]:
    """Share of intervals, whole and shrunk to 0.4, that hold the true equal-error rate of two normal laws."""
    rng = np.random.default_rng([runs, n])
    truth = NormalDist().cdf(-1.0)
    hits = np.zeros(2)
    who = np.arange(n)
    for _ in range(runs):
        scores = (rng.normal(size=(n, 1)) + rng.normal(size=(1, n)) + rng.normal(size=(n, n))) / math.sqrt(3)
        scores[who, who] += 2.0
        law = ScoreLaw.from_scores(np.diag(scores), scores[~np.eye(n, dtype=bool)])
        matrix = ScoreMatrix(scores, who, who, n) if by_user else None
        found = equal_error_rate(law, rng, comparisons=matrix, replicates=200)
        hits += [
            found.value + s * (found.low - found.value) <= truth <= found.value + s * (found.high - found.value)
            for s in (1.0, 0.4)
        ]
    return float(hits[0] / runs), float(hits[1] / runs)


@pytest.mark.parametrize("by_user", [False, True])
def test_interval_of_the_equal_error_rate_covers(by_user: bool) -> None:
    """95 % nominal; 3 % allowed for quantiles from 200 replicates of 150 users."""
    full, shrunk = normal_coverage(120, 150, by_user)
    tolerance = 5 * math.sqrt(0.95 * 0.05 / 120) + 0.03
    assert full >= 0.95 - tolerance
    assert shrunk < 0.95 - tolerance  # power


def test_the_window_around_the_crossing_changes_nothing() -> None:
    """For 3000 users only some thresholds are looked at; a bootstrap over all scores of both lists spreads as much."""
    rng = np.random.default_rng(6)
    genuine, impostor = rng.normal(1.5, 1, 3000), rng.normal(0, 1, 6000)
    law = ScoreLaw.from_scores(genuine, impostor)
    found = equal_error_rate(law, rng)
    threshold = det_curve(law).threshold[:-1]
    full = []
    for _ in range(500):
        frr = np.searchsorted(np.sort(rng.choice(genuine, genuine.size)), threshold) / genuine.size
        far = 1.0 - np.searchsorted(np.sort(rng.choice(impostor, impostor.size)), threshold) / impostor.size
        at = np.argmin(np.abs(far - frr))
        full.append((far[at] + frr[at]) / 2)
    low, high = np.quantile(full, [0.025, 0.975])
    width = high - low  # a 2.5 % quantile of 500 draws has standard error 0.12 sd, that is 0.03 of this width
    assert found.low == pytest.approx(low, abs=5 * 0.04 * width)
    assert found.high == pytest.approx(high, abs=5 * 0.04 * width)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("n", "m"), [(2000, 300), (300, 300)])
def test_rejections_at_a_rate_of_acceptance_are_covered_with_both_lists_drawn(ties: bool, n: int, m: int) -> None:
    """95 % nominal; with the threshold taken for known, as Wilson's interval at it does, half of them would miss."""
    rng, runs, rate = np.random.default_rng([n, m]), 300, 0.05
    grid = np.arange(-40, 41) / 4.0
    if ties:
        cdf = np.vectorize(NormalDist().cdf)
        far, frr = 1.0 - cdf(grid - 0.25 / 2), cdf(grid - 0.25 / 2 - 2.0)
        truth = float(frr[np.argmax(far <= rate)])
    else:
        truth = NormalDist().cdf(NormalDist().inv_cdf(1 - rate) - 2.0)
    hits, fixed = 0, 0
    for _ in range(runs):
        genuine, impostor = rng.normal(2, 1, n), rng.normal(0, 1, m)
        if ties:
            genuine, impostor = np.round(genuine * 4) / 4, np.round(impostor * 4) / 4
        (found,) = frr_at_far(det_curve(ScoreLaw.from_scores(genuine, impostor)), [rate])
        assert found.frr is not None
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= truth <= found.high
        low, high = wilson(found.frr * n, n)
        fixed += bool(low <= truth <= high)
    tolerance = 5 * math.sqrt(0.95 * 0.05 / runs)
    assert hits / runs >= 0.95 - tolerance
    if not ties:
        assert fixed / runs < 0.95 - tolerance  # power


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6), points=st.sampled_from([4, 10, 50]))
def test_thinned_curves_are_short_and_keep_ends_and_corners(seed: int, points: int) -> None:
    rng = np.random.default_rng(seed)
    genuine = np.concatenate((np.zeros(150), rng.normal(2, 1, 350)))
    law = ScoreLaw.from_scores(genuine, np.concatenate((np.zeros(3000), rng.normal(0, 1, 2000))))
    whole = det_curve(law)
    thin = whole.thinned(points)
    assert thin.far.size <= points
    assert {(0.0, 1.0), (whole.far[0], whole.frr[0])} <= set(zip(thin.far, thin.frr, strict=True))
    assert set(thin.threshold) <= set(whole.threshold)
    if points == 50:  # the jump at the atom: the corners on both sides of score 0
        jump = int(np.argmin(np.diff(whole.far)))
        assert {whole.threshold[jump], whole.threshold[jump + 1]} <= set(thin.threshold)


def test_short_curves_stay_whole() -> None:
    curve = det_curve(ScoreLaw.from_scores([1.0, 2.0], [0.0, 1.5]))
    assert curve.thinned(4) is curve
    assert curve.to_json() == [[0.5, 0.0], [0.0, 0.5], [0.0, 1.0]]
    with pytest.raises(InvalidParameter, match="points"):
        curve.thinned(3)


def test_bad_requests_are_refused() -> None:
    with pytest.raises(InvalidInput, match="DET"):
        det_curve(ScoreLaw.from_scores([], [1.0]))
    curve: DetCurve = det_curve(ScoreLaw.from_scores([1.0], [0.0]))
    with pytest.raises(InvalidParameter, match="rates"):
        frr_at_far(curve, [0.0])
