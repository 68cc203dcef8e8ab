from __future__ import annotations

import re
from pathlib import Path

import pytest

from entropie.errors import InvalidParameter
from entropie.gate.profiles import PROFILES, own_profile, profile_named

LIMITS = {  # as named by their sources; a group of 3, 5, 11 and 20 people, and three defaults of a program
    "custodian-033": (0.33, "maximum"),
    "custodian-020": (0.20, "maximum"),
    "ema": (0.09, "maximum"),
    "health-canada": (0.09, "maximum"),
    "public-005": (0.05, "maximum"),
    "arx-highest": (0.20, "maximum"),
    "arx-success": (0.05, "average"),
}
GROUPS = {"custodian-033": 3, "custodian-020": 5, "ema": 11, "health-canada": 11, "public-005": 20}


def test_shipped_limits():
    assert {name: (profile.limit, profile.speaks_of) for name, profile in PROFILES.items()} == LIMITS


@pytest.mark.parametrize(("name", "people"), GROUPS.items())
def test_a_limit_is_one_in_a_group(name, people):
    assert round(1.0 / people, 2) == PROFILES[name].limit


@pytest.mark.parametrize("profile", PROFILES.values(), ids=str)
def test_every_profile_says_where_it_comes_from(profile):
    assert profile_named(profile.name) is profile
    assert len(profile.source) > 20
    assert re.search(r"\w\.$", profile.note)
    assert profile_named(profile.name.upper()) is profile
    assert profile.measure == {"average": "average", "maximum": "worst"}[profile.speaks_of]


def test_a_name_that_is_not_shipped():
    with pytest.raises(
        InvalidParameter, match=r"must be one of custodian-033, .*arx-success .*`limit=`.*, got 'gdpr' instead\."
    ):
        profile_named("gdpr")


@pytest.mark.parametrize("limit", [0.0, 1.0, -0.1, 9.0, float("nan")])
def test_a_limit_is_a_share(limit):
    with pytest.raises(InvalidParameter, match="Parameter `limit` must be a share above 0 and below 1"):
        own_profile(limit, "house rule", "average")


def test_a_limit_has_a_name():
    with pytest.raises(InvalidParameter, match="`limit_name` must not be empty"):
        own_profile(0.1, "  ", "average")
    own = own_profile(0.1, " house rule ", "worst")
    assert (own.name, own.title, own.source) == ("own", "house rule", "declared by the user")
    assert own_profile(0.1, "house rule", "worst").speaks_of == "maximum"
    assert own_profile(0.1, "house rule", "average").speaks_of == "average"


def test_the_table_in_the_documents_is_this_one():
    text = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| ([\d.]+) \| (average|maximum) \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    shipped = [(p.name, f"{p.limit:.2f}", p.speaks_of, p.note, p.source) for p in PROFILES.values()]
    assert rows == shipped
