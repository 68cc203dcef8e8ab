"""Alerts on a collection: what is wrong with it now, each in a sentence. Facts and the alerts before in, alerts out.

A check has two thresholds: it raises an alert beyond the strict one and ends it only inside the lenient one, so that a
value that wavers around either changes nothing. What tests chance (hash functions, negative estimates) raises a false
alarm in at most `FALSE_ALARMS` of checks of honest devices. What is wrong with the store stays until somebody has
looked and removes it from the alerts before.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator
from statistics import median
from typing import Annotated, Literal

from msgspec import Meta

from entropie.collector.facts import Facts
from entropie.collector.regression import Attacked
from entropie.collector.suspicion import negative, uneven
from entropie.document.base import Count, Part, Sha256
from entropie.errors import printable
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.words import count, cut, listed, percent, plural, size

FALSE_ALARMS = 1e-6
_PLAUSIBLE = 1e-3
_MANY_DUPLICATES, _FEW_DUPLICATES, _LEAST_DUPLICATES = 0.1, 0.05, 100
_RECENT_HOURS, _EARLIER_HOURS, _LEAST_HOURS = 3, 7 * 24, 6
_LEAST_DISK, _MOST_DISK, _DISK_SHARE = 200 * 10**6, 5 * 10**9, 0.05
_LONGEST_NAME = 60

Kind = Literal[
    "guarantee", "guarantee-now", "too-many", "hash-functions", "negative", "duplicates", "volume", "store", "disk",
    "attack",
]  # fmt: skip
Level = Literal["critical", "warning", "note"]


class Alert(Part, frozen=True):
    """One thing that is wrong; `since` is the hour, in UTC, in which it was raised."""

    kind: Kind
    level: Level
    since: Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\dZ$")]
    sentence: str
    remedy: str


class Changes(Part, frozen=True):
    """What a check changed, as a webhook sends it."""

    schema: Literal["entropie.alerts"]
    version: Literal[1]
    collection: Sha256
    reports: Count
    raised: tuple[Alert, ...]
    over: tuple[Alert, ...]


class Reading(Part, frozen=True):
    """One check: beyond the strict threshold, inside the lenient one, or neither."""

    kind: Kind
    level: Level
    beyond: bool
    inside: bool
    sentence: str = ""
    remedy: str = ""


def judge(facts: Facts, before: Iterable[Alert] = (), attacked: Attacked | None = None) -> tuple[Alert, ...]:
    """The alerts that hold now, given those that held at the last check."""
    return settled(readings(facts, attacked), before, facts.hour)


def settled(found: Iterable[Reading], before: Iterable[Alert], hour: int) -> tuple[Alert, ...]:
    """Alerts of these readings: an alert goes on until its reading is inside the lenient threshold."""
    held = {alert.kind: alert for alert in before}
    now = hour_text(hour)
    alerts = []
    for reading in found:
        old = held.pop(reading.kind, None)
        if reading.beyond or (old is not None and not reading.inside):
            since = now if old is None else old.since
            said = (reading.sentence, reading.remedy) if reading.sentence or old is None else (old.sentence, old.remedy)
            alerts.append(Alert(reading.kind, reading.level, since, *said))
    order = ("critical", "warning", "note")  # what was not checked this time goes on
    return tuple(sorted((*alerts, *held.values()), key=lambda alert: order.index(alert.level)))


def changes(facts: Facts, before: Iterable[Alert], after: Iterable[Alert]) -> Changes | None:
    """What was raised and what is over; None where nothing is."""
    old, new = ({alert.kind: alert for alert in alerts} for alerts in (before, after))
    raised = tuple(alert for kind, alert in new.items() if kind not in old)
    over = tuple(alert for kind, alert in old.items() if kind not in new)
    if not raised and not over:
        return None
    return Changes("entropie.alerts", 1, facts.collection.id, facts.total, raised, over)


def log_lines(changed: Changes) -> list[str]:
    """One line for each change."""
    return [
        f"alert {what} kind={alert.kind} level={alert.level} collection={changed.collection[:12]}: "
        f"{printable(alert.sentence)}"
        for what, alerts in (("raised", changed.raised), ("over", changed.over))
        for alert in alerts
    ]


def hour_text(hour: int) -> str:
    """An hour since 1970 as people and documents write it."""
    return datetime.datetime.fromtimestamp(hour * 3600, datetime.UTC).strftime("%Y-%m-%dT%HZ")


def readings(facts: Facts, attacked: Attacked | None) -> Iterator[Reading]:
    """Every check that these facts allow."""
    yield _declared(facts)
    yield _store(facts)
    yield _too_many(facts)
    yield _duplicates(facts)
    yield _volume(facts)
    if facts.total:
        yield _present(facts)
        if isinstance(facts.collection.device, LocalHashing):
            yield _hash_functions(facts)
        if facts.estimable:
            yield _negative(facts)
    if facts.free_bytes is not None and facts.disk_bytes is not None:
        yield _disk(facts.free_bytes, facts.disk_bytes)
    if attacked is not None:
        yield _attack(attacked)


def _declared(facts: Facts) -> Reading:
    people = facts.collection.users
    broken = facts.collection.broken_limits(people)
    return Reading(
        "guarantee", "critical", bool(broken), not broken,
        f"{' '.join(broken)} So it is for the declared {plural(people, 'person', 'people')}.",
        "Close the collection: it guarantees less than it declares.",
    )  # fmt: skip


def _present(facts: Facts) -> Reading:
    people = max(1, facts.people)
    broken, later = (facts.collection.broken_limits(number) for number in (people, max(1, people * 19 // 20)))
    level: Level = "critical" if facts.closed else "note"
    wait = "Publish nothing before more people have taken part."
    return Reading(
        "guarantee-now", level, bool(broken), not later,
        f"{plural(people, 'person has', 'people have')} taken part. Against an attacker who knows who they are: "
        f"{' '.join(broken or later)}",
        "Delete the counts, or keep them as personal data." if facts.closed else wait,
    )  # fmt: skip


def _too_many(facts: Facts) -> Reading:
    most = facts.collection.users * facts.collection.reports
    return Reading(
        "too-many", "critical", facts.total > most, facts.total <= most,
        f"{plural(facts.total, 'report')} came from a declared {plural(facts.collection.users, 'person', 'people')} "
        f"with {plural(facts.collection.reports, 'report')} each, at most {count(most)} in all.",
        "Some people report more often than their guarantee allows, or reports are forged: close the collection.",
    )  # fmt: skip


def _hash_functions(facts: Facts) -> Reading:
    chance = uneven(facts.functions)
    return Reading(
        "hash-functions", "critical", chance < FALSE_ALARMS, chance > _PLAUSIBLE,
        f"Hash functions are not drawn uniformly: honest devices would do this {_how_often(chance)}.",
        "Look for a client that fixes its hash function, which can identify its users, or for forged reports.",
    )  # fmt: skip


def _negative(facts: Facts) -> Reading:
    chance, code = negative(facts, FALSE_ALARMS)
    share = float(facts.estimates.probabilities[code]) if facts.collection.device.rates.gain > 0.0 else 0.0
    return Reading(
        "negative", "warning", chance < FALSE_ALARMS, chance > _PLAUSIBLE,
        f"The estimate for {item_name(facts, code)} is {percent(share)}, below 0 by more than noise "
        f"explains: honest devices would do this {_how_often(chance)}.",
        "Look for forged reports, or clients that draw their noise wrongly.",
    )  # fmt: skip


def _duplicates(facts: Facts) -> Reading:
    recent = [one for one in facts.hours if 0 <= facts.hour - one.hour < 24]  # a clock may have been wrong
    twice, once = sum(one.duplicate for one in recent), sum(one.accepted for one in recent)
    share = twice / max(1, twice + once)
    return Reading(
        "duplicates", "warning",
        share >= _MANY_DUPLICATES and twice >= _LEAST_DUPLICATES, share < _FEW_DUPLICATES,
        f"{percent(share)} of reports in the last 24 hours were sent before ({count(twice)} of {count(twice + once)}).",
        "Look for a client that does not take the answer, or for replayed reports; they are not counted.",
    )  # fmt: skip


def _volume(facts: Facts) -> Reading:
    by_hour = {one.hour: one.accepted for one in facts.hours}
    first = max(min(by_hour, default=facts.hour), facts.hour - _EARLIER_HOURS)
    recent = max(by_hour.get(facts.hour - back, 0) for back in range(_RECENT_HOURS))
    earlier = [by_hour.get(hour, 0) for hour in range(first, facts.hour - _RECENT_HOURS + 1)]
    usual = float(median(earlier)) if earlier else 0.0
    high = 5.0 * usual + 6.0 * math.sqrt(5.0 * usual) + 100.0
    known = len(earlier) >= _LEAST_HOURS
    return Reading(
        "volume", "warning", known and recent > high, recent <= high / 2.0,
        f"{plural(recent, 'report')} came in one of the last {_RECENT_HOURS} hours; half of the earlier hours had at "
        f"most {count(math.ceil(usual))}.",
        "Check that a campaign or a release explains it; if not, close the collection.",
    )  # fmt: skip


def _store(facts: Facts) -> Reading:
    lost = facts.high_water - facts.total
    if lost > 0:
        missing = f"{plural(lost, 'report')} that the store has held {'is' if lost == 1 else 'are'} missing"
        said = f"The store was rolled back: {missing}, an older copy of it was put in its place."
        remedy = "Put the newest copy back. Reports that were confirmed are not sent again."
        return Reading("store", "critical", beyond=True, inside=False, sentence=said, remedy=remedy)
    if facts.problems:
        remedy = "Stop the service, run `entropie doctor` and put the newest copy back."
        said = " ".join(facts.problems)
        return Reading("store", "critical", beyond=True, inside=False, sentence=said, remedy=remedy)
    return Reading("store", "critical", beyond=False, inside=False)  # it does not end by itself


def _disk(free: int, disk: int) -> Reading:
    least = max(_LEAST_DISK, min(_MOST_DISK, _DISK_SHARE * disk))
    return Reading(
        "disk", "warning", free < least, free > 2.0 * least,
        f"{size(free)} of {size(disk)} are free where the store lies.",
        "Free some: reports are refused when the disk is full.",
    )  # fmt: skip


def _attack(attacked: Attacked) -> Reading:
    worse = [
        f"{what} re-identified {percent(one.share)}, the guarantee is at most {percent(one.allowed)}"
        for what, one in (("one report alone", attacked.alone), ("all reports", attacked.all_reports))
        if one.chance < FALSE_ALARMS
    ]
    said = f"A simulated attack with {plural(attacked.people, 'person', 'people')} beat the guarantee: "
    return Reading(
        "attack", "critical", bool(worse), not worse,
        said + f"{listed(worse)}." if worse else "",
        "Close the collection and report this: the guarantee or the devices' code is wrong.",
    )  # fmt: skip


def item_name(facts: Facts, code: int) -> str:
    """An item as a sentence names it."""
    names = facts.collection.items
    return f"code {count(code)}" if names is None else f'"{cut(printable(names[code]), _LONGEST_NAME)}"'


def _how_often(chance: float) -> str:
    if chance < 1e-15:
        return "less than once in 10^15 checks"
    return f"once in {count(round(1.0 / chance))} checks"
