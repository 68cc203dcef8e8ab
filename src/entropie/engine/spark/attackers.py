"""The attackers by what they know, on Spark: the runners of one machine, each in a task that holds everybody's traces.

    people assessed, everybody released --addressed--> one partition per runner --runner--> rows

A runner draws, orders and matches people against all others, so that its task needs room for all of them; where
`--memory` says that there is none, this is said before anything is attacked. With categories or another file about the
same people, one task reads the files as one machine does and runs all of them. Matchers are attacked block by block
(see `grid`) and need no such room.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.attack.attacker import AttackerRow, Release
from entropie.attack.attackers import attacker_rows as all_rows
from entropie.attack.attackers import runners
from entropie.data.prepare import prepare
from entropie.data.split import split_traces
from entropie.data.traces import Traces
from entropie.engine.spark.blocks import joined
from entropie.engine.spark.boxes import Box, gathered, in_order, mapped, opened, received
from entropie.engine.spark.encoding import Ingested
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.findings import release_of
from entropie.plan.costs import attacker_bytes
from entropie.plan.grid import TASK_MEMORY
from entropie.request import MATCHERS_ALONE, Request, Run, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ASSESSED, _RELEASED = range(2)


@dataclass(frozen=True, slots=True)
class RowsJob:
    """What the tasks share: the request without its events, and how many items there are on either side."""

    request: Request
    items: tuple[int, int]


def fits_a_task(people: Ingested, request: Request) -> bool:
    """Whether one task has room for everybody; refused where it has not and attackers that need it are in scope.

    Only those who asked for the attacker of earlier behaviour alone do without: matchers stand for it.
    """
    counts = people.counted.counts
    needed = attacker_bytes(counts.people, people.facts["events"], counts.attacked)
    memory = TASK_MEMORY if request.run.memory is None else request.run.memory
    if needed <= memory:
        return True
    if request.attackers.scope == MATCHERS_ALONE and not reads_files(request):
        return False
    raise InvalidInput(
        f"Attackers who hold known events or all traces need {needed / 1e9:.1f} GB in one task, which may fill "
        f"{memory / 1e9:.1f} GB; raise {option('memory')}, or leave them out with {option('scope')} profile."
    )


def reads_files(request: Request) -> bool:
    """Whether attackers need what tables of events alone do not tell; refused where workers have no files to read."""
    asked = {"category": request.source.category, "known": request.attackers.known}
    named = [name for name, value in asked.items() if value is not None]
    events = request.source.events
    if named and (not isinstance(events, str | os.PathLike) or "://" in os.fspath(events)):
        rule = "left out on a cluster, or given with events in files that the workers see at the same path"
        raise InvalidParameter.of(named[0], rule, type(events).__name__)
    return bool(named)


def rows_from_files(session: SparkSession, request: Request) -> tuple[tuple[AttackerRow, ...], dict[str, Any]]:
    """The rows of every runner and the account of what was read, from one task that reads as one machine does."""
    alone = replace(request, run=Run(seed=request.run.seed, threads=1))
    ((rows, facts),) = (box.arrays for box in received(mapped(session.range(0, 1, 1, 1), _read, request=alone)))
    return rows, facts


def _read(batches: Iterable[pa.RecordBatch], *, request: Request) -> Iterator[Box]:
    for _ in batches:
        prepared = prepare(request)
        rows = tuple(replace(row, naming=None) for row in all_rows(release_of(prepared), request))
        yield Box(0, 0, 0, (rows, prepared.input_facts))


def attacker_rows(people: Ingested, everybody: Ingested, request: Request) -> tuple[AttackerRow, ...]:
    """The rows of every runner, as one machine has them; arrays with an entry per person stay in the tasks."""
    plain = replace(request, source=Source(), run=Run(seed=request.run.seed, threads=1))
    job = RowsJob(plain, (people.domain_size, everybody.domain_size))
    sides = ((_ASSESSED, people), (_RELEASED, everybody))
    sent = [mapped(those.people, _addressed, side=side, count=len(runners(request))) for side, those in sides]
    made = mapped(gathered(sent[0].unionByName(sent[1]), len(runners(request))), _rows, job=job)
    return tuple(row for box in received(made) for row in box.arrays[0])


def _addressed(batches: Iterable[pa.RecordBatch], *, side: int, count: int) -> Iterator[Box]:
    """People to the task of every runner."""
    for box in opened(batches):
        for runner in range(count):
            yield box._replace(key=runner, side=side)


def _rows(batches: Iterable[pa.RecordBatch], *, job: RowsJob) -> Iterator[Box]:
    """Put everybody together and run one attacker."""
    boxes = list(in_order(opened(batches)))
    if not boxes:
        return
    runner, rule = boxes[0].key, job.request.split
    (assessed, drawn), (released, attacked) = (
        _everybody([box for box in boxes if box.side == side], job.items[side]) for side in (_ASSESSED, _RELEASED)
    )
    del boxes
    release = Release.of(released, split_traces(assessed, rule, drawn), rule, attacked=attacked)
    rows = runners(job.request)[runner](release, job.request)
    yield Box(runner, 0, 0, (tuple(replace(row, naming=None) for row in rows),))


def _everybody(boxes: Sequence[Box], items: int) -> tuple[Traces, NDArray[np.int64] | None]:
    """The traces of all people, and who is attacked; None: all."""
    people = joined([box.arrays for box in boxes])
    traces = replace(people.traces, domain_size=items)
    return traces, None if people.attacked.all() else np.flatnonzero(people.attacked)
