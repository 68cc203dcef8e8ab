"""What every document shares: parts with fixed keys, one way to read a file, one to write it, and the JSON Schema."""

from __future__ import annotations

import datetime
import json
import math
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from entropie.errors import InvalidInput

_MOST = 10**18

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0, le=_MOST)]
AtLeastOne = Annotated[int, Meta(ge=1, le=_MOST)]
Size = Annotated[float, Meta(ge=0)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
if TYPE_CHECKING:
    Unlimited = float
else:
    Unlimited = float | None
"""A number that may be infinite, which JSON writes as null."""

Typed = TypeVar("Typed")


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a document, or a whole one; it has the keys named here and no others."""

    def to_json(self) -> dict[str, Any]:
        """Itself as JSON has it: lists, text for dates, null for what is infinite."""
        values: dict[str, Any] = _finite(msgspec.to_builtins(self))
        return values


class Column(Part, frozen=True):
    """The column of a role, and how it was found."""

    column: str | None
    how: str


class CategoryFacts(Part, frozen=True):
    """What was read of the categories of items; an item has the one that most of its rows name."""

    categories: Count
    items_with_several: Count
    items_without: Count


class KnownFacts(Part, frozen=True):
    """The file that the attacker holds, and how much of it is in the release."""

    source: str
    sha256: Sha256 | None
    people: Count
    events: Count
    in_both: Annotated[Count, Meta(description="People in both files: who can be re-identified.")]
    only_known: Annotated[Count, Meta(description="Candidates who are not in the release.")]
    only_release: Annotated[Count, Meta(description="Released traces whose owner is not in the known file.")]
    items_in_both: Count
    items_only_known: Count
    items_only_release: Count
    same_events_share: Annotated[
        Share | None,
        Meta(description="Share of the known events, of people in both, that the release has; null for reports."),
    ]
    shift_seconds: Annotated[int, Meta(description="Added to the known times, where clocks differ.")]
    notes: Annotated[list[str], Meta(description="What to know before relying on the attack.")] = field(
        default_factory=list
    )


class Input(Struct, frozen=True, omit_defaults=True):
    """What was read and what was excluded; empty for traces in memory."""

    source: str | None = None
    sha256: Sha256 | None = None
    rows: Count | None = None
    events: Count | None = None
    users: Count | None = None
    items: Count | None = None
    dropped: Annotated[dict[str, Count], Meta(description="Rows excluded, by reason.")] = {}
    duplicates: Count | None = None
    columns: dict[str, Column] = {}
    unused: Annotated[list[str], Meta(description="Columns that no attacker looked at.")] = []
    time_format: str | None = None
    order_only: bool = False
    order_told: Annotated[bool, Meta(description="Day or month first was told from the column.")] = False
    time_zone: Annotated[str | None, Meta(description="Of times that do not say it.")] = None
    repeated_times: Annotated[
        Count | None, Meta(description="Events at a local time that clocks show twice, read as the first.")
    ] = None
    time_assumed: Annotated[
        Literal["order", "seconds", "declared order"] | None,
        Meta(description="What numbers were taken for without being told, or times against their looks."),
    ] = None
    categories: CategoryFacts | None = None
    min_events: Count | None = None
    dropped_users: Count = 0
    dropped_events: Count = 0
    obfuscated: Annotated[bool, Meta(description="The rows are reports of a mechanism.")] = False
    known: KnownFacts | None = None


class Provenance(Part, frozen=True):
    """How to make the document again."""

    run: Annotated[str, Meta(pattern="^[0-9a-f]{16}$", description="The same in all that one run has written.")]
    version: str
    python: str
    date: Annotated[datetime.datetime, Meta(tz=True)]
    command: str | None
    seed: Count
    replicates: Count
    seconds: Size


def parsed(content: bytes, name: str, remedy: str) -> Any:
    """The plain values of JSON in its strictest sense: UTF-8, no key twice, no number that nothing can hold."""
    try:
        values = msgspec.json.decode(content)
        json.loads(content, object_pairs_hook=_once)
    except KeyError as problem:
        raise InvalidInput(f"{name} has the key {problem} twice; {remedy}.") from None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        begun = content.lstrip()[:1] in (b"", b"{", b"[")
        what = "whole JSON (damaged or cut off)" if begun else "JSON"
        raise InvalidInput(f"{name} is not {what}; {remedy}.") from None
    return values


def converted(value: Any, kind: type[Typed], what: str, remedy: str) -> Typed:
    """A plain value as a type, or one sentence that says where it is wrong."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as problem:
        text, _, place = str(problem).partition(" - at ")
        place = re.sub(r"^`\$\.?|`$", "", place)
        where = f" at `{place}`" if place else ""
        raise InvalidInput(f"{what} is wrong{where}: {text[:1].lower()}{text[1:]}; {remedy}.") from None


def json_text(document: dict[str, Any]) -> str:
    """The text of a document's file."""
    try:
        return json.dumps(document, indent=1, allow_nan=False) + "\n"
    except ValueError:
        raise InvalidInput("The document holds NaN or an infinite number, which JSON cannot; write null.") from None


def plain(value: object, kind: type[Part]) -> dict[str, Any]:
    """What a part of this type says of a value that has attributes of the same names."""
    return msgspec.convert(value, kind, from_attributes=True).to_json()


def schema_of(*kinds: Any) -> dict[str, Any]:
    """The JSON Schema of a document's type, or of one that is any of several types."""
    types, parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    return {**(types[0] if len(types) == 1 else {"anyOf": list(types)}), "$defs": parts}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    for key, value in pairs:
        if key in keys:
            raise KeyError(key)
        keys[key] = value
    return keys


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and math.isinf(value) else value
