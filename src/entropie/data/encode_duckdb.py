"""Ids to codes for a table of any size: rows stream through DuckDB, which spills to disk when memory is short."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.encoding import NO_USER, NULL_TIMES, NULLS, Encoded, Rules, is_text, reason_code, settle
from entropie.data.rejects import NOT_UTF8, Rejects
from entropie.data.text import UNREADABLE
from entropie.data.times import TimeFormat
from entropie.errors import EntropieError, InvalidInput, InvalidParameter
from entropie.progress import Progress
from entropie.request import Run

__all__ = ["classify_large", "encode_large"]

_BATCH_ROWS = 1 << 17


def encode_large(
    stream: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    rules: Rules,
    rejects: Rejects,
    run: Run,
) -> Encoded:
    """Encode a stream within a limit of memory: half of the machine, at most 4 GiB, if not given."""
    numbered = _Numbered(stream)
    with tempfile.TemporaryDirectory(prefix="entropie-") as folder:
        config: dict[str, str | bool | int | float | list[str]] = {
            "temp_directory": folder,
            "memory_limit": f"{run.memory or _default_memory()}B",
        }
        if run.threads is not None:
            config["threads"] = run.threads
        try:
            with duckdb.connect(":memory:", config=config) as connection:
                connection.execute("set TimeZone = 'UTC'; set enable_progress_bar = false")
                return _encode(connection, numbered, schema, rules, rejects, run.progress)
        except (duckdb.Error, RuntimeError) as error:
            if numbered.error is not None:
                raise numbered.error from None
            # Ctrl-C within DuckDB comes back as a RuntimeError, within the stream as text of the error.
            if "Query interrupted" in str(error) or "KeyboardInterrupt" in str(error):
                raise KeyboardInterrupt from None
            if not isinstance(error, duckdb.Error):
                raise
            if isinstance(error, duckdb.OutOfMemoryException):
                raise _too_little_memory(rejects.name, run.memory) from None
            raise InvalidInput(f"{rejects.name} cannot be read: {str(error).splitlines()[0]}") from None


def _encode(
    connection: duckdb.DuckDBPyConnection,
    stream: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    rules: Rules,
    rejects: Rejects,
    progress: Progress,
) -> Encoded:
    _judge_rows(connection, stream, schema, rules)
    counts = dict(connection.execute("select reason, count(*) from events group by reason").fetchall())
    rows = settle(counts, rules, rejects)
    user_ids = _number_ids(connection, "user", schema)
    item_ids = _number_ids(connection, "item", schema)
    users, items, ticks = _fetch_codes(connection, sum(counts.values()), rules.time is not None, progress)
    return Encoded(rows, users, items, ticks, user_ids, item_ids)


def classify_large(batch: pa.RecordBatch, rules: Rules, name: str) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Judge one batch as `encode_large` judges a table: the tick of every row, and the reason against it."""
    try:
        with duckdb.connect(":memory:", config={"threads": 1}) as connection:
            connection.execute("set TimeZone = 'UTC'; set enable_progress_bar = false")
            _judge_rows(connection, _Numbered(iter([batch])), batch.schema, rules)
            found = connection.sql(
                "select case when reason = 0 then tick end as tick, reason from events order by row"
            ).to_arrow_table()
    except duckdb.Error as error:
        raise InvalidInput(f"{name} cannot be read: {str(error).splitlines()[0]}") from None
    ticks = np.zeros(0, np.int64)
    if rules.time is not None:
        ticks = found.column(0).fill_null(0).to_numpy()
    return ticks, found.column(1).to_numpy()


def _judge_rows(
    connection: duckdb.DuckDBPyConnection, stream: Iterator[pa.RecordBatch], schema: pa.Schema, rules: Rules
) -> None:
    """Fill table `events` with rows and reasons, and the tables of distinct ids with those in use."""
    numbered = schema.append(pa.field("row", pa.uint32()))
    connection.register("stream", pa.RecordBatchReader.from_batches(numbered, stream))
    connection.execute(f"create temp table events as {_classified(schema, rules)}")
    connection.unregister("stream")
    _collect_ids(connection)
    rejected = [_reject_ids(connection, role, rules) for role in ("user", "item") if is_text(schema, role)]
    if any(rejected):
        _collect_ids(connection)


def _classified(schema: pa.Schema, rules: Rules) -> str:
    """SQL that keeps ids and ticks, and says of every row why it cannot be used (0: it can).

    Only what is cheap is asked of every row; what an id's text says is asked once per id, later.
    """
    tests: dict[str, str] = {}
    for role in ("user", "item"):
        empty = f" or \"{role}\" = ''" if is_text(schema, role) else ""
        tests[f'"{role}" is null{empty}'] = str(reason_code(f"missing {role}"))
    if rules.time is not None:
        tests["tick is null"] = _time_reason(rules.time, is_text(schema, "time"))
    if rules.min_rating is not None:
        tests["stars is null or isnan(stars)"] = str(reason_code("unreadable rating"))
        # In quotes, because a bare 3.3 would be a decimal number, and turned into a double in another way.
        tests[f"stars < '{float(rules.min_rating)!r}'::double"] = str(reason_code("rating below the minimum"))
    cases = " ".join(f"when {test} then {reason}" for test, reason in tests.items())
    tick = rules.time.tick_sql if rules.time is not None else "null::bigint"
    stars = "try_cast(rating as double)" if rules.min_rating is not None else "null::double"
    return (
        f'select row, "user", item, tick, (case {cases} else 0 end)::utinyint as reason '
        f"from (select *, {tick} as tick, {stars} as stars from stream)"
    )


