"""Figure 5: bounds and PSE of one check-in against epsilon, for randomized response and local hashing."""

from __future__ import annotations

import math

from entropie import words
from entropie.paper.charts import Rows, Spec, axis, lines, series
from entropie.paper.figure import Results
from entropie.paper.settings import Settings
from entropie.paper.single import MECHANISMS, TITLES, single_steps
from entropie.paper.sources import Kind

name = "5"
title = "Bounds and PSE of one check-in"
claim = "The bounds of proposition and theorem and the PSE of the attack are drawn against epsilon."
kinds: tuple[Kind, ...] = ("check-ins",)
shown = (
    "mechanism", "epsilon", "theta", "proposition_bits", "any_mechanism_bits", "theorem_bits", "exact_bits",
    "contraction_bits", "pie_bits", "pse_bits", "pse_low_bits", "pse_high_bits", "resolvable_bits", "users",
    "data_bits",
)  # fmt: skip
steps = single_steps


def data(settings: Settings, results: Results) -> Rows:
    """One row per mechanism and budget; the information in hashed data comes from its own step."""
    hashed = results["single check-in: information in hashed data"]
    by_epsilon = dict(zip(hashed["epsilons"], hashed["pie_bits"], strict=True))
    spread = dict(zip(hashed["epsilons"], hashed["standard_error_bits"], strict=True))
    rows = []
    for kind in MECHANISMS:
        for epsilon in settings.scale.epsilons:
            row = dict(results[f"single check-in: {kind}, epsilon {epsilon:g}"])
            row["mechanism"] = TITLES[kind]
            row["pie_standard_error_bits"] = 0.0
            if kind == "glh":
                row["pie_bits"], row["pie_standard_error_bits"] = by_epsilon[epsilon], spread[epsilon]
            rows.append(row)
    return rows


_BITS = {
    "proposition_bits": "proposition",
    "theorem_bits": "theorem",
    "exact_bits": "exact, worst case",
    "pie_bits": "in these data (PIE)",
}
_PSE = "by the attack (PSE), where above chance"


def specs(rows: Rows) -> dict[str, Spec]:
    """Bits against epsilon for the two mechanisms."""
    seen = [row for row in rows if row["pse_low_bits"] > 0.0]  # below that it is chance
    drawn = [*series(rows, _BITS, "bits", "bound"), *series(seen, {"pse_bits": _PSE}, "bits", "bound")]
    text = "Information in one report against epsilon: bounds above, data and attacks below."
    return against_epsilon(drawn, axis("bits", "bits", log=True), text)


def against_epsilon(drawn: Rows, y: Spec, description: str) -> dict[str, Spec]:
    """One chart of both mechanisms."""
    x = axis("epsilon", "epsilon")
    return {"": lines(drawn, x, y, "bound", dash="mechanism", description=description)}


def findings(rows: Rows) -> list[str]:
    """Where the bounds stand against the data."""
    lines = []
    if all(_in_order(row) for row in rows):
        lines.append("At every epsilon: proposition above theorem above exact bound above the information in the data.")
    for kind in dict.fromkeys(row["mechanism"] for row in rows):
        row = min((row for row in rows if row["mechanism"] == kind), key=lambda row: abs(row["epsilon"] - 10.0))
        lines.append(
            f"{kind.capitalize()}, epsilon {row['epsilon']:g}: proposition {row['proposition_bits']:.3g} bits, theorem "
            f"{row['theorem_bits']:.3g}, exact {row['exact_bits']:.3g}, in these data {row['pie_bits']:.3g} (PIE), by "
            f"the attack {row['pse_bits']:.3g} (PSE)."
        )
    first = rows[0]
    return [
        *lines,
        (
            f"Without noise one check-in carries {words.bits(first['data_bits'])} of the "
            f"{words.bits(math.log2(first['users']))} bits that identify one of {first['users']:,} people."
        ),
        "PSE comes from one run of reports: chance may put it above a bound, as its interval shows.",
    ]


def _in_order(row: dict[str, float]) -> bool:
    """Whether each bound is above the next; the information in hashed data is a mean over functions drawn."""
    slack = 1.0 + 1e-3
    return (
        row["proposition_bits"] * slack >= row["theorem_bits"]
        and row["theorem_bits"] * slack >= row["exact_bits"]
        and row["exact_bits"] * slack >= row["pie_bits"]
    )
