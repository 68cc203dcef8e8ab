"""Numbers in a time column: what they are taken for, that it is said, and that an option decides."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import entropie
from entropie.data.events import read_events
from entropie.data.times import SAMPLED, TickFacts, TimeFormat, assumed, ticks_per_second
from entropie.errors import InvalidInput, InvalidParameter
from entropie.request import Source

WHOLE = TimeFormat("integer")
DAY = 86_400


def taken(values: np.ndarray) -> tuple[bool, str | None]:
    """Whether numbers say the order alone, and what was assumed."""
    facts = TickFacts.of(np.asarray(values, np.int64))
    return ticks_per_second(facts, WHOLE) is None, assumed(facts, WHOLE)


def rows_with_gaps(count: int, share: float, seed: int = 1) -> np.ndarray:
    """Numbers of the rows that were kept of many."""
    kept = np.flatnonzero(np.random.default_rng(seed).random(int(count / share)) < share)
    return np.random.default_rng(seed).permutation(kept)


def clock(count: int, span: int, seed: int = 1) -> np.ndarray:
    """Seconds since a study began."""
    return np.random.default_rng(seed).integers(0, span, count)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.arange(1, 500), (True, None)),  # numbers of rows
        (rows_with_gaps(5_000, 0.7), (True, None)),  # some rows are missing
        (rows_with_gaps(5_000, 0.1), (True, "order")),  # 1, 2, 5, 9 ...: a clock would show two events at once
        (np.array([1, 2, 5, 9, 12, 40, 41, 77] * 3), (False, "seconds")),  # two at once
        (np.tile(np.arange(30), 40), (True, "order")),  # the number of each person's event, or seconds of a minute
        (clock(5_000, 30 * DAY), (False, "seconds")),
        (clock(300, 300 * DAY), (False, "seconds")),  # too few to tell
        (clock(5_000, 30 * DAY) + 1_600_000_000, (False, None)),
        (1_600_000_000 + rows_with_gaps(5_000, 0.1), (False, None)),  # not small: times of today
    ],
)
def test_what_numbers_are_taken_for(values: np.ndarray, said: tuple[bool, str | None]) -> None:
    assert taken(values) == said


def test_facts_of_parts_are_those_of_the_whole() -> None:
    """Any cut into any parts, also with more numbers than are looked at; counts against a plain count."""
    rng = np.random.default_rng(3)
    for values in (rng.integers(0, 9_000, 20_000), rng.integers(0, 10**7, 20_000), rng.integers(0, 2 * 10**8, 900)):
        whole = TickFacts.of(values)
        for cuts in ([7], [100, 101, 500], np.sort(rng.integers(1, values.size, 30)).tolist()):
            parts = [TickFacts.of(part) for part in np.split(rng.permutation(values), cuts) if part.size]
            assert TickFacts.merged(parts) == whole
        if whole.sample is not None:
            different = Counter(values.tolist())
            assert len(whole.sample) == min(SAMPLED, len(different))
            assert sum(times for _, times in whole.sample) <= values.size
            assert whole.all_different == (max(different.values()) == 1)
    assert TickFacts.of(rng.permutation(10**5)).all_different


@pytest.mark.parametrize(("unit", "second"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
def test_a_declared_unit_decides(unit: Any, second: int, kind: pa.DataType) -> None:
    numbers = [0, 5 * second, 70 * second]
    events = pa.table({"user": [1, 1, 2], "item": [1, 2, 3], "time": pa.array(numbers).cast(kind)})
    read = read_events(Source(events, time_format=unit))
    assert read.traces.times is not None
    assert read.traces.times.tolist() == [0, 5, 70]
    assert read.report.time_assumed is None
    order = read_events(Source(events, time_format="order"))
    assert order.traces.times is None
    assert order.report.time_assumed == "declared order"


def test_units_are_of_numbers_and_have_names() -> None:
    dated = pa.table({"user": [1, 1], "item": [1, 2], "time": ["2024-01-01", "2024-01-02"]})
    with pytest.raises(InvalidInput, match="`time_format=` ms is for numbers; column `time` of"):
        read_events(Source(dated, time_format="ms"))
    assert read_events(Source(dated, time_format="order")).traces.times is None
    with pytest.raises(InvalidParameter, match=r"`time_format` must be .*, got 'hours'"):
        read_events(Source(dated, time_format="hours"))


def numbered(seed: int = 1) -> pa.Table:
    """People who are all alike, their rows numbered as in a larger table."""
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(300), 12)
    return pa.table(
        {"user": people, "item": rng.integers(0, 4, people.size), "time": rows_with_gaps(3_700, 0.02)[:3600]}
    )


def judged(events: pa.Table, **options: Any) -> entropie.Assessment:
    return entropie.assess(
        events, limit=0.33, limit_name="trial", fail_on="average", matchers=["visit"], control=False, replicates=2,
        **options,
    )  # fmt: skip


def test_numbers_of_rows_do_not_decide_and_are_said() -> None:
    events = numbered()
    found = judged(events)
    assert found.input["time_assumed"] == "order"
    assert any("taken for the order of events alone" in limit for limit in found.verdict["limits"])
    assert found.verdict["decision"] == "PASS (limited)"
    seconds = judged(events, time_format="s")  # a row number is a second of one's own
    assert seconds.verdict["decision"] == "FAIL"
    assert not any("time column" in said for said in seconds.verdict["rests_on"])
    declared = judged(events, time_format="order")
    assert declared.input["time_assumed"] is None
    assert not any("time column" in said for said in declared.verdict["rests_on"])


def test_times_cannot_be_declared_away() -> None:
    events = numbered()
    dated = events.set_column(2, "time", pa.array(events["time"].to_numpy() + 1_600_000_000))
    found = judged(dated, time_format="order")
    assert found.input["time_assumed"] == "declared order"
    assert found.verdict["decision"] == "PASS (limited)"
    assert any(limit.startswith("Declared, not checked: the times") for limit in found.verdict["limits"])
    assert judged(dated).verdict["decision"] == "FAIL"


def test_small_numbers_that_may_be_seconds_are_said_where_they_decide() -> None:
    events = numbered()
    sparse = events.set_column(2, "time", pa.array(np.random.default_rng(2).integers(0, 10**7, events.num_rows)))
    found = judged(sparse)
    assert (found.input["time_assumed"], found.verdict["decision"]) == ("seconds", "FAIL")
    assert any("(--time-format order)" in said for said in found.verdict["rests_on"])
    assert judged(sparse, time_format="order").verdict["decision"].startswith("PASS")
