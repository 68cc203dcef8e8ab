"""Reading a small TOML file whose keys are known."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from entropie.errors import InvalidInput


def read_toml(
    what: str, path: str | os.PathLike[str], known: Iterable[str], required: Iterable[str] = ()
) -> dict[str, Any]:
    """The keys of a file that has all of `required` and none but `known`."""
    name, known = Path(path), tuple(known)
    try:
        found = tomllib.loads(name.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInput(f"{what} {name} does not exist; check the name.") from None
    except (IsADirectoryError, PermissionError):
        raise InvalidInput(f"{what} {name} cannot be read; name a file.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{what} {name} is not a text file in UTF-8.") from None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as problem:
        raise InvalidInput(f"{what} {name} is not TOML ({problem}).") from None
    for key in found:
        if key not in known:
            raise InvalidInput(f"{what} {name} has an unknown key `{key}`; known: {', '.join(known)}.")
    for key in required:
        if key not in found:
            raise InvalidInput(f"{what} {name} lacks the key `{key}`; needed: {', '.join(required)}.")
    return found
