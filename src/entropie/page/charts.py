"""The charts of an attack as data: each function picks numbers of the document into Vega-Lite specifications.

A chart is a list of panels, drawn one above the other; it is empty where the document has nothing to draw. Limits and
chance are lines for reference, never rows of data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from entropie import words
from entropie.document import Document
from entropie.document.measured import Measured, ShareInterval
from entropie.drawing import BLUE, GREEN, GREY, ORANGE
from entropie.page.attackers import attackers
from entropie.page.specs import (
    NARROW,
    Rows,
    Spec,
    dashed_line,
    ends,
    layer,
    layered,
    ordered,
    quantity,
    reference,
    share,
    whisker,
)

REFERENCES_BITS = (("Face", 11.2), ("Fingerprint", 20.0), ("Finger vein", 23.2))
"""Published with the paper's code."""

REFERENCE_EQUAL_ERRORS = (0.05, 0.1, 0.2)
_NORMAL = NormalDist()
_ABOVE, _BELOW = " ", "  "
"""Rows without a name, for the names of reference lines."""


def gauge(document: Document, width: int) -> list[Spec]:
    """The number judged with its interval, and the average beside it, against the limit and chance."""
    verdict, average = document.verdict, document.headline.risk
    rows: Rows = []
    if verdict is not None:
        whom = "people judged" if verdict.share >= 1.0 else f"most exposed {words.percent(verdict.share)}"
        rows.append({"what": whom, **ends(verdict.judged_risk)})
    if verdict is None or verdict.judged_risk != average:
        rows.append({"what": "all people", **ends(average)})
    return _risks(document, rows, width, "The number judged with its interval, against the limit and chance.")


def attacker_rows(document: Document, width: int) -> list[Spec]:
    """Every attacker's share of people re-identified."""
    rows: Rows = []
    for attacker in attackers(document):
        if isinstance(attacker.right, ShareInterval):
            rows.append({"what": attacker.label, **ends(attacker.right)})
    return _risks(
        document, rows, width, "Share of people re-identified by each attacker, against the limit and chance."
    )


def _risks(document: Document, rows: Rows, width: int, description: str) -> list[Spec]:
    limit = None if document.verdict is None else document.verdict.limit
    return risks(rows, (limit, 1.0 - document.guessing_error), width, description)


def risks(rows: Rows, lines: tuple[float | None, float], width: int, description: str) -> list[Spec]:
    """Shares with intervals, one under the other; limit, where there is one, and chance are lines across them."""
    limit, chance = lines
    order = [_ABOVE, *(row["what"] for row in rows), _BELOW]
    y = ordered("what", None, order, ticks=False, domain=False, labelPadding=14)
    y["scale"] = {"domain": order}
    x = share("value", "People re-identified")
    if width <= NARROW:
        x["axis"]["values"] = [0, 0.25, 0.5, 0.75, 1]
    layers = []
    if limit is not None:
        layers += reference(limit, f"limit {words.stated(limit)}", x, {"what": _ABOVE, "y": y}, ORANGE)
        # The line ends above the row that names chance, whose name it would cross.
        layers[0]["data"]["values"][0] |= {"what": _ABOVE, "end": order[-2]}
        layers[0]["encoding"] |= {"y": y, "y2": {"field": "end"}}
        layers[0]["mark"] |= {"yOffset": -12, "y2Offset": 12}
    layers += reference(chance, f"chance {words.percent(chance)}", x, {"what": _BELOW, "y": y}, GREY)
    thick = {"type": "rule", "strokeWidth": 7, "color": BLUE, "opacity": 0.35}
    layers += [
        whisker(rows, False, y, {**x, "field": "low"}) | {"mark": thick},
        layer(rows, {"type": "point", "color": BLUE, "size": 110}, x=x, y=y),
    ]
    return [layered(description, 62 + 26 * len(order), layers)]


