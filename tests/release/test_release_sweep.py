"""Sweeps: planted people whose risk goes with a mitigation or stays, and rows that an assessment confirms."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pytest

import entropie
from entropie.document import Document
from entropie.document.verdict import Verdict
from entropie.errors import InvalidInput, InvalidParameter
from entropie.gate.judge import Gate
from entropie.mitigate.mitigation import Combination, Mitigation
from entropie.release.result import Sweep, SweepRow
from entropie.release.sweep import sweep
from entropie.schemas import schema

sys.path.append(str(Path(__file__).resolve().parents[1] / "mitigate"))
from mitigate_oracles import DAY, HOUR, START, own_items, own_order, without_clock

CHECK_INS = Path(__file__).resolve().parents[3] / "shared" / "data" / "foursquare_nyc.parquet"
LIMIT = {"limit": 0.3, "limit_name": "ours", "fail_on": "worst"}
FEW = {"replicates": 20, "threads": 1, "one_id_per_person": True}


def spaced(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def row_of(found: Sweep, *parts: Mitigation) -> SweepRow:
    return next(row for row in found.rows if row.combination == Combination(parts))


def with_habits(users: int = 120, seed: int = 7) -> pa.Table:
    """Favourites and common places, real times over some weeks, a kind per place."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(10, 30, users)
    user = np.repeat(np.arange(users), lengths)
    own = rng.integers(0, 200, (users, 4))[user, rng.integers(0, 4, user.size)]
    common = np.minimum(rng.geometric(0.05, user.size), 199)
    item = np.where(rng.random(user.size) < 0.5, own, common)
    time = START + np.sort(rng.choice(40 * DAY, user.size, replace=False))
    return pa.table({"user": user, "item": item, "time": time, "kind": item // 10})


def test_a_column_that_tells_nothing_meets_the_limit_once_times_are_gone() -> None:
    """The item gives everybody away, and so does the hour at which they come: both have to go."""
    same, none = Mitigation("category", "same"), Mitigation("time_unit", "none")
    table = own_items(80)
    when = [START + (int(user[1:]) * 24 + n % 12) * HOUR for n, user in enumerate(table["user"].to_pylist())]
    table = table.set_column(2, "time", pa.array(when))
    found = sweep(table, [same, none], only=True, **LIMIT, **FEW)
    assert found.as_it_is.decision == "FAIL"
    assert found.as_it_is.reidentified.value == pytest.approx(1.0)
    assert (found.outcome, found.exit_code) == ("met", 0)
    assert found.cheapest is not None
    assert found.cheapest.combination == Combination((same, none))
    assert found.cheapest.risk.high <= 0.3
    assert spaced(found.sentences[0]).startswith(
        "Cheapest combination that meets the limit of 30 % (ours): release the column same instead of the item; "
    )
    alone = sweep(table, [same], only=True, **LIMIT, **FEW)
    assert (alone.outcome, alone.exit_code, alone.plan) == ("not met", 1, None)
    assert row_of(alone, same).decision == "FAIL"  # matchers find nothing here: known events with their times do
    assert row_of(alone, same).attacker == "points"
    assert alone.sentences[0].startswith("None of 2 combinations meets the limit")


def test_another_name_for_the_item_costs_nothing_and_helps_nobody() -> None:
    alike = Mitigation("category", "alike")
    found = sweep(own_items(60), [alike], only=True, **LIMIT, **FEW)
    assert (row_of(found, alike).decision, row_of(found, alike).cost) == ("FAIL", 0.0)
    assert found.exit_code == 1


def test_data_that_meet_the_limit_need_nothing() -> None:
    table = own_items(80).select(["user", "same"]).rename_columns(["user", "item"])
    found = sweep(table, **LIMIT, **FEW)
    assert (found.outcome, len(found.rows), found.cheapest) == ("met", 1, found.as_it_is)
    assert found.sentences[0].startswith("The data as they are meet the limit of")


def test_a_limited_pass_is_told_and_taken_where_it_is_accepted() -> None:
    """30 people with two events: whatever is done, known events alone attack them."""
    table = pa.concat_tables([own_items(60), own_items(90, 2).slice(60 * 2)])
    same = Mitigation("category", "same")
    asked = {"scope": ["points"], **LIMIT, **FEW}
    found = sweep(table, [same], only=True, **asked)
    assert (found.outcome, found.exit_code, found.plan) == ("open", 3, None)
    assert found.limited is row_of(found, same)
    assert spaced(found.sentences[0]).startswith(
        "Open: the limit of 30 % (ours) is met in a limited way (--accept-limited): release the column same instead of "
    )
    assert "30 people with fewer than 10 events" in found.sentences[0]
    taken = sweep(table, [same], only=True, accept_limited=True, **asked)
    assert (taken.outcome, taken.cheapest, taken.limited) == ("met", row_of(taken, same), None)


def test_risk_in_the_order_goes_with_the_order() -> None:
    found = sweep(own_order(60), [Mitigation("time_unit", "none")], only=True, **LIMIT, **FEW)
    assert found.as_it_is.decision == "FAIL"
    assert found.cheapest is not None
    assert found.cheapest.name == "times: none"


def test_new_pseudonyms_are_linked_by_what_people_do() -> None:
    """Everybody has items of their own: a new pseudonym every day hides nothing from who knows earlier behaviour."""
    rotate = Mitigation("rotate", "day")
    found = sweep(own_items(60), [rotate], only=True, scope=["profile", "crowd", "joint"], **LIMIT, **FEW)
    row = row_of(found, rotate)
    assert row.pseudonyms > row.people == 60
    assert (row.decision, row.attacker in ("profile", "crowd", "joint")) == ("FAIL", True)
    assert row.risk.low > 0.9


@pytest.mark.parametrize(
    ("part", "coarser"),
    [
        (None, lambda t: t),
        (Mitigation("category", "kind"), lambda t: t.set_column(1, "item", t["kind"])),
        (
            Mitigation("prefix", 1),
            lambda t: t.set_column(1, "item", pa.array([str(x)[0] for x in t["item"].to_pylist()])),
        ),
        (
            Mitigation("time_unit", "day"),
            lambda t: t.set_column(2, "time", pa.array([x // DAY * DAY for x in t["time"].to_pylist()])),
        ),
    ],
)
def test_rows_are_what_an_assessment_of_the_coarser_table_finds(part: Mitigation | None, coarser) -> None:  # type: ignore[no-untyped-def]
    table = with_habits()
    parts = (Mitigation("thin", 0.5),) if part is None else (part,)
    limit = {**LIMIT, "limit": 0.999}  # nobody decides alone, so that every attacker is run
    found = sweep(table, parts, only=True, budget=1, seed=5, **limit, **FEW)
    row = found.as_it_is if part is None else found.rows[0]
    given = coarser(table).drop(["kind"]).sort_by([("user", "ascending"), ("time", "ascending"), ("item", "ascending")])
    want = entropie.assess(
        given, seed=5, replicates=20, threads=1, points=[4], control=False, one_id_per_person=True, **limit
    )
    assert row.reidentified.value == want.reidentified.value
    assert want.verdict is not None
    assert row.risk.value == want.verdict["judged_risk"]["value"]
    assert (row.attacker, row.knows) == (want.verdict["attacker"], want.verdict["knows"])


def test_an_attacker_knows_events_that_are_not_released() -> None:
    """Of the second half little is released: who knows the whole first half still finds everybody."""
    found = sweep(own_items(60, 20), [Mitigation("last", 2)], only=True, scope=["profile"], **LIMIT, **FEW)
    assert found.rows[0].events == 120
    assert found.rows[0].risk.low > 0.9


def test_the_same_again_and_whatever_people_are_called() -> None:
    table = with_habits(60)
    parts = [Mitigation("thin", 0.4), Mitigation("top", 20), Mitigation("time_unit", "week")]
    renamed = table.set_column(0, "user", pa.array([f"x{(user * 37) % 61:02d}" for user in table["user"].to_pylist()]))
    one, again, other = (sweep(source, parts, only=True, seed=3, **LIMIT, **FEW) for source in (table, table, renamed))
    assert without_clock(one.to_json()) == without_clock(again.to_json())
    for mine, theirs in zip(one.rows, other.rows, strict=True):
        assert (mine.steps, mine.events, mine.cost) == (theirs.steps, theirs.events, theirs.cost)
        # Between people who do alike, names decide whose known events are drawn how.
        assert mine.reidentified.value == pytest.approx(theirs.reidentified.value, abs=0.01)


def test_the_document_fits_its_schema_names_nobody_and_is_written(tmp_path: Path) -> None:
    table = own_items(60)
    found = sweep(table, [Mitigation("category", "same"), Mitigation("time_unit", "none")], only=True, **LIMIT, **FEW)
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    jsonschema.Draft202012Validator(schema("sweep")).validate(document)
    for wrong in ({**document, "more": 1}, {**document, "outcome": "fine"}, {**document, "schema": "entropie.sweep/1"}):
        assert not jsonschema.Draft202012Validator(schema("sweep")).is_valid(wrong)
    assert "u001" not in json.dumps(document)
    assert "item-0" not in json.dumps(document)
    files = found.write(tmp_path / "new" / "folder")
    assert [file.name for file in files][:3] == ["sweep.json", "sweep.csv", "plan.json"]
    assert json.loads(files[0].read_text(encoding="utf-8")) == document
    jsonschema.Draft202012Validator(schema("release")).validate(json.loads(files[2].read_text(encoding="utf-8")))
    assert len(files[1].read_text(encoding="utf-8").splitlines()) == 2 + len(found.rows)
    assert "Sweep of" in repr(found)
    assert found._repr_html_().count("<tr>") == 2 + len(found.rows)


def test_a_budget_that_is_used_up_leaves_it_open() -> None:
    parts = [Mitigation("top", 100), Mitigation("thin", 0.9), Mitigation("first", 11)]
    found = sweep(own_items(60), parts, only=True, budget=1, **LIMIT, **FEW)
    assert (found.outcome, found.exit_code, len(found.rows)) == ("open", 3, 1)
    assert "the budget was used up" in found.sentences[0]
    assert found.left + found.implied + 2 == found.combinations
    none = sweep(own_items(60), parts, only=True, seconds=0.0, **LIMIT, **FEW)
    assert (none.outcome, none.rows, none.exit_code) == ("open", (), 3)


def test_a_pass_allows_for_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PASS that is one of very many is none; the number found is the same."""
    parts = [Mitigation("category", "same")]
    limit = {**LIMIT, "limit": 0.17}
    found = sweep(own_items(80), parts, only=True, **limit, **FEW)
    assert found.cheapest is not None
    asked: list[int] = []
    judge = Gate.judge

    def judged(self: Gate, document: Document, today: None = None, searched: int = 1) -> Verdict | None:
        asked.append(searched)
        return judge(self, document, today, 10**9 if searched > 1 else 1)

    monkeypatch.setattr(Gate, "judge", judged)
    many = sweep(own_items(80), parts, only=True, **limit, **FEW)
    assert set(asked) == {1, 2}
    row = row_of(many, *parts)
    assert (row.decision, row.meets, row.risk) == ("INCONCLUSIVE", False, found.cheapest.risk)
    assert row.doubts[0] == "It passes alone, and not when allowing for a search among 2 combinations."
    assert many.exit_code == 3


def test_many_events_are_priced_by_some_and_what_is_tried_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [Mitigation("category", "same"), Mitigation("time_unit", "none")]
    before = sweep(own_items(80), parts, only=True, **LIMIT, **FEW)
    monkeypatch.setattr("entropie.release.sweep.MOST_PRICED", 300)
    after = sweep(own_items(80), parts, only=True, **LIMIT, **FEW)
    assert after.cheapest == before.cheapest
    assert after.cheapest is not None


def test_everything_may_be_taken_away_and_nothing_is_called_safe() -> None:
    found = sweep(own_items(60), [Mitigation("thin", 1e-9)], only=True, **LIMIT, **FEW)
    row = found.rows[0]
    assert (row.events, row.decision, row.meets, row.cost) == (0, "INCONCLUSIVE", False, 1.0)
    assert row.note == "60 people have no event left."
    assert found.exit_code == 3


def test_rows_that_number_events_are_an_order_and_no_times() -> None:
    table = own_items(60).set_column(2, "time", pa.array(range(720)))
    found = sweep(table, [Mitigation("category", "same")], **LIMIT, **FEW)
    assert found.input.order_only
    assert found.outcome == "met"
    with pytest.raises(InvalidInput, match="`time_unit=` day needs times, and only the order of events is known"):
        sweep(table, [Mitigation("time_unit", "day")], **LIMIT, **FEW)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "A sweep looks for what meets a limit: name it with `profile="),
        ({**LIMIT, "only": True}, "`only=` needs a mitigation to be named"),
        ({**LIMIT, "cost": "beauty"}, "`cost` must be one of information"),
        ({**LIMIT, "budget": 0}, "`budget` must be a whole number from 1"),
        ({**LIMIT, "seconds": -1.0}, "`seconds` must be a number of seconds"),
        ({**LIMIT, "lat": "lat"}, "need both columns of coordinates"),
        ({**LIMIT, "mitigations": [Mitigation("grid", "1km")]}, "name them with `lat=` and `lon=`"),
        ({**LIMIT, "mitigations": [Mitigation("category", "sort")]}, "Column `sort` is missing from the table"),
        (
            {**LIMIT, "mitigations": [Mitigation("top", n + 1) for n in range(900)], "budget": 1},
            "at most 2,000 can be looked at",
        ),
        ({**LIMIT, "matchers": ["oracle"]}, "`matcher` must be one of markov"),
        ({**LIMIT, "min_events": 99}, "lower `min_events="),
        ({"profile": "none"}, "`profile` must be one of"),
    ],
)
def test_bad_requests_get_a_sentence(options: dict[str, object], said: str) -> None:
    with pytest.raises((InvalidInput, InvalidParameter), match=said):
        sweep(own_items(), **{**FEW, **options})  # type: ignore[arg-type]


@pytest.mark.skipif(not CHECK_INS.exists(), reason="the check-ins of New York are not there")
def test_real_check_ins() -> None:
    """New York has row numbers for times; broader places leave a lower risk, and most mitigations leave people exposed."""
    parts = [Mitigation("category", "category"), Mitigation("thin", 0.1)]
    found = sweep(CHECK_INS, parts, only=True, item="venue", profile="ema", **FEW)
    assert found.exit_code == 1
    assert all(row.decision == "FAIL" for row in found.rows)
    assert found.as_it_is.reidentified.value > 0.6
