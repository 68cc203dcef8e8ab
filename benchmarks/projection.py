"""How well a part of a city's people tells the share re-identified among all of them: a table per matcher.

    scripts/bench projection [--samples 200]      New York, Sao Paulo (../shared/data beside the project)

From each of 1/32, 1/16, 1/8 and 1/4 of the people, drawn at random and attacked anew among themselves (halves, people
with 10 events), the share among all is projected; the truth is the attack on all. Compared: this package, pydataless
(its Pitman-Yor curve, fitted to the exact mean share at 12 smaller sizes), and the share of the part taken for all.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from profile_attack import DATA, city

from entropie.data.split import split_traces
from entropie.data.traces import Traces
from entropie.measures.projection import Ranks, log_gamma, project

PARTS = (32, 16, 8, 4)
CITIES = (("New York", "foursquare_nyc.parquet"), ("Sao Paulo", "foursquare_saopaulo.parquet"))
LAMBDA = 50.0
Floats = NDArray[np.float64]


@dataclass
class City:
    """Counts of items per person, what is known and what is attacked."""

    name: str
    known: Floats
    attacked: Floats

    def ranks(self, who: NDArray[np.int64], matcher: str) -> Ranks:
        """Attack these people among themselves; popularity is that among them."""
        known, attacked = self.known[who], self.attacked[who]
        events = known.sum(axis=1, keepdims=True)
        length = attacked.sum(axis=1)
        met = (known.any(axis=0)) & (attacked.any(axis=0))  # other items change no score
        holders = (known > 0).sum(axis=0)
        popular = (np.maximum(holders, 1) / holders.sum())[met]
        known, attacked = known[:, met], attacked[:, met]
        if matcher == "visit":
            weights = np.where(known > 0, np.log(np.maximum(known, 1.0) / events) - math.log(1e-8), 0.0)
            scores = attacked @ weights.T
        else:
            scores = attacked @ np.log1p(known / (LAMBDA * popular)).T
            scores -= np.outer(length, np.log1p(events[:, 0] / LAMBDA))
        scores = np.round(scores, 9)
        own = np.diag(scores)[:, None]
        return Ranks.of((scores > own).sum(axis=1), (scores >= own).sum(axis=1) - 1, who.size)


@dataclass
class Errors:
    """Per way of projecting, what it said in each sample."""

    ours: list[float] = field(default_factory=list)
    none: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    refused: int = 0
    curves: list[dict[str, list[float]]] = field(default_factory=list)


def counts(traces: Traces) -> Floats:
    people = np.repeat(np.arange(traces.users), np.diff(traces.offsets))
    table = np.zeros((traces.users, traces.domain_size))
    np.add.at(table, (people, traces.items), 1.0)
    return table


def curve(ranks: Ranks, people: int) -> dict[str, list[float]]:
    """The exact mean share re-identified among fewer people: a rank of 0 stays 0, r others must all be left out."""
    sizes = np.unique(np.geomspace(2, people, 12).round().astype(int))
    before, others = ranks.before, ranks.strangers
    shares = []
    for size in sizes.tolist():
        left = others - before - (size - 1)
        ways = log_gamma(others - before + 1) - log_gamma(np.maximum(left, 0) + 1)
        ways -= log_gamma(others + 1) - log_gamma(others - size + 2)
        shares.append(float((ranks.weights * np.where(left >= 0, np.exp(ways), 0.0)).sum() / ranks.people))
    return {"sizes": sizes.tolist(), "shares": shares}


def rival(curves: list[dict[str, list[float]]], population: int) -> Floats:
    script = Path(__file__).with_name("pydataless_curve.py")
    asked = json.dumps({"population": population, "curves": curves})
    run = subprocess.run([os.environ["RIVALS_PYTHON"], script], input=asked, capture_output=True, text=True, check=True)
    return np.array(json.loads(run.stdout))


def tried(place: City, matcher: str, part: int, samples: int, truth: float) -> Errors:
    people, found = place.known.shape[0], Errors()
    rng = np.random.default_rng([part, people])
    for _ in range(samples):
        who = rng.choice(people, people // part, replace=False)
        ranks = place.ranks(who, matcher)
        made = project(ranks, people, rng, replicates=200)
        found.curves.append(curve(ranks, who.size))
        found.none.append(ranks.found)
        if made.reidentified is None:
            found.refused += 1
            continue
        found.ours.append(made.reidentified.value)
        found.held.append(made.reidentified.low <= truth <= made.reidentified.high)
    return found


def off(shares: object, truth: float) -> str:
    values = np.asarray(shares, dtype=np.float64)
    return f"{values.mean():.3f}, {np.sqrt(np.mean((values - truth) ** 2)):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200)
    asked = parser.parse_args()
    if not DATA.exists():
        sys.exit("The check-ins are not beside the project.")
    begun = time.process_time()
    print("Mean and root mean square error of the share projected, from so many samples of so many people\n")
    print("| city | matcher | among all | people | projected | pydataless | share of the part | held | refused |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, file in CITIES:
        split = split_traces(city(name, file, dated=False).traces)
        place = City(name, counts(split.train), counts(split.target))
        people = place.known.shape[0]
        for matcher in ("visit", "bayes"):
            truth = place.ranks(np.arange(people), matcher).found
            for part in PARTS:
                found = tried(place, matcher, part, asked.samples, truth)
                theirs = rival(found.curves, people)
                ways = " | ".join(off(one, truth) for one in (found.ours, theirs, found.none))
                held = f"{np.mean(found.held):.1%} | {found.refused / asked.samples:.1%}"
                print(f"| {name} | {matcher} | {truth:.3f} | {people // part} | {ways} | {held} |", flush=True)
    print(f"\n{asked.samples} samples each; {time.process_time() - begun:.0f} s of processors")


if __name__ == "__main__":
    main()
