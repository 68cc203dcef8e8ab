"""What a release is worth less than the events it is made of: one number from 0 (nothing is lost) to 1, on the scale
that its user chooses.

    information   mean share lost of which item, of which hour (where there are times), and of which event follows which
    items         error of the item histogram
    item-hours    error of the counts of every item in every hour of the week
    flows         error of the counts of which item follows which
    top           share of the 100 most frequent items that the release does not show as such

Errors are half the l1 distance of the two distributions. Whoever reads a release knows which items are merged and how
times are rounded, and spreads what is counted evenly over what it may stand for.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from entropie.data.coarsen import TIME_UNITS
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.mitigate.draft import GONE, Draft, Material

Scale = Literal["information", "items", "item-hours", "flows", "top"]
SCALES: tuple[str, ...] = get_args(Scale)
LOST = {
    "information": "of the information",
    "items": "error of the item counts",
    "item-hours": "error of the counts by item and hour",
    "flows": "error of the flows between items",
    "top": "of the 100 most frequent items",
}
"""What a cost is a share of, in words."""
_TOP = 100
_HOUR, _WEEK = 3_600, 168
_MONDAY = 96  # hours from the epoch, a Thursday, to the first Monday


def check_scale(scale: str, material: Material | None = None) -> None:
    """Refuse what is no scale, and one that needs times where there are none."""
    if scale not in SCALES:
        raise InvalidParameter.among("cost", SCALES, scale)
    if scale == "item-hours" and material is not None and not material.timed:
        raise InvalidInput(
            f"{option('cost')} item-hours needs times, and only the order of events is known; choose another, such as "
            "items."
        )


def loss(draft: Draft, scale: str) -> float:
    """What is lost on a scale."""
    if not draft.kept.any():
        return 1.0
    lost = {
        "information": _information,
        "items": _items,
        "item-hours": _item_hours,
        "flows": _flows,
        "top": _top,
    }[scale](draft)
    return min(1.0, max(0.0, float(lost)))


def information_lost(before: NDArray[np.generic], after: NDArray[np.generic]) -> float:
    """Share of the information about an event that is lost: H(before | after) / H(before)."""
    whole = _entropy_bits(before)
    if whole <= 0.0:
        return 0.0
    pairs = np.unique(before, return_inverse=True)[1].astype(np.uint64).reshape(-1) << np.uint64(32)
    pairs |= np.unique(after, return_inverse=True)[1].astype(np.uint64).reshape(-1)
    lost = _entropy_bits(pairs) - _entropy_bits(after)
    return min(1.0, lost / whole) if lost > 1e-12 else 0.0


def _information(draft: Draft) -> float:
    before = draft.material.traces
    parts = [information_lost(before.items, np.where(draft.kept, draft.labels, -1))]
    if before.times is not None:
        seen = np.zeros_like(before.times) if draft.times is None else draft.times // _HOUR
        parts.append(information_lost(before.times // _HOUR, np.where(draft.kept, seen, np.iinfo(np.int64).min)))
    parts.append(_links_lost(draft))
    return sum(parts) / len(parts)


def _links_lost(draft: Draft) -> float:
    """Share of neighbouring events of a person of which the data say that one follows the other, and a release not.

    Which of two events at one time came first is not said by the data either.
    """
    before = draft.material.traces
    same = np.diff(draft.material.people) == 0
    if before.times is not None:
        same &= (np.diff(before.times) > 0) | (np.diff(before.items) == 0)
    if not same.any():
        return 0.0
    linked = draft.kept[1:] & draft.kept[:-1] & (np.diff(draft.pieces) == 0)
    told = np.diff(draft.times) > 0 if draft.times is not None else np.full(same.size, draft.ordered)
    return 1.0 - np.count_nonzero(same & linked & (told | (np.diff(draft.labels) == 0))) / np.count_nonzero(same)


def _label_of(draft: Draft) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The label that stands for each item (the first of several), and how many items each label stands for."""
    label = np.full(draft.material.traces.domain_size, -1, np.int64)
    label[draft.material.traces.items[::-1]] = draft.labels[::-1]
    return label, np.bincount(label[label >= 0], minlength=len(draft.names))


