"""What must not matter: names, row order, kind of table, threads, and running it again."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from assessment_tables import differences, people_with_habits, table_of, without_clock

import entropie
from entropie.attack.index import blocks
from entropie.attack.matchers import matcher
from entropie.attack.scoring import prepare
from entropie.data.events import read_events
from entropie.data.split import split_traces
from entropie.request import Source

USERS = 90
TABLE = people_with_habits(21, USERS, items=60)
OPTIONS = {"replicates": 50, "seed": 3}
FEW = {"matchers": ["markov", "bayes"], "replicates": 5}
NAMES = re.compile(r"/identifying_items/shown/\d+/item$")
RANDOM = re.compile("/pse_paper_bits/value|/null_baseline/|/convergence/")
# Sums of a few thousand numbers in another order; a key of the law may round to its neighbour, 6e-11 beside it.
ROUNDING = 1e-9


def document(source: object, **options: object) -> dict:
    return without_clock(entropie.assess(source, **{**OPTIONS, **options}).to_json(), "sha256")


@pytest.fixture(scope="module")
def plain() -> dict:
    return document(TABLE)


@pytest.fixture(scope="module")
def few() -> dict:
    return document(TABLE, **FEW)


def renamed(table: pa.Table, role: str, names: Callable[[np.ndarray], list]) -> pa.Table:
    """The table under other names that sort in another order."""
    codes, places = np.unique(table[role].to_numpy(), return_inverse=True)
    shuffled = np.random.default_rng(8).permutation(codes.size)
    assert np.any(np.diff(shuffled) < 0)
    return table.set_column(table.column_names.index(role), role, [names(shuffled[places])])


def as_numbers(codes: np.ndarray) -> list:
    return (codes * 7 + 1000).tolist()


def as_text(codes: np.ndarray) -> list:
    return [f"n{code}é" for code in codes]


def test_the_order_of_rows_does_not_matter(plain):
    order = np.random.default_rng(9).permutation(TABLE.num_rows)
    assert differences(plain, document(TABLE.take(order))) == {}


@pytest.mark.parametrize("names", [as_numbers, as_text])
def test_the_names_of_items_do_not_matter(plain, names):
    found = differences(plain, document(renamed(TABLE, "item", names)), ROUNDING)
    assert {path for path in found if not NAMES.search(path)} == set()


@pytest.mark.parametrize("names", [as_numbers, as_text])
def test_the_names_of_users_do_not_matter(plain, names):
    found = differences(plain, document(renamed(TABLE, "user", names)), ROUNDING)
    assert {path for path in found if not RANDOM.search(path)} == set()


def test_the_names_of_users_do_not_change_what_is_drawn_at_random(plain):
    """The permuted baseline and the paper's jitter belong to people, not to the places where their names sort."""
    assert differences(plain, document(renamed(TABLE, "user", as_text)), ROUNDING) == {}


def test_names_and_order_at_once(few):
    mixed = renamed(renamed(TABLE, "user", as_text), "item", as_text)
    mixed = mixed.take(np.random.default_rng(10).permutation(mixed.num_rows))
    found = differences(few, document(mixed, **FEW), ROUNDING)
    assert {path for path in found if not (RANDOM.search(path) or NAMES.search(path))} == set()


def test_a_change_in_the_data_does_matter(plain):
    items = TABLE["item"].to_numpy().copy()
    items[::5] = np.random.default_rng(1).permutation(items[::5])
    changed = document(TABLE.set_column(1, "item", [items]))
    assert differences(plain, changed, 1e-3)


def test_run_again(plain):
    assert document(TABLE) == plain
    other = differences(plain, document(TABLE, seed=4))
    assert "/attacks/0/pse_bits/value" not in other
    assert "/attacks/0/identification_error/value" not in other
    assert other["/provenance/seed"] == (3, 4)
    assert "/attacks/0/null_baseline/pse_bits/value" in other


