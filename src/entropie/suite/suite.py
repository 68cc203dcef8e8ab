"""The suite file: entries with a name, a kind and the tables of a job, over defaults that all of them share.

[defaults.verdict]
profile = "ema"

[[entry]]
name = "checkins"
[entry.source]
events = "checkins.parquet"
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropie.errors import EntropieError, InvalidInput, meant
from entropie.suite.kinds import KINDS, Job
from entropie.toml import read_toml

MOST_ENTRIES = 1000
FILE = "check.json"
"""All that a run of a suite found, beside the folders of its entries."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
_KEYS = ("defaults", "entry")


@dataclass(frozen=True, slots=True)
class Entry:
    """One limit over one data set; its name is also that of its folder."""

    name: str
    kind: str
    job: Job


@dataclass(frozen=True, slots=True)
class Suite:
    """What is judged in one go, in the order of the file."""

    path: Path
    entries: tuple[Entry, ...]

    @classmethod
    def read(cls, path: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> Suite:
        """Read a suite; `options` overrule what every entry says, as they do beside `assess --config`."""
        tables = read_toml(path, f"Suite {path}", "`entropie check --help` shows one")
        called = f"Suite {path}"
        for key in tables:
            if key not in _KEYS:
                raise InvalidInput(f"{called} may have `defaults` and `entry`, got `{key}` instead.")
        defaults, listed = tables.get("defaults", {}), tables.get("entry", [])
        if not isinstance(defaults, dict):
            raise InvalidInput(f"{called}: `defaults` must be a table, such as [defaults.verdict].")
        if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
            raise InvalidInput(f"{called}: entries begin with [[entry]], in double brackets.")
        if not 1 <= len(listed) <= MOST_ENTRIES:
            raise InvalidInput(
                f"{called} must have 1 to {MOST_ENTRIES:,} entries ([[entry]]), got {len(listed)} instead."
            )
        names: set[str] = set()
        entries = tuple(
            _entry(called, names, place, given, defaults, options or {}) for place, given in enumerate(listed)
        )
        return cls(Path(path), entries)


def _entry(
    called: str, names: set[str], place: int, given: Mapping[str, Any], defaults: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Entry:  # fmt: skip
    tables = dict(given)
    name, kind = tables.pop("name", None), tables.pop("kind", "assess")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        rule = "`name` must be 1 to 32 letters, digits, dots, dashes or underscores, the first a letter or digit"
        raise InvalidInput(
            f"{called}, entry {place + 1}: {rule}, got {str(name)[:60]!r} instead; its folder is called so."
        )
    if name.lower() == FILE:
        raise InvalidInput(f"{called}, entry {place + 1}: {name!r} is the name of a file beside it; name it otherwise.")
    if name.lower() in names:  # some file systems do not tell capitals
        raise InvalidInput(f"{called} has two entries called {name!r}; their folders would be the same.")
    names.add(name.lower())
    if not isinstance(kind, str) or kind not in KINDS:
        rule = f"`kind` must be one of {', '.join(KINDS)}"
        raise InvalidInput(f"{called}, entry {name}: {rule}, got {kind!r} instead{meant(kind, KINDS)}")
    layers = [(f"{called}, defaults", defaults), (f"{called}, entry {name}", tables)]
    try:
        return Entry(name, kind, KINDS[kind](layers, options))
    except EntropieError as problem:
        raise of_entry(name, problem) from None


def of_entry(name: str, problem: EntropieError) -> EntropieError:
    """The same problem, said to be of an entry, with parameters as the file has them."""
    return type(problem)(f"Entry {name}: {in_file(problem)}")


def in_file(problem: EntropieError) -> str:
    """A message whose parameters are keys of a file."""
    return problem.on_command_line(lambda key: f"`{key}`").replace("Option `", "Key `")
