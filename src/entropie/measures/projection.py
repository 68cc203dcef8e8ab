"""How many would be re-identified among more people than are at hand, from the ranks of the right ones.

A stranger beats target i with a probability q_i of its own; among m people the right one has r_i strangers before them,
r_i ~ Bin(m - 1, q_i), ties broken by chance. Over people, q follows Beta(a, b), but for a share 1 - w of people of whom
the scores say nothing: their q is uniform. The share re-identified among N candidates is then

    kappa(N) = w B(a, b + N - 1)/B(a, b) + (1 - w)/N

which falls like N^-a, and the share within L guesses a sum of two beta-binomial distribution functions. The settings
are fitted by maximum likelihood with weak priors (`PRIOR`), without which the ranks of some dozen people allow a curve
that no data ever had.

Ranks of all sizes decide this fit, and no law is right for all of them. So the share among fewer people, which is
known exactly, is followed beyond them, too (`measures.share_curve`), and the mean of both is projected: each way errs
where the other does not, and how far they are apart is part of the interval. `scripts/bench projection` prints what
that brings.

Nothing else is needed than ranks: among a random part of the crowd a rank is hypergeometric. So the fit is put to the
test on the data themselves: fitted to the ranks among a half and among an eighth of the people, it must predict what
was found among all of them. Where it does not, nothing is projected.

People are resampled for the interval. Their ranks share one crowd and are not independent, and no curve is exactly
right: the interval is widened for both (`SHARED_CROWD`, `CURVE_ERROR`), by what the benchmark found, and by what these
data tell of their own curve:

- what the prediction from an eighth missed, per doubling, it may miss with every further doubling, on the same side;
- both ways end as a power of N. By another law, as likely a priori, the share falls ever faster (`STEEP`), and the
  lower end allows for it: where people differ by few numbers that is what happens;
- where all people at hand are re-identified no curve sees a fall, although some may have been missed by a hair. So the
  lower end also holds what the steep curve says with z^2 more people in second place, z = 1.96, which is the fewest
  that take all of n down to the lower end of Wilson's interval, n/(n + z^2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.document.assessment import Projection as Projection
from entropie.document.assessment import ProjectionFit
from entropie.document.measured import ShareInterval
from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.cells import digamma, log_gamma
from entropie.measures.intervals import LEVEL, normal_quantile, percentiles, share_interval
from entropie.measures.share_curve import STEEP, exact_shares, followed
from entropie.theory import checks

PRIOR = np.array([[-1.6, 0.7, 2.5], [1.0, 1.5, 1.0]])
"""Mean and standard deviation of ln a, ln b and ln(w/(1 - w)) before any rank is seen."""

REPLICATES = 400
FEWEST = 20
"""People without whom no curve is fitted."""
FURTHEST = 33
"""Times as many people as are at hand: no farther than the benchmark has tried."""
TOLERANCE = 0.05
"""How far from what was found a part of the crowd may predict it, where so many people make chance smaller."""
SHARED_CROWD = 1.25
"""How much wider than by independent ranks the interval is: some strangers beat many people at once."""
CURVE_ERROR = 0.02
"""Standard deviation of the curve's own error, relative, for each doubling of the people."""
_DRAWS = 64
_HALVINGS = 30
_EXACT, _PER_DOUBLING = 64, 16
_ENDS = np.array([[-8.0, -4.0, -9.0], [4.0, 16.0, 9.0]])

Floats = NDArray[np.float64]


