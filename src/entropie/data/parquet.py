"""Parquet files, which may declare or unfold to far more than they are: how they are opened, and how much at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from entropie.data.budget import Budget
from entropie.data.footer import chunks_of
from entropie.errors import InvalidInput, shown

if TYPE_CHECKING:
    import pyarrow.parquet as pq

DAMAGE = (pa.ArrowException, OSError, UnicodeDecodeError)
"""What a damaged file makes Arrow raise; the last where a name in it is not UTF-8."""
BATCH_ROWS = 1 << 17
_BATCH_BYTES, _BATCH_SHARE = 1 << 26, 1 / 16  # of the memory allowed: a batch is decoded, judged and coded
_PREFIXED_ROWS = 1 << 10
"""Where each text may repeat the one before (DELTA_BYTE_ARRAY), nothing tells how long they are: few at a time."""


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a file, or say that it is damaged."""
    import pyarrow.parquet as pq  # text needs none of it

    try:
        opened = pq.ParquetFile(path)
        _ = opened.schema_arrow.names  # may be no text
        return opened
    except DAMAGE as error:
        raise damaged(path, error) from None


def damaged(path: Path, error: Exception | str) -> InvalidInput:
    """The error for a file that cannot be decoded; what a reader says of it may quote the file."""
    if isinstance(error, MemoryError):
        raise error
    first = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    why = f" ({first})" if isinstance(error, str) else shown(f" ({first})")
    return InvalidInput(f"{path} is damaged or ends early, Parquet cannot be read{why}; fetch it again.")


def batch_rows(
    path: Path, source: pq.ParquetFile, groups: Sequence[int], columns: Sequence[str], budget: Budget
) -> int:
    """How many rows to decode at once, so that a batch has a bounded size; refuses a page that may be too large."""
    rows, most = BATCH_ROWS, min(_BATCH_BYTES, int(_BATCH_SHARE * budget.limit))
    names = [source.schema.column(column).path for column in range(len(source.schema.names))]
    wanted = frozenset(column for column, name in enumerate(names) if {name, name.split(".")[0]} & set(columns))
    chunks = chunks_of(path, wanted)
    if len(chunks) != source.metadata.num_row_groups:
        raise damaged(path, "its footer was read in two ways")
    for place, chunk in [(group, chunk) for group in groups for chunk in chunks[group]]:
        budget.require(chunk.unpacked)
        if not chunk.text:
            continue
        longest = min(chunk.unpacked, most)
        if chunk.dictionary and longest * min(rows, chunk.values) > most:
            rows = min(rows, most // max(1, _longest_text(path, place, names[chunk.column])))
        if chunk.prefixed:
            rows = min(rows, _PREFIXED_ROWS)
    return max(1, rows)


def _longest_text(path: Path, group: int, column: str) -> int:
    """Bytes of the longest text in the dictionary of a column, which any row may repeat."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, read_dictionary=[column], pre_buffer=False) as source:
        for batch in source.iter_batches(1, row_groups=[group], columns=[column], use_threads=False):
            values = batch.column(0)
            if pa.types.is_dictionary(values.type):
                return int(pc.max(pc.binary_length(values.dictionary)).as_py() or 0)
            break
    return 0
