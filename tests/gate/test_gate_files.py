"""Waivers, declarations, review dates and assessments on file: what is read, and one sentence for what cannot be."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path

import pytest
from gate_documents import SHA, assessment

from entropie.assessment import SCHEMA
from entropie.errors import EntropieError, InvalidInput, InvalidParameter
from entropie.gate import documents
from entropie.gate.declared import NOTHING_DECLARED, Declared, read_declared
from entropie.gate.review import parse_date, review_date
from entropie.gate.waiver import read_waiver

WAIVER = """
reason = "pilot with ten testers"
expires = 2027-01-31
granted_by = "J. Doe"
profile = "ema"
"""
TODAY = datetime.date(2026, 11, 16)


def written(tmp_path, text):
    file = tmp_path / "file.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.mark.parametrize("day", ["2027-01-31", '"2027-01-31"'])
def test_a_waiver_is_read(tmp_path, day):
    found = read_waiver(written(tmp_path, WAIVER.replace("2027-01-31", day) + f'input_sha256 = "{SHA}"\n'))
    assert found.expires == datetime.date(2027, 1, 31)
    assert (found.reason, found.granted_by, found.profile) == ("pilot with ten testers", "J. Doe", "ema")
    assert found.input_sha256 == SHA


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (WAIVER.replace('granted_by = "J. Doe"', ""), "lacks the key `granted_by`; needed: reason, expires"),
        (WAIVER + "for = 1", "unknown key `for`; known: reason, expires, granted_by, profile, input_sha256"),
        (WAIVER.replace('"J. Doe"', '" "'), "`granted_by` must be a text that is not empty, got ' '"),
        (WAIVER.replace('"pilot with ten testers"', "7"), "`reason` must be a text that is not empty, got 7"),
        (WAIVER.replace("2027-01-31", '"soon"'), "`expires` must be a date such as 2027-01-31, got 'soon'"),
        (WAIVER.replace("2027-01-31", "2027-01-31T10:00:00"), "`expires` must be a date such as 2027-01-31"),
        (WAIVER.replace("2027-01-31", "2027"), "`expires` must be a date such as 2027-01-31, got 2027"),
        (WAIVER + 'input_sha256 = "abc"', "`input_sha256` must be 64 hexadecimal digits"),
        (WAIVER + "input_sha256 = 7", "`input_sha256` must be 64 hexadecimal digits"),
        ("reason = ", "is not TOML"),
        ("expires = 2027-02-31", "is not TOML"),
        (b"\xff\xfe", "is not a text file in UTF-8"),
    ],
)
def test_a_waiver_that_cannot_be_used(tmp_path, text, words):
    with pytest.raises(InvalidInput) as caught:
        read_waiver(written(tmp_path, text))
    assert words in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    for read in (read_waiver, read_declared, documents.read_assessment):
        with pytest.raises(InvalidInput, match="does not exist"):
            read(tmp_path / "none")
        with pytest.raises(InvalidInput, match="cannot be read; name"):
            read(tmp_path)


def test_declarations_are_read_and_options_come_first(tmp_path):
    found = read_declared(written(tmp_path, 'attacker = "a rival"\npopulation = 5000\nattempt_probability = 0.25'))
    assert found == Declared(attacker="a rival", population=5000, attempt_probability=0.25)
    assert found.updated(population=None, attempt_probability=0.5) == Declared("a rival", 5000, None, 0.5)
    assert found.to_json() == {"attacker": "a rival", "population": 5000, "context": None, "attempt_probability": 0.25}
    assert NOTHING_DECLARED.updated(attempt_probability=1.0).attempt_probability == 1.0
    with pytest.raises(InvalidParameter, match=r"must be a probability above 0 and up to 1, got 0\.0 instead"):
        NOTHING_DECLARED.updated(attempt_probability=0.0)  # zero is not nothing declared


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("people = 7", "unknown key `people`; known: attacker, population, context, attempt_probability"),
        ("population = 1", "`population` must be a whole number from 2"),
        ("population = 2.5", "`population` must be a whole number from 2"),
        ("attempt_probability = 1.5", "`attempt_probability` must be a probability above 0 and up to 1, got 1.5"),
        ("attempt_probability = 0", "`attempt_probability` must be a probability above 0 and up to 1, got 0"),
        ("attempt_probability = -0.0", "`attempt_probability` must be a probability above 0 and up to 1, got -0.0"),
        ("attempt_probability = nan", "`attempt_probability` must be a probability above 0 and up to 1, got nan"),
        ('attempt_probability = "high"', "must be a probability above 0 and up to 1, got 'high'"),
        ('attacker = ""', "`attacker` must be a text that is not empty, got ''"),
        ("context = 3", "`context` must be a text that is not empty, got 3"),
    ],
)
def test_declarations_that_cannot_be_used(tmp_path, text, words):
    with pytest.raises(EntropieError) as caught:
        read_declared(written(tmp_path, text))
    assert words in str(caught.value)


def test_a_population_contains_the_people():
    Declared(population=625).check_population(625)
    NOTHING_DECLARED.check_population(625)
    with pytest.raises(InvalidInput, match="population of 624 is smaller than the 625 people in the data"):
        Declared(population=624).check_population(625)


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        ("2026-11-16T10:30:00+00:00", "2027-11-16"),
        ("2028-02-29T10:30:00+00:00", "2029-02-28"),
        ("2026-12-31T23:30:00-02:00", "2028-01-01"),  # already the next year in UTC
        ("2026-11-16", "2027-11-16"),
        (None, "2027-11-16"),
    ],
)
def test_review_in_a_year(made, wanted):
    assert review_date(assessment(provenance={"date": made}), None, TODAY).isoformat() == wanted


@pytest.mark.parametrize(
    ("waived_until", "wanted"),
    [("2027-01-31", "2027-01-31"), ("2026-11-16", "2026-11-16"), ("2999-01-31", "2027-11-16")],
)
def test_review_no_later_than_the_waivers_end(waived_until, wanted):
    until = datetime.date.fromisoformat(waived_until)
    assert review_date(assessment(), None, TODAY, until).isoformat() == wanted
    asked = datetime.date(2027, 6, 1)
    assert review_date(assessment(), asked, TODAY, until) == asked


def test_a_review_date_asked_for():
    assert review_date(assessment(), datetime.date(2026, 12, 1), TODAY) == datetime.date(2026, 12, 1)
    with pytest.raises(InvalidInput, match="review date 2026-11-15 is before the assessment of 2026-11-16"):
        review_date(assessment(), datetime.date(2026, 11, 15), TODAY)
    with pytest.raises(InvalidInput, match="Option --review-date must be a date such as 2027-01-31, got 'soon'"):
        parse_date("--review-date", "soon")
    with pytest.raises(InvalidInput, match=r"`provenance.date` must be a date, got 'once'"):
        review_date(assessment(provenance={"date": "once"}), None, TODAY)


def test_the_schema_is_the_assessments_own():
    assert documents.SCHEMA == SCHEMA


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not whole JSON (damaged or cut off); make it anew with `entropie assess`."),
        (json.dumps(assessment())[:-20], "is not whole JSON (damaged or cut off)"),
        ('{"schema": NaN}', "holds NaN, which is not JSON; make it anew"),
        (b"\xff\xfe", "is not whole JSON"),
        ("[" * 100_000, "is not whole JSON"),
        ("[]", "must have the schema entropie.assessment/1, got None"),
        ('{"schema": "entropie.sweep/1"}', "must have the schema entropie.assessment/1, got 'entropie.sweep/1'"),
    ],
)
def test_an_assessment_that_cannot_be_read(tmp_path, text, words):
    with pytest.raises(InvalidInput) as caught:
        documents.read_assessment(written(tmp_path, text))
    assert words in str(caught.value)


def test_an_assessment_is_read(tmp_path):
    assert documents.read_assessment(written(tmp_path, json.dumps(assessment()))) == assessment()


def test_the_examples_in_the_documents(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    declared, waiver = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert None not in read_declared(written(tmp_path, declared)).to_json().values()
    found = read_waiver(written(tmp_path, waiver))
    assert f'"waived until {found.expires}"' in text
    assert found.profile == "ema"
