"""One draft judged as `assess` would judge the file it becomes: the same attackers, the same gate.

The attacker of known events is run on what is released. Who knows earlier behaviour knows all of it, also events that
are not released, rounded as the release is; they attack the later half (or what follows a date) of what is released.
Where pseudonyms change, they attack each person's longest later piece. Attackers are run from the cheapest on: one
who decides alone that the limit is not met makes the others needless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import convert
from numpy.typing import NDArray

from entropie.attack.attacker import AttackerRow
from entropie.attack.attackers import attacker_rows, scoped
from entropie.attack.points import JUDGED_POINTS
from entropie.data.coarsen import keep_events, user_of_each
from entropie.data.event_columns import event_numbers
from entropie.data.filter import keep_active_users
from entropie.data.prepare import Prepared
from entropie.data.split import Split, aligned, first_events, halves_of, settled
from entropie.data.traces import Traces, cut_runs
from entropie.document import typed
from entropie.document.assessment import Attacker
from entropie.document.verdict import Measure, Verdict
from entropie.errors import InvalidInput
from entropie.findings import findings_of, release_of
from entropie.gate.groups import Group, groups_among, surely_above, worst
from entropie.gate.judge import Gate
from entropie.mitigate.draft import Draft
from entropie.progress import silent
from entropie.request import Request, SplitRule

_FEWEST = 2
"""People whom an attack needs."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What attackers achieve on a draft.

    verdict   the gate's; None where an attacker decided alone, or nobody can be attacked
    rows      those of the attackers that were run
    by_luck   whether a PASS is no longer one once it is allowed for that so many were looked at for it
    """

    verdict: Verdict | None
    rows: tuple[AttackerRow, ...]
    by_luck: bool = False

    @property
    def complete(self) -> bool:
        """Whether every attacker was run."""
        return self.verdict is not None


@dataclass(frozen=True, slots=True)
class Judge:
    """Who judges drafts of the same events.

    facts     what was read, as in assessment.json
    drawn     who is attacked, of all people read; None: everybody
    searched  how many drafts are looked at for one that passes: a PASS has to hold when that is allowed for
    """

    request: Request
    gate: Gate
    facts: dict[str, Any]
    drawn: NDArray[np.int64] | None
    searched: int

    def judged(self, draft: Draft, *, whole: bool = False) -> Judged:
        """Attack a draft until somebody decides; `whole` runs every attacker."""
        try:
            prepared = prepared_of(draft, self.request, self.facts, self.drawn)
        except InvalidInput:
            return Judged(None, ())
        if prepared.split.targets < _FEWEST or prepared.released.users < _FEWEST:
            return Judged(None, ())
        request = self._quiet(prepared)
        rows: list[AttackerRow] = []
        for row in attacker_rows(release_of(prepared), request):
            rows.append(row)
            if not whole and self._above(rows):
                return Judged(None, scoped(rows, request))
        document = typed(findings_of(prepared, request, rows=rows).to_json())
        verdict = self.gate.judge(document)
        assert verdict is not None
        allowed = self.gate.judge(document, searched=self.searched)
        by_luck = verdict.decision.startswith("PASS") and allowed is not None and allowed.decision == "INCONCLUSIVE"
        return Judged(verdict, scoped(rows, request), by_luck)

    def _quiet(self, prepared: Prepared) -> Request:
        attackers = replace(self.request.attackers, points=(JUDGED_POINTS,), control=False, known_events=())
        run = replace(self.request.run, progress=silent)
        return replace(self.request, split=prepared.rule, attackers=attackers, run=run)

    def _above(self, rows: list[AttackerRow]) -> bool:
        """Whether the last row in scope is surely above the limit; a projected number is not decided here."""
        profile, declared = self.gate.profile, self.gate.declared
        if profile is None or declared.judge_population:
            return False
        some = _in_scope(scoped(rows, self.request))
        return bool(some) and surely_above(some, self._measure, profile.limit, self.chance)

    @property
    def chance(self) -> float:
        """Probability of an attempt."""
        declared = self.gate.declared.attempt_probability
        return 1.0 if declared is None else declared

    @property
    def _measure(self) -> Measure:
        assert self.gate.profile is not None
        return self.gate.measure or self.gate.profile.measure

    def worst_of(self, rows: Sequence[AttackerRow]) -> Group:
        """Whose number says that the limit is not met."""
        assert self.gate.profile is not None
        return worst(groups_among(_in_scope(rows), self._measure), self.gate.profile.limit, self.chance)


def _in_scope(rows: Sequence[AttackerRow]) -> list[Attacker]:
    return [convert(row.to_json(), Attacker) for row in rows if row.in_scope]


def prepared_of(draft: Draft, request: Request, facts: dict[str, Any], drawn: NDArray[np.int64] | None) -> Prepared:
    """What is attacked of a draft."""
    material = draft.material
    codes, names = draft.coded()
    order = draft.in_order(codes, material.people) if draft.times is not None else np.arange(codes.size)
    times = None if draft.times is None else draft.times[order]
    known = Traces(material.traces.offsets, codes[order].astype(np.uint32), len(names), times)
    active = keep_active_users(known, request.people.min_events)
    places = order[event_numbers(known, active.users)]
    attacked = None if drawn is None else np.flatnonzero(np.isin(active.users, drawn))
    rule, split = _split(active.traces, draft.kept[places], draft.pieces[places], request.split)
    if draft.times is None and not draft.ordered:
        split = replace(split, target=_by_item(split.target))
    if attacked is not None:
        split = replace(split, attacked=np.flatnonzero(np.isin(split.users, attacked)))
    released, _, owners = draft.released()
    return Prepared(
        keep_events(active.traces, draft.kept[places]),
        split,
        names.take(pa.array(active.items)),
        {
            **facts,
            "users": released.users,
            "events": released.events,
            "dropped": {},
            "unused": [],
        },  # what is not read is not written
        rule,
        released,
        None if drawn is None else np.flatnonzero(np.isin(owners, drawn)),
    )


def _split(
    known: Traces, kept: NDArray[np.bool_], pieces: NDArray[np.int64], asked: SplitRule
) -> tuple[SplitRule, Split]:
    """What is known and what is attacked: all earlier events, and the longest later piece of what is released."""
    released = keep_events(known, kept)
    rule = settled(asked, released)
    train, target = halves_of(released, replace(rule, train_events=None, target_events=None))
    if not (rule.rule == "history" or rule.knowledge == "maximum"):
        first = np.diff(train.offsets)
        train = halves_of(known, rule)[0] if rule.rule == "date" else _before(known, kept, released, first)
        later = np.arange(released.events) - released.offsets[:-1][user_of_each(released)]
        in_target = later >= first[user_of_each(released)]
    else:
        in_target = np.ones(released.events, np.bool_)
    target = keep_events(released, in_target & _longest_piece(released, pieces[kept], in_target))
    if rule.target_events is not None:
        target = first_events(target, rule.target_events)
    if rule.knowledge == "maximum":
        train = target
    if rule.train_events is not None:
        train = first_events(train, rule.train_events)
    return rule, aligned(train, target)


def _before(known: Traces, kept: NDArray[np.bool_], released: Traces, first: NDArray[np.int64]) -> Traces:
    """All events of each person before the first that is attacked."""
    starts, ends = known.offsets[:-1], known.offsets[1:]
    places = np.append(np.flatnonzero(kept), known.events)
    begin = places[np.minimum(released.offsets[:-1] + first, places.size - 1)]
    has_target = first < np.diff(released.offsets)
    return cut_runs(known, starts, np.where(has_target, begin, ends) - starts)


def _by_item(traces: Traces) -> Traces:
    """The same events of everybody in an order that says nothing."""
    order = np.lexsort((traces.items, user_of_each(traces)))
    return Traces(traces.offsets, traces.items[order], traces.domain_size)


def _longest_piece(released: Traces, pieces: NDArray[np.int64], inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which events are of the piece with which their person has most events inside; the first of equals."""
    found, piece = np.unique(pieces, return_inverse=True)
    piece = piece.reshape(-1)
    people = user_of_each(released)
    events = np.bincount(piece, inside, found.size)
    order = np.lexsort((np.arange(piece.size), -events[piece], people))
    best = np.full(released.users, -1, np.int64)
    best[people[order[::-1]]] = piece[order[::-1]]
    return np.asarray(piece == best[people])
