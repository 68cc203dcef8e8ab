"""The parameter document that device and collector share: canonical JSON and its SHA-256 id.

    {"domain_size":"1000","kind":"rr","schema":"entropie.parameters","theta_numerator":"1844674407370955161","version":1}

Integers that may exceed 2^53 are written as decimal strings, so that every JSON reader keeps them. Only what defines
the mechanism is in the document; theta, epsilon and collision probability are recomputed, never read. Unknown,
missing or repeated fields are refused.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from entropie.errors import InvalidInput, ParametersMismatch
from entropie.estimation.counts import Counts, checked_items

if TYPE_CHECKING:
    from entropie.mechanisms.mechanism import Mechanism

SCHEMA = "entropie.parameters"
VERSION = 1


def to_document(mechanism: Mechanism) -> str:
    """The canonical JSON text: sorted keys, no white space, ASCII."""
    document = {"schema": SCHEMA, "version": VERSION, **mechanism.to_parameters()}
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def parameters_id(mechanism: Mechanism) -> str:
    """SHA-256 of the canonical document, in hexadecimal."""
    return hashlib.sha256(to_document(mechanism).encode()).hexdigest()


def from_document(text: str) -> Mechanism:
    """The mechanism a document describes; the document may be laid out differently, but not say more or less."""
    try:
        fields = json.loads(text, object_pairs_hook=_without_repeats)
    except (json.JSONDecodeError, RecursionError) as problem:
        raise InvalidInput(f"The parameter document is not JSON ({problem}).") from None
    except ValueError as problem:
        if isinstance(problem, InvalidInput):
            raise
        raise InvalidInput("The parameter document holds a number that is too long to be one of its fields.") from None
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


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise InvalidInput("The parameter document names a field twice.")
    return fields
