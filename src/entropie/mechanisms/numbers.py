"""What holds where people send different numbers of reports, and the attacker sees how many each person sent.

A person hides among those with the same number only. Proofs. Linked: the number tells the group, and nothing that other
groups send has a part in it, so that errors and bits are means over groups and certainty is the largest. Not linked:
the number tells a prior (`everybody.single_entries`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from entropie.document.base import AtLeastOne, Count, Part, Share
from entropie.document.ledger import AllReports, SpentAlone
from entropie.errors import InvalidParameter
from entropie.mechanisms.mechanism import Mechanism
from entropie.theory import checks, everybody
from entropie.theory.guarantee import ChannelParameters, Guarantee, error_of, raised


class SameNumber(Part, frozen=True):
    """People who send the same number of reports; `all_reports` is null where reports are not linked."""

    reports: AtLeastOne
    users: Count
    alone: SpentAlone
    all_reports: AllReports | None


class NumbersGuarantee(Part, frozen=True):
    """What holds for every distribution of the data where everybody's number of reports is known.

    numbers_bits         what the number of a person's reports alone tells about the person
    numbers_bayes_error  error rate of an attacker who sees nothing but that number
    alone                of all reports of a person that leak alone, linked by the leak
    """

    mechanism: ChannelParameters
    users: Count
    list_size: AtLeastOne
    numbers_bits: float
    numbers_bayes_error: Share
    alone: SpentAlone
    all_reports: AllReports
    groups: list[SameNumber]


def numbers_guarantee(
    mechanism: Mechanism, numbers: Mapping[int, int], list_size: int = 1, linked: bool = True
) -> NumbersGuarantee:
    """For `numbers[t]` people who send t reports each, all equally likely.

    >>> from entropie.mechanisms.randomized_response import RandomizedResponse
    >>> found = numbers_guarantee(RandomizedResponse(domain_size=100, epsilon=1.0), {1: 900, 5: 99, 20: 1})
    >>> found.numbers_bayes_error, found.all_reports.posterior_max
    (0.997, 1.0)
    """
    if not numbers:
        raise InvalidParameter.of("numbers", "people for at least one number of reports", dict(numbers))
    counted = {
        checks.whole_number("reports", sent): checks.whole_number("users", some) for sent, some in numbers.items()
    }
    people = checks.whole_number("users", sum(counted.values()))
    found = {
        sent: mechanism.guarantee(users=some, reports=sent, list_size=list_size)
        for sent, some in sorted(counted.items())
    }
    weights = {sent: counted[sent] / people for sent in found}
    told = math.fsum(-weight * math.log2(weight) for weight in weights.values())
    alone = {sent: _alone(given) for sent, given in found.items()}
    stores = {sent: given.all_reports for sent, given in found.items()}
    if linked:
        together = AllReports(linked=True, **_mean(weights, told, stores))
    else:
        bits, one, several, certainty = everybody.single_entries(
            counted, list_size, mechanism.domain_size, mechanism.truth, mechanism.epsilon, mechanism.bits_alone(people)
        )
        together = AllReports(False, bits, error_of(raised(float(one))), error_of(raised(float(several))), certainty)
    return NumbersGuarantee(
        mechanism=mechanism.channel,
        users=people,
        list_size=checks.whole_number("list", list_size),
        numbers_bits=told,
        numbers_bayes_error=1.0 - len(found) / people,
        alone=SpentAlone(**_mean(weights, told, alone)),
        all_reports=together,
        groups=[SameNumber(sent, counted[sent], alone[sent], stores[sent] if linked else None) for sent in found],
    )


def _alone(given: Guarantee) -> SpentAlone:
    return SpentAlone(given.alpha_bits, given.bayes_error, given.list_error, given.posterior_max)


def _mean(
    weights: Mapping[int, float], told: float, parts: Mapping[int, SpentAlone] | Mapping[int, AllReports]
) -> dict[str, float]:
    """Of errors and bits, with what the number tells; certainty is the largest."""

    def mean(name: str) -> float:
        return math.fsum(weights[sent] * getattr(part, name) for sent, part in parts.items())

    return {
        "alpha_bits": told + mean("alpha_bits"),
        "bayes_error": mean("bayes_error"),
        "list_error": mean("list_error"),
        "posterior_max": max(part.posterior_max for part in parts.values()),
    }
