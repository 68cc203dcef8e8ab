"""The charts of protection as data: what mechanisms guarantee, what the attack gets, what they cost."""

from __future__ import annotations

import math

from entropie.document import Document
from entropie.drawing import BLUE, GREEN, INK, ORANGE
from entropie.page.specs import (
    PERCENT_LABEL,
    Rows,
    Spec,
    dashed_line,
    ends,
    layer,
    layered,
    quantity,
    ringed,
    share,
    told_apart,
    whisker,
)

_MECHANISMS = {"rr": "randomized response", "glh": "local hashing"}
_LOOKS = {"randomized response": (ORANGE, "square"), "local hashing": (BLUE, "circle")}


def _frontier_rows(document: Document) -> Rows:
    return [
        {
            "mechanism": _MECHANISMS[point.mechanism],
            "guaranteed": point.bayes_error,
            "loss": point.relative_error_top_20,
            "recommended": point.recommended,
            **ends(point.attack_error),
        }
        for point in document.frontier
    ]


def frontier(document: Document, width: int) -> list[Spec]:
    """What every guaranteed error rate costs, and the recommended point."""
    rows = _frontier_rows(document)
    if not rows:
        return []
    lowest = min(row["guaranteed"] for row in rows)
    x = _error_axis(
        "guaranteed", "Error rate of the attacker, guaranteed", max(0.0, math.floor((lowest - 0.005) * 20.0) / 20.0)
    )
    y = quantity("loss", "Error of the 20 most frequent items")
    y["axis"]["labelExpr"] = PERCENT_LABEL
    if all(row["loss"] > 0 for row in rows):
        y["scale"] = {"type": "log"}
        y["axis"]["values"] = [digit * 10.0**power for power in range(-5, 6) for digit in (1, 2, 5)]
    by = told_apart(rows, "mechanism", _LOOKS)
    layers = [
        layer(rows, "line", x=x, y=y, color=by["color"]),
        layer(rows, {"type": "point", "size": 80}, x=x, y=y, **by),
        *ringed([row for row in rows if row["recommended"]], x, y),
    ]
    return [
        layered("Error of the 20 most frequent items against the guaranteed error rate of the attacker.", 320, layers)
    ]


def guarantee(document: Document, width: int) -> list[Spec]:
    """The guaranteed error rate against that of a real attack: no point may lie below the diagonal."""
    rows = _frontier_rows(document)
    if not rows:
        return []
    lowest = min(min(row["guaranteed"], row["low"]) for row in rows)
    start = max(0.0, math.floor((lowest - 0.02) * 10.0) / 10.0)
    x = _error_axis("guaranteed", "Error rate of the attacker, guaranteed", start)
    y = _error_axis("value", "Error rate of the attacker, measured", start)
    diagonal: Rows = [{"guaranteed": start, "value": start, "top": 1.0}, {"guaranteed": 1.0, "value": 1.0, "top": 1.0}]
    by = told_apart(rows, "mechanism", _LOOKS)
    area = {"type": "area", "color": GREEN, "opacity": 0.1}
    layers = [
        layer(diagonal, area, x=x, y=y, y2={"field": "top"}),
        dashed_line(diagonal, x, y, INK),
        whisker(rows, True, x, {**y, "field": "low"}, color=by["color"]),
        layer(rows, {"type": "point", "size": 80}, x=x, y=y, **by),
        *ringed([row for row in rows if row["recommended"]], x, y),
    ]
    return [layered("Measured error rate of the attack against the guaranteed one, with the diagonal.", 340, layers)]


def _error_axis(field: str, title: str, start: float) -> Spec:
    axis = share(field, title)
    axis["scale"] = {"domain": [start, 1.0], "nice": False, "zero": False}
    return axis
