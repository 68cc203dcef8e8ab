"""Standard input as a file of a table: its first bytes are looked at, then all of them are read, once."""

from __future__ import annotations

import hashlib
import io
import sys
from pathlib import Path
from typing import IO

import pyarrow as pa

from entropie.data.blocks import filled
from entropie.data.files import InputFile
from entropie.errors import InvalidInput

_HEAD_BYTES = 1 << 20


class StandardInput(InputFile):
    """What comes in through a pipe: text, packed or not."""

    def __init__(self) -> None:
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None or sys.stdin.isatty():
            raise InvalidInput("Nothing comes in through standard input; pipe a table into it, or name a file.")
        self._stream: IO[bytes] = stream
        try:
            self._head = filled(stream.read, _HEAD_BYTES)
        except OSError as error:
            raise InvalidInput(f"Standard input cannot be read: {(error.strerror or str(error)).lower()}.") from None
        self.path = Path("standard input")
        self.size = len(self._head)
        self.recognise(self._head[:16])
        if self.parquet:
            raise InvalidInput("Standard input holds Parquet, which no pipe can bring; save it in a file first.")

    def open(self) -> HashedStream:  # type: ignore[override]
        """All of it; a second time there is only the beginning."""
        return HashedStream(self._head, self._stream)

    def peek(self) -> HashedStream:  # type: ignore[override]
        """The beginning, which stays to be read."""
        return HashedStream(self._head, io.BytesIO())


class HashedStream(io.RawIOBase):
    """Bytes that are digested while they are read."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        super().__init__()
        self.path = Path("standard input")
        self.position = 0
        self._parts = (io.BytesIO(head), stream)
        self._digest = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        """Read and digest."""
        data = self._parts[0].read(size) or self._parts[1].read(size)
        self._digest.update(data)
        self.position += len(data)
        return data

    def tell(self) -> int:
        """How far reading has come, in bytes."""
        return self.position

    def readable(self) -> bool:
        """It is."""
        return True

    def packed(self) -> pa.NativeFile:
        """The same for Arrow to unpack."""
        return pa.PythonFile(self, mode="r")

    def sha256(self) -> str:
        """Digest of all there was; what nobody read yet is read."""
        while self.read(1 << 22):
            pass
        return self._digest.hexdigest()

    def check_unchanged(self) -> None:
        """What has passed cannot change."""
