"""Which users and items stay, and who is attacked: the active ones, or some drawn in the same way everywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.request import Attackers

_FEW_ROWS = 1.1  # per person: with fewer a table is not of events
_IDS = 1 << 14


@dataclass(frozen=True, slots=True)
class Selection:
    """Part of some traces, with new codes, and which old ones they stand for."""

    traces: Traces
    users: NDArray[np.int64]  # the old code of each user
    items: NDArray[np.int64]  # the old code of each item
    dropped_users: int
    dropped_events: int
    dropped_items: int  # codes that no remaining user has


def keep_active_users(traces: Traces, min_events: int = 10) -> Selection:
    """Keep users with at least `min_events` events, and the items they still have."""
    if min_events < 0:
        raise InvalidParameter.of("min_events", "at least 0", min_events)
    selection = _select(traces, np.flatnonzero(np.diff(traces.offsets) >= min_events))
    if selection.traces.users == 0 < traces.users:
        raise nobody_active(min_events, int(np.diff(traces.offsets).max()), traces.users, traces.events)
    return selection


def nobody_active(min_events: int, most: int, users: int, events: int) -> InvalidInput:
    """The error for people none of whom has enough events: lower the limit, or see that it is another kind of table."""
    if one_row_each(users, events):
        return no_history(most)
    return InvalidInput(
        f"No user has {min_events} events (the most is {most}); lower {option('min_events')} to {most} or less."
    )


def one_row_each(users: int, events: int) -> bool:
    """Whether a table has one row per person, but for some that stand there twice."""
    return events <= _FEW_ROWS * users


def no_history(most: int) -> InvalidInput:
    """The error for a table that is none of events."""
    who = "Every person has one event only" if most == 1 else "Nearly every person has one event only"
    return InvalidInput(
        f"{who}, which leaves nothing to match; for a table with one row per person use `entropie attributes`."
    )


def sample_users(
    traces: Traces,
    user_ids: Iterable[object],
    *,
    share: float | None = None,
    count: int | None = None,
    salt: str = "",
) -> Selection:
    """Keep a share or a number of users chosen by a hash of their id alone.

    Whether a user is in a share does not depend on any other user, so any partition of the data gives the
    same sample; a count takes the lowest hashes, and a smaller sample is part of every larger one. The id
    5 and the id "5" are the same user. The salt makes another sample.
    """
    if (share is None) == (count is None):
        raise InvalidParameter.of("share", "given, or else count, and not both", share)
    hashes = user_hashes(user_ids, salt)
    if hashes.size != traces.users:
        raise InvalidInput(f"There must be one id per user, {traces.users}, got {hashes.size} instead.")
    if share is not None:
        if not 0.0 < share <= 1.0:
            raise InvalidParameter.of("share", "above 0 and at most 1", share)
        chosen = np.flatnonzero(hashes <= np.uint64(min(int(share * 2.0**64), 2**64 - 1)))
    else:
        assert count is not None
        if count < 1:
            raise InvalidParameter.of("count", "at least 1", count)
        chosen = lowest(hashes, count)
    return _select(traces, chosen)


def drawn_users(user_ids: Sequence[object], attackers: Attackers) -> NDArray[np.int64] | None:
    """The people to attack, ascending: those whose ids have the lowest hashes; None where everybody is attacked.

    Equal hashes go by the order of people, which is that of their ids.
    """
    count = attackers.attacked(len(user_ids))
    return None if count == len(user_ids) else lowest(user_hashes(user_ids), count)


def lowest(hashes: NDArray[np.uint64], count: int) -> NDArray[np.int64]:
    """The places of the lowest hashes, ascending; equal ones by place."""
    return np.sort(np.argsort(hashes, kind="stable")[:count])


def keep_used_items(traces: Traces) -> Selection:
    """Drop item codes that no event has; the order of codes stays."""
    return _select(traces, np.arange(traces.users))


def _select(traces: Traces, users: NDArray[np.int64]) -> Selection:
    part = traces if users.size == traces.users else traces.take(users)
    used = np.zeros(traces.domain_size, np.bool_)
    used[part.items] = True
    items = np.flatnonzero(used)
    if items.size < traces.domain_size:
        code = np.cumsum(used, dtype=np.uint32)
        code -= used
        part = Traces(part.offsets, code[part.items], items.size, part.times)
    return Selection(
        part,
        users,
        items,
        dropped_users=traces.users - part.users,
        dropped_events=traces.events - part.events,
        dropped_items=traces.domain_size - items.size,
    )


def user_hashes(user_ids: Iterable[object], salt: str = "") -> NDArray[np.uint64]:
    """First 64 bits of a hash of each id's text; one Python step per user, never per event."""
    base = hashlib.blake2b(salt.encode(), digest_size=8, person=b"entropie")

    digests = bytearray()
    for value in _values(user_ids):
        each = base.copy()
        each.update(b"\0" + str(value).encode())
        digests += each.digest()
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def _values(user_ids: Any) -> Iterator[object]:
    """Ids as Python has them, a few of Arrow's at a time: they take far more memory so."""
    if not hasattr(user_ids, "to_pylist"):
        yield from user_ids
        return
    for first in range(0, len(user_ids), _IDS):
        yield from user_ids.slice(first, _IDS).to_pylist()
