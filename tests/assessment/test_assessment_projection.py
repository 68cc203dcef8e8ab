from __future__ import annotations

import numpy as np
import pytest
from assessment_tables import people_with_habits

import entropie
from entropie.measures.projection import Projection, project


@pytest.fixture(scope="module")
def assessed() -> entropie.Assessment:
    return entropie.assess(
        people_with_habits(3, 60, events=(10, 12)), matchers=["visit"], population=240, control=False
    )


def test_the_population_declared_has_a_number_of_its_own(assessed: entropie.Assessment) -> None:
    found = assessed.projection
    assert isinstance(found, Projection)
    assert found.reidentified is not None
    rows = [row for row in assessed.attackers if row.in_scope]
    strongest = max(row.reidentified.value for row in rows)
    assert found.fit is not None
    mine = [row for row in rows if (row.attacker, row.knows) == (found.attacker, found.knows)]
    assert any(row.reidentified.value == pytest.approx(found.fit.half_sample_found) for row in mine)
    assert 0.0 < found.reidentified.value <= strongest
    made = [project(row.ranks, 240, np.random.default_rng([0, 240])) for row in rows if row.ranks is not None]
    assert found.reidentified.high == max(one.reidentified.high for one in made if one.reidentified is not None)
    assert assessed.document["projection"] == found.to_json()
    assert assessed.document["projection"]["judged"] is False


def test_without_a_population_nothing_is_projected() -> None:
    assert (
        entropie.assess(people_with_habits(3, 30, events=(10, 12)), matchers=["visit"], control=False).projection
        is None
    )
