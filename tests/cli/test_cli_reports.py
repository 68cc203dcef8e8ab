"""`obfuscate` and `estimate`: files there and back, and nothing half-written."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from entropie.cli import obfuscate as obfuscate_command
from entropie.mechanisms.parameters import from_document

NAMES = ["bakery", "café", "museum", "a,b", '=cmd("x")', "zoo"]
SHARES = [0.4, 0.3, 0.15, 0.1, 0.04, 0.01]
ROWS = 20_000


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    values = np.random.default_rng(7).choice(len(NAMES), ROWS, p=SHARES)
    with (tmp_path / "visits.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["user", "place", "code"])
        writer.writerows([f"u{i}", NAMES[value], int(value)] for i, value in enumerate(values))
    return tmp_path / "visits.csv"


def true_shares(visits: Path) -> dict[str, float]:
    with visits.open(encoding="utf-8") as file:
        places = [row["place"] for row in csv.DictReader(file)]
    return {name: places.count(name) / len(places) for name in NAMES}


MECHANISMS = {
    "rr": ["--mechanism", "rr", "--epsilon", "2"],
    "glh": ["--mechanism", "glh", "--hash-size", "5", "--epsilon", "2"],
    "glh-large-prime": ["--mechanism", "glh", "--hash-size", "4", "--epsilon", "3", "--prime", "large"],
}


@pytest.mark.parametrize("options", MECHANISMS.values(), ids=MECHANISMS.keys())
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_there_and_back_by_names(entropie, visits, options, ending):
    out = f"reports.{ending}"
    made = entropie("obfuscate", visits, "--column", "place", *options, "--dictionary", "d.csv", "--out", out, "--json")
    assert made.code == 0, made.err
    facts = json.loads(made.out)
    assert facts["rows"] == ROWS
    assert facts["simulated"] is False
    read = entropie("estimate", out, "--parameters", facts["parameters"], "--dictionary", "d.csv", "--json")
    assert read.code == 0, read.err
    document = json.loads(read.out)
    truth = true_shares(visits)
    assert {row["item"] for row in document["estimates"]} == set(NAMES)
    for row in document["estimates"]:
        assert abs(row["share"] - truth[row["item"]]) < 5 * row["standard_error"]  # z = 5: 1 false alarm in 10^6


def test_codes_need_no_dictionary_and_columns_can_be_kept(entropie, visits):
    options = ["--column", "code", "--domain", "6", "--mechanism", "rr", "--theta", "0.5", "--keep", "user"]
    assert entropie("obfuscate", visits, *options, "--out", "r.parquet").code == 0
    table = pq.read_table("r.parquet")
    assert table.column_names == ["user", "parameters", "report"]
    assert sorted(table["user"].to_pylist()) == sorted(f"u{i}" for i in range(ROWS))
    assert table["user"][:9].to_pylist() != [f"u{i}" for i in range(9)]
    mechanism = from_document(Path("r.parquet.parameters.json").read_text())
    assert mechanism.theta == 0.5


def test_the_order_is_chance_unless_kept(entropie, visits):
    """A row says nothing about where it stood: without noise, places of the first rows are spread over the file."""
    options = ["--column", "code", "--domain", "6", "--mechanism", "rr", "--theta", "1", "--keep", "user"]
    made = json.loads(entropie("obfuscate", visits, *options, "--out", "r.parquet", "--json").out)
    assert (made["shuffled"], made["kept"]) == (True, ["user"])
    table = pq.read_table("r.parquet").to_pydict()
    with visits.open(encoding="utf-8") as file:
        truth = {row["user"]: int(row["code"]) for row in csv.DictReader(file)}
    assert all(truth[user] == code for user, code in zip(table["user"], table["report"], strict=True))
    places = np.array([int(user[1:]) for user in table["user"]])
    assert sorted(places) == list(range(ROWS))
    # the correlation with the old order is 0 +- 1/sqrt(n); five deviations, and the order itself has 1
    assert abs(np.corrcoef(places, np.arange(ROWS))[0, 1]) < 5 / ROWS**0.5
    kept = entropie("obfuscate", visits, *options, "--keep-order", "--out", "k.parquet")
    assert "Warning: row i is row i of" in kept.out
    assert "kept unchanged, and may tell who sent which report: user." in kept.out
    assert pq.read_table("k.parquet")["user"].to_pylist() == [f"u{i}" for i in range(ROWS)]


def test_nothing_in_the_file_tells_more_than_the_reports(entropie, tmp_path):
    """Of a table with names in a column, in categories and in its metadata, only reports arrive: the bytes are read."""
    rows = 3000
    codes = np.random.default_rng(1).integers(0, 9, rows)
    people = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(rows) % 3), pa.array(["Ann", "Bob", "Cyn", "Zoe-unused"])
    )
    table = pa.table({"person": people, "team": people, "code": codes}).replace_schema_metadata(
        {"pandas": "made by Zoe"}
    )
    pq.write_table(table, "secret-input.parquet", row_group_size=700)
    base = [
        "obfuscate",
        "secret-input.parquet",
        "--column",
        "code",
        "--domain",
        "9",
        "--mechanism",
        "rr",
        "--theta",
        "0.5",
    ]
    assert entropie(*base, "--out", "r.parquet").code == 0
    assert entropie(*base, "--keep", "team", "--out", "kept.parquet").code == 0
    assert entropie(*base, "--out", "r.csv").code == 0
    for name in ("r.parquet", "r.csv", "r.parquet.parameters.json"):
        content = Path(name).read_bytes()
        for word in (b"Ann", b"Zoe", b"person", b"team", b"pandas", b"secret-input", b"code", b"ARROW:schema"):
            assert word not in content, (name, word)
    assert b"Zoe-unused" not in Path("kept.parquet").read_bytes()  # a category that no row has
    file = pq.ParquetFile("r.parquet")
    assert file.metadata.metadata is None
    assert file.metadata.num_row_groups == 1  # nothing of the 700 rows that the input was cut into
    for column in range(file.metadata.num_columns):
        part = file.metadata.row_group(0).column(column)
        assert not part.is_stats_set
        assert not part.has_dictionary_page


def test_hash_values_and_parameters_need_not_be_named(entropie, visits):
    glh = ["--column", "code", "--domain", "6", "--mechanism", "glh", "--epsilon", "2"]
    assert entropie("obfuscate", visits, *glh, "--out", "r.csv").code == 0
    assert json.loads(Path("r.csv.parameters.json").read_text())["hash_size"] == "8"  # e^2 + 1 = 8.39
    found = entropie("estimate", "r.csv", "--json", "--save-counts", "c.npz")
    assert found.code == 0, found.err
    same = entropie("estimate", "r.csv", "--parameters", "r.csv.parameters.json", "--json")
    assert json.loads(found.out)["estimates"] == json.loads(same.out)["estimates"]
    assert json.loads(entropie("estimate", "c.npz", "--json").out)["estimates"] == json.loads(same.out)["estimates"]
    ran = entropie("obfuscate", visits, *glh[:-2], "--theta", "0.5", "--out", "t.csv")
    assert (
        ran.err == "entropie: Local hashing needs --hash-size where --theta is given; --epsilon finds the best one.\n"
    )


def test_a_seed_repeats_and_its_absence_does_not(entropie, visits):
    options = ["--column", "code", "--domain", "6", "--mechanism", "rr", "--theta", "0.5"]
    for out, seed in (("a.csv", ["--seed", "1"]), ("b.csv", ["--seed", "1"]), ("c.csv", []), ("d.csv", [])):
        assert entropie("obfuscate", visits, *options, *seed, "--out", out).code == 0
    texts = [Path(name).read_text() for name in ("a.csv", "b.csv", "c.csv", "d.csv")]
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3


def test_exact_output(entropie, visits, matches_golden):
    made = entropie(
        "obfuscate", "visits.csv", "--column", "place", "--mechanism", "rr", "--epsilon", "2",
        "--dictionary", "d.csv", "--seed", "5", "--out", "r.csv",
    )  # fmt: skip
    matches_golden("obfuscate.txt", made.out)
    read = entropie("estimate", "r.csv", "--parameters", "r.csv.parameters.json", "--dictionary", "d.csv", "--top", "4")
    matches_golden("estimate.txt", read.out)
    read = entropie(
        "estimate", "r.csv", "--parameters", "r.csv.parameters.json", "--dictionary", "d.csv", "--item", "zoo", "--json"
    )
    matches_golden("estimate.json", read.out)


def test_counts_can_be_saved_and_added_up(entropie, visits):
    options = ["--column", "code", "--domain", "6", "--mechanism", "rr", "--theta", "0.5"]
    entropie("obfuscate", visits, *options, "--seed", "1", "--out", "a.csv")
    entropie("obfuscate", visits, *options, "--seed", "2", "--out", "b.parquet")
    parameters = ["--parameters", "a.csv.parameters.json", "--json"]
    assert entropie("estimate", "a.csv", *parameters, "--save-counts", "a.npz").code == 0
    together = json.loads(entropie("estimate", "a.csv", "b.parquet", *parameters).out)
    in_steps = json.loads(entropie("estimate", "a.npz", "b.parquet", *parameters).out)
    assert in_steps["estimates"] == together["estimates"]
    assert together["reports"] == 2 * ROWS


def test_all_estimates_go_to_a_file(entropie, visits):
    options = ["--column", "place", "--mechanism", "rr", "--theta", "0.5", "--dictionary", "d.csv"]
    entropie("obfuscate", visits, *options, "--seed", "1", "--out", "a.csv")
    ran = entropie(
        "estimate", "a.csv", "--parameters", "a.csv.parameters.json", "--dictionary", "d.csv", "--out", "e.parquet"
    )
    assert ran.code == 0
    table = pq.read_table("e.parquet")
    assert table.column_names == [
        "code",
        "item",
        "share",
        "standard_error",
        "low",
        "high",
        "significant",
        "consistent_share",
    ]
    assert sum(table["consistent_share"].to_pylist()) == pytest.approx(1.0)
    assert sorted(table["item"].to_pylist()) == sorted(NAMES)


RR = ["--mechanism", "rr", "--epsilon", "2"]


def test_bad_values_get_one_sentence_and_leave_no_file(entropie, visits, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("place\n")
    (tmp_path / "blank.csv").write_text('place,x\nzoo,1\n"",2\n')
    (tmp_path / "ragged.csv").write_text("place,x\nzoo,1\nzoo\n")
    (tmp_path / "outside.csv").write_text("code\n0\n6\n")
    (tmp_path / "negative.csv").write_text("code\n0\n-1\n")
    (tmp_path / "known.csv").write_text("code,item\n0,zoo\n1,café\n")
    (tmp_path / "gap.csv").write_text("code,item\n0,zoo\n2,café\n")
    (tmp_path / "twice.csv").write_text("code,item\n0,zoo\n1,zoo\n")
    (tmp_path / "image.csv").write_bytes(b"code\n\x00\x01\n")
    (tmp_path / "latin.csv").write_bytes(b"place,x\nzoo,1\ncaf\xe9,2\n")
    whole = gzip.compress(visits.read_bytes())
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    pq.write_table(pa.table({"code": list(range(6)) * 1000}), tmp_path / "whole.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "whole.parquet").read_bytes()[:-100])
    before = {path.name for path in tmp_path.iterdir()}
    names, codes = ["--column", "place", *RR], ["--column", "code", *RR, "--domain", "6"]
    new = ["--dictionary", "new.csv"]
    cases = [
        (["none.csv", *names, *new], "none.csv does not exist; give a file, a folder or a quoted glob."),
        (["empty.csv", *names, *new], "empty.csv is empty; a table needs a header and at least one row."),
        (["header.csv", *names, *new], "header.csv has no rows; at least one is needed."),
        (["blank.csv", *names, *new], "Column `place` is blank in line 3; fill it or leave the row out."),
        (["ragged.csv", *names, *new], "ragged.csv has a row with too few fields in line 3, expected 2; mend it, every row counts here."),
        (["visits.csv", "--column", "where", *RR, *new], "Column `where` is missing from visits.csv; found: user, place, code."),
        (["visits.csv", *names, "--domain", "6"], "Column `place` must hold item codes (whole numbers from 0 to 5), it holds string, first in line 2;"),
        (["visits.csv", *names, "--dictionary", "known.csv"], "Column `place` holds an item in line "),
        (["visits.csv", *names, "--dictionary", "gap.csv"], "Column `code` of gap.csv must hold every code from 0 to 1 once."),
        (["visits.csv", *names, "--dictionary", "twice.csv"], "Column `item` of twice.csv must hold different names and no blank."),
        (["outside.csv", *codes], "Column `code` holds a code in line 3 that is outside the domain 0 to 5;"),
        (["negative.csv", *codes], "Column `code` holds a code in line 3 that is outside the domain 0 to 5;"),
        (["image.csv", *codes], "image.csv is not text (it holds control bytes); expected CSV, TSV"),
        (["latin.csv", *names, *new], "Column `place` of latin.csv holds text that is not UTF-8, first in line 3; save it as UTF-8."),
        (["visits.csv", "--column", "Plce", *RR, *new], "Column `Plce` is missing from visits.csv; did you mean `place`? Found: user, place, code."),
        (["cut.csv.gz", *names, *new], "cut.csv.gz ends early: its gzip stream is cut off; fetch it again."),
        (["cut.parquet", *codes], "cut.parquet is damaged or ends early, Parquet cannot be read"),
        (["visits.csv", *names], "Give either --domain (the column holds codes) or --dictionary (it holds names)."),
        (["visits.csv", "--column", "place", *new], "Give --parameters FILE, or --mechanism with --epsilon or --theta."),
        (["visits.csv", "--column", "code", "--domain", "6", "--mechanism", "rr", "--epsilon", "-2"], "Option --epsilon"),
        (["visits.csv", *codes, "--keep", "code"], "Option --keep must not name"),
        (["visits.csv", *codes, "--keep", "colour"], "Column `colour` is missing from visits.csv"),
    ]  # fmt: skip
    for arguments, sentence in cases:
        ran = entropie("obfuscate", *arguments, "--out", "out.csv")
        assert (ran.code, ran.out) == (2, ""), arguments
        assert ran.err.startswith(f"entropie: {sentence}"), (arguments, ran.err)
        assert ran.err.count("\n") == 1, ran.err
        assert {path.name for path in tmp_path.iterdir()} == before, arguments
    ran = entropie("obfuscate", "visits.csv", *codes, "--out", "no/folder/out.csv")
    assert ran.err == "entropie: Output no/folder/out.csv cannot be written: the folder no/folder does not exist.\n"
    ran = entropie("obfuscate", "visits.csv", *codes, "--out", "out.xlsx")
    assert ran.err == "entropie: Output out.xlsx must end in .csv or .parquet.\n"


def test_bad_reports_get_one_sentence(entropie, visits, tmp_path):
    codes = ["--column", "code", "--domain", "6"]
    entropie("obfuscate", visits, *codes, "--mechanism", "rr", "--theta", "0.5", "--out", "a.csv")
    entropie("obfuscate", visits, *codes, "--mechanism", "rr", "--theta", "0.4", "--out", "b.csv")
    lines = Path("a.csv").read_text().splitlines(keepends=True)
    Path("mixed.csv").write_text("".join(lines + Path("b.csv").read_text().splitlines(keepends=True)[1:3]))
    Path("outside.csv").write_text(lines[0] + lines[1].rsplit(",", 1)[0] + ",6\n")
    Path("empty.csv").write_text("")
    Path("cut.npz").write_bytes(b"PK\x03\x04 not really")
    Path("bad.json").write_text('{"schema":"entropie.parameters","version":1,"kind":"rr","epsilon":2}')
    Path("garbage.json").write_bytes(b"\xff\xfe\x00")
    mine = ["--parameters", "a.csv.parameters.json"]
    cases = [
        (
            ["mixed.csv", *mine],
            "mixed.csv has a report in line 20,002 that was made under other parameters than those of the given ",
        ),
        (["outside.csv", *mine], "Column `report` holds a code in line 2 that is outside the domain 0 to 5;"),
        (["empty.csv", *mine], "empty.csv is empty"),
        (["none.csv", *mine], "none.csv does not exist"),
        (["cut.npz", *mine], "Counts file cut.npz is damaged or not a counts file."),
        (
            ["mixed.csv"],
            "Give --parameters FILE, the parameter document the reports were made under; mixed.csv.parameters",
        ),
        (["a.csv", "b.csv"], "b.csv was made under other parameters than a.csv; estimate each with its own document."),
        (["a.csv", "--parameters", "none.json"], "Parameter document none.json does not exist; check the name."),
        (["a.csv", "--parameters", "bad.json"], "The parameter document has an unknown field `epsilon`"),
        (
            ["a.csv", "--parameters", "garbage.json"],
            "Parameter document garbage.json is not JSON;",
        ),
        (["a.csv", *mine, "--item", "zoo"], "Option --item must be item codes from 0 to 5"),
        (["a.csv", *mine, "--item", "6"], "Option --item must be item codes from 0 to 5, got 6 instead."),
        (["a.csv", *mine, "--level", "1.5"], "Option --level must be a share between 0 and 1, got 1.5 instead."),
        (["a.csv", *mine, "--top", "0"], "Option --top must be a whole number of at least 1, got 0 instead."),
    ]
    for arguments, sentence in cases:
        ran = entropie("estimate", *arguments, "--out", "e.csv")
        assert (ran.code, ran.out) == (2, ""), arguments
        assert ran.err.startswith(f"entropie: {sentence}"), (arguments, ran.err)
        assert ran.err.count("\n") == 1, ran.err
        assert not Path("e.csv").exists()


def test_reports_of_pure_noise_cannot_be_estimated(entropie, visits):
    entropie(
        "obfuscate", visits, "--column", "code", "--domain", "6", "--mechanism", "rr", "--theta", "0", "--out", "a.csv"
    )
    ran = entropie("estimate", "a.csv", "--parameters", "a.csv.parameters.json")
    assert ran.code == 2
    assert ran.err.startswith("entropie: The mechanism sends pure noise")


def test_an_id_that_looks_like_a_number_stays_text(entropie, visits, monkeypatch):
    monkeypatch.setattr("entropie.data.reports.short_id", lambda mechanism: "12345678901234e5")
    entropie(
        "obfuscate", visits, "--column", "code", "--domain", "6", "--mechanism", "rr", "--theta", "1", "--out", "a.csv"
    )
    assert entropie("estimate", "a.csv", "--parameters", "a.csv.parameters.json").code == 0


def test_interrupt_leaves_nothing(entropie, visits, monkeypatch, tmp_path):
    before = {path.name for path in tmp_path.iterdir()}

    def interrupted(job, progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(obfuscate_command._Job, "reports", interrupted)
    ran = entropie("obfuscate", visits, "--column", "code", "--domain", "6", *RR, "--out", "a.parquet")
    assert (ran.code, ran.err.strip()) == (130, "entropie: Stopped; nothing was written.")
    assert {path.name for path in tmp_path.iterdir()} == before


def test_no_input_is_ever_overwritten(entropie, visits, tmp_path):
    codes = ["--column", "code", "--domain", "6", *RR]
    before = visits.read_bytes()
    ran = entropie("obfuscate", "visits.csv", *codes, "--out", "visits.csv")
    assert (ran.code, ran.err) == (
        2,
        "entropie: Output visits.csv is also an input and would be lost; name another file.\n",
    )
    ran = entropie("obfuscate", "visits.csv", "--column", "place", *RR, "--dictionary", "d.csv", "--out", "d.csv")
    assert (ran.code, ran.err) == (2, "entropie: Output d.csv is named twice; name another file.\n")
    assert visits.read_bytes() == before
    entropie("obfuscate", "visits.csv", *codes, "--out", "r.csv")
    reports = Path("r.csv").read_bytes()
    mine = ["--parameters", "r.csv.parameters.json"]
    for arguments in (["--out", "r.csv"], ["--save-counts", "r.csv"], ["--out", "r.csv.parameters.json"]):
        ran = entropie("estimate", "r.csv", *mine, *arguments)
        assert ran.code == 2
        assert "is also an input and would be lost" in ran.err
    ran = entropie("estimate", "r.csv", "./r.csv", *mine)
    assert (ran.code, ran.err) == (
        2,
        "entropie: The same file is named twice among the reports; it would be counted twice.\n",
    )
    assert Path("r.csv").read_bytes() == reports


def test_reports_without_noise_are_said_to_be_the_items(entropie, visits):
    options = ["--column", "code", "--domain", "6", "--mechanism", "rr"]
    assert "no noise was added" in entropie("obfuscate", visits, *options, "--theta", "1", "--out", "a.csv").out
    assert "no noise was added" not in entropie("obfuscate", visits, *options, "--theta", ".9", "--out", "b.csv").out
