"""`plan`: exact output, sizes with suffixes, one sentence for every bad input, and no Spark."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import entropie as entropie_library
from entropie.cli.plan import _priced
from entropie.engine.local import LocalEngine
from entropie.plan.plan import Plan

LOCAL = ["--users", "20K", "--events-per-user", "30", "--items", "100K"]
SIZES = ["--users", "100M", "--events", "10G", "--items", "50M", "--targets", "all", "--scope", "profile"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("plan.txt", [*SIZES, "--executors", "200", "--memory", "32GB"]),
        ("plan_hours.txt", [*SIZES, "--hours", "24", "--matcher", "visit", "--no-control", "--verbose"]),
        ("plan_local.txt", [*LOCAL, "--cores", "2", "--memory", "8GB"]),
        ("plan.json", [*SIZES, "--executors", "200", "--matcher", "visit", "--matcher", "bayes", "--json"]),
    ],
)
def test_exact_output(entropie, matches_golden, name, arguments):
    ran = entropie("plan", *arguments)
    assert (ran.code, ran.err) == (0, "")
    matches_golden(name, ran.out)


def document(entropie, *arguments: str) -> dict:
    ran = entropie("plan", *arguments, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_numbers_may_be_written_in_many_ways(entropie):
    plain = document(
        entropie,
        "--users",
        "2500000",
        "--events",
        "100000000",
        "--items",
        "1000",
        "--executors",
        "5",
        "--memory",
        "16000000000",
    )
    for users, events, items, memory in (
        ("2.5M", "0.1G", "1k", "16GB"),
        ("2.5e6", "1e8", "1_000", "16G"),
        ("2500K", "100M", "1e3", "0.016TB"),
    ):  # fmt: skip
        same = document(
            entropie, "--users", users, "--events", events, "--items", items, "--executors", "5", "--memory", memory
        )
        assert same == plain
    per_user = document(entropie, "--users", "2.5M", "--events-per-user", "40", "--items", "1K", "--executors", "5")
    assert per_user == plain


def test_hours_find_the_executors_that_take_them(entropie):
    found = document(entropie, *SIZES, "--hours", "48", "--matcher", "visit")
    assert found["hours"]["total"] <= 48
    executors = found["machines"]["executors"]
    assert document(entropie, *SIZES, "--executors", str(executors), "--matcher", "visit") == found
    fewer = document(entropie, *SIZES, "--executors", str(executors - 1), "--matcher", "visit")
    assert fewer["hours"]["total"] > 48


def test_more_people_per_event_cost_more(entropie):
    few, many = (
        document(entropie, *SIZES, "--executors", "9", "--people-per-event", number) for number in ("10", "10000")
    )
    assert few["people_per_event"] == 10
    assert many["core_hours"]["scoring"] > few["core_hours"]["scoring"]
    flat, steep = (document(entropie, *SIZES, "--executors", "9", "--zipf", s) for s in ("0.5", "1"))
    assert steep["people_per_event"] > flat["people_per_event"]


def test_the_control_doubles_the_attacks(entropie):
    with_control, without = (document(entropie, *SIZES, "--executors", "9", *more) for more in ([], ["--no-control"]))
    assert (with_control["attacks"], without["attacks"]) == (12, 6)
    assert with_control["core_hours"]["scoring"] == pytest.approx(2 * without["core_hours"]["scoring"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([*SIZES, "--engine", "spark"], "Give either --executors or --hours, not both and not neither."),
        ([*SIZES, "--engine", "local", "--hours", "2"], "Options --executors and --hours go with --engine spark, and only there."),
        ([*SIZES, "--matcher", "magic"], "Option --matcher must be one of markov, visit, tfidf, cosine, bayes, pitman_yor, got 'magic' instead."),
        ([*SIZES, "--executors", "2", "--hours", "2"], "Give either --executors or --hours, not both and not neither."),
        (["--users", "5", "--items", "5", "--executors", "2"], "Give either --events or --events-per-user, not both and not neither."),
        (["--users", "1", "--events", "9", "--items", "5", "--executors", "2"], "Option --users must be a whole number from 2 to 1000000000000000000, got 1 instead."),
        (["--users", "5", "--events", "9", "--items", "5", "--executors", "2"], "Option --events must be at least two for each of the 5 people, got 9 instead."),
        (["--users", "5", "--events-per-user", "nan", "--items", "5", "--executors", "2"], "Option --events-per-user must be a number from 2 to 1e+12, got nan instead."),
        ([*SIZES, "--executors", "2", "--distinct", "0"], "Option --distinct must be a share above 0 and at most 1, got 0.0 instead."),
        ([*SIZES, "--executors", "2", "--people-per-event", "5", "--zipf", "1"], "Give --people-per-event or --zipf, not both: the second is there to guess the first."),
        ([*SIZES, "--executors", "2", "--throughput", "0"], "Option --throughput must be a positive number of MB per second, got 0.0 instead."),
        ([*SIZES, "--users", "many", "--executors", "2"], "Invalid value for '--users': 'many' is not a whole number, such as 1000, 1e6 or 1.4M. Try 'entropie plan --help'."),
        ([*SIZES, "--executors", "2", "--memory", "16XB"], "Invalid value for '--memory': '16XB' is not a size, such as 512MB or 4GB. Try 'entropie plan --help'."),
        ([*SIZES, "--executors", "2.5"], "Invalid value for '--executors': '2.5' is not a whole number, such as 1000, 1e6 or 1.4M. Try 'entropie plan --help'."),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence(entropie, arguments, sentence):
    ran = entropie("plan", *arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", f"entropie: {sentence}\n")


def test_the_plan_that_is_priced_is_the_plan_that_runs(entropie, monkeypatch):
    """On people who are all alike, with the memory that the run is told: the same value."""
    people, each = 700, 20
    items = np.random.default_rng(1).integers(0, 90, people * each)
    events = pa.table({"user": np.repeat(np.arange(people), each), "item": items})
    ran: list[Plan] = []
    run = LocalEngine.execute
    monkeypatch.setattr(LocalEngine, "execute", lambda self, plan: ran.append(plan) or run(self, plan))
    options = {"matchers": ("visit", "bayes"), "memory": 400_000, "known_events": (2,)}
    entropie_library.assess(events, user="user", item="item", replicates=2, threads=2, **options)
    told = _priced({"users": people, "events_per_user": each, "items": 90, "cores": 2, **options}).plan
    assert ran == [told]
    assert told.grid.user_blocks > 1
    size = [
        "--users",
        str(people),
        "--events-per-user",
        str(each),
        "--items",
        "90",
        "--memory",
        "400KB",
        "--cores",
        "2",
    ]
    shown = document(entropie, *size, "--matcher", "visit", "--matcher", "bayes", "--known-events", "2")
    assert shown["blocks"]["cells"] == told.grid.cells
    assert shown["known_events"] == list(told.known_events) == [2]


def test_hours_that_no_cluster_reaches_are_refused(entropie):
    ran = entropie("plan", *SIZES, "--hours", "0.01")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("entropie: No number of executors ends within 0.01 hours: 1,000,000 of them would need ")


def test_spark_is_not_needed():
    """In a Python where importing PySpark fails."""
    script = (
        "import sys; sys.modules['pyspark'] = None; from entropie.cli.main import run; "
        f"sys.exit(run({['plan', *SIZES, '--executors', '9']!r}))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "cells" in ran.stdout
