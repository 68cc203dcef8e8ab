"""What one person has sent over time, and what all of it guarantees, as JSON."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from entropie.document.base import AtLeastOne, Count, Part, Sha256, Share, Unlimited

EntryName = Annotated[str, Meta(min_length=1, max_length=200)]


class LedgerEntry(Part, frozen=True, omit_defaults=True):
    """Reports that count once however often the entry is met: their name, their mechanism, how many."""

    id: EntryName
    parameters: Annotated[dict[str, Any], Meta(description="The parameter document of the mechanism.")]
    reports: AtLeastOne
    digest: Annotated[Sha256 | None, Meta(description="Of a report that the device keeps and sends again.")] = None


class LedgerDocument(Part, frozen=True):
    """Entries in the order of their names."""

    schema: Literal["entropie.ledger"]
    version: Literal[1]
    entries: list[LedgerEntry]


class Room(Part, frozen=True):
    """Where a quantity is, where it must stop, and how far it may still go; null without a limit."""

    now: Unlimited
    limit: float | None
    left: float | None


class Left(Part, frozen=True):
    """What is left of a budget: epsilon and certainty may still rise, the error rate may still fall.

    `epsilon_left` is the epsilon that the limits on epsilon and on certainty both leave; null where neither is set.
    """

    within: Annotated[bool, Meta(description="Whether every limit is kept.")]
    epsilon: Room
    certainty: Room
    bayes_error: Room
    epsilon_left: float | None


class SpentAlone(Part, frozen=True):
    """What holds for an attacker who sees the reports of one person alone."""

    alpha_bits: Unlimited
    bayes_error: Share
    list_error: Share
    posterior_max: Share


class AllReports(Part, frozen=True):
    """What holds for an attacker who has everybody's reports, shuffled, and names the sender of one entry of the store.

    An entry is all the reports of a person where they are linked to each other, and else a single report.
    """

    linked: bool
    alpha_bits: Unlimited
    bayes_error: Share
    list_error: Share
    posterior_max: Share


class SpentOnce(Part, frozen=True):
    """The reports of one mechanism."""

    parameters_id: Sha256
    kind: str
    reports: Count
    epsilon: Unlimited
    theta: Share
