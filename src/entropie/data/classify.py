"""The one judge of rows: a batch in, for every row its tick and the reason against it out.

Every row is judged by itself, so that rows may come in batches of any size, on any machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import absent_in, one_of, truths_of, values_of
from entropie.data.blocks import UNREADABLE
from entropie.data.rejects import NOT_UTF8
from entropie.data.rules import COORDINATE_FAULTS, FAULT, NULLS, REASONS, Rules
from entropie.data.ticks import read_numbers, read_ticks


@dataclass(frozen=True, slots=True)
class Verdicts:
    """One value per row: the tick (empty without a time), and the code of the reason against it, 0 for none."""

    ticks: NDArray[np.int64]
    reasons: NDArray[np.uint8]


def classify_rows(batch: pa.RecordBatch, rules: Rules) -> Verdicts:
    """Judge the rows of a batch whose columns have the normal types and are named by role."""
    columns = {role: readable(batch.column(role)) for role in batch.schema.names}
    faults = [*_id_faults(columns["user"], "user"), *_id_faults(columns["item"], "item")]
    ticks = np.zeros(0, np.int64)
    if rules.time is not None:
        read = read_ticks(columns["time"], rules.time)
        ticks = read.values
        faults += read.unread.items()
    if rules.min_rating is not None:
        ratings = read_numbers(columns["rating"])
        faults += [("unreadable rating", np.isnan(ratings)), ("rating below the minimum", ratings < rules.min_rating)]
    if FAULT in columns:
        codes = values_of(columns[FAULT])
        faults += [(reason, codes == code) for code, reason in enumerate(COORDINATE_FAULTS, 1)]
    if rules.missing_items and _is_text(columns["item"]):
        faults.append(("no item recorded", one_of(columns["item"], rules.missing_items)))
    reasons = np.zeros(batch.num_rows, np.uint8)
    for code in range(len(REASONS), 0, -1):  # the first reason is written last
        for reason, where in faults:
            if reason == REASONS[code - 1]:
                reasons[where] = code
    return Verdicts(ticks, reasons)


def _id_faults(ids: pa.Array, role: str) -> list[tuple[str, NDArray[np.bool_]]]:
    """What speaks against an id: nothing there, or a word for nothing, or a text that cannot be an id."""
    if not _is_text(ids):
        return [(f"missing {role}", absent_in(ids))]
    return [
        (f"missing {role}", absent_in(ids) | one_of(pc.utf8_trim_whitespace(ids), NULLS)),
        ("line break in an id", truths_of(pc.match_substring(ids, "\n"))),
        (NOT_UTF8, truths_of(pc.match_substring(ids, UNREADABLE))),
    ]


def readable(column: pa.Array) -> pa.Array:
    """Text as `string`, with the sign for bytes that are not UTF-8 in place of a text that holds some."""
    if pa.types.is_large_string(column.type):
        column = column.cast(pa.string())
    if not _is_text(column):
        return column
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([_decoded(text) for text in column.view(pa.binary()).to_pylist()], pa.string())
    return column


def _decoded(text: bytes | None) -> str | None:
    try:
        return None if text is None else text.decode()
    except UnicodeDecodeError:
        return UNREADABLE


def _is_text(column: pa.Array) -> bool:
    return bool(pa.types.is_string(column.type))
