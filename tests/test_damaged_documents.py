"""Every JSON document that a command reads, damaged in every way: one sentence and exit code 2, never a traceback."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from real_documents import real

from entropie import drawing
from entropie.cli.main import run
from entropie.contents import MOST_BYTES
from entropie.document import typed
from entropie.errors import EntropieError
from entropie.gate.comparison import compare
from entropie.gate.metrics import exposition
from entropie.page.page import render

GOLDEN = Path(__file__).parent / "mechanisms" / "golden"
REPORTS = "item\n0\n1\n"
DOCUMENTS = {
    "assessment": lambda: json.dumps(real("--matcher", "visit")),
    "parameters": lambda: (GOLDEN / "rr.json").read_text(),
}
READERS = {
    "report": ("assessment", ["report", "bad.json", "--out", "page.html"]),
    "compare, old": ("assessment", ["compare", "bad.json", "good.json"]),
    "compare, new": ("assessment", ["compare", "good.json", "bad.json"]),
    "estimate": ("parameters", ["estimate", "reports.csv", "--parameters", "bad.json"]),
    "obfuscate": (
        "parameters",
        ["obfuscate", "values.csv", "--column", "item", "--parameters", "bad.json", "--out", "r.csv"],
    ),
}
DAMAGES: dict[str, Any] = {
    "empty": lambda text: b"",
    "white space": lambda text: b" \n\t",
    "cut off": lambda text: text[: len(text) // 2],
    "last byte gone": lambda text: text[:-1],
    "not UTF-8": lambda text: text.replace(b'"schema"', b'"schema\xff"', 1),
    "latin-1": lambda text: text[:-1] + ', "caf\xe9": 1}'.encode("latin-1"),
    "UTF-16": lambda text: text.decode().encode("utf-16"),
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "NUL": lambda text: text + b"\0",
    "two documents": lambda text: text + text,
    "a list": lambda text: b"[" + text + b"]",
    "null": lambda text: b"null",
    "a number": lambda text: b"17",
    "text": lambda text: b'"text"',
    "deep lists": lambda text: b"[" * 100_000,
    "deep objects": lambda text: b'{"a":' * 100_000,
    "closed deep lists": lambda text: text[:-1] + b', "deep": ' + b"[" * 900 + b"]" * 900 + b"}",
    "4,301 digits": lambda text: text[:-1] + b', "n": ' + b"9" * 4301 + b"}",
    "4,000 digits": lambda text: text[:-1] + b', "n": ' + b"9" * 4000 + b"}",
    "1e400": lambda text: text[:-1] + b', "n": 1e400}',
    "-1e400": lambda text: text[:-1] + b', "n": -1e400}',
    "NaN": lambda text: text[:-1] + b', "n": NaN}',
    "Infinity": lambda text: text[:-1] + b', "n": Infinity}',
    "lone surrogate": lambda text: text[:-1] + b', "n": "\\ud800"}',
    "lone surrogate as a key": lambda text: text[:-1] + b', "\\udfff": 1}',
    "surrogate in bytes": lambda text: text[:-1] + b', "n": "\xed\xa0\x80"}',
    "key twice": lambda text: text[:-1] + b', "schema": "entropie.assessment/1"}',
    "key too many": lambda text: text[:-1] + b', "unheard_of": 1}',
    "another schema": lambda text: text.replace(b"entropie.", b"entropia.", 1),
    "a schema of a megabyte": lambda text: b'{"schema": "' + b"x" * 10**6 + b'"}',
    "a schema that is a list": lambda text: b'{"schema": [1, 2]}',
    "huge": lambda text: text + b" " * MOST_BYTES,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("good.json").write_text(DOCUMENTS["assessment"](), encoding="utf-8")
    Path("reports.csv").write_text(REPORTS)
    Path("values.csv").write_text(REPORTS)
    return tmp_path


def refused(arguments: list[str], capsys) -> str:
    """The one sentence with which a command ends."""
    before = {path.name for path in Path().iterdir()}
    code = run(arguments)
    shown = capsys.readouterr()
    assert (code, shown.out) == (2, ""), shown
    assert shown.err.startswith("entropie: ")
    assert shown.err.endswith(".\n")
    assert shown.err.count("\n") == 1
    assert len(shown.err) < 400
    assert {path.name for path in Path().iterdir()} == before
    return shown.err


@pytest.mark.parametrize("reader", READERS)
def test_damaged_files_get_one_sentence(folder, capsys, reader):
    name, arguments = READERS[reader]
    text = DOCUMENTS[name]().strip().encode()
    for damage, damaged in DAMAGES.items():
        Path("bad.json").write_bytes(damaged(text))
        assert "bad.json" in refused(arguments, capsys) or name == "parameters", damage


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_gets_one_sentence(folder, capsys, reader):
    _, arguments = READERS[reader]
    assert "bad.json" in refused(arguments, capsys)
    Path("bad.json").mkdir()
    assert "bad.json" in refused(arguments, capsys)


VALUES = [None, True, -1, 0, 10**30, 1e308, -1e308, 1e-320, "", "text", "\u202e\x1b[2J", [], {}, [[]], {"value": 1}]


def places(value: Any, path: tuple[str | int, ...] = ()):
    """Every place of a document, of lists the first element."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, inner in children:
        yield from places(inner, (*path, name))


def changed(document: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """A copy with another value at a place."""
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = changed(document[path[0]], path[1:], value)
    return copy


def test_wrong_values_are_refused_or_shown(monkeypatch):
    """Every value of a real assessment replaced: readers refuse it with a sentence, or make what they always make."""
    monkeypatch.setattr(drawing, "available", lambda: False)
    good = real("--matcher", "visit", "--profile", "ema", "--protect", "0.8", "--window", "4d")
    refusals = shown = 0
    for spot in places(good):
        for value in VALUES:
            document = changed(good, spot, value)
            try:
                typed(document)
            except EntropieError:
                refusals += 1
                continue
            shown += 1
            for make in (lambda d: compare(d, good), lambda d: compare(good, d), exposition):
                with contextlib.suppress(EntropieError):
                    make(document)
            if shown % 50 == 0:
                render(document)
    assert refusals > 5 * shown > 0
