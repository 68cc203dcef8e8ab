"""A report on the wire: one record of 24 bytes, a random nonce and one cell. A body is records one after the other.

    bytes 0 to 15    nonce: 16 random bytes, drawn once per report; the same bytes are sent again on a retry
    bytes 16 to 23   cell: an unsigned integer, most significant byte first

The cell says all that the report says. Randomized response: the item code that was reported, below k. Local hashing:
j * g + y, where j is the index of the hash function in the pool and y the value reported, below K * g. A record whose
cell is not below that number is invalid and counted as such; a nonce seen before makes its record a duplicate.

The same bytes come from a browser, a relay or a file. They are sent as `application/octet-stream` to
`POST /v1/collections/{id}/reports`; the answer has status 200 and is, once the reports are on the disk,

    {"accepted":1,"duplicate":0,"invalid":0}

The three numbers add up to the number of records sent. No order of records, no time and no sender is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidInput

NONCE_BYTES = 16
CELL_BYTES = 8
RECORD_BYTES = NONCE_BYTES + CELL_BYTES
MOST_RECORDS = 4096
"""Records that one body may have."""
MOST_BODY_BYTES = RECORD_BYTES * MOST_RECORDS
MEDIA_TYPE = "application/octet-stream"

_RECORD = np.dtype([("nonce", f"V{NONCE_BYTES}"), ("cell", ">u8")])


@dataclass(frozen=True, slots=True)
class Records:
    """Valid reports of a body, and how many records were not."""

    nonces: tuple[bytes, ...]
    cells: tuple[int, ...]
    invalid: int

    @property
    def sent(self) -> int:
        """Records in all."""
        return len(self.nonces) + self.invalid


def encode(nonce: bytes, cell: int) -> bytes:
    """One record."""
    if len(nonce) != NONCE_BYTES:
        raise InvalidInput(f"A nonce must have {NONCE_BYTES} bytes, got {len(nonce)} instead.")
    return nonce + cell.to_bytes(CELL_BYTES, "big")


def encode_many(nonces: NDArray[np.uint8], cells: NDArray[np.uint64]) -> bytes:
    """A body of many records: one row of 16 bytes for each cell."""
    body = np.empty((len(cells), RECORD_BYTES), np.uint8)
    body[:, :NONCE_BYTES] = nonces
    body[:, NONCE_BYTES:] = cells.astype(">u8").view(np.uint8).reshape(-1, CELL_BYTES)
    return body.tobytes()


def decode(body: bytes, cells: int) -> Records:
    """The records of a body whose cells are all below `cells`; refuses what is no whole number of records."""
    if not body or len(body) % RECORD_BYTES:
        raise InvalidInput(
            f"A body must be one or more records of {RECORD_BYTES} bytes, got {len(body)} bytes; send whole records."
        )
    if len(body) == RECORD_BYTES:
        cell = int.from_bytes(body[NONCE_BYTES:], "big")
        return Records((body[:NONCE_BYTES],), (cell,), 0) if cell < cells else Records((), (), 1)
    rows = np.frombuffer(body, _RECORD)
    found = rows["cell"].tolist()
    kept = [place for place, cell in enumerate(found) if cell < cells]
    nonces = tuple(body[RECORD_BYTES * place : RECORD_BYTES * place + NONCE_BYTES] for place in kept)
    return Records(nonces, tuple(found[place] for place in kept), len(found) - len(kept))
