"""Signals: a run that is told to stop ends at once, whatever it is doing, and leaves nothing unfinished.

A handler written in Python would wait until the main thread comes back from a compiled loop, and what it raises inside
one may come out as another error. So nothing is raised: the system writes the signal's number into a pipe, and a thread
that waits there removes what is unfinished and ends the process. The main thread notices nothing of it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading

from entropie import atomic
from entropie.errors import printable

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_GRACE_SECONDS = 10.0
_SHOWN = 3
_THREAD = "entropie-stopping"
_told: list[str] = []


def instead(text: str) -> None:
    """What to say when the run is stopped, instead of what was written."""
    _told.append(text)


def forget() -> None:
    """Begin a run: nothing is written yet."""
    _told.clear()
    atomic.written(forget=True)


def sentence() -> str:
    """What a stopped run says: what is there of it."""
    if _told:
        return _told[-1]
    done = [printable(str(path)) for path in atomic.written()]
    if not done:
        return "Stopped; nothing was written."
    more = f" and {len(done) - _SHOWN} more" if len(done) > _SHOWN else ""
    return f"Stopped; written before, and whole: {', '.join(done[:_SHOWN])}{more}."


def heed() -> None:
    """Let signals end this process, once asked for. One that it was started to ignore, as by nohup, stays ignored."""
    if any(thread.name == _THREAD for thread in threading.enumerate()):
        return
    _open_streams()  # first: what is opened takes the place of a stream that is closed
    heard, told = os.pipe()
    os.set_blocking(told, False)
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave_to_thread)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    voice = os.dup(2)  # others may turn standard error away for a while
    atexit.register(_done)
    threading.Thread(target=_wait, args=(heard, voice), name=_THREAD, daemon=True).start()


def _open_streams() -> None:
    """Have all three standard streams: one that is closed goes nowhere, and no file becomes what is printed to."""
    for place, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(place)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(place, mode, closefd=False))  # noqa: SIM115 - for as long as the process lives


def _leave_to_thread(number: int, frame: object) -> None:
    """The thread has been told already."""


def _done() -> None:
    """The work is done and its exit code settled: Python's own end would let signals kill the process again."""
    for name in _SIGNALS:
        with contextlib.suppress(AttributeError, ValueError):  # there is none of the kind; this is another thread
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def _wait(heard: int, voice: int) -> None:
    watched = {getattr(signal, name, None) for name in _SIGNALS}
    number = 0
    while number not in watched:
        number = os.read(heard, 1)[0]
    _end(128 + number, voice)


def _end(code: int, voice: int) -> None:
    """Clean up and end the process, in a bounded time."""
    last = threading.Timer(_GRACE_SECONDS, os._exit, [code])
    last.daemon = True
    last.start()
    with contextlib.suppress(Exception):
        atomic.discard_unfinished()
        _say(f"entropie: {sentence()}\n", voice)
        atexit._run_exitfuncs()  # what others clean up at the end, such as the folders of a Spark session
    os._exit(code)


def _say(text: str, voice: int) -> None:
    clear = "\r\x1b[2K\x1b[?25h" if os.isatty(voice) else ""  # the progress bar's line, and the cursor that it hides
    with contextlib.suppress(OSError):
        os.write(voice, f"{clear}{text}".encode(errors="backslashreplace"))
