from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from entropie.data.scoresets import ScoreLists, ScoreMatrix
from entropie.errors import InvalidInput
from entropie.measures.scoreset import measure_lists, measure_matrix, score_measures

DATA = Path(__file__).resolve().parents[2] / "../shared/data"


def test_small_matrix_by_hand() -> None:
    """Three subjects: the first is found, the second ties with the third, the fourth probe is not enrolled."""
    scores = np.array([[9.0, 1.0, 0.0], [2.0, 5.0, 5.0], [7.0, 1.0, 6.0], [3.0, 3.0, 3.0]])
    found = measure_matrix(ScoreMatrix(scores, np.array([0, 1, 2, 3]), np.array([0, 1, 2]), 4), replicates=20)
    assert (found.users, found.targets, found.impostors) == (3, 3, 9)
    assert found.probes_without_genuine == 1
    assert found.identification_error is not None
    assert found.identification_error.value == pytest.approx(1 - (1 + 0.5 + 0) / 3)
    assert [round(error.error, 9) for error in found.top_k] == [0.5, 0.0]
    assert found.lift == pytest.approx(1.5)


def test_closest_reference_stands_for_a_user() -> None:
    twice = ScoreMatrix(
        np.array([[1.0, 8.0, 3.0, np.nan], [4.0, 2.0, np.nan, 6.0]]), np.array([0, 1]), np.array([0, 0, 1, 1]), 2
    )
    once = ScoreMatrix(np.array([[8.0, 3.0], [4.0, 6.0]]), np.array([0, 1]), np.array([0, 1]), 2)
    assert measure_matrix(twice, replicates=20).to_json() == measure_matrix(once, replicates=20).to_json()


def test_dropped_genuine_comparisons_leave_the_probe_as_impostor() -> None:
    scores = np.array([[np.nan, 1.0], [2.0, 5.0]])
    found = measure_matrix(ScoreMatrix(scores, np.array([0, 1]), np.array([0, 1]), 2, failed=1), replicates=20)
    assert (found.targets, found.impostors, found.probes_without_genuine, found.failed_comparisons) == (1, 2, 1, 1)
    assert found.pse_paper_bits is None  # one target is not enough for neighbours


def test_matrices_without_common_subjects_are_refused() -> None:
    for scores, probes in (([[1.0, 2.0]], [2]), ([[1.0, np.nan]], [0])):
        with pytest.raises(InvalidInput, match="same subject ids"):
            measure_matrix(ScoreMatrix(np.array(scores), np.array(probes), np.array([0, 1]), 3))


def test_lists_have_bits_and_rates_but_nobody_to_identify() -> None:
    rng = np.random.default_rng(1)
    found = measure_lists(ScoreLists(rng.normal(2, 1, 300), rng.normal(0, 1, 5000), failed=7))
    assert found.identification_error is None
    assert found.lift is None
    assert found.top_k == ()
    assert found.failed_comparisons == 7
    assert found.users == 300
    document = found.to_json()
    assert document["identification_error"] is None
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_files_of_every_shape_reach_the_measures(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(",a,b\na,5,-1\nb,2,9\n", encoding="utf-8")
    (tmp_path / "g.txt").write_text("5\n9\n", encoding="utf-8")
    (tmp_path / "i.txt").write_text("-1\n2\n", encoding="utf-8")
    whole = score_measures(tmp_path / "m.csv", failed="keep", replicates=20)
    parts = score_measures(tmp_path / "g.txt", tmp_path / "i.txt", failed="keep", replicates=20)
    assert whole.det == parts.det
    assert whole.failed_comparisons == parts.failed_comparisons == 1
    turned = score_measures(tmp_path / "m.csv", kind="distance", failed="keep", replicates=20)
    assert (
        turned.equal_error_rate.value == 0.5
    )  # read the wrong way round, no threshold is better than accepting all or none


@pytest.mark.parametrize(
    ("name", "eer", "error"), [("bssr1_face_G", 0.058, 74 / 517), ("bssr1_finger_left", 0.085, 0.13862024500322367)]
)
def test_biometric_scores(name: str, eer: float, error: float) -> None:
    path = DATA / f"{name}.csv"
    if not path.exists():
        pytest.skip("the shared data folder is not beside the repository")
    found = score_measures(path)
    assert found.equal_error_rate.value == pytest.approx(eer, abs=0.001)
    assert found.equal_error_rate.low < eer < found.equal_error_rate.high
    assert abs(found.equal_error_rate.interpolated - found.equal_error_rate.value) < 0.002
    assert (found.targets, found.impostors) == (517, 517 * 516)
    assert found.identification_error is not None
    assert found.identification_error.value == pytest.approx(error, abs=1e-12)
    assert found.pse_bits.unmatched_genuine_share > 0.5
    assert 9 < found.pse_bits.value < found.pse_bits.resolvable
    assert found.pse_finite_bits.high < np.log2(517)
