"""What Spark needs, how a session is set, how reading is cut into parts, and what errors say: all without Spark."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropie import errors
from entropie.data.tables import Piece
from entropie.engine.spark import session
from entropie.engine.spark.reading import plan_parts
from entropie.engine.spark.scratch import claimed, sweep
from entropie.engine.spark.session import SAME_PATH, failures, java_version, require, settings, translated
from entropie.errors import EntropieError, InvalidInput, InvalidParameter, OutputFailed, Unreachable


def java(folder: Path, said: str) -> None:
    """Put a program called java into a folder that says this of itself, as Java does, on stderr."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "21"', 21),
        ("?", None),
    ],
)
def test_java_says_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, version: int | None) -> None:
    java(tmp_path, said)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_version() == version
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/bin")
    assert java_version() == version


def test_what_is_missing_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.importlib.metadata, "version", lambda name: "4.1.0")
    here = {"pyspark", "pandas"}
    monkeypatch.setattr(session.importlib.util, "find_spec", lambda name: name if name in here else None)
    java(tmp_path / "new", 'openjdk version "17.0.15"')
    java(tmp_path / "old", 'java version "1.8.0_402"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "new"))
    require()
    for name, said in (("pandas", "pandas is missing"), ("pyspark", "PySpark is missing")):
        here.remove(name)
        with pytest.raises(InvalidInput, match=f"{said}.*pip install 'entropie\\[spark\\]'"):
            require()
    here |= {"pyspark", "pandas"}
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    with pytest.raises(InvalidInput, match=r"Java must be 17 or newer, got 8 .*openjdk-17-jre-headless"):
        require()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInput, match=r"Java is missing.*openjdk-17-jre-headless"):
        require()
    monkeypatch.setattr(session.importlib.metadata, "version", lambda name: "4.0.1")
    with pytest.raises(InvalidInput, match=r"PySpark must be 4\.1 or newer, got 4\.0\.1"):
        require()


@pytest.mark.parametrize(
    "master", ["local", "local[4]", "local[*]", "spark://127.0.0.1:7077", "spark://localhost:7077"]
)
def test_a_session_on_this_machine_stays_on_it(master: str) -> None:
    found = settings(master)
    assert found["spark.driver.host"] == found["spark.driver.bindAddress"] == "127.0.0.1"
    assert found["spark.locality.wait"] == "0"
    assert "spark.executorEnv.NUMBA_CACHE_DIR" not in found


@pytest.mark.parametrize(
    "master", ["spark://10.0.0.7:7077", "spark://localhost.example.org:7077", "yarn", "k8s://https://h"]
)
def test_a_session_elsewhere_is_left_where_it_is(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    first, second = settings(master), settings(master)
    assert not {"spark.driver.host", "spark.locality.wait"} & set(first)
    # Nobody can guess the folder of compiled code, or else they could put some of their own there.
    assert first["spark.executorEnv.NUMBA_CACHE_DIR"] != second["spark.executorEnv.NUMBA_CACHE_DIR"]
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/shared/numba")
    assert settings(master)["spark.executorEnv.NUMBA_CACHE_DIR"] == "/shared/numba"


@pytest.mark.parametrize("master", ["local[2]", "spark://h:1", "yarn", "k8s://https://h"])
def test_what_is_written_is_encrypted_and_what_is_sent_where_there_is_a_key(master: str) -> None:
    found = settings(master)
    assert found["spark.io.encryption.enabled"] == "true"
    sent = [found.get(f"spark.{name}") for name in ("authenticate", "network.crypto.enabled")]
    assert sent == ([None] * 2 if master.startswith("spark://") else ["true"] * 2)


def test_folders_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path: Path) -> None:
    claim = f"import os; from pathlib import Path; from entropie.engine.spark.scratch import claimed; claimed(Path({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", f"{claim}; os._exit(9)"], check=False, timeout=60)
    (dead,) = tmp_path.iterdir()
    assert dead.stat().st_mode & 0o777 == 0o700
    (dead / "blockmgr").mkdir()
    (dead / "blockmgr" / "shuffle.data").write_text("an id")
    mine = claimed(tmp_path)
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    (tmp_path / f"{mine.name}-link").symlink_to(elsewhere)
    sweep(tmp_path)
    assert set(tmp_path.iterdir()) == {mine, elsewhere, tmp_path / f"{mine.name}-link"}
    subprocess.run([sys.executable, "-c", claim], check=True, timeout=60)  # ends by itself and leaves nothing
    assert len(list(tmp_path.iterdir())) == 3


def test_cores_and_memory_are_those_of_the_kind_of_master() -> None:
    assert settings("local[*]", cores=3, memory="2g")["spark.master"] == "local[3]"
    assert settings("local[*]", cores=3, memory="2g")["spark.driver.memory"] == "2g"
    standalone = settings("spark://h:1", cores=3, memory="2g")
    assert (standalone["spark.cores.max"], standalone["spark.executor.memory"]) == ("3", "2g")
    assert settings("yarn", cores=3)["spark.executor.instances"] == "3"
    assert settings("yarn")["spark.task.cpus"] == "1"


@pytest.mark.parametrize(
    "wrong", [{"master": "http://h"}, {"master": "spark://h"}, {"cores": 0}, {"memory": "much"}, {"memory": "-1g"}]
)
def test_settings_that_break_a_rule_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(wrong))):
        settings(**{"master": "local[2]", **wrong})  # type: ignore[arg-type]


