"""The ledger: a join of what was sent, whatever the order; its bounds against every store of small cases."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import entropie
from entropie import Budget, Ledger, LocalHashing, RandomizedResponse
from entropie.errors import EntropieError, InvalidInput, InvalidParameter
from entropie.mechanisms.erasure import Erasure
from entropie.mechanisms.hadamard import HadamardResponse
from entropie.mechanisms.mechanism import Mechanism
from entropie.schemas import schema

MECHANISMS: list[Mechanism] = [
    RandomizedResponse(domain_size=10, epsilon=1.0),
    RandomizedResponse(domain_size=10, epsilon=0.5),
    RandomizedResponse(domain_size=5000, epsilon=6.0),
    LocalHashing(domain_size=50, hash_size=4, epsilon=1.0),
    HadamardResponse(domain_size=100, epsilon=0.3),
    Erasure.from_theta(domain_size=7, theta=0.2),
]
fresh = st.tuples(st.sampled_from(MECHANISMS), st.sampled_from("abcd"), st.integers(1, 4), st.just(None))
kept = st.tuples(st.sampled_from(MECHANISMS), st.sampled_from("abcd"), st.just(1), st.sampled_from([b"1", b"2"]))
sendings = st.lists(fresh | kept, max_size=5)


def ledger_of(sent: Sequence[tuple[Mechanism, str, int, bytes | None]]) -> Ledger:
    made = Ledger()
    for mechanism, name, reports, report in sent:
        made = made.add(mechanism, name, reports) if report is None else made.add_kept(mechanism, name, report)
    return made


# --- merging --------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(sendings, sendings, sendings)
def test_merging_is_a_join(one: list, two: list, three: list) -> None:
    a, b, c = map(ledger_of, (one, two, three))
    assert a | b == b | a
    assert (a | b) | c == a | (b | c)
    assert a | a == a == a | Ledger()
    assert ledger_of([*one, *two]) == a | b  # sending and merging are the same thing
    assert (a | b).reports >= max(a.reports, b.reports)
    assert (a | b).epsilon <= a.epsilon + b.epsilon + 1e-9


@settings(max_examples=40, deadline=None)
@given(sendings)
def test_written_and_read_again(sent: list) -> None:
    ledger = ledger_of(sent)
    text = ledger.to_document()
    assert Ledger.from_document(text) == ledger
    assert Ledger.from_document(text.encode()).to_document() == text
    assert Ledger.from_document(json.dumps(json.loads(text), indent=3)).to_document() == text  # laid out differently
    assert text.isascii()
    assert " " not in text
    Draft202012Validator(schema("ledger")).validate(json.loads(text))


def test_what_counts_once_and_what_counts_twice() -> None:
    colour, other = MECHANISMS[0], MECHANISMS[1]
    assert Ledger().add(colour, "monday").add(colour, "monday").reports == 1
    assert Ledger().add(colour, "monday").add(colour, "tuesday").reports == 2
    assert Ledger().add(colour, "monday", 2).add(colour, "monday", 5).reports == 5  # a count that has grown
    assert Ledger().add(colour, "monday").add(other, "monday").reports == 2  # other parameters: another draw
    memo = Ledger().add_kept(colour, "home", b"7").add_kept(colour, "home", b"7")
    assert memo.reports == 1
    assert memo.epsilon == pytest.approx(1.0)
    assert memo.add_kept(colour, "home", b"8").reports == 2  # a new answer
    assert memo.add_kept(colour, "work", b"7").reports == 2  # the same answer to another question
    assert memo.add_kept(other, "home", b"7").reports == 2
    assert memo.add(colour, "home").reports == 2  # drawn anew counts, whatever it says
    with pytest.raises(AttributeError):
        memo.entries = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "JSON"),
        ("[]", "wrong"),
        ('{"schema":"entropie.ledger","version":2,"entries":[]}', "version"),
        ('{"schema":"entropie.ledger","version":1,"entries":[],"more":1}', "more"),
        ('{"schema":"entropie.ledger","version":1,"entries":[],"entries":[]}', "twice"),
        (
            '{"schema":"entropie.ledger","version":1,"entries":[{"id":"a","parameters":{},"reports":1}]}',
            "parameter document",
        ),
        ('{"schema":"entropie.ledger","version":1,"entries":[{"id":"","parameters":{},"reports":1}]}', "id"),
        ('{"schema":"entropie.ledger","version":1,"entries":[{"id":"a","parameters":{},"reports":0}]}', "reports"),
    ],
)
def test_damaged_documents_get_a_sentence(text: str, word: str) -> None:
    with pytest.raises(InvalidInput, match=word):
        Ledger.from_document(text)


def test_arguments() -> None:
    rr = MECHANISMS[0]
    for wrong in ("", "x" * 201, "a\nb", None, 7):
        with pytest.raises(InvalidParameter, match="id"):
            Ledger().add(rr, wrong)  # type: ignore[arg-type]
    for count in (0, -1, 1.5, math.nan, 10**19):
        with pytest.raises(InvalidParameter, match="reports"):
            Ledger().add(rr, "a", count)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="mechanism"):
        Ledger().add("rr", "a")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="report"):
        Ledger().add_kept(rr, "a", "7")  # type: ignore[arg-type]
    for limits in ({"users": 0}, {"epsilon": -1}, {"certainty": 2}, {"bayes_error": math.nan}, {"scope": "some"}):
        with pytest.raises(EntropieError):
            Budget(**{"users": 10, **limits})  # type: ignore[arg-type]


# --- what it guarantees ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.kind)
@pytest.mark.parametrize("linked", [True, False])
def test_equal_entries_have_the_mechanisms_own_values(mechanism: Mechanism, linked: bool) -> None:
    ledger = Ledger().add(mechanism, "a", 2).add(mechanism, "b").add_kept(mechanism, "c", b"x")
    found = ledger.guarantee(users=6, list_size=2, linked=linked)
    own = mechanism.guarantee(users=6, reports=4, list_size=2, linked=linked)
    assert found.all_reports == own.all_reports
    assert found.alone.alpha_bits == own.alpha_bits
    assert (found.alone.bayes_error, found.alone.list_error) == (own.bayes_error, own.list_error)
    assert found.alone.posterior_max == own.posterior_max


def matrix(k: int, epsilon: float) -> np.ndarray:
    """Randomized response, written out."""
    w = math.exp(epsilon)
    return (np.ones((k, k)) + (w - 1.0) * np.eye(k)) / (k + w - 1.0)


def leak(laws: list[np.ndarray], n: int, guesses: int, alone: bool) -> tuple[float, float, float]:
    """(success, bits, certainty) about the sender of one entry, by every order of people; `laws[u]` is u's entry."""
    if alone:
        joint = np.array(laws) / n
    else:
        joint = np.zeros((n, len(laws[0]) ** n))
        for order in itertools.permutations(range(n)):
            store = np.ones(1)
            for person in order:
                store = np.multiply.outer(store, laws[person]).ravel()
            joint[order[0]] += store / math.factorial(n)
    seen = joint.sum(axis=0)
    posterior = joint / seen
    bits = math.log2(n) + float((np.where(posterior > 0, posterior * np.log2(posterior), 0) * seen).sum())
    return float(np.sort(joint, axis=0)[-guesses:].sum()), bits, float(posterior.max())


