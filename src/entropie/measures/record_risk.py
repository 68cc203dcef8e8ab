"""Prosecutor, journalist and marketer risk by the names that users of ARX know (El Emam & Dankar 2008).

A record's risk is one over the people who fit: those of its class in the table for who knows that somebody is in it
(prosecutor), those of its class in the population for who does not (journalist). The marketer wants as many people as
possible, so that only the average counts.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from entropie.document.measured import ShareInterval
from entropie.document.table import RecordRisk
from entropie.words import interval, percent, stated

Sizes = NDArray[np.int64]
AT_RISK = 0.09
"""A record is at risk above this, unless told otherwise: what the European Medicines Agency and Health Canada allow."""
_KNOWS = {
    "prosecutor": "who knows that somebody is in the table",
    "journalist": "who does not know who is in the table",
    "marketer": "who wants as many people as possible",
}
_ROUNDING = 1e-12


def record_risks(sizes: Sizes, at_risk: float, beside: Sizes | None = None) -> tuple[RecordRisk, ...]:
    """Of prosecutor and marketer from the classes of the table, and of all three where `beside` says how large each
    class is in the population.

    >>> [round(risk.average, 3) for risk in record_risks(np.array([1, 3]), 0.2, np.array([2, 10]))]
    [0.5, 0.2, 0.2]
    """
    rows = [_risk("prosecutor", "table", sizes, sizes, at_risk)]
    if beside is not None:
        rows.append(_risk("journalist", "population", sizes, beside, at_risk))
    last = rows[-1]
    rows.append(risk_of("marketer", last.basis, last.average, at_risk))
    return tuple(rows)


def _risk(
    attacker: Literal["prosecutor", "journalist"],
    basis: Literal["table", "population"],
    sizes: Sizes,
    fitting: Sizes,
    at_risk: float,
) -> RecordRisk:
    people = int(sizes.sum())
    each = 1.0 / fitting
    above = float(sizes[each > at_risk + _ROUNDING].sum()) / people
    average = float((sizes * each).sum()) / people
    return risk_of(attacker, basis, average, at_risk, highest=float(each.max()), above=above)


def risk_of(
    attacker: Literal["prosecutor", "journalist", "marketer"],
    basis: Literal["table", "population", "estimated"],
    average: float,
    at_risk: float,
    *,
    highest: float | None = None,
    above: float | None = None,
    ends: ShareInterval | None = None,
) -> RecordRisk:
    """One of them with its sentence."""
    about = f" ({interval(ends)})" if ends is not None else ""
    said = f"{attacker.capitalize()}, {_KNOWS[attacker]}: re-identifies {percent(average)}{about} of people on average"
    if highest is not None:
        said += f", {percent(highest)} of the most exposed"
    if above is not None:
        said += f"; {percent(above)} of records are above {stated(at_risk)}"
    return RecordRisk(attacker, basis, highest, average, ends, at_risk, above, f"{said}.")
