"""Figure 6: identification error of one check-in against epsilon, with every lower bound."""

from __future__ import annotations

from entropie.paper.bounds import single_rows
from entropie.paper.charts import Rows, Spec, axis, lines
from entropie.paper.figure import Figure
from entropie.paper.single import MECHANISMS, single_steps

__all__ = ["FIGURE"]

_NAMES = {
    "error_by_proposition": "bound by the proposition",
    "error_by_theorem": "bound by the theorem",
    "error_by_pse": "by PSE, which is no bound",
    "error_exact": "bound, exact",
    "error": "measured",
}


def specs(rows: Rows) -> dict[str, Spec]:
    """Share of people named wrongly against epsilon."""
    drawn = [
        {"epsilon": row["epsilon"], "error": row[key], "bound": name, "mechanism": row["mechanism"]}
        for key, name in _NAMES.items()
        for row in rows
    ]
    return {
        "": lines(
            drawn,
            axis("epsilon", "epsilon"),
            axis("error", "share of people named wrongly", domain=(0.0, 1.0)),
            "bound",
            dash="mechanism",
            description="Identification error against epsilon: measured above, lower bounds below it.",
        )
    }


def finding(rows: Rows) -> str:
    """How close the bounds come to what was measured."""
    sentences = []
    for kind in MECHANISMS:
        same = [row for row in rows if row["kind"] == kind]
        row = min(same, key=lambda row: abs(row["error"] - 0.75))
        sentences.append(
            f"{row['mechanism']}, epsilon {row['epsilon']:g}: {row['error']:.4f} measured ({row['error_low']:.4f} to "
            f"{row['error_high']:.4f}), at least {row['error_exact']:.4f} exactly, {row['error_by_fano']:.4f} by Fano "
            f"solved, {row['error_by_theorem']:.4f} by the theorem, {row['error_by_proposition']:.4f} by the "
            f"proposition"
        )
    worst = min(row["error"] - row["error_exact"] for row in rows)
    return (
        f"{'; '.join(sentences)}. No attack went below the exact bound by more than chance (smallest distance "
        f"{worst:+.5f}). An error that is measured holds for this attacker, a bound for all.{_crossed(rows)}"
    )


def _crossed(rows: Rows) -> str:
    """Fano's inequality holds for the information in the data, of which the scores may carry less."""
    crossed = [row for row in rows if row["error_high"] < row["error_by_pse"]]
    if not crossed:
        return ""
    first = min(crossed, key=lambda row: row["epsilon"])
    return (
        f" Fano's inequality with PSE in the place of the information is no bound: from epsilon {first['epsilon']:g} "
        f"({first['mechanism']}) the measured error, {first['error']:.4f}, lies below its {first['error_by_pse']:.4f}. "
        "A score carries less than the data it was made of, and equal scores hide who is who."
    )


FIGURE = Figure(
    name="6",
    title="Identification error of one check-in",
    claim=(
        "The paper draws the error of its attack and lower bounds on every attack's error against epsilon."
    ),
    kinds=("check-ins",),
    steps=single_steps,
    data=single_rows,
    specs=specs,
    finding=finding,
    shown=(
        "mechanism", "epsilon", "theta", "error", "error_low", "error_high", "error_expected", "error_exact",
        "error_by_fano", "error_by_theorem", "error_by_pse", "error_by_proposition",
    ),
)  # fmt: skip
