"""Everybody's reports in one hand: what a collector, or whoever steals the store, can learn from all of them.

n people send t reports each; the store is shuffled, whole people where the reports of one person are linked to each
other, report by report where they are not. The attacker knows everybody's data, sees the whole store and names the
sender of one entry: a person's t reports, or a single one. A mechanism with Doeblin constant theta sends something
that depends on the datum with probability theta and else noise from one law for all (randomized response and local
hashing exactly so). Write f = 1 - (1-theta)^t for linked entries, theta for single ones, N for the number of entries
(n, or nt) and D for the number of data that an entry may have (at most n; k^t, or k).

Proofs. An oracle tells which reports are noise; that only helps the attacker.
- The entry is not all noise (probability f): let the oracle tell its data too. People with the same data can be
  exchanged, so that naming one of them is right with the largest prior among them: at most min(1, L D p) for L guesses
  and a largest prior p. In bits it tells the data, at most log D.
  That is also a bound whatever the noise: let the oracle tell the data of all entries, then reports tell nothing more.
- The entry is all noise: let the oracle tell who sent every other entry that is not. What remains are the senders of
  1 + M noisy entries, M ~ Bin(N-1, 1-f), that can be exchanged: L guesses are right with L n p E 1/(1+M) at most, and
  E 1/(1+M) = (1 - f^N)/(N (1-f)). An entry of a person has company of their own where reports are not linked: then the
  entropy that remains is E log(1+M) - E log(1+M'), M' ~ Bin(t-1, 1-theta), and up to t of the entries are theirs.
- Certainty: exchanging two people's entries changes 2t reports (2 where they are not linked), each by a factor of w at
  most; so every other person keeps w^-2t of the weight. Attained where all others have one datum and report it.
- Reports are independent given who sent what, so all of them tell at most N alpha bits about the order, alpha for one
  entry alone; the entropies of the N senders add up to at most N log n, log of the number of orders above that of the
  order. One entry therefore tells at most alpha + log n - (1/N) log(N!/t!^n), t = 1 where linked: 1.44 bits more.
An erasure, which shows its noise, attains the first two with different data for all.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from entropie.theory import any_mechanism
from entropie.theory.crowd import Crowd
from entropie.theory.special import LN2, binomial_expectation, log_factorial_gap

_CONTEXT = decimal.Context(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


@dataclass(frozen=True, slots=True)
class Sent:
    """Reports of each person by one mechanism: its theta, the number of items it is about, and how many."""

    theta: Fraction
    domain_size: int
    reports: int = 1


def success(crowd: Crowd, domain_size: int, theta: Fraction) -> Fraction:
    """The share of L guesses that no attacker exceeds: min(1, L D p), and f times that + min(1-f, L p (1-f^N))."""
    linked = success_of(crowd, (Sent(theta, domain_size, crowd.reports),))
    if crowd.linked or crowd.reports == 1:
        return linked
    entries = crowd.users * crowd.reports  # what is not linked is no easier to name than what is
    return min(linked, success_of(crowd, (Sent(theta, domain_size),), entries))


def success_of(crowd: Crowd, sent: Sequence[Sent], entries: int | None = None) -> Fraction:
    """The same where an entry is made of reports of several mechanisms; the store has an entry per person, or more."""
    guesses = crowd.guesses
    with decimal.localcontext(_CONTEXT):
        noise = Decimal(1)
        for part in sent:
            noise *= (1 - _decimal(part.theta)) ** part.reports
        told = 1 - noise
        known = _decimal(min(Fraction(1), guesses * _kinds(crowd.users, sent)))
        hidden = min(noise, _decimal(guesses) * (1 - told ** (entries or crowd.users)))
        return Fraction(min(known, told * known + hidden))


def alpha_bits(crowd: Crowd, domain_size: int, theta: float, alone_bits: float) -> float:
    """Bits about the sender of one entry; `alone_bits` is the bound for an entry that leaks alone.

    The smallest of log D, f log D + (1-f) [log n - E log(1+M) + E log(1+M')] and alone + log n - (1/N) log(N!/t!^n).
    """
    linked, own = (crowd.reports, 1) if crowd.linked else (1, crowd.reports)
    return alpha_bits_of(crowd, (Sent(Fraction(theta), domain_size, linked),), alone_bits, own)


def alpha_bits_of(crowd: Crowd, sent: Sequence[Sent], alone_bits: float, own: int = 1) -> float:
    """The same where an entry is made of reports of several mechanisms, and `own` entries are of one person."""
    n, thetas = crowd.users, [float(part.theta) for part in sent]
    entries = n * own
    noise = math.prod((1.0 - theta) ** part.reports for theta, part in zip(thetas, sent, strict=True))
    quiet = [part.reports * math.log1p(-theta) for theta, part in zip(thetas, sent, strict=True) if theta < 1.0]
    told = 1.0 if len(quiet) < len(sent) else -math.expm1(math.fsum(quiet))
    kinds = min(math.log2(n), math.fsum(part.reports * math.log2(part.domain_size) for part in sent))
    hidden = max(0.0, math.log2(n) - _mean_log2(entries - 1, noise) + _mean_log2(own - 1, noise))
    bounds = [kinds, told * kinds + noise * hidden]
    if crowd.prior_max is None:
        bounds.append(alone_bits + (log_factorial_gap(entries) - log_factorial_gap(own)) / LN2)
    return max(0.0, min(bounds))


def single_entries(
    numbers: Mapping[int, int], list_size: int, domain_size: int, theta: Fraction, epsilon: float, alone_bits: float
) -> tuple[float, Fraction, Fraction, float]:
    """Bits, success of one guess and of a list, and certainty about the sender of a single entry of a store.

    `numbers[t]` people sent t reports each, as the attacker knows. A person of t has the prior t/N, and the proofs
    above hold with the largest: of 1 + M noisy entries at most t are theirs, and exchanging an entry of theirs with
    one of another person, who has s, is possible in s ways where the other has t. The order has N!/prod t! values.
    """
    people, entries = sum(numbers.values()), sum(sent * some for sent, some in numbers.items())
    prior = min(1.0, math.nextafter(max(numbers) / entries, 2.0))
    shares = [(sent * some / entries, sent) for sent, some in numbers.items()]
    entropy = math.log2(entries) - math.fsum(share * math.log2(sent) for share, sent in shares)
    own = math.fsum(share * log_factorial_gap(sent) for share, sent in shares)
    bits = min(entropy, math.log2(min(people, domain_size)), alone_bits + (log_factorial_gap(entries) - own) / LN2)
    sent = (Sent(theta, domain_size),)
    one, several = (
        success_of(Crowd(people, list_size=guesses, prior_max=prior), sent, entries) for guesses in (1, list_size)
    )
    return max(0.0, bits), one, several, any_mechanism.posterior_max(people, epsilon, 2, prior)


def posterior_max(crowd: Crowd, epsilon: float) -> float:
    """Worst-case certainty about one person: w^2t p/(w^2t p + 1 - p), w^2 where reports are not linked."""
    changed = 2 * (crowd.reports if crowd.linked else 1)
    return any_mechanism.posterior_max(crowd.users, epsilon, changed, crowd.prior_max)


def _kinds(users: int, sent: Sequence[Sent]) -> int:
    """D: how many different data entries may have, up to the number of people."""
    kinds = 1
    for part in sent:
        if kinds >= users:
            break
        kinds *= min(users, part.domain_size) ** min(part.reports, users.bit_length())
    return min(users, kinds)


def _mean_log2(trials: int, probability: float) -> float:
    """E log2(1+M) for M ~ Bin(trials, probability)."""
    return binomial_expectation(lambda count: math.log2(1.0 + count), trials, probability) if trials else 0.0


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / value.denominator
