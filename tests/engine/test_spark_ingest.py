"""What a cluster reads is what one machine reads: codes, arrays, names, account and errors, however it is cut.

Most of it is tried in this process (`here`), by the very tasks; what Spark itself adds is tried on a cluster (`spark`).
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from in_process import Frame, Session, here
from numpy.typing import NDArray

from entropie.data.events import open_events, read_events, recognise_times
from entropie.data.filter import drawn_users
from entropie.data.prepare import selected
from entropie.data.rejects import Rejects
from entropie.engine.spark import encoding, reading
from entropie.engine.spark.boxes import Box, Boxing, received
from entropie.engine.spark.encoding import Ingested, ingest
from entropie.engine.spark.people import ACCOUNT, dealt
from entropie.engine.spark.plans import Kept
from entropie.engine.spark.reading import Account, Rows, open_rows
from entropie.errors import EntropieError, InvalidInput, InvalidParameter
from entropie.request import Attackers, People, Request, Run, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from standalone import Standalone

__all__ = ["here"]


@dataclass(frozen=True)
class Outcome:
    """Everything an attack would start from."""

    people: list[tuple[int, bool, list[int], list[int] | None]]
    names: list[str]
    facts: dict[str, Any]


def local(source: object, **options: Any) -> Outcome:
    job = Request.of(source, {"min_events": 0, **options})
    chosen, facts = selected(read_events(job.source, job.run), job.people)
    traces = chosen.traces
    drawn = drawn_users(chosen.user_ids, job.attackers)
    attacked = set(range(traces.users) if drawn is None else drawn.tolist())
    people = []
    for user in range(traces.users):
        events = slice(traces.offsets[user], traces.offsets[user + 1])
        seconds = None if traces.times is None else traces.times[events].tolist()
        people.append((user, user in attacked, traces.items[events].tolist(), seconds))
    return Outcome(people, [str(name) for name in chosen.item_ids.to_pylist()], facts)


def collected(found: Ingested) -> Outcome:
    people: list[tuple[int, bool, list[int], list[int] | None]] = []
    for box in received(found.people):
        codes, attacked, offsets, items, seconds = box.arrays
        for place, code in enumerate(codes.tolist()):
            run = slice(offsets[place], offsets[place + 1])
            when = None if seconds is None else seconds[run].tolist()
            people.append((code, bool(attacked[place]), items[run].tolist(), when))
    names = found.names(range(found.domain_size))
    assert sorted(names) == list(range(found.domain_size))
    assert found.users == len(people)
    assert found.events == sum(len(row[2]) for row in people)
    assert found.timed == (people[0][3] is not None)
    assert found.people.rdd.getNumPartitions() == found.partitions
    return Outcome(people, [names[code] for code in sorted(names)], found.facts)


def spread(spark: Any, source: object, *, partitions: int | None = None, **options: Any) -> Outcome:
    found = ingest(spark, Request.of(source, {"min_events": 0, "engine": "spark", "partitions": partitions, **options}))
    try:
        return collected(found)
    finally:
        found.release()


def failure(run: Callable[[], object]) -> tuple[type[EntropieError], str]:
    with pytest.raises(EntropieError) as caught:
        run()
    return type(caught.value), str(caught.value)


TEXT_IDS = ("b", "é", "a", "B", "10", "9", "x y", "z", "\u0131", "😀", "007", "a,b", "5\r", 'q"t')
DIRTY_IDS = ("", " NULL", "nan", "None", "two\nlines", "\\N")
TIMES: dict[str, Callable[[random.Random], str]] = {
    "rows": lambda rng: str(rng.randrange(60)),
    "seconds": lambda rng: str(1_500_000_000 + rng.randrange(40)),
    "milliseconds": lambda rng: str(1_500_000_000_000 + rng.randrange(40_000)),
    "iso": lambda rng: f"2020-02-{rng.randrange(1, 4):02d}T0{rng.randrange(10)}:00:00Z",
    "odd": lambda rng: rng.choice(("2020-02-03", "2020/02/03", "2020-02-03 04:05", "2020-02-03T04:05:06+02")),
}


def dirty_rows(seed: int, *, ids: str, times: str | None, count: int = 300) -> list[list[str]]:
    """Rows of text with a dirty one here and there."""
    rng = random.Random(seed)
    pool = [str(number) for number in range(-3, 25)] if ids == "numbers" else [*TEXT_IDS, "1", "2"]
    rows = []
    for _ in range(count):
        row = [rng.choice(pool), rng.choice(pool[: rng.randrange(1, len(pool) + 1)])]
        if times is not None:
            row.append(TIMES[times](rng))
        if rng.random() < 0.1:
            place = rng.randrange(len(row))
            row[place] = rng.choice(DIRTY_IDS if place < 2 else ("", "nan", "inf", "NaT", "yesterday"))
        row.append(rng.choice(("1", "4", "5", "4.5", "bad") if rng.random() < 0.1 else ("4", "5")))
        rows.append(row)
    return rows


def header(rows: list[list[str]]) -> list[str]:
    return ["user", "item", "time", "rating"] if len(rows[0]) == 4 else ["user", "item", "rating"]


def write_text(folder: Path, rows: list[list[str]], files: int) -> Path:
    folder.mkdir()
    for number in range(files):
        with (folder / f"part{number}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header(rows))
            writer.writerows(rows[number::files])
            if number:
                file.write("too,few\n" + ",".join("manyfieldshere") + "\n")
    return folder


def write_parquet(folder: Path, rows: list[list[str]], files: int, kinds: dict[str, pa.DataType]) -> Path:
    folder.mkdir()
    names = header(rows)
    for number in range(files):
        columns = {}
        for place, name in enumerate(names):
            texts = [row[place] for row in rows[number::files]]
            columns[name] = pa.array(texts)
            if name in kinds:
                numbers = [int(text) if text.lstrip("-").isdigit() else None for text in texts]
                unsigned = pa.types.is_uint64(kinds[name])
                columns[name] = pa.array([n + 2**63 if unsigned and n is not None else n for n in numbers], kinds[name])
        pq.write_table(pa.table(columns), folder / f"part{number}.parquet", row_group_size=23)
    return folder


TEXT_CASES: dict[str, tuple[dict[str, Any], int, dict[str, Any], int]] = {
    "numbers, seconds": ({"ids": "numbers", "times": "seconds"}, 3, {"min_events": 9}, 5),
    "numbers, order alone": ({"ids": "numbers", "times": "rows"}, 1, {"min_events": 4, "targets": 7}, 1),
    "text, odd times": ({"ids": "text", "times": "odd"}, 2, {"min_rating": 4.0, "targets": 5}, 3),
    "text, no time": ({"ids": "text", "times": None}, 2, {"min_events": 12}, 4),
}


CUTS = {"as it comes": (None, None, None), "fine": ((300, 1500), 3, (7, 40))}
"""Bytes of a part and a home, ids of a range, events dealt out together."""


@pytest.fixture(params=list(CUTS))
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    for (module, name), value in zip(
        ((reading, "_PART_BYTES"), (encoding, "_IDS_PER_RANGE"), (reading, "_EVENTS_AT_ONCE")),
        CUTS[request.param],
        strict=True,
    ):
        if value is not None:
            monkeypatch.setattr(module, name, value)
    return str(request.param)


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("case", list(TEXT_CASES))
def test_text_is_read_as_on_one_machine(case: str, here: Session, tmp_path: Path) -> None:
    content, files, options, partitions = TEXT_CASES[case]
    folder = write_text(tmp_path / "events", dirty_rows(len(case), **content), files)
    options = {"max_dirty_share": 1.0, **options}
    expected = local(folder, **options)
    assert len(expected.people) > 3
    assert sum(expected.facts["dropped"].values()) > 10
    assert spread(here, folder, partitions=partitions, **options) == expected


PARQUET_CASES: dict[str, tuple[dict[str, Any], dict[str, pa.DataType], dict[str, Any], tuple[int, ...]]] = {
    "numbers": (
        {"ids": "numbers", "times": "milliseconds"},
        {"user": pa.int32(), "item": pa.int64(), "time": pa.int64()},
        {"min_events": 8, "targets": 11},
        (1, 6),
    ),
    "unsigned, timestamps": (
        {"ids": "numbers", "times": "seconds"},
        {"user": pa.uint64(), "item": pa.uint64(), "time": pa.timestamp("s")},
        {"targets": 9},
        (2,),
    ),
    "text": ({"ids": "text", "times": "iso"}, {}, {}, (3,)),
}


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("case", list(PARQUET_CASES))
def test_parquet_is_read_as_on_one_machine(case: str, here: Session, tmp_path: Path) -> None:
    content, kinds, options, partitions = PARQUET_CASES[case]
    folder = write_parquet(tmp_path / "events", dirty_rows(len(case), **content), 2, kinds)
    options = {"max_dirty_share": 1.0, **options}
    expected = local(folder, **options)
    assert len(expected.people) > 3
    for number in partitions:
        assert spread(here, folder, partitions=number, **options) == expected


def test_a_preset_whose_files_are_newest_first(here: Session, tmp_path: Path) -> None:
    rng = random.Random(7)
    lines = [
        f"{rng.randrange(6)}\t2010-10-1{rng.randrange(3)}T00:00:00Z\t1.5\t2.5\t{rng.randrange(9)}\n" for _ in range(80)
    ]
    path = tmp_path / "loc-gowalla_totalCheckins.txt"
    path.write_text("".join(lines))
    assert spread(here, path, preset="gowalla", partitions=2) == local(path, preset="gowalla")


def test_trajectories_become_cells_as_on_one_machine(here: Session, tmp_path: Path) -> None:
    rng = random.Random(8)
    for user, start in ((0, "a"), (0, "b"), (1, "a"), (2, "c")):
        folder = tmp_path / f"{user:03d}" / "Trajectory"
        folder.mkdir(parents=True, exist_ok=True)
        points = [
            f"{rng.choice(('39.9', '39.91', '95', 'x'))},{116 + rng.randrange(3) / 100},0,1,2,2008-10-2{rng.randrange(9)},02:53:04"
            for _ in range(20)
        ]
        (folder / f"{start}.plt").write_text("\n".join(["x"] * 6 + points) + "\nshort,line\n")
    options: dict[str, Any] = {"preset": "geolife", "grid": "500m", "max_dirty_share": 1.0}
    expected = local(tmp_path, **options)
    assert set(expected.facts["dropped"]) == {"no place on Earth", "same cell as the point before", "too few fields"}
    assert spread(here, tmp_path, partitions=2, **options) == expected


def test_errors_are_those_of_one_machine(here: Session, tmp_path: Path) -> None:
    folder = write_text(tmp_path / "events", dirty_rows(1, ids="text", times="seconds"), 3)
    alone = folder / "part1.csv"
    empty = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"user": pa.array([], pa.string()), "item": pa.array([], pa.string())}), empty)
    for source, options in (
        (folder, {"max_dirty_share": 0.01}),
        (alone, {"max_dirty_share": 0.01}),
        (folder, {"max_dirty_share": 1.0, "min_events": 10_000}),
        (folder, {"max_dirty_share": 1.0, "min_rating": 6.0}),
        (folder, {"user": "nobody"}),
        (empty, {}),
    ):
        assert failure(lambda s=source, o=options: spread(here, s, **o)) == failure(
            lambda s=source, o=options: local(s, **o)
        )


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_however_a_table_is_cut(here: Session, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    content = {
        "ids": data.draw(st.sampled_from(["numbers", "text"])),
        "times": data.draw(st.sampled_from([None, *TIMES])),
        "count": data.draw(st.integers(40, 120)),
    }
    rows = dirty_rows(data.draw(st.integers(0, 99)), **content)
    folder = write_text(tmp_path_factory.mktemp("cut") / "events", rows, data.draw(st.integers(1, 3)))
    options: dict[str, Any] = {"max_dirty_share": 1.0, "min_events": data.draw(st.integers(0, 4))}
    if data.draw(st.booleans()):
        options["targets"] = data.draw(st.integers(2, 9))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_PART_BYTES", (data.draw(st.integers(40, 4000)), 1 << 20))
        patch.setattr(encoding, "_IDS_PER_RANGE", data.draw(st.integers(1, 30)))
        patch.setattr(reading, "_EVENTS_AT_ONCE", (1, data.draw(st.integers(1, 100))))
        found = spread(here, folder, partitions=data.draw(st.integers(1, 9)), **options)
    assert found == local(folder, **options)


@pytest.mark.parametrize("timed", [True, False])
def test_rows_that_share_a_number_go_by_their_item(timed: bool, here: Session) -> None:
    """As where the column that orders a DataFrame has ties: its rows may come in any order."""
    rng = np.random.default_rng(3)
    count = 200
    user, item = (pa.array(rng.integers(8, 12, count).astype(str)) for _ in range(2))
    time, place = rng.integers(0, 3, count) + 1_500_000_000, rng.integers(0, 4, count)
    columns = {"user": user, "item": item, **({"time": pa.array(time)} if timed else {})}
    order = np.lexsort((item.cast(pa.int64()).to_numpy(), place))
    expected = local(pa.table(columns).take(pa.array(order)))
    opened = open_events(Source(pa.table(columns)))
    ticks = time if timed else np.zeros(0, np.int64)

    def boxes(some: NDArray[np.int64]) -> Iterator[Box]:
        ids = (column.take(pa.array(some)) for column in (user, item))
        yield from dealt(*ids, ticks[some] if timed else ticks, place[some], 3, ())
        yield Box(0, ACCOUNT, 0, (Account(some.size, {}, {}, {}, {}),))

    tasks = [Boxing(lambda _, some=some: boxes(some))(iter([])) for some in np.array_split(rng.permutation(count), 4)]
    found_time = recognise_times(opened, iter([pa.record_batch(columns)]), Rejects("it"))[0]
    rows = Rows(opened, found_time, Frame([list(task) for task in tasks], here), 3)  # type: ignore[arg-type]
    found = collected(
        encoding._ingested(rows, Request(Source(), People(0), run=Run(engine="spark", partitions=2)), Kept())
    )
    assert (found.people, found.names) == (expected.people, expected.names)
    assert found.facts["duplicates"] == expected.facts["duplicates"]


def hopeless(folder: Path, files: int) -> Path:
    folder.mkdir()
    for number in range(files):
        (folder / f"{number}.csv").write_text("user,item\n" + "a,b\n" * 10 + "x\n" * 120_000)
    return folder


def test_a_hopeless_file_is_given_up_on_as_on_one_machine(here: Session, tmp_path: Path) -> None:
    path = hopeless(tmp_path / "events", 1) / "0.csv"
    kind, said = failure(lambda: spread(here, path, max_dirty_share=1.0))
    assert (kind, said) == failure(lambda: local(path, max_dirty_share=1.0))
    assert "More than half" in said


def test_a_refusal_names_the_same_first_row_as_on_one_machine(here: Session, tmp_path: Path) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    for number in range(3):
        times = ["1600000000"] * 5 + (["noon"] if number else ["1600000000"])
        table = pa.table({"user": list("abcdef"), "item": [*"xyz", None, *"xy"], "time": times})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=2)
    failed = failure(lambda: spread(here, folder))
    assert failed == failure(lambda: local(folder))
    assert "missing item: 3, first in row 4 of 0.parquet, column `item`, expected an id" in failed[1]
    assert "unreadable time: 2, first in row 6 of 1.parquet, column `time`, expected a whole number" in failed[1]


@pytest.mark.slow
def test_hopeless_files_are_given_up_on(spark: SparkSession, tmp_path: Path) -> None:
    """Whichever worker gives up first: its sentence comes back."""
    kind, said = failure(lambda: spread(spark, hopeless(tmp_path / "events", 2), max_dirty_share=1.0))
    assert kind is InvalidInput
    assert "More than half" in said


def frame_of(spark: SparkSession, rows: list[list[str]]) -> Any:
    return spark.createDataFrame(
        [(place, *row[:3]) for place, row in enumerate(rows)], "place long, user string, item string, time string"
    ).repartition(3)


PLANTED = "id-7cQv0ZrXw93kLmTb"


def check_nothing_is_left_to_read(spark: SparkSession, cluster: Standalone) -> None:
    """What Spark has written for the shuffles of people: nobody else can open it, and it holds no id."""
    written = list(cluster.folder.glob("spark-*/executor-*/blockmgr-*/*/*"))
    assert sum(path.stat().st_size for path in written) > 1000
    assert not [path for path in written if PLANTED.encode() in path.read_bytes()]
    own = [Path(folder) for folder in str(spark.conf.get("spark.local.dir")).split(",")]
    assert {folder.stat().st_mode & 0o777 for folder in (*own, *cluster.folder.glob("spark-*/executor-*"))} == {0o700}
    for path in (path for folder in own for path in folder.rglob("*") if path.is_file()):
        assert PLANTED.encode() not in path.read_bytes()


@pytest.mark.slow
def test_a_frame_is_read_in_the_order_it_names(spark: SparkSession, cluster: Standalone, tmp_path: Path) -> None:
    """And the ids in it stay unreadable on disk: one is planted, and found in the boxes that tasks exchange."""
    rows = [*dirty_rows(5, ids="text", times="iso"), ["a", PLANTED, "2020-02-03", "4"]]
    path = tmp_path / "events.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["user", "item", "time"], *(row[:3] for row in rows)])
    expected = local(path, max_dirty_share=1.0)
    frame, options = frame_of(spark, rows), {"min_events": 0, "max_dirty_share": 1.0, "order": "place"}
    people = ingest(spark, Request.of(frame, {**options, "engine": "spark", "partitions": 2}))
    assert any(PLANTED.encode() in bytes(row["payload"]) for row in people.ranks.collect())
    check_nothing_is_left_to_read(spark, cluster)
    found = collected(people)
    people.release()
    assert found.facts.pop("source") == "the DataFrame"
    assert found.facts.pop("sha256") is None
    del expected.facts["source"], expected.facts["sha256"]
    assert found == expected


@pytest.mark.slow
def test_a_frame_without_an_order_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", "b")], "user string, item string")
    with pytest.raises(InvalidParameter, match=r"`order`.*no time"):
        open_rows(spark, Source(frame))
    with pytest.raises(InvalidParameter, match=r"`order`.*missing"):
        open_rows(spark, Source(frame, order="nothing"))
    with pytest.raises(InvalidParameter, match=r"`order`.*string"):
        open_rows(spark, Source(frame, order="user"))
    with pytest.raises(InvalidParameter, match="`preset`"):
        open_rows(spark, Source(frame, preset="gowalla"))
    with pytest.raises(InvalidParameter, match="`source`"):
        open_rows(spark, Source(5))


@pytest.mark.slow
def test_a_frame_of_parquet_keeps_the_order_of_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    folder = write_parquet(tmp_path / "events", dirty_rows(6, ids="text", times=None), 2, {})
    expected = local(folder, max_dirty_share=1.0)
    frame = spark.read.parquet(folder.as_uri())
    on_disk = sum(path.stat().st_size for path in folder.iterdir())
    assert on_disk / 10 < reading._size_of(frame) < 10 * on_disk, "people go to as many homes as they need"
    assert reading._size_of(frame_of(spark, dirty_rows(1, ids="text", times=None))) == reading._UNKNOWN_BYTES
    found = spread(spark, frame, max_dirty_share=1.0, partitions=3)
    named = {"source": "the DataFrame", "sha256": None}
    assert found == Outcome(expected.people, expected.names, {**expected.facts, **named})


@pytest.mark.parametrize("address", ["s3a://bucket/events.csv", "hdfs://host/events.json", "dbfs:/events.csv.gz"])
def test_other_kinds_of_file_at_an_address_are_refused(address: str, spark: SparkSession) -> None:
    with pytest.raises(InvalidInput, match="pass the DataFrame"):
        open_rows(spark, Source(address))


@pytest.mark.slow
def test_a_file_that_workers_do_not_see_is_named(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("user,item\n" + "a,b\n" * 20)
    rows = open_rows(spark, Source(path))
    path.unlink()
    from entropie.engine.spark.session import failures

    with (
        pytest.raises(InvalidInput, match=r"events\.csv cannot be opened by a worker.*every worker must see"),
        failures(),
    ):
        rows.boxes.count()


@pytest.mark.slow
def test_codes_stay_when_a_worker_dies(
    spark: SparkSession, cluster: Standalone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many homes, ranges and blocks, some who are attacked: all that Spark is asked for."""
    folder = write_text(tmp_path / "events", dirty_rows(9, ids="text", times="seconds"), 3)
    expected = local(folder, max_dirty_share=1.0, targets=12)
    monkeypatch.setattr(reading, "_PART_BYTES", (3000, 1 << 20))
    monkeypatch.setattr(encoding, "_IDS_PER_RANGE", 20)
    job = Request(
        Source(folder, max_dirty_share=1.0),
        People(0),
        attackers=Attackers(targets=12),
        run=Run(engine="spark", partitions=5),
    )
    cluster.mend()
    found = ingest(spark, job)
    assert collected(found) == expected
    cluster.kill_worker()
    assert collected(found) == expected
    found.release()


