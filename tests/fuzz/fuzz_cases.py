"""Inputs for every command, made from a seed and a number: whole, odd, and damaged ones."""

from __future__ import annotations

import bz2
import contextlib
import csv
import functools
import gzip
import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fuzz_nasty import MARK, NAMES, OPTION_VALUES, TEXTS, damaged_bytes, damaged_json

__all__ = ["PEOPLE", "TARGETS", "Case", "column", "events", "material", "packed", "rows_of"]

JUDGED = ["--limit", "30%", "--limit-name", "house rule", "--fail-on", "average"]
PEOPLE = 12


@dataclass(frozen=True, slots=True)
class Case:
    """One command to run among some files.

    codes   exit codes that may come of it
    rows    rows of data that the input has, where it was not damaged: all of them must be accounted for
    piped   the file that comes in through standard input
    """

    target: str
    command: list[str]
    files: dict[str, bytes] = field(default_factory=dict)
    codes: frozenset[int] = frozenset({0, 2})
    rows: int | None = None
    piped: str | None = None


def rows_of(rng: random.Random, people: int = PEOPLE) -> list[list[str]]:
    """Some people's events; two kinds of time, never both."""
    written = rng.choice(("{}", "2012-04-{:02d} 18:00:07", "2012-04-03T{:02d}:00:00Z"))
    rows = []
    for person in range(people):
        for event in range(rng.randrange(1, 7)):
            when = written.format(1 + (event * 5 + person) % 23)
            rows.append([f"{MARK}-{person}", f"place {rng.randrange(6)}", when])
    rng.shuffle(rows)
    return rows


def _events_text(rng: random.Random) -> tuple[bytes, int | None]:
    """A table of events as text, and how many rows it has where that is certain."""
    rows = rows_of(rng)
    certain = True
    for _ in range(rng.choice((0, 0, 0, 1, 1, 3))):
        row = rng.choice(rows)
        kind = rng.randrange(4)
        if kind == 0:
            row[rng.randrange(len(row))] = rng.choice(TEXTS)
        elif kind == 1:
            row.append(rng.choice(TEXTS))
        elif kind == 2 and len(row) > 1:
            row.pop()
        else:
            rows.append(["", "", ""])
    certain = all("\x00" not in text for row in rows for text in row) and all(any(row) for row in rows)
    names = ["user", "item", "time"]
    if rng.random() < 0.1:
        names[rng.randrange(3)], certain = rng.choice(NAMES), False
    header = [names] if rng.random() < 0.93 else []
    certain &= bool(header)
    held = io.StringIO(newline="")
    delimiter = rng.choice((",", ",", ",", ";", "\t", "|"))
    ends = rng.choice(("\n", "\n", "\r\n"))
    quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    csv.writer(held, delimiter=delimiter, lineterminator=ends, quoting=quoting).writerows([*header, *rows])
    text = held.getvalue()
    if rng.random() < 0.1:  # a quote that nobody closes, a line end inside it
        place, certain = rng.randrange(len(text)), False
        text = text[:place] + '"' + text[place:]
    encoding = rng.choice(("utf-8",) * 16 + ("utf-8-sig", "utf-8-sig", "utf-16", "latin-1", "utf-32"))
    data = text.encode(encoding, "replace")
    certain &= encoding == "utf-8"
    if rng.random() < 0.45:
        data, certain = damaged_bytes(rng, data), False
    return data, len(rows) if certain else None


def packed(rng: random.Random, name: str, data: bytes) -> tuple[str, bytes]:
    """The same file, or one that is packed, now and then damaged."""
    kind = rng.randrange(12)
    if kind == 0:
        name, data = f"{name}.gz", gzip.compress(data)
    elif kind == 1:
        name, data = f"{name}.bz2", bz2.compress(data)
    elif kind == 2:
        name, data = f"{name}.zst", pa.compress(data, codec="zstd", asbytes=True)
    if kind < 3 and rng.random() < 0.4:
        data = damaged_bytes(rng, data)
    return name, data


