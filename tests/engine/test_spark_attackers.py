"""The attackers by what they know find on a cluster what they find on one machine: tasks run here, without a JVM."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from in_process import Session, here
from test_spark_assess import events_table

from entropie.attack import attackers as by_name
from entropie.attack.attacker import Release
from entropie.data.prepare import prepare
from entropie.engine.spark.assessment import SparkEngine, _from_files, _rows
from entropie.engine.spark.attackers import fits_a_task, reads_files
from entropie.engine.spark.encoding import ingest
from entropie.errors import InvalidInput, InvalidParameter
from entropie.findings import release_of
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
    path = tmp_path / "events.parquet"
    pq.write_table(events_table(3, **drawn), path)
    request = Request.of(path, {"engine": "spark", "partitions": 3, **options})
    prepared = prepare(request)
    release = Release.of(prepared.released, prepared.split, prepared.rule, attacked=prepared.attacked)
    alone = list(by_name.attacker_rows(release, request))
    expected = told(alone)
    people = ingest(here, request)  # type: ignore[arg-type]
    assert fits_a_task(people, request)
    rows, account = _rows(SparkEngine(here, people, replace(request, split=people.rule)))  # type: ignore[arg-type]
    assert account == people.facts
    found = told(rows)
    assert found == expected
    for one, other in zip(rows, alone, strict=True):
        assert one.naming is None
        assert one.ranks is not None
        assert other.ranks is not None
        assert all(np.array_equal(*pair) for pair in zip(one.ranks, other.ranks, strict=True))
    assert {row["attacker"] for row in found} >= {"points", "profile"}


@pytest.mark.parametrize("options", [{"category": "kind"}, {"known": True, "targets": 20}], ids=["categories", "known"])
def test_with_categories_or_another_file_too(here: Session, tmp_path: Any, options: dict[str, Any]) -> None:
    """One task reads the files; the account tells of them as one machine's does."""
    path, other = tmp_path / "events.parquet", tmp_path / "known.parquet"
    table = events_table(3, 30, longest=16)
    kinds = pa.array([f"kind {len(str(item)) % 3}" for item in table["item"].to_pylist()])
    pq.write_table(table.append_column("kind", kinds), path)
    pq.write_table(events_table(4, 30, longest=16), other)
    asked = {name: other if name == "known" else value for name, value in options.items()}
    request = Request.of(path, {"engine": "spark", "partitions": 3, "points": [4], "matchers": ["visit"], **asked})
    prepared = prepare(request)
    expected = told(by_name.attacker_rows(release_of(prepared), request))
    assert reads_files(request)
    people = ingest(here, replace(request, source=replace(request.source, category=None)))  # type: ignore[arg-type]
    rows, account = _from_files(SparkEngine(here, people, replace(request, split=people.rule)))  # type: ignore[arg-type]
    assert told(rows) == expected
    assert account == prepared.input_facts
    assert ("known-file" in {row["attacker"] for row in expected}) == ("known" in options)
    assert account.keys() - people.facts.keys() == ({"known"} if "known" in options else {"categories"})


@pytest.mark.parametrize("events", [pa.table({"user": [1]}), "s3a://bucket/events"])
def test_what_only_files_tell_needs_files(events: Any) -> None:
    with pytest.raises(
        InvalidParameter, match=r"`category` must be left out on a cluster, or given with events in files"
    ):
        reads_files(Request.of(events, {"engine": "spark", "category": "kind"}))


def test_room_for_everybody_is_asked_for_before_anything_is_attacked(here: Session, tmp_path: Any) -> None:
    path, table = tmp_path / "events.parquet", events_table(3, 20)
    pq.write_table(table, path)
    short = {"engine": "spark", "partitions": 1, "memory": attacker_bytes(20, table.num_rows, 20) - 1}
    people = ingest(here, Request.of(path, short))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"in one task, .* raise `memory=`, or leave them out with `scope=` profile"):
        fits_a_task(people, Request.of(path, short))
    assert not fits_a_task(people, Request.of(path, {**short, "scope": ["profile"]}))
