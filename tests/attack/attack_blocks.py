"""Random timed traces, cut into blocks of people whose items are numbered anew in the same order."""

from __future__ import annotations

import numpy as np
from attack_oracles import random_traces

from entropie.data.traces import Traces


def random_halves(seed: int, users: int, timed: bool, longest: int = 14, domain: int = 12) -> tuple[Traces, Traces]:
    rng = np.random.default_rng(seed)
    train, target = (random_traces(rng, users, longest, domain) for _ in range(2))
    return (with_times(rng, train), with_times(rng, target)) if timed else (train, target)


def with_times(rng: np.random.Generator, traces: Traces) -> Traces:
    return Traces(traces.offsets, traces.items, traces.domain_size, rng.integers(-(10**7), 10**7, traces.events))


def cuts(rng: np.random.Generator, users: int) -> list[np.ndarray]:
    """Contiguous blocks of people, some of them empty."""
    bounds = np.sort(rng.integers(0, users + 1, rng.integers(0, 5)))
    return np.split(np.arange(users), bounds)


def block_of(traces: Traces, people: np.ndarray, spare: np.ndarray) -> tuple[Traces, np.ndarray]:
    """The block with its items, and some that it has not, numbered anew; and everybody's codes of them."""
    part = traces.take(people)
    codes = np.unique(np.concatenate((part.items, spare.astype(np.uint32))))
    items = np.searchsorted(codes, part.items).astype(np.uint32)
    return Traces(part.offsets, items, codes.size, part.times), codes
