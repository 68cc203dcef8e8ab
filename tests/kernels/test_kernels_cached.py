"""Compiled code kept between runs: two different functions must never go by one name.

Numba names the parts of a sort by their types and by a number that each process counts for itself. Quicksort of `sort`
and of `argsort`, or the left and the right search, are different functions under the same name: where two processes
compiled them for the same types and counted alike, a third process that loads both runs one of them for the other. So
kernels sort by `.sort()`, take orders by mergesort, and search on the left.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import pytest

import entropie.kernels
from entropie.kernels import caching

FILES = sorted(Path(entropie.kernels.__file__).parent.glob("*.py"))
SOURCES = {path.stem: path.read_text() for path in FILES if path.stem != "caching"}


@pytest.mark.parametrize("name", SOURCES)
def test_orders_are_taken_by_mergesort_and_values_sorted_by_quicksort(name: str) -> None:
    calls = re.findall(r"\bargsort\((?:[^()]|\([^()]*\))*\)", SOURCES[name])
    assert [call for call in calls if 'kind="mergesort"' not in call] == []
    assert re.findall(r"\.sort\([^)]+\)|np\.sort\(|\bsorted\(", SOURCES[name]) == []


@pytest.mark.parametrize("name", SOURCES)
def test_searches_are_on_the_left(name: str) -> None:
    assert "side=" not in SOURCES[name]


@pytest.mark.parametrize("name", SOURCES)
def test_compiled_code_is_kept_by_one_rule(name: str) -> None:
    assert re.findall(r"\bimport numba|from numba\b", SOURCES[name]) == []


def test_there_is_something_to_look_at() -> None:
    assert sum(source.count("argsort(") for source in SOURCES.values()) >= 5
    assert sum(source.count("searchsorted(") for source in SOURCES.values()) >= 5


KERNEL = (
    "from entropie.kernels.caching import njit\n\n\n@njit(nogil=True, cache=True)\ndef twice(x):\n    return 2 * x\n"
)


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """A kernel as a new process would load it, with a folder of its own for what is compiled."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(caching, "_left_out", [])
    (tmp_path / "kernel.py").write_text(KERNEL)

    def load() -> Any:
        place = importlib.util.spec_from_file_location("kernel", tmp_path / "kernel.py")
        assert place is not None
        assert place.loader is not None
        module = importlib.util.module_from_spec(place)
        place.loader.exec_module(module)
        assert module.twice(21) == 42
        return module.twice

    return load


def hits(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


def test_compiled_code_is_kept_until_a_kernel_changes(loaded, monkeypatch):
    assert [hits(loaded()), hits(loaded()), caching.kept()] == [0, 1, True]
    monkeypatch.setattr(caching, "_stamp", lambda: "another kernel has changed")
    assert [hits(loaded()), hits(loaded())] == [0, 1]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("content", [b"", b"\x80\x05garbage", b"\0" * 4096])
def test_what_was_kept_and_is_damaged_is_compiled_anew(loaded, tmp_path, ending, content):
    loaded()
    (file,) = (tmp_path / "kept").rglob(f"*.{ending}")
    file.write_bytes(content)
    assert [hits(loaded()), hits(loaded())] == [0, 1]


def test_a_disk_without_room_keeps_nothing_and_stops_nothing(loaded, tmp_path, monkeypatch):
    @contextlib.contextmanager
    def full(*_: object) -> Iterator[None]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield

    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "_open_for_write", full)
    assert [hits(loaded()), hits(loaded()), caching.kept()] == [0, 0, False]


def test_no_folder_keeps_nothing_and_stops_nothing(loaded, tmp_path, monkeypatch):
    (tmp_path / "kept").write_text("a file")
    monkeypatch.setattr(caching._Code, "_locator_classes", [caching._Named])
    assert [hits(loaded()), hits(loaded()), caching.kept()] == [0, 0, False]


def own(home: Path) -> caching._Own | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home))
        found: caching._Own | None = caching._Own.from_function(own, __file__)
        return found


def test_no_folder_that_others_may_fill_holds_a_program_of_ours(tmp_path, monkeypatch):
    assert own(tmp_path / "home") is not None
    for place, mode in ((tmp_path, 0o777), (tmp_path / "home", 0o777), (tmp_path / "home" / "numba", 0o777)):
        before = place.stat().st_mode
        place.chmod(mode)
        assert own(tmp_path / "home") is None, place
        place.chmod(mode | 0o1000)  # others may add, and replace nothing
        assert own(tmp_path / "home") is not None, place
        place.chmod(before)
    (inside,) = (tmp_path / "home" / "numba").iterdir()
    inside.chmod(0o1777)
    assert own(tmp_path / "home") is None
    inside.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    assert tmp_path.stat().st_uid == 0 or own(tmp_path / "home") is None


def test_without_a_home_nothing_is_kept_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert own(Path("~/.cache")) is None
    assert list(tmp_path.iterdir()) == []