JAVA = "\n\n\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1097)\n\tat java.lang.Thread.run"


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name[0].isupper() and name != "InvalidParameter"])
@pytest.mark.parametrize("after", ["", "\n SQLSTATE: 38000\n\tat org.apache", JAVA, "\n\nDriver stacktrace:" + JAVA])
def test_an_error_of_ours_comes_back_as_itself(name: str, after: str) -> None:
    message = "File a.csv: line 3 has no `user`, expected one; name another with --user."
    before = (
        f'Job aborted: Traceback (most recent call last):\n  File "x.py", line 11, in bad\n    raise {name}("...")\n'
    )
    found = translated(f"{before}entropie.errors.{name}: {message}{after}")
    assert type(found) is getattr(errors, name)
    assert str(found) == message


def test_a_name_that_is_no_error_of_ours_is_not_looked_up() -> None:
    found = translated("entropie.errors.annotations: x\n")
    assert type(found) is InvalidInput
    assert str(found).startswith("Spark failed")


def test_a_full_disk_of_a_worker_is_no_bad_input() -> None:
    found = translated("org.apache.spark.SparkException: x\njava.io.IOException: No space left on device\n")
    assert type(found) is OutputFailed
    assert "SPARK_LOCAL_DIRS" in str(found)


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("FileNotFoundError: [Errno 2] No such file or directory: '/data/a.csv'", SAME_PATH),
        ("ModuleNotFoundError: No module named 'entropie'", "install the same version on every machine"),
        ("ModuleNotFoundError: No module named 'numba'", r"pip install 'entropie\[spark\]'"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", "PYSPARK_PYTHON"),
        ("java.lang.OutOfMemoryError: Java heap space", "more partitions"),
        ("ValueError: strange\n\tat org.apache", "ValueError: strange"),
    ],
)
def test_what_spark_says_becomes_one_sentence_with_a_remedy(said: str, remedy: str) -> None:
    found = translated("An exception was thrown:\nTraceback (most recent call last):\n" + said)
    assert isinstance(found, InvalidInput)
    assert "\n" not in str(found)
    with pytest.raises(InvalidInput, match=remedy):
        raise found


def test_a_master_that_does_not_answer_is_named() -> None:
    found = translated("Caused by: java.io.IOException: Failed to connect to /10.0.0.7:7077", "spark://10.0.0.7:7077")
    assert "spark://10.0.0.7:7077 cannot be reached" in str(found)


def test_a_master_that_is_not_there_is_found_missing_before_spark_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "require", lambda: None)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and nobody listens
        master = f"spark://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(InvalidInput, match=f"{master} cannot be reached"):
            session.connect(master)
        bound.listen()
        session._check_master(master)
        session._check_master(f"{master},nowhere.invalid:1")


class _Session:
    def __init__(self) -> None:
        self.cancelled = 0
        self.sparkContext = self

    def cancelAllJobs(self) -> None:
        self.cancelled += 1


def test_an_interruption_cancels_the_jobs_and_goes_on() -> None:
    spark = _Session()
    with pytest.raises(KeyboardInterrupt), failures(spark):  # type: ignore[arg-type]
        raise KeyboardInterrupt
    assert spark.cancelled == 1


def test_an_interruption_is_known_behind_what_tidying_up_raised() -> None:
    def interrupted() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise ConnectionError("tidying up failed")

    spark = _Session()
    with pytest.raises(KeyboardInterrupt), failures(spark):  # type: ignore[arg-type]
        interrupted()
    assert spark.cancelled == 1


@pytest.mark.parametrize("error", [Unreachable("none"), ZeroDivisionError("a mistake")])
def test_what_is_not_sparks_passes_unchanged(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)) as caught, failures():
        raise error
    assert caught.value is error
    assert isinstance(error, EntropieError) or not isinstance(caught.value, EntropieError)


@st.composite
def file_pieces(draw: st.DrawFn) -> list[Piece]:
    sizes = st.integers(0, 1 << 28)
    found = []
    for file in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            found.append(Piece(file, draw(sizes)))
            continue
        row = 0
        for group, size in enumerate(draw(st.lists(sizes, max_size=6))):
            found.append(Piece(file, size, (group,), row))
            row += draw(st.integers(0, 100))
    return found


@given(file_pieces(), st.integers(1, 20))
def test_parts_are_all_pieces_in_order_and_none_is_needlessly_small(pieces: list[Piece], wanted: int) -> None:
    parts = plan_parts(pieces, wanted)
    flat = [piece for part in parts for piece in part]
    groups = [(piece.file, group) for piece in flat for group in piece.groups or (None,)]
    assert groups == [(piece.file, group) for piece in pieces for group in piece.groups or (None,)]
    assert sum(piece.size for piece in flat) == sum(piece.size for piece in pieces)
    rows = {(piece.file, piece.groups[0] if piece.groups else None): piece.first_row for piece in pieces}
    assert all(rows[piece.file, piece.groups[0] if piece.groups else None] == piece.first_row for piece in flat)
    sizes = [sum(piece.size for piece in part) for part in parts]
    target = min(1 << 25, max(1 << 20, sum(sizes) // wanted))
    assert all(first + second > target for first, second in itertools.pairwise(sizes))
    assert all(size <= target or len(part) == 1 for size, part in zip(sizes, parts, strict=True))
