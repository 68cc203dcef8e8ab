"""The chart of a calibration: squared error against worst-case certainty, by mechanism and by what leaks."""

from __future__ import annotations

import math
from dataclasses import replace

from entropie.drawing import BLUE, GREEN, GREY, ORANGE, PURPLE
from entropie.mechanisms.calibrate import Calibration
from entropie.mechanisms.design import best_of_each
from entropie.mechanisms.goal import Scope
from entropie.mechanisms.registry import mechanism_kind
from entropie.page.specs import Rows, Spec, layer, layered, ordered

_CERTAINTIES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999)
_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, GREY)
_LEAKS: dict[Scope, str] = {"all": "all reports leak", "alone": "one person's alone"}


def trade_off(result: Calibration) -> Spec:
    """A line per mechanism, whole for a leak of all reports and dashed for one person's; both axes as in the table."""
    goal = result.goal
    known = goal.certainty_at(0.0)
    rows: Rows = []
    for leaked, leak in _LEAKS.items():
        for certainty in (one for one in _CERTAINTIES if one > known):
            for found in best_of_each(replace(goal, scope=leaked, certainty=certainty), result.kinds, result.hash_size):
                if 0.0 < found.loss < math.inf:
                    title = mechanism_kind(found.family.kind).title
                    rows.append({"certainty": _label(certainty), "loss": found.loss, "by": title, "leak": leak})
    names = list(dict.fromkeys(row["by"] for row in rows))
    colour = {
        "field": "by",
        "type": "nominal",
        "scale": {"domain": names, "range": list(_COLOURS[: len(names)])},
        "legend": {"title": None, "symbolType": "stroke", "columns": 5},
    }
    dash = {
        "field": "leak",
        "type": "nominal",
        "scale": {"domain": list(_LEAKS.values()), "range": [[1, 0], [6, 4]]},
        "legend": {"title": None, "symbolType": "stroke", "symbolSize": 400, "orient": "bottom"},
    }
    shown = {"title": "Expected squared error", "tickCount": 8, "format": "~e"}
    y = {"field": "loss", "type": "quantitative", "scale": {"type": "log"}, "axis": shown}
    x = ordered("certainty", "Worst-case certainty about one person, at most", [_label(one) for one in _CERTAINTIES])
    mark = {"type": "line", "strokeWidth": 2}
    said = (
        f"Squared error against worst-case certainty, for {goal.crowd.users:,} people and {goal.domain_size:,} items."
    )
    return layered(said, 340, [layer(rows, mark, x=x, y=y, color=colour, strokeDash=dash)])


def _label(certainty: float) -> str:
    return f"{certainty * 100:g}\N{NO-BREAK SPACE}%"
