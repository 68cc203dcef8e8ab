"""Reading events: from any table of (user, item, time) to traces, with an account of what was left out."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from entropie.data.arrow import absent_in, from_numpy, truths_of
from entropie.data.categories import ItemCategories
from entropie.data.encode import NO_USER, Encoded, encode
from entropie.data.files import find_files
from entropie.data.filter import Selection
from entropie.data.geolife import GeolifeTable
from entropie.data.grid import MapGrid
from entropie.data.normalise import timestamp_unit
from entropie.data.presets import Preset, find_preset
from entropie.data.rejects import Rejects
from entropie.data.roles import ColumnChoice, Role, choose_columns, describe_choices
from entropie.data.rules import Rules
from entropie.data.tables import ArrowTable, Chosen, Table, normal_schema, open_files
from entropie.data.times import Assumed, TimeFormat, declared, find_time_format, seconds
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter
from entropie.kernels.traces import count_duplicates, group_rows, sort_users
from entropie.request import Run, Source

_ANY_RUN = Run()
_REPORT_COLUMNS = ({"parameters", "report"}, {"parameters", "a", "b", "y"})  # as `entropie obfuscate` names them
_SORT_BLOCK_USERS = 1 << 14
_TIME_SAMPLE_ROWS = 2000


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What was read, what was left out and why, and which columns were taken."""

    source: str
    sha256: str | None  # of the file's bytes; of the values for a table in memory; None where nobody saw it whole
    rows: int
    events: int
    users: int
    items: int
    dropped: dict[str, int]  # rows left out, by reason
    dirty: int  # how many of them speak against the file; the others fall to a rule
    duplicates: int | None  # events kept that repeat an earlier (user, time, item); None without times
    columns: tuple[ColumnChoice, ...]
    time_format: str | None  # integer, float, iso8601, weekday, timestamp
    order_only: bool  # times say the order of events and nothing else
    time_assumed: Assumed | None = None  # what numbers were taken for without being told
    suggestion: str = ""
    unused: tuple[str, ...] = ()  # columns that play no role
    obfuscated: bool = False  # the rows are reports of a mechanism, as `entropie obfuscate` writes them

    def describe_columns(self) -> str:
        """Say in a sentence which columns are used, who chose them, and which flags change that."""
        return describe_choices({choice.role: choice for choice in self.columns}) + self.suggestion

    def as_dict(self) -> dict[str, Any]:
        """Give the report as plain values for JSON."""
        return {
            "source": self.source,
            "sha256": self.sha256,
            "rows": self.rows,
            "events": self.events,
            "users": self.users,
            "items": self.items,
            "dropped": dict(self.dropped),
            "duplicates": self.duplicates,
            "columns": {c.role: {"column": c.column, "how": c.how} for c in self.columns},
            "time_format": self.time_format,
            "order_only": self.order_only,
            "time_assumed": self.time_assumed,
            "obfuscated": self.obfuscated,
        }


@dataclass(frozen=True, slots=True)
class Events:
    """Traces together with the ids behind their codes: user u is user_ids[u], item x is item_ids[x]."""

    traces: Traces
    user_ids: pa.Array
    item_ids: pa.Array
    report: IngestReport
    categories: ItemCategories | None = None

    def select(self, selection: Selection) -> Events:
        """Keep what a selection of these traces keeps; the report still tells what was read."""
        users = self.user_ids.take(from_numpy(selection.users))
        items = self.item_ids.take(from_numpy(selection.items))
        kept = None if self.categories is None else self.categories.take(selection.items)
        return Events(selection.traces, users, items, self.report, kept)


