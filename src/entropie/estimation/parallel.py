"""Equal shares of an array for every core. The work must release the interpreter, as numpy and the kernels do."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def in_parallel(work: Callable[[slice], Result], size: int, least: int, threads: int | None = None) -> list[Result]:
    """work(share) for equal shares of range(size), none smaller than `least`; results in order."""
    workers = max(1, min(threads or os.cpu_count() or 1, size // least))
    shares = [slice(size * i // workers, size * (i + 1) // workers) for i in range(workers)]
    if workers == 1:
        return [work(shares[0])]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, shares))
