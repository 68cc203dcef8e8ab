"""Figure 5: bounds and PSE of one check-in against epsilon, for randomized response and local hashing."""

from __future__ import annotations

from entropie.paper.charts import Rows, Spec, axis, lines
from entropie.paper.figure import Figure, Results
from entropie.paper.settings import Settings
from entropie.paper.single import MECHANISMS, TITLES, single_steps
from entropie.paper.steps import Step

__all__ = ["FIGURE", "single_rows"]


def steps(settings: Settings) -> list[Step]:
    """One check-in of everybody through every mechanism and budget."""
    return single_steps(settings)


def single_rows(settings: Settings, results: Results) -> Rows:
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


_NAMES = {
    "proposition_bits": "proposition",
    "theorem_bits": "theorem",
    "exact_bits": "exact, worst case",
    "pie_bits": "PIE of these data",
    "pse_bits": "PSE found, where above chance",
}


def specs(rows: Rows) -> dict[str, Spec]:
    """Bits against epsilon for the two mechanisms."""
    drawn = [
        {"epsilon": row["epsilon"], "bits": row[key], "bound": name, "mechanism": row["mechanism"]}
        for key, name in _NAMES.items()
        for row in rows
        if key != "pse_bits" or row["pse_low_bits"] > 0.0  # below that it is chance
    ]
    return {
        "": lines(
            drawn,
            axis("epsilon", "epsilon"),
            axis("bits", "bits", log=True),
            "bound",
            dash="mechanism",
            description="Information in one report against epsilon: bounds above, data and attacks below.",
        )
    }


def finding(rows: Rows) -> str:
    """Where the bounds stand against the data."""
    sentences = []
    for kind in MECHANISMS:
        same = [row for row in rows if row["kind"] == kind]
        row = min(same, key=lambda row: abs(row["epsilon"] - 10.0))
        sentences.append(
            f"{row['mechanism']}, epsilon {row['epsilon']:g}: proposition {row['proposition_bits']:.3g} bits, theorem "
            f"{row['theorem_bits']:.3g}, exact {row['exact_bits']:.3g}, PIE of these data {row['pie_bits']:.3g}, PSE "
            f"{row['pse_bits']:.3g}"
        )
    n = rows[0]["users"]
    return (
        f"{n:,} people, {rows[0]['domain_size']:,} places. {'; '.join(sentences)}. The order proposition, theorem, "
        f"exact, data holds at every budget; without noise one check-in carries {rows[0]['data_bits']:.2f} bits of the "
        f"{rows[0]['name_bits']:.2f} that name a person. PSE is estimated from one run of reports: chance may put it "
        f"above a bound, as its interval shows."
    )


FIGURE = Figure(
    name="5",
    title="Bounds and PSE of one check-in",
    claim=(
        "The paper draws the bounds of proposition and theorem and the PSE of its attack against epsilon."
    ),
    kinds=("check-ins",),
    steps=steps,
    data=single_rows,
    specs=specs,
    finding=finding,
    shown=(
        "mechanism", "epsilon", "theta", "proposition_bits", "any_mechanism_bits", "theorem_bits", "exact_bits",
        "contraction_bits", "pie_bits", "pse_bits", "pse_low_bits", "pse_high_bits", "resolvable_bits",
    ),
)  # fmt: skip
