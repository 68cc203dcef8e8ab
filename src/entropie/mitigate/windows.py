"""Every attacker in scope on each window of time apart: how the risk of what is released drifts."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from entropie.attack.attacker import Release
from entropie.attack.matchers import MATCHERS, matcher
from entropie.data.coarsen import keep_events
from entropie.data.filter import keep_used_items
from entropie.data.split import split_traces
from entropie.data.traces import Traces
from entropie.document.assessment import Window
from entropie.document.measured import ScoreBits
from entropie.errors import InvalidInput, InvalidParameter, option
from entropie.mitigate.attacked import strongest_on
from entropie.request import Attackers, People, Request, Run, Source, SplitRule
from entropie.theory import checks

FEWEST_PEOPLE = 30
"""With fewer people in a window its numbers say little about any other people; it is listed without them."""
MOST_WINDOWS = 1000
REPLICATES = 200
"""Most bootstrap replicates of the bits: fewer than in an assessment, because every window needs its own."""
_UNIT_SECONDS = {"h": 3_600, "d": 86_400, "w": 604_800}
_LONGEST_HOURS = 24 * 36_525  # a century
_ANY_PEOPLE, _ALL, _ANY_RUN = People(), Attackers(), Run()


def parse_window(text: str) -> int:
    """Read a length such as `24h`, `30d` or `1w`; return seconds."""
    read = re.fullmatch(r"\s*(\d{1,9})\s*([hdw])\s*", text, re.IGNORECASE)
    seconds = int(read[1]) * _UNIT_SECONDS[read[2].lower()] if read else 0
    if not 0 < seconds <= _LONGEST_HOURS * 3_600:
        raise InvalidParameter.of("window", "a length of time such as 24h, 30d or 1w", text)
    return seconds


def matchers_of(attackers: Attackers) -> tuple[str, ...]:
    """The matchers asked for, all where none is; refuses names that are none."""
    for name in attackers.matchers:
        matcher(name)
    return attackers.matchers or tuple(MATCHERS)


def windows(
    traces: Traces,
    length_seconds: int,
    people: People = _ANY_PEOPLE,
    attackers: Attackers = _ALL,
    run: Run = _ANY_RUN,
    *,
    min_people: int = FEWEST_PEOPLE,
    drawn: NDArray[np.int64] | None = None,
) -> tuple[Window, ...]:
    """Cut the events into windows of equal length and attack each by itself.

    The first window begins at the midnight (in universal time) before the first event, or at the full hour where a
    window is shorter than a day. In each window people with fewer than `people.min_events` events within it are
    excluded, but not from the attack by known events; the others' events are cut into halves. The strongest attacker in
    scope counts. `drawn` are the people who are attacked, everybody unless given.
    """
    is_drawn = np.ones(traces.users, np.bool_) if drawn is None else np.isin(np.arange(traces.users), drawn)
    matchers_of(attackers)
    here = replace(attackers, points=(), point_errors=None, known=None, truth=None, control=False)
    request = Request(Source(), attackers=here, run=replace(run, replicates=min(run.replicates, REPLICATES)))
    length = checks.whole_number("length_seconds", length_seconds, at_least=1)
    least = checks.whole_number("min_events", people.min_events, at_least=2)
    fewest = checks.whole_number("min_people", min_people, at_least=2)
    times = _times(traces)
    first, last = int(times.min()), int(times.max())
    step = 86_400 if length >= 86_400 else 3_600
    start = first // step * step
    count = (last - start) // length + 1
    if count > MOST_WINDOWS:
        raise InvalidParameter(
            f"Parameter `window` must cut the data into at most {MOST_WINDOWS:,} windows, it makes {count:,}; "
            "make it longer, and check that no time lies far from the others."
        )
    numbers = (times - start) // length
    cut = []
    for number in range(count):
        run.progress(f"window {number + 1} of {count}", number / count)
        begins = start + number * length
        inside = keep_events(traces, numbers == number)
        active = np.flatnonzero(np.diff(inside.offsets) >= least)
        everybody = np.flatnonzero(np.diff(inside.offsets))
        released, hit = inside.take(everybody), np.flatnonzero(is_drawn[everybody])
        inside, attacked = inside.take(active), np.flatnonzero(is_drawn[active])
        whole = last >= begins + length - step  # the data reach its last day or hour
        first_last = _iso(begins, length), _iso(begins + length, length)
        window = Window(*first_last, inside.users, inside.events, whole, None, None, None, None)
        if attacked.size < fewest:
            reason = f"{attacked.size} people have {least} events or more in this window, {fewest} are needed."
            cut.append(structs.replace(window, reason=reason))
        else:
            split = split_traces(keep_used_items(inside).traces, drawn=attacked)
            whom = None if drawn is None else hit
            cut.append(_attacked(window, Release.of(released, split, SplitRule("halves"), attacked=whom), request))
    return tuple(cut)


def _attacked(window: Window, release: Release, request: Request) -> Window:
    """The strongest attacker in scope, as in an assessment; the bits are those of the best matcher."""
    found = strongest_on(release, request)
    return structs.replace(
        window,
        matcher=found.row.matcher,
        identification_error=found.right.complement,
        pse_bits=ScoreBits(**found.matcher.measures.pse_bits.to_json()),
        attacker=found.row.attacker,
        knows=found.row.knows,
        attackers_run=list(found.judged),
    )


def _times(traces: Traces) -> NDArray[np.int64]:
    if traces.times is None:
        raise InvalidInput(
            "Windows of time need times, but only the order of events is known; name a column of times with "
            f"{option('time')}."
        )
    if traces.events == 0:
        raise InvalidInput("Windows of time need at least one event, got none.")
    return traces.times


def _iso(seconds: int, length: int) -> str:
    """The day where windows are whole days, else the minute too, in universal time."""
    try:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    except OverflowError:
        raise InvalidInput(
            f"A time of {seconds} seconds since 1970 is no date; check the unit of the time column."
        ) from None
    return moment.date().isoformat() if length % 86_400 == 0 else f"{moment.isoformat(timespec='minutes')}Z"
