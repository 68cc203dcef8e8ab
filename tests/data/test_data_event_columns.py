"""Further columns stay beside their events, whatever is dropped and however rows are sorted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.data.event_columns import category_labels, event_numbers, numbers, read_event_columns
from entropie.data.events import read_events
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.request import Source

Row = tuple[str, str | None, int | None, str | None, float | None]
# Missing items and times drop a row; missing categories and places do not.
rows_of_events = st.lists(
    st.tuples(
        st.sampled_from(["anna", "bert", "carl"]),
        st.sampled_from(["x", "y", "z", None, "NULL"]),
        st.one_of(st.none(), st.integers(1_600_000_000, 1_600_000_005)),
        st.sampled_from(["bar", "café", None]),
        st.one_of(st.none(), st.floats(-90, 90, width=32)),
    ),
    min_size=1,
    max_size=40,
)


def table_of(rows: list[Row]) -> pa.Table:
    users, items, times, kinds, places = (list(column) for column in zip(*rows, strict=True))
    return pa.table(
        {
            "place": pa.array(places, pa.float64()),
            "user": users,
            "kind": pa.array(kinds, pa.string()),
            "item": pa.array(items, pa.string()),
            "time": pa.array(times, pa.int64()),
        }
    )


@settings(deadline=None, max_examples=40)
@given(rows_of_events)
def test_every_event_keeps_its_row(rows: list[Row]) -> None:
    kept = [row for row in rows if row[1] in ("x", "y", "z") and row[2] is not None]
    if not kept:
        return
    table = table_of(rows)
    found = read_event_columns(Source(table, max_dirty_share=1.0), ["kind", "place"])
    ordered = sorted(kept, key=lambda row: (row[0], row[2]))  # stable: row order decides between equal times
    events = found.events
    users = np.repeat(events.user_ids.to_pylist(), np.diff(events.traces.offsets)).tolist()
    items = [events.item_ids[int(code)].as_py() for code in events.traces.items]
    assert list(zip(users, items, strict=True)) == [row[:2] for row in ordered]
    assert found.columns["kind"].to_pylist() == [row[3] for row in ordered]
    assert found.columns["place"].to_pylist() == [row[4] for row in ordered]
    plain = read_events(Source(table, max_dirty_share=1.0))
    assert np.array_equal(plain.traces.items, events.traces.items)
    assert np.array_equal(plain.traces.offsets, events.traces.offsets)
    assert np.array_equal(plain.traces.times, events.traces.times)
    ours, theirs = events.report.as_dict(), plain.report.as_dict()
    ours.pop("sha256"), theirs.pop("sha256")  # of the columns read: more of them here
    assert ours == theirs


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_give_what_tables_give(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(1)
    rows: list[Row] = [
        (f"u{rng.integers(9)}", f"i{rng.integers(5)}", int(1_600_000_000 + rng.integers(500)), f"k{rng.integers(3)}",
         float(rng.integers(-80, 80)) / 4)
        for _ in range(300)
    ]  # fmt: skip
    table = table_of(rows)
    file = tmp_path / f"events.{kind}"
    (pa_csv.write_csv if kind == "csv" else pq.write_table)(table, str(file))
    one, other = (read_event_columns(Source(source), ["place", "kind"]) for source in (table, file))
    assert np.array_equal(one.events.traces.items, other.events.traces.items)
    assert np.array_equal(category_labels(one.columns["kind"]), category_labels(other.columns["kind"]))
    assert np.array_equal(numbers(one.columns["place"]), numbers(other.columns["place"]))
    assert other.events.report.sha256 == read_events(Source(file)).report.sha256


def test_without_further_columns_it_is_read_events() -> None:
    table = table_of([("anna", "x", 1_600_000_000, None, None), ("bert", "y", 1_600_000_001, None, None)])
    found = read_event_columns(Source(table), [])
    assert found.columns == {}
    assert found.events.report == read_events(Source(table)).report


def test_columns_of_a_preset(tmp_path: Path) -> None:
    """Gowalla lists the newest event first, and events of one moment must keep their true order."""
    lines = [
        "0\t2010-10-19T23:55:27Z\t30.25\t-97.75\tb",
        "0\t2010-10-19T23:55:27Z\t30.5\t-97.5\ta",
        "0\t2010-10-18T22:17:43Z\t30.0\t-97.0\tc",
    ]
    lines = ["\t".join((*line.split("\t")[:4], {"a": "1", "b": "2", "c": "3"}[line[-1]])) for line in lines]
    file = tmp_path / "loc-gowalla_totalCheckins.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = read_event_columns(Source(file, preset="gowalla"), ["latitude"])
    assert found.events.item_ids.take(pa.array(found.events.traces.items)).to_pylist() == [3, 1, 2]
    assert numbers(found.columns["latitude"]).tolist() == [30.0, 30.5, 30.25]


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.data())
def test_numbers_of_events_taken(lengths: list[int], data: st.DataObject) -> None:
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    traces = Traces(offsets, np.arange(offsets[-1], dtype=np.uint32), int(offsets[-1]))
    users = np.array(data.draw(st.lists(st.sampled_from(range(len(lengths))), max_size=8)), np.int64)
    # The item of an event is its number, so that taking tells where each came from.
    assert event_numbers(traces, users).tolist() == traces.take(users).items.tolist()


def test_labels_and_numbers() -> None:
    assert category_labels(pa.array(["b", None, "a", " ", "NULL", "b"])).tolist() == [1, -1, 0, -1, -1, 1]
    assert category_labels(pa.array([30, 10, None, 30])).tolist() == [1, 0, -1, 1]
    assert category_labels(pa.array([0.5, float("nan"), 0.25])).tolist() == [1, -1, 0]
    read = numbers(pa.array([" 1.5", "-2e1", "north", "", None, ".5", "nan", "1,5"]))
    assert [None if np.isnan(x) else x for x in read] == [1.5, -20.0, None, None, None, 0.5, None, None]


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        (["sort"], {}, "Column `sort` is missing from the table; found: place, user, kind, item, time"),
        (["item"], {}, "Column `item` of the table is already the item; name another"),
        (["when"], {}, "has type timestamp.*text or numbers"),
        (["kind"], {"preset": "gowalla"}, "`preset` must be left out for a table in memory"),
        (["kind"], {"max_dirty_share": 2.0}, "`max_dirty_share` must be a share from 0 to 1"),
    ],
)
def test_bad_requests_get_a_sentence(columns: list[str], options: dict[str, object], said: str) -> None:
    table = table_of([("anna", "x", 1_600_000_000, "bar", 1.0)])
    if columns == ["when"]:
        table = table.append_column("when", pa.array([0], pa.timestamp("s")))
    with pytest.raises((InvalidInput, InvalidParameter), match=said):
        read_event_columns(Source(table, **options), columns)  # type: ignore[arg-type]


def test_geolife_has_no_columns_to_add(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="one whose files have columns, got 'geolife'"):
        read_event_columns(Source(tmp_path, preset="geolife"), ["kind"])
    with pytest.raises(InvalidParameter, match="a path or an object with __arrow_c_stream__, got 'int'"):
        read_event_columns(Source(3), ["kind"])
