"""What each mitigation does to events, against the same done slowly to rows; and how combinations compare."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitigate_oracles import DAY, HOUR, START

from entropie.data.event_columns import read_event_columns
from entropie.errors import InvalidInput, InvalidParameter
from entropie.mitigate.draft import Draft, Material, ranked
from entropie.mitigate.kind import AXES
from entropie.mitigate.kinds import KINDS
from entropie.mitigate.mitigation import Combination, Mitigation, candidates
from entropie.request import Source

Row = tuple[str, str, int]


def visits(users: int = 30, seed: int = 7) -> pa.Table:
    """Favourites and common places, one after the other over some weeks, a kind and a point per place."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(6, 20, users)
    user = np.repeat(np.arange(users), lengths)
    own = rng.integers(0, 60, (users, 3))[user, rng.integers(0, 3, user.size)]
    item = np.where(rng.random(user.size) < 0.5, own, np.minimum(rng.geometric(0.2, user.size), 59))
    time = START + np.sort(rng.choice(40 * DAY, user.size, replace=False))
    return pa.table(
        {
            "user": [f"u{n:02d}" for n in user],
            "item": [f"place {n:02d}" for n in item],
            "time": time,
            "kind": [f"kind {n // 10}" for n in item],
            "lat": 50.0 + (item // 10) * 0.5,
            "lon": np.full(user.size, 10.0),
        }
    )


def material(table: pa.Table, seed: int = 3) -> Material:
    read = read_event_columns(Source(table), ["kind", "lat", "lon"] if "kind" in table.column_names else [])
    where = ("lat", "lon") if "lat" in table.column_names else None
    return Material.of(read.events.traces, read.events.item_ids, read.columns, where, seed)


TABLE = visits()
ROWS: list[Row] = sorted(
    zip(*(TABLE[name].to_pylist() for name in ("user", "time", "item")), strict=True), key=lambda r: r[:2]
)
ROWS = [(user, item, time) for user, time, item in ROWS]  # type: ignore[misc]
KIND = dict(zip(TABLE["item"].to_pylist(), TABLE["kind"].to_pylist(), strict=True))


def drafted(*parts: Mitigation, of: Material | None = None) -> Draft:
    return Combination(parts).applied((of or material(TABLE)).draft())


def released(draft: Draft) -> list[tuple[int, str, int | None]]:
    """Pseudonym, item and time of what everybody can read."""
    traces, names, _ = draft.released()
    users = np.repeat(np.arange(traces.users), np.diff(traces.offsets))
    times = [None] * traces.events if traces.times is None else traces.times.tolist()
    return [(int(u), str(names[int(x)]), t) for u, x, t in zip(users, traces.items, times, strict=True)]


def numbered(rows: list[Row]) -> list[tuple[int, str, int]]:
    """The same rows with people numbered, in the order of a release."""
    people = {user: place for place, user in enumerate(sorted({row[0] for row in rows}))}
    return sorted(((people[user], item, time) for user, item, time in rows), key=lambda r: (r[0], r[2], r[1]))


def test_nothing_changes_nothing() -> None:
    assert released(drafted()) == numbered(ROWS)
    assert drafted().note is None


def test_items() -> None:
    counts = Counter(item for _, item, _ in ROWS)
    frequent = sorted(counts, key=lambda item: (-counts[item], item))[:5]
    wanted = [(user, item if item in frequent else "(other)", time) for user, item, time in ROWS]
    assert released(drafted(Mitigation("top", 5))) == numbered(wanted)
    wanted = [(user, KIND[item], time) for user, item, time in ROWS]
    assert released(drafted(Mitigation("category", "kind"))) == numbered(wanted)
    cells = released(drafted(Mitigation("grid", "10km")))
    same_cell = {cell: kind for (_, cell, _), (_, kind, _) in zip(cells, numbered(wanted), strict=True)}
    assert len(same_cell) == len(set(KIND.values())) == len(set(same_cell.values()))
    wanted = [(user, item[:7], time) for user, item, time in ROWS]
    assert released(drafted(Mitigation("prefix", 7))) == numbered(wanted)


def test_what_merged_items_are_called_is_no_item() -> None:
    table = TABLE.set_column(1, "item", pa.array(["(other)" if i % 3 else f"x{i}" for i in range(TABLE.num_rows)]))
    names = {item for _, item, _ in released(drafted(Mitigation("top", 2), of=material(table)))}
    assert "(other)_" in names
    assert len(names) == 3


def test_a_hierarchy_names_groups(tmp_path: Path) -> None:
    places = sorted(KIND)
    file = tmp_path / "places.csv"
    file.write_text(
        "".join(f"{place};{KIND[place]};{'even' if n % 2 else 'odd'};*\n" for n, place in enumerate(places))
    )
    for level, group in ((1, KIND), (2, {place: "even" if n % 2 else "odd" for n, place in enumerate(places)})):
        wanted = [(user, group[item], time) for user, item, time in ROWS]
        assert released(drafted(Mitigation("hierarchy", f"{file}:{level}"))) == numbered(wanted)
    with pytest.raises(InvalidInput, match="has 3 levels in row 1, level 4 was asked for"):
        drafted(Mitigation("hierarchy", f"{file}:4"))
    file.write_text("".join(f"{place};x\n" for place in places[:-2]))
    with pytest.raises(
        InvalidInput, match=f"has no row for 2 of {len(places)} items of the events; add a row"
    ) as found:
        drafted(Mitigation("hierarchy", str(file)))
    assert places[-1] not in str(found.value)
    file.write_text("a;x\na;y\n")
    with pytest.raises(InvalidInput, match="names two groups for the item of row 2"):
        drafted(Mitigation("hierarchy", str(file)))
    with pytest.raises(InvalidInput, match="does not exist"):
        drafted(Mitigation("hierarchy", "nowhere.csv:1"))


def begin(time: int, unit: str) -> int:
    moment = datetime.datetime.fromtimestamp(time, datetime.UTC).replace(minute=0, second=0)
    if unit != "hour":
        moment = moment.replace(hour=0)
    if unit == "week":
        moment -= datetime.timedelta(days=moment.weekday())
    return int(moment.timestamp())


@pytest.mark.parametrize("unit", ["hour", "day", "week"])
def test_times_are_rounded_and_nothing_else_tells_the_order(unit: str) -> None:
    draft = drafted(Mitigation("time_unit", unit))
    assert released(draft) == numbered([(user, item, begin(time, unit)) for user, item, time in ROWS])


def test_times_can_be_left_out_with_the_order() -> None:
    found = released(drafted(Mitigation("time_unit", "none")))
    assert found == [(user, item, None) for user, item, _ in sorted(numbered(ROWS), key=lambda r: r[:2])]


@given(st.lists(st.integers(-(2**62), 2**62) | st.integers(-9, 9)))
def test_ranks_are_those_of_sorting(values: list[int]) -> None:
    found, ranks = ranked(np.array(values, np.int64))
    assert found.tolist() == sorted(set(values))
    assert [found[rank] for rank in ranks] == values


def test_jitter_moves_every_time_evenly() -> None:
    moved = drafted(Mitigation("jitter", "2h"))
    assert moved.times is not None
    assert moved.material.traces.times is not None
    moves = moved.times - moved.material.traces.times
    assert np.abs(moves).max() <= 2 * HOUR
    # Uniform on -7200..7200: sd 4157; the mean of n lies within 5 sd/sqrt(n) but for one seed in two million.
    assert abs(moves.mean()) < 5 * 4157 / math.sqrt(moves.size)
    assert 4157 * 0.8 < moves.std() < 4157 * 1.2
    assert abs((moves + 720).mean()) > 5 * 4157 / math.sqrt(moves.size * 40)  # what is off by a tenth would be seen


def test_rare_items_and_cells_go() -> None:
    holders: dict[str, set[str]] = {}
    cells: dict[tuple[str, int], set[str]] = {}
    for user, item, time in ROWS:
        holders.setdefault(item, set()).add(user)
        cells.setdefault((item, begin(time, "week")), set()).add(user)
    wanted = [row for row in ROWS if len(holders[row[1]]) >= 5]
    assert 0 < len(wanted) < len(ROWS)
    assert released(drafted(Mitigation("rare_items", 5))) == numbered(wanted)
    weeks = [(user, item, begin(time, "week")) for user, item, time in ROWS]
    wanted = [row for row in weeks if len(cells[row[1], row[2]]) >= 3]
    assert 0 < len(wanted) < len(ROWS)
    assert released(drafted(Mitigation("time_unit", "week"), Mitigation("rare_cells", 3))) == numbered(wanted)


def test_the_most_exposed_are_those_with_items_of_their_own() -> None:
    """Three people do what nobody else does; all others do the same."""
    rows = [
        (f"u{u:02d}", f"own {u}" if u < 3 else f"common {e % 4}", START + e * HOUR) for u in range(30) for e in range(8)
    ]
    table = pa.table(dict(zip(("user", "item", "time"), map(list, zip(*rows, strict=True)), strict=True)))
    left = drafted(Mitigation("exposed", 0.1), of=material(table))
    assert released(left) == numbered([row for row in rows if row[0] >= "u03"])
    assert left.note == "3 people have no event left."
    apart = drafted(Mitigation("scatter", 0.1), of=material(table))
    traces, _, owners = apart.released()
    lengths = np.diff(traces.offsets)
    assert sorted(lengths.tolist()) == [1] * 24 + [8] * 27
    assert set(owners[lengths == 1].tolist()) == {0, 1, 2}


def test_people_and_events_are_drawn() -> None:
    some = released(drafted(Mitigation("sample", 0.5)))
    assert len({row[0] for row in some}) == 15
    everything = Counter((item, time) for _, item, time in numbered(ROWS))
    assert not Counter((item, time) for _, item, time in some) - everything
    most, few = drafted(Mitigation("thin", 0.6)), drafted(Mitigation("thin", 0.3))
    assert not (few.kept & ~most.kept).any()
    assert abs(most.kept.sum() - 0.6 * len(ROWS)) < 5 * math.sqrt(len(ROWS) * 0.24)
    assert (drafted(Mitigation("thin", 0.3)).kept == few.kept).all()
    assert (drafted(Mitigation("thin", 0.3), of=material(TABLE, seed=4)).kept != few.kept).any()


def test_chance_does_not_depend_on_names() -> None:
    names = [f"x{(int(user[1:]) * 7) % 31:02d}" for user in TABLE["user"].to_pylist()]
    renamed = material(TABLE.set_column(0, "user", pa.array(names)))
    for one in (Mitigation("thin", 0.4), Mitigation("sample", 0.4), Mitigation("jitter", "1h")):
        found = [Counter(row[1:] for row in released(drafted(one, of=of))) for of in (material(TABLE), renamed)]
        assert found[0] == found[1]


def test_first_and_last_events() -> None:
    wanted: dict[str, list[Row]] = {}
    for row in ROWS:
        wanted.setdefault(row[0], []).append(row)
    first = [row for own in wanted.values() for row in own[:4]]
    last = [row for own in wanted.values() for row in own[-4:]]
    assert released(drafted(Mitigation("first", 4))) == numbered(first)
    assert released(drafted(Mitigation("last", 4))) == numbered(last)
    common = [(user, item, time) for user, item, time in ROWS if len({r[0] for r in ROWS if r[1] == item}) >= 5]
    later = [row for user in wanted for row in [r for r in common if r[0] == user][-2:]]
    assert released(drafted(Mitigation("rare_items", 5), Mitigation("last", 2))) == numbered(later)


@pytest.mark.parametrize("period", ["day", "week"])
def test_pseudonyms_change(period: str) -> None:
    traces, _, owners = drafted(Mitigation("rotate", period)).released()
    assert traces.users == len({(user, begin(time, period)) for user, _, time in ROWS})
    assert traces.times is not None
    for piece in range(traces.users):
        times = traces.times[traces.offsets[piece] : traces.offsets[piece + 1]]
        assert len({begin(int(time), period) for time in times}) == 1
    assert set(owners.tolist()) == set(range(30))


def test_some_people_with_all_they_have() -> None:
    whole = material(TABLE)
    part = whole.some(len(ROWS) // 3)
    assert 0.15 * len(ROWS) < part.traces.events < 0.55 * len(ROWS)
    rows = Counter((item, time) for _, item, time in released(part.draft()))
    users = {user for user, item, time in ROWS if (item, time) in rows}
    assert rows == Counter((item, time) for user, item, time in ROWS if user in users)
    kinds = [str(kind) for kind in part.columns["kind"].to_pylist()]
    assert kinds == [KIND[str(part.item_ids[int(item)])] for item in part.traces.items]
    assert whole.some(len(ROWS)) is whole


def test_every_kind_is_tried_somewhere_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    for kind in KINDS:
        assert f'Mitigation("{kind}"' in text, kind


def test_combinations_have_an_order_and_compare_axis_by_axis() -> None:
    top, more, day, thin = (
        Mitigation("top", 5),
        Mitigation("top", 9),
        Mitigation("time_unit", "day"),
        Mitigation("thin", 0.5),
    )
    assert Combination((more,)).at_most(Combination((top, day)))
    assert not Combination((top,)).at_most(Combination((more, day)))
    assert Combination().at_most(Combination((day,)))
    assert not Combination().at_most(Combination((thin,)))  # fewer events make other people rarer
    assert not Combination((top, thin)).at_most(Combination((top, day)))
    assert not Combination((Mitigation("category", "kind"),)).at_most(Combination((top,)))
    assert not Combination((Mitigation("rotate", "week"),)).at_most(Combination((Mitigation("rotate", "day"),)))
    assert Combination((more, thin)).at_most(Combination((top, day, thin)))
    assert Combination().name == "as is"
    for wrong in ((day, top), (top, more)):
        with pytest.raises(InvalidParameter, match="at most one mitigation for each of items, times"):
            Combination(wrong)


def test_naming_one_drops_no_other_kind() -> None:
    usual = candidates(material(TABLE), (), only=False)
    named = candidates(material(TABLE), (Mitigation("top", 3), Mitigation("category", "kind")), only=False)
    kinds = {part.kind for one in usual for part in one.parts}
    assert kinds == {"top", "grid", "time_unit", "rare_items", "exposed", "first", "thin", "rotate"}
    assert {part.kind for one in named for part in one.parts} == {*kinds, "category"}
    assert {part.setting for one in named for part in one.parts if part.kind == "top"} == {3}
    only = candidates(material(TABLE), (Mitigation("top", 3), Mitigation("thin", 0.5)), only=True)
    assert {one.name for one in only} == {
        "as is",
        "top 3 items",
        "random 50\N{NO-BREAK SPACE}%",
        "top 3 items + random 50\N{NO-BREAK SPACE}%",
    }
    assert (
        len(set(usual))
        == len(usual)
        == math.prod(1 + len({part for one in usual for part in one.parts if part.of.axis == axis}) for axis in AXES)
    )


def test_without_times_those_that_need_them_are_refused_or_left_out() -> None:
    table = TABLE.drop(["time"])
    untimed = material(table)
    kinds = {part.kind for one in candidates(untimed, (), only=False) for part in one.parts}
    assert kinds == {"top", "grid", "time_unit", "rare_items", "exposed", "first", "thin"}
    for one in (Mitigation("time_unit", "day"), Mitigation("rotate", "week"), Mitigation("jitter", "1h")):
        with pytest.raises(InvalidInput, match=f"`{one.kind}=` {one.setting} needs times, and only the order"):
            candidates(untimed, (one,), only=True)
    rows = released(drafted(of=untimed))
    assert [row[1] for row in rows if row[0] == 0] == [
        i for u, i in zip(table["user"].to_pylist(), table["item"].to_pylist(), strict=True) if u == "u00"
    ]


@pytest.mark.parametrize(
    ("kind", "setting", "said"),
    [
        ("shake", 1, "`mitigation` must be one of top, category"),
        ("top", 0, "`top` must be a whole number from 1"),
        ("first", 2.5, "`first` must be a whole number"),
        ("thin", 1.0, "`thin` must be a share above 0 and below 1, got 1.0"),
        ("thin", float("nan"), "`thin` must be a share above 0 and below 1"),
        ("time_unit", "month", "`time_unit` must be one of hour, day, week, none, got 'month'"),
        ("rotate", "hour", "`rotate` must be one of week, day, got 'hour'"),
        ("jitter", "soon", "`jitter` must be a length of time"),
        ("jitter", "500d", "`jitter` must be a length of time up to 400 days"),
        ("hierarchy", "a.csv:0", "`hierarchy` must be a file and a level from 1"),
        ("grid", "500", "`grid` must be a size such as 500m"),
        ("category", "", "`category` must be the name of a column"),
    ],
)
def test_bad_settings_get_a_sentence(kind: str, setting: object, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        Mitigation(kind, setting)  # type: ignore[arg-type]
