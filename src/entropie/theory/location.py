"""A channel for locations: a cell is reported with a probability that falls exponentially with its distance.

Q(y|x) = exp(-b d(x, y)) / Z(x) over a set of cells: planar Laplace noise on these cells where d is the distance in the
plane or on the globe, the geometric mechanism where d counts along the edges of a graph. It is geo-indistinguishable
(Andres et al. 2013): Q(y|x) <= exp(e d(x, x')) Q(y|x') for all x, x' and y. By the triangle inequality the best e is

    e = b + largest (ln Z(x') - ln Z(x)) / d(x, x'),   between b and 2 b,

so that b is found from a wanted e by bisection, and then e is measured on the finished matrix, over all pairs.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from entropie.atomic import check_file, write_file
from entropie.errors import InvalidParameter
from entropie.theory import checks
from entropie.theory.crowd import Crowd
from entropie.theory.matrix import MatrixGuarantee, matrix_guarantee
from entropie.theory.special import largest_where

Floats = NDArray[np.float64]

MOST_CELLS = 4096
_EARTH_METRES = 6_371_008.8
_FARTHEST = 600.0
"""b times the largest distance: beyond it a probability would be 0 in a file."""


@dataclass(frozen=True, slots=True, eq=False)
class LocationChannel:
    """A row of probabilities per true cell, a column per reported one.

    epsilon_per_metre   measured: no pair of cells, d metres apart, is told apart by more than epsilon_per_metre x d
    rate_per_metre      b, by which the logarithm of a probability falls
    """

    matrix: Floats
    distances: Floats
    epsilon_per_metre: float
    rate_per_metre: float

    def guarantee(self, crowd: Crowd) -> MatrixGuarantee:
        """What any channel with this matrix guarantees."""
        return matrix_guarantee(self.matrix, crowd)

    def mean_error_metres(self, shares: ArrayLike | None = None) -> float:
        """Distance between true and reported cell, on average over true cells with these shares (equal ones)."""
        k = len(self.matrix)
        weights = np.full(k, 1.0 / k) if shares is None else np.asarray(shares, np.float64)
        return float(weights @ (self.matrix * self.distances).sum(axis=1))

    def save(self, path: str | Path) -> None:
        """Write the matrix (.npy), for `entropie guarantee --matrix`."""
        target = Path(path)
        if target.suffix != ".npy":
            raise InvalidParameter.of("path", "a file that ends in .npy", str(path))
        check_file(target)
        content = io.BytesIO()
        np.save(content, self.matrix)
        write_file(target, content.getvalue())


def location_channel(distances: ArrayLike, epsilon_per_metre: float) -> LocationChannel:
    """The channel over cells with these distances in metres that keeps a wanted epsilon per metre."""
    d = _checked(distances)
    wanted = checks.real_number("epsilon_per_metre", epsilon_per_metre, "a number above 0", 1e-12, 1e6)
    if wanted * float(d.max()) > _FARTHEST:
        rule = f"at most {_FARTHEST / float(d.max()):.3g} for cells up to {float(d.max()):.6g} metres apart"
        raise InvalidParameter.of("epsilon_per_metre", rule, epsilon_per_metre)
    rate = largest_where(lambda b: _spent(d, b) <= wanted, wanted / 2.0, wanted)
    weights = np.exp(-rate * d)
    matrix = np.asarray(weights / weights.sum(axis=1, keepdims=True))
    measured = geo_epsilon(matrix, d)
    if measured > wanted * (1.0 + 1e-9):
        raise InvalidParameter("Parameter `distances` must keep the triangle inequality: no way round is shorter.")
    return LocationChannel(matrix, d, measured, rate)


def geo_epsilon(matrix: ArrayLike, distances: ArrayLike) -> float:
    """The largest ln Q(y|x)/Q(y|x') per metre between x and x', over all pairs and reports of any matrix."""
    d = _checked(distances)
    Q = np.asarray(matrix, np.float64)
    if Q.ndim != 2 or len(Q) != len(d):
        raise InvalidParameter.of("matrix", f"a table with {len(d)} rows", Q.shape)
    Q = Q[:, Q.max(axis=0) > 0.0]
    worst = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(Q)
        for x in range(len(Q)):
            told = np.where(Q[x] > 0.0, logs[x] - logs, -np.inf).max(axis=1)
            others = np.arange(len(Q)) != x
            worst = max(worst, float((told[others] / d[x, others]).max()))
    return worst


def plane_distances(points: ArrayLike) -> Floats:
    """Metres between points of a plane, each a pair of coordinates in metres."""
    xy = _pairs("points", points)
    return np.asarray(np.hypot(*(xy[:, None] - xy[None]).transpose(2, 0, 1)))


def globe_distances(points: ArrayLike) -> Floats:
    """Metres along the globe between points, each a latitude and a longitude in degrees."""
    given = _pairs("points", points)
    if (np.abs(given[:, 0]) > 90.0).any() or (np.abs(given[:, 1]) > 360.0).any():
        raise InvalidParameter("Parameter `points` must be latitudes from -90 to 90 and longitudes, in degrees.")
    latitude, longitude = np.radians(given).T
    across = np.sin((latitude[:, None] - latitude) / 2.0) ** 2
    along = np.cos(latitude[:, None]) * np.cos(latitude) * np.sin((longitude[:, None] - longitude) / 2.0) ** 2
    return np.asarray(2.0 * _EARTH_METRES * np.arcsin(np.sqrt(np.clip(across + along, 0.0, 1.0))))


def graph_distances(cells: int, edges: Iterable[tuple[int, int, float]]) -> Floats:
    """Shortest ways in metres along edges (cell, cell, metres), walked in both directions."""
    size = checks.whole_number("cells", cells, at_least=2, at_most=MOST_CELLS)
    d = np.full((size, size), np.inf)
    np.fill_diagonal(d, 0.0)
    for one, other, metres in edges:
        if not (0 <= one < size and 0 <= other < size and 0.0 < metres < math.inf):
            rule = f"cells from 0 to {size - 1} and a number of metres above 0"
            raise InvalidParameter.of("edges", rule, (one, other, metres))
        d[one, other] = d[other, one] = min(d[one, other], metres) if one != other else 0.0
    for via in range(size):
        np.minimum(d, d[:, via, None] + d[via], out=d)
    if np.isinf(d).any():
        raise InvalidParameter("Parameter `edges` must connect all cells; some cannot be reached.")
    return d


def _spent(d: Floats, rate: float) -> float:
    """b + largest (ln Z(x') - ln Z(x))/d(x, x')."""
    logs = np.log(np.exp(-rate * d).sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = (logs[None, :] - logs[:, None]) / d
    np.fill_diagonal(slopes, 0.0)
    return rate + float(slopes.max())


def _checked(distances: ArrayLike) -> Floats:
    """Distances between different cells: symmetric, above 0 but for the diagonal."""
    d = np.asarray(distances, np.float64)
    rule = "a square table of metres, symmetric, 0 on the diagonal and above 0 elsewhere"
    if d.ndim != 2 or d.shape[0] != d.shape[1] or not 2 <= len(d) <= MOST_CELLS:
        raise InvalidParameter.of("distances", f"{rule}, of 2 to {MOST_CELLS} cells", f"shape {d.shape}")
    away = d[~np.eye(len(d), dtype=bool)]
    if not np.isfinite(d).all() or (away <= 0.0).any() or np.diag(d).any() or not np.allclose(d, d.T, rtol=1e-9):
        raise InvalidParameter(f"Parameter `distances` must be {rule}; name every cell once.")
    return d


def _pairs(name: str, points: ArrayLike) -> Floats:
    given = np.asarray(points, np.float64)
    if given.ndim != 2 or given.shape[1] != 2 or not 2 <= len(given) <= MOST_CELLS or not np.isfinite(given).all():
        raise InvalidParameter.of(name, f"2 to {MOST_CELLS} pairs of numbers", f"shape {given.shape}")
    return given
