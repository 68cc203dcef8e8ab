"""Inputs for suites, generalisation, plans of tables, and what pipelines read: JUnit XML and Markdown."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable

from fuzz_cases import TARGETS as CASES
from fuzz_cases import Case, events, material, packed
from fuzz_doors import DOORS, LIMIT, MITIGATIONS, one_of, table
from fuzz_nasty import MARK, NAMES, OPTION_VALUES, TEXTS, damaged_bytes, damaged_json
from fuzz_parquet import PARQUET

__all__ = ["TARGETS", "case"]

JUDGED = frozenset({0, 1, 2, 3})
_ODD = ('"x"', '""', "-1", "1e400", "[]", "true", "9" * 50, '"\\u202e"', "nan", "1979-05-27", "{}", '"events.csv"', '"/dev/null"', '"-"',
        '["a"]', "0.3", '"ema"', "{a = {b = 1}}")  # fmt: skip
_SUITE = """[defaults.verdict]
limit = 0.99
limit_name = "rule"
fail_on = "average"
[defaults.attackers]
matchers = ["visit"]
control = false
[defaults.people]
min_events = 2
"""


def _for_pipelines(rng: random.Random, inputs: tuple[str, ...]) -> list[str]:
    """Where verdicts go, mostly to files of their own."""
    command = []
    for name, file in (("--junit", "v.xml"), ("--markdown", "v.md")):
        if rng.random() < 0.6:
            command += [name, rng.choice((file,) * 15 + (*inputs, "no/v", "."))]
    return command


def _mostly(rng: random.Random, *values: str, wrong: tuple[str, ...] = ()) -> str:
    """Seldom a wrong one: a command with many options is to be tried as a whole."""
    return one_of(rng, *values, wrong=wrong) if rng.random() < 0.2 else rng.choice(values)


def _check(rng: random.Random) -> Case:
    """A suite over data that may be damaged, or one that is damaged itself."""
    name, data, _ = events(rng)
    files = {name: data, "whole.csv": material()["events.csv"], "job.toml": material()["job.toml"]}
    entries = []
    for place in range(rng.choice((1, 1, 2, 3))):
        called = rng.choice((f"e{place}",) * 150 + (*NAMES, "a" * 40, ".", "check.json", "E0"))
        lines = ["[[entry]]", f"name = {json.dumps(called)}"]
        if rng.random() < 0.1:
            lines.append(f"config = {json.dumps(rng.choice(('job.toml', 'job.toml', 'no.toml', 'suite.toml')))}")
        source = rng.choice((name, "whole.csv", "whole.csv"))
        lines += ["[entry.source]", f"events = {json.dumps(source)}", 'user = "user"', 'item = "item"']
        lines += ['time = "time"'] if rng.random() < 0.7 else []
        lines += ["max_dirty_share = 1.0"] if rng.random() < 0.8 else []
        if rng.random() < 0.1:
            lines += ["[entry.run]", f"{rng.choice(('seed', 'memory', 'threads', 'engine'))} = {rng.choice(_ODD)}"]
        entries += lines
    lines = [*_SUITE.splitlines(), *entries]
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        place = rng.randrange(len(lines))
        kind = rng.randrange(4)
        if kind == 0:
            lines[place] = f"{lines[place].split('=')[0]}= {rng.choice(_ODD)}"
        elif kind == 1:
            lines.insert(
                place, f"{rng.choice(('extra', 'kind', 'name', 'a.b', 'defaults', 'waiver'))} = {rng.choice(_ODD)}"
            )
        elif kind == 2:
            del lines[place]
        else:
            lines.insert(
                place,
                rng.choice(
                    (
                        "[output]",
                        "[[defaults]]",
                        "[entry]",
                        "=",
                        "a = [" + "[" * 3_000,
                        ".".join(["a"] * 4_000) + " = 1",
                        '"""',
                    )
                ),
            )
    text = "\n".join(lines).encode(rng.choice(("utf-8",) * 60 + ("utf-16",)), "replace")
    files["suite.toml"] = damaged_bytes(rng, text) if rng.random() < 0.05 else text
    command = ["check", "suite.toml", "--no-report", "--json", *_for_pipelines(rng, ("suite.toml",))]
    command += ["--out", rng.choice(("out",) * 9 + ("suite.toml", "."))] if rng.random() < 0.6 else []
    return Case("check", command, files, JUDGED)


