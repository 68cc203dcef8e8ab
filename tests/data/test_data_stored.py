"""Events put aside and given back block by block: what `read_event_columns` holds at once, however little memory."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from entropie.data import stored as module
from entropie.data.event_columns import read_event_columns
from entropie.data.spill import PARTS, Spill
from entropie.data.stored import stored_events
from entropie.data.traces import Traces
from entropie.errors import InputTooLarge
from entropie.request import Run, Source

CHANCE = np.random.default_rng(5)
SIZE = 5_000
TABLE = pa.table(
    {
        "user": [None if n % 97 == 0 else f"u{n}" for n in CHANCE.integers(0, 700, SIZE)],
        "item": [f"i{n}" for n in CHANCE.geometric(0.05, SIZE)],
        "time": CHANCE.integers(1_600_000_000, 1_600_100_000, SIZE),
        "kind": [None if n == 3 else f"k{n}" for n in CHANCE.integers(0, 9, SIZE)],
        "lat": CHANCE.random(SIZE),
    }
)
DATES = [f"{1 + n % 12:02}/{1 + n // 12 % 28:02}/2024" for n in CHANCE.integers(0, 336, SIZE)]
MAX_DIRTY = {"max_dirty_share": 0.5}


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("times", ["seconds", "dates", "order", "none"])
def test_blocks_together_are_what_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: bool, times: str
) -> None:
    """`few`: rows go to a file at once, and a block is one part; chunks of rows are cut small."""
    table = TABLE.drop(["time"]) if times == "none" else TABLE
    if times == "dates":
        table = table.set_column(2, "time", pa.array(DATES))
    if times == "order":
        table = table.set_column(2, "time", pa.array(range(SIZE)))
    pa_csv.write_csv(table, tmp_path / "events.csv")
    source = Source(tmp_path / "events.csv", **MAX_DIRTY)
    if few:
        monkeypatch.setattr(module, "_ROOM", 1 << 40)
        monkeypatch.setattr(module, "_MOST_EVENTS", 1)
        monkeypatch.setattr("entropie.data.encode._PENDING_BYTES", 1_000)
        monkeypatch.setattr("entropie.data.encode._BATCH_ROWS", 300)
    want = read_event_columns(source, ["kind", "lat"])
    with stored_events(source, ["kind", "lat"], Run(), tmp_path) as found:
        report, read = found.report, want.events.report
        assert (report.rows, report.events, report.users, report.items) == (
            read.rows,
            read.events,
            read.users,
            read.items,
        )
        assert (report.sha256, report.dropped, report.order_only) == (read.sha256, read.dropped, read.order_only)
        assert (found.user_ids, found.item_ids) == (want.events.user_ids, want.events.item_ids)
        traces = want.events.traces
        assert found.popularity.tolist() == np.bincount(traces.items).tolist()
        seen = []
        for block in found.blocks():
            seen += block.users.tolist()
            part = traces.take(block.users)
            same(block.traces, part)
            places = np.concatenate([np.arange(traces.offsets[u], traces.offsets[u + 1]) for u in block.users])
            for name, values in block.columns.items():
                told = want.columns[name].take(pa.array(places)).cast(values.type).to_pylist()
                assert values.to_pylist() == [one or None for one in told]  # a blank is nothing
        assert sorted(seen) == list(range(traces.users))
        assert len(list(found.blocks())) == (PARTS if few else 1)
        assert {path.name for path in tmp_path.iterdir()} == {"events.csv"}  # what was put aside has no name


def same(one: Traces, other: Traces) -> None:
    assert one.offsets.tolist() == other.offsets.tolist()
    assert one.items.tolist() == other.items.tolist()
    assert (one.times is None) == (other.times is None)
    if one.times is not None and other.times is not None:
        assert one.times.tolist() == other.times.tolist()


def test_a_person_who_does_not_fit_into_memory_is_refused(tmp_path: Path) -> None:
    rows = 500_000
    table = pa.table({"user": np.zeros(rows, np.int64), "item": np.arange(rows) % 7, "time": np.arange(rows) * 977})
    with (
        pytest.raises(InputTooLarge, match="takes more memory than the 67"),
        stored_events(Source(table), [], Run(memory=1), tmp_path) as found,
    ):
        list(found.blocks())


def test_rows_come_back_by_part_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    kind = np.dtype([("part", "<i8"), ("number", "<i8")])
    parts = CHANCE.integers(0, PARTS, 10_000) // 3 * 3 % PARTS
    for room in (0, 30_000, 10**9):
        with Spill(kind, tmp_path, room) as spill:
            for begin in range(0, parts.size, 700):
                rows = np.empty(parts[begin : begin + 700].size, kind)
                rows["part"], rows["number"] = parts[begin : begin + 700], np.arange(begin, begin + rows.size)
                spill.add(rows["part"].astype(np.uint8), rows)
            ranges = spill.ranges(500)
            assert all(first >= last for (_, last), (first, _) in pairwise(ranges))
            assert sum(spill.sizes[first:last].sum() for first, last in ranges) == parts.size
            assert all(spill.sizes[first:last].sum() <= 500 for first, last in ranges)
            for first, last in ranges:
                found = spill.read(first, last)
                wanted = np.flatnonzero((parts >= first) & (parts < last))
                assert sorted(found["number"].tolist()) == wanted.tolist()
                for part in range(first, last):
                    own = found["number"][found["part"] == part]
                    assert own.tolist() == np.flatnonzero(parts == part).tolist()
