"""Cells that a spreadsheet shows and does not run, and that read back as they were.

Names come from the data, and a spreadsheet runs text that begins like a formula: a quote mark before it keeps it text.
Text that has such marks already gets one more, so that taking one away gives back every name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

Cell = TypeVar("Cell")

_BEGINNINGS = "=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20"  # also the wide forms that East Asian keyboards give
_FORMULA = f"^'*[{_BEGINNINGS}]"
MARKED = f"^'+[{_BEGINNINGS}]"


def safe_cell(cell: Cell) -> Cell | str:
    """One cell; what is no text stays as it is.

    >>> safe_cell("=1+1"), safe_cell("bakery"), safe_cell(-1.5)
    ("'=1+1", 'bakery', -1.5)
    """
    return f"'{cell}" if isinstance(cell, str) and re.match(_FORMULA, cell) else cell


def safe_cells(column: pa.Array) -> pa.Array:
    """A column; what is no text stays as it is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    marked: Any = pc.binary_join_element_wise(pa.scalar("'", column.type), column, pa.scalar("", column.type))
    return pc.if_else(pc.match_substring_regex(column, _FORMULA), marked, column)


def cells_as_written(column: pa.Array) -> pa.Array:
    """The texts of a column that `safe_cells` made."""
    import pyarrow.compute as pc

    return pc.if_else(pc.match_substring_regex(column, MARKED), pc.utf8_slice_codeunits(column, 1), column)
