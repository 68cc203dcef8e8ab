"""Small files that unfold to much, given to every command that reads such files, with a limit: `scripts/soak bombs`.

Each run is a process of its own. It must end with exit code 2 and one sentence, and never hold more memory than the
limit and what the program itself takes.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

LIMIT_MB, PROGRAM_MB = 100, 350
PATIENCE_SECONDS = 600
ROW = b"u1,i1,1500000000\n"
ROWS = 5_000_000
NAMED = "--user user --item item --time time"


def repeated(name: str, head: bytes, row: bytes, tail: bytes = b"", rows: int = ROWS) -> Callable[[Path], None]:
    """A packed text of the same row many times."""

    def write(folder: Path) -> None:
        block = row * (1_000_000 // len(row) + 1)
        with pa.CompressedOutputStream(
            str(folder / name), name.rpartition(".")[2].replace("gz", "gzip").replace("zst", "zstd")
        ) as file:
            file.write(head)
            for _ in range(rows * len(row) // len(block)):
                file.write(block)
            file.write(tail)

    return write


def distinct(folder: Path) -> None:
    """Long ids, each of them once."""
    with gzip.open(folder / "ids.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"user,item,time\n")
        for number in range(300_000):
            file.write(b"%0300d,%0300d,%d\n" % (number, number, number))


def numbered(folder: Path) -> None:
    """Parquet in which one long text stands for every row, and one with no more than a number of rows."""
    rows = 400_000
    codes = pa.array(np.zeros(rows, np.int32))
    long = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 5_000]))
    people = {"user": pa.array(np.arange(rows)), "item": long, "time": codes, "other": codes}
    pq.write_table(pa.table(people), folder / "long.parquet", compression="zstd")
    many = pa.array(np.zeros(20_000_000, np.int8))
    pq.write_table(pa.table({"user": many, "item": many, "time": many}), folder / "many.parquet", compression="zstd")


def settings(folder: Path) -> None:
    """Settings with a key of 200,000 parts, a value nested 100,000 deep, and more than any settings hold."""
    (folder / "dots.toml").write_text(".".join(["a"] * 200_000) + " = 1\n")
    (folder / "deep.toml").write_text("a = " + "[" * 100_000 + "]" * 100_000 + "\n")
    (folder / "large.toml").write_text('a = "' + "x" * 30_000_000 + '"\n')


def levels(folder: Path) -> None:
    """A hierarchy of 5,000 levels, and a code of 100,000 characters among short ones."""
    (folder / "levels.csv").write_text("".join(f"{value};{';'.join('*' * 5_000)}\n" for value in range(90)))
    rows = [f"{number},{number % 90},{10_000 + number % 80_000}" for number in range(1, 50_000)]
    (folder / "code.csv").write_text("\n".join(["user,age,code", f"0,1,{'1' * 100_000}", *rows]) + "\n")
    (folder / "people.csv").write_text(
        "\n".join(["user,age", *(f"{number},{number % 90}" for number in range(2_000))]) + "\n"
    )


def arrays(folder: Path) -> None:
    """A matrix that says it is huge."""
    with (folder / "huge.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (99_999, 99_999)})
    np.savez_compressed(folder / "zeros.npz", np.zeros((20_000, 20_000), np.int8))


MADE: tuple[Callable[[Path], None], ...] = (
    repeated("rows.csv.gz", b"user,item,time\n", ROW),
    repeated("rows.csv.zst", b"user,item,time\n", ROW),
    repeated("rows.jsonl.gz", b"", b'{"user":"u1","item":"i1","time":1500000000}\n', rows=ROWS // 2),
    repeated("line.csv.gz", b'user,item,time\n"', b"x" * 1_000, rows=120_000),
    repeated("line.jsonl.gz", b'{"user":"a","item":"b"}\n{"user":"', b"x" * 1_000, b'"}\n', rows=120_000),
    repeated("blank.csv.gz", b"user,item,time\n", b"\n" * 1_000, rows=120_000),
    distinct,
    numbered,
    settings,
    levels,
    arrays,
)
TABLES = ("rows.csv.gz", "rows.csv.zst", "rows.jsonl.gz", "line.csv.gz", "line.jsonl.gz", "blank.csv.gz", "ids.csv.gz", "long.parquet", "many.parquet")  # fmt: skip
DOORS = {
    "assess": f"assess {{}} {NAMED} --no-report --out out",
    "sweep": f"sweep {{}} {NAMED} --limit 10% --limit-name r --fail-on average",
    "attributes": "attributes {} --columns item,time",
    "generalise": "generalise {} --columns item,time --k 2",
    "obfuscate": "obfuscate {} --column item --dictionary d.csv --mechanism rr --epsilon 2 --out r.csv",
    "scores": "scores {} {}",
}
OTHERS = (
    "check dots.toml", "check deep.toml", "check large.toml", "check /dev/zero", "assess --config dots.toml x.csv", "apply /dev/zero x.csv --out s.csv",
    "generalise people.csv --columns age --k 2 --hierarchy age=levels.csv", "guarantee --matrix zeros.npz --users 50", "guarantee --matrix huge.npy --users 50",
)  # fmt: skip
MAY_END_WELL = ("generalise code.csv --columns age,code --k 2 --suppress 1%", "obfuscate")
"""What is allowed to do its work within the limit: rows go through `obfuscate` one block after the other."""


@dataclass(frozen=True)
class Found:
    """What came of a run."""

    code: int | None
    mb: float
    seconds: float
    said: str

    def problem(self, command: str) -> str:
        """What does not hold."""
        if self.code is None:
            return "no end"
        well = command.startswith(MAY_END_WELL) and self.code == 0
        if not well and (self.code != 2 or self.said.count("\n") != 1 or "Traceback" in self.said):
            return f"exit code {self.code}: {self.said[-200:]}"
        return f"{self.mb:.0f} MB" if self.mb > LIMIT_MB + PROGRAM_MB else ""


def tried(command: str, folder: Path) -> Found:
    """Run it in a process of its own; the most memory that it held."""
    begun = time.monotonic()
    words = [sys.executable, "-m", "entropie", *shlex.split(command)]
    words += ["--memory", f"{LIMIT_MB}MB"] if not command.startswith("check") or "memory" in command else []
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=said)
        while time.monotonic() - begun < PATIENCE_SECONDS:
            done, status, used = os.wait4(process.pid, os.WNOHANG)
            if done:
                said.seek(0)
                return Found(
                    os.waitstatus_to_exitcode(status), used.ru_maxrss / 1024, time.monotonic() - begun, said.read()
                )
            time.sleep(0.05)
        process.kill()
        _, _, used = os.wait4(process.pid, 0)
        return Found(None, used.ru_maxrss / 1024, PATIENCE_SECONDS, "")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", help="commands that begin so; repeatable")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no run after this time")
    wanted = parser.parse_args()
    commands = [text.format(*[name] * text.count("{}")) for name in TABLES for text in DOORS.values()]
    commands = [*OTHERS, MAY_END_WELL[0], *commands]
    begun = time.monotonic()
    broken, rows = [], {}
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for make in MADE:
            make(folder)
        for command in commands:
            if command.startswith(tuple(wanted.only or [""])) and time.monotonic() - begun < wanted.seconds:
                found = tried(command, folder)
                if problem := found.problem(command):
                    broken.append(f"{command}: {problem}")
                    print(f"soak: {broken[-1]}", file=sys.stderr, flush=True)
                rows.setdefault(command.split()[0], []).append(found)
    print("| command | runs | refused | most memory, MB | longest, s |\n|---|---:|---:|---:|---:|")
    for command, runs in rows.items():
        refused = sum(run.code == 2 for run in runs)
        print(
            f"| {command} | {len(runs)} | {refused} | {max(run.mb for run in runs):.0f} | {max(run.seconds for run in runs):.0f} |"
        )
    print(f"\n{sum(map(len, rows.values()))} runs, {len(broken)} broken promises.")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
