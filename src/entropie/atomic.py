"""Files that appear whole or not at all, for their owner's eyes, with nothing left of a run that died.

A file is written under a hidden name, made new and readable by its owner alone, and takes its real name when it is
complete and on the disk. While a process writes it, it holds the system's lock on it, which goes when the process does:
a hidden file without a lock is what a dead run left, and the next run into that folder removes it. A folder of results
is locked in the same way for as long as a run is at work, so that two runs do not mix their files.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path

from entropie.errors import InvalidInput, OutputFailed, option, printable

if sys.platform != "win32":  # there nothing is kept out, and nothing is swept
    import fcntl

_PART = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}\.entropie-part", re.DOTALL)
FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota of this user is used up",
    errno.EFBIG: "a file may not become so large here (see `ulimit -f`)",
}
_REASONS = {
    errno.EACCES: "this user may not write there",
    errno.EPERM: "this user may not write there",
    errno.EROFS: "the disk can only be read",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EIO: "the disk reports an error",
}

_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}  # what file systems say that have nothing to wait for

_public: ContextVar[bool] = ContextVar("_public", default=False)
_naming = threading.RLock()  # held while files take their names, and for good once a run is given up
_unfinished: dict[Path, int] = {}  # hidden files of this process, and the descriptors that hold their locks
_made: list[Path] = []  # folders that a run at work made
_written: list[Path] = []


@contextlib.contextmanager
def publicly() -> Iterator[None]:
    """Let everybody read what is written in this block, as far as the process's umask allows it."""
    before = _public.set(True)
    try:
        yield
    finally:
        _public.reset(before)


def written(*, forget: bool = False) -> tuple[Path, ...]:
    """The files that took their names in this process, or since this was last told to forget them."""
    found = tuple(_written)
    if forget:
        _written.clear()
    return found


def refuse_overwriting(inputs: Iterable[Path | None], outputs: Iterable[Path | None]) -> None:
    """Refuse outputs that are one of the inputs, or one another: nothing that was read may be lost.

    An input may be a folder or a pattern: then it is every file in it.
    """
    read = {one for path in inputs if path is not None for file in _files_of(path) for one in _identities(file)}
    taken: set[object] = set()
    for path in outputs:
        if path is None:
            continue
        known = _identities(path)
        if known & read:
            raise InvalidInput(f"Output {_shown(path)} is also an input and would be lost; name another file.")
        if known & taken:
            raise InvalidInput(f"Output {_shown(path)} is named twice; name another file.")
        taken |= known


