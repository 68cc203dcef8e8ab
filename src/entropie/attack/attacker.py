"""The contract of attackers by what they know: what they are given, what they achieve, how it is told.

A runner takes a `Release` and a request and gives rows, one per attacker (and per number of points and resolution).
What a row tells follows from a `Naming`: how surely each target was named, and how clear the match looked to the
attacker. Names in no row, numbers of people only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.attack.measured import Attack
from entropie.attack.scoring import AttackOutcome
from entropie.data.known import KnownFile
from entropie.data.reported import Reported
from entropie.data.split import Split, knows
from entropie.data.traces import Traces
from entropie.document.assessment import Attacker, LookAlikes, TailGroup
from entropie.document.base import plain
from entropie.document.measured import Guess, MostExposed, ShareInterval
from entropie.measures.best import level_among
from entropie.measures.exposure import few_tails, tail_of
from entropie.measures.identification import GUESSES, top_k_errors
from entropie.measures.intervals import share_interval
from entropie.measures.projection import Ranks
from entropie.request import Request, SplitRule

FAILED_LEVEL = 0.999
"""How sure it must be that an attacker does worse than guessing before its model is called failed."""

LISTED = 50


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """What attackers are run on.

    released         whole traces of everybody, those with few events too; items are coded as read
    split            what is known earlier and what is attacked, of the people who have both; items coded anew
    item_categories  category of each item of the split, 0 and up; None where none was named
    contained        whether the known events are among the attacked ones (rule history, maximum knowledge)
    knows            what the attacker of earlier behaviour knows, in a few words
    attacked         who of the released is attacked, among everybody; all unless given
    known            the attacker's other file beside the release, or beside reports; None where there is none
    """

    released: Traces
    split: Split
    item_categories: NDArray[np.int64] | None = None
    contained: bool = False
    knows: str = "earlier events"
    attacked: NDArray[np.int64] | None = None
    known: KnownFile | Reported | None = None

    @classmethod
    def of(
        cls,
        released: Traces,
        split: Split,
        rule: SplitRule,
        *,
        item_categories: NDArray[np.int64] | None = None,
        attacked: NDArray[np.int64] | None = None,
    ) -> Release:
        """A release whose traces were split by a rule."""
        contained = rule.rule == "history" or rule.knowledge == "maximum"
        return cls(released, split, item_categories, contained, knows(rule), attacked)


@dataclass(frozen=True, slots=True, eq=False)
class Naming:
    """What one attacker achieved, one entry per target.

    credit      chance that the person is named rightly: ties shared, mean over draws
    clarity     how far the best candidate stands ahead, which the attacker sees without knowing the truth
    rank_low    strangers who are strictly better; one column per draw where there are several
    rank_high   strangers who are not worse; where the list ends before the person, all that may stand before
    unique      share of draws in which the person is the only candidate
    among       how far the best two, or more, stand ahead of the others together, by their number
    alone       whom parts of the evidence name, each by itself: the clearest by each are looked at, too
    """

    credit: NDArray[np.float64]
    clarity: NDArray[np.float64]
    rank_low: NDArray[np.int64] | None = None
    rank_high: NDArray[np.int64] | None = None
    unique: NDArray[np.float64] | None = None
    among: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)
    alone: tuple[Naming, ...] = ()

    @classmethod
    def of_outcome(cls, outcome: AttackOutcome, targets: int) -> Naming:
        """What a matcher's attack achieved on the first targets, those that have an owner."""
        first = slice(targets)
        ranks = outcome.rank_low[first] - 1, outcome.rank_high[first] - 1
        return cls(outcome.credit[first], outcome.clarity[first], *ranks)

    def ranks(self, people: int) -> Ranks | None:
        """How many strangers stand before people, in few numbers; None where it is not known."""
        low, high = self.rank_low, self.rank_high
        return None if low is None or high is None else Ranks.of(low, high, people)

    @property
    def reidentified(self) -> ShareInterval:
        """Share of targets named rightly."""
        return _share(self.credit)

    @property
    def tail(self) -> tuple[TailGroup, ...]:
        """The people whose match is clearest, by the best candidate and by the best few."""
        few: tuple[TailGroup, ...] = ()
        if self.among and self.rank_low is not None and self.rank_high is not None:
            few = few_tails(self.rank_low, self.rank_high, self.among)
        parts = (group for one in self.alone for group in one.tail[:-1])
        return (*few, *parts, *tail_of(self.credit, self.clarity))

    def within(self, guesses: Sequence[int], people: int) -> tuple[Guess, ...]:
        """Error within so many guesses; nothing where ranks are not known."""
        if self.rank_low is None or self.rank_high is None:
            return ()
        low, high = self.rank_low.ravel() + 1, self.rank_high.ravel() + 1
        return top_k_errors(low, high, people, guesses=guesses, independent=self.credit.size)


