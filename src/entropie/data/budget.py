"""How much memory reading may fill: counted where something is kept, in one place, whatever the format."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from entropie.errors import InputTooLarge, option
from entropie.words import size

LEAST_BYTES = 1 << 26
"""Allowed at any rate: less than the program itself takes would be no limit on data."""
EVENT_BYTES = 32
"""What an event takes at least while it is sorted: two codes and a tick, twice."""
_SHARE = 0.5
_ASIDE_BYTES = 1 << 28
"""Addresses that are asked for and not filled: what libraries reserve, and the stacks of their threads."""
_NO_MEMORY = re.compile(r"out of memory|cannot allocate memory|bad_alloc|malloc of size", re.IGNORECASE)
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class Budget:
    """Bytes that are kept of one source, by what they are, against a limit; half of the machine's if none is given."""

    def __init__(self, name: str, limit: int | None = None) -> None:
        self._name = name
        self.limit = max(LEAST_BYTES, int(_SHARE * machine_bytes()) if limit is None else limit)
        self._kept: dict[str, int] = {}

    def keep(self, what: str, kept: int) -> None:
        """Take note of how many bytes something takes by now; refuse them if all together are too many."""
        self._kept[what] = kept
        self.require(sum(self._kept.values()))

    def require(self, needed: int) -> None:
        """Refuse what takes more than is allowed."""
        if needed > self.limit:
            raise self.exceeded()

    def exceeded(self) -> InputTooLarge:
        """The error for what takes more than is allowed."""
        return InputTooLarge(
            f"{self._name} takes more memory than the {size(self.limit)} allowed for it; allow more with "
            f"{option('memory')}, or read fewer rows or columns."
        )

    @contextlib.contextmanager
    def fenced(self) -> Iterator[None]:
        """Let nothing in this block take more than is allowed, where the system can be told so.

        For libraries that cannot be told themselves. Memory that they are refused is the same error.
        """
        if sys.platform != "linux":
            yield
            return
        import resource

        taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        before, most = resource.getrlimit(resource.RLIMIT_AS)
        wanted = taken + self.limit + _ASIDE_BYTES
        fence = wanted if before == resource.RLIM_INFINITY else min(before, wanted)
        resource.setrlimit(resource.RLIMIT_AS, (fence, most))
        try:
            yield
        except Exception as problem:
            if isinstance(problem, MemoryError) or _NO_MEMORY.search(str(problem)):
                raise self.exceeded() from None
            raise
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (before, most))

    def require_unpacked(self, path: Path) -> None:
        """Refuse a file of arrays that says that it unfolds to too much; damage is told by whoever reads it."""
        try:
            with zipfile.ZipFile(path) as archive:
                needed = 2 * sum(member.file_size for member in archive.infolist())
        except Exception:  # no archive, or one whose directory makes the reader stumble
            return
        self.require(needed)


def machine_bytes() -> int:
    """Memory of this machine, or of the container that this process lives in."""
    found = [int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))]
    for place in _LIMITS:
        try:
            found.append(int(Path(place).read_text(encoding="ascii")))
        except (OSError, ValueError):  # none there, or `max`
            continue
    return min(found)
