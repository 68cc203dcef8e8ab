"""Uniform integers from a stream of bytes: the one way in which devices, pool and test vectors draw.

Every language draws in the same way, so that the same bytes give the same numbers:

    word()         the next 8 bytes of the stream as an unsigned integer, most significant byte first
    below(bound)   s = 64 - max(1, number of bits of (bound - 1)); repeat w = word() >> s until w < bound; give w
    happens(T)     word() < T, which has probability T/2^64; a word is taken from the stream even where T is 0 or 2^64

`below(1)` takes words until one has a leading 0 bit. `bound` is from 1 to 2^64.

A stream that everybody can make again is `expanded(seed, label, index)`: the concatenation of the blocks

    SHA-256(seed || label || index || c)      c = 0, 1, 2, ...

where `seed` is 32 bytes, `label` is ASCII of 16 bytes, padded on the right with zero bytes, and `index` and `c` are 8
bytes each, most significant byte first.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

Take = Callable[[int], bytes]
"""Gives so many next bytes of a stream."""

LABEL_BYTES = 16


class Stream:
    """Numbers from bytes; the operating system's unless another stream is given."""

    __slots__ = ("take",)

    def __init__(self, take: Take = os.urandom) -> None:
        self.take = take

    def word(self) -> int:
        """Uniform on 0 .. 2^64-1."""
        return int.from_bytes(self.take(8), "big")

    def below(self, bound: int) -> int:
        """Uniform on 0 .. bound-1, by rejection."""
        shift = 64 - max(1, (bound - 1).bit_length())
        drawn = self.word() >> shift
        while drawn >= bound:
            drawn = self.word() >> shift
        return drawn

    def happens(self, numerator: int) -> bool:
        """True with probability exactly numerator/2^64."""
        return self.word() < numerator


def expanded(seed: bytes, label: str, index: int = 0) -> Stream:
    """The public stream of a seed, for one purpose and one index."""
    head = seed + label.encode("ascii").ljust(LABEL_BYTES, b"\0") + index.to_bytes(8, "big")
    left, block = b"", 0

    def take(size: int) -> bytes:
        nonlocal left, block
        while len(left) < size:
            left += hashlib.sha256(head + block.to_bytes(8, "big")).digest()
            block += 1
        taken, left = left[:size], left[size:]
        return taken

    return Stream(take)


def from_bytes(content: bytes) -> Stream:
    """A stream of given bytes, for test vectors; it ends with an error where they do."""
    place = 0

    def take(size: int) -> bytes:
        nonlocal place
        if place + size > len(content):
            raise EOFError("The bytes are used up.")
        place += size
        return content[place - size : place]

    return Stream(take)
