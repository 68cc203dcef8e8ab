"""The hash family h(x) = ((a x + b) mod P) mod g, with its exact collision probability and its preimages."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidParameter, interruptible
from entropie.theory import checks

LARGE_PRIME = (1 << 61) - 1
"""A prime so large that collisions are as good as 1/g: for results comparable with the paper's analysis."""
LARGEST_PRIME_BOUND = 1 << 62
# Miller-Rabin with these bases is a proof, not a test, for every number below 3.3e24 (Sorenson & Webster 2015).
_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)


@dataclass(frozen=True, slots=True)
class HashFamily:
    """All functions with a in 1..P-1 and b in 0..P-1, drawn uniformly and independently of the user."""

    prime: int
    hash_size: int

    def __post_init__(self) -> None:
        hash_size = checks.whole_number("hash_size", self.hash_size, at_least=2)
        rule = f"a prime number from the hash size ({hash_size}) to 2^62"
        try:
            prime = checks.whole_number("prime", self.prime, hash_size, LARGEST_PRIME_BOUND)
        except InvalidParameter:
            raise InvalidParameter.of("prime", rule, self.prime) from None
        if not is_prime(prime):
            raise InvalidParameter.of("prime", rule, self.prime)
        object.__setattr__(self, "hash_size", hash_size)
        object.__setattr__(self, "prime", prime)

    @classmethod
    def smallest(cls, domain_size: int, hash_size: int) -> HashFamily:
        """The family over the smallest prime that holds the domain and the hash values: cheapest to decode."""
        return cls(next_prime(max(domain_size, hash_size)), hash_size)

    @property
    def collision_probability(self) -> Fraction:
        """Pr(h(x) = h(x')) for x != x', exactly: q (P + r - g) / (P (P-1)) with q = floor(P/g), r = P mod g.

        (a x + b, a x' + b) is uniform over the ordered pairs of distinct residues; q (P + r - g) of those leave
        equal remainders. It is not 1/g: for P close to g it is near 0.
        """
        quotient, rest = divmod(self.prime, self.hash_size)
        return Fraction(quotient * (self.prime + rest - self.hash_size), self.prime * (self.prime - 1))

    def value(self, a: int, b: int, x: int) -> int:
        """The hash of one item."""
        return (a * x + b) % self.prime % self.hash_size

    @interruptible
    def values(self, a: NDArray[np.uint64], b: NDArray[np.uint64], x: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The hash of x[i] under (a[i], b[i])."""
        from entropie.kernels.modular import hash_values

        hashed: NDArray[np.uint64] = hash_values(a, b, x, np.uint64(self.prime), np.uint64(self.hash_size))
        return hashed

    @interruptible
    def preimages(self, a: int, b: int, y: int, domain_size: int) -> NDArray[np.uint64]:
        """The items x < domain_size with h(x) = y, sorted, in O(k/g + log P)."""
        from entropie.kernels.modular import preimages

        a = checks.whole_number("a", a, 1, self.prime - 1)
        b = checks.whole_number("b", b, 0, self.prime - 1)
        y = checks.whole_number("y", y, 0, self.hash_size - 1)
        domain_size = checks.whole_number("domain_size", domain_size, 1, self.prime)
        inverse = pow(self.hash_size, -1, self.prime) if self.hash_size < self.prime else 1
        u = np.uint64
        family = (u(self.prime), u(self.hash_size), u(inverse))

        def fill(room: NDArray[np.uint64]) -> int:
            return int(preimages(u(a), u(b), u(y), *family, u(domain_size), room))

        room = np.empty(domain_size // self.hash_size + 16, np.uint64)
        count = fill(room)
        if count > len(room):
            room = np.empty(count, np.uint64)
            fill(room)
        return room[:count]


def is_prime(number: int) -> bool:
    """Whether `number` < 3.3e24 is prime."""
    if number < 2:
        return False
    for base in _BASES:
        if number % base == 0:
            return number == base
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(_passes(number, base, odd, twos) for base in _BASES)


def _passes(number: int, base: int, odd: int, twos: int) -> bool:
    power = pow(base, odd, number)
    if power in (1, number - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % number
        if power == number - 1:
            return True
    return False


def next_prime(number: int) -> int:
    """The smallest prime that is at least `number`."""
    candidate = max(2, number)
    while not is_prime(candidate):
        candidate += 1
    return candidate
