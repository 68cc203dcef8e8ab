"""Parquet files, which may declare or unfold to far more than they are: how they are opened, and how much at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from entropie.data.budget import Budget
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


def batch_rows(path: Path, metadata: Any, groups: Sequence[int], columns: Sequence[str], budget: Budget) -> int:
    """How many rows to decode at once, so that a batch has a bounded size; refuses a page that may be too large."""
    rows, most = BATCH_ROWS, min(_BATCH_BYTES, int(_BATCH_SHARE * budget.limit))
    for group in groups:
        for chunk in _chunks(metadata.row_group(group), columns):
            budget.require(chunk.total_uncompressed_size)
            if chunk.physical_type != "BYTE_ARRAY":
                continue
            longest = min(chunk.total_uncompressed_size, most)
            if chunk.has_dictionary_page and longest * min(rows, chunk.num_values) > most:
                rows = min(rows, most // max(1, _longest_text(path, group, chunk.path_in_schema)))
            if "DELTA_BYTE_ARRAY" in chunk.encodings:
                rows = min(rows, _PREFIXED_ROWS)
    return max(1, rows)


def _chunks(group: Any, columns: Sequence[str]) -> list[Any]:
    """The parts of a row group that belong to some columns, nested ones too."""
    wanted = set(columns)
    chunks = map(group.column, range(group.num_columns))
    return [chunk for chunk in chunks if chunk.path_in_schema in wanted or chunk.path_in_schema.split(".")[0] in wanted]


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
