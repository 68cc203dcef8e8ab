"""Numbers that the authors published, to be laid beside what is found here.

T. Murakami, K. Takahashi, "Toward Evaluating Re-identification Risks in the Local Privacy Model", Transactions on Data
Privacy 14 (2021), and the results that they published with their code. Nothing here is computed.
"""

from __future__ import annotations

SOURCE = "Murakami and Takahashi, Transactions on Data Privacy 14 (2021), and the results published with their code"

USERS, DOMAIN_SIZE = 1_370_637, 10_500_393
"""People with at least 10 check-ins and the places they visited (Foursquare, Yang et al., WWW 2019)."""

RATERS = 185_107
"""People with at least 10 ratings of 4 and above (MovieLens latest)."""

HASH_SIZE = 10**8
"""g of local hashing in the figures."""

PSE_BITS: dict[tuple[str, str], dict[str, float]] = {
    ("check-ins", "markov"): {
        "1": 12.493, "2": 17.911, "3": 19.516, "4": 19.747, "5": 19.919, "whole": 19.961,
    },
    ("ratings", "markov"): {"1": 3.084, "2": 7.837, "3": 10.692, "4": 13.318, "5": 15.268, "whole": 18.854},
    ("check-ins", "visit"): {"whole": 16.091},
    ("ratings", "visit"): {"whole": 17.151},
}  # fmt: skip
"""PSE with maximum knowledge: (data, matcher) to events attacked to bits."""

BIOMETRIC_BITS = {"face": 11.195, "fingerprint": 19.973, "finger vein": 23.186}
"""BSE, the same measure for biometric features: BSSR1 Set 3, CASIA fingerprints, finger veins."""

RELATIVE_ERRORS = {"plain": 1.05, "guaranteed": 0.10}
"""Mean relative error of the 20 most visited places at epsilon = 10 and at a guaranteed error of 0.92."""


def published_bits(data: str, matcher: str, events: str) -> float | None:
    """The published PSE with maximum knowledge, where there is one."""
    return PSE_BITS.get((data, matcher), {}).get(events)
