"""Reading events: from any table of (user, item, time) to traces, with an account of what was left out."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import absent_in, from_numpy, truths_of
from entropie.data.categories import ItemCategories
from entropie.data.databases import DatabaseTable, check_database, check_order
from entropie.data.dates import decided
from entropie.data.derived import DerivedTable, check_coordinates, with_item
from entropie.data.encode import NO_USER, Encoded, encode
from entropie.data.files import find_files
from entropie.data.filter import Selection
from entropie.data.geolife import GeolifeTable
from entropie.data.grid import MapGrid
from entropie.data.presets import Preset, find_preset
from entropie.data.rejects import Rejects
from entropie.data.roles import ColumnChoice, Role, choose_columns
from entropie.data.rules import Rules
from entropie.data.standard import StandardInput
from entropie.data.stays import visits_of
from entropie.data.tables import ArrowTable, Chosen, Table, TextTable, normal_schema, open_files
from entropie.data.time_options import given_format, in_zone, refuse_without_times, repeated_in
from entropie.data.times import Assumed, TimeFormat, declared, find_time_format, seconds
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter, option
from entropie.kernels.traces import count_duplicates, group_rows, sort_users
from entropie.request import Run, Source

_ANY_RUN = Run()
_GRID = "grid:"
_REPORT_COLUMNS = ({"parameters", "report"}, {"parameters", "a", "b", "y"})  # as `entropie obfuscate` names them
_TOLD = (
    "source", "sha256", "rows", "events", "users", "items", "dropped", "duplicates", "columns", "time_format",
    "order_only", "time_assumed", "obfuscated",
)  # fmt: skip
_SORT_BLOCK_USERS = 1 << 14
_TIME_SAMPLE_ROWS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What reading a table came to."""

    rows: int  # read, whether used or left out
    events: int
    users: int
    items: int
    duplicates: int | None  # events kept that repeat an earlier (user, time, item); None without times
    order_only: bool  # times say the order of events and nothing else
    sha256: str | None  # of the file's bytes; of the values for a table in memory; None where nobody saw it whole
    repeated_times: int | None = None  # events at a local time that clocks show twice, read as the first
    time_assumed: Assumed | None = None  # what numbers were taken for without being told


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport(Found):
    """That, what was left out and why, and which columns were taken."""

    source: str
    dropped: dict[str, int]  # rows left out, by reason
    dirty: int  # how many of them speak against the file; the others fall to a rule
    columns: tuple[ColumnChoice, ...]
    time_format: str | None  # integer, float, iso8601, weekday, timestamp, day-first, month-first, a pattern
    unused: tuple[str, ...] = ()  # columns that play no role
    obfuscated: bool = False  # the rows are reports of a mechanism, as `entropie obfuscate` writes them
    order_told: bool = False  # whether day or month comes first was told from the column
    time_zone: str | None = None  # of times that do not say it

    def as_dict(self) -> dict[str, Any]:
        """Give the report as plain values for JSON."""
        told = {name: getattr(self, name) for name in _TOLD}
        told["columns"] = {c.role: {"column": c.column, "how": c.how} for c in self.columns}
        if self.unused and not self.obfuscated:
            told["unused"] = list(self.unused)
        if self.order_told:
            told["order_told"] = True
        if self.time_zone is not None:
            told |= {"time_zone": self.time_zone, "repeated_times": self.repeated_times}
        return told


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
    opened = open_events(source, table, run.memory)
    rejects = Rejects(opened.table.name, run.memory)
    run.progress("read", 0.0)
    with closing(opened.table.batches(opened.chosen, rejects, run.progress)) as stream:
        return arranged(opened, stream, rejects, run)[0]


