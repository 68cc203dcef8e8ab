"""How often the adversary names the right user: identification error, within k guesses, against guessing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.document.measured import Guess, ShareInterval
from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.intervals import share_interval

GUESSES = (1, 2, 5, 10, 20, 50, 100)
"""The list lengths reported by default."""


def identification_error(credit: ArrayLike, *, independent: int | None = None) -> ShareInterval:
    """One minus the mean credit, with Wilson's interval.

    A target's credit is 1/s when its user is one of s users tied for the best score, else 0. `independent` is the
    number of users behind the targets where several targets come from one user; the interval is made for that many.

    >>> identification_error([1.0, 0.5, 0.0, 0.0]).value
    0.625
    """
    shares = _checked_credit(credit)
    return share_interval(float(shares.mean()), _trials(shares.size, independent)).complement


def top_k_errors(
    rank_low: ArrayLike,
    rank_high: ArrayLike,
    users: int,
    *,
    guesses: Sequence[int] = GUESSES,
    independent: int | None = None,
) -> tuple[Guess, ...]:
    """Error within k guesses for every k up to the number of users.

    The genuine user shares the places `rank_low` to `rank_high` with those tied, and chance breaks ties: they
    are among the first k with probability (k - rank_low + 1)/(rank_high - rank_low + 1), cut to 0..1.
    """
    low, high = np.asarray(rank_low, dtype=np.int64), np.asarray(rank_high, dtype=np.int64)
    if low.shape != high.shape or low.ndim != 1 or not low.size:
        raise InvalidInput(f"Ranks must be two flat arrays of one length, got shapes {low.shape} and {high.shape}.")
    if int(low.min()) < 1 or np.any(high < low) or int(high.max()) > users:
        raise InvalidInput(f"Ranks must satisfy 1 <= rank_low <= rank_high <= users = {users}.")
    trials = _trials(low.size, independent)
    errors = []
    for k in sorted({k for k in guesses if 1 <= k <= users}):
        success = float(np.clip((k - low + 1) / (high - low + 1), 0.0, 1.0).mean())
        error = share_interval(success, trials).complement
        errors.append(Guess(k, error.value, error.low, error.high))
    return tuple(errors)


def rank_steps(users: int, *, per_decade: int = 8) -> tuple[int, ...]:
    """List lengths from 1 to all users, evenly spaced on a logarithmic scale.

    >>> rank_steps(10, per_decade=2)
    (1, 3, 10)
    """
    count = max(2, int(np.log10(users) * per_decade) + 1) if users > 1 else 1
    return tuple(sorted({round(k) for k in np.geomspace(1, users, count).tolist()} | {users}))


def guessing_error(users: int, k: int = 1) -> float:
    """Error of an adversary who names k of the users blindly: 1 - k/n."""
    if users < 1:
        raise InvalidParameter.of("users", "at least 1", users)
    return 1.0 - min(k, users) / users


def lift(error: float, users: int, k: int = 1) -> float:
    """How many times more often than by guessing the right user is named."""
    return (1.0 - error) * users / min(k, users)


def _trials(targets: int, independent: int | None) -> int:
    """Independent draws behind the targets."""
    if independent is not None and not 1 <= independent <= targets:
        raise InvalidParameter.of("independent", f"between 1 and the {targets} targets", independent)
    return targets if independent is None else independent


def _checked_credit(credit: ArrayLike) -> NDArray[np.float64]:
    shares = np.asarray(credit, dtype=np.float64)
    if shares.ndim != 1 or not shares.size:
        raise InvalidInput("Identification needs at least one target; no user has target events.")
    if not (np.all(shares >= 0.0) and np.all(shares <= 1.0)):
        raise InvalidInput("Credit must lie between 0 and 1: 1/s where the genuine user is one of s best, else 0.")
    return shares
