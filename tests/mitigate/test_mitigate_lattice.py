"""The cheapest generalisation: the search against all nodes counted from the rows, on random small tables."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from entropie.kernels.grouping import roll_up
from entropie.mitigate.lattice import SCALES, Ladder, Lattice, Limit, Scale, Sensitive, cheapest, kept_groups

Table = list[tuple[int, ...]]
Steps = list[list[list[int]]]


def random_table(rng: np.random.Generator) -> tuple[Table, Steps]:
    """People with skewed values, and for each column levels that merge groups of the level before at random."""
    people, columns = int(rng.integers(5, 60)), int(rng.integers(1, 5))
    steps, values = [], []
    for _ in range(columns):
        size = int(rng.integers(1, 7))
        drawn = rng.choice(size, people, p=rng.dirichlet(np.full(size, 0.7)))
        used, dense = np.unique(drawn, return_inverse=True)
        levels = [list(range(used.size))]
        while len(set(levels[-1])) > 1 and len(levels) < 4:
            merged = rng.integers(0, max(1, len(set(levels[-1])) - 1), used.size)
            names = {name: int(merged[place]) for place, name in enumerate(sorted(set(levels[-1])))}
            levels.append([names[group] for group in levels[-1]])
        if len(set(levels[-1])) > 1:
            levels.append([0] * used.size)
        steps.append(levels)
        values.append(dense.tolist())
    return list(zip(*values, strict=True)), steps


def slow_node(
    table: Table, steps: Steps, levels: tuple[int, ...], limit: Limit, scale: Scale, learnt: Sensitive | None = None
) -> float | None:
    """What a node costs, from the rows and the definition; None where it does not meet the limit."""

    def released(row: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(steps[c][levels[c]][value] for c, value in enumerate(row))

    def lost(row: tuple[int, ...], gone: bool) -> float:
        if scale == "discernibility":
            return len(table) if gone else sizes[released(row)]
        total = 0.0
        for c, value in enumerate(row):
            alike = [v for v in range(len(steps[c][0])) if steps[c][levels[c]][v] == steps[c][levels[c]][value]]
            own = sum(other[c] == value for other in table)
            if scale == "loss":
                total += 1.0 if gone else (len(alike) - 1) / max(1, len(steps[c][0]) - 1)
            else:
                whole = len(table) if gone else sum(other[c] in alike for other in table)
                total += math.log2(whole / own)
        return total

    sizes = Counter(released(row) for row in table)

    def added(group: tuple[int, ...]) -> float:
        return sum(lost(row, True) - lost(row, False) for row in table if released(row) == group)

    def fits(group: tuple[int, ...]) -> bool:
        if learnt is None:
            return sizes[group] >= limit.smallest
        everybody = learnt.codes.tolist()
        own = [value for row, value in zip(table, everybody, strict=True) if released(row) == group]
        differences = [own.count(v) / len(own) - everybody.count(v) / len(everybody) for v in range(learnt.size)]
        if learnt.ordered:
            away = sum(map(abs, itertools.accumulate(differences))) / (learnt.size - 1)
        else:
            away = sum(map(abs, differences)) / 2
        varied = len(set(own)) >= limit.different and away <= limit.distance + 1e-9
        return sizes[group] >= limit.smallest and varied

    order = sorted(sizes, key=lambda group: (fits(group), sizes[group], round(added(group), 9)))
    for removed in range(len(order)):
        left = order[removed:]
        people = sum(sizes[group] for group in left)
        if all(map(fits, left)) and Fraction(len(left), people) <= Fraction(limit.average).limit_denominator(10**6):
            if len(table) - people > limit.left_out:
                return None
            gone = set(order[:removed])
            cost = sum(lost(row, released(row) in gone) for row in table)
            most = len(table) ** 2 if scale == "discernibility" else sum(lost(row, True) for row in table)
            return cost / (most or 1.0)
    return None


def built(table: Table, steps: Steps, scale: Scale, learnt: Sensitive | None = None) -> Lattice:
    columns = [np.array(column) for column in zip(*table, strict=True)]
    ladders = [
        Ladder(tuple(np.array(level) for level in levels), np.bincount(codes))
        for codes, levels in zip(columns, steps, strict=True)
    ]
    return Lattice(columns, ladders, scale, learnt)


def limits(rng: np.random.Generator, people: int) -> Limit:
    smallest = int(rng.integers(1, 6))
    average = float(rng.choice([1.0, 1.0, 0.5, 0.25, 0.2]))
    return Limit(smallest, average, int(rng.choice([0, 0, people // 20, people // 5, people - 1])))


def learnt_of(rng: np.random.Generator, people: int, limit: Limit) -> tuple[Sensitive | None, Limit]:
    """In two of three tables there is something to learn, and a limit on it; a distance is met without leaving out."""
    codes = np.unique(rng.choice(5, people, p=rng.dirichlet(np.full(5, 2.0))), return_inverse=True)[1]
    kind = int(rng.integers(3))
    if kind == 0 or codes.max() < 1:
        return None, limit
    limit = replace(limit, smallest=1, different=int(rng.integers(2, 4)))
    if kind == 2:
        limit = replace(limit, different=1, left_out=0, distance=float(rng.choice([0.15, 0.3, 0.5])))
    return Sensitive(codes, bool(rng.integers(2)) and codes.max() > 0), limit


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(60))
def test_the_search_finds_what_all_nodes_have(scale: Scale, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, steps = random_table(rng)
    learnt, limit = learnt_of(rng, len(table), limits(rng, len(table)))
    costs = {
        levels: slow_node(table, steps, levels, limit, scale, learnt)
        for levels in itertools.product(*(range(len(levels)) for levels in steps))
    }
    lattice = built(table, steps, scale, learnt)
    found = cheapest(lattice, limit)
    assert found.nodes == len(costs)
    assert found.counted <= found.nodes
    meeting = [cost for cost in costs.values() if cost is not None]
    if not meeting:
        assert found.best is None
        return
    assert found.best is not None
    assert found.best.cost == pytest.approx(min(meeting), abs=1e-9)
    assert costs[found.best.levels] == pytest.approx(min(meeting), abs=1e-9)
    fresh = built(table, steps, scale, learnt)
    for levels, cost in costs.items():  # every node is judged as the definition does, rolled up or not
        node = fresh.node(levels, limit)
        assert node.meets == (cost is not None), levels
        if cost is not None:
            assert node.cost == pytest.approx(cost, abs=1e-9)
            assert np.count_nonzero(~fresh.kept_rows(levels, limit)) == node.left_out


@pytest.mark.parametrize("seed", range(40))
def test_what_the_pruning_rests_on(seed: int) -> None:
    """Upwards the limit stays met and `base` does not fall; with a smallest group alone, `extra` does not rise."""
    rng = np.random.default_rng(1000 + seed)
    table, steps = random_table(rng)
    learnt, limit = learnt_of(rng, len(table), limits(rng, len(table)))
    for scale in SCALES:
        lattice = built(table, steps, scale, learnt)
        nodes = {levels: lattice.node(levels, limit) for levels in itertools.product(*map(range, lattice.shape))}
        for one, other in itertools.permutations(nodes.values(), 2):
            if all(a <= b for a, b in zip(one.levels, other.levels, strict=True)):
                assert other.meets or not one.meets
                assert one.base <= other.base + 1e-12
                assert one.cost >= one.base - 1e-12
                if limit.average == 1.0 and one.meets:
                    assert one.left_out >= other.left_out
                    assert one.cost - one.base >= other.cost - other.base - 1e-12


def test_few_nodes_are_counted_of_many() -> None:
    rng = np.random.default_rng(5)
    columns = [rng.integers(0, 16, 3000) for _ in range(5)]
    levels = [np.arange(16) >> shift for shift in range(5)]
    ladders = [Ladder(tuple(levels), np.bincount(column, minlength=16)) for column in columns]
    found = cheapest(Lattice(columns, ladders, "information"), Limit(10, 1.0, 30))
    assert found.best is not None
    assert found.nodes == 3125
    assert found.counted < found.nodes / 4


def test_groups_that_a_hash_confuses_are_told_apart() -> None:
    """A table nearly full: most groups meet another one in their place."""
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 9, (400, 3)).astype(np.int32)
    steps = np.tile(np.arange(9, dtype=np.int32) // 2, 3)
    slots = np.full(128, -1, np.int32)
    firsts, counts, into = roll_up(codes, steps, np.array([0, 9, 18]), np.arange(400), np.ones(400, np.int64), slots)
    assert (codes[firsts[into]] // 2 == codes // 2).all()
    want = Counter(map(tuple, (codes // 2).tolist()))
    assert {tuple((codes[row] // 2).tolist()): size for row, size in zip(firsts, counts, strict=True)} == want
    assert (slots == -1).all()


def test_the_smallest_groups_go_first_and_no_more_than_needed() -> None:
    sizes = np.array([1, 9, 2, 1, 40])
    everything = np.ones(5, np.bool_)
    assert kept_groups(sizes, sizes >= 2, 1.0).tolist() == [False, True, True, False, True]
    assert kept_groups(sizes, everything, 0.05).tolist() == [False, True, False, False, True]
    assert kept_groups(sizes, sizes != 9, 0.05).tolist() == [False, False, True, False, True]
    assert kept_groups(sizes, everything, 0.001).all()  # nothing helps: said by the caller
