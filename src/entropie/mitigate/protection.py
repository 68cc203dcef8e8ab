"""Protection as a result: ways to hand over the data side by side, which one is recommended, and what would help."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from entropie.atomic import claimed, write_file
from entropie.document.base import json_text
from entropie.document.measured import ScoreBits, ShareInterval
from entropie.document.protection import (
    FrontierPoint,
    Mechanism,
    ProtectionAttack,
    ProtectionGoal,
    ProtectionGuarantee,
    ProtectionRow,
    RelativeError,
)
from entropie.mechanisms.identity import Identity
from entropie.mitigate.obfuscation import GUESSES, USEFUL, Noisy, Senders, preferred
from entropie.notebook import html_table
from entropie.words import bits, digits, interval, percent, plural, stated


@dataclass(frozen=True, slots=True, repr=False)
class Protection:
    """Ways to protect these data for a wanted error rate, side by side.

    goal       the wanted error, and which row to take and why, or what would help
    frontier   what each mechanism costs at several guaranteed error rates
    """

    goal: ProtectionGoal
    rows: tuple[ProtectionRow, ...]
    frontier: tuple[FrontierPoint, ...]
    users: int

    @classmethod
    def of(
        cls, goal: ProtectionGoal, rows: tuple[ProtectionRow, ...], frontier: tuple[FrontierPoint, ...], users: int,
        needed: Callable[[ProtectionRow], int | None],
    ) -> Protection:  # fmt: skip
        """Mark what is recommended: pseudonyms alone where they suffice, else the best mechanism with useful counts.

        `needed` says how many people would make the counts of a row useful.
        """
        noisy = [row for row in rows if row.mechanism is not None]
        allowed = [noisy[place] for place in preferred([_price(row) for row in noisy])]
        best: ProtectionRow | None = next((row for row in allowed if row.utility.useful), None)
        if not goal.noise_needed:
            best = next(row for row in rows if row.name == "pseudonyms alone")
            text = _enough(best, goal)
        elif best is not None:
            text = _chosen(best, next(row for row in noisy if row is not best))
        else:
            others = [row for row in noisy if row not in allowed]
            text = _none_useful(allowed[0], next(iter(others), None), goal, frontier, needed(allowed[0]))
        marked = tuple(replace(row, recommended=row is best) for row in rows)
        points = tuple(replace(point, recommended=best is not None and _is_of(point, best, goal)) for point in frontier)
        return cls(replace(goal, recommendation=text), marked, points, users)

    @property
    def recommended(self) -> ProtectionRow | None:
        """The row to take; None where none keeps useful counts."""
        return next((row for row in self.rows if row.recommended), None)

    def to_json(self) -> dict[str, Any]:
        """The keys `protection`, `protection_goal` and `frontier` of assessment.json."""
        return {
            "protection": [row.to_json() for row in self.rows],
            "protection_goal": self.goal.to_json(),
            "frontier": [point.to_json() for point in self.frontier],
        }

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write protection.json into a folder, made where it is not there; return its path."""
        with claimed(folder) as place:
            write_file(place / "protection.json", json_text(self.to_json()))
            return place / "protection.json"

    def __repr__(self) -> str:
        rows = [
            f"  {row.name}: {percent(1.0 - row.attack.identification_error.value)} re-identified" for row in self.rows
        ]
        return "\n".join(
            [f"Protection of {plural(self.users, 'person', 'people')}", *rows, f"  {self.goal.recommendation}"]
        )

    def _repr_html_(self) -> str:
        headers = ("protection", "at most: one person's", "all reports", "re-identified", "low", "high", "off, top 20",
                   "recommended")  # fmt: skip
        rows = []
        for row in self.rows:
            risk = row.attack.identification_error.complement
            bounds = ("", "") if row.guarantee is None else _bounds(row.guarantee)
            off, advised = row.utility.top_20.relative_error, "yes" if row.recommended else ""
            rows.append((row.name, *bounds, risk.value, risk.low, risk.high, off, advised))
        return html_table(self.goal.recommendation, headers, rows)


def _bounds(given: ProtectionGuarantee) -> tuple[float | str, float | str]:
    """The largest shares re-identified: from one person's reports, and from everybody's."""
    together = given.all_reports
    return 1.0 - given.bayes_error, "" if together is None else 1.0 - together.bayes_error


def sends(reports_per_user: int) -> str:
    """What each person hands over."""
    return "one event per person" if reports_per_user == 1 else f"up to {reports_per_user} events per person"


@dataclass(frozen=True, slots=True)
class AsItIs:
    """What attackers get of events that are handed over as they are, by earlier behaviour and by known events; where
    only one of them is in scope it stands first.
    """

    earlier: ProtectionAttack
    known_events: ProtectionAttack | None = None


def figure(matcher: str, error: ShareInterval, pse: ScoreBits | None = None) -> ProtectionAttack:
    """One attack in a table: which matcher, its error rate, and the bits of its scores where it has them."""
    return ProtectionAttack(matcher, error, pse)


def mechanism_part(mechanism: Noisy) -> Mechanism:
    """A mechanism as the document has it."""
    return convert(mechanism.channel.to_json(), Mechanism)


