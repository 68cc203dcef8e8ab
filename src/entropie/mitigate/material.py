"""What mitigations work on, and what they lose: coarser items and times on both sides, fewer events released."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie import words
from entropie.data.coarsen import replace_items, user_of_each
from entropie.data.split import Split, split_traces
from entropie.data.traces import Traces
from entropie.errors import InvalidInput


class Released(NamedTuple):
    """What is attacked under a mitigation, the share of what there was that it costs, and what should be said."""

    split: Split
    lost: float
    note: str | None


@dataclass(frozen=True, slots=True)
class Material:
    """What mitigations work on.

    Items and times are coarsened on both sides: an attacker coarsens what they know to compare it. Events are cut or
    thinned in the release alone: what the attacker knows does not shrink with it.

    traces   all events of the people attacked
    split    the same, cut into what the attacker knows (train) and what is released (target)
    columns  further columns, one value per event of the traces
    keys     one number per person that thinning goes by
    """

    traces: Traces
    split: Split
    item_ids: pa.Array
    columns: dict[str, pa.Array]
    coordinates: tuple[str, str] | None
    keys: NDArray[np.int64]
    seed: int

    @property
    def items_released(self) -> int:
        """How many different items are released."""
        return int(np.unique(self.split.target.items).size)

    @property
    def longest(self) -> int:
        """The most events that anybody releases."""
        return int(np.diff(self.split.target.offsets).max())

    @property
    def timed(self) -> bool:
        """Whether times are known, and not the order alone."""
        return self.split.target.times is not None

    def recoded(self, coarse: Traces, note: str | None = None) -> Released:
        """All events with coarser items, known and released."""
        split = replace(split_traces(coarse), attacked=self.split.attacked)
        return Released(split, information_lost(self.split.target.items, split.target.items), note)

    def labelled(self, labels: NDArray[np.int64], missing: str) -> Released:
        """Labels instead of items; says what is odd about them: events without one, items with several."""
        notes = []
        without = int(np.count_nonzero(labels < 0))
        if without == labels.size:
            raise InvalidInput(f"All {without:,} events have {missing}; name another column.")
        if without:
            notes.append(f"{words.plural(without, 'event')} without a value ({missing}) count as one item.")
        if information_lost(labels, self.traces.items) > 1e-12:
            notes.append("Some items have several values, so this may reveal more than the item.")
        return self.recoded(replace_items(self.traces, labels), " ".join(notes) or None)

    def fewer(self, target: Traces) -> Released:
        """Fewer of the events released."""
        return self.released(self.split.train, target, 1.0 - target.events / self.split.target.events)

    def released(self, train: Traces, target: Traces, lost: float) -> Released:
        """Other events of the same people, known and released."""
        empty = int(np.count_nonzero(np.diff(target.offsets) == 0))
        have = "has" if empty == 1 else "have"
        note = f"{words.plural(empty, 'person', 'people')} {have} no event left." if empty else None
        return Released(Split(train, target, self.split.users, 0, self.split.attacked), lost, note)


def information_lost(before: NDArray[np.generic], after: NDArray[np.generic]) -> float:
    """Share of the information about an event's item that is lost: H(before | after) / H(before).

    Where `after` is made from `before`, this is 1 - H(after)/H(before).
    """
    whole = _entropy_bits(before)
    if whole <= 0.0:
        return 0.0
    pairs = np.unique(before, return_inverse=True)[1].astype(np.uint64) << np.uint64(32)
    pairs |= np.unique(after, return_inverse=True)[1].astype(np.uint64)
    lost = _entropy_bits(pairs) - _entropy_bits(after)
    return min(1.0, lost / whole) if lost > 1e-12 else 0.0


def order_lost(traces: Traces, units: NDArray[np.int64]) -> float:
    """Share of consecutive events of a person that lie in the same unit and are of different items."""
    same_user = np.diff(user_of_each(traces)) == 0
    pairs = int(np.count_nonzero(same_user))
    lost = same_user & (np.diff(units) == 0) & (traces.items[1:] != traces.items[:-1])
    return int(np.count_nonzero(lost)) / pairs if pairs else 0.0


def _entropy_bits(values: NDArray[np.generic]) -> float:
    """Entropy of the empirical distribution, in bits."""
    if values.size == 0:
        return 0.0
    counts = np.unique(values, return_counts=True)[1]
    return math.log2(values.size) - float(np.sum(counts * np.log2(counts))) / values.size
