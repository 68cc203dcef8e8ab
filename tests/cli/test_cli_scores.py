"""`scores`: matrices, lists, folders; failed comparisons; distances; bad input."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import entropie as package

DATA = Path(__file__).resolve().parents[2] / "../shared/data"


def write_matrix(path: Path, scores: np.ndarray, ids: Sequence[str] | None = None, delimiter: str = ",") -> Path:
    ids = [f"s{row}" for row in range(len(scores))] if ids is None else ids
    lines = [delimiter.join(["", *ids])]
    lines += [delimiter.join([name, *(f"{score:g}" for score in row)]) for name, row in zip(ids, scores, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def normal_matrix(people: int = 30, shift: float = 3.0) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(people, people)).round(3) + shift * np.eye(people)


def write_list(path: Path, scores: Sequence[float]) -> Path:
    path.write_text("\n".join(f"{score:g}" for score in scores) + "\n")
    return path


def test_exact_output(entropie, tmp_path, matches_golden):
    write_matrix(tmp_path / "matrix.csv", normal_matrix())
    ran = entropie("scores", "matrix.csv")
    assert (ran.code, ran.err) == (0, "")
    matches_golden("scores.txt", ran.out)


def test_verbose_and_quiet(entropie, tmp_path):
    write_matrix(tmp_path / "matrix.csv", normal_matrix())
    full = entropie("scores", "matrix.csv", "--verbose").out
    assert "0.1 " in full  # all digits, where the short form has 10 %
    assert max(map(len, full.splitlines())) <= 80
    assert entropie("scores", "matrix.csv", "--quiet").out == ""


def test_a_perfect_matrix(entropie, tmp_path):
    people = 40
    write_matrix(tmp_path / "matrix.csv", np.eye(people))
    ran = entropie("scores", "matrix.csv", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    impostors = people * (people - 1)
    assert (found["users"], found["targets"], found["impostors"]) == (people, people, impostors)
    assert found["identification_error"]["value"] == 0.0
    assert found["equal_error_rate"]["value"] == 0.0
    assert found["pse_bits"]["value"] == pytest.approx(math.log2(impostors / 3), abs=1e-9)
    assert found["pse_bits"]["unmatched_genuine_share"] == 1.0
    assert found["failed_comparisons"] == found["probes_without_genuine"] == 0


def test_groups_that_tie(entropie, tmp_path):
    people, size = 40, 4
    group = np.arange(people) // size
    write_matrix(tmp_path / "matrix.csv", (group[:, None] == group[None, :]).astype(float))
    found = json.loads(entropie("scores", "matrix.csv", "--json").out)
    assert found["identification_error"]["value"] == pytest.approx(1 - 1 / size)
    share = (size - 1) / (people - 1)
    assert found["equal_error_rate"]["value"] == pytest.approx(share / 2)
    # psi0(M + 1) - ln M < 1/(2M), for M = people (size - 1) impostors on the atom and for all of them
    tolerance = (1 / (2 * people * (size - 1)) + 1 / (2 * people * (people - 1))) / math.log(2)
    assert found["pse_bits"]["value"] == pytest.approx(-math.log2(share), abs=tolerance)


def test_lists_with_a_known_divergence(entropie, tmp_path):
    write_list(tmp_path / "genuine.txt", [0] * 500 + [1] * 500)
    write_list(tmp_path / "impostor.txt", [0] * 9000 + [1] * 1000)
    ran = entropie("scores", "genuine.txt", "impostor.txt", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    truth = 0.5 * math.log2(0.5 / 0.9) + 0.5 * math.log2(0.5 / 0.1)
    # |psi0(N) - ln N| < 1/N for each cell of 500 and for all 1000; psi0(M + 1) - ln M < 1/(2M) for each cell and all
    tolerance = (2 * 0.5 / 500 + 1 / 1000 + 0.5 / 18_000 + 0.5 / 2000 + 1 / 20_000) / math.log(2)
    assert found["pse_bits"]["value"] == pytest.approx(truth, abs=tolerance)
    assert found["pse_bits"]["value"] != pytest.approx(1.1 * truth, abs=tolerance)  # power
    assert found["identification_error"] is None
    assert (found["targets"], found["impostors"]) == (1000, 10_000)
    assert (found["equal_error_rate"]["far"], found["equal_error_rate"]["frr"]) == (0.1, 0.5)
    text = entropie("scores", "genuine.txt", "impostor.txt").out
    assert "1,000 genuine and 10,000 impostor scores" in text
    assert "wrong person" not in text


def test_distances_are_similarities_turned_round(entropie, tmp_path):
    scores = normal_matrix()
    write_matrix(tmp_path / "near.csv", scores)
    write_matrix(tmp_path / "far.csv", 10 - scores)
    options = ["--failed", "keep", "--json"]
    near = json.loads(entropie("scores", "near.csv", *options).out)
    far = json.loads(entropie("scores", "far.csv", "--distance", *options).out)
    assert far["identification_error"] == near["identification_error"]
    assert far["det"] == near["det"]
    assert far["pse_bits"]["value"] == pytest.approx(near["pse_bits"]["value"], abs=1e-9)
    wrong_way = json.loads(entropie("scores", "far.csv", *options).out)
    assert wrong_way["equal_error_rate"]["value"] == pytest.approx(1 - near["equal_error_rate"]["value"], abs=0.05)


def test_failed_comparisons(entropie, tmp_path):
    scores = normal_matrix() + 20
    scores[3, 4] = scores[5, 5] = scores[6, 6] = -1
    write_matrix(tmp_path / "matrix.csv", scores)
    ran = entropie("scores", "matrix.csv")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("entropie: 3 of 900 scores are -1 or blank")
    found = {
        rule: json.loads(entropie("scores", "matrix.csv", "--failed", rule, "--json").out)
        for rule in ("drop", "keep", "lowest")
    }
    assert {rule: document["failed_comparisons"] for rule, document in found.items()} == dict.fromkeys(found, 3)
    assert {rule: document["targets"] for rule, document in found.items()} == {"drop": 28, "keep": 30, "lowest": 30}
    assert {rule: document["impostors"] for rule, document in found.items()} == {
        "drop": 869,
        "keep": 870,
        "lowest": 870,
    }
    assert found["drop"]["probes_without_genuine"] == 2
    # -1 lies below all others here, so that keeping it ranks it as the lowest does
    assert found["keep"]["identification_error"] == found["lowest"]["identification_error"]
    named = 30 * (1 - found["keep"]["identification_error"]["value"])
    assert named == pytest.approx(28 * (1 - found["drop"]["identification_error"]["value"]))
    assert "failed comparisons: 3" in entropie("scores", "matrix.csv", "--failed", "drop").out


def test_another_number_may_say_that_a_comparison_failed(entropie, tmp_path):
    scores = normal_matrix() + 20
    scores[3, 4] = 999
    write_matrix(tmp_path / "matrix.csv", scores)
    ran = entropie("scores", "matrix.csv", "--failed-score", "999")
    assert ran.code == 2
    assert "1 of 900 scores are 999" in ran.err
    ran = entropie("scores", "matrix.csv", "--failed-score", "999", "--failed", "drop", "--json")
    assert json.loads(ran.out)["impostors"] == 869


@pytest.mark.parametrize("kind", ["csv", "tsv", "semicolon", "gz"])
def test_every_kind_of_matrix_gives_the_same(entropie, tmp_path, kind):
    plain = write_matrix(tmp_path / "plain.csv", normal_matrix())
    if kind == "gz":
        (tmp_path / "other.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    else:
        write_matrix(
            tmp_path / "other.csv", normal_matrix(), delimiter={"csv": ",", "tsv": "\t", "semicolon": ";"}[kind]
        )
    other = "other.csv.gz" if kind == "gz" else "other.csv"
    assert entropie("scores", other, "--json").out == entropie("scores", "plain.csv", "--json").out


def test_the_command_gives_what_python_gives(entropie, tmp_path):
    path = write_matrix(tmp_path / "matrix.csv", normal_matrix())
    ran = entropie("scores", "matrix.csv", "--seed", "4", "--json")
    found = json.loads(ran.out)
    assert found == json.loads(json.dumps(package.scores(path, seed=4).to_json(), allow_nan=False))
    assert ran.out == entropie("scores", "matrix.csv", "--seed", "4", "--json").out
    assert found != json.loads(entropie("scores", "matrix.csv", "--seed", "5", "--json").out)


def test_nobody_is_named(entropie, tmp_path):
    write_matrix(tmp_path / "matrix.csv", normal_matrix(), [f"Zoë.Quist-{row}" for row in range(30)])
    for options in ([], ["--json"]):
        ran = entropie("scores", "matrix.csv", *options)
        assert ran.code == 0, ran.err
        assert "Quist" not in ran.out


def write_bssr1(root: Path, matchers: Sequence[str], people: int = 12) -> None:
    """The folders of NIST's Biometric Scores Set 1: lists beside folders of one text file per probe."""
    sets = root / "sets" / "face"
    sets.mkdir(parents=True)
    for kind, name in (("users", "probe"), ("enrollees", "gallery")):
        signatures = "".join(f'<signature name="{name}{p}.txt" subject_id="{p}"/>' for p in range(people))
        (sets / f"{kind}.xml").write_text(f"<signatures>{signatures}</signatures>")
    for place, matcher in enumerate(matchers):
        folder = root / "sims" / "face" / matcher
        folder.mkdir(parents=True)
        for probe in range(people):
            scores = [1.0 if probe == other else (probe == (other + 1) % people) * place * 2 for other in range(people)]
            (folder / f"probe{probe}.txt").write_text("\n".join(["header", str(people), *map(str, scores)]) + "\n")


