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


NEARLY = [
    ("asess x.csv", "Did you mean 'assess'? Try"),
    ("assess x.csv --usr user", "'--user'?). Try"),
    ("assess x.csv --matcher vist", "did you mean `visit`?"),
    ("assess x.csv --scope profil", "did you mean `profile`?"),
    ("assess x.csv --rule DATTE", "did you mean `date`? Try"),
    ("assess x.csv --profile emaa", "did you mean `ema`?"),
    ("assess x.csv --preset movilens", "did you mean `movielens`?"),
    ("calibrate --users 10 --domain 10 --bayes-error 90% --mechanism hadmard", "did you mean `hadamard`? Try"),
    ("guarantee --mechanism hadmard --domain 10 --users 10 --epsilon 1", "did you mean `hadamard`?"),
    ("simulate forsquare --out x.csv", "did you mean `foursquare`? Try"),
    ("scores x.csv --failed dorp", "did you mean `drop`? Try"),
]


@pytest.mark.parametrize(("line", "hint"), NEARLY)
def test_what_was_nearly_written_is_named(line, hint, entropie):
    ran = entropie(*line.split())
    assert (ran.code, ran.out) == (2, "")
    assert hint in ran.err
    assert "?." not in ran.err


def test_what_is_like_nothing_gets_no_hint(entropie):
    for line in ("assess x.csv --matcher zzz", "simulate zzz --out x.csv", "assess x.csv --rule zzz"):
        assert "did you mean" not in entropie(*line.split()).err


def test_names_and_numbers_of_options_are_read_in_one_way(entropie):
    """Names in capitals or not, numbers with a unit; what is no number is said to be none."""
    sizes = ("--users", "1K", "--domain", "10", "--bayes-error", "90%")
    assert entropie("calibrate", *sizes, "--mechanism", "RR", "--scope", "ALL").code == 0
    assert "'much' is not a number. Try" in entropie("calibrate", *sizes, "--max-epsilon", "much").err
