"""Data whose answers are known in closed form: the whole way from a table to error, bits and rates."""

from __future__ import annotations

import math
from collections.abc import Hashable

import pytest
from assessment_tables import ALL_MATCHERS, table_of

import entropie

EXACT = 1e-12  # sums of at most a few hundred credits


def assess(traces, **options):
    return entropie.assess(table_of(traces), replicates=20, **{"control": False, **options})


def bits_tolerance(genuine: list[int], impostors: list[int]) -> float:
    """How far the chance-corrected estimate may be from the plain divergence of cells with these counts.

    It takes psi0(N) for ln N and psi0(M + 1) for ln M; 0 < ln N - psi0(N) < 1/N and 0 < psi0(M + 1) - ln M < 1/(2M).
    """
    n, m = sum(genuine), sum(impostors)
    nats = (len(genuine) + 1) / n + sum(g / n / (2 * i) for g, i in zip(genuine, impostors, strict=True)) + 1 / (2 * m)
    return nats / math.log(2)


def frr_at(attack, far: float) -> float | None:
    return next(rate.frr for rate in attack.measures.frr_at_far if rate.far == far)


@pytest.mark.parametrize("users", [2, 50])
def test_everybody_has_an_item_of_her_own(users):
    found = assess([[f"only {user}"] * 12 for user in range(users)])
    impostors = users * (users - 1)
    assert found.pie_bits == pytest.approx(math.log2(users), abs=1e-12)
    assert [attack.matcher for attack in found.attacks] == list(ALL_MATCHERS)
    for attack in found.attacks:
        measures = attack.measures
        assert attack.error == 0.0, attack.matcher
        assert measures.equal_error_rate.value == 0.0
        assert measures.lift == pytest.approx(users)
        assert all(guess.error == 0.0 for guess in measures.top_k)
        # No impostor reaches a genuine score: it is taken to have the probability 3/m that none in m does not refute.
        unseen = min(1.0, 3 / impostors)
        assert measures.pse_bits.unmatched_genuine_share == 1.0
        assert measures.pse_bits.value == pytest.approx(-math.log2(unseen), abs=1e-9)
        finite = -math.log2((users - 1) / users * unseen + 1 / users)
        assert measures.pse_finite_bits.value == pytest.approx(finite, abs=1e-9)
        assert measures.pse_finite_bits.value <= math.log2(users)


@pytest.mark.parametrize(("users", "groups"), [(60, 10), (64, 2), (90, 30)])
def test_groups_of_people_nobody_can_tell_apart(users, groups):
    size = users // groups
    alike: list[list[Hashable]] = [[f"{user % groups} {step % 3}" for step in range(14)] for user in range(users)]
    found = assess(alike)
    assert found.pie_bits == pytest.approx(math.log2(groups), abs=1e-12)
    tolerance = bits_tolerance([users], [users * (size - 1)])
    for attack in found.attacks:
        measures = attack.measures
        assert attack.error == pytest.approx(1 - groups / users, abs=EXACT), attack.matcher
        for guess in measures.top_k:
            assert guess.error == pytest.approx(1 - min(1, guess.k / size), abs=EXACT)
        assert measures.pse_bits.unmatched_genuine_share == 0.0
        assert measures.pse_bits.value == pytest.approx(math.log2((users - 1) / (size - 1)), abs=tolerance)
        # (n-1)/(n L) + 1/n with L = (n-1)/(s-1) is s/n: here the lower bound is the truth, log2 of the groups.
        assert measures.pse_finite_bits.value == pytest.approx(math.log2(groups), abs=tolerance)
        together = (size - 1) / (users - 1)
        assert measures.equal_error_rate.value == pytest.approx(together / 2, abs=EXACT)
        assert (measures.equal_error_rate.far, measures.equal_error_rate.frr) == (
            pytest.approx(together, abs=EXACT),
            0.0,
        )
        assert frr_at(attack, 1e-2) == (0.0 if together <= 1e-2 else 1.0)
        assert measures.det == [[pytest.approx(together, abs=EXACT), 0.0], [0.0, 1.0]]


