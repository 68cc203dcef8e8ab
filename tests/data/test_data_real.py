"""Real check-ins, where they are present: counts that others found, and any order of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from digests import traces_sha256

from entropie.data.events import read_events
from entropie.data.filter import keep_active_users
from entropie.data.split import split_traces
from entropie.request import Source

DATA = Path(__file__).resolve().parents[2] / "../shared/data"


@pytest.mark.parametrize(
    ("city", "events", "users", "venues", "active"),
    [("nyc", 105_961, 3785, 3628, 1511), ("saopaulo", 249_839, 3842, 6286, 2279)],
)
def test_foursquare(city: str, events: int, users: int, venues: int, active: int) -> None:
    path = DATA / f"foursquare_{city}.parquet"
    if not path.exists():
        pytest.skip("the shared check-ins are not here")
    read = read_events(Source(path))
    report = read.report
    assert (report.rows, report.events, report.users, report.items) == (events, events, users, venues)
    assert (report.dropped, report.duplicates, report.order_only) == ({}, 0, True)
    selection = keep_active_users(read.traces)
    assert selection.traces.users == active
    split = split_traces(selection.traces)
    assert (split.train.users, split.dropped_users) == (active, 0)

    table = pq.read_table(path)
    shuffled = table.take(np.random.default_rng(2).permutation(table.num_rows))
    assert traces_sha256(read_events(Source(shuffled)).traces) == traces_sha256(read.traces)

    user, venue, time = (table[name].to_numpy() for name in ("user", "venue", "time"))
    order = np.lexsort((time, user))
    assert np.array_equal(read.item_ids.to_numpy()[read.traces.items], venue[order])
    assert np.array_equal(np.repeat(read.user_ids.to_numpy(), np.diff(read.traces.offsets)), user[order])
