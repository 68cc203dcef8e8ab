"""What chance alone shows: people and events exchanged at random, in ways that no name has a part in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.data.split import Split
from entropie.data.traces import Traces

__all__ = ["by_content", "dealt_anew", "exchanged_targets"]


def dealt_anew(traces: Traces, seed: int) -> Traces:
    """The same events given to people at random, as many to each as before."""
    popular = np.sort(np.bincount(traces.items, minlength=traces.domain_size))
    items = np.repeat(np.arange(traces.domain_size, dtype=np.uint32), popular)
    np.random.default_rng(seed).shuffle(items)
    lengths = np.sort(np.diff(traces.offsets))
    return Traces(np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))), items, traces.domain_size)


def exchanged_targets(split: Split, seed: int) -> NDArray[np.int64]:
    """A random exchange of targets that goes by what people did, so that their names do not change it."""
    order = by_content(split)
    exchanged = np.empty_like(order)
    exchanged[order] = order[np.random.default_rng(seed).permutation(len(order))]
    return exchanged


def by_content(split: Split) -> NDArray[np.int64]:
    """People sorted by a hash of their events, an event being as popular as its item: no name has a part in it.

    People whose events are alike in this stand in the order of their names.
    """
    size = split.train.domain_size
    popular = [np.bincount(traces.items, minlength=size).astype(np.uint64) for traces in (split.train, split.target)]
    kinds = (popular[0] << np.uint64(32)) + popular[1] + np.uint64(1)
    hashes = np.zeros(split.train.users, np.uint64)
    for traces, factor in ((split.train, 0x9E3779B97F4A7C15), (split.target, 0xC2B2AE3D27D4EB4F)):
        lengths = np.diff(traces.offsets)
        place = np.arange(traces.events) - np.repeat(traces.offsets[:-1], lengths)
        words = kinds[traces.items] * np.uint64(factor)
        words ^= words >> np.uint64(29)
        words *= place.astype(np.uint64) * np.uint64(2) + np.uint64(1)
        running = np.concatenate((np.zeros(1, np.uint64), np.cumsum(words)))
        hashes = hashes * np.uint64(31) + running[traces.offsets[1:]] - running[traces.offsets[:-1]]
    return np.argsort(hashes, kind="stable")
