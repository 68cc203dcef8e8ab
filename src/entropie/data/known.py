"""The file an attacker holds beside the release: people and items of both files in one numbering.

Whoever is in one file only stays: as a candidate where the attacker knows them, as a trace without owner where only the
release has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import structs
from numpy.typing import NDArray

from entropie.data.clocks import clock_shift, same_events
from entropie.data.events import Events, open_source, read_events
from entropie.data.filter import drawn_users
from entropie.data.pairs import Ids, Rows, mapped_people, places_of, same_people, would_match
from entropie.data.traces import Traces
from entropie.document.base import KnownFacts
from entropie.request import Request, Run
from entropie.words import count, percent, plural

_FEW = 0.5
"""Of the people or items of the smaller file: with fewer in both the reader is told."""

_MUCH = 0.5
"""Of the known events: with more in the release itself the reader is told."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownFile:
    """Both files in one numbering: the first `pairs` people of each are the same, in the same order.

    known      what the attacker knows, by person
    release    the events released, by pseudonym
    attacked   who of the people in both is attacked, ascending; None: all
    """

    known: Traces
    release: Traces
    pairs: int
    facts: KnownFacts
    attacked: NDArray[np.int64] | None = None

    @property
    def targets(self) -> NDArray[np.int64]:
        """Who is attacked, each among everybody of the known file."""
        return np.arange(self.pairs) if self.attacked is None else self.attacked


def read_other(request: Request, run: Run) -> Events:
    """Read the known file: its columns are those named for the release where it has them, else guessed."""
    source = replace(request.source, events=request.attackers.known, name=None, source=None, query=None, table=None)
    table = open_source(source)
    named: dict[str, Any] = {role: name if name in table.columns else None for role, name in source.roles.items()}
    if named["rating"] is None and source.preset is None:
        named["min_rating"] = None
    return read_events(replace(source, **named), run, table)


def paired(request: Request, known: Ids, release: Ids, run: Run) -> Rows:
    """Who is who: by the map that the request names, else by the same id."""
    truth = request.attackers.truth
    return same_people(known, release) if truth is None else mapped_people(truth, known, release, run)


def read_known(request: Request, release: Events, run: Run) -> KnownFile | None:
    """Read what the attacker holds, where the request names it, and find its people in the release."""
    if request.attackers.known is None or release.report.obfuscated:
        return None
    known = read_other(request, run)
    rows = paired(request, ids_of(known), ids_of(release), run)
    drawn = drawn_users(release.user_ids.take(pa.array(rows[1])), request.attackers)
    return replace(brought_together(known, release, rows), attacked=drawn)


def ids_of(events: Events) -> Ids:
    """The people of a file."""
    return Ids(events.user_ids, events.report.source)


def brought_together(known: Events, release: Events, rows: Rows) -> KnownFile:
    """Number people and items of both files alike; `rows` are the people in both, as each file numbers them."""
    items, in_known, in_release = _common_items(known.item_ids, release.item_ids)
    held, sent = (
        _arranged(events.traces, first, codes, items)
        for events, first, codes in zip((known, release), rows, (in_known, in_release), strict=True)
    )
    pairs = rows[0].size
    shift = clock_shift(held, sent, pairs)
    if shift and held.times is not None:
        held = replace(held, times=held.times + shift)
    both = in_known.size + in_release.size - items
    facts = KnownFacts(
        source=known.report.source,
        sha256=known.report.sha256,
        people=held.users,
        events=held.events,
        in_both=pairs,
        only_known=held.users - pairs,
        only_release=sent.users - pairs,
        items_in_both=both,
        items_only_known=in_known.size - both,
        items_only_release=in_release.size - both,
        same_events_share=same_events(held, sent, pairs),
        shift_seconds=shift,
    )
    notes = [*people_notes(facts, ids_of(known), ids_of(release)), *_event_notes(facts)]
    return KnownFile(held, sent, pairs, structs.replace(facts, notes=notes))


def people_notes(facts: KnownFacts, known: Ids, release: Ids) -> Iterator[str]:
    """What a reader must know of people and items before relying on the attack."""
    smaller = min(len(known.ids), len(release.ids))
    if facts.in_both < _FEW * smaller:
        yield (
            f"Only {count(facts.in_both)} of {plural(smaller, 'person', 'people')} are in both files by id"
            f"{would_match(known, release, facts.in_both)}; only these can be found to be re-identified."
        )
    fewer = facts.items_in_both + min(facts.items_only_known, facts.items_only_release)
    if facts.items_in_both < _FEW * fewer:
        yield f"Only {count(facts.items_in_both)} of {plural(fewer, 'item')} are in both files by name."


def _event_notes(facts: KnownFacts) -> Iterator[str]:
    if facts.shift_seconds:
        hours = facts.shift_seconds / 3600.0
        yield f"The known times were moved by {hours:+g} h, where they agree with those of the release."
    if facts.same_events_share is not None and facts.same_events_share >= _MUCH:
        share = percent(facts.same_events_share)
        yield f"{share} of the known events are in the release itself: this is close to maximum knowledge."


def _common_items(one: pa.Array, other: pa.Array) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """How many items there are in all, and the number of each item of both files."""
    places = places_of(other, one)
    new = places < 0
    places = np.where(new, len(one) + np.cumsum(new) - 1, places)
    return len(one) + int(new.sum()), np.arange(len(one)), places


def _arranged(traces: Traces, first: NDArray[np.int64], codes: NDArray[np.int64], items: int) -> Traces:
    """The people in both files first, then the others, with the common numbers of items."""
    rest = np.setdiff1d(np.arange(traces.users), first)
    ordered = traces.take(np.concatenate((first, rest)))
    return Traces(ordered.offsets, codes[ordered.items].astype(np.uint32), items, ordered.times)
