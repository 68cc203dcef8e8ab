"""What runs on a device: the exact law of every report, the randomness of the operating system, and nothing else.

The laws are not sampled. The mechanism is run once for every possible outcome of its draws; a 64-bit word stands for
the interval between two thresholds in which it lies, and both ends of each interval are tried.
"""

from __future__ import annotations

import os
import random
import secrets
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from entropie.mechanisms.choice import RandomChoice
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mechanisms.randomness import SimulationSource, SystemSource

ONE = 2**64
Law = dict[Hashable, Fraction]


class Draws:
    """All outcomes of a randomised function: every run follows one path through the tree of its draws."""

    def __init__(self, thresholds: Iterable[int]) -> None:
        cuts = sorted({0, ONE, *thresholds})
        self.words = [
            (word, Fraction(last - first, 2 * ONE))
            for first, last in pairwise(cuts)
            for word in (first, last - 1)  # the two ends, half the interval's probability each
        ]
        self.waiting: list[list[int]] = [[]]
        self.path: list[int] = []
        self.depth = 0
        self.probability = Fraction(1)

    def law(self, run: Callable[[], Hashable]) -> Law:
        law: defaultdict[Hashable, Fraction] = defaultdict(Fraction)
        while self.waiting:
            self.path, self.depth, self.probability = self.waiting.pop(), 0, Fraction(1)
            outcome = run()
            law[outcome] += self.probability
        return {outcome: mass for outcome, mass in law.items() if mass}

    def branch(self, ways: int) -> int:
        if self.depth == len(self.path):
            self.waiting += [[*self.path, way] for way in range(1, ways)]
            self.path.append(0)
        self.depth += 1
        return self.path[self.depth - 1]

    def below(self, bound: int) -> int:
        self.probability /= bound
        return self.branch(bound)

    def bits(self, count: int) -> int:
        assert count == 64
        word, mass = self.words[self.branch(len(self.words))]
        self.probability *= mass
        return word


def plain(report: Any) -> Hashable:
    """A report as nested tuples of Python integers."""
    if isinstance(report, np.ndarray):
        return tuple(int(v) for v in report)
    return tuple(plain(part) for part in report) if isinstance(report, tuple) else int(report)


def thresholds(mechanism: Any) -> list[int]:
    if isinstance(mechanism, RandomChoice):
        sums = [sum(mechanism.weight_numerators[:i]) for i in range(1, len(mechanism.parts))]
        return sums + [t for part in mechanism.parts for t in thresholds(part)]
    return [] if isinstance(mechanism, Identity) else [mechanism.theta_numerator]


def law_on_device(monkeypatch: pytest.MonkeyPatch, mechanism: Any, value: int) -> Law:
    draws = Draws(thresholds(mechanism))
    monkeypatch.setattr(secrets, "randbelow", draws.below)
    monkeypatch.setattr(secrets, "randbits", draws.bits)
    return draws.law(lambda: plain(mechanism.obfuscate(value)))


def law_in_bulk(monkeypatch: pytest.MonkeyPatch, source: type, mechanism: Any, value: int) -> Law:
    draws = Draws(thresholds(mechanism))
    monkeypatch.setattr(source, "below", lambda _, n, size: np.array([draws.below(n) for _ in range(size)], np.uint64))
    monkeypatch.setattr(source, "words", lambda _, size: np.array([draws.bits(64) for _ in range(size)], np.uint64))
    if source is SystemSource:
        return draws.law(lambda: plain(mechanism.obfuscate_many([value])))
    return draws.law(lambda: plain(mechanism.simulate([value], np.random.default_rng(0))))


