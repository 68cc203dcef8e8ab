"""Noise tried on real people: settings for a wanted error, simulated reports, their attack, what counts remain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from entropie.attack.chance import by_content
from entropie.attack.reports import attack_reports
from entropie.attack.scoring import AttackOutcome
from entropie.data.split import Split, first_events
from entropie.data.traces import Traces
from entropie.document.protection import Distribution, RelativeError, Utility
from entropie.errors import InvalidInput, InvalidParameter, Unreachable, option
from entropie.estimation.estimates import accuracy
from entropie.measures.intervals import student
from entropie.mechanisms.calibrate import calibrate
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.theory import checks, everybody
from entropie.theory.calibration import largest_theta
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import ChannelParameters, certified_success
from entropie.theory.special import epsilon_of

REPETITIONS = 20
"""Simulated collections unless told otherwise."""
GUESSES = 10
"""Guesses of an attacker who may name several people."""
FAR_WORSE = 2.0
"""A mechanism that lets so many times as many people be re-identified within several guesses is not recommended."""
USEFUL = 0.1
"""A relative error of the most frequent items that most uses can live with."""
LOST = 0.5
"""Beyond this relative error of the most frequent items, counts are of no use."""
WANTED_ERRORS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Error rates of the attacker for which the cost is shown beside the one asked for."""
TOP = (20, 100)
_ESTIMATES: tuple[Literal["unbiased"], Literal["consistent"]] = ("unbiased", "consistent")
_FEWEST_REPETITIONS = 3
_WORK = 3e8  # support tests over all repetitions; beyond it there are fewer of them
_PAIRS = 1e10  # (report, item of a person) pairs that an attack on hashed reports may look at
_GRID = 16
_MOST_PEOPLE = 10**12
Noisy = RandomizedResponse | LocalHashing
Leak = Literal["alone", "all"]
_Noisy = TypeVar("_Noisy", RandomizedResponse, LocalHashing)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The protection that is asked for.

    error             error rate that an attacker shall have, at least
    leak              which attacker: who sees one person's reports "alone", or who holds "all"
    reports_per_user  how many events each person sends
    max_epsilon       largest budget allowed; None: local hashing is kept to that of randomized response
    scope             attackers that are tried, by name; all where empty
    repetitions       simulated collections behind every figure of usefulness
    also              further error rates to show the cost of
    """

    error: float
    reports_per_user: int = 1
    max_epsilon: float | None = None
    scope: tuple[str, ...] = ()
    repetitions: int = REPETITIONS
    also: tuple[float, ...] = WANTED_ERRORS
    leak: Leak = "alone"

    def __post_init__(self) -> None:
        if self.leak not in ("alone", "all"):
            raise InvalidParameter.of("leak", "alone or all", self.leak)
        object.__setattr__(self, "error", wanted_error_value(self.error))
        checks.whole_number("reports_per_user", self.reports_per_user)
        checks.whole_number("repetitions", self.repetitions, at_least=2)

    @property
    def tries_known_events(self) -> bool:
        """Whether an attacker is tried who knows events that are sent themselves."""
        return not self.scope or "points" in self.scope

    @property
    def not_run(self) -> list[str]:
        """Attackers of the usual scope that are not tried on what people send here."""
        left = [] if self.tries_known_events else ["points"]
        return [*left, *(name for name in ("crowd", "joint") if not self.scope or name in self.scope)]


@dataclass(frozen=True, slots=True, eq=False)
class Senders:
    """What the attacker learned and what people send: the first events of their targets, as devices would.

    People stand in an order that no name has a part in, so that names do not change what is drawn for whom.
    """

    train: Traces
    sent: Traces
    truth: NDArray[np.float64]  # share of each item among what is sent
    whole: NDArray[np.float64]  # and among all events of these people that are attacked
    reports_per_user: int

    @classmethod
    def of(cls, split: Split, reports_per_user: int = 1) -> Senders:
        """The people of a split, each with up to `reports_per_user` data to send."""
        if split.train.users < 2:
            raise InvalidInput(f"Protection needs at least two people, there is one; lower {option('min_events')}.")
        if split.train.domain_size < 2:
            raise InvalidInput("Protection needs at least two different items, there is one.")
        order = by_content(split)
        sent = first_events(split.target, reports_per_user).take(order)
        truth, whole = (
            np.bincount(some.items, minlength=some.domain_size) / some.events for some in (sent, split.target)
        )
        return cls(split.train.take(order), sent, truth, whole, reports_per_user)

    @property
    def users(self) -> int:
        """How many people send."""
        return self.train.users

    @property
    def reports(self) -> int:
        """How many reports arrive from all of them."""
        return self.sent.events

    @property
    def domain_size(self) -> int:
        """How many items there are."""
        return self.train.domain_size

    @property
    def first_seen(self) -> bool:
        """Whether the first event that people send is the first that the attacker learned, as under rule history."""
        sent, known = self.sent.items[self.sent.offsets[:-1]], self.train.items[self.train.offsets[:-1]]
        return bool((sent == known).all())


def wanted_error_value(value: object, name: str = "protect") -> float:
    """Check the error rate that protection is asked to give."""
    rule = "a share above 0 and below 1"
    wanted = checks.real_number(name, value, rule, 0.0, 1.0)
    if not 0.0 < wanted < 1.0:
        raise InvalidParameter.of(name, rule, value)
    return wanted


def preferred(prices: Sequence[tuple[float, float]]) -> list[int]:
    """Which mechanisms to recommend of those that meet a goal, the best first.

    A price is (success within several guesses, error of the most frequent items). The smallest error comes first, once
    those are out under which several guesses may re-identify more than twice as many people as under another.
    """
    least = min(success for success, _ in prices)
    allowed = [place for place, (success, _) in enumerate(prices) if success <= FAR_WORSE * least]
    return sorted(allowed, key=lambda place: prices[place][1])


def best_response(
    senders: Senders,
    wanted_error: float,
    max_epsilon: float | None = None,
    leak: Leak = "alone",
    *,
    users: int | None = None,
) -> RandomizedResponse:
    """Randomized response with the most truth that guarantees the error, and no larger budget than allowed.

    `users`: for so many people instead of those who send.
    """
    users = senders.users if users is None else users
    _check_reachable(users, wanted_error)
    response = calibrate(
        users=users,
        domain_size=senders.domain_size,
        bayes_error=wanted_error,
        certainty=1.0,
        scope=leak,
        mechanism="rr",
        reports=senders.reports_per_user,
    ).mechanism
    assert isinstance(response, RandomizedResponse)
    if max_epsilon is not None and response.epsilon > max_epsilon:
        response = RandomizedResponse(domain_size=senders.domain_size, epsilon=max_epsilon)
    return _with_some_truth(response, wanted_error)


def best_hashing(senders: Senders, wanted_error: float, max_epsilon: float, leak: Leak = "alone") -> LocalHashing:
    """Local hashing that guarantees the error with the hash size that is best for the most frequent items.

    Buckets hide people whose reports leak alone, so that fewer of them allow more truth, up to no lies at all. Then
    nobody could deny anything: `max_epsilon` keeps the budget within that of another mechanism. Of very large data,
    hash sizes so small that the attack on them would take hours are excluded.
    """
    _check_reachable(senders.users, wanted_error)

    def priced(hash_size: int) -> tuple[float, float, int, LocalHashing]:
        mechanism = _hashing(senders, senders.users, wanted_error, hash_size, max_epsilon, leak)
        return _expected_loss(mechanism, senders, senders.reports), mechanism.epsilon, hash_size, mechanism

    fewest = min(senders.domain_size, max(2, math.ceil(senders.reports * senders.train.events / _PAIRS)))
    coarse = _between(fewest, senders.domain_size, _GRID)
    seen = {size: priced(size) for size in coarse}
    at = coarse.index(min(seen.values(), key=lambda tried: tried[:3])[2])
    around = _between(coarse[max(0, at - 1)], coarse[min(len(coarse) - 1, at + 1)], _GRID)
    seen |= {size: priced(size) for size in around if size not in seen}
    return _with_some_truth(min(seen.values(), key=lambda tried: tried[:3])[3], wanted_error)


def _hashing(
    senders: Senders, users: int, wanted_error: float, hash_size: int, max_epsilon: float, leak: Leak
) -> LocalHashing:
    k = senders.domain_size

    def success(theta: float) -> float:
        if leak == "all":
            return float(everybody.success(Crowd(users, senders.reports_per_user), k, Fraction(theta)))
        channel = ChannelParameters("glh", k, epsilon_of(theta, hash_size), hash_size, theta=theta)
        return float(certified_success(channel, Crowd(users, senders.reports_per_user)))

    theta = largest_theta(success, wanted_error)
    if epsilon_of(theta, hash_size) > max_epsilon:
        return LocalHashing(domain_size=k, hash_size=hash_size, epsilon=max_epsilon)
    return LocalHashing.from_theta(domain_size=k, hash_size=hash_size, theta=theta)


def _expected_loss(mechanism: Noisy, senders: Senders, reports: float) -> float:
    """Root of the expected squared relative error of unbiased estimates, summed over the most frequent items."""
    shares = np.sort(senders.truth)[::-1][: TOP[0]]
    return math.fsum(math.sqrt(mechanism.rates.l2(float(p), 1) / reports) / float(p) for p in shares if p > 0.0)


def people_needed(
    mechanism: Noisy, senders: Senders, wanted: Wanted, measured: float, at_most: float = USEFUL
) -> int | None:
    """How many people who do the same bring a measured relative error down to `at_most`; None where 10^12 do not.

    Each number of people has noise of its own, calibrated to the same guarantee: more people hide each other better.
    """
    now = _expected_loss(mechanism, senders, senders.reports)

    def too_noisy(users: int) -> bool:
        other: Noisy
        if isinstance(mechanism, LocalHashing):
            limit = best_response(senders, wanted.error, wanted.max_epsilon, wanted.leak, users=users).epsilon
            other = _hashing(senders, users, wanted.error, mechanism.hash_size, limit, wanted.leak)
        else:
            other = best_response(senders, wanted.error, wanted.max_epsilon, wanted.leak, users=users)
        return _expected_loss(other, senders, senders.reports * (users / senders.users)) * measured / now > at_most

    low, high = senders.users, 2 * senders.users
    while too_noisy(high):
        low, high = high, 2 * high
        if high > _MOST_PEOPLE:
            return None
    while high - low > 1 + low // 1000:
        middle = (low + high) // 2
        low, high = (middle, high) if too_noisy(middle) else (low, middle)
    return high


def _between(low: int, high: int, steps: int) -> list[int]:
    """Whole numbers from low to high, evenly spaced in their logarithm."""
    return sorted({round(float(size)) for size in np.geomspace(low, high, steps)})


def _check_reachable(users: int, wanted_error: float) -> None:
    if wanted_error >= 1.0 - 1.0 / users:
        raise Unreachable(
            f"An attacker's error rate of {wanted_error:.6g} cannot be guaranteed to {users:,} people: it is "
            f"{1.0 - 1.0 / users:.6g} by chance; ask for less."
        )


def _with_some_truth(mechanism: _Noisy, wanted_error: float) -> _Noisy:
    if mechanism.theta_numerator == 0:
        raise Unreachable(
            f"An attacker's error rate of {wanted_error:.6g} is so close to chance that reports would be noise alone; "
            "ask for less."
        )
    return mechanism


def measure_utility(
    mechanism: Mechanism, senders: Senders, *, seed: int, repetitions: int = REPETITIONS
) -> tuple[Utility, Any]:
    """Collect and estimate several times; also the first collection's reports, for an attack on them.

    Relative errors are those of unbiased estimates or of the distribution made of them, whichever is closer on average.
    """
    repetitions = _affordable(mechanism, senders, repetitions)
    first, drawn = None, []
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, repetition, *mechanism_key(mechanism)])
        reports = mechanism.simulate(senders.sent.items, rng)
        first = reports if repetition == 0 else first
        estimates = mechanism.estimate(reports)
        kinds = (estimates.probabilities, estimates.consistent, estimates.significant())
        drawn.append([_errors(shares, senders) for shares in kinds])
    errors = np.array(drawn)  # by repetition, way to estimate, and kind of error
    mean = errors.mean(axis=0)
    used = int(np.argmin(mean[:2, 0]))
    tops = [
        RelativeError(
            float(mean[used, place]), *_in_another(errors[:, used, place]), _occurring(senders.truth, top),
            *(float(value) for value in (*mean[[0, 2], place], mean[used, place + len(TOP)])),
        )
        for place, top in enumerate(TOP)
    ]  # fmt: skip
    expected = mechanism.rates.l2_sum(senders.domain_size, senders.reports)
    trivial, trivial_l2 = _trivial(senders.truth)
    (l1, l2), (l1_consistent, l2_consistent), (l1_small, l2_small) = mean[:, -2:].tolist()
    lost = Distribution(l1, l1_consistent, l1_small, l2, l2_consistent, l2_small, expected, trivial_l2)
    useful = _useful(tops[0], lost, trivial)
    return Utility(tops[0], tops[1], _ESTIMATES[used], lost, trivial, useful, repetitions), first


def _errors(shares: NDArray[np.float64], senders: Senders) -> list[float]:
    """Relative errors of the most frequent items among what is sent and among all events; l1 and l2 of what is sent."""
    relative = [accuracy(shares, truth, top).relative_error for truth in (senders.truth, senders.whole) for top in TOP]
    difference = np.abs(shares - senders.truth)
    return [*relative, float(difference.sum()), float(difference @ difference)]


def _in_another(drawn: NDArray[np.float64]) -> tuple[float, float]:
    """Where one more draw lies in 95 % of cases, by Student's law; one draw does not tell."""
    if drawn.size < 2:
        return 0.0, math.inf
    reach = student(drawn.size - 1) * float(drawn.std(ddof=1)) * math.sqrt(1.0 + 1.0 / drawn.size)
    return max(0.0, float(drawn.mean()) - reach), float(drawn.mean()) + reach


