"""`apply`: the file written is the one that was judged, and nothing but what was to be released is in it."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray
from test_release_sweep import FEW, with_habits

import entropie
from entropie import Mitigation
from entropie.data.event_columns import read_event_columns
from entropie.data.events import read_events
from entropie.document.measured import ShareInterval
from entropie.errors import InvalidInput, InvalidParameter, OutputFailed
from entropie.mitigate.draft import Material
from entropie.mitigate.mitigation import Combination
from entropie.release.apply import apply
from entropie.release.plan import Data, MitigationStep, ReleasePlan, read_plan
from entropie.release.writing import hexadecimal, moments
from entropie.request import Source
from entropie.schemas import schema

NEVER = {"limit": 0.999, "limit_name": "ours", "fail_on": "worst"}  # nobody decides alone, everything passes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = with_habits()
    named = table.set_column(0, "user", pa.array([f"person-{user:03d}" for user in table["user"].to_pylist()]))
    shuffled = named.take(pa.array([(n * 7919) % table.num_rows for n in range(table.num_rows)]))
    pa_csv.write_csv(
        shuffled.append_column("note", pa.array(["secret"] * table.num_rows)), str(tmp_path / "events.csv")
    )
    return tmp_path


def plan_of(events: Path, *parts: Mitigation, seed: int = 0) -> ReleasePlan:
    """A plan for these events."""
    steps = tuple(MitigationStep(part.kind, part.setting) for part in parts)
    data = Data.of(read_events(Source(events)).report, Source(events), None)
    return ReleasePlan(steps, data, seed, 0.5, "ours", ShareInterval(0.1, 0.0, 0.2), 10, "0")


def text_of(path: Path) -> str:
    return path.read_bytes().decode("latin-1")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("safer.csv", (Mitigation("category", "kind"),)),
        ("safer.parquet", (Mitigation("time_unit", "day"),)),
        ("safer.csv", (Mitigation("top", 50), Mitigation("time_unit", "hour"))),
    ],
)
def test_an_assessment_of_the_file_finds_what_the_sweep_found(
    folder: Path, name: str, parts: tuple[Mitigation, ...]
) -> None:
    events, out = folder / "events.csv", folder / name
    found = entropie.sweep(events, parts, only=True, cost="items", seed=5, **{**NEVER, "limit": 0.9999}, **FEW)
    row = next(one for one in found.rows if one.combination.parts == parts)
    apply(plan_of(events, *parts, seed=5), events, out)
    want = entropie.assess(
        out, seed=5, replicates=20, points=[4], control=False, one_id_per_person=True, **{**NEVER, "limit": 0.9999}
    )
    assert want.verdict is not None
    assert ShareInterval(**want.verdict["judged_risk"]) == row.risk
    assert want.reidentified.value == row.reidentified.value
    assert (want.users, want.items, want.events) == (120, row.items, row.events)


def test_known_events_find_the_same_where_events_are_dropped_or_pseudonyms_change(folder: Path) -> None:
    events = folder / "events.csv"
    for part in (
        Mitigation("rare_items", 6),
        Mitigation("rotate", "week"),
        Mitigation("first", 8),
        Mitigation("thin", 0.5),
    ):
        options = {"scope": ["points"], "seed": 5, **NEVER, "limit": 0.99, **FEW}
        found = entropie.sweep(events, [part], only=True, accept_limited=True, **options)
        row = next(one for one in found.rows if one.combination.parts == (part,))
        made = apply(plan_of(events, part, seed=5), events, folder / "safer.csv")
        want = entropie.assess(
            folder / "safer.csv", points=[4], control=False, min_events=2, **{**options, "replicates": 20}
        )
        points = [one for one in want.attackers if one.attacker == "points" and one.points == 4]
        assert points[0].reidentified.value == pytest.approx(row.reidentified.value, abs=0.004)
        assert (made.events, made.people, made.pseudonyms, made.items) == (
            row.events,
            row.people,
            row.pseudonyms,
            row.items,
        )


def test_nothing_but_what_is_released_is_in_the_file(folder: Path) -> None:
    events, out = folder / "events.csv", folder / "safer.csv"
    made = apply(plan_of(events, Mitigation("top", 20), Mitigation("time_unit", "day")), events, out)
    text = text_of(out)
    for secret in ("person-", "secret", "note", "kind"):
        assert secret not in text
    assert made.dropped == ("kind", "note")
    assert made.key is None
    assert {path.name for path in folder.iterdir()} == {"events.csv", "safer.csv", "safer.csv.manifest.json"}
    rows = pa_csv.read_csv(str(out)).to_pylist()
    original = pa_csv.read_csv(str(events)).to_pylist()
    assert len(rows) == len(original) == made.events
    sizes = [Counter(Counter(row["user"] for row in table).values()) for table in (rows, original)]
    assert sizes[0] == sizes[1]
    order = list(dict.fromkeys(row["user"] for row in rows))
    assert order == sorted(order)  # groups stand by pseudonym, which is a random number
    for user in order[:20]:
        own = [(row["time"], str(row["item"])) for row in rows if row["user"] == user]
        assert own == sorted(own)


def test_two_files_of_one_plan_have_nothing_in_common_but_the_values(folder: Path) -> None:
    events = folder / "events.csv"
    plan = plan_of(events, Mitigation("category", "kind"))
    tables = []
    for name in ("one.csv", "two.csv"):
        apply(plan, events, folder / name)
        tables.append(pa_csv.read_csv(str(folder / name)).to_pylist())
    assert not {row["user"] for row in tables[0]} & {row["user"] for row in tables[1]}
    values = [Counter((row["item"], row["time"]) for row in table) for table in tables]
    assert values[0] == values[1]
    assert [row["item"] for row in tables[0]] != [row["item"] for row in tables[1]]


def test_a_parquet_file_holds_values_and_nothing_about_them(folder: Path) -> None:
    events, out = folder / "events.csv", folder / "safer.parquet"
    apply(plan_of(events, Mitigation("top", 20)), events, out)
    file = pq.ParquetFile(out)
    assert not file.metadata.row_group(0).column(0).is_stats_set
    assert file.schema_arrow.metadata in (None, {})
    assert "person-" not in text_of(out)


def test_times_are_read_as_the_sweep_read_them(tmp_path: Path) -> None:
    """A clock of New York, month first, in a file whose name says nothing of its format."""
    path, how = tmp_path / "events.txt", {"time_format": "%m/%d/%Y %H:%M", "time_zone": "America/New_York"}
    rows = [f'{{"user": "u{user}", "item": "i{day % 3}", "time": "01/{day:02}/2024 23:30"}}' for user in range(3) for day in range(1, 13)]  # fmt: skip
    path.write_text("\n".join(rows) + "\n")
    source = Source(path, format="jsonl", user="user", item="item", time="time", **how)
    data = Data.of(read_events(source).report, source, None)
    steps = (MitigationStep("time_unit", "day"),)
    plan = ReleasePlan(steps, data, 0, 0.5, "ours", ShareInterval(0.1, 0.0, 0.2), 10, "0")
    (tmp_path / "plan.json").write_bytes(msgspec.json.encode(plan))
    apply(read_plan(tmp_path / "plan.json"), path, tmp_path / "safer.csv")
    days = {time[:10] for time in (str(one) for one in pa_csv.read_csv(tmp_path / "safer.csv")["time"].to_pylist())}
    assert days == {f"2024-01-{day:02}" for day in range(2, 14)}  # 23:30 there is the next day in universal time


def test_the_key_is_kept_where_asked_for_and_is_right(folder: Path) -> None:
    events, out, key = folder / "events.csv", folder / "safer.csv", folder / "key.csv"
    made = apply(plan_of(events, Mitigation("rotate", "week")), events, out, keep_key=key)
    assert made.pseudonyms > made.people == 120
    assert key.stat().st_mode & 0o077 == 0
    people = {row["pseudonym"]: row["person"] for row in pa_csv.read_csv(str(key)).to_pylist()}
    named = Counter((people[row["user"]], row["item"]) for row in pa_csv.read_csv(str(out)).to_pylist())
    assert named == Counter((row["user"], row["item"]) for row in pa_csv.read_csv(str(events)).to_pylist())


def test_numbers_of_rows_become_numbers_within_a_pseudonym(tmp_path: Path) -> None:
    table = with_habits()
    events = tmp_path / "events.csv"
    pa_csv.write_csv(table.set_column(2, "time", pa.array(range(table.num_rows))), str(events))
    apply(plan_of(events, Mitigation("category", "kind")), events, tmp_path / "safer.csv")
    rows = pa_csv.read_csv(str(tmp_path / "safer.csv")).to_pylist()
    assert max(row["time"] for row in rows) == max(Counter(table["user"].to_pylist()).values())
    apply(plan_of(events, Mitigation("time_unit", "none")), events, tmp_path / "bare.csv")
    assert pa_csv.read_csv(str(tmp_path / "bare.csv")).column_names == ["user", "item"]
    pa_csv.write_csv(table.drop(["time"]), str(events))
    apply(plan_of(events, Mitigation("top", 9)), events, tmp_path / "safer.csv")
    assert pa_csv.read_csv(str(tmp_path / "safer.csv")).column_names == ["user", "item", "order"]


def test_the_manifest_fits_its_schema_and_names_the_bytes(folder: Path) -> None:
    import hashlib

    events, out = folder / "events.csv", folder / "safer.csv"
    made = apply(plan_of(events, Mitigation("top", 20)), events, out)
    document = json.loads((folder / "safer.csv.manifest.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema("manifest")).validate(document)
    assert document == made.to_json()
    assert made.output_sha256 == hashlib.sha256(out.read_bytes()).hexdigest()
    assert made.input_sha256 == hashlib.sha256(events.read_bytes()).hexdigest()
    assert made.done == ("keep the 20 most frequent items and merge the others into one",)


def test_a_plan_for_other_data_is_refused_and_nothing_is_written(folder: Path) -> None:
    events = folder / "events.csv"
    plan = plan_of(events, Mitigation("top", 20))
    lines = events.read_text(encoding="utf-8").splitlines(keepends=True)
    events.write_text("".join(lines[:-1]), encoding="utf-8")
    with pytest.raises(InvalidInput, match="The plan is for other data: the events differ from those that were swept"):
        apply(plan, events, folder / "safer.csv")
    (folder / "other.csv").write_text("who,what\na,b\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="Column `user` is missing"):
        apply(plan, folder / "other.csv", folder / "safer.csv")
    assert {path.name for path in folder.iterdir()} == {"events.csv", "other.csv"}


@pytest.mark.parametrize(
    ("part", "needed"), [(Mitigation("time_unit", "day"), "times"), (Mitigation("grid", "1km"), "coordinates")]
)
def test_a_step_that_needs_what_events_do_not_have_is_refused(folder: Path, part: Mitigation, needed: str) -> None:
    events = folder / "bare.csv"
    events.write_text("user,item\na,x\na,y\nb,x\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=f"Step `{part.kind}` of the plan needs {needed}, and no"):
        apply(plan_of(events, part), events, folder / "safer.csv")
    assert not (folder / "safer.csv").exists()


def test_bad_plans_and_outputs_get_a_sentence(folder: Path) -> None:
    events, file = folder / "events.csv", folder / "plan.json"
    plan = plan_of(events, Mitigation("top", 20)).to_json()
    for content, said in (
        ("{", "is not whole JSON"),
        ("[]", "must have the schema entropie.release/1, got None instead; `entropie sweep --out DIR` writes"),
        (json.dumps({**plan, "schema": "entropie.sweep/2"}), "must have the schema entropie.release/1"),
        (json.dumps({**plan, "more": 1}), "is wrong"),
        (json.dumps({**plan, "steps": [{"mitigation": "top", "setting": 0}]}), "`top` must be a whole number from 1"),
        (json.dumps({**plan, "steps": [{"mitigation": "shake", "setting": 1}]}), "must be one of top"),
        (json.dumps({**plan, "steps": [{"mitigation": "thin", "setting": 1e-9}]}), "Nothing is left to release"),
    ):
        file.write_text(content, encoding="utf-8")
        with pytest.raises((InvalidInput, InvalidParameter), match=said):
            apply(file, events, folder / "safer.csv")
    file.write_text(json.dumps(plan), encoding="utf-8")
    for out, said in ((events, "is also an input"), (file, "is also an input"), (folder / "a.txt", "must end in .csv")):
        with pytest.raises(InvalidInput, match=said):
            apply(file, events, out)
    with pytest.raises(InvalidInput, match="is named twice"):
        apply(file, events, folder / "safer.csv", keep_key=folder / "safer.csv")
    with pytest.raises(InvalidInput, match="must end in"):
        apply(file, events, folder / "safer.csv", keep_key=folder / "key.txt")
    assert {path.name for path in folder.iterdir()} == {"events.csv", "plan.json"}
    assert read_plan(file).to_json() == plan


def test_a_hierarchy_is_not_replaced_by_the_file_made_with_it(folder: Path) -> None:
    events, groups = folder / "events.csv", folder / "groups.csv"
    groups.write_text("a;b\n", encoding="utf-8")
    plan = plan_of(events, Mitigation("hierarchy", f"{groups}:1"))
    with pytest.raises(InvalidInput, match=r"groups\.csv is also an input"):
        apply(plan, events, groups)
    assert groups.read_text(encoding="utf-8") == "a;b\n"


def test_what_a_killed_run_left_the_next_one_removes(folder: Path) -> None:
    events, file, out = folder / "events.csv", folder / "plan.json", folder / "safer.csv"
    file.write_text(json.dumps(plan_of(events, Mitigation("top", 20)).to_json()), encoding="utf-8")
    script = (
        "import os, sys\nfrom entropie.release.apply import apply\n"
        "apply(*sys.argv[1:], progress=lambda stage, share: os.kill(os.getpid(), 9) if stage == 'writing' else None)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(file), str(events), str(out)], check=False)
    assert killed.returncode == -9
    left = {path.name for path in folder.iterdir()} - {"events.csv", "plan.json"}
    assert left  # something hidden, and no file of the wanted name
    assert all(name.startswith(".") for name in left)
    apply(file, events, out)
    assert {path.name for path in folder.iterdir()} == {
        "events.csv",
        "plan.json",
        "safer.csv",
        "safer.csv.manifest.json",
    }


EVERY = (
    (Mitigation("top", 20), Mitigation("time_unit", "day"), Mitigation("exposed", 0.1)),
    (Mitigation("category", "kind"), Mitigation("rare_cells", 2), Mitigation("scatter", 0.2), Mitigation("thin", 0.7)),
    (Mitigation("jitter", "2h"), Mitigation("rare_items", 6), Mitigation("sample", 0.5), Mitigation("last", 9)),
    (Mitigation("prefix", 1), Mitigation("time_unit", "none"), Mitigation("first", 8)),
    (Mitigation("time_unit", "week"), Mitigation("rare_cells", 3), Mitigation("rotate", "week")),
)


@pytest.mark.parametrize("parts", EVERY, ids=[parts[0].kind + str(place) for place, parts in enumerate(EVERY)])
def test_block_by_block_the_same_is_written_as_of_everybody_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, parts: tuple[Mitigation, ...]
) -> None:
    """Every row goes to a file first, and the people of one part are a block."""
    monkeypatch.setattr("entropie.data.stored._MOST_EVENTS", 1)
    monkeypatch.setattr("entropie.data.stored._ROOM", 1 << 40)
    events = folder / "events.csv"
    made = apply(plan_of(events, *parts, seed=9), events, folder / "safer.csv")
    read = read_event_columns(Source(events), ["kind"])
    material = Material.of(read.events.traces, read.events.item_ids, read.columns, None, 9)
    traces, names, owners = Combination(parts).applied(material.draft()).released()
    assert (made.events, made.pseudonyms, made.items) == (traces.events, traces.users, len(names))
    assert made.people == len(set(owners.tolist()))
    wanted = Counter()
    for piece in range(traces.users):
        own = range(traces.offsets[piece], traces.offsets[piece + 1])
        times = [None if traces.times is None else int(traces.times[at]) for at in own]
        wanted[tuple((str(names[int(traces.items[at])]), time) for at, time in zip(own, times, strict=True))] += 1
    found: dict[str, list[tuple[str, int | None]]] = {}
    for row in pa_csv.read_csv(str(folder / "safer.csv")).to_pylist():
        time = row.get("time")
        found.setdefault(row["user"], []).append((str(row["item"]), None if time is None else int(time.timestamp())))
    assert Counter(map(tuple, found.values())) == wanted
    assert {path.name for path in folder.iterdir()} == {"events.csv", "safer.csv", "safer.csv.manifest.json"}


def test_map_cells_block_by_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coordinates are read as numbers whatever block they are in; one that is none has a cell of its own."""
    monkeypatch.setattr("entropie.data.stored._MOST_EVENTS", 1)
    monkeypatch.setattr("entropie.data.stored._ROOM", 1 << 40)
    table = with_habits()
    place = np.arange(table.num_rows) % 37
    where = {"lat": [None if n == 5 else f"{50 + n / 100}" for n in place.tolist()], "lon": (place % 3).tolist()}
    for name, values in where.items():
        table = table.append_column(name, pa.array(values))
    events = tmp_path / "events.csv"
    pa_csv.write_csv(table, str(events))
    plan = plan_of(events, Mitigation("grid", "2km"))
    apply(replace(plan, data=replace(plan.data, coordinates=("lat", "lon"))), events, tmp_path / "safer.csv")
    read = read_event_columns(Source(events), ["lat", "lon"])
    material = Material.of(read.events.traces, read.events.item_ids, read.columns, ("lat", "lon"), 0)
    traces, names, _ = Mitigation("grid", "2km").applied(material.draft()).released()
    wanted = Counter(str(names[int(item)]) for item in traces.items)
    assert len(wanted) > 30
    assert wanted == Counter(str(row["item"]) for row in pa_csv.read_csv(str(tmp_path / "safer.csv")).to_pylist())


