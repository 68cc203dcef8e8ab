"""What a device keeps: answers that were drawn and what they cost, in one file, on the disk before anything is sent.

The file is readable by its owner alone and replaced as a whole, under a lock that goes when its process does. The true
answer is never in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from entropie.document.base import Part, Sha256, converted, parsed
from entropie.errors import InvalidInput, OutputFailed, printable
from entropie.mechanisms.ledger import Ledger

if sys.platform != "win32":
    import fcntl

_REMEDY = "a new one would forget what was sent: restore it, or opt out for good"


class Answer(Part, frozen=True):
    """One answer: the record that was drawn, and whether the collector has confirmed it."""

    collection: Sha256
    question: Annotated[str, Meta(max_length=200)]
    record: Annotated[str, Meta(pattern="^[0-9a-f]{48}$", description="24 bytes, as they are sent.")]
    confirmed: bool


class Kept(Part, frozen=True):
    """All that a device keeps. `ledger` is the document of an `entropie.Ledger`."""

    schema: Literal["entropie.device"] = "entropie.device"
    version: Literal[1] = 1
    opted_out: bool = False
    answers: tuple[Answer, ...] = ()
    ledger: str = Ledger().to_document()

    @property
    def spent(self) -> Ledger:
        """What all answers cost."""
        return Ledger.from_document(self.ledger)

    def answer(self, collection: str, question: str) -> Answer | None:
        """The answer to a question that was drawn before, if it was."""
        same = (one for one in self.answers if (one.collection, one.question) == (collection, question))
        return next(same, None)

    def of(self, collection: str) -> tuple[Answer, ...]:
        """All answers to a collection."""
        return tuple(one for one in self.answers if one.collection == collection)

    def debited(self, answer: Answer, ledger: Ledger) -> Kept:
        """With one more answer and what it cost."""
        return msgspec.structs.replace(self, answers=(*self.answers, answer), ledger=ledger.to_document())

    def confirmed(self, record: str) -> Kept:
        """With this record confirmed."""
        answers = tuple(
            msgspec.structs.replace(one, confirmed=True) if one.record == record else one for one in self.answers
        )
        return msgspec.structs.replace(self, answers=answers)


class Keeper:
    """The file, changed by one process at a time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def read(self) -> Kept:
        """What is kept; nothing where there is no file yet."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return Kept()
        except OSError as problem:
            raise self._refusal(problem) from None
        name = f"The ledger {printable(str(self.path))}"
        return converted(parsed(content, name, _REMEDY), Kept, name, _REMEDY)

    @contextlib.contextmanager
    def changing(self) -> Iterator[Kept]:
        """What is kept, while nobody else changes it; `keep` writes the next state."""
        if sys.platform == "win32":
            raise InvalidInput("A ledger needs a system with file locks, which Windows has not; use another device.")
        try:
            lock = os.open(self.path.with_name(f".{self.path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise self._refusal(problem) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self.read()
        finally:
            os.close(lock)

    def keep(self, state: Kept) -> None:
        """Write the next state: on the disk, file and folder, when this returns. Only inside `changing`."""
        hidden = self.path.with_name(f".{self.path.name}.next")
        try:
            file = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                os.fchmod(file, 0o600)
                left = memoryview(json.dumps(state.to_json(), sort_keys=True).encode())
                while left:
                    left = left[os.write(file, left) :]
                os.fsync(file)
            finally:
                os.close(file)
            hidden.replace(self.path)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as problem:
            raise self._refusal(problem) from None

    def _refusal(self, problem: OSError) -> OutputFailed:
        name, why = printable(str(self.path)), problem.strerror or type(problem).__name__
        return OutputFailed(f"The ledger {name} cannot be kept ({why}); nothing was drawn or sent.")
