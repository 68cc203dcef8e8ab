"""Counts: batches, merging, saving and loading change nothing; what does not fit is refused; files are whole."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.errors import InvalidInput, InvalidParameter, ParametersMismatch
from entropie.estimation import counts as counts_module
from entropie.estimation.counts import Counts
from entropie.estimation.estimates import estimate
from entropie.mechanisms.choice import RandomChoice
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.parameters import to_document
from entropie.mechanisms.randomized_response import RandomizedResponse

RR = RandomizedResponse(domain_size=12, epsilon=1.0)
GLH = LocalHashing(domain_size=12, hash_size=4, epsilon=1.0)
MECHANISMS: dict[str, Any] = {
    "rr": RR,
    "glh": GLH,
    "glh-sweep": LocalHashing(domain_size=12, hash_size=2, epsilon=1.0),
    "identity": Identity(12),
    "choice": RandomChoice([RR, GLH], [0.5, 0.5]),
}
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS.keys())


def same(one: Counts, other: Counts) -> bool:
    items = (one.items is None and other.items is None) or (
        one.items is not None and other.items is not None and one.items.tolist() == other.items.tolist()
    )
    return (
        items
        and one.counts.tolist() == other.counts.tolist()
        and (one.parameters, one.domain_size, one.reports) == (other.parameters, other.domain_size, other.reports)
    )


def part(reports: Any, mechanism: Any, begin: int, end: int) -> Any:
    """Reports begin .. end-1 of a batch; a choice is drawn anew instead, since its parts are apart."""
    if isinstance(reports, np.ndarray):
        return reports[begin:end]
    return type(reports)(*(column[begin:end] for column in reports))


@every_mechanism
@pytest.mark.parametrize("items", [None, [3], [11, 0, 5, 5]])
def test_batches_add_up_to_all_at_once(mechanism: Any, items: list[int] | None) -> None:
    rng = np.random.default_rng(1)
    if isinstance(mechanism, RandomChoice):
        batches = [mechanism.simulate(np.arange(size) % 12, rng) for size in (0, 1, 30, 500)]
        joined = [
            np.concatenate([batch.parts[0] for batch in batches]),
            type(batches[0].parts[1])(*(np.concatenate(c) for c in zip(*(b.parts[1] for b in batches), strict=True))),
        ]
        whole = mechanism.count(batches[0]._replace(parts=tuple(joined)), items=items)
    else:
        reports = mechanism.simulate(np.arange(531) % 12, rng)
        batches = [part(reports, mechanism, begin, end) for begin, end in ((0, 0), (0, 1), (1, 31), (31, 531))]
        whole = mechanism.count(reports, items=items)
    grown = mechanism.count(batches[0], items=items)
    for batch in batches[1:]:
        assert mechanism.count(batch, into=grown) is grown
    assert grown.reports == 531
    assert same(grown, whole)
    apart = [mechanism.count(batch, items=items) for batch in batches]
    merged = apart[0].merge(apart[1]).merge(apart[2]).merge(apart[3])
    assert same(merged, whole)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.lists(st.integers(0, 11), max_size=20), min_size=3, max_size=3))
def test_merging_is_associative_and_commutative(batches: list[list[int]]) -> None:
    a, b, c = (RR.count(np.array(batch, np.int64)) for batch in batches)
    before = [(x.counts.tolist(), x.reports) for x in (a, b, c)]
    nothing = RR.count([])
    assert same(a.merge(b), b.merge(a))
    assert same(a.merge(b).merge(c), a.merge(b.merge(c)))
    assert same(a.merge(nothing), a)
    assert same(nothing.merge(a), a)
    assert [(x.counts.tolist(), x.reports) for x in (a, b, c)] == before


def test_a_merge_is_a_new_value() -> None:
    """Neither side grows with it, nor it with them; least of all when one side was empty."""
    a, b, nothing = RR.count([1, 2]), RR.count([2, 3]), RR.count([])
    for merged in (a.merge(b), a.merge(nothing), nothing.merge(a), a.merge(a)):
        kept = merged.counts.tolist(), merged.reports
        RR.count([5, 5], into=a)
        RR.count([6], into=b)
        assert (merged.counts.tolist(), merged.reports) == kept
        RR.count([7, 7, 7], into=merged)
        assert a.counts[7] == b.counts[7] == 0


def test_counting_into_does_not_change_the_batch_or_other_counts() -> None:
    reports = np.array([0, 1, 1, 2], np.uint64)
    first, second = RR.count(reports), RR.count(reports)
    RR.count(reports, into=first)
    assert reports.tolist() == [0, 1, 1, 2]
    assert second.counts[:3].tolist() == [1, 2, 1]
    assert first.counts[:3].tolist() == [2, 4, 2]


@every_mechanism
def test_an_estimate_stays_as_it_was_when_the_counts_grow(mechanism: Any) -> None:
    """Estimates are values: adding reports later must not reach into them."""
    reports = mechanism.simulate(np.arange(100) % 12, np.random.default_rng(2))
    counts = mechanism.count(reports)
    mechanism.count(reports, into=counts)
    made = estimate(counts, mechanism.rates)
    kept = made.probabilities.tolist()
    mechanism.count(reports, into=counts)
    mechanism.count(reports, into=counts)
    assert made.probabilities.tolist() == kept


def test_more_reports_than_32_bits_count() -> None:
    """No counter wraps: 2^31 + 2^31 + 2^31 reports for one item."""
    counts = Counts(to_document(RR), 12)
    half = np.zeros(12, np.uint32)
    half[3] = 2**31
    for _ in range(3):
        counts.add_supports(half.copy(), 2**31)
    assert counts.counts[3] == 3 * 2**31
    assert counts.reports == 3 * 2**31
    merged = counts.merge(counts)
    assert merged.counts[3] == 6 * 2**31
    single = Counts(to_document(RR), 12)
    single.add_supports(half.copy(), 2**31)
    assert single.merge(single).counts[3] == 2**32
    assert single.merge(counts).counts[3] == counts.merge(single).counts[3] == 2**33
    assert estimate(merged, Identity(12).rates).probabilities[3] == pytest.approx(1.0, rel=1e-12)


def test_what_does_not_belong_together_is_refused() -> None:
    a = RR.count([1, 2])
    other = RandomizedResponse(domain_size=12, epsilon=1.0000001).count([1, 2])
    for call in (lambda: a.merge(other), lambda: other.merge(a), lambda: RR.count([1], into=other)):
        with pytest.raises(ParametersMismatch, match=r"parameters.*\.$"):
            call()
    listed = RR.count([1, 2], items=[1, 2])
    for call in (lambda: a.merge(listed), lambda: listed.merge(a), lambda: listed.merge(RR.count([1], items=[1, 3]))):
        with pytest.raises(InvalidInput, match=r"items.*\.$"):
            call()
    assert listed.merge(RR.count([1], items=[2, 1, 1])).counts.tolist() == [2, 1]


@pytest.mark.parametrize(
    "items", [[], [12], [-1], [0.5], ["a"], [[1]], [[1], [1, 2]], 3, [True], [None], [2**64]], ids=repr
)
def test_items_that_cannot_be_counted(items: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"`items`.*\.$"):
        Counts("{}", 12, items)


def test_the_largest_table() -> None:
    with pytest.raises(InvalidParameter, match=r"`items`.*\.$"):
        Counts("{}", counts_module.LARGEST_TABLE + 1)
    assert Counts("{}", 10**18, [10**18 - 1, 4]).items.tolist() == [4, 10**18 - 1]  # type: ignore[union-attr]


# -- Files -------------------------------------------------------------------------------------------------------------


@every_mechanism
@pytest.mark.parametrize("items", [None, [11, 2]])
@pytest.mark.parametrize("name", ["counts.npz", "counts", "counts.of.monday"])
def test_save_and_load(tmp_path: Path, mechanism: Any, items: list[int] | None, name: str) -> None:
    counts = mechanism.count(mechanism.simulate(np.arange(200) % 12, np.random.default_rng(3)), items=items)
    counts.save(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    again = Counts.load(str(tmp_path / name))
    assert same(again, counts)
    assert again.counts.dtype == counts.counts.dtype
    more = mechanism.simulate([1, 2, 3], np.random.default_rng(4))
    assert same(mechanism.count(more, into=again), mechanism.count(more, into=counts))
    assert same(again.merge(again), counts.merge(counts))


def test_save_replaces_and_large_numbers_survive(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    RR.count([1]).save(path)
    large = Counts(to_document(Identity(10**18)), 10**18, [10**18 - 1])
    large.add_supports(np.array([2**40]), 2**41)
    large.save(path)
    again = Counts.load(path)
    assert same(again, large)
    assert (again.domain_size, again.reports, int(again.counts[0])) == (10**18, 2**41, 2**40)


def saved(tmp_path: Path, items: list[int] | None = None) -> tuple[Path, Counts]:
    counts = RR.count([1, 2, 2, 7], items=items)
    counts.save(tmp_path / "counts")
    return tmp_path / "counts", counts


def refused(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        Counts.load(path)
    text = str(caught.value)
    assert path.name in text
    assert "\n" not in text
    assert text.endswith(".")
    return text


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    path, _ = saved(tmp_path)
    whole = path.read_bytes()
    for end in range(0, len(whole), 7):
        refused(path, whole[:end])


def arrays_of(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return dict(file)


def as_file(**arrays: Any) -> bytes:
    handle = io.BytesIO()
    np.savez(handle, **arrays)
    return handle.getvalue()


def as_array_file() -> bytes:
    handle = io.BytesIO()
    np.save(handle, np.arange(5))
    return handle.getvalue()


def as_zip(**members: bytes) -> bytes:
    handle = io.BytesIO()
    with zipfile.ZipFile(handle, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return handle.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\x00", b"counts", b"user,item\n1,2\n", b"\x80\x04K\x01.", bytes(1000), b"PK\x03\x04",
        b"PK\x05\x06" + bytes(18), b"\x93NUMPY\x01\x00", np.random.default_rng(1).bytes(5000), as_array_file(),
        as_zip(a=b"b"), as_zip(version=b"1"),
    ],
    ids=[
        "empty", "zero", "text", "csv", "object", "zeros", "zip start",
        "zip end", "npy start", "noise", "npy", "zip", "member",
    ],
)  # fmt: skip
def test_garbage_is_refused(tmp_path: Path, content: bytes) -> None:
    text = refused(tmp_path / "counts", content)
    assert "pickle" not in text  # no advice to load it unsafely


@pytest.mark.parametrize("name", ["version", "parameters", "domain_size", "reports", "counts"])
@pytest.mark.parametrize(
    "value",
    [np.arange(3), np.array("x"), np.array([[1.5]]), np.array(math.nan), np.array(-1), np.array([b"\xff\xfe"]), None],
    ids=["list", "text", "matrix", "nan", "negative", "bytes", "missing"],
)
def test_files_with_a_wrong_part_are_refused(tmp_path: Path, name: str, value: Any) -> None:
    path, _ = saved(tmp_path)
    arrays = arrays_of(path)
    if name == "parameters" and value is not None and value.tobytes().isascii():
        return  # any text may be a parameter document here; it belongs to no mechanism, so it merges with nothing
    if value is None:
        del arrays[name]
    else:
        arrays[name] = value
    refused(path, as_file(**arrays))


@pytest.mark.parametrize(
    "change",
    [
        {"counts": np.zeros(11, np.int64)},
        {"counts": np.zeros(13, np.int64)},
        {"counts": np.zeros(12, np.float64)},
        {"counts": np.full(12, -1)},
        {"counts": np.full(12, 5)},  # five of four reports
        {"items": np.array([1, 2], np.uint64)},  # two items, twelve counters
        {"items": np.arange(1, 13, dtype=np.uint64)},  # item 12 of 12
        {"items": np.arange(12, dtype=np.uint64)[::-1]},  # not sorted
        {"domain_size": np.array(11, np.uint64)},
        {"version": np.array(2)},
    ],
    ids=lambda change: f"{next(iter(change))}",
)
def test_files_whose_parts_do_not_fit_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    """Counts of the wrong length or beyond the number of reports would give estimates that look right."""
    path, _ = saved(tmp_path)
    refused(path, as_file(**{**arrays_of(path), **change}))


def test_no_flipped_bit_goes_unnoticed(tmp_path: Path) -> None:
    """Either the file is refused or what was saved is read; never an exception of another kind, never other counts."""
    path, counts = saved(tmp_path, items=[1, 7, 9])
    whole = path.read_bytes()
    for place in range(0, len(whole), 2):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place // 2 % 8
        path.write_bytes(damaged)
        try:
            again = Counts.load(path)
        except InvalidInput:
            continue
        assert same(again, counts), place


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path / "absent" / "counts", tmp_path):
        with pytest.raises(InvalidInput, match=r"\.$"):
            Counts.load(path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"\.$"):
        RR.count([1]).save(tmp_path / "absent" / "counts")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidInput, match=r"\.$"):
        RR.count([1]).save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("problem", [OSError("disk full"), KeyboardInterrupt()], ids=["disk full", "interrupted"])
@pytest.mark.parametrize("before", [None, b"what was there"])
def test_a_save_that_fails_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: BaseException, before: bytes | None
) -> None:
    def broken(handle: Any, **_: Any) -> None:
        handle.write(b"half a file")
        handle.flush()
        raise problem

    path = tmp_path / "counts"
    if before is not None:
        path.write_bytes(before)
    monkeypatch.setattr(np, "savez", broken)
    with pytest.raises(type(problem)):
        RR.count([1]).save(path)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([] if before is None else [before])
