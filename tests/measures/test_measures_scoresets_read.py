from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from entropie.data.scoresets import ScoreLists, ScoreMatrix, read_scores
from entropie.errors import InputTooLarge, InvalidInput, InvalidParameter


def matrix(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_matrix_with_ids(tmp_path: Path, delimiter: str) -> None:
    text = ",a,b,c\nb,0.5,2,-3\n\nx,1,1e3,0\n".replace(",", delimiter)
    found = read_scores(matrix(tmp_path / "m.csv", text))
    assert isinstance(found, ScoreMatrix)
    assert found.scores.tolist() == [[0.5, 2.0, -3.0], [1.0, 1000.0, 0.0]]
    assert found.reference_users.tolist() == [0, 1, 2]
    assert found.probe_users.tolist() == [1, 3]
    assert (found.users, found.failed) == (4, 0)


@pytest.mark.parametrize("packing", ["gzip", "bz2", "zstd", None])
def test_byte_order_mark_windows_lines_quotes_and_packing(tmp_path: Path, packing: str | None) -> None:
    text = '\ufeffid,"a, the first",b\r\n"a, the first",1,2\r\nb,3,4\r\n'
    with pa.output_stream(str(tmp_path / "m.csv"), compression=packing) as out:
        out.write(text.encode())
    found = read_scores(tmp_path / "m.csv")
    assert isinstance(found, ScoreMatrix)
    assert found.scores.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert found.probe_users.tolist() == found.reference_users.tolist() == [0, 1]


def test_distances_are_turned_round(tmp_path: Path) -> None:
    found = read_scores(matrix(tmp_path / "m.csv", ",a,b\na,0,2\nb,3,0.5\n"), kind="distance")
    assert isinstance(found, ScoreMatrix)
    assert found.scores.tolist() == [[0.0, -2.0], [-3.0, -0.5]]
    assert not np.signbit(found.scores[0, 0])


def test_failed_scores_are_named_and_handled_as_asked(tmp_path: Path) -> None:
    path = matrix(tmp_path / "m.csv", ",a,b\na,5,-1\nb,,9\n")
    with pytest.raises(InvalidInput, match=r"2 of 4 scores are -1 or blank.*`failed=` drop.*lowest.*keep"):
        read_scores(path)
    dropped, lowest = read_scores(path, failed="drop"), read_scores(path, failed="lowest")
    assert isinstance(dropped, ScoreMatrix)
    assert isinstance(lowest, ScoreMatrix)
    np.testing.assert_array_equal(dropped.scores, [[5, np.nan], [np.nan, 9]])
    assert lowest.scores.tolist() == [[5.0, 1.0], [1.0, 9.0]]  # one spread below the lowest
    assert dropped.failed == lowest.failed == 2
    with pytest.raises(InvalidInput, match="blank and cannot be kept"):
        read_scores(path, failed="keep")


def test_failed_distances_rank_last_not_first(tmp_path: Path) -> None:
    path = matrix(tmp_path / "m.csv", ",a,b\na,0.1,-1\nb,0.7,0.2\n")
    found = read_scores(path, kind="distance", failed="lowest")
    assert isinstance(found, ScoreMatrix)
    assert found.scores[0, 1] == found.scores.min()
    kept = read_scores(path, kind="distance", failed="keep")
    assert isinstance(kept, ScoreMatrix)
    assert kept.scores[0, 1] == 1.0
    other = read_scores(path, failed_score=0.7, failed="drop")
    assert isinstance(other, ScoreMatrix)
    assert np.isnan(other.scores[1, 0])
    assert other.scores[0, 1] == -1.0


def test_everything_failed_stays_failed(tmp_path: Path) -> None:
    found = read_scores(matrix(tmp_path / "m.csv", ",a\na,-1\n"), failed="lowest")
    assert found.failed == 1


def test_two_lists(tmp_path: Path) -> None:
    genuine = matrix(tmp_path / "genuine.txt", "# similarity\n5\n6 7\n\n-1\n")
    impostor = matrix(tmp_path / "impostor.txt", "1\n-1\n2\n")
    found = read_scores(genuine, impostor, failed="drop")
    assert isinstance(found, ScoreLists)
    assert (found.genuine.tolist(), found.impostor.tolist(), found.failed) == ([5.0, 6.0, 7.0], [1.0, 2.0], 2)
    lowest = read_scores(genuine, impostor, failed="lowest")
    assert isinstance(lowest, ScoreLists)
    assert lowest.genuine[-1] == lowest.impostor[1] == 1.0 - 6.0


# --- the layout of BSSR1


def bssr1(root: Path, *, header: bool = True, tail: str = "") -> Path:
    """Two modalities over one pair of lists, a third with lists of its own; three subjects, two probes of the first."""
    people = {"users.xml": [("u1", "s1"), ("u2", "s2"), ("u3", "s1")], "enrollees.xml": [("e1", "s1"), ("e2", "s2")]}
    for sets in (root / "sets/dos", root / "sets/dos/li"):
        sets.mkdir(parents=True, exist_ok=True)
        for name, entries in people.items():
            rows = "".join(f'<signature name="{n}" subject_id="{s}"><x/></signature>' for n, s in entries)
            (sets / name).write_text(f'<?xml version="1.0"?><signatures>{rows}</signatures>', encoding="utf-8")
    for number, folder in enumerate(("face/C", "face/G", "li/V")):
        sims = root / "sims/dos" / folder
        sims.mkdir(parents=True)
        for row, (name, _) in enumerate(people["users.xml"]):
            start = "a.header/1.0 of 3 words\r\n2\r\n" if header else ""
            (sims / name).write_text(f"{start}{number}.{row}\r\n-1\r\n{tail}", encoding="utf-8", newline="")
    return root


@pytest.mark.parametrize(("header", "tail"), [(True, ""), (True, "\r\n"), (True, "end\r\n"), (False, "")])
def test_bssr1_directory(tmp_path: Path, header: bool, tail: str) -> None:
    root = bssr1(tmp_path / "fing_x_face", header=header, tail=tail)
    found = read_scores(root, matcher="face/G", failed="keep")
    assert isinstance(found, ScoreMatrix)
    assert found.scores.tolist() == [[1.0, -1.0], [1.1, -1.0], [1.2, -1.0]]
    assert found.reference_users.tolist() == [0, 1]
    assert found.probe_users.tolist() == [0, 1, 0]
    assert found.failed == 3
    below = read_scores(tmp_path, matcher="li/V", failed="keep")  # also from a folder further up
    assert isinstance(below, ScoreMatrix)
    assert below.scores[:, 0].tolist() == [2.0, 2.1, 2.2]


def test_bssr1_asks_which_matcher(tmp_path: Path) -> None:
    root = bssr1(tmp_path)
    with pytest.raises(InvalidInput, match=r"3 score folders.*dos/face/C, dos/face/G, dos/li/V"):
        read_scores(root)
    with pytest.raises(InvalidInput, match="0 score folders"):
        read_scores(root, matcher="iris/A")
    assert isinstance(read_scores(root, matcher="C", failed="keep"), ScoreMatrix)


def test_bssr1_lists_beside_the_scores(tmp_path: Path) -> None:
    for name, entry in (("users.xml", "u"), ("enrollees.xml", "e")):
        (tmp_path / name).write_text(f'<a><signature name="{entry}" subject_id="s"/></a>', encoding="utf-8")
    (tmp_path / "u").write_text("head\n1\n0.25\n", encoding="utf-8")
    found = read_scores(tmp_path)
    assert isinstance(found, ScoreMatrix)
    assert found.scores.tolist() == [[0.25]]


def broken_bssr1(tmp_path: Path, what: str) -> Path:
    root = bssr1(tmp_path)
    score = root / "sims/dos/face/C/u2"
    if what == "missing":
        score.unlink()
    if what == "short":
        score.write_text("head\n2\n0.5\n", encoding="utf-8")
    if what == "other":
        score.write_text("head\n7\n0.5\n0.6\n", encoding="utf-8")
    if what == "header":
        score.write_text("head\n", encoding="utf-8")
    if what == "words":
        score.write_text("head\n2\n0.5\nhigh\n", encoding="utf-8")
    users = root / "sets/dos/users.xml"
    if what == "xml":
        users.write_text("<a><b></a>", encoding="utf-8")
    if what == "empty":
        users.write_text("<a/>", encoding="utf-8")
    if what == "escape":
        users.write_text('<a><signature name="../u1" subject_id="s1"/></a>', encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("missing", "u2 is listed in users.xml but missing"),
        ("short", "does not hold as many scores as enrollees.xml lists, 2"),
        ("other", "states another number of scores below its header than enrollees.xml lists, 2"),
        ("header", "states another number of scores"),
        ("words", "not a number"),
        ("xml", "not well-formed"),
        ("empty", "lists no signature"),
        ("escape", "plain file name"),
    ],
)
def test_broken_bssr1_directories(tmp_path: Path, what: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_scores(broken_bssr1(tmp_path, what), matcher="face/C", failed="keep")


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no users\.xml"):
        read_scores(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; a table needs a header"),
        (",a,b\n", "no scores below"),
        (",a,b\na,1\n", "Line 2 of m.csv has 2 cells, but the first row has 3"),
        (",a,b\na,1,two\n", "Line 2 of m.csv holds something that is not a number"),
        (",a\na,inf\n", "infinite"),
    ],
)
def test_broken_matrices(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_scores(matrix(tmp_path / "m.csv", text))


def test_other_bad_input(tmp_path: Path) -> None:
    path = matrix(tmp_path / "m.csv", ",a\na,1\n")
    with pytest.raises(InvalidInput, match="no file or directory"):
        read_scores(tmp_path / "absent.csv")
    with pytest.raises(InvalidInput, match="got 3 paths"):
        read_scores(path, path, path)
    with pytest.raises(InvalidInput, match="got 0 paths"):
        read_scores()
    with pytest.raises(InvalidParameter, match="kind"):
        read_scores(path, kind="proximity")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="failed"):
        read_scores(path, failed="ignore")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no scores"):
        read_scores(matrix(tmp_path / "empty.txt", "\n#\n"), path)
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00a,b\n")
    with pytest.raises(InvalidInput, match="cannot be read as UTF-8 text"):
        read_scores(tmp_path / "bytes.csv")
    whole = gzip.compress(b",a,b\n" + b"a,1,2\n" * 10_000)
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInput, match="cannot be read as UTF-8 text"):
        read_scores(tmp_path / "cut.csv.gz")


