"""The best of several attacks: its error, with an interval that allows for its having been chosen.

Of several attacks the best looks better than it is. So all of them share the 5 % of doubt (Bonferroni): each interval
alone has the level 1 - 5 %/tried, and that of the best holds at 95 % whichever it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from entropie.document.measured import ShareInterval
from entropie.measures.intervals import LEVEL, share_interval

if TYPE_CHECKING:
    from entropie.measures.summary import Measures


@dataclass(frozen=True, slots=True)
class BestAttack:
    """The best of the matchers tried; the interval of its error allows for the choice."""

    matcher: str
    error: ShareInterval
    measures: Measures
    tried: int

    @classmethod
    def of(cls, attacks: Mapping[str, Measures], *, tried: int | None = None) -> BestAttack:
        """Choose among the attacks by matcher; `tried` is how many were tried, where more than these."""
        matcher = min(attacks, key=lambda name: strength(attacks[name]))
        measures, tried = attacks[matcher], len(attacks) if tried is None else tried
        right = share_interval(1.0 - measures.error, measures.targets, level_among(tried))
        return cls(matcher, ShareInterval(measures.error, 1.0 - right.high, 1.0 - right.low), measures, tried)

    @property
    def right(self) -> ShareInterval:
        """Share of people re-identified."""
        return self.error.complement

    @property
    def level(self) -> float:
        """Confidence level of the interval by itself."""
        return level_among(self.tried)

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        return {
            "matcher": self.matcher,
            "identification_error": self.error.to_json(),
            "matchers_tried": self.tried,
        }


def level_among(tried: float, level: float = LEVEL) -> float:
    """The level that each of so many intervals needs, so that all of them hold together at `level`."""
    return 1.0 - (1.0 - level) / max(1.0, tried)


def strength(measures: Measures) -> tuple[float, float]:
    """Rank of an attack, the strongest lowest: re-identified people count, and bits decide between equals."""
    return measures.error, -measures.pse_bits.value
