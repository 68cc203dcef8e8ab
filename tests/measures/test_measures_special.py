from __future__ import annotations

import mpmath
import numpy as np
import pytest

from entropie.measures.cells import digamma
from entropie.measures.intervals import normal_quantile


def test_digamma_equals_mpmath_at_whole_numbers() -> None:
    x = np.array([*range(1, 300), *(10**k for k in range(3, 19)), 10**6 + 1])
    expected = np.array([float(mpmath.digamma(int(v))) for v in x])
    np.testing.assert_allclose(digamma(x), expected, rtol=1e-14, atol=2e-13)


def test_digamma_is_harmonic() -> None:
    harmonic = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1, 50))))
    np.testing.assert_allclose(digamma(np.arange(1, 51)), harmonic - float(mpmath.euler), atol=1e-13)


@pytest.mark.parametrize("p", [0.001, 0.025, 0.5, 0.9, 0.975])
def test_normal_quantile_inverts_the_normal_law(p: float) -> None:
    assert float(mpmath.ncdf(normal_quantile(p))) == pytest.approx(p, abs=1e-12)
