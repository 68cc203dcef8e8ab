"""Planted errors: each is put into a copy of the tree, and its tests must fail there.

    scripts/mutants              all of them, some minutes
    scripts/mutants gate theory  those whose file's path has one of these words

The tests are run once without any error first; then each error is planted alone. Kernels run as plain Python for
theirs: compiled code kept on disk does not notice a change in another file. Exit code 1 where an error survives.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from planted import MUTANTS, Mutant

ROOT = Path(__file__).parent.parent.parent
COPIED = ("src", "tests", "benchmarks", "docs", "pyproject.toml", "README.md")


def main(words: list[str]) -> int:
    """Plant every error chosen and print what became of it."""
    chosen = [mutant for mutant in MUTANTS if not words or any(word in mutant.file for word in words)]
    if not chosen:
        print(f"mutants: no file of a planted error has {' or '.join(words)} in its name", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        tree = copied(Path(folder))
        missing = [mutant for mutant in chosen if (tree / mutant.file).read_text().count(mutant.text) != 1]
        for mutant in missing:
            print(f"mutants: not found once in {mutant.file}: {mutant.text!r}", file=sys.stderr)
        if missing or not sound(tree, chosen):
            return 2
        print("| file | planted instead | outcome | seconds |\n|---|---|---|---|", flush=True)
        survived = sum(not caught(tree, mutant) for mutant in chosen)
    print(f"\n{len(chosen) - survived} of {len(chosen)} planted errors were caught.")
    return 1 if survived else 0


def copied(folder: Path) -> Path:
    """What the tests need, with compiled kernels and times of files, so that they stay valid."""
    for name in COPIED:
        part = ROOT / name
        if part.is_dir():
            shutil.copytree(part, folder / name)
        else:
            shutil.copy2(part, folder / name)
    return folder


def sound(tree: Path, mutants: Iterable[Mutant]) -> bool:
    """Whether all tests pass as long as nothing is planted."""
    for jit in (True, False):
        tests = sorted({test for mutant in mutants if mutant.jit is jit for test in mutant.tests})
        if tests and (ran := run(tree, tests, jit)).returncode:
            print(
                f"mutants: tests fail without any error planted:\n{(ran.stdout + ran.stderr)[-2000:]}", file=sys.stderr
            )
            return False
    return True


def caught(tree: Path, mutant: Mutant) -> bool:
    """Plant one error, run its tests, take it out again."""
    path = tree / mutant.file
    sane, begun = path.read_text(), time.perf_counter()
    times = path.stat()
    path.write_text(sane.replace(mutant.text, mutant.instead))
    try:
        code = run(tree, mutant.tests, mutant.jit).returncode
    finally:
        path.write_text(sane)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    outcome = {0: "SURVIVED", 1: "caught", 2: "caught"}.get(code, f"pytest exit code {code}")
    name = mutant.file.removeprefix("src/entropie/")
    instead = " ".join(mutant.instead.split())[:70].replace("|", "\\|")
    print(f"| {name} | `{instead}` | {outcome} | {time.perf_counter() - begun:.0f} |", flush=True)
    return outcome == "caught"


def run(tree: Path, tests: Iterable[str], jit: bool) -> subprocess.CompletedProcess[str]:
    """Run tests in the copy, up to the first that fails."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1", "TESTS": "mutants"}
    options = ["-q", "-x", "-p", "no:cacheprovider"]
    if not jit:
        environment["NUMBA_DISABLE_JIT"] = "1"
        options += ["-W", "ignore::RuntimeWarning"]  # numpy warns where 64-bit words wrap, which is meant
    command = [sys.executable, "-m", "pytest", *options, *tests]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
