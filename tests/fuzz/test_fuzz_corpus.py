"""Every input that once made the program fail, run again."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from fuzz_ran import in_this_process, kept_case, problems

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.json"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_failed_once_does_not_fail_again(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", tempfile.tempdir)
    asked = kept_case(path)
    assert problems(asked, in_this_process(asked, tmp_path)) == []
