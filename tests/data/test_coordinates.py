"""Coordinates to cells and stays: what the packages and slow loops say, and every coordinate that cannot be used."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import h3
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import entropie
from entropie.cli.main import run
from entropie.data.coordinates import Cells, degrees_of, points_of, read_points
from entropie.data.events import Events, open_events, read_events
from entropie.data.grid import MapGrid
from entropie.data.rejects import Rejects
from entropie.data.roles import ColumnChoice
from entropie.data.rules import COORDINATE_FAULTS
from entropie.errors import InvalidInput, InvalidParameter
from entropie.kernels.stays import find_stays
from entropie.request import Request

degrees = st.tuples(st.floats(-90, 90).map(lambda x: round(x, 6)), st.floats(-180, 180).map(lambda x: round(x, 6)))


def read(events: object, **options: Any) -> Events:
    job = Request.of(events, options)
    return read_events(job.source, job.run)


def placed(count: int = 600, people: int = 20, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    homes = np.column_stack((rng.uniform(48.8, 48.9, people), rng.uniform(2.2, 2.4, people)))
    who = rng.integers(0, people, count)
    where = np.round(homes[who] + rng.normal(0, 0.01, (count, 2)), 6)
    return pa.table(
        {"user": who, "lat": where[:, 0], "lon": where[:, 1], "time": 1_600_000_000 + 60 * np.arange(count)}
    )


def lines(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(table.column(name).to_pylist() for name in ("user", "lat", "lon", "time")), strict=True))


@given(st.lists(degrees, min_size=1, max_size=30))
def test_points_come_back_to_a_centimetre(places: list[tuple[float, float]]) -> None:
    north, east = (np.array(part) for part in zip(*places, strict=True))
    back = degrees_of(points_of(north, east))
    assert np.abs(back[0] - north).max() <= 0.6e-7
    assert np.abs(back[1] - east).max() <= 0.6e-7


@given(st.lists(degrees, min_size=1, max_size=30), st.integers(0, 15))
def test_cells_are_those_of_h3(places: list[tuple[float, float]], resolution: int) -> None:
    north, east = (np.array(part) for part in zip(*places, strict=True))
    points = points_of(north, east)
    named = Cells.parse(f"h3:{resolution}").names(points).to_pylist()
    exact = zip(*(part.tolist() for part in degrees_of(points)), strict=True)
    assert named == [h3.latlng_to_cell(one, other, resolution) for one, other in exact]


def test_a_grid_gives_the_cells_of_the_grid() -> None:
    table = placed()
    events = read(table, cells="grid:500m")
    points = points_of(*(np.asarray(table.column(name)) for name in ("lat", "lon")))
    assert sorted(set(MapGrid(500.0).cells(*degrees_of(points)).tolist())) == events.item_ids.to_pylist()


def test_every_format_gives_the_same_events(tmp_path: Path) -> None:
    table = placed()
    text = "user,lat,lon,time\n" + "".join(f"{u},{a!r},{o!r},{t}\n" for u, a, o, t in lines(table))
    (tmp_path / "t.csv").write_text(text)
    whole, parts = read(table, cells="h3:8"), read(tmp_path / "t.csv", lat="lat", lon="lon", cells="h3:8")
    expected = {h3.latlng_to_cell(a, o, 8) for _, a, o, _ in lines(table)}
    assert set(whole.item_ids.to_pylist()) == expected
    for name in ("offsets", "items", "times"):
        assert np.array_equal(getattr(whole.traces, name), getattr(parts.traces, name))
    assert whole.item_ids.equals(parts.item_ids)
    assert ColumnChoice("item", "lat,lon as h3:8", "given") in whole.report.columns


FAULTY = {
    "missing coordinates": ("", "2.35"),
    "coordinates in degrees and minutes": ("48°51'24\"N", "2°21'03\"E"),
    "unreadable coordinates": ("48;85", "2.35"),
    "latitude beyond 90 degrees": ("116.39", "39.9"),
    "coordinates out of range": ("48.85", "4851.24"),
    "coordinates 0, 0": ("0.0", "-0"),
}


def test_every_fault_has_its_reason(tmp_path: Path) -> None:
    assert tuple(FAULTY) == COORDINATE_FAULTS
    good = [("u", f"48.{n:04}", "2.35") for n in range(1, 95)]
    rows = [*good, *(("u", north, east) for north, east in FAULTY.values())]
    (tmp_path / "t.tsv").write_text("user\tlat\tlon\n" + "".join("\t".join(row) + "\n" for row in rows))
    report = read(tmp_path / "t.tsv", cells="h3:9", max_dirty_share=0.1).report
    assert report.dropped == dict.fromkeys(sorted(FAULTY), 1)
    assert report.rows == report.events + sum(report.dropped.values()) == 100
    assert report.dirty == 5  # 0, 0 falls to a rule


@pytest.mark.parametrize(
    "text", ["48 51.5", "N48.85", "48.85 N", "48º 51'", "2h", "48,85", "0x30", "1e400", "inf", "-inf", "48.8.5"]
)
def test_what_is_no_decimal_number_is_no_place(text: str) -> None:
    read = read_points(pa.array([text, "48.85"]), pa.array(["2.35", "2.35"]))
    assert read.faults[0] != 0
    assert read.faults[1] == 0


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), min_size=1, max_size=20))
def test_a_row_is_judged_by_itself(rows: list[tuple[str, str]]) -> None:
    rows = [("48.85", "2.35"), *rows]
    whole = read_points(*(pa.array(part, pa.string()) for part in zip(*rows, strict=True)))
    alone = [read_points(pa.array([a], pa.string()), pa.array([o], pa.string())) for a, o in rows]
    assert whole.faults.tolist() == [int(one.faults[0]) for one in alone]
    assert whole.values.tolist() == [int(one.values[0]) for one in alone]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cells": "h3:16"}, "`cells` must be h3:0 to h3:15, or a grid"),
        ({"cells": "grid:5"}, "`cells` must be h3:0 to h3:15, or a grid"),
        ({"cells": "s2:9"}, "`cells` must be h3:0 to h3:15, or a grid"),
        ({"lat": "lat", "lon": "lon"}, "`lat=` needs `cells=`, such as h3:9"),
        ({"stays": "200m,20min"}, "`stays=` needs `cells=`"),
        ({"cells": "h3:9", "item": "lat"}, "leave `item=` out"),
        ({"cells": "h3:9", "lat": "lon", "lon": "lat"}, "are `lat=` and `lon=` swapped?"),
        ({"cells": "h3:9", "lat": "north"}, "Column `north` is missing"),
        ({"cells": "h3:9", "stays": "200m"}, "`stays` must be a distance up to 100km and a length of time"),
        ({"cells": "h3:9", "stays": "0m,20min"}, "`stays` must be a distance"),
        ({"cells": "h3:9", "stays": "1m,1d"}, "Nobody in the table stays within 1 m for 86,400 s"),
        ({}, "It has coordinates: `cells=` h3:9 makes items of them."),
    ],
)
def test_options_that_cannot_be_meant(options: dict[str, str], said: str) -> None:
    with pytest.raises((InvalidInput, InvalidParameter)) as caught:
        read(placed(), **options)
    assert said in str(caught.value)


def test_columns_that_are_swapped_are_told(tmp_path: Path) -> None:
    table = pa.table({"user": ["a"] * 50, "y": [116.4] * 50, "x": [39.9] * 50})
    with pytest.raises(InvalidInput, match=r"latitude beyond 90 degrees: 50, first in row 1.* swapped") as caught:
        read(table, lat="y", lon="x", cells="h3:9")
    assert "116" not in str(caught.value)


def test_stays_need_times() -> None:
    with pytest.raises(InvalidInput, match="Stays last for a time"):
        read(placed().drop_columns(["time"]), cells="h3:9", stays="200m,20min")


def test_an_assessment_of_coordinates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = placed(2000)
    result = entropie.assess(table, lat="lat", lon="lon", cells="h3:9", matchers=["visit"], replicates=20)
    assert result.document["input"]["columns"]["item"] == {"column": "lat,lon as h3:9", "how": "given"}
    text = "user,lat,lon,time\n" + "".join(f"{u},{a!r},{o!r},{t}\n" for u, a, o, t in lines(table))
    (tmp_path / "t.csv").write_text(text)
    wanted = ["assess", str(tmp_path / "t.csv"), "--lat", "lat", "--lon", "lon", "--cells", "h3:9", "--stays", "1km,1h"]
    assert run([*wanted, "--print-config"]) == 0
    (tmp_path / "job.toml").write_text(capsys.readouterr().out)
    again = Request.read(tmp_path / "job.toml").source
    assert (again.lat, again.lon, again.cells, again.stays) == ("lat", "lon", "h3:9", "1km,1h")


# Stays: the definition, by haversines and without any shortcut.


def slow_distance(one: tuple[float, float], other: tuple[float, float]) -> float:
    (a, b), (c, d) = (tuple(map(math.radians, place)) for place in (one, other))
    part = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * 6_371_008.8 * math.asin(min(1.0, math.sqrt(part)))


def slow_stays(trace: list[tuple[float, float, int]], metres: float, seconds: int) -> list[tuple[int, int]]:
    """First position of each stay and the one after its last."""
    found, first = [], 0
    while first < len(trace):
        end = first
        while end < len(trace) and slow_distance(trace[first][:2], trace[end][:2]) <= metres:
            end += 1
        if trace[end - 1][2] - trace[first][2] >= seconds:
            found.append((first, end))
            first = end
        else:
            first += 1
    return found


walks = st.lists(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 900)), max_size=40),
    min_size=1,
    max_size=4,
)


@given(walks, st.sampled_from([(0.0, 0.0), (70.0, 179.9995), (-35.0, -179.9995), (89.99, 10.0)]), st.integers(1, 3000))
def test_stays_are_those_of_the_definition(
    steps: list[list[tuple[int, int, int]]], start: tuple[float, float], seconds: int
) -> None:
    people = []
    for walk in steps:
        north, east, now, trace = *start, 1_600_000_000, []
        for up, along, wait in walk:
            north, now = min(90.0, north + up * 0.00037), now + wait
            east = (east + along * 0.00041 + 180.0) % 360.0 - 180.0
            trace.append((north, east, now))
        people.append(trace)
    offsets = np.cumsum([0, *map(len, people)])
    flat = [row for trace in people for row in trace]
    north, east = (np.radians(np.array([row[place] for row in flat], np.float64)) for place in (0, 1))
    times = np.array([row[2] for row in flat], np.int64)
    found, inside = find_stays(offsets, north, east, times, 120.0 / 6_371_008.8, seconds)
    slow = [slow_stays(trace, 120.0, seconds) for trace in people]
    assert np.diff(found).tolist() == list(map(len, slow))
    assert inside == sum(end - first for stays in slow for first, end in stays)
    place = 0
    for trace, stays in zip(people, slow, strict=True):
        for first, end in stays:
            assert times[place] == trace[first][2]
            middle = (math.degrees(north[place]), math.degrees(east[place]))
            assert slow_distance(middle, trace[first][:2]) <= 120.0 + 1e-6  # a mean of places near the first
            if max(abs(row[1]) for row in trace[first:end]) < 179.0:
                mean = [sum(row[part] for row in trace[first:end]) / (end - first) for part in (0, 1)]
                assert slow_distance(middle, (mean[0], mean[1])) < 1e-3
            place += 1


def test_raw_positions_become_visits() -> None:
    """A person is at home, drives, works, drives back: three visits, whatever lies between."""
    home, work = (48.8566, 2.3522), (48.8924, 2.2361)
    rows = [(*home, 60 * minute) for minute in range(60)]
    rows += [
        (home[0] + (work[0] - home[0]) * n / 20, home[1] + (work[1] - home[1]) * n / 20, 3600 + 60 * n)
        for n in range(1, 20)
    ]
    rows += [(*work, 60 * minute) for minute in range(80, 500)]
    rows += [(*home, 60 * minute) for minute in range(520, 600)]
    rows += [(51.5, 0.1, 60 * minute) for minute in range(600, 605)]  # five minutes are no stay
    table = pa.table(
        {
            "user": ["a"] * len(rows) + ["b"] * 2,
            "lat": [row[0] for row in rows] + [51.5, 51.6],
            "lon": [row[1] for row in rows] + [0.1, 0.1],
            "time": [1_600_000_000 + row[2] for row in rows] + [1_600_000_000, 1_600_000_060],
        }
    )
    events = read(table, cells="h3:9", stays="200m,20min")
    cells = [events.item_ids[code].as_py() for code in events.traces.items]
    assert cells == [h3.latlng_to_cell(*place, 9) for place in (home, work, home)]
    assert (events.traces.times - 1_600_000_000).tolist() == [0, 80 * 60, 520 * 60]
    assert events.user_ids.to_pylist() == ["a"]
    assert np.diff(events.traces.offsets).tolist() == [3]
    assert events.report.rows == events.report.events + sum(events.report.dropped.values()) == table.num_rows
    assert events.report.dropped == {
        "between stays": 19 + 5,
        "of a person who stays nowhere": 2,
        "same stay as the row before": 60 + 420 + 80 - 3,
    }


def test_people_without_a_stay_are_not_released() -> None:
    table = placed(3000, 30)
    lost = pa.table(
        {name: [value] for name, value in zip(table.schema.names, (99, 1.0, 1.0, 1_600_000_000), strict=True)}
    )
    result = entropie.assess(
        pa.concat_tables([table, lost]), cells="h3:7", stays="2km,1h", min_events=0, matchers=["visit"], replicates=20
    )
    assert result.document["input"]["users"] == 30
    assert result.document["input"]["dropped"]["of a person who stays nowhere"] == 1


def test_a_part_of_the_files_can_be_read_elsewhere(tmp_path: Path) -> None:
    text = "user,lat,lon,time\n" + "".join(f"{u},{a!r},{o!r},{t}\n" for u, a, o, t in lines(placed()))
    (tmp_path / "t.csv").write_text(text)
    opened = open_events(Request.of(tmp_path / "t.csv", {"cells": "h3:8"}).source)
    table = pickle.loads(pickle.dumps(opened.table))
    (piece,) = table.pieces(fine=True)
    found = pa.Table.from_batches(table.read(piece, opened.chosen, Rejects("t")))
    assert found.column("item").to_pylist() == [h3.latlng_to_cell(a, o, 8) for _, a, o, _ in lines(placed())]
    assert table.digest(0)[0] == "t.csv"
