"""The quick start of the collector and the Python page do what they say: documents, a service, one report counted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("uvicorn", reason="the extra `collector` is not installed")


def block(page: str, kind: str, word: str) -> str:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = [one for one in re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL) if word in one]
    assert len(found) == 1
    return found[0]


def test_three_commands_and_a_client(tmp_path):
    *first, serve = block("collector.md", "sh", "entropie serve").replace("\\\n", " ").strip().splitlines()
    assert [line.split()[0] for line in first] == ["printf", "entropie"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}
    subprocess.run(["bash", "-euc", "\n".join(first)], cwd=tmp_path, env=own, check=True, capture_output=True)
    command = [*serve.split(), "--port", "0", "--admin-port", "0"]
    command[0] = str(Path(sys.executable).parent / "entropie")
    process = subprocess.Popen(command, cwd=tmp_path, env=own, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said: dict[str, str] = {}
        while "Collection" not in said:
            what, _, rest = process.stdout.readline().partition(": ")
            assert rest, "the service ended"
            said[what] = rest.split()[0]
        code = block("clients.md", "python", "entropie.Client")
        code = code.replace("https://collector.example/v1/collections/<id>", said["Reports"] + said["Collection"])
        ran = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=own, check=True, capture_output=True, text=True
        )
        assert "What leaves this device: 24 bytes." in ran.stdout
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0
    found = subprocess.run(
        [command[0], "doctor", "drinks.store"], cwd=tmp_path, env=own, capture_output=True, text=True
    )
    assert found.returncode == 0
    assert re.search(r"open\s+1$", found.stdout, re.MULTILINE)


def test_alerts_are_listed_as_they_are():
    from typing import get_args

    from entropie.collector.alerts import Kind

    text = (ROOT / "docs" / "collector.md").read_text(encoding="utf-8")
    table = text[text.index("| kind | raised when |") : text.index("The simulated attack knows")]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE) == list(get_args(Kind))


@pytest.mark.parametrize(
    ("change", "right"),
    [(None, True), ("body", False), ("secret", False), ("old", False), ("header", False), ("letters", False)],
)
def test_the_receiver_of_the_page_tells_what_is_genuine(change, right):
    from entropie.collector.webhook import signature

    known: dict[str, Any] = {}
    exec(block("collector.md", "python", "def genuine"), known)
    secret, body, now = b"sixteen bytes or more", b'{"raised":[]}', int(time.time())
    header = signature(secret, body, now - (400 if change == "old" else 0))
    if change in ("header", "letters"):
        header = header[:-1] + "\u00e9" if change == "letters" else header.replace("v1", "v2")
    body += b" " * (change == "body")
    assert known["genuine"](b"another secret of the sort" if change == "secret" else secret, body, header) is right
