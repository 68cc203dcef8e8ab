"""How often the 95 % interval of the entropy holds the truth, where the law is known: a table.

    scripts/bench entropy [--runs 60]

People are drawn from laws of uniform, geometric, power-law and rounded log-normal shares and from mixtures. First, the
entropy of the law itself, from so many people; then that of a population drawn from the law, from a part of its people
drawn without replacement. Open: runs without an upper end, which hold whatever lies above.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.measures.entropy import entropy

Floats = NDArray[np.float64]
PEOPLE = (200, 1000, 5000, 50_000)
PARTS = ((2_000, 200), (2_000, 1_800), (50_000, 1_000), (50_000, 25_000))


def geometric(share: float) -> Floats:
    return normed(share * (1.0 - share) ** np.arange(int(40.0 / share)))


def zipf(exponent: float, values: int) -> Floats:
    return normed(np.arange(1, values + 1) ** -exponent)


def incomes(step: float) -> Floats:
    """Log-normal of median 30,000, rounded."""
    edges = np.arange(step / 2.0, 1_100_000.0, step)
    below = np.array([0.5 * (1.0 + math.erf(math.log(edge / 30_000.0) / 0.6 / math.sqrt(2.0))) for edge in edges])
    return normed(np.diff(np.concatenate(([0.0], below))))


def normed(shares: NDArray[np.floating[Any]]) -> Floats:
    return np.asarray(shares / shares.sum(), np.float64)


def laws() -> dict[str, Floats]:
    return {
        **{f"uniform, {values:,}": np.full(values, 1.0 / values) for values in (10, 100, 1_000, 10_000)},
        **{f"geometric, {share:g}": geometric(share) for share in (0.1, 0.01, 0.001)},
        "Zipf, 1 (10,000)": zipf(1.0, 10_000),
        **{f"Zipf, {exponent:g}": zipf(exponent, 10**6) for exponent in (1.2, 1.5, 2.0)},
        **{f"log-normal, rounded to {step:,}": incomes(step) for step in (10, 100, 1_000, 5_000)},
        "half of 10, half of 10,000": normed(np.concatenate((np.full(10, 0.05), np.full(10_000, 5e-5)))),
        "0.9 of 10, 0.1 Zipf 1.2": normed(np.concatenate((np.full(10, 0.09), 0.1 * zipf(1.2, 10**6)))),
        "half of 100, half geometric 0.001": normed(np.concatenate((np.full(100, 0.005), 0.5 * geometric(0.001)))),
    }


def bits(shares: Floats) -> float:
    held = shares[shares > 0.0]
    return float(-(held @ np.log2(held)))


class Tally:
    """Where the truth lay."""

    def __init__(self) -> None:
        self.runs = self.low = self.high = self.open = 0

    def add(self, found: tuple[float, float, float | None], truth: float) -> None:
        _, low, high = found
        self.runs += 1
        self.low += low > truth + 1e-9
        self.high += high is not None and high < truth - 1e-9
        self.open += high is None

    @property
    def held(self) -> float:
        return 1.0 - (self.low + self.high) / self.runs

    def __str__(self) -> str:
        return f"{self.held:.0%}" + (f" ({self.open / self.runs:.0%} open)" if self.open else "")


def of_the_law(law: Floats, people: int, runs: int) -> Tally:
    rng, tally = np.random.default_rng(people), Tally()
    for _ in range(runs):
        drawn = rng.multinomial(people, law)
        tally.add(entropy(drawn[drawn > 0], people), bits(law))
    return tally


def of_a_population(law: Floats, population: int, people: int, runs: int) -> Tally:
    rng, tally = np.random.default_rng(people), Tally()
    for _ in range(runs):
        everybody = rng.multinomial(population, law)
        everybody = everybody[everybody > 0]
        drawn = rng.multivariate_hypergeometric(everybody, people, method="marginals")
        tally.add(entropy(drawn[drawn > 0], people, population), bits(everybody / population))
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=60)
    runs, begun, least = parser.parse_args().runs, time.process_time(), 1.0
    parts = [f"{people:,} of {population:,}" for population, people in PARTS]
    print(f"| law | {' | '.join(f'{people:,}' for people in PEOPLE)} | {' | '.join(parts)} |\n|{'---|' * 9}")
    for name, law in laws().items():
        row = [of_the_law(law, people, runs) for people in PEOPLE]
        row += [of_a_population(law, population, people, runs) for population, people in PARTS]
        least = min(least, *(tally.held for tally in row))
        print(f"| {name} | {' | '.join(map(str, row))} |", flush=True)
    print(f"\nleast held: {least:.0%}; {runs} runs each; {time.process_time() - begun:.0f} s of processors")


if __name__ == "__main__":
    main()