def exact_utility(senders: Senders, *, everything: bool = False) -> Utility:
    """The utility of data that are sent as they are, only some of all events or `everything`."""
    lost = [0.0] * len(TOP) if everything else _errors(senders.truth, senders)[len(TOP) : 2 * len(TOP)]
    tops = [
        RelativeError(0.0, 0.0, 0.0, _occurring(senders.truth, top), 0.0, 0.0, off)
        for top, off in zip(TOP, lost, strict=True)
    ]
    trivial, trivial_l2 = _trivial(senders.truth)
    return Utility(
        tops[0], tops[1], "exact", Distribution(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, trivial_l2), trivial, True, 1
    )


def _useful(top: RelativeError, lost: Distribution, trivial: float) -> bool:
    """Whether counts are worth having: frequent items off by at most half, and no estimate without data as good."""
    if lost.l2 == 0.0:
        return True
    better = top.relative_error < trivial and min(lost.l2, lost.l2_consistent, lost.l2_thresholded) < lost.trivial_l2
    return better and top.relative_error <= LOST


def _trivial(truth: NDArray[np.float64]) -> tuple[float, float]:
    """Errors of the better of two estimates that need no data: relative, of the most frequent items, and squared."""
    guesses = (np.zeros_like(truth), np.full_like(truth, 1.0 / truth.size))
    relative = min(accuracy(shares, truth, TOP[0]).relative_error for shares in guesses)
    return relative, min(float(((shares - truth) ** 2).sum()) for shares in guesses)


