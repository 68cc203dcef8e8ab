"""What each mitigation does to a draft: one function each. The same draft and setting give the same result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.attack.points import JUDGED_POINTS, PointAttack, own_resolution
from entropie.data.coarsen import TIME_UNITS, grid_labels, hashed_shares, prefix_groups, unit_begins
from entropie.data.event_columns import category_labels, numbers
from entropie.data.grid import MapGrid
from entropie.errors import InvalidInput
from entropie.mitigate.draft import GONE, Draft, ranked
from entropie.mitigate.hierarchy import Hierarchy
from entropie.quantities import read_seconds
from entropie.words import plural

OTHER = "(other)"
_HOUR = 3_600


def top(draft: Draft, count: int) -> Draft:
    """The most frequent items stay, all others become one; of equally frequent ones those first by code stay."""
    events = np.bincount(draft.labels[draft.kept], minlength=len(draft.names))
    stays = np.zeros(events.size, np.bool_)
    stays[np.argsort(-events, kind="stable")[:count]] = True
    labels = np.where(stays[draft.labels], draft.labels, events.size)
    return draft.labelled(labels, pa.concat_arrays([draft.names, pa.array([_unused(draft.names)], pa.large_string())]))


def category(draft: Draft, column: str) -> Draft:
    """The value of another column instead of the item."""
    values = draft.material.columns[column]
    return _relabelled(draft, category_labels(values), "no category", values)


def grid(draft: Draft, size: str) -> Draft:
    """The map cell instead of the item."""
    columns = draft.material.columns
    latitude, longitude = (numbers(columns[name]) for name in draft.material.coordinates or ())
    return _relabelled(draft, grid_labels(latitude, longitude, MapGrid.parse(size)), "no place on the Earth")


def prefix(draft: Draft, length: int) -> Draft:
    """The first characters of the item."""
    groups = prefix_groups(draft.names, length)
    starts = pc.utf8_slice_codeunits(draft.names, 0, length)
    return _grouped(draft, groups, starts)


def hierarchy(draft: Draft, setting: str) -> Draft:
    """The group that a file names for each item."""
    groups = Hierarchy.read(setting).groups(draft.names)
    encoded = groups.dictionary_encode()
    return _grouped(draft, np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64), groups)


def time_unit(draft: Draft, unit: str) -> Draft:
    """Times rounded down; or neither times nor the order of events released."""
    if unit == "none":
        return replace(draft, times=None, unit=GONE, ordered=False)
    return replace(draft, times=unit_begins(_times(draft), unit), unit=TIME_UNITS[unit])


def jitter(draft: Draft, length: str) -> Draft:
    """Every time moved by up to so much, each move equally likely."""
    most = read_seconds(length)
    moves = np.floor(
        hashed_shares(draft.material.traces, draft.material.seed + 1, draft.material.keys) * (2 * most + 1)
    )
    return replace(draft, times=_times(draft) + moves.astype(np.int64) - most)


def rare_items(draft: Draft, people: int) -> Draft:
    """Events at items that fewer people have are not released."""
    return _rare(draft, draft.labels, people)


def rare_cells(draft: Draft, people: int) -> Draft:
    """Events at an item and hour (or wider unit) that fewer people share are not released."""
    if draft.times is None:
        return _rare(draft, draft.labels, people)
    found, slot = ranked(unit_slots(draft.times, draft.unit))
    return _rare(draft, draft.labels * found.size + slot, people)


def exposed(draft: Draft, share: float) -> Draft:
    """The people whom known events give away most surely are not released."""
    return draft.without(_most_exposed(draft, share)[draft.material.people])


def scatter(draft: Draft, share: float) -> Draft:
    """Every event of the people whom known events give away most surely gets a pseudonym of its own."""
    theirs = _most_exposed(draft, share)[draft.material.people]
    return draft.cut(np.where(theirs, np.arange(theirs.size) + 1, 0))


def sample(draft: Draft, share: float) -> Draft:
    """Some people, drawn at random, are released, the others are not."""
    people = draft.material.traces.users
    drawn = np.random.default_rng([draft.material.seed, 2]).permutation(people)[: max(1, round(share * people))]
    stays = np.isin(draft.material.keys, drawn)
    return draft.without(~stays[draft.material.people])


def first(draft: Draft, count: int) -> Draft:
    """The first events of each person are released."""
    return draft.without(_place(draft) >= count)


def last(draft: Draft, count: int) -> Draft:
    """The last events of each person are released."""
    kept = np.bincount(draft.material.people, draft.kept, draft.material.traces.users)
    return draft.without(_place(draft) < kept[draft.material.people] - count)


def thin(draft: Draft, probability: float) -> Draft:
    """Each event is released with a probability; what a smaller one keeps is part of what a larger one keeps."""
    return draft.without(hashed_shares(draft.material.traces, draft.material.seed, draft.material.keys) >= probability)


def rotate(draft: Draft, unit: str) -> Draft:
    """A new pseudonym for everybody every day or week."""
    times = draft.material.traces.times
    assert times is not None
    return draft.cut(unit_begins(times, unit))


def unit_slots(times: NDArray[np.int64], unit: int) -> NDArray[np.int64]:
    """The hour of each time, or the wider unit that it stands for already."""
    return times // _HOUR if unit < _HOUR else times


def _times(draft: Draft) -> NDArray[np.int64]:
    assert draft.times is not None
    return draft.times


def _place(draft: Draft) -> NDArray[np.int64]:
    """Which of their person's released events each is."""
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(draft.kept, dtype=np.int64)))
    return before[:-1] - before[draft.material.traces.offsets[:-1]][draft.material.people]


