"""A release plan carried out: the safer file, and a manifest of what was done.

What leaks beside the values does not get into the file: people become random pseudonyms of the operating system, whose
groups of rows stand in random order; within a group rows stand by time and item, which says nothing; times that number
the rows become numbers within the group; other columns are not written.
"""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie._version import __version__
from entropie.atomic import check_file, refuse_overwriting, write_file
from entropie.attack.chance import content_hashes
from entropie.data.coarsen import user_of_each
from entropie.data.columns import TableWriter
from entropie.data.events import IngestReport
from entropie.data.stored import StoredEvents, stored_events
from entropie.document.base import Count, Part, Sha256, json_text
from entropie.errors import InvalidInput, InvalidParameter, interruptible, option
from entropie.mechanisms.randomness import SystemSource
from entropie.mitigate.draft import Blocks, Draft, Material
from entropie.progress import Progress, silent, under
from entropie.release.plan import Judging, MitigationStep, ReleasePlan, read_plan
from entropie.release.table_file import TableManifest, sha256_of, write_table
from entropie.release.table_plan import TablePlan
from entropie.release.writing import Made, Release, hexadecimal
from entropie.request import Run, Source

ORDER = "order"
"""The column that numbers a pseudonym's rows, where the events had no column for their order."""


class Manifest(Part, frozen=True, tag_field="schema", tag="entropie.manifest/1"):
    """What was done to make a released file. It is for whoever answers for the release, not for who receives it.

    done          the steps in words
    columns       of the file written
    dropped       columns of the events that were not written
    judged        how the plan's events were judged
    largest       events of the pseudonym that has most
    key           the file that says who is behind each pseudonym; null: nobody can tell any more
    """

    steps: tuple[MitigationStep, ...]
    done: tuple[str, ...]
    source: str
    input_sha256: Sha256 | None
    input_events: Count
    input_people: Count
    input_items: Count
    output: str
    output_sha256: Sha256
    events: Count
    people: Count
    pseudonyms: Count
    items: Count
    largest: Count
    judged: Judging
    columns: tuple[str, ...]
    dropped: tuple[str, ...]
    key: str | None
    version: str
    date: datetime.datetime


def manifest_path(out: Path) -> Path:
    """Where the manifest of a released file is."""
    return out.with_name(out.name + ".manifest.json")


@interruptible
def apply(
    plan: ReleasePlan | TablePlan | str | os.PathLike[str],
    events: object,
    out: str | os.PathLike[str],
    *,
    source: str | None = None,
    keep_key: str | os.PathLike[str] | None = None,
    memory: int | str | None = None,
    engine: Literal["local", "spark"] = "local",
    master: str | None = None,
    spark: object = None,
    progress: Progress = silent,
) -> Manifest | TableManifest:
    """Write the safer file that a plan describes (.csv or .parquet), and OUT.manifest.json beside it.

    The plan is what `sweep` or `generalise` found, or the file it wrote; other data than theirs are refused. Events of
    a database are None here: the plan names it, and `source` its URL where that needs a password. With `keep_key` the
    person behind each pseudonym is written to a file of its own; without it nobody can tell any more. With `engine`
    spark, or a DataFrame of Spark, events stay on the cluster (its `master`, or a session) until they are written here.
    """
    from entropie.kinds import converted

    held = None if memory is None else converted("memory", "bytes", memory)
    over = "spark" if hasattr(events, "mapInArrow") else engine
    run = Run(memory=held, engine=over, master=master, spark=spark, progress=progress)
    target, key = Path(out), None if keep_key is None else Path(keep_key)
    read = Path(events) if isinstance(events, str | os.PathLike) else None
    found = None if isinstance(plan, ReleasePlan | TablePlan) else Path(plan)
    outputs = [target, key, manifest_path(target)]
    refuse_overwriting([read, found], outputs)
    for path in outputs:
        if path is not None:
            check_file(path)
    chosen = plan if isinstance(plan, ReleasePlan | TablePlan) else read_plan(plan)
    if run.engine == "spark" and key is not None:
        raise InvalidParameter(f"On Spark no key is kept; leave out {option('keep_key')}, or run on this machine.")
    if isinstance(chosen, TablePlan):
        if key is not None:
            raise InvalidParameter(f"A table is released without ids, there is no key; leave out {option('keep_key')}.")
        if run.engine == "spark":
            raise InvalidParameter(f"A table with one row per person is written here; leave out {option('engine')}.")
        refuse_overwriting([None if one.file is None else Path(one.file) for one in chosen.columns], outputs)
        return write_table(chosen, events, target, manifest_path(target), held, progress)
    refuse_overwriting([part.file for part in chosen.combination.parts], outputs)
    return _applied(chosen, chosen.data.reading(events, source), target, key, run)


