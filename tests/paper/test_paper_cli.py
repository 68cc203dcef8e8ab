"""The command `reproduce`."""

from __future__ import annotations

import json

import pytest

from entropie.cli.main import run
from entropie.cli.reproduce import reproduction_text


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def entropie(*arguments):
        capsys.readouterr()
        code = run(list(arguments))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return entropie


def test_a_figure_of_formulas(call, tmp_path):
    code, out, err = call("reproduce", "1", "--out", "found")
    assert (code, err) == (0, "")
    assert out.startswith("1  The exact bound is up to 278 times below the theorem (at epsilon 0.1).\n")
    assert (tmp_path / "found" / "fig1.csv").read_text(encoding="utf-8").startswith("epsilon,proposition_bits,")
    assert (tmp_path / "found" / "results.md").exists()


def test_json_is_strict_and_a_second_run_keeps_what_is_done(call):
    code, out, _ = call("reproduce", "9", "--out", "found", "--json")
    assert code == 0
    first = json.loads(out, parse_constant=pytest.fail)
    assert first["schema"] == "entropie.reproduction/1"
    assert [figure["figure"] for figure in first["figures"]] == ["9"]
    assert {step["kept"] for step in first["steps"]} == {False}
    assert first["data"][0]["source"] == "simulated check-ins"
    second = json.loads(call("reproduce", "9", "--out", "found", "--json")[1])
    assert {step["kept"] for step in second["steps"]} == {True}
    assert second["figures"] == first["figures"]


def test_stopping_says_what_is_kept(call, monkeypatch):
    def stopped(*arguments, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("entropie.paper.reproduce.reproduce", stopped)
    code, out, err = call("reproduce", "9")
    assert (code, out) == (130, "")
    assert "finished steps are in entropie-paper" in err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("11",), "figure"),
        (("1", "--data", "nowhere"), "data"),
        (("1", "--threads", "0"), "threads"),
        (("1", "--seed", "-1"), "seed"),
        (("1", "--scale", "huge"), "--scale"),
    ],
)
def test_bad_input_gets_one_sentence(call, arguments, word):
    code, out, err = call("reproduce", *arguments)
    assert (code, out) == (2, "")
    assert word in err
    assert "Traceback" not in err


def test_a_file_in_the_way(call, tmp_path):
    (tmp_path / "taken").write_text("x", encoding="utf-8")
    code, _, err = call("reproduce", "1", "--out", "taken")
    assert code == 2
    assert "taken" in err


def test_verbose_prints_every_finding_and_quiet_none(call):
    code, out, _ = call("reproduce", "1", "--out", "found", "--verbose")
    assert code == 0
    assert out.startswith("Figure 1. alpha against epsilon\n")
    assert "- Epsilon 10: proposition 14 bits" in out
    assert max(map(len, out.splitlines())) <= 80
    assert call("reproduce", "1", "--out", "found", "--quiet")[:2] == (0, "")


def test_all_figures_fit_a_screen(small, folder):
    text = reproduction_text(small, folder).splitlines()
    assert len(text) <= 25
    assert max(map(len, text)) <= 80 + len(str(folder))
