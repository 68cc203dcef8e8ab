"""The cheapest combination of mitigations that meets a limit, or that none does.

result = entropie.sweep("checkins.csv", profile="ema", cost="items")
result.cheapest
result.write("out")
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from msgspec import convert

from entropie._version import __version__
from entropie.attack.attacker import strongest_row
from entropie.data.budget import Budget
from entropie.data.event_columns import read_event_columns
from entropie.data.filter import drawn_users
from entropie.document.base import Input, Provenance
from entropie.document.measured import ShareInterval
from entropie.document.verdict import Profile
from entropie.errors import InvalidInput, InvalidParameter, interruptible, option
from entropie.findings import check_matchers, provenance_of
from entropie.gate.judge import Gate
from entropie.measures.intervals import Interval
from entropie.mitigate.draft import Draft, Material
from entropie.mitigate.kind import AXES
from entropie.mitigate.loss import check_scale, loss
from entropie.mitigate.mitigation import Combination, Mitigation, candidates
from entropie.plan.costs import attacker_bytes
from entropie.progress import Progress, silent, under
from entropie.release.judging import Judge, Judged
from entropie.release.plan import Data, Judging, MitigationStep, ReleasePlan
from entropie.release.result import Outcome, Sweep, SweepRow
from entropie.release.search import cheapest
from entropie.request import Request
from entropie.theory import checks
from entropie.words import plural
from entropie.words import seconds as shown_seconds

REPLICATES = 200
"""Most bootstrap replicates of the bits: fewer than in an assessment, because every combination needs its own."""
BUDGET = 40
_KEPT = 4  # the share of the budget that is kept, at most, to see whether every step of what was found is needed
EVENT_BYTES = 220
"""What an event takes, with all that is made of it: a sweep holds all of them."""
MOST_COMBINATIONS = 2_000
MOST_PRICED = 500_000
"""Events that combinations are priced by before they are tried; what is tried is priced by all."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to try, and how long.

    mitigations   settings that are tried instead of the usual ones of their kinds
    only          try no other kinds
    cost          the scale of the cost
    budget        how many combinations are attacked at most
    seconds       how long to go on trying; None: until the budget is used up
    """

    mitigations: tuple[Mitigation, ...] = ()
    only: bool = False
    cost: str = "information"
    budget: int = BUDGET
    seconds: float | None = None
    lat: str | None = None
    lon: str | None = None

    def __post_init__(self) -> None:
        check_scale(self.cost)
        checks.whole_number("budget", self.budget, at_least=1, at_most=MOST_COMBINATIONS)
        if self.seconds is not None:
            checks.real_number("seconds", self.seconds, "a number of seconds from 0", 0.0, 1e9)
        if self.only and not self.mitigations:
            raise InvalidParameter(f"{option('only')} needs a mitigation to be named.")
        if (self.lat is None) != (self.lon is None) or (self.lat is None and self.wants_grid):
            raise InvalidParameter(
                f"Map cells need both columns of coordinates: name them with {option('lat')} and {option('lon')}."
            )

    @property
    def coordinates(self) -> tuple[str, str] | None:
        """The columns of coordinates, where anything asks for them."""
        if self.lat is None or self.lon is None or (self.only and not self.wants_grid):
            return None
        return self.lat, self.lon

    @property
    def columns(self) -> list[str]:
        """The columns to read beside the events."""
        named = [column for one in self.mitigations for column in one.of.columns(one.setting)]
        return list(dict.fromkeys([*named, *(self.coordinates or ())]))

    @property
    def wants_grid(self) -> bool:
        """Whether map cells are named among what is tried."""
        return any(one.of.on_map for one in self.mitigations)


@interruptible
def sweep(
    events: object = None,
    mitigations: Sequence[Mitigation] = (),
    *,
    only: bool = False,
    cost: Literal["information", "items", "item-hours", "flows", "top"] = "information",
    budget: int = BUDGET,
    seconds: float | None = None,
    source: str | None = None,
    query: str | None = None,
    table: str | None = None,
    format: Literal["csv", "jsonl", "parquet"] | None = None,
    user: str | None = None,
    item: str | Sequence[str] | None = None,
    time: str | None = None,
    time_format: str | None = None,
    time_zone: str | None = None,
    rating: str | None = None,
    preset: str | None = None,
    min_rating: float | None = None,
    lat: str | None = None,
    lon: str | None = None,
    cells: str | None = None,
    stays: str | None = None,
    max_dirty_share: float = 0.01,
    min_events: int = 10,
    rule: Literal["date", "halves", "history"] | None = None,
    scope: Sequence[str] = (),
    matchers: Sequence[str] = (),
    targets: int | str | None = None,
    profile: str | None = None,
    limit: float | str | None = None,
    limit_name: str | None = None,
    fail_on: Literal["average", "worst"] | None = None,
    attempt_probability: float | None = None,
    not_released: bool = False,
    one_id_per_person: bool = False,
    accept_limited: bool = False,
    seed: int = 0,
    replicates: int = REPLICATES,
    threads: int | None = None,
    memory: int | str | None = None,
    progress: Progress = silent,
) -> Sweep:
    """Find the cheapest combination of mitigations under which events meet a limit.

    `mitigations` are tried instead of the usual settings of their kinds; the other kinds are tried too, unless `only`.
    Costs are measured on one scale, `cost`. At most `budget` combinations are attacked, for at most about `seconds`.
    `lat` and `lon` name the columns that map cells need, as items (`cells`) or as a mitigation. The other arguments are
    those of `entropie.assess`.
    """
    own = ("events", "mitigations", "only", "cost", "budget", "seconds")
    given = {name: value for name, value in locals().items() if name not in (*own, "own")}
    return swept(Request.of(events, given), Options(tuple(mitigations), only, cost, budget, seconds, lat, lon))


def swept(request: Request, options: Options) -> Sweep:
    """The same from a request."""
    begun = clock.perf_counter()
    request, options = _coordinates_settled(request, options)
    check_matchers(request.attackers.matchers)
    gate = Gate.of(request.verdict)
    if gate.profile is None:
        raise InvalidParameter(
            f"A sweep looks for what meets a limit: name it with {option('profile')}, such as ema, or with "
            f"{option('limit')}, {option('limit_name')} and {option('fail_on')}."
        )
    run = replace(request.run, replicates=min(request.run.replicates, REPLICATES))
    request = replace(request, run=run)
    read = read_event_columns(request.source, options.columns, replace(run, progress=under(run.progress, "reading")))
    events = read.events
    drawn, traces = drawn_users(events.user_ids, request.attackers), events.traces
    attack = attacker_bytes(traces.users, traces.events, traces.users if drawn is None else drawn.size)
    Budget(events.report.source, run.memory).require(EVENT_BYTES * traces.events + attack)
    material = Material.of(events.traces, events.item_ids, read.columns, options.coordinates, run.seed)
    check_scale(options.cost, material)
    tried = candidates(material, options.mitigations, only=options.only)
    if len(tried) > MOST_COMBINATIONS:
        raise InvalidParameter(
            f"There are {len(tried):,} combinations, at most {MOST_COMBINATIONS:,} can be looked at; name fewer "
            f"settings, or give {option('only')}."
        )
    few = np.count_nonzero(np.diff(events.traces.offsets) < request.people.min_events)
    facts = {**events.report.as_dict(), "min_events": request.people.min_events, "dropped_users": int(few)}
    judge = Judge(request, gate, facts, drawn, min(options.budget, len(tried)))
    data = Data.of(events.report, request.source, options.coordinates, options.columns)
    return _Search(material, judge, options, tried, data, begun).result()


def _coordinates_settled(request: Request, options: Options) -> tuple[Request, Options]:
    """Coordinates make the items where cells are asked for; else they are there for map cells to be tried.

    Where items are cells already, other ones are tried only if they are named: they could be finer.
    """
    if request.source.cells is None:
        return replace(request, source=replace(request.source, lat=None, lon=None)), options
    return request, options if options.wants_grid else replace(options, lat=None, lon=None)


@dataclass(frozen=True, slots=True)
class _Search:
    """One sweep at work."""

    material: Material
    judge: Judge
    options: Options
    tried: list[Combination]
    data: Data
    begun: float

    def result(self) -> Sweep:
        """Price everything, try the data as they are, search."""
        tell = self.judge.request.run.progress
        nothing = Combination()
        tell("attacking: as is", 0.0)
        before = self.material.draft()
        as_it_is = self._row(nothing, before, whole=True)
        if as_it_is.attacker is None:
            raise InvalidInput(
                f"An attack needs at least two people with enough events; lower {option('min_events')}, or add people."
            )
        prices = dict(self._prices())
        rows: dict[int, SweepRow] = {}
        rest = [one for one in self.tried if one != nothing]
        started = clock.perf_counter()

        def goes_on(improving: bool) -> bool:
            spent = clock.perf_counter() - self.begun
            kept = min(len(AXES), self.options.budget // _KEPT) if improving else 0
            in_time = self.options.seconds is None or spent < self.options.seconds
            return len(rows) < self.options.budget - kept and in_time

        def meets(place: int) -> bool | None:
            spent = clock.perf_counter() - started
            left = (
                f", at most {shown_seconds(spent / len(rows) * (self.options.budget - len(rows)))} left" if rows else ""
            )
            tell(f"attacking: {rest[place].name}{left}", len(rows) / self.options.budget)
            rows[place] = self._row(rest[place], rest[place].applied(self.material.draft()))
            row = rows[place]
            # Where too little is left to tell, less of the same may do; where the risk is too high, it does not.
            return row.meets or (False if row.decision == "FAIL" or row.risk.value > self._profile.limit else None)

        found = None
        if not as_it_is.meets and rest:
            found = cheapest(rest, [prices[one] for one in rest], meets, goes_on)
        ordered = sorted(rows.values(), key=lambda row: (row.cost, len(row.steps)))
        if as_it_is.meets:
            ordered = [as_it_is]
        chosen = next((place for place, row in enumerate(ordered) if row.meets), None)
        left = 0 if found is None else found.left
        return Sweep(
            input=convert(self.judge.facts, Input),
            profile=self._profile,
            measure=self.judge.gate.measure or self._profile.measure,
            scale=self.options.cost,
            outcome=_outcome(chosen, ordered or [as_it_is], left),
            combinations=len(self.tried),
            implied=0 if found is None else found.implied,
            left=left,
            as_it_is=as_it_is,
            rows=tuple(ordered),
            chosen=chosen,
            frontier=(),
            sentences=(),
            plan=None if chosen is None else self._plan(ordered[chosen]),
            provenance=convert(provenance_of(self.judge.request.run, self.begun), Provenance),
        )

    @property
    def _profile(self) -> Profile:
        assert self.judge.gate.profile is not None
        return self.judge.gate.profile

    def _plan(self, row: SweepRow) -> ReleasePlan:
        least = self.judge.request.people.min_events
        held = (self._profile.limit, self._profile.title, row.risk, least, __version__)
        return ReleasePlan(row.steps, self.data, self.material.seed, *held, Judging.of(self.judge.request))

    def _prices(self) -> Iterator[tuple[Combination, float]]:
        """What every combination costs; what several begin with is applied once."""
        wanted, done = set(self.tried), 0

        def priced(draft: Draft, parts: tuple[Mitigation, ...], axis: int) -> Iterator[tuple[Combination, float]]:
            nonlocal done
            if axis == len(AXES):
                done += 1
                self.judge.request.run.progress("pricing combinations", done / len(wanted))
                yield Combination(parts), loss(draft, self.options.cost)
                return
            here = dict.fromkeys(one.by_axis.get(AXES[axis]) for one in self.tried)
            for part in here:
                if part is None:
                    yield from priced(draft, parts, axis + 1)
                else:
                    yield from priced(part.applied(draft), (*parts, part), axis + 1)

        yield from priced(self.material.some(MOST_PRICED).draft(), (), 0)

    def _row(self, combination: Combination, draft: Draft, *, whole: bool = False) -> SweepRow:
        judged = self.judge.judged(draft, whole=whole)
        released = draft.kept
        return SweepRow(
            steps=tuple(MitigationStep(part.kind, part.setting) for part in combination.parts),
            name=combination.name,
            action=combination.action,
            cost=loss(draft, self.options.cost),
            items=int(np.unique(draft.labels[released]).size),
            events=int(np.count_nonzero(released)),
            people=int(np.unique(self.material.people[released]).size),
            pseudonyms=int(np.unique(draft.pieces[released]).size),
            note=draft.note,
            **self._found(judged),
        )

    def _found(self, judged: Judged) -> dict[str, Any]:
        """What the attackers that were run came to."""
        if not judged.rows:
            open_ = ShareInterval(0.0, 0.0, 1.0)
            return {
                "decision": "INCONCLUSIVE", "meets": False, "risk": open_, "at_least": False, "attacker": None,
                "knows": None, "whom": "people", "reidentified": open_,
                "doubts": ("Too little is left to be attacked.",),
            }  # fmt: skip
        share = _share(strongest_row(judged.rows)[1])
        verdict = judged.verdict
        if verdict is not None:
            decision = "INCONCLUSIVE" if judged.by_luck else verdict.decision
            limited = decision == "PASS (limited)"
            among = plural(self.judge.searched, "combination")
            luck = [f"It passes alone, and not when allowing for a search among {among}."] if judged.by_luck else []
            return {
                "decision": decision,
                "meets": decision == "PASS" or (limited and verdict.limits_accepted),
                "risk": verdict.judged_risk, "at_least": False, "attacker": verdict.attacker, "knows": verdict.knows,
                "whom": verdict.whom, "reidentified": share,
                "doubts": (*luck, *verdict.unsettled, *verdict.limits),
            }  # fmt: skip
        group = self.judge.worst_of(judged.rows)
        return {
            "decision": "FAIL", "meets": False, "risk": group.risk.times(self.judge.chance), "at_least": True,
            "attacker": group.attacker.attacker, "knows": group.attacker.knows, "whom": group.whom,
            "reidentified": share, "doubts": (),
        }  # fmt: skip


def _share(ends: Interval) -> ShareInterval:
    return ShareInterval(**ends.to_json())


def _outcome(chosen: int | None, rows: Sequence[SweepRow], left: int) -> Outcome:
    if chosen is not None:
        return "met"
    return "not met" if not left and all(row.decision == "FAIL" for row in rows) else "open"
