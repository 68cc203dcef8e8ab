"""What one person has sent over time: different mechanisms and parameters added up, and what a budget leaves.

A ledger tells what its owner has sent, so it stays on their device.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from msgspec import Meta

from entropie.document.base import AtLeastOne, Count, Part, Share, Unlimited, converted, parsed
from entropie.document.ledger import LedgerDocument, LedgerEntry, Left, Room, SpentAlone, SpentOnce
from entropie.errors import InvalidParameter
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.parameters import from_document, parameters_id, to_document
from entropie.theory import any_mechanism, checks, spending
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import AllReports, in_lines
from entropie.theory.special import largest_where, last_where
from entropie.words import digits, plural

_LONGEST_NAME = 200
_MOST_REPORTS = 10**6
"""`reports_left` looks no further."""
Scope = Literal["all", "alone"]


class LedgerGuarantee(Part, frozen=True):
    """What all reports of a person guarantee together, whatever the data, by what leaks.

    `epsilon` is the sum over reports; `alone` is about one person's reports, `all_reports` about the whole store.
    """

    users: Count
    reports_per_user: Count
    list_size: AtLeastOne
    prior_max: Share | None
    epsilon: Annotated[Unlimited, Meta(description="Of all reports together, natural logarithm; null where infinite.")]
    alone: SpentAlone
    all_reports: AllReports
    spent: list[SpentOnce]

    def __repr__(self) -> str:
        sent = f"{plural(self.reports_per_user, 'report')} of each of {plural(self.users, 'person', 'people')}"
        return in_lines(f"Guarantee of {sent}, epsilon {digits(self.epsilon, 4)} in all", self.all_reports, self.alone)


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits that the reports of a person must keep, among `users` people who spend no more.

    epsilon       sum of the epsilons of all reports, at most
    certainty     worst-case certainty about one person, at most
    bayes_error   error rate of an attacker with `list_size` guesses, at least
    scope         of whom the last two speak: who holds "all" reports, or sees one person's "alone"
    """

    users: int
    epsilon: float | None = None
    certainty: float | None = None
    bayes_error: float | None = None
    scope: Scope = "all"
    list_size: int = 1
    prior_max: float | None = None
    linked: bool = True

    def __post_init__(self) -> None:
        if self.scope not in ("all", "alone"):
            raise InvalidParameter.of("scope", "all or alone", self.scope)
        read: dict[str, Callable[[object], float]] = {
            "epsilon": checks.epsilon_value,
            "certainty": lambda value: checks.share_value("certainty", value, "a probability from 0 to 1"),
            "bayes_error": checks.bayes_error_value,
        }
        for name, number in read.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, number(getattr(self, name)))
        object.__setattr__(self, "users", self.crowd.users)

    @property
    def crowd(self) -> Crowd:
        """The people and the attacker."""
        return Crowd(self.users, 1, self.list_size, self.prior_max, self.linked)

    @property
    def doubled(self) -> int:
        """How often a spent epsilon counts for certainty: exchanging two people changes the reports of both."""
        return 2 if self.scope == "all" else 1


@dataclass(frozen=True, slots=True)
class Entry:
    """Reports that count once however often the entry is met.

    A kept answer has the digest of its bytes: sent again it is the same entry, another answer is another.
    """

    id: str
    mechanism: Mechanism
    reports: int = 1
    digest: str | None = None

    def __post_init__(self) -> None:
        rule = f"a text of 1 to {_LONGEST_NAME} characters"
        if not isinstance(self.id, str) or not 0 < len(self.id) <= _LONGEST_NAME or not self.id.isprintable():
            raise InvalidParameter.of("id", rule, self.id)
        if not isinstance(self.mechanism, Mechanism):
            raise InvalidParameter.of("mechanism", "a mechanism", self.mechanism)
        object.__setattr__(self, "reports", checks.whole_number("reports", self.reports))

    @property
    def key(self) -> tuple[str, str, str]:
        """Entries with the same key are one: under other parameters, or with other bytes, they are two."""
        return self.id, parameters_id(self.mechanism), self.digest or ""


