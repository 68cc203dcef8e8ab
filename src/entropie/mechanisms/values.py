"""Item codes on their way into a mechanism, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.errors import InvalidInput, InvalidParameter


def checked_value(value: object, domain_size: int) -> int:
    """One item code inside the domain."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < domain_size:
        raise InvalidParameter.of("value", f"an item code from 0 to {domain_size - 1}", value)
    return int(value)


def checked_values(values: ArrayLike, domain_size: int) -> NDArray[np.uint64]:
    """Many item codes, all inside the domain."""
    try:
        codes = np.asarray(values)
    except ValueError:
        raise InvalidInput(
            "Values must be a plain list of item codes, got lists of different lengths instead."
        ) from None
    if codes.ndim != 1 or (codes.size and codes.dtype.kind not in "ui"):
        raise InvalidInput(
            f"Values must be a list of item codes (whole numbers from 0 to {domain_size - 1}), "
            f"got {codes.ndim}-dimensional {codes.dtype} instead."
        )
    if codes.size and (int(codes.max()) >= domain_size or (codes.dtype.kind == "i" and codes.min() < 0)):
        outside = codes[(codes < 0) | (codes >= np.uint64(domain_size))][0]
        raise InvalidInput(f"Value {int(outside)} is outside the domain; item codes go from 0 to {domain_size - 1}.")
    return codes.astype(np.uint64, copy=False)
