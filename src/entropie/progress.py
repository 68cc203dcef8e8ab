"""How long work tells where it stands: one type, from the readers to the terminal."""

from __future__ import annotations

from typing import Protocol

EXPECTED = "expected: "
"""How a stage begins that says how long the work will take: it is shown even where no progress is."""


class Progress(Protocol):
    """Called with what is being done and the share of it that is done, from 0 to 1."""

    def __call__(self, stage: str, share: float, /) -> None:
        """Tell."""


def silent(stage: str, share: float, /) -> None:
    """Tell nobody."""


def under(progress: Progress, title: str) -> Progress:
    """The progress of a part: its stages are shown under a title, as `reading: sort`."""
    return lambda stage, share: progress(f"{title}: {stage}", share)
