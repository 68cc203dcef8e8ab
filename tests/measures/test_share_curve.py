from __future__ import annotations

from itertools import combinations

import mpmath
import numpy as np
import pytest

from entropie.measures.share_curve import STEEP, exact_shares, followed


def process(d: float, alpha: float, people: int) -> float:
    """Expected number of classes of the process of Pitman and Yor for each person, in 50 digits."""
    with mpmath.workdps(50):
        classes, alone = mpmath.mpf(0), mpmath.mpf(1)
        for number in range(people):
            classes += alone
            alone *= (mpmath.mpf(alpha) + number + d) / (mpmath.mpf(alpha) + number + 1)
        return float(classes / people)


def test_shares_among_fewer_people_are_the_mean_over_all_of_their_groups() -> None:
    """Seven people with the ranks 0, 0, 1, 2, 2, 4, 6: every group of every size that each may find themselves in."""
    ranks = [0, 0, 1, 2, 2, 4, 6]
    before, weights = np.arange(7.0), np.bincount(ranks, minlength=7).astype(float)
    sizes, shares = exact_shares(before, weights[None, :], 6)
    for size, share in zip(sizes.astype(int), shares[0], strict=True):
        groups = list(combinations(range(6), size - 1))  # strangers, the better ones first
        first = [np.mean([min(group, default=6) >= rank for group in groups]) for rank in ranks]
        assert share == pytest.approx(np.mean(first), abs=1e-12)


@pytest.mark.parametrize(("d", "alpha"), [(0.05, 3.0), (0.6, 40.0), (0.9, 0.5), (0.3, 200.0)])
def test_a_curve_of_the_process_is_followed(d: float, alpha: float) -> None:
    sizes = np.unique(np.geomspace(2, 200, 12).round())
    shares = np.array([[process(d, alpha, int(size)) for size in sizes]])
    truth = process(d, alpha, 3000)
    assert followed(sizes, np.repeat(shares, 3, axis=0), 3000) == pytest.approx(truth, abs=2e-3)
    assert abs(shares[0, -1] - truth) > 1e-2  # power


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_nobody_and_everybody_stay_so(share: float) -> None:
    sizes = np.unique(np.geomspace(2, 200, 12).round())
    assert followed(sizes, np.full((1, sizes.size), share), 3000) == pytest.approx(share, abs=0.02)


def steep(mu: float, s: float, people: int) -> float:
    """E (1 - q)^(n-1), logit q = -(mu + s Z), by mpmath."""
    with mpmath.workdps(20):
        bends = [-12, -5, -mu / s - 0.5, -mu / s + 0.5, 5, 12]
        law = mpmath.quad(lambda z: mpmath.npdf(z) * (1 + mpmath.exp(-mu - s * z)) ** (1 - people), sorted(bends))
        return float(law)


@pytest.mark.parametrize(("mu", "s"), [(5.0, 2.0), (6.0, 3.0), (8.0, 9.0)])
def test_a_curve_that_falls_ever_faster_is_followed(mu: float, s: float) -> None:
    """Another family does not."""
    sizes = np.unique(np.geomspace(2, 200, 12).round())
    shares = np.array([[steep(mu, s, int(size)) for size in sizes]])
    truth = steep(mu, s, 3000)
    assert followed(sizes, shares, 3000, STEEP) == pytest.approx(truth, abs=2e-3)
    assert abs(followed(sizes, shares, 3000)[0] - truth) > 1e-2  # power
