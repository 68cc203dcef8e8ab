"""How often the 95 % intervals of score lists hold the truth, where it is known: a table.

    scripts/bench coverage [--runs 200]
    scripts/bench coverage --rates --runs 500 --seed 7    rates alone, which is cheap: many runs of long lists

Genuine and impostor scores are drawn from laws whose divergence and error rates are known exactly; n and m are how many
of each. The last column is the share of runs with one-sided bits ("at least"). A second table is of people:
all pairs of n people who score high or low against everybody, measured as pairs (as `assess` does) and as a matrix.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from entropie.data.scoresets import ScoreMatrix
from entropie.measures.det import det_curve, equal_error_rate, frr_at_far
from entropie.measures.divergence import divergence
from entropie.measures.law import ScoreLaw

NORMAL = NormalDist()
SIZES = (
    (200, 200), (1000, 1000), (200, 200_000), (200_000, 200), (2_000, 20_000), (20_000, 2_000), (5_000, 200_000),
    (200_000, 200_000),
)  # fmt: skip
RATES = (1e-2, 1e-3)
BINOMIAL, OWN, OTHERS = 20, 0.6, 0.3
Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


@dataclass(frozen=True)
class Known:
    """Two laws and what is true of them."""

    name: str
    genuine: Draw
    impostor: Draw
    bits: float
    equal_error: float
    rejected: tuple[float, ...]


def normal(shift: float) -> Known:
    return Known(
        f"normal, {shift:g} apart",
        lambda rng, size: rng.normal(shift, 1.0, size),
        lambda rng, size: rng.normal(0.0, 1.0, size),
        shift * shift / 2.0 / math.log(2.0),
        NORMAL.cdf(-shift / 2.0),
        tuple(NORMAL.cdf(NORMAL.inv_cdf(1.0 - rate) - shift) for rate in RATES),
    )


def laplace(shift: float) -> Known:
    def below(x: float) -> float:
        return 0.5 * math.exp(x) if x < 0.0 else 1.0 - 0.5 * math.exp(-x)

    return Known(
        f"Laplace, {shift:g} apart",
        lambda rng, size: rng.laplace(shift, 1.0, size),
        lambda rng, size: rng.laplace(0.0, 1.0, size),
        (shift + math.exp(-shift) - 1.0) / math.log(2.0),
        below(-shift / 2.0),
        tuple(below(-math.log(2.0 * rate) - shift) for rate in RATES),
    )


def integers() -> Known:
    """Binomial scores: every value is an atom."""

    def law(share: float) -> NDArray[np.float64]:
        return np.array(
            [math.comb(BINOMIAL, k) * share**k * (1 - share) ** (BINOMIAL - k) for k in range(BINOMIAL + 1)]
        )

    own, others = law(OWN), law(OTHERS)
    far = np.append(others[::-1].cumsum()[::-1], 0.0)
    frr = np.concatenate(([0.0], own.cumsum()))
    at = int(np.argmin(np.abs(far - frr)))
    return Known(
        "integers",
        lambda rng, size: rng.binomial(BINOMIAL, OWN, size).astype(np.float64),
        lambda rng, size: rng.binomial(BINOMIAL, OTHERS, size).astype(np.float64),
        float((own * np.log2(own / others)).sum()),
        float(far[at] + frr[at]) / 2.0,
        tuple(float(frr[np.argmax(far <= rate)]) for rate in RATES),
    )


def held(
    known: Known, law: ScoreLaw, rng: np.random.Generator, comparisons: ScoreMatrix | None = None
) -> NDArray[np.float64]:
    """Whether each interval holds its truth; last, whether the bits were one-sided."""
    bits = divergence(law, rng, comparisons=comparisons, replicates=200)
    rate = equal_error_rate(law, rng, comparisons=comparisons, replicates=200)
    hits = [bits.low <= known.bits and (bits.at_least or known.bits <= bits.high)]
    hits.append(rate.low <= known.equal_error <= rate.high)
    for truth, found in zip(known.rejected, frr_at_far(det_curve(law), RATES), strict=True):
        hits.append(found.low is None or found.high is None or found.low <= truth <= found.high)
    return np.array([*hits, bits.at_least], dtype=np.float64)


def rates_held(known: Known, law: ScoreLaw, rng: np.random.Generator) -> NDArray[np.float64]:
    """The same of the rates alone."""
    rate = equal_error_rate(law, rng, replicates=200)
    hits = [rate.low <= known.equal_error <= rate.high]
    for truth, found in zip(known.rejected, frr_at_far(det_curve(law), RATES), strict=True):
        hits.append(found.low is None or found.high is None or found.low <= truth <= found.high)
    return np.array(hits, dtype=np.float64)


def among_people(rng: np.random.Generator, people: int, shift: float) -> ScoreMatrix:
    """Everybody against everybody, people with effects of their own; every score is normal."""
    effects = rng.normal(size=(people, 1)) + rng.normal(size=(1, people))
    scores = (effects + rng.normal(size=(people, people))) / math.sqrt(3.0)
    who = np.arange(people)
    scores[who, who] += shift
    return ScoreMatrix(scores, who, who, people)


def line(label: str, shares: NDArray[np.float64]) -> None:
    print(f"| {label} | " + " | ".join(f"{100.0 * share:.3g} %" for share in shares) + " |", flush=True)


def of_lists(asked: argparse.Namespace) -> None:
    """Every law at every pair of lengths, each with a generator of its own."""
    for known in (normal(1.0), normal(2.0), normal(3.0), laplace(2.0), integers()):
        for n, m in SIZES:
            if max(n, m) > asked.largest:
                continue
            rng = np.random.default_rng([n, m] if asked.seed is None else [asked.seed, n, m])
            laws = (ScoreLaw.from_scores(known.genuine(rng, n), known.impostor(rng, m)) for _ in range(asked.runs))
            tried = rates_held if asked.rates else held
            line(f"{known.name} | {n:,} | {m:,}", np.mean([tried(known, law, rng) for law in laws], axis=0))


def of_people(asked: argparse.Namespace, head: str) -> None:
    """All pairs of people, as pairs and as a matrix."""
    print(f"\n| all pairs of people with effects of their own | n | {head}\n|---|---|---|---|---|---|---|")
    for people in (200, 500):
        for label in ("as pairs", "as a matrix"):
            rng, known, shares = np.random.default_rng(people), normal(2.0), []
            for _ in range(asked.runs):
                matrix = among_people(rng, people, 2.0)
                apart = ~np.eye(people, dtype=bool)
                law = ScoreLaw.from_scores(np.diag(matrix.scores), matrix.scores[apart])
                shares.append(held(known, law, rng, matrix if label == "as a matrix" else None))
            line(f"{label} | {people}", np.mean(shares, axis=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--largest", type=int, default=200_000, help="leave out longer lists")
    parser.add_argument("--rates", action="store_true", help="rates alone, of lists alone")
    parser.add_argument("--seed", type=int, help="draw other scores")
    asked = parser.parse_args()
    begun = time.process_time()
    head = "equal-error rate | FRR at FAR 1 % | FRR at FAR 0.1 % |"
    whole = f"bits | {head} bits one-sided |"
    print(f"| scores | n | m | {head if asked.rates else whole}\n|{'---|' * (6 if asked.rates else 8)}")
    of_lists(asked)
    if not asked.rates:
        of_people(asked, whole)
    print(f"\n{asked.runs} runs each; {time.process_time() - begun:.0f} s of processors")


if __name__ == "__main__":
    main()
