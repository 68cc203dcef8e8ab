"""The attackers by what they know, where they are found by name, and who of them is judged.

An attacker is one file with a runner (`entropie.attack.attacker.Runner`) and one line here. A runner may give rows of
several attackers, as that of profiles does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from entropie.attack.attacker import AttackerRow, Release, Runner
from entropie.attack.known import known_rows
from entropie.attack.point_errors import error_rows
from entropie.attack.points import JUDGED_POINTS, point_rows
from entropie.attack.profile.rows import profile_rows
from entropie.attack.reports import report_rows
from entropie.request import ATTACKERS, Request

RUNNERS: Mapping[str, Runner] = MappingProxyType(
    {
        "points": point_rows,
        "point errors": error_rows,
        "profile": profile_rows,
        "known file": known_rows,
        "reports": report_rows,
    }
)


def runners(request: Request) -> tuple[Runner, ...]:
    """The attackers that a request gives enough to."""
    unasked = {"known file", "reports"} if request.attackers.known is None else set()
    unasked |= {"point errors"} if request.attackers.point_errors is None else set()
    return tuple(run for name, run in RUNNERS.items() if name not in unasked)


def attacker_rows(release: Release, request: Request) -> Iterator[AttackerRow]:
    """Run every attacker; those that do not apply give no row."""
    for run in runners(request):
        yield from run(release, request)


def scoped(rows: list[AttackerRow], request: Request) -> tuple[AttackerRow, ...]:
    """Say of each row whether it is judged: by name, and of points the number and resolution of the convention.

    Nobody sees the reports of a mechanism but who receives them, so that known reports are no knowledge about a person:
    where the attacker who knows the mechanism was run on reports that fit it, points are judged only if asked for.
    """
    needless = {name for row in rows for name in row.instead_of}
    names = request.attackers.scope or tuple(name for name in ATTACKERS if name not in needless)
    finest = next((row.time_resolution for row in rows if row.attacker == "points"), None)
    return tuple(
        replace(
            row,
            in_scope=row.attacker in names
            and (row.attacker != "points" or (row.points == JUDGED_POINTS and row.time_resolution == finest)),
        )
        for row in rows
    )
