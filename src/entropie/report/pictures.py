"""The pictures of an attack as data: each function picks numbers of the document into Vega-Lite specifications.

A picture is a list of panels, drawn one above the other; it is empty where the document has nothing to draw.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

from entropie.drawing import BLUE, GREY, ORANGE
from entropie.report.document import Document
from entropie.report.specs import (
    NARROW,
    TWO_LINES,
    Rows,
    Spec,
    dashed_line,
    ends,
    layer,
    layered,
    ordered,
    quantity,
    share,
    whisker,
)

__all__ = [
    "REFERENCES_BITS",
    "REFERENCE_EQUAL_ERRORS",
    "band_seen",
    "bits",
    "det",
    "exposure",
    "gauge",
    "known",
    "laws",
    "ranks",
    "windows",
]

REFERENCES_BITS = (("Face", 11.2), ("Fingerprint", 20.0), ("Finger vein", 23.2))
"""Published with the paper's code."""

REFERENCE_EQUAL_ERRORS = (0.05, 0.1, 0.2)
_NORMAL = NormalDist()


def best(document: Document) -> str:
    """Path of the strongest attack."""
    return f"attacks.{document.value('strongest')}"


def gauge(document: Document, width: int) -> list[Spec]:
    """The risk with its interval, the limit and what guessing gives, on one scale."""
    error = document.value("headline.identification_error")
    measured = {"what": "measured", "value": 1 - error["value"], "low": 1 - error["high"], "high": 1 - error["low"]}
    rows: Rows = [measured]
    points: Rows = [{"what": "guessing", "value": 1 - document.value("guessing_error")}]
    if document.has("verdict"):
        if document.value("verdict.measure") == "worst":
            rows.append({"what": "most exposed", **document.value("verdict.measured_risk")})
        if document.has("verdict.attempt_probability"):
            rows.append({"what": "combined", **document.value("verdict.judged_risk")})
        points.append({"what": "limit", "value": document.value("verdict.limit")})
    order = [row["what"] for row in rows] + [row["what"] for row in reversed(points)]
    y = ordered("what", None, order, ticks=False, domain=False, labelPadding=14)
    x = share("value", "Share of people named rightly")
    if width <= NARROW:
        x["axis"]["values"] = [0, 0.25, 0.5, 0.75, 1]
    layers = [
        whisker(rows, False, y, {**x, "field": "low"}) | {"mark": _thick(BLUE)},
        layer(rows, {"type": "point", "color": BLUE, "size": 110}, x=x, y=y),
        layer(points, {"type": "point", "shape": "diamond", "size": 110, "color": GREY}, x=x, y=y),
    ]
    if len(points) > 1:
        layers.append(layer(points[1:], {"type": "rule", "color": ORANGE, "strokeDash": [5, 4]}, x=x))
        layers.append(layer(points[1:], {"type": "point", "shape": "diamond", "size": 110, "color": ORANGE}, x=x, y=y))
    text = "The measured risk with its interval, beside what guessing gives and the limit where one was named."
    return [layered(text, 62 + 26 * len(order), layers)]


def _thick(colour: str) -> Spec:
    return {"type": "rule", "strokeWidth": 7, "color": colour, "opacity": 0.35}


def laws(document: Document, width: int) -> list[Spec]:
    """How scores are spread when person and events belong together, and when they do not."""
    path = f"{best(document)}.laws"
    if not document.has(f"{path}.edges"):
        return []
    found = document.value(path)
    panels = []
    for side, title, colour in (("genuine", "Same person", BLUE), ("impostor", "Strangers", ORANGE)):
        rows = [
            {"from": found["edges"][i], "to": found["edges"][i + 1], "share": value}
            for i, value in enumerate(found[side])
        ]
        last = side == "impostor"
        x = {
            **quantity("from", "Score (a large one says: same person)" if last else None),
            "scale": {"domain": [found["edges"][0], found["edges"][-1]], "nice": False, "zero": False},
        }
        if not last:
            x["axis"] = {"title": None, "labels": False, "ticks": False, "tickCount": 6}
        y = share("share", title, scale={"nice": True})
        y["axis"] = {**y["axis"], "tickCount": 3, "minExtent": 48, "maxExtent": 48}
        bars = layer(
            rows, {"type": "bar", "color": colour, "binSpacing": 0.5}, x=x | {"bin": "binned"}, x2={"field": "to"}, y=y
        )
        text = f"Histogram of the attacker's scores: {title.lower()}."
        panels.append(layered(text, 165 if last else 120, [bars]))
    return panels


