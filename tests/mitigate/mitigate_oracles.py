"""Planted people for mitigations, and slow arithmetic that shares no code with the package."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

START = 1_600_041_600  # a Monday, midnight
HOUR, DAY, WEEK = 3_600, 86_400, 604_800


def entropy(values: Sequence[Hashable]) -> float:
    shares = [count / len(values) for count in Counter(values).values()]
    return -sum(share * math.log2(share) for share in shares)


def lost(before: Sequence[Hashable], after: Sequence[Hashable]) -> float:
    """H(before | after) / H(before): the mean entropy that is left of `before` within each value of `after`."""
    whole = entropy(before)
    if whole == 0:
        return 0.0
    groups: dict[Hashable, list[Hashable]] = {}
    for fine, coarse in zip(before, after, strict=True):
        groups.setdefault(coarse, []).append(fine)
    return sum(len(group) / len(before) * entropy(group) for group in groups.values()) / whole


def own_items(users: int = 40, events: int = 12, seed: int = 1) -> pa.Table:
    """Everybody has three items of her own; `same` tells nothing, `alike` is the item by another name, `half` half of it."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), events)
    item = user * 3 + rng.integers(0, 3, user.size)
    time = START + np.tile(np.arange(events), users) * 7 * HOUR
    return pa.table(
        {
            "user": [f"u{n:03d}" for n in user],
            "item": [f"item-{n:04d}" for n in item],
            "time": time,
            "same": ["all"] * user.size,
            "alike": [f"place-{n}" for n in item],
            "half": user // 4,
            "lat": 50.0 + (user // 8) * 0.5,
            "lon": np.full(user.size, 10.0),
        }
    )


def own_order(users: int = 40, days: int = 10, seed: int = 2) -> pa.Table:
    """All do the same eight things every day at the same hours, each in an order of her own."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        order = rng.permutation(8)
        for day in range(days):
            rows += [(f"u{user:03d}", int(item), START + day * DAY + hour * HOUR) for hour, item in enumerate(order)]
    users_, items, times = zip(*rows, strict=True)
    return pa.table({"user": users_, "item": items, "time": times})


def never_twice(users: int = 40, events: int = 12) -> pa.Table:
    """No item comes twice, so that nothing matches; the column `kind` names the person."""
    user = np.repeat(np.arange(users), events)
    time = START + np.tile(np.arange(events), users) * 7 * HOUR
    return pa.table({"user": user, "item": np.arange(user.size), "time": time, "kind": user + 1000})


def without_clock(document: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(document, allow_nan=False))
    for key in ("seconds", "date", "command", "run"):
        copy["provenance"].pop(key)
    return copy
