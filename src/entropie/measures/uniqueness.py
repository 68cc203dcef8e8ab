"""What is to be expected of a table in a population of which only the size is known: who stays alone, how classes grow.

Estimated in two ways. By the process of Pitman and Yor (`measures.pitman_yor`), fitted to all classes together. By
ranks (`measures.projection`): a stranger shares the combination of person i with a probability q_i, q ~ Beta(a, b)
over people. The first is taken where it holds good, else the second, else nothing is said. Good is which predicts,
fitted to half and to an eighth of the people, how many of all are alone. Who is alone in the population is alone in the
table, so that nothing is more than what was found.

No curve is exactly right: the interval is wider by `CURVE_ERROR` for each doubling of the people, as
`scripts/bench uniqueness` found on tables of censuses.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from entropie.document.measured import ShareInterval
from entropie.document.table import Fitted, PopulationEstimate, RecordRisk
from entropie.measures.intervals import normal_quantile, share_interval
from entropie.measures.pitman_yor import PitmanYor
from entropie.measures.projection import FEWEST, FURTHEST, Ranks, project
from entropie.measures.record_risk import record_risks, risk_of
from entropie.words import count, interval, percent

Sizes = NDArray[np.int64]
CURVE_ERROR = 0.03
"""Standard deviation of the curve's own error, relative, for each doubling of the people."""
_NEAR = 0.005  # shares this near are the same
_LARGEST_CLASS, _FIRST_STEPS = 4096, 64


def estimate(sizes: Sizes, population: int, rng: np.random.Generator) -> PopulationEstimate:
    """Among so many people, from the sizes of the classes of a table."""
    people = int(sizes.sum())
    reason = None
    if people < FEWEST:
        reason = f"fewer than {FEWEST} people"
    elif population > FURTHEST * people:
        reason = f"more than {FURTHEST} times the people at hand"
    if reason is not None:
        return _nothing(population, reason, ())
    if population == people:
        return _counted(sizes)
    fits = _by_partition(sizes, population, rng), _by_ranks(sizes, population, rng)
    good = [fit for fit in fits if fit.good and fit.unique is not None and fit.success is not None]
    if not good:
        return _nothing(population, "neither curve predicts what was found from a part of the people", fits)
    best = good[0]
    assert best.unique is not None
    assert best.success is not None
    k_map = expected_k_map(sizes, population) if fits[0].good else None
    return _told(population, best.unique, best.success, k_map, fits)


def _counted(sizes: Sizes) -> PopulationEstimate:
    """Where the table is the population."""
    people = int(sizes.sum())
    alone, named = float(np.count_nonzero(sizes == 1)) / people, sizes.size / people
    unique, success = ShareInterval(alone, alone, alone), ShareInterval(named, named, named)
    return _told(people, unique, success, float(sizes.min()), ())


def _told(
    population: int, unique: ShareInterval, success: ShareInterval, k_map: float | None, fits: tuple[Fitted, ...]
) -> PopulationEstimate:
    smallest = "" if k_map is None else f", and the smallest class to hold {round(k_map, 1):,.10g} (k-map)"
    meaning = (
        f"Among {count(population)} people, {percent(unique.value)} ({interval(unique)}) of those of the table are "
        f"expected to be alone with their values{smallest}."
    )
    return PopulationEstimate(population, unique, success, k_map, fits, None, meaning)


def estimated_risks(sizes: Sizes, found: PopulationEstimate, at_risk: float) -> tuple[RecordRisk, ...]:
    """Prosecutor, journalist and marketer; of the last two what is expected in the population."""
    rows = record_risks(sizes, at_risk)
    if found.success is None:
        return rows
    share = found.success
    above = None if found.k_map is None else _share_above(sizes, found.people, at_risk)
    return (
        rows[0],
        risk_of("journalist", "estimated", share.value, at_risk, above=above, ends=share),
        risk_of("marketer", "estimated", share.value, at_risk, ends=share),
    )


