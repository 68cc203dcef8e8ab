"""The job as one value: the same from command line, Python and a file, checked once, with every option declared once."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import inspect
from pathlib import Path
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

import entropie
from entropie.cli.main import cli, run
from entropie.errors import EntropieError, InvalidInput, InvalidParameter
from entropie.kinds import option_of
from entropie.quantities import read_bytes, read_count, read_share
from entropie.request import Attackers, Limits, Output, Request, Run, Source
from entropie.table_request import TableRequest

SET = {
    "user": "who",
    "min_rating": 3.5,
    "max_dirty_share": 0.5,
    "min_events": 4,
    "rule": "history",
    "train_events": 3,
    "matchers": ("markov", "visit"),
    "known_events": (2, 1, 2),
    "targets": 100,
    "control": False,
    "limit": 0.1,
    "limit_name": 'our "policy"\n',
    "fail_on": "worst",
    "population": 1_400_000,
    "review_date": datetime.date(2030, 1, 31),
    "organisation": "Ünïcode & Söhne",
    "out": Path("a folder"),
    "report": False,
    "seed": 7,
    "memory": 4 * 10**9,
    "threads": 2,
}


def sections() -> list[type]:
    return [
        field.type if isinstance(field.type, type) else type(getattr(Request(Source()), field.name))
        for field in dataclasses.fields(Request)
    ]


def test_a_file_gives_the_same_job_back(tmp_path):
    request = Request.of("events.csv", SET)
    path = tmp_path / "job.toml"
    path.write_text(request.to_toml(), encoding="utf-8")
    assert Request.read(path) == request
    assert Request.read(path, {"seed": 8, "user": None}) == dataclasses.replace(
        request, run=dataclasses.replace(request.run, seed=8)
    )


def test_the_command_line_gives_the_same_job_as_python(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = [
        *("events.csv", "--user", "who", "--min-rating", "3.5", "--max-dirty-share", "50%", "--min-events", "4"),
        *("--targets", "1e2", "--rule", "HISTORY", "--train-events", "3", "--matcher", "markov", "--matcher", "visit"),
        *(
            "--known-events",
            "2",
            "--known-events",
            "1",
            "--no-control",
            "--limit",
            "10%",
            "--limit-name",
            'our "policy"\n',
        ),
        *("--fail-on", "worst", "--population", "1.4M", "--review-date", "2030-01-31"),
        *("--organisation", "Ünïcode & Söhne", "--out", "a folder", "--no-report", "--seed", "7", "--memory", "4GB"),
        *("--threads", "2"),
    ]
    assert run(["assess", *arguments, "--print-config"]) == 0
    printed = capsys.readouterr().out
    assert printed == Request.of("events.csv", SET).to_toml()
    Path("job.toml").write_text(printed, encoding="utf-8")
    assert run(["assess", "--config", "job.toml", "--print-config"]) == 0
    assert capsys.readouterr().out == printed
    assert run(["assess", "--config", "job.toml", "--seed", "8", "--print-config"]) == 0
    assert "seed = 8" in capsys.readouterr().out


def test_every_option_is_declared_once_and_reaches_the_command_line_and_the_door():
    declared = [field.name for section in sections() for field in dataclasses.fields(section)]
    assert len(declared) == len(set(declared))
    parameters = {parameter.name for parameter in cli.commands["assess"].params}
    options = {field.name for section in sections() for field in dataclasses.fields(section) if option_of(field)}
    assert options <= parameters
    door = set(inspect.signature(entropie.assess).parameters)
    python_only = {"spark", "partitions", "block_users", "progress", "replicates", "order", "events"}
    not_for_python = {field.name for field in dataclasses.fields(Output)}
    assert door == (options - not_for_python) | python_only


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"limit": "ten"}, "Parameter `limit` must be a share, such as 0.1 or 10%, got 'ten' instead."),
        ({"seed": -1}, "Parameter `seed` must be a whole number from 0 to"),
        ({"seed": 1.5}, "Parameter `seed` must be a whole number"),
        ({"threads": 0}, "Parameter `threads` must be a whole number from 1 to 256"),
        ({"memory": "much"}, "Parameter `memory` must be a size, such as 512MB or 4GB, got 'much' instead."),
        ({"rule": "thirds"}, "Parameter `rule` must be one of date, halves, history, got 'thirds' instead."),
        ({"rule": "history"}, "Parameter `train_events` must be given under rule history"),
        ({"known_events": (0,)}, "Parameter `known_events` must be a whole number from 1"),
        ({"max_dirty_share": 2}, "Parameter `max_dirty_share` must be a share from 0 to 1"),
        ({"min_rating": float("nan")}, "Parameter `min_rating` must be a finite number"),
        ({"control": "no"}, "Parameter `control` must be true or false"),
        ({"title": " "}, "Parameter `title` must be a text that is not empty"),
        ({"master": "local[1]"}, "`master=` goes with `engine=` spark, and only there."),
        ({"colour": "red"}, "Unknown option 'colour'."),
        ({"matcherz": "visit"}, "Unknown option 'matcherz'; did you mean `matchers`?"),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_refused_at_once(options, sentence):
    with pytest.raises(InvalidParameter) as raised:
        Request.of("events.csv", options)
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[source", "is not TOML"),
        ("[sauce]\nuser = 'a'", "may have the tables .*, got `sauce` instead; did you mean `source`"),
        ("user = 'a'", "may have the tables"),
        ("[source]\nuse = 'a'", "Table `source` of .*, got `use` instead; did you mean `user`"),
        ("[run]\nseed = 'x'", "Parameter `seed` must be a whole number"),
    ],
)
def test_a_file_that_is_no_job_gets_one_sentence(tmp_path, text, sentence):
    path = tmp_path / "job.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises((InvalidInput, InvalidParameter), match=sentence):
        Request.read(path)
    with pytest.raises(InvalidInput, match="does not exist"):
        Request.read(tmp_path / "none.toml")


def test_a_message_names_the_parameter_as_its_reader_sets_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["assess", "x.csv", "--known-events", "0"]) == 2
    assert "Option --known-events must be" in capsys.readouterr().err
    assert run(["assess", "x.csv", "--master", "local[1]"]) == 2
    assert "--master goes with --engine spark" in capsys.readouterr().err


def test_values_that_mean_the_same_make_equal_jobs():
    assert Attackers(matchers=("visit", "markov", "visit")) == Attackers(matchers=("visit", "markov"))
    assert Attackers(known_events=(3, 1)) == Attackers(known_events=(1, 3))
    assert Run(progress=lambda stage, share: None) == Run()


@pytest.mark.parametrize(
    ("text", "number"),
    [("1370637", 1_370_637), ("1_370_637", 1_370_637), ("1,370,637", 1_370_637), ("1e6", 10**6), ("1.4M", 1_400_000),
     ("10G", 10**10), ("10B", 10**10), ("2k", 2000), ("-3", -3), ("1.5e3", 1500)],
)  # fmt: skip
def test_counts_as_people_write_them(text, number):
    assert read_count(text) == number


@pytest.mark.parametrize("text", ["", "x", "1.5", "1e99999", "1MM", "nan", "inf", "1e31", "0x10", "1 2", "--1", "1e-3"])
def test_what_is_no_count(text):
    with pytest.raises(ValueError):
        read_count(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("512", 512), ("4GB", 4 * 10**9), ("4GiB", 4 * 2**30), ("1.5 MB", 1_500_000), ("2k", 2000), ("1T", 10**12)],
)
def test_sizes_are_powers_of_a_thousand_unless_they_say_otherwise(text, size):
    assert read_bytes(text) == size


@pytest.mark.parametrize("text", ["", "0", "0GB", "GB", "4 Gi", "-1GB", "4iB", "1e400GB", "nan", "9" * 400, "1e30"])
def test_what_is_no_size(text):
    if text == "4 Gi":
        assert read_bytes(text) == 4 * 2**30
        return
    with pytest.raises(ValueError):
        read_bytes(text)


@given(st.floats(0, 100, allow_nan=False))
def test_shares_and_percent_are_the_same(value):
    assert read_share(f"{value!r}%") == value / 100.0
    assert read_share(repr(value)) == value


@pytest.mark.parametrize("text", ["", "%", "ten", "nan", "inf%", "1%%"])
def test_what_is_no_share(text):
    with pytest.raises(ValueError):
        read_share(text)


@pytest.mark.parametrize(
    ("written", "given", "wanted"),
    [
        (
            'profile = "ema"\nfail_on = "worst"\ncontext = "public"',
            {"limit": "90%", "limit_name": "x", "fail_on": "average"},
            Limits(limit=0.9, limit_name="x", fail_on="average", context="public"),
        ),
        ('limit = 0.9\nlimit_name = "x"\nfail_on = "average"', {"profile": "ema"}, Limits(profile="ema")),
        ('profile = "ema"\nfail_on = "average"', {"profile": "arx-highest"}, Limits("arx-highest", fail_on="average")),
        (
            'limit = 0.9\nlimit_name = "x"\nfail_on = "average"',
            {"limit": 0.5},
            Limits(limit=0.5, limit_name="x", fail_on="average"),
        ),
    ],
)
def test_a_limit_of_another_kind_replaces_all_of_the_files(tmp_path, written, given, wanted):
    file = tmp_path / "job.toml"
    file.write_text(f"[verdict]\n{written}\n")
    assert Request.read(file, given).verdict == wanted


PINNED = '[verdict]\nprofile = "ema"\npinned = true\n'
FREE = {"events": "e.csv", "out": Path("elsewhere"), "threads": 2, "title": "T", "metrics": Path("m"), "window": "30d"}
CHANGING = [
    ("min_events", 20), ("matchers", ("visit",)), ("train_events", 1), ("target_events", 1), ("knowledge", "partial"),
    ("scope", ("points",)), ("points", (1,)), ("attempt_probability", 0.1), ("fail_on", "average"), ("limit", 0.9),
    ("profile", "custodian-033"), ("accept_limited", True), ("not_released", True), ("one_id_per_person", True),
    ("judge_population", True), ("made_by_mechanism", True),
    ("waiver", "w.toml"), ("seed", 1), ("pinned", False), ("item", "region"), ("min_rating", 4.0),
    ("max_dirty_share", 0.9), ("population", 10**9), ("control", False),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), CHANGING)
def test_a_pinned_verdict_is_weakened_by_no_option(tmp_path, name, value):
    file = tmp_path / "job.toml"
    file.write_text(PINNED)
    with pytest.raises(InvalidParameter) as refused:
        Request.read(file, {**FREE, name: value})
    assert str(refused.value) == f"`{name}=` may not be given beside {file}, which pins the verdict; change the file."
    file.write_text(PINNED.replace("true", "false"))
    Request.read(file, {**FREE, name: value} | ({"limit_name": "own", "fail_on": "worst"} if name == "limit" else {}))


def test_a_pinned_verdict_lets_events_and_outputs_be_named(tmp_path, capsys, monkeypatch):
    file = tmp_path / "job.toml"
    file.write_text(PINNED)
    request = Request.read(file, FREE)
    assert (request.verdict.pinned, request.output.out, request.verdict.profile) == (True, Path("elsewhere"), "ema")
    assert "pinned = true" in request.to_toml()
    monkeypatch.chdir(tmp_path)
    assert run(["assess", "e.csv", "--config", "job.toml", "--accept-limited", "--scope", "points"]) == 2
    assert "--accept-limited" in capsys.readouterr().err


ODD = ({}, [], [[]], [{}], True, -1, 0, 1.5, float("nan"), float("inf"), "x", "", datetime.date(1979, 5, 27), ["a"], [1],
       datetime.time(10), "\u202e", 2**63 - 1, {"a": 1}, "-", 10**400)  # fmt: skip


@pytest.mark.parametrize("job", [Request, TableRequest])
def test_whatever_a_file_may_say_is_taken_or_refused_in_a_sentence(job):
    for part, kind in ((field.name, get_type_hints(job)[field.name]) for field in dataclasses.fields(job)):
        for field in dataclasses.fields(kind):
            for value in ODD:
                with contextlib.suppress(EntropieError):
                    job.of_tables([("job.toml", {part: {field.name: value}})])
