"""The report of a sweep: the answer, the risk that every combination leaves against what it costs, and the rows."""

from __future__ import annotations

from functools import partial
from typing import Any

from entropie import words
from entropie.drawing import BLUE, GREEN, GREY, ORANGE
from entropie.page.page import drawn, filled
from entropie.page.specs import NARROW, Rows, Spec, layer, layered, ringed, share, told_apart, whisker

_TONES = {"met": "pass", "not met": "fail", "open": "inconclusive"}
_WORDS = {"met": "The limit can be met", "not met": "The limit is not met", "open": "Left open"}
_LOOKS = {"meets the limit": (GREEN, "circle"), "cannot tell": (GREY, "diamond"), "does not": (ORANGE, "square")}
_COSTS = {
    "information": "information lost",
    "items": "error of the item counts",
    "item-hours": "error of the counts by item and hour",
    "flows": "error of the flows between items",
    "top": "of the 100 most frequent items lost",
}


def render_sweep(document: dict[str, Any]) -> str:
    """The page of a plain `sweep.json`."""
    charts = {"frontier": partial(frontier, document)} if document["rows"] else {}
    shown = sorted({*document["frontier"], *([] if document["chosen"] is None else [document["chosen"]])})
    return filled(
        "sweep.html",
        document,
        tone=_TONES[document["outcome"]],
        word=_WORDS[document["outcome"]],
        cost=_COSTS[document["scale"]],
        drawn=drawn(charts),
        best=["as_it_is", *(f"rows.{place}" for place in shown)],
        every=["as_it_is", *(f"rows.{place}" for place in range(len(document["rows"])))],
        inside="sweep",
    )


def frontier(document: dict[str, Any], width: int) -> list[Spec]:
    """The risk left against the cost: every combination tried, the best for their price joined, the limit as a line."""
    rows = [_point(document["as_it_is"], "as is"), *(_point(row, "") for row in document["rows"])]
    x, y = share("cost", f"Cost: {_COSTS[document['scale']]}"), share("value", "People judged who are re-identified")
    if width <= NARROW:
        x["axis"]["values"] = [0, 0.25, 0.5, 0.75, 1]
    most = document["profile"]["limit"]
    limit: Rows = [{"value": most, "cost": 0.0, "text": f"limit {words.stated(most)}"}]
    best = [rows[0], *(rows[1 + place] for place in document["frontier"])]
    named = {"type": "text", "align": "left", "dx": 4, "dy": -8, "color": ORANGE}
    halo = {**named, "stroke": "white", "strokeWidth": 5, "strokeJoin": "round"}
    layers = [
        layer(limit, {"type": "rule", "color": ORANGE, "strokeDash": [5, 4], "strokeWidth": 1.6}, y=y),
        layer(best, {"type": "line", "color": BLUE, "interpolate": "step-after", "opacity": 0.6}, x=x, y=y),
        whisker(rows, True, x, {**y, "field": "low"}) | {"mark": {"type": "rule", "color": GREY, "opacity": 0.45}},
        layer(rows, {"type": "point", "size": 75}, x=x, y=y, **told_apart(rows, "verdict", _LOOKS)),
        *(layer(limit, mark, x=x, y=y, text={"field": "text"}) for mark in (halo, named)),
    ]
    if document["chosen"] is not None and document["rows"][document["chosen"]]["steps"]:
        layers += ringed([rows[1 + document["chosen"]]], x, y)
    return [layered("Risk left by every combination tried against its cost, with the limit.", 340, layers)]


def _point(row: dict[str, Any], name: str) -> dict[str, Any]:
    risk = row["risk"]
    verdict = "meets the limit" if row["meets"] else "does not" if row["decision"] == "FAIL" else "cannot tell"
    return {
        "cost": row["cost"],
        "name": name,
        "verdict": verdict,
        **{end: risk[end] for end in ("value", "low", "high")},
    }