def column(rng: random.Random, texts: list[str]) -> Any:
    """The texts, or something made of their numbers, under any type that a file may have."""
    numbers = [sum(map(ord, text)) % 100 for text in texts]
    kinds: list[Callable[[], Any]] = [
        lambda: pa.array(texts), lambda: pa.array(texts), lambda: pa.array(texts, pa.large_string()), lambda: pa.array(texts, pa.string_view()),
        lambda: pa.array([text.encode() for text in texts], pa.binary()), lambda: pa.array(texts).dictionary_encode(),
        lambda: pa.array(numbers, rng.choice((pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64()))),
        lambda: pa.array([float(number) for number in numbers], rng.choice((pa.float32(), pa.float64()))),
        lambda: pa.array([rng.choice((float("nan"), float("inf"), -0.0, number)) for number in numbers], pa.float64()),
        lambda: pa.array([Decimal(number) for number in numbers], pa.decimal128(20, 3)), lambda: pa.array([bool(number % 2) for number in numbers]),
        lambda: pa.nulls(len(texts)), lambda: pa.array([[number] for number in numbers]), lambda: pa.array([{"a": number} for number in numbers]),
        lambda: pa.array([[(str(number), number)] for number in numbers], pa.map_(pa.string(), pa.int64())),
        lambda: pa.array(numbers, pa.timestamp(rng.choice(("s", "ms", "us", "ns")), rng.choice((None, "UTC", "America/New_York")))),
        lambda: pa.array(numbers, pa.date32()), lambda: pa.array(numbers, pa.time32("s")), lambda: pa.array(numbers, pa.duration("s")),
        lambda: pa.array([rng.choice((None, text)) for text in texts]), lambda: pa.array([bytes([number]) * 4 for number in numbers], pa.binary(4)),
        lambda: pa.array([text.encode() for text in texts], pa.binary_view()), lambda: pa.array([float(number) for number in numbers], pa.float16()),
        lambda: pa.array([bytes([number]) * 16 for number in numbers], pa.uuid()), lambda: pa.array([str(number) for number in numbers], pa.json_()),
        lambda: pa.array([Decimal(number) for number in numbers], rng.choice((pa.decimal32(9, 2), pa.decimal256(60, 3)))), lambda: pa.array(numbers, pa.time64("ns")),
        lambda: pa.array([[number, 1] for number in numbers], rng.choice((pa.large_list(pa.int64()), pa.list_(pa.int64(), 2)))),
        lambda: pa.array([2**62, -(2**62)] * (len(texts) // 2) + [0] * (len(texts) % 2), pa.timestamp("us")),
    ]  # fmt: skip
    return kinds[0]() if rng.random() < 0.6 else rng.choice(kinds)()


def _events_parquet(rng: random.Random) -> tuple[bytes, int | None]:
    columns = list(zip(*rows_of(rng), strict=True))
    arrays = [column(rng, list(texts)) for texts in columns]
    names = [rng.choice(NAMES) if rng.random() < 0.05 else name for name in ("user", "item", "time")]
    held = io.BytesIO()
    options = {
        "compression": rng.choice(("snappy", "zstd", "none", "gzip")),
        "row_group_size": rng.choice((1, 7, 1_000)),
        "use_dictionary": rng.random() < 0.5,
        "data_page_version": rng.choice(("1.0", "2.0")),
    }
    pq.write_table(pa.Table.from_arrays(arrays, names), held, **options)
    data, rows = held.getvalue(), len(arrays[0])
    return (damaged_bytes(rng, data), None) if rng.random() < 0.4 else (data, rows)


def events(rng: random.Random) -> tuple[str, bytes, int | None]:
    """A table of events of any kind: its name, its bytes, and its rows where they are certain."""
    if rng.random() < 0.35:
        data, rows = _events_parquet(rng)
        return "events.parquet", data, rows
    data, rows = _events_text(rng)
    name, data = packed(rng, rng.choice(("events.csv", "events.csv", "events.tsv", "events.txt")), data)
    return name, data, rows


def _named(rng: random.Random) -> list[str]:
    """Columns by name, mostly."""
    if rng.random() < 0.15:
        return []
    command = ["--user", "user", "--item", "item"]
    if rng.random() < 0.7:
        command += ["--time", "time"]
    if rng.random() < 0.05:
        command[1] = rng.choice(NAMES)
    return command


def _assess(rng: random.Random) -> Case:
    name, data, rows = events(rng)
    command = [
        "assess",
        name,
        *_named(rng),
        "--min-events",
        "2",
        "--matcher",
        "visit",
        "--no-control",
        "--no-report",
        "--json",
    ]
    command += ["--out", "out", "--max-dirty-share", rng.choice(("1", "1", "0.01"))]
    codes = frozenset({0, 2})
    if rng.random() < 0.3:
        command, codes = command + JUDGED, frozenset({0, 1, 2, 3})
    if rng.random() < 0.1:
        command += [
            rng.choice(("--seed", "--threads", "--memory", "--targets", "--train-events", "--grid", "--preset")),
            rng.choice(OPTION_VALUES),
        ]
    return Case("assess", command, {name: data}, codes, rows)


def _sweep(rng: random.Random) -> Case:
    name, data, rows = events(rng)
    kinds = (("--top", "3"), ("--first", "2"), ("--prefix", "2"), ("--time-unit", "day"), ("--thin", "0.5"),
             ("--rare-items", "2"), ("--exposed", "0.2"), ("--rotate", "day"), ("--jitter", "2h"), ("--sample", "0.5"))  # fmt: skip
    kind, value = rng.choice(kinds)
    value = rng.choice(OPTION_VALUES) if rng.random() < 0.2 else value
    command = [
        "sweep",
        name,
        *_named(rng),
        "--min-events",
        "2",
        kind,
        value,
        "--only",
        "--profile",
        "ema",
        "--json",
        "--out",
        "out",
        "--max-dirty-share",
        "1",
    ]
    return Case("sweep", command, {name: data}, frozenset({0, 1, 2, 3}), rows)


def _attributes(rng: random.Random) -> Case:
    ages = [
        [f"{MARK}-{person}", str(rng.randrange(90)), rng.choice("mf"), f"{rng.randrange(99999):05d}"]
        for person in range(40)
    ]
    for _ in range(rng.choice((0, 0, 1, 3))):
        row = rng.choice(ages)
        row[rng.randrange(4)] = rng.choice(TEXTS)
    names = ["id", "age", "sex", "postcode"]
    if rng.random() < 0.3:
        name, held = "people.parquet", io.BytesIO()
        arrays = [column(rng, list(texts)) for texts in zip(*ages, strict=True)]
        pq.write_table(pa.Table.from_arrays(arrays, names), held)
        data = held.getvalue()
    else:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([names, *ages])
        name, data = packed(rng, "people.csv", text.getvalue().encode("utf-8", "replace"))
    if rng.random() < 0.3:
        data = damaged_bytes(rng, data)
    command = ["attributes", name, "--id", "id", "--columns", "age,sex,postcode", "--json", "--out", "out"]
    if rng.random() < 0.4:
        value = rng.choice(("10", "width:5", "exact", *OPTION_VALUES))
        command += ["--bins", rng.choice(OPTION_VALUES) if rng.random() < 0.2 else f"age={value}"]
    return Case("attributes", command, {name: data})


def _obfuscate(rng: random.Random) -> Case:
    name, data, _ = events(rng)
    command = [
        "obfuscate",
        name,
        "--column",
        "item",
        "--mechanism",
        rng.choice(("rr", "glh")),
        "--epsilon",
        "2",
        "--json",
    ]
    command += ["--out", rng.choice(("reports.csv", "reports.parquet")), "--dictionary", "places.csv"]
    if rng.random() < 0.3:
        command += ["--keep", rng.choice(("time", "user", *NAMES))]
    if rng.random() < 0.2:
        command += [rng.choice(("--hash-size", "--prime", "--domain", "--theta", "--seed")), rng.choice(OPTION_VALUES)]
    return Case("obfuscate", command, {name: data})


@functools.cache
def material() -> dict[str, bytes]:
    """Documents and reports that the program itself wrote, kept by the worker that made them."""
    return {path.name: path.read_bytes() for path in sorted(Path("../material").iterdir())}


def _estimate(rng: random.Random) -> Case:
    files = {name: material()[name] for name in ("reports.csv", "reports.csv.parameters.json", "places.csv")}
    name = rng.choice(list(files))
    if name.endswith(".json"):
        files[name] = damaged_json(rng, json.loads(files[name]))
    else:
        files[name] = damaged_bytes(rng, files[name])
    command = ["estimate", "reports.csv", "--parameters", "reports.csv.parameters.json", "--json"]
    if rng.random() < 0.5:
        command += ["--dictionary", "places.csv"]
    if rng.random() < 0.1:
        command += [rng.choice(("--item", "--level", "--top")), rng.choice(OPTION_VALUES)]
    return Case("estimate", command, files)


def _scores(rng: random.Random) -> Case:
    people = rng.randrange(2, 9)
    if rng.random() < 0.5:
        lines = [["id", *map(str, range(people))]]
        lines += [[str(i), *(f"{rng.gauss(3 * (i == j), 1):.3f}" for j in range(people))] for i in range(people)]
        for _ in range(rng.choice((0, 0, 1, 2))):
            rng.choice(lines)[rng.randrange(people)] = rng.choice(TEXTS)
        files = {"matrix.csv": "\n".join(map(",".join, lines)).encode("utf-8", "replace")}
    else:
        lists = [[f"{rng.gauss(mean, 1):.3f}" for _ in range(rng.randrange(1, 30))] for mean in (3, 0)]
        lists[rng.randrange(2)][0] = rng.choice(TEXTS) if rng.random() < 0.3 else "1"
        files = {
            name: "\n".join(held).encode("utf-8", "replace")
            for name, held in zip(("genuine.txt", "impostor.txt"), lists, strict=True)
        }
    if rng.random() < 0.5:
        name = rng.choice(list(files))
        files[name] = damaged_bytes(rng, files[name])
    command = ["scores", *files, "--json", "--failed", rng.choice(("refuse", "drop", "keep", "lowest"))]
    if rng.random() < 0.1:
        command += [rng.choice(("--seed", "--failed-score", "--set")), rng.choice(OPTION_VALUES)]
    return Case("scores", command, files)


def _document(rng: random.Random) -> bytes:
    return damaged_json(rng, json.loads(material()["assessment.json"]))


def _compare(rng: random.Random) -> Case:
    files = {"old.json": material()["assessment.json"], "new.json": _document(rng)}
    command = ["compare", *rng.sample(list(files), 2), "--json"]
    if rng.random() < 0.1:
        command += ["--tolerance-error", rng.choice(OPTION_VALUES)]
    return Case("compare", command, files, frozenset({0, 1, 2, 3}))


def _report(rng: random.Random) -> Case:
    return Case("report", ["report", "a.json", "--out", "page.html", "--json"], {"a.json": _document(rng)})


def _config(rng: random.Random) -> Case:
    text = material()["job.toml"]
    kind = rng.randrange(3)
    if kind == 0:
        text = damaged_bytes(rng, text)
    lines = text.decode("utf-8", "replace").splitlines()
    if kind == 1:
        place = rng.randrange(len(lines))
        lines[place] = (
            lines[place].split("=")[0]
            + "= "
            + rng.choice(('"x"', "-1", "1e400", "[]", "true", "9" * 50, '"\\u202e"', "nan", "1979-05-27", "{}"))
        )
    if kind == 2:
        lines.insert(
            rng.randrange(len(lines)), rng.choice(('usr = "a"', "[nothing]", "a.b.c = 1", "[[source]]", "x" * 400))
        )
    data = text if kind == 0 else "\n".join(lines).encode("utf-8", "replace")
    return Case("config", ["assess", "--config", "job.toml", "--print-config"], {"job.toml": data})


def _options(rng: random.Random) -> Case:
    base = {
        "guarantee": {"--mechanism": "rr", "--domain": "100", "--users": "50", "--epsilon": "2"},
        "calibrate": {"--users": "50", "--domain": "100", "--bayes-error": "0.9"},
        "plan": {"--users": "20K", "--events-per-user": "30", "--items": "1K"},
    }
    further = {
        "guarantee": ("--theta", "--hash-size", "--prime", "--reports", "--list", "--prior-max", "--domain", "--users", "--epsilon"),
        "calibrate": ("--hash-size", "--reports", "--list", "--prior-max", "--users", "--domain", "--bayes-error", "--mechanism"),
        "plan": ("--users", "--events", "--items", "--distinct", "--people-per-event", "--zipf", "--executors", "--hours", "--cores", "--memory", "--throughput", "--train-events"),
    }  # fmt: skip
    name = rng.choice(list(base))
    options = dict(base[name])
    for _ in range(rng.choice((1, 1, 2))):
        options[rng.choice(further[name])] = rng.choice(OPTION_VALUES)
    codes = frozenset({0, 1, 2} if name == "calibrate" else {0, 2})  # 1: nothing gives what is wanted
    return Case("options", [name, *(part for pair in options.items() for part in pair), "--json"], codes=codes)


WAIVER = """reason = "a reason"
expires = 2099-01-01
granted_by = "somebody"
profile = "house rule"
"""


def _waiver(rng: random.Random) -> Case:
    lines = WAIVER.splitlines()
    for _ in range(rng.choice((0, 1, 1, 2))):
        place = rng.randrange(len(lines))
        value = rng.choice(
            ('"x"', '""', "-1", "1e400", "[]", "true", "9" * 5_000, '"\\u202e\\u001b"', "nan", "1979-05-27", "{}")
        )
        kind = rng.randrange(4)
        if kind == 0:
            lines[place] = f"{lines[place].split('=')[0]}= {value}"
        elif kind == 1:
            del lines[place]
        elif kind == 2:
            lines.insert(place, f"{rng.choice(('input_sha256', 'extra', 'reason', '[table]', 'a.b'))} = {value}")
        else:
            lines[place] = rng.choice(("[" * 3_000, "=", "a = " + "{a = " * 1_500, '"""', "\x00", "\ufeff", "é = 1"))
        if not lines:
            break
    data = "\n".join(lines).encode("utf-8" if rng.random() < 0.9 else "utf-16", "replace")
    if rng.random() < 0.3:
        data = damaged_bytes(rng, data)
    files = {"events.csv": material()["events.csv"], "waiver.toml": data}
    command = [
        "assess",
        "events.csv",
        "--min-events",
        "2",
        "--matcher",
        "visit",
        "--no-control",
        "--no-report",
        *JUDGED,
    ]
    command += ["--waiver", "waiver.toml", "--out", "out", "--json"]
    return Case("waiver", command, files, frozenset({0, 1, 2, 3}))


def _counts(rng: random.Random) -> Case:
    """Counts that were saved: the archive, its parts, or what they say."""
    saved = material()["counts.npz"]
    parts = dict(np.load(io.BytesIO(saved)))
    name = rng.choice(list(parts))
    odd: list[Callable[[], Any]] = [
        lambda: parts[name].astype(rng.choice(("i1", "u8", "f8", "c16", "?", "S3", "U2", "M8[s]", "f2"))),
        lambda: parts[name] * rng.choice((0, -1, 2**31, 10**9)), lambda: np.array(rng.choice((-1, 0, 2**63, 1e400))),
        lambda: parts[name].reshape(rng.choice(((-1, 1), (1, -1), (-1,)))), lambda: parts[name][..., :0] if parts[name].ndim else np.zeros(0),
        lambda: np.zeros(rng.choice((0, 1, 10**6)), rng.choice((np.uint8, np.uint64))), lambda: np.frombuffer(b"{" * 4_000, np.uint8),
        lambda: np.frombuffer(b"\xff\xfe", np.uint8), lambda: np.array([["a", 1]], object),
    ]  # fmt: skip
    kind = rng.randrange(5)
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        if kind == 0:
            parts[name] = rng.choice(odd)()
        elif kind == 1:
            del parts[name]
        elif kind == 2:
            parts[rng.choice(("items", "extra", "../../x", "\x1b[31m", "counts2"))] = parts[name]
    held = io.BytesIO()
    rng.choice((np.savez, np.savez_compressed))(held, **parts)
    data = damaged_bytes(rng, held.getvalue()) if kind > 2 else held.getvalue()
    files = {"counts.npz": data, "p.json": material()["reports.csv.parameters.json"]}
    command = ["estimate", "counts.npz", "--parameters", "p.json", "--json"]
    if rng.random() < 0.2:
        files["more.npz"] = saved
        command.insert(1, "more.npz")
    return Case("counts", command, files)


def _geolife(rng: random.Random) -> Case:
    """A folder for each person, a file for each of their ways."""
    files = {}
    for person in range(rng.randrange(1, 6)):
        for way in range(rng.randrange(1, 3)):
            lines = [*["Geolife trajectory"] * 6]
            for step in range(rng.randrange(0, 12)):
                row = [f"{39.9 + 0.01 * rng.randrange(5):.4f}", f"{116.3 + 0.01 * person:.4f}", "0", "492", "39744.12"]
                row += [f"2008-10-{1 + step:02d}", f"02:{step:02d}:1{way}"]
                if rng.random() < 0.05:
                    row[rng.randrange(7)] = rng.choice(TEXTS)
                lines.append(",".join(row[: rng.choice((7,) * 30 + (1, 3, 6))]))
            data = rng.choice(("\r\n", "\n")).join([*lines, ""]).encode("utf-8", "replace")
            if rng.random() < 0.2:
                data = damaged_bytes(rng, data)
            start = f"2008102302{way:04d}"
            files[f"Data/{MARK}{person:03d}/{rng.choice(('Trajectory',) * 19 + ('x',))}/{start}.plt"] = data
    if rng.random() < 0.2:
        files[rng.choice(("Data/readme.txt", f"Data/{MARK}001/labels.txt", "Data/a.plt"))] = rng.choice(
            (b"", b"x,y\n1,2\n")
        )
    grid = rng.choice(OPTION_VALUES) if rng.random() < 0.1 else rng.choice(("500m", "0.01deg", "5km"))
    command = ["assess", "Data", "--preset", "geolife", "--grid", grid, "--min-events", "2", "--matcher", "visit"]
    command += ["--no-control", "--no-report", "--json", "--out", "out", "--max-dirty-share", rng.choice(("1", "0.01"))]
    return Case("geolife", command, files)


def _known(rng: random.Random) -> Case:
    """The attacker's own file, and who is who in both."""
    names, data, _ = events(rng)
    pairs = [[f"{MARK}-{person}", f"person-{person}"] for person in range(PEOPLE)]
    for _ in range(rng.choice((0, 0, 1, 3))):
        rng.choice(pairs)[rng.randrange(2)] = rng.choice((*TEXTS, f"{MARK}-1", "person-1"))
    header = rng.choice(([["known", "released"]], [["user", "person"]], []))
    text = "\n".join(map(rng.choice((",", ";", "\t")).join, [*header, *pairs])).encode("utf-8", "replace")
    if rng.random() < 0.3:
        text = damaged_bytes(rng, text)
    files = {"events.csv": material()["events.csv"], names: data, "map.csv": text}
    if names == "events.csv":
        files = {"events.csv": material()["events.csv"], "known.csv": data, "map.csv": text}
        names = "known.csv"
    command = ["assess", "events.csv", "--known", names, "--min-events", "2", "--matcher", "visit", "--no-control"]
    command += ["--no-report", "--json", "--out", "out"] + (["--truth", "map.csv"] if rng.random() < 0.8 else [])
    return Case("known", command, files)


def _matrix(rng: random.Random) -> Case:
    """A mechanism as a table of probabilities."""
    size = rng.randrange(1, 5)
    table = np.full((size, size), 1.0 / size)
    if rng.random() < 0.4:
        table[rng.randrange(size), rng.randrange(size)] = rng.choice((float("nan"), float("inf"), -1.0, 2.0, 1e-320))
    held = io.BytesIO()
    kind = rng.choice(("csv", "npy", "npz", "sparse"))
    if kind == "csv":
        np.savetxt(held, table, delimiter=rng.choice((",", ",", ";", " ")))
    elif kind == "npy":
        np.save(held, table.astype(rng.choice(("f8", "f4", "i8", "c16", "U9", "?"))))
    elif kind == "npz":
        np.savez(held, *rng.choice(([table], [table, table], [])))
    else:
        shape = rng.choice(([size, size], [-1, 2], [2**40, 2**40], [size], ["a", "b"]))
        parts = {"data": table.ravel(), "indices": np.tile(np.arange(size), size) + rng.choice((0, 0, 9, -9))}
        np.savez(held, format=rng.choice(("csr", "csc", "x")), shape=shape, indptr=np.arange(size + 1) * size, **parts)
    data = damaged_bytes(rng, held.getvalue()) if rng.random() < 0.4 else held.getvalue()
    name = f"m.{'npz' if kind == 'sparse' else kind}"
    return Case("matrix", ["guarantee", "--matrix", name, "--users", "50", "--json"], {name: data})


def _reports(rng: random.Random) -> Case:
    """Reports of a mechanism assessed with its parameters and names."""
    case = _estimate(rng)
    command = ["assess", "reports.csv", "--user", "user", "--item", "report", "--min-events", "2", "--matcher", "visit"]
    command += ["--parameters", "reports.csv.parameters.json", "--dictionary", "places.csv", "--no-control"]
    return Case("reports", [*command, "--no-report", "--json", "--out", "out"], case.files)


TARGETS: dict[str, Callable[[random.Random], Case]] = {
    "assess": _assess,
    "sweep": _sweep,
    "attributes": _attributes,
    "obfuscate": _obfuscate,
    "estimate": _estimate,
    "scores": _scores,
    "compare": _compare,
    "report": _report,
    "config": _config,
    "options": _options,
    "waiver": _waiver,
    "counts": _counts,
    "geolife": _geolife,
    "known": _known,
    "matrix": _matrix,
    "reports": _reports,
}
