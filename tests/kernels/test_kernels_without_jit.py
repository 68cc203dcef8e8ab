"""The same kernels as plain Python: what is compiled is what is written."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any

import kernel_results

CHECKS = """
import warnings

import numpy as np

from entropie.kernels.counting import count_hashed, count_hashed_items, count_hashed_sweep, count_values
from entropie.kernels.modular import hash_value, multiply, preimages

assert not hasattr(multiply, "py_func"), "the JIT is on"
warnings.simplefilter("ignore", RuntimeWarning)  # numpy warns where 64-bit words wrap, which is meant
u = np.uint64
done = 0
rng = np.random.default_rng(4)
for prime in (2, 13, 101, 4294967311, 2**61 - 1, 2**62 - 57):
    for hash_size in sorted({2, 3, 5, 50, prime // 2 + 1, prime - 1, prime}):
        if not 2 <= hash_size <= prime:
            continue
        inverse = pow(hash_size, -1, prime) if hash_size < prime else 1
        for _ in range(4):
            a, b = int(rng.integers(1, prime)), int(rng.integers(0, prime))
            size = min(prime, 60)
            y = (a * int(rng.integers(0, size)) + b) % prime % hash_size
            want = [x for x in range(size) if (a * x + b) % prime % hash_size == y]
            assert int(multiply(u(a), u(b), u(prime))) == a * b % prime
            assert int(hash_value(u(a), u(b), u(want[0]), u(prime), u(hash_size))) == y
            room = np.empty(size, u)
            found = preimages(u(a), u(b), u(y), u(prime), u(hash_size), u(inverse), u(size), room)
            assert [int(x) for x in room[:found]] == want
            report = (np.array([a], u), np.array([b], u), np.array([y], u))
            kernels = [count_hashed] + [count_hashed_sweep] * (prime < 2**31)
            for kernel in kernels:
                counts = np.zeros(size, np.uint32)
                kernel(*report, u(prime), u(hash_size), u(inverse), counts)
                assert np.flatnonzero(counts).tolist() == want and counts.max() == 1
            counts = np.zeros(size, np.uint32)
            count_hashed_items(*report, u(prime), u(hash_size), np.arange(size, dtype=u), counts)
            assert np.flatnonzero(counts).tolist() == want
            done += 1
counts = np.zeros(4, np.int64)
count_values(np.array([3, 0, 3], np.uint32), counts)
assert counts.tolist() == [1, 0, 0, 2]
print(done)
"""


def without_jit(*program: str) -> str:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    ran = subprocess.run([sys.executable, *program], env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_kernels_with_the_jit_off() -> None:
    assert int(without_jit("-c", CHECKS)) > 100


def test_compiled_and_plain_kernels_agree() -> None:
    """Whole numbers to the last bit, logarithms to rounding."""
    plain = json.loads(without_jit(kernel_results.__file__))
    compiled = kernel_results.results()
    assert plain.keys() == compiled.keys()
    for name, numbers in compiled.items():
        same(plain[name], numbers, name)


def same(one: Any, other: Any, name: str) -> None:
    if isinstance(one, list):
        assert len(one) == len(other), name
        for pair in zip(one, other, strict=True):
            same(*pair, name)
    elif isinstance(one, float) and one != other:
        assert math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12), name
    else:
        assert one == other, name