_TICKS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95)
_FEW_TICKS = (1e-6, 1e-4, 0.01, 0.2, 0.5, 0.8)


def det(document: Document, width: int) -> list[Spec]:
    """False rejections against false acceptances on normal-deviate axes, where two normal laws make a straight line."""
    path = best(document)
    if not document.has(f"{path}.det"):
        return []
    curve = document.value(f"{path}.det")
    spread = document.value(f"{path}.det_band") if document.has(f"{path}.det_band") else None
    lowest_x = _decade(1.0 / document.value(f"{path}.impostors"))
    lowest_y = _decade(1.0 / document.value(f"{path}.targets"))
    x = _deviate("x", "Strangers accepted", lowest_x, _FEW_TICKS if width <= NARROW else _TICKS)
    y = _deviate("y", "People rejected", lowest_y, _TICKS)
    rows: Rows = []
    for place, point in enumerate(curve):
        row = {"place": place, "x": _z(point[0], lowest_x), "y": _z(point[1], lowest_y)}
        if spread is not None:
            row |= {"low": _z(spread[place][0], lowest_y), "high": _z(spread[place][1], lowest_y)}
        rows.append(row)
    line = {"type": "line", "interpolate": "step-before", "clip": True, "color": BLUE}
    layers = [*_reference_lines(x, y, lowest_x)]
    if spread is not None:
        band = {"type": "area", "interpolate": "step-after", "clip": True, "color": BLUE, "opacity": 0.2}
        layers.append(layer(rows, band, x=x, y={**y, "field": "low"}, y2={"field": "high"}))
    else:
        known_rates = [row for row in document.value(f"{path}.frr_at_far") if row["frr"] is not None]
        spans = [
            {"x": _z(row["far"], lowest_x), "low": _z(row["low"], lowest_y), "high": _z(row["high"], lowest_y)}
            for row in known_rates
        ]
        layers.append(whisker(spans, True, x, {**y, "field": "low"}))
    layers.append(layer(rows, line, x=x, y=y, order={"field": "place"}))
    text = "Detection error trade-off of the strongest attack, with dashed reference lines."
    return [layered(text, 380 if width > NARROW else 320, layers)]


_FEWEST_POINTS = 5
_LEAST_SEEN = 0.02
"""Share of the axis: 7 of 340 pixels, about thrice the width of the line."""


def band_seen(document: Document) -> bool:
    """Whether the curve's interval can be told from the curve in the drawing: somewhere it is clearly wider."""
    path = best(document)
    if not document.has(f"{path}.det_band"):
        return False
    curve, spread = document.value(f"{path}.det"), document.value(f"{path}.det_band")
    lowest_x = _decade(1.0 / document.value(f"{path}.impostors"))
    lowest = _decade(1.0 / document.value(f"{path}.targets"))
    bottom, top = _NORMAL.inv_cdf(lowest / 2.0), _NORMAL.inv_cdf(0.97)
    left = _NORMAL.inv_cdf(lowest_x / 2.0)
    seen = [
        min(_z(band[1], lowest), top) - max(_z(band[0], lowest), bottom)
        for point, band in zip(curve, spread, strict=True)
        if left < _z(point[0], lowest_x) < top and bottom < _z(point[1], lowest) < top
    ]
    return sum(width > _LEAST_SEEN * (top - bottom) for width in seen) >= _FEWEST_POINTS


def _reference_lines(x: Spec, y: Spec, lowest_x: float) -> list[Spec]:
    """Two normal laws of equal width: a line of slope -1 through (z, z), z the deviate of the equal-error rate."""
    left, top = _NORMAL.inv_cdf(lowest_x / 2.0), _NORMAL.inv_cdf(0.97)
    lines, labels = [], []
    for rate in REFERENCE_EQUAL_ERRORS:
        twice = 2.0 * _NORMAL.inv_cdf(rate)
        lines.append(dashed_line([{"x": end, "y": twice - end} for end in (left, top)], x, y))
        place = max(twice - _NORMAL.inv_cdf(0.92), left + 0.08)
        labels.append({"x": place, "y": twice - place, "text": f"{rate * 100:.0f}\N{NO-BREAK SPACE}%"})
    text = {"type": "text", "align": "left", "dx": 7, "dy": -3, "fontWeight": "bold", "clip": True}
    halo = {**text, "stroke": "white", "strokeWidth": 4, "strokeJoin": "round"}
    written = [layer(labels, {**mark, "color": GREY}, x=x, y=y, text={"field": "text"}) for mark in (halo, text)]
    return [*lines, *written]


