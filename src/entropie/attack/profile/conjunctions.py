"""What goes together in a person's life and in nobody else's: an hour at a place, a place after another.

The other evidence of the profile attacker is weighed by what everybody teaches. What a few people alone can be told by
weighs little there, however plainly it tells them. Here every kind of conjunction speaks for itself. Each outcome in a
context (at a place, the hour) is a cell. Either the share of an outcome is everybody's, or it is the person's own and
anything from 0 to 1 alike. What the earlier events say of that, and the later ones if they are of the same person or of
somebody unknown, is one likelihood ratio per cell. Whoever does as all do has no cell of their own, so that nothing
speaks for or against them; whoever does what hardly anybody does is named by it, be they 20 among many thousands.

Of all kinds the one that speaks loudest counts, and the kinds that are surest are looked at by themselves, too. Nothing
is learned but how often people have outcomes of their own, and how loud a kind speaks of the wrong people, both from
the earlier events alone. Shares are those among the others.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from entropie.attack.chance import content_hashes
from entropie.attack.profile.candidates import Candidates
from entropie.attack.profile.parts import Codes, Ints, Parts, parts_of
from entropie.data.traces import Traces, ragged
from entropie.kernels.conjunctions import Cells, Own, Posted, cells_of, own_cells, own_odds, told_people
from entropie.kernels.profile_records import NOBODY

USUALLY, SORT, LEAST_CHANCE, MOST_CHANCE, STEPS = 0.05, 0.05, 1e-3, 0.9, 20
"""How often somebody has an outcome of their own in a context, and how many have one in most, before the earlier events
tell it; bounds of both, and steps until it is told.
"""

BACKED = 2.0
"""The share of an outcome in any context counts beside that in this one like so many people, or events."""

MOST_OWN = 32
"""So many cells of each kind are looked at of a person, those that tell most."""

POSTED, LEAST_POSTED, LOOKS = 512, 16, 2**21
"""Of the people who have the same cell of their own so many are looked at, those whom it tells most; fewer where there
are so many targets that more than about `LOOKS` would be looked at for each of their cells.
"""

HEARD, WRONG, MODEST = 4000, 0.01, -2.0
"""Of so many people it is looked up whom else their own earlier events would name. A kind of conjunction that names
somebody else with odds above e^MODEST for more than this share of them speaks too loud, and is turned down by as much.
"""

EACH, KEPT = 8, 20
"""So many people are named for a target by each kind of conjunction, and by all kinds."""

ALONE, SURE = 8, 20
"""Twice so many kinds are also heard by themselves, those that are surest about so many people."""

MOST_EVENTS = 2_000_000
"""Among more events conjunctions are not looked at: with times each takes 35 microseconds and 650 bytes."""

Kind = tuple[tuple[str, ...], tuple[str, ...]]
"""Names of what the context is made of, and the outcome."""

KINDS: tuple[Kind, ...] = (
    ((), ("item",)),
    ((), ("before", "item")),
    (("before",), ("item",)),
    (("earlier",), ("item",)),
    (("before", "earlier"), ("item",)),
    (("third before",), ("item",)),
    (("item",), ("ago",)),
    (("item",), ("row",)),
    (("category before",), ("category",)),
    ((), ("hour of the week",)),
    ((), ("clock",)),
    ((), ("moment",)),
    ((), ("gap",)),
    ((), ("month",)),
    ((), ("fortnight",)),
    ((), ("number a day",)),
    (("item",), ("hour",)),
    (("hour",), ("item",)),
    (("item",), ("shift",)),
    (("item",), ("hour of three",)),
    (("item",), ("weekday",)),
    (("weekday",), ("item",)),
    (("item",), ("hour of the week",)),
    (("hour of the week",), ("item",)),
    (("item",), ("clock",)),
    (("item",), ("minute",)),
    (("item",), ("second",)),
    (("item",), ("gap",)),
    (("gap",), ("item",)),
    (("before",), ("gap",)),
    (("item",), ("month",)),
    (("month",), ("item",)),
    (("item",), ("fortnight",)),
    (("item",), ("place in the day",)),
    (("place in the day",), ("item",)),
    (("left of the day",), ("item",)),
    (("item",), ("beside",)),
    ((), ("week of the month",)),
    (("item",), ("week of the month",)),
    (("item",), ("number a day",)),
    (("before", "item"), ("hour",)),
    (("before", "item"), ("weekday",)),
    (("before", "hour"), ("item",)),
    (("hour before",), ("hour",)),
    (("weekday",), ("hour",)),
    (("hour",), ("weekday",)),
    (("hour",), ("minute",)),
    (("weekday",), ("number a day",)),
    (("category",), ("hour",)),
    (("hour",), ("category",)),
    (("category",), ("weekday",)),
    (("category",), ("hour of the week",)),
)
"""The kinds of conjunctions, each where the data have all that it is made of."""

_UNITS = 2.0**20


class Told(NamedTuple):
    """Who is named for each target by one kind of conjunction, what speaks for them, and for all others together; and
    how sure the kind would be of the `SURE` wrong people that it is surest about.
    """

    people: Ints
    scores: NDArray[np.float64]
    others: NDArray[np.float64]
    mistaken: float


@dataclass(frozen=True, slots=True, eq=False)
class Loudest:
    """The people of whom the loudest kind of conjunction speaks, and for each target ln of the sum of the likelihood
    ratios of everybody else. `alone` is the same by some kinds, each by itself.
    """

    named: Candidates
    beside: NDArray[np.float64]
    alone: tuple[Loudest, ...] = ()

    def first(self, targets: int) -> Loudest:
        """Of the first so many targets."""
        some = slice(targets)
        named = Candidates(self.named.people[some], self.named.scores[some])
        return Loudest(named, self.beside[some], tuple(one.first(targets) for one in self.alone))

    def clarity(self, alike: int = 1) -> NDArray[np.float64]:
        """ln of the odds that the best so many are the right ones, in the mean, against all others."""
        scores = np.where(self.named.people == NOBODY, -np.inf, self.named.scores)
        others = np.logaddexp(np.logaddexp.reduce(scores[:, alike:], axis=1), self.beside)
        best = np.where(np.isfinite(scores[:, :alike]), scores[:, :alike], 0.0).mean(axis=1)
        return np.asarray(np.rint((best - others) * _UNITS) / _UNITS, np.float64)  # the same in any order of people


def conjunctions(
    train: Traces,
    target: Traces,
    item_categories: Ints | None = None,
    rows: Ints | None = None,
    threads: int = 1,
) -> Loudest:
    """The people whom conjunctions of their own speak for, of the targets in `rows` or all, best first.

    Scores are log-likelihood ratios against somebody of whom nothing is known, whose score is 0.
    """
    popular = np.bincount(train.items, minlength=train.domain_size)
    order = np.argsort(content_hashes(train, train, popular, popular), kind="stable")  # no name decides between equals
    train = train.take(order)
    known = parts_of(train, item_categories)
    asked = parts_of(target if rows is None else target.take(rows), item_categories)
    offsets = target.offsets if rows is None else target.take(rows).offsets
    there = [kind for kind in KINDS if all(part in known and part in asked for part in (*kind[0], *kind[1]))]

    def told(kind: Kind) -> Told:
        return _told(_cells(train.offsets, known, kind), _cells(offsets, asked, kind))

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(told, there))
    found = [kind._replace(people=np.where(kind.people == NOBODY, NOBODY, order[kind.people])) for kind in found]
    return replace(loudest(found, train.users), alone=clearest(found, train.users))


def clearest(found: list[Told], users: int) -> tuple[Loudest, ...]:
    """The kinds that by their own odds name most of the `SURE` people they are surest about, each by itself: half of
    them as they are, half by how many more than they would of the wrong people.
    """
    alone = [loudest([one], users) for one in found]
    sure = np.rint([_UNITS * _surest(one.clarity()) for one in alone])
    more = sure - np.rint([_UNITS * kind.mistaken for kind in found])
    first = np.argsort(-sure, kind="stable")[:ALONE]
    order = [*first, *(kind for kind in np.argsort(-more, kind="stable") if kind not in first)]
    return tuple(alone[kind] for kind in order[: 2 * ALONE])


def _surest(clarity: NDArray[np.float64]) -> float:
    """How many of the surest people are named rightly, by the odds."""
    return float((1.0 / (1.0 + np.exp(-np.clip(np.sort(clarity)[-SURE:], -50.0, 50.0)))).sum())


def loudest(found: list[Told], users: int) -> Loudest:
    """Each candidate by what speaks loudest for them, the best `KEPT`."""
    who = np.concatenate([kind.people for kind in found], axis=1)
    said = np.concatenate([kind.scores for kind in found], axis=1)
    order = np.lexsort((-said, who), axis=1)
    who, said = np.take_along_axis(who, order, axis=1), np.take_along_axis(said, order, axis=1)
    again = np.zeros(who.shape, np.bool_)
    again[:, 1:] = who[:, 1:] == who[:, :-1]
    who, said = np.where(again, NOBODY, who), np.where(again, 0.0, said)
    order = np.lexsort((who, -said), axis=1)[:, :KEPT]
    who, said = np.take_along_axis(who, order, axis=1), np.take_along_axis(said, order, axis=1)
    beside = np.logaddexp.reduce([kind.others for kind in found], axis=0)
    return Loudest(Candidates(who, np.where(who == NOBODY, -np.inf, said)), np.logaddexp(beside, math.log(users)))


def _told(known: Cells, asked: Cells) -> Told:
    """Whom one kind of conjunction names for each target."""
    shares = shares_of(known)
    users, targets = known.offsets.size - 1, asked.offsets.size - 1
    odds, whole, whose = own_odds(known, shares)
    whole = np.exp(np.rint(np.log(whole) * _UNITS) / _UNITS)  # the same in any order of cells
    chances, chance = chances_of(whole, whose, users)
    chance /= known.width
    own, worth = own_cells(known, shares, odds, chances, MOST_OWN)
    posted = posted_by(own, worth, int(np.clip(LOOKS // max(targets, 1), LEAST_POSTED, POSTED)))
    some = np.linspace(0, users - 1, min(users, HEARD)).astype(np.int64)
    _, loud, rest = told_people(own, posted, _taken(known, some), some, chance, 1)
    wrong = np.sort(loud[:, 0] - np.logaddexp(rest, math.log(users)))
    usual = max(0.0, float(wrong[-1 - int(WRONG * some.size)]) - MODEST)
    people, scores, others = told_people(own, posted, asked, np.full(targets, NOBODY, np.int64), chance, EACH)
    return Told(
        people,
        scores - usual,
        others - usual,
        _surest(loud[:, 0] - usual - np.logaddexp(rest - usual, math.log(users))),
    )


def _taken(cells: Cells, rows: Ints) -> Cells:
    """The cells of some traces."""
    offsets, places = ragged(cells.offsets, rows)
    return Cells(offsets, cells.keys[places], cells.counts[places], cells.totals[places], cells.width)


def shares_of(cells: Cells) -> NDArray[np.float64]:
    """The share of each cell's outcome in its context among the others: of the events, or of the people, each of whom
    has one vote, whichever makes what this person did likelier. So nobody is unusual for being unlike those who are
    there always, or unlike those who seldom are.
    """
    counts = cells.counts.astype(np.float64)
    groups = _groups(cells)
    votes, events = (_share(cells, groups, weights) for weights in (_UNITS * counts / cells.totals, _UNITS * counts))
    rest = cells.totals - cells.counts
    likelier = cells.counts * np.log(votes / events) + rest * np.log((1.0 - votes) / (1.0 - events)) >= 0.0
    return np.where(likelier, votes, events)


def _groups(cells: Cells) -> tuple[Ints, Ints, Ints]:
    """Numbers: of each cell that of its key, and of each key those of its context and its outcome."""
    keys, which = np.unique(cells.keys, return_inverse=True)
    contexts = keys >> np.uint64(32)
    outcome = np.unique(keys.astype(np.uint32), return_inverse=True)[1]
    return which, np.cumsum(np.diff(contexts, prepend=contexts[:1]) != 0), outcome


def _share(cells: Cells, groups: tuple[Ints, Ints, Ints], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares by the weights of cells without the person's own; backed by those in all contexts."""
    mine, backed = np.rint(weights), np.rint(BACKED * _UNITS)
    there = np.rint(weights * cells.totals / cells.counts)
    which, context, outcome = groups
    each = np.bincount(which, mine, outcome.size)
    in_context, of_outcome = np.bincount(context, each) / cells.width, np.bincount(outcome, each)
    anywhere = of_outcome[outcome] / max(float(each.sum()) / cells.width, 1.0)
    others = np.maximum(each[which] - mine, 0.0), np.maximum(in_context[context][which] - there, 0.0)
    share = (others[0] + backed * anywhere[which]) / (others[1] + backed)
    return np.asarray(np.clip(share, 1e-9, 0.999), np.float64)


