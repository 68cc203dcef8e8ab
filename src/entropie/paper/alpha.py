"""Figure 1: alpha against epsilon, by the proposition, by the theorem, and exactly; formulas alone."""

from __future__ import annotations

import numpy as np

from entropie.paper import published
from entropie.paper.charts import Rows, Spec, axis, lines
from entropie.paper.figure import Figure, Results, no_steps
from entropie.paper.settings import Settings
from entropie.theory import any_mechanism, paper, randomized_response

__all__ = ["FIGURE"]

_PRINTED = {0.1: (0.014, 2.0e-7), 1.0: (1.4, 3.3e-6), 10.0: (14.0, 0.043)}
"""Epsilon to the paper's alpha: proposition, theorem."""


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
    drawn = [
        {"epsilon": row["epsilon"], "bits": row[key], "bound": name} for key, name in _NAMES.items() for row in rows
    ]
    return {
        "": lines(
            drawn,
            axis("epsilon", "epsilon", log=True),
            axis("bits", "alpha (bits)", log=True),
            "bound",
            description="Bounds on the information in a report against epsilon: the exact value is the lowest.",
        )
    }


def finding(rows: Rows) -> str:
    """How far the three are apart where the paper prints them."""
    parts = [
        f"epsilon {row['epsilon']:g}: proposition {row['proposition_bits']:.2g} bits, theorem "
        f"{row['theorem_bits']:.2g}, exact {row['exact_bits']:.2g}"
        for row in rows
        if row["printed_theorem_bits"] is not None
    ]
    gap = max(row["theorem_bits"] / row["exact_bits"] for row in rows)
    return (
        f"{'; '.join(parts)}. The printed values are met to their digits; the exact value is up to {gap:.0f} times "
        f"below the theorem."
    )


FIGURE = Figure(
    name="1",
    title="alpha against epsilon",
    claim=(
        "For randomized response the theorem promises far less information than any mechanism with the same epsilon: "
        "0.014, 1.4 and 14 bits by the proposition at epsilon 0.1, 1 and 10, against 2.0e-7, 3.3e-6 and 0.043."
    ),
    kinds=(),
    steps=no_steps,
    data=data,
    specs=specs,
    finding=finding,
    shown=("epsilon", "proposition_bits", "any_mechanism_bits", "theorem_bits", "exact_bits"),
)
