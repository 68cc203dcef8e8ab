"""`generalise` and `apply` of a table: what was predicted is what `attributes` finds, and nothing else is written."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import entropie
from entropie.errors import InvalidInput, InvalidParameter
from entropie.schemas import schema

KNOWN = ["age", "sex", "postcode", "job"]
GROUPS = "nurse;care;*\nclerk;office;*\njudge;office;*\nsmith;trade;*\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(3)
    lines = ["person,age,sex,postcode,job,illness,secret"]
    for number in range(800):
        age = "" if number % 90 == 0 else str(rng.integers(18, 90))
        job = rng.choice(["nurse", "clerk", "smith", "judge"], p=[0.5, 0.3, 0.15, 0.05])
        sex, illness = rng.choice(["m", "f"]), rng.choice(["flu", "cold"])
        lines.append(f"person-{number},{age},{sex},{rng.integers(100, 140):05d},{job},{illness},hidden-{number}")
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "job.csv").write_text(GROUPS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(**changed: object) -> entropie.Generalisation:
    options = {"columns": KNOWN, "id_column": "person", "k": 5, "suppress": 0.02, "hierarchies": {"job": "job.csv"}}
    return entropie.generalise("people.csv", **{**options, **changed})  # type: ignore[arg-type]


LIMITS = [
    {},
    {"cost": "loss"},
    {"cost": "discernibility"},
    {"k": None, "highest": 0.1},
    {"k": None, "average": 0.05},
    {"k": None, "profile": "custodian-033"},
    {"k": 3, "average": 0.1, "suppress": 0.2},
    {"bins": {"age": "width:5"}},
    {"prefixes": ["job"], "hierarchies": {}},
]


@pytest.mark.parametrize("changed", LIMITS)
@pytest.mark.parametrize("name", ["safer.csv", "safer.parquet"])
def test_attributes_finds_what_was_predicted(folder: Path, changed: dict, name: str) -> None:
    result = found(keep=["illness"], **changed)
    assert result.plan is not None
    assert result.after is not None
    result.write("out")
    made = entropie.apply("out/plan.json", "people.csv", name)
    left = [level.column for level in result.columns if level.method != "drop"]
    risk = entropie.attributes(name, columns=left).together
    assert risk.groups == result.after.groups
    assert risk.smallest_group == result.after.smallest_group
    assert risk.success == pytest.approx(result.after.average_risk)
    assert isinstance(made, entropie.TableManifest)
    assert made.left_out == result.left_out == 800 - result.after.people
    assert result.left_out <= result.limit.left_out
    assert made.columns == (*left, "illness")
    for document, file in (("generalisation", "out/generalisation.json"), ("table-release", "out/plan.json")):
        jsonschema.validate(json.loads(Path(file).read_text()), schema(document))
    jsonschema.validate(json.loads(Path(f"{name}.manifest.json").read_text()), schema("table-manifest"))


@pytest.mark.parametrize(
    "changed",
    [
        {"sensitive": "illness", "l_diversity": 2},
        {"sensitive": "illness", "l_diversity": 2, "k": 5, "suppress": 0.05},
        {"sensitive": "illness", "t_closeness": 0.2},
        {"sensitive": "age", "columns": ["sex", "postcode", "job"], "l_diversity": 6, "suppress": 0.1},
        {"sensitive": "age", "columns": ["sex", "postcode", "job"], "t_closeness": 0.15},
    ],
)
def test_attributes_finds_sensitive_values_as_varied_as_was_asked_for(folder: Path, changed: dict) -> None:
    result = found(**{"k": None, "suppress": 0.0, **changed})
    assert result.plan is not None
    assert result.after is not None
    result.write("out")
    made = entropie.apply("out/plan.json", "people.csv", "safer.csv")
    left = [level.column for level in result.columns if level.method != "drop"]
    assert isinstance(made, entropie.TableManifest)
    assert made.columns == (*left, changed["sensitive"])
    assert len(left) > 0
    judged = entropie.attributes("safer.csv", columns=left, sensitive=[changed["sensitive"]])
    assert judged.together.groups == result.after.groups
    row = judged.sensitive[0]
    assert row.distinct_l >= changed.get("l_diversity", 1)
    assert row.t <= changed.get("t_closeness", 1.0) + 1e-9
    if "suppress" not in changed:
        as_it_is = entropie.attributes("people.csv", columns=list(changed.get("columns", KNOWN)),
                                       id_column="person", sensitive=[changed["sensitive"]])  # fmt: skip
        before = as_it_is.sensitive[0]  # else nothing was asked for
        assert before.distinct_l < changed.get("l_diversity", 1) or before.t > changed.get("t_closeness", 1.0)
    jsonschema.validate(json.loads(Path("out/plan.json").read_text()), schema("table-release"))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"l_diversity": 2}, "name both or neither"),
        ({"sensitive": "illness"}, "name both or neither"),
        ({"sensitive": "illness", "l_diversity": 0}, "`l_diversity` must be a whole number from 1"),
        ({"sensitive": "age", "l_diversity": 2}, "is nothing to learn; drop it from one"),
        ({"sensitive": "illness", "t_closeness": 1.5}, "`t_closeness` must be a distance above 0"),
        ({"sensitive": "illness", "t_closeness": 0.1}, "reached without leaving anybody out"),
        ({"sensitive": "nothing", "l_diversity": 2}, "Column `nothing` is missing"),
    ],
)
def test_bad_limits_on_sensitive_values_get_a_sentence(folder: Path, changed: dict, said: str) -> None:
    with pytest.raises((InvalidInput, InvalidParameter), match=said):
        found(**changed)


@pytest.mark.parametrize(
    ("profile", "smallest", "average"), [("ema", 11, 1.0), ("custodian-033", 3, 1.0), ("arx-success", 1, 0.05)]
)
def test_a_published_limit_is_met_as_attributes_judges_it(
    folder: Path, profile: str, smallest: int, average: float
) -> None:
    result = found(k=None, profile=profile)
    assert (result.limit.smallest_group, result.limit.average_risk) == (smallest, average)
    result.write("out")
    entropie.apply("out/plan.json", "people.csv", "safer.csv")
    left = [level.column for level in result.columns if level.method != "drop"]
    judged = entropie.attributes("safer.csv", columns=left, one_id_per_person=True, profile=profile)
    assert judged.verdict.decision == "PASS"


def test_no_id_no_other_column_and_no_order_is_written(folder: Path) -> None:
    entropie.apply(found(keep=["illness"]).plan, "people.csv", "safer.csv")  # type: ignore[arg-type]
    text = Path("safer.csv").read_text() + Path("safer.csv.manifest.json").read_text()
    assert "person-" not in text
    assert "hidden-" not in text
    entropie.apply(found(keep=["illness"]).plan, "people.csv", "again.csv")  # type: ignore[arg-type]
    first, second = (Path(name).read_text().splitlines()[1:] for name in ("safer.csv", "again.csv"))
    assert first != second
    assert Counter(first) == Counter(second)


def test_every_value_is_in_the_group_it_was_given(folder: Path) -> None:
    """Recomputed from the rows by hand: bands of ages, prefixes of postcodes, groups of jobs."""
    result = found(k=20, suppress=0.0, bins={"age": "width:10"}, keep=["illness"])
    entropie.apply(result.plan, "people.csv", "safer.csv")  # type: ignore[arg-type]
    levels = {level.column: level for level in result.columns}
    with Path("people.csv").open() as file:
        rows = list(csv.DictReader(file))

    def released(row: dict[str, str]) -> tuple[str, ...]:
        out = []
        for name in KNOWN:
            level, value = levels[name], row[name]
            if level.method == "prefix":
                value = value[: level.characters] + "*"
            elif level.method == "hierarchy":
                value = {line.split(";")[0]: line.split(";")[1] for line in GROUPS.splitlines()}[value]
            elif level.method == "bands" and value:
                width = level.width or 0.0
                band = min(max(int(value) // int(width), level.first or 0), level.last or 0)
                low, high = f"{band * width:g}", f"{(band + 1) * width:g}"
                ends = {level.first: f"< {high}", level.last: f">= {low}"}
                value = ends.get(band, f"[{low}, {high})")
            if level.method != "drop":
                out.append(value)
        return (*out, row["illness"])

    with Path("safer.csv").open() as file:
        written = Counter(tuple(row) for row in list(csv.reader(file))[1:])
    assert written == Counter(map(released, rows))


def test_parquet_files_hold_no_metadata(folder: Path) -> None:
    entropie.apply(found().plan, "people.csv", "safer.parquet")  # type: ignore[arg-type]
    assert pq.read_metadata("safer.parquet").metadata in (None, {})


def test_a_table_in_memory(folder: Path) -> None:
    table = pa.table({"age": [1, 2, 3, 4] * 5, "sex": ["m", "f"] * 10})
    result = entropie.generalise(table, columns=["age", "sex"], k=5)
    assert result.outcome == "met"
    assert result.cost == 0.0
    with pytest.raises(InvalidInput, match="other data"):
        entropie.apply(result.plan, table.slice(0, 12), "safer.csv")  # type: ignore[arg-type]


def test_other_data_and_changed_plans_are_refused(folder: Path) -> None:
    found().write("out")
    text = Path("people.csv").read_text()
    Path("other.csv").write_text(text.replace("person-1,", "person-x,"))
    with pytest.raises(InvalidInput, match="other data"):
        entropie.apply("out/plan.json", "other.csv", "safer.csv")
    plan = json.loads(Path("out/plan.json").read_text())
    for level in plan["columns"]:
        level["method"] = "as is"
    Path("changed.json").write_text(json.dumps(plan))
    with pytest.raises(InvalidInput, match="does not give what it says"):
        entropie.apply("changed.json", "people.csv", "safer.csv")
    with pytest.raises(InvalidParameter, match="no key"):
        entropie.apply("out/plan.json", "people.csv", "safer.csv", keep_key="key.csv")
    assert not Path("safer.csv").exists()


def test_a_hierarchy_that_changed_after_the_plan_is_refused(folder: Path) -> None:
    result = entropie.generalise("people.csv", columns=["job"], k=100, hierarchies={"job": "job.csv"})
    assert [level.method for level in result.columns] == ["hierarchy"]
    Path("job.csv").write_text(GROUPS.replace("trade", "craft"))
    with pytest.raises(InvalidInput, match="has changed"):
        entropie.apply(result.plan, "people.csv", "safer.csv")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nurse;care\n", "no row for 3 of 4 values"),
        ("", "is empty"),
        (GROUPS + "nurse;care;*\n", "second row"),
        (GROUPS.replace("office;*", "office"), "every row needs the same"),
        ("nurse;a;x\nclerk;a;y\njudge;b;x\nsmith;b;x\n", "not nested"),
    ],
)
def test_bad_hierarchies(folder: Path, text: str, sentence: str) -> None:
    Path("job.csv").write_text(text)
    with pytest.raises(InvalidInput, match=sentence):
        found()


def test_bad_options(folder: Path) -> None:
    for changed, sentence in [
        ({"k": None}, "limit is needed"),
        ({"k": 0}, "`k`"),
        ({"average": 0.0}, "`average`"),
        ({"suppress": 0.9}, "`suppress`"),
        ({"cost": "money"}, "information, loss"),
        ({"keep": ["age"]}, "already among"),
        ({"keep": ["secret"]}, "everybody has a value of their own"),
        ({"hierarchies": {"illness": "job.csv"}}, "not among"),
    ]:
        with pytest.raises(InvalidParameter, match=sentence):
            found(**changed)


def test_a_kept_column_that_tells_people_apart_is_said() -> None:
    """Counted by hand: 3 of 60 people have a wage of their own, and one has none."""
    wages = [*(f"{n // 2}" for n in range(56)), "a", "b", "c", None]
    table = pa.table({"age": [30 + n % 2 for n in range(60)], "wage": wages})
    result = entropie.generalise(table, columns=["age"], k=5, keep=["wage"])
    assert [(one.column, one.alone) for one in result.kept] == [("wage", 3)]
    assert "`wage` is released as it is, and 3 people have a value of their own" in result.sentences[-1]
    alike = pa.table({"age": [30 + n % 2 for n in range(60)], "wage": ["x", "y"] * 30})
    assert "wage" not in " ".join(entropie.generalise(alike, columns=["age"], k=5, keep=["wage"]).sentences)


def test_a_limit_that_nothing_meets(folder: Path) -> None:
    result = found(k=801)
    assert (result.outcome, result.exit_code, result.plan) == ("none", 1, None)
    assert "Nothing meets the limit" in result.sentences[0]
    found().write("out")
    result.write("out")
    assert not Path("out/plan.json").exists()  # the plan of the run before


def test_a_limit_that_every_table_meets_is_none(folder: Path) -> None:
    for limit in ({"k": 1}, {"k": None, "average": 1.0}, {"k": None, "highest": 1.0}):
        with pytest.raises(InvalidParameter, match="Every table meets this limit"):
            found(**limit)


def test_a_code_or_a_hierarchy_without_end_costs_no_time(folder: Path) -> None:
    """Each character and each level would be a level to be tried."""
    lines = Path("people.csv").read_text().splitlines()
    lines[1] = lines[1].replace(lines[1].split(",")[3], "1" * 30_000)
    Path("people.csv").write_text("\n".join(lines))
    assert found(columns=["age", "postcode"], hierarchies={}, suppress=0.2).nodes < 1_000
    for text, words in (
        (
            "".join(f"{job};{';'.join('*' * 51)}\n" for job in ("nurse", "clerk", "judge", "smith")),
            "more than 50 levels",
        ),
        (GROUPS + f"other;{'x' * 200_000};*\n", "longer than any name"),
    ):
        Path("job.csv").write_text(text)
        with pytest.raises(InvalidInput, match=words):
            found()


def test_a_small_file_that_repeats_a_long_text_is_refused(folder: Path) -> None:
    """A megabyte of Parquet may stand for many of text."""
    codes = np.zeros(100_000, np.int32)
    long = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["x" * 5_000]))
    pq.write_table(pa.table({"a": long, "b": pa.array(codes)}), "people.parquet")
    for door in (entropie.attributes, lambda table, **options: entropie.generalise(table, k=2, **options)):
        with pytest.raises(InvalidInput, match="takes more memory than"):
            door("people.parquet", columns=["a", "b"], memory=1 << 26)
