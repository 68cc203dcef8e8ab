"""Further columns of an event table (category, coordinates), event by event beside the traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import decoded, masked, type_within
from entropie.data.budget import Budget
from entropie.data.categories import category_told
from entropie.data.classify import readable
from entropie.data.events import Events, arranged, open_events, read_events
from entropie.data.presets import find_preset
from entropie.data.rejects import Rejects
from entropie.data.roles import Role, require_columns
from entropie.data.tables import Chosen, Table
from entropie.data.ticks import read_numbers
from entropie.data.traces import Traces, ragged
from entropie.errors import InvalidInput, InvalidParameter
from entropie.request import Run, Source

_ANY_RUN = Run()


@dataclass(frozen=True, slots=True)
class EventColumns:
    """Events, and for each of them the value of some further columns, in the order of the traces."""

    events: Events
    columns: dict[str, pa.Array]


def read_event_columns(source: Source, columns: Sequence[str], run: Run = _ANY_RUN) -> EventColumns:
    """Read what `read_events` reads, and the named columns of the very same rows.

    A row without a value in one of these columns stays an event: its value is null.
    """
    if not columns:
        return EventColumns(read_events(source, run), {})
    if source.preset is not None and find_preset(source.preset).is_grid:
        raise InvalidParameter.of("preset", "one whose files have columns", source.preset)
    if source.stays is not None:
        raise InvalidParameter.of("stays", "left out where further columns of each row are read", source.stays)
    opened = open_events(source, memory=run.memory)
    table, chosen = opened.table, opened.chosen
    extra = extra_roles(table, columns, chosen)
    rejects = Rejects(table.name, run.memory)
    run.progress("read", 0.0)
    with closing(table.batches(cast(Chosen, {**chosen, **extra}), rejects, run.progress)) as batches:
        tapped = _Tapped(batches, len(chosen), rejects.budget)
        events, rows = arranged(opened, tapped, rejects, run, numbered=True)
    taken = pa.array(rows)
    values = {column: tapped.column(place).take(taken) for place, column in enumerate(extra.values())}
    return EventColumns(events, values)


def event_numbers(traces: Traces, users: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where the events of `traces.take(users)` stand in the traces."""
    return ragged(traces.offsets, np.asarray(users, np.int64))[1]


def categories(column: pa.Array) -> pa.Array:
    """The values of a column, nothing where one says nothing."""
    column = decoded(column)
    column = masked(column, category_told(column))
    return pc.if_else(pc.is_nan(column), None, column) if pa.types.is_floating(column.type) else column


def category_labels(column: pa.Array, among: pa.Array | None = None) -> NDArray[np.int64]:
    """Number the values of a column by their rank, or by their places among some; -1 where there is none."""
    column = categories(column)
    values = sorted_values([column]) if among is None else among
    return np.asarray(pc.fill_null(pc.index_in(column, value_set=values), -1).to_numpy(), np.int64)


def sorted_values(parts: Sequence[pa.Array]) -> pa.Array:
    """The different values that there are in all parts, rising."""
    values = pc.unique(pa.chunked_array([pc.unique(part) for part in parts])).drop_null()
    return values.take(pc.array_sort_indices(values))


def numbers(column: pa.Array) -> NDArray[np.float64]:
    """The values of a column as numbers; NaN where one is missing or cannot be read."""
    return read_numbers(readable(decoded(column)))


class _Tapped:
    """The stream of a table with the first columns passed on and the others kept back."""

    def __init__(self, stream: Iterator[pa.RecordBatch], passed: int, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget
        self._bytes = 0
        self._passed = passed
        self._kept: list[list[pa.Array]] = []

    def __iter__(self) -> _Tapped:
        return self

    def __next__(self) -> pa.RecordBatch:
        batch = next(self._stream)
        # Categories repeat: a dictionary holds each text once per batch.
        self._kept.append([readable(array).dictionary_encode() for array in batch.columns[self._passed :]])
        self._bytes += sum(array.nbytes for array in self._kept[-1])
        self._budget.keep("further columns", 2 * self._bytes)
        return batch.select(list(range(self._passed)))

    def column(self, place: int) -> pa.Array:
        """One of the columns kept back, whole; known when the stream is consumed."""
        whole = pa.chunked_array([arrays[place] for arrays in self._kept]).unify_dictionaries().combine_chunks()
        return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def extra_roles(table: Table, columns: Sequence[str], chosen: Mapping[Role, str]) -> dict[str, str]:
    """A name for the part each further column plays; refuses columns that are missing or already have a part."""
    for column in columns:
        require_columns([column], table.header)
        for role, taken in chosen.items():
            if column == taken:
                raise InvalidInput(f"Column `{column}` of {table.name} is already the {role}; name another column.")
        kind = table.type_of(column)
        kind = type_within(kind)
        plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_large_string)
        if not any(test(kind) for test in plain):
            raise InvalidInput(f"Column `{column}` of {table.name} has type {kind}; it must hold text or numbers.")
    return {f"further {place}": column for place, column in enumerate(dict.fromkeys(columns))}
