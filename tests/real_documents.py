"""The document of a real small assessment, made once per run through the command line.

Tests change copies of it; whatever the gate or the report is given is checked whole by `entropie.document`.
"""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

from entropie.cli.main import cli

PEOPLE = 60


def events(loyalty: float = 0.6, seed: int = 5, count: int = PEOPLE) -> str:
    """Everybody has three places of their own and goes there with probability `loyalty`, else anywhere."""
    rng = np.random.default_rng(seed)
    lines = ["user,item,time"]
    for user in range(count):
        own = rng.choice(80, 3, replace=False)
        for event in range(20):
            place = own[rng.integers(3)] if rng.random() < loyalty else rng.integers(80)
            lines.append(f"person-{user:03d},place {place},{1_600_000_000 + event * 40_000}")
    few = [f"seldom-{user},place 1,{1_600_000_000 + user}" for user in range(4)]
    return "\n".join([*lines, *few]) + "\n"


def real(*options: str) -> dict[str, Any]:
    """The plain document of `entropie assess` with these options; every call gives a new copy."""
    document: dict[str, Any] = json.loads(_real(options))
    return document


@functools.cache
def _real(options: tuple[str, ...]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "events.csv"), Path(folder, "out")
        source.write_text(events(), encoding="utf-8")
        ran = CliRunner().invoke(
            cli, ["assess", str(source), "--out", str(out), "--no-report", *options], standalone_mode=False
        )
        if ran.exception is not None:
            raise ran.exception
        return Path(out, "assessment.json").read_text(encoding="utf-8")
