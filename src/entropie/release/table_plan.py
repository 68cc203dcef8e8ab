"""What to do to a table with one row per person before it is released, and what a search for it found."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from entropie.atomic import claimed, write_together
from entropie.document.base import AtLeastOne, Count, Part, Sha256, Share, json_text
from entropie.mitigate.attribute_risk import Made, TableInput
from entropie.mitigate.ladders import ColumnLevel
from entropie.mitigate.lattice import Limit, Node
from entropie.words import count, digits, listed, percent, plural

TAG = "entropie.table-release/1"
FILES = ("generalisation.json", "plan.json")
CostScale = Literal["information", "loss", "discernibility"]


class TableLimit(Part, frozen=True):
    """What the released table must meet.

    smallest_group   k: everybody shares their values with at least so many, themselves counted
    average_risk     groups divided by people, at most
    left_out         people who may be left out, at most
    different        l: every group has at least so many values of the sensitive column
    distance         t: they are at most so far from those of everybody, as `attributes` measures it
    """

    smallest_group: AtLeastOne
    average_risk: Annotated[float, Meta(gt=0, le=1)]
    left_out: Count
    different: AtLeastOne = 1
    distance: Annotated[float, Meta(gt=0, le=1)] = 1.0

    @property
    def limit(self) -> Limit:
        """The same as the search has it."""
        return Limit(self.smallest_group, self.average_risk, self.left_out, self.different, self.distance)

    @property
    def told(self) -> str:
        """In words."""
        parts = []
        if self.smallest_group > 1:
            parts.append(f"groups of at least {count(self.smallest_group)} people")
        if self.average_risk < 1.0:
            parts.append(f"an average risk of at most {percent(self.average_risk)}")
        if self.different > 1:
            parts.append(f"at least {count(self.different)} sensitive values in every group")
        if self.distance < 1.0:
            parts.append(f"sensitive values at most {digits(self.distance, 2)} from those of everybody")
        return listed(parts)


class TableState(Part, frozen=True):
    """A table as an attacker who knows all of its generalised columns sees it; risks are those of `attributes`."""

    people: Count
    groups: Count
    smallest_group: Count
    average_risk: Share
    highest_risk: Share

    @classmethod
    def of(cls, people: int, node: Node) -> TableState:
        """From the groups of so many people."""
        return cls(people, node.groups, node.smallest, node.groups / people, 1.0 / node.smallest)


class KeptColumn(Part, frozen=True):
    """A column that is released as it is, and how many people have a value in it that nobody else has."""

    column: str
    alone: Count


class TablePlan(Part, frozen=True, tag_field="schema", tag=TAG):
    """What to release of which table, and what is expected of it.

    columns    what is released of each column that an attacker may know
    keep       other columns that are released as they are
    sha256     of the table; null for one in memory, which is told by its people
    sensitive  one of these that nobody is to learn of others; null: the limit asks for no such thing
    """

    columns: Annotated[tuple[ColumnLevel, ...], Meta(min_length=1)]
    keep: tuple[str, ...]
    id_column: str | None
    sha256: Sha256 | None
    people: Count
    limit: TableLimit
    scale: CostScale
    expected: TableState
    version: str
    sensitive: str | None = None


class Generalisation(Part, frozen=True, tag_field="schema", tag="entropie.generalisation/1"):
    """The cheapest generalisation of a table that meets a limit, or that there is none.

    cost      share lost on the scale chosen
    kept      other columns, released as they are: whoever knows somebody's value may find them by it
    nodes     combinations of levels; the best of all of them was found by counting some
    """

    input: TableInput
    limit: TableLimit
    scale: CostScale
    outcome: Literal["met", "none"]
    as_it_is: TableState
    after: TableState | None
    left_out: Count
    cost: Share | None
    columns: tuple[ColumnLevel, ...]
    kept: tuple[KeptColumn, ...]
    nodes: Count
    counted: Count
    sentences: tuple[str, ...]
    plan: TablePlan | None
    provenance: Made

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "sentences", self._told())

    @property
    def exit_code(self) -> int:
        """0 where the limit can be met, else 1."""
        return 0 if self.outcome == "met" else 1

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"Generalisation of {plural(self.as_it_is.people, 'person', 'people')}",
                *(f"  {s}" for s in self.sentences),
            ]
        )

    def _told(self) -> tuple[str, ...]:
        before, after = self.as_it_is, self.after
        if after is None or self.cost is None:
            return (f"Nothing meets the limit ({self.limit.told}), not even with every column dropped.",)
        changed = [f"{one.column} ({one.told})" for one in self.columns if one.method not in ("as is", "drop")]
        dropped = [one.column for one in self.columns if one.method == "drop"]
        whole = [one.column for one in self.columns if one.method == "as is"]
        done = [
            *([f"release {listed(changed)}"] if changed else []),
            *([f"drop {listed(dropped)}"] if dropped else []),
            *([f"leave out {plural(self.left_out, 'person', 'people')}"] if self.left_out else []),
            *([f"leave {listed(whole)} as {'it is' if len(whole) == 1 else 'they are'}"] if whole else []),
        ]
        first = f"Cheapest way to reach {self.limit.told}: {'; '.join(done)}."
        smallest = plural(after.smallest_group, "person", "people")
        second = (
            f"{percent(after.average_risk, beside=before.average_risk)} of people are re-identified on average instead "
            f"of {percent(before.average_risk)}; the smallest group has {smallest} "
            f"instead of {count(before.smallest_group)}. Cost: {percent(self.cost)} ({self.scale})."
        )
        people = self.as_it_is.people
        telling = [
            f"`{one.column}` is released as it is, and {plural(one.alone, 'person has', 'people have')} a value of "
            f"their own in it ({percent(one.alone / people)}): whoever knows it re-identifies them."
            for one in self.kept
            if one.alone
        ]
        return first, second, *telling

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write generalisation.json and plan.json into a folder; return the path of the first."""
        with claimed(folder) as place:
            return self.write_into(place)

    def write_into(self, folder: Path) -> Path:
        """Write the files into a folder that this run has claimed; a plan of an earlier run does not stay."""
        plan = None if self.plan is None else json_text(self.plan.to_json())
        return write_together(folder, {FILES[0]: json_text(self.to_json()), FILES[1]: plan})[0]
