"""Between Arrow and NumPy by way of the buffers.

Arrow's own conversions import pandas wherever it is installed, which costs half a second and 40 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def values_of(array: pa.Array) -> NDArray[np.generic]:
    """View an array of numbers; where it holds nothing, the value is arbitrary."""
    dtype = np.dtype(str(array.type) if not pa.types.is_float64(array.type) else np.float64)
    data = array.buffers()[1]
    if not len(array):
        return np.empty(0, dtype)
    return np.frombuffer(data, dtype, len(array), array.offset * dtype.itemsize)


def truths_of(array: pa.Array) -> NDArray[np.bool_]:
    """Unpack an array of truth values; nothing is false."""
    truths = _bits(array.buffers()[1], array)
    return truths & ~absent_in(array)


def absent_in(array: pa.Array) -> NDArray[np.bool_]:
    """Where an array holds nothing."""
    if array.null_count == 0:
        return np.zeros(len(array), np.bool_)
    return ~_bits(array.buffers()[0], array)


def from_numpy(values: NDArray[np.generic]) -> pa.Array:
    """Wrap numbers or truth values."""
    if values.dtype == np.bool_:
        packed = np.packbits(values.view(np.uint8), bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), values.size, [None, pa.py_buffer(packed)])
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), values.size, [None, data])


def masked(array: pa.Array, kept: NDArray[np.bool_]) -> pa.Array:
    """The same numbers or texts, with nothing where they are not kept."""
    valid = np.concatenate([np.zeros(array.offset, np.bool_), kept & ~absent_in(array)])
    packed = pa.py_buffer(np.packbits(valid.view(np.uint8), bitorder="little"))
    return pa.Array.from_buffers(array.type, len(array), [packed, *array.buffers()[1:]], offset=array.offset)


def from_texts(texts: Sequence[str]) -> pa.Array:
    """Make an array of some texts."""
    pieces = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, pieces)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(pieces), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(pieces))])


def one_of(texts: pa.Array, values: Sequence[str]) -> NDArray[np.bool_]:
    """Where a text is one of these."""
    return truths_of(pc.is_in(texts, value_set=from_texts(values)))


def comparable(array: pa.Array) -> pa.Array:
    """What there is in an array, in a type whose values Arrow can compare; lists as they are written."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return comparable(array.storage)
    if pa.types.is_dictionary(kind):
        plain = comparable(pa.array([], kind.value_type)).type == kind.value_type
        return array.drop_null() if plain else comparable(pa.array(array.to_pylist(), kind.value_type))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return array.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary()).drop_null()
    if pa.types.is_null(kind):
        return pa.array([], pa.int8())
    if pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind):
        return pa.array([str(value) for value in array.to_pylist() if value is not None], pa.large_string())
    return array.drop_null()


def _bits(packed: pa.Buffer | None, array: pa.Array) -> NDArray[np.bool_]:
    if packed is None or not len(array):
        return np.zeros(len(array), np.bool_)
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), count=array.offset + len(array), bitorder="little")
    return bits[array.offset :].view(np.bool_)


def type_within(kind: pa.DataType) -> pa.DataType:
    """The type of the values of a column, also where a dictionary holds them."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def decoded(column: Any) -> Any:
    """The values of a column, also where a dictionary holds them."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
