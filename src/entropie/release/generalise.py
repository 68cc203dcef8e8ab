"""The cheapest generalisation under which a table with one row per person meets a limit.

result = entropie.generalise("people.csv", columns=["age", "sex", "postcode"], k=10, suppress=0.01)
result.sentences
result.write("out")
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from entropie._version import __version__
from entropie.errors import InvalidParameter, interruptible, option
from entropie.gate.profiles import profile_named
from entropie.mitigate.attribute_risk import Made, TableInput
from entropie.mitigate.attribute_table import BinRule, rule_from
from entropie.mitigate.ladders import PeopleTable, alone_in, levels_of, read_people
from entropie.mitigate.lattice import SCALES, Lattice, Node, cheapest
from entropie.progress import Progress, silent
from entropie.release.table_plan import CostScale, Generalisation, KeptColumn, TableLimit, TablePlan, TableState
from entropie.theory import checks

MOST_NODES = 6_000_000


@dataclass(frozen=True, slots=True)
class TableOptions:
    """What is released of a table at most, what may be done to it, and at what cost.

    columns       that an attacker may know
    keep          other columns to release as they are
    hierarchies   files of groups by column; bins: bands to begin with; prefixes: columns to cut characters from
    """

    columns: tuple[str, ...]
    id_column: str | None = None
    keep: tuple[str, ...] = ()
    hierarchies: Mapping[str, Path] = field(default_factory=dict)
    bins: Mapping[str, BinRule] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ()
    cost: CostScale = "information"

    def __post_init__(self) -> None:
        if self.cost not in SCALES:
            raise InvalidParameter.of("cost", f"one of {', '.join(SCALES)}", self.cost)
        for what, names in (("hierarchy", self.hierarchies), ("prefix", self.prefixes)):
            for name in names:
                if name not in self.columns:
                    raise InvalidParameter(
                        f"{option(what)} names column `{name}`, which is not among {option('columns')}."
                    )


@dataclass(frozen=True, slots=True)
class Wanted:
    """A limit as it is asked for: by the name of a published one, k, a highest risk, an average risk; and a share of
    people who may be left out.
    """

    profile: str | None = None
    k: int | None = None
    highest: float | None = None
    average: float | None = None
    suppress: float = 0.0

    def limit(self, people: int) -> TableLimit:
        """The limit for so many people."""
        if (self.profile, self.k, self.highest, self.average) == (None, None, None, None):
            raise InvalidParameter(
                f"A limit is needed: name it with {option('profile')}, {option('k')}, {option('highest')} or "
                f"{option('average')}."
            )
        smallest = 1 if self.k is None else checks.whole_number("k", self.k)
        published = None if self.profile is None else profile_named(self.profile)
        for name in ("highest", "average"):
            if (share := getattr(self, name)) is not None:
                checks.real_number(name, share, "a share above 0, at most 1", 1e-9, 1.0)
        if self.highest is not None:
            smallest = max(smallest, math.ceil(1.0 / self.highest - 1e-9))
        if published is not None and published.speaks_of == "maximum":
            smallest = max(smallest, math.ceil(1.0 / published.exact_limit - 1e-9))
        checks.real_number("suppress", self.suppress, "a share from 0 to 0.5", 0.0, 0.5)
        average = 1.0 if self.average is None else float(self.average)
        if published is not None and published.speaks_of == "average":
            average = min(average, published.limit)
        if smallest == 1 and average == 1.0:
            raise InvalidParameter(f"Every table meets this limit; ask for {option('k')} of at least 2, or less risk.")
        return TableLimit(smallest, average, math.floor(self.suppress * people + 1e-9))


@interruptible
def generalise(
    table: object,
    *,
    columns: Sequence[str],
    profile: str | None = None,
    k: int | None = None,
    highest: float | None = None,
    average: float | None = None,
    suppress: float = 0.0,
    hierarchies: Mapping[str, str | os.PathLike[str]] | None = None,
    bins: Mapping[str, BinRule | int | str] | None = None,
    prefixes: Sequence[str] = (),
    cost: CostScale = "information",
    id_column: str | None = None,
    keep: Sequence[str] = (),
    memory: int | None = None,
    progress: Progress = silent,
) -> Generalisation:
    """Find the cheapest generalisation of a table (a path, or anything with `__arrow_c_stream__`) that meets a limit.

    Everybody shares the released values of `columns` with `k` people (a `highest` risk of 1/k); groups divided by
    people, the `average` risk, may be limited too; `profile` is a published limit on either. At most the share
    `suppress` of people is left out. Columns can be released in groups of files (`hierarchies`), numbers in bands,
    codes (and `prefixes`) with fewer characters, or not at all. The result is the best of all combinations on the
    scale `cost`.
    """
    wanted = Wanted(profile, k, highest, average, suppress)
    chosen = TableOptions(
        tuple(columns),
        id_column,
        tuple(keep),
        {name: Path(path) for name, path in (hierarchies or {}).items()},
        {name: rule_from(rule) for name, rule in (bins or {}).items()},
        tuple(prefixes),
        cost,
    )
    wanted.limit(2)  # refuses what breaks a rule before anything is read
    progress("reading", 0.0)
    read = read_people(
        table, chosen.columns, keep=chosen.keep, id_column=chosen.id_column, bins=chosen.bins, room=memory
    )
    return generalised(read, chosen, wanted.limit(read.people), progress)


def generalised(read: PeopleTable, options: TableOptions, limit: TableLimit, progress: Progress) -> Generalisation:
    """The same for a table that has been read."""
    levels = [
        levels_of(
            person,
            options.hierarchies.get(person.column.name),
            options.bins.get(person.column.name),
            person.column.name in options.prefixes,
        )
        for person in read.columns
    ]
    nodes = math.prod(map(len, levels))
    if nodes > MOST_NODES:
        raise InvalidParameter(
            f"The columns have {nodes:,} combinations of levels, at most {MOST_NODES:,} can be searched; name fewer "
            f"columns, or begin with wider bands ({option('bins')})."
        )
    ladders = [person.ladder(steps) for person, steps in zip(read.columns, levels, strict=True)]
    lattice = Lattice([person.column.exact for person in read.columns], ladders, options.cost)
    bottom = lattice.groups((0,) * len(levels)).counts
    found = cheapest(lattice, limit.limit, progress)
    after = None if found.best is None else _state(found.best, read.people)
    chosen = () if found.best is None else tuple(levels[place][at] for place, at in enumerate(found.best.levels))
    plan = None
    if after is not None:
        plan = TablePlan(
            chosen, options.keep, options.id_column, read.sha256, read.people, limit, options.cost, after, __version__
        )
    return Generalisation(
        input=TableInput(read.name, read.sha256, read.people, {}),
        limit=limit,
        scale=options.cost,
        outcome="none" if found.best is None else "met",
        as_it_is=TableState.of(read.people, bottom.size, int(np.min(bottom))),
        after=after,
        left_out=0 if found.best is None else found.best.left_out,
        cost=None if found.best is None else min(1.0, found.best.cost),
        columns=chosen,
        kept=tuple(KeptColumn(name, alone_in(values)) for name, values in read.kept.items()),
        nodes=found.nodes,
        counted=found.counted,
        sentences=(),
        plan=plan,
        provenance=Made(__version__, None),
    )


def _state(node: Node, people: int) -> TableState:
    return TableState.of(people - node.left_out, node.groups, node.smallest)