def _files_of(path: Path) -> Iterator[Path]:
    yield path
    if _exists(path) and path.is_dir():
        yield from (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    elif not _exists(path):
        yield from map(Path, glob.iglob(str(path), recursive=True))  # noqa: PTH207 - a pattern of any kind


def _identities(path: Path) -> set[object]:
    """What tells that two names are one file: the resolved name, and the file behind any link."""
    with contextlib.suppress(OSError):
        found = path.stat()
        return {path.resolve(), (found.st_dev, found.st_ino)}
    return {Path(os.path.realpath(path))}  # also of a name that is too long to be one


_ELSEWHERE = f"name another with {option('folder')}"


def check_folder(out: Path, remedy: str = _ELSEWHERE) -> None:
    """Refuse a folder that cannot be made or filled before hours are spent on what would go there."""
    existing = _existing(out)
    try:
        usable = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
        if usable:
            with tempfile.TemporaryFile(dir=existing) as probe:  # some file systems refuse only here
                probe.write(b"\0")  # a disk without any room refuses one byte
    except OSError as problem:
        if problem.errno in FULL:
            raise _failed(f"Folder {_shown(out)}", existing, problem) from None
        usable = False
    if not usable:
        raise InvalidInput(f"Folder {_shown(out)} cannot be written to; {remedy}.")
    _refuse_foreign(existing, out, remedy)


def _exists(place: Path) -> bool:
    try:
        return place.exists()
    except OSError:  # a name that is too long, or below a folder that is closed
        return False


def _refuse_foreign(existing: Path, out: Path, remedy: str) -> None:
    """In a folder that everybody shares, refuse a place that somebody else has made ready under the name wanted."""
    if existing != out.absolute() or not hasattr(os, "geteuid"):
        return
    shared = existing.parent.stat().st_mode & stat.S_ISVTX and existing.parent.stat().st_mode & stat.S_IWOTH
    if shared and not {existing.lstat().st_uid, existing.stat().st_uid} <= {0, os.geteuid()}:
        raise InvalidInput(f"Folder {_shown(out)} belongs to somebody else; {remedy}.")


def check_file(target: Path) -> None:
    """Refuse a file that cannot be made: its folder must be there, and nothing but a file may have its name."""
    if not _exists(target.parent) or not target.parent.is_dir():
        fault = "is none" if _exists(target.parent) else "does not exist"
        raise InvalidInput(f"Output {_shown(target)} cannot be written: the folder {_shown(target.parent)} {fault}.")
    if _exists(target) and not target.is_file():
        fault = "a folder; name a file" if target.is_dir() else "not a plain file; name another"
        raise InvalidInput(f"Output {_shown(target)} cannot be written: it is {fault}.")
    check_folder(target.parent, "name a file in another")


@contextlib.contextmanager
def claimed(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a folder where there is none, remove what dead runs left in it, and keep other runs out of it meanwhile.

    Where nothing is written in the end, a folder that was made for it goes again.
    """
    out = Path(folder)
    check_folder(out)
    made = [place for place in (out, *out.parents) if not _exists(place)]
    lock = None
    try:
        while lock is None:
            _make(out)
            with _naming:
                _made.extend(made)
            lock = _lock_folder(out)
        remove_leftovers(out)
        yield out
    finally:
        if lock is not None:
            os.close(lock)
        with _naming:
            _remove_empty(made)
            _made[:] = [place for place in _made if place not in made]


def _make(out: Path) -> None:
    mode = 0o755 if _public.get() else 0o700
    try:
        for place in reversed([out, *out.parents]):
            if not _exists(place):
                place.mkdir(mode=mode, exist_ok=True)
                if mode == 0o700:
                    place.chmod(mode)  # whatever the umask
    except OSError as problem:
        raise _failed(f"Folder {_shown(out)}", out, problem) from None


def _lock_folder(out: Path) -> int | None:
    """A descriptor that holds the folder's lock; none where the folder is another one by now."""
    try:
        place = os.open(out, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except FileNotFoundError:
        return None
    except PermissionError:
        raise InvalidInput(f"Folder {_shown(out)} cannot be read, only written to; {_ELSEWHERE}.") from None
    if not _take(place):
        os.close(place)
        raise InvalidInput(
            f"Folder {_shown(out)} is being written to by another run; wait for its end, or {_ELSEWHERE}."
        )
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(place), out.stat()):
            return place
    os.close(place)
    return None


def _take(place: int) -> bool:
    """Take the lock of an open file or folder; where the file system has none, it counts as taken."""
    if sys.platform != "win32":
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            return not isinstance(problem, BlockingIOError)
    return True


def remove_leftovers(folder: Path, name: str | None = None) -> None:
    """Remove hidden files of dead runs; refuse where another run is writing the file `name` just now."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(FileNotFoundError, PermissionError), os.scandir(folder) as entries:
        for entry in entries:
            found = _PART.fullmatch(entry.name)
            if found is None or not entry.is_file(follow_symlinks=False):
                continue
            if not _removed(Path(entry.path)) and name is not None and found["name"] == name:
                busy = f"Output {_shown(folder / name)} is being written by another run"
                raise InvalidInput(f"{busy}; wait for its end, or name another file.")


def _removed(hidden: Path) -> bool:
    """Remove a hidden file unless the process that writes it lives."""
    try:
        place = os.open(hidden, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return True
    except OSError:  # somebody else's
        return False
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        hidden.unlink(missing_ok=True)
    except OSError:  # it has its lock, or there are no locks
        return False
    finally:
        os.close(place)
    return True


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, alone: bool = True) -> Iterator[Path]:
    """A hidden file beside `path` to write to; it takes the real name when the block ends well, else it goes.

    It is named by its descriptor: once it is gone, as in a run that is given up, no opening makes it again. Where
    another run is writing the same file, this is refused, unless `alone` is not asked for: the last one stays.
    """
    target = Path(path)
    check_file(target)
    remove_leftovers(target.parent, target.name if alone else None)
    hidden = _begin(target)
    try:
        yield _by_descriptor(hidden)
        _settle(hidden, target)
        with _naming:
            _name(hidden, target)
        _settle_folder(target.parent)
    except OSError as problem:
        if problem.errno in FULL and not isinstance(problem, OutputFailed):
            raise _failed(f"Output {_shown(target)}", target.parent, problem, hidden) from None
        raise
    finally:
        _drop(hidden)


def write_file(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a file whole or not at all; of two runs that write it at the same moment neither fails."""
    with replacing(path, alone=False) as hidden:
        _fill(hidden, content)


def write_together(folder: Path, contents: Mapping[str, bytes | str | None]) -> tuple[Path, ...]:
    """Write the files of one run into a folder: the first is what was found, the others are about it.

    They take their names together, and old ones of the same names go before the first does: nothing ever lies beside
    results that it is not about. One that is None is not written, and its old one goes all the same. Where the first
    can be written and others cannot, the first is; what failed is raised at the end. A folder that went is made again.
    """
    first = next(iter(contents))
    _make(folder)
    staged: dict[str, Path] = {}
    failed: list[OutputFailed] = []
    try:
        for name, content in contents.items():
            if content is None:
                continue
            try:
                _stage(folder / name, content, staged)
            except OutputFailed as problem:
                if name == first:
                    raise
                failed.append(problem)
        _name_together(folder, staged, list(contents))
    finally:
        for hidden in staged.values():
            _drop(hidden)
    if failed:
        raise OutputFailed(" ".join(str(problem) for problem in failed))
    return tuple(folder / name for name in staged)


def _stage(target: Path, content: bytes | str, staged: dict[str, Path]) -> None:
    try:
        check_file(target)
        remove_leftovers(target.parent, target.name)
    except InvalidInput as problem:  # the work is done: what was found is not to be lost over it
        raise OutputFailed(*problem.args) from None
    staged[target.name] = hidden = _begin(target)
    try:
        _fill(_by_descriptor(hidden), content)
        _settle(hidden, target)
    except OSError as problem:
        _drop(staged.pop(target.name))
        if isinstance(problem, OutputFailed):
            raise
        raise _failed(f"Output {_shown(target)}", target.parent, problem) from None


def _name_together(folder: Path, staged: Mapping[str, Path], names: list[str]) -> None:
    first, *others = names
    with _naming:
        try:
            for name in others:
                (folder / name).unlink(missing_ok=True)
        except OSError as problem:
            raise _failed(f"Output {_shown(folder / first)}", folder, problem) from None
        if others:
            _settle_folder(folder)  # no power cut may leave an old page beside new results
        for name, hidden in staged.items():
            _name(hidden, folder / name)
    _settle_folder(folder)


def discard_unfinished() -> None:
    """Remove every hidden file and empty folder of this process, and let no file take its name any more.

    For a process that is about to end.
    """
    _naming.acquire(timeout=10.0)
    for hidden in list(_unfinished):
        with contextlib.suppress(OSError):
            hidden.unlink()
    _remove_empty(_made)


def _remove_empty(made: Iterable[Path]) -> None:
    for place in made:  # the innermost first
        with contextlib.suppress(OSError):
            place.rmdir()


def _begin(target: Path) -> Path:
    """Make the hidden file: new, for its owner alone, with this process's lock on it."""
    name = target.name.encode(errors="surrogateescape")[:200].decode(errors="ignore")
    hidden = target.parent / f".{name}.{secrets.token_hex(8)}.entropie-part"
    with _naming:
        try:
            place = os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError as problem:
            raise _failed(f"Output {_shown(target)}", target.parent, problem) from None
        _take(place)
        if hasattr(os, "fchmod"):
            os.fchmod(place, 0o600)  # whatever the umask
        _unfinished[hidden] = place
    return hidden


def _by_descriptor(hidden: Path) -> Path:
    return named if (named := Path(f"/dev/fd/{_unfinished[hidden]}")).exists() else hidden


def _fill(hidden: Path, content: bytes | str) -> None:
    hidden.write_bytes(content.encode() if isinstance(content, str) else content)


def _settle(hidden: Path, target: Path) -> None:
    """Have the content on the disk before the file takes its name: a power cut leaves the old file or the new one."""
    try:
        os.fsync(_unfinished[hidden])
    except OSError as problem:
        if problem.errno not in _NO_SYNC:
            raise _failed(f"Output {_shown(target)}", target.parent, problem, hidden) from None


def _settle_folder(folder: Path) -> None:
    """Have the names on the disk; where a folder cannot be opened for that, the system does it in its own time."""
    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
        place = os.open(folder, os.O_RDONLY)
        stack.callback(os.close, place)
        os.fsync(place)


def _name(hidden: Path, target: Path) -> None:
    """Give a complete file its name and its mode."""
    try:
        if _public.get():
            hidden.chmod(0o644 & ~_umask())
        hidden.replace(target)
    except OSError as problem:
        raise _failed(f"Output {_shown(target)}", target.parent, problem) from None
    _written.append(target)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _drop(hidden: Path) -> None:
    """Let go of a hidden file: it has its name, or it is not wanted."""
    with _naming:
        place = _unfinished.pop(hidden, None)
        with contextlib.suppress(OSError):
            hidden.unlink()
        if place is not None:
            os.close(place)


def _failed(what: str, folder: Path, problem: OSError, hidden: Path | None = None) -> OutputFailed:
    """Say what could not be written, where, and why; of a full disk, how much room there was."""
    if problem.errno not in FULL:
        reason = _REASONS.get(problem.errno or 0, os.strerror(problem.errno) if problem.errno else "unknown reason")
        return OutputFailed(f"{what} could not be written: {reason}.")
    room = ""
    with contextlib.suppress(OSError):
        room = f": {shutil.disk_usage(_existing(folder)).free / 1e6:,.1f} MB are free"
        if hidden is not None:
            room += f", {hidden.stat().st_size / 1e6:,.1f} MB had been written"
    return OutputFailed(f"{what} could not be written: {FULL[problem.errno]} ({_shown(folder)}{room}).")


def _existing(folder: Path) -> Path:
    return next(place for place in (folder.absolute(), *folder.absolute().parents) if _exists(place))


def _shown(path: Path) -> str:
    return printable(str(path))
