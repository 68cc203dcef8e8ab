"""A sweep as a result: risk and cost of every mitigation tried, which one to start with, and its files."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropie.atomic import claimed, write_together
from entropie.attack.matchers import MATCHERS
from entropie.measures.divergence import Divergence
from entropie.measures.identification import guessing_error
from entropie.measures.intervals import Interval
from entropie.mitigate.mitigation import Cost, Mitigation
from entropie.notebook import html_table
from entropie.spreadsheet import safe_cell
from entropie.words import interval, percent, plural

__all__ = ["FILES", "SCHEMA", "Sweep", "SweepRow"]

SCHEMA = "entropie.sweep/1"
FILES = ("sweep.json", "sweep.csv")
_MOST = 0.5
_LOST = {
    "item information": "of the item information",
    "order": "of the order of events",
    "events": "of the released events",
}
_COLUMNS = (
    "mitigation", "setting", "items", "events", "people", "matcher", "reidentified", "reidentified_low",
    "reidentified_high", "pse_bits", "pie_bits", "lift", "cost", "cost_of", "risk_reduction", "useful",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SweepRow:
    """What is left of the risk under one mitigation, and what it costs. Without a mitigation: the data as they are.

    items, events, people   in what is released: distinct items, events, people with at least one event
    error                   error rate of the best matcher over all people; the interval allows for its choice
    pie_bits                I(U;X) of one released event
    matchers                those tried here; `all_matchers` where none was excluded
    useful                  fewer people are re-identified than without it, and the two intervals do not meet
    """

    mitigation: Mitigation | None
    items: int
    events: int
    people: int
    matcher: str
    matchers: tuple[str, ...]
    error: Interval
    guessing_error: float
    pse: Divergence
    pie_bits: float
    lift: float
    cost: Cost | None
    risk_reduction: float
    useful: bool
    note: str | None = None

    @property
    def name(self) -> str:
        """It in two or three words."""
        return "as is" if self.mitigation is None else self.mitigation.name

    @property
    def risk(self) -> Interval:
        """Share of people re-identified."""
        return self.error.complement

    @property
    def usefulness(self) -> float | None:
        """Share of people no longer re-identified for each share lost; None where nothing is lost."""
        return None if self.cost is None or self.cost.share == 0.0 else self.risk_reduction / self.cost.share

    @property
    def all_matchers(self) -> bool:
        """Tell whether every matcher there is was tried."""
        return set(self.matchers) == set(MATCHERS)

    def to_json(self) -> dict[str, Any]:
        """The documented object of one row."""
        chosen = self.mitigation
        return {
            "mitigation": None if chosen is None else chosen.kind,
            "setting": None if chosen is None else chosen.setting,
            "action": None if chosen is None else chosen.action,
            "items": self.items,
            "events": self.events,
            "people": self.people,
            "matcher": self.matcher,
            "matchers": list(self.matchers),
            "identification_error": self.error.to_json(),
            "lift": self.lift,
            "pse_bits": self.pse.to_json(),
            "pie_bits": self.pie_bits,
            "cost": None if self.cost is None else {"value": self.cost.share, "of": self.cost.measure},
            "risk_reduction": self.risk_reduction,
            "usefulness": self.usefulness,
            "useful": self.useful,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Sweep:
    """Rows in the order in which to consider them: useful mitigations, the cheapest first, then the others.

    users      people attacked, the same in every row
    as_it_is   the row without a mitigation
    """

    input: dict[str, Any]
    users: int
    known_events: int
    as_it_is: SweepRow
    rows: tuple[SweepRow, ...]
    provenance: dict[str, Any]

    @property
    def cheapest(self) -> SweepRow | None:
        """The cheapest useful mitigation; None where none is useful."""
        return self.rows[0] if self.rows and self.rows[0].useful else None

    @property
    def lowest(self) -> SweepRow | None:
        """The useful mitigation that leaves the smallest risk; the cheaper one between equals."""
        useful = [row for row in self.rows if row.useful]
        return max(useful, key=lambda row: row.risk_reduction, default=None)

    @property
    def stronger(self) -> SweepRow | None:
        """Where the attack is stronger than on the data as they are, beyond the intervals: the worst such row."""
        rows = [row for row in self.rows if row.error.high < self.as_it_is.error.low]
        return min(rows, key=lambda row: row.error.value, default=None)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What to do first and how far mitigations go; before that, whether one made the attack stronger."""
        warning = () if self.stronger is None else (_warning(self.stronger),)
        return *warning, _recommendation(self), *_limit(self)

    def to_json(self) -> dict[str, Any]:
        """The document `sweep.json`: plain values, None instead of NaN."""
        return {
            "schema": SCHEMA,
            "input": self.input,
            "users": self.users,
            "known_events": self.known_events,
            "guessing_error": guessing_error(self.users),
            "name_bits": math.log2(self.users),
            "as_it_is": self.as_it_is.to_json(),
            "rows": [row.to_json() for row in self.rows],
            "cheapest": None if self.cheapest is None else 0,
            "sentences": list(self.sentences),
            "provenance": self.provenance,
        }

    def to_csv(self) -> str:
        """The rows for a spreadsheet, shares from 0 to 1; text that it would take for a formula gets a quote mark."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for row in (self.as_it_is, *self.rows):
            what = ("as is", "") if row.mitigation is None else (row.mitigation.kind, row.mitigation.setting)
            cost = ("", "") if row.cost is None else (row.cost.share, row.cost.measure)
            cells = (*what, row.items, row.events, row.people, row.matcher, row.risk.value, row.risk.low, row.risk.high,
                     row.pse.value_bits, row.pie_bits, row.lift, *cost, row.risk_reduction, row.useful)  # fmt: skip
            writer.writerow([safe_cell(cell) for cell in cells])
        return text.getvalue()

    def write(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write sweep.json and sweep.csv into a folder, made where it is not there; return their paths."""
        with claimed(folder) as place:
            return self.write_into(place)

    def write_into(self, folder: Path) -> tuple[Path, ...]:
        """Write both files into a folder that this run has claimed."""
        texts = (json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n", self.to_csv())
        return write_together(folder, dict(zip(FILES, texts, strict=True)))

    def __repr__(self) -> str:
        before = f"  as is: {percent(self.as_it_is.risk.value)} re-identified"
        head = f"Sweep of {plural(len(self.rows), 'mitigation')} over {plural(self.users, 'person', 'people')}"
        return "\n".join([head, before, *(f"  {sentence}" for sentence in self.sentences)])

    def _repr_html_(self) -> str:
        headers = ("mitigation", "items", "events", "re-identified", "low", "high", "cost", "useful")
        rows = []
        for row in (self.as_it_is, *self.rows):
            cost = 0.0 if row.cost is None else row.cost.share
            ends = (row.risk.value, row.risk.low, row.risk.high)
            rows.append((row.name, row.items, row.events, *ends, cost, "yes" if row.useful else ""))
        return html_table(" ".join(self.sentences), headers, rows)


def _recommendation(sweep: Sweep) -> str:
    """The cheapest mitigation that helps, who is still re-identified and what it costs; or why there is none."""
    row, before = sweep.cheapest, sweep.as_it_is
    if row is None:
        if before.error.high >= before.guessing_error and sweep.stronger is None:
            return "No mitigation is needed against this attack: as is, it does no better than chance."
        return (
            f"No mitigation tried lowers the risk beyond chance: {percent(before.risk.value)} of people are "
            f"re-identified as is (95 % CI {interval(before.risk)})."
        )
    assert row.mitigation is not None
    most = "most people are still re-identified, " if row.risk.value > _MOST else ""
    still = "" if most else " of people are still re-identified"
    return (
        f"Cheapest mitigation that helps: {row.mitigation.action}; {most}{percent(row.risk.value)}{still} "
        f"(95 % CI {interval(row.risk)}) instead of {percent(before.risk.value)}, for {_cost(row)}."
    )


def _limit(sweep: Sweep) -> tuple[str, ...]:
    """How far mitigations go at all; nothing where none helps."""
    row, chance = sweep.lowest, f"by chance: {percent(1.0 / sweep.users)}"
    if row is None:
        return ()
    assert row.mitigation is not None
    if row is sweep.cheapest:
        text = f"No other mitigation tried leaves a lower risk ({chance})."
    else:
        text = (
            f"Lowest risk: {row.mitigation.action}; {percent(row.risk.value)} are still re-identified (95 % CI "
            f"{interval(row.risk)}; {chance}), for {_cost(row)}."
        )
    if row.risk.value > _MOST:
        text += " No mitigation tried is enough alone: combine several, or add noise."
    return (text,)


def _warning(row: SweepRow) -> str:
    """That a mitigation made the attack stronger, which says something about the data as they are."""
    assert row.mitigation is not None
    return (
        f"The data as is are no safer than this: {row.mitigation.action}, and {percent(row.risk.value)} of people are "
        "re-identified, more than before. An attacker can do the same to the finer data."
    )


def _cost(row: SweepRow) -> str:
    assert row.cost is not None
    return f"{percent(row.cost.share)} {_LOST[row.cost.measure]}"