def test_everybody_is_the_same():
    found = assess([["home", "work", "home", "shop"] * 3] * 40, control=True)
    assert found.pie_bits == pytest.approx(0.0, abs=1e-12)
    for attack in found.attacks:
        for measures in (attack.measures, attack.null):
            assert measures.identification_error.value == pytest.approx(1 - 1 / 40, abs=EXACT), attack.matcher
            assert measures.pse_bits.value == pytest.approx(0.0, abs=1e-12)
            assert measures.pse_finite_bits.value == pytest.approx(0.0, abs=1e-12)
            assert measures.equal_error_rate.value == pytest.approx(0.5, abs=EXACT)
            assert measures.lift == pytest.approx(1.0)


def test_no_item_comes_twice():
    found = assess([[f"{user} {event}" for event in range(12)] for user in range(40)], control=True)
    assert found.pie_bits == pytest.approx(math.log2(40), abs=1e-12)  # one event would tell, had it been seen before
    for attack in found.attacks:
        for measures in (attack.measures, attack.null):
            assert measures.identification_error.value == pytest.approx(1 - 1 / 40, abs=EXACT), attack.matcher
            assert measures.pse_bits.value == pytest.approx(0.0, abs=1e-12)


def test_half_of_the_events_are_common():
    users = 64
    found = assess([["station", f"home {user}"] * 8 for user in range(users)])
    assert found.pie_bits == pytest.approx(0.5 * math.log2(users), abs=1e-12)
    assert {attack.matcher: attack.error for attack in found.attacks} == dict.fromkeys(ALL_MATCHERS, 0.0)


def test_some_are_unique_and_the_rest_alike():
    users, unique = 50, 20
    found = assess([[f"only {user}" if user < unique else "everyone"] * 10 for user in range(users)])
    shares = [1 / users] * unique + [1 - unique / users]
    assert found.pie_bits == pytest.approx(-sum(p * math.log2(p) for p in shares), abs=1e-12)
    for attack in found.attacks:
        assert attack.error == pytest.approx(1 - (unique + 1) / users, abs=EXACT), attack.matcher


@pytest.mark.parametrize("kept", [0.25, 0.5])
def test_some_keep_their_habit_and_some_drop_it(kept):
    """A law of two atoms: genuine mass a where the share a(s-1)/(n-1) of impostors is, the rest at no evidence."""
    groups, size = 8, 20
    users, keepers = groups * size, int(kept * size)
    found = assess(
        [
            [f"habit {group}"] * 8 + [f"habit {group}" if member < keepers else f"new {group} {member}"] * 8
            for group in range(groups)
            for member in range(size)
        ]
    )
    high = kept * (size - 1) / (users - 1)
    divergence = kept * math.log2(kept / high) + (1 - kept) * math.log2((1 - kept) / (1 - high))
    total = users * (users - 1)
    genuine = [groups * keepers, groups * (size - keepers)]
    tolerance = bits_tolerance(genuine, [round(high * total), round((1 - high) * total)])
    assert tolerance < 0.05 < divergence
    ratios = (kept / high, (1 - kept) / (1 - high))
    finite = -sum(
        share * math.log2((users - 1) / (users * ratio) + 1 / users)
        for share, ratio in zip((kept, 1 - kept), ratios, strict=True)
    )
    for attack in found.attacks:
        measures = attack.measures
        error = 1 - (kept * groups + (1 - kept)) / users
        assert attack.error == pytest.approx(error, abs=EXACT), attack.matcher
        assert measures.pse_bits.value == pytest.approx(divergence, abs=tolerance), attack.matcher
        assert measures.pse_finite_bits.value == pytest.approx(finite, abs=tolerance), attack.matcher
        assert measures.pse_bits.unmatched_genuine_share == 0.0
        assert measures.equal_error_rate.value == pytest.approx((high + 1 - kept) / 2, abs=EXACT), attack.matcher


def test_the_order_of_events_decides_what_is_learned():
    """Without times the rows are in order: the first half teaches, whatever the second half holds."""
    swap = [["a" if user else "b"] * 5 + ["b" if user else "a"] * 5 for user in (0, 1)]
    found = entropie.assess(table_of(swap, times=False), replicates=20, control=False)
    assert found.input["order_only"] is True
    assert {attack.error for attack in found.attacks} == {1.0}  # each is taken for the other
