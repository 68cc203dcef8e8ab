"""Published data sets, in small: each file as it is published, read by its preset and recognised without it."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropie.data.events import Events, open_source, read_events
from entropie.data.grid import MapGrid
from entropie.data.presets import PRESETS, find_preset
from entropie.errors import InvalidInput, InvalidParameter
from entropie.request import Request, Source

VENUE = "4f5e3a72e4b053fd6a4313f6"
OTHER = "3fd66200f964a52000e71ee3"
FILES: dict[str, tuple[str, str, bytes]] = {
    "www2019": (
        "foursquare-www2019",
        "raw_Checkins_anonymized.txt",
        (
            f"822121\t{VENUE}\tTue Apr 03 18:00:06 +0000 2012\t240\n"
            f"208842\t{OTHER}\tTue Apr 03 18:00:07 +0000 2012\t-240\n"
            f"822121\t{OTHER}\tTue Apr 03 17:00:06 +0000 2012\t240\n"
        ).encode(),
    ),
    "tsmc txt": (
        "foursquare-tsmc2014",
        "dataset_TSMC2014_NYC.txt",
        (
            f'470\t{VENUE}\t{OTHER}\tCaf\xe9 "Z\t40.7\t-74.0\t-240\tTue Apr 03 18:00:06 +0000 2012\n'
            f"979\t{OTHER}\t{VENUE}\tBar\t40.6\t-74.0\t-240\tTue Apr 03 18:00:07 +0000 2012\n"
            f"470\t{OTHER}\t{VENUE}\tBar\t40.6\t-74.0\t-240\tTue Apr 03 17:00:06 +0000 2012\n"
        ).encode("latin-1"),
    ),
    "tsmc csv": (
        "foursquare-tsmc2014",
        "dataset_TSMC2014_TKY.csv",
        (
            "userId,venueId,venueCategoryId,venueCategory,latitude,longitude,timezoneOffset,utcTimestamp\n"
            f'470,{VENUE},{OTHER},"Pub, Caf\xe9",40.7,-74.0,540,Tue Apr 03 18:00:06 +0000 2012\n'
            f"979,{OTHER},{VENUE},Bar,40.6,-74.0,540,Tue Apr 03 18:00:07 +0000 2012\n"
            f"470,{OTHER},{VENUE},Bar,40.6,-74.0,540,Tue Apr 03 17:00:06 +0000 2012\n"
        ).encode("latin-1"),
    ),
    "gowalla": (
        "gowalla",
        "loc-gowalla_totalCheckins.txt",
        (
            b"0\t2010-10-19T23:55:27Z\t30.2359091167\t-97.7951395833\t22847\n"
            b"0\t2010-10-18T22:17:43Z\t30.2691029532\t-97.7493953705\t420315\n"
            b"1\t2010-10-18T22:17:43Z\t30.2691029532\t-97.7493953705\t420315\n"
        ),
    ),
    "brightkite": (
        "brightkite",
        "loc-brightkite_totalCheckins.txt",
        (
            b"0\t2010-10-17T01:48:53Z\t39.747652\t-104.99251\t88c46bf20db295831bd2d1718ad7e6f5\n"
            b"0\t2010-10-16T06:02:04Z\t39.891383\t-105.070814\t7a0f88982aa015062b95e3b4843f9ca2\n"
            b"1\t2010-10-16T03:48:54Z\t0.0\t0.0\t00000000000000000000000000000000\n"
            b"1\t2010-10-14T03:48:54Z\t39.7\t-105.1\tdd7cd3d264c2d063832db506fba8bf79\n"
        ),
    ),
    "ml csv": (
        "movielens",
        "ratings.csv",
        b"userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n1,1029,4.0,1260759179\n2,31,4.5,835355493\n",
    ),
    "ml dat": ("movielens", "ratings.dat", b"1::31::2::978300760\n1::1029::4::978302109\n2::31::5::978301968\n"),
    "ml 100k": ("movielens", "u.data", b"1\t31\t2\t881250949\n1\t1029\t4\t891717742\n2\t31\t5\t878887116\n"),
}


def read(events: object, **options: Any) -> Events:
    job = Request.of(events, options)
    return read_events(job.source, job.run)


def items_of(events: Events) -> dict[object, list[object]]:
    ids, cuts = events.item_ids.to_pylist(), events.traces.offsets.tolist()
    items = [ids[code] for code in events.traces.items.tolist()]
    return {user: items[cuts[n] : cuts[n + 1]] for n, user in enumerate(events.user_ids.to_pylist())}


EXPECTED: dict[str, dict[object, list[object]]] = {
    "www2019": {208842: [OTHER], 822121: [OTHER, VENUE]},
    "tsmc txt": {470: [OTHER, VENUE], 979: [OTHER]},
    "tsmc csv": {470: [OTHER, VENUE], 979: [OTHER]},
    "gowalla": {0: [420315, 22847], 1: [420315]},
    "brightkite": {
        0: ["7a0f88982aa015062b95e3b4843f9ca2", "88c46bf20db295831bd2d1718ad7e6f5"],
        1: ["dd7cd3d264c2d063832db506fba8bf79"],
    },
    "ml csv": {1: [1029], 2: [31]},
    "ml dat": {1: [1029], 2: [31]},
    "ml 100k": {1: [1029], 2: [31]},
}


@pytest.mark.parametrize("key", FILES)
def test_published_files(tmp_path: Path, key: str) -> None:
    preset, name, content = FILES[key]
    (tmp_path / name).write_bytes(content)
    (tmp_path / "readme.txt").write_text("about the data")
    packed = tmp_path / "packed" / f"{name}.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(content))
    renamed = tmp_path / "renamed" / "mine.txt"
    renamed.parent.mkdir()
    renamed.write_bytes(content)
    # A folder holds the packed copy and the renamed one too: the preset takes files by their published name.
    for source in (tmp_path / name, packed, packed.parent, renamed):
        events = read(source, preset=preset)
        assert items_of(events) == EXPECTED[key]
        assert events.report.dirty == 0
        assert events.traces.times is not None
        assert 8e8 < events.traces.times.min() < 1.4e9
        assert all(choice.how == "preset" for choice in events.report.columns)


@pytest.mark.parametrize("key", FILES)
def test_presets_are_suggested(tmp_path: Path, key: str) -> None:
    preset, _, content = FILES[key]
    path = tmp_path / "mine.txt"
    path.write_bytes(content)
    hint = f"try --preset {preset}."
    if b"userId" in content:
        assert hint in open_source(Source(path)).hint()
    else:
        with pytest.raises(InvalidInput, match=hint):
            read(path)


def test_rules_are_counted_apart_from_dirt(tmp_path: Path) -> None:
    _, name, content = FILES["brightkite"]
    (tmp_path / name).write_bytes(content + b"5\t\t\t\t\n")
    report = read(tmp_path / name, preset="brightkite", max_dirty_share=0.25).report
    assert report.dropped == {"no item recorded": 1, "missing item": 1}
    assert report.dirty == 1
    _, name, content = FILES["ml csv"]
    (tmp_path / name).write_bytes(content)
    report = read(tmp_path / name, preset="movielens").report
    assert (report.dropped, report.dirty) == ({"rating below the minimum": 1}, 0)
    assert read(tmp_path / name, preset="movielens", min_rating=0.5).report.events == 3


def test_newest_first_breaks_ties_backwards(tmp_path: Path) -> None:
    path = tmp_path / "loc-gowalla_totalCheckins.txt"
    path.write_text("".join(f"7\t2010-10-18T22:17:43Z\t0\t0\t{place}\n" for place in (3, 2, 1)))
    assert items_of(read(path, preset="gowalla")) == {7: [1, 2, 3]}


def test_a_file_that_is_not_the_preset(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_bytes(b"user,item\n1,2\n")
    with pytest.raises(InvalidInput, match="does not look like MovieLens"):
        read(path, preset="movielens")
    path = tmp_path / "u.data"
    path.write_bytes(b"1\t2\t3\n")
    with pytest.raises(InvalidInput, match="has 3 columns, the preset's file has 4"):
        read(path, preset="movielens")
    with pytest.raises(InvalidParameter, match="one of foursquare-www2019"):
        find_preset("foursquare")


def test_every_preset_is_found_by_its_name() -> None:
    assert all(find_preset(name) is preset for name, preset in PRESETS.items())


PLT_HEADER = "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,My Track,0,0,2,8421376\n0\n"


def write_plt(root: Path, user: str, name: str, lines: list[str]) -> None:
    path = root / "Data" / user / "Trajectory" / f"{name}.plt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PLT_HEADER + "".join(f"{line}\r\n" for line in lines))


def test_geolife(tmp_path: Path) -> None:
    write_plt(
        tmp_path,
        "000",
        "20090101000000",
        [
            "39.9030,116.3030,0,492,39814.0,2009-01-01,00:00:00",
            "39.9031,116.3031,0,492,39814.0,2009-01-01,00:00:05",
            "39.9530,116.3030,0,492,39814.0,2009-01-01,00:00:10",
            "somewhere,116.3030,0,492,39814.0,2009-01-01,00:00:12",
            "400.166,116.3000,0,492,39814.0,2009-01-01,00:00:15",
            "39.9531,116.3031,0,492,39814.0,2009-01-01,00:00:20",
            "39.9032,116.3030,0,492,39814.0,2009-01-01,00:00:25",
        ],
    )
    write_plt(tmp_path, "001", "20090101000000", ["39.9031,116.3031,0,492,39814.0,2009-01-01,00:00:00"])
    write_plt(tmp_path, "001", "20080101000000", ["39.9531,116.3031,0,492,39448.0,2008-01-01,00:00:00"])
    (tmp_path / "Data" / "001" / "labels.txt").write_text("Start Time\tEnd Time\tTransportation Mode\n")
    events = read(tmp_path, preset="geolife", grid="0.01deg", max_dirty_share=0.3)
    south, north = events.item_ids.to_pylist()
    assert items_of(events) == {"000": [south, north, south], "001": [north, south]}
    assert events.report.dropped == {"no place on Earth": 2, "same cell as the point before": 2}
    assert (events.report.rows, events.report.dirty) == (9, 2)
    assert events.traces.times is not None
    assert events.traces.times.tolist()[:2] == [1_230_768_000, 1_230_768_010]
    latitude, longitude = MapGrid.parse("0.01deg").centres(np.array([south, north]))
    assert np.allclose(latitude, [39.905, 39.955])
    assert np.allclose(longitude, [116.305, 116.305])
    assert read(tmp_path / "Data", preset="geolife", grid="100km", max_dirty_share=0.3).report.items == 1


def test_geolife_needs_a_tree_and_a_size(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"holds no table; looked for \.plt"):
        read(tmp_path, preset="geolife", grid="500m")
    (tmp_path / "a.plt").write_text(PLT_HEADER)
    with pytest.raises(InvalidInput, match="Trajectory"):
        read(tmp_path, preset="geolife", grid="500m")
    with pytest.raises(InvalidParameter, match="such as 500m"):
        read(tmp_path, preset="geolife")


@given(st.floats(-90, 90), st.floats(-180, 180), st.sampled_from(["500m", "1.5km", "0.01deg", "1deg", "40m"]))
def test_a_point_lies_in_its_cell(latitude: float, longitude: float, size: str) -> None:
    grid = MapGrid.parse(size)
    cell = grid.cells(np.array([latitude]), np.array([longitude]))
    assert cell[0] >= 0
    middle, meridian = grid.centres(cell)
    slack = 1e-9
    assert abs(middle[0] - latitude) <= grid.step / 2 + slack
    # Half a cell's width in degrees, where the parallel of the cell's middle is that long.
    stretch = 1.0 if grid.unit == "degrees" else np.cos(np.radians(min(abs(middle[0]), 90.0)))
    assert abs(meridian[0] - longitude) * stretch <= grid.step / 2 + slack


@pytest.mark.parametrize("text", ["", "500", "m", "-5m", "0deg", "nanm", "1..2km", "500 miles"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(InvalidParameter):
        MapGrid.parse(text)


def test_points_that_are_nowhere() -> None:
    grid = MapGrid(500)
    assert grid.cells(np.array([91.0, np.nan, 0.0]), np.array([0.0, 0.0, 181.0])).tolist() == [-1, -1, -1]