@dataclass(frozen=True, slots=True, eq=False)
class AttackerRow:
    """One attacker and what it came to; `naming` is None where an engine kept the numbers only, `ranks` among them.

    failed        its error is significantly above that of guessing: the model is wrong, and says nothing of safety
    look_alikes   how often an id is named that looks like the right one, where that was asked
    instead_of    attackers who need not be judged where this one is
    """

    attacker: str
    knows: str
    people: int
    targets: int
    reidentified: ShareInterval
    control: ShareInterval | None
    top_k: tuple[Guess, ...]
    tail: tuple[TailGroup, ...]
    failed: bool
    points: int | None = None
    time_resolution: str | None = None
    item_resolution: str | None = None
    matcher: str | None = None
    unicity: ShareInterval | None = None
    look_alikes: LookAlikes | None = None
    in_scope: bool = True
    seconds: float = 0.0
    naming: Naming | None = None
    ranks: Ranks | None = None
    instead_of: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, attacker: str, knows: str, people: int, naming: Naming, control: Naming | None = None, **told: Any
    ) -> AttackerRow:
        """The row of a naming; `told` are the remaining fields."""
        return cls(
            attacker=attacker,
            knows=knows,
            people=people,
            targets=naming.credit.size,
            reidentified=naming.reidentified,
            control=None if control is None else control.reidentified,
            top_k=naming.within(GUESSES, people),
            tail=naming.tail,
            failed=worse_than_guessing(naming.within(GUESSES, people), people, naming.credit.size),
            unicity=None if naming.unique is None else _share(naming.unique),
            naming=naming,
            ranks=naming.ranks(people),
            **told,
        )

    @classmethod
    def of_attack(cls, attack: Attack, knows: str) -> AttackerRow:
        """The row of a matcher's attack on everybody's earlier behaviour."""
        measures, control = attack.measures, attack.null
        assert measures.identification_error is not None
        return cls(
            attacker="profile",
            knows=knows,
            people=measures.users,
            targets=measures.targets,
            reidentified=measures.identification_error.complement,
            control=_complement(None if control is None else control.identification_error),
            top_k=measures.top_k,
            tail=measures.tail,
            failed=worse_than_guessing(measures.top_k, measures.users, measures.targets),
            matcher=attack.matcher,
            seconds=attack.seconds,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        return plain(replace(self, seconds=round(self.seconds, 3)), Attacker)


def judged(rows: Sequence[AttackerRow]) -> Sequence[AttackerRow]:
    """The rows in scope, or all where none is."""
    return [row for row in rows if row.in_scope] or rows


def strongest_row(rows: Sequence[AttackerRow]) -> tuple[AttackerRow, ShareInterval]:
    """Who re-identifies most of those judged, with an interval that allows for the choice."""
    among = judged(rows)
    best = max(among, key=lambda row: row.reidentified.value)
    return best, share_interval(best.reidentified.value, best.targets, level_among(len(among)))


def most_exposed(rows: Sequence[AttackerRow]) -> MostExposed:
    """The group of people, of any attacker judged, whose risk is surely highest: its lower end decides."""
    groups = [(row.attacker, group) for row in judged(rows) for group in row.tail]
    level = level_among(len(groups))
    exposed = [
        MostExposed(group.share, group.people, share_interval(group.reidentified.value, group.people, level), name)
        for name, group in groups
    ]
    return max(exposed, key=lambda group: (group.right.low, group.right.value, group.people))


Runner = Callable[[Release, Request], Iterable[AttackerRow]]
"""What an attacker is: rows from a release, none where it does not apply. Pure: same release and request, same rows."""


def worse_than_guessing(guesses: Sequence[Guess], people: int, targets: int) -> bool:
    """Whether the right person is among some number of names significantly less often than by guessing.

    One name is too few to tell: of n people guessing names one. Lists are not looked at beyond `LISTED` names, which
    every attacker keeps.
    """
    looked_at = [one for one in guesses if one.k <= LISTED]
    level = level_among(len(looked_at), FAILED_LEVEL)
    return any(share_interval(1.0 - one.error, targets, level).high < one.k / people for one in looked_at)


def _share(credit: NDArray[np.float64]) -> ShareInterval:
    return share_interval(float(credit.mean()), credit.size)


def _complement(error: ShareInterval | None) -> ShareInterval | None:
    return None if error is None else error.complement
