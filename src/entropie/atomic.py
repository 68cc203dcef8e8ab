"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from entropie.errors import InvalidInput, option


def refuse_overwriting(inputs: Iterable[Path | None], outputs: Iterable[Path | None]) -> None:
    """Refuse outputs that are one of the inputs, or one another: nothing that was read may be lost."""
    read = {path.resolve() for path in inputs if path is not None}
    written: set[Path] = set()
    for path in outputs:
        if path is None:
            continue
        if path.resolve() in read:
            raise InvalidInput(f"Output {path} is also an input and would be lost; name another file.")
        if path.resolve() in written:
            raise InvalidInput(f"Output {path} is named twice; name another file.")
        written.add(path.resolve())


def check_folder(out: Path) -> None:
    """Refuse a folder that cannot be made before hours are spent on what would go there."""
    existing = next(place for place in (out.absolute(), *out.absolute().parents) if place.exists())
    try:
        usable = existing.is_dir() and os.access(existing, os.W_OK)
        if usable:
            tempfile.TemporaryFile(dir=existing).close()  # some file systems refuse only here
    except OSError:
        usable = False
    if not usable:
        raise InvalidInput(f"Folder {out} cannot be written to; name another with {option('out')}.")


def check_file(target: Path) -> None:
    """Refuse a file that cannot be made: its folder must be there, and it must not be a folder itself."""
    if not target.parent.is_dir():
        raise InvalidInput(f"Output {target} cannot be written: the folder {target.parent} does not exist.")
    if target.is_dir():
        raise InvalidInput(f"Output {target} cannot be written: it is a folder; name a file.")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A hidden name beside `path` to write to; it takes the real name when the block ends well, else it goes."""
    target = Path(path)
    check_file(target)
    hidden = target.parent / f".{target.name}.{os.getpid()}-{threading.get_ident()}.part"
    try:
        yield hidden
        if hidden.exists():
            hidden.replace(target)
    finally:
        hidden.unlink(missing_ok=True)
