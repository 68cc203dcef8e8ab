"""Sweeps: planted people whose risk a mitigation must take away wholly or not at all, and rows that an assessment confirms."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from mitigate_oracles import DAY, START, lost, never_twice, own_items, own_order, without_clock
from msgspec.structs import replace

import entropie
from entropie.document.measured import ShareInterval
from entropie.errors import InvalidInput, InvalidParameter
from entropie.mitigate.mitigation import Mitigation
from entropie.mitigate.sweep import sweep
from entropie.mitigate.sweep_result import Sweep, SweepRow
from entropie.schemas import schema

ALL = ("markov", "visit", "tfidf", "cosine", "bayes", "pitman_yor")
FEW = {"replicates": 20, "threads": 1}
CHECK_INS = Path(__file__).resolve().parents[3] / "shared" / "data" / "foursquare_nyc.parquet"


def spaced(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def row_of(found: Sweep, kind: str, setting: object) -> SweepRow:
    return next(row for row in found.rows if row.chosen == Mitigation(kind, setting))  # type: ignore[arg-type]


def with_habits(users: int = 120, seed: int = 7) -> pa.Table:
    """Favourites and common places, real times over some weeks, a kind per place."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(10, 30, users)
    user = np.repeat(np.arange(users), lengths)
    own = rng.integers(0, 200, (users, 4))[user, rng.integers(0, 4, user.size)]
    common = np.minimum(rng.geometric(0.05, user.size), 199)
    item = np.where(rng.random(user.size) < 0.5, own, common)
    time = START + np.sort(rng.integers(0, 40 * DAY, user.size))
    return pa.table({"user": user, "item": item, "time": time, "kind": item // 10})


@pytest.fixture(scope="module")
def habits() -> Sweep:
    mitigations = [
        Mitigation("category", "kind"),
        Mitigation("top", 20),
        Mitigation("prefix", 1),
        Mitigation("first", 3),
        Mitigation("thin", 0.3),
    ]
    return sweep(with_habits(), [*mitigations, Mitigation("time_unit", "day"), Mitigation("last", 2)], seed=5, **FEW)


def test_a_column_that_tells_nothing_takes_all_the_risk_away() -> None:
    found = sweep(
        own_items(), [Mitigation("category", "same"), Mitigation("category", "alike"), Mitigation("thin", 0.9)], **FEW
    )
    assert found.as_it_is.identification_error.value == 0.0
    nothing = row_of(found, "category", "same")
    assert nothing.identification_error.value == pytest.approx(1 - 1 / 40)  # all tie
    assert (nothing.items, nothing.useful, nothing.cost.value) == (1, True, pytest.approx(1.0))  # type: ignore[union-attr]
    assert nothing.risk_reduction == pytest.approx(39 / 40)
    assert nothing.lift == pytest.approx(1.0)
    assert nothing.pie_bits == pytest.approx(0.0, abs=1e-9)
    assert found.cheapest == nothing
    assert spaced(found.sentences[0]).startswith(
        "Smallest loss that helps: release the column same instead of the item; 2.5 % of people are still"
    )


def test_another_name_for_the_item_takes_nothing_away() -> None:
    found = sweep(
        own_items(), [Mitigation("category", "alike"), Mitigation("prefix", 9), Mitigation("top", 500)], **FEW
    )
    for row in found.rows:
        assert (row.identification_error, row.pse_bits, row.items) == (
            found.as_it_is.identification_error,
            found.as_it_is.pse_bits,
            found.as_it_is.items,
        )
        assert (row.cost.value, row.useful, row.usefulness, row.risk_reduction) == (0.0, False, None, 0.0)  # type: ignore[union-attr]
    assert found.cheapest is None
    assert spaced(found.sentences[0]).startswith(
        "No mitigation tried lowers the risk beyond chance: 100 % of people are"
    )
    assert len(found.sentences) == 1


def test_map_cells_name_the_group_and_nobody_within() -> None:
    """Eight people share a cell and do the same within it: one in eight is named."""
    found = sweep(own_items(), [Mitigation("grid", "10km")], latitude="lat", longitude="lon", **FEW)
    row = found.rows[0]
    assert (row.items, row.identification_error.value) == (5, pytest.approx(7 / 8))
    assert row.note is None


def test_risk_in_the_order_goes_with_the_order() -> None:
    found = sweep(own_order(), [Mitigation("time_unit", "hour"), Mitigation("time_unit", "day")], **FEW)
    assert found.as_it_is.matcher == "markov"
    assert found.as_it_is.identification_error.value < 0.05
    hours, days = row_of(found, "time_unit", "hour"), row_of(found, "time_unit", "day")
    assert (hours.identification_error.value, hours.cost.value, hours.useful) == (
        found.as_it_is.identification_error.value,
        0.0,
        False,
    )  # type: ignore[union-attr]
    assert days.identification_error.value == pytest.approx(1 - 1 / 40)
    assert days.useful
    # Five days of eight events are released: of 39 pairs in a row four are parted by a night.
    assert days.cost.value == pytest.approx(35 / 39)  # type: ignore[union-attr]


def test_coarser_data_may_be_easier_to_attack_and_it_is_said() -> None:
    found = sweep(never_twice(), [Mitigation("category", "kind"), Mitigation("thin", 0.5)], **FEW)
    row = row_of(found, "category", "kind")
    assert found.as_it_is.identification_error.value > 0.9
    assert row.identification_error.value == 0.0
    assert found.stronger == row
    assert found.cheapest is None
    assert found.sentences[0].startswith("The data as is are no safer than this: release the column kind")
    assert "no better than chance" not in " ".join(found.sentences)


def test_nothing_to_find_needs_no_mitigation() -> None:
    found = sweep(never_twice(), [Mitigation("thin", 0.5)], **FEW)
    (sentence,) = found.sentences
    assert sentence.startswith("An attacker who knows earlier behaviour does no better than chance as is.")
    assert sentence.endswith("`entropie assess` tells.")


def attacked(table: pa.Table, matchers: tuple[str, ...], **options: object) -> tuple[str, float, dict[str, float]]:
    found = entropie.assess(
        table, matchers=matchers, control=False, seed=5, known_events=[], replicates=20, threads=1, **options
    )
    return found.best.matcher, found.matcher_error.value, found.best.measures.pse.to_json()


def shown(row: SweepRow) -> tuple[str, float, dict[str, float]]:
    return row.matcher, row.identification_error.value, row.pse_bits.to_json()


def test_rows_are_what_an_assessment_of_the_coarser_table_finds(habits: Sweep) -> None:
    table = with_habits()
    items = table["item"].to_pylist()
    frequent = {item for item, _ in sorted(Counter(items).items(), key=lambda pair: (-pair[1], pair[0]))[:20]}
    coarser = {
        Mitigation("category", "kind"): table["kind"].to_pylist(),
        Mitigation("top", 20): [item if item in frequent else 999 for item in items],
        Mitigation("prefix", 1): [str(item)[0] for item in items],
    }
    for mitigation, values in coarser.items():
        row = row_of(habits, mitigation.kind, mitigation.setting)
        coarse = table.drop(["kind", "item"]).append_column("item", pa.array(values))
        assert attacked(coarse, row.matchers) == shown(row)
    assert attacked(table.drop(["kind"]), ALL) == shown(habits.as_it_is)
    row = row_of(habits, "first", 3)
    assert attacked(table.drop(["kind"]), row.matchers, target_events=3) == shown(row)


def test_intervals_allow_for_the_choice_among_all_matchers(habits: Sweep) -> None:
    """Wilson's interval at 1 - 0.05/6, whose normal quantile is 2.6383."""
    for row in (habits.as_it_is, *habits.rows):
        n, p, z = 120, row.identification_error.value, 2.638257
        centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2)
        low, high = (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)
        assert (row.identification_error.low, row.identification_error.high) == (
            pytest.approx(low, abs=1e-5),
            pytest.approx(high, abs=1e-5),
        )


def test_costs_and_counts_of_what_is_released(habits: Sweep) -> None:
    table = with_habits()
    rows = sorted(zip(*(table[name].to_pylist() for name in ("user", "time", "item", "kind")), strict=True))
    released: list[tuple[int, int, int, int]] = []
    for user in range(120):
        own = [row for row in rows if row[0] == user]
        released += own[math.ceil(len(own) / 2) :]
    items = [row[2] for row in released]
    assert (habits.as_it_is.events, habits.as_it_is.items, habits.as_it_is.cost) == (len(items), len(set(items)), None)
    assert habits.known_events == table.num_rows - len(items)
    kinds = row_of(habits, "category", "kind")
    assert kinds.cost.value == pytest.approx(lost(items, [row[3] for row in released]))  # type: ignore[union-attr]
    for kind, count in (("first", 3), ("last", 2)):
        kept = sum(min(count, n) for n in Counter(row[0] for row in released).values())
        row = row_of(habits, kind, count)
        assert row.events == kept
        assert row.cost.value == pytest.approx(1 - kept / len(items))  # type: ignore[union-attr]
    thinned = row_of(habits, "thin", 0.3)
    spread = math.sqrt(len(items) * 0.3 * 0.7)
    assert abs(thinned.events - 0.3 * len(items)) < 5 * spread  # one seed in two million fails


def test_rows_stand_in_order_and_the_first_has_met_every_matcher(habits: Sweep) -> None:
    useful = [row.useful for row in habits.rows]
    assert useful == sorted(useful, reverse=True)
    assert any(useful)
    for part in (True, False):
        costs = [row.cost.value for row in habits.rows if row.useful is part and row.cost is not None]
        assert costs == sorted(costs)
    assert habits.cheapest is habits.rows[0]
    assert habits.as_it_is.matchers == habits.rows[0].matchers == ALL
    assert all(set(row.matchers) >= {habits.as_it_is.matcher, "visit"} for row in habits.rows)
    for row in habits.rows:
        assert row.useful == (row.identification_error.low > habits.as_it_is.identification_error.high)
        assert row.risk_reduction == pytest.approx(
            row.identification_error.value - habits.as_it_is.identification_error.value
        )
        assert row.usefulness == pytest.approx(row.risk_reduction / row.cost.value)  # type: ignore[union-attr]
    assert habits.lowest.risk_reduction == max(row.risk_reduction for row in habits.rows)  # type: ignore[union-attr]


def test_matchers_named_are_run_on_every_mitigation() -> None:
    found = sweep(
        own_items(), [Mitigation("thin", 0.5), Mitigation("category", "same")], matchers=["visit", "cosine"], **FEW
    )
    assert {row.matchers for row in (found.as_it_is, *found.rows)} == {("visit", "cosine")}


def test_the_same_again_and_whatever_people_are_called() -> None:
    table = with_habits(60)
    mitigations = [Mitigation("thin", 0.4), Mitigation("top", 20), Mitigation("time_unit", "week")]
    documents = []
    renamed = table.set_column(0, "user", pa.array([f"x{(user * 37) % 61:02d}" for user in table["user"].to_pylist()]))
    for source in (table, table, renamed):
        document = without_clock(sweep(source, mitigations, seed=3, **FEW).to_json())
        document["input"].pop("sha256")
        documents.append(document)
    assert documents[0] == documents[1] == documents[2]
    other = sweep(table, mitigations, seed=4, **FEW)
    assert (
        row_of(other, "thin", 0.4).events
        != next(r for r in documents[0]["rows"] if r["mitigation"] == "thin")["events"]
    )


def test_default_mitigations_are_those_that_apply() -> None:
    found = sweep(own_items(), latitude="lat", longitude="lon", **FEW)
    tried = Counter(row.mitigation for row in found.rows)
    assert tried == {"top": 2, "grid": 3, "time_unit": 3, "first": 1, "thin": 2}
    order_only = sweep(own_items().drop(["time"]), **FEW)
    jsonschema.Draft202012Validator(schema("sweep")).validate(json.loads(json.dumps(order_only.to_json())))
    assert Counter(row.mitigation for row in order_only.rows) == {
        "top": 2,
        "first": 1,
        "thin": 2,
    }


def test_everything_released_may_be_thinned_away() -> None:
    found = sweep(own_items(12), [Mitigation("thin", 1e-9)], **FEW)
    row = found.rows[0]
    assert (row.events, row.items, row.people, row.pie_bits) == (0, 0, 0, 0.0)
    assert row.identification_error.value == pytest.approx(1 - 1 / 12)
    assert row.note == "12 people have no event left."


def test_missing_values_are_an_item_of_their_own_and_it_is_said() -> None:
    table = own_items()
    kinds = [None if place % 10 == 0 else f"k{place % 3}" for place in range(table.num_rows)]
    found = sweep(table.append_column("kind", pa.array(kinds)), [Mitigation("category", "kind")], **FEW)
    assert found.rows[0].items == 4
    assert "48 events without a value (no category) count as one item." in str(found.rows[0].note)
    assert "may reveal more than the item" in str(found.rows[0].note)  # an item has several kinds here


def test_the_document_is_strict_json_and_fits_its_schema(habits: Sweep) -> None:
    document = json.loads(json.dumps(habits.to_json(), allow_nan=False))
    rules = schema("sweep")
    jsonschema.Draft202012Validator.check_schema(rules)
    jsonschema.Draft202012Validator(rules).validate(document)
    broken = [
        {**document, "schema": "entropie.sweep/2"},
        {**document, "rows": [{**document["rows"][0], "mitigation": "shake"}]},
        {**document, "as_it_is": {**document["as_it_is"], "identification_error": None}},
        {key: value for key, value in document.items() if key != "sentences"},
        {**document, "more": 1},
    ]
    for wrong in broken:
        assert not jsonschema.Draft202012Validator(rules).is_valid(wrong)


def test_nobody_is_named(habits: Sweep) -> None:
    text = json.dumps(sweep(own_items(), **FEW).to_json())
    assert "u001" not in text
    assert "item-0" not in text


def test_a_mitigation_that_leaves_most_people_re_identified_is_not_praised(habits: Sweep) -> None:
    before = replace(habits.as_it_is, identification_error=ShareInterval(0.05, 0.02, 0.1))
    weak = replace(
        row_of(habits, "thin", 0.3),
        identification_error=ShareInterval(0.3, 0.25, 0.35),
        useful=True,
        risk_reduction=0.25,
    )
    found = replace(habits, as_it_is=before, rows=(weak,))
    first, second = map(spaced, found.sentences)
    assert first.startswith(
        "Smallest loss that helps: release a random 30 % of the events; most people are still re-identified, 70 % "
        "(95 % CI 65 to 75 %) instead of 95 %, at the loss of "
    )
    assert "No mitigation tried is enough alone: combine several, or add noise." in second
    strong = replace(
        row_of(habits, "top", 20), identification_error=ShareInterval(0.9, 0.8, 0.95), useful=True, risk_reduction=0.85
    )
    both = spaced(" ".join(replace(found, rows=(weak, strong)).sentences))
    assert "Lowest risk: keep the 20 most frequent items and merge the others into one; 10 % are still" in both
    assert "enough alone" not in both


def test_it_is_a_few_lines_and_two_files(habits: Sweep, tmp_path: Path) -> None:
    assert repr(habits).splitlines()[0] == "Sweep of 7 mitigations over 120 people"
    assert len(repr(habits)) < 1000
    document, table = habits.write(tmp_path / "new" / "folder")
    assert json.loads(document.read_text(encoding="utf-8")) == json.loads(json.dumps(habits.to_json()))
    assert table.read_text(encoding="utf-8") == habits.to_csv()


def test_it_shows_itself_in_a_notebook(habits: Sweep) -> None:
    page = habits._repr_html_()
    assert page.count("<tr>") == 2 + len(habits.rows)
    assert "<td>as is</td>" in page


@pytest.mark.parametrize(
    ("mitigations", "options", "said"),
    [
        ([Mitigation("grid", "1km")], {}, "name them with `latitude=` and `longitude=`"),
        (None, {"latitude": "lat"}, "need both columns of coordinates"),
        ([Mitigation("category", "sort")], {}, "Column `sort` is missing from the table"),
        ([Mitigation("category", "none")], {}, "All 480 events have no category; name another column"),
        ([Mitigation("thin", 0.5)], {"matchers": ["oracle"]}, "`matcher` must be one of markov"),
        ([Mitigation("thin", 0.5)], {"min_events": 1}, "`min_events` must be a whole number from 2"),
        ([Mitigation("thin", 0.5)], {"targets": 1}, "`targets` must be a whole number from 2"),
        ([Mitigation("thin", 0.5)], {"seed": -1}, "`seed` must be a whole number"),
        ([], {}, "No mitigation applies to these data; name one, such as `category=`"),
    ],
)
def test_bad_requests_get_a_sentence(
    mitigations: list[Mitigation] | None, options: dict[str, object], said: str
) -> None:
    table = own_items().append_column("none", pa.array([None] * 480, pa.string()))
    with pytest.raises((InvalidInput, InvalidParameter), match=said):
        sweep(table, mitigations, **{**FEW, **options})  # type: ignore[arg-type]


def test_times_that_only_number_the_rows_cannot_be_coarsened() -> None:
    table = own_items().set_column(2, "time", pa.array(range(480)))
    with pytest.raises(InvalidInput, match="only the order of events is known; name a column with"):
        sweep(table, [Mitigation("time_unit", "day")], **FEW)


def test_some_are_attacked_among_everybody() -> None:
    found = sweep(own_items(), [Mitigation("category", "half"), Mitigation("thin", 0.5)], targets=17, **FEW)
    everybody = sweep(own_items(), [Mitigation("category", "half"), Mitigation("thin", 0.5)], **FEW)
    assert found.users == everybody.users > 17
    assert found.as_it_is.identification_error.value == 0.0
    assert found.as_it_is.identification_error.high > everybody.as_it_is.identification_error.high


@pytest.mark.skipif(not CHECK_INS.exists(), reason="the check-ins of New York are not there")
def test_real_check_ins() -> None:
    """Broader places name fewer of 400 people among all of New York."""
    mitigations = [Mitigation("category", "category"), Mitigation("top", 10), Mitigation("thin", 0.1)]
    found = sweep(CHECK_INS, mitigations, user="user", item="venue", time="time", targets=400, **FEW)
    assert found.users == 1511
    assert found.as_it_is.risk.low > 0.4
    assert all(row.useful for row in found.rows)
    assert row_of(found, "top", 10).risk.high < row_of(found, "category", "category").risk.low
    assert row_of(found, "top", 10).cost.value > row_of(found, "category", "category").cost.value  # type: ignore[union-attr]
    assert row_of(found, "category", "category").pie_bits < found.as_it_is.pie_bits
