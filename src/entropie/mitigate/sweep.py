"""How risk falls, and what it costs, as items and times are coarsened and events are left out."""

from __future__ import annotations

import datetime
import math
import sys
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie._version import __version__
from entropie.assessment import check_attack
from entropie.attack.chance import by_content
from entropie.attack.matchers import MATCHERS
from entropie.attack.measured import measured_attack
from entropie.attack.single import pie_bits
from entropie.data.coarsen import TIME_UNITS
from entropie.data.event_columns import EventColumns, event_numbers, read_event_columns
from entropie.data.filter import keep_active_users, sample_users
from entropie.data.split import Split, split_traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.measures.best import BestAttack
from entropie.measures.divergence import Divergence
from entropie.measures.identification import guessing_error, lift
from entropie.measures.intervals import Interval
from entropie.measures.summary import Measures
from entropie.mitigate.lever import Cost, Lever, Material, pull
from entropie.mitigate.sweep_words import first_sentence, lowest_sentence, stronger_sentence
from entropie.notebook import html_table
from entropie.progress import silent, under
from entropie.request import Run, Source, converted
from entropie.theory import checks

__all__ = ["SCHEMA", "Sweep", "SweepRow", "default_levers", "sweep", "sweep_traces"]

SCHEMA = "entropie.sweep/1"
REPLICATES = 200
"""Bootstrap replicates of the bits: fewer than in an assessment, because every lever needs its own."""
_COMPANION = "visit"
"""Run beside the strongest matcher: it asks neither order nor time, so that it stays strong where those are gone."""
_CUTS = (5, 10, 20)
_THINNINGS = (0.5, 0.1)
_GRIDS = ("100m", "500m", "2km")
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class SweepRow:
    """What is left of the risk when one lever is pulled, and what it costs. Without a lever: the data as they are.

    items, events, people   in what is released: distinct items, events, people with at least one event
    error                   share of all people named wrongly by the best matcher; the interval allows for its choice
    pie_bits                I(U;X) of one released event
    matchers                those tried here; `all_matchers` where none was left out
    useful                  fewer people are named than without the lever, and the two intervals do not meet
    """

    lever: Lever | None
    items: int
    events: int
    people: int
    matcher: str
    matchers: tuple[str, ...]
    error: Interval
    guessing_error: float
    pse: Divergence
    pie_bits: float
    lift: float
    cost: Cost | None
    risk_reduction: float
    useful: bool
    note: str | None = None

    @property
    def risk(self) -> Interval:
        """Share of people named rightly."""
        return self.error.complement

    @property
    def usefulness(self) -> float | None:
        """Share of people no longer named for each share lost; None where nothing is lost."""
        return None if self.cost is None or self.cost.share == 0.0 else self.risk_reduction / self.cost.share

    @property
    def all_matchers(self) -> bool:
        """Tell whether every matcher there is was tried."""
        return set(self.matchers) == set(MATCHERS)

    def to_json(self) -> dict[str, Any]:
        """The documented object of one row."""
        return {
            "lever": None if self.lever is None else self.lever.kind,
            "setting": None if self.lever is None else self.lever.setting,
            "does": None if self.lever is None else self.lever.sentence,
            "items": self.items,
            "events": self.events,
            "people": self.people,
            "matcher": self.matcher,
            "matchers": list(self.matchers),
            "identification_error": self.error.to_json(),
            "lift": self.lift,
            "pse_bits": self.pse.to_json(),
            "pie_bits": self.pie_bits,
            "cost": None if self.cost is None else {"value": self.cost.share, "of": self.cost.measure},
            "risk_reduction": self.risk_reduction,
            "usefulness": self.usefulness,
            "useful": self.useful,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class Sweep:
    """Rows in the order in which to consider them: useful levers, the cheapest first, then the others.

    users      people attacked, the same in every row
    as_it_is   the row without a lever
    """

    input: dict[str, Any]
    users: int
    known_events: int
    as_it_is: SweepRow
    rows: tuple[SweepRow, ...]
    provenance: dict[str, Any]

    @property
    def first(self) -> SweepRow | None:
        """The first lever to pull: the cheapest useful one."""
        return self.rows[0] if self.rows and self.rows[0].useful else None

    @property
    def lowest(self) -> SweepRow | None:
        """The useful lever that leaves the smallest risk; the cheaper one between equals."""
        useful = [row for row in self.rows if row.useful]
        return max(useful, key=lambda row: row.risk_reduction, default=None)

    @property
    def stronger(self) -> SweepRow | None:
        """Where the attack is stronger than on the data as they are, beyond the intervals: the worst such row."""
        rows = [row for row in self.rows if row.error.high < self.as_it_is.error.low]
        return min(rows, key=lambda row: row.error.value, default=None)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Which lever to pull first, and how far levers go; before them, whether one made the attack stronger."""
        warning = () if self.stronger is None else (stronger_sentence(self.stronger),)
        return *warning, first_sentence(self), lowest_sentence(self)

    def to_json(self) -> dict[str, Any]:
        """The document `sweep.json`: plain values, None instead of NaN."""
        return {
            "schema": SCHEMA,
            "input": self.input,
            "users": self.users,
            "known_events": self.known_events,
            "guessing_error": guessing_error(self.users),
            "name_bits": math.log2(self.users),
            "as_it_is": self.as_it_is.to_json(),
            "rows": [row.to_json() for row in self.rows],
            "first": None if self.first is None else 0,
            "sentences": list(self.sentences),
            "provenance": self.provenance,
        }

    def _repr_html_(self) -> str:
        rows = []
        for row in (self.as_it_is, *self.rows):
            name = "as it is" if row.lever is None else f"{row.lever.kind} {row.lever.setting}"
            cost = 0.0 if row.cost is None else row.cost.share
            rows.append((name, row.items, row.events, row.risk.value, row.risk.low, row.risk.high, cost))
        return html_table(" ".join(self.sentences), ("lever", "items", "events", "named", "low", "high", "cost"), rows)


def sweep(
    events: object,
    levers: Sequence[Lever] | None = None,
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
    sample: int | None = None,
    max_dirty_share: float = 0.01,
    matchers: Sequence[str] | None = None,
    seed: int = 0,
    replicates: int = REPLICATES,
    threads: int | None = None,
    memory_limit: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Pull every lever in turn and attack what is left of an event table.

    The table is a path or anything with `__arrow_c_stream__`. Without levers those that apply are tried
    (`default_levers`). `latitude` and `longitude` name the columns that levers of kind `grid` need; the other
    arguments are those of `entropie.assess` and of `sweep_traces`.
    """
    begun = clock.perf_counter()
    check_attack(tuple(MATCHERS) if matchers is None else matchers, seed, threads)
    if sample is not None:
        sample = checks.whole_number("sample", sample, at_least=2)
    coordinates = _coordinates(levers, latitude, longitude)
    named = [str(lever.setting) for lever in levers or () if lever.kind == "category"]
    source = Source(
        events, user=user, item=item, time=time, rating=rating, preset=preset, min_rating=min_rating,
        max_dirty_share=max_dirty_share,
    )  # fmt: skip
    memory = None if memory_limit is None else converted("memory_limit", "bytes", memory_limit)
    run = Run(threads=threads, memory=memory, progress=under(progress or silent, "reading"))
    read = read_event_columns(source, list(dict.fromkeys([*named, *(coordinates or ())])), run)
    material, facts = _selected(read, min_events, sample, coordinates, seed)
    del read
    return sweep_traces(
        material,
        levers,
        matchers=matchers,
        replicates=replicates,
        threads=threads,
        progress=progress,
        input_facts=facts,
        begun=begun,
    )


def sweep_traces(
    material: Material,
    levers: Sequence[Lever] | None = None,
    *,
    matchers: Sequence[str] | None = None,
    replicates: int = REPLICATES,
    threads: int | None = None,
    progress: Progress | None = None,
    input_facts: dict[str, Any] | None = None,
    begun: float | None = None,
) -> Sweep:
    """The same for events in memory.

    `matchers` are run on every lever. Without them all are run on the data as they are, and then the strongest of
    them and `visit` on every lever; the lever that comes out first is attacked with the others too, and loses its
    place where one of them undoes it.
    """
    begun = clock.perf_counter() if begun is None else begun
    chosen = default_levers(material) if levers is None else tuple(dict.fromkeys(levers))
    if not chosen:
        raise InvalidInput("No lever applies to these data; name one, such as --category or --prefix.")
    if material.split.train.users < 2:
        raise InvalidInput("An attack needs at least two people with enough events, there is one; lower --min-events.")
    everything = tuple(MATCHERS) if matchers is None else tuple(dict.fromkeys(matchers))
    tell = progress or (lambda stage, share: None)
    run = _Run(material.seed, replicates, threads, tell, len(chosen) + 1, len(everything))
    as_it_is = run.attacked(None, material.split, None, None, everything, 0)
    used = everything if matchers is not None else tuple(dict.fromkeys((as_it_is.matcher, _COMPANION)))
    rows = []
    for place, lever in enumerate(chosen):
        split, cost, note = pull(lever, material)
        rows.append(_judged(run.attacked(lever, split, cost, note, used, place + 1), as_it_is))
    rows.sort(key=_order)
    while rows[0].useful and rows[0].matchers != everything:
        rows[0] = _judged(run.completed(rows[0], pull(rows[0].lever, material)[0], everything), as_it_is)  # type: ignore[arg-type]
        rows.sort(key=_order)
    return Sweep(
        input=input_facts or {},
        users=material.split.train.users,
        known_events=material.split.train.events,
        as_it_is=as_it_is,
        rows=tuple(rows),
        provenance={
            "version": __version__,
            "python": sys.version.split()[0],
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": None,
            "seed": material.seed,
            "replicates": replicates,
            "seconds": round(clock.perf_counter() - begun, 3),
        },
    )


def default_levers(material: Material) -> tuple[Lever, ...]:
    """The levers any events have: most frequent items by powers of ten, cuts, thinning; grids and times where known."""
    released = material.split.target
    items = int(np.unique(released.items).size)
    longest = int(np.diff(released.offsets).max())
    powers = [10**power for power in range(1, 10) if 10**power < items]
    return (
        *(Lever("top", count) for count in powers),
        *(Lever("grid", size) for size in _GRIDS if material.coordinates is not None),
        *(Lever("time", unit) for unit in TIME_UNITS if released.times is not None and longest > 1),
        *(Lever("first", count) for count in _CUTS if count < longest),
        *(Lever("thin", share) for share in _THINNINGS),
    )


@dataclass(frozen=True, slots=True)
class _Run:
    """What all attacks of one sweep share."""

    seed: int
    replicates: int
    threads: int | None
    tell: Progress
    steps: int
    choices: int  # matchers there are to choose from, on whatever row

    def attacked(
        self, lever: Lever | None, split: Split, cost: Cost | None, note: str | None, names: Sequence[str], step: int
    ) -> SweepRow:
        """Attack what a lever leaves with these matchers."""
        title = "as it is" if lever is None else f"{lever.kind} {lever.setting}"
        self.tell(f"attacking: {title}", step / self.steps)
        best = BestAttack.of({name: self._measures(name, split) for name in names}, tried=self.choices)
        released = split.target
        return SweepRow(
            lever=lever,
            items=int(np.unique(released.items).size),
            events=released.events,
            people=int(np.count_nonzero(np.diff(released.offsets))),
            matcher=best.matcher,
            matchers=tuple(names),
            error=best.error,
            guessing_error=guessing_error(split.train.users),
            pse=best.measures.pse,
            pie_bits=pie_bits(released) if released.events else 0.0,
            lift=lift(best.error.value, split.train.users),
            cost=cost,
            risk_reduction=0.0,
            useful=False,
            note=note,
        )

    def completed(self, row: SweepRow, split: Split, names: Sequence[str]) -> SweepRow:
        """The same row with the matchers that have not been tried on it."""
        return self.attacked(row.lever, split, row.cost, row.note, names, self.steps - 1)

    def _measures(self, name: str, split: Split) -> Measures:
        return measured_attack(name, split.train, split.target, Run(self.seed, self.replicates, self.threads))


def _judged(row: SweepRow, as_it_is: SweepRow) -> SweepRow:
    """Compare a row with the data as they are."""
    reduction = row.error.value - as_it_is.error.value
    return replace(row, risk_reduction=reduction, useful=row.error.low > as_it_is.error.high)


def _order(row: SweepRow) -> tuple[bool, float, float]:
    """Useful rows first, the cheapest of them first, the stronger one between equals."""
    assert row.cost is not None
    return not row.useful, row.cost.share, -row.risk_reduction


def _coordinates(levers: Sequence[Lever] | None, latitude: str | None, longitude: str | None) -> tuple[str, str] | None:
    """The columns of coordinates, where any lever asks for them."""
    if latitude is not None and longitude is not None:
        return (latitude, longitude) if levers is None or any(lever.kind == "grid" for lever in levers) else None
    if latitude is not None or longitude is not None or any(lever.kind == "grid" for lever in levers or ()):
        raise InvalidParameter("A grid needs both columns of coordinates: name them with --lat and --lon.")
    return None


def _selected(
    read: EventColumns, min_events: int, sample: int | None, coordinates: tuple[str, str] | None, seed: int
) -> tuple[Material, dict[str, Any]]:
    """The people to attack, their columns, and the account of what was read and left out."""
    least = checks.whole_number("min_events", min_events, at_least=2)
    events = read.events
    active = keep_active_users(events.traces, least)
    facts = {
        **events.report.as_dict(),
        "min_events": least,
        "dropped_users": active.dropped_users,
        "dropped_events": active.dropped_events,
    }
    users = active.users
    chosen = events.select(active)
    if sample is not None and sample < chosen.traces.users:
        part = sample_users(chosen.traces, chosen.user_ids, count=sample)
        users = users[part.users]
        chosen = chosen.select(part)
        facts["sampled_users"] = chosen.traces.users
    places = event_numbers(events.traces, users)
    columns = {name: values.take(places) for name, values in read.columns.items()}
    split = split_traces(chosen.traces)
    return Material(chosen.traces, split, chosen.item_ids, columns, coordinates, _keys(split), seed), facts


def _keys(split: Split) -> NDArray[np.int64]:
    """A number per person that goes by what she did, so that thinning does not depend on names."""
    order = by_content(split)
    keys = np.empty_like(order)
    keys[order] = np.arange(order.size)
    return keys
