"""Which attacks an assessment takes: by every matcher, with identities shuffled, and by weaker and stronger attackers.

The attacks come in two stages. The second, who knows fewer events or the attacked ones, depends on the first by one
name: the matcher that did best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

MANY_PEOPLE = 20_000
"""Beyond so many people weaker and stronger attackers are run only where asked for, each costs a whole attack; and
matchers are run one after the other, the models of one at a time are enough for memory and disks."""
FEW_EVENTS = 5
"""Up to so many known events `FOR_FEW_EVENTS` is tried beside the strongest matcher: few events favour others."""
FOR_FEW_EVENTS = "pitman_yor"
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_USUAL_SHARE = 0.9

Training = int | Literal["target"] | None
"""What is learned from: the split's training (None), so many first events of it, or the attacked events themselves."""

Histogram = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Numbers of events, rising, and how many people have each."""


@dataclass(frozen=True, slots=True)
class AttackSpec:
    """One attack: who compares traces how, after learning from what; with identities shuffled it is the control."""

    matcher: str
    training: Training = None
    shuffled: bool = False

    @property
    def stage(self) -> str:
        """What to tell while it runs."""
        if self.shuffled:
            return f"control: {self.matcher}"
        if self.training is None:
            return f"attacking: {self.matcher}"
        return f"knowing {'all' if self.training == 'target' else self.training}: {self.matcher}"


def known_event_steps(lengths: NDArray[np.int64], people: NDArray[np.int64]) -> tuple[int, ...]:
    """Numbers of known events worth showing: fewer than all but the longest tenth of people have to learn from.

    people[i] people have lengths[i] training events each, rising.
    """
    usual = _quantile(lengths, people, _USUAL_SHARE)
    return tuple(step for step in _STEPS if step < usual)


def _quantile(lengths: NDArray[np.int64], people: NDArray[np.int64], share: float) -> float:
    """What numpy's quantile makes of every person's number, from how many people have each."""
    after = np.cumsum(people)
    last = int(after[-1]) - 1
    place = share * last
    low = math.floor(place)
    below, above = (
        float(lengths[np.searchsorted(after, min(number, last), side="right")]) for number in (low, low + 1)
    )
    part = place - low
    return above - (above - below) * (1.0 - part) if part >= 0.5 else below + (above - below) * part
