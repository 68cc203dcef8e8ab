"""How much memory reading may fill: counted where something is kept, in one place, whatever the format."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from entropie.errors import InputTooLarge, option
from entropie.words import size

LEAST_BYTES = 1 << 26
"""Allowed at any rate: less than the program itself takes would be no limit on data."""
EVENT_BYTES = 32
"""What an event takes at least while it is sorted: two codes and a tick, twice."""
_SHARE = 0.5
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
            raise InputTooLarge(
                f"{self._name} takes more memory than the {size(self.limit)} allowed for it; allow more with "
                f"{option('memory')}, or read fewer rows or columns."
            )

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
