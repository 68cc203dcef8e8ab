"""Commands on files that cannot be read, in processes of their own: a short run of `scripts/soak reading`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from entropie.cli.main import run

SOAK = Path(__file__).resolve().parents[1] / "soak" / "reading.py"


def test_no_command_hangs_or_aborts_after_a_read_error() -> None:
    """Files of several blocks, refused in the first of them while the next are read."""
    words = [sys.executable, str(SOAK), "5", "--only", "assess", "--on", "times.csv", "--on", "one line.csv"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout
    assert "10 runs" in done.stdout


def test_values_are_shown_only_when_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("user,item,time\na,b,Jane Doe SSN 078-05-1120\n")
    assert run(["assess", str(path), "--out", str(tmp_path)]) == 2
    assert "Jane" not in capsys.readouterr().err
    for words in (["--show-values", "assess", str(path)], ["assess", str(path), "--show-values"]):
        assert run([*words, "--out", str(tmp_path)]) == 2
        assert "first in line 2 ('Jane Doe SSN 078-05-1120')" in capsys.readouterr().err


def test_a_first_row_taken_for_names_is_not_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Jane Doe,HIV clinic\nBob Roe,cafe\n")
    for words in (["assess", str(path)], ["attributes", str(path), "--columns", "age"]):
        assert run(words) == 2
        said = capsys.readouterr().err
        assert "HIV" not in said
        assert "2 columns, not listed because the first line may be a row and not names" in said
        assert run([*words, "--show-values"]) == 2
        assert "Jane Doe, HIV clinic" in capsys.readouterr().err


@pytest.mark.parametrize(
    "first",
    [
        "Jane Doe,HIV clinic,2x12-04-03",  # a time that damage made a word, and nobody else's name looks like hers
        "jane.doe@x.org,book,x7",  # `book` is what a column may be called
        "Jane,patient,HIV",
        "user_17,HIV,x",
        "JaneDoe,orderDate,HIV clinic",
    ],
)
def test_a_damaged_first_row_is_not_listed_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], first: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{first}\nBob Roe,cafe,2012-04-03 18:00:07\nAnn Lee,place 5,2012-04-04 18:00:07\n")
    for words in (
        ["assess"],
        ["assess", "--user", "user"],
        ["assess", "--item", "user_1"],
        ["sweep", "--profile", "ema"],
    ):
        assert run([words[0], str(path), *words[1:]]) == 2
        said = capsys.readouterr().err
        assert not any(value in said for value in ("Jane", "jane", "HIV", "17", "clinic")), said
        assert "not listed because the first line may be a row" in said


def test_names_that_can_be_no_values_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    for names, said in (
        ("userId,venue,colour", "found: userId, venue, colour"),  # two roles: a line of names for certain
        ("visit_start,orderDate,IBAN", "found: visit_start, orderDate, IBAN"),
        ("order_no,Jane Doe,shop", "found: order_no, shop and 1 more column, not listed"),
    ):
        path.write_text(f"{names}\na,b,c\n")
        assert run(["assess", str(path), "--item", "nothing"]) == 2
        assert said in capsys.readouterr().err


def test_names_cannot_write_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("user,it\x1b[31mem\u202e\na,b\n")
    assert run(["assess", str(path), "--show-values"]) == 2
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "it\\x1b[31mem\\u202e" in said


@pytest.mark.parametrize(
    "words",
    [
        ["attributes", "{table}", "--columns", "age,code", "--bins", "age=width:1e-300"],
        ["attributes", "{table}", "--columns", "age,code", "--bins", "age=width:1e300"],
        ["attributes", "{table}", "--columns", "age,code", "--bins", "age=width:5e-324"],
        ["attributes", "{table}", "--columns", "age,code", "--bins", "age=99999999999999999999"],
        ["obfuscate", "{table}", "--column", "code", "--domain", "9", "--seed", "-1"],
        ["obfuscate", "{table}", "--column", "code", "--domain", "9", "--seed", "1e30"],
        ["obfuscate", "{table}", "--column", "code", "--domain", "1e99999"],
        ["obfuscate", "{table}", "--column", "code", "--domain", "1e30"],
        ["obfuscate", "{table}", "--column", "code", "--domain", "-5"],
        ["scores", "{table}", "--seed", "-1"],
        ["scores", "{table}", "--failed-score", "nan"],
        ["simulate", "new-york", "--users", "5", "--seed", "-1", "--out", "{out}"],
        ["simulate", "new-york", "--users", "5", "--seed", "1e30", "--out", "{out}"],
        ["assess", "{table}", "--user", "age", "--item", "code", "--seed", "-1"],
        ["assess", "{table}", "--user", "age", "--item", "code", "--min-rating", "1e999"],
        ["assess", "{table}", "--user", "\udcff", "--item", "code"],
        ["assess", "\udcff.csv"],
        ["attributes", "{table}", "--columns", "\udcff"],
        ["sweep", "{table}", "--user", "age", "--item", "code", "--profile", "ema", "--seed", "-1"],
        ["guarantee", "--mechanism", "rr", "--epsilon", "1", "--domain", "1e99999"],
        ["guarantee", "--mechanism", "rr", "--epsilon", "1e999", "--domain", "10"],
    ],
)
def test_numbers_and_names_without_bounds(tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.csv"
    table.write_text("age,code\n" + "".join(f"{n % 90 + 0.5},{n % 7}\n" for n in range(300)))
    places = {"{table}": str(table), "{out}": str(tmp_path / "o.parquet")}
    words = [places.get(word, word) for word in words]
    if words[0] == "obfuscate":
        words += ["--mechanism", "rr", "--epsilon", "2", "--out", str(tmp_path / "o.csv")]
    if words[0] in ("assess", "sweep"):
        words += ["--min-events", "1"]
    assert run(words) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err
