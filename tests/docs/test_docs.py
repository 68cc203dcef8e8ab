"""The documents tell the truth: help texts, command outputs and links are what the program and the tree say."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from entropie.cli.main import cli, run

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
CONSOLE = re.compile(r"(?<=```console\n)\$ (?P<command>(?:[^\n]*\\\n)*[^\n]*)\n(?P<output>.*?)(?=```)", re.DOTALL)


def outputs(document: Path) -> list[tuple[str, str]]:
    return [(found["command"], found["output"]) for found in CONSOLE.finditer(document.read_text(encoding="utf-8"))]


CASES = [(document, command) for document in DOCUMENTS for command, _ in outputs(document) if "entropie" in command]


@pytest.mark.parametrize(("document", "command"), CASES, ids=[f"{d.name}: {c[:60]}" for d, c in CASES])
def test_every_shown_output_is_what_the_command_prints(document, command, capsys, monkeypatch, tmp_path):
    """A block that starts with `$ entropie ...` shows the whole output of that command."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command.replace("\\\n", " "))
    capsys.readouterr()
    run(words[1:])
    printed = capsys.readouterr().out
    if os.environ.get("UPDATE_DOCS"):
        text = document.read_text(encoding="utf-8")
        renewed = CONSOLE.sub(lambda m: f"$ {m['command']}\n{printed}" if m["command"] == command else m[0], text)
        document.write_text(renewed, encoding="utf-8")
    assert dict(outputs(document))[command] == printed


def test_every_command_is_documented():
    documented = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name in cli.commands:
        assert f"$ entropie {name} --help\n" in documented


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target


def test_functions_and_tests_named_in_the_paper_map_exist():
    """`docs/paper.md` names modules as `theory/x.py: f` and tests as `tests/...: t`; both must be there."""
    text = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    named = re.findall(
        r"`((?:tests|theory|mechanisms|estimation|attack|measures|kernels|data)/[\w/]+\.py): ([\w., ]+)`", text
    )
    assert len(named) > 20
    for path, names in named:
        file = ROOT / path if path.startswith("tests") else ROOT / "src" / "entropie" / path
        source = file.read_text(encoding="utf-8")
        for name in names.split(", "):
            word = name.split(".")[-1]
            assert re.search(rf"(def|class) {word}\b|^{word}\b", source, re.MULTILINE), (path, name)
