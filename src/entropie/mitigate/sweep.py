"""How risk falls, and what it costs, as items and times are coarsened and events are dropped: one mitigation each."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from msgspec import convert, structs
from numpy.typing import NDArray

from entropie.attack.chance import by_content
from entropie.attack.measured import measured_attack
from entropie.attack.single import pie_bits
from entropie.data.event_columns import EventColumns, event_numbers, read_event_columns
from entropie.data.filter import drawn_users, keep_active_users
from entropie.data.split import Split, split_traces
from entropie.document.base import Input, Provenance
from entropie.document.measured import ScoreBits, ShareInterval
from entropie.errors import InvalidInput, InvalidParameter, interruptible, option
from entropie.findings import provenance_of
from entropie.measures.best import BestAttack
from entropie.measures.identification import guessing_error, lift
from entropie.mitigate.material import Material
from entropie.mitigate.mitigation import KINDS, Cost, Mitigation
from entropie.mitigate.sweep_result import Sweep, SweepRow
from entropie.mitigate.windows import matchers_of
from entropie.plan.expected import foretell_matchers
from entropie.progress import Progress, silent, under
from entropie.request import Attackers, People, Request, Run, Source
from entropie.theory import checks

REPLICATES = 200
"""Most bootstrap replicates of the bits: fewer than in an assessment, because every mitigation needs its own."""
_COMPANION = "visit"
_USED = 2  # matchers on every mitigation: the strongest and its companion
"""Run beside the strongest matcher: it asks neither order nor time, so that it stays strong where those are gone."""
_ANY_PEOPLE, _ALL, _ANY_RUN = People(), Attackers(), Run()


@dataclass(frozen=True, slots=True)
class Options:
    """What to try: mitigations (those that apply, where None), and the columns of coordinates that grids need."""

    mitigations: tuple[Mitigation, ...] | None = None
    latitude: str | None = None
    longitude: str | None = None

    def __post_init__(self) -> None:
        if self.mitigations is not None:
            object.__setattr__(self, "mitigations", tuple(dict.fromkeys(self.mitigations)))
        if (self.latitude is None) != (self.longitude is None) or (self.latitude is None and self._wants_grid):
            raise InvalidParameter(
                "Map cells need both columns of coordinates: name them with "
                f"{option('latitude')} and {option('longitude')}."
            )

    @property
    def coordinates(self) -> tuple[str, str] | None:
        """The columns of coordinates, where anything asks for them."""
        if self.latitude is None or self.longitude is None or not (self.mitigations is None or self._wants_grid):
            return None
        return self.latitude, self.longitude

    @property
    def columns(self) -> list[str]:
        """The columns to read beside the events."""
        named = [column for one in self.mitigations or () for column in one.of.columns(one.setting)]
        return list(dict.fromkeys([*named, *(self.coordinates or ())]))

    @property
    def _wants_grid(self) -> bool:
        return any(one.of.on_map for one in self.mitigations or ())


_ANY_OPTIONS = Options()


@interruptible
def sweep(
    events: object,
    mitigations: Sequence[Mitigation] | None = None,
    *,
    user: str | None = None,
    item: str | None = None,
    time: str | None = None,
    rating: str | None = None,
    preset: str | None = None,
    min_rating: float | None = None,
    latitude: str | None = None,
    longitude: str | None = None,
    min_events: int = 10,
    targets: int | str | None = None,
    max_dirty_share: float = 0.01,
    matchers: Sequence[str] | None = None,
    seed: int = 0,
    replicates: int = REPLICATES,
    threads: int | None = None,
    memory: int | str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Try each mitigation alone on an event table and attack what it leaves.

    The table is a path or anything with `__arrow_c_stream__`. Without `mitigations` those that apply are tried
    (`default_mitigations`). `latitude` and `longitude` name the columns that map cells need. `matchers` are run on
    every mitigation; without them, see `sweep_source`. The other arguments are those of `entropie.assess`.
    """
    request = Request.of(
        events,
        {
            "user": user, "item": item, "time": time, "rating": rating, "preset": preset, "min_rating": min_rating,
            "min_events": min_events, "targets": targets, "max_dirty_share": max_dirty_share, "matchers": matchers,
            "seed": seed, "replicates": replicates, "threads": threads, "memory": memory, "progress": progress,
        },
    )  # fmt: skip
    options = Options(None if mitigations is None else tuple(mitigations), latitude, longitude)
    return sweep_source(request.source, options, request.people, request.attackers, request.run)


def sweep_source(
    source: Source,
    options: Options = _ANY_OPTIONS,
    people: People = _ANY_PEOPLE,
    attackers: Attackers = _ALL,
    run: Run = _ANY_RUN,
) -> Sweep:
    """The same from the sections of a request.

    Matchers that are named are run on every mitigation. Without them all are run on the data as they are, and then
    the strongest of them and `visit` on every mitigation; the one that comes out first is attacked with the others
    too, and loses its place where one of them undoes it.
    """
    begun = clock.perf_counter()
    names = matchers_of(attackers)
    run = replace(run, replicates=min(run.replicates, REPLICATES))
    read = read_event_columns(source, options.columns, replace(run, progress=under(run.progress, "reading")))
    material, facts = _selected(read, people, attackers, options.coordinates, run.seed)
    del read
    chosen = default_mitigations(material) if options.mitigations is None else options.mitigations
    if not chosen:
        raise InvalidInput(
            f"No mitigation applies to these data; name one, such as {option('category')} or {option('prefix')}."
        )
    if material.split.train.users < 2:
        raise InvalidInput(
            f"An attack needs at least two people with enough events, there is one; lower {option('min_events')}."
        )
    each = 1.0 if attackers.matchers else min(1.0, _USED / len(names))
    again = 0.0 if attackers.matchers else 1.0  # the first row, with all matchers
    foretell_matchers(names, material.split, run, 1.0 + each * len(chosen) + again)
    as_it_is, rows = _Search(material, run, names, len(chosen)).rows(chosen, all_on_each=bool(attackers.matchers))
    users = material.split.train.users
    return Sweep(
        input=convert(facts, Input),
        users=users,
        known_events=material.split.train.events,
        guessing_error=guessing_error(users),
        name_bits=math.log2(users),
        as_it_is=as_it_is,
        rows=tuple(rows),
        first=None,
        sentences=(),
        provenance=convert(provenance_of(run, begun), Provenance),
    )


