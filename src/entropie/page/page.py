"""The page: a plain document in, one HTML text out. It picks and formats; it computes nothing and decides nothing."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from entropie import drawing
from entropie.atomic import write_file, write_together
from entropie.document import Document
from entropie.errors import InvalidInput
from entropie.mitigate.attribute_risk import document_of
from entropie.page import charts, protection_charts
from entropie.page.attackers import attackers, points_of
from entropie.page.marks import Marked
from entropie.page.specs import NARROW, WIDE, Spec

_INSIDE = '<script type="application/json" id="assessment">'
_CHARTS: dict[str, Callable[[Document, int], list[Spec]]] = {
    "gauge": charts.gauge,
    "attackers": charts.attacker_rows,
    "items": charts.items,
    "exposure": charts.exposure,
    "windows": charts.windows,
    "frontier": protection_charts.frontier,
    "ranks": charts.ranks,
    "scores": charts.scores,
    "det": charts.det,
    "bits": charts.bits,
    "guarantee": protection_charts.guarantee,
}


def render(document: dict[str, Any]) -> str:
    """The report on a plain `assessment.json` or `attributes.json`, checked whole."""
    whole = document_of(document)
    if isinstance(whole, Document):
        return _events(whole, document)
    from entropie.page.table import render_table

    return render_table(whole, document)


def _events(whole: Document, document: dict[str, Any]) -> str:
    return filled(
        "page.html",
        document,
        t=whole,
        best=f"attacks.{whole.strongest}",
        attackers=list(attackers(whole)),
        points=points_of(whole),
        drawn=drawn({name: functools.partial(chart, whole) for name, chart in _CHARTS.items()}),
        can_draw=drawing.available(),
        references=charts.REFERENCES_BITS,
        exact=False,
        inside="assessment",
    )


def filled(name: str, document: dict[str, Any], **more: Any) -> str:
    """The template of that name with a plain document in it, and what else it asks for."""
    marked = Marked(document)
    reading = {"d": marked.content, "m": marked.mark, "at": marked.at, "has": marked.has, "same": marked.same}
    return template(name).render(**reading, data=inlined(document), **more)


@functools.cache
def template(name: str) -> Template:
    """A page with its parts, compiled once."""
    environment = Environment(
        loader=PackageLoader("entropie.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["lower_first"] = lambda text: text[:1].lower() + text[1:]
    return environment.get_template(name)


def write_report(document: dict[str, Any], path: str | os.PathLike[str]) -> int:
    """Render into a file, which appears whole or not at all; returns its size in bytes."""
    page = render(document).encode()
    write_file(path, page)
    return len(page)


def write_both(folder: Path, names: tuple[str, str], text: str, document: dict[str, Any] | None) -> tuple[Path, ...]:
    """Write the text of a document and its report into a folder that the run has claimed; returns the files.

    The first is written also where the second cannot be made; without a document to render, an old report goes.
    """
    page, problem = None, None
    if document is not None:
        try:
            page = render(document)
        except Exception as found:
            problem = found
    files = write_together(folder, dict(zip(names, (text, page), strict=True)))
    if problem is not None:
        raise problem
    return files


def is_about(path: str | os.PathLike[str], document: dict[str, Any]) -> bool:
    """Whether the page on file was made from this very document; also where it is no page of ours, or gone."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        _, found, rest = Path(path).read_text(encoding="utf-8").rpartition(_INSIDE)
        return not found or json.loads(rest.partition("</script>")[0]) == document
    return True


def drawn(charts: Mapping[str, Callable[[int], list[Spec]]]) -> dict[str, Markup]:
    """Every chart that has something to show, in both widths; a style rule shows one of them."""
    found = {name: _both_widths(chart) for name, chart in charts.items()}
    return {name: made for name, made in found.items() if made}


def _both_widths(chart: Callable[[int], list[Spec]]) -> Markup:
    """A chart for the column of text and for a phone, of which a style rule shows one; empty where there is none."""
    if not drawing.available() or not chart(WIDE):
        return Markup("")
    widths = (("wide", WIDE), ("narrow", NARROW))
    return Markup("").join(
        Markup('<div class="{}">{}</div>').format(kind, _panels(chart(width), width)) for kind, width in widths
    )


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
