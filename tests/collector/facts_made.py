"""What a store would know after simulated devices have answered."""

from __future__ import annotations

from typing import Any

import numpy as np

from entropie.collector.document import Collection
from entropie.collector.facts import Facts
from entropie.collector.pool import hash_functions
from entropie.mechanisms.local_hashing import LocalHashing


def honest_cells(collection: Collection, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The cells that honest devices send for these item codes; written apart from the product's own devices."""
    device, size = collection.device, len(values)
    truthful = rng.random(size) < device.theta
    if isinstance(device, LocalHashing):
        index = rng.integers(0, collection.functions, size, dtype=np.uint64)
        a, b = hash_functions(collection.seed_bytes, index, device.prime)
        truth = np.array(
            [
                (int(p) * int(x) + int(q)) % device.prime % device.hash_size
                for p, q, x in zip(a, b, values, strict=True)
            ],
            np.uint64,
        )
        lies = rng.integers(0, device.hash_size, size, dtype=np.uint64)
        return index * np.uint64(device.hash_size) + np.where(truthful, truth, lies)
    return np.where(truthful, values, rng.integers(0, device.domain_size, size)).astype(np.uint64)


def facts_of(collection: Collection, cells: np.ndarray, **more: Any) -> Facts:
    distinct, counts = np.unique(np.asarray(cells, np.int64), return_counts=True)
    return Facts(collection, distinct, counts.astype(np.int64), **{"high_water": len(cells), **more})


def honest(collection: Collection, reports: int, seed: int = 1, **more: Any) -> Facts:
    """Facts after honest reports about items of falling frequency."""
    rng = np.random.default_rng(seed)
    size = collection.device.domain_size
    shares = 1.0 / np.arange(1, size + 1)
    values = rng.choice(size, reports, p=shares / shares.sum()).astype(np.uint64)
    return facts_of(collection, honest_cells(collection, values, rng), **more)