def _decade(rate: float) -> float:
    return float(max(1e-6, min(1e-2, 10.0 ** math.floor(math.log10(rate)))))


def _z(rate: float, lowest: float) -> float:
    """The normal deviate of a rate; rates too small or too large to draw go to the edge."""
    return _NORMAL.inv_cdf(min(max(rate, lowest / 3.0), 0.999))


def _deviate(field: str, title: str, lowest: float, ticks: tuple[float, ...]) -> Spec:
    at = {_NORMAL.inv_cdf(tick): f"{tick * 100:.4g}\N{NO-BREAK SPACE}%" for tick in ticks if tick >= lowest}
    # Vega writes negative numbers with a minus sign, not with a hyphen
    names = ", ".join(f"'{value:.3f}': '{label}'".replace("-", "\N{MINUS SIGN}") for value, label in at.items())
    axis = {"title": title, "values": list(at), "labelExpr": f"({{{names}}})[format(datum.value, '.3f')]"}
    domain = [_NORMAL.inv_cdf(lowest / 2.0), _NORMAL.inv_cdf(0.97)]
    scale = {"domain": domain, "nice": False, "zero": False}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": scale}


def known(document: Document, width: int) -> list[Spec]:
    """The error as the attacker knows more events of each person."""
    if not document.has("by_known_events"):
        return []
    rows: Rows = []
    for entry in document.value("by_known_events"):
        events = entry["train_events"]
        if entry["identification_error"] is None:
            continue
        rows.append({"known": "all" if events is None else f"{events:,}", **entry["identification_error"]})
    x = ordered("known", "Events of each person that the attacker knows", [row["known"] for row in rows])
    y = share("value", "People named wrongly")
    guess = [{"known": row["known"], "value": document.value("guessing_error")} for row in rows]
    layers = [
        dashed_line(guess, x, y),
        whisker(rows, True, x, {**y, "field": "low"}),
        layer(rows, "line", x=x, y=y),
        layer(rows, "point", x=x, y=y),
    ]
    return [layered("Share of people named wrongly, by number of events known to the attacker.", 260, layers)]


def ranks(document: Document, width: int) -> list[Spec]:
    """How often the right person is among the k best."""
    path = best(document)
    if not document.has(f"{path}.rank_curve"):
        return []
    curve = document.value(f"{path}.rank_curve")
    users = document.value("users")
    x = quantity(
        "k", "People the attacker may name", scale={"type": "log", "domain": [1, max(2, users)], "nice": False}
    )
    x["axis"] = {**x["axis"], "format": ",d", "tickCount": 4, "grid": True}
    x["axis"]["values"] = [10**power for power in range(int(math.log10(users)) + 1)]
    y = share("share", "Right person among them")
    spans = [
        {"k": entry["k"], "share": 1 - entry["error"], "low": 1 - entry["high"], "high": 1 - entry["low"]}
        for entry in document.get(f"{path}.top_k") or []
    ]
    layers = [
        dashed_line([{"k": k, "share": k / users} for k, _ in curve], x, y),
        whisker(spans, True, x, {**y, "field": "low"}),
        layer([{"k": k, "share": value} for k, value in curve], {"type": "line", "point": False}, x=x, y=y),
        layer(spans, "point", x=x, y=y),
    ]
    return [layered("Share of people whose right name is among the k best candidates.", 260, layers)]


