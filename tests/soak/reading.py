"""Bad files read again and again, each in a process of its own: the right exit code, one sentence, no hang, no abort.

    scripts/soak reading [RUNS]    every command on every file, RUNS times each (200)

Reading used to leave a thread behind that called into a dying interpreter, in a third of the runs.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SECONDS = 120.0
ENTROPIE = [sys.executable, "-c", "from entropie.cli.main import main; main()"]


def files(folder: Path, rows: int) -> Iterator[tuple[str, Path]]:
    """Files that are found to be bad late, in the middle and at once."""
    head = b"user,item,time,code\n"
    good = b"".join(b"u%d,i%d,%d,%d\n" % (n % 997, n % 101, 1_500_000_000 + n, n % 7) for n in range(rows // 3))
    bad = b"".join(b"u%d,i%d,whenever %d,x\n" % (n % 997, n % 101, n) for n in range(rows))
    contents = {
        "times.csv": head + bad,
        "times later.csv": head + good + bad,
        "one line.csv": head + b"x" * (20_000_000 * rows // 600_000),
        "line later.csv": head + good + b"x" * (20_000_000 * rows // 600_000),
        "quote.csv": head + good + b'u1,"i1,5,5\n' + good,
        "cut off.csv.gz": gzip.compress(head + good, 1)[:-1000],
        "few fields.csv": head + good + b"u1,i1\n" * rows,
    }
    for name, content in contents.items():
        path = folder / name
        path.write_bytes(content)
        yield name, path


def commands(path: Path, out: Path) -> dict[str, list[str]]:
    """Every command that reads a table."""
    made = ["--mechanism", "rr", "--epsilon", "2"]
    return {
        "assess": ["assess", str(path), "--out", str(out), "--matcher", "visit"],
        "sweep": ["sweep", str(path)],
        "attributes": ["attributes", str(path), "--columns", "user,item,code"],
        "obfuscate": ["obfuscate", str(path), "--column", "code", "--domain", "9", "--out", str(out / "o.csv"), *made],
        "simulate": ["simulate", "new-york", "--users", "50", "--compare", str(path)],
        "scores": ["scores", str(path)],
    }


def tried(words: list[str]) -> str:
    """Run one command; "ok" if it refuses with one sentence and exit code 2."""
    try:
        done = subprocess.run([*ENTROPIE, *words], capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "hangs"
    said = done.stderr.decode(errors="replace")
    if done.returncode == 2 and said.startswith("entropie: ") and said.count("\n") == 1:
        return "ok"
    return f"exit {done.returncode}: {said.strip().splitlines()[-1][:200] if said.strip() else 'nothing said'}"


def soak(folder: Path, runs: int, rows: int, only: list[str], on: list[str]) -> Counter[tuple[str, str, str]]:
    """How often each command on each file came to what."""
    found: Counter[tuple[str, str, str]] = Counter()
    for name, path in files(folder, rows):
        if on and name not in on:
            continue
        for command, words in commands(path, folder).items():
            # A table of attributes has no times to be read: bad ones are values like others.
            if (only and command not in only) or (command == "attributes" and name.startswith("times")):
                continue
            for _ in range(runs):
                found[command, name, tried(words)] += 1
    return found


def main() -> None:
    """Print the table; exit 1 if anything but a refusal was seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="?", type=int, default=200)
    parser.add_argument("--rows", type=int, default=600_000)
    parser.add_argument("--only", action="append", default=[], help="a command; repeatable")
    parser.add_argument("--on", action="append", default=[], help="a file; repeatable")
    given = parser.parse_args()
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="entropie-soak-") as folder:
        found = soak(Path(folder), given.runs, given.rows, given.only, given.on)
    for (command, name, came), times in sorted(found.items()):
        print(f"{command:12} {name:16} {times:5} x {came}")
    wrong = sum(times for (_, _, came), times in found.items() if came != "ok")
    print(f"{found.total()} runs in {time.perf_counter() - begun:.0f} s, {wrong} of them wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
