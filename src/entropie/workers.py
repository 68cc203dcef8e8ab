"""Threads that belong to a generator, whose end may come at any moment and in any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any


class Workers(ThreadPoolExecutor):
    """A pool whose end drops what has not begun, waits for what has, and joins no thread.

    Python may end a generator that an error left behind while it collects garbage: in a thread that holds the very lock
    which joining takes, or in one of these threads. The threads end by themselves right after.
    """

    def __init__(self, threads: int, name: str = "") -> None:
        self._own: set[int] = set()
        self._open: set[Future[Any]] = set()
        super().__init__(threads, name, initializer=lambda: self._own.add(threading.get_ident()))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a thread do it."""
        future = super().submit(fn, *args, **kwargs)
        self._open.add(future)
        future.add_done_callback(self._open.discard)
        return future

    def __exit__(self, *raised: object) -> None:
        """End, in time for whatever the work uses to be closed."""
        self.shutdown(wait=False, cancel_futures=True)
        if threading.get_ident() not in self._own:
            wait(list(self._open))