def test_an_archive_of_zeros_is_refused_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entropie.data.scoresets.LONGEST_LINE", 10_000)
    with gzip.open(tmp_path / "zeros.csv.gz", "wb") as out:
        out.write(bytes(50_000))
    with pytest.raises(InvalidInput, match="more than 10000 characters"):
        read_scores(tmp_path / "zeros.csv.gz")


def test_an_endless_cell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a row of cells"):
        read_scores(matrix(tmp_path / "m.csv", ",a\na," + "1" * 200_000 + "\n"))


def test_matrices_are_checked_on_construction() -> None:
    with pytest.raises(InvalidInput, match="one row per probe"):
        ScoreMatrix(np.zeros((2, 2)), np.array([0]), np.array([0, 1]), 2)
    with pytest.raises(InvalidInput, match="reference_users"):
        ScoreMatrix(np.zeros((1, 1)), np.array([0]), np.array([1]), 1)


def test_scores_that_unfold_beyond_the_memory_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entropie.data.budget.LEAST_BYTES", 0)
    rows = gzip.compress(b"id,a,b\n" + b"a,1,2\n" * 50_000)
    numbers = gzip.compress(b"1 2 3 4 " * 50_000)  # one line
    (tmp_path / "m.csv.gz").write_bytes(rows)
    (tmp_path / "l.txt.gz").write_bytes(numbers)
    for paths in ([tmp_path / "m.csv.gz"], [tmp_path / "l.txt.gz"] * 2):
        with pytest.raises(InputTooLarge, match=r"takes more memory than the 1.MB allowed for it; allow more with"):
            read_scores(*paths, memory=10**6)
        assert read_scores(*paths, memory=10**8) is not None