def read_events(source: Source, run: Run = _ANY_RUN, table: Table | None = None) -> Events:
    """Read a file, folder, pattern or Arrow-speaking table into traces sorted by (user, time, row number).

    Codes are ranks of the ids, so the same events get the same codes in any order and format. Rows that
    cannot be used are counted by reason; above `max_dirty_share` of them InvalidInput is raised. Duplicate
    rows are kept and counted. Without a time column the row order is the order of events. Columns that are not
    named are guessed; a file without a header calls its columns 1, 2, ...

    Progress is told of the stages `read`, `encode` and `sort`. `table` is the source already opened.
    """
    opened = open_events(source, table)
    table, chosen = opened.table, opened.chosen
    rejects = Rejects(table.name, run.memory)
    run.progress("read", 0.0)
    stream = table.batches(chosen, rejects, run.progress)
    time_format, stream = recognise_times(table, chosen, stream, rejects, opened.times_are)
    encoded = encode(stream, normal_schema(table, chosen), opened.rules(time_format), rejects, run)
    named, blank = encoded.categories, int(NO_USER)
    categories = None if named is None else ItemCategories.of(encoded.items, named, len(encoded.item_ids), blank)
    traces, duplicates, guessed = _sorted_traces(encoded, time_format, opened.newest_first, run.threads)
    run.progress("sort", 1.0)
    found = Found(
        encoded.rows,
        traces.events,
        traces.users,
        traces.domain_size,
        duplicates,
        traces.times is None,
        table.sha256(),
        guessed,
    )
    report = ingest_report(table, found, rejects, opened.choices, time_format)
    return Events(traces, encoded.user_ids, encoded.item_ids, report, categories)


@dataclass(frozen=True, slots=True)
class Opened:
    """A table, which column of it plays which role, and the rules it is held to."""

    table: Table
    choices: dict[Role, ColumnChoice]
    preset: Preset | None
    min_rating: float | None
    max_dirty_share: float
    times_are: str | None = None

    @property
    def chosen(self) -> Chosen:
        """The columns to read."""
        return {role: choice.column for role, choice in self.choices.items() if choice.column is not None}

    @property
    def newest_first(self) -> bool:
        """Whether rows come newest first."""
        return self.preset is not None and self.preset.newest_first

    def rules(self, time: TimeFormat | None) -> Rules:
        """What decides whether a row counts."""
        missing = self.preset.missing_items if self.preset else ()
        return Rules(time, self.min_rating, missing, self.max_dirty_share, {**self.chosen})


def open_events(source: Source, table: Table | None = None) -> Opened:
    """Open a source and settle its columns, without reading its rows.

    `table` is the source already opened, where this module cannot open it.
    """
    preset = find_preset(source.preset) if source.preset is not None else None
    min_rating = source.min_rating
    if min_rating is None and preset is not None:
        min_rating = preset.min_rating
    table = open_source(source) if table is None else table
    roles = source.roles
    if roles["item"] is None and preset is None and _obfuscated(table):
        roles["item"] = "report" if "report" in table.columns else "y"
    choices = choose_columns(
        table.header,
        roles,
        _preset_roles(table, preset),
        needed=("user", "item") if min_rating is None and source.rating is None else ("user", "item", "rating"),
        hint=table.hint(),
    )
    return Opened(table, choices, preset, min_rating, source.max_dirty_share, source.times_are)


@dataclass(frozen=True, slots=True)
class Found:
    """What reading a table came to."""

    rows: int  # read, whether used or left out
    events: int
    users: int
    items: int
    duplicates: int | None
    order_only: bool
    sha256: str | None
    time_assumed: Assumed | None = None


def ingest_report(
    table: Table,
    found: Found,
    rejects: Rejects,
    choices: dict[Role, ColumnChoice],
    time_format: TimeFormat | None,
) -> IngestReport:
    """Account for what was read and left out."""
    by_preset = any(choice.how == "preset" for choice in choices.values())
    return IngestReport(
        source=table.name,
        sha256=found.sha256,
        rows=found.rows,
        events=found.events,
        users=found.users,
        items=found.items,
        dropped=dict(sorted((rejects.dirty + rejects.excluded).items())),
        dirty=rejects.dirty.total(),
        duplicates=found.duplicates,
        columns=tuple(choices.values()),
        time_format=time_format.name if time_format else None,
        order_only=found.order_only,
        time_assumed=found.time_assumed,
        suggestion="" if by_preset else table.hint(),
        unused=tuple(name for name in table.columns if all(name != choice.column for choice in choices.values())),
        obfuscated=_obfuscated(table),
    )


