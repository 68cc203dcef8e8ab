"""The contract of a mechanism: a document that says it all, unbiased estimates, the privacy and guarantee it states.

Statistical checks use fixed seeds and allow six standard errors: a mechanism that keeps its word fails none of them by
chance (2e-9 each), one that tells the truth clearly more often than it says fails.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from entropie.errors import EntropieError, InvalidInput
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.parameters import from_document, parameters_id, to_document
from entropie.mechanisms.registry import mechanism_kind

_REPORTS = 40_000
_ATTACKED = 6_000
_SIGMAS = 6.0


class MechanismContract:
    """Subclass it in a test file and set `mechanism`: one with 3 to 50 items and an epsilon of about 1 to 3."""

    mechanism: Mechanism

    def test_it_is_found_by_its_kind(self) -> None:
        """Registered under `kind`, in the group `entropie.mechanisms` where it is not built in."""
        assert isinstance(self.mechanism, Mechanism)
        assert mechanism_kind(self.mechanism.kind) is type(self.mechanism)
        assert self.mechanism.title

    def test_the_document_says_it_all(self) -> None:
        """Written and read again it is the same mechanism, with the same id; more or less fields are refused."""
        document = to_document(self.mechanism)
        again = from_document(document)
        assert again == self.mechanism
        assert hash(again) == hash(self.mechanism)
        assert parameters_id(again) == parameters_id(self.mechanism)
        assert pickle.loads(pickle.dumps(self.mechanism)) == self.mechanism
        fields = {name: value for name, value in self.mechanism.to_parameters().items() if name != "kind"}
        assert self.mechanism.to_parameters()["kind"] == self.mechanism.kind
        for wrong in ({**fields, "further": "1"}, *({k: fields[k] for k in fields if k != name} for name in fields)):
            try:
                type(self.mechanism).from_parameters(wrong)
            except EntropieError:
                continue
            raise AssertionError(f"`from_parameters` must refuse the fields {sorted(wrong)}.")

    def test_it_is_frozen(self) -> None:
        """Device and collector share it by its id, so it never changes."""
        settings = getattr(self.mechanism, "__dataclass_params__", None)
        assert settings is not None, "A mechanism must be a dataclass."
        assert settings.frozen, "A mechanism must be frozen."

    def test_theta_and_epsilon_are_in_range(self) -> None:
        """And the rates are those of supports."""
        rates = self.mechanism.rates
        assert 0.0 <= self.mechanism.theta <= 1.0
        assert self.mechanism.epsilon >= 0.0
        assert 0.0 <= rates.nu <= rates.mu <= 1.0
        assert math.isclose(rates.gain, rates.mu - rates.nu, abs_tol=1e-9)
        assert math.isclose(rates.mu_off, 1.0 - rates.mu, abs_tol=1e-9)

    def test_supports_occur_at_the_stated_rates(self) -> None:
        """A report supports its true item with probability mu and any other with nu; so estimates are unbiased."""
        for draw in (self.mechanism.obfuscate_many, self._simulated):
            counted = self._supports(draw(np.zeros(_REPORTS, np.int64)))
            rates = [self.mechanism.rates.mu] + [self.mechanism.rates.nu] * (len(counted) - 1)
            for count, rate in zip(counted, rates, strict=True):
                assert abs(count - rate * _REPORTS) <= _SIGMAS * _spread(rate), (
                    f"a support has rate {count / _REPORTS:.4f}, `rates` says {rate:.4f}"
                )

    def test_one_report_is_like_many(self) -> None:
        """`obfuscate`, for a device, draws what `obfuscate_many` draws."""
        sent = [self.mechanism.obfuscate(0) for _ in range(2000)]
        if not self._has_table():
            return
        counted = self._supports(self._together(sent))
        rate = self.mechanism.rates.mu
        assert abs(counted[0] - rate * 2000) <= _SIGMAS * _spread(rate, 2000)

    def test_values_outside_the_domain_are_refused(self) -> None:
        """By every way in."""
        size = self.mechanism.domain_size
        ways: tuple[Callable[[], object], ...] = (
            lambda: self.mechanism.obfuscate(size),
            lambda: self.mechanism.obfuscate(-1),
            lambda: self.mechanism.obfuscate_many([0, size]),
            lambda: self.mechanism.simulate([size], np.random.default_rng(0)),
        )
        for refused in ways:
            try:
                refused()
            except EntropieError:
                continue
            raise AssertionError(f"Values must be item codes from 0 to {size - 1}; others are refused.")

    def test_a_seed_repeats_a_simulation(self) -> None:
        """And the device never does, but without noise."""
        values = np.arange(500) % self.mechanism.domain_size
        one, other = (self._counted(self.mechanism.simulate(values, np.random.default_rng(5))) for _ in range(2))
        assert np.array_equal(one, other)

    def test_counts_of_parts_are_those_of_all(self) -> None:
        """In any cut, for all items or for some, on one thread or several."""
        values = np.arange(900) % self.mechanism.domain_size
        first = self.mechanism.simulate(values, np.random.default_rng(1))
        second = self.mechanism.simulate(values, np.random.default_rng(2))
        both = self.mechanism.count(second, into=self.mechanism.count(first, threads=1))
        assert both.reports == 2 * values.size
        separate = self._counted(first).astype(np.int64) + self._counted(second)
        assert np.array_equal(both.counts, separate)
        some = np.array([0, self.mechanism.domain_size - 1], np.uint64)
        assert np.array_equal(self.mechanism.count(first, items=some).counts, self._counted(first)[[0, -1]])

    def test_estimates_are_near_the_truth(self) -> None:
        """Within six of their standard errors."""
        values = np.minimum(np.arange(_REPORTS) % (2 * self.mechanism.domain_size), self.mechanism.domain_size - 1)
        truth = np.bincount(values, minlength=self.mechanism.domain_size) / _REPORTS
        estimates = self.mechanism.estimate(self._simulated(values))
        allowed = _SIGMAS * np.sqrt([self.mechanism.rates.l2(share, _REPORTS) for share in truth])
        assert np.all(np.abs(estimates.probabilities - truth) <= allowed + 1e-12)

    def test_reports_go_through_a_table(self) -> None:
        """Columns of whole numbers below their bounds, and back; or it says that there is no table form."""
        if not self._has_table():
            return
        bounds = self.mechanism.report_columns
        reports = self._simulated(np.arange(300) % self.mechanism.domain_size)
        columns = self.mechanism.columns_of(reports)
        assert len(columns) == len(bounds)
        for column, bound in zip(columns, bounds.values(), strict=True):
            assert len(column) == 300
            assert int(column.max()) < bound
        again = self.mechanism.reports_of(tuple(np.array(column) for column in columns))
        assert np.array_equal(self._counted(again), self._counted(reports))

    def test_epsilon_holds_for_supports(self) -> None:
        """Whether a report supports item 0 is at most e^epsilon times as likely from one item as from another."""
        if math.isinf(self.mechanism.epsilon):
            return
        often = [self._supports(self._simulated(np.full(_REPORTS, value)))[0] / _REPORTS for value in (0, 1)]
        for share, other in (often, often[::-1], [1 - p for p in often], [1 - p for p in often[::-1]]):
            noise = _SIGMAS * (_spread(share) + math.exp(self.mechanism.epsilon) * _spread(other)) / _REPORTS
            assert share <= math.exp(self.mechanism.epsilon) * other + noise

    def test_no_attacker_does_better_than_guaranteed(self) -> None:
        """An attacker who knows that person i has item i, and names one whose item the report supports."""
        if not self._has_table():
            return
        users = self.mechanism.domain_size
        guaranteed = 1.0 - self.mechanism.guarantee(users=users).bayes_error
        people = np.repeat(np.arange(users), _ATTACKED // users)
        rng = np.random.default_rng(3)
        reports = self.mechanism.simulate(people, rng)
        right = self._guessed(reports, people.size, rng) == people
        assert right.mean() <= guaranteed + _SIGMAS * math.sqrt(guaranteed * (1 - guaranteed) / people.size) + 1e-12

    def test_more_people_make_guessing_harder(self) -> None:
        """The guarantee grows with the crowd and shrinks with reports and guesses."""
        few, many = (self.mechanism.guarantee(users=users).bayes_error for users in (10, 1000))
        assert few <= many + 1e-12
        twice = self.mechanism.guarantee(users=1000, reports=2)
        assert twice.bayes_error <= many + 1e-12
        listed = self.mechanism.guarantee(users=1000, list_size=5)
        assert listed.list_error <= listed.bayes_error + 1e-12

    def _has_table(self) -> bool:
        try:
            return bool(self.mechanism.report_columns)
        except InvalidInput:
            return False

    def _simulated(self, values: NDArray[np.int64]) -> object:
        return self.mechanism.simulate(values, np.random.default_rng(11))

    def _counted(self, reports: object) -> NDArray[np.int64]:
        return np.asarray(self.mechanism.count(reports).counts, np.int64)

    def _supports(self, reports: object) -> list[int]:
        counts: list[int] = self._counted(reports).tolist()
        return counts

    def _together(self, sent: list[object]) -> object:
        """Single reports as one batch."""
        rows = [report if isinstance(report, tuple) else (report,) for report in sent]
        return self.mechanism.reports_of(tuple(np.array(column, np.uint64) for column in zip(*rows, strict=True)))

    def _guessed(self, reports: object, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """For each report one of the items it supports, at random; any item where it supports none."""
        guesses = rng.integers(0, self.mechanism.domain_size, size)
        columns = self.mechanism.columns_of(reports)
        for place in range(size):
            one = self.mechanism.reports_of(tuple(column[place : place + 1] for column in columns))
            supported = np.flatnonzero(self._counted(one))
            if supported.size:
                guesses[place] = rng.choice(supported)
        return guesses


def _spread(rate: float, reports: int = _REPORTS) -> float:
    """Standard deviation of a count of `reports` that each happen at `rate`."""
    return math.sqrt(reports * rate * (1.0 - rate))
