"""Dies at every step between the draw and the confirmation, and starts again: run as a program by its test.

python client_crashes.py URL FOLDER   prints the number of steps at which a device died
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from entropie.collector import client as clients
from entropie.collector import device
from entropie.collector.client import Client, Policy
from entropie.collector.kept import Keeper

ANYTHING = Policy(min_error=0.0, max_certainty=1.0, max_epsilon=1000.0)


def dying_at(step: int) -> None:
    """Make this process die before and after every call that matters, at the given one."""
    passed = 0

    def reached() -> None:
        nonlocal passed
        passed += 1
        if passed == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(owner: object, name: str) -> None:
        real = getattr(owner, name)

        def call(*given: object, **named: object) -> object:
            reached()
            found = real(*given, **named)
            reached()
            return found

        setattr(owner, name, call)

    for owner, name in (
        (device, "report"), (os, "open"), (os, "write"), (os, "fsync"), (os, "close"), (Path, "replace"),
        (Keeper, "keep"), (clients.Address, "ask"),
    ):  # fmt: skip
        watched(owner, name)


def run(url: str, ledger: Path, step: int) -> bool:
    """Whether a device that dies at this step came to the end."""
    child = os.fork()
    if child == 0:
        try:
            client = Client(url, ledger, ANYTHING)
            dying_at(step)
            client.report("drink 1")
            os._exit(0)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL), status
    return os.WIFEXITED(status)


def main(url: str, folder: Path) -> None:
    step = 1
    while not run(url, folder / f"ledger {step}", step):
        assert run(url, folder / f"ledger {step}", 0)
        step += 1
    print(step - 1)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
