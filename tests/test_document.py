"""The document of an assessment: typed, read and written in one place, and its schema made from the types."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from real_documents import real

from entropie import document
from entropie.errors import InvalidInput
from entropie.schemas import schema

MATCHER = ("--matcher", "visit", "--matcher", "bayes")


def changed(path: str, value: Any) -> dict[str, Any]:
    """A real document with another value at a path."""
    found = real(*MATCHER)
    inside: Any = found
    *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
    for step in steps:
        inside = inside[step]
    if value is KeyError:
        del inside[last]
    else:
        inside[last] = value
    return found


def test_a_real_document_by_name():
    plain = real(*MATCHER)
    found = document.typed(plain)
    assert found.headline.risk.value == 1.0 - plain["headline"]["identification_error"]["value"]
    assert found.best.matcher == plain["attacks"][plain["strongest"]]["matcher"]
    assert found.best.exposure.groups[0].begins == plain["attacks"][plain["strongest"]]["exposure"]["groups"][0]["from"]
    assert found.input.min_events == plain["input"]["min_events"]


def test_written_and_read_again(tmp_path):
    file = tmp_path / "assessment.json"
    file.write_text(document.text_of(real(*MATCHER)))
    assert document.read(file) == json.loads(file.read_text()) == real(*MATCHER)


def test_nothing_wrong_is_written():
    for path, value in (("users", "many"), ("pie_bits", float("nan"))):
        with pytest.raises(InvalidInput):
            document.text_of(changed(path, value))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("users", 1, "The document is wrong at `users`: expected `int` >= 2; make it anew with `entropie assess`."),
        ("users", KeyError, "The document is wrong: object missing required field `users`; "),
        ("attacks.0.top_k.0.low", None, "wrong at `attacks[0].top_k[0].low`: expected `float`, got `null`"),
        ("headline.most_exposed", KeyError, "wrong at `headline`: object missing required field `most_exposed`"),
        ("headline.most_exposed.right", {"value": 0.1, "low": 0.2, "high": 0.1}, "wrong at `headline.most_exposed.right`: the ends of an interval are the wrong way round"),
        ("headline.unheard_of", 1, "wrong at `headline`: object contains unknown field `unheard_of`"),
        ("strongest", 2, "`strongest` is 2, and there is no such attack"),
        ("strongest", -1, "wrong at `strongest`: expected `int` >= 0"),
        ("attacks", [], "wrong at `attacks`: expected `array` of length >= 1"),
        ("provenance.date", "once", "wrong at `provenance.date`: invalid RFC3339"),
        ("schema", "entropie.sweep/1", "must have the schema entropie.assessment/1, got 'entropie.sweep/1' instead"),
    ],
)  # fmt: skip
def test_what_is_wrong_and_where(path, value, words):
    with pytest.raises(InvalidInput) as caught:
        document.typed(changed(path, value))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not whole JSON (damaged or cut off); make it anew with `entropie assess`."),
        ('{"schema": "entropie.assessment/1", "users"', "is not whole JSON (damaged or cut off)"),
        ('{"schema": NaN}', "is not whole JSON"),
        (b"\xff\xfe", "is not JSON"),
        ("user,item\n1,2\n", "is not JSON; make it anew with `entropie assess`."),
        ("[" * 100_000, "is not whole JSON"),
        ("[]", "must have the schema entropie.assessment/1, got None instead"),
        ('{"schema": "entropie.sweep/1"}', "must have the schema entropie.assessment/1, got 'entropie.sweep/1'"),
        ('{"schema": "entropie.assessment/1"}', "is wrong: object missing required field `input`"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path, text, words):
    file = tmp_path / "a.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidInput) as caught:
        document.read(file)
    assert str(caught.value).startswith(f"Assessment {file} ")
    assert words in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InvalidInput, match="does not exist; make one with `entropie assess`"):
        document.read(tmp_path / "none")
    with pytest.raises(InvalidInput, match=r"holds no assessment\.json; make one with"):
        document.read(tmp_path)


def trimmed(value: Any) -> Any:
    """The same with lists of one element, so that less is checked again and again."""
    if isinstance(value, dict):
        return {name: trimmed(inner) for name, inner in value.items()} | (
            {"strongest": 0} if "strongest" in value else {"edges": value["edges"][:2]} if "edges" in value else {}
        )
    if isinstance(value, list):
        return [trimmed(inner) for inner in (value if len(value) == 2 else value[:1])]
    return value


def walk(value: Any, path: tuple[str | int, ...] = ()):
    yield path, value
    children = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, inner in children:
        yield from walk(inner, (*path, name))


def test_types_and_schema_refuse_the_same():
    """Every value of a real document replaced by one of another kind, both ways of checking asked."""
    plain = trimmed(real(*MATCHER, "--profile", "ema"))
    check = Draft202012Validator(schema("assessment"))
    assert check.is_valid(plain)
    for path, value in list(walk(plain))[1:]:
        for other in ([], "text", -7.5):
            wrong = copy.deepcopy(plain)
            inside: Any = wrong
            for step in path[:-1]:
                inside = inside[step]
            inside[path[-1]] = other
            try:
                document.typed(wrong)
                accepted = True
            except InvalidInput:
                accepted = False
            # formats, such as of dates, and lengths that must agree are no part of a schema's verdict
            if path[-2:-1] == ("laws",) and other == []:
                assert not accepted
                continue
            assert accepted == check.is_valid(wrong) or (value != other and "date" in path) or "expires" in path, path


def test_it_loads_no_attack():
    """Reading a document is quick: neither numpy nor a kernel is needed."""
    import subprocess
    import sys

    code = (
        "import entropie.document, sys; print([m for m in ('numpy', 'numba', 'duckdb', 'pyarrow') if m in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )
    assert shown.stdout.strip() == "[]"