def _people(rng: random.Random) -> tuple[str, bytes]:
    """A table with one row per person, of any kind."""
    rows = [
        [
            f"{MARK}-{person}",
            str(rng.randrange(90)),
            rng.choice("mf"),
            f"{rng.randrange(10):05d}",
            rng.choice(("a", "b")),
        ]
        for person in range(40)
    ]
    for _ in range(rng.choice((0, 0, 0, 1, 3))):
        row = rng.choice(rows)
        row[rng.randrange(5)] = rng.choice(TEXTS)
    return table(rng, "people", ["id", "age", "sex", "postcode", "note"], rows)


_AGES = [[str(age), f"{age // 10 * 10}s", "adult" if age > 17 else "child"] for age in range(90)]


def _ages(rng: random.Random) -> bytes:
    """A hierarchy of ages, which may be damaged."""
    rows = [row.copy() for row in _AGES]
    for _ in range(rng.choice((0, 0, 0, 1, 3))):
        row = rng.choice(rows)
        change = rng.randrange(4)
        if change == 0:
            row[rng.randrange(len(row))] = rng.choice(TEXTS)
        elif change == 1:
            row.pop()
        elif change == 2:
            rows.remove(row)
        else:
            rows.append([row[0], "another", "one"])
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
    data = text.getvalue().encode("utf-8", "replace")
    return damaged_bytes(rng, data) if rng.random() < 0.15 else data


def _generalise(rng: random.Random) -> Case:
    """A table to be generalised, and written too."""
    name, data = _people(rng)
    known = _mostly(rng, "age,sex,postcode", "age,postcode,sex", "age,sex", wrong=("age,age", "id", "nothing", ","))
    command = ["generalise", name, "--columns", known, "--json"]
    command += ["--id", rng.choice(("id",) * 15 + ("sex", *NAMES))] if rng.random() < 0.8 else []
    limits = {
        "--k": ("3", "2", "3", "40"),
        "--highest": ("30%", "0.5"),
        "--average": ("20%", "50%"),
        "--suppress": ("5%", "0", "50%"),
    }
    for option in rng.sample(list(limits), rng.choice((1, 2, 2, 3))):
        command += [option, _mostly(rng, *limits[option], wrong=("0", "2"))]
    if rng.random() < 0.4:
        command += ["--bins", _mostly(rng, "age=10", "age=width:5", "age=exact", wrong=("age", "sex=4", "age=0", "=1"))]
    command += ["--prefix", _mostly(rng, "postcode", "sex", wrong=("id", "no"))] if rng.random() < 0.3 else []
    command += (
        ["--hierarchy", _mostly(rng, "age=ages.csv", wrong=("age=", "age=no.csv", "id=ages.csv", f"age={name}"))]
        if rng.random() < 0.4
        else []
    )
    command += ["--cost", _mostly(rng, "information", "loss", "discernibility")] if rng.random() < 0.3 else []
    command += ["--keep", _mostly(rng, "note", wrong=("id", "age", "note,note", "no"))] if rng.random() < 0.3 else []
    command += ["--out", "out"] if rng.random() < 0.7 else []
    command += (
        [
            "--apply",
            rng.choice(
                ("safer.csv",) * 20
                + ("safer.parquet", name, *(["ages.csv"] if "age=ages.csv" in command else []), "no/s.csv", "s.txt")
            ),
        ]
        if rng.random() < 0.5
        else []
    )
    return Case("generalise", command, {name: data, "ages.csv": _ages(rng)}, frozenset({0, 1, 2}))


