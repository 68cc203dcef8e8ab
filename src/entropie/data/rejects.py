"""Rows that cannot be used, counted by reason, so that nothing is dropped in silence."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from entropie.data.budget import Budget
from entropie.errors import InvalidInput, option
from entropie.words import percent

NOT_UTF8 = "not UTF-8"  # the one reason with a remedy of its own

SAME_STAY, SAME_CELL = "same stay as the row before", "same cell as the point before"
MERGED = (SAME_STAY, SAME_CELL)
"""Reasons of rows that are not lost: the event of the row before stands for them."""

# A file of nothing but bad lines must fail soon, however long it is.
_GIVE_UP_AFTER = 100_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows of a batch are: the number of the first, in lines of a text or rows of a table, and the file."""

    first: int
    unit: str = "row"
    exact: bool = True  # no line is left out between two rows
    file: str = ""

    def of(self, row: int) -> str:
        """Where a row is, counted from 0 in the batch."""
        return f"{'in' if self.exact else 'in or after'} {self.unit} {self.first + row:,}{self.file}"


class Rejects:
    """The account of every row: how many there are, and of those left out how many for which reason.

    counted    rows there are, as the reader counts them before anything is made of them
    accepted   rows that could be cut into fields
    dirty      rows left out that speak against the file
    excluded   rows left out that fall to a rule
    first      where the first row of a reason is
    expected   which column a reason speaks of, and what it should hold
    budget     what may be kept of the rows, in bytes

    `patient` counts do not give up by themselves: they are of a part, and only the whole can be judged. `strict` ones
    refuse the first row that cannot be used, where every row must count.
    """

    def __init__(self, name: str, memory: int | None = None, *, patient: bool = False, strict: bool = False) -> None:
        self.name = name
        self.budget = Budget(name, memory)
        self.patient = patient
        self.strict = strict
        self.dirty: Counter[str] = Counter()
        self.excluded: Counter[str] = Counter()
        self.first: dict[str, str] = {}
        self.expected: dict[str, str] = {}
        self._places: list[Place] = []
        self._starts: list[int] = []  # rows passed on before each of these places
        self._passed = 0
        self.accepted = 0
        self.counted = 0

    def accept(self, rows: int, place: Place, path: Path | None = None) -> None:
        """Count the rows of a batch that is about to be passed on, and note where they are."""
        within = "" if path is None or str(path) == self.name else f" of {path.name}"
        self._places.append(replace(place, file=within))
        self._starts.append(self._passed)
        self._passed += rows
        self.accepted += rows

    def narrow(self, rows: int) -> None:
        """Only so many rows of the batch accepted last are passed on."""
        self._places[-1] = replace(self._places[-1], exact=False)
        self._passed = self._starts[-1] + rows

    @property
    def last(self) -> Place:
        """Where the rows of the batch accepted last are."""
        return self._places[-1]

    def place(self, row: int) -> str | None:
        """Where a row is, counted from 0 among those passed on; None where nobody has told."""
        number = bisect_right(self._starts, row) - 1
        return None if number < 0 else self._places[number].of(row - self._starts[number])

    def check_complete(self, used: int) -> None:
        """Make sure that every row there is was used or left out for a reason: none may vanish."""
        left_out = self.dirty.total() + self.excluded.total()
        if self.counted != used + left_out:
            raise RuntimeError(
                f"Of {self.counted} rows counted in {self.name}, {used} were used and {left_out} left out."
            )

    def add_dirty(self, reason: str, count: int = 1, first: str | None = None) -> None:
        """Count rows that cannot be used; stop a hopeless file early."""
        if count == 0:
            return
        if self.strict:
            where = "" if first is None else f" {first}"
            raise InvalidInput(f"{self.name} has a row with {reason}{where}; mend it, every row counts here.")
        self.dirty[reason] += count
        if first is not None:
            self.first.setdefault(reason, first)
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
                f"{dirty:,} of {rows:,} rows of {self.name} ({percent(dirty / rows, beside=limit)}) cannot be used "
                f"({self.summary()}), more than the limit of {percent(limit)}; "
                f"{self._remedy()}, or raise {option('max_dirty_share')}."
            )

    def _remedy(self) -> str:
        """What to do about the most frequent reason."""
        if self.dirty.most_common(1)[0][0] == NOT_UTF8:
            return "convert it to UTF-8 (from Latin-1: `iconv -f latin1 -t utf-8 in > out`)"
        return "clean the file"

    def summary(self) -> str:
        """List what was left out by reason, the most frequent first: where the first is, and what was expected."""
        return "; ".join(
            f"{reason}: {count:,}"
            + (f", first {self.first[reason]}" if reason in self.first else "")
            + self.expected.get(reason, "")
            for reason, count in (self.dirty + self.excluded).most_common()
        )