def arranged(
    opened: Opened, stream: Iterator[pa.RecordBatch], rejects: Rejects, run: Run, *, numbered: bool = False
) -> tuple[Events, NDArray[np.uint32]]:
    """Judge, encode and sort the rows of a table; also the row of each event, where they are `numbered`."""
    table, chosen = opened.table, opened.chosen
    time_format, stream = recognise_times(opened, stream, rejects)
    encoded = encode(stream, normal_schema(table, chosen), opened.rules(time_format), rejects, run)
    time_format = settled_times(opened, encoded, time_format)
    named, blank = encoded.categories, int(NO_USER)
    categories = None if named is None else ItemCategories.of(encoded.items, named, len(encoded.item_ids), blank)
    traces, duplicates, guessed, rows = _sorted_traces(encoded, time_format, opened.newest_first, run.threads, numbered)
    user_ids, item_ids = encoded.user_ids, encoded.item_ids
    if opened.source.stays is not None:
        visits = visits_of(traces, item_ids, opened.source, rejects)
        traces, user_ids, item_ids = visits.traces, user_ids.take(from_numpy(visits.users)), visits.item_ids
        duplicates = 0  # two stays of a person do not begin at once
    run.progress("sort", 1.0)
    found = Found(
        rows=encoded.rows, events=traces.events, users=traces.users, items=traces.domain_size, duplicates=duplicates,
        order_only=traces.times is None, sha256=table.sha256(), repeated_times=repeated_in(traces.times, time_format),
        time_assumed=guessed,
    )  # fmt: skip
    report = ingest_report(opened, found, rejects, time_format)
    return Events(traces, user_ids, item_ids, report, categories), rows


@dataclass(frozen=True, slots=True)
class Opened:
    """A table, which column of it plays which role, and the rules it is held to."""

    table: Table
    choices: dict[Role, ColumnChoice]
    preset: Preset | None
    min_rating: float | None
    source: Source

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
        return Rules(time, self.min_rating, missing, self.source.max_dirty_share, {**self.chosen})


def open_events(source: Source, table: Table | None = None, memory: int | None = None) -> Opened:
    """Open a source and settle its columns, without reading its rows.

    `table` is the source already opened, where this module cannot open it.
    """
    preset = find_preset(source.preset) if source.preset is not None else None
    min_rating = source.min_rating
    if min_rating is None and preset is not None:
        min_rating = preset.min_rating
    table = open_source(source, memory) if table is None else table
    roles = source.roles
    if isinstance(table, DerivedTable):
        roles["item"] = table.made.name
    elif roles["item"] is None and preset is None and _obfuscated(table):
        roles["item"] = "report" if "report" in table.columns else "y"
    choices = choose_columns(
        table.header,
        roles,
        _preset_roles(table, preset),
        needed=("user", "item") if min_rating is None and source.rating is None else ("user", "item", "rating"),
        hint=table.hint(),
    )
    return Opened(table, choices, preset, min_rating, source)


def ingest_report(opened: Opened, found: Found, rejects: Rejects, time_format: TimeFormat | None) -> IngestReport:
    """Account for what was read and left out."""
    table, choices = opened.table, opened.choices
    made_of = table.made.parts.values() if isinstance(table, DerivedTable) else ()
    playing = {opened.source.order, *made_of, *(choice.column for choice in choices.values())}
    return IngestReport(
        **asdict(found),
        source=table.name,
        dropped=dict(sorted((rejects.dirty + rejects.excluded).items())),
        dirty=rejects.dirty.total(),
        columns=tuple(choices.values()),
        time_format=time_format.title if time_format else None,
        unused=tuple(name for name in table.columns if name not in playing),
        obfuscated=_obfuscated(table),
        order_told=time_format is not None and time_format.told,
        time_zone=time_format.zone if time_format else None,
    )


def _obfuscated(table: Table) -> bool:
    """Whether the rows are reports, as `entropie obfuscate` writes them."""
    return any(set(table.columns) >= columns for columns in _REPORT_COLUMNS)


def open_source(source: Source, memory: int | None = None) -> Table:
    """Open whatever was named, with the item that is to be made from its columns.

    `memory` is for what begins its work at once, as a database does.
    """
    source = _with_grid(source)
    check_coordinates(source)
    check_database(source)
    return with_item(_opened(source, memory), source)


