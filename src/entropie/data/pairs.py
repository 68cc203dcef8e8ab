"""Who is who in two files: by the same id, or by a map.

Ids are compared as the reader reads them: 7 and the text 7 are one id, 007 and 7 are two, and so are texts that differ
in a space. Where few ids agree, the message tells how many more would if these differences went.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import values_of
from entropie.data.events import open_source, read_events
from entropie.errors import InvalidInput, option, shown
from entropie.request import Run, Source
from entropie.words import count, plural

Rows = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Numbers of the same people in the known file and in the release."""


class Ids(NamedTuple):
    """The people of a file, by id, and what the file is called."""

    ids: pa.Array
    source: str


def same_people(known: Ids, release: Ids) -> Rows:
    """People with the same id in both files."""
    rows = _matched(known.ids, release.ids)
    if not rows[0].size:
        raise InvalidInput(
            f"No id of {known.source} is an id of {release.source}{would_match(known, release, 0)}; write ids alike in "
            f"both files, or say who is who with {option('truth')}."
        )
    return rows


def mapped_people(path: Any, known: Ids, release: Ids, run: Run) -> Rows:
    """People that a map names: its first column has ids of the known file, its second ids of the release."""
    ends = (known.ids, release.ids)
    source = Source(events=path, max_dirty_share=0.0)
    table = open_source(source)
    if len(table.columns) != 2:
        raise InvalidInput(
            f"{table.name} must have two columns, the id in {known.source} and the id in {release.source}; it has "
            f"{len(table.columns)}."
        )
    if all(places_of(pa.array([name]), ids)[0] >= 0 for name, ids in zip(table.columns, ends, strict=True)):
        source = replace(source, header=False)  # the first line is a pair already
        table = open_source(source)
    try:
        read = read_events(replace(source, user=table.columns[0], item=table.columns[1]), run, table)
    except InvalidInput as problem:  # what is taken for names may be ids
        raise InvalidInput(_by_place(str(problem.args[0]), table.columns)) from None
    people = np.repeat(np.arange(read.traces.users), np.diff(read.traces.offsets))
    columns = (people, read.user_ids), (read.traces.items.astype(np.int64), read.item_ids)
    for name, (codes, ids) in zip(("first", "second"), columns, strict=True):
        repeated = np.flatnonzero(np.bincount(codes) > 1)
        if repeated.size:
            raise InvalidInput(
                f"The {name} column of {table.name} has {plural(repeated.size, 'id')} more than once"
                f"{shown(f' (first {ids[int(repeated[0])]})')}; every person stands in the map once."
            )
    in_known, in_release = (places_of(ids, end)[codes] for (codes, ids), end in zip(columns, ends, strict=True))
    there = np.flatnonzero((in_known >= 0) & (in_release >= 0))
    if not there.size:
        raise InvalidInput(
            f"No pair of {table.name} is in both files: {count(int((in_known < 0).sum()))} of "
            f"{plural(people.size, 'pair')} are not in {known.source} and {count(int((in_release < 0).sum()))} not in "
            f"{release.source}; the first column has ids of the known file, the second ids of the release."
        )
    there = there[np.argsort(in_release[there], kind="stable")]
    return in_known[there], in_release[there]


def _by_place(message: str, names: Sequence[str]) -> str:
    for name, place in zip(names, ("the first", "the second"), strict=True):
        message = message.replace(f"column `{name}`", f"{place} column").replace(f"`{name}`", f"{place} column")
    return message


def places_of(wanted: pa.Array, ids: pa.Array) -> NDArray[np.int64]:
    """Where each wanted id stands among ids, -1 where it does not: compared as numbers, or else as texts."""
    if wanted.type != ids.type:
        wanted, ids = wanted.cast(pa.large_string()), ids.cast(pa.large_string())
    return np.asarray(values_of(pc.fill_null(pc.index_in(wanted, value_set=ids), -1)), np.int64)


def would_match(known: Ids, release: Ids, matched: int) -> str:
    """How many more ids would agree without spaces around them, capitals and leading zeros; empty where none would."""
    more = _matched(pc.unique(_loose(known.ids)), pc.unique(_loose(release.ids)))[0].size - matched
    return f" ({count(more)} more would be without spaces, capitals and leading zeros)" if more > 0 else ""


def _matched(one: pa.Array, other: pa.Array) -> Rows:
    """Numbers of the ids that both have, in the order of the second."""
    places = places_of(other, one)
    there = np.flatnonzero(places >= 0)
    return places[there], there


def _loose(ids: pa.Array) -> pa.Array:
    text = pc.utf8_lower(pc.utf8_trim_whitespace(ids.cast(pa.large_string())))
    return pc.utf8_ltrim(text, characters="0")
