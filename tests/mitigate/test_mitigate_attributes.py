"""Tables of attributes against counting by hand: groups, bits, what columns add, bands, and nobody's values shown."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import entropie
from entropie.data.budget import Budget
from entropie.errors import InvalidInput, InvalidParameter
from entropie.mitigate import attributes as module
from entropie.mitigate.attribute_table import BinRule, read_attributes, round_width, rule_of
from entropie.mitigate.attributes import group_risk, group_sizes
from entropie.schemas import schema
from entropie.table import attributes

ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.integers(0, 4)), min_size=2, max_size=40)


def table_of(rows: list[tuple], names: str = "pqr") -> pa.Table:
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})


def entropy(values: list) -> float:
    n = len(values)
    return -sum(c / n * math.log2(c / n) for c in Counter(values).values())


@settings(deadline=None, max_examples=60)
@given(ROWS)
def test_sets_by_counting(rows):
    found = attributes(table_of(rows), columns=["p", "q", "r"])
    n = len(rows)
    assert len(found.sets) == 7
    assert found.together == found.sets[-1]
    for risk in found.sets:
        places = ["pqr".index(name) for name in risk.columns]
        values = [tuple(row[i] for i in places) for row in rows]
        counts = Counter(values)
        assert risk.groups == len(counts)
        assert risk.smallest_group == min(counts.values())
        assert risk.bits == pytest.approx(entropy(values), abs=1e-9)
        assert risk.unique_share == pytest.approx(sum(counts[v] == 1 for v in values) / n)
        assert risk.small_share == pytest.approx(sum(counts[v] < 10 for v in values) / n)
        assert risk.success == pytest.approx(sum(1.0 / counts[v] for v in values) / n)  # picks anybody of the group
        assert risk.bits_low <= math.log2(n) + 1e-9
        assert risk.bits_high is None or risk.bits_low <= risk.bits_high <= math.log2(n) + 1e-9


def _by_looking(rows: list[tuple], columns: int, points: int) -> tuple[float, float]:
    """Mean over everybody and every choice of columns: 1/people who fit, and whether one alone does."""
    named, alone = [], []
    for person in rows:
        for known in itertools.combinations(range(columns), points):
            fit = sum(all(other[i] == person[i] for i in known) for other in rows)
            named.append(1.0 / fit)
            alone.append(fit == 1)
    return sum(named) / len(named), sum(alone) / len(alone)


@settings(deadline=None, max_examples=40)
@given(ROWS)
def test_random_columns_by_looking_up_everybody(rows):
    attackers = attributes(table_of(rows), columns=["p", "q", "r"]).attackers
    assert [row.points for row in attackers] == [1, 2]
    for row in attackers:
        named, alone = _by_looking(rows, 3, row.points)
        assert row.all
        assert row.sets == 3
        assert row.reidentified.value == pytest.approx(named)
        assert row.unicity.value == pytest.approx(alone)
        assert row.unicity.value <= row.reidentified.value + 1e-12
        assert row.reidentified.low <= row.reidentified.value <= row.reidentified.high


def test_many_columns_are_drawn_and_the_interval_holds_the_mean_of_all():
    rng = np.random.default_rng(11)
    values = np.column_stack([rng.integers(0, 2 + (i % 3), 300) for i in range(12)])
    table = pa.table({f"c{i}": values[:, i] for i in range(12)})
    found = {row.points: row for row in attributes(table, columns=table.column_names, max_set=1).attackers}
    assert not found[4].all
    assert found[4].sets == module._COUNTED_SETS[1] < math.comb(12, 4)
    columns = [(values[:, i].astype(np.int64), 4) for i in range(12)]
    everything, fewer = (
        [group_sizes(known).size / 300 for known in itertools.combinations(columns, points)] for points in (4, 3)
    )
    share = found[4].reidentified
    assert share.low <= np.mean(everything) <= share.high
    spread = np.std(everything) / math.sqrt(found[4].sets)
    assert abs(share.value - np.mean(everything)) < 5 * spread  # z = 5; power: sets of three columns differ by more
    assert abs(np.mean(fewer) - np.mean(everything)) > 5 * spread


@settings(deadline=None, max_examples=40)
@given(ROWS)
def test_what_columns_add_by_all_orders(rows):
    found = attributes(table_of(rows), columns=["p", "q", "r"])

    def bits(names) -> float:
        return entropy([tuple(row["pqr".index(name)] for name in sorted(names)) for row in rows]) if names else 0.0

    for column in found.columns:
        rest = set("pqr") - {column.name}
        assert column.adds_bits == pytest.approx(bits("pqr") - bits(rest), abs=1e-9)
        gains = []
        for order in itertools.permutations("pqr"):
            before = order[: order.index(column.name)]
            gains.append(bits([*before, column.name]) - bits(before))
        assert column.average_bits == pytest.approx(sum(gains) / len(gains), abs=1e-9)
    assert sum(column.average_bits for column in found.columns) == pytest.approx(found.together.bits, abs=1e-9)
    taken: list[str] = []
    for step in found.greedy:
        rest = [name for name in "pqr" if name not in taken]
        assert bits([*taken, step.column]) == pytest.approx(max(bits([*taken, name]) for name in rest), abs=1e-9)
        assert step.adds_bits == pytest.approx(bits([*taken, step.column]) - bits(taken), abs=1e-9)
        taken.append(step.column)
    start = found.start.columns  # those that name people by themselves are not worth a remedy other than to go
    assert set(start) == (set("pqr") - set(found.identifiers) or set("pqr"))
    for remedy in found.remedies:
        assert remedy.column in start
        if remedy.action == "drop":
            places = ["pqr".index(name) for name in start if name != remedy.column]
            left = Counter(tuple(row[i] for i in places) for row in rows)
            assert remedy.success == pytest.approx(len(left) / len(rows))
            assert remedy.bits_given_up == pytest.approx(entropy([row["pqr".index(remedy.column)] for row in rows]))
            assert remedy.success_drop == pytest.approx(found.start.success - remedy.success)
            if remedy.drop_per_bit is not None:
                assert remedy.drop_per_bit == pytest.approx(remedy.success_drop / remedy.bits_given_up)
    worth = [-math.inf if remedy.drop_per_bit is None else remedy.drop_per_bit for remedy in found.remedies]
    assert worth == sorted(worth, reverse=True)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([3, 1000, 2**31, 2**40]))
def test_group_sizes_whatever_the_number_of_values(seed, columns, values):
    """Small codes are counted, large ones sorted, and products beyond 64 bits numbered anew."""
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, values, 3)
    chosen = [rng.choice(pool, 30) for _ in range(columns)]
    sizes = group_sizes([(codes, values) for codes in chosen])
    assert sorted(sizes.tolist()) == sorted(Counter(zip(*[codes.tolist() for codes in chosen], strict=True)).values())


def test_interval_covers_the_population_as_often_as_it_says():
    shares = 1.0 / np.arange(1, 41)
    shares /= shares.sum()
    truth = float(-(shares @ np.log2(shares)))
    rng = np.random.default_rng(6)
    runs, people = 400, 2000
    risks = []
    for _ in range(runs):
        counts = rng.multinomial(people, shares)
        risks.append(group_risk(("x",), counts[counts > 0], people))
    covered = sum(risk.bits_low <= truth <= risk.bits_high for risk in risks) / runs
    assert abs(covered - 0.95) < 5 * math.sqrt(0.95 * 0.05 / runs)  # z = 5
    plain = np.mean([risk.bits for risk in risks])
    middle = np.mean([(risk.bits_low + risk.bits_high) / 2 for risk in risks])
    assert abs(middle - truth) < abs(plain - truth) / 3  # power: without the correction the bias would be seen
    narrow = sum(abs(truth - (r.bits_low + r.bits_high) / 2) <= (r.bits_high - r.bits_low) / 4 for r in risks) / runs
    assert narrow < 0.95 - 5 * math.sqrt(0.95 * 0.05 / runs)  # power: half the width would be too little


def test_people_who_are_all_alone_have_no_upper_end():
    found = group_risk(("x",), np.ones(64, np.int64), 64)
    assert found.bits == pytest.approx(6.0)
    assert found.bits_low == pytest.approx(6.0)  # nothing above log2 n can be told
    assert found.bits_high is None
    assert found.success == found.unique_share == 1.0


def test_numbers_are_cut_into_round_bands():
    ages = np.repeat(np.arange(18, 90), 10)
    exact = read_attributes(pa.table({"age": ages}), ["age"]).columns[0]
    assert (exact.bands, exact.size) == (None, 72)  # nothing is cut before it is asked for
    column = exact.in_bands()
    assert (column.bands.width, column.exact_size) == (5.0, 72)
    low, high = np.quantile(ages, 0.01, method="inverted_cdf"), np.quantile(ages, 0.99, method="inverted_cdf")
    naive = [min(max(age // 5, low // 5), high // 5) for age in ages.tolist()]
    assert sorted(Counter(naive).values()) == sorted(np.bincount(column.codes).tolist())
    pairs = set(zip(naive, column.codes.tolist(), strict=True))
    assert len(pairs) == column.size == column.bands.count  # the same cut, one code per band


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=22, max_size=60, unique=True),
    st.integers(1, 30),
)
def test_never_more_bands_than_asked_for(numbers, most):
    column = read_attributes(pa.table({"x": numbers}), ["x"], bins={"x": BinRule(bands=most)}).columns[0].in_bands()
    assert column.size <= column.bands.count <= max(most, 1)
    step = float(f"{column.bands.width:e}".split("e")[0])
    assert step in (1.0, 2.0, 5.0)
    order = np.argsort(numbers)
    assert (np.diff(column.codes[order]) >= 0).all()  # bands keep the order of numbers


@pytest.mark.parametrize(
    ("width", "rounded"), [(1, 1), (1.2, 2), (2, 2), (3, 5), (7, 10), (0.3, 0.5), (0.07, 0.1), (1234, 2000)]
)
def test_round_widths(width, rounded):
    assert round_width(width) == rounded


def test_few_numbers_and_codes_stay_as_they_are():
    table = pa.table(
        {
            "kids": [i % 5 for i in range(200)],
            "town": [f"0{1000 + i % 100}" for i in range(200)],  # a leading zero: no number
            "job": [f"j{i % 30}" for i in range(200)],
            "text": [str(1.5 * (i % 100)) for i in range(200)],  # numbers written as text
        }
    )
    can = {one.name: one.can_be_banded for one in attributes(table, columns=["kids", "town", "job", "text"]).columns}
    assert can == {"kids": True, "town": False, "job": False, "text": True}
    kids, towns, job, text = read_attributes(table, ["kids", "town", "job", "text"]).columns
    assert [c.proposed for c in (kids, towns, job)] == [None, None, None]
    assert (kids.numbers is None, towns.numbers is None, job.numbers is None) == (False, True, True)
    assert [c.digits for c in (kids, towns, job, text)] == [False, True, False, False]
    assert text.proposed.width == 10.0
    assert text.size == 100
    exact = read_attributes(table, ["text"], bins={"text": BinRule()}).columns[0]
    assert exact.in_bands() is exact
    wide = read_attributes(table, ["text"], bins={"text": BinRule(width=50.0)}).columns[0].in_bands()
    assert wide.bands.width == 50.0
    assert wide.size == 3


@pytest.mark.parametrize(
    "name", ["id", "user_id", "userID", "Zip", "ZIP5", "postCode", "POSTCODE", "postal code", "plz", "customer-uuid"]
)
def test_codes_are_known_by_their_names(name):
    numbers = [1000 + 7 * (i % 60) for i in range(180)]
    found = attributes(pa.table({name: numbers, "weight": numbers}), columns=[name, "weight"])
    code, weight = found.columns
    assert (code.kind, code.bands, code.banded) == ("codes", None, None)
    assert (weight.kind, weight.band_width) == ("numbers", 50.0)
    assert "bands of" not in "".join(remedy.how for remedy in found.remedies if remedy.column == name)
    asked = attributes(pa.table({name: numbers}), columns=[name], bins={name: BinRule(bands=10)})
    assert asked.columns[0].bands == 9  # who asks for bands gets them


@pytest.mark.parametrize("name", ["idle", "zipped", "encoded", "postcodes_seen", "unidentified", "age"])
def test_other_names_are_no_codes(name):
    numbers = [1000 + 7 * (i % 60) for i in range(180)]
    assert attributes(pa.table({name: numbers}), columns=[name]).columns[0].kind == "numbers"
    halves = [1.5 * number for number in numbers]
    assert attributes(pa.table({"code": halves}), columns=["code"]).columns[0].kind == "numbers"  # no code has halves


def test_digits_that_are_text_on_purpose_are_codes(tmp_path):
    numbers = [str(1000 + 7 * (i % 60)) for i in range(180)]
    table = pa.table({"branch": numbers})
    assert attributes(table, columns=["branch"]).columns[0].kind == "codes"
    pq.write_table(table, tmp_path / "t.parquet")
    assert attributes(tmp_path / "t.parquet", columns=["branch"]).columns[0].kind == "codes"
    pa_csv.write_csv(table, tmp_path / "t.csv")  # where everything is text, nothing follows from it
    assert attributes(tmp_path / "t.csv", columns=["branch"]).columns[0].kind == "numbers"


def test_what_is_different_for_everybody_is_an_identifier():
    rng = np.random.default_rng(3)
    ages = rng.integers(18, 90, 300)
    number = rng.permutation(300)  # no word in its name, whole numbers, and yet nobody shares it
    found = attributes(pa.table({"number": number, "age": ages}), columns=["number", "age"])
    first, age = found.columns
    assert (first.identifier, first.bands, first.alone.success) == (True, None, 1.0)
    assert not age.identifier
    assert found.identifiers == ("number",)
    assert found.together.success == 1.0
    assert found.without_identifiers.columns == ("age",)
    assert found.without_identifiers.success == pytest.approx(len(set(ages.tolist())) / 300)
    assert found.banded.columns == ("age",)
    assert {remedy.column for remedy in found.remedies} == {"age"}
    alone = attributes(pa.table({"number": number}), columns=["number"])
    assert alone.without_identifiers is None
    assert alone.banded is None
    assert [remedy.action for remedy in alone.remedies] == ["drop"]
    asked = attributes(pa.table({"number": number}), columns=["number"], bins={"number": BinRule(bands=10)})
    assert asked.banded.success == pytest.approx(asked.columns[0].bands / 300)  # not silently, but on request
    nearly = attributes(pa.table({"number": [*number[:-1], number[0]]}), columns=["number"])
    assert nearly.identifiers == ()


def test_the_table_as_it_stands_comes_first_and_bands_are_the_remedy():
    rng = np.random.default_rng(7)
    ages, incomes = rng.integers(18, 90, 500).tolist(), (rng.integers(100, 900, 500) * 100).tolist()
    found = attributes(pa.table({"age": ages, "income": incomes}), columns=["age", "income"])
    pairs = Counter(zip(ages, incomes, strict=True))
    assert found.together.success == pytest.approx(len(pairs) / 500)
    assert found.sets[-1] == found.together
    assert found.columns[0].alone.bits == pytest.approx(entropy(ages))
    assert found.columns[0].values == len(set(ages))
    low, high = (np.quantile(ages, share, method="inverted_cdf") // 5 for share in (0.01, 0.99))
    banded = [min(max(age // 5, low), high) for age in ages]
    assert found.columns[0].band_width == 5.0
    assert found.columns[0].banded.bits == pytest.approx(entropy(banded))
    assert found.columns[0].banded.success == pytest.approx(len(set(banded)) / 500)
    assert found.banded.success < found.together.success / 1.5
    assert found.start is found.banded


def test_missing_is_a_value_of_its_own():
    for missing in (None, float("nan")):
        table = pa.table({"x": [1.0, 1.0, 2.0, missing, missing, missing]})
        found = attributes(table, columns=["x"]).columns[0]
        assert found.values == 3
        assert found.missing_share == 0.5
    many = pa.table({"x": [*range(40), *[None] * 10]})
    column = read_attributes(many, ["x"]).columns[0].in_bands()
    assert column.size == column.bands.count + 1
    assert np.bincount(column.codes).max() == 10


def test_coarsening_merges_the_rarest_and_widens_bands():
    jobs = ["clerk"] * 60 + ["nurse"] * 30 + ["king"] * 3 + ["pope"] * 2
    ages = [20 + i % 40 for i in range(95)]
    found = attributes(pa.table({"job": jobs, "age": ages}), columns=["job", "age"])
    by = {(remedy.action, remedy.column): remedy for remedy in found.remedies}
    merged = by["coarsen", "job"]
    assert merged.how == "merge the 2 rarest values (5.3\N{NO-BREAK SPACE}% of people)"
    other = ["rest" if job in ("king", "pope") else job for job in jobs]
    assert merged.bits_given_up == pytest.approx(entropy(jobs) - entropy(other))
    assert by["coarsen", "age"].how == "bands of 5"
    assert by["coarsen", "age"].success < found.banded.success < found.together.success
    assert found.together.success == pytest.approx(len(set(zip(jobs, ages, strict=True))) / 95)
    assert found.columns[1].alone.success == pytest.approx(40 / 95)


@pytest.mark.parametrize("ending", ["csv", "parquet", "tsv", "semicolon.csv", "csv.gz"])
def test_files_give_what_memory_gives(tmp_path, ending):
    rng = np.random.default_rng(4)
    table = pa.table(
        {
            "id": [f"p{i}" for i in range(300)],
            "note": ["x, y"] * 300,
            "age": rng.integers(18, 90, 300),
            "sex": rng.choice(["f", "m"], 300),
        }
    )
    path = tmp_path / f"people.{ending}"
    if ending == "parquet":
        pq.write_table(table, path)
    else:
        delimiter = {"tsv": "\t", "semicolon.csv": ";"}.get(ending, ",")
        with pa.output_stream(path) as stream:  # packs by the ending
            pa_csv.write_csv(table, stream, pa_csv.WriteOptions(delimiter=delimiter))
    ask = {"columns": ["age", "sex"], "id_column": "id"}
    found, expected = attributes(path, **ask).to_json(), attributes(table, **ask).to_json()
    assert len(found["input"]["sha256"]) == 64
    for document in (found, expected):
        del document["input"], document["provenance"]
    assert found == expected


def test_document_fits_its_schema_and_names_nobody():
    rng = np.random.default_rng(2)
    names = [f"secret-{i}" for i in range(60)]
    table = pa.table(
        {
            "name": names,
            "age": rng.integers(18, 90, 60),
            "income": [123_457 + 1000 * i for i in range(60)],
            "town": [f"hidden-{i}" for i in rng.integers(0, 9, 60)],
        }
    )
    found = attributes(table, columns=["name", "age", "income", "town"])
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    jsonschema.validate(document, schema("attributes"))
    text = json.dumps(document)
    for word in ("secret", "hidden", "123457", "182457"):
        assert word not in text
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "people": "many"}, schema("attributes"))


def test_more_columns_than_orders_can_be_tried_for():
    rng = np.random.default_rng(1)
    names = [f"c{i}" for i in range(9)]
    table = pa.table({name: rng.integers(0, 3, 50) for name in names})
    found = attributes(table, columns=names, max_set=2)
    assert {len(risk.columns) for risk in found.sets} == {1, 2}
    assert len(found.together.columns) == 9
    assert all(column.average_bits is None for column in found.columns)
    jsonschema.validate(found.to_json(), schema("attributes"))


def test_too_many_sets_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_SETS", 5)
    table = pa.table({name: [1, 2, 3] for name in "abc"})
    with pytest.raises(InvalidParameter, match="3 columns make 7 sets of up to 3, more than 5; lower `max_set=`"):
        attributes(table, columns=["a", "b", "c"], max_set=3)
    assert len(attributes(table, columns=["a", "b", "c"], max_set=1).sets) == 3
    assert len(attributes(table, columns=["a", "b", "c"]).sets) == 3  # as large as there are few enough


def test_a_hundred_columns_take_smaller_sets():
    rng = np.random.default_rng(8)
    table = pa.table({f"c{i}": rng.integers(0, 2, 60) for i in range(100)})
    found = attributes(table, columns=table.column_names)
    assert len(found.sets) == 100  # pairs would be 5,050
    assert found.together.groups == len({tuple(row.values()) for row in table.to_pylist()})


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("age=10", ("age", BinRule(bands=10))),
        ("age=width:2.5", ("age", BinRule(width=2.5))),
        ("a=b=exact", ("a=b", BinRule())),
    ],
)
def test_rules_of_bands(text, rule):
    assert rule_of(text) == rule


@pytest.mark.parametrize(
    "text", ["age", "age=", "age=0", "age=-3", "age=width:0", "age=width:inf", "age=width:x", "=5", "age=1.5"]
)
def test_bad_rules_of_bands(text):
    with pytest.raises(InvalidParameter, match="`bins` must be COLUMN=N"):
        rule_of(text)


def test_rules_as_python_writes_them():
    ages = pa.table({"age": [18 + i % 72 for i in range(720)]})
    for written, rule in ((10, BinRule(bands=10)), ("width:25", BinRule(width=25.0)), ("exact", BinRule())):
        plain, same = (attributes(ages, columns=["age"], bins={"age": bins}) for bins in (written, rule))
        assert {**plain.to_json(), "provenance": None} == {**same.to_json(), "provenance": None}
    for wrong in (0, True, "ten", "width:", 1.5):
        with pytest.raises(InvalidParameter, match="`bins` must be COLUMN=N"):
            attributes(ages, columns=["age"], bins={"age": wrong})


def spaced(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_bands_are_advised_only_where_they_help():
    rng = np.random.default_rng(7)
    ages, codes = rng.integers(18, 90, 2000), rng.permutation(2000) // 2
    helps = attributes(pa.table({"age": ages, "z": ages % 3}), columns=["age"])
    assert helps.banded.success < 0.8 * helps.together.success
    assert spaced(helps.sentences[-1]).startswith("Release bands of 5 (age) instead of the numbers: ")
    hardly = attributes(pa.table({"age": ages, "code": [f"c{c}" for c in codes]}), columns=["age", "code"])
    assert 0.8 * hardly.together.success < hardly.banded.success < hardly.together.success
    assert spaced(hardly.sentences[-1]).startswith("Bands of 5 (age) hardly help: ")
    much = {"age": ages, "income": 10 * rng.integers(0, 1500, 2000), "job": [f"j{n}" for n in rng.integers(0, 9, 2000)]}
    most = attributes(pa.table(much), columns=list(much))
    assert 0.5 < most.banded.success < 0.8
    assert " are not enough: " in spaced(most.sentences[-1])
    assert "Release" not in most.sentences[-1]
    never = attributes(pa.table({"age": ages}), columns=["age"], bins={"age": "width:1"})
    assert never.banded.success >= 0.95 * never.together.success  # the tails alone share a band
    assert "Bands of 1 (age) hardly help: " in never.sentences[-1]


def test_it_is_a_few_lines_and_a_file(tmp_path):
    found = entropie.attributes(
        pa.table({"age": [18 + i % 72 for i in range(720)], "sex": ["f", "m"] * 360}), columns=["age", "sex"]
    )
    assert repr(found).splitlines()[0] == "Attributes of 720 people in 2 columns"
    assert len(repr(found)) < 600
    assert found._repr_html_().count("<tr>") == 3
    written = found.write(tmp_path / "new" / "folder")
    assert written == (tmp_path / "new" / "folder" / "attributes.json", tmp_path / "new" / "folder" / "report.html")
    assert json.loads(written[0].read_text(encoding="utf-8")) == json.loads(json.dumps(found.to_json()))


def test_bad_input_is_said_in_a_sentence(tmp_path):
    table = pa.table({"a": ["x", "y", "z"], "b": [1, 2, 2], "deep": [[1], [2], [3]]})
    cases = [
        ({"columns": []}, InvalidInput, "No columns are named"),
        ({"columns": ["a", "a"]}, InvalidParameter, "none of them twice"),
        ({"columns": ["c"]}, InvalidInput, "Column `c` is missing from the table; found: a, b, deep"),
        ({"columns": ["a"], "id_column": "a"}, InvalidParameter, "drop it from `columns=`"),
        ({"columns": ["a"], "id_column": "b"}, InvalidInput, "repeats 1 people"),
        ({"columns": ["a"], "max_set": 0}, InvalidParameter, "max_set"),
        ({"columns": ["a"], "bins": {"a": BinRule(bands=3)}}, InvalidParameter, "does not hold numbers only"),
        ({"columns": ["a"], "bins": {"b": BinRule(bands=3)}}, InvalidParameter, "not among `columns=`"),
        ({"columns": ["deep"]}, InvalidInput, "which is no attribute"),
    ]
    for ask, problem, words in cases:
        with pytest.raises(problem, match=words):
            attributes(table, **ask)
    with pytest.raises(InvalidInput, match="at least two people"):
        attributes(table.slice(0, 1), columns=["a"])
    with pytest.raises(InvalidInput, match="does not exist"):
        attributes(tmp_path / "none.csv", columns=["a"])
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InvalidInput, match="is empty; a table needs a header"):
        attributes(tmp_path / "empty.csv", columns=["a"])
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n3\n4,5\n")
    with pytest.raises(
        InvalidInput,
        match=r"1 of 3 rows of .* do not fit its header \(too few fields: 1, first in line 3, expected 2\)",
    ):
        attributes(tmp_path / "ragged.csv", columns=["a"])
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n3,4\n")
    with pytest.raises(InvalidInput, match="appears more than once"):
        attributes(tmp_path / "twice.csv", columns=["a"])
    (tmp_path / "latin.csv").write_bytes(b"a,b\nM\xfcller,1\nx,2\n")
    with pytest.raises(InvalidInput, match=r"Column `a` of .* not UTF-8, first in line 2; save it as UTF-8"):
        attributes(tmp_path / "latin.csv", columns=["a"])
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidInput, match="cannot be read"):
        attributes(tmp_path / "torn.parquet", columns=["a"])


def test_what_is_kept_of_columns_that_are_not_assessed_is_bounded_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    monkeypatch.setattr(Budget, "keep", lambda self, what, size: kept.append(size))
    ids = pa.table({"id": [f"{number:0200d}" for number in range(100_000)], "a": np.arange(100_000) % 7})
    limit, assessed, batch = 64 << 20, 100_000 * (8 + 24), 2000 * 204
    found = read_attributes(pa.Table.from_batches(ids.to_batches(2000)), ["a"], memory=limit)
    assert assessed + limit / 8 <= kept[-1] < assessed + limit / 8 + 2 * batch
    assert [one.identifier for one in found.unnamed] == [True]
