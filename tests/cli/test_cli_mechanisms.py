"""Every mechanism that options can describe goes the whole way: guarantee, obfuscate, estimate; the rest by its document."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from entropie.mechanisms.choice import RandomChoice
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.parameters import from_document, to_document
from entropie.mechanisms.registry import MECHANISMS
from entropie.mechanisms.unary_encoding import UnaryEncoding

OPTIONS = {
    "rr": ["--epsilon", "2"],
    "glh": ["--epsilon", "2"],
    "subset": ["--epsilon", "2"],
    "unary": ["--epsilon", "2"],
    "hadamard": ["--epsilon", "2"],
    "noise": ["--epsilon", "2", "--noise", "noise.csv"],
    "erasure": ["--theta", "0.5"],
}
ITEMS = [0, 1, 1, 2, 2, 2, 5, 5, 5, 5] * 400


@pytest.fixture
def files(entropie):
    """The column of items and the noise, beside the command that uses them."""
    Path("items.csv").write_text("item\n" + "\n".join(map(str, ITEMS)) + "\n")
    Path("noise.csv").write_text("0.3,0.2,0.2,0.1,0.1,0.1\n")
    return entropie


def test_none_is_left_out():
    tunable = {kind for kind, made in MECHANISMS.items() if hasattr(made, "from_theta")}
    assert set(OPTIONS) == tunable
    assert set(MECHANISMS) - tunable == {"identity", "choice"}


@pytest.mark.parametrize("kind", OPTIONS)
def test_from_options_to_estimates(files, kind):
    """What is guaranteed is what Python says; 4,000 reports estimate the shares within five standard errors."""
    given = ["--mechanism", kind, *OPTIONS[kind], "--domain", "6"]
    text = files("guarantee", *given, "--users", "50")
    assert text.code == 0
    assert "of people can be re-identified" in text.out
    verbose = files("guarantee", *given, "--users", "50", "--verbose")
    assert "all reports leak" in verbose.out
    sent = files("obfuscate", "items.csv", "--column", "item", *given, "--out", "reports.csv", "--seed", "5", "--json")
    assert sent.code == 0, sent.err
    document = Path("reports.csv.parameters.json").read_text()
    stated = json.loads(
        files("guarantee", "--parameters", "reports.csv.parameters.json", "--users", "50", "--json").out
    )
    asked = json.loads(files("guarantee", *given, "--users", "50", "--json").out)
    assert stated == asked
    mechanism = from_document(document)
    assert stated["bayes_error"] == mechanism.guarantee(users=50).bayes_error
    found = json.loads(files("estimate", "reports.csv", "--json").out)
    shares = {row["code"]: row["share"] for row in found["estimates"]}
    true = np.bincount(ITEMS, minlength=6) / len(ITEMS)
    allowed = 5 * np.sqrt(mechanism.variance(true, len(ITEMS)))
    assert len(shares) == 6
    assert all(abs(shares[item] - true[item]) <= allowed[item] + 1e-12 for item in range(6))


def test_symmetric_unary_encoding(files):
    ran = files(
        "guarantee", "--mechanism", "unary", "--symmetric", "--epsilon", "1", "--domain", "6", "--users", "9", "--json"
    )
    rappor = UnaryEncoding(domain_size=6, epsilon=1.0, symmetric=1)
    assert json.loads(ran.out)["bayes_error"] == rappor.guarantee(users=9).bayes_error


def test_what_only_a_document_describes(files):
    """Pseudonyms alone go the whole way; a random choice is guaranteed, and refused as a table with a sentence."""
    Path("p.json").write_text(to_document(Identity(6)))
    assert files("guarantee", "--parameters", "p.json", "--users", "50").code == 0
    sent = files("obfuscate", "items.csv", "--column", "item", "--parameters", "p.json", "--out", "r.csv")
    assert sent.code == 0
    assert "nobody is protected" in sent.out
    found = json.loads(files("estimate", "r.csv", "--parameters", "p.json", "--json").out)
    assert {row["code"]: row["share"] for row in found["estimates"]}[5] == pytest.approx(0.4)
    Path("c.json").write_text(to_document(RandomChoice([Identity(6), Identity(6)], [0.5, 0.5])))
    assert files("guarantee", "--parameters", "c.json", "--users", "50").code == 0
    refused = files("obfuscate", "items.csv", "--column", "item", "--parameters", "c.json", "--out", "x.csv")
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "no table form" in refused.err
    assert not Path("x.csv").exists()


def test_without_a_mechanism_all_are_named(files):
    ran = files("guarantee", "--users", "50")
    assert ran.code == 2
    assert "Choose from: rr, glh, hadamard, subset, unary, noise, erasure;" in ran.err
