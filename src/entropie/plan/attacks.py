"""Which attacks by matchers an assessment takes: by every matcher, with identities shuffled, and by weaker attackers.

The attacks come in two stages. The second, who knows fewer events, depends on the first by one name: the matcher that
did best.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from entropie.data.split import first_events
from entropie.data.traces import Traces

MANY_PEOPLE = 20_000
"""Beyond so many people matchers are run one after the other: the models of one at a time are enough for memory and
disks."""
FEW_EVENTS = 5
"""Up to so many known events `FOR_FEW_EVENTS` is tried beside the strongest matcher: few events favour others."""
FOR_FEW_EVENTS = "pitman_yor"

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
        return f"knowing {self.training}: {self.matcher}"


def trained_on(train: Traces, target: Traces, training: Training) -> Traces:
    """What is learned from, of some people's halves."""
    if training is None:
        return train
    return target if training == "target" else first_events(train, training)
