"""Reports of a mechanism, and what their attacker holds: the people's own items, from another file.

A release of reports holds no items, so what people do must be known from elsewhere (`--known`). Items are those of the
mechanism's domain: by name where there is a dictionary, else by code.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import structs
from numpy.typing import NDArray

from entropie.contents import read_bytes
from entropie.data.arrow import values_of
from entropie.data.columns import Dictionary
from entropie.data.events import Events
from entropie.data.fitting import Sent, doubts
from entropie.data.known import ids_of, paired, people_notes, read_other
from entropie.data.pairs import Ids, places_of
from entropie.data.reports import LinkedReports, read_linked_reports
from entropie.data.traces import Traces
from entropie.document.base import KnownFacts
from entropie.errors import InvalidInput, option
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.parameters import from_document
from entropie.request import Request, Run

BESIDE = ".parameters.json"
"""What `entropie obfuscate` adds to the name of the reports for their parameters."""


@dataclass(frozen=True, slots=True, eq=False)
class Reported:
    """Known people's items, and reports: the first `pairs` known people are the senders of `linked.take(senders)`.

    fits   whether the reports show that they are of the mechanism, so that nobody but their receiver knows them
    """

    mechanism: Mechanism
    known: Traces
    linked: LinkedReports
    senders: NDArray[np.int64]
    facts: KnownFacts
    fits: bool = True

    @property
    def pairs(self) -> int:
        """People in both files."""
        return self.senders.size

    def sent(self, order: NDArray[np.int64] | None = None) -> tuple[NDArray[np.int64], Any]:
        """Offsets by known person, and the reports; `order` exchanges senders. Who is only known sent nothing."""
        offsets, columns = self.linked.take(self.senders if order is None else self.senders[order])
        silent = np.full(self.known.users - self.pairs, offsets[-1])
        return np.concatenate((offsets, silent)), self.mechanism.reports_of(columns)


def parameters_beside(request: Request) -> Path | None:
    """The parameter document that was named, or that lies beside the reports."""
    if request.attackers.parameters is not None:
        return request.attackers.parameters
    events = request.source.events
    if not isinstance(events, str | os.PathLike):
        return None
    beside = Path(events).with_name(Path(events).name + BESIDE)
    return beside if beside.is_file() else None


def read_reported(request: Request, release: Events, run: Run) -> Reported | None:
    """Read reports with their parameters, where the release is one of reports and what people do is known."""
    if not release.report.obfuscated or request.attackers.known is None:
        return None
    path = parameters_beside(request)
    if path is None:
        raise InvalidInput(
            f"{release.report.source} holds reports of a mechanism, and its parameter document is not beside it; name "
            f"it with {option('parameters')}."
        )
    name = f"Parameter document {path}"
    mechanism = from_document(read_bytes(path, name), name)
    person = next(choice.column for choice in release.report.columns if choice.role == "user")
    assert person is not None
    linked = read_linked_reports(request.source.events, mechanism, person, run.progress)
    known, sent = read_other(request, run), Ids(linked.user_ids, release.report.source)
    rows = paired(request, ids_of(known), sent, run)
    held, items = _in_domain(known, mechanism, request)
    held = held.take(np.concatenate((rows[0], np.setdiff1d(np.arange(held.users), rows[0]))))
    facts = KnownFacts(
        source=known.report.source,
        sha256=known.report.sha256,
        people=held.users,
        events=held.events,
        in_both=rows[0].size,
        only_known=held.users - rows[0].size,
        only_release=len(linked.user_ids) - rows[0].size,
        items_in_both=items,
        items_only_known=len(known.item_ids) - items,
        items_only_release=mechanism.domain_size - items,
        same_events_share=None,
        shift_seconds=0,
    )
    theirs, timed = held.take(np.arange(rows[0].size)), release.traces.times is not None
    doubted = doubts(Sent(mechanism, linked, rows[1], theirs, timed))
    facts = structs.replace(facts, notes=[*doubted, *people_notes(facts, ids_of(known), sent)])
    return Reported(mechanism, held, linked, rows[1], facts, not doubted)


def _in_domain(known: Events, mechanism: Mechanism, request: Request) -> tuple[Traces, int]:
    """Known events as codes of the mechanism's domain, and how many items have one; other events are left out."""
    codes = _codes(known, mechanism, request.attackers.dictionary, request.run.memory)
    there = (codes >= 0)[known.traces.items]
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(there)))
    items = codes[known.traces.items[there]].astype(np.uint32)
    return Traces(before[known.traces.offsets].astype(np.int64), items, mechanism.domain_size), int((codes >= 0).sum())


def _codes(known: Events, mechanism: Mechanism, path: Path | None, memory: int | None) -> NDArray[np.int64]:
    """The code of every known item, -1 where the mechanism does not know it."""
    if path is not None:
        names = Dictionary.load(path, memory)
        if len(names) != mechanism.domain_size:
            raise InvalidInput(
                f"The dictionary has {len(names)} items, the parameters are for {mechanism.domain_size}; they must "
                "agree."
            )
        return places_of(known.item_ids, names.names)
    if not pa.types.is_integer(known.item_ids.type):
        raise InvalidInput(
            f"The items of {known.report.source} are names, the reports are of codes; name the file that `obfuscate` "
            f"made of them with {option('dictionary')}."
        )
    codes = np.asarray(values_of(known.item_ids), np.int64)
    return np.where((codes >= 0) & (codes < mechanism.domain_size), codes, -1)
