"""The limits a verdict may be held against: each has a name, a source, and says which risk it is for.

None of them is law, and none was written for traces of events. They are precedents: what custodians and agencies have
accepted. Whoever sets a limit of their own names it and says which risk it is for.
"""

from __future__ import annotations

from entropie.document.verdict import Measure, Profile
from entropie.errors import InvalidParameter, meant, option

OWN = "own"
"""The name of every limit that the user set."""

_CELL_SIZES = (
    "K. El Emam, Guide to the De-Identification of Personal Health Information (CRC Press, 2013), chapter "
    "'Cell Size Precedents'; also K. El Emam and B. Malin, appendix B of Sharing Clinical Trial Data "
    "(Institute of Medicine, 2015)"
)


def _group(size: int, name: str, title: str, source: str, note: str) -> Profile:
    """A limit that is rounded from nobody being in a group smaller than this."""
    return Profile(name, title, round(1.0 / size, 2), "maximum", source, note, size)


_SHIPPED = (
    _group(
        3, "custodian-033", "custodian precedent, groups of three", _CELL_SIZES,
        "Some custodians release to known recipients when nobody is in a group smaller than 3: at most 1/3.",
    ),
    _group(
        5, "custodian-020", "custodian precedent, groups of five", _CELL_SIZES,
        "The most common custodian rule, nobody in a group smaller than 5: at most 1/5.",
    ),
    _group(
        11, "ema", "European Medicines Agency, Policy 0070",
        "European Medicines Agency, External guidance on the implementation of Policy 0070 (EMA/90915/2016), "
        "chapter 3 on anonymisation",
        "Recommended for clinical reports made public; 0.09 is a group of 11.",
    ),
    _group(
        11, "health-canada", "Health Canada, Public Release of Clinical Information",
        "Health Canada, Public Release of Clinical Information: guidance document (2019)",
        "The same recommendation as the European agency's, for clinical information made public.",
    ),
    _group(
        20, "public-005", "public release, groups of twenty", _CELL_SIZES,
        "Used for some public releases of patient data, nobody in a group smaller than 20: at most 1/20.",
    ),
    Profile(
        name="arx-highest",
        title="ARX default, highest risk",
        limit=0.20,
        speaks_of="maximum",
        source="ARX Data Anonymization Tool, default thresholds of its risk view (class ModelRisk)",
        note="A program's default, not a recommendation; ARX sets it for the record at greatest risk.",
    ),
    Profile(
        name="arx-success",
        title="ARX default, success rate",
        limit=0.05,
        speaks_of="average",
        source="ARX Data Anonymization Tool, default thresholds of its risk view (class ModelRisk)",
        note=(
            "A program's default, not a recommendation; ARX sets it for the share of records re-identified on average. "
            "Its third default, at most 5 % of records above the highest risk, has no counterpart here."
        ),
    ),
)  # fmt: skip

PROFILES: dict[str, Profile] = {profile.name: profile for profile in _SHIPPED}
"""Every shipped profile by name, from the loosest to the strictest of its kind."""


def profile_named(name: str) -> Profile:
    """The shipped profile of that name, in capitals or not."""
    if name.lower() not in PROFILES:
        raise InvalidParameter(
            f"Parameter `profile` must be one of {', '.join(PROFILES)} (a limit of your own goes with "
            f"{option('limit')}), got {name!r} instead{meant(name, PROFILES)}"
        )
    return PROFILES[name.lower()]


def own_profile(limit: float, title: str, measure: Measure) -> Profile:
    """A limit that the user set, for the measure they want it held against."""
    if not 0.0 < limit < 1.0:
        raise InvalidParameter.of("limit", "a share above 0 and below 1, such as 0.09 or 9%", limit)
    if not title.strip():
        raise InvalidParameter("Parameter `limit_name` must not be empty: say where the limit comes from.")
    return Profile(
        name=OWN,
        title=title.strip(),
        limit=limit,
        speaks_of="average" if measure == "average" else "maximum",
        source="declared by the user",
        note="Whoever set it answers for it.",
    )
