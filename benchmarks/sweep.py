"""What a sweep takes on the shared check-ins: combinations tried, CPU seconds, seconds, and the answer.

The usual mitigations, with more numbers of items than usual, so that there is a search to make, and everybody with two
events attacked by everybody, so that a PASS is not limited; and a limit that none meets, with steps that speak for no
others, so that the whole budget is used. Then what is left of the risk under some combinations, and what is with halves
exchanged and with everybody's events in random order: other events are known and attacked then.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import entropie
from entropie import Mitigation
from entropie.release.result import Sweep

DATA = Path(__file__).parents[2] / "shared" / "data"
CITIES = {"New York": "foursquare_nyc.parquet"}
BUDGET = 40
ITEMS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
NEVER: dict[str, object] = {"limit": 0.005, "limit_name": "met by none", "fail_on": "worst"}
FURTHER = [entropie.Mitigation("exposed", share) for share in (0.05, 0.1, 0.2, 0.3)]
NONE, TENTH = Mitigation("time_unit", "none"), Mitigation("exposed", 0.1)
BROAD = (
    (Mitigation("top", 10), NONE),
    (Mitigation("top", 10), NONE, TENTH),
    (Mitigation("top", 1), NONE),
    (Mitigation("top", 1), Mitigation("first", 10)),
)
ORDERS = 4
MANY = (*range(1, 21), 25, 30, 40, 50, 70, 100, 150, 200, 300, 500, 1000)


@dataclass(frozen=True, slots=True)
class Took:
    """What some work took."""

    processor_seconds: float
    seconds: float


def swept(
    events: object, items: tuple[int, ...] = ITEMS, more: Sequence[entropie.Mitigation] = (), **options: object
) -> tuple[Sweep, Took]:
    """One sweep, timed."""
    named = [*(entropie.Mitigation("top", count) for count in items), *more]
    processor, wall = time.process_time(), time.perf_counter()
    given = {"budget": BUDGET, "min_events": 2, "one_id_per_person": True, "item": "venue", **options}
    found = entropie.sweep(events, named, **given)  # type: ignore[arg-type]
    return found, Took(time.process_time() - processor, time.perf_counter() - wall)


def row(city: str, what: str, found: Sweep, took: Took) -> None:
    """Print one row."""
    counts = f"{found.combinations:>8,}{len(found.rows):>7}"
    print(f"{city:<11}{what:<36}{counts}{took.processor_seconds:>9.1f} s{took.seconds:>9.1f} s  {found.outcome}")


def left(path: Path) -> None:
    """Print what is left of the risk under broad combinations, and how that is with other halves."""
    print(f"\n{'combination':<52}{'found':>22}{'halves exchanged':>22}  events in random order")
    table = pq.read_table(path, columns=["user", "venue", "time"])
    times, rng = table["time"].to_numpy(), np.random.default_rng(1)
    orders = [times, times.max() - times, *(rng.permutation(times) for _ in range(ORDERS))]
    events = [table.set_column(2, "time", pa.array(order)) for order in orders]
    for parts in BROAD:
        told = []
        for one in events:
            found, _ = swept(one, (), parts, only=True, profile="ema")  # of all of them the one asked for
            row = next(row for row in found.rows if row.combination.parts == parts)
            told.append((f"{row.risk.value:.2f}", row.decision))
        first = "".join(f"{' '.join(pair):>22}" for pair in told[:2])
        print(f"{row.name:<52}{first}  {', '.join(value for value, _ in told[2:])}")


def main() -> None:
    """Print the table."""
    print(f"{'city':<11}{'sweep':<36}{'of':>8}{'tried':>7}{'CPU':>11}{'time':>11}  answer")
    for city, name in CITIES.items():
        path = DATA / name
        for scale in ("information", "items"):
            row(city, f"ema, {scale}", *swept(path, profile="ema", cost=scale))
        row(city, f"ema, items, {len(MANY)} numbers", *swept(path, MANY, profile="ema", cost="items"))
        row(city, "0.5 %, which none meets", *swept(path, ITEMS, FURTHER, cost="items", **NEVER))
        left(path)


if __name__ == "__main__":
    main()
