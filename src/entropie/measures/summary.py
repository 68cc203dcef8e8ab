"""One value for everything measured on one attack or score set, ready for assessment.json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from entropie.data.scoresets import ScoreMatrix
from entropie.document.assessment import TailGroup
from entropie.document.base import plain
from entropie.document.measured import (
    EqualErrorRate,
    Exposure,
    Guess,
    Measured,
    PaperBits,
    RejectRate,
    ScoreBits,
    ScoreHistograms,
    ShareInterval,
)
from entropie.errors import InvalidParameter
from entropie.measures.det import DetCurve, det_curve, equal_error_rate, frr_at_far
from entropie.measures.divergence import divergence, finite_divergence
from entropie.measures.exposure import exposure, tail_of
from entropie.measures.histogram import law_histogram
from entropie.measures.identification import (
    GUESSES,
    guessing_error,
    identification_error,
    lift,
    rank_steps,
    top_k_errors,
)
from entropie.measures.intervals import REPLICATES, Interval
from entropie.measures.law import ScoreLaw
from entropie.measures.nearest_neighbour import paper_estimate
from entropie.measures.projection import Ranks


@dataclass(frozen=True, slots=True, eq=False)
class Identified:
    """How each target was identified; arrays of one entry per target."""

    credit: ArrayLike  # 1/s where the genuine user is one of the s best, else 0
    rank_low: ArrayLike  # users strictly better than the genuine one, plus 1
    rank_high: ArrayLike  # users strictly better or tied, the genuine one included
    clarity: ArrayLike | None = None  # how far the best candidate stands ahead of the second
    independent: int | None = None  # users behind the targets, where it is not one target each

    def within(self, guesses: Sequence[int], users: int) -> tuple[Guess, ...]:
        """Share of targets whose user is not within so many guesses."""
        return top_k_errors(self.rank_low, self.rank_high, users, guesses=guesses, independent=self.independent)


@dataclass(frozen=True, slots=True)
class Measures:
    """What an outcome amounts to. Identification is None where only pooled scores are known."""

    users: int
    targets: int
    impostors: int
    identification_error: ShareInterval | None
    guessing_error: float
    lift: float | None
    top_k: tuple[Guess, ...]
    pse_bits: ScoreBits
    pse_finite_bits: Interval
    pse_paper_bits: PaperBits | None  # needs two targets
    equal_error_rate: EqualErrorRate
    curve: DetCurve
    frr_at_far: tuple[RejectRate, ...]
    laws: ScoreHistograms
    rank_curve: tuple[tuple[int, float], ...]  # k, share of targets whose user is among the k best
    exposure: Exposure | None
    tail: tuple[TailGroup, ...]
    ranks: Ranks | None  # how many strangers stand before each person, to project from

    @property
    def error(self) -> float:
        """Share of targets not re-identified; 1 where only pooled scores are known."""
        return 1.0 if self.identification_error is None else self.identification_error.value

    @property
    def det(self) -> list[list[float]]:
        """[FAR, FRR] pairs of the curve, thinned."""
        return self.curve.to_json()

    @property
    def det_band(self) -> list[list[float]]:
        """The interval's ends of FRR at the same points."""
        return self.curve.band_to_json()

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        return plain(self, Measured)


def measure(
    law: ScoreLaw,
    *,
    users: int,
    seed: int,
    identified: Identified | None = None,
    comparisons: ScoreMatrix | None = None,
    replicates: int = REPLICATES,
) -> Measures:
    """Measure an attack: its distribution of scores and, where known, how each target was identified.

    `users` is the number of candidates for each target. `comparisons`, where they are known, let the bootstrap draw
    users with all their comparisons (see `entropie.measures.intervals` for what is left out without them).
    """
    if replicates < 2:
        raise InvalidParameter.of("replicates", "at least 2", replicates)
    for_pse, for_finite, for_eer = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(3))
    error = independent = exposed = before = None
    top_k: tuple[Guess, ...] = ()
    ranks: tuple[Guess, ...] = ()
    tail: tuple[TailGroup, ...] = ()
    if identified is not None:
        independent = identified.independent
        error = identification_error(identified.credit, independent=independent)
        top_k, ranks = identified.within(GUESSES, users), identified.within(rank_steps(users), users)
        before = Ranks.of(np.asarray(identified.rank_low) - 1, np.asarray(identified.rank_high) - 1, users)
        if identified.clarity is not None:
            exposed = exposure(identified.credit, identified.clarity)
            tail = tail_of(identified.credit, identified.clarity)
    curve = det_curve(law, independent=independent)
    return Measures(
        users=users,
        targets=law.targets,
        impostors=law.impostors,
        identification_error=error,
        guessing_error=guessing_error(users),
        lift=None if error is None else lift(error.value, users),
        top_k=top_k,
        pse_bits=divergence(law, for_pse, comparisons=comparisons, replicates=replicates),
        pse_finite_bits=finite_divergence(law, users, for_finite, comparisons=comparisons, replicates=replicates),
        pse_paper_bits=paper_estimate(law, seed) if law.targets > 1 else None,
        equal_error_rate=equal_error_rate(law, for_eer, comparisons=comparisons, replicates=replicates),
        curve=curve,
        frr_at_far=frr_at_far(curve),
        laws=law_histogram(law),
        rank_curve=tuple((guess.k, 1.0 - guess.error) for guess in ranks),
        exposure=exposed,
        tail=tail,
        ranks=before,
    )
