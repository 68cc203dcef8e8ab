"""What is measured on a table of attributes beyond the bits of its columns: what is asked for, checked, and found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.document.table import (
    Anonymity,
    Linkability,
    PopulationEstimate,
    PopulationFile,
    RecordRisk,
    SensitiveColumn,
)
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.kinds import population_of
from entropie.measures.anonymity import anonymity
from entropie.measures.classes import classes_of
from entropie.measures.closeness import largest_distance
from entropie.measures.diversity import Contents, disclosed, distinct_l, entropy_l, recursive
from entropie.measures.inference import inference
from entropie.measures.linkability import linkability
from entropie.measures.record_risk import AT_RISK, record_risks
from entropie.measures.uniqueness import estimate as estimated
from entropie.measures.uniqueness import estimated_risks
from entropie.mitigate.attribute_population import at_least_the_table, beside
from entropie.mitigate.attribute_table import BANDS, AttributeTable, Column, sensitive_codes
from entropie.progress import Progress, silent
from entropie.theory import checks
from entropie.words import digits, percent, plural

Link = tuple[Sequence[str], Sequence[str]]
NEAR = 0.05
"""A number is guessed right within this share of the range of the middle 98 % of people, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What else is to be measured.

    sensitive   columns that an attacker wants to learn
    within      how near a guess of a sensitive number must be
    population  a table of the population, or how many people it has
    link        pairs of column sets that rows are joined from
    at_risk     records with a risk above this are counted
    """

    sensitive: tuple[str, ...] = ()
    within: Mapping[str, float] = field(default_factory=dict)
    population: object = None
    link: tuple[Link, ...] = ()
    at_risk: float = AT_RISK
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "population", population_of(self.population))
        checks.whole_number("seed", self.seed, at_least=0)
        checks.real_number("at_risk", self.at_risk, "a share above 0 and up to 1", 5e-324, 1.0)
        if len(set(self.sensitive)) != len(self.sensitive):
            raise InvalidParameter(f"{option('sensitive')} names a column twice.")
        for name, width in self.within.items():
            if name not in self.sensitive:
                raise InvalidParameter(
                    f"{option('within')} names column `{name}`, which is not among {option('sensitive')}."
                )
            checks.real_number("within", width, "a number of at least 0 for each column", 0.0, 1e300)
        for left, right in self.link:
            names = [*left, *right]
            if not (left and right and all(names)) or len(set(names)) != len(names):
                raise InvalidParameter.of(
                    "link", "two sets of columns that share none (a,b:c,d)", ":".join((",".join(left), ",".join(right)))
                )

    def others(self, columns: Sequence[str], id_column: str | None) -> list[str]:
        """Columns to read beside the quasi-identifiers."""
        for name in self.sensitive:
            if name in columns:
                raise InvalidParameter(
                    f"Column `{name}` is among both {option('columns')} and {option('sensitive')}: what an attacker "
                    "knows need not be learnt; drop it from one of them."
                )
        linked = [name for link in self.link for part in link for name in part]
        named = [*self.sensitive, *linked]
        if id_column in named:
            raise InvalidParameter(f"Column `{id_column}` holds the people; it is no attribute to be learnt or linked.")
        return [name for name in dict.fromkeys(named) if name not in columns]

    @property
    def people(self) -> int | None:
        """How many people the population has, where it is a number."""
        return self.population if isinstance(self.population, int) else None


@dataclass(frozen=True, slots=True)
class Measures:
    """What was found, by the keys of the document."""

    anonymity: Anonymity
    record_risk: tuple[RecordRisk, ...]
    sensitive: tuple[SensitiveColumn, ...]
    population: PopulationFile | None
    estimate: PopulationEstimate | None
    links: tuple[Linkability, ...]

    @property
    def beside(self) -> int | None:
        """How many people the population has, where it is known."""
        wide = self.population or self.estimate
        return None if wide is None else wide.people

    @classmethod
    def of(cls, table: AttributeTable, wanted: Wanted, memory: int | None, progress: Progress = silent) -> Measures:
        """Measure a table that has been read."""
        rng = np.random.default_rng(wanted.seed)
        known = [(column.codes, column.size) for column in table.columns]
        classes, sizes = classes_of(known)
        every = {column.name: column for column in (*table.columns, *table.others)}
        risks, population, estimate = record_risks(sizes, wanted.at_risk), None, None
        if wanted.people is not None:
            progress("projecting", 0.0)
            estimate = estimated(sizes, at_least_the_table(wanted.people, table.people), rng)
            risks = estimated_risks(sizes, estimate, wanted.at_risk)
        elif wanted.population is not None:
            progress("reading the population", 0.0)
            population, both = beside(table, wanted.population, memory)
            risks = record_risks(both.held[0], wanted.at_risk, both.held[1])
        found = []
        for place, name in enumerate(wanted.sensitive):
            progress("guessing sensitive columns", place / len(wanted.sensitive))
            found.append(_sensitive(every[name], classes, known, wanted.within.get(name), rng))
        links = []
        for place, link in enumerate(wanted.link):
            progress("linking", place / len(wanted.link))
            names = (tuple(link[0]), tuple(link[1]))
            parts = ([(every[one].codes, every[one].size) for one in names[side]] for side in (0, 1))
            links.append(linkability(names, tuple(parts), rng))  # type: ignore[arg-type]
        names_known = tuple(column.name for column in table.columns)
        return cls(anonymity(names_known, sizes), risks, tuple(found), population, estimate, tuple(links))


def _sensitive(
    column: Column,
    classes: NDArray[np.int64],
    known: Sequence[tuple[NDArray[np.int64], int]],
    within: float | None,
    rng: np.random.Generator,
) -> SensitiveColumn:
    if column.size == 1:
        what = "is blank" if column.missing else "holds one value"
        raise InvalidInput(
            f"Column `{column.name}` {what} for everybody, so that there is nothing to learn; drop it from "
            f"{option('sensitive')}."
        )
    if within is not None and column.numbers is None:
        raise InvalidParameter(f"{option('within')} names column `{column.name}`, which does not hold numbers only.")
    codes, ordered = sensitive_codes(column)
    contents = Contents.of(classes, codes, column.size)
    tolerance = within if within is not None else _near(column) if ordered and column.size > BANDS else None
    values = _values(column, tolerance) if tolerance is not None else column.codes.astype(np.float64)
    told, farthest = disclosed(contents), largest_distance(contents, ordered=ordered)
    fewest = distinct_l(contents)
    meaning = (
        f"{column.name}: every class has at least {plural(fewest, 'different value')}; {percent(told)} of people are "
        f"in a class with one, which gives it away; the farthest class is {digits(farthest, 2)} from the whole table."
    )
    return SensitiveColumn(
        column=column.name,
        values=column.size,
        distinct_l=fewest,
        entropy_l=entropy_l(contents),
        recursive=recursive(contents),
        t=farthest,
        distance="ordered" if ordered else "equal",
        disclosed=told,
        inference=inference(known, values, tolerance, rng),
        meaning=meaning,
    )


def _near(column: Column) -> float:
    """How near a guess must be unless told otherwise."""
    assert column.numbers is not None
    each = column.numbers[column.codes]
    low, high = np.quantile(each[~np.isnan(each)], [0.01, 0.99])
    return NEAR * float(high - low)


def _values(column: Column, tolerance: float) -> NDArray[np.float64]:
    """Everybody's number; a missing one is far from all others, so that only it is guessed for it."""
    assert column.numbers is not None
    there = column.numbers[~np.isnan(column.numbers)]
    far = float(there.max()) + 4.0 * tolerance + max(1.0, float(np.ptp(there)))
    return np.where(np.isnan(column.numbers), far, column.numbers)[column.codes]


def widths_of(texts: Sequence[str]) -> dict[str, float]:
    """Read `income=1000` for each column.

    >>> widths_of(["income=1000"])
    {'income': 1000.0}
    """
    read: dict[str, float] = {}
    for text in texts:
        column, equals, value = text.rpartition("=")
        try:
            width = float(value)
        except ValueError:
            width = math.nan
        if not (equals and column and 0.0 <= width < math.inf):
            raise InvalidParameter.of("within", "COLUMN=W, how near a guess must be", text)
        read[column] = width
    return read


def link_of(text: str) -> Link:
    """Read `a,b:c,d`.

    >>> link_of("age, sex:region")
    (('age', 'sex'), ('region',))
    """
    left, colon, right = text.partition(":")
    if not colon:
        raise InvalidParameter.of("link", "two sets of columns that share none (a,b:c,d)", text)
    first, second = (tuple(name.strip() for name in part.split(",")) for part in (left, right))
    return first, second


def keys_of(found: Measures) -> dict[str, Any]:
    """The keys of the document."""
    return {name: getattr(found, name) for name in Measures.__slots__}
