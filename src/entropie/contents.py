"""The content of a file that is read whole: bounded, so that no file fills the memory, or one sentence."""

from __future__ import annotations

import os
from pathlib import Path

from entropie.errors import InvalidInput

MOST_BYTES = 64 * 10**6
"""No document comes near it: a larger file is none."""


def read_bytes(
    path: str | os.PathLike[str], name: str, missing: str = "check the name", most: int = MOST_BYTES
) -> bytes:
    """The content of a document's file, called `name` in the sentence that refuses it."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(most + 1)
    except FileNotFoundError:
        raise InvalidInput(f"{name} does not exist; {missing}.") from None
    except (OSError, ValueError):
        raise InvalidInput(f"{name} cannot be read; name a file.") from None
    if len(content) > most:
        raise InvalidInput(f"{name} is larger than {most // 10**6} MB, which no such document is.")
    return content
