"""A waiver: somebody answers, for a time and in writing, for data that do not meet their limit."""

from __future__ import annotations

import datetime
import os
import re
from dataclasses import dataclass
from typing import Any

from entropie.errors import InvalidInput
from entropie.gate.profiles import OWN, Profile
from entropie.gate.toml import read_toml

__all__ = ["Waiver", "read_waiver"]

_REQUIRED = ("reason", "expires", "granted_by", "profile")


@dataclass(frozen=True, slots=True)
class Waiver:
    """Who waives which limit, why and until when (that day included).

    profile        name of the profile, or the title of a limit of the user's own
    input_sha256   where given, the waiver is for this very input and no other
    """

    reason: str
    expires: datetime.date
    granted_by: str
    profile: str
    input_sha256: str | None = None

    def __post_init__(self) -> None:
        for name in ("reason", "granted_by", "profile"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise InvalidInput(f"The waiver's `{name}` must be a text that is not empty, got {value!r} instead.")
        if not isinstance(self.expires, datetime.date) or isinstance(self.expires, datetime.datetime):
            raise InvalidInput(
                f"The waiver's `expires` must be a date such as 2027-01-31, got {self.expires!r} instead."
            )
        digest = self.input_sha256
        if digest is not None and (not isinstance(digest, str) or not re.fullmatch(r"[0-9a-f]{64}", digest)):
            raise InvalidInput(
                f"The waiver's `input_sha256` must be 64 hexadecimal digits (input.sha256 of the assessment), "
                f"got {digest!r} instead."
            )

    def hindrance(self, profile: Profile, input_sha256: str | None, today: datetime.date) -> str | None:
        """Why the waiver does not hold, in a sentence; None where it does."""
        held = profile.title if profile.name == OWN else profile.name
        if today > self.expires:
            return f"The waiver granted by {self.granted_by} expired on {self.expires} and has no effect."
        if self.profile != held:
            return f"The waiver is for the profile {self.profile!r}, not for {held!r}, and has no effect."
        if self.input_sha256 is not None and self.input_sha256 != input_sha256:
            return "The waiver is for another input (its SHA-256 differs) and has no effect."
        return None

    def to_json(self, applies: bool, hindrance: str | None) -> dict[str, Any]:
        """The documented object inside a verdict; `hindrance` says why it does not apply."""
        return {
            "reason": self.reason,
            "expires": self.expires.isoformat(),
            "granted_by": self.granted_by,
            "applies": applies,
            "reason_without_effect": hindrance,
        }


def read_waiver(path: str | os.PathLike[str]) -> Waiver:
    """The waiver in a TOML file."""
    found = read_toml("Waiver", path, (*_REQUIRED, "input_sha256"), _REQUIRED)
    if isinstance(found["expires"], str):
        found["expires"] = _date(found["expires"])
    return Waiver(**found)


def _date(text: str) -> datetime.date | str:
    """A date that was written between quotes."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return text  # refused by the waiver itself, with the rule