def chances_of(whole: NDArray[np.float64], whose: Ints, users: int) -> tuple[NDArray[np.float64], float]:
    """How often each person has an outcome of their own in a context, and somebody of whom nothing is known.

    People are of two sorts: some are unlike the others in most contexts, the rest seldom. The likeliest share of both
    and how seldom, by the odds of each context.
    """
    if not whole.size:
        return np.full(users, USUALLY), USUALLY
    most, seldom, sort = np.log1p(MOST_CHANCE * (whole - 1.0)), USUALLY, SORT
    for _ in range(STEPS):
        differ = np.bincount(whose, np.rint(_UNITS * (most - np.log1p(seldom * (whole - 1.0)))), users) / _UNITS
        odd = 1.0 / (1.0 + np.exp(np.clip(-differ - math.log(sort / (1.0 - sort)), -50.0, 50.0)))
        plain = 1.0 - odd[whose]
        own = np.rint(_UNITS * plain * seldom * whole / (1.0 - seldom + seldom * whole)).sum()
        seldom = float(np.clip(own / max(np.rint(_UNITS * plain).sum(), 1.0), LEAST_CHANCE, MOST_CHANCE))
        sort = float(np.clip(np.rint(_UNITS * odd).sum() / _UNITS / users, LEAST_CHANCE, 1.0 - LEAST_CHANCE))
    return odd * MOST_CHANCE + (1.0 - odd) * seldom, sort * MOST_CHANCE + (1.0 - sort) * seldom