def expected_k_map(sizes: Sizes, population: int) -> float:
    """The expected smallest class of the population that anybody of the table is in; 4,096 at most."""
    distinct, times = np.unique(sizes, return_counts=True)
    process, until = PitmanYor.fitted(sizes), _FIRST_STEPS
    while True:
        below = process.growth(distinct, int(sizes.sum()), population, until)
        with np.errstate(divide="ignore"):
            at_least = np.exp(times @ np.log1p(-below))  # the smallest is at least 0, 1, 2 ...
        if at_least[-1] < 1e-6 or until >= _LARGEST_CLASS:
            return float(at_least[1:].sum())
        until *= 2


def _share_above(sizes: Sizes, population: int, at_risk: float) -> float:
    """Expected share of people whose class of the population has fewer people than 1/at_risk."""
    distinct, times = np.unique(sizes, return_counts=True)
    fewer = math.ceil(round(1.0 / at_risk, 9))
    if fewer > _LARGEST_CLASS:
        return 1.0
    below = PitmanYor.fitted(sizes).growth(distinct, int(sizes.sum()), population, fewer)[:, fewer]
    return float((distinct * times) @ below) / float(sizes.sum())


def _by_partition(sizes: Sizes, population: int, rng: np.random.Generator) -> Fitted:
    people = int(sizes.sum())
    process = PitmanYor.fitted(sizes)
    unique, classes = float(np.count_nonzero(sizes == 1)) / people, sizes.size / people
    parts, good = [], True
    for part in (2, 8):
        fewer = max(people // part, FEWEST // 2)
        drawn = rng.multivariate_hypergeometric(sizes, fewer, method="marginals")
        smaller = drawn[drawn > 0]
        there = float(np.count_nonzero(smaller == 1)) / fewer
        told = _projected(there, fewer, PitmanYor.fitted(smaller).alone(fewer, people), people)
        parts.append(told.value)
        good &= told.low - _NEAR <= unique <= told.high + _NEAR
    return Fitted(
        method="Pitman-Yor",
        unique=_projected(unique, people, process.alone(people, population), population),
        success=_projected(classes, people, process.classes(people, population), population),
        a=process.a,
        b=process.b,
        half=parts[0],
        eighth=parts[1],
        found=unique,
        good=good,
    )


def _projected(found: float, people: int, fall: tuple[float, float], population: int) -> ShareInterval:
    """What was found, times how far the curve falls; no more than what was found."""
    change, error = fall
    value, measured = found * math.exp(change), share_interval(found, people)
    spread = normal_quantile(0.975) * math.hypot(error, CURVE_ERROR * math.log2(population / people))
    low = measured.low * math.exp(change)
    high = measured.high * math.exp(change)
    below = math.hypot(value - low, value * (1.0 - math.exp(-spread)))
    above = math.hypot(high - value, value * math.expm1(min(spread, 50.0)))
    top = found if found > 0.0 else 0.0
    return ShareInterval(min(value, top), max(0.0, min(value, top) - below), min(top, value + above))


def _by_ranks(sizes: Sizes, population: int, rng: np.random.Generator) -> Fitted:
    people = int(sizes.sum())
    own = np.repeat(sizes, sizes)
    alone = project(Ranks.of(own - 1, own - 1, people), population, rng)
    named = project(Ranks.of(np.zeros_like(own), own - 1, people), population, rng)
    fit = alone.fit
    assert fit is not None
    parts = ((fit.half_sample_predicted, 2), (fit.eighth_sample_predicted, 8))
    return Fitted(
        method="ranks",
        unique=alone.reidentified,
        success=named.reidentified,
        a=fit.a,
        b=fit.b,
        half=min(1.0, fit.half_sample_predicted),
        eighth=min(1.0, fit.eighth_sample_predicted),
        found=fit.half_sample_found,
        good=fit.good and all(_near(told, fit.half_sample_found, people, part) for told, part in parts),
    )


def _near(told: float, found: float, people: int, part: int) -> bool:
    """Whether what a part of the people tells is near what was found, as near as the curve is taken to be right."""
    ends = share_interval(found, people)
    off = math.exp(normal_quantile(0.975) * CURVE_ERROR * math.log2(part))
    return ends.low / off - _NEAR <= told <= ends.high * off + _NEAR


def _nothing(population: int, reason: str, fits: tuple[Fitted, ...]) -> PopulationEstimate:
    told = f"What is to be expected among {count(population)} people cannot be told: {reason}."
    return PopulationEstimate(population, None, None, None, fits, reason, told)
