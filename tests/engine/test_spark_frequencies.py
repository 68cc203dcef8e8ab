"""Counts taken on Spark equal those of one machine, whatever the partitioning; bad reports get the same sentence.

Every mechanism and every bad report is tried in this process (`here`), by the very tasks, and one of each on a cluster.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import Frame, Session, here

from entropie.collector.bodies import taken
from entropie.collector.document import create
from entropie.collector.wire import encode_many
from entropie.data.columns import TableWriter
from entropie.data.reports import read_reports, to_columns
from entropie.engine.spark import frequencies
from entropie.engine.spark.boxes import Box, Boxing, opened
from entropie.engine.spark.frequencies import (
    CHUNK,
    add_chunks,
    boxes_of,
    count_files,
    count_reports,
    merged_counts,
    parts_of,
)
from entropie.errors import EntropieError, InvalidInput, InvalidParameter, ParametersMismatch
from entropie.estimation.counts import Counts
from entropie.estimation.estimates import estimate
from entropie.mechanisms.hashing import LARGE_PRIME
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.parameters import counts_for, to_document
from entropie.mechanisms.randomized_response import RandomizedResponse

__all__ = ["here"]

MECHANISMS = {
    "rr": RandomizedResponse(domain_size=3 * CHUNK + 5, epsilon=4.0),
    "glh": LocalHashing(domain_size=CHUNK + 1, hash_size=7, epsilon=2.0),
    "glh-large-prime": LocalHashing(domain_size=90, hash_size=4, epsilon=3.0, prime=LARGE_PRIME),
    "identity": Identity(domain_size=40),
}
ROWS = 5_000
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


def reports_of(mechanism, rows: int = ROWS, seed: int = 3):
    rng = np.random.default_rng(seed)
    values = (mechanism.domain_size * rng.random(rows) ** 3).astype(np.uint64)
    return mechanism.simulate(values, rng)


def table_of(mechanism, rows: int = ROWS, seed: int = 3) -> pa.Table:
    return pa.table(to_columns(mechanism, reports_of(mechanism, rows, seed)))


def frame_of(spark, table: pa.Table):
    """A DataFrame of these columns; Spark knows no unsigned numbers."""
    signed = [
        pa.chunked_array(column).cast(pa.int64()) if pa.types.is_unsigned_integer(column.type) else column
        for column in table.columns
    ]
    plain = pa.table(dict(zip(table.column_names, signed, strict=True)))
    return Frame.of(plain, spark) if isinstance(spark, Session) else spark.createDataFrame(plain)


def write(path: Path, *mechanisms, rows: int = ROWS, groups: int | None = None) -> Path:
    tables = [table_of(mechanism, rows, seed) for seed, mechanism in enumerate(mechanisms, 1)]
    table = pa.concat_tables(tables)
    if path.suffix == ".csv":
        with TableWriter(path) as writer:
            writer.write({name: table[name].combine_chunks() for name in table.column_names})
    else:
        pq.write_table(table, path, row_group_size=groups)
    return path


def locally(paths, mechanism, items=None) -> Counts:
    counts = counts_for(mechanism, None, items)
    for path in paths:
        for batch in read_reports(path, mechanism):
            mechanism.count(batch, into=counts)
    return counts


def assert_same(found: Counts, wanted: Counts) -> None:
    assert (found.reports, found.parameters, found.domain_size) == (
        wanted.reports,
        wanted.parameters,
        wanted.domain_size,
    )
    assert (found.items is None) == (wanted.items is None)
    if wanted.items is not None:
        assert found.items.tolist() == wanted.items.tolist()
    assert found.counts.dtype == wanted.counts.dtype
    assert found.counts.tolist() == wanted.counts.tolist()


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_dataframe_is_counted_as_on_one_machine(here, name):
    check_dataframe(here, MECHANISMS[name], rows=300)


def test_a_dataframe_is_counted_on_a_cluster(spark):
    check_dataframe(spark, MECHANISMS["glh"], rows=ROWS)


def check_dataframe(spark, mechanism, rows):
    frame = frame_of(spark, table_of(mechanism, rows))
    for items, partitions in ((None, 5), ([3, 1, 17, mechanism.domain_size - 1], 3)):
        wanted = mechanism.count(reports_of(mechanism, rows), items=items)
        found = count_reports(frame, mechanism, items=items, partitions=partitions)
        assert_same(found, wanted)
        shares = estimate(found, mechanism.rates).probabilities
        assert np.array_equal(shares, estimate(wanted, mechanism.rates).probabilities)


@pytest.mark.parametrize("name", MECHANISMS)
def test_files_are_counted_as_on_one_machine(here, tmp_path, monkeypatch, name):
    for items in (None, [0, 5]) if name == "glh" else (None,):
        check_files(here, tmp_path, monkeypatch, MECHANISMS[name], items)


def test_files_are_counted_on_a_cluster(spark, tmp_path, monkeypatch):
    check_files(spark, tmp_path, monkeypatch, MECHANISMS["rr"], None)


def test_records_of_a_collection_are_counted_on_a_cluster(spark, tmp_path):
    """Bodies that devices would send, as files of reports: Spark counts what this machine does."""
    day = datetime.date(2030, 1, 1)
    device = LocalHashing(domain_size=500, hash_size=8, epsilon=3.0)
    collection = create(device, title="Places", people=1000, opens=day, closes=day)
    rng = np.random.default_rng(5)
    cells = rng.integers(0, collection.cells, 800).astype(np.uint64)
    (tmp_path / "a.bin").write_bytes(encode_many(rng.integers(0, 256, (800, 16), dtype=np.uint8), cells))
    with TableWriter(tmp_path / "r.parquet") as writer:
        assert taken([tmp_path / "a.bin"], collection, writer).reports == 800
    paths = [tmp_path / "r.parquet"]
    assert_same(count_files(spark, paths, device), locally(paths, device, None))


def check_files(spark, tmp_path, monkeypatch, mechanism, items):
    paths = [
        write(tmp_path / "a.parquet", mechanism, groups=700),
        write(tmp_path / "b.csv", mechanism, mechanism),
        write(tmp_path / "c.parquet", mechanism, rows=11),
    ]
    monkeypatch.setattr(frequencies, "ROWS_AT_ONCE", 1000)
    assert len(parts_of(paths[0], 4, 1000)) == 4
    assert_same(count_files(spark, paths, mechanism, items=items), locally(paths, mechanism, items))


def test_unsigned_numbers_that_spark_reads_as_decimals(spark, tmp_path):
    for name in ("rr", "glh-large-prime"):
        mechanism = MECHANISMS[name]
        path = write(tmp_path / f"{name}.parquet", mechanism)
        frame = spark.read.parquet(str(path))
        assert "decimal" in dict(frame.dtypes)["report" if name == "rr" else "a"]
        assert_same(count_reports(frame, mechanism), locally([path], mechanism))


RR = MECHANISMS["rr"]
OTHER = RandomizedResponse(domain_size=RR.domain_size, epsilon=1.0)


def bad(table: pa.Table, column: str, value: object) -> pa.Table:
    values = table[column].to_pylist()
    values[-2] = value
    kind = pa.string() if column == "parameters" else pa.int64()
    return table.set_column(table.column_names.index(column), column, pa.array(values, kind))


BAD = {
    "other": pa.concat_tables([table_of(RR, 50), table_of(OTHER, 50)]),
    "none": bad(table_of(RR, 50), "parameters", None),
    "outside": bad(table_of(RR, 50), "report", RR.domain_size + 7),
    "negative": bad(table_of(RR, 50), "report", -1),
    "blank": bad(table_of(RR, 50), "report", None),
    "text": table_of(RR, 50).set_column(1, "report", pa.array(["x"] * 50)),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_reports_get_the_local_sentence(here, tmp_path, monkeypatch, name):
    check_sentence(here, tmp_path, monkeypatch, name)


def test_bad_reports_get_the_local_sentence_from_a_cluster(spark, tmp_path, monkeypatch):
    check_sentence(spark, tmp_path, monkeypatch, "other")


def check_sentence(spark, tmp_path, monkeypatch, name):
    path = tmp_path / "bad.parquet"
    pq.write_table(BAD[name], path, row_group_size=20)
    with pytest.raises(EntropieError) as local:
        locally([path], RR)
    monkeypatch.setattr(frequencies, "ROWS_AT_ONCE", 20)
    with pytest.raises(type(local.value)) as found:
        count_files(spark, [path], RR)
    assert str(found.value) == str(local.value)
    with pytest.raises(type(local.value)) as found:
        count_reports(frame_of(spark, BAD[name]), RR, partitions=2)
    said = str(local.value).replace("bad.parquet", "The DataFrame")
    assert str(found.value) == re.sub(r"in row [\d,]+", "in some row", said)


def test_a_function_outside_the_hash_family_gets_the_local_sentence(here):
    mechanism = MECHANISMS["glh"]
    reports = reports_of(mechanism, 30)
    reports.a[7] = 0
    with pytest.raises(InvalidInput) as local:
        mechanism.count(reports)
    with pytest.raises(InvalidInput) as found:
        count_reports(frame_of(here, pa.table(to_columns(mechanism, reports))), mechanism)
    assert str(found.value) == str(local.value)


def test_errors_that_need_no_task(here, tmp_path):
    frame = frame_of(here, table_of(RR, 5))
    with pytest.raises(
        InvalidInput, match="Column `a` must be in the DataFrame of reports once; found: parameters, report"
    ):
        count_reports(frame, MECHANISMS["glh"])
    with pytest.raises(InvalidParameter, match="`partitions` must be at least 1, got 0"):
        count_reports(frame, RR, partitions=0)
    with pytest.raises(InvalidInput, match=r"none\.csv does not exist"):
        count_files(here, [tmp_path / "none.csv"], RR)
    with pytest.raises(InvalidInput, match=r"Column `a` is missing from .*r\.csv"):
        count_files(here, [write(tmp_path / "r.csv", RR, rows=5)], MECHANISMS["glh"])
    with pytest.raises(InvalidInput, match="The DataFrame of reports has no rows; at least one is needed"):
        count_reports(frame.limit(0), RR)


def test_parquet_is_cut_at_row_groups(tmp_path):
    path = tmp_path / "r.parquet"
    pq.write_table(pa.table({"x": list(range(103))}), path, row_group_size=10)
    for wanted in (1, 2, 3, 11, 50):
        parts = parts_of(path, wanted, least_rows=1)
        assert [group for part in parts for group in part.groups] == list(range(11))
        assert len(parts) <= wanted
        assert all(part.first_row == 1 + 10 * part.groups[0] for part in parts)
    assert [part.groups for part in parts_of(path, 50, least_rows=40)] == [(0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10)]
    assert parts_of(tmp_path / "r.csv", 9, 1) == [frequencies.Part(str(tmp_path / "r.csv"))]


def summed(boxes: Iterable[Box]) -> list[Box]:
    """What Spark makes of boxes, all in one partition: sorted, then added up."""
    return list(opened(Boxing(add_chunks)(Boxing(iter)(sorted(boxes, key=lambda box: box[:3])))))  # type: ignore[arg-type]


def counted(mechanism, values: np.ndarray, reports: int) -> Counts:
    counts = counts_for(mechanism, None, None)
    counts.add_supports(values, reports)
    return counts


@given(st.data(), st.sampled_from(sorted(MECHANISMS)), st.booleans())
@settings(deadline=None, max_examples=60)
def test_any_cut_into_tasks_and_batches_gives_the_same_sum(data, name, listed):
    """The functions that Spark runs, without Spark: reports dealt to tasks, batches of any size, sums in any order."""
    mechanism = MECHANISMS[name]
    rows = data.draw(st.integers(1, 60))
    items = [0, 3, mechanism.domain_size - 1] if listed else None
    table = table_of(mechanism, rows, seed=data.draw(st.integers(0, 5)))
    cuts = sorted({0, rows, *data.draw(st.lists(st.integers(0, rows), max_size=4))})
    empty = counts_for(mechanism, None, items)
    task = frequencies.Counting(to_document(mechanism), empty.items)
    sent: list[Box] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frequencies, "ROWS_AT_ONCE", data.draw(st.integers(1, 70)))
        patch.setattr(frequencies, "CHUNK", data.draw(st.sampled_from([20_000, CHUNK])))
        for begin, end in itertools.pairwise(cuts):
            batches = table.slice(begin, end - begin).to_batches(max_chunksize=data.draw(st.integers(1, 70)))
            sent += list(task(batches))
        sent += list(task([]))
        found = summed(data.draw(st.permutations(sent)))
        assert len({box[:3] for box in found}) == len(found)
        merged = merged_counts(found, empty, "It")
    reports = [column.to_numpy() for column in table.columns[1:]]
    wanted = mechanism.count(reports if name.startswith("glh") else reports[0], items=items)
    assert_same(merged, wanted)


def test_sums_grow_beyond_32_bits():
    """Three tasks with counters just below 2^32: their sum needs 64 bits, and the driver notices."""
    mechanism = Identity(domain_size=2 * CHUNK + 3)
    values = np.arange(mechanism.domain_size, dtype=np.uint32)
    values[-1] = 2**32 - 1
    parts = [counted(mechanism, values.copy(), 2**32 - 1) for _ in range(3)]
    boxes = [box for part in parts for box in boxes_of(part)]
    found = merged_counts(summed(boxes), counts_for(mechanism, None, None), "It")
    wanted = parts[0].merge(parts[1]).merge(parts[2])
    assert_same(found, wanted)
    assert found.counts.dtype == np.int64
    assert int(found.counts[-1]) == 3 * (2**32 - 1)


def test_many_reports_of_rare_items_are_wide_too():
    """From 2^32 reports on counters are 64 bits wide as on one machine, even if each of them would fit into 32."""
    mechanism = Identity(domain_size=5)
    parts = [counted(mechanism, np.ones(5, np.uint32), 2**31) for _ in range(2)]
    boxes = summed(box for part in parts for box in boxes_of(part))
    assert {box.arrays[0].dtype for box in boxes if box.side == frequencies._COUNTERS} == {np.dtype(np.uint32)}
    found = merged_counts(boxes, counts_for(mechanism, None, None), "It")
    assert_same(found, parts[0].merge(parts[1]))
    assert (found.reports, found.counts.dtype) == (2**32, np.int64)
    fewer = merged_counts(boxes_of(parts[0]), counts_for(mechanism, None, None), "It")
    assert fewer.counts.dtype == np.uint32


def test_the_first_part_with_an_error_decides(tmp_path):
    problems = [(2, InvalidInput, "second"), (1, ParametersMismatch, "first")]
    boxes = [Box(0, frequencies._PROBLEM, part, (kind, said)) for part, kind, said in problems]
    with pytest.raises(ParametersMismatch, match=r"^first$"):
        merged_counts(summed(boxes), counts_for(RR, None, None), "It")


def test_pages_that_a_task_finds_damaged_are_the_local_sentence(tmp_path):
    path = write(tmp_path / "r.parquet", RR)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(300) + whole[304:])
    with pytest.raises(InvalidInput, match=r"r\.parquet is damaged or ends early, Parquet cannot be read"):
        list(frequencies._read(frequencies.Part(str(path), (0,)), RR))


def test_a_path_that_a_worker_does_not_see(tmp_path):
    with pytest.raises(InvalidInput, match=r"gone\.csv is not there on a worker; every worker must see the same path"):
        list(frequencies._read(frequencies.Part(str(tmp_path / "gone.csv")), RR))


def run_estimate(arguments: list[str], capsys) -> tuple[int, str, str]:
    from entropie.cli.main import run

    capsys.readouterr()
    code = run(["estimate", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_command_says_the_same_on_both_engines(spark, tmp_path, capsys, monkeypatch):
    """The session of the command is the one of these tests, which must outlive it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("entropie.engine.spark.session.connect", lambda master: spark)
    monkeypatch.setattr(type(spark), "stop", lambda self: None)
    Path("p.json").write_text(to_document(RR))
    write(Path("a.parquet"), RR)
    write(Path("b.csv"), RR, rows=70)
    mechanism_counts = locally([Path("b.csv")], RR)
    mechanism_counts.save("c.npz")
    for options in (["--top", "3"], ["--item", "5", "--item", "0", "--json"]):
        files = ["a.parquet", "b.csv", *([] if "--item" in options else ["c.npz"])]
        local = run_estimate([*files, "--parameters", "p.json", *options], capsys)
        remote = [f"file://{tmp_path}/a.parquet", *files[1:]]
        cluster = [
            run_estimate(
                [*names, "--parameters", "p.json", "--engine", "spark", "--master", "local[2]", *options], capsys
            )
            for names in (files, remote)
        ]
        assert local[0] == 0, local[2]
        assert cluster == [local, local]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["a.csv", "--engine", "spark"], "Give --master URL with --engine spark, and only there."),
        (["a.csv", "--master", "local[2]"], "Give --master URL with --engine spark, and only there."),
        (["s3a://b/r"], "s3a://b/r is not a file of this machine; read it with --engine spark."),
        (
            ["dbfs:/r", "dbfs:/r", "--engine", "spark", "--master", "local"],
            "The same file is named twice among the reports; it would be counted twice.",
        ),
    ],
)
def test_options_that_do_not_go_together(arguments, sentence, capsys):
    assert run_estimate([*arguments, "--parameters", "p.json"], capsys) == (2, "", f"entropie: {sentence}\n")
