"""Charts that the figures share: lines over one pair of axes, told apart by colour and by dashes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from entropie.drawing import BLUE, GREEN, GREY, INK, ORANGE, PURPLE

Spec = dict[str, Any]
Rows = list[dict[str, Any]]

WIDTH, HEIGHT = 720, 420
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, INK, "#6b7a00", "#a3123a", GREY)
DASHES = ([1, 0], [7, 4], [2, 3], [9, 3, 2, 3])


def axis(field: str, title: str, *, log: bool = False, domain: Sequence[float] | None = None) -> Spec:
    """An axis of numbers."""
    scale: Spec = {"type": "log"} if log else {"zero": False}
    if domain is not None:
        scale |= {"domain": list(domain), "clamp": True}
    shown: Spec = {"title": title, "tickCount": 8}
    if log:
        shown["format"] = "~e"
    return {"field": field, "type": "quantitative", "scale": scale, "axis": shown}


def lines(
    rows: Rows,
    x: Spec,
    y: Spec,
    colour: str,
    *,
    description: str,
    dash: str | None = None,
    points: Rows | None = None,
    more: Sequence[Spec] = (),
) -> Spec:
    """A line per value of `colour` (and of `dash`), with points at its numbers; `points` are marks without a line."""
    names = _names([*rows, *(points or [])], colour)
    shade: Spec = {
        "field": colour,
        "type": "nominal",
        "scale": {"domain": names, "range": list(COLOURS[: len(names)])},
        "legend": {"columns": 2, "title": None, "symbolType": "stroke"},
    }
    encoding: Spec = {"x": x, "y": y, "color": shade}
    if dash is not None:
        kinds = _names(rows, dash)
        encoding["strokeDash"] = {
            "field": dash,
            "type": "nominal",
            "scale": {"domain": kinds, "range": [list(DASHES[i % len(DASHES)]) for i in range(len(kinds))]},
            "legend": {"columns": 3, "title": None, "symbolType": "stroke", "symbolSize": 400},
        }
    shown = [*rows, *(points or [])]
    encoding["x"], encoding["y"] = x, y = _ticked(x, shown), _ticked(y, shown)
    mark = {"type": "line", "point": {"size": 36, "filled": True}, "clip": True}
    layers: list[Spec] = [{"data": {"values": _drawable(rows, x, y)}, "mark": mark, "encoding": encoding}]
    if points:
        spots = {"type": "point", "size": 70, "filled": False, "strokeWidth": 2, "clip": True}
        layers.append(
            {"data": {"values": _drawable(points, x, y)}, "mark": spots, "encoding": {"x": x, "y": y, "color": shade}}
        )
    return {"description": description, "height": HEIGHT, "layer": [*layers, *more]}


def series(rows: Rows, names: Mapping[str, str], value: str, kind: str) -> Rows:
    """A row for every number of several columns: `names` gives each column the name that it has under `kind`."""
    return [{**row, value: row[column], kind: name} for column, name in names.items() for row in rows]


def one_chart(rows: Rows, names: Mapping[str, str], x: Spec, y: Spec, kind: str, description: str) -> dict[str, Spec]:
    """The only chart of a figure: a line for each of several columns."""
    return {"": lines(series(rows, names, y["field"], kind), x, y, kind, description=description)}


def horizontal(values: Mapping[str, float], y: Spec) -> list[Spec]:
    """Lines across the chart with a name at each, for references."""
    rows = [{"name": name, y["field"]: value} for name, value in values.items()]
    level = {"field": y["field"], "type": "quantitative"}
    return [
        {
            "data": {"values": rows},
            "mark": {"type": "rule", "color": GREY, "strokeDash": [3, 3], "strokeWidth": 1.3},
            "encoding": {"y": level},
        },
        {
            "data": {"values": rows},
            "mark": {"type": "text", "align": "right", "dy": -6, "fontSize": 11, "color": GREY},
            "encoding": {"y": level, "x": {"value": WIDTH - 90}, "text": {"field": "name"}},
        },
    ]


def bars(rows: Rows, x: Spec, y: Spec, colour: str, *, description: str) -> Spec:
    """Groups of bars side by side."""
    names = _names(rows, colour)
    encoding = {
        "x": x,
        "xOffset": {"field": colour, "sort": names},
        "y": y,
        "color": {
            "field": colour,
            "type": "nominal",
            "scale": {"domain": names, "range": list(COLOURS[: len(names)])},
            "legend": {"columns": 2, "title": None},
        },
    }
    return {
        "description": description,
        "height": HEIGHT,
        "layer": [{"data": {"values": rows}, "mark": "bar", "encoding": encoding}],
    }


def _ticked(along: Spec, rows: Rows) -> Spec:
    """Ticks at powers of ten on a logarithmic axis that has several."""
    if along.get("scale", {}).get("type") != "log":
        return along
    logarithms = [math.log10(row[along["field"]]) for row in rows if _fits(row.get(along["field"]), along)]
    powers = range(math.ceil(min(logarithms, default=0.0)), math.floor(max(logarithms, default=0.0)) + 1)
    if len(powers) < 3:
        return along
    step = 1 + len(powers) // 12
    return {**along, "axis": {**along["axis"], "values": [10.0**power for power in powers[::step]]}}


def _names(rows: Rows, field: str) -> list[str]:
    return list(dict.fromkeys(str(row[field]) for row in rows))


def _drawable(rows: Rows, x: Spec, y: Spec) -> Rows:
    """Rows with numbers that their axes can show; a logarithmic one shows none of zero or below."""
    return [row for row in rows if _fits(row.get(x["field"]), x) and _fits(row.get(y["field"]), y)]


def _fits(value: Any, along: Spec) -> bool:
    if along["type"] != "quantitative":
        return value is not None
    return value is not None and (along["scale"].get("type") != "log" or value > 0)
