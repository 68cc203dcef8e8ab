"""Where random numbers come from. Two sources with one interface, never mixed.

`SystemSource` asks the operating system and cannot be seeded: a device uses nothing else. `SimulationSource` wraps a
seeded numpy generator, for experiments that must repeat.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from entropie.estimation.parallel import in_parallel

_CHUNK = 1 << 17


class Source(Protocol):
    """Uniform integers, many at a time."""

    def words(self, size: int) -> NDArray[np.uint64]:
        """`size` integers, uniform on 0 .. 2^64-1."""
        ...

    def below(self, bound: int, size: int) -> NDArray[np.uint64]:
        """`size` integers, uniform on 0 .. bound-1."""
        ...


class SystemSource:
    """The operating system's generator; bounded integers by rejection, so that they are exactly uniform."""

    def words(self, size: int) -> NDArray[np.uint64]:
        """`size` integers, uniform on 0 .. 2^64-1."""
        return np.frombuffer(os.urandom(8 * size), np.uint64)

    def below(self, bound: int, size: int) -> NDArray[np.uint64]:
        """`size` integers, uniform on 0 .. bound-1: cut words to the bits of bound-1, throw away what is too large."""
        shift = np.uint64(64 - max(1, (bound - 1).bit_length()))
        drawn = self.words(size) >> shift
        while len(wrong := np.flatnonzero(drawn >= np.uint64(bound))):
            drawn[wrong] = self.words(len(wrong)) >> shift
        return drawn


class SimulationSource:
    """A seeded numpy generator. Long draws are cut into chunks with generators of their own, seeded by it.

    The chunks are filled on all cores; what comes out depends on the seed alone, not on how many cores there are.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def words(self, size: int) -> NDArray[np.uint64]:
        """`size` integers, uniform on 0 .. 2^64-1."""
        return self._draw(2**64, size)

    def below(self, bound: int, size: int) -> NDArray[np.uint64]:
        """`size` integers, uniform on 0 .. bound-1."""
        return self._draw(bound, size)

    def _draw(self, bound: int, size: int) -> NDArray[np.uint64]:
        chunks = size // _CHUNK
        if chunks < 2:
            return self._rng.integers(0, bound, size, dtype=np.uint64)
        seeds = self._rng.integers(0, 2**64, (chunks, 4), dtype=np.uint64)
        drawn = np.empty(size, np.uint64)

        def fill(part: slice) -> None:
            for chunk in range(part.start, part.stop):
                begin = chunk * _CHUNK
                end = size if chunk == chunks - 1 else begin + _CHUNK
                child = np.random.Generator(np.random.PCG64(seeds[chunk]))
                drawn[begin:end] = child.integers(0, bound, end - begin, dtype=np.uint64)

        in_parallel(fill, chunks, 1)
        return drawn
