"""How long the attacks on some people will take here, told before they begin, and whether there is room for them."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from entropie.data.budget import Budget, machine_bytes
from entropie.data.split import Split
from entropie.plan.costs import Price, price
from entropie.plan.plan import Counts, plan_of
from entropie.plan.sizes import Data, Machines
from entropie.progress import EXPECTED
from entropie.request import Attackers, Request, Run, Source
from entropie.words import plural, seconds

_WORTH_TELLING_SECONDS = 60.0
_PEOPLE_LOOKED_AT = 10_000


def foretell(request: Request, split: Split, times: float = 1.0) -> None:
    """Tell how long so many times the attacks will take, if long, as it is where everybody shares their items."""
    expected = times * expected_seconds(request, split)
    if expected >= _WORTH_TELLING_SECONDS:
        people = plural(split.train.users, "person", "people")
        request.run.progress(f"{EXPECTED}about {seconds(expected)} for the attacks on {people}", 0.0)


def foretell_matchers(matchers: Sequence[str], split: Split, run: Run, times: float = 1.0) -> None:
    """The same for these matchers alone, without control and without weaker attackers."""
    foretell(Request(Source(), attackers=Attackers(tuple(matchers), (), control=False), run=run), split, times)


def check_room(request: Request, split: Split) -> None:
    """Refuse attacks that would hold more than is allowed for the data."""
    people = plural(split.train.users, "person", "people")
    Budget(f"The attack on {people}", request.run.memory).require(_priced(request, split).held_bytes)


def expected_seconds(request: Request, split: Split) -> float:
    """Seconds of the attacks by the price of their plan, which may be wrong by a factor of two or three."""
    hours = _priced(request, split).hours
    return 3600.0 * (hours["grid"] + hours["last_tasks"])


def _priced(request: Request, split: Split) -> Price:
    counts = Counts.of(split)
    machine = Machines(1, request.run.threads or os.cpu_count() or 1, machine_bytes())
    return price(plan_of(request, counts), _data(split, counts), machine, on_cluster=False)


def _data(split: Split, counts: Counts) -> Data:
    """What people share: events of an item stand for people who have it, as far as a person's items differ."""
    train, target = split.train, split.target
    some = train.take(np.arange(min(train.users, _PEOPLE_LOOKED_AT)))
    owner = np.repeat(np.arange(some.users, dtype=np.int64), np.diff(some.offsets))
    different = np.unique(owner * train.domain_size + some.items).size
    distinct = min(1.0, max(1, different) / max(1, some.events))
    events = np.bincount(train.items, minlength=train.domain_size)
    shared = distinct * float(events[target.items].mean()) if target.events else 1.0
    return Data(counts, train.domain_size, min(float(counts.people), max(1e-6, shared)), distinct)
