"""TOML in and out: a file of settings read with one sentence for what is wrong, and a value as such a file has it."""

from __future__ import annotations

import datetime
import json
import os
import tomllib
from typing import Any

from entropie.contents import read_bytes
from entropie.errors import InvalidInput

MOST_BYTES = 10**6
"""No file of settings comes near it."""
_MOST_DOTS = 200  # of a line: the time that a dotted key takes grows with the square of its parts


def read_toml(path: str | os.PathLike[str], name: str, missing: str = "check the name") -> dict[str, Any]:
    """The tables of a file, called `name` in messages; `missing` is what to do where there is none."""
    content = read_bytes(path, name, missing, MOST_BYTES)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not a text file in UTF-8.") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > _MOST_DOTS:
            raise InvalidInput(f"{name} has more than {_MOST_DOTS} dots in line {number:,}; break the line.")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InvalidInput(f"{name} is not TOML: its values are nested too deeply.") from None
    except ValueError as problem:  # also a number of thousands of digits
        raise InvalidInput(f"{name} is not TOML: {problem}.") from None


def toml_value(value: Any) -> str:
    """A value as a TOML file has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return json.dumps(str(value), ensure_ascii=False)
