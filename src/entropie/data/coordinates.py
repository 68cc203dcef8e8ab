"""Places from coordinates: two columns of degrees to points, points to cells of a map.

A point is one whole number: latitude and longitude in steps of 10^-7 degrees (1 cm), counted from the south pole and
from 180 degrees west. So points can be counted, compared and handed on as ids are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from entropie.data.arrow import absent_in, from_numpy, from_texts, one_of, truths_of, values_of
from entropie.data.grid import MapGrid
from entropie.data.rules import COORDINATE_FAULTS, NULLS
from entropie.data.ticks import read_numbers
from entropie.errors import InvalidInput, InvalidParameter

_STEPS = 1e7  # in a degree
_SPAN = 1 << 32  # more than there are steps around the Earth
_MINUTES = "[\u00b0\u00ba'\u2032\u2019\"\u2033\u201d]|^[NSEWnsew] *[0-9]|[0-9] *[NSEWnsew]$|[0-9] +[0-9]"
_H3 = re.compile(r"h3:(\d{1,2})")
_FINEST = 15


@dataclass(frozen=True, slots=True)
class Points:
    """Points of all rows, and the number of what speaks against each (one more than its place in COORDINATE_FAULTS)."""

    values: NDArray[np.int64]  # arbitrary where there is a fault
    faults: NDArray[np.uint8]


def read_points(latitude: pa.Array, longitude: pa.Array) -> Points:
    """Read two columns of decimal degrees, numbers or UTF-8 `string`; every row is read by itself."""
    degrees = [read_numbers(column) for column in (latitude, longitude)]
    missing, unread, minutes = np.zeros((3, len(latitude)), np.bool_)
    for column, numbers in zip((latitude, longitude), degrees, strict=True):
        nothing = absent_in(column)
        if pa.types.is_string(column.type):
            odd = np.isnan(numbers)
            if odd.any():
                texts = pc.utf8_trim_whitespace(column)
                nothing |= one_of(texts, NULLS)
                minutes |= odd & truths_of(pc.match_substring_regex(texts, _MINUTES))
                unread |= odd & ~nothing
        else:
            nothing |= np.isnan(numbers)
        missing |= nothing
    north, east = degrees
    with np.errstate(invalid="ignore"):
        turned = (np.abs(north) > 90.0) & (np.abs(north) <= 180.0) & (np.abs(east) <= 90.0)
        outside = (np.abs(north) > 90.0) | (np.abs(east) > 180.0)
    faults = np.zeros(len(latitude), np.uint8)
    found = (missing, minutes, unread, turned, outside, (north == 0.0) & (east == 0.0))
    assert len(found) == len(COORDINATE_FAULTS)
    for code in range(len(found), 0, -1):  # the first fault is written last
        faults[found[code - 1]] = code
    return Points(points_of(*(np.where(faults == 0, numbers, 0.0) for numbers in degrees)), faults)


def points_of(latitude: NDArray[np.float64], longitude: NDArray[np.float64]) -> NDArray[np.int64]:
    """The points at coordinates on the Earth; a longitude may be a little more than once around."""
    around = longitude + 180.0
    around = np.where((around < 0.0) | (around > 360.0), np.mod(around, 360.0), around)
    rows, columns = (np.rint(part * _STEPS).astype(np.int64) for part in (latitude + 90.0, around))
    return rows * _SPAN + columns


def degrees_of(points: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Latitude and longitude of points."""
    return (points // _SPAN) / _STEPS - 90.0, (points % _SPAN) / _STEPS - 180.0


@dataclass(frozen=True, slots=True)
class Cells:
    """What a map is cut into: cells of H3, Uber's hierarchy, at a resolution; or of a grid of one size."""

    resolution: int | None
    grid: MapGrid | None

    @classmethod
    def parse(cls, text: str) -> Cells:
        """Read `h3:9` or `grid:500m`."""
        found = _H3.fullmatch(text.strip().lower())
        if found is not None and int(found[1]) <= _FINEST:
            return cls(int(found[1]), None)
        kind, _, size = text.strip().partition(":")
        if kind.lower() == "grid" and size:
            try:
                return cls(None, MapGrid.parse(size))
            except InvalidParameter:
                pass
        raise InvalidParameter.of("cells", f"h3:0 to h3:{_FINEST}, or a grid such as grid:500m or grid:0.01deg", text)

    @property
    def type(self) -> pa.DataType:
        """Type of a cell's name."""
        return pa.string() if self.grid is None else pa.int64()

    def names(self, points: NDArray[np.int64]) -> pa.Array:
        """The cell of each point; H3's as it is written everywhere, such as 891fb466257ffff."""
        if self.grid is not None:
            return from_numpy(self.grid.cells(*degrees_of(points)))
        coded = from_numpy(points).dictionary_encode()  # people come back: each different point is looked up once
        named = self._h3(values_of(coded.dictionary).astype(np.int64, copy=False))
        return named.take(coded.indices)

    def _h3(self, points: NDArray[np.int64]) -> pa.Array:
        cell_of = h3().latlng_to_cell
        north, east = degrees_of(points)
        cells = [
            cell_of(latitude, longitude, self.resolution)
            for latitude, longitude in zip(north.tolist(), east.tolist(), strict=True)
        ]
        coded = pa.array(cells, pa.uint64()).dictionary_encode()
        return from_texts([f"{cell:x}" for cell in coded.dictionary.to_pylist()]).take(coded.indices)


def h3() -> Any:
    """The package h3 with cells as whole numbers; it comes with an extra."""
    try:
        from h3.api import basic_int
    except ImportError:
        raise InvalidInput("Cells of H3 need the package h3; run: pip install 'entropie[cells]'") from None
    return basic_int
