"""What pipelines read of one verdict, `--junit FILE` and `--markdown FILE`: checked before the work, written after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from entropie.cli.output import Attempts

if TYPE_CHECKING:
    from entropie.gate.judged import Judged


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Where to write them; None: nowhere."""

    junit: Path | None
    markdown: Path | None

    @classmethod
    def of(cls, junit: Path | None, markdown: Path | None, inputs: Sequence[Path] = ()) -> Verdicts:
        """Refuse files that cannot be written, that are among the inputs, or the same."""
        from entropie.atomic import check_file, refuse_overwriting

        refuse_overwriting(inputs, [junit, markdown])
        for path in (junit, markdown):
            if path is not None:
                check_file(path)
        return cls(junit, markdown)

    @property
    def paths(self) -> list[Path]:
        """The files named."""
        return [path for path in (self.junit, self.markdown) if path is not None]

    def write(self, attempts: Attempts, judged: Callable[[], Judged], title: str) -> None:
        """Write those that are wanted; one that fails keeps nothing else from being done."""
        from entropie.gate.junit import write_junit
        from entropie.gate.markdown import write_markdown

        for path, write in ((self.junit, write_junit), (self.markdown, write_markdown)):
            if path is not None:
                attempts.run(partial(write, path, [judged()], title))
