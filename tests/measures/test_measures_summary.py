from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from entropie.errors import InvalidParameter
from entropie.measures.law import ScoreLaw
from entropie.measures.summary import Identified, Measures, measure

DATA = Path(__file__).resolve().parents[2] / "../shared/data"


def attack_of(scores: NDArray[np.float64]) -> tuple[ScoreLaw, Identified]:
    """Rows are targets, columns users, the diagonal genuine; ties to 1e-9."""
    genuine = np.diag(scores)
    better = (scores > genuine[:, None] + 1e-9).sum(axis=1)
    tied = (np.abs(scores - genuine[:, None]) <= 1e-9).sum(axis=1)
    law = ScoreLaw.from_scores(genuine, scores[~np.eye(len(scores), dtype=bool)])
    ranked = np.sort(scores, axis=1)
    clarity = ranked[:, -1] - ranked[:, -2]
    return law, Identified(np.where(better == 0, 1 / tied, 0.0), better + 1, better + tied, clarity)


def no_odd_numbers(value: object) -> bool:
    if isinstance(value, dict):
        return all(no_odd_numbers(item) for item in value.values())
    if isinstance(value, list):
        return all(no_odd_numbers(item) for item in value)
    return value is None or type(value) in (bool, int) or (type(value) is float and math.isfinite(value))


def measured(scores: NDArray[np.float64], seed: int = 0) -> Measures:
    law, identified = attack_of(scores)
    return measure(law, users=len(scores), seed=seed, identified=identified, replicates=100)


@pytest.mark.parametrize("users", [2, 3, 60])
@pytest.mark.parametrize("shift", [0.0, 2.0, 100.0])
def test_the_document_is_plain_and_complete(users: int, shift: float) -> None:
    scores = np.random.default_rng(users).normal(size=(users, users)) + shift * np.eye(users)
    document = measured(scores).to_json()
    assert no_odd_numbers(document)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert list(document) == [
        "users", "targets", "impostors", "identification_error", "guessing_error", "lift", "top_k", "pse_bits",
        "pse_finite_bits", "pse_paper_bits", "equal_error_rate", "det", "det_band", "frr_at_far",
        "laws", "rank_curve", "exposure",
    ]  # fmt: skip
    assert list(document["pse_bits"]) == ["value", "low", "high", "resolvable", "unmatched_genuine_share", "at_least"]
    assert list(document["pse_paper_bits"]) == ["value", "jitter", "seed"]
    assert list(document["identification_error"]) == ["value", "low", "high"]
    assert list(document["top_k"][0]) == ["k", "error", "low", "high"]
    assert document["frr_at_far"][0].keys() == {"far", "frr", "low", "high"}


def test_verbatim_release_and_pure_noise() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(300, 300))
    known, unknown = measured(noise + 50 * np.eye(300)), measured(noise)
    assert known.identification_error is not None
    assert unknown.identification_error is not None
    assert known.identification_error.value == 0.0
    assert known.identification_error.high > 0.0
    assert known.lift == 300.0
    assert known.equal_error_rate.value == 0.0
    assert known.pse_bits.unmatched_genuine_share == 1.0
    assert known.pse_finite_bits.value == pytest.approx(math.log2(300), abs=0.02)
    assert unknown.identification_error.low <= unknown.guessing_error <= unknown.identification_error.high
    tolerance = 5 * math.sqrt(1 / (2 * 10 * 300)) / math.log(2)  # noise of cells with ten genuine scores
    assert abs(unknown.pse_bits.value) < tolerance
    assert unknown.equal_error_rate.value == pytest.approx(0.5, abs=5 * math.sqrt(0.25 / 300))


def test_one_seed_one_answer_and_no_measure_disturbs_another() -> None:
    scores = np.random.default_rng(1).normal(size=(80, 80)) + 2 * np.eye(80)
    first = measured(scores, seed=4)
    assert first.to_json() == measured(scores, seed=4).to_json()
    assert first.to_json() != measured(scores, seed=5).to_json()
    fewer = measure(attack_of(scores)[0], users=80, seed=4, replicates=100)
    assert fewer.equal_error_rate == first.equal_error_rate
    assert fewer.identification_error is None


def test_users_need_not_be_the_targets() -> None:
    law = ScoreLaw.from_scores([3.0, 4.0, 5.0], [0.0, 1.0, 2.0, 3.0] * 50)
    found = measure(law, users=10_000, seed=0, identified=Identified([1, 0, 0], [1, 2, 400], [1, 2, 500]))
    assert [error.k for error in found.top_k] == [1, 2, 5, 10, 20, 50, 100]
    assert found.guessing_error == 0.9999


def test_too_few_replicates_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="replicates"):
        measure(ScoreLaw.from_scores([1.0], [0.0]), users=2, seed=0, replicates=1)


# --- real check-ins, scored by an obvious loop


def naive_scores(path: Path, matcher: str) -> NDArray[np.float64]:
    """Log-likelihood above the floor 1e-8 of every target under every user, users of at least ten events, halves."""
    table = pq.read_table(path)
    user, venue, time = (table[name].to_numpy() for name in ("user", "venue", "time"))
    traces: dict[int, list[int]] = defaultdict(list)
    for index in np.argsort(time, kind="stable"):
        traces[user[index]].append(venue[index])
    kept = [trace for trace in traces.values() if len(trace) >= 10]
    index_of: dict[object, list[tuple[int, float]]] = defaultdict(list)
    targets: list[list[object]] = []
    for who, trace in enumerate(kept):
        half = math.ceil(len(trace) / 2)
        train, target = trace[:half], trace[half:]
        for item, count in Counter(train).items():
            index_of[item].append((who, math.log(count / half) - math.log(1e-8)))
        if matcher == "markov":
            leaving = Counter(train[:-1])
            for step, count in Counter(pairwise(train)).items():
                index_of[step].append((who, math.log(count / leaving[step[0]]) - math.log(1e-8)))
            targets.append([target[0], *pairwise(target)])
        else:
            targets.append(list(target))
    scores = np.zeros((len(kept), len(kept)))
    columns = {feature: tuple(map(np.array, zip(*known, strict=True))) for feature, known in index_of.items()}
    for row, features in enumerate(targets):
        for feature in features:
            if feature in columns:
                who, weight = columns[feature]
                scores[row, who] += weight
    return scores.round(9)


@pytest.mark.parametrize(
    ("matcher", "error", "eer"), [("markov", 0.6281847565345025, 0.2222), ("visit", 0.49867637326273995, 0.1639)]
)
def test_reference_values_on_check_ins(matcher: str, error: float, eer: float) -> None:
    path = DATA / "foursquare_nyc.parquet"
    if not path.exists():
        pytest.skip("the shared data folder is not beside the repository")
    scores = naive_scores(path, matcher)
    found = measured(scores)
    assert found.identification_error is not None
    assert found.identification_error.value == pytest.approx(error, abs=1e-12)
    assert found.top_k[0].error == pytest.approx(error, abs=1e-12)
    assert found.equal_error_rate.value == pytest.approx(eer, abs=5e-5)
    # permuted labels: the same pipeline must find nothing
    null = measured(scores[np.random.default_rng(0).permutation(len(scores))])
    assert null.identification_error is not None
    assert null.identification_error.low <= null.guessing_error
    assert null.guessing_error - null.identification_error.value < 5 / len(scores)  # about one right by chance, sd 1
    assert abs(null.pse_bits.value) < 5 * math.sqrt(1 / (2 * 10 * len(scores))) / math.log(2)
    assert found.pse_bits.low > 3
