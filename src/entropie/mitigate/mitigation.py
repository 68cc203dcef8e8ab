"""A mitigation and how far it goes; combinations of them, in the order in which they are applied."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.mitigate.draft import Blocks, Draft, Material
from entropie.mitigate.kind import AXES, Kind, Setting
from entropie.mitigate.kinds import KINDS
from entropie.words import listed


@dataclass(frozen=True, slots=True)
class Mitigation:
    """One way to make data safer, and how far to go: `entropie.mitigate.kinds` has all, `sweep --help` lists them."""

    kind: str
    setting: Setting

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidParameter.among("mitigation", KINDS, self.kind)
        if isinstance(self.setting, str):  # a number in text is that number, in plans too
            with contextlib.suppress(ValueError):
                object.__setattr__(self, "setting", self.of.values.read(self.setting))
        self.of.values.check(self.kind, self.setting)

    @property
    def of(self) -> Kind:
        """What is said and done about it."""
        return KINDS[self.kind]

    @property
    def name(self) -> str:
        """It in two or three words, for tables."""
        return self._called[0].format(self._value)

    @property
    def action(self) -> str:
        """What to do, as the beginning of a sentence."""
        return self._called[1].format(self._value)

    @property
    def needs_times(self) -> bool:
        """Whether it works on times alone."""
        return self.of.timed(self.setting)

    @property
    def file(self) -> Path | None:
        """The file that it reads, where it reads one."""
        return self.of.values.file(self.setting)

    def over(self, blocks: Blocks) -> Blocks:
        """What it makes of blocks."""
        return blocks.changed(self.of.prepare(blocks, self.setting))

    def applied(self, draft: Draft) -> Draft:
        """What it makes of a draft of everybody."""
        return next(iter(self.over(Blocks.of(draft))))

    @property
    def _called(self) -> tuple[str, str]:
        return self.of.unlike.get(self.setting, (self.of.title, self.of.action))

    @property
    def _value(self) -> str:
        return self.of.values.show(self.setting)


@dataclass(frozen=True)
class Combination:
    """Mitigations, at most one on each axis, in the order in which they are applied; none: the data as they are."""

    parts: tuple[Mitigation, ...] = ()

    def __post_init__(self) -> None:
        places = [AXES.index(part.of.axis) for part in self.parts]
        if places != sorted(set(places)):
            raise InvalidParameter(
                f"A combination has at most one mitigation for each of {listed(AXES)}, in this order."
            )

    @property
    def name(self) -> str:
        """It in a few words, for tables."""
        return " + ".join(part.name for part in self.parts) or "as is"

    @property
    def action(self) -> str:
        """What to do, as the beginning of a sentence."""
        return "; ".join(part.action for part in self.parts) or "release the data as they are"

    @cached_property
    def by_axis(self) -> dict[str, Mitigation]:
        """What is done on each axis."""
        return {part.of.axis: part for part in self.parts}

    @property
    def without_one(self) -> list[Combination]:
        """It without each of its mitigations."""
        return [Combination(tuple(other for other in self.parts if other != part)) for part in self.parts]

    def applied(self, draft: Draft) -> Draft:
        """What all of them make of a draft, one after the other."""
        for part in self.parts:
            draft = part.applied(draft)
        return draft

    def at_most(self, other: Combination) -> bool:
        """Whether it merges and rounds no further than another one, and drops and cuts the same.

        What drops events or changes pseudonyms also makes other people rarer, so that more of it may be worse.
        """
        return all(_no_further(self.by_axis.get(axis), other.by_axis.get(axis), axis in AXES[:2]) for axis in AXES)


def _no_further(mine: Mitigation | None, theirs: Mitigation | None, coarsens: bool) -> bool:
    if mine == theirs or not coarsens:
        return mine == theirs
    if mine is None or theirs is None:
        return mine is None
    return theirs.kind == mine.kind and theirs.of.strength(theirs.setting) > mine.of.strength(mine.setting)


def candidates(material: Material, named: Sequence[Mitigation], *, only: bool) -> list[Combination]:
    """Every combination to choose from: of the kinds named their settings, of the others (unless `only`) the usual."""
    kinds = {one.kind for one in named}
    tried = list(dict.fromkeys(named))
    if not only:
        others = [kind for kind in KINDS.values() if kind.name not in kinds]
        tried += [Mitigation(kind.name, setting) for kind in others for setting in kind.tried(material)]
    for one in named:
        if one.needs_times and not material.timed:
            raise InvalidInput(
                f"{option(one.kind)} {one.setting} needs times, and only the order of events is known; leave it out, "
                f"or name a column of times with {option('time')}."
            )
    by_axis = [[None, *(one for one in tried if one.of.axis == axis)] for axis in AXES]
    return [Combination(tuple(part for part in parts if part is not None)) for parts in product(*by_axis)]
