"""Charts as SVG, by hand: shapes and escaped text, no style, no script. The text says the same beside each."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence

from markupsafe import Markup

from entropie.collector.status import ItemEstimate, Volume
from entropie.mechanisms.calibrate import TradeOff
from entropie.words import count, stated

_WIDTH, _ROW = 200, 16
_VOLUME_WIDTH, _VOLUME_HEIGHT = 672, 90
_FRONTIER_WIDTH, _FRONTIER_HEIGHT = 420, 200


def intervals(shown: Sequence[ItemEstimate]) -> list[Markup]:
    """A line from low to high with a dot at the estimate for each item, all to the same scale from 0."""
    top = max((one.high for one in shown), default=1.0) or 1.0
    scale = (_WIDTH - 8) / top

    def place(share: float) -> float:
        return round(4 + scale * min(max(share, 0.0), top), 1)

    return [
        Markup(
            '<svg class="interval" viewBox="0 0 {w} {h}" width="{w}" height="{h}" aria-hidden="true" focusable="false">'
            '<line class="axis" x1="4" x2="4" y1="0" y2="{h}"/>'
            '<line class="range" x1="{low}" x2="{high}" y1="8" y2="8"/>'
            '<circle class="{kind}" cx="{at}" cy="8" r="4"/></svg>'
        ).format(
            w=_WIDTH,
            h=_ROW,
            low=place(one.low),
            high=place(one.high),
            at=place(one.share),
            kind="sure" if one.stands_out else "unsure",
        )
        for one in shown
    ]


def volume(hours: Sequence[Volume]) -> Markup:
    """One bar an hour, at its place among the hours of a week (or of a day, where there is no more)."""
    if not hours:
        return Markup("")
    most = max(1, *(one.accepted for one in hours))
    ages = [round((_moment(hours[-1]) - _moment(one)).total_seconds() / 3600) for one in hours]
    step = _VOLUME_WIDTH / max(24, ages[0] + 1)
    bars = Markup("").join(
        Markup('<rect x="{x}" y="{y}" width="{w}" height="{h}"/>').format(
            x=round(_VOLUME_WIDTH - (age + 1) * step, 2),
            y=round(_VOLUME_HEIGHT * (1 - one.accepted / most), 2),
            w=round(step * 0.8, 2),
            h=round(_VOLUME_HEIGHT * one.accepted / most, 2),
        )
        for age, one in zip(ages, hours, strict=True)
    )
    label = f"Reports by hour, at most {count(most)}; the last: {count(hours[-1].accepted)}."
    return Markup('<svg class="volume" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        _VOLUME_WIDTH, _VOLUME_HEIGHT, label, bars
    )


def _moment(one: Volume) -> datetime.datetime:
    return datetime.datetime.strptime(one.hour, "%Y-%m-%dT%HZ")


def frontier(points: Sequence[TradeOff], chosen: float) -> Markup:
    """Squared error over the limit on certainty, on a scale of powers of ten; the limit in use is filled."""
    shown = [one for one in points if 0.0 < one.loss < math.inf]
    if len(shown) < 2:
        return Markup("")
    logs = [math.log10(one.loss) for one in shown]
    low, span = min(logs), max(max(logs) - min(logs), 1e-9)
    across = (_FRONTIER_WIDTH - 80) / (len(shown) - 1)
    places = [
        (round(40 + across * i, 1), round(20 + (_FRONTIER_HEIGHT - 60) * (1 - (log - low) / span), 1))
        for i, log in enumerate(logs)
    ]
    marks = Markup("").join(
        Markup('<circle class="{}" cx="{}" cy="{}" r="6"/><text x="{}" y="{}" text-anchor="middle">{}</text>').format(
            "sure" if one.certainty == chosen else "unsure", x, y, x, _FRONTIER_HEIGHT - 8, stated(one.certainty)
        )
        for one, (x, y) in zip(shown, places, strict=True)
    )
    line = " ".join(f"{x},{y}" for x, y in places)
    label = "Squared error falls as more certainty about one person is allowed; the numbers are in the table."
    return Markup(
        '<svg class="frontier" viewBox="0 0 {} {}" role="img" aria-label="{}"><polyline points="{}"/>{}</svg>'
    ).format(_FRONTIER_WIDTH, _FRONTIER_HEIGHT, label, line, marks)