def stated_law(mechanism: Any, value: int) -> Law:
    """The law of one report from its definition: theta on the truth, 1 - theta spread over all answers."""
    if isinstance(mechanism, Identity):
        return {value: Fraction(1)}
    if isinstance(mechanism, RandomChoice):
        return {
            (i, report): Fraction(numerator, ONE) * mass
            for i, (part, numerator) in enumerate(zip(mechanism.parts, mechanism.weight_numerators, strict=True))
            for report, mass in stated_law(part, value).items()
            if numerator
        }
    theta = Fraction(mechanism.theta_numerator, ONE)
    if isinstance(mechanism, RandomizedResponse):
        size = mechanism.domain_size
        law = {y: (1 - theta) / size + theta * (y == value) for y in range(size)}
    else:
        prime, size = mechanism.family.prime, mechanism.hash_size
        law = {
            (a, b, y): ((1 - theta) / size + theta * ((a * value + b) % prime % size == y)) / (prime * (prime - 1))
            for a in range(1, prime)
            for b in range(prime)
            for y in range(size)
        }
    return {report: mass for report, mass in law.items() if mass}


def chosen_of_bulk(law: Law, parts: int) -> Law:
    """Bulk reports of a choice are ((choice,), (reports of part 0, ...)): bring one report to (choice, report)."""
    single: Law = {}
    for outcome, mass in law.items():
        (choice,), columns = outcome  # type: ignore[misc]
        assert len(columns) == parts
        report = columns[choice]
        single[choice, first(report)] = mass
        empty = [column for i, column in enumerate(columns) if i != choice]
        assert all(column in ((), ((), (), ())) for column in empty)
    return single


def first(column: Any) -> Hashable:
    """The one report in a column, or in three columns."""
    return tuple(c[0] for c in column) if isinstance(column[0], tuple) else column[0]


PLAIN = {
    "rr": RandomizedResponse(domain_size=4, epsilon=1.5),
    "rr-two": RandomizedResponse(domain_size=2, epsilon=0.3),
    "rr-one-word": RandomizedResponse.from_theta(domain_size=3, theta=Fraction(1, ONE)),
    "rr-all-but-one-word": RandomizedResponse(domain_size=3, epsilon=700.0),
    "rr-never": RandomizedResponse.from_theta(domain_size=3, theta=0.0),
    "rr-always": RandomizedResponse.from_theta(domain_size=3, theta=1.0),
    "glh": LocalHashing(domain_size=4, hash_size=3, epsilon=1.5),
    "glh-two": LocalHashing(domain_size=2, hash_size=2, epsilon=1.0),
    "glh-wide": LocalHashing(domain_size=3, hash_size=5, epsilon=2.0, prime=7),
    "glh-always": LocalHashing.from_theta(domain_size=3, hash_size=2, theta=1.0),
    "identity": Identity(4),
}
CHOICES = {
    "choice": RandomChoice(
        [RandomizedResponse(domain_size=3, epsilon=1.0), LocalHashing(domain_size=3, hash_size=2, epsilon=2.0)],
        [Fraction(1, 3), Fraction(2, 3)],
    ),
    "choice-of-three": RandomChoice(
        [Identity(3), RandomizedResponse(domain_size=3, epsilon=0.0), RandomizedResponse(domain_size=3, epsilon=1.0)],
        [0.25, 0.0, 0.75],
    ),
}


