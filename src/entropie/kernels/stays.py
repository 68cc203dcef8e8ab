"""Where people stay: runs of positions near each other that last."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from entropie.kernels.caching import njit

__all__ = ["find_stays"]


@njit(nogil=True, cache=True)
def find_stays(
    offsets: NDArray[np.int64],
    latitudes: NDArray[np.float64],
    longitudes: NDArray[np.float64],
    times: NDArray[np.int64],
    angle: float,
    seconds: int,
) -> tuple[NDArray[np.int64], int]:
    """Replace positions by stays, in place; gives the offsets of users among them, and how many positions are in stays.

    A stay begins at the first position from which all that follow are at most `angle` radians away for at least
    `seconds`; it ends before the first that is not, and the search goes on there (Li, Zheng et al. 2008). Positions are
    in radians and in order of time. A stay has the mean of its positions and the time of the first.
    """
    users = offsets.shape[0] - 1
    found = np.zeros(users + 1, np.int64)
    near = math.sin(0.5 * angle) ** 2
    stays, inside = 0, 0
    for user in range(users):
        first, last = offsets[user], offsets[user + 1]
        while first < last:
            north, east = latitudes[first], longitudes[first]
            shrink = math.cos(north)
            sum_north, sum_east = 0.0, 0.0
            end = first
            while end < last:
                up = latitudes[end] - north
                along = longitudes[end] - east
                if along > math.pi:
                    along -= 2.0 * math.pi
                elif along < -math.pi:
                    along += 2.0 * math.pi
                apart = math.sin(0.5 * up) ** 2 + shrink * math.cos(latitudes[end]) * math.sin(0.5 * along) ** 2
                if apart > near:
                    break
                sum_north += up
                sum_east += along
                end += 1
            if times[end - 1] - times[first] >= seconds:
                count = end - first
                latitudes[stays] = north + sum_north / count
                longitudes[stays] = east + sum_east / count
                times[stays] = times[first]
                stays += 1
                inside += count
                first = end
            elif end == last:
                break  # whatever begins later ends here too, and is shorter
            else:
                first += 1
        found[user + 1] = stays
    return found, inside
