"""The contract of a mechanism: a document that says it all, unbiased estimates, the privacy and guarantee it states.

Statistical checks use fixed seeds and allow six standard errors: a mechanism that keeps its word fails none of them by
chance (2e-9 each), one that tells the truth clearly more often than it says fails.
"""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.attack.audit import audit
from entropie.errors import EntropieError, InvalidInput
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.parameters import from_document, parameters_id, to_document
from entropie.mechanisms.registry import mechanism_kind
from entropie.theory import channel

_REPORTS = 20_000
_SINGLE = 2_000
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

    def test_the_law_is_a_law(self) -> None:
        """Every row sums to 1; epsilon and theta are those of the matrix, or more where they are bounds."""
        Q = self._law()
        assert np.allclose(Q.sum(axis=1), 1.0, atol=1e-12)
        assert 0.0 <= self.mechanism.theta <= 1.0
        assert channel.doeblin_theta(Q) <= float(self.mechanism.truth) + 1e-9
        assert channel.epsilon(Q) <= self.mechanism.epsilon + 1e-9
        assert self.mechanism.report_bits >= math.log2(np.count_nonzero(Q.max(axis=0))) - 1e-9

    def test_reports_follow_the_law(self) -> None:
        """Every report of two items, within six deviations: from the device, many at once, and simulated."""
        Q, size = self._law(), self.mechanism.domain_size
        for item in (0, size - 1):
            values = np.full(_REPORTS, item)
            sent = [self.mechanism.obfuscate(item) for _ in range(_SINGLE)]
            batches = [self.mechanism.obfuscate_many(values), self._simulated(values)]
            if self._has_table():
                batches.append(self._together(sent))
            for batch in batches:
                seen = self._outcomes(batch)
                rows, law = int(seen.sum()), Q[item]
                allowed = _SIGMAS * np.sqrt(rows * law * (1.0 - law)) + np.where(law > 0.0, _SIGMAS, 0.0)
                assert np.all(np.abs(seen - rows * law) <= allowed), "reports do not follow `likelihoods`"

    def test_estimates_are_unbiased(self) -> None:
        """Exactly: the mean over the law of what each single report estimates is the item itself; and its variance."""
        Q, size = self._law(), self.mechanism.domain_size
        singles = self._estimates_of_each()
        assert np.allclose(Q @ singles, np.eye(size), atol=1e-6)
        if self._has_table():
            spread = Q @ singles**2 - np.eye(size)
            stated = np.array([self.mechanism.variance(np.eye(size)[item], 1) for item in range(size)])
            assert np.allclose(spread, stated, rtol=1e-6, atol=1e-9)

    def test_the_worst_case_is_that_of_the_law(self) -> None:
        """Success, information and certainty of one report alone, over every choice of different items."""
        Q = self._law()
        k = len(Q)
        for users in (1, 2, 3, k, k + 3):
            sets = [list(some) for some in itertools.combinations(range(k), min(users, k))]
            named = max(float(Q[some].max(axis=0).sum()) for some in sets) / users
            stated = float(self.mechanism.success_alone(users))
            assert named <= stated + 1e-12
            if self.mechanism.alone_is_exact:
                assert abs(named - stated) <= 1e-12
            told = max(channel.capacity(Q[some], 1e-4).low_bits for some in sets)
            assert told <= self.mechanism.bits_alone(users) + 1e-9
            found = self.mechanism.guarantee(users=users)
            assert named <= 1.0 - found.bayes_error + 1e-12
            assert told <= found.alpha_bits + 1e-9
            assert self._surest(Q, users) <= self.mechanism.certainty_alone(users) + 1e-9
            assert self.mechanism.certainty_alone(users) <= found.posterior_max + 1e-12

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

    def test_more_people_make_guessing_harder(self) -> None:
        """The guarantee grows with the crowd and shrinks with reports and guesses."""
        few, many = (self.mechanism.guarantee(users=users).bayes_error for users in (10, 1000))
        assert few <= many + 1e-12
        twice = self.mechanism.guarantee(users=1000, reports=2)
        assert twice.bayes_error <= many + 1e-12
        listed = self.mechanism.guarantee(users=1000, list_size=5)
        assert listed.list_error <= listed.bayes_error + 1e-12

    def test_attackers_reach_no_more_than_is_stated(self) -> None:
        """From one report alone, with all reports, without knowing the mechanism, and by the budget that is proven."""
        found = audit(self.mechanism, reports=_REPORTS, rng=np.random.default_rng(4))
        assert found.alone.meets, f"one report alone: {found.alone}"
        assert found.all_reports.holds, f"all reports: {found.all_reports}"
        assert found.black_box.holds, f"black box: {found.black_box}"
        assert found.epsilon.holds, f"epsilon: {found.epsilon}"

    def _has_table(self) -> bool:
        try:
            return bool(self.mechanism.report_columns)
        except InvalidInput:
            return False

    def _simulated(self, values: NDArray[np.int64]) -> object:
        return self.mechanism.simulate(values, np.random.default_rng(11))

    def _counted(self, reports: object) -> NDArray[np.int64]:
        return np.asarray(self.mechanism.count(reports).counts, np.int64)

    def _together(self, sent: list[object]) -> object:
        """Single reports as one batch."""
        rows = [report if isinstance(report, tuple) else (report,) for report in sent]
        return self.mechanism.reports_of(tuple(np.array(column, np.uint64) for column in zip(*rows, strict=True)))

    def _law(self) -> NDArray[np.float64]:
        return self.mechanism.matrix()

    def _outcomes(self, batch: Any) -> NDArray[np.int64]:
        """How often each possible report was sent."""
        place = {row: at for at, row in enumerate(self._rows(self.mechanism.possible_reports()))}
        return np.bincount([place[row] for row in self._rows(batch)], minlength=len(place))

    def _rows(self, batch: Any) -> list[tuple[int, ...]]:
        return list(map(tuple, self.mechanism.rows_of(batch).tolist()))

    def _estimates_of_each(self) -> NDArray[np.float64]:
        """What each possible report alone estimates, one row each."""
        reports = self.mechanism.possible_reports()
        if not self._has_table():
            rates, singles = self.mechanism.rates, []
            for part, own in zip(self.mechanism.parts, reports.parts, strict=True):  # type: ignore[attr-defined]
                columns = part.columns_of(own)
                counts = [
                    part.count(part.reports_of(tuple(column[at : at + 1] for column in columns))).counts
                    for at in range(len(columns[0]))
                ]
                singles.append((np.array(counts, np.float64) - rates.nu) / rates.gain)
            return np.concatenate(singles)
        columns = self.mechanism.columns_of(reports)
        return np.array(
            [
                self.mechanism.estimate(
                    self.mechanism.reports_of(tuple(column[at : at + 1] for column in columns))
                ).probabilities
                for at in range(len(columns[0]))
            ]
        )

    def _surest(self, Q: NDArray[np.float64], users: int) -> float:
        """The largest certainty about one of n people from one report: all others have the item that fits least."""
        high, low = Q.max(axis=0), Q.min(axis=0)
        used = high > 0.0
        return float((high[used] / (high[used] + (users - 1) * low[used])).max())
