"""Ids to codes: what sorting all of them in Python gives, in batches of any size and looked up at any time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from entropie.data import encode as module
from entropie.data.encode import NO_USER, encode
from entropie.data.rejects import Rejects
from entropie.data.rules import Rules
from entropie.data.times import TimeFormat
from entropie.errors import InvalidInput
from entropie.request import Run

TEXTS = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.integers(-9, 9).map(str),
    st.sampled_from(["007", "-0", "+5", " 5", "9223372036854775808", "a", "B", "é", "ﬀ", "e\u0301", "😀", "a\x00b"]),
)
IDS = st.sampled_from(
    [
        (st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1), pa.int64()),
        (st.integers(0, 2**64 - 1), pa.uint64()),
        (st.integers(-(2**63), 2**63 - 1).map(str), pa.string()),
        (TEXTS, pa.string()),
        (TEXTS, pa.large_string()),
    ]
)


def counted(name: str, rows: int) -> Rejects:
    """The account of a reader that has counted so many rows."""
    rejects = Rejects(name)
    rejects.counted = rows
    return rejects


def is_whole(text: object) -> bool:
    try:
        return isinstance(text, str) and str(int(text)) == text and -(2**63) <= int(text) < 2**63
    except ValueError:
        return False


def naive(ids: list[object]) -> tuple[list[int | None], list[object]]:
    """Sort the different ids: as numbers where all are numbers, else by the bytes of their text."""
    there = {value for value in ids if value is not None}
    if all(isinstance(value, str) for value in there):
        numbers = bool(there) and all(map(is_whole, there))
        ordered: list[object] = sorted(there, key=int if numbers else lambda text: text.encode())  # type: ignore
        labels = [int(value) for value in ordered] if numbers else ordered  # type: ignore[call-overload]
    else:
        ordered = labels = sorted(there)  # type: ignore[type-var]
    places = {value: place for place, value in enumerate(ordered)}
    return [None if value is None else places[value] for value in ids], labels


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), IDS, IDS, st.integers(1, 30), st.sampled_from([1, 100, 1 << 26]), st.integers(1, 40))
def test_codes_are_ranks(
    monkeypatch: pytest.MonkeyPatch, data: st.DataObject, user: tuple[st.SearchStrategy[object], pa.DataType],
    item: tuple[st.SearchStrategy[object], pa.DataType], rows: int, pending: int, batch_rows: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(module, "_PENDING_BYTES", pending)
    monkeypatch.setattr(module, "_BATCH_ROWS", batch_rows)
    users, items = (data.draw(st.lists(kind[0], min_size=rows, max_size=rows)) for kind in (user, item))
    times = data.draw(st.lists(st.none() | st.integers(-5, 5), min_size=rows, max_size=rows))
    users = [None if data.draw(st.integers(0, 5)) == 0 else value for value in users]
    columns = [pa.array(users, user[1]), pa.array(items, item[1]), pa.array(times, pa.int64())]
    table = pa.table(dict(zip(("user", "item", "time"), columns, strict=True)))
    size = data.draw(st.integers(1, rows))
    rejects = counted("the table", rows + 2)
    rejects.add_dirty("too few fields", 2)  # as if counted while reading
    run = (iter(table.to_batches(size)), table.schema, Rules(TimeFormat("integer"), max_dirty_share=1.0), rejects)
    kept = [user is not None and time is not None for user, time in zip(users, times, strict=True)]
    if not any(kept):
        with pytest.raises(InvalidInput, match=f"No event is left of the {rows + 2} rows"):
            encode(*run, Run())
        return
    found = encode(*run, Run())
    for codes, ids, values, blank in (
        (found.users, found.user_ids, users, int(NO_USER)), (found.items, found.item_ids, items, 0),
    ):  # fmt: skip
        expected, labels = naive([value if keep else None for value, keep in zip(values, kept, strict=True)])
        assert codes.tolist() == [blank if code is None else code for code in expected]
        assert codes.dtype == np.uint32
        assert ids.to_pylist() == labels
    assert found.ticks.tolist() == [time if keep else 0 for time, keep in zip(times, kept, strict=True)]
    assert found.rows == rows + 2
    missing = {"missing user": users.count(None), "missing time": sum(
        user is not None and time is None for user, time in zip(users, times, strict=True))}  # fmt: skip
    assert rejects.dirty == {"too few fields": 2, **{reason: n for reason, n in missing.items() if n}}


def test_without_times_there_are_no_ticks() -> None:
    table = pa.table({"user": [2, 1], "item": ["b", "a"]})
    found = encode(iter(table.to_batches()), table.schema, Rules(None), counted("it", 2), Run())
    assert found.ticks.size == 0
    assert found.users.tolist() == [1, 0]
    assert found.item_ids.type == pa.string()


def test_more_rows_than_can_be_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NO_USER", np.uint32(3))
    table = pa.table({"user": [1, 2, 3], "item": [1, 2, 3]})
    with pytest.raises(InvalidInput, match="More than 3 rows cannot be numbered"):
        encode(iter(table.to_batches(1)), table.schema, Rules(None), Rejects("it"), Run())


@pytest.mark.parametrize("rows", [1, 3])
def test_rows_that_vanish_or_appear_stop_the_run(rows: int) -> None:
    table = pa.table({"user": [2, 1], "item": ["b", "a"]})
    with pytest.raises(RuntimeError, match=f"Of {rows} rows counted in it, 2 were used and 0 left out"):
        encode(iter(table.to_batches()), table.schema, Rules(None), counted("it", rows), Run())


def test_progress_ends_at_one() -> None:
    told: list[tuple[str, float]] = []
    table = pa.table({"user": [1], "item": [1]})
    run = Run(progress=lambda stage, share: told.append((stage, share)))
    encode(iter(table.to_batches()), table.schema, Rules(None), counted("it", 1), run)
    assert told[-1] == ("encode", 1.0)


def test_ids_wait_in_a_small_share_of_the_memory_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids that repeat take next to nothing in the end, and much while they wait for their codes."""
    monkeypatch.setattr("entropie.data.budget.LEAST_BYTES", 0)
    allowed, batch = 1 << 24, pa.record_batch({"user": ["u" * 20] * 8_000, "item": ["i" * 20] * 8_000})
    waited = []
    looked_up = module._Codes.looked_up
    monkeypatch.setattr(
        module._Codes, "looked_up", lambda codes: waited.append(codes.waiting_bytes) or looked_up(codes)
    )
    rejects = Rejects("the table", allowed)
    rejects.counted = 50 * batch.num_rows
    encode(iter([batch] * 50), batch.schema, Rules(None), rejects, Run())
    assert sum(waited) >= 2 * 50 * 8_000 * 20
    assert max(waited) <= allowed / 16 + 8_000 * (20 + 8 + 1)


def test_looking_ids_up_counts_as_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entropie.data.budget.LEAST_BYTES", 0)
    ids = [f"{number:020}" for number in range(40_000)]
    batch = pa.record_batch({"user": ids, "item": ids})
    for allowed, fits in ((6 * batch.nbytes, True), (2 * batch.nbytes, False)):
        rejects = Rejects("the table", allowed)
        rejects.counted = batch.num_rows
        if fits:
            assert encode(iter([batch]), batch.schema, Rules(None), rejects, Run()).rows == 40_000
        else:
            with pytest.raises(InvalidInput, match="takes more memory"):
                encode(iter([batch]), batch.schema, Rules(None), rejects, Run())
