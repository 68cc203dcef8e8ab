"""Tables and queries of databases, streamed as Arrow: PostgreSQL and SQLite through ADBC, DuckDB by itself.

Everything is opened for reading only. A password is part of no name and no message.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa

from entropie.data.budget import Budget
from entropie.data.rejects import Rejects
from entropie.data.tables import ArrowTable
from entropie.errors import InputTooLarge, InvalidInput, InvalidParameter, option, shown
from entropie.progress import Progress
from entropie.request import Source

_BATCH_ROWS = 1 << 16
_RULE = "postgresql://host/database, sqlite:FILE or duckdb:FILE"
_STATES = {"42P01": "there is no such table", "42703": "there is no such column", "3D000": "there is no such database"}
_NO_TABLE = re.compile(r"no such table|Table with name .* does not exist", re.IGNORECASE)
_NO_COLUMN = re.compile(r"no such column|column .* not found", re.IGNORECASE)
_NO_ROOM = re.compile(r"disk is full|no space left on device", re.IGNORECASE)
_READ_ONLY = re.compile(r"write a readonly|read-only transaction|attached in read-only", re.IGNORECASE)
_SELECTS = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:select|with|values)\b", re.IGNORECASE | re.DOTALL)
_ONE_SELECT = "The query must be one statement that selects rows; check the query."
_ORDERED = re.compile(r"\border\s+by\b", re.IGNORECASE)

_Opened = tuple[Any, Callable[[], None]]
"""A stream of Arrow, and what ends it."""


class DatabaseTable(ArrowTable):
    """What a table or a query of a database gives, once."""

    def __init__(self, source: Source, memory: int | None = None) -> None:
        assert source.source is not None
        kind, rest = _kind(source.source)
        place = _place(kind, rest)
        self._place = f"table `{source.table}` of {place}" if source.table is not None else f"the query on {place}"
        query = f"select * from {_quoted(source.table)}" if source.table is not None else source.query or ""
        budget = Budget(_capital(self._place), memory)
        try:
            with budget.fenced():
                stream, close = _OPENERS[kind](rest, query, budget.limit)
        except ImportError:
            raise InvalidInput("Databases need further packages; run: pip install 'entropie[databases]'") from None
        except InvalidInput:
            raise
        except Exception as problem:
            if not _of_driver(problem):
                raise
            raise InvalidInput(f"{_capital(self._place)} cannot be read: {_said(problem)}.") from None
        self._end = weakref.finalize(self, close)
        self._plain = _Plain(stream, budget)
        super().__init__(self._plain, self._place)
        if not self.columns:
            raise InvalidInput(f"{_capital(self._place)} gives no rows; give a query that selects some.")

    def select(
        self, columns: Sequence[str], rejects: Rejects, progress: Progress, inferred: Any = ()
    ) -> Iterator[pa.RecordBatch]:
        """Pass the batches on, then let the database go."""
        try:
            yield from super().select(columns, rejects, progress, inferred)
        finally:
            self._end()

    def broken(self, error: Exception, rows: int) -> InvalidInput:
        """The error for a stream that ends before all rows have come."""
        if self._plain.refused is not None:
            return self._plain.refused
        text = str(error)
        remedy = "read it again"
        if "ype mismatch" in text:
            remedy = f"a column holds values of several types, cast it to one in {option('query')}"
        said = shown(f" ({text.strip()})")
        return InvalidInput(f"{_capital(self._place)} broke off after {rows:,} rows{said}; {remedy}.")


class _Plain:
    """A stream without types of a database's own: their values as text, as it sends them.

    refused   why no more of it is read: a value, or a batch of them, that takes more memory than it may
    """

    def __init__(self, stream: Any, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget
        self.refused: InputTooLarge | None = None

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        schema = self._stream.schema
        own = [isinstance(field.type, pa.BaseExtensionType) for field in schema]
        types = [field.type.storage_type if odd else field.type for field, odd in zip(schema, own, strict=True)]
        plain = pa.schema(list(zip(schema.names, types, strict=True)))

        def batches() -> Iterator[pa.RecordBatch]:
            while (batch := self._next()) is not None:
                arrays = [column.storage if odd else column for column, odd in zip(batch.columns, own, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=plain)

        return pa.RecordBatchReader.from_batches(plain, batches()).__arrow_c_stream__(requested_schema)

    def _next(self) -> pa.RecordBatch | None:
        try:
            with self._budget.fenced():
                batch = next(self._stream, None)
            if batch is not None:
                self._budget.require(batch.nbytes)
        except InputTooLarge as problem:
            self.refused = problem
            raise
        return batch


def check_database(source: Source) -> None:
    """Refuse options that go only together, or not together."""
    if source.source is None:
        for name in ("query", "table"):
            if getattr(source, name) is not None:
                raise InvalidParameter(f"{option(name)} needs {option('source')}, such as {_RULE}.")
        return
    if source.events is not None:
        raise InvalidParameter(f"{option('source')} names where events come from; leave EVENTS out.")
    if (source.query is None) == (source.table is None):
        raise InvalidParameter(f"{option('source')} needs {option('table')} or {option('query')}, and not both.")
    for name in ("preset", "grid", "format", "header"):
        if getattr(source, name) is not None:
            raise InvalidParameter(f"{option(name)} is for files; leave it out with {option('source')}.")


def check_order(source: Source) -> None:
    """Rows of a database have no order of their own: refuse to take them in order where none is asked for."""
    if source.source is not None and not (source.query is not None and _ORDERED.search(source.query)):
        raise InvalidInput(
            f"Rows of a database have no order; name the column of times with {option('time')}, or give a "
            f"{option('query')} with `order by`."
        )


def _kind(url: str) -> tuple[str, str]:
    """Which database a URL is of, and what its driver is told."""
    scheme, _, rest = url.partition(":")
    kind = {"postgresql": "postgresql", "postgres": "postgresql", "sqlite": "sqlite", "duckdb": "duckdb"}.get(
        scheme.lower()
    )
    if kind is None or not rest.strip("/") or (kind == "postgresql" and not rest.startswith("//")):
        raise InvalidParameter(f"Parameter `source` must be {_RULE}.")  # what it is instead may hold a password
    if kind == "postgresql":
        return kind, f"postgresql:{rest}"
    path = unquote(rest.removeprefix("//"))
    relative = path.removeprefix("/")
    return kind, relative if path != relative and not Path(path).exists() and Path(relative).exists() else path


def _place(kind: str, rest: str) -> str:
    """Where a database is, without who asks."""
    if kind != "postgresql":
        return rest
    address = rest.removeprefix("postgresql://").partition("?")[0]
    return f"postgresql://{address.rpartition('@')[2]}"


def _quoted(table: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))


def _postgresql(url: str, query: str, memory: int) -> _Opened:
    from adbc_driver_postgresql import dbapi

    # Whole tables come in the same order each time: not from where somebody else's scan of them is just now.
    read_only = "options=-c%20default_transaction_read_only%3Don%20-c%20synchronize_seqscans%3Doff"
    return _adbc(dbapi.connect(f"{url}{'&' if '?' in url else '?'}{read_only}"), query)


def _sqlite(path: str, query: str, memory: int) -> _Opened:
    from adbc_driver_sqlite import dbapi

    _check_file(path, b"SQLite format 3", 0)
    if not _SELECTS.match(query):  # ATTACH makes files, whatever the mode
        raise InvalidInput(_ONE_SELECT)
    kept = {"adbc.sqlite.query.batch_rows": str(_BATCH_ROWS)}  # a column has the type of its first values
    return _adbc(dbapi.connect(f"file:{quote(path)}?mode=ro"), query, kept)


def _adbc(connection: Any, query: str, settings: dict[str, str] | None = None) -> _Opened:
    cursor = connection.cursor(adbc_stmt_kwargs=settings)

    def close() -> None:
        cursor.close()
        connection.close()

    try:
        cursor.execute(query)
        return cursor.fetch_record_batch(), close
    except BaseException:
        close()
        raise


def _duckdb(path: str, query: str, memory: int) -> _Opened:
    import duckdb

    _check_file(path, b"DUCK", 8)
    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "python_enable_replacements": "false",
        "temp_directory": "",  # or it would put rows into files beside the database, open to others
        "memory_limit": f"{memory}B",
    }
    connection = duckdb.connect(path, read_only=True, config=settings)
    try:
        kinds = [statement.type for statement in connection.extract_statements(query)]
        if kinds != [duckdb.StatementType.SELECT]:  # COPY, EXPORT and PRAGMA write files, whatever the mode
            raise InvalidInput(_ONE_SELECT)
        found = connection.sql(query)
        return found.to_arrow_reader(_BATCH_ROWS), connection.close
    except BaseException:
        connection.close()
        raise


_OPENERS: dict[str, Callable[[str, str, int], _Opened]] = {
    "postgresql": _postgresql,
    "sqlite": _sqlite,
    "duckdb": _duckdb,
}


def _check_file(path: str, mark: bytes, place: int) -> None:
    """Make sure that a file is there and bears the mark of its kind: DuckDB would take others, too."""
    if not Path(path).is_file():
        raise InvalidInput(f"{path} does not exist or is no file; name the database as {_RULE}.")
    with Path(path).open("rb") as file:
        if not file.read(place + len(mark)).endswith(mark):
            raise InvalidInput(f"{path} is no database of this kind; name it as {_RULE}.")


def _of_driver(problem: Exception) -> bool:
    """Whether a driver raised it: each has errors of its own."""
    return type(problem).__module__.split(".")[0] in ("adbc_driver_manager", "duckdb", "_duckdb") or isinstance(
        problem, pa.ArrowException | OSError
    )


def _said(problem: Exception) -> str:
    """What an error of a driver means; what it says itself may quote data and is shown only if asked for."""
    text = " ".join(str(problem).split())
    state = getattr(problem, "sqlstate", None) or ""
    if state in _STATES:
        meant = _STATES[state]
    elif _NO_TABLE.search(text):
        meant = _STATES["42P01"]
    elif _NO_COLUMN.search(text):
        meant = _STATES["42703"]
    elif state.startswith("28") or "password authentication" in text or "no password supplied" in text:
        meant = "the database does not let you in; give user and password, the latter best as PGPASSWORD"
    elif "ailed to connect" in text:
        found = re.search(r'database "[^"]*" does not exist', text)
        return _STATES["3D000"] if found else "the database cannot be reached; check host, port and whether it runs"
    elif _NO_ROOM.search(text):
        meant = "there is no room for what the query sorts; make some in the folder that TMPDIR names, or order nothing"
    elif _READ_ONLY.search(text):
        meant = "the query would change the database; give one that selects rows"
    else:
        meant = "the database refuses it; check the query"
    return f"{meant}{shown(f' ({text})')}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
