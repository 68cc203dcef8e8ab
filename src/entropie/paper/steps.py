"""Steps of a reproduction: each result goes to disk as soon as it is there, so that a stopped run continues.

A result is filed under a hash of what decides it: the function, its arguments, the settings, and the program text of
the packages that compute. A changed program starts anew.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from entropie.atomic import write_file
from entropie.paper import sources
from entropie.paper.settings import Settings
from entropie.paper.sources import Kind, source
from entropie.progress import Progress, silent

Work = Callable[..., Any]

_COMPUTING = ("theory", "kernels", "mechanisms", "estimation", "data", "measures", "attack", "paper")


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of work: `work(settings, **arguments)` gives plain values for JSON.

    `cost` says how long it takes compared with other steps, for the progress.
    """

    name: str
    work: Work
    arguments: dict[str, Any] = field(default_factory=dict)
    cost: float = 1.0

    def key(self, settings: Settings) -> str:
        """The name its result is filed under."""
        made_of = {
            "work": f"{self.work.__module__}.{self.work.__qualname__}",
            "arguments": self.arguments,
            "settings": settings.key(),
            "program": program_digest(),
        }
        return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Done:
    """A step's result, how long it took and the most memory that was in use meanwhile."""

    name: str
    result: Any
    seconds: float
    peak_bytes: int
    kept: bool = False  # it was there from an earlier run


def run_steps(steps: Sequence[Step], settings: Settings, progress: Progress = silent) -> dict[str, Done]:
    """Run the steps that are not done yet, in order; results by the names of the steps."""
    settings.store.mkdir(parents=True, exist_ok=True)
    wanted = {step.name: step for step in steps}
    done: dict[str, Done] = {}
    for step in wanted.values():
        kept = _kept(_file(step, settings))
        if kept is not None:
            done[step.name] = kept
    todo = [step for step in wanted.values() if step.name not in done]
    total, passed = sum(step.cost for step in todo), 0.0
    try:
        for step in todo:
            progress(step.name, passed / total)
            done[step.name] = _run(step, settings)
            passed += step.cost
    finally:
        sources.forget()
    progress("drawing", 1.0)
    return {name: done[name] for name in wanted}


def _run(step: Step, settings: Settings) -> Done:
    gc.collect()
    reset_peak()
    begun = time.perf_counter()
    result = step.work(settings, **step.arguments)
    found = Done(step.name, result, round(time.perf_counter() - begun, 3), peak_bytes())
    write_file(_file(step, settings), json.dumps(dataclasses.asdict(found), allow_nan=False) + "\n")
    return found


def _file(step: Step, settings: Settings) -> Path:
    return settings.store / f"{step.key(settings)}.json"


def _kept(file: Path) -> Done | None:
    """What an earlier run left; a file that cannot be read counts as not done."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return Done(**{**found, "kept": True})
    except (OSError, ValueError, TypeError):
        return None


ORIGIN = "events: "
"""What the names of steps begin with that make events ready: their time is told apart from that of the attacks."""


def origin_step(settings: Settings, kind: Kind) -> Step:
    """Simulate or read the events of one kind."""
    users = settings.scale.users if kind == "check-ins" else settings.scale.raters
    return Step(f"{ORIGIN}{kind}", origin, {"kind": kind}, 0.5 + users / 30_000)


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


@functools.cache
def program_digest() -> str:
    """A hash of the program text that results depend on."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(path for part in _COMPUTING for path in (root / part).rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def reset_peak() -> None:
    """Begin a new count of the most memory in use, where the system allows it (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_bytes() -> int:
    """The most memory in use since `reset_peak`; since the start of the process where that cannot be told."""
    with contextlib.suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024
    import resource  # not on every system

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
