"""Help as a stranger reads it: grouped by question, one line for each option, 80 columns."""

from __future__ import annotations

import re

import pytest

from entropie.cli.main import cli, run

NAMES = sorted(cli.commands)


@pytest.mark.parametrize("name", ["", *NAMES])
def test_every_option_has_one_line_of_80_columns(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*([name] if name else []), "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    listed = False
    for line in lines:
        if re.fullmatch(r"[A-Z][\w -]*:", line):
            listed = True
        elif listed and line:
            assert re.match(r"  (-|[a-z])", line), f"an option of {name} takes two lines: {line}"


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_listed_under_a_question(name, capsys):
    run([name, "--help"])
    text = capsys.readouterr().out
    for parameter in cli.commands[name].params:
        if parameter.opts[0].startswith("--"):
            assert parameter.opts[0] in text
    assert "[required]" not in text or "Usage" in text


def test_every_command_is_listed_once(capsys):
    run(["--help"])
    text = capsys.readouterr().out
    for name in NAMES:
        assert len(re.findall(rf"^  {name} ", text, re.MULTILINE)) == 1
