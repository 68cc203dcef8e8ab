"""Records that were written to files instead of being sent to a service: as files of reports, which `estimate` counts.

The rules are the service's: a record whose cell is none is invalid, and a nonce counts once, also over several files.
Rows are in the order of their nonces, which are random and are not written: it says nothing of when a record came.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from entropie.collector.document import Collection
from entropie.collector.pool import hash_functions
from entropie.collector.wire import NONCE_BYTES, RECORD_BYTES
from entropie.data.columns import TableWriter
from entropie.data.reports import to_columns
from entropie.document.printed import ReportsTaken
from entropie.errors import InvalidInput, printable
from entropie.mechanisms.local_hashing import HashedReports, LocalHashing

MOST_RECORDS = 10**8
"""Records that are taken at once: all are held in memory, about 100 bytes for each."""
_ROWS_AT_ONCE = 1 << 20


def taken(bodies: Sequence[Path], collection: Collection, writer: TableWriter) -> ReportsTaken:
    """Write the reports of these files, each once."""
    records = np.concatenate([_read(path) for path in bodies])
    if len(records) > MOST_RECORDS:
        raise InvalidInput(f"The files hold {len(records)} records, at most {MOST_RECORDS} are taken at once.")
    valid = records[records["cell"] < collection.cells]
    nonces = valid["nonce"].copy().view(">u8").reshape(-1, 2)
    order = np.lexsort((nonces[:, 1], nonces[:, 0]))  # stable: of equal nonces, the first that came is the first
    new = np.ones(len(valid), bool)
    new[1:] = (nonces[order[1:]] != nonces[order[:-1]]).any(axis=1)
    cells = valid["cell"][order[new]].astype(np.uint64)
    for begin in range(0, max(1, len(cells)), _ROWS_AT_ONCE):
        part = cells[begin : begin + _ROWS_AT_ONCE]
        writer.write(to_columns(collection.device, _reports(collection, part)))
    return ReportsTaken(len(cells), len(valid) - len(cells), len(records) - len(valid))


def _reports(collection: Collection, cells: NDArray[np.uint64]) -> NDArray[np.uint64] | HashedReports:
    device = collection.device
    if not isinstance(device, LocalHashing):
        return cells
    index, value = np.divmod(cells, np.uint64(device.hash_size))
    return HashedReports(*hash_functions(collection.seed_bytes, index, device.prime), value)


def _read(path: Path) -> NDArray[np.void]:
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise InvalidInput(f"The records {printable(str(path))} cannot be read ({problem.strerror}).") from None
    if len(content) % RECORD_BYTES:
        name, rule = printable(str(path)), f"whole records of {RECORD_BYTES} bytes"
        raise InvalidInput(f"The file {name} must hold {rule}, got {len(content)} bytes.")
    return np.frombuffer(content, np.dtype([("nonce", "u1", NONCE_BYTES), ("cell", ">u8")]))