def test_threads_do_not_matter():
    table = people_with_habits(2, 1000, items=200, events=(40, 60))
    split = split_traces(read_events(Source(table)).traces)
    index, targets = prepare(matcher("visit")(split.train, split.target))
    assert len(list(blocks(index, targets, 2))) > 1  # so that threads have something to share
    options = {"matchers": ["visit", "bayes"], "control": False, "replicates": 2}
    assert document(table, threads=1, **options) == document(table, threads=2, **options)


def test_threads_do_not_matter_to_any_attacker():
    assert document(TABLE, threads=1) == document(TABLE, threads=2)


def test_threads_do_not_matter_to_convergence():
    table = table_of([[f"group {user % 20}"] * 10 for user in range(200)])
    options = {"matchers": ["visit"], "converge": True}
    assert document(table, threads=1, **options) == document(table, threads=2, **options)


SOURCES: dict[str, Callable[[Path], object]] = {}


def source(make: Callable[[Path], object]) -> Callable[[Path], object]:
    SOURCES[make.__name__] = make
    return make


@source
def pandas_frame(folder: Path) -> object:
    return TABLE.to_pandas()


@source
def arrow_table(folder: Path) -> object:
    return TABLE


@source
def arrow_batches(folder: Path) -> object:
    return pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=97))


@source
def duckdb_relation(folder: Path) -> object:
    return duckdb.from_arrow(TABLE)


@source
def csv_file(folder: Path) -> object:
    pa_csv.write_csv(TABLE, folder / "events.csv")
    return folder / "events.csv"


@source
def csv_path_as_text(folder: Path) -> object:
    return str(csv_file(folder))


@source
def tsv_file(folder: Path) -> object:
    pa_csv.write_csv(TABLE, folder / "events.tsv", pa_csv.WriteOptions(delimiter="\t"))
    return folder / "events.tsv"


@source
def packed_csv_file(folder: Path) -> object:
    csv_file(folder)
    (folder / "events.csv.gz").write_bytes(gzip.compress((folder / "events.csv").read_bytes()))
    return folder / "events.csv.gz"


@source
def parquet_file(folder: Path) -> object:
    pq.write_table(TABLE, folder / "events.parquet")
    return folder / "events.parquet"


@source
def parquet_folder(folder: Path) -> object:
    (folder / "parts").mkdir()
    for part in range(3):
        third = TABLE.num_rows // 3
        piece = TABLE.slice(part * third, third if part < 2 else None)
        pq.write_table(piece, folder / "parts" / f"part-{part}.parquet")
    return folder / "parts"


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES.keys())
def test_every_kind_of_table_gives_the_same(few, tmp_path, make):
    found = differences(few, document(make(tmp_path), **FEW))
    assert set(found) <= {"/input/source"}


def sha256(source: object) -> str:
    return entropie.assess(source, matchers=["visit"], replicates=2, control=False).input["sha256"]


@pytest.mark.parametrize("make", [csv_file, packed_csv_file, parquet_file], ids=["csv", "gz", "parquet"])
def test_a_file_is_named_by_its_bytes(tmp_path, make):
    path = make(tmp_path)
    assert sha256(path) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_files_are_named_by_their_listing(tmp_path):
    folder = parquet_folder(tmp_path)
    listing = "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())
    )
    assert sha256(folder) == hashlib.sha256(listing.encode()).hexdigest()


def test_a_table_in_memory_is_named_by_its_values(tmp_path):
    name = sha256(TABLE)
    assert (
        name == sha256(pandas_frame(tmp_path)) == sha256(arrow_batches(tmp_path)) == sha256(duckdb_relation(tmp_path))
    )
    assert name == sha256(TABLE.append_column("unused", [list(range(TABLE.num_rows))]))
    other = TABLE["item"].to_numpy().copy()
    other[0] += 1
    assert name != sha256(TABLE.set_column(1, "item", [other]))


def test_ids_as_numbers_or_as_text_of_numbers(few):
    text = TABLE.set_column(0, "user", TABLE["user"].cast(pa.string())).set_column(
        1, "item", TABLE["item"].cast(pa.string())
    )
    assert differences(few, document(text, **FEW)) == {}