def test_a_folder_of_biometric_scores(entropie, tmp_path):
    write_bssr1(tmp_path / "bssr1", ["C", "G"])
    good = entropie("scores", "bssr1", "--set", "C", "--json")
    assert good.code == 0, good.err
    assert json.loads(good.out)["identification_error"]["value"] == 0.0
    bad = json.loads(entropie("scores", "bssr1", "--set", "face/G", "--json").out)
    assert bad["identification_error"]["value"] == 1.0  # there the neighbour scores twice as high
    undecided = entropie("scores", "bssr1")
    assert (undecided.code, undecided.out) == (2, "")
    assert "name one of: face/C, face/G" in undecided.err


@pytest.mark.parametrize(("name", "rate"), [("face_G", 0.058), ("finger_left", 0.085)])
def test_biometric_scores_as_published(entropie, name, rate):
    path = (DATA / f"bssr1_{name}.csv").resolve()
    if not path.exists():
        pytest.skip("the shared score sets are not here")
    ran = entropie("scores", path, "--failed", "lowest", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert (found["users"], found["targets"], found["impostors"]) == (517, 517, 517 * 516)
    # published in tenths of a percent; rejections come in steps of 1/517, which leaves half a step open
    assert found["equal_error_rate"]["value"] == pytest.approx(rate, abs=0.0005 + 0.5 / 517)


def bad_inputs(folder: Path) -> list[tuple[list[str], str]]:
    def text(name: str, content: str) -> list[str]:
        (folder / name).write_text(content)
        return [name]

    write_matrix(folder / "matrix.csv", normal_matrix(5))
    write_list(folder / "good.txt", [1, 2, 3])
    write_list(folder / "failed.txt", [-1, -1])
    packed = gzip.compress((folder / "matrix.csv").read_bytes() * 50)
    (folder / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    (folder / "bytes.csv").write_bytes(b"\xff\xfe\x00\x01" * 50)
    (folder / "nothing").mkdir()
    with gzip.open(folder / "zeros.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(bytes(1 << 20))
    return [
        ([], "Missing argument"),
        (["none.csv"], "no file or directory none.csv"),
        (["matrix.csv", "good.txt", "good.txt"], "got 3 paths"),
        (["nothing"], "users.xml"),
        (["nothing", "good.txt"], "Give one matrix file"),
        (text("empty.csv", ""), "empty.csv"),
        (text("header.csv", ",a,b\n"), "no scores below its first row"),
        (text("ragged.csv", ",a,b\na,1,2\nb,1\n"), "Line 3 of ragged.csv has 2 cells"),
        (text("words.csv", ",a,b\na,1,2\nb,high,1\n"), "Line 3 of words.csv holds something that is not a number"),
        (text("infinite.csv", ",a,b\na,1,2\nb,inf,1\n"), "infinite"),
        (text("strangers.csv", ",a,b\nc,1,2\nd,2,1\n"), "the same subject ids"),
        (text("alone.csv", ",a\na,1\n"), "comparisons between subjects"),
        ([*text("empty.txt", ""), "good.txt"], "empty.txt is empty"),
        ([*text("words.txt", "1\ntwo\n"), "good.txt"], "Line 2 of words.txt"),
        (["failed.txt", "good.txt"], "2 of 5 scores are -1 or blank"),
        (["failed.txt", "good.txt", "--failed", "drop"], "got 0 and 3"),
        (["cut.csv.gz"], "cut.csv.gz"),
        (["bytes.csv"], "cannot be read as UTF-8 text"),
        (["zeros.csv.gz"], "not scores"),
        (["matrix.csv", "--failed", "maybe"], "'maybe' is not one of"),
        (["matrix.csv", "--failed-score", "low"], "'low' is not a number"),
        (["matrix.csv", "--seed", "first"], "'first' is not a whole number"),
    ]


def test_bad_input_gets_one_sentence(entropie, tmp_path):
    cases = bad_inputs(tmp_path)
    before = {path.name for path in tmp_path.iterdir()}
    for arguments, sentence in cases:
        ran = entropie("scores", *arguments)
        assert (ran.code, ran.out) == (2, ""), (arguments, ran)
        assert ran.err.startswith("entropie: "), (arguments, ran.err)
        assert ran.err.count("\n") == 1, (arguments, ran.err)
        assert sentence in ran.err, (arguments, ran.err)
        assert {path.name for path in tmp_path.iterdir()} == before


def test_a_seed_below_zero_gets_one_sentence(entropie, tmp_path):
    write_matrix(tmp_path / "matrix.csv", normal_matrix(5))
    ran = entropie("scores", "matrix.csv", "--seed", "-1")
    assert (ran.code, ran.out) == (2, "")
    assert "--seed" in ran.err


def test_the_sentence_about_failed_comparisons_names_the_option(entropie, tmp_path):
    write_list(tmp_path / "failed.txt", [-1, 2])
    write_list(tmp_path / "good.txt", [1, 2, 3])
    assert "--failed" in entropie("scores", "failed.txt", "good.txt").err
