"""What the kernels make of small inputs, as plain numbers: run compiled and as plain Python, they must agree.

Run as a program it prints them as JSON. The test command does so before anything else, `attacks` beside the `others`:
this compiles every kernel that takes long, once for all processes.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "attack"))

from attack_oracles import random_matching, random_traces
from profile_oracles import random_case

from entropie.attack.chance import scattered
from entropie.attack.features import FeatureRows, Matching
from entropie.attack.keyed import match_keys
from entropie.attack.matchers import MATCHERS
from entropie.attack.mechanism import HashedTargets, attack_hashed
from entropie.attack.points import POINTS, RESOLUTIONS, PointAttack
from entropie.attack.profile import attack as profile
from entropie.attack.profile import candidates, profile_attack
from entropie.attack.profile.conjunctions import conjunctions
from entropie.attack.scoring import attack, prepare, score_block
from entropie.attack.single import attack_single, pie_bits
from entropie.data.simulation import simulate_traces
from entropie.estimation.counting import hashed_supports, value_supports
from entropie.estimation.likelihood import Hashes, most_likely_shares
from entropie.kernels.counting import scale_counts
from entropie.kernels.lines import scan_rows
from entropie.kernels.stays import find_stays
from entropie.kernels.traces import copy_runs, count_duplicates, group_rows, sort_users
from entropie.request import Run

Named = tuple[str, Any]


def results(part: str | None = None) -> dict[str, list[Any]]:
    """Everything below, or a part of it, by name."""
    parts = {
        "attacks": (scored, heads_and_growth, single_events, hashed, reports, points, events),
        "others": (matched, keys, profiles, habits),
    }
    chosen = [function for name, functions in parts.items() if part in (None, name) for function in functions]
    return {name: plain(value) for function in chosen for name, value in function()}


def plain(value: Any) -> list[Any]:
    """Numbers in the order of the fields."""
    if isinstance(value, np.ndarray):
        return value.ravel().tolist()  # type: ignore[no-any-return]
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if hasattr(value, "__dataclass_fields__"):
        return [plain(getattr(value, field.name)) for field in fields(value)]
    return [value.item() if isinstance(value, np.generic) else value]


def scored() -> Iterator[Named]:
    """All pairs: few values and many, coarse laws and exact ones, more keys than a table begins with."""
    for seed, kind, users, values in ((1, "few values", 9, 2**18), (2, "normal", 12, 5), (3, "normal", 40, 2**18)):
        matching = random_matching(np.random.default_rng(seed), users, 8, kind)
        yield f"scores {kind} {users} {values}", attack(matching, threads=1, max_values=values, candidates=4)


def heads_and_growth() -> Iterator[Named]:
    """Bases with more classes than there is room for at first, with the rank-one term and without it."""
    users = 1200
    rng = np.random.default_rng(4)
    rows = FeatureRows(np.arange(users + 1), np.zeros(users, np.uint32), rng.normal(size=users), 1)
    for ranked in (False, True):
        term = (np.ones(users), rng.random(users)) if ranked else (None, None)
        index, targets = prepare(Matching(rows, rows, *term), atoms=np.empty(0, np.int64))
        some = replace(targets, heads=np.arange(users) % 2).part(0, 3)
        yield f"bases {ranked}", score_block(index, some, max_values=64, candidates=3)


def single_events() -> Iterator[Named]:
    rng = np.random.default_rng(5)
    train, target = random_traces(rng, 12, 9, 6, 1), random_traces(rng, 12, 1, 6)
    for theta in (1.0, 0.3):
        yield f"single {theta}", attack_single(train, target, theta=theta)
        yield f"bits {theta}", pie_bits(train, theta=theta)


def hashed() -> Iterator[Named]:
    """Reports as items and reports as postings, by enumeration and by trying the items in use."""
    rng = np.random.default_rng(6)
    for users, domain, hash_size, prime, theta in ((7, 5, 4, 5, 0.5), (6, 40, 2, 41, 1.0), (6, 40, 3, 41, 0.6)):
        train = random_traces(rng, users, 9, domain, 1)
        offsets = np.concatenate(([0], np.cumsum(rng.integers(0, 4, users))))
        columns = [rng.integers(low, high, offsets[-1], dtype=np.uint64) for low, high in ((1, prime), (0, prime))]
        sent = rng.integers(0, hash_size, offsets[-1], dtype=np.uint64)
        reports = HashedTargets(offsets, *columns, sent, domain, hash_size, prime, theta)
        yield f"hashed {domain} {theta}", attack_hashed(train, reports, threads=1, candidates=3)


def matched() -> Iterator[Named]:
    """Rows of every matcher, and the keyed ones that blocks use."""
    rng = np.random.default_rng(7)
    train, target = random_traces(rng, 8, 12, 7, 1), random_traces(rng, 8, 12, 7, 1)
    codes = np.arange(7, dtype=np.uint32)
    for name, matcher in MATCHERS.items():
        yield f"rows {name}", matcher(train, target)
        population = matcher.population(train, target)
        keyed = matcher.user_keys(train, codes, population), matcher.target_keys(target, codes, population)
        yield f"keys {name}", keyed
        yield f"numbers {name}", match_keys(*keyed)


def keys() -> Iterator[Named]:
    for size in (1, 2, 7, 100):
        yield f"permutation {size}", scattered(np.arange(size), size, 3)


def events() -> Iterator[Named]:
    """Grouping, sorting beyond the stretches that insertion sorts, repeats, copies, counts."""
    rng = np.random.default_rng(8)
    rows = 400
    users = rng.integers(0, 4, rows).astype(np.uint32)
    items = rng.integers(0, 3, rows).astype(np.uint32)
    ticks = rng.integers(0, 40, rows)
    for backwards in (False, True):
        offsets, kept, clock = group_rows(users, items, ticks, 3, backwards)
        yield f"grouped {backwards}", (offsets, kept.copy(), clock.copy())
        sort_users(offsets, kept, clock, 0, 3)
        yield f"sorted {backwards}", (kept, clock, count_duplicates(offsets, kept, clock, 0, 3))
    runs = np.empty(5, np.int64)
    copy_runs(ticks, np.array([7, 2]), np.array([0, 3, 5]), runs)
    scaled = np.empty(4)
    scale_counts(np.array([0, 3, 5, 9], np.uint32), 1.25, 0.5, scaled)
    yield "copied", (runs, scaled)

    where = [rng.normal(0.8, 2e-5, rows), rng.normal(0.04, 2e-5, rows), np.sort(60 * ticks)]
    yield "stays", (*find_stays(np.array([0, 150, 150, rows]), *where, 3e-5, 300), *where)

    text = np.frombuffer(b'1,"a\nb",2\n3,"c""d",4\n5,6', np.uint8)
    for quoted in (False, True):
        yield f"rows {quoted}", scan_rows(text, ord(","), quoted, True, 9, 3)


def profiles() -> Iterator[Named]:
    """Evidence, candidates and matching of the profile attacker, with times and without."""
    for timed in (True, False):
        case = random_case(9, users=9, timed=timed)
        found = profile_attack(case.train, case.target, case.categories, threads=1)
        yield f"profiles {timed}", (found.plain, found.crowd, found.joint)
        loudest = conjunctions(case.train, case.target, case.categories)
        yield f"conjunctions {timed}", (loudest.named.people, loudest.named.scores, loudest.beside)


def habits() -> Iterator[Named]:
    """Candidates where people are too many to sum up, meet items again or do not, and have habits alike or not."""
    case = random_case(11, users=9)
    for repeating, pairs in ((0.0, 10**6), (2.0, 0)):
        with (
            mock.patch.object(profile, "REPEATING", repeating),
            mock.patch.object(candidates, "SUMMED_USERS", 4),
            mock.patch.object(candidates, "HABIT_PAIRS", pairs),
        ):
            found = profile_attack(case.train, case.target, case.categories, threads=1)
        yield f"habits {repeating} {pairs}", (found.plain, found.crowd, found.joint)


def reports() -> Iterator[Named]:
    """Supports of values and hashes, walked and swept, of the domain and of some items; the likeliest shares."""
    rng = np.random.default_rng(12)
    yield "values", value_supports(rng.integers(0, 9, 30, dtype=np.uint64), 9, None)
    prime, domain = 101, 40
    for hash_size in (3, 50):
        a, b = (rng.integers(low, prime, 12, dtype=np.uint64) for low in (1, 0))
        y = rng.integers(0, hash_size, 12, dtype=np.uint64)
        for items in (None, np.array([2, 3, 30], np.uint64)):
            yield f"hashes {hash_size} {items}", hashed_supports((a, b, y), prime, hash_size, domain, items, threads=1)
        made, start = Hashes(prime, hash_size, domain, 0.3), np.full(domain, 1 / domain)
        yield f"likely {hash_size}", most_likely_shares(made, lambda batch=(a, b, y): [batch], start)


def points() -> Iterator[Named]:
    case = random_case(10, users=6, domain=8)
    attack = PointAttack.of(case.train, POINTS[-1], Run(seed=1, threads=1))
    for resolution in RESOLUTIONS:
        yield f"points {resolution}", [attack.outcome(points, resolution) for points in POINTS]


if __name__ == "__main__":
    warnings.simplefilter("ignore", RuntimeWarning)  # numpy warns where 64-bit words wrap, which is meant
    if sys.argv[1:] == ["others"]:
        simulate_traces("new-york", 300, threads=1)  # a test of its own compares it with plain Python
    print(json.dumps(results(*sys.argv[1:])))
