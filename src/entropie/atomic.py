"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from entropie.errors import InvalidInput


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A hidden name beside `path` to write to; it takes the real name when the block ends well, else it goes."""
    target = Path(path)
    if not target.parent.is_dir():
        raise InvalidInput(f"Output {target} cannot be written: the folder {target.parent} does not exist.")
    if target.is_dir():
        raise InvalidInput(f"Output {target} cannot be written: it is a folder; name a file.")
    hidden = target.parent / f".{target.name}.{os.getpid()}-{threading.get_ident()}.part"
    try:
        yield hidden
        if hidden.exists():
            hidden.replace(target)
    finally:
        hidden.unlink(missing_ok=True)
