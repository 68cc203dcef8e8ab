"""Parts that several charts are made of: axes, intervals, marks, lines for reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from entropie.document.measured import BitsInterval, ShareInterval
from entropie.drawing import BLUE, GREY, INK

Spec = dict[str, Any]
Rows = list[dict[str, Any]]

WIDE, NARROW = 736, 350
"""The column of text, and a phone held upright."""

PERCENT_LABEL = "format(datum.value * 100, ',.3~r') + '\N{NO-BREAK SPACE}%'"


def layered(description: str, height: int, layers: Sequence[Spec], **more: Any) -> Spec:
    """Several marks over the same axes."""
    return {"description": description, "height": height, "layer": list(layers), **more}


def layer(rows: Rows, mark: str | Spec, **encoding: Spec) -> Spec:
    """One mark and the numbers it shows."""
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def share(field: str, title: str | None, **more: Any) -> Spec:
    """An axis from 0 to 100 %."""
    axis = {"labelExpr": PERCENT_LABEL, "tickCount": 5, "title": title}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": {"domain": [0, 1]}, **more}


def quantity(field: str, title: str | None, **more: Any) -> Spec:
    """An axis of plain numbers."""
    return {"field": field, "type": "quantitative", "axis": {"title": title, "tickCount": 6}, **more}


def ordered(field: str, title: str | None, order: Sequence[str], **axis: Any) -> Spec:
    """An axis of names in a given order."""
    return {
        "field": field,
        "type": "ordinal",
        "sort": list(order),
        "axis": {"title": title, "labelAngle": 0, "grid": False, "labelLimit": 400, **axis},
    }


def told_apart(rows: Rows, field: str, looks: Mapping[str, tuple[str, str]]) -> dict[str, Spec]:
    """Colour and shape of what is drawn, by the names of a field: those that are there."""
    present = [name for name in looks if any(row[field] == name for row in rows)]
    return {
        channel: {
            "field": field,
            "type": "nominal",
            "scale": {"domain": present, "range": [looks[name][place] for name in present]},
        }
        for place, channel in enumerate(("color", "shape"))
    }


def ringed(rows: Rows, x: Spec, y: Spec) -> list[Spec]:
    """A ring around the points to take, where there are any."""
    ring = {"type": "point", "size": 340, "filled": False, "stroke": INK, "strokeWidth": 2}
    return [layer(rows, ring, x=x, y=y)] if rows else []


def ends(interval: ShareInterval | BitsInterval) -> dict[str, float]:
    """A value with the ends of its interval."""
    return {"value": interval.value, "low": interval.low, "high": interval.high}


def whisker(rows: Rows, upright: bool, along: Spec, low: Spec, **more: Spec) -> Spec:
    """A line from the low to the high end of each interval."""
    mark = {"type": "rule", "strokeWidth": 2, "color": BLUE, "clip": True}
    high = {"field": "high"}
    if upright:
        return layer(rows, mark, x=along, y=low, y2=high, **more)
    return layer(rows, mark, y=along, x=low, x2=high, **more)


def dashed_line(rows: Rows, x: Spec, y: Spec, colour: str = GREY) -> Spec:
    """A line for orientation."""
    mark = {"type": "line", "strokeDash": [5, 4], "color": colour, "strokeWidth": 1.6, "clip": True}
    return layer(rows, mark, x=x, y=y)


def reference(at: float, label: str, x: Spec, row: Spec, colour: str) -> list[Spec]:
    """An upright line across a chart, named in a row of its own."""
    line = layer([{"value": at}], {"type": "rule", "color": colour, "strokeDash": [5, 4], "strokeWidth": 1.6}, x=x)
    side = {"align": "right", "dx": -5} if at > 0.7 * x["scale"]["domain"][1] else {"align": "left", "dx": 5}
    named: Rows = [{"value": at, "what": row["what"], "text": label}]
    halo = {"stroke": "white", "strokeWidth": 5, "strokeJoin": "round"}
    return [
        line,
        *(
            layer(named, {"type": "text", "color": colour, **side, **more}, x=x, y=row["y"], text={"field": "text"})
            for more in (halo, {})
        ),
    ]