def _applied(plan: ReleasePlan, source: Source, out: Path, key: Path | None, run: Run) -> Manifest:
    with contextlib.ExitStack() as stack:
        writer = stack.enter_context(TableWriter(out))
        key_writer = None if key is None else stack.enter_context(TableWriter(key))
        made = stack.enter_context(_made(plan, source, run, out.parent))
        if not made.count.events:
            raise InvalidInput("Nothing is left to release under this plan; sweep again for another.")
        columns = _columns(made.example, made.report, "cell" if source.cells is not None else None)
        for rows, share in made.rows:
            found = rows.columns(made.example.names)
            writer.write({name: found[role] for role, name in columns.items()})
            if key_writer is not None:
                people = made.ids.take(pa.array(made.owners[rows.people[rows.begins]]))
                key_writer.write({"pseudonym": hexadecimal(rows.pseudonyms[rows.begins]), "person": people})
            run.progress("writing", share)
    return _manifest(plan, made, columns, source, out, key)


def _made(plan: ReleasePlan, source: Source, run: Run, folder: Path) -> contextlib.AbstractContextManager[Made]:
    if run.engine == "spark":
        from entropie.release.on_spark import made_on_spark

        return made_on_spark(plan, source, run)
    return _made_here(plan, source, run, folder)


@contextlib.contextmanager
def _made_here(plan: ReleasePlan, source: Source, run: Run, folder: Path) -> Iterator[Made]:
    reading = replace(run, progress=under(run.progress, "reading"))
    with stored_events(source, plan.columns, reading, folder) as stored:
        plan.check(stored.report)
        run.progress("applying", 0.0)
        blocks, owners = _blocks(stored, plan)
        for part in plan.combination.parts:
            blocks = part.over(blocks)
        example = blocks.example
        with Release(example, folder, stored.room, SystemSource()) as release:
            seen = 0
            for draft in blocks:
                release.add(draft)
                seen += draft.material.traces.events
                run.progress("applying", seen / blocks.events)
            rows = release.rows(stored.most)
            yield Made(stored.report, example, release.count, rows, stored.user_ids, owners)


def _blocks(stored: StoredEvents, plan: ReleasePlan) -> tuple[Blocks, NDArray[np.int64]]:
    """The events as they are, and the code of the person with each number."""
    hashes, popular = np.empty(len(stored.user_ids), np.uint64), stored.popularity
    for block in stored.blocks():
        hashes[block.users] = content_hashes(block.traces, block.traces, popular, popular)
    owners = np.argsort(hashes, kind="stable")
    keys = np.empty_like(owners)
    keys[owners] = np.arange(owners.size)
    names, where = stored.item_ids.cast(pa.large_string()), plan.data.coordinates

    def drafts() -> Iterator[Draft]:
        for block in stored.blocks():
            people = user_of_each(block.traces)
            given = (block.columns, where, people, keys[block.users], keys.size, plan.seed)
            yield Material(block.traces, names, *given).draft()

    return Blocks(drafts, keys.size, stored.report.events), owners


def _manifest(
    plan: ReleasePlan, made: Made, columns: dict[str, str], source: Source, out: Path, key: Path | None
) -> Manifest:
    report = made.report
    manifest = Manifest(
        steps=plan.steps,
        done=tuple(part.action for part in plan.combination.parts),
        source=report.source,
        input_sha256=report.sha256,
        input_events=report.events,
        input_people=report.users,
        input_items=report.items,
        output=out.name,
        output_sha256=sha256_of(out),
        events=made.count.events,
        people=made.count.people,
        pseudonyms=made.count.pseudonyms,
        items=made.count.items,
        largest=made.count.largest,
        judged=plan.judged,
        columns=tuple(columns.values()),
        dropped=_dropped(report, columns, source),
        key=None if key is None else str(key),
        version=__version__,
        date=datetime.datetime.now(datetime.UTC).replace(microsecond=0),
    )
    write_file(manifest_path(out), json_text(manifest.to_json()))
    return manifest


def _columns(draft: Draft, report: IngestReport, made: str | None) -> dict[str, str]:
    """The name of every column written, by what it holds: as the events call it, or `made` for items of no column."""
    named = {choice.role: choice.column for choice in report.columns}
    columns = {"user": named["user"] or "user", "item": made or named["item"] or "item"}
    if draft.times is not None:
        columns["time"] = named["time"] or "time"
    elif draft.ordered:
        columns["order"] = named.get("time") or ORDER
    return columns


def _dropped(report: IngestReport, columns: dict[str, str], source: Source) -> tuple[str, ...]:
    made = ("item",) if source.cells is not None else ()
    roles = [choice.column for choice in report.columns if choice.column is not None and choice.role not in made]
    return tuple(name for name in (*roles, *report.unused) if name not in columns.values())