MIXED = [
    (2, [(2, 0.5), (2, 1.5)]),
    (2, [(3, 1.0), (2, 2.0)]),
    (3, [(2, 1.0), (3, 0.7)]),
    (3, [(2, 1.0), (2, 1.0), (2, 2.0)]),
    (4, [(2, 3.0), (2, 0.2)]),
]


@pytest.mark.parametrize(("n", "kinds"), MIXED)
@pytest.mark.parametrize("alone", [True, False])
def test_no_data_tell_more_than_the_ledger_says(n: int, kinds: list[tuple[int, float]], alone: bool) -> None:
    ledger = Ledger()
    for place, (k, epsilon) in enumerate(kinds):
        ledger = ledger.add(RandomizedResponse(domain_size=k, epsilon=epsilon), str(place))
    codes = list(itertools.product(*(range(k) for k, _ in kinds)))
    matrices = [matrix(k, epsilon) for k, epsilon in kinds]
    entry = {}
    for code in codes:
        law = np.ones(1)
        for Q, x in zip(matrices, code, strict=True):
            law = np.multiply.outer(law, Q[x]).ravel()
        entry[code] = law
    for guesses in (1, 2):
        found = ledger.guarantee(users=n, list_size=guesses)
        said = found.alone if alone else found.all_reports
        most = 0.0
        if not alone and len(codes) ** n > 3000:
            codes = codes[:2] + codes[-2:]
        for data in itertools.combinations_with_replacement(codes, n):
            success, bits, certainty = leak([entry[code] for code in data], n, guesses, alone)
            assert 1 - success >= said.list_error - 1e-9
            assert bits <= said.alpha_bits + 1e-9
            assert certainty <= said.posterior_max * (1 + 1e-9)
            most = max(most, certainty)
        assert most == pytest.approx(said.posterior_max, rel=1e-9) or n > 2  # for two people it is attained


