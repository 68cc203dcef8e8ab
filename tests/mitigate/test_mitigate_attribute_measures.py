"""Measures of whole tables: populations matched by value, sensitive columns, joined rows, and what is refused."""

from __future__ import annotations

import json
import random
from collections import Counter

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.errors import InvalidInput, InvalidParameter
from entropie.schemas import schema
from entropie.table import attributes

PEOPLE = st.lists(st.tuples(st.integers(18, 22), st.sampled_from("fm")), min_size=3, max_size=40)


def table_of(rows: list[tuple]) -> pa.Table:
    return pa.table({"age": [row[0] for row in rows], "sex": [row[1] for row in rows]})


@settings(deadline=None, max_examples=40)
@given(PEOPLE, st.data())
def test_beside_a_population_person_by_person(everybody, data):
    inside = data.draw(st.lists(st.sampled_from(range(len(everybody))), min_size=2, unique=True))
    rows = [everybody[place] for place in inside]
    found = attributes(table_of(rows), columns=["age", "sex"], population=table_of(everybody), at_risk=0.4)
    wide, own = Counter(everybody), Counter(rows)
    assert found.population.people == len(everybody)
    assert found.population.k_map == min(wide[row] for row in rows)
    assert found.population.unique_share == pytest.approx(sum(wide[row] == 1 for row in rows) / len(rows))
    presence = [own[row] / wide[row] for row in wide]
    assert (found.population.delta_min, found.population.delta_max) == pytest.approx((min(presence), max(presence)))
    journalist = found.record_risk[1]
    assert journalist.average == pytest.approx(sum(1 / wide[row] for row in rows) / len(rows))
    assert journalist.highest == pytest.approx(max(1 / wide[row] for row in rows))
    assert journalist.at_risk == pytest.approx(sum(1 / wide[row] > 0.4 for row in rows) / len(rows))
    assert found.together.bits_high is not None  # the population is known
    assert found.together.bits_low - 1e-9 <= found.population.bits


def test_values_are_matched_however_they_are_written(tmp_path):
    """Numbers as numbers, dates as text; another order, another format, more columns, missing values."""
    rows = pa.table({"age": [30, 41, 41, None], "town": ["a", "b", "b", "c"], "other": [1, 2, 3, 4]})
    wide = pa.table(
        {"town": ["c", "b", "x", "b", "a", "b"], "age": ["", "41.0", "7", "41", " 30", "41"], "id": range(6)}
    )
    pa_csv.write_csv(wide, tmp_path / "census.csv")
    found = attributes(rows, columns=["age", "town"], population=tmp_path / "census.csv")
    assert (found.population.people, found.population.classes, found.population.k_map) == (6, 4, 1)
    assert found.population.unique_share == 0.5
    assert (found.population.delta_min, found.population.delta_max) == (0.0, 1.0)
    assert found.population.name == "census.csv"
    assert len(found.population.sha256) == 64


def test_a_sensitive_column_of_numbers_is_ordered_and_one_of_words_is_not():
    rng = np.random.default_rng(1)
    band = rng.integers(0, 4, 400)
    table = pa.table(
        {
            "band": band,
            "pay": 1000 * band + rng.integers(0, 100, 400),
            "job": [f"j{value}" for value in band],
            "plz": 10_000 + band,
        }
    )
    found = attributes(table, columns=["band"], sensitive=["pay", "job", "plz"], within={"pay": 100})
    pay, job, code = found.sensitive
    assert [one.distance for one in found.sensitive] == ["ordered", "equal", "equal"]
    assert (job.distinct_l, job.entropy_l, job.disclosed, job.recursive) == (1, 1.0, 1.0, ())
    assert (pay.inference.tolerance, job.inference.tolerance) == (100.0, None)
    assert pay.inference.in_table.value == pay.inference.left_out.value == 1.0
    assert code.inference.left_out.value == 1.0
    assert pay.t < job.t  # ordered values next to each other are near
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    jsonschema.validate(document, schema("attributes"))
    assert "10001" not in json.dumps(document["sensitive"])


