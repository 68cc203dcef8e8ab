"""The high-water mark beside a store: a store that has counted less than its mark says was rolled back.

The mark is written after the commits that it speaks of, so that no crash puts it ahead of the store; it may lag behind.
Whoever writes the mark holds its lock, which goes when the process does. The mark of a store in a database lies where
each process that uses the store is told to keep one of its own.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from pathlib import Path

from entropie.errors import InvalidInput, OutputFailed, printable

if sys.platform != "win32":
    import fcntl

_LINE = re.compile(rb"(?P<store>[0-9a-f]{32}) (?P<commits>[0-9]{20})\n")
_EVERY_SECONDS = 1.0


def mark_of(store: Path) -> Path:
    """The file that holds the mark of a store."""
    return store.with_name(f"{store.name}.mark")


def shown(path: Path) -> str:
    """A path as a sentence names it."""
    return printable(str(path))


def read_mark(mark: Path) -> tuple[str, int] | None:
    """Which store the mark speaks of and its commits; nothing where there is no mark yet."""
    try:
        content = mark.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise InvalidInput(f"The mark {shown(mark)} cannot be read ({problem.strerror}).") from None
    found = _LINE.fullmatch(content)
    if found is None and content:
        raise InvalidInput(f"The mark {shown(mark)} is damaged; check the store with `entropie doctor`, remove it.")
    return None if found is None else (found["store"].decode(), int(found["commits"]))


def rolled_back(store: str, mark: Path, name: str, commits: int) -> list[str]:
    """The sentence on a store that has counted less than its mark says."""
    known = read_mark(mark)
    if known is None or (known[0] == name and known[1] <= commits):
        return []
    what = (
        f"has {commits} commits, its mark says {known[1]}" if known[0] == name else "is another one than its mark says"
    )
    remedy = f"put the newest copy back, or remove {shown(mark)} to go on without what is missing"
    return [f"The store {store} was rolled back: it {what}; {remedy}."]


def in_use(store: Path) -> bool:
    """Whether a process is writing the store."""
    try:
        file = os.open(mark_of(store), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError:  # somebody else's, who may be writing
        return True
    try:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(file)


class Mark:
    """A mark that this process alone writes."""

    def __init__(self, path: Path, store: str) -> None:
        self._path = path
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            os.fchmod(self._file, 0o600)
        except OSError as problem:
            why = problem.strerror or type(problem).__name__
            raise OutputFailed(f"The mark {shown(path)} cannot be written ({why}).") from None
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._file)
                used = f"The store {store} is in use by another process"
                raise InvalidInput(f"{used} with the mark {shown(path)}; end it, or name another.") from None
        self._kept, self._highest = -_EVERY_SECONDS, 0

    @property
    def due(self) -> bool:
        """Whether the mark was not written for a while."""
        return time.monotonic() - self._kept >= _EVERY_SECONDS

    def keep(self, name: str, commits: int, *, now: bool = False) -> None:
        """Write the mark, at most once a second; a disk that does not take it leaves the old one, which is true too."""
        if (now or self.due) and commits >= self._highest:  # a database may be put back while it is used
            self._kept, self._highest = time.monotonic(), commits
            with contextlib.suppress(OSError):
                os.pwrite(self._file, f"{name} {commits:020d}\n".encode(), 0)
                os.fsync(self._file)

    def end(self) -> None:
        """Let go of the lock; a mark that says nothing goes too."""
        with contextlib.suppress(OSError):
            if os.fstat(self._file).st_size == 0:
                self._path.unlink()
        os.close(self._file)
