"""What mechanisms with one probability share: the truth plays a part with T/2^64, else a report is noise."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Self

from entropie.mechanisms import parameters, probability
from entropie.mechanisms.mechanism import Mechanism
from entropie.theory import checks
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import ChannelParameters, Guarantee, noisy_guarantee


class TruthMechanism(Mechanism):
    """A mechanism that whole numbers and `theta_numerator` describe.

    numbers   its whole numbers, by which `from_theta` and the parameter document know it
    """

    __slots__ = ()

    numbers: ClassVar[tuple[str, ...]] = ("domain_size",)
    theta_numerator: int

    @classmethod
    def from_theta(cls, *, domain_size: int, theta: float | Fraction) -> Self:
        """The mechanism with this probability (rounded down to a multiple of 2^-64); takes all `numbers` by name."""
        mechanism = cls.__new__(cls)
        mechanism._set(domain_size, probability.numerator_of_theta(theta))
        return mechanism

    def _set(self, domain_size: int, theta_numerator: int, most: int = checks.LARGEST_SIZE) -> None:
        size = checks.whole_number("domain_size", domain_size, at_least=2, at_most=most)
        object.__setattr__(self, "domain_size", size)
        object.__setattr__(self, "theta_numerator", theta_numerator)

    def with_theta(self, theta: float | Fraction) -> Self:
        """The same with another probability of telling the truth."""
        return self.from_theta(**{name: getattr(self, name) for name in self.numbers}, theta=theta)

    @property
    def theta(self) -> float:
        """Probability that the item plays a part."""
        return self.theta_numerator / probability.ONE

    @property
    def truth(self) -> Fraction:
        """Theta to its last digit."""
        return Fraction(self.theta_numerator, probability.ONE)

    def to_parameters(self) -> dict[str, Any]:
        """The fields of the parameter document."""
        named = {name: str(getattr(self, name)) for name in (*self.numbers, "theta_numerator")}
        return {"kind": self.kind, **named}

    @classmethod
    def from_parameters(cls, fields: dict[str, Any]) -> Self:
        """The mechanism that a parameter document describes."""
        *numbers, numerator = parameters.integers_and_theta(fields, *cls.numbers)
        theta = Fraction(numerator, probability.ONE)
        return cls.from_theta(**dict(zip(cls.numbers, numbers, strict=True)), theta=theta)


class ShapedMechanism(Mechanism):
    """A mechanism whose noise is not uniform over items or hash values: its guarantee follows from its own law.

    It says itself what one report tells at worst (`success_alone`, `bits_alone`); all else follows from these, its
    Doeblin constant (`truth`) and epsilon.
    """

    __slots__ = ()

    @property
    def channel(self) -> ChannelParameters:
        """The numbers a guarantee depends on."""
        return ChannelParameters(self.kind, self.domain_size, self.epsilon, theta=self.theta)

    @abstractmethod
    def success_alone(self, users: int) -> Fraction:
        """Worst-case chance of naming the sender of one report."""

    @abstractmethod
    def bits_alone(self, users: int) -> float:
        """Worst-case information in one report about its sender."""

    def guarantee_for(self, crowd: Crowd) -> Guarantee:
        """What one report tells at worst, and what follows for several and for all."""
        return noisy_guarantee(crowd, self.channel, self.truth, self._factor(crowd.users), self.bits_alone(crowd.users))

    def _factor(self, users: int) -> float:
        """By how much a report that is no noise raises the best guess: n V = (1 - theta) + theta factor."""
        raised = self.success_alone(users) * users - (1 - self.truth)
        return float(max(Fraction(1), raised / self.truth)) if self.truth else 1.0
