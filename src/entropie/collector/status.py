"""A collection as people watch it: estimates, who took part, guarantees, alerts. Facts in, one value out."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from entropie.collector.alerts import Alert, hour_text
from entropie.collector.document import Collection
from entropie.collector.facts import Facts, pool_deviation, shifted_rates
from entropie.collector.regression import Attacked
from entropie.document.base import AtLeastOne, Count, Part, Sha256, Share, Unlimited
from entropie.estimation.estimates import Estimates, level_among_largest
from entropie.theory.guarantee import Guarantee
from entropie.theory.loss import detectable_share, significant_count

SHOWN_ITEMS = 100
SHOWN_HOURS = 7 * 24
INTERVAL = 0.95
SIGNIFICANCE = 0.05
POISONED = 0.01

STORED = (
    "How often each cell was reported.",
    "A keyed 64-bit hash of each report's random number, against replays, until the collection is closed.",
    "How many reports came in each hour.",
)
NOT_STORED = "No report by itself, no order of reports, no address, no user agent, no cookie, no exact time."


class Asked(Part, frozen=True):
    """What the collection asks, and with how much noise."""

    id: Sha256
    title: str
    opens: datetime.date
    closes: datetime.date
    closed: bool
    people: AtLeastOne
    reports_per_person: AtLeastOne
    kind: str
    items: AtLeastOne
    listed: Annotated[bool, Meta(description="Whether items have names; else names are hashed to codes.")]
    epsilon: Unlimited
    theta: Share
    hash_size: int | None
    functions: AtLeastOne


class Came(Part, frozen=True):
    """What came in; `people` is the fewest who can have sent the reports, at most those declared."""

    reports: Count
    expected: Count
    people: Count
    duplicate: Count
    invalid: Count


class Volume(Part, frozen=True):
    """Records of one hour in UTC."""

    hour: str
    accepted: Count
    duplicate: Count
    invalid: Count


class ItemEstimate(Part, frozen=True):
    """The estimated share of an item among the reports; it may be negative, its interval is cut to 0 to 1."""

    code: Count
    name: str | None
    share: float
    low: Share
    high: Share
    stands_out: bool


class LiveEstimates(Part, frozen=True):
    """The largest estimates, how many stand out, the smallest share that would; `missing`: why there are none."""

    shown: tuple[ItemEstimate, ...]
    standing_out: Count
    detectable_share: Unlimited
    missing: str | None


class Against(Part, frozen=True):
    """What is guaranteed against one attacker: their error rate at least, certainty about one person at most."""

    attacker: Literal["alone", "all reports", "all reports, knows who took part"]
    people: AtLeastOne
    error: Share
    list_error: Share
    certainty: Share


class Influence(Part, frozen=True):
    """How far fake reports can move the share of an item, at most: m/(theta N); theta (1-c) for local hashing."""

    one_report: Unlimited
    one_percent_of_reports: Unlimited


class Limited(Part, frozen=True):
    """The limits that the collection declares; null where there is none."""

    error: Share | None
    list_error: Share | None
    list_size: AtLeastOne
    certainty: Share | None


class Status(Part, frozen=True):
    """All that the dashboard shows."""

    schema: Literal["entropie.status"]
    version: Literal[1]
    asked: Asked
    came: Came
    estimates: LiveEstimates
    guarantees: tuple[Against, ...]
    limits: Limited
    influence: Influence
    alerts: tuple[Alert, ...]
    attacked: Attacked | None
    hours: tuple[Volume, ...]
    stored: tuple[str, ...]
    not_stored: str


def status(facts: Facts, alerts: Iterable[Alert] = (), attacked: Attacked | None = None) -> Status:
    """What people watch, from what the store knows."""
    collection, total = facts.collection, facts.total
    return Status(
        schema="entropie.status",
        version=1,
        asked=_asked(facts),
        came=Came(
            total,
            collection.users * collection.reports,
            facts.people,
            sum(one.duplicate for one in facts.hours),
            sum(one.invalid for one in facts.hours),
        ),
        estimates=_estimated(facts),
        guarantees=guarantees(facts),
        limits=_limits(collection),
        influence=Influence(collection.influence(1, total), collection.influence(1, 1) * POISONED),
        alerts=tuple(alerts),
        attacked=attacked,
        hours=tuple(
            Volume(hour_text(one.hour), one.accepted, one.duplicate, one.invalid)
            for one in facts.hours
            if 0 <= facts.hour - one.hour < SHOWN_HOURS
        ),
        stored=STORED,
        not_stored=NOT_STORED,
    )


def guarantees(facts: Facts) -> tuple[Against, ...]:
    """By attacker; who knows who took part faces fewer people while not all have reported."""
    declared = facts.collection.guarantee_for(facts.collection.users)
    rows = [
        Against("alone", declared.users, declared.bayes_error, declared.list_error, declared.posterior_max),
        _everything("all reports", declared),
    ]
    if facts.people:
        rows.append(_everything("all reports, knows who took part", facts.collection.guarantee_for(facts.people)))
    return tuple(rows)


def _everything(attacker: Literal["all reports", "all reports, knows who took part"], given: Guarantee) -> Against:
    store = given.all_reports
    return Against(attacker, given.users, store.bayes_error, store.list_error, store.posterior_max)


def _asked(facts: Facts) -> Asked:
    collection, device = facts.collection, facts.collection.device
    return Asked(
        id=collection.id,
        title=collection.title,
        opens=collection.opens,
        closes=collection.closes,
        closed=facts.closed,
        people=collection.users,
        reports_per_person=collection.reports,
        kind=device.kind,
        items=device.domain_size,
        listed=collection.items is not None,
        epsilon=device.epsilon,
        theta=device.theta,
        hash_size=getattr(device, "hash_size", None),
        functions=collection.functions,
    )


def _limits(collection: Collection) -> Limited:
    limits = collection.limits
    numbers = (
        None if text is None else float(text) for text in (limits.bayes_error, limits.list_error, limits.certainty)
    )
    error, list_error, certainty = numbers
    return Limited(error, list_error, int(limits.list_size), certainty)


def named(facts: Facts, names: Sequence[str]) -> tuple[ItemEstimate, ...]:
    """Estimates of these names, also where there are too many items to estimate them all; none without reports."""
    if facts.total == 0 or facts.collection.device.rates.gain <= 0.0:
        return ()
    codes = {name: facts.collection.code_of(name) for name in names}
    found = facts.estimates_of(set(codes.values()))
    rows, sorted_codes = _Rows.of(facts, found), sorted(set(codes.values()))
    return tuple(rows.at(sorted_codes.index(code), code, name) for name, code in codes.items())


class _Rows(NamedTuple):
    """Estimates as they are shown: the pool of hash functions is allowed for in interval and significance."""

    shares: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    sure: NDArray[np.bool_]
    detectable: float

    @classmethod
    def of(cls, facts: Facts, found: Estimates, interval: float = INTERVAL) -> _Rows:
        shares, (low, high) = found.probabilities, found.intervals(interval)
        # the pool moves an estimate by a fixed amount, however many reports there are
        pool = NormalDist().inv_cdf(0.5 + interval / 2.0) * pool_deviation(facts.collection)
        size = found.domain_size
        rates = shifted_rates(facts.collection, SIGNIFICANCE / 2.0 / size, +1)
        level = SIGNIFICANCE if rates.nu == found.rates.nu else SIGNIFICANCE / 2.0
        raised = (rates.nu - found.rates.nu) / found.rates.gain
        return cls(
            shares,
            np.clip(shares - np.hypot(shares - low, pool), 0.0, 1.0),
            np.clip(shares + np.hypot(high - shares, pool), 0.0, 1.0),
            found.counts >= significant_count(rates, found.reports, size, level),
            detectable_share(rates, found.reports, size, level) + raised,
        )

    def at(self, place: int, code: int, name: str | None) -> ItemEstimate:
        return ItemEstimate(
            code,
            name,
            float(self.shares[place]),
            float(self.low[place]),
            float(self.high[place]),
            bool(self.sure[place]),
        )


def _estimated(facts: Facts) -> LiveEstimates:
    missing = _missing(facts)
    if missing is not None:
        return LiveEstimates((), 0, float("inf"), missing)
    found, names = facts.estimates, facts.collection.items
    rows = _Rows.of(facts, found, level_among_largest(SHOWN_ITEMS, len(found.counts), INTERVAL))
    shown = (rows.at(code, code, None if names is None else names[code]) for code in found.top(SHOWN_ITEMS).tolist())
    return LiveEstimates(tuple(shown), int(rows.sure.sum()), rows.detectable, None)


def _missing(facts: Facts) -> str | None:
    if facts.total == 0:
        return "No report has come yet."
    if facts.collection.device.rates.gain <= 0.0:
        return "The mechanism sends pure noise, so nothing can be estimated."
    if not facts.estimable:
        return "There are too many items to estimate all of them live; look up names."
    return None
