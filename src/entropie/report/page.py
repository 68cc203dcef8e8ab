"""The page: an assessment document in, one HTML text out. It picks and formats; it computes nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, UndefinedError
from markupsafe import Markup

from entropie import drawing
from entropie.atomic import replacing
from entropie.errors import InvalidInput
from entropie.report import pictures, protection
from entropie.report.document import Document
from entropie.report.findings import find
from entropie.report.specs import NARROW, WIDE, Spec

__all__ = ["render", "write_report"]

_PICTURES: dict[str, Callable[[Document, int], list[Spec]]] = {
    "gauge": pictures.gauge,
    "known": pictures.known,
    "exposure": pictures.exposure,
    "ranks": pictures.ranks,
    "laws": pictures.laws,
    "det": pictures.det,
    "bits": pictures.bits,
    "guarantee": protection.guarantee,
    "frontier": protection.frontier,
    "windows": pictures.windows,
}


def render(document: dict[str, Any]) -> str:
    """The report on an `assessment.json`, as it was read from JSON."""
    found, data = Document(document), inlined(document)
    environment = Environment(
        loader=PackageLoader("entropie.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["lower_first"] = lambda text: text[:1].lower() + text[1:]
    try:
        return environment.get_template("page.html").render(
            d=found.content,
            m=found.mark,
            at=found.value,
            has=found.has,
            f=find(found, pictures.best(found)),
            best=pictures.best(found),
            same=found.same,
            band_seen=pictures.band_seen(found),
            drawn=_drawn(found),
            can_draw=drawing.available(),
            references=pictures.REFERENCES_BITS,
            data=data,
        )
    except (KeyError, IndexError, TypeError, AttributeError, UndefinedError) as problem:
        raise InvalidInput(
            f"The document is not a whole assessment ({problem}); make it anew with `entropie assess`."
        ) from problem


def write_report(document: dict[str, Any], path: str | os.PathLike[str]) -> int:
    """Render into a file, which appears whole or not at all; returns its size in bytes."""
    page = render(document).encode()
    with replacing(path) as hidden:
        hidden.write_bytes(page)
    return len(page)


def _drawn(document: Document) -> dict[str, Markup]:
    """Every picture in both widths; a style rule shows one of them."""
    if not drawing.available():
        return {}
    made = {}
    for name, picture in _PICTURES.items():
        panels = {kind: picture(document, width) for kind, width in (("wide", WIDE), ("narrow", NARROW))}
        if panels["wide"]:
            made[name] = Markup("").join(
                Markup('<div class="{}">{}</div>').format(kind, _panels(specs, WIDE if kind == "wide" else NARROW))
                for kind, specs in panels.items()
            )
    return made


def _panels(specs: list[Spec], width: int) -> Markup:
    # drawing.svg leaves shapes and escaped text only
    return Markup("").join(Markup(drawing.svg(spec, width)) for spec in specs)


def inlined(document: Any) -> Markup:
    """JSON that no page can mistake for markup: ASCII, and no <, > or & in it."""
    try:
        text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except ValueError:
        raise InvalidInput("The document holds NaN or an infinite number, which JSON cannot; write null.") from None
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
