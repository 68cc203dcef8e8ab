"""What a sweep takes on the shared check-ins: combinations tried, CPU seconds, seconds, and the answer.

The usual mitigations, with more numbers of items than usual, so that there is a search to make, and everybody with two
events attacked by everybody, so that a PASS is not limited; and a limit that none meets, with steps that speak for no others, so that the whole budget is used.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import entropie
from entropie.release.result import Sweep

DATA = Path(__file__).parents[2] / "shared" / "data"
CITIES = {"New York": "foursquare_nyc.parquet"}
BUDGET = 40
ITEMS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
NEVER: dict[str, object] = {"limit": 0.005, "limit_name": "met by none", "fail_on": "worst"}
FURTHER = [entropie.Mitigation("exposed", share) for share in (0.05, 0.1, 0.2, 0.3)]
MANY = (*range(1, 21), 25, 30, 40, 50, 70, 100, 150, 200, 300, 500, 1000)


@dataclass(frozen=True, slots=True)
class Took:
    """What some work took."""

    processor_seconds: float
    seconds: float


def swept(
    path: Path, items: tuple[int, ...] = ITEMS, more: Sequence[entropie.Mitigation] = (), **options: object
) -> tuple[Sweep, Took]:
    """One sweep, timed."""
    named = [*(entropie.Mitigation("top", count) for count in items), *more]
    processor, wall = time.process_time(), time.perf_counter()
    given: dict[str, object] = {"budget": BUDGET, "min_events": 2, "one_id_per_person": True, **options}
    found = entropie.sweep(path, named, **given)  # type: ignore[arg-type]
    return found, Took(time.process_time() - processor, time.perf_counter() - wall)


def row(city: str, what: str, found: Sweep, took: Took) -> None:
    """Print one row."""
    counts = f"{found.combinations:>8,}{len(found.rows):>7}"
    print(f"{city:<11}{what:<36}{counts}{took.processor_seconds:>9.1f} s{took.seconds:>9.1f} s  {found.outcome}")


def main() -> None:
    """Print the table."""
    print(f"{'city':<11}{'sweep':<36}{'of':>8}{'tried':>7}{'CPU':>11}{'time':>11}  answer")
    for city, name in CITIES.items():
        path = DATA / name
        for scale in ("information", "items"):
            row(city, f"ema, {scale}", *swept(path, profile="ema", cost=scale))
        row(city, f"ema, items, {len(MANY)} numbers", *swept(path, MANY, profile="ema", cost="items"))
        row(city, "0.5 %, which none meets", *swept(path, ITEMS, FURTHER, cost="items", **NEVER))


if __name__ == "__main__":
    main()