def items(document: Document, width: int) -> list[Spec]:
    """What rare, named and other items each carry of the bits of one event, where these are more than chance's."""
    if document.pie_bits <= document.pie_null_bits:
        return []
    found = document.identifying_items
    groups = {
        "rare items": found.rare.bits,
        "items in the table": math.fsum(item.bits for item in found.shown),
        "other items": found.other.bits,
    }
    rows: Rows = [
        {"what": name, "bits": max(0.0, value), "place": place} for place, (name, value) in enumerate(groups.items())
    ]
    x = quantity("bits", "Bits of one event about its person", stack=True)
    names = list(groups)
    colour = {
        "field": "what", "type": "nominal", "sort": names,
        "scale": {"domain": names, "range": [ORANGE, BLUE, GREY]}, "legend": {"columns": 3 if width > NARROW else 1},
    }  # fmt: skip
    bar = layer(rows, {"type": "bar", "height": 34}, x=x, color=colour, order={"field": "place"})
    return [
        layered("Bits of one event carried by rare items, by the items in the table and by the others.", 110, [bar])
    ]


def scores(document: Document, width: int) -> list[Spec]:
    """How scores are distributed when person and events belong together, and when they do not."""
    found = document.best.laws
    if not found.edges:
        return []
    panels = []
    sides = (("Same person", found.genuine, BLUE), ("Strangers", found.impostor, ORANGE))
    for place, (title, shares, colour) in enumerate(sides):
        rows: Rows = [
            {"from": found.edges[i], "to": found.edges[i + 1], "share": value} for i, value in enumerate(shares)
        ]
        last = place == 1
        x = {
            **quantity("from", "Score (a large one says: same person)" if last else None),
            "scale": {"domain": [found.edges[0], found.edges[-1]], "nice": False, "zero": False},
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
    """False rejections against false acceptances on normal-deviate axes, where two bell curves make a straight line."""
    text = "Detection error trade-off of the strongest attack, with dashed reference lines."
    return det_chart([(document.best, BLUE)] if document.best.det else [], width, text)


def det_chart(curves: Sequence[tuple[Measured, str]], width: int, text: str) -> list[Spec]:
    """Trade-offs of one or several systems, each in its colour, on common axes."""
    if not curves:
        return []
    lowest_x = _decade(1.0 / max(system.impostors for system, _ in curves))
    lowest_y = _decade(1.0 / max(system.targets for system, _ in curves))
    x = _deviate("x", "Strangers accepted", lowest_x, _FEW_TICKS if width <= NARROW else _TICKS)
    y = _deviate("y", "People rejected", lowest_y, _TICKS)
    layers = _reference_lines(x, y, lowest_x)
    for system, colour in curves:
        rows: Rows = [
            {
                "place": place,
                "x": _z(far, lowest_x),
                "y": _z(frr, lowest_y),
                "low": _z(low, lowest_y),
                "high": _z(high, lowest_y),
            }
            for place, ((far, frr), (low, high)) in enumerate(zip(system.det, system.det_band, strict=True))
        ]
        line = {"type": "line", "interpolate": "step-before", "clip": True, "color": colour}
        band = {"type": "area", "interpolate": "step-after", "clip": True, "color": colour, "opacity": 0.2}
        layers += [
            layer(rows, band, x=x, y={**y, "field": "low"}, y2={"field": "high"}),
            layer(rows, line, x=x, y=y, order={"field": "place"}),
        ]
    return [layered(text, 380 if width > NARROW else 320, layers)]


def _reference_lines(x: Spec, y: Spec, lowest_x: float) -> list[Spec]:
    """Two bell curves of equal width: a line of slope -1 through (z, z), z the deviate of the equal-error rate."""
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


def ranks(document: Document, width: int) -> list[Spec]:
    """How often the right person is among the k best."""
    attack, users = document.best, document.users
    if not attack.rank_curve:
        return []
    x = quantity(
        "k", "People the attacker may name", scale={"type": "log", "domain": [1, max(2, users)], "nice": False}
    )
    x["axis"] = {**x["axis"], "format": ",d", "tickCount": 4, "grid": True}
    x["axis"]["values"] = [10**power for power in range(int(math.log10(users)) + 1)]
    y = share("share", "Right person among them")
    spans: Rows = [
        {"k": guess.k, "share": 1 - guess.error, "low": 1 - guess.high, "high": 1 - guess.low} for guess in attack.top_k
    ]
    layers = [
        dashed_line([{"k": k, "share": k / users} for k, _ in attack.rank_curve], x, y),
        whisker(spans, True, x, {**y, "field": "low"}),
        layer([{"k": k, "share": value} for k, value in attack.rank_curve], {"type": "line", "point": False}, x=x, y=y),
        layer(spans, "point", x=x, y=y),
    ]
    return [layered("Share of people who are among the k best candidates.", 260, layers)]


def exposure(document: Document, width: int) -> list[Spec]:
    """How the risk is spread over people: tenths, clearest match first."""
    if document.best.exposure is None or document.best.identification_error is None:
        return []
    rows: Rows = [{"group": str(i + 1), **ends(group.right)} for i, group in enumerate(document.best.exposure.groups)]
    x = ordered("group", "Groups of people, clearest match first", [row["group"] for row in rows])
    y = share("value", "Re-identified")
    average = [{"value": 1 - document.best.identification_error.value}]
    layers = [
        layer(rows, {"type": "bar", "color": BLUE, "opacity": 0.45}, x=x, y=y),
        whisker(rows, True, x, {**y, "field": "low"}),
        layer(average, {"type": "rule", "color": GREY, "strokeDash": [5, 4]}, y=y),
    ]
    if document.verdict is not None:
        limit = [{"value": document.verdict.limit}]
        layers.append(layer(limit, {"type": "rule", "color": ORANGE, "strokeDash": [5, 4]}, y=y))
    return [layered("Share of people re-identified, in groups ordered by how clear their match is.", 230, layers)]


def bits(document: Document, width: int) -> list[Spec]:
    """Bits of these data and of biometric traits; what singles out anyone here is a line."""
    found = document.best.pse_bits
    here, one = "strongest attack", "one event"
    order = [_ABOVE, here, one, *(trait for trait, _ in REFERENCES_BITS)]
    rows: Rows = [{"what": here, "bits": found.shown.value}]
    y = ordered("what", None, order, ticks=False)
    y["scale"] = {"domain": order}
    x = quantity("bits", "Bits about who a person is")
    largest = max(24.0, document.name_bits, rows[0]["bits"] + 1.0)
    x["scale"] = {"domain": [0, 5.0 * math.ceil(largest / 5.0)]}
    single: Rows = [{"what": one, "bits": document.pie_bits}]
    others: Rows = [{"what": trait, "bits": value} for trait, value in REFERENCES_BITS]
    shape = {"type": "point", "shape": "triangle-right" if found.over else "circle", "size": 150 if found.over else 90}
    at = {**x, "field": "value"}
    layers: list[Spec] = [
        *reference(document.name_bits, "singles out one of these people", at, {"what": _ABOVE, "y": y}, GREEN),
        layer(rows, {**shape, "color": BLUE}, x=x, y=y),
        layer(single, {"type": "point", "color": BLUE, "filled": False, "strokeWidth": 2, "size": 80}, x=x, y=y),
        layer(others, {"type": "point", "shape": "square", "color": GREY, "size": 80}, x=x, y=y),
    ]
    if not found.over:
        spans: Rows = [{"what": here, **ends(found.shown)}]
        layers.append(whisker(spans, False, y, {**x, "field": "low"}))
    return [layered("Bits of these data on one scale with published biometric references.", 300, layers)]


def windows(document: Document, width: int) -> list[Spec]:
    """Share re-identified in one window of time after the other; a window that was not attacked leaves a gap."""
    labels = [_window_label(window.begins) for window in document.windows]
    rows: Rows = []
    for place, window in enumerate(document.windows):
        if window.identification_error is not None:
            follows = bool(rows) and rows[-1]["place"] == place - 1
            run = (rows[-1]["run"] + (not follows)) if rows else 0
            risk = ends(window.identification_error.complement)
            rows.append({"from": labels[place], "place": place, "run": run, **risk})
    if not rows:
        return []
    few = len(labels) > (12 if width > NARROW else 5)
    x = ordered("from", "Window that begins", labels, labelAngle=-40, labelOverlap=few)
    x["scale"] = {"domain": labels}
    y = share("value", "Re-identified")
    layers = [
        whisker(rows, True, x, {**y, "field": "low"}),
        layer(rows, "line", x=x, y=y, detail={"field": "run", "type": "nominal"}),
        layer(rows, "point", x=x, y=y),
    ]
    return [layered("Share of people re-identified, in one window of time after the other.", 250, layers)]


def _window_label(begins: str) -> str:
    """The day, and the time where windows are shorter than days: every window needs a place of its own."""
    return begins if len(begins) <= len("2023-11-15") else f"{begins[:10]} {begins[11:16]}"
