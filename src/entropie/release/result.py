"""A sweep as a result: the cheapest combination that meets the limit, or that none does, and every row it rests on."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import force_setattr

from entropie.atomic import claimed, write_together
from entropie.document.base import Count, Input, Part, Provenance, Share, json_text
from entropie.document.measured import ShareInterval
from entropie.document.verdict import Decision, Measure, Profile
from entropie.mitigate.loss import LOST
from entropie.mitigate.mitigation import Combination
from entropie.notebook import html_table
from entropie.release.plan import FILE as PLAN
from entropie.release.plan import MitigationStep, ReleasePlan
from entropie.spreadsheet import safe_cell
from entropie.words import count, interval, listed, percent, plural, stated

FILES = ("sweep.json", "sweep.csv", PLAN, "report.html")
Outcome = Literal["met", "not met", "open"]
EXIT_CODES: dict[Outcome, int] = {"met": 0, "not met": 1, "open": 3}
_COLUMNS = (
    "combination", "cost", "decision", "risk", "risk_low", "risk_high", "at_least", "attacker", "whom", "reidentified",
    "reidentified_low", "reidentified_high", "items", "events", "people", "pseudonyms",
)  # fmt: skip


class SweepRow(Part, frozen=True):
    """What is left of the risk under one combination, and what it costs. Without a step: the data as they are.

    steps                 what is done, in this order
    action                the same in words
    cost                  what is lost, on the scale of the sweep
    decision              as `assess` decides on the same data; a PASS has to hold when the search is allowed for
    meets                 whether that is enough
    risk                  the number judged: of the people named by `whom`, by the attacker named
    at_least              whether an attacker decided alone, so that others who may re-identify more were not run
    reidentified          share of all people whom the strongest attacker that was run re-identifies
    items, events, people, pseudonyms   in what is released
    doubts                what keeps a number within the limit from being a PASS, and what narrows it
    note                  what should be known about this row
    """

    steps: tuple[MitigationStep, ...]
    name: str
    action: str
    cost: Share
    decision: Decision
    meets: bool
    risk: ShareInterval
    at_least: bool
    attacker: str | None
    knows: str | None
    whom: str
    reidentified: ShareInterval
    items: Count
    events: Count
    people: Count
    pseudonyms: Count
    doubts: tuple[str, ...]
    note: str | None

    @property
    def combination(self) -> Combination:
        """It as Python has it."""
        return Combination(tuple(step.chosen for step in self.steps))


class Sweep(Part, frozen=True, tag_field="schema", tag="entropie.sweep/2"):
    """Rows from the cheapest to the dearest, and which of them to take.

    outcome      met: `chosen` meets the limit; not met: none does; open: the data or the budget leave it open
    scale        what costs are measured by
    combinations how many there were to choose from; `implied` were not tried because one that goes further failed,
                 `left` because the budget was used up (both: cheaper than the chosen one)
    as_it_is     the row without a mitigation
    chosen       the place of the cheapest that meets the limit among the rows; null where none does
    frontier     places of the rows that no other beats in both risk and cost
    sentences    what to do, what it rests on, and what was not tried
    plan         what `entropie apply` does to write it; null where none is chosen
    """

    input: Input
    profile: Profile
    measure: Measure
    scale: Annotated[str, Meta(extra_json_schema={"enum": list(LOST)})]
    outcome: Outcome
    combinations: Count
    implied: Count
    left: Count
    as_it_is: SweepRow
    rows: tuple[SweepRow, ...]
    chosen: Count | None
    frontier: tuple[Count, ...]
    sentences: tuple[str, ...]
    plan: ReleasePlan | None
    provenance: Provenance

    def __post_init__(self) -> None:
        force_setattr(self, "frontier", _frontier(self.rows))
        force_setattr(self, "sentences", (_answer(self), *_behind(self)))

    @property
    def cheapest(self) -> SweepRow | None:
        """The cheapest combination that meets the limit; None where none does."""
        return None if self.chosen is None else self.rows[self.chosen]

    @property
    def limited(self) -> SweepRow | None:
        """The cheapest tried whose PASS is a limited one that was not accepted; None where one is chosen."""
        among = (self.as_it_is, *self.rows) if self.chosen is None else ()
        return next((row for row in among if row.decision == "PASS (limited)"), None)

    @property
    def exit_code(self) -> int:
        """0 a combination meets the limit, 1 none does, 3 it is left open."""
        return EXIT_CODES[self.outcome]

    def write(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write sweep.json, sweep.csv, report.html and, where a combination is chosen, plan.json into a folder, made
        where it is not there; returns their paths.
        """
        with claimed(folder) as place:
            return self.write_into(place)

    def write_into(self, folder: Path) -> tuple[Path, ...]:
        """Write the files into a folder that this run has claimed; an old plan goes where there is none."""
        from entropie.page import render_sweep

        plan = None if self.plan is None else json_text(self.plan.to_json())
        document = self.to_json()
        texts = (json_text(document), self.to_csv(), plan, render_sweep(document))
        return write_together(folder, dict(zip(FILES, texts, strict=True)))

    def to_csv(self) -> str:
        """The rows for a spreadsheet, shares from 0 to 1; text that it would take for a formula gets a quote mark."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for row in (self.as_it_is, *self.rows):
            ends = (row.risk.value, row.risk.low, row.risk.high, row.at_least, row.attacker or "", row.whom)
            share = (row.reidentified.value, row.reidentified.low, row.reidentified.high)
            cells = (row.name, row.cost, row.decision, *ends, *share, row.items, row.events, row.people, row.pseudonyms)
            writer.writerow([safe_cell(cell) for cell in cells])
        return text.getvalue()

    def __repr__(self) -> str:
        head = f"Sweep of {plural(len(self.rows), 'combination')} of {count(self.combinations)}"
        return "\n".join([head, *(f"  {sentence}" for sentence in self.sentences)])

    def _repr_html_(self) -> str:
        headers = ("combination", "decision", "risk", "low", "high", "re-identified", "cost")
        rows = [
            (row.name, row.decision, row.risk.value, row.risk.low, row.risk.high, row.reidentified.value, row.cost)
            for row in (self.as_it_is, *self.rows)
        ]
        return html_table(" ".join(self.sentences), headers, rows)


def lost(sweep: Sweep, row: SweepRow) -> str:
    """What a row costs, in words."""
    return f"{percent(row.cost)} {LOST[sweep.scale]}"


def told_risk(row: SweepRow, limit: float | None = None) -> str:
    """The number judged, and that it is a lower bound where it is."""
    return f"{'at least ' if row.at_least else ''}{percent(row.risk.value, beside=limit)}"


def _frontier(rows: tuple[SweepRow, ...]) -> tuple[int, ...]:
    """Rows, from the cheapest on, that have a lower risk than every cheaper one."""
    found, lowest = [], 2.0
    for place, row in enumerate(rows):
        if row.risk.value < lowest and row.events:
            found.append(place)
            lowest = row.risk.value
    return tuple(found)


def _limit(sweep: Sweep) -> str:
    return f"the limit of {stated(sweep.profile.limit)} ({sweep.profile.title})"


def _answer(sweep: Sweep) -> str:
    """The first line: the cheapest combination that meets the limit, or that none does."""
    row = sweep.cheapest
    if row is not None and not row.steps:
        return f"The data as they are meet {_limit(sweep)}: {_found(sweep, row)}."
    if row is not None:
        first = f"Cheapest combination that meets {_limit(sweep)}: {row.action}."
        return f"{first} {_found(sweep, row)}, at a cost of {lost(sweep, row)}."
    if sweep.outcome == "not met":
        tried = plural(sweep.combinations, "combination")
        return f"None of {tried} meets {_limit(sweep)}. {_closest(sweep)}"
    row = sweep.limited
    if row is not None:
        found = f"{_found(sweep, row)}, at a cost of {lost(sweep, row)}. {' '.join(row.doubts)}"
        return f"Open: {_limit(sweep)} is met in a limited way (--accept-limited): {row.action}. {found}"
    why = "the budget was used up" if sweep.left else "the data cannot tell"
    return f"Open: no combination was found that meets {_limit(sweep)}, and {why}. {_closest(sweep)}"


def _found(sweep: Sweep, row: SweepRow) -> str:
    ends = interval(row.risk, beside=sweep.profile.limit)
    risk = percent(row.risk.value, beside=sweep.profile.limit)
    return f"{risk} of {row.whom} are still re-identified (95 % CI {ends})"


def _closest(sweep: Sweep) -> str:
    """How far mitigations go."""
    rows = [row for row in sweep.rows if row.events and row.attacker is not None]
    if not rows:
        return "Nothing is left to attack in what was tried."
    row = min(rows, key=lambda row: (float(f"{row.risk.high:.2g}"), row.cost))  # alike in print: the cheaper one
    doubt = f" {row.doubts[0]}" if row.doubts and row.risk.high <= sweep.profile.limit else ""
    return f"Lowest risk: {row.action}; {told_risk(row)} of {row.whom} (95 % CI {interval(row.risk)}).{doubt}"


def _behind(sweep: Sweep) -> tuple[str, ...]:
    """What the answer rests on."""
    before, row = sweep.as_it_is, sweep.cheapest
    sentences = [f"As is: {told_risk(before)} of {before.whom} (95 % CI {interval(before.risk)})."]
    if row is not None and row.note:
        sentences.append(row.note)
    if row is not None and row.doubts:
        sentences.append(f"It rests on: {' '.join(row.doubts)}")
    untried = []
    if sweep.implied:
        untried.append(f"{count(sweep.implied)} because one that goes further does not meet the limit")
    if sweep.left:
        untried.append(f"{count(sweep.left)} because the budget was used up")
    if untried:
        cheaper = "Cheaper combinations not tried" if row is not None else "Not tried"
        sentences.append(f"{cheaper}: {listed(untried)}.")
    return tuple(sentences)