def _obfuscated(table: Table) -> bool:
    """Whether the rows are reports, as `entropie obfuscate` writes them."""
    return any(set(table.columns) >= columns for columns in _REPORT_COLUMNS)


def open_source(source: Source) -> Table:
    """Open whatever was named: files of a known layout, other files, or a table in memory."""
    preset = find_preset(source.preset) if source.preset is not None else None
    if source.grid is not None and (preset is None or not preset.is_grid):
        raise InvalidParameter.of("grid", "given only with a preset of coordinates (geolife)", source.grid)
    if hasattr(source.events, "__arrow_c_stream__"):
        if preset is not None:
            raise InvalidParameter.of("preset", "left out for a table in memory", preset.name)
        return ArrowTable(source.events, source.name)
    if not isinstance(source.events, str | os.PathLike):
        kind = type(source.events).__name__
        raise InvalidParameter.of("events", "a path or an object with __arrow_c_stream__", kind)
    name = str(os.fspath(source.events))
    if preset is not None and preset.is_grid:
        if source.grid is None:
            raise InvalidParameter.of("grid", "given with preset geolife, such as 500m or 0.01deg", source.grid)
        return GeolifeTable(name, find_files(name, preset.suffixes), MapGrid.parse(source.grid))
    return open_files(name, find_files(name), preset, source.header)


def _preset_roles(table: Table, preset: Preset | None) -> dict[Role, str] | None:
    if preset is None:
        return None
    if preset.is_grid:
        return {"user": "user", "item": "cell", "time": "time"}
    return preset.roles_of(table.columns)


def recognise_times(
    table: Table, chosen: Chosen, stream: Iterator[pa.RecordBatch], rejects: Rejects, unit: str | None = None
) -> tuple[TimeFormat | None, Iterator[pa.RecordBatch]]:
    """Recognise the times by the first batch that has any, without losing the batches looked at.

    `unit` is that of numbers, where it was declared.
    """
    if "time" not in chosen:
        return None, stream
    per_second = timestamp_unit(table.type_of(chosen["time"]))
    if per_second is not None:
        return declared(TimeFormat("timestamp", per_second), unit, chosen["time"], table.name), stream
    seen = []
    sample = pa.nulls(0, normal_schema(table, chosen).field("time").type)
    before, first = 0, None
    for batch in stream:
        seen.append(batch)
        sample = batch.column("time").drop_null()[:_TIME_SAMPLE_ROWS]
        if len(sample):
            first = rejects.place(before + _first_filled(batch.column("time")))
        if len(sample) or len(seen) == 64:
            break
        before += batch.num_rows
    found = find_time_format(sample, chosen["time"], table.name, first)
    return declared(found, unit, chosen["time"], table.name), itertools.chain(seen, stream)


def _first_filled(column: pa.Array) -> int:
    """The first row that holds something, and not blanks only."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.view(pa.binary() if pa.types.is_string(column.type) else pa.large_binary())
        return int(np.argmax(truths_of(pc.match_substring_regex(column, r"\S"))))
    return int(np.argmax(~absent_in(column)))


def _sorted_traces(
    encoded: Encoded, time: TimeFormat | None, newest_first: bool, threads: int | None
) -> tuple[Traces, int | None, Assumed | None]:
    """Group by user, sort by time; a stable sort leaves equal times in row order."""
    users = len(encoded.user_ids)
    offsets, items, ticks = group_rows(encoded.users, encoded.items, encoded.ticks, users, newest_first)
    if time is None:
        return Traces(offsets, items, len(encoded.item_ids)), None, None

    def block(first: int) -> int:
        last = min(first + _SORT_BLOCK_USERS, users)
        sort_users(offsets, items, ticks, first, last)
        return int(count_duplicates(offsets, items, ticks, first, last))

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        duplicates = sum(pool.map(block, range(0, users, _SORT_BLOCK_USERS)))
    times, guessed = seconds(ticks, time)
    return Traces(offsets, items, len(encoded.item_ids), times), duplicates, guessed
