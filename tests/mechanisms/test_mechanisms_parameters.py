"""The parameter document: its bytes and its id as golden files, and everything it refuses.

`golden/ids.sha256` is in the format of `sha256sum -c`: the ids can be checked without this package.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.errors import EntropieError, InvalidInput, InvalidParameter
from entropie.mechanisms.choice import RandomChoice
from entropie.mechanisms.hashing import LARGE_PRIME
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.parameters import from_document, parameters_id, to_document
from entropie.mechanisms.randomized_response import RandomizedResponse

GOLDEN = Path(__file__).parent / "golden"
IDS = {name: digest for digest, name in (line.split() for line in (GOLDEN / "ids.sha256").read_text().splitlines())}
MECHANISMS: dict[str, Any] = {
    "rr.json": RandomizedResponse.from_theta(domain_size=1000, theta=Fraction(1, 10)),
    "glh.json": LocalHashing.from_theta(domain_size=10_500_393, hash_size=10**11, theta=0.5, prime=LARGE_PRIME),
    "identity.json": Identity(10**18),
    "choice.json": RandomChoice(
        [
            RandomizedResponse.from_theta(domain_size=5, theta=1.0),
            LocalHashing.from_theta(domain_size=5, hash_size=2, theta=0.0, prime=7),
            Identity(5),
        ],
        [0.25, 0.5, 0.25],
    ),
}


def fields_of(name: str) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((GOLDEN / name).read_text())
    return fields


def refused(document: str) -> str:
    """The sentence with which a document is refused."""
    with pytest.raises((InvalidInput, InvalidParameter)) as caught:
        from_document(document)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("name", MECHANISMS)
def test_golden_documents(name: str) -> None:
    document = (GOLDEN / name).read_bytes()
    assert to_document(MECHANISMS[name]).encode("ascii") == document
    assert hashlib.sha256(document).hexdigest() == IDS[name]
    assert parameters_id(MECHANISMS[name]) == IDS[name]
    assert from_document(document.decode("ascii")) == MECHANISMS[name]


@pytest.mark.parametrize("name", MECHANISMS)
def test_layout_does_not_matter_but_the_id_stays(name: str) -> None:
    fields = fields_of(name)
    backwards = dict(sorted(fields.items(), reverse=True))
    mechanism = from_document("\n" + json.dumps(backwards, indent=4) + "\n")
    assert mechanism == MECHANISMS[name]
    assert parameters_id(mechanism) == IDS[name]


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.integers(2, 10**18), st.integers(0, 2**64), st.integers(2, 10**9), st.booleans())
def test_round_trip(domain_size: int, numerator: int, hash_size: int, large: bool) -> None:
    theta = Fraction(numerator, 2**64)
    response = RandomizedResponse.from_theta(domain_size=domain_size, theta=theta)
    prime = LARGE_PRIME if large else None
    hashing = LocalHashing.from_theta(domain_size=domain_size, hash_size=hash_size, theta=theta, prime=prime)
    choice = RandomChoice([response, hashing, Identity(domain_size)], [Fraction(1, 3)] * 3)
    for mechanism in (response, hashing, Identity(domain_size), choice):
        again = from_document(to_document(mechanism))
        assert again == mechanism
        assert type(again) is type(mechanism)
        assert parameters_id(again) == parameters_id(mechanism)


def test_other_parameters_have_another_id() -> None:
    base = {"domain_size": 1000, "hash_size": 16, "theta": 0.5}
    ids = {
        parameters_id(LocalHashing.from_theta(**{**base, **change}))  # type: ignore[arg-type]
        for change in (
            {},
            {"domain_size": 1001},
            {"hash_size": 17},
            {"theta": Fraction(2**63 + 1, 2**64)},
            {"prime": LARGE_PRIME},
        )
    }
    assert len(ids) == 5


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_field_is_needed(name: str) -> None:
    for field in fields_of(name):
        rest = fields_of(name)
        del rest[field]
        sentence = refused(json.dumps(rest))
        assert field in sentence


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(
    "field", ["theta", "epsilon", "collision_probability", "mu", "nu", "gain", "comment", "Domain_size", "seed", ""]
)
def test_unknown_fields_are_refused(name: str, field: str) -> None:
    """Derived values above all: they are recomputed, never read, so a document must not seem to set them."""
    assert f"`{field}`" in refused(json.dumps({**fields_of(name), field: "1"}))


def test_unknown_fields_inside_a_part_are_refused() -> None:
    for extra in ({"epsilon": "1"}, {"schema": "entropie.parameters"}, {"version": 1}):
        fields = fields_of("choice.json")
        fields["parts"][0].update(extra)
        assert next(iter(extra)) in refused(json.dumps(fields))


@pytest.mark.parametrize("name", MECHANISMS)
def test_repeated_fields_are_refused(name: str) -> None:
    """Also with the same value: JSON readers disagree on which one counts."""
    for field, value in fields_of(name).items():
        repeated = (GOLDEN / name).read_text()[:-1] + f",{json.dumps(field)}:{json.dumps(value)}}}"
        assert "twice" in refused(repeated)
    nested = (
        (GOLDEN / "choice.json").read_text().replace('{"domain_size":"5",', '{"domain_size":"6","domain_size":"5",', 1)
    )
    assert "twice" in refused(nested)


@pytest.mark.parametrize("version", [0, 2, -1, "1", 1.0, 1.5, True, None, [1], {"major": 1}])
def test_other_versions_are_refused(version: object) -> None:
    assert "version" in refused(json.dumps({**fields_of("rr.json"), "version": version}))


@pytest.mark.parametrize(
    "schema", ["", "entropie", "entropie.parameters.v1", "Entropie.parameters", 1, None, ["entropie.parameters"]]
)
def test_other_schemas_are_refused(schema: object) -> None:
    assert "schema" in refused(json.dumps({**fields_of("rr.json"), "schema": schema}))


@pytest.mark.parametrize("kind", ["", "RR", "olh", 1, None, ["rr"], {"rr": 1}])
def test_other_kinds_are_refused(kind: object) -> None:
    assert "kind" in refused(json.dumps({**fields_of("rr.json"), "kind": kind}))


NOT_WHOLE_NUMBERS = [
    1000, 1000.0, 1e3, True, None, ["1000"], {"value": "1000"},  # not a string
    "", " ", " 1000", "1000 ", "1000\n", "01000", "00", "+1000", "-1000", "1_000", "1,000", "1000.0", "1e3", "0x3e8",
    "\u0661\u0660\u0660\u0660", "\uff11\uff10\uff10\uff10", "1000\u0000", "nan", "inf", "9" * 40, "9" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("value", NOT_WHOLE_NUMBERS, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("name", ["rr.json", "glh.json", "identity.json"])
def test_numbers_are_plain_decimal_strings(name: str, value: object) -> None:
    for field in fields_of(name).keys() - {"kind", "schema", "version"}:
        assert f"`{field}`" in refused(json.dumps({**fields_of(name), field: value}))


@pytest.mark.parametrize("value", NOT_WHOLE_NUMBERS, ids=lambda value: repr(value)[:12])
def test_weights_are_plain_decimal_strings(value: object) -> None:
    fields = fields_of("choice.json")
    assert "weight_numerators" in refused(json.dumps({**fields, "weight_numerators": [value, *["0"] * 2]}))


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("rr.json", {"theta_numerator": str(2**64 + 1)}, "theta_numerator"),
        ("glh.json", {"theta_numerator": str(2**64 + 1)}, "theta_numerator"),
        ("rr.json", {"domain_size": "0"}, "domain_size"),
        ("rr.json", {"domain_size": "1"}, "domain_size"),
        ("rr.json", {"domain_size": str(10**18 + 1)}, "domain_size"),
        ("identity.json", {"domain_size": "1"}, "domain_size"),
        ("glh.json", {"domain_size": "1"}, "domain_size"),
        ("glh.json", {"hash_size": "1"}, "hash_size"),
        ("glh.json", {"hash_size": str(10**18 + 1)}, "hash_size"),
        ("glh.json", {"prime": "2305843009213693953"}, "prime"),  # odd, but 3 divides it
        ("glh.json", {"prime": "3215031751", "hash_size": "5"}, "prime"),  # a strong pseudoprime to 2, 3, 5 and 7
        ("glh.json", {"prime": "0"}, "prime"),
        ("glh.json", {"prime": "1"}, "prime"),
        ("glh.json", {"prime": "10500379", "hash_size": "16"}, "prime"),  # a prime, but below the domain
        ("glh.json", {"prime": "10500421"}, "prime"),  # holds the domain, not the hash values
        ("glh.json", {"prime": str(2**62 + 135)}, "prime"),  # beyond what the arithmetic holds
        ("choice.json", {"weight_numerators": ["1", "1", "1"]}, "weight_numerators"),
        ("choice.json", {"weight_numerators": [str(2**64), "0"]}, "weight_numerators"),
        ("choice.json", {"weight_numerators": str(2**64)}, "weight_numerators"),
        ("choice.json", {"parts": [], "weight_numerators": []}, "parts"),
        ("choice.json", {"parts": {}}, "parts"),
        ("choice.json", {"parts": None}, "parts"),
        ("choice.json", {"parts": ["rr", "rr", "rr"]}, "kind"),
        ("choice.json", {"parts": [None, None, None]}, "kind"),
    ],
)
def test_numbers_that_break_a_rule_are_refused(name: str, change: dict[str, Any], says: str) -> None:
    assert says in refused(json.dumps({**fields_of(name), **change}))


def test_parts_over_different_domains_and_choices_of_choices_are_refused() -> None:
    fields = fields_of("choice.json")
    fields["parts"][2]["domain_size"] = "6"
    assert "domain" in refused(json.dumps(fields))
    inner = {k: v for k, v in fields_of("choice.json").items() if k not in ("schema", "version")}
    outer = {**fields_of("choice.json"), "parts": [inner], "weight_numerators": [str(2**64)]}
    assert "choices" in refused(json.dumps(outer))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "}",
        "[]",
        "null",
        "1",
        '"rr"',
        "NaN",
        "{}",
        "{'kind': 'rr'}",
        "\ufeff{}",
        "not json",
        "{}{}",
        "\x00",
    ],
)
def test_what_is_no_document_is_refused(text: str) -> None:
    refused(text)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 100_000, '{"version":' + "1" * 5000 + "}", '{"version":' + "1" * 5000 + ".0}"],
    ids=["deep list", "deep object", "long integer", "long number"],
)
def test_text_made_to_break_a_reader_is_refused_with_a_sentence_too(text: str) -> None:
    refused(text)


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_truncation_is_refused(name: str) -> None:
    document = (GOLDEN / name).read_text()
    for end in range(len(document)):
        with pytest.raises(EntropieError):
            from_document(document[:end])


def test_derived_values_are_recomputed() -> None:
    """Two documents that differ in T alone differ in theta, epsilon and rates: nothing else can set those."""
    low, high = ({**fields_of("rr.json"), "theta_numerator": str(t)} for t in (2**62, 2**63))
    first, second = from_document(json.dumps(low)), from_document(json.dumps(high))
    assert (first.theta, second.theta) == (0.25, 0.5)
    assert first.epsilon < second.epsilon
    assert first.rates.gain == pytest.approx(0.25)
    assert second.rates.gain == pytest.approx(0.5)
