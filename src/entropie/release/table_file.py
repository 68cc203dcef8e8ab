"""A plan for a table with one row per person carried out: the safer table, and a manifest of what was done.

Nobody's id is written, nor any column but those of the plan; people stand in random order.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie._version import __version__
from entropie.atomic import write_file
from entropie.data.columns import TableWriter
from entropie.data.shuffle import random_order
from entropie.document.base import Count, Part, Sha256, json_text
from entropie.errors import InvalidInput
from entropie.mechanisms.randomness import SystemSource
from entropie.mitigate.ladders import ColumnLevel, PeopleTable, read_people
from entropie.progress import Progress
from entropie.release.table_plan import TableLimit, TablePlan, TableState

_BATCH_ROWS = 1 << 17


class TableManifest(Part, frozen=True, tag_field="schema", tag="entropie.table-manifest/1"):
    """What was done to make a released table. It is for whoever answers for the release, not for who receives it.

    done       what became of each column, in words
    columns    of the file written
    left_out   people who are not in it
    sensitive  the column that nobody is to learn of others
    """

    levels: tuple[ColumnLevel, ...]
    done: tuple[str, ...]
    limit: TableLimit
    state: TableState
    source: str
    input_sha256: Sha256 | None
    input_people: Count
    left_out: Count
    output: str
    output_sha256: Sha256
    columns: tuple[str, ...]
    sensitive: str | None
    version: str
    date: datetime.datetime


def write_table(
    plan: TablePlan, source: object, out: Path, manifest: Path, memory: int | None, progress: Progress
) -> TableManifest:
    """Write the table that a plan describes to `out`, and what was done to `manifest`."""
    writing = TableWriter(out)
    written = [one for one in plan.columns if one.method != "drop"]
    columns = (*(one.column for one in written), *plan.keep)
    if not columns:
        raise InvalidInput("Every column is dropped under this plan: nothing is left to release.")
    progress("reading", 0.0)
    names = [one.column for one in plan.columns]
    read = read_people(source, names, keep=plan.keep, sensitive=plan.sensitive, id_column=plan.id_column, room=memory)
    _check(plan, read)
    progress("applying", 0.0)
    kept = _kept(plan, read)
    order = kept[random_order(kept.size, SystemSource().words)]
    with writing as writer:
        for rows in _cut(order):
            writer.write({name: _values(read, plan, name, rows) for name in columns})
    made = TableManifest(
        levels=plan.columns,
        done=tuple(f"{one.column}: {one.told}" for one in plan.columns),
        limit=plan.limit,
        state=plan.expected,
        source=read.name,
        input_sha256=read.sha256,
        input_people=read.people,
        left_out=read.people - kept.size,
        output=out.name,
        output_sha256=sha256_of(out),
        columns=columns,
        sensitive=plan.sensitive,
        version=__version__,
        date=datetime.datetime.now(datetime.UTC).replace(microsecond=0),
    )
    write_file(manifest, json_text(made.to_json()))
    return made


def _check(plan: TablePlan, read: PeopleTable) -> None:
    """Refuse other data."""
    unknown = plan.sha256 is None or read.sha256 is None
    if plan.people != read.people or not (unknown or plan.sha256 == read.sha256):
        raise InvalidInput(
            "The plan is for other data: the table differs from the one it was made for; generalise this table and "
            "apply that plan."
        )


def _kept(plan: TablePlan, read: PeopleTable) -> NDArray[np.int64]:
    """The rows that are released, checked against what the plan expects."""
    ladders = [person.ladder([level]) for person, level in zip(read.columns, plan.columns, strict=True)]
    bottom = (0,) * len(ladders)
    lattice = read.lattice(ladders, plan.scale)
    kept = lattice.kept_rows(bottom, plan.limit.limit)
    node = lattice.node(bottom, plan.limit.limit)
    same = node.meets and plan.expected == TableState.of(int(kept.sum()), node)
    if not same:
        raise InvalidInput(
            "The plan does not give what it says: its columns or its limit have been changed, or the table has; "
            "generalise the table again."
        )
    return np.flatnonzero(kept)


def _cut(order: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    for begin in range(0, order.size, _BATCH_ROWS):
        yield order[begin : begin + _BATCH_ROWS]


def _values(read: PeopleTable, plan: TablePlan, name: str, rows: NDArray[np.int64]) -> pa.Array:
    if name in read.kept:
        return read.kept[name].take(pa.array(rows)).combine_chunks()
    place = [one.column for one in plan.columns].index(name)
    person, level = read.columns[place], plan.columns[place]
    labels = pa.array(level.labels(person.values, person.column.numbers), pa.string())
    return labels.take(pa.array(person.column.exact[rows]))


def sha256_of(path: Path) -> str:
    """The hash of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
