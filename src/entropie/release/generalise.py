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

from entropie._version import __version__
from entropie.errors import InvalidParameter, interruptible, option
from entropie.gate.profiles import profile_named
from entropie.mitigate.attribute_risk import Made, TableInput
from entropie.mitigate.attribute_table import BinRule, rule_from
from entropie.mitigate.ladders import PeopleTable, alone_in, levels_of, read_people
from entropie.mitigate.lattice import SCALES, Limit, cheapest
from entropie.progress import Progress, silent
from entropie.release.table_plan import CostScale, Generalisation, KeptColumn, TableLimit, TablePlan, TableState
from entropie.theory import checks

MOST_NODES = 6_000_000


@dataclass(frozen=True, slots=True)
class TableOptions:
    """What is released of a table at most, what may be done to it, and at what cost.

    columns       that an attacker may know
    keep          other columns to release as they are
    sensitive     one of them that nobody is to learn of others
    hierarchies   files of groups by column; bins: bands to begin with; prefixes: columns to cut characters from
    """

    columns: tuple[str, ...]
    id_column: str | None = None
    keep: tuple[str, ...] = ()
    sensitive: str | None = None
    hierarchies: Mapping[str, Path] = field(default_factory=dict)
    bins: Mapping[str, BinRule] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ()
    cost: CostScale = "information"

    def __post_init__(self) -> None:
        if self.cost not in SCALES:
            raise InvalidParameter.among("cost", SCALES, self.cost)
        if self.sensitive in self.columns:
            raise InvalidParameter(
                f"Column `{self.sensitive}` is among both {option('columns')} and {option('sensitive')}: what an "
                "attacker knows is nothing to learn; drop it from one."
            )
        for what, names in (("hierarchy", self.hierarchies), ("prefix", self.prefixes)):
            for name in names:
                if name not in self.columns:
                    raise InvalidParameter(
                        f"{option(what)} names column `{name}`, which is not among {option('columns')}."
                    )


@dataclass(frozen=True, slots=True)
class Wanted:
    """A limit as it is asked for: by the name of a published one, k, a highest risk, an average risk; how varied the
    sensitive values of every group are; and a share of people who may be left out.
    """

    profile: str | None = None
    k: int | None = None
    highest: float | None = None
    average: float | None = None
    suppress: float = 0.0
    l_diversity: int | None = None
    t_closeness: float | None = None

    def limit(self, people: int) -> TableLimit:
        """The limit for so many people."""
        if (self.profile, self.k, self.highest, self.average, self.l_diversity, self.t_closeness) == (None,) * 6:
            raise InvalidParameter(
                f"A limit is needed: name it with {option('profile')}, {option('k')}, {option('highest')}, "
                f"{option('average')}, {option('l_diversity')} or {option('t_closeness')}."
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
        different = 1 if self.l_diversity is None else checks.whole_number("l_diversity", self.l_diversity)
        distance = 1.0 if self.t_closeness is None else float(self.t_closeness)
        checks.real_number("t_closeness", distance, "a distance above 0, at most 1", 1e-9, 1.0)
        if distance < 1.0 and self.suppress:
            raise InvalidParameter(
                f"{option('t_closeness')} is reached without leaving anybody out: who is left changes what the values "
                f"of everybody are. Leave out {option('suppress')}."
            )
        if (smallest, average, different, distance) == (1, 1.0, 1, 1.0):
            raise InvalidParameter(f"Every table meets this limit; ask for {option('k')} of at least 2, or less risk.")
        return TableLimit(smallest, average, math.floor(self.suppress * people + 1e-9), different, distance)

    def check(self, sensitive: str | None) -> None:
        """A sensitive column and a limit on it go together."""
        if (sensitive is None) != (self.l_diversity is None and self.t_closeness is None):
            raise InvalidParameter(
                f"{option('l_diversity')} and {option('t_closeness')} limit what is learnt of a {option('sensitive')} "
                "column, and only of one; name both or neither."
            )


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
    sensitive: str | None = None,
    l_diversity: int | None = None,
    t_closeness: float | None = None,
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
    people, the `average` risk, may be limited too; `profile` is a published limit on either. Every group has
    `l_diversity` different values of a `sensitive` column, which is released, and they are at most `t_closeness` from
    those of everybody. At most the share `suppress` of people is left out. Columns can be released in groups of files
    (`hierarchies`), numbers in bands, codes (and `prefixes`) with fewer characters, or not at all. The result is the
    best of all combinations on the scale `cost`.
    """
    wanted = Wanted(profile, k, highest, average, suppress, l_diversity, t_closeness)
    wanted.check(sensitive)
    kept = [*keep, *([] if sensitive is None or sensitive in keep else [sensitive])]
    chosen = TableOptions(
        tuple(columns),
        id_column,
        tuple(kept),
        sensitive,
        {name: Path(path) for name, path in (hierarchies or {}).items()},
        {name: rule_from(rule) for name, rule in (bins or {}).items()},
        tuple(prefixes),
        cost,
    )
    wanted.limit(2)  # refuses what breaks a rule before anything is read
    progress("reading", 0.0)
    read = read_people(
        table,
        chosen.columns,
        keep=chosen.keep,
        sensitive=sensitive,
        id_column=chosen.id_column,
        bins=chosen.bins,
        room=memory,
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
    lattice = read.lattice(ladders, options.cost)
    bottom = lattice.node((0,) * len(levels), Limit())
    found = cheapest(lattice, limit.limit, progress)
    after = None if found.best is None else TableState.of(read.people - found.best.left_out, found.best)
    chosen = () if found.best is None else tuple(levels[place][at] for place, at in enumerate(found.best.levels))
    plan = None
    if after is not None:
        bound = (read.sha256, read.people, limit, options.cost, after, __version__, options.sensitive)
        plan = TablePlan(chosen, options.keep, options.id_column, *bound)
    return Generalisation(
        input=TableInput(read.name, read.sha256, read.people, {}),
        limit=limit,
        scale=options.cost,
        outcome="none" if found.best is None else "met",
        as_it_is=TableState.of(read.people, bottom),
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
