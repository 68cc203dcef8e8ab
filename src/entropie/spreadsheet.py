"""Cells that a spreadsheet shows and does not run."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["safe_cell"]

Cell = TypeVar("Cell")

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def safe_cell(cell: Cell) -> Cell | str:
    """Names come from the data, and a spreadsheet runs text that begins like a formula: a quote mark keeps it text.

    >>> safe_cell("=1+1"), safe_cell("bakery"), safe_cell(-1.5)
    ("'=1+1", 'bakery', -1.5)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
