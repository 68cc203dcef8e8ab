"""The pictures of protection as data: what mechanisms promise, what the attack gets, what they cost."""

from __future__ import annotations

import math

from entropie.drawing import BLUE, GREEN, INK, ORANGE
from entropie.report.document import Document
from entropie.report.specs import (
    PERCENT_LABEL,
    Rows,
    Spec,
    dashed_line,
    ends,
    layer,
    layered,
    quantity,
    share,
    whisker,
)

__all__ = ["frontier", "guarantee"]

_MECHANISMS = {"rr": "randomized response", "glh": "local hashing"}
_COLOURS = {"domain": [*_MECHANISMS.values(), "other mechanism"], "range": [ORANGE, BLUE, GREEN]}
_SHAPES = {"domain": [*_MECHANISMS.values(), "other mechanism"], "range": ["square", "circle", "triangle-up"]}


def _frontier_rows(document: Document) -> Rows:
    return [
        {
            "mechanism": _MECHANISMS.get(entry["mechanism"], "other mechanism"),
            "promised": entry["bayes_error"],
            "loss": entry["relative_error_top_20"],
            "recommended": entry["recommended"],
            **ends(entry["attack_error"]),
        }
        for entry in document.value("frontier")
    ]


def _by_mechanism(rows: Rows) -> dict[str, Spec]:
    present = [name for name in _COLOURS["domain"] if any(row["mechanism"] == name for row in rows)]
    at = [_COLOURS["domain"].index(name) for name in present]
    colour = {"domain": present, "range": [_COLOURS["range"][i] for i in at]}
    shape = {"domain": present, "range": [_SHAPES["range"][i] for i in at]}
    return {
        "color": {"field": "mechanism", "type": "nominal", "scale": colour},
        "shape": {"field": "mechanism", "type": "nominal", "scale": shape},
    }


def frontier(document: Document, width: int) -> list[Spec]:
    """What every promised error costs, and the recommended point."""
    if not document.has("frontier"):
        return []
    rows = [row for row in _frontier_rows(document) if row["loss"] is not None]
    lowest = min((row["promised"] for row in rows), default=0.0)
    x = _error_axis("promised", "Attacker's error, promised", max(0.0, math.floor((lowest - 0.005) * 20.0) / 20.0))
    y = quantity("loss", "Relative error of the top 20 items")
    y["axis"]["labelExpr"] = PERCENT_LABEL
    if all(row["loss"] > 0 for row in rows):
        y["scale"] = {"type": "log"}
        y["axis"]["values"] = [digit * 10.0**power for power in range(-5, 6) for digit in (1, 2, 5)]
    by = _by_mechanism(rows)
    layers = [
        layer(rows, "line", x=x, y=y, color=by["color"]),
        layer(rows, {"type": "point", "size": 80}, x=x, y=y, **by),
        *_recommended(rows, x, y),
    ]
    return [layered("Relative error of the top 20 items against the attacker's promised error.", 320, layers)]


def _recommended(rows: Rows, x: Spec, y: Spec) -> list[Spec]:
    """A ring around the recommended point."""
    ring = {"type": "point", "size": 340, "filled": False, "stroke": INK, "strokeWidth": 2}
    chosen = [row for row in rows if row["recommended"]]
    return [layer(chosen, ring, x=x, y=y)] if chosen else []


def guarantee(document: Document, width: int) -> list[Spec]:
    """The promised error against the error of a real attack: no point may lie below the diagonal."""
    if not document.has("frontier"):
        return []
    rows = _frontier_rows(document)
    lowest = min(min(row["promised"], row["low"]) for row in rows)
    start = max(0.0, math.floor((lowest - 0.02) * 10.0) / 10.0)
    x = _error_axis("promised", "Attacker's error, promised", start)
    y = _error_axis("value", "Attacker's error, measured", start)
    diagonal: Rows = [{"promised": start, "value": start, "top": 1.0}, {"promised": 1.0, "value": 1.0, "top": 1.0}]
    by = _by_mechanism(rows)
    area = {"type": "area", "color": GREEN, "opacity": 0.1}
    layers = [
        layer(diagonal, area, x=x, y=y, y2={"field": "top"}),
        dashed_line(diagonal, x, y, INK),
        whisker(rows, True, x, {**y, "field": "low"}, color=by["color"]),
        layer(rows, {"type": "point", "size": 80}, x=x, y=y, **by),
        *_recommended(rows, x, y),
    ]
    return [layered("Measured error of the attack against the promised error, with the diagonal.", 340, layers)]


def _error_axis(field: str, title: str, start: float) -> Spec:
    axis = share(field, title)
    axis["scale"] = {"domain": [start, 1.0], "nice": False, "zero": False}
    return axis
