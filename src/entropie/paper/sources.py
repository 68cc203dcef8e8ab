"""Where the data of a reproduction come from: real files where the user has them, the simulator elsewhere."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from entropie import request
from entropie.atomic import replacing
from entropie.data.events import read_events
from entropie.data.filter import keep_active_users, sample_users
from entropie.data.simulation import simulate_traces
from entropie.data.split import split_traces
from entropie.data.traces import Traces
from entropie.paper.settings import Settings
from entropie.request import SplitRule

__all__ = [
    "Kind",
    "Source",
    "at_least",
    "city_files",
    "forget",
    "ratings_file",
    "remembered",
    "sample",
    "score_files",
    "single_data",
    "source",
]

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
    """The events of one kind at the scale asked for; made once and kept in the folder of results."""
    users = settings.scale.users if kind == "check-ins" else settings.scale.raters
    file = _real_file(settings.data, kind)
    title = f"simulated {kind}" if file is None else f"{kind} of {file.name}"
    kept = _kept(settings, kind, file, users)
    if kept.exists():
        return Source(_load(kept), title, file is not None)
    if file is None:
        traces = simulate_traces(_SIMULATED[kind], users, seed=settings.seed)
    else:
        traces = _read(file, kind, users, settings.threads)
    traces = Traces(traces.offsets, traces.items, traces.domain_size)  # the order is all that is used
    if kind == "check-ins":
        traces = Traces(traces.offsets, traces.items, max(traces.domain_size, settings.scale.domain_size))
    _save(kept, traces)
    return Source(traces, title, file is not None)


def forget() -> None:
    """Let go of the events in memory."""
    for clear in _CLEAR:
        clear()


@remembered
def single_data(settings: Settings) -> Traces:
    """One check-in of every person: the first of those attacked, the second half of the trace."""
    traces = source(settings, "check-ins").traces
    return split_traces(traces, SplitRule(knowledge="maximum", target_events=1)).target


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


def _kept(settings: Settings, kind: Kind, file: Path | None, users: int) -> Path:
    """The file name of the events; a simulator that has changed makes others."""
    stat = None if file is None else (file.name, file.stat().st_size, file.stat().st_mtime_ns)
    key = json.dumps([kind, users, settings.seed, settings.scale.domain_size, stat, _simulator_version()])
    return settings.store / f"{kind}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.npz"


def _simulator_version() -> str:
    from entropie.data import simulation
    from entropie.kernels import simulation as loops

    texts = [Path(module.__file__ or "").read_bytes() for module in (simulation, loops)]
    return hashlib.sha256(b"".join(texts)).hexdigest()


def _save(path: Path, traces: Traces) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as hidden, hidden.open("wb") as handle:
        np.savez(handle, offsets=traces.offsets, items=traces.items, domain_size=np.array(traces.domain_size))


def _load(path: Path) -> Traces:
    with np.load(path, allow_pickle=False) as file:
        return Traces(file["offsets"], file["items"], int(file["domain_size"]))
