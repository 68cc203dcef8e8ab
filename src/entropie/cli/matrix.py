"""The terminal view of what a mechanism given as a matrix guarantees."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from entropie import words
from entropie.cli import output

if TYPE_CHECKING:
    from entropie.theory.matrix import Between, MatrixGuarantee


def matrix_text(given: MatrixGuarantee) -> str:
    """The number, what it is about, and every property of the matrix."""
    store = given.all_reports
    headline = (
        f"At most {words.percent(1.0 - store.bayes_error)} of people can be re-identified by whoever holds everybody's "
        f"reports (by chance: {words.percent(given.prior_max or 1.0 / given.users)})."
    )
    size = (
        f"Matrix of {words.plural(given.inputs, 'item')} and {words.plural(given.outputs, 'answer')}: epsilon "
        f"{words.digits(given.epsilon, 4)}, theta {words.digits(given.theta, 4)}\n"
        f"{words.plural(given.users, 'person', 'people')}, {words.plural(given.reports_per_user, 'report')} per person"
    )
    rows = [
        ["re-identified, at most", words.percent(1.0 - store.list_error), words.percent(1.0 - given.list_error)],
        ["information, bits", words.digits(store.alpha_bits), words.digits(given.alpha_bits_composed)],
        ["worst-case certainty", words.percent(store.posterior_max), words.percent(given.posterior_max)],
    ]
    leaks = output.table(["what leaks:", "all reports", "one person's alone"], rows)
    properties = [
        ["information about the sender of one report, bits", _ends(given.alpha_bits)],
        ["error rate of the attacker from one report", _ends(given.bayes_error)],
        ["capacity, bits", _ends(given.capacity_bits)],
        ["order-2 information, bits", _ends(given.order_2_bits)],
        ["Bayes capacity, bits", f"{math.log2(given.bayes_capacity):.6g}"],
        ["contraction of information", _ends(given.contraction)],
        ["contraction of total variation", f"{given.dobrushin:.6g}"],
    ]
    return "\n\n".join(
        [output.paragraph(headline), size, leaks, output.table(["one report, worst data", ""], properties)]
    )


def _ends(value: Between) -> str:
    """One number where both ends print the same."""
    low, high = f"{value.low:.6g}", f"{value.high:.6g}"
    return low if low == high else f"{low} to {high}"
