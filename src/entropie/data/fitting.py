"""Whether reports can be what a mechanism makes of anything: noise that must be there, truth that cannot be.

A parameter document beside plain data would take the attacker of known events out of scope. So reports must fit theirs,
and be enough to show it. Whatever people do, a report of randomized response is any value with probability at least
(1 - theta)/k, two of a person's reports agree with probability at most theta^2 + (1 - theta^2)/k, and one lies among
some items that are known of its sender with probability at most theta + (1 - theta) of their share of the domain. Local
hashing draws its functions uniformly, and its values likewise. Each is tested by Chernoff's bound, which holds for sums
of independent events with whatever probabilities below it; and what holds of reports holds of two in a row, so that an
order is noticed which leaves every value as common as noise would. A row of reports comes again, in whomever's trace,
with probability at most (theta + (1 - theta)/k) to the power of its length: rows so long that none should come again
among all give routines, loops and common ways away.

Plain data that are as even and as independent as noise cannot be told from it: the verdict asks for a declaration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from entropie.data.reports import LinkedReports
from entropie.data.traces import Traces
from entropie.errors import InvalidInput
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.mechanism import Mechanism
from entropie.words import percent

HARDLY = 1e-9
"""Reports that fit look worse than this by chance no more often: six standard deviations."""

ENOUGH = 40.0
"""Reports that noise alone must bring to each part of the domain, for a test to be worth anything."""

ENOUGH_PAIRS = 100
"""Pairs of one person's reports, or reports of known people, from which on habits would be noticed."""

MOSTLY_TRUE = 0.5
"""With more truth than this, whoever knows events knows most of the reports."""

_PARTS, _LISTED = 10, 1 << 20
_SQUARED, _LONGEST, _ODD = 1 << 26, 64, np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False)
class Sent:
    """Reports of a mechanism with what is known of their senders: `known` are the items of senders[j], as row j.

    timed   whether the reports bear times
    """

    mechanism: Mechanism
    linked: LinkedReports
    senders: NDArray[np.int64]
    known: Traces
    timed: bool = False


def doubts(sent: Sent) -> list[str]:
    """Why the reports are not taken for what the parameters say, in sentences; none where they show it."""
    theta = sent.mechanism.theta
    if sent.timed:
        return [f"The reports bear times, which whoever knows events knows: {_JUDGED}"]
    if theta > MOSTLY_TRUE:
        return [f"{percent(theta)} of the reports are true, so whoever knows events knows reports: {_JUDGED}"]
    found = [*_floors(sent), *_habits(sent), *_orders(sent)]
    if any(found):
        return [f"The reports cannot be what the parameters say ({_WHY[found.index(True)]}): {_JUDGED}"]
    return [] if _shown(sent) else [f"The reports are too few to show that they hold noise: {_JUDGED}"]


_JUDGED = "known events are judged, too, as for plain data."
_WHY = (
    "values are missing that noise would bring",
    "a person's reports agree more often than noise allows",
    "a person's reports agree less often than noise makes them",
    "reports agree with what is known of their senders more often than noise allows",
    "reports follow each other in an order that noise would break",
    "rows of reports come again that noise would hardly ever repeat",
)


def _floors(sent: Sent) -> list[bool]:
    """Whether some column lacks what noise must bring to it."""
    mechanism, columns = sent.mechanism, sent.linked.columns
    if isinstance(mechanism, LocalHashing):
        a, b, y = columns
        if a.size and not a.min():
            raise InvalidInput("Report field `a` must be at least 1, got 0; that is no function of the hash family.")
        functions = (a - np.uint64(1), mechanism.prime - 1, 1.0), (b, mechanism.prime, 1.0)
        return [any(_lacks(*one) for one in (*functions, (y, mechanism.hash_size, 1.0 - mechanism.theta)))]
    return [_lacks(columns[0], mechanism.domain_size, 1.0 - mechanism.theta)]


