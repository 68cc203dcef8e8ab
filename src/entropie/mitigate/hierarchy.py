"""Groups of items from a file: one row per item, `;` between its levels, the item first, as ARX writes them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from entropie.contents import read_bytes
from entropie.errors import InvalidInput, InvalidParameter
from entropie.words import plural


def rows_of(path: Path) -> list[tuple[int, list[str]]]:
    """The rows of a file that are not empty, and their numbers."""
    name = f"Hierarchy {path}"
    try:
        text = read_bytes(path, name).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not a text file in UTF-8.") from None
    rows = csv.reader(text.splitlines(), delimiter=";")
    try:
        return [(number, row) for number, row in enumerate(rows, start=1) if row]
    except csv.Error:
        raise InvalidInput(f"{name} has a field that is longer than any name; shorten it.") from None


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """What stands for each item at one level; level 1 is the first after the item itself."""

    file: str
    level: int
    group_of: dict[str, str]

    @classmethod
    def parse(cls, setting: str) -> tuple[Path, int]:
        """Read FILE:LEVEL; the level is 1 where none is given."""
        name, colon, level = setting.rpartition(":")
        if colon and level.isascii() and level.isdigit() and len(level) < 4 and int(level) >= 1 and name:
            return Path(name), int(level)
        if not setting or (colon and level.lstrip("-").isdigit()):
            raise InvalidParameter.of("hierarchy", "a file and a level from 1, such as places.csv:2", setting)
        return Path(setting), 1

    @classmethod
    def read(cls, setting: str) -> Hierarchy:
        """Read one level of a file."""
        path, level = cls.parse(setting)
        name = f"Hierarchy {path}"
        found: dict[str, str] = {}
        for number, row in rows_of(path):
            if len(row) <= level:
                have = plural(max(0, len(row) - 1), "level")
                raise InvalidInput(f"{name} has {have} in row {number}, level {level} was asked for; name another.")
            if found.setdefault(row[0], row[level]) != row[level]:
                raise InvalidInput(f"{name} names two groups for the item of row {number}; leave one.")
        return cls(str(path), level, found)

    def groups(self, names: pa.Array) -> pa.Array:
        """The group of every item."""
        items = names.to_pylist()
        missing = sum(item not in self.group_of for item in items)
        if missing:
            raise InvalidInput(
                f"Hierarchy {self.file} has no row for {missing:,} of {plural(len(items), 'item')} of the events; "
                "add a row for each."
            )
        return pa.array([self.group_of[item] for item in items], pa.large_string())
