"""The table beside its population: delta-presence (Nergiz, Atzori & Clifton 2007) and k-map (Sweeney 2001)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidInput
from entropie.measures.classes import classes_of
from entropie.words import count, percent, plural

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """Sizes of all classes of the population, and how many of the people of each are in the table."""

    population: Codes
    table: Codes

    @classmethod
    def of(cls, columns: Sequence[tuple[Codes, Codes, int]], name: str) -> Beside:
        """From the codes of the table and of the population, and how many codes each column has.

        Whoever is in the table must be in the population.
        """
        people = columns[0][0].size
        places, sizes = classes_of([(np.concatenate((own, all_)), size) for own, all_, size in columns])
        table = np.bincount(places[:people], minlength=sizes.size)
        population = sizes - table
        more = int((table - population).clip(0).sum())
        if more:
            raise InvalidInput(
                f"{name} lacks {plural(more, 'person', 'people')} of the table: it has fewer with the same values; a "
                "population holds everybody of the table."
            )
        return cls(population, table)

    @property
    def held(self) -> tuple[Codes, Codes]:
        """The classes of the table: their sizes in it and in the population."""
        inside = self.table > 0
        return self.table[inside], self.population[inside]

    @property
    def k_map(self) -> int:
        """The smallest class of the population that anybody of the table is in."""
        return int(self.held[1].min())

    @property
    def presence(self) -> tuple[float, float]:
        """Of those of the population who share a combination, the share in the table: the least and the most."""
        share = self.table / self.population
        return float(share.min()), float(share.max())

    @property
    def unique_share(self) -> float:
        """Share of the table's people who are alone in the population."""
        table, population = self.held
        return float(np.count_nonzero(population == 1)) / float(table.sum())

    @property
    def meaning(self) -> str:
        """What that is in a sentence."""
        low, high = self.presence
        people, alone = count(int(self.population.sum())), round(self.unique_share * float(self.table.sum()))
        if self.k_map == 1:
            told = f"{plural(alone, 'person', 'people')} of the table have values that nobody else of {people} has"
        else:
            told = f"everybody of the table shares their values with at least {count(self.k_map - 1)} of {people}"
        return (
            f"k-map = {count(self.k_map)}: {told}. Delta-presence {percent(low)} to {percent(high)}: so sure can "
            "somebody be who knows a person's values that they are in the table."
        )
