"""Files of reports: every row carries the short id of the parameters it was made under."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import values_of
from entropie.data.budget import Budget
from entropie.data.columns import codes_of, read_columns
from entropie.data.encode import as_numbers
from entropie.data.traces import ragged
from entropie.errors import InvalidInput, ParametersMismatch, shown
from entropie.estimation.counts import Counts
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.parameters import parameters_id
from entropie.progress import Progress, silent

ID_COLUMN = "parameters"


def short_id(mechanism: Mechanism) -> str:
    """The first 16 hexadecimal digits of the parameter id: enough to tell documents apart."""
    return parameters_id(mechanism)[:16]


def to_columns(mechanism: Mechanism, reports: Any) -> dict[str, Any]:
    """Reports as columns of a table, in front the id."""
    names = mechanism.report_columns
    values = mechanism.columns_of(reports)
    rows = len(values[0])
    label = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array([short_id(mechanism)]))
    return {ID_COLUMN: pc.cast(label, pa.string()), **dict(zip(names, values, strict=True))}


def load_counts(path: Path, memory: int | None = None) -> Counts:
    """Counts saved earlier; an archive that says that it unfolds to more than the memory allowed is not opened."""
    Budget(str(path), memory).require_unpacked(path)
    return Counts.load(path)


def read_reports(path: Path, mechanism: Mechanism, progress: Progress = silent) -> Iterator[Any]:
    """Batches of reports made by `mechanism`; reports of other parameters are refused."""
    for _, columns in _batches(path, mechanism, (), progress):
        yield mechanism.reports_of(columns)


@dataclass(frozen=True, slots=True, eq=False)
class LinkedReports:
    """Reports by person, those of person u from offsets[u] on; `user_ids` are the persons' ids, as the reader has them.

    columns   the values of each column of the reports
    """

    user_ids: pa.Array
    offsets: NDArray[np.int64]
    columns: tuple[NDArray[np.uint64], ...]

    def take(self, people: NDArray[np.int64]) -> tuple[NDArray[np.int64], tuple[NDArray[np.uint64], ...]]:
        """Offsets and columns of some people, in the order named."""
        offsets, places = ragged(self.offsets, people)
        return offsets, tuple(column[places] for column in self.columns)


def read_linked_reports(
    source: object, mechanism: Mechanism, person: str, progress: Progress = silent
) -> LinkedReports:
    """All reports, linked by the column that holds the person."""
    people, parts = [], []
    for kept, columns in _batches(source, mechanism, (person,), progress):
        people.append(kept[0])
        parts.append(columns)
    encoded = pa.chunked_array(people).combine_chunks().dictionary_encode()
    if encoded.null_count:
        raise InvalidInput(f"Column `{person}` is blank in {encoded.null_count:,} rows; every report needs its person.")
    codes = values_of(encoded.indices)
    order = np.argsort(codes, kind="stable")
    offsets = np.searchsorted(codes[order], np.arange(len(encoded.dictionary) + 1)).astype(np.int64)
    columns = tuple(np.concatenate(column)[order] for column in zip(*parts, strict=True))
    return LinkedReports(as_numbers(encoded.dictionary), offsets, columns)


def _batches(
    source: object, mechanism: Mechanism, kept: tuple[str, ...], progress: Progress
) -> Iterator[tuple[list[pa.Array], tuple[NDArray[np.uint64], ...]]]:
    """Kept columns as text, and those of the reports as numbers."""
    names = mechanism.report_columns
    expected = short_id(mechanism)
    for batch, place in read_columns(source, [*kept, ID_COLUMN, *names], [*kept, ID_COLUMN], progress):
        label = batch.column(ID_COLUMN)
        for other in pc.unique(label).to_pylist():
            if other != expected:
                table = Path(source).name if isinstance(source, str | os.PathLike) else "The table"
                raise other_parameters(table, place.of(label.to_pylist().index(other)), other, expected)
        yield (
            [batch.column(name) for name in kept],
            tuple(codes_of(batch.column(name), name, bound, place) for name, bound in names.items()),
        )


def other_parameters(source: str, where: str, other: object, expected: str) -> ParametersMismatch:
    """What is said of a report that the given document is not about."""
    return ParametersMismatch(
        f"{source} has a report {where} that was made under other parameters{shown(f' ({other})')} than those of the "
        f"given document, {expected}; each set of reports goes with its own document."
    )
