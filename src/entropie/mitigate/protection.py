"""Protection as a result: ways to hand over the data side by side, which one is recommended, and what would help."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from entropie.atomic import claimed, write_file
from entropie.measures.best import BestAttack
from entropie.measures.intervals import Interval
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mitigate.obfuscation import Senders, Utility, preferred
from entropie.notebook import html_table
from entropie.theory.guarantee import Guarantee, mechanism_json
from entropie.words import bits, digits, interval, percent, plural, stated

__all__ = [
    "AttackFigure",
    "Basis",
    "FrontierPoint",
    "Protection",
    "ProtectionGoal",
    "ProtectionRow",
    "assumptions",
    "noisy_sentence",
    "people_needed",
    "pseudonyms_sentence",
    "sends",
    "untouched_sentence",
]

USEFUL = 0.1
"""A relative error of the most frequent items that most uses can live with."""
Basis = Literal["all data", "these data", "measured"]


@dataclass(frozen=True, slots=True)
class AttackFigure:
    """One attack in a table: which matcher, its error rate, and the bits of the scores where measured."""

    matcher: str
    identification_error: Interval
    pse_bits: dict[str, Any] | None

    @classmethod
    def of(cls, best: BestAttack) -> AttackFigure:
        """The best of several attacks."""
        return cls(best.matcher, best.error, best.measures.pse.to_json())

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        error = self.identification_error.to_json()
        return {"matcher": self.matcher, "identification_error": error, "pse_bits": self.pse_bits}


@dataclass(frozen=True, slots=True)
class ProtectionRow:
    """One way to hand over the data.

    sends        what each person hands over: every event, or one event per person
    events_sent  how many events that is of all people together
    guarantee    what holds whatever the attacker knows; None where nothing does
    attack       the attack on a simulated collection
    utility      what remains of the distribution
    """

    name: Literal["as it is", "pseudonyms alone", "randomized response", "local hashing"]
    mechanism: Mechanism | None
    reports_per_user: int
    sends: str
    events_sent: int
    guarantee: Guarantee | None
    attack: AttackFigure
    utility: Utility
    recommended: bool
    sentence: str

    @property
    def noisy(self) -> bool:
        """Whether noise is added."""
        return isinstance(self.mechanism, RandomizedResponse | LocalHashing)

    @property
    def price(self) -> tuple[float, float]:
        """Success within several guesses at most, and the relative error of the most frequent items."""
        assert self.guarantee is not None
        return 1.0 - self.guarantee.list_error, self.utility.top_20.value

    def to_json(self) -> dict[str, Any]:
        """The documented object of one row."""
        return {
            "name": self.name,
            "mechanism": mechanism_json(self.mechanism.channel) if self.noisy else None,  # type: ignore[union-attr]
            "reports_per_user": self.reports_per_user,
            "sends": self.sends,
            "events_sent": self.events_sent,
            "guarantee": None if self.guarantee is None else _guarantee_json(self.guarantee),
            "attack": self.attack.to_json(),
            "utility": self.utility.to_json(),
            "recommended": self.recommended,
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """The best setting of one mechanism at one guaranteed error rate, and what it costs.

    list_error   guaranteed error rate of an attacker with several guesses
    useful       whether the counts are still worth having
    """

    mechanism: Literal["rr", "glh"]
    wanted_error: float
    bayes_error: float
    list_error: float
    attack_error: Interval
    relative_error_top_20: Interval
    epsilon: float
    hash_size: int | None
    useful: bool
    recommended: bool

    def to_json(self) -> dict[str, Any]:
        """The documented object of one point."""
        cost = self.relative_error_top_20
        return {
            "mechanism": self.mechanism,
            "wanted_error": self.wanted_error,
            "bayes_error": self.bayes_error,
            "attack_error": self.attack_error.to_json(),
            "relative_error_top_20": cost.value,
            "relative_error_top_20_low": cost.low,
            "relative_error_top_20_high": cost.high,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "hash_size": self.hash_size,
            "useful": self.useful,
            "recommended": self.recommended,
        }


@dataclass(frozen=True, slots=True)
class ProtectionGoal:
    """The wanted error rate, and the paper's rule: where one event says little about its person, no noise is needed.

    pie_bits           I(U;X): what one event, drawn from its person's history, says about the person
    error_from_pie     what Fano's inequality makes of these bits (t times as many for t events)
    error_known_all    the exact error of an attacker who knows everybody's habits, for such an event (one only)
    error_of_any_data  what holds for all data of this size: 1 - k/n, where there are fewer items than people
    error_measured     lower end of the interval of the attack on pseudonyms
    basis              which of these meets the goal without noise; None where none does
    sentence, details  whether noise is needed, and why
    """

    bayes_error: float
    pie_bits: float
    error_from_pie: float
    error_known_all: float | None
    error_of_any_data: float
    error_measured: float
    basis: Basis | None = None
    sentence: str = ""
    details: str = ""

    @property
    def noise_needed(self) -> bool:
        """Whether pseudonyms alone fall short of the goal."""
        return self.basis is None

    def bound_is_beaten(self, error: float) -> bool:
        """Whether an attack on the first events does better than any attack can on events drawn at random."""
        return error < max(self.error_from_pie, self.error_known_all or 0.0) - 1e-9

    def told(self, senders: Senders, plain: Interval, as_it_is: Interval | None, target_events: int) -> ProtectionGoal:
        """The goal with its sentences; `plain` is the attack on pseudonyms."""
        parts = (
            _information(self, senders),
            _bound(self, senders, plain),
            _sent(senders, plain, as_it_is, target_events),
        )
        return dataclasses.replace(self, sentence=_need(self), details=" ".join(parts))

    def to_json(self) -> dict[str, Any]:
        """The documented object `protection_goal`."""
        return {**dataclasses.asdict(self), "noise_needed": self.noise_needed}


@dataclass(frozen=True, slots=True, repr=False)
class Protection:
    """Ways to protect these data for a wanted error rate, side by side.

    frontier         what each mechanism costs at several guaranteed error rates
    recommendation   which row to take and why, or that none of them keeps useful counts and what would help
    """

    goal: ProtectionGoal
    rows: tuple[ProtectionRow, ...]
    frontier: tuple[FrontierPoint, ...]
    recommendation: str
    users: int

    @classmethod
    def of(
        cls, goal: ProtectionGoal, rows: tuple[ProtectionRow, ...], frontier: tuple[FrontierPoint, ...], users: int
    ) -> Protection:
        """Mark what is recommended: pseudonyms alone where they suffice, else the best mechanism with useful counts."""
        noisy = [row for row in rows if row.noisy]
        allowed = [noisy[place] for place in preferred([row.price for row in noisy])]
        best: ProtectionRow | None = next((row for row in allowed if row.utility.useful), None)
        if not goal.noise_needed:
            best = next(row for row in rows if row.name == "pseudonyms alone")
            text = _enough(best, goal)
        elif best is not None:
            text = _chosen(best, next(row for row in noisy if row is not best))
        else:
            others = [row for row in noisy if row not in allowed]
            text = _none_useful(allowed[0], next(iter(others), None), goal, frontier, users)
        marked = tuple(dataclasses.replace(row, recommended=row is best) for row in rows)
        points = tuple(
            dataclasses.replace(point, recommended=best is not None and _is_of(point, best, goal)) for point in frontier
        )
        return cls(goal, marked, points, text, users)

    @property
    def recommended(self) -> ProtectionRow | None:
        """The row to take; None where none keeps useful counts."""
        return next((row for row in self.rows if row.recommended), None)

    def to_json(self) -> dict[str, Any]:
        """The keys `protection`, `protection_goal` and `frontier` of assessment.json."""
        return {
            "protection": [row.to_json() for row in self.rows],
            "protection_goal": {**self.goal.to_json(), "recommendation": self.recommendation},
            "frontier": [point.to_json() for point in self.frontier],
        }

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write protection.json into a folder, made where it is not there; return its path."""
        with claimed(folder) as place:
            write_file(place / "protection.json", json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n")
            return place / "protection.json"

    def __repr__(self) -> str:
        rows = [
            f"  {row.name}: {percent(1.0 - row.attack.identification_error.value)} re-identified" for row in self.rows
        ]
        return "\n".join([f"Protection of {plural(self.users, 'person', 'people')}", *rows, f"  {self.recommendation}"])

    def _repr_html_(self) -> str:
        headers = ("protection", "guaranteed at most", "re-identified", "low", "high", "off, top 20", "recommended")
        rows = []
        for row in self.rows:
            risk = row.attack.identification_error.complement
            bound = "" if row.guarantee is None else 1.0 - row.guarantee.bayes_error
            rows.append(
                (
                    row.name,
                    bound,
                    risk.value,
                    risk.low,
                    risk.high,
                    row.utility.top_20.value,
                    "yes" if row.recommended else "",
                )
            )
        return html_table(self.recommendation, headers, rows)


def sends(reports_per_user: int) -> str:
    """What each person hands over."""
    return "one event per person" if reports_per_user == 1 else f"up to {reports_per_user} events per person"


def people_needed(users: int, error: float, wanted: float = USEFUL) -> float:
    """How many people bring a relative error down to the wanted one at the same noise: it falls as 1/sqrt(people)."""
    return users * (error / wanted) ** 2


def assumptions(guarantee: Guarantee) -> str:
    """What a guarantee rests on."""
    t = guarantee.reports_per_user
    reports = "one report each" if t == 1 else f"at most {t} reports each"
    devices = "" if math.isinf(guarantee.mechanism.epsilon) else ", devices that add the noise as told"
    return f"{guarantee.users:,} equally likely people, {reports}{devices}"


def untouched_sentence(error: Interval) -> str:
    """The row of the data as they are."""
    return f"As is, every event under one pseudonym per person: {_risk(error)}. No guarantee, nothing lost."


def pseudonyms_sentence(senders: Senders, error: Interval, goal: ProtectionGoal) -> str:
    """The row of events sent without noise."""
    text = f"Pseudonyms alone, {sends(senders.reports_per_user)}: {_risk(error)}. Counts stay exact. "
    if goal.error_of_any_data > 0.0:
        return text + f"Guarantee: at most {percent(1.0 - goal.error_of_any_data)} on average."
    if goal.error_known_all is not None and not goal.bound_is_beaten(error.value):
        known = percent(1.0 - goal.error_known_all)
        return text + f"No guarantee; an attacker who knew all habits would re-identify {known} from a random event."
    return text + "No guarantee."


def noisy_sentence(row: ProtectionRow) -> str:
    """The row of one mechanism."""
    assert row.guarantee is not None
    top = row.utility.top_20
    return (
        f"{_setting(row).capitalize()}, {row.sends}: at most {percent(1.0 - row.guarantee.bayes_error)} re-identified "
        f"on average, guaranteed (assuming {assumptions(row.guarantee)}); at most "
        f"{percent(1.0 - row.guarantee.list_error)} with {row.guarantee.list_size} guesses. Measured: "
        f"{_risk(row.attack.identification_error)}. Counts of the "
        f"{top.items} most frequent items are off by {percent(top.value)} ({interval(top)} in repeated collections)."
    )


def _need(goal: ProtectionGoal) -> str:
    wanted = stated(goal.bayes_error)
    return {
        "all data": f"No noise is needed for an error rate of {wanted}: with so few items, pseudonyms alone give every "
        f"attacker an error rate of at least {percent(goal.error_of_any_data)}, guaranteed for any data.",
        "these data": f"No noise is needed for an error rate of {wanted} while people behave as in these data.",
        "measured": f"Pseudonyms alone reach an error rate of {wanted} against the attack tried. This is measured, not "
        "guaranteed: a better informed attacker may do better, and only noise rules that out.",
        None: f"Noise is needed for an error rate of {wanted}: pseudonyms alone do not reach it.",
    }[goal.basis]


def _information(goal: ProtectionGoal, senders: Senders) -> str:
    whole = bits(math.log2(senders.users))
    return f"One random event of a person carries {bits(goal.pie_bits)} of the {whole} bits that identify anybody here."


def _bound(goal: ProtectionGoal, senders: Senders, plain: Interval) -> str:
    """What the bits leave to an attacker, unless the attack on other events does better, and that attack."""
    t = senders.reports_per_user
    attacked = "the first event" if t == 1 else f"the first {t} events"
    known = ", which the attacker already knows" if senders.first_seen else ""
    ours = f"an error rate of {percent(plain.value)} (95 % CI {interval(plain)})"
    if goal.bound_is_beaten(plain.value):
        return f"That is no bound here: the attack is on {attacked} of each person{known}, and has {ours}."
    many = "such an event" if t == 1 else f"{t} such events"
    bound = f"From {many} an attacker has an error rate of at least {percent(goal.error_from_pie)} (Fano's inequality)"
    if goal.error_known_all is not None:
        bound += f", exactly {percent(goal.error_known_all)} knowing all habits"
    return f"{bound}. The attack on pseudonyms is on {attacked} of each person{known}, not a random one: {ours}."


def _sent(senders: Senders, plain: Interval, as_it_is: Interval | None, target_events: int) -> str:
    """What is sent in all rows, and what of the difference is owed to that."""
    less = f"{sends(senders.reports_per_user)} ({senders.reports:,} in all), without times"
    if as_it_is is None:
        return f"All rows send {less}."
    text = f"All rows but the first send {less}; 'as it is' sends every attacked event ({target_events:,})."
    if plain.value > as_it_is.value:
        text += " Most of the drop in risk from 'as it is' to 'pseudonyms alone' comes from sending less."
    return text


def _enough(row: ProtectionRow, goal: ProtectionGoal) -> str:
    grounds: dict[Basis | None, str] = {
        "all data": "guaranteed for any data with so few items",
        "these data": "enough while people behave as in these data",
        "measured": "enough against the attack tried, measured and not guaranteed",
    }
    return f"Pseudonyms alone, {row.sends}: {grounds[goal.basis]}. No noise where none is needed."


def _chosen(row: ProtectionRow, other: ProtectionRow) -> str:
    assert row.guarantee is not None
    assert other.guarantee is not None
    top, theirs, guesses = row.utility.top_20.value, other.utility.top_20.value, row.guarantee.list_size
    text = (
        f"{_setting(row).capitalize()}, {row.sends}: it meets the goal, and frequent items are off by {percent(top)}."
    )
    if theirs < top:
        return f"{text} {_too_exposed(other, row, guesses)}"
    return f"{text} Of the mechanisms that meet the goal it keeps frequent items best."


def _none_useful(
    row: ProtectionRow,
    excluded: ProtectionRow | None,
    goal: ProtectionGoal,
    frontier: tuple[FrontierPoint, ...],
    users: int,
) -> str:
    """That nothing tried keeps useful counts, how bad the best is, and what would help."""
    top = row.utility.top_20
    assert row.guarantee is not None
    useless = excluded is None or not excluded.utility.useful
    parts = [
        "None of the settings tried keeps useful counts."
        if useless
        else f"No setting tried both keeps useful counts and holds against {row.guarantee.list_size} guesses.",
        f"The best, {_setting(row)}, is off by {percent(top.value)} on the {top.items} most frequent items.",
    ]
    if excluded is not None and excluded.utility.top_20.value < top.value:
        parts.append(_too_exposed(excluded, row, row.guarantee.list_size))
    people = _rounded(people_needed(users, top.value))
    parts.append(
        f"What would help: about {people} people instead of {users:,} (off by {stated(USEFUL)} at this noise),"
    )
    easier = _easier(frontier, goal.bayes_error)
    if easier is not None:
        wanted, off = stated(easier.wanted_error), percent(easier.relative_error_top_20.value)
        parts.append(f"or an error rate of {wanted} instead of {stated(goal.bayes_error)} (off by {off}).")
    else:
        parts.append("or a lower wanted error rate.")
    return " ".join(parts)


def _easier(frontier: tuple[FrontierPoint, ...], wanted: float) -> FrontierPoint | None:
    """The point that would be recommended at the largest smaller error rate, if any would."""
    for error in sorted({point.wanted_error for point in frontier if point.wanted_error < wanted}, reverse=True):
        points = [point for point in frontier if point.wanted_error == error]
        prices = [(1.0 - point.list_error, point.relative_error_top_20.value) for point in points]
        useful = [points[place] for place in preferred(prices) if points[place].useful]
        if useful:
            return useful[0]
    return None


def _too_exposed(other: ProtectionRow, row: ProtectionRow, guesses: int) -> str:
    """Why a mechanism that keeps more is not recommended."""
    assert other.guarantee is not None
    assert row.guarantee is not None
    return (
        f"{other.name.capitalize()} would be off by {percent(other.utility.top_20.value)}, but allows {guesses} "
        f"guesses to re-identify {percent(1.0 - other.guarantee.list_error)} of people instead of "
        f"{percent(1.0 - row.guarantee.list_error)}, more than twice as many."
    )


def _setting(row: ProtectionRow) -> str:
    mechanism = row.mechanism
    assert isinstance(mechanism, RandomizedResponse | LocalHashing)
    buckets = f" to {mechanism.hash_size:,} values" if isinstance(mechanism, LocalHashing) else ""
    budget = f"epsilon {digits(mechanism.epsilon)}" if math.isfinite(mechanism.epsilon) else "no limit on epsilon"
    return f"{row.name}{buckets} at {budget}"


def _is_of(point: FrontierPoint, row: ProtectionRow, goal: ProtectionGoal) -> bool:
    """Whether a point of the frontier is a row of the table."""
    kind = {"randomized response": "rr", "local hashing": "glh"}.get(row.name)
    return point.mechanism == kind and point.wanted_error == goal.bayes_error


def _risk(error: Interval) -> str:
    return f"{percent(1.0 - error.value)} re-identified (95 % CI {interval(error.complement)})"


def _rounded(number: float) -> str:
    """Two significant digits, upwards: more would claim a precision that is not there."""
    scale = 10.0 ** max(0, math.floor(math.log10(number)) - 1)
    return f"{math.ceil(number / scale) * scale:,.0f}"


def _guarantee_json(guarantee: Guarantee) -> dict[str, Any]:
    return {
        "bayes_error": guarantee.bayes_error,
        "alpha_bits": guarantee.alpha_bits,
        "list_size": guarantee.list_size,
        "list_error": guarantee.list_error,
        "posterior_max": guarantee.posterior_max,
        "assumes": assumptions(guarantee),
    }