@dataclass(frozen=True, slots=True)
class Ledger:
    """What one person has sent. Ledgers of the same person are merged with `|`, in any order and as often as wanted.

    >>> from entropie.mechanisms.randomized_response import RandomizedResponse
    >>> colour = RandomizedResponse(domain_size=10, epsilon=1.0)
    >>> ledger = Ledger().add(colour, "monday").add(colour, "tuesday")
    >>> ledger.reports, round(ledger.epsilon, 6), ledger | ledger == ledger
    (2, 2.0, True)
    """

    entries: tuple[Entry, ...] = ()
    """Sorted by key, none twice."""

    def __post_init__(self) -> None:
        kept: dict[tuple[str, str, str], Entry] = {}
        for entry in self.entries:
            key = entry.key
            if key not in kept or kept[key].reports < entry.reports:
                kept[key] = entry
        object.__setattr__(self, "entries", tuple(kept[key] for key in sorted(kept)))

    def add(self, mechanism: Mechanism, id: str, reports: int = 1) -> Ledger:
        """With reports newly drawn: every draw needs a name of its own, also where it happens to give the same."""
        return Ledger((*self.entries, Entry(id, mechanism, reports)))

    def add_kept(self, mechanism: Mechanism, id: str, report: bytes) -> Ledger:
        """With a report that the device keeps: the same bytes sent again under this name cost nothing.

        Only for an answer that is stored and repeated. One that is drawn anew goes through `add`, whatever it says.
        """
        if not isinstance(report, bytes):
            raise InvalidParameter.of("report", "the bytes that are sent", report)
        digest = hashlib.sha256(to_document(mechanism).encode() + b"\n" + report).hexdigest()
        return Ledger((*self.entries, Entry(id, mechanism, 1, digest)))

    def __or__(self, other: Ledger) -> Ledger:
        """Both together; of entries that are in both the one with more reports."""
        return Ledger(self.entries + other.entries) if isinstance(other, Ledger) else NotImplemented

    @classmethod
    def covering(cls, ledgers: Iterable[Ledger]) -> Ledger:
        """A ledger that spends at least what each of these people has: of every mechanism the largest number.

        Who has sent fewer is covered if that is not seen: filled up with reports about made-up items.
        """
        most: dict[str, tuple[Mechanism, int]] = {}
        for ledger in ledgers:
            for mechanism, reports in ledger.by_mechanism:
                name = parameters_id(mechanism)
                if name not in most or most[name][1] < reports:
                    most[name] = (mechanism, reports)
        return cls(tuple(Entry(name, *found) for name, found in most.items()))

    @property
    def by_mechanism(self) -> list[tuple[Mechanism, int]]:
        """Every mechanism with its number of reports."""
        found: dict[str, tuple[Mechanism, int]] = {}
        for entry in self.entries:
            name = entry.key[1]
            found[name] = (entry.mechanism, entry.reports + (found[name][1] if name in found else 0))
        return [found[name] for name in sorted(found)]

    @property
    def reports(self) -> int:
        """How many reports were sent, repeated ones once."""
        return sum(entry.reports for entry in self.entries)

    @property
    def epsilon(self) -> float:
        """The sum over all reports."""
        return math.fsum(reports * mechanism.epsilon for mechanism, reports in self.by_mechanism)

    def guarantee(
        self, *, users: int, list_size: int = 1, prior_max: float | None = None, linked: bool = True
    ) -> LedgerGuarantee:
        """What holds where each of this many people has sent at most these reports, in whatever order.

        Exact where the mechanism is the same throughout and its own guarantee is; otherwise certified. The questions
        may be chosen after seeing earlier answers. Mechanisms and their parameters may for epsilon and certainty; for
        the averages their sequence is fixed beforehand.
        """
        crowd = Crowd(users, 1, list_size, prior_max, linked)
        found = _together(self.by_mechanism, crowd)
        return LedgerGuarantee(
            users=crowd.users,
            reports_per_user=self.reports,
            list_size=crowd.list_size,
            prior_max=crowd.prior_max,
            epsilon=found.epsilon,
            alone=SpentAlone(found.alpha_bits, found.bayes_error, found.list_error, found.posterior_max),
            all_reports=found.all_reports,
            spent=[
                SpentOnce(parameters_id(one), one.kind, reports, reports * one.epsilon, one.theta)
                for one, reports in self.by_mechanism
            ],
        )

    def left(self, budget: Budget) -> Left:
        """What is left of a budget."""
        found = _together(self.by_mechanism, budget.crowd)
        store = found.all_reports
        everybody = budget.scope == "all"
        epsilon = _room(found.epsilon, budget.epsilon)
        certainty = _room(store.posterior_max if everybody else found.posterior_max, budget.certainty)
        error = _room(store.list_error if everybody else found.list_error, budget.bayes_error, falling=True)
        return Left(
            within=all(room.left is None or room.left >= 0.0 for room in (epsilon, certainty, error)),
            epsilon=epsilon,
            certainty=certainty,
            bayes_error=error,
            epsilon_left=_epsilon_left(found.epsilon, budget),
        )

    def allows(self, mechanism: Mechanism, budget: Budget, reports: int = 1) -> bool:
        """Whether so many more reports keep the budget: ask before sending."""
        return _within(_with(self.by_mechanism, mechanism, checks.whole_number("reports", reports)), budget)

    def reports_left(self, mechanism: Mechanism, budget: Budget) -> int | None:
        """How many more reports by this mechanism keep the budget; None where more than a million do."""
        low, high = 0, 1
        sent = self.by_mechanism
        if not _within(sent, budget):
            return 0
        while _within(_with(sent, mechanism, high), budget):
            low, high = high, 2 * high
            if low >= _MOST_REPORTS:
                return None
        return last_where(lambda more: _within(_with(sent, mechanism, more), budget), low, high)

    def to_document(self) -> str:
        """The canonical JSON text: sorted keys and entries, no white space, ASCII."""
        entries = [
            LedgerEntry(entry.id, json.loads(to_document(entry.mechanism)), entry.reports, entry.digest)
            for entry in self.entries
        ]
        document = LedgerDocument("entropie.ledger", 1, entries).to_json()
        return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    @classmethod
    def from_document(cls, text: str | bytes, name: str = "The ledger") -> Ledger:
        """The ledger that a document describes."""
        content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        remedy = "take the one that the device wrote"
        document = converted(parsed(content, name, remedy), LedgerDocument, name, remedy)
        return cls(tuple(_entry(entry) for entry in document.entries))


