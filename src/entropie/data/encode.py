"""Ids to codes: a table that fits is encoded in memory, a larger one streams through DuckDB; the answer is the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import pyarrow as pa

from entropie.data.encode_small import encode_small
from entropie.data.encoding import NO_USER, Encoded, Rules
from entropie.data.rejects import Rejects
from entropie.request import Run

__all__ = ["NO_USER", "Encoded", "Rules", "encode"]

# DuckDB takes 80 MB before the first row; up to these limits it is cheaper to do without, in time and in memory.
_SMALL_ROWS = 1 << 18
_SMALL_BYTES = 1 << 24


def encode(
    stream: Iterator[pa.RecordBatch],
    schema: pa.Schema,
    rules: Rules,
    rejects: Rejects,
    run: Run,
) -> Encoded:
    """Give every user and item the rank of its id as code; the same ids get the same codes in any row order.

    A memory limit is DuckDB's to keep, so that with one every table goes there.
    """
    if run.memory is None:
        held, ended = _hold(stream)
        found = encode_small(held, schema, rules, rejects) if ended else None
        if found is not None:
            run.progress("encode", 1.0)
            return found
        stream = _released(held, stream)
    from entropie.data.encode_duckdb import encode_large

    return encode_large(stream, schema, rules, rejects, run)


def _hold(stream: Iterator[pa.RecordBatch]) -> tuple[deque[pa.RecordBatch], bool]:
    """Keep batches until the limits of a small table; say whether the stream ended before."""
    held: deque[pa.RecordBatch] = deque()
    rows = size = 0
    for batch in stream:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows > _SMALL_ROWS or size > _SMALL_BYTES:
            return held, False
    return held, True


def _released(held: deque[pa.RecordBatch], stream: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pass on what was held, letting go of it, then the rest."""
    while held:
        yield held.popleft()
    yield from stream
