"""The question behind a guarantee: how many people, how many reports of each, and what an attacker may do."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from entropie.theory import checks


@dataclass(frozen=True, slots=True)
class Crowd:
    """People who send reports, and the attacker who wants to know whose they are.

    users        people
    reports      reports of each; who has fewer to send fills them up with reports about made-up items
    list_size    guesses of the attacker
    prior_max    the chance of the likeliest person without a report; 1/users where it is None
    linked       whether the reports of one person can be told to be one person's
    """

    users: int
    reports: int = 1
    list_size: int = 1
    prior_max: float | None = None
    linked: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", checks.whole_number("users", self.users))
        object.__setattr__(self, "reports", checks.whole_number("reports", self.reports))
        object.__setattr__(self, "list_size", checks.whole_number("list", self.list_size))
        if self.prior_max is not None:
            object.__setattr__(self, "prior_max", checks.prior_max_value(self.prior_max, self.users))

    @property
    def best_guess(self) -> Fraction:
        """The chance of naming the likeliest person without a report."""
        return Fraction(1, self.users) if self.prior_max is None else Fraction(self.prior_max)

    @property
    def guesses(self) -> Fraction:
        """The chance of all guesses together without a report."""
        return min(self.list_size, self.users) * self.best_guess