class Ranks(NamedTuple):
    """Ranks as weights: how many people have so many strangers before them, among `strangers` others."""

    before: Floats
    weights: Floats
    strangers: int

    @classmethod
    def of(cls, low: ArrayLike, high: ArrayLike, people: int) -> Ranks:
        """From the strangers scored strictly better (`low`), and not worse (`high`), per target.

        A person tied with others counts in equal parts for every rank that chance may give them, and where there is a
        column per draw of what is known, in equal parts for every draw.
        """
        better, not_worse = np.asarray(low, dtype=np.int64), np.asarray(high, dtype=np.int64)
        if better.shape != not_worse.shape or better.ndim not in (1, 2) or not better.size:
            raise InvalidInput(f"Ranks must be two arrays of one shape, got {better.shape} and {not_worse.shape}.")
        if int(better.min()) < 0 or np.any(not_worse < better) or int(not_worse.max()) >= people:
            raise InvalidInput(f"Ranks must satisfy 0 <= low <= high < people = {people}.")
        draws = better.size // better.shape[0]
        better, not_worse = better.ravel(), not_worse.ravel()
        share = 1.0 / (draws * (not_worse - better + 1))
        change = np.bincount(better, share, people + 1) - np.bincount(not_worse + 1, share, people + 1)
        held = np.cumsum(change)[:people].clip(0.0)
        return cls(*_binned(held), people - 1)

    @property
    def people(self) -> float:
        """How many targets were ranked."""
        return float(self.weights.sum())

    @property
    def found(self) -> float:
        """Share re-identified among the people at hand."""
        return float(self.weights[0]) / self.people


@dataclass(frozen=True, slots=True)
class RankModel:
    """How likely a stranger beats a person: q ~ Beta(a, b) for the share `informed` of people, uniform for others."""

    a: float
    b: float
    informed: float = 1.0

    def share(self, population: int, guesses: int = 1) -> float:
        """Share whose right person is among the first `guesses` of `population` candidates.

        >>> RankModel(1.0, 1.0).share(10)
        0.1
        >>> round(RankModel(0.5, 2.0).share(3), 6)  # (2 * 3) / (2.5 * 3.5)
        0.685714
        """
        if guesses < 1:
            raise InvalidParameter.of("guesses", "at least 1", guesses)
        if guesses >= population:
            return 1.0
        trials, total = population - 1, 0.0
        term = _log_gamma_ratio(self.b, self.a) - _log_gamma_ratio(self.b + trials, self.a)
        for rank in range(guesses):
            total += math.exp(term)
            term += math.log((trials - rank) / (rank + 1.0)) + math.log(self.a + rank)
            term -= math.log(self.b + trials - rank - 1.0)
        return min(1.0, self.informed * total + (1.0 - self.informed) * guesses / population)


def project(ranks: Ranks, population: int, rng: np.random.Generator, replicates: int = REPLICATES) -> Projection:
    """The share re-identified among `population` people, with a bootstrap interval over people."""
    people = ranks.strangers + 1
    population = checks.whole_number("population", population, at_least=people)
    if ranks.people < FEWEST or ranks.strangers < FEWEST:
        return Projection(population, None, None, None, None, f"fewer than {FEWEST} people")
    if population > FURTHEST * people:
        return Projection(population, None, None, None, None, f"more than {FURTHEST} times the people at hand")
    fit = _checked_fit(ranks, rng)
    if not fit.good:
        return Projection(population, None, None, None, fit, "the curve does not predict what was found")
    return Projection(population, None, None, _interval(ranks, fit, population, rng, replicates), fit, None)


def fitted(ranks: Ranks) -> RankModel:
    """The curve of these ranks."""
    return _model(_climb(ranks, ranks.weights[None, :], PRIOR[:1])[0])


def _checked_fit(ranks: Ranks, rng: np.random.Generator) -> ProjectionFit:
    model, share = fitted(ranks), ranks.found
    half, eighth = (_predicted(_among(ranks, part, rng), ranks.strangers + 1) for part in (2, 8))
    measured = share_interval(share, ranks.people)
    good = max(abs(half - share), abs(eighth - share)) <= max(TOLERANCE, (measured.high - measured.low) / 2.0)
    return ProjectionFit(model.a, model.b, model.informed, half, eighth, share, good)


def _predicted(ranks: Ranks, population: int) -> float:
    """The mean of both ways."""
    settings = _climb(ranks, ranks.weights[None, :], PRIOR[:1])
    return float(_both(ranks, ranks.weights[None, :], settings, population).mean())


