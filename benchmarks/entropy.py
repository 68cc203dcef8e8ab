"""How often the 95 % interval of the entropy holds the truth, where the law is known: a table.

    scripts/bench entropy [--runs 100]

People are drawn from laws of uniform, geometric, power-law and rounded log-normal shares and from mixtures. First, the
entropy of the law itself, from so many people; then that of a population drawn from the law, from a part of its people
drawn without replacement. Low and high: runs in which the truth lay beyond that end; open: without an upper end, which
holds whatever lies above.
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
        self.low = self.high = self.open = 0
        self.widths: list[float] = []

    def add(self, found: tuple[float, float, float | None], truth: float) -> None:
        _, low, high = found
        self.low += low > truth + 1e-9
        self.high += high is not None and high < truth - 1e-9
        self.open += high is None
        if high is not None:
            self.widths.append(high - low)

    def row(self, runs: int) -> str:
        width = f"{np.mean(self.widths):.2f}" if self.widths else ""
        shares = (f"{share / runs:.0%}" for share in (runs - self.low - self.high, self.low, self.high, self.open))
        return f"{' | '.join(shares)} | {width} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    runs, begun, least = parser.parse_args().runs, time.process_time(), 1.0
    print("| law | people | held | low | high | open | bits wide |\n|---|---|---|---|---|---|---|")
    for name, law in laws().items():
        for people in PEOPLE:
            rng, tally = np.random.default_rng(people), Tally()
            for _ in range(runs):
                drawn = rng.multinomial(people, law)
                tally.add(entropy(drawn[drawn > 0], people), bits(law))
            least = min(least, 1.0 - (tally.low + tally.high) / runs)
            print(f"| {name} | {people:,} | {tally.row(runs)}", flush=True)
    print(f"\nleast held: {least:.0%}\n\n| law | population | people | held | low | high | open | bits wide |")
    print("|---|---|---|---|---|---|---|---|")
    least = 1.0
    for name, law in laws().items():
        for population, people in PARTS:
            rng, tally = np.random.default_rng(people), Tally()
            for _ in range(runs):
                everybody = rng.multinomial(population, law)
                everybody = everybody[everybody > 0]
                drawn = rng.multivariate_hypergeometric(everybody, people, method="marginals")
                tally.add(entropy(drawn[drawn > 0], people, population), bits(everybody / population))
            least = min(least, 1.0 - (tally.low + tally.high) / runs)
            print(f"| {name} | {population:,} | {people:,} | {tally.row(runs)}", flush=True)
    print(f"\nleast held: {least:.0%}; {runs} runs each; {time.process_time() - begun:.0f} s of processors")


if __name__ == "__main__":
    main()