def _with_grid(source: Source) -> Source:
    """Cells of a grid are those of GeoLife's own layout, which has points and no columns of them."""
    preset = find_preset(source.preset) if source.preset is not None else None
    if preset is None or not preset.is_grid or source.grid is not None or not (source.cells or "").startswith(_GRID):
        return source
    return replace(source, cells=None, grid=(source.cells or "").removeprefix(_GRID))


def _opened(source: Source, memory: int | None) -> Table:
    """Open a database, files of a known layout, other files, or a table in memory."""
    if source.source is not None:
        return DatabaseTable(source, memory)
    preset = find_preset(source.preset) if source.preset is not None else None
    if source.grid is not None and (preset is None or not preset.is_grid):
        other = f"cells such as {option('cells')} grid:{source.grid}"
        raise InvalidParameter.of("grid", f"left out but for preset geolife (other data have {other})", source.grid)
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
        if source.cells is not None:
            raise InvalidParameter(f"{option('grid')} makes the cells of preset geolife; leave {option('cells')} out.")
        return GeolifeTable(name, find_files(name, preset.suffixes), MapGrid.parse(source.grid))
    if name == "-":
        if preset is not None:
            raise InvalidParameter.of("preset", "left out for standard input", preset.name)
        return TextTable("standard input", [StandardInput()], None, source.header, source.format)
    return open_files(name, find_files(name), preset, source.header, source.format)


def _preset_roles(table: Table, preset: Preset | None) -> dict[Role, str] | None:
    if preset is None:
        return None
    if preset.is_grid:
        return {"user": "user", "item": "cell", "time": "time"}
    return preset.roles_of(table.columns)


def recognise_times(
    opened: Opened, stream: Iterator[pa.RecordBatch], rejects: Rejects
) -> tuple[TimeFormat | None, Iterator[pa.RecordBatch]]:
    """The times as the source says, or recognised by the first batch that has any, without losing those looked at."""
    table, chosen, source = opened.table, opened.chosen, opened.source
    if "time" not in chosen:
        refuse_without_times(source)
        check_order(source)
        return None, stream
    kind = table.type_of(chosen["time"])
    given = given_format(source, kind, chosen["time"], table.name)
    if given is not None:
        return given, stream
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
    zoned = in_zone(found, source, chosen["time"], table.name)
    return declared(zoned, source.times_are, chosen["time"], table.name), itertools.chain(seen, stream)


def settled_times(opened: Opened, encoded: Encoded, time: TimeFormat | None) -> TimeFormat | None:
    """How times are read once all of them are known: dates may have waited for the order of day and month."""
    if time is None or time.name != "either":
        return time
    return decided(encoded.ticks, time, opened.chosen["time"], opened.table.name)


def _first_filled(column: pa.Array) -> int:
    """The first row that holds something, and not blanks only."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.view(pa.binary() if pa.types.is_string(column.type) else pa.large_binary())
        return int(np.argmax(truths_of(pc.match_substring_regex(column, r"\S"))))
    return int(np.argmax(~absent_in(column)))


def _sorted_traces(
    encoded: Encoded, time: TimeFormat | None, newest_first: bool, threads: int | None, numbered: bool
) -> tuple[Traces, int | None, Assumed | None, NDArray[np.uint32]]:
    """Group by user, sort by time; a stable sort leaves equal times in row order.

    Where rows are numbered, their numbers travel where items do, so that every event finds its row.
    """
    users = len(encoded.user_ids)
    rows = np.arange(encoded.users.size, dtype=np.uint32) if numbered else encoded.items
    offsets, rows, ticks = group_rows(encoded.users, rows, encoded.ticks, users, newest_first)
    blocks = [(first, min(first + _SORT_BLOCK_USERS, users)) for first in range(0, users, _SORT_BLOCK_USERS)]
    times = duplicates = guessed = None
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        if time is not None:
            list(pool.map(lambda ends: sort_users(offsets, rows, ticks, *ends), blocks))
        items = encoded.items[rows] if numbered else rows
        if time is not None:
            duplicates = sum(pool.map(lambda ends: int(count_duplicates(offsets, items, ticks, *ends)), blocks))
            times, guessed = seconds(ticks, time)
    return Traces(offsets, items, len(encoded.item_ids), times), duplicates, guessed, rows
