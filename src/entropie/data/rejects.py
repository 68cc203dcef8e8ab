"""Rows that cannot be used, counted by reason, so that nothing is dropped in silence."""

from __future__ import annotations

from collections import Counter

from entropie.errors import InvalidInput, option

__all__ = ["NOT_UTF8", "Rejects"]

NOT_UTF8 = "not UTF-8"  # the one reason with a remedy of its own

# A file of nothing but bad lines must fail soon, however long it is.
_GIVE_UP_AFTER = 100_000


class Rejects:
    """Counts of rows left out: `dirty` ones speak against the file, `excluded` ones fall to a rule.

    `patient` counts do not give up by themselves: they are of a part, and only the whole can be judged. `strict` ones
    refuse the first row that cannot be used, where every row must count.
    """

    def __init__(self, name: str, *, patient: bool = False, strict: bool = False) -> None:
        self.name = name
        self.patient = patient
        self.strict = strict
        self.dirty: Counter[str] = Counter()
        self.excluded: Counter[str] = Counter()
        self.first: dict[str, str] = {}
        self.accepted = 0

    def add_dirty(self, reason: str, count: int = 1, example: str | None = None) -> None:
        """Count rows that cannot be used; stop a hopeless file early."""
        if count == 0:
            return
        if self.strict:
            raise InvalidInput(f"{self.name} has a row with {reason} ({example!r}); mend it, every row counts here.")
        self.dirty[reason] += count
        if example is not None:
            self.first.setdefault(reason, example)
        if not self.patient:
            self.check_hopeless()

    def check_hopeless(self) -> None:
        """Raise if most rows cannot be used, and there are many of them."""
        total = self.dirty.total()
        if total >= _GIVE_UP_AFTER and total > self.accepted:
            raise InvalidInput(
                f"More than half of {self.name} cannot be used ({self.summary()}); is it a table of events?"
            )

    def check_share(self, rows: int, limit: float) -> None:
        """Raise if too large a share of all rows is dirty."""
        dirty = self.dirty.total()
        if rows and dirty > limit * rows:
            raise InvalidInput(
                f"{dirty:,} of {rows:,} rows of {self.name} ({dirty / rows:.2%}) cannot be used "
                f"({self.summary()}), more than the limit of {limit:.2%}; "
                f"{self._remedy()}, or raise {option('max_dirty_share')}."
            )

    def _remedy(self) -> str:
        """What to do about the most frequent reason."""
        if self.dirty.most_common(1)[0][0] == NOT_UTF8:
            return "convert it to UTF-8 (from Latin-1: `iconv -f latin1 -t utf-8 in > out`)"
        return "clean the file"

    def summary(self) -> str:
        """List what was left out by reason, the most frequent first, with an example where there is one."""
        return ", ".join(
            f"{reason}: {count:,}" + (f", first {self.first[reason]!r}" if reason in self.first else "")
            for reason, count in (self.dirty + self.excluded).most_common()
        )