INPUTS: dict[str, tuple[dict[str, Any], str]] = {
    "cells": ({"cells": "h3:7", "item": None}, "csv"),
    "grid": ({"cells": "grid:5km", "item": None}, "csv"),
    "several": ({"item": "city,shop"}, "csv"),
    "lines": ({"item": "city,shop"}, "jsonl"),
    "clock": ({"item": "shop", "time_format": "day-first", "time_zone": "Europe/Paris"}, "csv"),
}


@pytest.mark.parametrize("name", INPUTS)
def test_other_inputs_are_read_alike(here: Any, tmp_path: Path, name: str) -> None:
    options, form = INPUTS[name]
    rng = random.Random(5)
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        rows = [
            {
                "user": f"u{rng.randrange(9)}",
                "lat": rng.choice((round(rng.uniform(48, 49), 5), "48°51'", 0, "")),
                "lon": rng.choice((round(rng.uniform(2, 3), 5), 0)),
                "city": rng.choice(("a", "b|", "")),
                "shop": rng.randrange(4),
                "time": f"{rng.randrange(20, 30)}/03/2012 {rng.randrange(24):02}:00:00",
            }
            for _ in range(200)
        ]
        with (folder / f"{number}.{form}").open("w", newline="", encoding="utf-8") as file:
            if form == "jsonl":
                file.writelines(json.dumps(row) + "\n" for row in rows)
            else:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
    options = {"user": "user", "time": "time", "time_format": "day-first", "max_dirty_share": 1.0, **options}
    one, many = local(folder, **options), spread(here, folder, **options)
    assert many.people == one.people
    assert many.names == one.names
    facts = {key: value for key, value in one.facts.items() if key != "repeated_times"}
    assert {key: value for key, value in many.facts.items() if key != "repeated_times"} == facts
    assert sum(one.facts["dropped"].values()) > 0 or name == "clock"


def test_what_a_cluster_cannot_tell(here: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("user,item,time\na,b,31/12/2012\n")
    with pytest.raises(InvalidInput, match="on a cluster say which with `time_format=` day-first or month-first"):
        spread(here, path)
    with pytest.raises(InvalidParameter, match="files or a DataFrame on a cluster"):
        spread(here, "-")