def test_long_lines_of_numbers_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# comment of many words\n1 2.5\t3\r\n\n4e1 5 #\n"[:-2] + "\n  6\r7"
    (tmp_path / "l.txt").write_text(text, newline="")
    wanted = [1, 2.5, 3, 40, 5, 6, 7]
    for size in (1, 2, 3, 5, 1 << 20):
        monkeypatch.setattr("entropie.data.scoresets.LONGEST_LINE", size)
        lists = read_scores(tmp_path / "l.txt", tmp_path / "l.txt")
        assert isinstance(lists, ScoreLists)
        assert lists.genuine.tolist() == wanted


def test_no_line_vanishes_in_a_cell_and_no_value_is_shown(tmp_path: Path) -> None:
    path = matrix(tmp_path / "m.csv", 'id,a,b\n"a,1,2\nb,3,4\n"c,5,6\n')
    with pytest.raises(InvalidInput, match=r"Line 2 of m\.csv is not a row of cells"):
        read_scores(path)
    path = matrix(tmp_path / "m.csv", "id,a,b\na,1,Jane Doe\n")
    with pytest.raises(InvalidInput) as caught:
        read_scores(path)
    assert str(caught.value) == "Line 2 of m.csv holds something that is not a number."
    assert "Jane Doe" in caught.value.with_values()