def _entry(entry: LedgerEntry) -> Entry:
    return Entry(entry.id, from_document(json.dumps(entry.parameters)), entry.reports, entry.digest)


def _with(sent: Sequence[tuple[Mechanism, int]], mechanism: Mechanism, more: int) -> list[tuple[Mechanism, int]]:
    """The same with more reports by one mechanism."""
    return Ledger(tuple(Entry(str(place), *one) for place, one in enumerate([*sent, (mechanism, more)]))).by_mechanism


def _together(sent: Sequence[tuple[Mechanism, int]], crowd: Crowd) -> spending.Together:
    shares = [
        spending.Share(one.truth, one.guarantee_for(replace(crowd, reports=1)), one.guarantee_for(replaced))
        for one, replaced in ((one, replace(crowd, reports=reports)) for one, reports in sent)
    ]
    return spending.together(shares, crowd)


def _within(sent: Sequence[tuple[Mechanism, int]], budget: Budget) -> bool:
    """Whether these reports keep every limit; the cheap ones first."""
    spent, crowd = math.fsum(reports * one.epsilon for one, reports in sent), budget.crowd
    if budget.epsilon is not None and spent > budget.epsilon:
        return False
    if budget.certainty is not None and _certainty(sent, spent, budget) > budget.certainty:
        return False
    if budget.bayes_error is None:
        return True
    found = _together(sent, crowd)
    return (found.all_reports if budget.scope == "all" else found).list_error >= budget.bayes_error


def _certainty(sent: Sequence[tuple[Mechanism, int]], spent: float, budget: Budget) -> float:
    """Worst-case certainty; where reports are not linked, about the sender of one."""
    if budget.scope == "all" and not budget.linked:
        spent = max((one.epsilon for one, _ in sent), default=0.0)
    return any_mechanism.posterior_max(budget.users, spent, budget.doubled, budget.prior_max)


def _room(now: float, limit: float | None, falling: bool = False) -> Room:
    if limit is None:
        return Room(now, None, None)
    return Room(now, limit, now - limit if falling else limit - now)


def _epsilon_left(spent: float, budget: Budget) -> float | None:
    """The epsilon that the limits on it and on certainty leave; of one report where reports are not linked."""
    limits, certainty = [], budget.certainty
    if budget.epsilon is not None:
        limits.append(budget.epsilon - spent)
    if certainty is not None and certainty < 1.0:
        crowd, times = budget.crowd, budget.doubled
        kept = largest_where(
            lambda eps: any_mechanism.posterior_max(crowd.users, eps, times, crowd.prior_max) <= certainty, 0.0, 1e6
        )
        limits.append(kept - (spent if budget.linked or budget.scope == "alone" else 0.0))
    return max(0.0, min(limits)) if limits else None
