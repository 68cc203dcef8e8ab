"""Files as they are on disk: which ones a path names, their digest, and whether they held still."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from entropie.errors import InvalidInput, shown

# What a folder may hold beside the events: Spark's markers, hidden files, read-me files.
_DATA_SUFFIXES = {".csv", ".tsv", ".txt", ".dat", ".data", ".parquet", ".pq", ".jsonl", ".ndjson"}
_PACKED_SUFFIXES = {".gz", ".zst", ".bz2"}
_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
_FOREIGN = {
    b"PK\x03\x04": "a zip archive (or a spreadsheet); unpack it first, or save it as CSV",
    b"\xfd7zXZ\x00": "packed with xz; unpack it first, or pack it with gzip or zstd",
    b"ARROW1": "an Arrow file; read it with pyarrow and pass the table, or save it as Parquet",
    b"\x89HDF": "an HDF5 file; save it as CSV or Parquet",
    b"SQLite format 3": "a SQLite database; read it with --source sqlite:FILE --table T",
}


class HashedFile:
    """A file that is digested while it is read, and whose size and date are compared when it is done."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0  # how far reading has come, in bytes
        self._digested = 0
        self._digest = hashlib.sha256()
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise _closed_to_us(path, error) from None
        self._before = os.fstat(self._file.fileno())

    def read(self, size: int = -1, /) -> bytes:
        """Read and digest."""
        data = self._file.read(size)
        self._digest.update(data)
        self._digested += len(data)
        self.position = max(self.position, self._digested)
        return data

    def packed(self) -> pa.NativeFile:
        """The same file for Arrow to unpack."""
        return pa.OSFile(os.fsencode(self.path))

    def __enter__(self) -> HashedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def sha256(self) -> str:
        """Digest what nobody read yet, and make sure that the file is still the one that was opened."""
        while self.read(1 << 22):
            pass
        self.check_unchanged()
        if self._digested != self._before.st_size:
            raise changed(self.path)
        return self._digest.hexdigest()

    def check_unchanged(self) -> None:
        """Compare size, date and identity with those at the beginning."""
        try:
            now = self.path.stat()
        except OSError:
            raise changed(self.path) from None
        if any(getattr(now, key) != getattr(self._before, key) for key in ("st_size", "st_mtime_ns", "st_ino")):
            raise changed(self.path)


class Unpacked:
    """The bytes of a file, unpacked on the way; Arrow reads a packed file itself, and only when it is asked to."""

    def __init__(self, file: HashedFile, packing: str | None) -> None:
        self._file = file
        self._packed = None if packing is None else file.packed()
        self._stream = None if packing is None else pa.CompressedInputStream(self._packed, packing)

    def read(self, size: int) -> bytes:
        """At most so many bytes, none only at the end."""
        if self._stream is None or self._packed is None:
            return self._file.read(size)
        data: bytes = self._stream.read(size)
        self._file.position = self._packed.tell()
        return data

    def __enter__(self) -> Unpacked:
        return self

    def __exit__(self, *_: object) -> None:
        for opened in (self._stream, self._packed):
            if opened is not None:
                opened.close()


