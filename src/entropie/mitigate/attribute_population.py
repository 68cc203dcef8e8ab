"""A population beside a table: a file whose values are matched with those of the table, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.document.table import PopulationFile
from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.entropy import entropy
from entropie.measures.population import Beside
from entropie.mitigate.attribute_table import AttributeTable, Column, read_attributes
from entropie.words import count, plural

Codes = NDArray[np.int64]


def at_least_the_table(population: int, people: int) -> int:
    """The number, where it holds everybody of the table."""
    if population < people:
        raise InvalidParameter.of("population", f"at least the {count(people)} people of the table", population)
    return population


def beside(table: AttributeTable, source: object, memory: int | None) -> tuple[PopulationFile, Beside]:
    """Read the population and count everybody's class in it."""
    other = read_attributes(source, [column.name for column in table.columns], memory=memory)
    if other.people < table.people:
        raise InvalidInput(
            f"{other.name} holds {plural(other.people, 'person', 'people')} and the table {count(table.people)}; a "
            "population holds everybody of the table."
        )
    pairs = zip(table.columns, other.columns, strict=True)
    both = Beside.of([_matched(own, wide, other.name) for own, wide in pairs], other.name)
    low, high = both.presence
    found = PopulationFile(
        name=other.name,
        sha256=other.sha256,
        people=other.people,
        dropped=other.dropped,
        classes=int(both.population.size),
        k_map=both.k_map,
        delta_min=low,
        delta_max=high,
        unique_share=both.unique_share,
        bits=entropy(both.population, other.people)[0],
        meaning=both.meaning,
    )
    return found, both


def _matched(own: Column, wide: Column, name: str) -> tuple[Codes, Codes, int]:
    """Codes of the table, the same codes in the population, and how many there are."""
    keys, others = _keys(own, wide)
    place = pc.index_in(others, value_set=keys).to_numpy(zero_copy_only=False)
    new = np.isnan(place)
    codes = np.where(new, own.exact_size + np.cumsum(new), np.where(new, 0, place)).astype(np.int64)
    if wide.missing:
        codes = np.append(codes, own.exact_size - 1 if own.missing else own.exact_size)
    found = codes[wide.exact]
    lacking = np.bincount(found, minlength=own.exact_size)[own.exact] == 0
    if lacking.any():
        raise InvalidInput(
            f"Column `{own.name}` holds values for {plural(int(lacking.sum()), 'person', 'people')} that {name} does "
            "not have; a population holds everybody of the table, with values written the same way."
        )
    return own.exact, found, own.exact_size + len(others) + 1


def _keys(own: Column, wide: Column) -> tuple[Any, Any]:
    """The values of both as numbers where both are numbers, and as text elsewhere."""
    if own.numbers is not None and wide.numbers is not None:
        return pa.array(own.numbers[: len(own.values)]), pa.array(wide.numbers[: len(wide.values)])
    return own.values.cast(pa.large_string()), wide.values.cast(pa.large_string())
