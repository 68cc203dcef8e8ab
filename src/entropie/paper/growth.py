"""Table "growth": time and memory of the parts at 1/16, 1/8, 1/4, 1/2 and all of the people of a scale."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from entropie import words
from entropie.attack.matchers import matcher
from entropie.attack.scoring import attack
from entropie.attack.single import attack_single, pie_bits
from entropie.data.simulation import simulate_traces
from entropie.data.split import split_traces
from entropie.data.traces import Traces
from entropie.paper.charts import Rows, Spec, axis, one_chart
from entropie.paper.figure import Results
from entropie.paper.settings import Settings
from entropie.paper.single import MECHANISMS, mechanism_of, stream
from entropie.paper.sources import Kind
from entropie.paper.steps import Step, peak_bytes
from entropie.request import SplitRule

name = "growth"
title = "Time against the number of people"
claim = ""
kinds: tuple[Kind, ...] = ()
shown = (
    "part", "users", "items", "events", "simulate_seconds", "single_seconds", "five_seconds", "rr_seconds",
    "glh_seconds", "peak_gigabytes", "single_pie_bits", "five_error",
)  # fmt: skip

PARTS = (16, 8, 4, 2, 1)
Result = TypeVar("Result")


def steps(settings: Settings) -> list[Step]:
    """One step per size."""
    return [Step(f"growth: 1/{part}", grown, {"part": part}, 20.0 / part) for part in PARTS]


def grown(settings: Settings, *, part: int) -> dict[str, Any]:
    """Simulate, attack one event and five, and estimate the distribution, with the seconds of each."""
    users = settings.scale.users // part
    simulate_seconds, traces = _timed(
        lambda: simulate_traces("foursquare", users, seed=settings.seed, threads=settings.threads)
    )
    one = split_traces(traces, SplitRule("halves", target_events=1))
    single_seconds, bits = _timed(lambda: (attack_single(one.train, one.target), pie_bits(one.train))[1])
    five = split_traces(traces, SplitRule("halves", target_events=5))
    five_seconds, outcome = _timed(lambda: attack(matcher("markov")(five.train, five.target), threads=settings.threads))
    seconds = {kind: _timed(functools.partial(_estimated, settings, kind, one.target))[0] for kind in MECHANISMS}
    return {
        "part": f"1/{part}",
        "users": traces.users,
        "items": traces.domain_size,
        "events": traces.events,
        "simulate_seconds": simulate_seconds,
        "single_seconds": single_seconds,
        "five_seconds": five_seconds,
        "rr_seconds": seconds["rr"],
        "glh_seconds": seconds["glh"],
        "single_pie_bits": bits,
        "five_error": 1.0 - float(outcome.credit.mean()),
        "peak_gigabytes": round(peak_bytes() / 1e9, 2),
    }


def _estimated(settings: Settings, kind: str, data: Traces) -> NDArray[np.float64]:
    mechanism = mechanism_of(kind, data.domain_size, settings.scale.hash_size, epsilon=12.0)
    reports = mechanism.simulate(data.items, stream(settings, "growth", kind, data.users))
    return mechanism.estimate(reports).probabilities


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    begun = time.perf_counter()
    result = work()
    return round(time.perf_counter() - begun, 3), result


def data(settings: Settings, results: Results) -> Rows:
    """One row per size."""
    return [dict(results[step.name]) for step in steps(settings)]


_PIECES = {
    "simulate_seconds": "simulate",
    "single_seconds": "one event",
    "five_seconds": "five events, markov",
    "rr_seconds": "randomized response",
    "glh_seconds": "local hashing",
}


def specs(rows: Rows) -> dict[str, Spec]:
    """Seconds against people."""
    x, y = axis("users", "people", log=True), axis("seconds", "seconds", log=True)
    return one_chart(rows, _PIECES, x, y, "job", "Seconds of the parts against the number of people.")


def findings(rows: Rows) -> list[str]:
    """The seconds at full size, and how they grow from half to all people."""
    half, whole = rows[-2], rows[-1]
    parts = [
        f"{name.capitalize()}: {words.seconds(whole[key])}, {whole[key] / half[key]:.1f} times that of half the people."
        for key, name in _PIECES.items()
        if half[key] > 0
    ]
    return [f"{whole['users']:,} people and {whole['events']:,} events, at most {whole['peak_gigabytes']} GB.", *parts]
