"""The best of several attacks: which it is, and an interval that holds although it was chosen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from entropie.document.measured import ShareInterval
from entropie.measures.best import BestAttack, level_among
from entropie.measures.intervals import share_interval, wilson
from entropie.measures.summary import Measures


def measured(error: float, bits: float = 1.0, targets: int = 200) -> Measures:
    return cast(Measures, SimpleNamespace(error=error, targets=targets, pse_bits=SimpleNamespace(value=bits)))


def test_the_smallest_error_is_best_and_bits_decide_between_equals() -> None:
    assert BestAttack.of({"a": measured(0.5), "b": measured(0.4), "c": measured(0.9)}).matcher == "b"
    assert BestAttack.of({"a": measured(0.5, 2.0), "b": measured(0.5, 3.0)}).matcher == "b"
    assert BestAttack.of({"a": measured(0.4, 2.0), "b": measured(0.5, 3.0)}).matcher == "a"


def test_all_attacks_share_the_doubt() -> None:
    assert level_among(1) == level_among(0) == 0.95
    assert level_among(5) == pytest.approx(0.99)
    best = BestAttack.of({name: measured(0.4) for name in "abcde"})
    assert (best.tried, best.level) == (5, level_among(5))
    low, high = wilson(0.6 * 200, 200, 0.99)
    assert best.right.value == 0.6
    assert (best.right.low, best.right.high) == pytest.approx((float(low), float(high)))
    assert best.error.value == 0.4
    assert best.error == ShareInterval(0.4, 1.0 - best.right.high, 1.0 - best.right.low)
    again = BestAttack.of({"a": measured(0.4)}, tried=5)
    assert (again.error, again.level) == (best.error, best.level)
    assert again.to_json() == {"matcher": "a", "identification_error": best.error.to_json(), "matchers_tried": 5}


def test_the_interval_covers_the_truth_although_the_best_was_chosen() -> None:
    """Six attacks that are equally good: without the correction the best of them looks too good too often.

    With 2000 draws the standard deviation of a coverage of 95 % is 0.5 %: below 93.5 % by chance once in 700.
    """
    rng = np.random.default_rng(11)
    error, people, attacks, draws = 0.7, 300, 6, 2000
    covered, covered_alone = 0, 0
    for shares in rng.binomial(people, error, (draws, attacks)) / people:
        best = BestAttack.of({str(i): measured(share, targets=people) for i, share in enumerate(shares)})
        alone = share_interval(best.error.value, people)
        covered += best.error.low <= error <= best.error.high
        covered_alone += alone.low <= error <= alone.high
    assert covered / draws > 0.935
    assert covered_alone / draws < 0.9
