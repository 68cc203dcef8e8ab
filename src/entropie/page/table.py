"""The report of a table with one row per person: the same frame, verdict and sign-off, its own questions in between."""

from __future__ import annotations

from functools import partial
from typing import Any

from entropie import drawing
from entropie.document.measured import ShareInterval
from entropie.drawing import BLUE, GREY
from entropie.errors import printable
from entropie.mitigate.attribute_risk import AttributeRisk
from entropie.page.charts import risks
from entropie.page.page import drawn, filled
from entropie.page.specs import Rows, Spec, ends, layer, layered, ordered, quantity
from entropie.words import cut

_SHOWN = 12  # columns that a chart has room for


def render_table(whole: AttributeRisk, document: dict[str, Any]) -> str:
    """The page of a plain `attributes.json`, and the same checked."""
    start = next(name for name in ("banded", "without_identifiers", "together") if document[name] is not None)
    charts = {"gauge": gauge, "attackers": attackers, "columns": columns, "order": order}
    return filled(
        "table/page.html",
        document,
        t=whole,
        exact=True,
        start=start,
        drawn=drawn({name: partial(chart, whole) for name, chart in charts.items()}),
        can_draw=drawing.available(),
        inside="assessment",
    )


def _exact(share: float) -> ShareInterval:
    return ShareInterval(share, share, share)


def _risks(whole: AttributeRisk, rows: Rows, width: int, description: str) -> list[Spec]:
    limit = None if whole.verdict is None else whole.verdict.limit
    return risks(rows, (limit, whole.guessing_success), width, description)


def gauge(whole: AttributeRisk, width: int) -> list[Spec]:
    """The number judged, and the average beside it, against the limit and chance."""
    rows: Rows = []
    if whole.verdict is not None:
        judged = whole.verdict
        whom = "people judged" if judged.share >= 1.0 else "smallest groups"
        rows.append({"what": whom, **ends(judged.judged_risk)})
    if whole.verdict is None or whole.verdict.judged_risk.value != whole.together.success:
        rows.append({"what": "all people", **ends(_exact(whole.together.success))})
    return _risks(whole, rows, width, "The number judged, against the limit and chance.")


def attackers(whole: AttributeRisk, width: int) -> list[Spec]:
    """Share of people re-identified, by how many columns are known."""
    rows: Rows = [{"what": "all columns named", **ends(_exact(whole.together.success))}]
    some = [row for row in whole.attackers if row.points < len(whole.columns)]
    rows += [{"what": row.knows, **ends(row.reidentified)} for row in reversed(some)]
    return _risks(whole, rows, width, "Share of people re-identified by who knows so many columns.")


def columns(whole: AttributeRisk, width: int) -> list[Spec]:
    """What each column says about who a person is, and what singles out anybody."""
    most = sorted(whole.columns, key=lambda column: -column.alone.bits)[:_SHOWN]
    names = _labels([column.name for column in most])
    rows: Rows = [{"what": name, "bits": column.alone.bits} for name, column in zip(names, most, strict=True)]
    x = quantity("bits", "Bits about who a person is, known alone")
    x["scale"] = {"domain": [0, max(1.0, whole.name_bits)]}
    y = ordered("what", None, names, ticks=False, domain=False)
    line: Rows = [{"bits": whole.name_bits}]
    layers = [
        layer(rows, {"type": "bar", "color": BLUE, "opacity": 0.6, "height": 16}, x=x, y=y),
        layer(line, {"type": "rule", "color": GREY, "strokeDash": [5, 4]}, x=x),
    ]
    return [layered("Bits of each column, against what singles out anybody (dashed).", 60 + 26 * len(rows), layers)]


def order(whole: AttributeRisk, width: int) -> list[Spec]:
    """How the share grows with every column learned, the most identifying one next."""
    steps = whole.greedy[:_SHOWN]
    names = _labels([f"+ {step.column}" if place else step.column for place, step in enumerate(steps)])
    rows: Rows = [{"what": name, **ends(_exact(step.success))} for name, step in zip(names, steps, strict=True)]
    return _risks(whole, rows, width, "Share of people re-identified with every column more that is known.")


def _labels(names: list[str]) -> list[str]:
    """Names short enough for an axis, no two the same, of characters that can be drawn."""
    drawn = [printable(name) for name in names]
    short = [cut(name, 24) for name in drawn]
    return [name if short.count(name) == 1 else f"{name[:18]} ({place + 1})" for place, name in enumerate(short)]
