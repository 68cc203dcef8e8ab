"""The parameter document that device and collector share: canonical JSON and its SHA-256 id.

    {"domain_size":"1000","kind":"rr","schema":"entropie.parameters","theta_numerator":"1844674407370955161","version":1}

Integers that may exceed 2^53 are written as decimal strings, so that every JSON reader keeps them. Only what defines
the mechanism is in the document; theta, epsilon and collision probability are recomputed, never read. Unknown,
missing or repeated fields are refused.
"""

from __future__ import annotations

import hashlib
import json
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from msgspec import Meta, defstruct
from numpy.typing import ArrayLike

from entropie.document.base import Part, parsed
from entropie.errors import InvalidInput, ParametersMismatch
from entropie.estimation.counts import Counts, checked_items

if TYPE_CHECKING:
    from entropie.mechanisms.mechanism import Mechanism

SCHEMA = "entropie.parameters"
VERSION = 1
Digits = Annotated[str, Meta(pattern="^(0|[1-9][0-9]{0,38})$", description="A whole number, as text.")]
Numerator = Annotated[Digits, Meta(description="A probability times 2^64.")]


class ResponseFields(Part, frozen=True, tag_field="kind", tag="rr"):
    """Randomized response."""

    domain_size: Digits
    theta_numerator: Numerator


class HashingFields(ResponseFields, frozen=True, tag_field="kind", tag="glh"):
    """Local hashing."""

    hash_size: Digits
    prime: Digits


class HadamardFields(ResponseFields, frozen=True, tag_field="kind", tag="hadamard"):
    """Hadamard response."""


class ErasureFields(ResponseFields, frozen=True, tag_field="kind", tag="erasure"):
    """Erasure."""


class SubsetFields(ResponseFields, frozen=True, tag_field="kind", tag="subset"):
    """Subset selection."""

    subset_size: Digits


class NoiseFields(ResponseFields, frozen=True, tag_field="kind", tag="noise"):
    """Randomized response with given noise."""

    noise_numerators: Annotated[list[Numerator], Meta(min_length=2)]


class UnaryFields(Part, frozen=True, tag_field="kind", tag="unary"):
    """Unary encoding."""

    domain_size: Digits
    true_numerator: Numerator
    false_numerator: Numerator


class IdentityFields(Part, frozen=True, tag_field="kind", tag="identity"):
    """Pseudonyms alone."""

    domain_size: Digits


_ALONE = (
    ResponseFields, HashingFields, HadamardFields, SubsetFields, UnaryFields, NoiseFields, ErasureFields, IdentityFields
)  # fmt: skip
if TYPE_CHECKING:
    _Alone: TypeAlias = Part
else:
    _Alone = reduce(or_, _ALONE)


class ChoiceFields(Part, frozen=True, tag_field="kind", tag="choice"):
    """A random choice between mechanisms."""

    parts: Annotated[list[_Alone], Meta(min_length=1)]
    weight_numerators: Annotated[list[Numerator], Meta(min_length=1)]


def _document(fields: type[Part]) -> Any:
    """The fields of a mechanism with the schema and its version."""
    tag, named = fields.__struct_config__.tag, fields.__name__.removesuffix("Fields")
    head = [("schema", Literal["entropie.parameters"]), ("version", Literal[1])]
    return defstruct(
        named, head, bases=(fields,), namespace={"__doc__": fields.__doc__}, frozen=True, tag_field="kind", tag=tag
    )


if TYPE_CHECKING:
    Parameters: TypeAlias = Part
    Response: TypeAlias = ResponseFields
    Hashing: TypeAlias = HashingFields
else:
    Response, Hashing, *_others = map(_document, (*_ALONE, ChoiceFields))
    Parameters = reduce(or_, _others, Response | Hashing)
    """The documents of the mechanisms that come with this package."""


def to_document(mechanism: Mechanism) -> str:
    """The canonical JSON text: sorted keys, no white space, ASCII."""
    document = {"schema": SCHEMA, "version": VERSION, **mechanism.to_parameters()}
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def parameters_id(mechanism: Mechanism) -> str:
    """SHA-256 of the canonical document, in hexadecimal."""
    return hashlib.sha256(to_document(mechanism).encode()).hexdigest()


def from_document(text: str | bytes, name: str = "The parameter document") -> Mechanism:
    """The mechanism a document describes; the document may be laid out differently, but not say more or less."""
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    fields = parsed(content, name, "take the one written with the reports")
    if not isinstance(fields, dict) or fields.pop("schema", None) != SCHEMA:
        raise InvalidInput(f'The parameter document must be a JSON object with "schema": "{SCHEMA}".')
    version = fields.pop("version", None)
    if type(version) is not int or version != VERSION:
        raise InvalidInput(f"The parameter document has version {version!r}, this program reads {VERSION}.")
    return from_fields(fields)


def from_fields(fields: Any) -> Mechanism:
    """The mechanism that the fields without schema and version describe."""
    from entropie.mechanisms.registry import mechanism_kind, mechanism_kinds

    kind = fields.get("kind") if isinstance(fields, dict) else None
    if not isinstance(kind, str) or kind not in mechanism_kinds():
        known = ", ".join(mechanism_kinds())
        raise InvalidInput(f"Field `kind` of the parameter document must be one of {known}, got {kind!r}.")
    return mechanism_kind(kind).from_parameters({name: fields[name] for name in fields if name != "kind"})


def only(fields: dict[str, Any], *names: str) -> tuple[Any, ...]:
    """The values of exactly these fields."""
    for name in fields:
        if name not in names:
            raise InvalidInput(f"The parameter document has an unknown field `{name}`; known: {', '.join(names)}.")
    for name in names:
        if name not in fields:
            raise InvalidInput(f"The parameter document lacks the field `{name}`.")
    return tuple(fields[name] for name in names)


def integers(fields: dict[str, Any], *names: str) -> tuple[int, ...]:
    """The values of exactly these fields, each a whole number written as a decimal string."""
    return tuple(integer(name, value) for name, value in zip(names, only(fields, *names), strict=True))


def integers_and_theta(fields: dict[str, Any], *names: str) -> tuple[int, ...]:
    """The same and, last, `theta_numerator`: the probability of the truth in units of 2^-64."""
    numbers = integers(fields, *names, "theta_numerator")
    if numbers[-1] > 2**64:
        raise InvalidInput(f"Field `theta_numerator` must be at most 2^64, got {numbers[-1]} instead.")
    return numbers


def integer(name: str, value: Any) -> int:
    """A whole number written as a decimal string without sign or leading zero."""
    plain = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 40
    if not plain or (value != "0" and value.startswith("0")):
        raise InvalidInput(f'Field `{name}` must be a whole number in a string, such as "1000", got {value!r}.')
    return int(value)


def counts_for(mechanism: Mechanism, into: Counts | None, items: ArrayLike | None) -> Counts:
    """New counts for this mechanism, or `into` once its parameters have been compared."""
    document = to_document(mechanism)
    if into is None:
        return Counts(document, mechanism.domain_size, items)
    if into.parameters != document:
        raise ParametersMismatch("These counts were made under other parameters; start new ones with `into=None`.")
    if items is not None and (
        into.items is None or not np.array_equal(checked_items(items, into.domain_size), into.items)
    ):
        raise InvalidInput("These counts are of other items; leave `items` out to go on with the same ones.")
    return into
