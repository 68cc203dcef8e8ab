"""Results show themselves in a notebook, and nothing in them is taken for markup."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import entropie
from entropie.notebook import html_table


def results() -> list[object]:
    rng = np.random.default_rng(1)
    mechanism = entropie.RandomizedResponse(domain_size=30, epsilon=2.0)
    events = pa.table({"user": np.repeat(np.arange(20), 12), "item": rng.integers(0, 40, 240)})
    return [
        mechanism.guarantee(users=100),
        entropie.calibrate(users=100, domain_size=30, bayes_error=0.9),
        mechanism.estimate(mechanism.simulate(rng.integers(0, 30, 500), rng)),
        entropie.assess(events, user="user", item="item", matchers=["visit"], control=False, replicates=10),
    ]


@pytest.mark.parametrize("index", range(4))
def test_results_show_themselves(index: int) -> None:
    shown = results()[index]._repr_html_()  # type: ignore[attr-defined]
    assert shown.count("<table>") == shown.count("</table>") >= 1
    assert "<td>" in shown


def test_cells_are_escaped_and_numbers_short() -> None:
    shown = html_table("<b>", ("a&b",), [("<script>",), (0.123456,), (1234567,)])
    assert "<script>" not in shown
    assert "<caption>&lt;b&gt;</caption>" in shown
    assert "<td>0.1235</td>" in shown
    assert "<td>1,234,567</td>" in shown
