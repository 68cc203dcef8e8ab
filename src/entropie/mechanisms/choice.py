"""A random choice between mechanisms, made anew for every report and told to the collector.

Convexity: if every part keeps I(U;Y) below alpha, so does the choice; more precisely the bounds are averaged.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from entropie.errors import InvalidInput, InvalidParameter
from entropie.estimation.counts import Counters, Counts
from entropie.mechanisms import parameters, probability
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.randomness import Source
from entropie.mechanisms.values import checked_value
from entropie.theory import any_mechanism, composition, fano, paper
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import ChannelParameters, Guarantee, all_reports, error_of, raised
from entropie.theory.loss import CountingRates


class ChosenReport(NamedTuple):
    """One report: which part made it, and what that part reported."""

    choice: int
    report: Any


class ChosenReports(NamedTuple):
    """Many reports: the part that made each, and every part's own reports in their order."""

    choice: NDArray[np.uint64]
    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True, init=False)
class RandomChoice(Mechanism):
    """Use one of several mechanisms over the same domain, each with its own probability."""

    kind: ClassVar[str] = "choice"
    title: ClassVar[str] = "random choice"
    alone_is_exact: ClassVar[bool] = False
    parts: tuple[Mechanism, ...]
    weight_numerators: tuple[int, ...]
    """Part i is used with probability weight_numerators[i] / 2^64."""

    def __init__(self, parts: Sequence[Mechanism], weights: Sequence[float | Fraction]) -> None:
        rule = "Parameter `weights` must be one probability per mechanism, with sum 1."
        try:
            shares = [Fraction(weight) for weight in weights]
            members = tuple(parts)
        except (TypeError, ValueError, OverflowError):
            raise InvalidParameter(rule) from None
        if len(members) != len(shares) or not members or min(shares) < 0 or abs(float(sum(shares)) - 1.0) > 1e-9:
            raise InvalidParameter(rule)
        numerators = [math.floor(share * probability.ONE / sum(shares)) for share in shares]
        numerators[shares.index(max(shares))] += probability.ONE - sum(numerators)
        self._set(members, tuple(numerators))

    def _set(self, parts: tuple[Mechanism, ...], numerators: tuple[int, ...]) -> None:
        if not all(isinstance(part, Mechanism) for part in parts):
            raise InvalidParameter("Parameter `parts` must be mechanisms.")
        if len({part.domain_size for part in parts}) != 1:
            raise InvalidParameter("Parameter `parts` must be mechanisms over the same domain.")
        if any(isinstance(part, RandomChoice) for part in parts):
            raise InvalidParameter("Parameter `parts` must be plain mechanisms, not choices themselves.")
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "weight_numerators", numerators)

    @property
    def weights(self) -> tuple[float, ...]:
        """Probability of each part."""
        return tuple(numerator / probability.ONE for numerator in self.weight_numerators)

    @property
    def domain_size(self) -> int:  # type: ignore[override]
        """How many items there are."""
        return self.parts[0].domain_size

    @property
    def theta(self) -> float:
        """Probability of telling the truth, over the choice and the part's own draw."""
        return self._mean(part.theta for part in self.parts)

    @property
    def truth(self) -> Fraction:
        """Theta to its last digit."""
        parts = zip(self.parts, self.weight_numerators, strict=True)
        return sum((Fraction(numerator, probability.ONE) * part.truth for part, numerator in parts), Fraction(0))

    @property
    def epsilon(self) -> float:
        """The local differential privacy that is kept: the weakest part's, since the choice is told."""
        return max(part.epsilon for part, n in zip(self.parts, self.weight_numerators, strict=True) if n)

    @property
    def rates(self) -> CountingRates:
        """Averages: a report of unknown make supports its item as often as the parts do on average."""
        rates = [part.rates for part in self.parts]
        return CountingRates(
            mu=self._mean(r.mu for r in rates),
            nu=self._mean(r.nu for r in rates),
            gain=self._mean(r.gain for r in rates),
            mu_off=self._mean(r.mu_off for r in rates),
        )

    def _mean(self, values: Any) -> float:
        return math.fsum(w * v for w, v in zip(self.weights, values, strict=True) if w)

    def success_alone(self, users: int) -> Fraction:
        """At most the average of the parts, whose worst data may differ."""
        parts = zip(self.parts, self.weight_numerators, strict=True)
        return sum((Fraction(n, probability.ONE) * part.success_alone(users) for part, n in parts), Fraction(0))

    def bits_alone(self, users: int) -> float:
        """At most the average of the parts."""
        return self._mean(part.bits_alone(users) for part in self.parts)

    @property
    def report_bits(self) -> float:
        """The choice, and the longest report of a part."""
        return math.log2(len(self.parts)) + max(part.report_bits for part in self.parts)

    def guarantee_for(self, crowd: Crowd) -> Guarantee:
        """The parts' guarantees, averaged; for several reports the bounds that need only theta."""
        n, t, prior_max = crowd.users, crowd.reports, crowd.prior_max
        parts = [part.guarantee_for(replace(crowd, reports=1)) for part in self.parts]
        answers = max(min(part.mechanism.answers, self.domain_size) for part in parts)

        def mean(name: str) -> float:
            return self._mean(getattr(part, name) for part in parts)

        def error(guesses: int, single_error: str) -> float:
            if t == 1:
                return mean(single_error)
            direct = composition.success(self.theta, answers, n, t, guesses, prior_max or 0.0)
            return error_of(raised(min(direct, fano.success(alpha, n, prior_max, guesses))))

        alpha = composition.alpha_bits(mean("alpha_bits"), self.theta, answers, n, t)
        alpha_paper = t * mean("alpha_bits_paper")
        entry_bits = alpha if crowd.linked else mean("alpha_bits")
        return Guarantee(
            mechanism=ChannelParameters(self.kind, self.domain_size, self.epsilon, theta=self.theta),
            users=n,
            reports_per_user=t,
            list_size=crowd.list_size,
            prior_max=prior_max,
            alpha_bits=alpha,
            alpha_bits_paper=alpha_paper,
            alpha_bits_ldp=t * mean("alpha_bits_ldp"),
            alpha_bits_ldp_tight=t * mean("alpha_bits_ldp_tight"),
            bayes_error=error(1, "bayes_error"),
            bayes_error_paper=paper.bayes_error(alpha_paper, n, prior_max),
            bayes_error_fano=fano.bayes_error(alpha, n, prior_max),
            list_error=error(crowd.list_size, "list_error"),
            max_leakage_bits=min(math.log2(n), t * math.log2(self._mean(2.0**part.max_leakage_bits for part in parts))),
            per_user_bits=t * mean("per_user_bits"),
            posterior_max=any_mechanism.posterior_max(n, self.epsilon, t, prior_max),
            contraction=mean("contraction"),
            all_reports=all_reports(crowd, self.domain_size, self.truth, self.epsilon, entry_bits),
        )

    def obfuscate(self, value: int) -> ChosenReport:
        """One report, for a device."""
        value = checked_value(value, self.domain_size)
        word, choice = secrets.randbits(64), 0
        while word >= self.weight_numerators[choice]:
            word -= self.weight_numerators[choice]
            choice += 1
        return ChosenReport(choice, self.parts[choice].obfuscate(value))

    def draw(self, values: NDArray[np.uint64], source: Source) -> ChosenReports:
        """A part for every report, then that part's own reports."""
        words, choice = source.words(len(values)), np.zeros(len(values), np.uint64)
        passed = 0
        for numerator in self.weight_numerators[:-1]:
            passed += numerator
            choice += ~probability.happens(passed, words)
        parts = (part.draw(values[choice == i], source) for i, part in enumerate(self.parts))
        return ChosenReports(choice, tuple(parts))

    @property
    def report_columns(self) -> dict[str, int]:
        """Refused: the parts have reports of their own shapes."""
        raise InvalidInput("Files of reports hold one kind of mechanism; a random choice has no table form.")

    def rows_of(self, reports: Any) -> NDArray[np.uint64]:
        """The choice, and the row of the part, filled up with zeros."""
        parts = [part.rows_of(own) for part, own in zip(self.parts, reports.parts, strict=True)]
        rows = np.zeros((len(reports.choice), 1 + max(part.shape[1] for part in parts)), np.uint64)
        rows[:, 0] = reports.choice
        for place, part in enumerate(parts):
            rows[reports.choice == place, 1 : 1 + part.shape[1]] = part
        return rows

    def supports(
        self, reports: Any, items: NDArray[np.uint64] | None, threads: int | None = None
    ) -> tuple[Counters, int]:
        """The supports of all parts together."""
        if not isinstance(reports, ChosenReports) or len(reports.parts) != len(self.parts):
            raise InvalidInput(f"Reports of a random choice must be `ChosenReports` with {len(self.parts)} parts.")
        counts = Counts("", self.domain_size, items)
        for part, own in zip(self.parts, reports.parts, strict=True):
            counts.add_supports(*part.supports(own, counts.items, threads))
        return counts.counts, counts.reports

    def possible_reports(self) -> ChosenReports:
        """Every report of every part."""
        parts = tuple(part.possible_reports() for part in self.parts)
        sizes = [len(part.columns_of(own)[0]) for part, own in zip(self.parts, parts, strict=True)]
        return ChosenReports(np.repeat(np.arange(len(parts), dtype=np.uint64), sizes), parts)

    def likelihoods(self, reports: Any) -> NDArray[np.float64]:
        """Those of the part that made a report, times its weight."""
        found = np.empty((len(reports.choice), self.domain_size))
        for place, (part, own) in enumerate(zip(self.parts, reports.parts, strict=True)):
            found[reports.choice == place] = self.weights[place] * part.likelihoods(own)
        return found

    def to_parameters(self) -> dict[str, Any]:
        """The fields of the parameter document."""
        return {
            "kind": self.kind,
            "parts": [part.to_parameters() for part in self.parts],
            "weight_numerators": [str(numerator) for numerator in self.weight_numerators],
        }

    @classmethod
    def from_parameters(cls, fields: dict[str, Any]) -> RandomChoice:
        """The mechanism that a parameter document describes."""
        parts, weights = parameters.only(fields, "parts", "weight_numerators")
        if not isinstance(parts, list) or not isinstance(weights, list) or len(parts) != len(weights) or not parts:
            raise InvalidInput("Fields `parts` and `weight_numerators` must be lists of the same length.")
        numerators = tuple(parameters.integer("weight_numerators", weight) for weight in weights)
        if sum(numerators) != probability.ONE:
            raise InvalidInput("Field `weight_numerators` must sum to 2^64.")
        mechanism = cls.__new__(cls)
        mechanism._set(tuple(parameters.from_fields(part) for part in parts), numerators)
        return mechanism
