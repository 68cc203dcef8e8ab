from __future__ import annotations

from pathlib import Path

import pytest

from entropie.paper.reproduce import Reproduction, reproduce
from entropie.paper.settings import make_settings


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduction")


@pytest.fixture(scope="session")
def small(folder: Path) -> Reproduction:
    """Every figure at the small scale, on simulated data."""
    return reproduce(["all"], make_settings("small", folder / "steps", threads=2), folder)