def mechanism_key(mechanism: Mechanism) -> tuple[int, ...]:
    """Tell the random streams of different settings apart."""
    numbers = mechanism.to_parameters()
    return tuple(int(numbers[name]) for name in ("hash_size", "theta_numerator") if name in numbers)


def _occurring(truth: NDArray[np.float64], top: int) -> int:
    return min(top, int(np.count_nonzero(truth)))


def _affordable(mechanism: Mechanism, senders: Senders, repetitions: int) -> int:
    """Fewer repetitions where one is a lot of work, so that time grows with the data and not beyond."""
    hits = 1.0
    if isinstance(mechanism, LocalHashing):
        hits = max(1.0, mechanism.family.prime / mechanism.hash_size)
    work = senders.reports * hits + senders.domain_size
    return min(repetitions, max(_FEWEST_REPETITIONS, int(_WORK / work)))


def attack_on(mechanism: Mechanism, senders: Senders, reports: Any, threads: int | None = None) -> AttackOutcome:
    """Attack a collection, knowing the mechanism and earlier events."""
    return attack_reports(mechanism, senders.train, reports, senders.sent.offsets, threads=threads)


def attack_knowing(
    mechanism: Mechanism, senders: Senders, reports: Any, *, threads: int | None = None
) -> AttackOutcome:
    """Attack a collection, knowing the mechanism and the very events that the reports are of."""
    return attack_reports(mechanism, senders.sent, reports, senders.sent.offsets, threads=threads)


def sampled_credit(
    mechanism: Mechanism, senders: Senders, reports: Any, *, people: int, seed: int, threads: int | None = None
) -> NDArray[np.float64]:
    """Credit of the same attack on some of the people, drawn at random; everybody stays a candidate."""
    if people >= senders.users:
        return attack_on(mechanism, senders, reports, threads).credit
    chosen = np.sort(np.random.default_rng(seed).choice(senders.users, people, replace=False))
    lengths = np.diff(senders.sent.offsets)
    attacked = np.zeros(senders.users, np.bool_)
    attacked[chosen] = True
    kept = np.repeat(attacked, lengths)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.where(attacked, lengths, 0))))
    part = replace(senders, sent=Traces(offsets, senders.sent.items[kept], senders.domain_size))
    theirs = mechanism.reports_of(tuple(column[kept] for column in mechanism.columns_of(reports)))
    return attack_on(mechanism, part, theirs, threads).credit[chosen]