def _estimated_items(draft: Draft) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares of the items among the events, and what the release makes them look like."""
    label, stands_for = _label_of(draft)
    true = np.bincount(draft.material.traces.items, minlength=label.size) / draft.kept.size
    counted = np.bincount(draft.labels[draft.kept], minlength=stands_for.size) / np.count_nonzero(draft.kept)
    seen = np.where(label >= 0, counted[label] / np.maximum(1, stands_for[label]), 0.0)
    return true, seen


def _items(draft: Draft) -> float:
    return _missed(*_estimated_items(draft))


def _top(draft: Draft) -> float:
    true, seen = _estimated_items(draft)
    many = min(_TOP, int(np.count_nonzero(true)))
    best = np.argsort(-true, kind="stable")[:many]
    edge = np.sort(seen)[-many]
    above, tied = seen > edge, seen == edge
    room = (many - np.count_nonzero(above)) / np.count_nonzero(tied)  # of those that look alike, any may be taken
    return 1.0 - float(above[best].sum() + room * tied[best].sum()) / many


def _item_hours(draft: Draft) -> float:
    times = draft.material.traces.times
    assert times is not None
    label, stands_for = _label_of(draft)
    width = 1 if draft.unit not in TIME_UNITS.values() else draft.unit // _HOUR
    width = _WEEK if draft.unit == GONE else width
    seen_hour = np.zeros_like(times) if draft.times is None else _hour_of_week(draft.times)
    counted = np.zeros(stands_for.size * _WEEK)
    np.add.at(counted, (draft.labels * _WEEK + seen_hour // width)[draft.kept], 1.0 / np.count_nonzero(draft.kept))
    cells, events = np.unique(
        draft.material.traces.items.astype(np.int64) * _WEEK + _hour_of_week(times), return_counts=True
    )
    mine = label[cells // _WEEK]
    seen = counted[mine * _WEEK + cells % _WEEK // width] / (np.maximum(1, stands_for[mine]) * width)
    return _missed(events / times.size, seen)


def _hour_of_week(times: NDArray[np.int64]) -> NDArray[np.int64]:
    return (times // _HOUR - _MONDAY) % _WEEK


def _flows(draft: Draft) -> float:
    """Events at one time have no order of their own: they are taken by item, and labels by the first of their items."""
    before, people = draft.material.traces, draft.material.people
    items, size = before.items.astype(np.int64), before.domain_size
    firsts = np.full(len(draft.names), size, np.int64)
    np.minimum.at(firsts, draft.labels, items)
    order = draft.in_order(firsts[draft.labels], draft.pieces)
    if before.times is not None:
        items = items[np.lexsort((items, before.times, people))]
    same = np.diff(people) == 0
    flows, events = np.unique((items[:-1] * size + items[1:])[same], return_counts=True)
    if not flows.size:
        return 0.0
    label, stands_for = _label_of(draft)
    order = order[draft.kept[order]]
    linked = np.diff(draft.pieces[order]) == 0
    labels = draft.labels[order]
    found, counts = np.unique((labels[:-1] * stands_for.size + labels[1:])[linked], return_counts=True)
    if not found.size or (draft.times is None and not draft.ordered):
        return 1.0
    start, end = label[flows // size], label[flows % size]
    wanted = start * stands_for.size + end
    place = np.minimum(np.searchsorted(found, wanted), found.size - 1)
    seen = np.where(found[place] == wanted, counts[place] / counts.sum(), 0.0)
    return _missed(events / events.sum(), seen / (np.maximum(1, stands_for[start]) * np.maximum(1, stands_for[end])))


def _missed(true: NDArray[np.float64], seen: NDArray[np.float64]) -> float:
    """Half the l1 distance of two distributions, from what the first has and the second lacks."""
    return float(np.maximum(true - seen, 0.0).sum())


def _entropy_bits(values: NDArray[np.generic]) -> float:
    """Entropy of the empirical distribution, in bits."""
    if values.size == 0:
        return 0.0
    counts = np.unique(values, return_counts=True)[1]
    return math.log2(values.size) - float(np.sum(counts * np.log2(counts))) / values.size
