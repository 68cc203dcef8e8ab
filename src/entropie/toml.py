"""TOML in and out: a file of settings read with one sentence for what is wrong, and a value as such a file has it."""

from __future__ import annotations

import datetime
import json
import tomllib
from pathlib import Path
from typing import Any

from entropie.errors import InvalidInput


def read_toml(path: Path, called: str, missing: str) -> dict[str, Any]:
    """The tables of a file, called so in messages; `missing` is what to do where there is none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInput(f"{called} {path} does not exist; {missing}.") from None
    except (OSError, ValueError, RecursionError) as problem:  # what is no TOML, or no UTF-8, is a ValueError
        what = "is not TOML" if isinstance(problem, tomllib.TOMLDecodeError) else "cannot be read"
        raise InvalidInput(f"{called} {path} {what}: {problem}.") from None


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
