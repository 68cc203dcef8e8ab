"""Cells of a map: what turns a point on the Earth into an item."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidParameter

_METRES_PER_DEGREE = 111_320.0  # of latitude; and of longitude on the equator


@dataclass(frozen=True, slots=True)
class MapGrid:
    """Cells of equal size: square in degrees, or of about equal width in metres at every latitude."""

    size: float
    unit: Literal["degrees", "metres"] = "metres"

    def __post_init__(self) -> None:
        if self.unit not in ("degrees", "metres"):
            raise InvalidParameter.of("unit", "degrees or metres", self.unit)
        low, high = (1e-6, 90.0) if self.unit == "degrees" else (0.1, 1e7)
        if not (math.isfinite(self.size) and low <= self.size <= high):
            raise InvalidParameter.of("grid", f"between {low:g} and {high:g} {self.unit}", self.size)

    @classmethod
    def parse(cls, text: str) -> MapGrid:
        """Read a size such as `500m`, `1.5km` or `0.01deg`."""
        match = re.fullmatch(r"([0-9.eE+-]+)\s*(m|km|deg)", text.strip())
        try:
            size = float(match[1]) if match else math.nan
        except ValueError:
            size = math.nan
        if match is None or math.isnan(size):
            raise InvalidParameter.of("grid", "a size such as 500m, 1.5km or 0.01deg", text)
        if match[2] == "deg":
            return cls(size, "degrees")
        return cls(size * (1000 if match[2] == "km" else 1), "metres")

    @property
    def step(self) -> float:
        """Height of a cell in degrees of latitude."""
        return self.size if self.unit == "degrees" else self.size / _METRES_PER_DEGREE

    def cells(self, latitude: NDArray[np.float64], longitude: NDArray[np.float64]) -> NDArray[np.int64]:
        """Number the cell of each point; -1 where the point is not on the Earth.

        A cell is row * 2^32 + column, counted from the south pole and from 180 degrees west.
        """
        with np.errstate(invalid="ignore"):
            valid = (np.abs(latitude) <= 90.0) & (np.abs(longitude) <= 180.0)
        row = np.floor((np.where(valid, latitude, 0.0) + 90.0) / self.step)
        column = np.floor((np.where(valid, longitude, 0.0) + 180.0) / self._width(row))
        cell = row.astype(np.int64) * 2**32 + column.astype(np.int64)
        return np.where(valid, cell, -1)

    def centres(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Latitude and longitude of the middle of each cell."""
        row = (cells >> 32).astype(np.float64)
        column = (cells & 0xFFFFFFFF).astype(np.float64)
        latitude = (row + 0.5) * self.step - 90.0
        return latitude, (column + 0.5) * self._width(row) - 180.0

    def _width(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        """Width of the cells of a row in degrees of longitude."""
        if self.unit == "degrees":
            return np.full(row.shape, self.size)
        middle = np.minimum(np.abs((row + 0.5) * self.step - 90.0), 90.0)
        return np.minimum(self.step / np.maximum(np.cos(np.radians(middle)), 1e-9), 360.0)
