"""What a store knows of one collection, as one value: the counts of cells, hourly volume, disk. No person is in it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from entropie.collector.document import Collection, read
from entropie.collector.pool import hash_functions
from entropie.collector.store import Held, Hour, Store, this_hour
from entropie.estimation.counting import hashed_supports
from entropie.estimation.estimates import Estimates
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.theory.loss import CountingRates

LIVE_WORK = 2**30
"""Tests of an item against a hash function that a live estimate may take: some seconds."""
LIVE_ITEMS = 2**20


@dataclass(frozen=True)
class Facts:
    """A store at one moment.

    cells, counts    how many reports name each cell; cells that nobody named may be left out
    hours            volume by hour, oldest first
    high_water       reports that the store is known to have held; more than it holds: it was rolled back
    problems         sentences of the store itself on what does not add up
    free_bytes, disk_bytes   what is free where the store lies, and how large that disk is; None where not known
    closed           whether no more reports are taken
    hour             the hour of this moment
    """

    collection: Collection
    cells: NDArray[np.int64]
    counts: NDArray[np.int64]
    hours: tuple[Hour, ...] = ()
    high_water: int = 0
    problems: tuple[str, ...] = ()
    free_bytes: int | None = None
    disk_bytes: int | None = None
    closed: bool = False
    hour: int = 0

    @cached_property
    def total(self) -> int:
        """Reports in all: N."""
        return int(self.counts.sum())

    @property
    def people(self) -> int:
        """The fewest people who can have sent them, each keeping to their number of reports; no more than declared.

        More reports than the declared people may send do not make a larger crowd: they are forged, or sent too often.
        """
        return min(-(-self.total // self.collection.reports), self.collection.users)

    @property
    def estimable(self) -> bool:
        """Whether all items can be estimated while people wait."""
        size = self.collection.device.domain_size
        return size <= LIVE_ITEMS and size * self.collection.functions <= LIVE_WORK

    @cached_property
    def functions(self) -> NDArray[np.int64]:
        """Reports by hash function of the pool."""
        device = self.collection.device
        assert isinstance(device, LocalHashing)
        used = self.cells // device.hash_size
        return np.bincount(used, weights=self.counts, minlength=self.collection.functions).astype(np.int64)

    @cached_property
    def supports(self) -> NDArray[np.int64]:
        """Reports that support each item."""
        return self._supports(None)

    def _supports(self, items: NDArray[np.uint64] | None) -> NDArray[np.int64]:
        """The same for these codes, in rising order; for all where they are None."""
        collection, device = self.collection, self.collection.device
        found = np.zeros(device.domain_size if items is None else len(items), np.int64)
        if not isinstance(device, LocalHashing):
            if items is None:
                found[self.cells] = self.counts
            else:
                _, here, there = np.intersect1d(items.astype(np.int64), self.cells, return_indices=True)
                found[here] = self.counts[there]
            return found
        function, value = np.divmod(self.cells, device.hash_size)
        pool = _pool(collection.seed_bytes, collection.functions, device.prime)
        # supports add up, so a count is taken apart into powers of two: each cell is tested once for each of its bits
        for bit in range(int(self.counts.max(initial=0)).bit_length()):
            chosen = (self.counts >> bit) & 1 == 1
            numbers = [column[function[chosen]] for column in pool]
            reports = (numbers[0], numbers[1], value[chosen].astype(np.uint64))
            part = hashed_supports(reports, device.prime, device.hash_size, device.domain_size, items)
            found += part.astype(np.int64) << bit
        return found

    def estimates_of(self, codes: set[int]) -> Estimates:
        """Estimates of these codes alone, in rising order."""
        items, device = np.array(sorted(codes), np.uint64), self.collection.device
        return Estimates(self._supports(items), self.total, device.rates, device.domain_size, items)

    @cached_property
    def estimates(self) -> Estimates:
        """Estimates of all items; needs at least one report, and a mechanism that is not all noise."""
        return Estimates(self.supports, self.total, self.collection.device.rates, self.collection.device.domain_size)


def observed(store: Store, held: Held, high_water: int = 0, path: Path | None = None) -> Facts:
    """What the store knows of a collection now; `path` is its file, whose disk is looked at."""
    cells, disk = store.counts(held.id), None if path is None else shutil.disk_usage(path.parent)
    return Facts(
        collection=read(held.document),
        cells=cells.cells,
        counts=cells.counts,
        hours=tuple(store.hourly(held.id)),
        high_water=high_water,
        free_bytes=None if disk is None else disk.free,
        disk_bytes=None if disk is None else disk.total,
        closed=held.closed,
        hour=this_hour(),
    )


def pool_deviation(collection: Collection) -> float:
    """Standard deviation that a fixed pool adds to an estimate, at most: sqrt(c/((1-c) K)); 0 without hashing."""
    device = collection.device
    if not isinstance(device, LocalHashing):
        return 0.0
    c = float(device.family.collision_probability)
    return float((c / (1.0 - c) / collection.functions) ** 0.5)


def shifted_rates(collection: Collection, level: float, sign: int) -> CountingRates:
    """Rates whose chance support is moved by what the pool may add, or take, in one of 1/level cases."""
    rates = collection.device.rates
    away = -NormalDist().inv_cdf(level) * pool_deviation(collection) * rates.gain
    nu = min(1.0, max(0.0, rates.nu + sign * away))
    return CountingRates(rates.mu, nu, rates.gain, rates.mu_off)


@lru_cache(maxsize=4)
def _pool(seed: bytes, functions: int, prime: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    return hash_functions(seed, np.arange(functions, dtype=np.uint64), prime)
