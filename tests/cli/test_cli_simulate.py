"""`simulate`: files, exact output, comparison with a real file, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from digests import traces_sha256

from entropie.cli.simulate import comparison_text
from entropie.data.events import read_events
from entropie.data.simulation import simulate_file, simulate_traces
from entropie.data.simulation_fit import CURVE, FitTable
from entropie.measures.intervals import Interval
from entropie.request import Source


def test_exact_output(entropie, matches_golden):
    ran = entropie("simulate", "foursquare", "--users", "300", "--seed", "5", "--out", "events.parquet")
    assert (ran.code, ran.err) == (0, "")
    matches_golden("simulate.txt", ran.out)
    assert traces_sha256(read_events(Source("events.parquet")).traces) == traces_sha256(
        simulate_traces("foursquare", 300, seed=5)
    )


def test_quiet_writes_and_says_nothing(entropie):
    ran = entropie("simulate", "foursquare", "--users", "300", "--out", "events.parquet", "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert Path("events.parquet").exists()


def test_json_counts_what_the_file_holds(entropie):
    ran = entropie("simulate", "movielens", "--scale", "0.002", "--out", "films.parquet", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    table = pq.read_table("films.parquet")
    assert found == {
        "file": "films.parquet",
        "kind": "movielens",
        "seed": 0,
        "users": 370,
        "items": len(set(table["item"].to_pylist())),
        "events": table.num_rows,
        "bytes": Path("films.parquet").stat().st_size,
        "events_per_user": table.num_rows / 370,
    }


def test_comparison_of_a_simulation_with_itself(entropie):
    simulate_file("new-york", 400, seed=1, path="real.parquet")
    ran = entropie("simulate", "new-york", "--users", "400", "--seed", "1", "--compare", "real.parquet", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["real"] == found["simulated"]
    assert set(found["real"]["identification_error"]) == {"markov", "visit"}
    other = entropie("simulate", "new-york", "--users", "400", "--seed", "2", "--compare", "real.parquet", "--json")
    assert json.loads(other.out)["real"] == found["real"] != json.loads(other.out)["simulated"]


def test_comparison_text(matches_golden):
    curve = tuple(0.1 + top for top in CURVE)
    real = FitTable(1511, 3628, 98466, 65.17, 41.0, 27.81, 0.62, 0.23, 11.58, 0.295, 0.125, 0.016, curve)
    made = FitTable(1500, 3628, 90000, 60.0, 40.0, 27.81, 0.65, 0.2, 12.0, 0.29, 0.121, 0.013, curve, 0.3)
    errors = {"markov": Interval(0.628, 0.604, 0.652)}, {"markov": Interval(0.575, 0.55, 0.6)}
    short = comparison_text((real, made), errors)
    matches_golden("simulate_compare.txt", short + "\n")
    assert len(short.splitlines()) <= 25
    assert max(map(len, short.splitlines())) <= 80
    full = comparison_text((real, made), errors, verbose=True)
    assert len(full.splitlines()) == len(short.splitlines()) + 6
    assert "events at the top 20\N{NO-BREAK SPACE}% of items" in full


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["paris"], "is not one of"),
        (["foursquare"], "Give --out to write events, or --compare to compare with real ones."),
        (["foursquare", "--out", "a", "--compare", "b"], "Give --out"),
        (["foursquare", "--users", "9", "--scale", "1", "--out", "a"], "Give --users or --scale, not both."),
        (["foursquare", "--users", "0", "--out", "a.csv"], "Option --users must be a whole number from 1"),
        (["foursquare", "--scale", "0", "--out", "a"], "Option --scale must be a number above 0 and at most 100"),
        (["foursquare", "--scale", "nan", "--out", "a"], "is not a share"),
        (
            ["foursquare", "--users", "9", "--seed", "-1", "--out", "a.parquet"],
            "Option --seed must be a whole number from 0",
        ),
        (["foursquare", "--users", "9", "--out", "no/a"], "the folder no does not exist"),
        (["new-york", "--compare", "no.parquet"], "no.parquet"),
    ],
)
def test_bad_input(entropie, arguments, sentence):
    ran = entropie("simulate", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert ran.err.count("\n") == 1
    assert list(Path().iterdir()) == []
