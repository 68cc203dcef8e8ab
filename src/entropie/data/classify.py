"""What a row is worth: why it cannot be used, or its tick; judged in memory, and by DuckDB what only it can judge.

Every row is judged by itself, so that rows may come in batches of any size, on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import absent_in, from_numpy, truths_of, values_of
from entropie.data.encoding import NULLS, Rules, is_text, reason_code
from entropie.data.rejects import NOT_UTF8
from entropie.data.text import UNREADABLE
from entropie.data.ticks import one_of, read_numbers, read_ticks

__all__ = ["Ids", "Judged", "Verdicts", "classify", "judge"]

_WHOLE = r"^(0|-?[1-9]\d{0,18})$"


@dataclass(frozen=True, slots=True)
class Verdicts:
    """One value per row: the tick (empty without a time), and the code of the reason against it, 0 for none."""

    ticks: NDArray[np.int64]
    reasons: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Judged:
    """Rows judged in memory, with their ids."""

    users: Ids
    items: Ids
    verdicts: Verdicts


def classify(batch: pa.RecordBatch, rules: Rules, name: str) -> Verdicts:
    """Judge the rows of one batch; `name` is what messages call the table."""
    judged = judge([batch], batch.schema, rules)
    if judged is not None:
        return judged.verdicts
    from entropie.data.encode_duckdb import classify_large

    return Verdicts(*classify_large(batch, rules, name))


def judge(batches: Sequence[pa.RecordBatch], schema: pa.Schema, rules: Rules) -> Judged | None:
    """Judge the rows of all batches at once; None if a text can be read by DuckDB alone."""
    columns = {}
    for role in schema.names:
        column = _column(batches, schema, role)
        if column is None:
            return None
        columns[role] = column
    reasons = np.zeros(len(columns["user"]), np.uint8)
    users, items = (Ids.of(columns[role]) for role in ("user", "item"))
    for role, ids in (("user", users), ("item", items)):
        _mark(reasons, ids.absent(), f"missing {role}")
    ticks = np.zeros(0, np.int64)
    if rules.time is not None:
        read = read_ticks(columns["time"], rules.time)
        if read is None:
            return None
        ticks = read.values
        for reason, where in read.unread.items():
            _mark(reasons, where, reason)
    if rules.min_rating is not None:
        stars = read_numbers(columns["rating"])
        if stars is None:
            return None
        _mark(reasons, np.isnan(stars), "unreadable rating")
        _mark(reasons, stars < rules.min_rating, "rating below the minimum")
    for role, ids in (("user", users), ("item", items)):
        for reason, where in ids.unusable(role, rules).items():
            _mark(reasons, where, reason)
    return Judged(users, items, Verdicts(ticks, reasons))


def _column(batches: Sequence[pa.RecordBatch], schema: pa.Schema, role: str) -> pa.Array | None:
    """One column of all batches, text as `string`; None if its text is not UTF-8."""
    chunks = pa.chunked_array([batch.column(role) for batch in batches], schema.field(role).type)
    if is_text(schema, role):
        chunks = chunks.cast(pa.string(), safe=False)
    column = chunks.combine_chunks()
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return column


def _mark(reasons: NDArray[np.uint8], where: NDArray[np.bool_], reason: str) -> None:
    """Give a reason to rows that have none."""
    reasons[where & (reasons == 0)] = reason_code(reason)


@dataclass(frozen=True, slots=True)
class Ids:
    """A column of ids: the distinct ones as they come, and for each row the place among them."""

    distinct: pa.Array
    places: NDArray[np.int64]  # the number of distinct ids where there is none

    @classmethod
    def of(cls, column: pa.Array) -> Ids:
        """Collect the distinct ids of a column."""
        encoded = column.dictionary_encode()
        places = values_of(encoded.indices).astype(np.int64)
        places[absent_in(encoded.indices)] = len(encoded.dictionary)
        return cls(encoded.dictionary, places)

    def absent(self) -> NDArray[np.bool_]:
        """Rows with nothing or an empty text."""
        empty = one_of(self.distinct, ("",)) if self._text else np.zeros(len(self.distinct), np.bool_)
        return np.append(empty, True)[self.places]

    def unusable(self, role: str, rules: Rules) -> dict[str, NDArray[np.bool_]]:
        """Rows whose id's text speaks against them, by reason, the first reason first."""
        if not self._text:
            return {}
        tests = {
            f"missing {role}": one_of(self.distinct, NULLS, trimmed=True),
            NOT_UTF8: _has(self.distinct, UNREADABLE),
            "line break in an id": _has(self.distinct, "\n"),
        }
        if role == "item" and rules.missing_items:
            tests["no item recorded"] = one_of(self.distinct, rules.missing_items)
        return {reason: np.append(found, False)[self.places] for reason, found in tests.items()}

    def ranked(self, kept: NDArray[np.bool_], blank: int) -> tuple[NDArray[np.uint32], pa.Array]:
        """Number the ids of the rows that are kept in their order; the other rows get `blank`."""
        used = np.zeros(len(self.distinct), np.bool_)
        used[self.places[kept]] = True
        labels = self._numbers(self.distinct.filter(from_numpy(used)))
        order = pc.array_sort_indices(labels)
        ranks = np.empty(len(order), np.uint32)
        ranks[values_of(order)] = np.arange(len(order), dtype=np.uint32)
        codes = np.full(len(used) + 1, blank, np.uint32)
        codes[:-1][used] = ranks
        return np.where(kept, codes[self.places], np.uint32(blank)), labels.take(order)

    @property
    def _text(self) -> bool:
        return bool(pa.types.is_string(self.distinct.type))

    def _numbers(self, labels: pa.Array) -> pa.Array:
        """Digits are numbers, in any format of file; 007 is not the number 7, then all stay text."""
        if not self._text or not pc.all(pc.match_substring_regex(labels, _WHOLE)).as_py():
            return labels
        try:
            return labels.cast(pa.int64())
        except pa.ArrowInvalid:  # beyond 64 bits
            return labels


def _has(texts: pa.Array, piece: str) -> NDArray[np.bool_]:
    return truths_of(pc.match_substring(texts, piece))
