r"""How numbers are written for people, in one place: terminal, report, verdicts and documents all ask here.

Shares have the digits that matter: whole percent in the middle, more only where they tell a share from 0 or from 100 %.
All digits are in the JSON documents.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Protocol

_PERCENT = "\N{NO-BREAK SPACE}%"
_TIE = 12


class _Interval(Protocol):
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def percent(share: float, *, beside: float | None = None) -> str:
    r"""A share in percent. `beside` is a share it must not look equal to, such as a limit it is above.

    >>> [percent(share).replace("\N{NO-BREAK SPACE}", " ") for share in (0.5702, 0.053, 0.00236, 0.9952, 0.99984, 0, 1)]
    ['57 %', '5.3 %', '0.2 %', '99.5 %', '99.98 %', '0 %', '100 %']
    >>> percent(0.0904, beside=0.09).replace("\N{NO-BREAK SPACE}", " ")
    '9.04 %'
    >>> percent(-0.004).replace("\N{NO-BREAK SPACE}", " ")
    '-0.4 %'
    """
    if share < 0.0:
        return f"-{percent(-share)}"
    return f"{_share(share, beside)}{_PERCENT}"


def bare(share: float, *, beside: float | None = None) -> str:
    """A share in percent without the sign, where it follows: the lower end of an interval."""
    return percent(share, beside=beside).removesuffix(_PERCENT)


def interval(ends: _Interval, *, beside: float | None = None) -> str:
    """The ends of an interval of shares: 65 to 69 %."""
    return f"{bare(ends.low, beside=beside)} to {percent(ends.high, beside=beside)}"


def stated(share: float) -> str:
    """A share that somebody set, as they wrote it: 0.09 as 9 %."""
    return f"{share * 100.0:.10g}{_PERCENT}"


def points(difference: float) -> str:
    """A difference of two shares in percentage points, with its sign."""
    return f"{round(difference * 100.0, 1) + 0.0:+.1f} points"


def bits(value: float) -> str:
    """Information without its unit: one decimal, never -0.0."""
    return f"{round(value, 1) + 0.0:,.1f}"


def count(number: int) -> str:
    """1370637 as 1,370,637."""
    return f"{number:,}"


def plural(number: int, noun: str, more: str | None = None) -> str:
    """A number and what is counted: 1 person, 1,511 people.

    >>> plural(1, "person", "people"), plural(1511, "person", "people"), plural(2, "event")
    ('1 person', '1,511 people', '2 events')
    """
    return f"{count(number)} {noun if number == 1 else more or f'{noun}s'}"


def cut(name: str, letters: int) -> str:
    """A name of at most so many letters; what is cut off is an ellipsis."""
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def listed(names: Iterable[str]) -> str:
    """Names with commas and a last `and`.

    >>> listed(["age"]), listed(["age", "sex", "income"])
    ('age', 'age, sex and income')
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def digits(value: float, significant: int = 3) -> str:
    """A plain number with so many significant digits, thousands set apart."""
    if value == 0 or not math.isfinite(value):
        return "infinite" if math.isinf(value) else f"{value:g}"
    if abs(value) >= 10 ** (significant - 1):
        return f"{float(f'{value:.{significant}g}'):,.0f}"
    return f"{value:.{significant}g}"


def seconds(value: float) -> str:
    """A time: 0.8 s, 12 s, 3 min 20 s, 2 h 5 min, 3.4 days."""
    if value < 10.0:
        return f"{value:.1f}\N{NO-BREAK SPACE}s"
    whole = round(value)
    if whole < 60:
        return f"{whole}\N{NO-BREAK SPACE}s"
    if whole < 3600:
        return f"{whole // 60}\N{NO-BREAK SPACE}min {whole % 60}\N{NO-BREAK SPACE}s"
    if whole < 3 * 86_400:
        return f"{whole // 3600}\N{NO-BREAK SPACE}h {whole % 3600 // 60}\N{NO-BREAK SPACE}min"
    return f"{digits(whole / 86_400)}\N{NO-BREAK SPACE}days"


def shortest(whole_seconds: int) -> str:
    """A length of time in its largest whole unit: 45 s, 30 min, 2 h, 1 d."""
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    unit, length = next((unit, length) for unit, length in units if whole_seconds % length == 0)
    return f"{count(whole_seconds // length)}\N{NO-BREAK SPACE}{unit}"


def size(number_of_bytes: float) -> str:
    """Bytes with the unit (powers of 1,000) that leaves one to three digits before the point."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if number_of_bytes >= factor:
            return f"{digits(number_of_bytes / factor)}\N{NO-BREAK SPACE}{unit}"
    return f"{digits(number_of_bytes / 1e3)}\N{NO-BREAK SPACE}kB"


def _share(share: float, beside: float | None) -> str:
    value = share * 100.0
    decimals = _decimals(value)
    text = _trimmed(value, decimals)
    while decimals < _TIE and (
        (text == "0" and value > 0.0)
        or (text == "100" and value < 100.0)
        or (beside is not None and share != beside and text == _trimmed(beside * 100.0, decimals))
    ):
        decimals += 1
        text = _trimmed(value, decimals)
    return text


def _decimals(value: float) -> int:
    """Whole percent from 10 to 99; below 10 two digits, below 1 and above 99 as many as show one digit of the gap."""
    gap = min(value, 100.0 - value)
    if value <= 0.0 or value >= 100.0:
        return 0
    if gap < 1.0:
        return min(_TIE, -math.floor(math.log10(gap)))
    return 1 if value < 10.0 else 0


def _trimmed(value: float, decimals: int) -> str:
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def known_events(rule: str | None, knowledge: str | None, train_events: int | None, cut: str | None) -> str:
    """What the attacker of earlier behaviour knows, in a few words."""
    if knowledge == "maximum":
        return "the attacked events themselves"
    if train_events is not None:
        events = "event" if train_events == 1 else f"{count(train_events)} events"
        return f"the first {events} of each person"
    if cut is not None:
        return f"the events of each person before {cut}"
    return "the history of each person" if rule == "history" else "the first half of each person's events"
