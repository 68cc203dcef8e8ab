"""Files of reports: every row carries the short id of the parameters it was made under."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from entropie.data.budget import Budget
from entropie.data.columns import codes_of, read_columns
from entropie.errors import ParametersMismatch, shown
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
    budget = Budget(str(path), memory)
    if zipfile.is_zipfile(path):
        with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
            budget.require(2 * sum(member.file_size for member in archive.infolist()))
    return Counts.load(path)


def read_reports(path: Path, mechanism: Mechanism, progress: Progress = silent) -> Iterator[Any]:
    """Batches of reports made by `mechanism`; reports of other parameters are refused."""
    names = mechanism.report_columns
    expected = short_id(mechanism)
    for batch, place in read_columns(path, [ID_COLUMN, *names], [ID_COLUMN], progress):
        label = batch.column(0)
        for other in pc.unique(label).to_pylist():
            if other != expected:
                raise other_parameters(path.name, place.of(label.to_pylist().index(other)), other, expected)
        columns = [codes_of(batch.column(i + 1), name, bound, place) for i, (name, bound) in enumerate(names.items())]
        yield mechanism.reports_of(tuple(columns))


def other_parameters(source: str, where: str, other: object, expected: str) -> ParametersMismatch:
    """What is said of a report that the given document is not about."""
    return ParametersMismatch(
        f"{source} has a report {where} that was made under other parameters{shown(f' ({other})')} than those of the "
        f"given document, {expected}; estimate each set of reports with its own document."
    )
