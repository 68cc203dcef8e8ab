"""A waiver: somebody answers, for a time and in writing, for data that do not meet their limit."""

from __future__ import annotations

import datetime
import os
from typing import Annotated

from msgspec import Meta

from entropie.document.base import Part, Sha256, converted
from entropie.document.verdict import Profile
from entropie.gate.profiles import OWN
from entropie.toml import read_toml

Text = Annotated[str, Meta(pattern=r"\S")]


class Waiver(Part, frozen=True):
    """Who waives which limit, why and until when (that day included).

    profile        name of the profile, or the title of a limit of the user's own
    input_sha256   where given, the waiver is for this input and no other
    """

    reason: Text
    expires: datetime.date
    granted_by: Text
    profile: Text
    input_sha256: Sha256 | None = None

    def hindrance(self, profile: Profile, input_sha256: str | None, today: datetime.date) -> str | None:
        """Why the waiver does not hold, in a sentence; None where it does."""
        held = profile.title if profile.name == OWN else profile.name
        if today > self.expires:
            return f"The waiver granted by {self.granted_by} expired on {self.expires} and has no effect."
        if self.profile.lower() != held.lower():
            return f"The waiver is for the profile {self.profile!r}, not for {held!r}, and has no effect."
        if self.input_sha256 is not None and self.input_sha256 != input_sha256:
            return "The waiver is for another input (its SHA-256 differs) and has no effect."
        return None


def read_waiver(path: str | os.PathLike[str]) -> Waiver:
    """The waiver in a TOML file."""
    name = f"Waiver {path}"
    values = read_toml(path, name)
    return converted(values, Waiver, name, f"it needs {', '.join(Waiver.__struct_fields__[:4])}")
