"""The attacker who holds everybody's reports and everybody's data: the store that leaks as a whole.

It knows the mechanism and what everybody has, sees all reports in an order that tells nothing, and names the sender of
every entry: of a person's reports where they are linked, of a single report where they are not. It weighs all orders of
the store (`senders`), so that nobody does better, exactly where the store is small and nearly so where it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.attack.senders import senders_of
from entropie.errors import InvalidInput, InvalidParameter
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.values import checked_values

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

MOST_CELLS = 1 << 25
"""Kinds of entries times kinds of data."""
_BATCH = 1 << 22  # probabilities at a time
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class StoreAttack:
    """What the store told about the sender of an entry.

    reidentified   share of entries whose sender was named; people who fit equally share the credit
    expected       what the attacker expects of that: the mean chance of whom it names, less noisy than `reidentified`
    certainty      the largest chance of one person for one entry
    information_bits  what an entry told about its sender, on average
    exact          whether all orders were weighed exactly
    """

    people: int
    entries: int
    reidentified: float
    expected: float
    certainty: float
    information_bits: float
    exact: bool


def attack_store(mechanism: Mechanism, data: ArrayLike, reports: Any, *, linked: bool = True) -> StoreAttack:
    """Name the senders of a whole store: `data[i]`, or `data[i, j]`, is the item behind report j of person i.

    `reports` is what `simulate` or `obfuscate_many` gave for these items row by row. That order says how often the
    attacker is right; the attacker does not use it.
    """
    items = _table(data, mechanism.domain_size)
    people, each = items.shape
    whole = linked or each == 1
    kinds, kind_of_send = _kinds(items if whole else items.reshape(-1, 1))
    law, entry_of_send = _law(mechanism, reports, items, kinds)
    counts = np.bincount(kind_of_send)
    found = senders_of(law, np.bincount(entry_of_send), counts)
    chances = found.chances / counts
    if whole:
        return _measured(chances, counts, entry_of_send, kind_of_send, found.exact)
    # whose sends are of the same kinds are named with the same chance
    owned, group = _kinds(np.sort(kind_of_send.reshape(people, each), axis=1))
    _check_pairs(max(len(law), len(counts)), len(owned))
    sends = np.array([np.bincount(row, minlength=len(counts)) for row in owned], np.float64)
    return _measured(chances @ sends.T, np.bincount(group), entry_of_send, np.repeat(group, each), found.exact)


def _measured(chances: Floats, sizes: Codes, entry: Codes, sender: Codes, exact: bool) -> StoreAttack:
    """`chances[e, g]` is that of each of sizes[g] people; entry[i] was sent by one of group sender[i]."""
    best = chances.max(axis=1)
    tied = chances >= best[:, None] * (1.0 - _TIE)
    credit = tied[entry, sender] / (tied @ sizes)[entry]
    safe = np.where(chances > 0.0, chances, 1.0)
    left = -(safe * np.log2(safe)) @ sizes
    weight = np.bincount(entry) / len(entry)
    people = int(sizes.sum())
    return StoreAttack(
        people=people,
        entries=len(entry),
        reidentified=float(credit.mean()),
        expected=float(weight @ best),
        certainty=min(1.0, float(best.max())),
        information_bits=max(0.0, float(np.log2(people) - weight @ left)),
        exact=exact,
    )


def _table(data: ArrayLike, domain_size: int) -> Codes:
    """Item codes, one row per person."""
    given = np.asarray(data)
    if given.ndim not in (1, 2) or given.size == 0:
        raise InvalidParameter.of("data", "one row of item codes per person", f"an array of shape {given.shape}")
    checked = checked_values(given.ravel(), domain_size)
    return checked.astype(np.int64).reshape(len(given), -1)


def _kinds(rows: Codes) -> tuple[Codes, Codes]:
    """The different rows, and which one each row is."""
    kinds, place = np.unique(rows, axis=0, return_inverse=True)
    return kinds, place.ravel()


def _check_pairs(entries: int, kinds: int) -> None:
    if entries * kinds > MOST_CELLS:
        raise InvalidInput(
            f"{entries} different entries of people with {kinds} different data are too many to be matched at once "
            f"(at most {MOST_CELLS} pairs); attack fewer people."
        )


def _law(mechanism: Mechanism, reports: Any, items: Codes, kinds: Codes) -> tuple[Floats, Codes]:
    """Pr(entry | data) for the different entries and the different data, and which entry each send is.

    Each row is relative to its largest: only ratios matter, and many reports of a person do not underflow.
    """
    rows = mechanism.rows_of(reports)
    if len(rows) != items.size:
        raise InvalidInput(f"There must be one report for each of {items.size} items, got {len(rows)}.")
    different, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    used = np.unique(kinds)
    _check_pairs(len(different), len(used))
    if _has_columns(mechanism):
        singles = _likelihoods(mechanism, different, used)
    else:
        singles = mechanism.likelihoods(reports)[first][:, used]
    kinds, each = np.searchsorted(used, kinds), kinds.shape[1]
    entries, entry_of_send = _kinds(place.reshape(-1, each))
    _check_pairs(len(entries), len(kinds))
    with np.errstate(divide="ignore"):
        singles = np.log(singles)
    logs: Floats = np.zeros((len(entries), len(kinds)))
    for position in range(each):
        logs += singles[entries[:, position]][:, kinds[:, position]]
    top = logs.max(axis=1, keepdims=True)
    return np.exp(logs - np.where(np.isfinite(top), top, 0.0)), entry_of_send


def _has_columns(mechanism: Mechanism) -> bool:
    """Whether a batch of reports can be made of rows of numbers."""
    try:
        return bool(mechanism.report_columns)
    except InvalidInput:
        return False


def _likelihoods(mechanism: Mechanism, reports: NDArray[np.uint64], items: Codes) -> Floats:
    """Pr(report | item) for the items in use, a batch of reports at a time."""
    step, parts = max(1, _BATCH // mechanism.domain_size), []
    for begin in range(0, len(reports), step):
        columns = tuple(np.ascontiguousarray(column) for column in reports[begin : begin + step].T)
        parts.append(mechanism.likelihoods(mechanism.reports_of(columns))[:, items])
    return np.concatenate(parts)
