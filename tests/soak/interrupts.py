"""Ctrl-C in Python, outside the command line: `scripts/soak interrupts`.

Every public function that runs compiled code is called again and again in a child of this process, which has run it
before, and a real SIGINT comes at a random moment of the seconds it takes. What reaches the caller must be
KeyboardInterrupt, or the result where the call was done first; never the SystemError that Python makes of an interrupt
at the edge of compiled code. One in four calls is interrupted twice.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

import entropie

PATIENCE_SECONDS = 120.0
TWICE_EVERY = 4


def doors() -> dict[str, Callable[[], object]]:
    """The calls that are interrupted, on people who do not exist."""
    rng = np.random.default_rng(1)
    people, events = 120, 16
    table = pa.table(
        {
            "user": np.repeat(np.arange(people), events),
            "item": (rng.pareto(0.8, people * events) * 3).astype(np.int64) % 80,
            "time": 1_500_000_000 + 3_600 * np.arange(people * events),
        }
    )
    rows = pa.table({"age": rng.integers(18, 90, 3_000), "place": rng.integers(0, 60, 3_000)})
    np.savetxt("genuine.txt", rng.normal(2.0, 1.0, 500))
    np.savetxt("impostor.txt", rng.normal(0.0, 1.0, 20_000))
    rr = entropie.RandomizedResponse(domain_size=500, epsilon=4.0)
    glh = entropie.LocalHashing(domain_size=5_000, hash_size=64, epsilon=4.0)
    values = rng.integers(0, 500, 40_000)
    hashed = glh.simulate(values, rng)
    columns = {"user": "user", "item": "item", "time": "time"}
    return {
        "assess": lambda: entropie.assess(table, **columns),
        "protect": lambda: entropie.protect(table, 0.9, **columns),
        "sweep": lambda: entropie.sweep(table, **columns, profile="ema", budget=5),
        "attributes": lambda: entropie.attributes(rows, columns=["age", "place"]),
        "scores": lambda: entropie.scores("genuine.txt", "impostor.txt"),
        "simulate": lambda: [
            rr.simulate(values, np.random.default_rng(2)),
            glh.simulate(values, np.random.default_rng(2)),
        ],
        "estimate": lambda: glh.estimate(hashed),
    }


def _ending(call: Callable[[], object], ready: int) -> str:
    """How a call ends that interrupts meet; one that comes when it has ended changes nothing."""
    ended: list[bool] = []

    def interrupt(*_: object) -> None:
        if not ended:
            raise KeyboardInterrupt

    faulthandler.enable()
    signal.signal(signal.SIGINT, interrupt)
    said = "KeyboardInterrupt"
    try:
        try:
            os.write(ready, b"!")
            call()
            ended.append(True)
            said = "done"
        except BaseException as problem:
            ended.append(True)
            said = type(problem).__name__
    except KeyboardInterrupt:  # the second, between the end of the call and its mark
        ended.append(True)
    return said


def interrupted(call: Callable[[], object], moments: list[float]) -> tuple[str, float]:
    """What came out of a call in a child that SIGINT met at these moments, and how long its end took."""
    here, there = os.pipe()
    child = os.fork()
    if not child:
        os.write(there, _ending(call, there).encode())
        os._exit(0)
    os.close(there)
    try:
        os.read(here, 1)
        for moment in moments:
            time.sleep(moment)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGINT)
        return _outcome(child, here)
    finally:
        os.close(here)


def _outcome(child: int, here: int) -> tuple[str, float]:
    begun = time.monotonic()
    while time.monotonic() - begun < PATIENCE_SECONDS:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            said = os.read(here, 100).decode() if status == 0 else f"exit status {status}"
            return said, time.monotonic() - begun
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hang", PATIENCE_SECONDS


def tried(name: str, call: Callable[[], object], times: int, rng: random.Random) -> tuple[Counter[str], float]:
    """Interrupt one call so many times; what came out of it, and the slowest end."""
    begun = time.monotonic()
    call()
    length = time.monotonic() - begun
    found: Counter[str] = Counter()
    slowest = 0.0
    for number in range(times):
        moments = [rng.uniform(0.0, length)] + [rng.uniform(0.0, 0.02)] * (number % TWICE_EVERY == 0)
        said, seconds = interrupted(call, moments)
        found[said] += 1
        slowest = max(slowest, seconds)
        if said not in ("done", "KeyboardInterrupt"):
            print(f"soak: {name} after {moments}: {said}", file=sys.stderr, flush=True)
    return found, slowest


def main() -> None:
    """Print the table; exit with 1 where something else than an interrupt came out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=200, help="interrupts per function")
    parser.add_argument("--only", action="append", help="this function only; repeatable")
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    rng = random.Random(wanted.seed)
    os.chdir(Path(tempfile.mkdtemp(prefix="soak-")))
    wrong = 0
    print("| function | interrupted | done first | anything else | slowest end, s |\n|---|---:|---:|---:|---:|")
    for name, call in doors().items():
        if wanted.only and name not in wanted.only:
            continue
        call()  # compiles
        found, slowest = tried(name, call, wanted.times, rng)
        other = found.total() - found["KeyboardInterrupt"] - found["done"]
        wrong += other
        print(f"| {name} | {found['KeyboardInterrupt']} | {found['done']} | {other} | {slowest:.2f} |", flush=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
