"""How finely hours are looked at follows from the training alone: data that support each level, and real check-ins."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import profile_attack as table
import pytest
from numpy.typing import NDArray

from entropie.attack.profile import profile_attack
from entropie.attack.profile.attack import halves, learn
from entropie.attack.profile.habits import HOURS
from entropie.attack.profile.hours import gains, level_of
from entropie.attack.profile.rows import naming_of
from entropie.data.split import Split, split_traces
from entropie.data.traces import Traces
from entropie.request import SplitRule

WEEK, MONDAY = 168, 4 * 24
PEOPLE, EVENTS = 120, 48


def split_halves(traces: Traces) -> Split:
    return split_traces(traces, SplitRule("halves"))


def reported_at(hours: NDArray[np.int64], seed: int = 0) -> Traces:
    """Everybody at the same three places, at these hours of the week, in weeks one after the other."""
    rng = np.random.default_rng(seed)
    weeks = np.arange(hours.shape[1])
    times = (MONDAY + weeks[None, :] * WEEK + hours) * 3600
    items = rng.integers(0, 3, hours.size).astype(np.uint32)
    return Traces(np.arange(hours.shape[0] + 1) * hours.shape[1], items, 3, times.ravel())


def of_the_week() -> Traces:
    """Each at two hours of the week of their own, on days of their own."""
    rng = np.random.default_rng(1)
    return reported_at(np.take_along_axis(rng.integers(0, WEEK, (PEOPLE, 2)), rng.integers(0, 2, (PEOPLE, EVENTS)), 1))


def of_the_day_but_weekends() -> Traces:
    """Each at one hour of their own on working days, and at another at weekends."""
    rng = np.random.default_rng(2)
    own, day = rng.integers(0, 24, (PEOPLE, 2)), rng.integers(0, 7, (PEOPLE, EVENTS))
    return reported_at(day * 24 + np.where(day >= 5, own[:, 1:], own[:, :1]))


def of_the_day() -> Traces:
    """Each at some hours of the day of their own, on any day."""
    rng = np.random.default_rng(3)
    own = rng.integers(0, 24, (PEOPLE, 1)) + rng.integers(0, 3, (PEOPLE, EVENTS))
    return reported_at(rng.integers(0, 7, (PEOPLE, EVENTS)) * 24 + own % 24)


def of_nobody() -> Traces:
    """Hours that tell nothing."""
    return reported_at(np.random.default_rng(4).integers(0, WEEK, (PEOPLE, EVENTS)))


SUPPORTED = {
    "hour of the week": of_the_week,
    "hour, weekends apart": of_the_day_but_weekends,
    "hour": of_the_day,
    "none": of_nobody,
}


@pytest.mark.parametrize("level", SUPPORTED)
def test_the_level_that_the_data_support(level: str) -> None:
    split = split_halves(SUPPORTED[level]())
    assert level_of(*halves(split.train)) == level
    assert learn(split.train).level == level


def test_nothing_of_the_targets_has_a_part_in_it() -> None:
    split = split_halves(of_the_week())
    other = split_halves(of_nobody())
    levels = {profile_attack(split.train, target).lesson.level for target in (split.target, other.target)}
    assert levels == {"hour of the week"}


def test_hours_of_the_week_find_people_whom_hours_of_the_day_do_not() -> None:
    """Everybody at nine o'clock, each on a day and in a week-hour of their own kind: seven groups of people."""
    rng = np.random.default_rng(5)
    days = np.repeat(rng.integers(0, 7, (PEOPLE, 1)), EVENTS, 1)
    split = split_halves(reported_at(days * 24 + 9))
    found = profile_attack(split.train, split.target)
    assert found.lesson.level == "hour of the week"
    right = naming_of(found.plain, np.arange(PEOPLE), PEOPLE).reidentified.value
    assert right > 2.0 / PEOPLE  # about seven in 120: as good as the day tells


def test_gains_by_hand() -> None:
    """One person after the other, in sums over events."""
    earlier, later = halves(of_the_day_but_weekends())
    for level, spread in (("hour", 24), ("hour of the week", 168)):
        counts = []
        for person in range(PEOPLE):
            mine: Counter[int] = Counter()
            for moment in earlier.times[earlier.offsets[person] : earlier.offsets[person + 1]]:  # type: ignore[index]
                hour = int(moment // 3600 - MONDAY) % spread
                for step, part in ((-2, 1), (-1, 2), (0, 3), (1, 2), (2, 1)):
                    mine[(hour + step) % spread] += part / 9
            counts.append(mine)
        everybody = [sum(mine[hour] for mine in counts) + 0.1 for hour in range(spread)]
        share = [one / sum(everybody) for one in everybody]
        expected = []
        for person, mine in enumerate(counts):
            hours = [
                int(moment // 3600 - MONDAY) % spread
                for moment in later.times[later.offsets[person] : later.offsets[person + 1]]
            ]  # type: ignore[index]
            total = sum(mine.values())
            told = [math.log((mine[h] + 20 * share[h]) / (total + 20) / share[h]) for h in hours]
            expected.append(sum(told) / len(told))
        assert gains(earlier, later, level).tolist() == pytest.approx(expected)  # type: ignore[arg-type]


@pytest.mark.parametrize("file", ["foursquare_nyc.parquet", "foursquare_saopaulo.parquet"])
def test_check_ins_support_the_hour_with_weekends_apart(file: str) -> None:
    if not (table.DATA / file).exists():
        pytest.skip("the shared check-ins are not here")
    split = split_halves(table.city(file, file, dated=False).traces)
    assert level_of(*halves(split.train)) == "hour, weekends apart"


def test_without_times_there_are_no_hours() -> None:
    timed = of_the_day()
    plain = Traces(timed.offsets, timed.items, timed.domain_size)
    assert HOURS[level_of(*halves(plain))] == 48  # not looked at