def default_mitigations(material: Material) -> tuple[Mitigation, ...]:
    """What any events allow: most frequent items by powers of ten, cuts, thinning; grids and times where known."""
    return tuple(Mitigation(kind.name, setting) for kind in KINDS.values() for setting in kind.tried(material))


@dataclass(frozen=True, slots=True)
class _Search:
    """What all attacks of one sweep share."""

    material: Material
    run: Run
    names: tuple[str, ...]  # matchers there are to choose from, on whatever row
    steps: int

    def rows(self, chosen: Sequence[Mitigation], *, all_on_each: bool) -> tuple[SweepRow, list[SweepRow]]:
        """The row of the data as they are, and those of the mitigations in order."""
        self._tell("as is", 0)
        as_it_is = self._attacked(self.material.split, self.names)
        used = self.names if all_on_each else tuple(dict.fromkeys((as_it_is.matcher, _COMPANION)))
        rows = []
        for place, mitigation in enumerate(chosen):
            self._tell(mitigation.name, place + 1)
            rows.append(self._under(mitigation, used, as_it_is))
        rows.sort(key=_order)
        while rows[0].useful and rows[0].matchers != self.names and rows[0].chosen is not None:
            self._tell(rows[0].name, self.steps)
            rows[0] = self._under(rows[0].chosen, self.names, as_it_is)
            rows.sort(key=_order)
        return as_it_is, rows

    def _tell(self, what: str, step: int) -> None:
        self.run.progress(f"attacking: {what}", step / (self.steps + 1))

    def _under(self, mitigation: Mitigation, names: Sequence[str], as_it_is: SweepRow) -> SweepRow:
        """Attack what a mitigation leaves, and compare it with the data as they are."""
        split, lost, note = mitigation.of.release(self.material, mitigation.setting)
        row, before = self._attacked(split, names), as_it_is.identification_error
        fewer = row.identification_error.value - before.value
        return structs.replace(
            row,
            mitigation=mitigation.kind,
            setting=mitigation.setting,
            action=mitigation.action,
            cost=Cost(lost, mitigation.of.cost),
            risk_reduction=fewer,
            usefulness=None if lost == 0.0 else fewer / lost,
            useful=row.identification_error.low > before.high,
            note=note,
        )

    def _attacked(self, split: Split, names: Sequence[str]) -> SweepRow:
        """Attack what is released with these matchers."""
        quiet, released = replace(self.run, progress=silent), split.target
        attacks = {name: measured_attack(name, split, quiet) for name in names}
        best = BestAttack.of(attacks, tried=len(self.names))
        return SweepRow(
            mitigation=None,
            setting=None,
            action=None,
            items=int(np.unique(released.items).size),
            events=released.events,
            people=int(np.count_nonzero(np.diff(released.offsets))),
            matcher=best.matcher,
            matchers=tuple(names),
            identification_error=ShareInterval(**best.error.to_json()),
            lift=lift(best.error.value, split.train.users),
            pse_bits=ScoreBits(**best.measures.pse.to_json()),
            pie_bits=pie_bits(released) if released.events else 0.0,
            cost=None,
            risk_reduction=0.0,
            usefulness=None,
            useful=False,
            note=None,
        )


def _order(row: SweepRow) -> tuple[bool, float, float]:
    """Useful rows first, the cheapest of them first, the stronger one between equals."""
    assert row.cost is not None
    return not row.useful, row.cost.value, -row.risk_reduction


def _selected(
    read: EventColumns, people: People, attackers: Attackers, coordinates: tuple[str, str] | None, seed: int
) -> tuple[Material, dict[str, Any]]:
    """The people assessed, their columns, and the account of what was read and excluded."""
    least = checks.whole_number("min_events", people.min_events, at_least=2)
    events = read.events
    active = keep_active_users(events.traces, least)
    facts = {
        **events.report.as_dict(),
        "min_events": least,
        "dropped_users": active.dropped_users,
        "dropped_events": active.dropped_events,
    }
    chosen = events.select(active)
    places = event_numbers(events.traces, active.users)
    columns = {name: values.take(places) for name, values in read.columns.items()}
    split = split_traces(chosen.traces, drawn=drawn_users(chosen.user_ids, attackers))
    return Material(chosen.traces, split, chosen.item_ids, columns, coordinates, _keys(split), seed), facts


def _keys(split: Split) -> NDArray[np.int64]:
    """A number per person that goes by what they did, so that thinning does not depend on names."""
    order = by_content(split)
    keys = np.empty_like(order)
    keys[order] = np.arange(order.size)
    return keys