@settings(max_examples=25, deadline=None)
@given(sendings, fresh, st.sampled_from([2, 50, 10**6]), st.booleans())
def test_more_reports_never_guarantee_more(sent: list, one_more: tuple, users: int, linked: bool) -> None:
    before = ledger_of(sent)
    after = before | ledger_of([one_more])
    first, then = (one.guarantee(users=users, linked=linked) for one in (before, after))
    assert then.epsilon >= first.epsilon
    assert then.alone.posterior_max >= first.alone.posterior_max
    assert then.all_reports.posterior_max >= first.all_reports.posterior_max
    if linked:
        assert then.all_reports.bayes_error <= first.all_reports.bayes_error + 1e-9
    assert 0.0 <= then.alone.bayes_error <= 1.0 - 1.0 / users + 1e-12
    assert then.alone.alpha_bits <= math.log2(users)


@settings(max_examples=25, deadline=None)
@given(st.lists(sendings, min_size=1, max_size=3), st.sampled_from([3, 1000]))
def test_unequal_people_are_covered_by_the_largest(people: list[list], users: int) -> None:
    ledgers = [ledger_of(sent) for sent in people]
    cover = Ledger.covering(ledgers)
    assert cover == Ledger.covering(reversed(ledgers))
    for ledger in ledgers:
        assert cover.epsilon >= ledger.epsilon - 1e-9
        assert {m: r for m, r in ledger.by_mechanism if dict(cover.by_mechanism)[m] < r} == {}
        more, less = cover.guarantee(users=users), ledger.guarantee(users=users)
        assert more.all_reports.posterior_max >= less.all_reports.posterior_max - 1e-12
        assert more.all_reports.bayes_error <= less.all_reports.bayes_error + 1e-9


# --- what is left ---------------------------------------------------------------------------------------------


def test_what_is_left_of_certainty_is_the_closed_form() -> None:
    """Certainty .5 for who holds all: 2 eps <= ln(n-1); alone eps <= ln(n-1)."""
    ledger, n = Ledger().add(MECHANISMS[0], "a", 3), 10_001
    left = ledger.left(Budget(users=n, certainty=0.5, epsilon=100.0))
    assert left.epsilon_left == pytest.approx(math.log(n - 1) / 2 - 3.0, rel=1e-9)
    assert left.epsilon.left == pytest.approx(97.0)
    assert left.certainty.now == pytest.approx(1 / (1 + (n - 1) * math.exp(-6.0)), rel=1e-9)
    alone = ledger.left(Budget(users=n, certainty=0.5, scope="alone"))
    assert alone.epsilon_left == pytest.approx(math.log(n - 1) - 3.0, rel=1e-9)
    assert ledger.left(Budget(users=n)).epsilon_left is None
    assert ledger.left(Budget(users=n)).within


@pytest.mark.parametrize("mechanism", MECHANISMS[:5], ids=lambda m: f"{m.kind}-{m.epsilon:.1f}")
@pytest.mark.parametrize(
    "limits",
    [{"epsilon": 9.0}, {"certainty": 0.9}, {"bayes_error": 0.6}, {"bayes_error": 0.7, "scope": "alone"}],
    ids=str,
)
def test_reports_left_is_the_last_that_fits(mechanism: Mechanism, limits: dict) -> None:
    ledger, budget = Ledger().add(MECHANISMS[3], "before", 2), Budget(users=1000, **limits)
    left = ledger.reports_left(mechanism, budget)
    assert left is not None
    assert left > 0 or mechanism.epsilon > 5.0
    assert (ledger.add(mechanism, "then", left) if left else ledger).left(budget).within
    assert not left or ledger.allows(mechanism, budget, left)
    assert not ledger.allows(mechanism, budget, left + 1)
    assert not ledger.add(mechanism, "then", left + 1).left(budget).within


def test_nothing_is_left_or_everything() -> None:
    assert Ledger().add(MECHANISMS[5], "a").reports_left(MECHANISMS[0], Budget(users=100, epsilon=5.0)) == 0
    silent = RandomizedResponse.from_theta(domain_size=9, theta=0.0)
    assert Ledger().reports_left(silent, Budget(users=100, epsilon=5.0, certainty=0.5)) is None
    kept = Ledger().left(Budget(users=10**6, certainty=0.5, linked=False))
    assert kept.epsilon_left == pytest.approx(math.log(10**6 - 1) / 2)


def test_it_is_public() -> None:
    assert entropie.Ledger is Ledger
    given = Ledger().add(MECHANISMS[0], "a").guarantee(users=5).to_json()
    assert {"alone", "all_reports"} <= set(given)