def exposure(document: Document, width: int) -> list[Spec]:
    """How the risk is spread over people: tenths, clearest match first."""
    path = f"{best(document)}.exposure.groups"
    if not document.has(path):
        return []
    rows = [{"group": str(place + 1), **entry["right"]} for place, entry in enumerate(document.value(path))]
    x = ordered("group", "Groups of people, clearest match first", [row["group"] for row in rows])
    y = share("value", "Named rightly")
    average = [{"value": 1 - document.value(f"{best(document)}.identification_error.value")}]
    layers = [
        layer(rows, {"type": "bar", "color": BLUE, "opacity": 0.45}, x=x, y=y),
        whisker(rows, True, x, {**y, "field": "low"}),
        layer(average, {"type": "rule", "color": ORANGE, "strokeDash": [5, 4]}, y=y),
    ]
    return [layered("Share of people named rightly in groups ordered by how clear their match is.", 250, layers)]


def bits(document: Document, width: int) -> list[Spec]:
    """Bits of these data beside those that name anyone and those of biometric traits."""
    found = document.value(f"{best(document)}.pse_bits")
    over = found["value"] > found["resolvable"]
    here, one = "These data:|strongest attack", "These data:|one event"
    name, limit = "Naming one of|these people", "Largest value|these data can show"
    order = [here, one, name, limit, *(trait for trait, _ in REFERENCES_BITS)]
    rows: Rows = [{"what": here, "bits": found["resolvable"] if over else found["value"]}]
    y = ordered("what", None, order, labelExpr=TWO_LINES, ticks=False)
    x = quantity("bits", "Bits about who a person is")
    largest = max(24.0, found["resolvable"], rows[0]["bits"] + 1.0)
    x["scale"] = {"domain": [0, 5.0 * math.ceil(largest / 5.0)]}
    single: Rows = [{"what": one, "bits": document.value("pie_bits")}]
    marks: Rows = [
        {"what": name, "bits": document.value("name_bits")},
        {"what": limit, "bits": found["resolvable"]},
    ]
    others: Rows = [{"what": trait, "bits": value} for trait, value in REFERENCES_BITS]
    shape = {"type": "point", "shape": "triangle-right" if over else "circle", "size": 150 if over else 90}
    layers: list[Spec] = [
        layer(rows, {**shape, "color": BLUE}, x=x, y=y),
        layer(single, {"type": "point", "color": BLUE, "filled": False, "strokeWidth": 2, "size": 80}, x=x, y=y),
        layer(marks, {"type": "point", "shape": "diamond", "color": ORANGE, "size": 100}, x=x, y=y),
        layer(others, {"type": "point", "shape": "square", "color": GREY, "size": 80}, x=x, y=y),
    ]
    if not over:
        spans: Rows = [{"what": here, **_shown_bits(found)}]
        layers.insert(0, whisker(spans, False, y, {**x, "field": "low"}))
    return [layered("Bits of these data on one scale with published biometric references.", 320, layers)]


def windows(document: Document, width: int) -> list[Spec]:
    """Bits in one window of time after the other; a window that was not attacked leaves a gap."""
    entries = document.get("windows") or []
    labels = [_window_label(str(entry["from"])) for entry in entries]
    rows: Rows = []
    for place, entry in enumerate(entries):
        if entry["pse_bits"] is not None:
            follows = bool(rows) and rows[-1]["place"] == place - 1
            run = (rows[-1]["run"] + (not follows)) if rows else 0
            rows.append({"from": labels[place], "place": place, "run": run, **_shown_bits(entry["pse_bits"])})
    if not rows:
        return []
    few = len(labels) > (12 if width > NARROW else 5)
    x = ordered("from", "Window that begins", labels, labelAngle=-40, labelOverlap=few)
    x["scale"] = {"domain": labels}
    y = quantity("value", "Bits about who a person is", scale={"zero": False})
    layers = [
        whisker(rows, True, x, {**y, "field": "low"}),
        layer(rows, "line", x=x, y=y, detail={"field": "run", "type": "nominal"}),
        layer(rows, "point", x=x, y=y),
    ]
    return [layered("Bits about who a person is, in one window of time after the other.", 270, layers)]


def _window_label(begins: str) -> str:
    """The day, and the time where windows are shorter than days: every window needs a place of its own."""
    return begins if len(begins) <= len("2023-11-15") else f"{begins[:10]} {begins[11:16]}"


def _shown_bits(found: dict[str, Any]) -> dict[str, float]:
    """Value and interval, none of them beyond what the data can show."""
    return {name: min(value, found["resolvable"]) for name, value in ends(found).items()}
