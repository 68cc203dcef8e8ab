"""Ids to codes: a stream of batches, judged row by row, becomes arrays of codes and ticks, and the ids behind them.

Nothing is spilled to disk: beyond the codes, which are the result, only the different ids are held, and these are in
the result too. Measured with 20 million events of a million users and 200,000 items against DuckDB doing the same:
13.7 CPU seconds and 0.97 GB from Parquet with numbers (DuckDB 15.4 s and 1.28 GB; 14.8 s and 1.09 GB when it may hold
500 MB), 32 s and 1.02 GB from CSV with texts (32 s and 1.58 GB; 38 s and 1.07 GB).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import absent_in, masked, values_of
from entropie.data.categories import category_told
from entropie.data.classify import classify_rows
from entropie.data.rejects import Rejects
from entropie.data.rules import Rules, settle, tally
from entropie.errors import InvalidInput
from entropie.progress import Progress
from entropie.request import Run

NO_USER = np.uint32(0xFFFFFFFF)  # marks a row that was dropped
_BATCH_ROWS = 1 << 17
_PENDING_BYTES = 1 << 26
_COPIES = 2  # while codes are ranked, and while rows are sorted by user
_WHOLE = r"^(0|-?[1-9]\d{0,18})$"


@dataclass(frozen=True, slots=True)
class Encoded:
    """One row per row stored: codes in order of the ids, ticks, and the ids themselves."""

    rows: int  # read, whether stored or left out on the way
    users: NDArray[np.uint32]  # NO_USER where the row was dropped
    items: NDArray[np.uint32]
    ticks: NDArray[np.int64]  # empty without a time
    user_ids: pa.Array
    item_ids: pa.Array
    categories: NDArray[np.uint32] | None = None  # NO_USER where the row names none; None without such a column


def encode(stream: Iterator[pa.RecordBatch], schema: pa.Schema, rules: Rules, rejects: Rejects, run: Run) -> Encoded:
    """Give every user and item the rank of its id as code; the same ids get the same codes in any row order."""
    with ThreadPoolExecutor(min(2, run.threads or 2)) as pool:
        return _encode(stream, schema, rules, rejects, run.progress, pool)


def _encode(
    stream: Iterator[pa.RecordBatch], schema: pa.Schema, rules: Rules, rejects: Rejects, progress: Progress,
    pool: ThreadPoolExecutor,
) -> Encoded:  # fmt: skip
    users, items = (_Codes(schema.field(role).type) for role in ("user", "item"))
    categories = _Codes(schema.field("category").type) if "category" in schema.names else None
    ticks: list[NDArray[np.int64]] = []
    tick_bytes = 0
    counts: Counter[int] = Counter()
    for batch in _small(stream):
        verdicts = classify_rows(batch, rules)
        tally(verdicts.reasons, counts, rejects)
        if counts.total() >= NO_USER:
            raise InvalidInput(f"More than {NO_USER:,} rows cannot be numbered; read a sample of the users.")
        kept = verdicts.reasons == 0
        verdicts.ticks[~kept[: verdicts.ticks.size]] = 0
        ticks.append(verdicts.ticks)
        tick_bytes += verdicts.ticks.nbytes
        for role, codes in (("user", users), ("item", items)):
            codes.add(batch.column(role), kept)
        if categories is not None:
            categories.add(batch.column("category"), kept & category_told(batch.column("category")))
        rejects.budget.keep("events", _COPIES * (users.nbytes + items.nbytes + tick_bytes))
        if users.full or items.full:
            list(pool.map(_Codes.look_up, (users, items)))
    rows = settle(counts, rules, rejects)
    (user_codes, user_ids), (item_codes, item_ids) = pool.map(_Codes.ranked, (users, items), (int(NO_USER), 0))
    named = None if categories is None else categories.ranked(int(NO_USER))[0]
    progress("encode", 1.0)
    all_ticks = np.concatenate([np.empty(0, np.int64), *ticks])
    return Encoded(rows, user_codes, item_codes, all_ticks, user_ids, item_ids, named)


def _small(stream: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Cut what a table in memory may give as one batch."""
    for batch in stream:
        for first in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(first, _BATCH_ROWS)


class _Codes:
    """Codes of one column of ids, in the order in which the ids come, and at last by rank.

    Ids wait until they are as many bytes as the different ids found before, so that looking these up again costs no
    more than the ids that wait.
    """

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        wide = pa.types.is_string(kind)  # all different ids together may be more than 2 GiB of text
        self._distinct = pa.nulls(0, pa.large_string() if wide else kind)
        self._waiting: list[pa.Array] = []
        self._waiting_bytes = 0
        self._codes: list[NDArray[np.int32]] = []  # -1 where there is none
        self._rows = 0

    def add(self, ids: pa.Array, kept: NDArray[np.bool_]) -> None:
        """Take the ids of some rows; those that are not kept have none."""
        ids = ids.cast(self._distinct.type)
        self._waiting.append(ids if kept.all() else masked(ids, kept))
        self._waiting_bytes += ids.nbytes
        self._rows += len(ids)

    @property
    def nbytes(self) -> int:
        """What codes and ids take by now."""
        return 4 * self._rows + self._waiting_bytes + int(self._distinct.nbytes)

    @property
    def full(self) -> bool:
        """Whether enough ids wait."""
        return self._waiting_bytes > max(_PENDING_BYTES, int(self._distinct.nbytes))

    def look_up(self) -> None:
        """Find the code of every id that waits."""
        known = len(self._distinct)
        encoded = pa.chunked_array([self._distinct, *self._waiting], self._distinct.type).dictionary_encode()
        if not encoded.num_chunks:
            return
        codes = [np.where(absent_in(part.indices), -1, values_of(part.indices)) for part in encoded.chunks]
        self._codes.append(np.concatenate(codes)[known:].astype(np.int32, copy=False))
        self._distinct = encoded.chunk(0).dictionary
        self._waiting, self._waiting_bytes = [], 0

    def ranked(self, blank: int) -> tuple[NDArray[np.uint32], pa.Array]:
        """The rank of every row's id among the sorted ids, `blank` where there is none, and the ids."""
        self.look_up()
        narrow = pa.types.is_large_string(self._distinct.type) and self._distinct.nbytes < 1 << 31
        labels = as_numbers(self._distinct.cast(self._kind) if narrow else self._distinct)
        order = pc.array_sort_indices(labels)
        ranks = np.empty(len(order) + 1, np.uint32)
        ranks[values_of(order)] = np.arange(len(order), dtype=np.uint32)
        ranks[-1] = blank
        codes = np.concatenate([np.empty(0, np.uint32), *(ranks[part] for part in self._codes)])
        self._codes = []
        return codes, labels.take(order)


def as_numbers(labels: pa.Array) -> pa.Array:
    """Digits are numbers, in any format of file; 007 is not the number 7, then all stay text."""
    text = pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type)
    if not text or not pc.all(pc.match_substring_regex(labels, _WHOLE)).as_py():
        return labels
    try:
        return labels.cast(pa.int64())
    except pa.ArrowInvalid:  # beyond 64 bits
        return labels
