"""Where the data of a reproduction come from: real files where the user has them, the simulator elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from entropie import request
from entropie.data.events import read_events
from entropie.data.filter import keep_active_users, sample_users
from entropie.data.simulation import simulate_traces
from entropie.data.split import split_traces
from entropie.data.traces import Traces
from entropie.paper.settings import Settings
from entropie.request import SplitRule

Kind = Literal["check-ins", "ratings"]

MIN_EVENTS = 10
_CHECK_INS = ("raw_Checkins_anonymized.txt", "dataset_WWW_Checkins_anonymized.txt")
_RATINGS = ("ratings.csv", "ratings.dat")
_SIMULATED: dict[Kind, str] = {"check-ins": "foursquare", "ratings": "movielens"}


Function = TypeVar("Function", bound=Callable[..., Any])
_CLEAR: list[Callable[[], None]] = []


def remembered(function: Function) -> Function:
    """Compute once and keep the last two results in memory until `forget`."""
    cached = functools.lru_cache(maxsize=2)(function)
    _CLEAR.append(cached.cache_clear)
    return cast("Function", cached)


@dataclass(frozen=True, slots=True)
class Source:
    """Events of people, in order, and where they are from."""

    traces: Traces
    title: str
    real: bool


@remembered
def source(settings: Settings, kind: Kind) -> Source:
    """The events of one kind at the scale asked for."""
    check_ins = kind == "check-ins"
    users = settings.scale.users if check_ins else settings.scale.raters
    file = _real_file(settings.data, kind)
    if file is None:
        title, made = f"simulated {kind}", simulate_traces(_SIMULATED[kind], users, seed=settings.seed)
    else:
        title, made = f"{kind} of {file.name}", _read(file, kind, users, settings.threads)
    size = max(made.domain_size, settings.scale.domain_size) if check_ins else made.domain_size
    return Source(Traces(made.offsets, made.items, size), title, file is not None)  # the order is all that is used


def forget() -> None:
    """Let go of the events in memory."""
    for clear in _CLEAR:
        clear()


@remembered
def single_data(settings: Settings) -> Traces:
    """One check-in of every person: the first of those attacked, the second half of the trace."""
    traces = source(settings, "check-ins").traces
    return split_traces(traces, SplitRule("halves", knowledge="maximum", target_events=1)).target


def sample(traces: Traces, users: int, seed: int) -> Traces:
    """So many people, chosen by a hash of their number; everybody where there are not more."""
    if users >= traces.users:
        return traces
    return sample_users(traces, range(traces.users), count=users, salt=f"reproduce {seed}").traces


def at_least(traces: Traces, events: int) -> Traces:
    """The people with so many events; the numbering of places stays."""
    users: NDArray[np.int64] = np.flatnonzero(np.diff(traces.offsets) >= events)
    return traces if users.size == traces.users else traces.take(users)


def city_files(data: Path | None) -> tuple[Path, ...]:
    """Check-ins of one city each: foursquare_*.parquet with columns user, venue, time."""
    return tuple(sorted(data.glob("foursquare_*.parquet"))) if data is not None else ()


def score_files(data: Path | None) -> tuple[Path, ...]:
    """Biometric score matrices: bssr1_*.csv."""
    return tuple(sorted(data.glob("bssr1_*.csv"))) if data is not None else ()


def ratings_file(data: Path | None) -> Path | None:
    """A file of MovieLens ratings."""
    return _real_file(data, "ratings")


def _real_file(data: Path | None, kind: Kind) -> Path | None:
    names = _CHECK_INS if kind == "check-ins" else _RATINGS
    return next(_found(data, names), None) if data is not None else None


def _found(data: Path, names: tuple[str, ...]) -> Iterator[Path]:
    for name in names:
        for pattern in (name, f"*/{name}", f"{name}.gz", f"*/{name}.gz"):
            yield from sorted(data.glob(pattern))


def _read(file: Path, kind: Kind, users: int, threads: int | None) -> Traces:
    preset = "foursquare-www2019" if kind == "check-ins" else "movielens"
    read = read_events(request.Source(file, preset=preset), request.Run(threads=threads))
    return sample(keep_active_users(read.traces, MIN_EVENTS).traces, users, 0)