class InputFile:
    """One file of the input: what it is, judged by its first bytes, and how large."""

    __slots__ = ("packing", "parquet", "path", "size")

    def __init__(self, path: Path) -> None:
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise InvalidInput(f"{path} is not an ordinary file; save the table in a file first.")
            with path.open("rb") as file:
                head = file.read(16)
        except OSError as error:
            raise _closed_to_us(path, error) from None
        self.path = path
        self.size = status.st_size
        self.recognise(head)
        if not self.parquet and path.suffix.lower() in {".parquet", ".pq"}:
            raise InvalidInput(f"{path} is named like Parquet but does not begin like it; write it again.")

    def recognise(self, head: bytes) -> None:
        """Tell by the first bytes what it is, and refuse what is no table."""
        if not head:
            raise InvalidInput(f"{self.path} is empty; a table needs a header and at least one row.")
        for magic, what in _FOREIGN.items():
            if head.startswith(magic):
                raise InvalidInput(f"{self.path} is {what}.")
        self.parquet = head.startswith(b"PAR1")
        self.packing = next((name for magic, name in _PACKED.items() if head.startswith(magic)), None)

    def open(self) -> HashedFile:
        """All of it, from the beginning."""
        return HashedFile(self.path)

    def peek(self) -> HashedFile:
        """The beginning, which stays to be read."""
        return HashedFile(self.path)

    def unreadable(self, error: Exception) -> InvalidInput:
        """Say what an error of reading means to whoever owns the file; a lack of memory is none of the file's."""
        if isinstance(error, MemoryError):
            raise error
        text = str(error)
        if "runcated" in text:
            return InvalidInput(f"{self.path} ends early: its {self.packing} stream is cut off; fetch it again.")
        if self.packing and re.search("inflate|ZSTD|bz2", text, re.IGNORECASE):
            return InvalidInput(
                f"{self.path} is damaged: its {self.packing} stream cannot be unpacked; fetch it again."
            )
        return InvalidInput(f"{self.path} cannot be read{shown(f' ({text})')}; fetch it again.")


def find_files(source: str | os.PathLike[str], suffixes: frozenset[str] | None = None) -> list[Path]:
    """Turn a path, a folder or a glob into the files it names, in order of their names."""
    try:
        return _found(os.fspath(source), suffixes)
    except OSError as error:
        raise _closed_to_us(Path(error.filename or source), error) from None


def _found(text: str, suffixes: frozenset[str] | None) -> list[Path]:
    path = Path(text)
    if path.is_dir():
        files = sorted(p for p in _files_below(path) if _is_data(p.relative_to(path), suffixes))
        if not files:
            wanted = ", ".join(sorted(suffixes or _DATA_SUFFIXES))
            raise InvalidInput(f"Folder {text} holds no table; looked for {wanted} (also .gz, .zst, .bz2).")
        return files
    if path.exists():
        return [path]
    if glob.has_magic(text):
        files = sorted(Path(name) for name in glob.glob(text, recursive=True) if Path(name).is_file())  # noqa: PTH207
        if not files:
            raise InvalidInput(f"No file matches {text}; quote the pattern and check the folder.")
        return files
    raise InvalidInput(f"{text} does not exist; give a file, a folder or a quoted glob.")


def _files_below(folder: Path) -> Iterator[Path]:
    """All files of a folder but hidden ones; a folder in it that is closed to us is not passed over."""

    def refuse(error: OSError) -> None:
        raise error

    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        yield from (file for file in (Path(place, name) for name in names) if file.is_file())


def combined_digest(digests: Sequence[tuple[str, str]]) -> str:
    """Name several files by one digest: that of their `sha256sum` listing; a single file keeps its own."""
    if len(digests) == 1:
        return digests[0][1]
    listing = "".join(f"{digest}  {name}\n" for name, digest in digests)
    return hashlib.sha256(listing.encode()).hexdigest()


def _is_data(path: Path, suffixes: frozenset[str] | None) -> bool:
    if any(part.startswith((".", "_")) for part in path.parts) or path.name.lower().startswith("readme"):
        return False
    names = [suffix.lower() for suffix in path.suffixes]
    if names and names[-1] in _PACKED_SUFFIXES:
        names.pop()
    return bool(names) and names[-1] in (suffixes or _DATA_SUFFIXES)


def changed(path: Path) -> InvalidInput:
    """The error for a file that did not hold still."""
    return InvalidInput(f"{path} changed while it was read; copy it, then read the copy.")


def _closed_to_us(path: Path, error: OSError) -> InvalidInput:
    return InvalidInput(f"{path} cannot be opened: {(error.strerror or str(error)).lower()}.")
