"""Figure 1: alpha against epsilon, by the proposition, by the theorem, and exactly; formulas alone."""

from __future__ import annotations

import numpy as np

from entropie import words
from entropie.paper import published
from entropie.paper.charts import Rows, Spec, axis, one_chart
from entropie.paper.figure import Results
from entropie.paper.settings import Settings
from entropie.paper.sources import Kind
from entropie.paper.steps import Step
from entropie.theory import any_mechanism, paper, randomized_response

name = "1"
title = "alpha against epsilon"
claim = (
    "For randomized response the theorem bounds the information far below the proposition for any mechanism: "
    "2.0e-7, 3.3e-6 and 0.043 bits at epsilon 0.1, 1 and 10, against 0.014, 1.4 and 14."
)
kinds: tuple[Kind, ...] = ()
shown = ("epsilon", "proposition_bits", "any_mechanism_bits", "theorem_bits", "exact_bits")

_PRINTED = {0.1: (0.014, 2.0e-7), 1.0: (1.4, 3.3e-6), 10.0: (14.0, 0.043)}
"""Epsilon to the paper's alpha: proposition, theorem."""


def steps(settings: Settings) -> list[Step]:
    """Formulas need no work on data."""
    return []


def data(settings: Settings, results: Results) -> Rows:
    """One row per budget, always for the paper's numbers of people and places."""
    n, k = published.USERS, published.DOMAIN_SIZE
    budgets = [*np.round(np.geomspace(0.1, 10.0, 21), 4).tolist(), 12.0, 14.0, 16.0, 18.0, 20.0]
    return [
        {
            "epsilon": epsilon,
            "proposition_bits": paper.alpha_bits_ldp(n, k, epsilon),
            "any_mechanism_bits": any_mechanism.alpha_bits(n, k, epsilon),
            "theorem_bits": paper.alpha_bits(n, k, epsilon),
            "exact_bits": randomized_response.alpha_bits(n, k, epsilon),
            "printed_proposition_bits": _PRINTED.get(epsilon, (None, None))[0],
            "printed_theorem_bits": _PRINTED.get(epsilon, (None, None))[1],
        }
        for epsilon in budgets
    ]


_NAMES = {
    "proposition_bits": "proposition, any mechanism",
    "any_mechanism_bits": "any mechanism, tight",
    "theorem_bits": "theorem, randomized response",
    "exact_bits": "randomized response, exact",
}


def specs(rows: Rows) -> dict[str, Spec]:
    """Bits against epsilon, both on logarithmic axes."""
    x, y = axis("epsilon", "epsilon", log=True), axis("bits", "alpha (bits)", log=True)
    text = "Bounds on the information in a report against epsilon: the exact value is the lowest."
    return one_chart(rows, _NAMES, x, y, "bound", text)


def findings(rows: Rows) -> list[str]:
    """How far the bounds are apart where the paper prints them."""
    widest = max(rows, key=lambda row: row["theorem_bits"] / row["exact_bits"])
    gap = widest["theorem_bits"] / widest["exact_bits"]
    lines = [
        f"The exact bound is up to {words.digits(gap)} times below the theorem (at epsilon {widest['epsilon']:g})."
    ]
    for row in rows:
        if row["epsilon"] in _PRINTED:
            proposition, theorem = _PRINTED[row["epsilon"]]
            lines.append(
                f"Epsilon {row['epsilon']:g}: proposition {row['proposition_bits']:.2g} bits (paper "
                f"{proposition:.2g}), theorem {row['theorem_bits']:.2g} (paper {theorem:.2g}), exact "
                f"{row['exact_bits']:.2g}."
            )
    return lines
