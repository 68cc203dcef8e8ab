"""What is guaranteed when everybody's reports leak, as documents have it."""

from __future__ import annotations

from entropie.document.base import Part, Share, Unlimited


class AllReports(Part, frozen=True):
    """What holds for an attacker who has everybody's reports, shuffled, and names the sender of one entry of the store.

    An entry is all the reports of a person where they are linked to each other, and else a single report.
    """

    linked: bool
    alpha_bits: Unlimited
    bayes_error: Share
    list_error: Share
    posterior_max: Share
