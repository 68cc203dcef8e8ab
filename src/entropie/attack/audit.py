"""A mechanism put to the test: attackers who really run, on data for which its guarantee is sharpest.

alone       names the sender of one report among people with different items, by the mechanism's own probabilities
all reports names the senders of whole stores (`store`)
epsilon     two items, fresh reports of each, and the reports that tell them apart best: the least budget with which
            so many of them are compatible (Clopper and Pearson's limits)
black box   knows no probability of the mechanism: names the item that was most often behind such reports in a lesson.
            Such are equal ones, or those that speak for the same of the items (a hash, a set, a half hardly ever comes
            twice); which of the two is better is learned from the lesson. With reports enough it comes close to the
            best there is, so that it is an estimate of it that trusts no formula

Nothing measured may exceed what is stated by more than five deviations, which chance does once in three million.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.attack.store import attack_store
from entropie.errors import InvalidParameter
from entropie.mechanisms.mechanism import Mechanism
from entropie.theory import checks
from entropie.theory.special import exact_interval

MOST_ITEMS = 1 << 12
"""Larger domains would need every report's probability for every item."""
DEVIATIONS = 5.0
_LEVEL = 1.0 - math.erfc(DEVIATIONS / math.sqrt(2.0))
_MOST_BITS = 1 << 25
_MOST_STORES = 400
_BATCH = 1 << 21
_PILOT = 4000
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Measured:
    """What an attacker reached, its standard error, and what is stated to be the most.

    `sharp` says that the data at hand attain what is stated: then much less speaks against the attacker, or the
    statement.
    """

    value: float
    deviation: float
    stated: float
    sharp: bool

    @property
    def holds(self) -> bool:
        """Whether it is not above what is stated, but for chance."""
        return self.value <= self.stated + DEVIATIONS * self.deviation + 1e-12

    @property
    def meets(self) -> bool:
        """Whether it is what is stated, but for chance; a bound need not be met."""
        return self.holds and (not self.sharp or self.value >= self.stated - DEVIATIONS * self.deviation - 1e-12)


@dataclass(frozen=True, slots=True)
class Audit:
    """What attackers reached, each beside what the mechanism states.

    alone, all_reports, black_box   shares re-identified among `users` people with one report each
    epsilon                         the budget that reports prove to be spent, at least
    """

    users: int
    reports: int
    alone: Measured
    all_reports: Measured
    black_box: Measured
    epsilon: Measured

    @property
    def holds(self) -> bool:
        """Whether nothing measured exceeds what is stated."""
        return all(one.holds for one in (self.alone, self.all_reports, self.black_box, self.epsilon))