def _rare(draft: Draft, cells: NDArray[np.int64], people: int) -> Draft:
    found, cell = ranked(cells)
    pairs = np.unique(cell[draft.kept] * draft.material.traces.users + draft.material.people[draft.kept])
    holders = np.bincount(pairs // draft.material.traces.users, minlength=found.size)
    return draft.without(holders[cell] < people)


def _most_exposed(draft: Draft, share: float) -> NDArray[np.bool_]:
    """By person: the share of people whom four known events name most surely; in doubt who did more."""
    found = np.zeros(draft.material.traces.users, np.bool_)
    if not draft.kept.any():
        return found
    traces, _, owners = draft.released()
    attack = PointAttack.of(traces, JUDGED_POINTS)
    credit = attack.outcome(JUDGED_POINTS, own_resolution(traces)).credit
    by_person = np.zeros(found.size)
    np.maximum.at(by_person, owners, credit)
    events = np.bincount(draft.material.people, draft.kept, found.size)
    order = np.lexsort((draft.material.keys, -events, -by_person))
    found[order[: max(1, round(share * np.unique(owners).size))]] = True
    return found


def _grouped(draft: Draft, groups: NDArray[np.int64], texts: pa.Array) -> Draft:
    """Items of a group become one; `texts` has the name of the group of each item."""
    _, example = np.unique(groups, return_index=True)
    dense = np.unique(groups, return_inverse=True)[1].reshape(-1)
    return draft.labelled(dense[draft.labels], texts.take(pa.array(example)))


def _relabelled(draft: Draft, labels: NDArray[np.int64], missing: str, values: pa.Array | None = None) -> Draft:
    """Labels instead of items; says what is odd about them: events without one, items with several."""
    without = int(np.count_nonzero(labels < 0))
    if without == labels.size:
        raise InvalidInput(f"All {without:,} events have {missing}; name another column.")
    notes = [f"{plural(without, 'event')} without a value ({missing}) count as one item."] if without else []
    found, example, dense = np.unique(labels, return_index=True, return_inverse=True)
    pairs = np.unique(draft.labels * found.size + dense.reshape(-1))
    if pairs.size > np.unique(pairs // found.size).size:
        notes.append("Some items have several values, so this may reveal more than the item.")
    shown = found.tolist() if values is None else values.take(pa.array(example)).to_pylist()
    texts = [f"({missing})" if label < 0 else str(name) for label, name in zip(found.tolist(), shown, strict=True)]
    names = pa.array(texts, pa.large_string())
    return draft.labelled(dense.reshape(-1), names, " ".join(notes) or None)


def _unused(names: pa.Array) -> str:
    """What merged items are called: no item is called that."""
    name = OTHER
    while pc.index(names, pa.scalar(name, names.type)).as_py() >= 0:
        name += "_"
    return name
