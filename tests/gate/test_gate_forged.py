"""Plain data beside a parameter document that is not theirs never get a PASS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from adversarial import KINDS, Crowd, harmless, own_items

import entropie
from entropie.data.reports import to_columns
from entropie.mechanisms.parameters import to_document
from entropie.mechanisms.randomized_response import RandomizedResponse


def forged(events: pa.Table, folder: Path, known: str, domain: int | None = None) -> dict[str, Any]:
    """Plain events as if they were reports of nearly pure noise, with a document that says so; items as codes, drawn
    from a larger domain if wanted. Known: the events themselves, or something else about the same ids.
    """
    rng = np.random.default_rng(5)
    items = np.unique(events["item"].to_pylist(), return_inverse=True)[1].astype(np.int64)
    size = int(items.max()) + 1
    codes = rng.permutation(size) if domain is None else rng.choice(domain, size, replace=False)
    mechanism = RandomizedResponse.from_theta(domain_size=max(2, domain or size), theta=1e-4)
    (folder / "p.json").write_text(to_document(mechanism))
    columns = to_columns(mechanism, codes[items].astype(np.uint64))
    release = pa.table({"user": events["user"], **columns})
    about = codes[items] if known == "itself" else rng.permutation(codes[items])
    return {
        "events": release,
        "known": pa.table({"user": events["user"], "item": about}),
        "parameters": folder / "p.json",
        "user": "user",
    }


UNTIMED = [kind for kind in KINDS if "time" not in KINDS[kind](Crowd(24)).column_names]


@pytest.mark.parametrize(
    ("kind", "known"), [*((kind, "itself") for kind in UNTIMED), *((kind, "something else") for kind in UNTIMED[::3])]
)
def test_plain_data_beside_a_document_never_pass(kind: str, known: str, tmp_path: Path) -> None:
    """Nor with --accept-limited: what the events alone would fail for, they fail for still."""
    made = forged(KINDS[kind](Crowd()), tmp_path, known)
    found = entropie.assess(
        made.pop("events"), **made, limit=0.09, limit_name="trial", fail_on="worst", control=False, replicates=2,
        accept_limited=True,
    )  # fmt: skip
    assert found.exit_code != 0, found.verdict["headline"]
    assert not found.verdict["decision"].startswith("PASS")
    by_order = kind in (
        "rare transitions",
        "two alternating",
        "own order of three",
    )  # hardly told from noise, but by other attackers
    if not by_order or known == "itself":
        assert any(row.in_scope for row in found.attackers if row.attacker == "points")
        assert "judged, too" in found.input["known"]["notes"][0]


def test_items_of_ones_own_in_a_domain_so_large_that_nothing_comes_twice(tmp_path: Path) -> None:
    made = forged(own_items(Crowd()), tmp_path, "something else", domain=10**6)
    found = entropie.assess(
        made.pop("events"), **made, limit=0.09, limit_name="trial", fail_on="worst", control=False, replicates=2,
        matchers=["visit"], accept_limited=True,
    )  # fmt: skip
    assert found.exit_code == 1


def test_what_looks_like_noise_passes_only_where_it_is_declared_to_be_noise(tmp_path: Path) -> None:
    """Everybody at random among many items: four events name everybody, and no test tells them from noise."""
    items = np.random.default_rng(2).integers(0, 60, 240 * 20)
    plain = pa.table({"user": np.repeat(np.arange(240), 20), "item": items})
    made = forged(plain, tmp_path, "something else")
    events, judged = made.pop("events"), {
        "limit": 0.09, "limit_name": "trial", "fail_on": "average", "accept_limited": True, "matchers": ["visit"],
        "control": False, "replicates": 2,
    }  # fmt: skip
    found = entropie.assess(events, **made, **judged)
    assert (found.exit_code, found.verdict["decision"]) == (3, "INCONCLUSIVE")
    assert "plain data may look like its noise" in found.verdict["unsettled"][0]
    declared = entropie.assess(events, **made, **judged, made_by_mechanism=True)
    assert (declared.exit_code, declared.verdict["decision"]) == (0, "PASS (limited)")
    assert declared.verdict["rests_on"][0].startswith("Declared, not checked: the data are reports of the mechanism")


def test_reports_that_fit_are_judged_by_who_knows_the_mechanism(tmp_path: Path) -> None:
    events = harmless(Crowd(400, 12))
    items = np.unique(events["item"].to_pylist(), return_inverse=True)[1]
    mechanism = RandomizedResponse.from_theta(domain_size=40, theta=0.05)
    (tmp_path / "p.json").write_text(to_document(mechanism))
    columns = to_columns(mechanism, mechanism.simulate(items, np.random.default_rng(1)))
    found = entropie.assess(
        pa.table({"user": events["user"], **columns}), user="user", parameters=tmp_path / "p.json", replicates=2,
        known=pa.table({"user": events["user"], "item": items}), control=False, matchers=["visit"],
    )  # fmt: skip
    assert not any(row.in_scope for row in found.attackers if row.attacker == "points")
    assert not any("judged, too" in note for note in found.input["known"]["notes"])
    json.dumps(found.document, allow_nan=False)
