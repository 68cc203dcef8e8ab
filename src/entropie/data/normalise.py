"""The few Arrow types that encoding knows: every other type of a column is turned into one of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from entropie.data.arrow import decoded, type_within
from entropie.data.roles import Role
from entropie.errors import InvalidInput, option

_IDS = ("user", "item", "category")
_ID_RULE = "ids must be integers or text"
_TIME_RULE = "times must be numbers, timestamps or text"
_NUMBERS = {"rating": "ratings", "latitude": "coordinates", "longitude": "coordinates"}
_SPELLED = {"latitude": "lat", "longitude": "lon"}


def normal_type(role: Role, kind: pa.DataType, column: str, name: str) -> pa.DataType:
    """Name the type a column is read as: 64-bit integer, double or text; refuse what can be none of them."""
    types = pa.types
    kind = type_within(kind)
    is_id = _is_id(role)
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    if types.is_null(kind):
        return pa.string()
    if types.is_integer(kind):
        return kind if types.is_uint64(kind) and is_id else pa.float64() if role in _NUMBERS else pa.int64()
    if types.is_floating(kind) or (types.is_decimal(kind) and not is_id):
        return pa.int64() if is_id else pa.float64()
    if types.is_date(kind) or types.is_timestamp(kind):
        if role == "time":
            return pa.int64()
        if is_id:
            return pa.string()
    if text or (is_id and (types.is_boolean(kind) or types.is_decimal(kind) or _is_bytes(kind))):
        return pa.large_string() if types.is_large_string(kind) else pa.string()
    rule = _ID_RULE if is_id else _TIME_RULE if role == "time" else f"{_NUMBERS.get(role, 'ratings')} must be numbers"
    another = option(_SPELLED.get(role, role.split(" ")[0]))
    raise InvalidInput(f"Column `{column}` of {name} has type {kind}; {rule}. Name another with {another}.")


def normalise(array: pa.Array, role: Role, target: pa.DataType, column: str, name: str) -> pa.Array:
    """Cast one batch of a column to its normal type; NaN among ids is missing."""
    array = decoded(array)
    kind = array.type
    if kind == target:
        return array
    try:
        if pa.types.is_date(kind):
            return array.cast(pa.timestamp("s")).cast(target) if role == "time" else array.cast(target)
        if pa.types.is_floating(kind) and pa.types.is_integer(target):
            return _whole(array.cast(pa.float64())).cast(target)
        return array.cast(target)
    except pa.ArrowException:
        rule = f"values of type {kind} that do not all read as {target}"
        raise InvalidInput(
            f"Column `{column}` of {name} holds {rule}; {_ID_RULE if _is_id(role) else _TIME_RULE}."
        ) from None


def timestamp_unit(kind: pa.DataType) -> int | None:
    """Ticks in a second of a timestamp or date column; None for any other type."""
    kind = type_within(kind)
    if pa.types.is_date(kind):
        return 1
    if pa.types.is_timestamp(kind):
        return {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    return None


def _whole(array: pa.Array) -> Any:
    """Integer ids that a missing value turned into floats: NaN becomes null; fractions fail the cast."""
    return pc.if_else(pc.is_nan(array), None, array)


def _is_id(role: str) -> bool:
    """Whether a column holds ids; `item 2` is the second of several that make the item."""
    return role.split(" ")[0] in _IDS


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
