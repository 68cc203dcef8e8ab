"""Arrow's buffers as NumPy arrays: the same values as Arrow's own conversion, and no pandas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropie.data.arrow import absent_in, comparable, from_numpy, from_texts, masked, one_of, truths_of, values_of

KINDS = {
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "double": st.floats(allow_nan=False),
    "bool": st.booleans(),
}


@given(st.data(), st.sampled_from(sorted(KINDS)), st.integers(0, 9), st.integers(0, 20))
def test_any_slice_of_any_array(data: st.DataObject, kind: str, begin: int, length: int) -> None:
    values = data.draw(st.lists(st.none() | KINDS[kind], max_size=30))
    array = pa.array(values, pa.type_for_alias(kind)).slice(begin, length)
    expected = array.to_pylist()
    assert absent_in(array).tolist() == [value is None for value in expected]
    found = truths_of(array) if kind == "bool" else values_of(array)
    assert len(found) == len(expected)
    for have, want in zip(found.tolist(), expected, strict=True):
        assert have == want if want is not None else kind != "bool" or have is False


@given(st.data(), st.integers(0, 9), st.integers(0, 20))
def test_masked_and_membership(data: st.DataObject, begin: int, length: int) -> None:
    for kind, values in ((pa.string(), st.text("ab", max_size=2)), (pa.int64(), st.integers(-3, 3))):
        array = pa.array(data.draw(st.lists(st.none() | values, max_size=30)), kind).slice(begin, length)
        kept = data.draw(st.lists(st.booleans(), min_size=len(array), max_size=len(array)))
        made = masked(array, np.array(kept, np.bool_))
        made.validate(full=True)
        expected = [value if keep else None for value, keep in zip(array.to_pylist(), kept, strict=True)]
        assert made.to_pylist() == expected
        if kind == pa.string():
            assert one_of(made, ("a", "")).tolist() == [value in ("a", "") for value in expected]


@given(st.lists(st.booleans(), max_size=40), st.lists(st.integers(0, 2**32 - 1), max_size=9), st.lists(st.text()))
def test_there_and_back(truths: list[bool], numbers: list[int], texts: list[str]) -> None:
    assert from_numpy(np.array(truths, np.bool_)).equals(pa.array(truths, pa.bool_()))
    assert from_numpy(np.array(numbers, np.uint32)).equals(pa.array(numbers, pa.uint32()))
    assert from_numpy(np.array(numbers, np.int64)[::-1]).equals(pa.array(numbers[::-1], pa.int64()))
    made = from_texts(texts)
    made.validate(full=True)
    assert made.equals(pa.array(texts, pa.string()))


LINES = {
    "whole.csv": "user,item,time\n" + "".join(f"{n % 9},{n % 7},{1333476007 + n}\n" for n in range(99)),
    "iso.csv": "user,item,time\n" + "".join(f"u{n % 9},v{n % 7},2012-04-03T18:00:{n % 60:02d}Z\n" for n in range(99)),
    "weekday.csv": "user,item,time\n" + "a,b,Tue Apr 03 18:00:07 +0000 2012\n" * 9 + "b,NULL,\n",
    "decimal.csv": "user,item,time\n" + "a,b,1333476007.5\n" * 9 + "b,a,nan\n",
}
PROGRAM = """
import sys
from entropie.request import Source
from entropie.data.events import read_events
from entropie.data.filter import keep_active_users
for path in sys.argv[1:]:
    read = read_events(Source(path, max_dirty_share=0.5))
    read.select(keep_active_users(read.traces, 1))
print(*({"pandas", "pyarrow.parquet"} & set(sys.modules)))
"""


def loaded(*paths: Path) -> set[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *paths], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_text_needs_neither_parquet_nor_pandas(tmp_path: Path) -> None:
    for name, lines in LINES.items():
        (tmp_path / name).write_text(lines)
    assert loaded(*map(tmp_path.joinpath, LINES)) == set()


def test_parquet_needs_no_pandas(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({"user": [1, 2, 1], "item": ["a", "b", "a"], "time": [1.5e9, 1.6e9, 1.7e9]}), tmp_path / "e.parquet"
    )
    assert loaded(tmp_path / "e.parquet") == {"pyarrow.parquet"}


TYPES = (
    *((kind, ["ab", None, "cd", "ab"]) for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.json_())),
    *((kind, [b"ab", None, b"cd", b"ab"]) for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2))),
    *((kind, [1, None, 2, 1]) for kind in (pa.int8(), pa.uint64(), pa.float32(), pa.date32(), pa.duration("s"))),
    *((kind, [1, None, 2, 1]) for kind in (pa.time64("ns"), pa.timestamp("us", "UTC"), pa.decimal256(60, 1))),
    *(
        (kind, [[1], None, [2], [1]])
        for kind in (pa.list_(pa.int8()), pa.large_list(pa.int8()), pa.list_view(pa.int8()))
    ),
    (pa.struct([("a", pa.int8())]), [{"a": 1}, None, {"a": 2}, {"a": 1}]),
    (pa.map_(pa.string(), pa.int8()), [[("a", 1)], None, [("a", 2)], [("a", 1)]]),
    (pa.uuid(), [bytes(16), None, bytes([1] * 16), bytes(16)]),
    (pa.bool_(), [True, None, False, True]),
)


@pytest.mark.parametrize(("kind", "values"), TYPES, ids=lambda value: str(value)[:20])
def test_values_of_any_type_can_be_counted(kind: pa.DataType, values: list[object]) -> None:
    array = pa.array(values, kind)
    dictionary = pa.DictionaryArray.from_arrays(
        pa.array([0, None, 1, 0], pa.int8()), pa.array([values[0], values[2]], kind)
    )
    for one in (array, dictionary):
        found = comparable(one)
        assert len(found) == 3
        decoded = found.dictionary_decode() if pa.types.is_dictionary(found.type) else found
        assert pc.count_distinct(decoded).as_py() == 2
    assert len(comparable(pa.nulls(3))) == 0
