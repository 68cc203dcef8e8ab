"""The attacker's other file: who is who, items by name, clocks, and what is said where little agrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropie.data.events import Events, read_events
from entropie.data.known import KnownFile, brought_together, read_known
from entropie.data.pairs import Ids, same_people
from entropie.errors import InvalidInput, InvalidParameter
from entropie.request import Request, Run, Source

RUN = Run(threads=1)


def table(users: Any, items: Any, times: Any = None) -> pa.Table:
    columns = {"user": users, "item": items}
    return pa.table(columns if times is None else {**columns, "time": times})


def read(users: Any, items: Any, times: Any = None) -> Events:
    return read_events(Source(events=table(users, items, times)), RUN)


def file_of(release: Any, known: Any, truth: Any = None, **options: Any) -> KnownFile:
    request = Request.of(release, {"known": known, "truth": truth, **options})
    found = read_known(request, read_events(request.source, RUN), RUN)
    assert found is not None
    return found


def test_people_and_items_are_those_of_both_files_by_name() -> None:
    release = table(["b", "b", "c", "a"], ["tea", "rum", "tea", "gin"])
    known = table(["d", "a", "b", "b"], ["ale", "gin", "tea", "ale"])
    found = file_of(release, known)
    assert (found.pairs, found.facts.only_known, found.facts.only_release) == (2, 1, 1)
    assert (found.facts.items_in_both, found.facts.items_only_known, found.facts.items_only_release) == (2, 1, 1)
    mine = [found.known.items[found.known.offsets[i] : found.known.offsets[i + 1]].tolist() for i in range(3)]
    theirs = [found.release.items[found.release.offsets[i] : found.release.offsets[i + 1]].tolist() for i in range(3)]
    gin, tea, ale = mine[0][0], mine[1][0], mine[1][1]
    assert theirs[0] == [gin]
    assert theirs[1][0] == tea
    assert mine[2] == [ale]
    assert theirs[2] == [tea]
    assert len({gin, tea, ale, theirs[1][1]}) == 4 == found.known.domain_size == found.release.domain_size


def test_a_map_says_who_is_who_and_may_begin_without_names() -> None:
    release = table(["p1", "p2", "p3"], ["tea", "rum", "gin"])
    known = table(["ann", "bob", "cid"], ["gin", "tea", "rum"])
    named = pa.table({"known": ["ann", "bob", "zoe"], "released": ["p3", "p1", "p2"]})
    assert file_of(release, known, named).pairs == 2
    assert file_of(release, known, named).facts.same_events_share == 1.0


def test_a_map_on_file_whose_first_line_is_a_pair(tmp_path: Path) -> None:
    release = table(["p1", "p2", "p3"], ["tea", "rum", "gin"])
    known = table(["ann", "bob", "cid"], ["gin", "tea", "rum"])
    (tmp_path / "map.csv").write_text("ann,p3\nbob,p1\ncid,p2\n")
    assert file_of(release, known, tmp_path / "map.csv").pairs == 3
    (tmp_path / "map.csv").write_text("name,pseudonym\nann,p3\nbob,p1\ncid,p2\n")
    assert file_of(release, known, tmp_path / "map.csv").pairs == 3


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"a": ["ann", "ann"], "b": ["p1", "p2"]}, "The first column of .* has 1 id more than once.*once"),
        ({"a": ["ann", "bob"], "b": ["p1", "p1"]}, "The second column of .* has 1 id more than once"),
        ({"a": ["p1", "p2"], "b": ["ann", "bob"]}, "No pair of .* is in both files: 2 of 2 pairs are not in"),
        ({"a": ["ann"], "b": ["p1"], "c": [1]}, "must have two columns.*it has 3"),
    ],
)
def test_maps_that_cannot_be_right_are_refused(columns: dict[str, Any], sentence: str) -> None:
    release, known = table(["p1", "p2"], ["tea", "rum"]), table(["ann", "bob"], ["gin", "tea"])
    with pytest.raises(InvalidInput, match=sentence):
        file_of(release, known, pa.table(columns))


def test_a_map_without_a_known_file_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="`truth=` goes with `known=`"):
        Request.of("x.csv", {"truth": "map.csv"})


@pytest.mark.parametrize(
    ("known", "release", "pairs"),
    [
        ([1, 2, 3], ["1", "2", "3"], 3),  # numbers and the same digits as text
        ([1, 2, 3], [1.0, 2.0, 3.0], 3),
        (["1", "2", "x"], [1, 2, 3], 2),  # one name makes all ids of a file text
        (np.array([1, 2], np.uint64), np.array([1, 2], np.int32), 2),
        (["a", "b"], pa.array(["a", "b"]).dictionary_encode(), 2),
    ],
)
def test_ids_are_compared_as_the_reader_reads_them(known: Any, release: Any, pairs: int) -> None:
    items = ["tea", "rum", "gin"]
    assert file_of(table(release, items[: len(release)]), table(known, items[: len(known)])).pairs == pairs


@pytest.mark.parametrize(
    ("known", "release"),
    [
        (["ann ", "bob "], ["ann", "bob"]),
        (["ANN", "Bob"], ["ann", "bob"]),
        (["007", "008"], ["7", "8"]),
    ],
)
def test_ids_written_otherwise_are_not_guessed_but_counted(known: list[str], release: list[str]) -> None:
    with pytest.raises(InvalidInput, match=r"No id .* \(2 more would be without spaces.*`truth=`"):
        file_of(table(release, ["tea", "rum"]), table(known, ["tea", "rum"]))


def test_few_common_people_and_items_are_said() -> None:
    users = [f"u{i}" for i in range(20)]
    other = [f"u{i} " if i else "u0" for i in range(20)]
    notes = file_of(table(users, [f"i{i}" for i in range(20)]), table(other, [f"j{i}" for i in range(20)])).facts.notes
    assert notes[0].startswith("Only 1 of 20 people are in both files by id (19 more would be without spaces")
    assert notes[1] == "Only 0 of 20 items are in both files by name."


def test_nobody_in_common_says_so_without_ids() -> None:
    with pytest.raises(InvalidInput) as refused:
        same_people(Ids(pa.array(["secret-1"]), "a.csv"), Ids(pa.array(["hidden-2"]), "b.csv"))
    assert "No id of a.csv is an id of b.csv; write ids alike" in str(refused.value)
    assert "secret" not in str(refused.value)


def _walks(people: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    users = np.repeat(np.arange(people), 30)
    return users, rng.integers(0, 50, users.size), 1_600_000_000 + rng.integers(0, 30 * 86_400, users.size)


@pytest.mark.parametrize("hours", [-11.0, -5.5, 0.0, 2.0, 5.75, 14.0])
def test_clocks_that_differ_are_set(hours: float) -> None:
    users, items, times = _walks(40, 3)
    some = np.arange(users.size) % 3 == 0
    moved = file_of(table(users, items, times), table(users[some], items[some], times[some] - int(hours * 3_600)))
    assert moved.facts.shift_seconds == int(hours * 3_600)
    assert moved.facts.same_events_share == 1.0
    assert any("moved" in note for note in moved.facts.notes) == bool(hours)


def test_other_events_move_no_clock() -> None:
    users, items, times = _walks(40, 3)
    other = _walks(40, 4)
    found = file_of(table(users, items, times), table(*other))
    assert found.facts.shift_seconds == 0
    assert found.facts.same_events_share is not None
    assert found.facts.same_events_share < 0.01
    assert found.facts.notes == []


def test_the_release_itself_is_called_maximum_knowledge() -> None:
    users, items, times = _walks(10, 5)
    for columns in ((users, items, times), (users, items)):
        found = file_of(table(*columns), table(*columns))
        assert found.facts.same_events_share == 1.0
        assert "maximum knowledge" in found.facts.notes[-1]


def test_columns_have_other_names_in_the_known_file(tmp_path: Path) -> None:
    release = pa.table({"who": ["a", "b"], "what": ["tea", "rum"], "when": [1, 2]})
    known = pa.table({"customer": ["a", "b"], "product": ["tea", "rum"]})
    pq.write_table(known, tmp_path / "known.parquet")
    found = file_of(release, tmp_path / "known.parquet", user="who", item="what", time="when")
    assert found.pairs == 2
    assert found.known.times is None
    assert found.facts.source.endswith("known.parquet")


def test_files_brought_together_do_not_depend_on_their_order() -> None:
    users, items, times = _walks(12, 6)
    shuffled = np.random.default_rng(1).permutation(users.size)
    known = read(*_walks(15, 7))
    one = read(users, items, times)
    other = read(users[shuffled], items[shuffled], times[shuffled])
    for release in (one, other):
        rows = same_people(Ids(known.user_ids, "k"), Ids(release.user_ids, "r"))
        found = brought_together(known, release, rows)
        assert found.pairs == 12
        assert np.array_equal(found.release.items, brought_together(known, one, rows).release.items)
