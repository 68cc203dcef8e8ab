"""Every document the command line prints or writes keeps to its schema, and the schemas are strict."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from test_gate_cli import events

from entropie import schemas
from entropie.errors import InvalidParameter

GLH = ("--mechanism", "glh", "--hash-size", "8")
OPEN = ("$.input", "$.split", "$.input.dropped", "$.input.columns", "$.scoring_core_hours")
"""Objects whose keys depend on the input, or on the matchers that are installed."""


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schemas.schema(name), format_checker=Draft202012Validator.FORMAT_CHECKER)


def objects(value: Any, path: str = "$") -> Iterator[tuple[str, dict]]:
    """Every object of a document, and where it is."""
    if isinstance(value, dict):
        yield path, value
        for name, inner in value.items():
            yield from objects(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for index, inner in enumerate(value[:2]):
            yield from objects(inner, f"{path}[{index}]")


def shortened(value: Any) -> Any:
    """The document with two entries of every list of objects or lists; `objects` looks at no more."""
    if isinstance(value, dict):
        return {name: shortened(inner) for name, inner in value.items()}
    if isinstance(value, list):
        nested = any(isinstance(inner, dict | list) for inner in value)
        return [shortened(inner) for inner in (value[:2] if nested else value)]
    return value


@pytest.fixture
def run(entropie):
    def documents_of(*arguments: str) -> dict:
        ran = entropie(*arguments, "--json")
        assert ran.code in (0, 1), ran.err
        return json.loads(ran.out)

    return documents_of


def assessed(run, *options: str) -> dict:
    Path("events.csv").write_text(events(0.6, count=30))
    return run("assess", "events.csv", "--out", "out", "--no-report", "--profile", "ema", *options)


def without_times(run) -> dict:
    Path("events.csv").write_text(re.sub(r",[^,]*$", "", events(0.6, count=30), flags=re.MULTILINE))
    return run("assess", "events.csv", "--no-report", "--matcher", "visit")


def waived(run) -> dict:
    Path("w.toml").write_text('reason = "a pilot"\nexpires = 2999-01-31\ngranted_by = "J. Doe"\nprofile = "ema"\n')
    return assessed(run, "--waiver", "w.toml", "--attempt-probability", "0.9", "--population", "5000")


def protected(run) -> dict:
    Path("events.csv").write_text(events(0.6, count=60))
    options = ("--protect", "0.8", "--window", "4d", "--min-events", "5", "--matcher", "visit")
    return run("assess", "events.csv", "--no-report", *options)


def swept(run) -> dict:
    Path("events.csv").write_text(events(0.6, count=60))
    return run("sweep", "events.csv", "--only", "--top", "10", "--time-unit", "day", "--profile", "ema")


def planned(run) -> dict:
    rows = "".join(f"u{n % 80},{n % 80},{n}\n" for n in range(960))
    Path("events.csv").write_text(f"user,item,time\n{rows}")
    where = ("--only", "--top", "1", "--time-unit", "none", "--profile", "custodian-033", "--out", "out")
    run("sweep", "events.csv", *where, "--one-id-per-person")
    return json.loads(Path("out/plan.json").read_text())


def applied(run) -> dict:
    planned(run)
    return run("apply", "out/plan.json", "events.csv", "--out", "safer.csv")


def attributes(run) -> dict:
    rows = "".join(f"{18 + i * 7 % 60},T{i % 5},{'mf'[i % 2]}\n" for i in range(120))
    Path("people.csv").write_text(f"age,town,sex\n{rows}")
    return run("attributes", "people.csv", "--columns", "age,town,sex")


def converging(run) -> dict:
    Path("events.csv").write_text(events(0.6, count=220))
    return run(
        "assess", "events.csv", "--matcher", "visit", "--no-control", "--no-report", "--converge", "--targets", "210"
    )


def compared(run) -> dict:
    assessed(run)
    return run("compare", "out/assessment.json", "out/assessment.json")


def compared_with_another_attack(run) -> dict:
    assessed(run, "--matcher", "visit")
    Path("out").rename("old")
    assessed(run, "--matcher", "bayes", "--train-events", "3")
    return run("compare", "old/assessment.json", "out/assessment.json")


def compared_over_what_the_data_show(run) -> dict:
    found = assessed(run, "--matcher", "visit")
    found["attacks"][0]["pse_bits"]["resolvable"] = 0.01
    Path("over.json").write_text(json.dumps(found))
    return run("compare", "out/assessment.json", "over.json")


def obfuscated(run, *mechanism: str) -> dict:
    Path("visits.csv").write_text("place\n" + "".join(f"place {i % 4}\n" for i in range(400)))
    return run(
        "obfuscate", "visits.csv", "--column", "place", "--dictionary", "d.csv", "--epsilon", "3",
        "--out", "r.csv", *(mechanism or ("--mechanism", "rr")),
    )  # fmt: skip


def parameters(run, *mechanism: str) -> dict:
    obfuscated(run, *mechanism)
    return json.loads(Path("r.csv.parameters.json").read_text())


def estimated(run, *options: str) -> dict:
    obfuscated(run)
    return run("estimate", "r.csv", "--parameters", "r.csv.parameters.json", *options)


def score_lists(run) -> dict:
    Path("genuine.txt").write_text("".join(f"{5 + i % 7}\n" for i in range(40)))
    Path("impostor.txt").write_text("".join(f"{i % 9}\n" for i in range(400)))
    return run("scores", "genuine.txt", "impostor.txt")


def score_matrix(run) -> dict:
    names = [f"s{i}" for i in range(12)]
    rows = [
        f"{a}," + ",".join(str(9 if a == b else (i * 7 + j * 3) % 8) for j, b in enumerate(names))
        for i, a in enumerate(names)
    ]
    Path("m.csv").write_text("," + ",".join(names) + "\n" + "\n".join(rows) + "\n")
    return run("scores", "m.csv")


SIZES = ("--domain", "100", "--users", "50")
CASES = {
    "assessment": [lambda run: assessed(run, "--matcher", "visit"), protected, assessed, without_times, waived, converging, lambda run: assessed(run, "--no-control", "--matcher", "bayes")],
    "comparison": [compared, compared_with_another_attack, compared_over_what_the_data_show],
    "sweep": [swept],
    "release": [planned],
    "manifest": [applied],
    "attributes": [attributes],
    "guarantee": [
        lambda run: run("guarantee", "--mechanism", "rr", *SIZES, "--epsilon", "3"),
        lambda run: run("guarantee", *GLH, *SIZES, "--theta", "0.3", "--prior-max", "0.5", "--list", "3"),
        lambda run: run("guarantee", "--mechanism", "rr", *SIZES, "--theta", "1"),
        lambda run: run("guarantee", "--mechanism", "rr", *SIZES, "--theta", "0", "--reports", "5"),
    ],
    "numbers": [
        lambda run: run("guarantee", "--mechanism", "rr", "--domain", "100", "--epsilon", "3", "--group", "1:40", "--group", "4:1"),
        lambda run: run("guarantee", *GLH, "--domain", "100", "--theta", "0.3", "--group", "2:40", "--group", "4:5", "--unlinked"),
    ],
    "calibration": [
        lambda run: run("calibrate", *SIZES, "--bayes-error", "0.8"),
        lambda run: run("calibrate", *SIZES, "--bayes-error", "0.8", *GLH),
        lambda run: run("calibrate", "--domain", "2", "--users", "50", "--bayes-error", "0.9"),
        lambda run: run("calibrate", *SIZES, "--bayes-error", "0.999"),  # more than guessing: the answer is no
    ],
    "obfuscate": [obfuscated, lambda run: obfuscated(run, *GLH, "--seed", "1")],
    "parameters": [parameters, lambda run: parameters(run, *GLH)],
    "estimate": [estimated, lambda run: estimated(run, "--dictionary", "d.csv", "--out", "e.csv")],
    "scores": [score_lists, score_matrix],
    "plan": [
        lambda run: run("plan", "--users", "100M", "--events", "10G", "--items", "50M", "--executors", "200", "--matcher", "visit"),
        lambda run: run("plan", "--users", "1M", "--events-per-user", "40", "--items", "50K", "--hours", "24", "--no-control"),
    ],
}  # fmt: skip
EACH = [(name, index) for name, cases in CASES.items() for index in range(len(cases))]


MADE: dict[tuple[str, int], dict] = {}


def made(run, name: str, index: int) -> dict:
    """One of the cases, run once for all tests."""
    if (name, index) not in MADE:
        MADE[name, index] = CASES[name][index](run)
    return copy.deepcopy(MADE[name, index])


@pytest.mark.parametrize(("name", "index"), EACH)
def test_documents_keep_to_their_schema(run, name, index):
    document = made(run, name, index)
    problems = [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(document)]
    assert problems == []


STRICT = [*((name, 0) for name in CASES), ("assessment", 1), ("assessment", 4), ("comparison", 1), ("calibration", 3)]


@pytest.mark.parametrize(("name", "index"), STRICT)
def test_a_key_too_many_or_too_few_is_refused(run, name, index):
    """Strictness, key by key: each object of a real document with one key more, and without its first one."""
    document = shortened(made(run, name, index))
    check = validator(name)
    assert check.is_valid(document)
    for path, inside in list(objects(document)):
        if path in OPEN:
            continue
        kept = dict(inside)
        inside["unheard_of"] = 1
        assert not check.is_valid(document), path
        del inside["unheard_of"]
        if inside and not path.startswith("$.input"):
            del inside[next(iter(inside))]
            assert not check.is_valid(document), path
        inside |= kept


def test_named_kinds_of_parameters():
    golden = Path(__file__).parents[1] / "mechanisms" / "golden"
    for kind in ("rr", "glh", "identity", "choice"):
        document = json.loads((golden / f"{kind}.json").read_text())
        validator("parameters").validate(document)
        assert not validator("parameters").is_valid({**document, "kind": "other"})
        assert not validator("parameters").is_valid({**document, "version": 2})


def test_wrong_values_are_refused(run):
    document = made(run, "assessment", 2)
    check = validator("assessment")
    for path, value in (
        (("verdict", "decision"), "MAYBE"),
        (("verdict", "judged_risk", "high"), 1.5),
        (("guessing_error",), None),
        (("users",), 1),
        (("review", "date"), "soon"),
        (("provenance", "version"), None),
        (("attacks", 0, "exposure", "most_exposed", "people"), 0),
        (("identifying_items", "shown"), [{"item": "x", "people": 9, "share_of_events": 0.1, "bits": 0.1}]),
        (("schema",), "entropie.assessment/2"),
    ):
        wrong = copy.deepcopy(document)
        inside = wrong
        for step in path[:-1]:
            inside = inside[step]
        inside[path[-1]] = value
        assert not check.is_valid(wrong), path


def test_schemas_are_schemas_and_say_what_they_are():
    assert set(schemas.names()) >= set(CASES)
    for name in schemas.names():
        found = schemas.schema(name)
        Draft202012Validator.check_schema(found)
        assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert found["$id"] == f"urn:entropie:schema:{name}:1"
        assert found["title"]


def test_what_is_defined_twice_is_the_same():
    seen: dict[str, Any] = {}
    for name in schemas.names():
        for part, definition in schemas.schema(name).get("$defs", {}).items():
            assert seen.setdefault(part, definition) == definition, (name, part)


def test_a_schema_that_does_not_exist():
    with pytest.raises(InvalidParameter, match=r"`name` must be one of assessment, .*, got 'nothing' instead"):
        schemas.schema("nothing")
