"""Charts as data: Vega-Lite specifications in, still SVG or PNG out, all in one look.

A specification is a plain dict with its numbers inside. Nothing is fetched, and an SVG holds no script, no link and no
id that another picture on the same page could have.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

from entropie.errors import InvalidInput, InvalidParameter

Spec = dict[str, Any]

BLUE, ORANGE, GREEN, PURPLE = "#0a5c9e", "#b04a00", "#00734f", "#8a3f78"
INK, GREY, LIGHT = "#1d2329", "#565d66", "#d9dde2"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE)
"""Told apart with every kind of colour blindness, and dark enough on white (4.5 to 1) to write with."""

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
"""Families of equal widths: text takes the room on every machine that it was measured to take."""

THEME: Spec = {
    "background": None,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "labelFontSize": 13,
        "labelPadding": 5,
        "titleColor": INK,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titlePadding": 9,
        "gridColor": "#e8ebee",
        "domainColor": GREY,
        "tickColor": GREY,
        "tickSize": 4,
    },
    "legend": {
        "orient": "top",
        "direction": "horizontal",
        "title": None,
        "labelColor": INK,
        "labelFontSize": 13,
        "labelLimit": 300,
        "symbolStrokeWidth": 2,
        "symbolSize": 90,
    },
    "text": {"color": INK, "fontSize": 13},
    "line": {"strokeWidth": 2.2, "color": BLUE},
    "point": {"size": 64, "filled": True, "opacity": 1, "color": BLUE},
    "bar": {"color": BLUE},
    "rule": {"color": INK},
    "range": {"category": list(PALETTE)},
}

_VERSION = "5.21"
_SVG = "http://www.w3.org/2000/svg"
_KEPT_ELEMENTS = frozenset(
    ["svg", "g", "path", "line", "rect", "text", "tspan", "defs", "clipPath", "linearGradient", "stop"]
)
_LEFT_OUT = ("aria-", "on", "role", "class", "href", "pointer-events")


def available() -> bool:
    """Whether charts can be drawn here."""
    return hindrance() is None


def hindrance() -> str | None:
    """Why charts cannot be drawn here, and the remedy; None where they can."""
    try:
        import vl_convert  # noqa: F401
    except ImportError:
        return "for these run: pip install 'entropie[report]'"
    with contextlib.suppress(ImportError):  # there is no such limit
        import resource

        # The library lays claim to a terabyte of addresses and ends the whole process where it does not get them.
        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            return "what draws them needs a process without a limit on addresses (see `ulimit -v`)"
    return None


def svg(spec: Spec, width: int) -> str:
    """The picture as an `svg` element `width` pixels wide, that stands alone or inside a page.

    The specification's `description` becomes the text alternative.
    """
    library, sized = _library(), _sized(spec, width)
    try:
        drawn = library.vegalite_to_svg(sized, vl_version=_VERSION, config=THEME, allowed_base_urls=[])
    except ValueError as problem:
        raise _undrawn(problem) from None
    mark = hashlib.sha256(f"{json.dumps(spec, sort_keys=True)}{width}".encode()).hexdigest()[:8]
    return _cleaned(drawn, mark, str(spec.get("description", "")))


def png(spec: Spec, width: int, *, scale: float = 2.0) -> bytes:
    """The picture as a PNG file of `width` times `scale` pixels."""
    if not 0.0 < scale <= 10.0:
        raise InvalidParameter.of("scale", "above 0 and at most 10", scale)
    library, sized = _library(), {"background": "white", **_sized(spec, width)}
    try:
        made: bytes = library.vegalite_to_png(
            sized, vl_version=_VERSION, config=THEME, scale=scale, allowed_base_urls=[]
        )
    except ValueError as problem:
        raise _undrawn(problem) from None
    return made


def _undrawn(problem: ValueError) -> InvalidInput:
    """What the library found wrong, on one line."""
    return InvalidInput(f"The chart cannot be drawn: {' '.join(str(problem).split())[:300]}")


def _library() -> ModuleType:
    missing = hindrance()
    if missing is not None:
        raise InvalidInput(f"Charts cannot be drawn here; {missing}.")
    import vl_convert

    library: ModuleType = vl_convert
    return library


def _sized(spec: Spec, width: int) -> Spec:
    if not 50 <= width <= 10_000:
        raise InvalidParameter.of("width", "between 50 and 10000 pixels", width)
    return {"autosize": {"type": "fit", "contains": "padding"}, **spec, "width": width}


def _cleaned(drawn: str, mark: str, description: str) -> str:
    """Only shapes and text, ids of its own, one text alternative on the outermost element."""
    root = ElementTree.fromstring(drawn)
    # The library counts ids on from picture to picture; numbered anew, the same picture is the same text.
    found = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    _clean(root, {name: f"{mark}-{place}" for place, name in enumerate(found)})
    size = {name: root.attrib[name] for name in ("width", "height", "viewBox")}
    root.attrib.clear()
    root.attrib.update({"xmlns": _SVG, **size, "role": "img", "aria-label": description})
    return ElementTree.tostring(root, encoding="unicode")


def _clean(element: ElementTree.Element, ids: dict[str, str]) -> None:
    element.tag = _plain(element.tag)
    kept = {_plain(name): value for name, value in element.attrib.items()}
    element.attrib.clear()
    for name, value in kept.items():
        if name == "id":
            element.attrib[name] = ids[value]
        elif value.startswith("url("):
            element.attrib[name] = f"url(#{ids[value.removeprefix('url(#').removesuffix(')')]})"
        elif not name.startswith(_LEFT_OUT):
            element.attrib[name] = value
    for child in list(element):
        if _plain(child.tag) in _KEPT_ELEMENTS:
            _clean(child, ids)
        else:
            element.remove(child)


def _plain(name: str) -> str:
    return name.rpartition("}")[2]
