"""A sweep as a result: risk and cost of every mitigation tried, which one to start with, and its files."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import Annotated

from msgspec import Meta, field
from msgspec.structs import force_setattr

from entropie.atomic import claimed, write_together
from entropie.document.base import Count, Input, Part, Provenance, Share, Size, json_text
from entropie.document.measured import ScoreBits, ShareInterval
from entropie.mitigate.mitigation import KINDS, Cost, Mitigation
from entropie.notebook import html_table
from entropie.spreadsheet import safe_cell
from entropie.words import interval, percent, plural

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


class SweepRow(Part, frozen=True):
    """What is left of the risk under one mitigation, and what it costs. Without a mitigation: the data as they are.

    setting                 how far: a number, a share, a size, a unit or the name of a column
    action                  what to do, in words
    items, events, people   in what is released: distinct items, events, people with at least one event
    identification_error    error rate of the best matcher over all people; the interval allows for its choice
    matchers                those tried here
    lift                    how many times more often than by chance a person is re-identified
    pie_bits                I(U;X) of one released event
    risk_reduction          share of people no longer re-identified; negative where more are
    usefulness              risk_reduction divided by cost; null where nothing is lost
    useful                  fewer people are re-identified than without it, and the two intervals do not meet
    note                    what should be known about this row
    """

    mitigation: Annotated[str | None, Meta(extra_json_schema={"enum": [*KINDS, None]})]
    setting: int | float | str | None
    action: str | None
    items: Count
    events: Count
    people: Count
    matcher: str
    matchers: Annotated[tuple[str, ...], Meta(min_length=1)]
    identification_error: ShareInterval
    lift: Size
    pse_bits: ScoreBits
    pie_bits: float
    cost: Cost | None
    risk_reduction: Annotated[float, Meta(ge=-1, le=1)]
    usefulness: float | None
    useful: bool
    note: str | None

    @property
    def name(self) -> str:
        """It in two or three words."""
        return "as is" if self.chosen is None else self.chosen.name

    @property
    def chosen(self) -> Mitigation | None:
        """The mitigation as Python has it."""
        return None if self.mitigation is None or self.setting is None else Mitigation(self.mitigation, self.setting)

    @property
    def risk(self) -> ShareInterval:
        """Share of people re-identified."""
        return self.identification_error.complement


class Sweep(Part, frozen=True, tag_field="schema", tag="entropie.sweep/1"):
    """Rows in the order in which to consider them: useful mitigations, the cheapest first, then the others.

    users          people attacked, the same in every row
    known_events   events the attacker knows: the first half of each person's
    as_it_is       the row without a mitigation
    cheapest       index of the cheapest useful mitigation; null where none is useful
    sentences      what to do first and how far mitigations go; before that, whether one made the attack stronger
    """

    input: Input
    users: Annotated[int, Meta(ge=2)]
    known_events: Count
    guessing_error: Share
    name_bits: float
    as_it_is: SweepRow
    rows: Annotated[tuple[SweepRow, ...], Meta(min_length=1)]
    first: Annotated[int | None, Meta(extra_json_schema={"enum": [0, None]})] = field(name="cheapest")
    sentences: tuple[str, ...]
    provenance: Provenance

    def __post_init__(self) -> None:
        warning = () if self.stronger is None else (_warning(self.stronger),)
        force_setattr(self, "first", None if self.cheapest is None else 0)
        force_setattr(self, "sentences", (*warning, _recommendation(self), *_limit(self)))

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
        before = self.as_it_is.identification_error
        rows = [row for row in self.rows if row.identification_error.high < before.low]
        return min(rows, key=lambda row: row.identification_error.value, default=None)

    def to_csv(self) -> str:
        """The rows for a spreadsheet, shares from 0 to 1; text that it would take for a formula gets a quote mark."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for row in (self.as_it_is, *self.rows):
            what = ("as is", "") if row.mitigation is None else (row.mitigation, row.setting)
            cost = ("", "") if row.cost is None else (row.cost.value, row.cost.of)
            cells = (*what, row.items, row.events, row.people, row.matcher, row.risk.value, row.risk.low, row.risk.high,
                     row.pse_bits.value, row.pie_bits, row.lift, *cost, row.risk_reduction, row.useful)  # fmt: skip
            writer.writerow([safe_cell(cell) for cell in cells])
        return text.getvalue()

    def write(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write sweep.json and sweep.csv into a folder, made where it is not there; return their paths."""
        with claimed(folder) as place:
            return self.write_into(place)

    def write_into(self, folder: Path) -> tuple[Path, ...]:
        """Write both files into a folder that this run has claimed."""
        return write_together(folder, dict(zip(FILES, (json_text(self.to_json()), self.to_csv()), strict=True)))

    def __repr__(self) -> str:
        before = f"  as is: {percent(self.as_it_is.risk.value)} re-identified"
        head = f"Sweep of {plural(len(self.rows), 'mitigation')} over {plural(self.users, 'person', 'people')}"
        return "\n".join([head, before, *(f"  {sentence}" for sentence in self.sentences)])

    def _repr_html_(self) -> str:
        headers = ("mitigation", "items", "events", "re-identified", "low", "high", "cost", "useful")
        rows = []
        for row in (self.as_it_is, *self.rows):
            cost = 0.0 if row.cost is None else row.cost.value
            ends = (row.risk.value, row.risk.low, row.risk.high)
            rows.append((row.name, row.items, row.events, *ends, cost, "yes" if row.useful else ""))
        return html_table(" ".join(self.sentences), headers, rows)


def _recommendation(sweep: Sweep) -> str:
    """The cheapest mitigation that helps, who is still re-identified and what it costs; or why there is none."""
    row, before = sweep.cheapest, sweep.as_it_is
    if row is None:
        if before.identification_error.high >= sweep.guessing_error and sweep.stronger is None:
            return (
                "An attacker who knows earlier behaviour does no better than chance as is. Whether one who knows a few "
                "events and their times does, `entropie assess` tells."
            )
        return (
            f"No mitigation tried lowers the risk beyond chance: {percent(before.risk.value)} of people are "
            f"re-identified as is (95 % CI {interval(before.risk)})."
        )
    most = "most people are still re-identified, " if row.risk.value > _MOST else ""
    still = "" if most else " of people are still re-identified"
    return (
        f"Smallest loss that helps: {row.action}; {most}{percent(row.risk.value)}{still} "
        f"(95 % CI {interval(row.risk)}) instead of {percent(before.risk.value)}, at the loss of {_cost(row)}."
    )


def _limit(sweep: Sweep) -> tuple[str, ...]:
    """How far mitigations go at all; nothing where none helps."""
    row, chance = sweep.lowest, f"by chance: {percent(1.0 / sweep.users)}"
    if row is None:
        return ()
    if row is sweep.cheapest:
        text = f"No other mitigation tried leaves a lower risk ({chance})."
    else:
        text = (
            f"Lowest risk: {row.action}; {percent(row.risk.value)} are still re-identified (95 % CI "
            f"{interval(row.risk)}; {chance}), at the loss of {_cost(row)}."
        )
    if row.risk.value > _MOST:
        text += " No mitigation tried is enough alone: combine several, or add noise."
    return (text,)


def _warning(row: SweepRow) -> str:
    """That a mitigation made the attack stronger, which says something about the data as they are."""
    return (
        f"The data as is are no safer than this: {row.action}, and {percent(row.risk.value)} of people are "
        "re-identified, more than before. An attacker can do the same to the finer data."
    )


def _cost(row: SweepRow) -> str:
    assert row.cost is not None
    return f"{percent(row.cost.value)} {_LOST[row.cost.of]}"
