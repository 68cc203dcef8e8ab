"""The pages as text, from a status or a design; they pick and format, compute nothing and decide nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from entropie import words
from entropie.collector.dashboard import drawn
from entropie.collector.dashboard.design import CERTAINTIES, ERRORS, ITEMS, MECHANISMS, PEOPLE, REPORTS, Designed, Wish
from entropie.collector.status import ItemEstimate, Status
from entropie.errors import printable

_LONGEST_NAME = 80
_ATTACKERS = {
    "alone": "sees one person's reports alone",
    "all reports": "holds all reports",
    "all reports, knows who took part": "holds all reports and knows who took part so far",
}


def overview(statuses: Sequence[Status]) -> str:
    """All collections."""
    return _render("overview.html", statuses=statuses)


def collection(status: Status, asked: str = "", found: ItemEstimate | None = None, reason: str | None = None) -> str:
    """One collection, live, and the name that was looked up."""
    return _render(
        "collection.html",
        s=status,
        asked=asked,
        found=found,
        reason=reason,
        attackers=_ATTACKERS,
        intervals=drawn.intervals(status.estimates.shown),
        volume=drawn.volume(status.hours),
    )


def design(wish: Wish, found: Designed) -> str:
    """The design page with its sliders."""
    whole, share = _stops(words.count), _stops(words.stated)
    stops = [
        whole("people", "People", PEOPLE, wish.people),
        whole("items", "Items to choose from", ITEMS, wish.items),
        share("error", "Wanted error rate of the attacker, at least", ERRORS, wish.error),
        share("certainty", "Certainty about one person, at most", CERTAINTIES, wish.certainty),
        whole("reports", "Reports per person", REPORTS, wish.reports),
    ]
    return _render("design.html", stops=stops, result=Markup(design_result(found)))  # escaped when it was rendered


def _stops(shown: Callable[[Any], str]) -> Callable[[str, str, tuple[float, ...], float], dict[str, Any]]:
    """Makes the stops of a slider, among them the value that it has now."""

    def made(name: str, label: str, values: tuple[float, ...], now: float) -> dict[str, Any]:
        among = sorted({*values, now})
        texts = [(value, shown(value)) for value in among]
        return {"name": name, "label": label, "stops": texts, "at": among.index(now), "now": shown(now)}

    return made


def design_result(found: Designed) -> str:
    """What was found, as a part of the page."""
    made = found.found
    others = [] if made is None else [one for one in made.trade_off if one.scope == made.goal.scope]
    return _render("design_result.html", d=found, frontier=drawn.frontier(others, found.wish.certainty), points=others)


def login(wrong: bool) -> str:
    """The page that asks for the token."""
    return _render("login.html", wrong=wrong)


def missing() -> str:
    """Nothing is here."""
    return _render("plain.html", title="Not found", says="There is no such page.")


def refused(reason: str) -> str:
    """What was asked cannot be."""
    return _render("plain.html", title="Not possible", says=reason)


def name(text: str | None, code: int) -> str:
    """An item's name as it may be shown, or its code where names are hashed."""
    return f"code {words.count(code)}" if text is None else words.cut(printable(text), _LONGEST_NAME)


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(values)


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("entropie.collector.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "percent": words.percent,
        "stated": words.stated,
        "count": words.count,
        "digits": words.digits,
        "printable": printable,
        "capital": lambda text: text[:1].upper() + text[1:],
    }
    made.globals |= {"plural": words.plural, "interval": words.interval, "item": name, "mechanisms": MECHANISMS}
    return made