def guarantee_part(mechanism: Noisy | Identity, senders: Senders) -> ProtectionGuarantee:
    """What holds whatever the attacker knows, and what that rests on."""
    users, t = senders.users, senders.reports_per_user
    given = mechanism.guarantee(users=users, reports=t, list_size=min(GUESSES, users))
    reports = "one report each" if t == 1 else f"at most {t} reports each"
    devices = "" if math.isinf(mechanism.epsilon) else ", devices that add the noise as told"
    return ProtectionGuarantee(
        given.bayes_error,
        given.alpha_bits,
        given.list_size,
        given.list_error,
        given.posterior_max,
        f"{users:,} equally likely people, {reports}{devices}",
        given.all_reports,
    )


def told(
    goal: ProtectionGoal, senders: Senders, plain: ShareInterval, as_it_is: ShareInterval | None, target_events: int
) -> ProtectionGoal:
    """The goal with its sentences; `plain` is the attack on pseudonyms."""
    parts = (_information(goal, senders), _bound(goal, senders, plain), _sent(senders, plain, as_it_is, target_events))
    return replace(goal, sentence=_need(goal), details=" ".join(parts))


def untouched_sentence(error: ShareInterval) -> str:
    """The row of the data as they are."""
    return f"As is, every event under one pseudonym per person: {_risk(error)}. No guarantee, nothing lost."


def pseudonyms_sentence(senders: Senders, error: ShareInterval, goal: ProtectionGoal, off: RelativeError) -> str:
    """The row of events sent without noise."""
    text = (
        f"Pseudonyms alone, {sends(senders.reports_per_user)}: {_risk(error)}. Counts of what is sent stay exact; "
        f"against all events the {off.items} most frequent items are off by {percent(off.of_all)}. "
    )
    if goal.error_of_any_data > 0.0:
        return text + f"Guarantee: at most {percent(1.0 - goal.error_of_any_data)} on average."
    if goal.error_known_all is not None and not goal.bound_is_beaten(error.value):
        known = percent(1.0 - goal.error_known_all)
        return text + f"No guarantee; an attacker who knew all habits would re-identify {known} from a random event."
    return text + "No guarantee."


def knowing_sentence(known: ProtectionAttack | None) -> str:
    """What knowing some of the events themselves gives, as the end of a row's sentences."""
    return "" if known is None else f" By who knows events that are sent: {_risk(known.identification_error)}."


def noisy_sentence(row: ProtectionRow) -> str:
    """The row of one mechanism."""
    given, top = row.guarantee, row.utility.top_20
    assert given is not None
    return (
        f"{_setting(row).capitalize()}, {row.sends}: at most {percent(1.0 - given.bayes_error)} re-identified "
        f"on average, guaranteed (assuming {given.assumes}); at most {percent(1.0 - given.list_error)} with "
        f"{given.list_size} guesses. {_scopes(given)} Measured: "
        f"{_risk(row.attack.identification_error)}. Counts of the {top.items} most frequent items are off by "
        f"{percent(top.relative_error)} ({interval(top)} in 95 % of repeated collections{_made(row)}), against all "
        f"events by {percent(top.of_all)}."
    )


def _made(row: ProtectionRow) -> str:
    """What the estimates are where they are not the unbiased ones."""
    return ", estimated as a distribution" if row.utility.estimate == "consistent" else ""


def _scopes(given: ProtectionGuarantee) -> str:
    """That this is about one person's reports, and what whoever holds all of them can do."""
    assert given.all_reports is not None
    together = given.all_reports
    return (
        f"That is for whoever sees one person's reports alone, with a worst-case certainty of "
        f"{percent(given.posterior_max)}; who holds everybody's re-identifies at most "
        f"{percent(1.0 - together.bayes_error)}, with a worst-case certainty of {percent(together.posterior_max)}."
    )


def _need(goal: ProtectionGoal) -> str:
    wanted = stated(goal.bayes_error)
    return {
        "all data": f"No noise is needed for an error rate of {wanted}: with so few items, pseudonyms alone give every "
        f"attacker an error rate of at least {percent(goal.error_of_any_data)}, guaranteed for any data.",
        "these data": f"No noise is needed for an error rate of {wanted} while people behave as in these data.",
        "measured": f"Pseudonyms alone reach an error rate of {wanted} against the attack tried. This is measured, not "
        "guaranteed: a better informed attacker may do better, and only noise rules that out.",
        None: f"Noise is needed for an error rate of {wanted}: pseudonyms alone do not "
        f"{'guarantee' if goal.error_measured >= goal.bayes_error else 'reach'} it.",
    }[goal.basis]


def _information(goal: ProtectionGoal, senders: Senders) -> str:
    whole = bits(math.log2(senders.users))
    return f"One random event of a person carries {bits(goal.pie_bits)} of the {whole} bits that identify anybody here."


def _bound(goal: ProtectionGoal, senders: Senders, plain: ShareInterval) -> str:
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


