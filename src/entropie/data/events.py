"""Reading events: from any table of (user, item, time) to traces, with an account of what was left out."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from entropie.data.arrow import from_numpy
from entropie.data.encode import Encoded, Rules, encode
from entropie.data.files import find_files
from entropie.data.filter import Selection
from entropie.data.geolife import GeolifeTable
from entropie.data.grid import Grid
from entropie.data.normalise import timestamp_unit
from entropie.data.presets import Preset, find_preset
from entropie.data.rejects import Rejects
from entropie.data.roles import ColumnChoice, Role, choose_columns, describe_choices
from entropie.data.tables import ArrowTable, Chosen, Table, normal_schema, open_files
from entropie.data.times import TimeFormat, find_time_format, seconds
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter
from entropie.kernels.traces import count_duplicates, group_rows, sort_users

__all__ = [
    "Events",
    "Found",
    "IngestReport",
    "Opened",
    "Progress",
    "ingest_report",
    "open_events",
    "open_source",
    "read_events",
    "recognise_times",
]

Progress = Callable[[str, float], None]  # stage ("read", "encode", "sort") and the share of it that is done
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
    suggestion: str = ""
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
            "obfuscated": self.obfuscated,
        }


@dataclass(frozen=True, slots=True)
class Events:
    """Traces together with the ids behind their codes: user u is user_ids[u], item x is item_ids[x]."""

    traces: Traces
    user_ids: pa.Array
    item_ids: pa.Array
    report: IngestReport

    def select(self, selection: Selection) -> Events:
        """Keep what a selection of these traces keeps; the report still tells what was read."""
        users = self.user_ids.take(from_numpy(selection.users))
        items = self.item_ids.take(from_numpy(selection.items))
        return Events(selection.traces, users, items, self.report)


def read_events(
    source: object,
    *,
    user: str | None = None,
    item: str | None = None,
    time: str | None = None,
    rating: str | None = None,
    preset: str | None = None,
    min_rating: float | None = None,
    grid: Grid | str | None = None,
    header: bool | None = None,
    max_dirty_share: float = 0.01,
    memory_limit: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Events:
    """Read a file, folder, glob or Arrow-speaking table into traces sorted by (user, time, row number).

    Codes are ranks of the ids, so the same events get the same codes in any order and format. Rows that
    cannot be used are counted by reason; above `max_dirty_share` of them InvalidInput is raised. Duplicate
    rows are kept and counted. Without a time column the row order is the order of events.

    Arguments, apart from the obvious:
        source: a path (CSV, TSV, also .gz or .zst, Parquet, a folder, a glob), or any object with
            `__arrow_c_stream__`.
        user, item, time, rating: column names; guessed where not given. A file without a header calls its
            columns 1, 2, ...
        preset: the name of a published data set, see `entropie.data.presets`.
        min_rating: leave out rows with a lower rating.
        grid: size of a map cell, such as "500m"; for preset `geolife`.
        header: whether text begins with a line of names; told from that line if not given.
        memory_limit: what DuckDB may use, such as "4GB", before it spills to disk.
        threads: for decoding and sorting; all cores if not given.
        progress: called with a stage and the share done.
    """
    if threads is not None and threads < 1:
        raise InvalidParameter.of("threads", "at least 1", threads)
    opened = open_events(
        source, user=user, item=item, time=time, rating=rating, preset=preset, min_rating=min_rating,
        grid=grid, header=header, max_dirty_share=max_dirty_share,
    )  # fmt: skip
    table, chosen = opened.table, opened.chosen
    rejects = Rejects(table.name)
    tell = progress or (lambda stage, share: None)
    tell("read", 0.0)
    stream = table.batches(chosen, rejects, lambda share: tell("read", share))
    time_format, stream = recognise_times(table, chosen, stream)
    encoded = encode(
        stream,
        normal_schema(table, chosen),
        opened.rules(time_format),
        rejects,
        memory_limit=memory_limit,
        threads=threads,
        advance=lambda share: tell("encode", share),
    )
    traces, duplicates = _sorted_traces(encoded, time_format, opened.newest_first, threads)
    tell("sort", 1.0)
    found = Found(
        encoded.rows, traces.events, traces.users, traces.domain_size, duplicates, traces.times is None, table.sha256()
    )
    report = ingest_report(table, found, rejects, opened.choices, time_format)
    return Events(traces, encoded.user_ids, encoded.item_ids, report)


@dataclass(frozen=True, slots=True)
class Opened:
    """A table, which column of it plays which role, and the rules it is held to."""

    table: Table
    choices: dict[Role, ColumnChoice]
    preset: Preset | None
    min_rating: float | None
    max_dirty_share: float

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
        return Rules(time, self.min_rating, missing, self.max_dirty_share)


def open_events(
    source: object,
    *,
    user: str | None = None,
    item: str | None = None,
    time: str | None = None,
    rating: str | None = None,
    preset: str | None = None,
    min_rating: float | None = None,
    grid: Grid | str | None = None,
    header: bool | None = None,
    max_dirty_share: float = 0.01,
    table: Table | None = None,
) -> Opened:
    """Open a source and settle its columns, without reading its rows; arguments as for `read_events`.

    `table` is the source already opened, where this module cannot open it.
    """
    if not 0.0 <= max_dirty_share <= 1.0:
        raise InvalidParameter.of("max_dirty_share", "between 0 and 1", max_dirty_share)
    if min_rating is not None and not math.isfinite(min_rating):
        raise InvalidParameter.of("min_rating", "a finite number", min_rating)
    known = find_preset(preset) if preset is not None else None
    if min_rating is None and known is not None:
        min_rating = known.min_rating
    table = open_source(source, known, grid, header) if table is None else table
    choices = choose_columns(
        table.columns,
        {"user": user, "item": item, "time": time, "rating": rating},
        _preset_roles(table, known),
        name=table.name,
        needed=("user", "item") if min_rating is None and rating is None else ("user", "item", "rating"),
        hint=table.hint(),
    )
    return Opened(table, choices, known, min_rating, max_dirty_share)


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
        suggestion="" if by_preset else table.hint(),
        obfuscated=any(set(table.columns) >= columns for columns in _REPORT_COLUMNS),
    )


def open_source(source: object, preset: Preset | None, grid: Grid | str | None, header: bool | None) -> Table:
    """Open whatever was named: files of a known layout, other files, or a table in memory."""
    if grid is not None and (preset is None or not preset.is_grid):
        raise InvalidParameter.of("grid", "given only with a preset of coordinates (geolife)", grid)
    if hasattr(source, "__arrow_c_stream__"):
        if preset is not None:
            raise InvalidParameter.of("preset", "left out for a table in memory", preset.name)
        return ArrowTable(source)
    if not isinstance(source, str | os.PathLike):
        kind = type(source).__name__
        raise InvalidParameter.of("source", "a path or an object with __arrow_c_stream__", kind)
    name = str(os.fspath(source))
    if preset is not None and preset.is_grid:
        size = Grid.parse(grid) if isinstance(grid, str) else grid
        if size is None:
            raise InvalidParameter.of("grid", "given with preset geolife, such as 500m or 0.01deg", grid)
        return GeolifeTable(name, find_files(name, preset.suffixes), size)
    return open_files(name, find_files(name), preset, header)


def _preset_roles(table: Table, preset: Preset | None) -> dict[Role, str] | None:
    if preset is None:
        return None
    if preset.is_grid:
        return {"user": "user", "item": "cell", "time": "time"}
    return preset.roles_of(table.columns)


def recognise_times(
    table: Table, chosen: Chosen, stream: Iterator[pa.RecordBatch]
) -> tuple[TimeFormat | None, Iterator[pa.RecordBatch]]:
    """Recognise the times by the first batch that has any, without losing the batches looked at."""
    if "time" not in chosen:
        return None, stream
    unit = timestamp_unit(table.type_of(chosen["time"]))
    if unit is not None:
        return TimeFormat("timestamp", "time", ticks_per_second=unit), stream
    seen = []
    sample = pa.nulls(0, normal_schema(table, chosen).field("time").type)
    for batch in stream:
        seen.append(batch)
        sample = batch.column("time").drop_null()[:_TIME_SAMPLE_ROWS]
        if len(sample) or len(seen) == 64:
            break
    return find_time_format(sample, chosen["time"], table.name), itertools.chain(seen, stream)


def _sorted_traces(
    encoded: Encoded, time: TimeFormat | None, newest_first: bool, threads: int | None
) -> tuple[Traces, int | None]:
    """Group by user, sort by time; a stable sort leaves equal times in row order."""
    users = len(encoded.user_ids)
    offsets, items, ticks = group_rows(encoded.users, encoded.items, encoded.ticks, users, newest_first)
    if time is None:
        return Traces(offsets, items, len(encoded.item_ids)), None

    def block(first: int) -> int:
        last = min(first + _SORT_BLOCK_USERS, users)
        sort_users(offsets, items, ticks, first, last)
        return int(count_duplicates(offsets, items, ticks, first, last))

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        duplicates = sum(pool.map(block, range(0, users, _SORT_BLOCK_USERS)))
    return Traces(offsets, items, len(encoded.item_ids), seconds(ticks, time)), duplicates