@pytest.mark.parametrize("name", [*PLAIN, *CHOICES])
def test_exact_law_on_a_device(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    mechanism: Any = (PLAIN | CHOICES)[name]
    for value in range(mechanism.domain_size):
        law = law_on_device(monkeypatch, mechanism, value)
        assert sum(law.values()) == 1
        assert law == stated_law(mechanism, value)


@pytest.mark.parametrize("source", [SystemSource, SimulationSource])
@pytest.mark.parametrize("name", PLAIN)
def test_exact_law_in_bulk(monkeypatch: pytest.MonkeyPatch, source: type, name: str) -> None:
    mechanism: Any = PLAIN[name]
    for value in range(mechanism.domain_size):
        law = law_in_bulk(monkeypatch, source, mechanism, value)
        assert {first(report): mass for report, mass in law.items()} == stated_law(mechanism, value)


@pytest.mark.parametrize("source", [SystemSource, SimulationSource])
@pytest.mark.parametrize("name", CHOICES)
def test_exact_law_of_a_choice_in_bulk(monkeypatch: pytest.MonkeyPatch, source: type, name: str) -> None:
    mechanism = CHOICES[name]
    for value in range(mechanism.domain_size):
        law = law_in_bulk(monkeypatch, source, mechanism, value)
        assert chosen_of_bulk(law, len(mechanism.parts)) == stated_law(mechanism, value)


@pytest.mark.parametrize("name", ["rr", "rr-two", "glh", "glh-two", "glh-wide"])
def test_the_exact_law_keeps_exactly_the_stated_budget(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Largest ratio over all reports and pairs of values = 1 + size T/(2^64-T) = e^epsilon, as fractions."""
    mechanism: Any = PLAIN[name]
    size = mechanism.hash_size if isinstance(mechanism, LocalHashing) else mechanism.domain_size
    laws = [law_on_device(monkeypatch, mechanism, value) for value in range(mechanism.domain_size)]
    ratio = max(law[report] / other[report] for law in laws for other in laws for report in law)
    numerator = mechanism.theta_numerator
    assert ratio == 1 + Fraction(size * numerator, ONE - numerator)
    assert float(ratio) == pytest.approx(np.exp(mechanism.epsilon), rel=1e-14)


def test_the_enumeration_notices_a_threshold_that_is_one_word_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: T + 1 or T - 1 in place of T gives another law."""
    right = RandomizedResponse(domain_size=4, epsilon=1.5)
    for shift in (-1, 1):
        theta = Fraction(right.theta_numerator + shift, ONE)
        wrong = RandomizedResponse.from_theta(domain_size=4, theta=theta)
        assert law_on_device(monkeypatch, wrong, 2) != stated_law(right, 2)


@pytest.mark.parametrize("name", ["rr", "glh"])
def test_the_word_below_the_threshold_tells_the_truth_and_the_next_one_lies(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    mechanism: Any = PLAIN[name]
    for word, truthful in ((0, True), (mechanism.theta_numerator - 1, True), (mechanism.theta_numerator, False)):
        for lie in range(3):
            monkeypatch.setattr(secrets, "randbits", lambda _, word=word: word)
            monkeypatch.setattr(secrets, "randbelow", lambda n, lie=lie: lie % n)
            report = mechanism.obfuscate(1)
            if name == "rr":
                assert report == (1 if truthful else lie)
            else:
                truth = (report.a * 1 + report.b) % mechanism.family.prime % mechanism.hash_size
                assert report.y == (truth if truthful else lie)


@pytest.mark.parametrize("bound", [1, 2, 3, 4, 5, 7, 8, 9, 1000, 2**32, 2**32 + 1, 10**18 + 3, 2**62, 2**63, 2**63 + 1])
def test_bounded_integers_by_rejection_are_exactly_uniform(monkeypatch: pytest.MonkeyPatch, bound: int) -> None:
    """Every result below the bound stands for the same number of words; all other words are thrown away and redrawn."""
    bits = max(1, (bound - 1).bit_length())
    heads = sorted({v for v in (0, 1, 2, 3, bound - 2, bound - 1, bound, bound + 1, 2**bits - 1) if 0 <= v < 2**bits})
    low = 64 - bits
    words = [head << low | tail for head in heads for tail in {0, (1 << low) - 1}]
    asked: list[int] = []

    def urandom(size: int) -> bytes:
        asked.append(size // 8)
        batch = words if len(asked) == 1 else [0] * (size // 8)
        assert size == 8 * len(batch)
        return np.array(batch, np.uint64).tobytes()

    monkeypatch.setattr(os, "urandom", urandom)
    drawn = SystemSource().below(bound, len(words)).tolist()
    rejected = sum(word >> low >= bound for word in words)
    assert drawn == [word >> low if word >> low < bound else 0 for word in words]
    assert asked == [len(words)] + [rejected] * (rejected > 0)


def test_words_are_the_bytes_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: bytes(range(size)))
    assert SystemSource().words(2).tobytes() == bytes(range(16))
    assert SystemSource().words(0).tolist() == []


@pytest.fixture
def no_seedable_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in `random` and `numpy.random` refuses to work, down to making a generator."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a seedable generator was touched")

    for method in (
        "random",
        "getrandbits",
        "seed",
        "randrange",
        "randint",
        "choice",
        "uniform",
        "shuffle",
        "randbytes",
    ):
        monkeypatch.setattr(random.Random, method, refuse)
    for module, kept in ((random, {"SystemRandom"}), (np.random, set())):
        for name in vars(module).copy():
            if not name.startswith("_") and name not in kept and callable(getattr(module, name)):
                monkeypatch.setattr(module, name, refuse)


DEVICES = {
    "rr": RandomizedResponse(domain_size=10**9, epsilon=1.0),
    "glh": LocalHashing(domain_size=10**9, hash_size=2**33, epsilon=1.0),
    "choice": RandomChoice(
        [RandomizedResponse(domain_size=10**9, epsilon=1.0), LocalHashing(domain_size=10**9, hash_size=9, epsilon=1.0)],
        [0.5, 0.5],
    ),
}


@pytest.mark.usefixtures("no_seedable_generator")
@pytest.mark.parametrize("name", DEVICES)
def test_the_device_never_touches_a_seedable_generator(name: str) -> None:
    """It works without any, and no two calls agree: a chance repetition has probability below 1e-12."""
    mechanism: Any = DEVICES[name]
    reports = [tuple(plain(mechanism.obfuscate(5)) for _ in range(6)) for _ in range(3)]
    assert len(set(reports)) == 3
    assert len({plain(mechanism.obfuscate_many([5] * 6)) for _ in range(3)}) == 3
    with pytest.raises(AssertionError, match="seedable"):  # power: the fixture does its work
        np.random.default_rng(1)
    with pytest.raises(AssertionError, match="seedable"):
        random.getrandbits(64)


@pytest.mark.parametrize("name", DEVICES)
def test_no_seed_repeats_or_is_used_up_by_a_report(name: str) -> None:
    mechanism: Any = DEVICES[name]
    seen = []
    for _ in range(2):
        random.seed(7)
        np.random.seed(7)  # noqa: NPY002
        before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
        seen.append((plain(mechanism.obfuscate_many([5] * 6)), tuple(plain(mechanism.obfuscate(5)) for _ in range(6))))
        assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002
    assert seen[0][0] != seen[1][0]
    assert seen[0][1] != seen[1][1]


@pytest.mark.parametrize(
    ("name", "draws"),
    [("rr", [4]), ("glh", [4, 5, 3]), ("rr-always", [3]), ("rr-never", [3]), ("glh-always", [2, 3, 2])],
)
def test_truth_and_lie_are_both_always_drawn(monkeypatch: pytest.MonkeyPatch, name: str, draws: list[int]) -> None:
    """The same draws whatever the word says and whatever the value is: neither time nor randomness used tells."""
    mechanism: Any = PLAIN[name]
    for word in (0, mechanism.theta_numerator - 1, mechanism.theta_numerator, ONE - 1):
        for value in range(mechanism.domain_size):
            calls: list[tuple[str, int]] = []
            monkeypatch.setattr(secrets, "randbelow", lambda n, calls=calls: calls.append(("below", n)) or 0)
            monkeypatch.setattr(
                secrets, "randbits", lambda n, calls=calls, word=word: calls.append(("bits", n)) or word
            )
            mechanism.obfuscate(value)
            assert sorted(calls) == sorted([("below", n) for n in draws] + [("bits", 64)])


@pytest.mark.parametrize("name", ["rr", "glh", "rr-always", "rr-never", "glh-always"])
def test_bulk_reports_draw_the_same_whatever_the_values(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    mechanism: Any = PLAIN[name]
    asked: list[list[int]] = []
    for value in range(mechanism.domain_size):
        asked.append([])
        monkeypatch.setattr(os, "urandom", lambda size, to=asked[-1]: to.append(size) or bytes(size))
        mechanism.obfuscate_many([value] * 10)
    assert all(sizes == asked[0] for sizes in asked)
    assert sum(asked[0]) == 80 * (2 if isinstance(mechanism, RandomizedResponse) else 4)