def _sent(senders: Senders, plain: ShareInterval, as_it_is: ShareInterval | None, target_events: int) -> str:
    """What is sent in all rows, and what of the difference is owed to that."""
    less = f"{sends(senders.reports_per_user)} ({senders.reports:,} in all), without times"
    if as_it_is is None:
        return f"All rows send {less}."
    text = f"All rows but the first send {less}; 'as it is' sends every attacked event ({target_events:,})."
    if plain.value > as_it_is.value:
        text += " Most of the drop in risk from 'as it is' to 'pseudonyms alone' comes from sending less."
    return text


def _enough(row: ProtectionRow, goal: ProtectionGoal) -> str:
    grounds: dict[str | None, str] = {
        "all data": "guaranteed for any data with so few items",
        "these data": "enough while people behave as in these data",
        "measured": "enough against the attack tried, measured and not guaranteed",
    }
    return f"Pseudonyms alone, {row.sends}: {grounds[goal.basis]}. No noise where none is needed."


def _chosen(row: ProtectionRow, other: ProtectionRow) -> str:
    top, theirs = row.utility.top_20.relative_error, other.utility.top_20.relative_error
    text = (
        f"{_setting(row).capitalize()}, {row.sends}: it meets the goal, and frequent items are off by {percent(top)}."
    )
    if theirs < top:
        return f"{text} {_too_exposed(other, row)}"
    return f"{text} Of the mechanisms that meet the goal it keeps frequent items best."


def _none_useful(
    row: ProtectionRow,
    excluded: ProtectionRow | None,
    goal: ProtectionGoal,
    frontier: tuple[FrontierPoint, ...],
    needed: int | None,
) -> str:
    """That nothing tried keeps useful counts, how bad the best is, and what would help."""
    top = row.utility.top_20
    assert row.guarantee is not None
    useless = excluded is None or not excluded.utility.useful
    parts = [
        "None of the settings tried keeps useful counts."
        if useless
        else f"No setting tried both keeps useful counts and holds against {row.guarantee.list_size} guesses.",
        f"The best, {_setting(row)}, is off by {percent(top.relative_error)} on the {top.items} most frequent items.",
    ]
    if excluded is not None and excluded.utility.top_20.relative_error < top.relative_error:
        parts.append(_too_exposed(excluded, row))
    more = "What would help:"
    if needed is not None:
        more += f" about {_rounded(needed)} people (off by {stated(USEFUL)} with the noise that so many need), or"
    parts.append(more)
    easier = _easier(frontier, goal.bayes_error)
    if easier is not None:
        wanted, off = stated(easier.wanted_error), percent(easier.relative_error_top_20)
        parts.append(f"an error rate of {wanted} instead of {stated(goal.bayes_error)} (off by {off}).")
    else:
        parts.append("a lower wanted error rate.")
    return " ".join(parts)


def _easier(frontier: tuple[FrontierPoint, ...], wanted: float) -> FrontierPoint | None:
    """The point that would be recommended at the largest smaller error rate, if any would."""
    for error in sorted({point.wanted_error for point in frontier if point.wanted_error < wanted}, reverse=True):
        points = [point for point in frontier if point.wanted_error == error]
        prices = [(1.0 - point.list_error, point.relative_error_top_20) for point in points]
        useful = [points[place] for place in preferred(prices) if points[place].useful]
        if useful:
            return useful[0]
    return None


def _too_exposed(other: ProtectionRow, row: ProtectionRow) -> str:
    """Why a mechanism that keeps more is not recommended."""
    assert other.guarantee is not None
    assert row.guarantee is not None
    return (
        f"{other.name.capitalize()} would be off by {percent(other.utility.top_20.relative_error)}, but allows "
        f"{row.guarantee.list_size} guesses to re-identify {percent(1.0 - other.guarantee.list_error)} of people "
        f"instead of {percent(1.0 - row.guarantee.list_error)}, more than twice as many."
    )


def _setting(row: ProtectionRow) -> str:
    used = row.mechanism
    assert used is not None
    buckets = "" if used.hash_size is None else f" to {used.hash_size:,} values"
    budget = "no limit on epsilon" if used.epsilon is None else f"epsilon {digits(used.epsilon)}"
    return f"{row.name}{buckets} at {budget}"


def _price(row: ProtectionRow) -> tuple[float, float]:
    """Success within several guesses at most, and the relative error of the most frequent items."""
    assert row.guarantee is not None
    return 1.0 - row.guarantee.list_error, row.utility.top_20.relative_error


def _is_of(point: FrontierPoint, row: ProtectionRow, goal: ProtectionGoal) -> bool:
    """Whether a point of the frontier is a row of the table."""
    kind = None if row.mechanism is None else row.mechanism.kind
    return point.mechanism == kind and point.wanted_error == goal.bayes_error


def _risk(error: ShareInterval) -> str:
    return f"{percent(1.0 - error.value)} re-identified (95 % CI {interval(error.complement)})"


def _rounded(number: float) -> str:
    """Two significant digits, upwards: more would claim a precision that is not there."""
    scale = 10.0 ** max(0, math.floor(math.log10(number)) - 1)
    return f"{math.ceil(number / scale) * scale:,.0f}"