class Loaded:
    """Dice that show few numbers, so that many people draw the same."""

    def __init__(self) -> None:
        self._dice = np.random.default_rng(1)

    def words(self, count: int) -> NDArray[np.uint64]:
        return self._dice.permutation(300).astype(np.uint64)[:count] << np.uint64(50)


def test_two_people_never_get_one_pseudonym(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entropie.data.stored._MOST_EVENTS", 1)
    monkeypatch.setattr("entropie.release.apply.SystemSource", Loaded)
    events, key = folder / "events.csv", folder / "key.csv"
    apply(plan_of(events, Mitigation("rotate", "week")), events, folder / "safer.csv", keep_key=key)
    people = {row["pseudonym"]: row["person"] for row in pa_csv.read_csv(str(key)).to_pylist()}
    named = Counter(
        (people[row["user"]], row["item"]) for row in pa_csv.read_csv(str(folder / "safer.csv")).to_pylist()
    )
    assert named == Counter((row["user"], row["item"]) for row in pa_csv.read_csv(str(events)).to_pylist())


@given(st.lists(st.integers(-(2**40), 2**40)), st.lists(st.integers(0, 2**64 - 1)))
def test_texts_of_numbers_are_those_of_python(times: list[int], words: list[int]) -> None:
    told = moments(np.array(times, np.int64)).to_pylist()
    assert told == [str(np.datetime_as_string(np.datetime64(time, "s"), timezone="UTC")) for time in times]
    assert hexadecimal(np.array(words, np.uint64)).to_pylist() == [f"{word:016x}" for word in words]


def test_no_room_for_rows_put_aside_is_told_as_no_room_for_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("entropie.data.stored._ROOM", 1 << 40)
    monkeypatch.setattr("entropie.data.spill.tempfile", SimpleNamespace(TemporaryFile=full))
    events = folder / "events.csv"
    plan = plan_of(events, Mitigation("top", 20))
    with pytest.raises(OutputFailed, match=r"Output .*safer\.csv could not be written"):
        apply(plan, events, folder / "safer.csv")
    assert {path.name for path in folder.iterdir()} == {"events.csv"}
