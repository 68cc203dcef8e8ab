"""Steps: kept once done, resumed after a stop, filed under what decides them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from entropie.errors import InvalidParameter
from entropie.paper import steps as steps_module
from entropie.paper.registry import ALL, FIGURES, chosen_figures
from entropie.paper.settings import SCALES, make_settings
from entropie.paper.steps import Step, peak_bytes, reset_peak, run_steps

calls: list[str] = []


def work(settings, *, name, stop=""):
    calls.append(name)
    if stop and Path(stop).exists():
        raise KeyboardInterrupt
    return {"name": name, "seed": settings.seed}


def allocate(settings):
    return {"sum": float(np.ones(40_000_000).sum())}


@pytest.fixture
def settings(tmp_path):
    calls.clear()
    return make_settings("small", tmp_path / "steps")


def test_results_are_kept_and_not_computed_again(settings):
    wanted = [Step("a", work, {"name": "a"}), Step("b", work, {"name": "b"})]
    first = run_steps(wanted, settings)
    second = run_steps(wanted, settings)
    assert calls == ["a", "b"]
    assert [done.kept for done in first.values()] == [False, False]
    assert [done.kept for done in second.values()] == [True, True]
    assert {name: done.result for name, done in first.items()} == {name: done.result for name, done in second.items()}
    assert first["a"].seconds == second["a"].seconds


def test_a_stopped_run_continues_with_what_is_done(settings, tmp_path):
    flag = tmp_path / "stop"
    flag.touch()
    wanted = [Step("a", work, {"name": "a"}), Step("b", work, {"name": "b", "stop": str(flag)})]
    with pytest.raises(KeyboardInterrupt):
        run_steps(wanted, settings)
    flag.unlink()
    done = run_steps(wanted, settings)
    assert calls == ["a", "b", "b"]
    assert done["a"].kept
    assert not done["b"].kept


def test_the_same_step_of_two_figures_runs_once(settings):
    run_steps([Step("a", work, {"name": "a"}), Step("a", work, {"name": "a"})], settings)
    assert calls == ["a"]


def test_a_damaged_result_is_made_again(settings):
    step = Step("a", work, {"name": "a"})
    run_steps([step], settings)
    file = settings.store / f"{step.key(settings)}.json"
    file.write_text(file.read_text(encoding="utf-8")[:20], encoding="utf-8")
    assert run_steps([step], settings)["a"].result == {"name": "a", "seed": 0}
    assert calls == ["a", "a"]
    json.loads(file.read_text(encoding="utf-8"))


def test_what_a_result_is_filed_under(settings, tmp_path, monkeypatch):
    step = Step("a", work, {"name": "a"})
    key = step.key(settings)
    assert Step("other name", work, {"name": "a"}).key(settings) == key
    assert step.key(replace(settings, threads=1, store=tmp_path)) == key
    data = tmp_path / "data"
    data.mkdir()
    (data / "ratings.csv").write_text("x", encoding="utf-8")
    others = [
        Step("a", work, {"name": "b"}).key(settings),
        step.key(replace(settings, seed=1)),
        step.key(replace(settings, scale=SCALES["medium"])),
        step.key(replace(settings, data=data)),
    ]
    monkeypatch.setattr(steps_module, "program_digest", lambda: "another program")
    others.append(step.key(settings))
    assert len({key, *others}) == 6


def test_progress_rises(settings):
    told = []
    wanted = [Step(name, work, {"name": name}, cost) for name, cost in (("a", 1.0), ("b", 3.0))]
    run_steps(wanted, settings, lambda stage, share: told.append((stage, share)))
    assert told == [("a", 0.0), ("b", 0.25), ("drawing", 1.0)]


def test_peak_memory_is_that_of_the_step(settings):
    done = run_steps([Step("large", allocate), Step("small", work, {"name": "a"})], settings)
    assert done["large"].peak_bytes > 40_000_000 * 8
    reset_peak()
    assert peak_bytes() > 0


def test_figures_by_name():
    assert [figure.name for figure in chosen_figures([])] == list(ALL)
    assert [figure.name for figure in chosen_figures(["all", "growth"])] == [*ALL, "growth"]
    assert [figure.name for figure in chosen_figures(["10", "fig2", "2"])] == ["2", "10"]
    assert list(FIGURES)[:10] == [str(number) for number in range(1, 11)]
    with pytest.raises(InvalidParameter, match="figure"):
        chosen_figures(["11"])


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"scale": "huge"}, "scale"),
        ({"seed": -1}, "seed"),
        ({"threads": 0}, "threads"),
        ({"data": Path("/no")}, "data"),
    ],
)
def test_bad_settings_get_a_sentence(tmp_path, arguments, word):
    with pytest.raises(InvalidParameter, match=f"`{word}`"):
        make_settings(**{"scale": "small", "store": tmp_path, **arguments})
