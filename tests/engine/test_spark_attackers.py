"""The attackers by what they know find on a cluster what they find on one machine: tasks run here, without a JVM."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from in_process import Session, here
from test_spark_assess import events_table

from entropie.attack import attackers as by_name
from entropie.attack.attacker import Release
from entropie.data.prepare import prepare
from entropie.engine.spark.assessment import SparkEngine, _rows
from entropie.engine.spark.attackers import fits_a_task
from entropie.engine.spark.encoding import ingest
from entropie.errors import InvalidInput
from entropie.plan.costs import attacker_bytes
from entropie.request import Request

__all__ = ["here"]


def told(rows: Any) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.to_json().items() if name != "seconds"} for row in rows]


@pytest.mark.parametrize(
    ("drawn", "options"),
    [
        ({"users": 40, "longest": 16}, {}),
        ({"users": 50, "shortest": 1, "longest": 20, "text": True}, {"targets": 9, "seed": 4}),
        ({"users": 40, "longest": 16}, {"point_errors": "time=30min,items=10%", "points": [2], "targets": 9}),
        ({"users": 30, "timed": False}, {"rule": "history", "train_events": 3, "control": False}),
    ],
    ids=["everybody", "some attacked, some with few events", "points with errors", "history, no times"],
)
def test_rows_are_those_of_one_machine(
    here: Session, tmp_path: Any, drawn: dict[str, Any], options: dict[str, Any]
) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "events.parquet"
    pq.write_table(events_table(3, **drawn), path)
    request = Request.of(path, {"engine": "spark", "partitions": 3, **options})
    prepared = prepare(request)
    release = Release.of(prepared.released, prepared.split, prepared.rule, attacked=prepared.attacked)
    alone = list(by_name.attacker_rows(release, request))
    expected = told(alone)
    people = ingest(here, request)  # type: ignore[arg-type]
    assert fits_a_task(people, request)
    rows = _rows(SparkEngine(here, people, replace(request, split=people.rule)))  # type: ignore[arg-type]
    found = told(rows)
    assert found == expected
    for one, other in zip(rows, alone, strict=True):
        assert one.naming is None
        assert one.ranks is not None
        assert other.ranks is not None
        assert all(np.array_equal(*pair) for pair in zip(one.ranks, other.ranks, strict=True))
    assert {row["attacker"] for row in found} >= {"points", "profile"}


def test_room_for_everybody_is_asked_for_before_anything_is_attacked(here: Session, tmp_path: Any) -> None:
    import pyarrow.parquet as pq

    path, table = tmp_path / "events.parquet", events_table(3, 20)
    pq.write_table(table, path)
    short = {"engine": "spark", "partitions": 1, "memory": attacker_bytes(table.num_rows, 20) - 1}
    people = ingest(here, Request.of(path, short))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"in one task, .* raise `memory=`, or leave them out with `scope=` profile"):
        fits_a_task(people, Request.of(path, short))
    assert not fits_a_task(people, Request.of(path, {**short, "scope": ["profile"]}))
