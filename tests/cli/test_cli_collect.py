"""`collect new`, `collect merge`, `doctor`: documents, stores added up in any order, what is refused."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from entropie import schemas
from entropie.collector.document import read
from entropie.collector.facts import observed
from entropie.collector.sqlite_store import SqliteStore
from entropie.collector.store import Batch
from entropie.collector.wire import encode_many

NEW = (
    "collect",
    "new",
    "--title",
    "Drinks",
    "--people",
    "10k",
    "--mechanism",
    "rr",
    "--epsilon",
    "2",
    "--out",
    "c.json",
)


@pytest.fixture(autouse=True)
def items(entropie) -> None:
    Path("items.txt").write_text("tea\n\n  coffee \nmaté\n", encoding="utf-8")


def stored(path: str, document: bytes, *records: tuple[int, int], close: bool = True) -> None:
    store = SqliteStore(path)
    store.create(document)
    name = hashlib.sha256(document).hexdigest()
    store.add([Batch(name, [nonce for nonce, _ in records], [cell for _, cell in records], 1)])
    if close:
        store.close(name)
    store.end()


def test_a_document_says_what_is_asked(entropie):
    ran = entropie(*NEW, "--items", "items.txt", "--opens", "2026-12-01", "--bayes-error", "99%", "--certainty", "0.5")
    assert ran.code == 0
    content = Path("c.json").read_bytes()
    made = read(content)
    assert (made.items, made.users, str(made.closes)) == (["tea", "coffee", "maté"], 10_000, "2027-03-01")
    assert (made.limits.bayes_error, made.limits.certainty, made.limits.list_error) == ("0.99", "0.5", None)
    assert hashlib.sha256(content).hexdigest() in ran.out
    assert "Drinks: 10,000 people, 1 report each, 2026-12-01 to 2027-03-01" in ran.out
    assert Path("c.json").stat().st_mode & 0o777 == 0o600


def test_an_open_domain_is_hashed(entropie):
    ran = entropie("collect", "new", "--title", "Places", "--people", "1000", "--mechanism", "glh", "--epsilon", "3",
                   "--domain", "1M", "--out", "p.json", "--json")  # fmt: skip
    told, made = json.loads(ran.out), read(Path("p.json").read_bytes())
    assert (ran.code, told["id"], told["cells"]) == (0, made.id, made.cells)
    assert made.items is None
    assert told["bayes_error"] == made.guarantee_for(1000).all_reports.bayes_error


def test_a_collection_below_its_limit_is_refused(entropie):
    ran = entropie(*NEW, "--items", "items.txt", "--bayes-error", "99.999%")
    assert (ran.code, ran.out) == (1, "")
    assert "the limit is" in ran.err
    assert "--epsilon" in ran.err
    assert not Path("c.json").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "--items"),
        (("--items", "items.txt", "--domain", "5"), "--items"),
        (("--items", "none.txt"), "does not exist"),
        (("--items", "items.txt", "--closes", "2020-01-01"), "closes"),
        (("--items", "items.txt", "--theta", "0.5"), "--theta"),
        (("--items", "twice.txt"), "listed twice"),
        (("--items", "latin.txt"), "UTF-8"),
        (("--items", "items.txt", "--hash-size", "4"), "hash"),
        (("--items", "items.txt", "--title", ""), "title"),
        (("--items", "items.txt", "--reports", "0"), "report"),
    ],
)
def test_bad_input_is_one_sentence(entropie, more, said):
    Path("twice.txt").write_text("tea\ntea\n", encoding="utf-8")
    Path("latin.txt").write_bytes("maté".encode("latin-1"))
    ran = entropie(*NEW, *more)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.strip().count("\n") == 0
    assert said in ran.err
    assert not Path("c.json").exists()


def test_documents_keep_to_their_schemas(entropie):
    told = entropie(*NEW, "--items", "items.txt", "--json").out
    stored("one.store", Path("c.json").read_bytes(), (1, 0))
    for name, document in (
        ("collect", told),
        ("collection", Path("c.json").read_text()),
        ("merge", entropie("collect", "merge", "one.store", "--out", "all.store", "--json").out),
        ("doctor", entropie("doctor", "all.store", "--json").out),
    ):
        check = Draft202012Validator(schemas.schema(name))
        check.validate(json.loads(document))
        assert list(check.iter_errors({**json.loads(document), "more": 1})), name


def test_stores_add_up_in_any_order(entropie):
    entropie(*NEW, "--items", "items.txt", "--quiet")
    document = Path("c.json").read_bytes()
    name = hashlib.sha256(document).hexdigest()
    for place, records in enumerate([[(1, 0), (2, 2)], [(1, 0)], [(5, 1), (6, 1), (7, 2)]]):
        stored(f"{place}.store", document, *records)
    found = set()
    for place, order in enumerate(itertools.permutations(["0.store", "1.store", "2.store"])):
        ran = entropie("collect", "merge", *order, "--out", f"all-{place}.store", "--json")
        assert (ran.code, json.loads(ran.out)["reports"]) == (0, {name: 6})
        store = SqliteStore(f"all-{place}.store")
        cells = store.counts(name)
        found.add(
            repr(
                (cells.cells.tolist(), cells.counts.tolist(), store.totals(name), store.seen(name), store.hourly(name))
            )
        )
        assert store.problems() == []
        store.end()
    assert len(found) == 1
    assert "[0, 1, 2], [2, 2, 2]" in found.pop()
    entropie("collect", "merge", "0.store", "1.store", "--out", "two.store")
    assert entropie("collect", "merge", "two.store", "2.store", "--out", "three.store").code == 0
    for twice in (("0.store", "0.store"), ("two.store", "1.store")):
        ran = entropie("collect", "merge", *twice, "--out", "wrong.store")
        assert (ran.code, Path("wrong.store").exists()) == (2, False)
        assert "same reports" in ran.err
    assert "there already" in entropie("collect", "merge", "0.store", "--out", "two.store").err


def test_what_is_open_or_damaged_is_not_merged(entropie):
    entropie(*NEW, "--items", "items.txt", "--quiet")
    stored("open.store", Path("c.json").read_bytes(), (1, 0), close=False)
    Path("bad.store").write_bytes(b"nothing" * 1000)
    for name, said in (("open.store", "is open"), ("bad.store", "damaged"), ("none.store", "no store")):
        ran = entropie("collect", "merge", name, "--out", "all.store")
        assert (ran.code, Path("all.store").exists()) == (2, False)
        assert said in ran.err


@pytest.mark.parametrize("step", ["absorb", "totals"])
def test_a_merge_that_fails_or_is_refused_leaves_nothing(entropie, monkeypatch, step):
    entropie(*NEW, "--items", "items.txt", "--quiet")
    stored("one.store", Path("c.json").read_bytes(), (1, 0))
    stored("open.store", Path("c.json").read_bytes(), (1, 0), close=False)
    before = sorted(Path().iterdir())
    assert entropie("collect", "merge", "one.store", "open.store", "--out", "all.store").code == 2
    assert sorted(Path().iterdir()) == before
    with monkeypatch.context() as patched:
        patched.setattr(SqliteStore, step, lambda *_: 1 / 0)
        assert entropie("collect", "merge", "one.store", "--out", "all.store").code == 70
    assert sorted(Path().iterdir()) == before
    assert entropie("collect", "merge", "one.store", "--out", "all.store").code == 0
    assert sorted(Path().iterdir()) == sorted([*before, Path("all.store")])


@pytest.mark.parametrize("endings", [("-wal", "-shm"), ("-wal",)])
def test_a_store_whose_service_died_is_examined_with_its_log(entropie, endings):
    """What was counted stands in the log alone; looking leaves all files as they were."""
    entropie(*NEW, "--items", "items.txt", "--quiet")
    store = SqliteStore("live.store")
    store.create(Path("c.json").read_bytes())
    for ending in ("", *endings):
        Path(f"dead.store{ending}").write_bytes(Path(f"live.store{ending}").read_bytes())
    store.end()
    before = {file.name: file.read_bytes() for file in Path().iterdir() if not file.name.endswith("-shm")}
    names = sorted(Path().iterdir())
    told = json.loads(entropie("doctor", "dead.store", "--json").out)
    assert (told["sound"], len(told["collections"])) == (True, 1)
    assert sorted(Path().iterdir()) == names
    assert {file.name: file.read_bytes() for file in Path().iterdir() if not file.name.endswith("-shm")} == before


def test_a_store_is_examined(entropie):
    entropie(*NEW, "--items", "items.txt", "--quiet")
    stored("one.store", Path("c.json").read_bytes(), (1, 0), (2, 2), close=False)
    ran = entropie("doctor", "one.store")
    assert ran.code == 0
    assert ran.out.startswith("PASS   The store is sound")
    told = json.loads(entropie("doctor", "one.store", "--json").out)
    assert (told["sound"], told["collections"][0]["seen"], told["collections"][0]["invalid"]) == (True, 2, 1)
    Path("one.store").write_bytes(Path("one.store").read_bytes()[:5000])
    ran = entropie("doctor", "one.store")
    assert ran.code == 1
    assert ran.out.startswith("FAIL   The store")
    assert entropie("doctor", "none.store").code == 2


def records(cells: np.ndarray, rng: np.random.Generator) -> bytes:
    return encode_many(rng.integers(0, 256, (len(cells), 16), dtype=np.uint8), cells)


@pytest.mark.parametrize("kind", ["rr", "glh"])
def test_records_in_files_are_estimated_as_a_service_would(entropie, kind):
    mechanism = ("--mechanism", kind, "--epsilon", "2", "--out", "c.json", "--people", "5k")
    assert entropie("collect", "new", "--title", "Drinks", "--items", "items.txt", *mechanism).code == 0
    content, rng = Path("c.json").read_bytes(), np.random.default_rng(4)
    collection = read(content)
    cells = rng.integers(0, collection.cells, 3000).astype(np.uint64)
    store = SqliteStore("s")
    store.create(content)
    store.add([Batch(collection.id, range(3000), cells.tolist())])
    expected = observed(store, store.find(collection.id)).estimates.probabilities
    store.end()
    body, other = records(cells[:2000], rng), records(cells[2000:], rng)
    Path("a.bin").write_bytes(body + bytes(16) + b"\xff" * 8)
    Path("b.bin").write_bytes(body[:2400] + other + other)
    for out, bodies in (("r.parquet", ("a.bin", "b.bin")), ("r.csv", ("b.bin", "a.bin"))):
        ran = entropie("collect", "reports", *bodies, "--collection", "c.json", "--out", out, "--json")
        assert json.loads(ran.out) == {"reports": 3000, "duplicate": 1100, "invalid": 1}
        found = json.loads(entropie("estimate", out, "--json").out)["estimates"]
        assert {one["code"]: one["share"] for one in found} == pytest.approx(dict(enumerate(expected)))
    assert b"nonce" not in Path("r.parquet").read_bytes()


@pytest.mark.parametrize("content", [b"x" * 25, None])
def test_records_that_are_none_are_refused(entropie, content):
    entropie(*NEW, "--items", "items.txt")
    if content is not None:
        Path("a.bin").write_bytes(content)
    ran = entropie("collect", "reports", "a.bin", "--collection", "c.json", "--out", "r.csv")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert not list(Path().glob("r.csv*"))


def test_the_first_of_equal_numbers_counts_and_the_order_is_theirs(entropie):
    entropie(*NEW, "--items", "items.txt")
    one, other = bytes([9] * 16), bytes([7] * 16)
    Path("a.bin").write_bytes(
        b"".join(nonce + bytes(7) + bytes([cell]) for nonce, cell in ((one, 2), (one, 1), (other, 0)))
    )
    assert "2 reports" in entropie("collect", "reports", "a.bin", "--collection", "c.json", "--out", "r.csv").out
    assert [line.rsplit(",", 1)[1] for line in Path("r.csv").read_text().split()] == ['"report"', "0", "2"]
