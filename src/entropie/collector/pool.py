"""What everybody derives from the public seed of a collection: the pool of hash functions, and the codes of names.

Hash functions (local hashing only). Function j of the pool, j = 0 .. K-1, is h_j(x) = ((a x + b) mod P) mod g with

    stream = expanded(seed, "hash function", j)       see stream.py
    a = 1 + stream.below(P - 1)
    b = stream.below(P)

in this order. Each is uniform over the family and can be made alone, without the others. A device draws j with the
operating system's randomness for every report: j is shared by many people and says nothing about who sent it.

Codes of names in an open domain (`items` is null): name -> code from 0 to k-1 with

    stream = expanded(SHA-256(seed || UTF-8 of the name in Unicode's normal form C), "item")
    code = stream.below(k)

Two names that get the same code are counted together. Where the collection lists its items, the code of a name is its
place in that list, from 0, and a name that is not in it has none; names are compared in normal form C there too.
"""

from __future__ import annotations

import hashlib
import unicodedata

import numpy as np
from numpy.typing import NDArray

from entropie.collector.stream import expanded

FUNCTION_LABEL = "hash function"
ITEM_LABEL = "item"


def hash_function(seed: bytes, index: int, prime: int) -> tuple[int, int]:
    """The numbers a and b of one function of the pool."""
    stream = expanded(seed, FUNCTION_LABEL, index)
    a = 1 + stream.below(prime - 1)
    return a, stream.below(prime)


def hash_functions(
    seed: bytes, indices: NDArray[np.uint64], prime: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The numbers a and b of these functions, each made once."""
    distinct, place = np.unique(indices, return_inverse=True)
    made = np.array([hash_function(seed, int(index), prime) for index in distinct], np.uint64).reshape(-1, 2)
    return made[place, 0], made[place, 1]


def normal_form(name: str) -> str:
    """A name as it is hashed and compared."""
    return unicodedata.normalize("NFC", name)


def code_of_name(seed: bytes, name: str, domain_size: int) -> int:
    """The code of a name in an open domain."""
    own = hashlib.sha256(seed + normal_form(name).encode()).digest()
    return expanded(own, ITEM_LABEL).below(domain_size)
