"""Where Spark puts what it spills here: a folder that nobody else can read, removed at the end of the process."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import os
import shutil
import stat
import tempfile
from pathlib import Path

_PREFIX = "entropie-spark-"
_LOCK = "lock"


@functools.cache
def own_folders() -> str:
    """Folders for `spark.local.dir`, one on each disk of SPARK_LOCAL_DIRS, or one for temporary files.

    A Java machine keeps to the folders that it was started with, so that a process has the same for all sessions.
    """
    roots = [Path(root) for root in os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")]
    for root in roots:
        sweep(root)
    return ",".join(str(claimed(root)) for root in roots)


def claimed(root: Path) -> Path:
    """Make a folder with a lock that this process holds for as long as it lives."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))  # made exclusively, for nobody else to read
        lock = os.open(folder / _LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / _LOCK).exists():  # nobody swept it in between
            atexit.register(_remove, folder, os.getpid())
            return folder
        os.close(lock)


def sweep(root: Path) -> None:
    """Remove the folders of processes that have died."""
    for folder in root.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody else's, or going away
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _remove(folder: Path, process: int) -> None:
    if os.getpid() != process:  # a child that was forked
        return
    with contextlib.suppress(Exception):
        from pyspark import SparkContext

        if SparkContext._active_spark_context is not None:
            SparkContext._active_spark_context.stop()
    shutil.rmtree(folder, ignore_errors=True)