def _time_reason(time: TimeFormat, text: bool) -> str:
    """SQL for the reason of a row without a tick."""
    missing, infinite, unreadable = map(reason_code, ("missing time", "NaN time", "unreadable time"))
    marker = f" or trim(time) in ({_quoted(NULL_TIMES)})" if text else ""
    return (
        f"case when time is null{marker} then {missing} when not ({time.finite_sql}) then {infinite} "
        f"else {unreadable} end"
    )


def _collect_ids(connection: duckdb.DuckDBPyConnection) -> None:
    """List the distinct ids of the rows in use."""
    for role in ("user", "item"):
        connection.execute(
            f'create or replace temp table {role}_ids as select distinct "{role}" as id from events where reason = 0'
        )


def _reject_ids(connection: duckdb.DuckDBPyConnection, role: str, rules: Rules) -> bool:
    """Judge every distinct id by its text, and mark the rows of those that cannot be used."""
    tests = {
        f"trim(id) in ({_quoted(NULLS)})": f"missing {role}",
        f"contains(id, chr({ord(UNREADABLE)}))": NOT_UTF8,
        "contains(id, chr(10))": "line break in an id",
    }
    if role == "item" and rules.missing_items:
        tests[f"id in ({_quoted(rules.missing_items)})"] = "no item recorded"
    cases = " ".join(f"when {test} then {reason_code(reason)}" for test, reason in tests.items())
    connection.execute(
        "create or replace temp table bad_ids as select * from "
        f"(select id, (case {cases} else 0 end)::utinyint as reason from {role}_ids) where reason > 0"
    )
    found = bool(connection.execute("select count(*) from bad_ids").fetchall()[0][0])
    if found:
        connection.execute(
            f'update events set reason = b.reason from bad_ids b where events."{role}" = b.id and events.reason = 0'
        )
    return found


def _number_ids(connection: duckdb.DuckDBPyConnection, role: str, schema: pa.Schema) -> pa.Array:
    """Rank the distinct ids of the rows in use, keep the ranks in a table, return the ids by rank."""
    order = "id"
    if is_text(schema, role):
        # Digits are numbers, in any format of file; 007 is not the number 7, then all stay text.
        whole = f"select bool_and(coalesce(try_cast(id as bigint)::varchar = id, false)) from {role}_ids"
        if connection.execute(whole).fetchall()[0][0]:
            order = "id::bigint"
    connection.execute(
        f"create temp table {role}_codes as "
        f"select id, {order} as label, (row_number() over (order by {order}) - 1)::uinteger as code from {role}_ids"
    )
    connection.execute(f"drop table {role}_ids")
    labels = connection.sql(f"select label from {role}_codes order by code").to_arrow_table()
    return labels.column(0).combine_chunks()


def _fetch_codes(
    connection: duckdb.DuckDBPyConnection, rows: int, timed: bool, progress: Progress
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]:
    """Look up both codes of every row; each lands at its row number, whatever order the join yields."""
    users = np.full(rows, NO_USER, np.uint32)
    items = np.zeros(rows, np.uint32)
    ticks = np.zeros(rows if timed else 0, np.int64)
    query = (
        f"select row, u.code, i.code{', tick' if timed else ''} from events "
        'join user_codes u on events."user" = u.id join item_codes i on events.item = i.id where reason = 0'
    )
    done = 0
    for batch in connection.sql(query).to_arrow_reader(_BATCH_ROWS):
        done += batch.num_rows
        progress("encode", done / rows)
        rows_here = batch.column(0).to_numpy()
        users[rows_here] = batch.column(1).to_numpy()
        items[rows_here] = batch.column(2).to_numpy()
        if timed:
            ticks[rows_here] = batch.column(3).to_numpy()
    return users, items, ticks


def _quoted(values: tuple[str, ...]) -> str:
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values)


def _too_little_memory(name: str, memory: int | None) -> EntropieError:
    """Say what ran out; DuckDB counts a full disk, to which it spills, as memory too."""
    if memory is not None:
        return InvalidParameter(
            f"Parameter `memory` must be enough to read {name}, got {memory:,} bytes instead; raise it, or "
            "leave it out."
        )
    return InvalidInput(
        f"{name} needs more memory, or more disk for temporary files, than there is; free some, or read a part of it."
    )


def _default_memory() -> int:
    """Half of the machine, at most 4 GiB: the arrays need room beside DuckDB, and spilling costs little."""
    try:
        half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        half = 1 << 32
    return max(1 << 29, min(1 << 32, half))


class _Numbered:
    """The stream with the row number written into it, because DuckDB's threads do not keep its order.

    It also remembers its error, which would reach us only as text inside one of DuckDB's.
    """

    def __init__(self, stream: Iterator[pa.RecordBatch]) -> None:
        self._stream = stream
        self._rows = 0
        self.error: BaseException | None = None

    def __iter__(self) -> _Numbered:
        return self

    def __next__(self) -> pa.RecordBatch:
        try:
            batch = next(self._stream)
            first, self._rows = self._rows, self._rows + batch.num_rows
            if self._rows >= NO_USER:
                raise InvalidInput(f"More than {NO_USER:,} rows cannot be numbered; read a sample of the users.")
            row = np.arange(first, self._rows, dtype=np.uint32)
            return batch.append_column("row", pa.array(row))
        except StopIteration:
            raise
        except BaseException as error:
            self.error = error
            raise
