"""Files people have, described as data: where user, item and time are in each published data set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch

from entropie.data.roles import Role
from entropie.errors import InvalidParameter

_INTEGER = r"\d+"
_NUMBER = r"-?\d+(\.\d+)?"
_OBJECT_ID = r"[0-9a-f]{24}"
_WEEKDAY_TIME = r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d [+-]\d{4} \d{4}"
_ANY = r".*"


@dataclass(frozen=True, slots=True)
class Layout:
    """One text file of a data set: its names, its columns and what a line looks like."""

    file_names: tuple[str, ...]  # patterns, without .gz or .zst
    delimiter: str
    header: bool
    columns: tuple[str, ...]
    roles: dict[Role, str]
    line: tuple[str, ...] = ()  # one pattern per field, to recognise a file without a header
    quoted: bool = False

    def matches_name(self, file_name: str) -> bool:
        """Tell whether a file has one of the names the data set is published under."""
        bare = re.sub(r"\.(gz|zst)$", "", file_name.lower())
        return any(fnmatch(bare, pattern.lower()) for pattern in self.file_names)

    def matches_line(self, fields: Sequence[str]) -> bool:
        """Tell whether the first line of a file is what this layout begins with."""
        if self.header:
            return tuple(fields) == self.columns
        return len(fields) == len(self.line) and all(map(re.fullmatch, self.line, fields))


@dataclass(frozen=True, slots=True)
class Preset:
    """A data set: its layouts and the rules that belong to it."""

    name: str
    title: str
    layouts: tuple[Layout, ...] = ()
    min_rating: float | None = None
    newest_first: bool = False  # so that events of equal time keep the order in which they happened
    missing_items: tuple[str, ...] = ()  # ids that stand for "not recorded"; left out by rule, not as dirt
    suffixes: frozenset[str] = field(default=frozenset())  # of files in a folder; empty: any

    def roles_of(self, columns: Sequence[str]) -> dict[Role, str]:
        """Name the column of each role, by the first layout that fits the columns of a file."""
        fitting = (layout.roles for layout in self.layouts if set(layout.roles.values()) <= set(columns))
        return next(fitting, self.layouts[0].roles)

    @property
    def is_grid(self) -> bool:
        """Tell whether items are cells of a map, made from coordinates."""
        return not self.layouts


_SNAP_COLUMNS = ("user", "time", "latitude", "longitude", "location")
_SNAP_LINE = (_INTEGER, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", _NUMBER, _NUMBER)
_SNAP_ROLES: dict[Role, str] = {"user": "user", "item": "location", "time": "time"}
_TSMC_COLUMNS = (
    *("userId", "venueId", "venueCategoryId", "venueCategory"),
    *("latitude", "longitude", "timezoneOffset", "utcTimestamp"),
)
_TSMC_LINE = (_INTEGER, _OBJECT_ID, _OBJECT_ID, _ANY, _NUMBER, _NUMBER, r"-?\d+", _WEEKDAY_TIME)
_TSMC_ROLES: dict[Role, str] = {"user": "userId", "item": "venueId", "time": "utcTimestamp"}
_LENS_COLUMNS = ("userId", "movieId", "rating", "timestamp")
_LENS_LINE = (_INTEGER, _INTEGER, r"\d(\.\d)?", r"\d{8,10}")
_LENS_ROLES: dict[Role, str] = {"user": "userId", "item": "movieId", "time": "timestamp", "rating": "rating"}

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "foursquare-www2019",
            "Foursquare Global-scale Check-in (WWW 2019)",
            (
                Layout(
                    ("raw_Checkins_anonymized.txt", "dataset_WWW_Checkins_anonymized.txt"),
                    "\t",
                    False,
                    ("user", "venue", "utc_time", "timezone_offset"),
                    {"user": "user", "item": "venue", "time": "utc_time"},
                    (_INTEGER, _OBJECT_ID, _WEEKDAY_TIME, r"-?\d+"),
                ),
            ),
        ),
        Preset(
            "foursquare-tsmc2014",
            "Foursquare New York and Tokyo (TSMC 2014)",
            (
                # Category names are Latin-1; the columns that are read are ASCII, so no decoding is needed.
                Layout(("dataset_TSMC2014_*.txt",), "\t", False, _TSMC_COLUMNS, _TSMC_ROLES, _TSMC_LINE),
                Layout(("dataset_TSMC2014_*.csv",), ",", True, _TSMC_COLUMNS, _TSMC_ROLES, quoted=True),
            ),
        ),
        Preset(
            "gowalla",
            "Gowalla (SNAP)",
            (
                Layout(
                    ("loc-gowalla_totalCheckins.txt",),
                    "\t",
                    False,
                    _SNAP_COLUMNS,
                    _SNAP_ROLES,
                    (*_SNAP_LINE, _INTEGER),
                ),
            ),
            newest_first=True,
        ),
        Preset(
            "brightkite",
            "Brightkite (SNAP)",
            (
                Layout(
                    ("loc-brightkite_totalCheckins.txt",),
                    "\t",
                    False,
                    _SNAP_COLUMNS,
                    _SNAP_ROLES,
                    (*_SNAP_LINE, r"[0-9a-f]{32,40}"),
                ),
            ),
            newest_first=True,
            missing_items=("00000000000000000000000000000000",),
        ),
        Preset(
            "movielens",
            "MovieLens, ratings of 4 and above",
            (
                Layout(("ratings.csv",), ",", True, _LENS_COLUMNS, _LENS_ROLES),
                Layout(("ratings.dat",), "::", False, _LENS_COLUMNS, _LENS_ROLES, _LENS_LINE),
                Layout(("u.data",), "\t", False, _LENS_COLUMNS, _LENS_ROLES, _LENS_LINE),
            ),
            min_rating=4.0,
        ),
        Preset("geolife", "GeoLife trajectories, as cells of a grid", suffixes=frozenset({".plt"})),
    )
}


def find_preset(name: str) -> Preset:
    """Look a preset up by its name."""
    try:
        return PRESETS[name]
    except KeyError:
        raise InvalidParameter.among("preset", PRESETS, name) from None


def suggest_preset(delimiter: str, first_line: Sequence[str]) -> Preset | None:
    """Name the data set that a file looks like, judged by its first line."""
    for preset in PRESETS.values():
        for layout in preset.layouts:
            if layout.delimiter == delimiter and layout.matches_line(first_line):
                return preset
    return None
