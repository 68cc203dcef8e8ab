"""How kernels are compiled: once, and kept for later runs where that is safe.

What is kept is loaded again as a program. So it lies in the folder that `NUMBA_CACHE_DIR` names, beside the kernels, or
in the user's own folder for such files, if nobody else may write to that. Where there is none of these, or no room,
every process compiles for itself. Kernels are compiled into one another: what was kept is used while none has changed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numba
from numba.core import caching

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

Function = TypeVar("Function", bound=Callable[..., object])

_left_out: list[Any] = []


def njit(*, cache: bool, **options: Any) -> Callable[[Function], Dispatcher[Function]]:
    """As numba's own, but for where compiled code is kept."""

    def compiled(function: Function) -> Dispatcher[Function]:
        made: Any = numba.njit(**options)(function)
        if cache and hasattr(made, "enable_caching"):  # else the JIT is off
            try:
                made._cache = _Kept(function)
            except RuntimeError:  # there is no folder
                made._cache = _Nowhere()
        return made  # type: ignore[no-any-return]

    return compiled


def kept() -> bool:
    """Whether all that this process has compiled is there for the next one."""
    return not _left_out


@functools.cache
def _stamp() -> str:
    """What tells whether any kernel has changed."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


class _Stamped:
    def get_source_stamp(self) -> str:
        return _stamp()


class _Named(_Stamped, caching.UserProvidedCacheLocator):
    """The folder that `NUMBA_CACHE_DIR` names."""


class _Beside(_Stamped, caching.InTreeCacheLocator):
    """Beside the kernels."""


class _Own(_Stamped, caching.UserWideCacheLocator):
    """The user's folder for such files, unless somebody else could put a program there, as where /tmp is the home."""

    def ensure_cache_path(self) -> None:
        place = Path(self.get_cache_path())
        if not place.is_absolute():
            raise PermissionError("there is no home: the folder would be below the current one")
        super().ensure_cache_path()
        if not _ours(place):
            raise PermissionError("somebody else may write there")


def _ours(place: Path) -> bool:
    """Whether a folder for numba in a folder of caches is this user's alone to change, as are these two."""
    if not hasattr(os, "geteuid"):
        return True
    parts = (place, place.parent, place.parent.parent)
    return not place.stat().st_mode & stat.S_IWOTH and all(
        part.lstat().st_uid in {0, os.geteuid()} and _settled(part.parent)
        for part in {*parts, *map(Path.resolve, parts)}
    )


def _settled(folder: Path) -> bool:
    """Whether others cannot replace what is in a folder."""
    mode = folder.stat().st_mode
    return not mode & stat.S_IWOTH or bool(mode & stat.S_ISVTX)


class _Code(caching.CompileResultCacheImpl):
    _locator_classes = [_Named, _Beside, _Own]  # noqa: RUF012 - as numba declares it


class _Kept(caching.FunctionCache):
    """Files of compiled code: what cannot be read is compiled anew, what cannot be written is not kept."""

    _impl_class = _Code

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # of a file that is damaged anything may come
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:
            _left_out.append(sig)


class _Nowhere(caching.NullCache):
    def save_overload(self, sig: Any, data: Any) -> None:
        _left_out.append(sig)
