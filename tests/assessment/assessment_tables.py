"""Event tables with known answers, and a slow attack on them that shares no code with the package."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

Trace = Sequence[Hashable]
ALL_MATCHERS = ("markov", "visit", "tfidf", "cosine", "bayes", "pitman_yor")
FLOOR = 1e-8
TIE = 1e-9


def table_of(traces: Sequence[Trace], *, names: Sequence[Hashable] | None = None, times: bool = True) -> pa.Table:
    """One row per event; times are numbers that say the order and nothing else."""
    names = range(len(traces)) if names is None else names
    columns: dict[str, list[Any]] = {
        "user": [name for name, trace in zip(names, traces, strict=True) for _ in trace],
        "item": [item for trace in traces for item in trace],
    }
    if times:
        columns["time"] = [t for trace in traces for t in range(len(trace))]
    return pa.table(columns)


def people_with_habits(
    seed: int, users: int, *, items: int = 200, events: tuple[int, int] = (10, 30), loyalty: float = 0.6
) -> pa.Table:
    """Real-like events: everybody has five favourites, else goes where all go (Zipf); lengths differ; real times."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, items + 1)
    popularity /= popularity.sum()
    lengths = rng.integers(events[0], events[1], users, endpoint=True)
    favourites = np.stack([rng.choice(items, 5, replace=False) for _ in range(users)])
    user = np.repeat(np.arange(users), lengths)
    common = rng.choice(items, user.size, p=popularity)
    own = favourites[user, rng.integers(0, 5, user.size)]
    item = np.where(rng.random(user.size) < loyalty, own, common)
    gaps = rng.integers(600, 90_000, user.size)
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    running = np.cumsum(gaps)
    time = 1_500_000_000 + running - np.repeat(running[starts], lengths)
    return pa.table({"user": user, "item": item, "time": time})


def without_clock(document: dict[str, Any], *also: str) -> dict[str, Any]:
    """The JSON document without what a clock wrote, and without further keys of `input`."""
    copy: dict[str, Any] = json.loads(json.dumps(document, allow_nan=False))
    for key in ("seconds", "date", "run"):
        del copy["provenance"][key]
    for attack in (*copy["attacks"], *copy["attackers"]):
        del attack["seconds"]
    for key in also:
        del copy["input"][key]
    return copy


def numbers(document: Any, place: str = "") -> dict[str, Any]:
    """Every leaf of a JSON document by its path."""
    if isinstance(document, dict):
        pairs = ((f"{place}/{key}", value) for key, value in document.items())
    elif isinstance(document, list):
        pairs = ((f"{place}/{index}", value) for index, value in enumerate(document))
    else:
        return {place: document}
    return {path: leaf for name, value in pairs for path, leaf in numbers(value, name).items()}


def differences(one: dict[str, Any], other: dict[str, Any], tolerance: float = 0.0) -> dict[str, tuple[Any, Any]]:
    """Leaves in which two documents differ; numbers may differ by the tolerance."""
    left, right = numbers(one), numbers(other)
    found = {}
    for path in left.keys() | right.keys():
        a, b = left.get(path, "absent"), right.get(path, "absent")
        close = isinstance(a, float) and isinstance(b, float) and abs(a - b) <= tolerance
        if a != b and not close:
            found[path] = (a, b)
    return found


@dataclass(frozen=True)
class Expected:
    """What the slow attack finds."""

    users: int
    events: int
    dropped_by_split: int
    error: float
    top_k: dict[int, float]
    equal_error_rates: tuple[float, ...]  # more than one where thresholds are equally good
    pie_bits: float


