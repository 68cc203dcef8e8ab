"""Steps that make the events ready: their time is told apart from that of the attacks, and what they are is said."""

from __future__ import annotations

from typing import Any

from entropie.paper.settings import Settings
from entropie.paper.sources import Kind, source
from entropie.paper.steps import Step

__all__ = ["PREFIX", "origin_step"]

PREFIX = "events: "


def origin_step(settings: Settings, kind: Kind) -> Step:
    """Simulate or read the events of one kind."""
    users = settings.scale.users if kind == "check-ins" else settings.scale.raters
    return Step(f"{PREFIX}{kind}", origin, {"kind": kind}, 0.5 + users / 30_000)


def origin(settings: Settings, *, kind: Kind) -> dict[str, Any]:
    """What the events are."""
    found = source(settings, kind)
    return {
        "data": kind,
        "source": found.title,
        "real": found.real,
        "people": found.traces.users,
        "items": found.traces.domain_size,
        "events": found.traces.events,
    }
