"""The sentences of a sweep: which lever to pull first, and how far levers go."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropie.mitigate.sweep import Sweep, SweepRow

__all__ = ["first_sentence", "lowest_sentence", "stronger_sentence"]

_LOST = {
    "item information": "of the information which item an event is",
    "order": "of the order of consecutive events, and the time within the unit",
    "events": "of the released events",
}


def first_sentence(found: Sweep) -> str:
    """Which lever to pull first, what it costs and what it brings; or why there is none."""
    row, before = found.first, found.as_it_is
    if row is None:
        if before.error.high >= before.guessing_error and found.stronger is None:
            return "As it is, the attack names nobody more often than guessing may: no lever is needed against it."
        return "No lever tried lowers the risk by more than chance may explain."
    assert row.lever is not None
    return (
        f"First lever to pull: {row.lever.sentence}. It costs {_cost_words(row)} and brings the share of people "
        f"named from {_percent(before.risk.value)} down to {_percent(row.risk.value)} "
        f"(95 % interval {_percent(row.risk.low)} to {_percent(row.risk.high)})."
    )


def stronger_sentence(row: SweepRow) -> str:
    """That a lever made the attack stronger, which says something about the data as they are."""
    assert row.lever is not None
    return (
        f"Take the data as they are for no safer than this: if you {row.lever.sentence}, {_percent(row.risk.value)} of "
        "the people are named, more than before. Whoever can do the same to the finer data names as many there."
    )


def lowest_sentence(found: Sweep) -> str:
    """How far levers go at all."""
    row = found.lowest
    guessing = f"guessing names {_percent(1.0 / found.users)}"
    if row is None:
        return f"An attacker still names {_percent(found.as_it_is.risk.value)} of the people; {guessing}."
    if row is found.first:
        return f"No other lever tried leaves a smaller risk; {guessing}."
    assert row.lever is not None
    return (
        f"The smallest risk is left if you {row.lever.sentence}: {_percent(row.risk.value)} named "
        f"(95 % interval {_percent(row.risk.low)} to {_percent(row.risk.high)}), at the cost of {_cost_words(row)}; "
        f"{guessing}."
    )


def _cost_words(row: SweepRow) -> str:
    assert row.cost is not None
    return f"{_percent(row.cost.share)} {_LOST[row.cost.measure]}"


def _percent(share: float) -> str:
    """A share in percent with three digits that tell."""
    value = share * 100.0
    return f"{value:.3g} %" if 0.0 < value < 99.9 else f"{value:.5g} %"
