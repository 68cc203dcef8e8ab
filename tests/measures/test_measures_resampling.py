from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.data.scoresets import ScoreMatrix
from entropie.measures.resampling import counts_by_user, resample_shares, resample_users


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_counts_equal_a_loop_over_all_comparisons(data: st.DataObject) -> None:
    users = data.draw(st.integers(1, 5))
    who = st.lists(st.integers(0, users - 1), min_size=1, max_size=6)
    probes, references = data.draw(who), data.draw(who)
    score = st.integers(0, 6).map(float) | st.just(float("nan"))
    rows = [[data.draw(score) for _ in references] for _ in probes]
    lowest = np.array(sorted(data.draw(st.sets(st.integers(0, 6).map(float), min_size=1))))
    genuine, impostors = np.zeros((users, lowest.size)), np.zeros((users, lowest.size))
    for p, row in zip(probes, rows, strict=True):
        for r, value in zip(references, row, strict=True):
            cells = [c for c, edge in enumerate(lowest) if value >= edge]
            if not cells:
                continue
            if p == r:
                genuine[p, cells[-1]] += 1
            else:
                impostors[p, cells[-1]] += 1
                impostors[r, cells[-1]] += 1
    found = counts_by_user(ScoreMatrix(np.array(rows), np.array(probes), np.array(references), users), lowest)
    assert np.array_equal(found.genuine, genuine)
    assert np.array_equal(found.impostors, impostors)


def test_first_order_spread_equals_that_of_resampling_every_pair() -> None:
    """Users with strong effects, where pairs drawn one by one would vary ten times less."""
    rng = np.random.default_rng(8)
    n, runs = 80, 3000
    scores = rng.normal(0, 1, n)[:, None] + rng.normal(0, 1, n)[None, :] + rng.normal(size=(n, n))
    who = np.arange(n)
    lowest = np.array([-np.inf, 1.0])
    genuine, change = resample_users(rng, counts_by_user(ScoreMatrix(scores, who, who, n), lowest), runs)
    apart = ~np.eye(n, dtype=bool)
    given_share = (scores >= 1.0)[apart].mean()
    cheap = given_share * np.exp(change[:, 1])
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=runs)
    weight = drawn[:, :, None] * drawn[:, None, :] * apart
    full = (weight * (scores >= 1.0)).sum(axis=(1, 2)) / weight.sum(axis=(1, 2))
    # the standard error of a standard deviation from `runs` draws is sd/sqrt(2 runs), twice for the two of them;
    # the second-order part left out is 1/n of the variance
    assert cheap.std() == pytest.approx(full.std(), rel=5 * np.sqrt(2 / (2 * runs)) + 1 / n)
    assert cheap.std() > 3 * np.sqrt(given_share * (1 - given_share) / (n * (n - 1)))
    np.testing.assert_allclose(genuine.sum(axis=1), 1.0)


def test_genuine_shares_vary_as_multinomial() -> None:
    shares = resample_shares(np.random.default_rng(0), np.array([30, 70]), 20_000)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    sd = np.sqrt(0.3 * 0.7 / 100)
    assert shares[:, 0].mean() == pytest.approx(0.3, abs=5 * sd / np.sqrt(20_000))
    assert shares[:, 0].std() == pytest.approx(sd, rel=5 / np.sqrt(2 * 20_000))
