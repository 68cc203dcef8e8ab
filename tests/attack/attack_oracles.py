"""Slow and obvious: what the attack must find, from dictionaries and a dense matrix."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from entropie.attack.features import FeatureRows, Matching
from entropie.attack.index import Units
from entropie.attack.partial import LawPart, Partial
from entropie.attack.scoring import AttackOutcome
from entropie.data.traces import Traces

TIE = 1e-9
SEEDS = st.integers(0, 2**32 - 1)


def traces_of(rows: Sequence[Sequence[int]], domain_size: int, times: Sequence[Sequence[int]] | None = None) -> Traces:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    items = np.array([x for row in rows for x in row], np.uint32)
    clock = None if times is None else np.array([t for row in times for t in row], np.int64)
    return Traces(offsets, items, domain_size, clock)


def rows_of(traces: Traces) -> list[list[int]]:
    return [
        traces.items[low:high].tolist()
        for low, high in zip(traces.offsets[:-1].tolist(), traces.offsets[1:].tolist(), strict=True)
    ]


def random_traces(rng: np.random.Generator, users: int, longest: int, domain_size: int, shortest: int = 0) -> Traces:
    """Skewed items, so that some are shared by many and some by none."""
    lengths = rng.integers(shortest, longest + 1, users)
    return traces_of([(domain_size * rng.random(length) ** 3).astype(int).tolist() for length in lengths], domain_size)


def random_matching(rng: np.random.Generator, users: int, features: int, kind: str) -> Matching:
    """Rows with repeats between users; weights few or many, whole or not, with or without the rank-one term."""

    def rows(whole: bool) -> FeatureRows:
        chosen = [np.flatnonzero(rng.random(features) < rng.choice([0.0, 0.2, 0.6])) for _ in range(users)]
        size = sum(map(len, chosen))
        if whole:
            weights = rng.integers(1, 4, size).astype(float)
        elif kind == "few values":
            weights = rng.choice([math.log(2), math.log(3), math.log(6), 1.5], size)
        else:
            weights = rng.normal(size=size)
        return FeatureRows(
            np.cumsum([0, *map(len, chosen)]).astype(np.int64),
            np.concatenate([*chosen, np.empty(0)]).astype(np.uint32),
            weights,
            features,
        )

    sizes = rng.integers(0, 4, users).astype(float) / 2
    penalty = rng.choice([0.0, 0.25, 1.0, 2.5], users) if kind == "few values" else rng.random(users)
    ranked = rng.random() < 0.5
    return Matching(rows(False), rows(bool(rng.random() < 0.5)), sizes if ranked else None, penalty if ranked else None)


def dense_scores(matching: Matching) -> np.ndarray:
    """Score[j, i] of user i for target j, pair by pair."""
    users = [_row(matching.users, i) for i in range(matching.users.rows)]
    targets = [_row(matching.targets, j) for j in range(matching.targets.rows)]
    scores = np.zeros((len(targets), len(users)))
    for j, target in enumerate(targets):
        for i, user in enumerate(users):
            total = math.fsum(weight * user[f] for f, weight in target.items() if f in user)
            if matching.target_size is not None and matching.user_penalty is not None:
                total -= matching.target_size[j] * matching.user_penalty[i]
            scores[j, i] = total
    return scores


def _row(rows: FeatureRows, number: int) -> dict[int, float]:
    part = slice(rows.offsets[number], rows.offsets[number + 1])
    return dict(zip(rows.features[part].tolist(), rows.weights[part].tolist(), strict=True))


def assert_outcome(found: AttackOutcome, scores: np.ndarray, candidates: int = 10) -> None:
    """Everything an outcome says, from the dense matrix."""
    users = scores.shape[0]
    own = np.diag(scores)
    best = scores.max(axis=1)
    ties = (scores >= best[:, None] - TIE).sum(axis=1)
    np.testing.assert_allclose(found.best, best, atol=TIE)
    np.testing.assert_array_equal(found.ties, ties)
    np.testing.assert_array_equal(found.credit, np.where(own >= best - TIE, 1 / ties, 0))
    better = (scores > own[:, None] + TIE).sum(axis=1)
    tied = (np.abs(scores - own[:, None]) <= TIE).sum(axis=1)
    np.testing.assert_array_equal(found.rank_low, better + 1)
    np.testing.assert_array_equal(found.rank_high, better + tied)
    kept = min(candidates, users)
    assert found.candidates.shape == found.candidate_scores.shape == (users, kept)
    np.testing.assert_allclose(found.candidate_scores, -np.sort(-scores, axis=1)[:, :kept], atol=TIE)
    gaps = -np.diff(-np.sort(-scores, axis=1)[:, :2])[:, 0] if kept > 1 else np.zeros(users)
    np.testing.assert_allclose(found.clarity, gaps, atol=TIE)
    for j in range(users):
        assert len(set(found.candidates[j].tolist())) == kept
        np.testing.assert_allclose(scores[j, found.candidates[j]], found.candidate_scores[j], atol=TIE)
    assert found.law.impostors == users * (users - 1)
    impostor = np.sort(scores[~np.eye(users, dtype=bool)])
    slack = TIE if found.grid == 0 else found.grid / 2 + TIE
    np.testing.assert_allclose(np.repeat(found.law.values, found.law.counts), impostor, atol=slack)
    np.testing.assert_allclose(found.law.genuine, own, atol=slack)
    if found.grid == 0:
        for j in range(users):  # ties between genuine and impostor scores are kept exactly
            equal = int(found.law.counts[found.law.values == found.law.genuine[j]].sum())
            assert equal == int((np.abs(impostor - own[j]) <= TIE).sum())


def same_outcome(one: AttackOutcome, other: AttackOutcome) -> bool:
    """Equal to the last bit."""
    names = ("best", "ties", "credit", "rank_low", "rank_high", "candidates", "candidate_scores", "clarity")
    return (
        one.law == other.law
        and one.grid == other.grid
        and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)
    )


def same_partial(one: Partial, other: Partial) -> bool:
    """Equal in every number, the law included."""
    return all(
        np.array_equal(getattr(part, name), getattr(like, name))
        for part, like in ((one, other), (one.law, other.law))
        for name in type(part).__slots__
        if name != "law"
    )


def visit_score(train: Sequence[int], target: Sequence[int], floor: float = 1e-8) -> float:
    counts = Counter(train)
    return math.fsum(math.log(counts[x] / len(train)) - math.log(floor) for x in target if counts[x])


def markov_score(train: Sequence[int], target: Sequence[int], floor: float = 1e-8) -> float:
    pairs = Counter(itertools.pairwise(train))
    leaving = Counter(train[:-1])
    score = visit_score(train, target[:1], floor)
    for pair in itertools.pairwise(target):
        if pairs[pair]:
            score += math.log(pairs[pair] / leaving[pair[0]]) - math.log(floor)
    return score


def whole_scores(matching: Matching, units: Units) -> np.ndarray:
    """Score[j, i] in units, as whole numbers: every product is rounded by itself, then added without error."""
    scale = units.scale
    users = [{f: round(w * scale) for f, w in _row(matching.users, i).items()} for i in range(matching.users.rows)]
    scores = np.zeros((matching.targets.rows, len(users)), np.int64)
    for j in range(matching.targets.rows):
        target = _row(matching.targets, j)
        for i, user in enumerate(users):
            parts = [
                int(weight) * user[f] if weight == int(weight) else round(weight * float(user[f]))
                for f, weight in target.items()
                if f in user
            ]
            if matching.target_size is not None and matching.user_penalty is not None:
                parts.append(-round(float(matching.target_size[j] * matching.user_penalty[i] * scale)))
            scores[j, i] = sum(parts)
    return scores


def cell_result(
    scores: np.ndarray,
    units: Units,
    users: Sequence[int],
    targets: Sequence[int],
    *,
    candidates: int,
    max_values: int,
    atoms: Sequence[int] = (),
) -> Partial:
    """What some targets find among some users, from the matrix of whole scores, one pair at a time."""
    better, tied, near, offsets, people, best_scores, impostors = [], [], [], [0], [], [], []
    for j in targets:
        row = {i: int(scores[j, i]) for i in users}
        own = int(scores[j, j])
        better.append(sum(score > own + units.tolerance for score in row.values()))
        tied.append(sum(abs(score - own) <= units.tolerance for score in row.values()))
        rungs = Counter(score for score in row.values() if score >= max(row.values()) - units.tolerance)
        near += sorted(rungs.items(), reverse=True)
        offsets.append(len(near))
        ranking = sorted(row, key=lambda i: (-row[i], i))[:candidates]
        missing = candidates - len(ranking)
        people.append(ranking + [2**32 - 1] * missing)
        best_scores.append([row[i] for i in ranking] + [-(2**63)] * missing)
        impostors += [score for i, score in row.items() if i != j]
    half = (1 << units.shift) // 2
    keys = [(score + half) // 2**units.shift for score in impostors]
    level = 0
    while len({key // 2**level for key in keys if key not in atoms}) > max_values:
        level += 1
    law = Counter(key // 2**level for key in keys if key not in atoms)
    return Partial(
        np.array(targets, np.int64),
        np.array([scores[j, j] for j in targets], np.int64),
        np.array(better, np.int64),
        np.array(tied, np.int64),
        np.array(offsets, np.int64),
        np.array([score for score, _ in near], np.int64),
        np.array([count for _, count in near], np.int64),
        np.array(people, np.uint32).reshape(-1, candidates),
        np.array(best_scores, np.int64).reshape(-1, candidates),
        LawPart(
            np.array([keys.count(atom) for atom in atoms], np.int64),
            np.array(sorted(law), np.int64),
            np.array([law[key] for key in sorted(law)], np.int64),
            level,
            max_values,
        ),
    )


def near_matching(rng: np.random.Generator, users: int, features: int) -> Matching:
    """Scores that differ by a few units, on both sides of the tolerance (17,592 units of 2^-44), and some by a lot."""
    steps = np.array([0, 1, 2, 9_000, 17_592, 17_593, 30_000]) * 2.0**-44

    def rows(weights: np.ndarray) -> FeatureRows:
        chosen = [np.flatnonzero(rng.random(features) < 0.7) for _ in range(users)]
        size = sum(map(len, chosen))
        offsets = np.cumsum([0, *map(len, chosen)]).astype(np.int64)
        return FeatureRows(
            offsets, np.concatenate([*chosen, np.empty(0)]).astype(np.uint32), rng.choice(weights, size), features
        )

    penalty = rng.choice(steps, users) if rng.random() < 0.5 else None
    sizes = None if penalty is None else rng.integers(0, 2, users).astype(float)
    base = rng.choice([0.0, 1.0])
    return Matching(rows(np.concatenate((base + steps, -steps))), rows(np.array([1.0, -1.0])), sizes, penalty)