def audit(
    mechanism: Mechanism, *, users: int = 10, reports: int = 100_000, rng: np.random.Generator | None = None
) -> Audit:
    """Attack so many reports of this mechanism, in crowds of so many people.

    Reports come from the operating system's randomness, as on a device, or from `rng`, so that they can be repeated.
    Mechanisms with large reports are asked for fewer of them.
    """
    users = checks.whole_number("users", users, at_least=2, at_most=1000)
    wanted = checks.whole_number("reports", reports, at_least=1000)
    if mechanism.domain_size > MOST_ITEMS:
        rule = f"at most {MOST_ITEMS} for an audit; take the same mechanism over fewer items"
        raise InvalidParameter.of("domain_size", rule, mechanism.domain_size)
    asked = max(1000, min(wanted, _MOST_BITS // max(1, math.ceil(mechanism.report_bits))))
    job = _Job(mechanism, np.arange(users) % mechanism.domain_size, asked, rng)
    return Audit(
        users=users,
        reports=asked,
        alone=job.alone(),
        all_reports=job.all_reports(),
        black_box=job.black_box(),
        epsilon=job.epsilon(),
    )


@dataclass(frozen=True, slots=True)
class _Job:
    """People with these items, so many reports for each measurement."""

    mechanism: Mechanism
    data: Codes
    reports: int
    rng: np.random.Generator | None

    def send(self, values: Codes) -> Any:
        """Reports about these items."""
        if self.rng is None:
            return self.mechanism.obfuscate_many(values)
        return self.mechanism.simulate(values, self.rng)

    def batches(self, items: Codes, reports: int) -> Iterator[tuple[Codes, Any]]:
        """Reports about these items in turn, a batch at a time: which item of `items`, and the report."""
        step = max(1, _BATCH // self.mechanism.domain_size)
        for begin in range(0, reports, step):
            place = np.arange(begin, min(reports, begin + step)) % len(items)
            yield place, self.send(items[place])

    def alone(self) -> Measured:
        """The share of senders named from one report; people who fit equally share the credit."""
        credit = []
        for sender, sent in self.batches(self.data, self._rounds()):
            chances = self.mechanism.likelihoods(sent)[:, self.data]
            best = chances >= chances.max(axis=1, keepdims=True) * (1.0 - 1e-9)
            credit.append(best[np.arange(len(sender)), sender] / best.sum(axis=1))
        stated = float(self.mechanism.success_alone(len(self.data)))
        return _share(np.concatenate(credit), stated, self.mechanism.alone_is_exact)

    def all_reports(self) -> Measured:
        """The share of senders named in whole stores."""
        stores = min(_MOST_STORES, max(30, self.reports // len(self.data)))
        found = [attack_store(self.mechanism, self.data, self.send(self.data)).reidentified for _ in range(stores)]
        bound = self.mechanism.guarantee(users=len(self.data)).all_reports
        return _share(np.array(found), 1.0 - bound.bayes_error, False, len(self.data))

    def black_box(self) -> Measured:
        """Three quarters of the reports are the lesson, of which one tells which rule is better; the rest is named."""
        items, lessons = np.unique(self.data), (_Lesson(), _Lesson())
        right = [0, 0]
        for place, sent in self.batches(items, self.reports // 2):
            for lesson, keys in zip(lessons, self._kinds(items, sent), strict=True):
                lesson.learn(keys, place)
        for place, sent in self.batches(items, self.reports // 4):
            for rule, keys in enumerate(self._kinds(items, sent)):
                right[rule] += int((lessons[rule].named(keys) == place).sum())
        best, credit = int(right[1] > right[0]), []
        for place, sent in self.batches(items, self.reports // 4):
            credit.append(lessons[best].named(self._kinds(items, sent)[best]) == place)
        stated = float(self.mechanism.success_alone(len(items)))
        return _share(np.concatenate(credit).astype(np.float64), stated, False)

    def epsilon(self) -> Measured:
        """The budget that two items' reports prove, by the reports that tell the two apart best."""
        stated = self.mechanism.epsilon
        first, second, ratio = self._pair()
        hits = [0, 0]
        for which, item in enumerate((first, second)):
            for _, sent in self.batches(np.array([item]), self.reports):
                chances = self.mechanism.likelihoods(sent)
                telling = chances[:, first] * (1.0 + 1e-9) >= ratio * chances[:, second]
                hits[which] += int(telling.sum())
        low, _ = exact_interval(hits[0], self.reports, _LEVEL)
        _, high = exact_interval(hits[1], self.reports, _LEVEL)
        proven = math.log(low / high) if low > 0.0 else 0.0
        return Measured(max(0.0, proven), 0.0, stated, sharp=False)

    def _pair(self) -> tuple[int, int, float]:
        """Two items that some report tells apart best, and how well: probabilities as stated, seen in a first draw."""
        size = self.mechanism.domain_size
        found = (0, size - 1, 1.0)
        for _, sent in self.batches(np.arange(size), min(self.reports, max(_PILOT, 2 * size))):
            chances = self.mechanism.likelihoods(sent)
            high, low = chances.max(axis=1), chances.min(axis=1)
            with np.errstate(divide="ignore"):
                ratios = high / low
            at = int(ratios.argmax())
            if ratios[at] > found[2]:
                found = int(chances[at].argmax()), int(chances[at].argmin()), float(ratios[at])
        return found if math.isfinite(found[2]) else (found[0], found[1], 1e12)

    def _rounds(self) -> int:
        """Reports in whole rounds of people."""
        return max(1, self.reports // len(self.data)) * len(self.data)

    def _kinds(self, items: Codes, sent: Any) -> tuple[list[bytes], list[bytes]]:
        """Reports as they are, and which items each speaks for most and least."""
        chances = self.mechanism.likelihoods(sent)[:, items]
        most = chances >= chances.max(axis=1, keepdims=True) * (1.0 - 1e-9)
        least = chances <= chances.min(axis=1, keepdims=True) * (1.0 + 1e-9)
        shapes = most + 2 * least
        return [row.tobytes() for row in self.mechanism.rows_of(sent)], [row.tobytes() for row in shapes]


class _Lesson:
    """How often each item was behind each kind of report."""

    def __init__(self) -> None:
        self._seen: dict[bytes, Counter[int]] = {}

    def learn(self, keys: list[bytes], items: Codes) -> None:
        for key, item in zip(keys, items.tolist(), strict=True):
            self._seen.setdefault(key, Counter())[item] += 1

    def named(self, keys: list[bytes]) -> Codes:
        """The item most often behind such a report; the first where there was none."""
        return np.array([self._seen[key].most_common(1)[0][0] if key in self._seen else 0 for key in keys], np.int64)


def _share(credit: Floats, stated: float, sharp: bool, each: int = 1) -> Measured:
    """A mean of rows, each over so many senders; its standard error is at least that of the stated share."""
    spread = max(float(credit.std()), math.sqrt(max(0.0, stated * (1.0 - stated)) / each))
    return Measured(float(credit.mean()), spread / math.sqrt(len(credit)), stated, sharp)