def slow_attack(
    table: pa.Table,
    matcher: str,
    *,
    min_events: int = 10,
    rule: str = "halves",
    knowledge: str = "partial",
    train_events: int | None = None,
    target_events: int | None = None,
) -> Expected:
    """Read, filter, split, score every pair, decide: all in plain loops."""
    users, times, items = (table[name].to_pylist() for name in ("user", "time", "item"))
    rows = sorted(zip(users, times, range(table.num_rows), items, strict=True))
    traces: dict[Hashable, list[Hashable]] = {}
    for user, _, _, item in rows:
        traces.setdefault(user, []).append(item)
    traces = {user: trace for user, trace in traces.items() if len(trace) >= min_events}
    cut = {user: _split(trace, rule, knowledge, train_events, target_events) for user, trace in traces.items()}
    attacked = {user: pair for user, pair in cut.items() if pair[0] and pair[1]}
    score = _SCORES[matcher]
    matrix = [[score(train, target) for train, _ in attacked.values()] for _, target in attacked.values()]
    genuine = [row[place] for place, row in enumerate(matrix)]
    impostor = [score for place, row in enumerate(matrix) for user, score in enumerate(row) if user != place]
    n = len(attacked)
    better = [sum(score > own + TIE for score in row) for own, row in zip(genuine, matrix, strict=True)]
    tied = [sum(abs(score - own) <= TIE for score in row) for own, row in zip(genuine, matrix, strict=True)]
    top_k = {
        k: 1 - sum(min(1.0, max(0.0, (k - b) / t)) for b, t in zip(better, tied, strict=True)) / n
        for k in (1, 2, 5, 10, 20, 50, 100)
        if k <= n
    }
    return Expected(
        users=n,
        events=sum(len(traces[user]) for user in attacked),
        dropped_by_split=len(cut) - n,
        error=1 - sum(1 / t for b, t in zip(better, tied, strict=True) if b == 0) / n,
        top_k=top_k,
        equal_error_rates=_equal_error_rates(genuine, impostor),
        pie_bits=_information([traces[user] for user in attacked]),
    )


def _split(
    trace: list[Hashable], rule: str, knowledge: str, train_events: int | None, target_events: int | None
) -> tuple[list[Hashable], list[Hashable]]:
    half = math.ceil(len(trace) / 2)
    target = trace if rule == "history" else trace[half:]
    target = target[:target_events]
    train = target if knowledge == "maximum" or rule == "history" else trace[:half]
    return train[:train_events], target


def _visit(train: Trace, target: Trace) -> float:
    counts = Counter(train)
    return sum(math.log(counts[item] / len(train)) - math.log(FLOOR) for item in target if item in counts)


def _markov(train: Trace, target: Trace) -> float:
    steps = Counter(itertools.pairwise(train))
    leaving = Counter(train[:-1])
    score = _visit(train, target[:1])
    for here, there in itertools.pairwise(target):
        if steps[here, there]:
            score += math.log(steps[here, there] / leaving[here]) - math.log(FLOOR)
    return score


def _cosine(train: Trace, target: Trace) -> float:
    left, right = Counter(train), Counter(target)
    product = sum(left[item] * right[item] for item in left)
    return product / math.sqrt(sum(c * c for c in left.values()) * sum(c * c for c in right.values()))


_SCORES: dict[str, Callable[[Trace, Trace], float]] = {"markov": _markov, "visit": _visit, "cosine": _cosine}


def _equal_error_rates(genuine: Sequence[float], impostor: Sequence[float]) -> tuple[float, ...]:
    """Mean of both error rates where they differ least, over thresholds that no other beats; equals are all listed."""
    frr_of = {0.0: 1.0}  # everything rejected
    for threshold in sorted(genuine, reverse=True):
        far = sum(score >= threshold - TIE for score in impostor) / len(impostor)
        frr_of[far] = sum(score < threshold - TIE for score in genuine) / len(genuine)
    closest = min(abs(far - frr) for far, frr in frr_of.items())
    return tuple((far + frr) / 2 for far, frr in frr_of.items() if abs(far - frr) <= closest + 1e-12)


def _information(traces: Sequence[Trace]) -> float:
    """I(U;X) for uniform U and X drawn from the user's own trace."""
    mean: Counter[Hashable] = Counter()
    for trace in traces:
        for item, count in Counter(trace).items():
            mean[item] += count / len(trace) / len(traces)
    return sum(
        count / len(trace) / len(traces) * math.log2(count / len(trace) / mean[item])
        for trace in traces
        for item, count in Counter(trace).items()
    )