def _released(rng: random.Random) -> Case:
    """A plan for a table carried out: it may be damaged, say other things, or be for another table."""
    plan, found = json.loads(material()["table.plan.json"]), material()["people.csv"]
    kind = rng.randrange(5)
    if kind == 1:
        found = damaged_bytes(rng, found)
        plan["sha256"] = None
    if kind == 2:
        level = rng.choice(plan["columns"])
        level |= rng.choice(
            ({"method": "as is"}, {"method": "drop"}, {"method": "prefix", "characters": rng.choice((0, 1, 99))}, {"column": rng.choice(NAMES)},
             {"method": "bands", "width": rng.choice((5.0, 1e-300, 0.0, -1.0, 1e308)), "first": rng.choice((0, -(10**17), 10**17)), "last": 9},
             {"method": "hierarchy", "file": rng.choice(("ages.csv", "/etc/passwd", "", "no.csv")), "level": rng.choice((0, 1, 2, 99))})
        )  # fmt: skip
    if kind == 3:
        plan |= rng.choice(
            ({"keep": ["id"]}, {"keep": ["note", "note"]}, {"id_column": rng.choice((None, "age", "no"))}, {"people": rng.choice((0, 39, 10**17))},
             {"columns": plan["columns"] * rng.choice((2, 500))}, {"columns": []}, {"limit": plan["limit"] | {"smallest_group": 1}})
        )  # fmt: skip
    text = damaged_json(rng, plan) if kind == 4 else json.dumps(plan).encode()
    out = rng.choice(
        ("safer.csv",) * 9
        + ("safer.parquet",) * 4
        + (
            "safer.txt",
            "plan.json",
            "people.csv",
            "no/safer.csv",
            ".",
            *(["ages.csv"] if kind == 0 and b"ages.csv" in text else []),
        )
    )
    command = ["apply", "plan.json", "people.csv", "--out", out, "--json"]
    command += ["--keep-key", "key.csv"] if rng.random() < 0.1 else []
    files = {"plan.json": text, "people.csv": found, "ages.csv": material()["ages.csv"]}
    return Case("released", command, files)


def _verdicts(rng: random.Random) -> Case:
    """What pipelines read of an assessment, a comparison or a sweep, and gauges, beside files that may be damaged."""
    drawn = rng.random()
    if drawn < 0.4:
        new = json.loads(material()["assessment.json"])
        files = {"old/assessment.json": material()["assessment.json"]}
        files["new/assessment.json"] = damaged_json(rng, new) if rng.random() < 0.5 else json.dumps(new | {"input": new["input"] | {
            "source": rng.choice(TEXTS)}}).encode("utf-8", "surrogatepass")  # fmt: skip
        files |= {"new/report.html": rng.randbytes(40)} if rng.random() < 0.1 else {}
        files |= {"old/m.prom": rng.randbytes(40)} if rng.random() < 0.1 else {}
        command = [
            "compare",
            *rng.choice((["old", "new"],) * 9 + (["old", "nowhere"], ["old/assessment.json", "new"])),
            "--json",
        ]
        return Case("verdicts", [*command, *_for_pipelines(rng, ("old/assessment.json",))], files, JUDGED)
    named = rng.choice(("house rule",) * 4 + tuple(text for text in TEXTS if "\x00" not in text))
    judged = ["--limit", "99%", "--limit-name", named, "--fail-on", "average", "--min-events", "2", "--json"]
    name = rng.choice(("events.csv",) * 4 + ("<b>.csv", "a|b.csv", "@team `x`.csv", "\u202evsc.csv"))
    files = {name: material()["swept.csv" if drawn > 0.8 else "events.csv"]}
    files[name] = damaged_bytes(rng, files[name]) if rng.random() < 0.3 else files[name]
    command = [name, "--user", "user", "--item", "item", "--time", "time", *judged, *_for_pipelines(rng, (name,))]
    if drawn > 0.8:
        command = ["sweep", *command, "--only", "--first", "2", "--budget", "1"]
        command += ["--apply", rng.choice(("safer.csv", "safer.parquet", "safer.txt"))] if rng.random() < 0.7 else []
    else:
        command = ["assess", *command, "--matcher", "visit", "--no-control", "--no-report", "--out", "out"]
        command += ["--metrics", rng.choice(("m.prom",) * 6 + (name,))] if rng.random() < 0.5 else []
    return Case("verdicts", command, files, JUDGED)