def posted_by(own: Own, worth: NDArray[np.float64], most: int) -> Posted:
    """The people who have each cell of their own, those first whom it tells most, so many at most."""
    people = np.repeat(np.arange(own.offsets.size - 1), np.diff(own.offsets))
    order = np.lexsort((-worth, own.keys))
    keys, starts = np.unique(own.keys[order], return_index=True)
    rank = np.arange(order.size) - np.repeat(starts, np.diff(starts, append=order.size))
    order = order[rank < most]
    starts = np.append(0, np.cumsum(np.minimum(np.diff(starts, append=rank.size), most)))
    return Posted(keys, starts.astype(np.int64), people[order].astype(np.uint32), own.facts[order])


def _cells(offsets: Ints, parts: Parts, kind: Kind) -> Cells:
    context, outcome = (_joined([parts[name][0] for name in names], int(offsets[-1])) for names in kind)
    there = np.logical_and.reduce([parts[name][1] for name in (*kind[0], *kind[1])])
    width = 1 if outcome.ndim == 1 else outcome.shape[1]
    return cells_of(width * offsets, np.repeat(context, width), outcome.ravel(), np.repeat(there, width), width)


def _joined(codes: list[Codes], size: int) -> Codes:
    """One number for several."""
    if len(codes) <= 1:
        return codes[0] if codes else np.zeros(size, np.uint32)
    words = np.zeros(size, np.uint64)
    for one in codes:
        words = (words + one + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        words ^= words >> np.uint64(32)
    return (words >> np.uint64(32)).astype(np.uint32)