def _both(ranks: Ranks, weights: Floats, settings: Floats, population: int) -> Floats:
    """By the law of ranks, which says how far the share found falls, and by the curve of shares: two rows."""
    fall = _shares(settings, population) / _shares(settings, ranks.strangers + 1)
    by_ranks = weights[:, 0] / weights.sum(axis=1) * fall
    return np.stack((by_ranks, followed(*exact_shares(ranks.before, weights, ranks.strangers), population)))


def _among(ranks: Ranks, part: int, rng: np.random.Generator) -> Ranks:
    """The same people's ranks among one part of the others, drawn at random again and again."""
    fewer = _fewer(ranks, part)
    before = np.round(ranks.before).astype(np.int64)
    drawn = rng.hypergeometric(before, ranks.strangers - before, fewer, size=(_DRAWS, before.size))
    weights = np.broadcast_to(ranks.weights / _DRAWS, drawn.shape)
    return Ranks(*_binned(np.bincount(drawn.ravel(), weights.ravel(), fewer + 1).astype(np.float64)), fewer)


def _fewer(ranks: Ranks, part: int) -> int:
    return min(max(ranks.strangers // part, FEWEST), ranks.strangers)


def _interval(
    ranks: Ranks, fit: ProjectionFit, population: int, rng: np.random.Generator, replicates: int
) -> ShareInterval:
    people, trials = ranks.strangers + 1, round(ranks.people)
    drawn = rng.multinomial(trials, ranks.weights / ranks.people, size=replicates).astype(np.float64)
    begin = np.array([[math.log(fit.a), math.log(fit.b), math.log(fit.informed / (1.0 - fit.informed))]])
    weights = np.concatenate((ranks.weights[None, :], drawn))
    settings = _climb(ranks, weights, begin, steps=5)
    both = _both(ranks, weights, settings, population)
    value, (low, high) = float(both[:, 0].mean()), percentiles(both[:, 1:].mean(axis=0))
    measured = share_interval(ranks.found, ranks.people)  # honest also where all people are re-identified, or nobody
    fall = value / ranks.found if ranks.found > 0.0 else 1.0
    low, high = min(low, measured.low * fall), max(high, measured.high * fall)
    apart = abs(float(both[0, 0] - both[1, 0])) / 2.0
    doublings, seen = math.log2(population / people), math.log2(people / (_fewer(ranks, 8) + 1.0))
    missed = (fit.eighth_sample_predicted - fit.half_sample_found) / max(seen, 1.0) * doublings
    steep, least = _steeper(ranks, population)
    own = CURVE_ERROR * doublings * value
    off_below = math.hypot(2.0 * math.hypot(apart, max(own, missed)), max(0.0, value - steep))
    off_above = 2.0 * math.hypot(apart, max(own, -missed))
    below, above = (
        math.hypot(SHARED_CROWD * (value - low), off_below),
        math.hypot(SHARED_CROWD * (high - value), off_above),
    )
    return ShareInterval(value, max(0.0, min(value - below, least)), min(1.0, value + above))


def _steeper(ranks: Ranks, population: int) -> tuple[float, float]:
    """What the steep curve says, and what it would say if some more people stood in second place."""
    weights = np.repeat(ranks.weights[None, :], 2, axis=0)
    weights[1, 1] += normal_quantile(0.5 + LEVEL / 2.0) ** 2
    steep, least = followed(*exact_shares(ranks.before, weights, ranks.strangers), population, STEEP)
    return float(steep), float(least)


def _climb(ranks: Ranks, weights: Floats, begin: Floats, steps: int = 30) -> Floats:
    """Settings (ln a, ln b, logit w) of greatest posterior for every row of weights.

    Newton's steps with the outer product of the gradients for the curvature (Berndt, Hall, Hall & Hausman), halved
    where they lead down.
    """
    settings = np.repeat(begin, weights.shape[0] // begin.shape[0], axis=0)
    height, slopes = _terms(ranks, settings)
    reached = _posterior(weights, height, settings)
    for _ in range(steps):
        gradient = np.einsum("rg,rgk->rk", weights, slopes) - (settings - PRIOR[0]) / PRIOR[1] ** 2
        curvature = np.einsum("rg,rgk,rgl->rkl", weights, slopes, slopes) + np.diag(PRIOR[1] ** -2.0)
        step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
        step /= np.maximum(np.abs(step).max(axis=1, keepdims=True), 1.0)
        for _ in range(_HALVINGS):
            moved = np.clip(settings + step, *_ENDS)
            height, slopes = _terms(ranks, moved)
            value = _posterior(weights, height, moved)
            down = value < reached - 1e-9 * np.abs(reached)  # rounding leads nowhere
            if not down.any():
                break
            step = np.where(down[:, None], step / 2.0, step)
        settings, reached = np.where(down[:, None], settings, moved), np.maximum(value, reached)
        if np.abs(step).max() < 1e-6 or down.all():
            break
        if down.any():
            height, slopes = _terms(ranks, settings)
    return settings


def _posterior(weights: Floats, height: Floats, settings: Floats) -> Floats:
    likelihood = np.einsum("rg,rg->r", weights, height)
    return np.asarray(likelihood - (((settings - PRIOR[0]) / PRIOR[1]) ** 2).sum(axis=1) / 2.0)


def _terms(ranks: Ranks, settings: Floats) -> tuple[Floats, Floats]:
    """ln Pr(rank) of each rank, and its derivatives by the settings; rows as those of `settings`."""
    a, b = np.exp(settings[:, :1]), np.exp(settings[:, 1:2])
    informed = 1.0 / (1.0 + np.exp(-settings[:, 2:]))
    before, after, trials = ranks.before, ranks.strangers - ranks.before, float(ranks.strangers)
    ways = log_gamma(trials + 1.0) - log_gamma(before + 1.0) - log_gamma(after + 1.0)
    whole = log_gamma(a + b) - log_gamma(a) - log_gamma(b) - log_gamma(trials + a + b)
    by_beta = np.log(informed) + ways + whole + log_gamma(before + a) + log_gamma(after + b)
    height = np.logaddexp(by_beta, np.log1p(-informed) - math.log(trials + 1.0))
    held = np.exp(by_beta - height)  # how likely a person of this rank is one of whom the scores say something
    common = digamma(a + b) - digamma(trials + a + b)
    by_a = held * a * (digamma(before + a) - digamma(a) + common)
    by_b = held * b * (digamma(after + b) - digamma(b) + common)
    return height, np.stack((by_a, by_b, held - informed), axis=2)


def _model(settings: Floats) -> RankModel:
    return RankModel(math.exp(settings[0]), math.exp(settings[1]), 1.0 / (1.0 + math.exp(-settings[2])))


def _shares(settings: Floats, population: int) -> Floats:
    return np.array([_model(row).share(population) for row in settings])


def _binned(held: Floats) -> tuple[Floats, Floats]:
    """Ranks and their weights: each rank by itself up to 64, then some per doubling, taken at their middle."""
    bounds = np.arange(min(_EXACT, held.size))
    if held.size > _EXACT:
        count = math.ceil(math.log2(held.size / _EXACT) * _PER_DOUBLING)
        wide = np.round(np.geomspace(_EXACT, held.size, count + 1)[:-1]).astype(np.int64)
        bounds = np.unique(np.concatenate((bounds, wide)))
    last = np.append(bounds[1:], held.size) - 1
    return (bounds + last) / 2.0, np.add.reduceat(held, bounds)


def _log_gamma_ratio(x: float, more: float) -> float:
    """ln(Gamma(x + more)/Gamma(x)), also where both are so large that their difference would be lost."""
    if x > 1e6 * max(1.0, more * more):
        return more * math.log(x) + more * (more - 1.0) / (2.0 * x)
    return math.lgamma(x + more) - math.lgamma(x)
