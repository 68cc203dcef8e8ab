"""Windows of time: each is what an assessment of its rows alone finds."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from mitigate_oracles import DAY, HOUR, START, WEEK

import entropie
from entropie.data.events import read_events
from entropie.errors import InvalidInput, InvalidParameter
from entropie.mitigate.windows import MOST_WINDOWS, Window, parse_window, windows
from entropie.request import Attackers, People, Run, Source

MATCHERS = ("visit", "markov", "cosine")
ANYBODY, THREE = People(), Attackers(matchers=MATCHERS)
FEW = Run(replicates=20, threads=1)


def cut(traces, length_seconds: int, *, run: Run = FEW, people: People = ANYBODY, **more) -> tuple[Window, ...]:
    return windows(traces, length_seconds, people, more.pop("attackers", THREE), run, **more)


def drifting(seed: int = 4) -> pa.Table:
    """Week one: own habits. Week two: all do the same. Week three: nobody. Week four: ten people. Week five: one day."""
    rng, seconds = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    rows = []
    for user in range(50):
        own = rng.integers(0, 60, 3)
        for event in range(12):
            rows.append((user, int(own[rng.integers(3)]), START + 5 * HOUR + event * 12 * HOUR + user))
            rows.append((user, event % 3, START + WEEK + event * 12 * HOUR + int(seconds.integers(HOUR))))
            if user < 10:
                rows.append((user, int(own[0]), START + 3 * WEEK + event * 12 * HOUR + user))
        last = range(10 if user % 2 else 9)
        rows += [(user, int(own[event % 3]), START + 4 * WEEK + event * HOUR + user) for event in last]
    rng.shuffle(rows)
    users, items, times = zip(*rows, strict=True)
    return pa.table({"user": users, "item": items, "time": times})


def test_each_window_is_an_assessment_of_its_rows() -> None:
    table = drifting()
    found = cut(read_events(Source(table)).traces, 7 * DAY, min_people=20, run=replace(FEW, seed=3))
    assert len(found) == 5
    times = np.array(table["time"])
    for number, window in enumerate(found):
        begin = START + number * WEEK
        days = [datetime.datetime.fromtimestamp(moment, datetime.UTC).date() for moment in (begin, begin + WEEK)]
        assert [window.begins, window.ends] == [day.isoformat() for day in days]
        if window.identification_error is None:
            continue
        rows = table.filter(pa.array((times >= begin) & (times < begin + WEEK)))
        alone = entropie.assess(
            rows, matchers=MATCHERS, control=False, known_events=[], replicates=20, seed=3, threads=1
        )
        assert window.identification_error.to_json() == alone.reidentified.complement.to_json()
        assert (window.attacker, window.knows) == (
            alone.document["headline"]["attacker"],
            alone.document["headline"]["knows"],
        )
        assert window.attackers_run == ["points", "profile", "crowd", "joint"]
        assert window.pse_bits.to_json() == alone.best.measures.pse_bits.to_json()  # type: ignore[union-attr]
        assert (window.users, window.events) == (alone.users, alone.events)
    assert [window.identification_error is None for window in found] == [False, False, True, True, False]
    assert found[1].identification_error.value == 0.0  # type: ignore[union-attr]  # no two are there at one second
    earlier = cut(
        read_events(Source(table)).traces, 7 * DAY, min_people=20, attackers=replace(THREE, scope=("profile",))
    )
    assert earlier[0].identification_error.value < 0.4  # type: ignore[union-attr]
    assert earlier[1].identification_error.value > 0.9  # type: ignore[union-attr]
    assert [window.users for window in found] == [50, 50, 0, 10, 25]
    assert found[2].reason == "0 people have 10 events or more in this window, 20 are needed."
    assert found[3].reason == "10 people have 10 events or more in this window, 20 are needed."
    assert [window.complete for window in found] == [True, True, True, True, False]


def any_seconds() -> pa.Table:
    """Forty people at three places that all share, at seconds drawn anew: only known events tell them apart."""
    rng = np.random.default_rng(1)
    rows = [
        (person, int(rng.integers(3)), START + event * 13 * HOUR + int(rng.integers(HOUR)))
        for event in range(12)
        for person in range(40)
    ]
    users, items, times = zip(*rows, strict=True)
    return pa.table({"user": users, "item": items, "time": times})


def test_known_events_are_not_left_out_of_a_window() -> None:
    traces = read_events(Source(any_seconds())).traces
    [window] = cut(traces, 30 * DAY, min_people=20)
    assert window.attacker == "points"
    assert window.knows == "4 random events, to the second"
    assert window.identification_error.value == 0.0  # type: ignore[union-attr]
    [narrow] = cut(traces, 30 * DAY, min_people=20, attackers=replace(THREE, scope=("profile",)))
    assert narrow.attackers_run == ["profile"]
    assert narrow.identification_error.value > 0.3  # type: ignore[union-attr]


def test_rows_of_the_document() -> None:
    found = cut(read_events(Source(drifting())).traces, 7 * DAY, min_people=20)
    rows = json.loads(json.dumps([window.to_json() for window in found], allow_nan=False))
    keys = {"from", "to", "users", "events", "complete", "identification_error", "pse_bits", "matcher", "reason"}
    keys |= {"attacker", "knows", "attackers_run"}
    assert all(row.keys() == keys for row in rows)
    assert (rows[0]["from"], rows[0]["to"], rows[1]["from"]) == ("2020-09-14", "2020-09-21", "2020-09-21")
    assert rows[2]["identification_error"] is rows[2]["pse_bits"] is rows[2]["matcher"] is None
    assert rows[0]["identification_error"].keys() == {"value", "low", "high"}
    assert rows[0]["reason"] is None


def test_short_windows_begin_at_the_full_hour() -> None:
    found = cut(read_events(Source(drifting())).traces, 36 * HOUR, min_people=50)
    assert found[0].to_json()["from"] == "2020-09-14T00:00Z"
    assert found[1].to_json()["from"] == "2020-09-15T12:00Z"
    by_hours = cut(read_events(Source(drifting())).traces, 12 * HOUR, min_people=50, people=People(min_events=2))
    assert by_hours[0].to_json()["from"] == "2020-09-14T05:00Z"  # the first event is at five


def test_the_same_again_and_seeds_change_only_the_bootstrap() -> None:
    traces = read_events(Source(drifting())).traces
    one, again, other = (cut(traces, 7 * DAY, run=replace(FEW, seed=seed)) for seed in (1, 1, 2))
    assert one == again
    assert [window.identification_error for window in one] == [window.identification_error for window in other]
    assert one != other


@pytest.mark.parametrize(
    ("text", "seconds"), [("24h", 86_400), ("30d", 2_592_000), ("1w", 604_800), (" 2 D ", 172_800)]
)
def test_lengths(text: str, seconds: int) -> None:
    assert parse_window(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "d", "0d", "-1d", "1.5d", "1m", "30d1h", "99999999w", "٣d!"])
def test_bad_lengths_get_a_sentence(text: str) -> None:
    with pytest.raises(InvalidParameter, match="`window` must be a length of time such as 24h, 30d or 1w, got"):
        parse_window(text)


def test_without_times_there_are_no_windows() -> None:
    traces = read_events(Source(drifting().drop(["time"]))).traces
    with pytest.raises(InvalidInput, match="only the order of events is known; name a column of times with `time=`"):
        cut(traces, DAY)


def test_too_many_windows_are_refused_before_they_are_counted_out() -> None:
    table = pa.table({"user": ["a", "b"], "item": ["x", "y"], "time": [1, 1_600_000_000]})
    with pytest.raises(InvalidParameter, match=f"at most {MOST_WINDOWS:,} windows, it makes 18,519; make it longer"):
        cut(read_events(Source(table)).traces, DAY)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"length_seconds": 0}, "`length_seconds` must be a whole number from 1"),
        ({"people": People(min_events=1)}, "`min_events` must be a whole number from 2"),
        ({"min_people": 1}, "`min_people` must be a whole number from 2"),
        ({"attackers": Attackers(matchers=("oracle",))}, "`matcher` must be one of"),
    ],
)
def test_bad_requests_get_a_sentence(options: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        cut(read_events(Source(drifting())).traces, **{"length_seconds": WEEK, **options})  # type: ignore[arg-type]
