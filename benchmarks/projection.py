"""How well a part of a city's people tells the share re-identified among all of them: a table per matcher.

    scripts/bench projection [--samples 200] [--only cities|matchers|scores|made|laws]

From each of 1/32, 1/16, 1/8 and 1/4 of the people, drawn at random and attacked anew among themselves, the share among
all is projected; the truth is the attack on all. Compared: this package, pydataless (its Pitman-Yor curve, fitted to
the exact mean share at 12 smaller sizes), and the share of the part taken for all; all three on the samples from which
this package projects at all.

cities   check-ins of New York and Sao Paulo, halves, people with 10 events (../shared/data beside the project)
matchers the same cities by two other matchers
scores   face and finger matchers of NIST BSSR1 (the same folder)
made     people who are points among so many numbers, found by the nearest; normal scores a shift apart
laws     ranks alone, drawn from laws of how likely a stranger beats a person: some that are assumed, with and
         without people of whom the scores say nothing, and log-normal ones, which it does not
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from profile_attack import DATA, city

from entropie.data.split import split_traces
from entropie.data.traces import Traces
from entropie.measures.projection import FEWEST, Ranks, project
from entropie.measures.share_curve import exact_shares

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
        if matcher in ("tfidf", "cosine"):
            weights = known * (np.log(who.size / np.maximum(holders, 1))[met] if matcher == "tfidf" else 1.0)
            weights /= np.maximum(np.sqrt((weights**2).sum(axis=1, keepdims=True)), 1e-300)
            if matcher == "tfidf":
                attacked = attacked * np.log(who.size / np.maximum(holders, 1))[met]
            scores = attacked @ weights.T
        elif matcher == "visit":
            weights = np.where(known > 0, np.log(np.maximum(known, 1.0) / events) - math.log(1e-8), 0.0)
            scores = attacked @ weights.T
        else:
            scores = attacked @ np.log1p(known / (LAMBDA * popular)).T
            scores -= np.outer(length, np.log1p(events[:, 0] / LAMBDA))
        scores = np.round(scores, 9)
        own = np.diag(scores)[:, None]
        return Ranks.of((scores > own).sum(axis=1), (scores >= own).sum(axis=1) - 1, who.size)

    def truth(self, people: int, matcher: str) -> float:
        """What is found among all."""
        return self.ranks(np.arange(people), matcher).found


@dataclass
class Scores:
    """How alike everybody is to everybody; each row is attacked."""

    name: str
    scores: Floats

    def ranks(self, who: NDArray[np.int64], matcher: str) -> Ranks:
        scores = self.scores[np.ix_(who, who)]
        own = np.diag(scores)[:, None]
        return Ranks.of((scores > own).sum(axis=1), (scores >= own).sum(axis=1) - 1, who.size)

    def truth(self, people: int, matcher: str) -> float:
        return self.ranks(np.arange(people), matcher).found


@dataclass
class Law:
    """How likely a stranger beats a person, drawn for so many people."""

    name: str
    draw: Callable[[np.random.Generator, int], Floats]

    def ranks(self, who: NDArray[np.int64], matcher: str) -> Ranks:
        rng = np.random.default_rng(who)
        before = rng.binomial(who.size - 1, self.draw(rng, who.size))
        return Ranks.of(before, before, who.size)

    def truth(self, people: int, matcher: str) -> float:
        beaten = self.draw(np.random.default_rng(0), 1_000_000)
        return float(np.mean((1.0 - beaten) ** (people - 1)))


Place = City | Scores | Law


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


def curve(ranks: Ranks) -> dict[str, list[float]]:
    """The exact mean share re-identified among fewer people."""
    sizes, shares = exact_shares(ranks.before, ranks.weights[None, :], ranks.strangers)
    return {"sizes": sizes.tolist(), "shares": shares[0].clip(0.0, 1.0).tolist()}


def rival(curves: list[dict[str, list[float]]], population: int) -> Floats:
    script = Path(__file__).with_name("pydataless_curve.py")
    asked = json.dumps({"population": population, "curves": curves})
    run = subprocess.run([os.environ["RIVALS_PYTHON"], script], input=asked, capture_output=True, text=True, check=True)
    return np.array(json.loads(run.stdout))


def tried(place: Place, people: int, matcher: str, part: int, samples: int, truth: float) -> Errors:
    found = Errors()
    rng = np.random.default_rng([part, people])
    for _ in range(samples):
        who = rng.choice(people, people // part, replace=False)
        ranks = place.ranks(who, matcher)
        made = project(ranks, people, rng, replicates=200)
        if made.reidentified is None:
            found.refused += 1
            continue
        found.curves.append(curve(ranks))
        found.none.append(ranks.found)
        found.ours.append(made.reidentified.value)
        found.held.append(made.reidentified.low <= truth <= made.reidentified.high)
    return found


def off(shares: object, truth: float) -> str:
    values = np.asarray(shares, dtype=np.float64)
    if not values.size:
        return ""
    return f"{values.mean():.3f}, {np.sqrt(np.mean((values - truth) ** 2)):.3f}"


def cities() -> Iterator[tuple[City, int, tuple[str, ...]]]:
    for name, file in CITIES:
        split = split_traces(city(name, file, dated=False).traces)
        yield City(name, counts(split.train), counts(split.target)), split.train.users, ("visit", "bayes")


def matchers() -> Iterator[tuple[City, int, tuple[str, ...]]]:
    for place, people, _ in cities():
        yield place, people, ("tfidf", "cosine")


def scores() -> Iterator[tuple[Scores, int, tuple[str, ...]]]:
    for name in ("face_G", "finger_left"):
        table = np.genfromtxt(DATA / f"bssr1_{name}.csv", delimiter=",", skip_header=1)[:, 1:]
        yield Scores(f"BSSR1 {name.replace('_', ' ')}", table), len(table), ("scores",)


def made() -> Iterator[tuple[Scores, int, tuple[str, ...]]]:
    people, rng = 1600, np.random.default_rng(1)
    for numbers, noise in ((3, 0.15), (12, 0.7)):
        points = rng.normal(size=(people, numbers))
        seen = points + noise * rng.lognormal(0.0, 0.5, (people, 1)) * rng.normal(size=points.shape)
        apart = ((seen[:, None, :] - points[None]) ** 2).sum(axis=2)
        yield Scores(f"{numbers} numbers", -apart), people, ("nearest",)
    table = rng.normal(size=(people, people))
    table[np.diag_indices(people)] = rng.normal(3.0, 1.0, people)
    yield Scores("normal scores", table), people, ("scores",)
    for numbers, noise in ((2, 0.05), (6, 0.35)):
        points = rng.normal(size=(people, numbers))
        seen = points + noise * rng.normal(size=points.shape)
        apart = ((seen[:, None, :] - points[None]) ** 2).sum(axis=2)
        yield Scores(f"{numbers} numbers, alike noise", -apart), people, ("nearest",)


def laws() -> Iterator[tuple[Law, int, tuple[str, ...]]]:
    for a, b, informed in ((0.05, 1.0, 1.0), (0.1, 1.0, 0.9), (0.3, 5.0, 0.8), (0.8, 20.0, 1.0), (0.02, 2.0, 0.6)):
        yield Law(f"Beta({a}, {b:g}), {informed:.0%}", beta_law(a, b, informed)), 1600, ("ranks",)
    for middle, spread in ((-8.0, 3.0), (-4.0, 2.0), (-12.0, 5.0)):
        yield Law(f"log-normal {middle:g}, {spread:g}", log_normal_law(middle, spread)), 1600, ("ranks",)


def beta_law(a: float, b: float, informed: float) -> Callable[[np.random.Generator, int], Floats]:
    return lambda rng, size: np.where(rng.random(size) < informed, rng.beta(a, b, size), rng.random(size))


def log_normal_law(middle: float, spread: float) -> Callable[[np.random.Generator, int], Floats]:
    return lambda rng, size: np.minimum(1.0, np.exp(rng.normal(middle, spread, size)))


SOURCES: dict[str, Callable[[], Iterator[tuple[Any, int, tuple[str, ...]]]]] = {
    "cities": cities,
    "matchers": matchers,
    "scores": scores,
    "made": made,
    "laws": laws,
}
NO_FILES = ("made", "laws")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--only", choices=tuple(SOURCES))
    parser.add_argument("--parts", type=int, nargs="+", default=PARTS, metavar="N", help="1/N of the people")
    parser.add_argument("--place", default="", metavar="TEXT", help="rows whose name begins so")
    parser.add_argument("--alone", action="store_true", help="leave out pydataless")
    asked = parser.parse_args()
    if not DATA.exists() and asked.only not in NO_FILES:
        sys.exit("The data are not beside the project.")
    begun = time.process_time()
    print("Mean and root mean square error of the share projected, from so many samples of so many people\n")
    print("| data | matcher | among all | people | projected | pydataless | share of the part | held | refused |")
    print("|---|---|---|---|---|---|---|---|---|")
    for source in (asked.only,) if asked.only else SOURCES:
        for place, people, matchers in SOURCES[source]():
            if not place.name.startswith(asked.place):
                continue
            for matcher in matchers:
                truth = place.truth(people, matcher)
                for part in asked.parts:
                    if people // part < FEWEST + 1:
                        continue
                    found = tried(place, people, matcher, part, asked.samples, truth)
                    theirs = "" if asked.alone or not found.curves else off(rival(found.curves, people), truth)
                    ways = f"{off(found.ours, truth)} | {theirs} | {off(found.none, truth)}"
                    held = (
                        f"{np.mean(found.held) if found.held else math.nan:.1%} | {found.refused / asked.samples:.1%}"
                    )
                    whom = f"{place.name} | {matcher} | {truth:.3f} | {people // part}"
                    print(f"| {whom} | {ways} | {held} |", flush=True)
    print(f"\n{asked.samples} samples each; {time.process_time() - begun:.0f} s of processors")


if __name__ == "__main__":
    main()