def test_what_pycanon_computes_too():
    """Recorded from pycanon 1.3.6 (k_anonymity, l_diversity, entropy_l_diversity, t_closeness) on these very rows.

    It rounds the entropy l down. Its c of recursive diversity sorts values from the rarest, and is another number.
    """
    draw = random.Random(1).random
    rows = [
        (18 + int(4 * draw()), "fm"[draw() < 0.5], "abc"[int(3 * draw())], int(1000 * draw() ** 3) // 50 * 50, "uvwxyz"[int(6 * draw() ** 1.5)])
        for _ in range(300)
    ]  # fmt: skip
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(["age", "sex", "town", "pay", "ill"])})
    found = attributes(table, columns=["age", "sex", "town"], sensitive=["pay", "ill"])
    assert found.anonymity.k == 8
    pay, ill = found.sensitive
    assert (pay.distinct_l, int(pay.entropy_l)) == (2, 1)
    assert (ill.distinct_l, int(ill.entropy_l)) == (4, 2)
    assert pay.t == pytest.approx(0.21631578947368416)
    assert ill.t == pytest.approx(0.3463636363636363)


def test_missing_sensitive_numbers_are_a_value_of_their_own():
    table = pa.table({"group": ["x"] * 30 + ["y"] * 30, "pay": [None] * 30 + [100.0 + i for i in range(30)]})
    found = attributes(table, columns=["group"], sensitive=["pay"]).sensitive[0]
    assert found.distinct_l == 1
    assert found.disclosed == 0.5  # that it is missing is known of all of group x
    assert found.inference.left_out.value >= 0.5


def test_links_and_estimates_come_with_their_columns():
    rng = np.random.default_rng(2)
    table = pa.table({name: rng.integers(0, 30, 300) for name in "abcd"})
    found = attributes(table, columns=["a", "b"], link=[(("a", "c"), ("d",))], population=3000)
    assert (found.links[0].left, found.links[0].right) == (("a", "c"), ("d",))
    assert found.estimate.people == 3000
    same = attributes(table, columns=["a", "b"], link=[(("a", "c"), ("d",))], population=3000)
    assert same.links == found.links  # seeded
    assert attributes(table, columns=["a", "b"], link=[(("a", "c"), ("d",))], seed=1).links != found.links


TABLE = pa.table({"a": ["x", "y", "z", "x"], "b": [1, 2, 2, 3], "one": [1] * 4, "none": pa.nulls(4, pa.string())})


@pytest.mark.parametrize(
    ("asked", "problem", "words"),
    [
        ({"sensitive": ["a"]}, InvalidParameter, "is among both `columns=` and `sensitive=`"),
        ({"sensitive": ["b", "b"]}, InvalidParameter, "names a column twice"),
        ({"sensitive": ["c"]}, InvalidInput, "Column `c` is missing"),
        ({"sensitive": ["one"]}, InvalidInput, "holds one value for everybody"),
        ({"sensitive": ["none"]}, InvalidInput, "is blank for everybody"),
        ({"sensitive": ["b"], "id_column": "b"}, InvalidParameter, "holds the people"),
        (
            {"sensitive": ["b"], "within": {"a": 1}},
            InvalidParameter,
            "names column `a`, which is not among `sensitive=`",
        ),
        ({"sensitive": ["b"], "within": {"b": float("nan")}}, InvalidParameter, "within"),
        ({"columns": ["b"], "sensitive": ["a"], "within": {"a": 1}}, InvalidParameter, "does not hold numbers only"),
        ({"at_risk": 0.0}, InvalidParameter, "at_risk"),
        ({"population": 3}, InvalidParameter, "at least the 4 people of the table"),
        ({"population": TABLE.slice(0, 3)}, InvalidInput, "holds 3 people and the table 4"),
        ({"population": TABLE.drop(["a"])}, InvalidInput, "Column `a` is missing"),
        ({"population": pa.table({"a": ["x", "y", "q", "x"]})}, InvalidInput, "holds values for 1 person that"),
        ({"population": pa.table({"a": ["x", "y", "z", "z"]})}, InvalidInput, "lacks 1 person of the table"),
        ({"population": "none.csv"}, InvalidInput, "does not exist"),
        ({"link": [(("a",), ("a",))]}, InvalidParameter, "two sets of columns that share none"),
        ({"link": [(("a",), ())]}, InvalidParameter, "two sets of columns that share none"),
        ({"link": [(("a",), ("q",))]}, InvalidInput, "Column `q` is missing"),
    ],
)
def test_refused_in_a_sentence(asked, problem, words):
    with pytest.raises(problem, match=words) as caught:
        attributes(TABLE, **{"columns": ["a"], **asked})
    assert "\n" not in str(caught.value)
