"""The committed vectors are what the package makes, and Node and Chromium make the same of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import client_vectors
import pytest

from entropie.collector import device, stream
from entropie.collector.document import read
from entropie.errors import EntropieError

CLIENT = Path(__file__).resolve().parents[2] / "clients" / "js"


@pytest.fixture(scope="module")
def committed():
    made = client_vectors.vectors()
    if os.environ.get("UPDATE_VECTORS"):
        client_vectors.FILE.write_text(json.dumps(made, indent=1) + "\n", encoding="ascii")
    return json.loads(client_vectors.FILE.read_text(encoding="ascii"))


def test_the_package_makes_the_committed_vectors(committed):
    assert client_vectors.vectors() == committed


def test_the_package_passes_them(committed):
    drawn = 0
    for one in committed["collections"].values():
        collection = read(one["document"].encode())
        assert collection.id == one["id"]
        for draw in one["draws"]:
            source = stream.from_bytes(bytes.fromhex(draw["stream"]))
            assert device.report(collection, int(draw["code"]), source).hex() == draw["record"]
            with pytest.raises(EOFError):
                source.take(1)
            drawn += 1
    assert drawn > 90


def test_the_package_refuses_the_same_documents(committed):
    for one in committed["refused"].values():
        with pytest.raises(EntropieError):
            read(one["document"].encode("utf-8", "surrogatepass"))


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_the_tests_of_the_client_pass_in_node():
    done = subprocess.run(["node", "--test", "test/"], cwd=CLIENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "# fail 0" in done.stdout
