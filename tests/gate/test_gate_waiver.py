"""Waivers on file: what is read, and one sentence for what cannot be."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest
from gate_documents import SHA

from entropie.errors import InvalidInput
from entropie.gate.waiver import read_waiver

WAIVER = """
reason = "pilot with ten testers"
expires = 2027-01-31
granted_by = "J. Doe"
profile = "ema"
"""


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
        (WAIVER.replace('granted_by = "J. Doe"', ""), "missing required field `granted_by`; it needs reason, expires, granted_by, profile."),
        (WAIVER + "for = 1", "contains unknown field `for`"),
        (WAIVER.replace('"J. Doe"', '" "'), "is wrong at `granted_by`: expected `str` matching regex"),
        (WAIVER.replace('"pilot with ten testers"', "7"), "is wrong at `reason`: expected `str`, got `int`"),
        (WAIVER.replace("2027-01-31", '"soon"'), "is wrong at `expires`: invalid RFC3339 encoded date"),
        (WAIVER.replace("2027-01-31", "2027-01-31T10:00:00"), "is wrong at `expires`: expected `date`, got `datetime`"),
        (WAIVER.replace("2027-01-31", "2027"), "is wrong at `expires`: expected `date`, got `int`"),
        (WAIVER + 'input_sha256 = "abc"', "is wrong at `input_sha256`: expected `str` matching regex"),
        (WAIVER + "input_sha256 = 7", "is wrong at `input_sha256`: expected `str | null`, got `int`"),
        ("reason = ", "is not TOML"),
        ("expires = 2027-02-31", "is not TOML"),
        (b"\xff\xfe", "is not a text file in UTF-8"),
    ],
)  # fmt: skip
def test_a_waiver_that_cannot_be_used(tmp_path, text, words):
    with pytest.raises(InvalidInput) as caught:
        read_waiver(written(tmp_path, text))
    assert words in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InvalidInput, match="does not exist; check the name"):
        read_waiver(tmp_path / "none")
    with pytest.raises(InvalidInput, match="cannot be read; name a file"):
        read_waiver(tmp_path)


def test_the_example_in_the_documents(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    (waiver,) = re.findall(r"```toml\n(reason.*?)```", text, re.DOTALL)
    found = read_waiver(written(tmp_path, waiver))
    assert found.profile == "ema"
    assert f"waived until {found.expires}" in text
