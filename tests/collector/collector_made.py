"""Collections for tests."""

from __future__ import annotations

import datetime
import json

from entropie.collector.document import Collection, Limits, create, read
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse

LONG_AGO, FAR_AWAY = datetime.date(2020, 1, 1), datetime.date(2120, 1, 1)
SEED = "0123456789abcdef" * 4


def fixed(made: Collection, **changes: object) -> Collection:
    """The same collection with a seed that repeats, and other fields."""
    fields = {**json.loads(made.canonical), "seed": SEED, **changes}
    return read(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode())


def drinks(people: int = 10_000, epsilon: float = 2.0, items: int = 5, limits: Limits | None = None) -> Collection:
    names = [f"drink {place}" for place in range(items)]
    device = RandomizedResponse(domain_size=items, epsilon=epsilon)
    return fixed(
        create(device, title="Drinks", people=people, opens=LONG_AGO, closes=FAR_AWAY, items=names, limits=limits)
    )


def places(
    people: int = 10_000, epsilon: float = 3.0, size: int = 100, hash_size: int = 8, pool: int | None = None
) -> Collection:
    device = LocalHashing(domain_size=size, hash_size=hash_size, epsilon=epsilon)
    made = create(device, title="Places", people=people, opens=LONG_AGO, closes=FAR_AWAY)
    return fixed(made) if pool is None else fixed(made, pool_size=str(pool))
