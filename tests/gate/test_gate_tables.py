"""Verdicts on tables with one row per person: recomputed from the rows, and no PASS where the table does not earn it."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import entropie
from entropie.errors import InvalidInput, InvalidParameter
from entropie.gate.profiles import PROFILES

EMA = {"profile": "ema"}
SURE = {"id_column": "id"}


def table(sizes: list[int], **more: list[Any]) -> pa.Table:
    """Groups of these sizes, told apart by two columns; everybody has an id."""
    place = [group for group, size in enumerate(sizes) for _ in range(size)]
    return pa.table(
        {
            "id": [f"p{i}" for i in range(len(place))],
            "town": [f"t{g // 3}" for g in place],
            "age": [g % 3 for g in place],
        }
        | more
    )


def judged(of: pa.Table, **asked: Any) -> Any:
    return entropie.attributes(of, **{"columns": ["town", "age"], **SURE, **EMA, **asked})


@pytest.mark.parametrize(
    ("sizes", "asked", "decision", "code"),
    [
        ([12] * 20, {}, "PASS", 0),
        ([11] * 20, {}, "PASS", 0),  # 0.09 stands for one in 11
        ([12] * 20 + [10], {}, "FAIL", 1),
        ([400, 400, 1], {}, "FAIL", 1),  # one person is enough for a limit on the risk of any one person
        ([400, 400, 1], {"profile": "arx-success"}, "PASS", 0),  # and not for one on the average
        ([3] * 20, {"profile": "custodian-033"}, "PASS", 0),
        ([3] * 20 + [2], {"profile": "custodian-033"}, "FAIL", 1),
        ([20] * 5, {"profile": "public-005"}, "PASS", 0),
        ([11] * 20, {"profile": None, "limit": 0.09, "limit_name": "ours", "fail_on": "worst"}, "FAIL", 1),  # as said
        ([9, 10], {}, "INCONCLUSIVE", 3),  # 19 people
        ([1] * 19, {}, "INCONCLUSIVE", 3),
        ([30], {}, "INCONCLUSIVE", 3),  # one value for everybody
    ],
)
def test_decisions(sizes: list[int], asked: dict[str, Any], decision: str, code: int) -> None:
    found = judged(table(sizes), **asked)
    assert (found.verdict.decision, found.exit_code) == (decision, code)
    assert found.verdict.headline.startswith(decision)
    assert found.verdict.sentence.startswith(decision)


@pytest.mark.parametrize("seed", range(20))
def test_the_number_judged_by_looking_up_everybody(seed: int) -> None:
    draw = random.Random(seed)
    sizes = [draw.randint(1, 30) for _ in range(draw.randint(2, 40))] + [20]
    of = table(sizes)
    rows = Counter(zip(of["town"].to_pylist(), of["age"].to_pylist(), strict=True))
    everybody = sorted(rows[key] for key in zip(of["town"].to_pylist(), of["age"].to_pylist(), strict=True))
    worst = judged(of)
    fewest = everybody[0]
    assert worst.verdict.judged_risk.value == pytest.approx(1.0 / fewest)
    assert worst.verdict.people == everybody.count(fewest)
    assert (worst.verdict.decision == "PASS") == (fewest >= 11)
    average = judged(of, profile=None, limit=0.2, limit_name="x", fail_on="average").verdict
    assert average.judged_risk.value == pytest.approx(sum(1.0 / size for size in everybody) / len(everybody))
    assert (average.decision == "PASS") == (len(rows) <= 0.2 * len(everybody))
    assert average.on_most_exposed == ("PASS" if fewest >= 5 else "FAIL")
    for part in worst.exposed:  # the people in the smallest groups, whole groups first
        mine = everybody[: part.people]
        assert part.share == pytest.approx(part.people / len(everybody))
        assert part.reidentified.value == pytest.approx(sum(1.0 / size for size in mine) / len(mine))
    shares = [part.reidentified.value for part in worst.exposed]
    assert shares == sorted(shares, reverse=True)
    assert worst.exposed[-1].people == len(everybody)


def test_what_narrows_it_makes_a_pass_limited() -> None:
    whole = table([15] * 20, ill=["yes", "no"] * 150)
    left_out = judged(whole)
    assert (left_out.verdict.decision, left_out.exit_code) == ("PASS (limited)", 3)
    assert left_out.verdict.limits == [
        "Not judged: 1 column that an attacker is taken not to know (ill); --columns names more."
    ]
    accepted = judged(whole, accept_limited=True)
    assert (accepted.verdict.decision, accepted.exit_code) == ("PASS (limited)", 0)
    unchecked = judged(whole.drop_columns(["id", "ill"]), id_column=None)
    assert unchecked.verdict.limits == [
        (
            "That nobody has several rows was not checked (--id names the column of the person, "
            "--one-id-per-person declares it)."
        )
    ]
    declared = judged(whole.drop_columns(["id", "ill"]), id_column=None, one_id_per_person=True)
    assert declared.verdict.decision == "PASS"
    assert "Declared, not checked: every id is another person." in declared.verdict.rests_on
    average = judged(whole.drop_columns(["ill"]), fail_on="average")
    assert average.verdict.decision == "PASS (limited)"
    assert "The average was judged" in average.verdict.limits[0]


def test_rows_that_cannot_be_read_make_it_limited(tmp_path: Any) -> None:
    lines = ["id,town", *(f"p{i},t{i % 9}" for i in range(300)), "cut off"]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    found = entropie.attributes(tmp_path / "people.csv", columns=["town"], **SURE, **EMA)
    assert found.verdict.decision == "PASS (limited)"
    assert found.verdict.limits[0].startswith("1 row was excluded (")


@pytest.mark.parametrize(
    "secret",
    [
        [f"s{i}" for i in range(300)],
        list(range(300)),
        [None] * 100 + [f"s{i}" for i in range(200)],
        [""] * 100 + [f"s{i}" for i in range(200)],
        ["same", "same", *(f"s{i}" for i in range(298))],
        [[i] for i in range(300)],
    ],
    ids=["texts", "numbers", "some are missing", "some are blank", "one comes twice", "lists"],
)
@pytest.mark.parametrize("sensitive", [(), ("secret",)])
def test_an_identifier_beside_the_columns_takes_the_pass_away(secret: list[Any], sensitive: tuple[str, ...]) -> None:
    if sensitive and isinstance(secret[0], list):
        return  # refused: no attribute
    found = judged(table([15] * 20, secret=secret), sensitive=sensitive)
    assert (found.verdict.decision, found.exit_code) == ("INCONCLUSIVE", 3)
    assert "secret has another value for nearly everybody" in found.verdict.unsettled[0]
    named = [column.name for column in found.input.unnamed if column.identifier]
    assert named == ["secret"]


def test_a_column_that_some_share_is_no_identifier() -> None:
    shared = [f"s{i // 2}" for i in range(300)]
    assert [column.identifier for column in judged(table([15] * 20, shared=shared)).input.unnamed] == [False]
    blank = [None] * 200 + [f"s{i}" for i in range(100)]
    assert [column.identifier for column in judged(table([15] * 20, blank=blank)).input.unnamed] == [False]


def test_an_identifier_among_the_columns_fails() -> None:
    found = judged(table([15] * 20), columns=["id"], id_column=None)
    assert found.verdict.decision == "FAIL"
    assert found.verdict.judged_risk.value == 1.0


def test_one_person_twice_is_refused_where_it_can_be_seen() -> None:
    twice = pa.concat_tables([table([15] * 20)] * 2)
    with pytest.raises(InvalidInput, match="repeats 300 people"):
        judged(twice)
    assert judged(twice, id_column=None, columns=["town", "age"]).verdict.decision != "PASS"


def test_columns_that_say_nothing() -> None:
    empty = pa.table({"a": pa.array([None] * 40, pa.string()), "b": [""] * 40})
    found = judged(empty, columns=["a", "b"], id_column=None)
    assert found.verdict.decision == "INCONCLUSIVE"
    assert "tell nobody apart" in found.verdict.unsettled[0]
    with pytest.raises(InvalidInput, match="at least two people"):
        judged(pa.table({"a": [1]}), columns=["a"], id_column=None)


def test_a_declared_attempt_a_waiver_and_a_review(tmp_path: Any) -> None:
    half = judged(table([6] * 30), attempt_probability=0.5)
    assert half.verdict.decision == "PASS (limited)"
    assert half.verdict.without_declaration == "FAIL"
    assert half.verdict.judged_risk.value == pytest.approx(1 / 12)
    text = 'reason = "pilot"\nexpires = 2999-01-31\ngranted_by = "A. Custodian"\nprofile = "ema"\n'
    (tmp_path / "waiver.toml").write_text(text)
    waived = judged(table([6] * 30), waiver=tmp_path / "waiver.toml", review_date="2999-01-01")
    assert (waived.verdict.decision, waived.exit_code) == ("FAIL", 0)
    assert waived.verdict.headline.startswith("FAIL (waived until 2999-01-31)")
    assert waived.review.date.isoformat() == "2999-01-01"


def test_the_goal_that_is_told_is_what_generalise_reaches() -> None:
    """With the options of the verdict, generalise makes a table that passes; one person fewer does not."""
    of = table([4] * 30)
    worst = judged(of).verdict
    assert worst.goal == "--k 11"
    average = judged(of, profile="arx-success").verdict
    assert average.goal == "--average 5%"
    made = entropie.generalise(of.drop_columns(["id"]), columns=["town", "age"], k=11)
    assert made.after is not None
    assert 1.0 / made.after.smallest_group <= PROFILES["ema"].exact_limit
    own = judged(of, profile=None, limit=0.09, limit_name="x", fail_on="worst").verdict
    assert own.goal == f"--k {math.ceil(1 / 0.09)}"
    assert judged(table([12] * 20)).verdict.goal is None


def test_what_is_for_events_is_refused() -> None:
    from entropie.table_request import TableRequest

    for name, value in (("judge_population", True), ("not_released", True), ("protect", 0.9)):
        with pytest.raises(InvalidParameter, match="is for events"):
            TableRequest.of("people.csv", {"columns": "a", name: value})


def test_a_declared_population_is_told_and_not_judged() -> None:
    found = judged(table([12] * 20), population=10_000)
    assert found.declared.population == 10_000
    assert found.verdict.decision == "PASS"
    with pytest.raises((InvalidInput, InvalidParameter), match="240 people"):
        judged(table([12] * 20), population=100)