def _lacks(values: NDArray[np.uint64], size: int, noise: float) -> bool:
    """Whether a part of the domain gets fewer values than `noise` times its share: parts in the order of codes, and
    parts that half of the values are rare or common in, tested on the other half.
    """
    parts = _parts(values.size // 2, size, noise)
    if parts < 2:
        return False
    level = HARDLY / (parts + 4)
    first, second = values[::2], values[1::2]
    edges = [part * size // parts for part in range(parts + 1)]
    counts = np.bincount(np.searchsorted(np.array(edges[1:-1], np.uint64), values, side="right"), minlength=parts)
    shares = np.diff(np.array(edges, np.float64)) / size
    lacking = [_fewer(int(n), values.size, noise * share, level) for n, share in zip(counts, shares, strict=True)]
    seen = np.unique(first)
    for inside, held in ((np.isin(second, seen), seen.size), *_rare(first, second, size)):
        share = held / size
        lacking.append(_fewer(int(inside.sum()), second.size, noise * share, level))
        lacking.append(_fewer(int((~inside).sum()), second.size, noise * (1.0 - share), level))
    return any(lacking)


def _rare(first: NDArray[np.uint64], second: NDArray[np.uint64], size: int) -> list[tuple[NDArray[np.bool_], int]]:
    """Which of the second values are among the rarer half of the domain by the first, where it can be listed."""
    if size > _LISTED:
        return []
    rare = np.zeros(size, np.bool_)
    rare[np.argsort(np.bincount(first.astype(np.int64), minlength=size), kind="stable")[: size // 2]] = True
    return [(rare[second.astype(np.int64)], size // 2)]


def _habits(sent: Sent) -> list[bool]:
    """Whether a person's reports agree with each other, or with what is known of them, more often than noise allows."""
    together, pairs, chance = _pairs(sent)
    own, reports, most = _own(sent)
    least = (
        0.0
        if isinstance(sent.mechanism, LocalHashing)
        else (1.0 - sent.mechanism.theta**2) / sent.mechanism.domain_size
    )
    fewer = _fewer(together, pairs, least, HARDLY)
    return [_more(together, pairs, chance), fewer, _more(own, reports, most)]


def _orders(sent: Sent) -> list[bool]:
    """Whether two reports in a row of one person, or a long row of them, are what noise would not let through."""
    mechanism, column = sent.mechanism, sent.linked.columns[0]
    if isinstance(mechanism, LocalHashing):
        return [False, _comes_again(column, sent.linked.offsets, 1.0 / (mechanism.prime - 1))]
    size, theta = mechanism.domain_size, mechanism.theta
    again = _comes_again(column, sent.linked.offsets, theta + (1.0 - theta) / size)
    if size > _SQUARED:
        return [False, again]
    first = _firsts(sent)
    both = column[first] * np.uint64(size) + column[first + 1]
    return [_lacks(both, size**2, (1.0 - theta) ** 2), again]


def _comes_again(values: NDArray[np.uint64], offsets: NDArray[np.int64], chance: float) -> bool:
    """Whether some row of one person's values is there twice, so long that noise brings no two of them: each value is
    what it must be with probability at most `chance`, whatever stands before it.
    """
    length = _unrepeated(values.size, chance)
    ends = np.repeat(offsets[1:], np.diff(offsets))
    begins = np.flatnonzero(np.arange(values.size) + length <= ends)
    if begins.size < 2 or length > _LONGEST:
        return False
    rows = np.zeros(begins.size, np.uint64)
    for step in range(length):  # a hash, of which only candidates are looked at
        rows = (rows ^ values[begins + step]) * _ODD
        rows ^= rows >> np.uint64(29)
    order = np.argsort(rows, kind="stable")
    same = np.flatnonzero(rows[order[1:]] == rows[order[:-1]])[:_LISTED]
    one, other = begins[order[same]], begins[order[same + 1]]
    equal = np.ones(same.size, np.bool_)
    for step in range(length):
        equal &= values[one + step] == values[other + step]
    return bool(equal.any())


def _unrepeated(values: int, chance: float) -> int:
    """How long a row must be so that two equal ones among so many come about once in 1/`HARDLY`."""
    if chance >= 1.0 or values < 2:
        return _LONGEST + 1
    return math.ceil((2.0 * math.log(values) - math.log(2.0 * HARDLY)) / -math.log(chance))


def _firsts(sent: Sent) -> NDArray[np.int64]:
    """The first reports of pairs in a row of one person, no report in two of them."""
    offsets = sent.linked.offsets
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
    length = np.repeat(np.diff(offsets), np.diff(offsets))
    return np.flatnonzero((place % 2 == 0) & (place + 1 < length))


def _pairs(sent: Sent) -> tuple[int, int, float]:
    """Pairs of reports of one person: how many agree, of how many, and the chance at most."""
    mechanism, first = sent.mechanism, _firsts(sent)
    column, theta = sent.linked.columns[0], mechanism.theta
    chance = theta**2 + (1.0 - theta**2) / mechanism.domain_size
    if isinstance(mechanism, LocalHashing):
        chance = 1.0 / (mechanism.prime - 1)  # its functions, which are drawn anew for every report
    return int((column[first] == column[first + 1]).sum()), first.size, chance


def _own(sent: Sent) -> tuple[int, int, float]:
    """Reports that speak for what is known of their senders: how many, of how many, and their mean chance at most."""
    mechanism, theta, known = sent.mechanism, sent.mechanism.theta, sent.known
    offsets, columns = sent.linked.take(sent.senders)
    sender = np.repeat(np.arange(sent.senders.size), np.diff(offsets))
    has = (np.diff(known.offsets) > 0)[sender]
    sender, columns = sender[has], tuple(column[has] for column in columns)
    if not sender.size:
        return 0, 0, 1.0
    if isinstance(mechanism, LocalHashing):
        item = known.items[known.offsets[:-1][sender]].astype(np.uint64)
        a, b, y = columns
        agree = mechanism.family.values(a, b, item) == y
        return int(agree.sum()), sender.size, theta + (1.0 - theta) / mechanism.hash_size
    size = np.int64(mechanism.domain_size)
    person = np.repeat(np.arange(known.users), np.diff(known.offsets))
    held = np.unique(person * size + known.items)
    agree = np.isin(sender * size + columns[0].astype(np.int64), held)
    items = np.bincount(held // size, minlength=known.users)[sender]
    return int(agree.sum()), sender.size, theta + (1.0 - theta) * float(items.mean()) / mechanism.domain_size


def _shown(sent: Sent) -> bool:
    """Whether the tests would have noticed plain data: data without habits too, whose items are all different."""
    mechanism, reports, noise = sent.mechanism, int(sent.linked.offsets[-1]), 1.0 - sent.mechanism.theta
    size = mechanism.hash_size if isinstance(mechanism, LocalHashing) else mechanism.domain_size
    if noise * reports**2 / (4.0 * size) < ENOUGH:  # values that noise must bring again
        return False
    _, pairs, chance = _pairs(sent)
    _, own, most = _own(sent)
    habits = pairs >= ENOUGH_PAIRS and not isinstance(mechanism, LocalHashing) and chance < MOSTLY_TRUE
    return _parts(reports // 2, size, noise) >= 2 and (habits or (own >= ENOUGH_PAIRS and most <= MOSTLY_TRUE))


def _parts(values: int, size: int, noise: float) -> int:
    """Into how many parts the domain is cut, so that noise must bring enough values to each."""
    return int(min(_PARTS, size, values * noise / ENOUGH))


def _fewer(found: int, of: int, chance: float, level: float) -> bool:
    """Whether so few events of a probability of at least `chance` each are rarer than the level."""
    return of > 0 and found < of * chance and of * _divergence(found / of, chance) > -math.log(level)


def _more(found: int, of: int, chance: float) -> bool:
    """Whether so many events of a mean probability of at most `chance` are rarer than `HARDLY`."""
    return of > 0 and found > of * chance and of * _divergence(found / of, chance) > -math.log(HARDLY)


def _divergence(share: float, chance: float) -> float:
    """Kullback and Leibler's divergence of two coins, in nats."""
    parts = ((share, chance), (1.0 - share, 1.0 - chance))
    return math.fsum(p * math.log(p / q) if q > 0.0 else math.inf for p, q in parts if p > 0.0)
