"""The most likely distribution behind reports: against a search over the simplex, and its errors against repetition."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.data.columns import TableWriter
from entropie.data.reports import to_columns
from entropie.errors import InvalidInput
from entropie.estimation.likelihood import Hashes, most_likely_shares
from entropie.mechanisms.erasure import Erasure
from entropie.mechanisms.hadamard import HadamardResponse
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.likely import most_likely
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.noise_response import NoiseResponse
from entropie.mechanisms.parameters import to_document
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mechanisms.subset_selection import SubsetSelection
from entropie.mechanisms.unary_encoding import UnaryEncoding

GRID = [np.array([a, b, 60 - a - b]) / 60 for a, b in itertools.product(range(61), repeat=2) if a + b <= 60]


def log_likelihood(mechanism: Mechanism, reports: object, shares: np.ndarray) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log(mechanism.likelihoods(reports) @ shares).sum())


@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([2, 3, 5]),
    st.floats(0.3, 6.0),
    st.integers(1, 400),
    st.sampled_from([(1.0, 0.0, 0.0), (0.6, 0.3, 0.1), (0.34, 0.33, 0.33)]),
)
def test_no_distribution_is_likelier(seed: int, hash_size: int, epsilon: float, n: int, shares: tuple) -> None:
    rng = np.random.default_rng(seed)
    mechanism = LocalHashing(domain_size=3, hash_size=hash_size, epsilon=epsilon)
    reports = mechanism.simulate(rng.choice(3, n, p=shares), rng)
    hashes = Hashes(mechanism.prime, hash_size, 3, mechanism.theta)
    found = most_likely_shares(hashes, lambda: [tuple(reports)], np.full(3, 1 / 3))
    assert found.shares.min() >= 0.0
    assert found.shares.sum() == pytest.approx(1.0)
    ours = log_likelihood(mechanism, reports, found.shares)
    best = max(log_likelihood(mechanism, reports, other) for other in GRID)
    assert ours >= best - found.gap - 1e-9
    assert found.gap <= 0.01


def test_batches_and_their_order_change_nothing() -> None:
    mechanism = LocalHashing(domain_size=50, hash_size=7, epsilon=3.0)
    reports = mechanism.simulate(np.arange(3000) % 50 // 3, np.random.default_rng(3))
    hashes, start = Hashes(mechanism.prime, 7, 50, mechanism.theta), np.full(50, 0.02)
    whole = most_likely_shares(hashes, lambda: [tuple(reports)], start)
    parts = [tuple(column[part] for column in reports) for part in (slice(2000, 3000), slice(0, 1), slice(1, 2000))]
    again = most_likely_shares(hashes, lambda: iter(parts), start)
    assert again.shares == pytest.approx(whole.shares, abs=1e-9)
    assert again.standard_errors == pytest.approx(whole.standard_errors, rel=1e-6, nan_ok=True)


@pytest.mark.parametrize(
    "mechanism",
    [RandomizedResponse(domain_size=6, epsilon=2.0), LocalHashing(domain_size=6, hash_size=4, epsilon=2.0)],
    ids=lambda one: one.kind,
)
def test_errors_are_those_of_repeated_collections(mechanism: Mechanism) -> None:
    """Away from 0. The standard deviation of 300 repetitions is known to 4 %, so that five of these are allowed; an
    error that is a quarter off would not pass.
    """
    rng, n, repetitions = np.random.default_rng(11), 2000, 300
    shares = np.array([0.3, 0.25, 0.15, 0.1, 0.1, 0.1])
    found, errors = [], []
    for _ in range(repetitions):
        reports = mechanism.simulate(rng.choice(6, n, p=shares), rng)
        likely = _likely(mechanism, reports)
        found.append(likely.shares)
        errors.append(likely.standard_errors)
    spread, stated = np.std(found, axis=0)[:3], np.nanmean(errors, axis=0)[:3]
    assert stated == pytest.approx(spread, rel=5 / np.sqrt(2 * repetitions))
    assert not np.allclose(1.25 * stated, spread, rtol=5 / np.sqrt(2 * repetitions))


def _likely(mechanism: Mechanism, reports: object):
    estimates = mechanism.estimate(reports)
    if isinstance(mechanism, RandomizedResponse):
        return most_likely(mechanism, estimates, list)
    hashes = Hashes(mechanism.prime, mechanism.hash_size, mechanism.domain_size, mechanism.theta)
    return most_likely_shares(hashes, lambda: [tuple(reports)], estimates.consistent)


def test_the_rule_takes_it_where_it_is_closer() -> None:
    """Hardly any noise, but collisions, which counts of supports do not resolve: there it wins; else it need not."""
    rng = np.random.default_rng(5)
    shares = 1.0 / np.arange(1.0, 301.0) ** 1.3
    values = rng.choice(300, 8000, p=shares / shares.sum())
    truth = np.bincount(values, minlength=300) / 8000
    mechanism = LocalHashing(domain_size=300, hash_size=20, epsilon=8.0)
    reports = mechanism.simulate(values, rng)
    estimates = mechanism.estimate(reports)
    likely = most_likely(mechanism, estimates, lambda: [reports])
    assert likely.closer
    squared = [((shares - truth) ** 2).sum() for shares in (likely.shares, estimates.consistent)]
    assert squared[0] < 0.9 * squared[1]
    assert np.isnan(likely.standard_errors[likely.shares < 1e-9]).all()


MECHANISMS = [
    HadamardResponse(domain_size=3, epsilon=2.0),
    SubsetSelection(domain_size=3, subset_size=2, epsilon=1.5),
    UnaryEncoding(domain_size=3, epsilon=2.0),
    Erasure.from_theta(domain_size=3, theta=0.6),
    NoiseResponse(noise=[0.6, 0.3, 0.1], epsilon=1.5),
    Identity(3),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda made: made.kind)
def test_no_distribution_is_likelier_by_any_mechanism(mechanism: Mechanism) -> None:
    """Against all distributions of a fine grid, by the whole law."""
    reports = mechanism.simulate([0] * 60 + [1] * 25, np.random.default_rng(3))
    found = most_likely(mechanism, mechanism.estimate(reports), lambda: [reports])
    best = max(log_likelihood(mechanism, reports, shares) for shares in GRID)
    assert found.shares.sum() == pytest.approx(1.0)
    assert (found.shares >= 0.0).all()
    assert log_likelihood(mechanism, reports, found.shares) >= best - 0.011
    used = found.shares > 0.05
    assert np.isfinite(found.standard_errors[used]).all()


@pytest.mark.parametrize("mechanism", [MECHANISMS[0], MECHANISMS[3]], ids=lambda made: made.kind)
def test_errors_of_any_mechanism_are_those_of_repeated_collections(mechanism: Mechanism) -> None:
    rng, found = np.random.default_rng(7), []
    for _ in range(150):
        reports = mechanism.simulate(rng.choice(3, 2000, p=[0.5, 0.3, 0.2]), rng)
        found.append(most_likely(mechanism, mechanism.estimate(reports), lambda sent=reports: [sent]))
    spread = np.std([one.shares for one in found], axis=0, ddof=1)
    stated = np.mean([one.standard_errors for one in found], axis=0)
    assert np.allclose(spread, stated, rtol=0.25)  # 150 repetitions know a deviation to 6 %


def test_what_it_is_not_worked_out_for() -> None:
    unary = UnaryEncoding(domain_size=1000, epsilon=1.0)
    sent = unary.simulate(np.zeros(40_000, np.uint64), np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="above 33554432 probabilities"):
        most_likely(unary, unary.estimate(sent), lambda: [sent])
    hashing = LocalHashing(domain_size=10**7, hash_size=2, epsilon=1.0)
    many = hashing.estimate(hashing.simulate(np.zeros(100, np.uint64), np.random.default_rng(0)))
    with pytest.raises(InvalidInput, match="visits"):
        most_likely(hashing, many, list)
    with pytest.raises(InvalidInput, match="no reports"):
        most_likely_shares(Hashes(11, 3, 10, 0.5), list, np.full(10, 0.1))


@pytest.fixture
def collected(tmp_path: Path) -> Path:
    mechanism = LocalHashing(domain_size=20, hash_size=5, epsilon=4.0)
    path = tmp_path / "reports.parquet"
    with TableWriter(path) as writer:
        values = np.arange(2000) % 20 // 2
        writer.write(to_columns(mechanism, mechanism.simulate(values, np.random.default_rng(1))))
    path.with_name("reports.parquet.parameters.json").write_text(to_document(mechanism))
    return path


def test_on_file(collected: Path) -> None:
    import json

    from click.testing import CliRunner

    from entropie.cli.main import cli

    ran = CliRunner().invoke(cli, ["estimate", str(collected), "--likely", "--json", "--top", "20"])
    assert ran.exit_code == 0
    document = json.loads(ran.stdout)
    assert sum(row["likely_share"] for row in document["estimates"]) == pytest.approx(1.0)
    closer = document["likely_is_closer"]
    for row in document["estimates"]:
        assert (row["consistent_share"] == row["likely_share"]) or not closer
        assert row["likely_standard_error"] is None or 0.0 < row["likely_standard_error"] < 0.2
    ran = CliRunner().invoke(cli, ["estimate", str(collected), "--likely"])
    assert "most likely" in ran.stdout
    ran = CliRunner().invoke(cli, ["estimate", str(collected), "--likely", "--item", "3"])
    assert ran.exit_code != 0
