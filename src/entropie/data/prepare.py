"""From a table to what is attacked: events read, people chosen, traces split, and an account of all of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from entropie.data.events import Events, IngestReport, read_events
from entropie.data.filter import drawn_users, keep_active_users, no_history
from entropie.data.known import KnownFile, read_known
from entropie.data.reported import Reported, read_reported
from entropie.data.split import Split, settled, split_traces
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, option
from entropie.progress import under
from entropie.request import Limits, People, Request, SplitRule

_LISTED = 30


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything an assessment starts from.

    traces        the people who stay, all their events
    split         what the attacker learns from and what is attacked
    item_ids      the id behind each item code of the traces
    input_facts   what was read and excluded, as in assessment.json
    rule          how traces were split, with what the data decided
    released      whole traces of everybody, those with few events too
    attacked      who of them is attacked; None: all
    categories    category of each item of the traces; None where none was named
    known         the attacker's other file beside the release, or beside reports; None where none was named
    """

    traces: Traces
    split: Split
    item_ids: pa.Array
    input_facts: dict[str, Any]
    rule: SplitRule
    released: Traces
    attacked: NDArray[np.int64] | None = None
    categories: NDArray[np.int64] | None = None
    known: KnownFile | Reported | None = None


def prepare(request: Request) -> Prepared:
    """Read, filter, split, and draw whom to attack, as the request says."""
    run = replace(request.run, progress=under(request.run.progress, "reading"))
    read = read_events(request.source, run)
    known = read_known(request, read, run) or read_reported(request, read, run)
    chosen, facts = selected(read, request.people)
    if known is not None:
        facts["known"] = known.facts.to_json()
    check_items(chosen.traces.domain_size, chosen.report, request.verdict)
    if request.source.name is not None:
        facts["source"] = request.source.name
    rule = settled(request.split, chosen.traces)
    if chosen.traces.events <= chosen.traces.users and rule.knowledge == "partial" and rule.rule != "history":
        raise no_history(1)
    split = split_traces(chosen.traces, rule, drawn_users(chosen.user_ids, request.attackers))
    categories = None if chosen.categories is None else chosen.categories.of_item
    attacked = drawn_users(read.user_ids, request.attackers)
    return Prepared(chosen.traces, split, chosen.item_ids, facts, rule, read.traces, attacked, categories, known)


def selected(read: Events, people: People) -> tuple[Events, dict[str, Any]]:
    """The people assessed, and the account of what was read and excluded."""
    selection = keep_active_users(read.traces, people.min_events)
    facts = {
        **read.report.as_dict(),
        **({} if read.categories is None else {"categories": read.categories.to_json()}),
        "min_events": people.min_events,
        "dropped_users": selection.dropped_users,
        "dropped_events": selection.dropped_events,
    }
    return read.select(selection), facts


def check_items(items: int, read: IngestReport, limits: Limits) -> None:
    """Refuse to judge people who all have the same item: nothing tells them apart, and a wrong column would pass."""
    if items != 1 or (limits.profile is None and limits.limit is None):
        return
    column = next(choice.column for choice in read.columns if choice.role == "item")
    others = ", ".join(read.unused[:_LISTED]) + (", ..." if len(read.unused) > _LISTED else "")
    remedy = f"name another with {option('item')} (there are: {others})" if others else "there is no other column"
    raise InvalidInput(
        f"The item column `{column}` of {read.source} has one value among the people assessed, so nothing can be "
        f"matched and no limit be judged; {remedy}."
    )