def _wandering(rng: random.Random) -> Case:
    """Positions swept and applied: cells of a map, stays, JSON Lines, standard input."""
    rows = [
        {
            "user": f"{MARK}-{person}",
            "lat": 48.85 + 0.01 * rng.randrange(4),
            "lon": 2.35,
            "time": 1_500_000_000 + 600 * step,
        }
        for person in range(12)
        for step in range(8)
    ]
    for _ in range(rng.choice((0, 0, 1, 3))):
        rng.choice(rows)[rng.choice(("user", "lat", "lon", "time"))] = rng.choice(
            (*TEXTS, None, 91, 1e308, -0.0, [], True)
        )  # type: ignore[assignment]
    data = b"\n".join(json.dumps(row).encode() for row in rows)
    data = damaged_bytes(rng, data) if rng.random() < 0.3 else data
    piped = rng.random() < 0.3
    name, data = ("piped", data) if piped else packed(rng, "trace.jsonl", data)
    command = ["sweep", "-" if piped else name, "--user", "user", "--lat", "lat", "--lon", "lon", "--time", "time"]
    command += ["--cells", one_of(rng, "h3:9", "grid:500m")]
    command += ["--stays", one_of(rng, "200m,20min", "1km,1h", "1m,1s")] if rng.random() < 0.4 else []
    kind = rng.choice(("--grid", "--time-unit", "--jitter", "--first", "--rare-items", "--rotate"))
    command += [*LIMIT, "--min-events", "2", "--only", kind, one_of(rng, *MITIGATIONS[kind][:2]), "--json"]
    command += ["--out", "out", "--max-dirty-share", "1", "--budget", "2"]
    command += ["--apply", rng.choice(("safer.csv", "safer.parquet"))] if rng.random() < 0.6 else []
    return Case("wandering", command, {name: data}, JUDGED, piped=name if piped else None)


def _simulated(rng: random.Random) -> Case:
    """Events of people who do not exist beside those of a file."""
    rows = [
        [f"{MARK}-{person}", f"place {rng.randrange(9)}", str(3_600 * event)]
        for person in range(8)
        for event in range(12)
    ]
    for _ in range(rng.choice((0, 0, 1, 3))):
        rng.choice(rows)[rng.randrange(3)] = rng.choice(TEXTS)
    name, data = table(rng, "events", ["user", "item", "time"], rows)
    command = ["simulate", rng.choice(("foursquare", "new-york", "movielens")), "--json"]
    users = _mostly(rng, "20", "50", wrong=("0", "1"))
    command += ["--users", "20" if users == "1M" else users]  # a million people take minutes
    made = _mostly(rng, "s.csv", "s.parquet", wrong=("s.txt", "no/s.csv", "."))
    command += ["--compare", name] if rng.random() < 0.6 else ["--out", made]
    command += (
        [rng.choice(("--seed", "--threads", "--memory")), rng.choice(OPTION_VALUES)] if rng.random() < 0.1 else []
    )
    return Case("simulated", command, {name: data})


TARGETS: dict[str, Callable[[random.Random], Case]] = {
    **CASES,
    **DOORS,
    **PARQUET,
    "check": _check,
    "generalise": _generalise,
    "released": _released,
    "verdicts": _verdicts,
    "wandering": _wandering,
    "simulated": _simulated,
}


def case(target: str, seed: int, number: int) -> Case:
    """The case of that number, always the same."""
    return TARGETS[target](random.Random(f"{target} {seed} {number}"))
