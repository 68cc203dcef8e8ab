"""JSON Lines and standard input: the same events as from CSV, and every line accounted for."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropie.cli.main import run
from entropie.data.blocks import Block
from entropie.data.dialect import Dialect
from entropie.data.events import Events, read_events
from entropie.data.json_lines import NESTED, NOT_JSON, JsonParser
from entropie.errors import InvalidInput
from entropie.request import Request

ROWS = [{"user": f"u{n % 7}", "item": n % 11, "time": f"2012-04-0{n % 9 + 1}T18:00:{n % 60:02}Z"} for n in range(3000)]
CSV = b"user,item,time\n" + b"".join(f"{row['user']},{row['item']},{row['time']}\n".encode() for row in ROWS)
JSONL = b"".join(json.dumps({"id": 1, **row, "more": {"a": [1, 2]}}).encode() + b"\n" for row in ROWS)
FORMS = {"csv": CSV, "jsonl": JSONL}


def read(events: object, **options: Any) -> Events:
    job = Request.of(events, options)
    return read_events(job.source, job.run)


def same(one: Events, other: Events) -> bool:
    return (
        all(
            np.array_equal(getattr(one.traces, name), getattr(other.traces, name))
            for name in ("offsets", "items", "times")
        )
        and one.user_ids.equals(other.user_ids)
        and one.item_ids.equals(other.item_ids)
    )


@pytest.fixture
def csv(tmp_path: Path) -> Events:
    (tmp_path / "events.csv").write_bytes(CSV)
    return read(tmp_path / "events.csv")


PACKED = {
    "events.jsonl": JSONL,
    "events.ndjson": JSONL.replace(b"\n", b"\r\n"),
    "blank.jsonl": b"\n\n" + JSONL.replace(b"\n", b"\n\n"),
    "bom.json": b"\xef\xbb\xbf" + JSONL.rstrip(b"\n"),
    "events.jsonl.gz": gzip.compress(JSONL),
    "events.jsonl.bz2": bz2.compress(JSONL),
    "events.jsonl.zst": pa.compress(JSONL, "zstd", asbytes=True),
}


@pytest.mark.parametrize("name", PACKED)
def test_the_same_events_as_from_csv(tmp_path: Path, csv: Events, name: str) -> None:
    (tmp_path / name).write_bytes(PACKED[name])
    events = read(tmp_path / name)
    assert same(events, csv)
    assert events.report.rows == 3000
    assert events.report.unused == ("id", "more")


def test_a_folder_of_lines(tmp_path: Path, csv: Events) -> None:
    (tmp_path / "in").mkdir()
    half = JSONL.index(b"\n", len(JSONL) // 2) + 1
    (tmp_path / "in" / "1.jsonl").write_bytes(JSONL[:half])
    (tmp_path / "in" / "2.jsonl.gz").write_bytes(gzip.compress(JSONL[half:]))
    assert same(read(tmp_path / "in"), csv)


REFUSED = {
    NOT_JSON: [
        *(
            b'{"user":"a","item":1',
            b"null",
            b"[1]",
            b'"a"',
            b"7",
            b'{"user":"a"} {"user":"b"}',
            b'{"user":"a",}',
            b"   ",
        ),
        *(b'{"user":NaN}', b'{"user":"a\tb"}', b'{"user":"\\ud800"}', b'{"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
        *(b"user,item", b"}{", b'{"user":01}'),
    ],
    NESTED: [b'{"user":{"x":1},"item":1}', b'{"user":["a"],"item":1}', b'{"user":1e400,"item":1}'],
    "not UTF-8": [b'{"user":"J\xf6rg","item":1}', b"\xff\xfe"],
    "missing user": [b"{}", b'{"user":null,"item":1}', b'{"user":"","item":1}', b'{"item":1}'],
    "line break in an id": [b'{"user":"a\\nb","item":1}'],
}


@pytest.mark.parametrize("reason", REFUSED)
def test_every_line_is_accounted_for(tmp_path: Path, reason: str) -> None:
    bad = REFUSED[reason]
    good = [b'{"user":"u%d","item":%d}' % (n % 5, n) for n in range(99 * len(bad))]
    (tmp_path / "t.jsonl").write_bytes(b"\n".join([good[0], *bad, *good[1:]]))
    report = read(tmp_path / "t.jsonl").report
    assert report.dropped == {reason: len(bad)}
    assert report.rows == report.events + len(bad) == len(good) + len(bad)
    with pytest.raises(InvalidInput, match=f"{reason}: {len(bad):,}, first in line 2") as caught:
        read(tmp_path / "t.jsonl", max_dirty_share=0.0)
    assert "\n" not in str(caught.value)
    assert "rg" not in str(caught.value)


values = (
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
)


@given(st.lists(st.one_of(values, st.just([])), min_size=1, max_size=20))
def test_a_line_is_read_by_itself(found: list[Any]) -> None:
    dialect = Dialect("", True, ("user",), (), 0, quoted=False, json=True)

    def parsed(lines: list[bytes]) -> tuple[list[Any], int]:
        whole = JsonParser("it", dialect, ["user"], []).parse(Block(b"\n".join(lines), 1, len(lines), len(lines)))
        return whole.batch.column(0).to_pylist(), len(whole.refused)

    lines = [json.dumps({"user": value}).encode() for value in found]
    together, refused = parsed(lines)
    alone = [parsed([line]) for line in lines]
    assert together == [value for texts, _ in alone for value in texts]
    assert refused == sum(count for _, count in alone) == found.count([])


def test_numbers_as_ids() -> None:
    dialect = Dialect("", True, ("user",), (), 0, quoted=False, json=True)
    lines = b'{"user":12}\n{"user":12.0}\n{"user":"12"}\n{"user":1.5}\n{"user":true}\n{"user":123456789012345678901}'
    found = JsonParser("it", dialect, ["user"], []).parse(Block(lines, 1, 6, 6)).batch.column(0).to_pylist()
    assert found == ["12", "12", "12", "1.5", "true", "123456789012345678901"]


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (b'[{"user":1}]\n', {}, "does not begin with one JSON object in a line; of a list make lines with `jq"),
        (b'{\n "user": 1\n}\n', {}, "does not begin with one JSON object"),
        (b"user,item\na,b\n", {"format": "jsonl"}, "does not begin with one JSON object"),
        (b'{"user":1,"page":2}\n', {}, ""),
        (b'{"user":1,"thing":2}\n', {}, "No column of"),
        (b"user,item\na,b\n", {"format": "parquet"}, "is not Parquet; leave `format=` out"),
        (b'{"alice":1,"bob":2}\n', {}, "2 columns, not listed because the first line may be a row"),
        (b'{"user":1,"x":"' + b"a" * 5_000_000 + b'"}\n', {}, "is longer than 256 KiB; is it a table?"),
        (b'{"user":1,"item":1}\n{"user":1,"x":"' + b"a" * 5_000_000 + b'"}\n', {}, "is longer than 4 MiB"),
    ],
)
def test_what_is_no_table_of_lines(tmp_path: Path, content: bytes, options: dict[str, Any], said: str) -> None:
    (tmp_path / "t.json").write_bytes(content)
    if not said:
        assert read(tmp_path / "t.json", **options).report.events == 1
        return
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path / "t.json", **options)
    assert said in str(caught.value)
    assert "alice" not in str(caught.value)


def test_a_bomb_of_lines_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(b'{"user":"a","item":"' + b"a" * 100_000 + b'"}\n' * 1))
    line = b'{"user":"%d","item":"' + b"a" * 50_000 + b'"}\n'
    with gzip.open(tmp_path / "t.jsonl.gz", "wb", compresslevel=1) as file:
        for n in range(3000):
            file.write(line.replace(b"%d", b"%d" % n).replace(b"aaaa", b"%04d" % n, 1))
    with pytest.raises(InvalidInput, match="takes more memory than"):
        read(tmp_path / "t.jsonl.gz", memory="64MB")


def test_attributes_read_lines_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = [{"age": 20 + n % 50, "sex": "mf"[n % 2], "zip": f"{n % 90:05}"} for n in range(400)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in people))
    (tmp_path / "p.csv").write_text("age,sex,zip\n" + "".join(f"{p['age']},{p['sex']},{p['zip']}\n" for p in people))
    said = []
    for name in ("p.jsonl", "p.csv"):
        assert run(["attributes", str(tmp_path / name), "--columns", "age,sex,zip", "--json"]) in (0, 1)
        said.append(json.loads(capsys.readouterr().out)["attackers"])
    assert said[0] == said[1]


# Standard input.


class Pipe(io.TextIOWrapper):
    def isatty(self) -> bool:
        return False


def piped(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", Pipe(io.BytesIO(content)))


@pytest.mark.parametrize("packing", ["plain", "gzip", "zstd", "bz2"])
@pytest.mark.parametrize("form", FORMS)
def test_standard_input_is_read_as_a_file_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, csv: Events, form: str, packing: str
) -> None:
    pack = {
        "plain": bytes,
        "gzip": gzip.compress,
        "bz2": bz2.compress,
        "zstd": lambda data: pa.compress(data, "zstd", asbytes=True),
    }
    content = pack[packing](FORMS[form])
    (tmp_path / "same").write_bytes(content)
    piped(monkeypatch, content)
    events = read("-")
    assert same(events, csv)
    assert events.report.source == "standard input"
    if packing == "plain":
        assert events.report.sha256 == read(tmp_path / "same").report.sha256


def test_much_through_a_pipe(tmp_path: Path) -> None:
    """Several blocks, more than is looked at beforehand, from another process, packed; no temporary file."""
    rows = b"".join(b"u%d,i%d,%d\n" % (n % 40, n * n % 97, 1_600_000_000 + n) for n in range(400_000))
    (tmp_path / "t.csv").write_bytes(b"user,item,time\n" + rows)
    command = [sys.executable, "-c", "import sys; from entropie.cli.main import run; sys.exit(run(sys.argv[1:]))"]
    words = [
        "assess",
        "-",
        "--matcher",
        "visit",
        "--no-control",
        "--no-report",
        "--targets",
        "5",
        "--scope",
        "profile",
        "--json",
    ]
    packed = gzip.compress((tmp_path / "t.csv").read_bytes(), 1)
    done = subprocess.run(
        [*command, *words, "--out", str(tmp_path / "o")], input=packed, capture_output=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr.decode()
    facts = json.loads(done.stdout)["input"]
    assert (facts["rows"], facts["source"]) == (400_000, "standard input")


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (b"", [], "standard input is empty"),
        (b"PAR1" + b"\0" * 50, [], "Standard input holds Parquet, which no pipe can bring"),
        (b"PK\x03\x04abc", [], "standard input is a zip archive"),
        (gzip.compress(CSV)[:-200], [], "standard input ends early: its gzip stream is cut off"),
        (CSV, ["--preset", "gowalla"], "left out for standard input"),
        (CSV, ["--format", "jsonl"], "standard input does not begin with one JSON object in a line"),
        (CSV, ["--format", "xml"], "'xml' is not one of csv, jsonl, parquet"),
    ],
)
def test_bad_standard_input(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes,
    options: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    piped(monkeypatch, content)
    assert run(["assess", "-", *options]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_is_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    for stream in (Terminal(io.BytesIO(CSV)), None):
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(InvalidInput, match="Nothing comes in through standard input"):
            read("-")


def test_the_job_round_trips(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assess", "-", "--format", "jsonl", "--print-config"]) == 0
    (tmp_path / "job.toml").write_text(capsys.readouterr().out)
    again = Request.read(tmp_path / "job.toml").source
    assert (again.events, again.format) == ("-", "jsonl")
