"""A file made on Spark is the file made on one machine: the same people's rows, under other pseudonyms.

Every step is tried in this process (`here`), by the very tasks; several at once on a cluster (`spark`).
"""

from __future__ import annotations

import stat
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from in_process import Session, here
from msgspec.structs import replace

import entropie
from entropie import Mitigation
from entropie.data.events import read_events
from entropie.document.measured import ShareInterval
from entropie.errors import InvalidInput, InvalidParameter
from entropie.release.apply import Manifest
from entropie.release.on_spark import Keyed
from entropie.release.plan import Data, MitigationStep, ReleasePlan
from entropie.request import Source

__all__ = ["here"]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty people with habits, in files that are read in parts; names of items do not sort as their counts do."""
    rng = np.random.default_rng(12)
    lengths = rng.integers(3, 40, 60)
    user = np.repeat(np.arange(60), lengths)
    item = np.where(rng.random(user.size) < 0.5, user % 17, rng.zipf(1.6, user.size) % 90)
    time = 1_700_000_000 + rng.integers(0, 40 * 86_400, user.size)
    order = rng.permutation(user.size)
    names = {"who": [f"person-{one:02d}" for one in user[order]], "what": [f"p{one * 7 % 100}" for one in item[order]]}
    folder = tmp_path_factory.mktemp("events")
    table = pa.table({**names, "when": time[order]})
    for number in range(3):
        pq.write_table(table.slice(number * 400, 400), folder / f"part-{number}.parquet")
    pq.write_table(table.slice(1200), folder / "part-3.parquet", row_group_size=50)
    return folder


def plan_of(events: Path, *parts: Mitigation, time: str | None = "when") -> ReleasePlan:
    source = Source(events, user="who", item="what", time=time)
    data = Data.of(read_events(source).report, source, None)
    steps = tuple(MitigationStep(part.kind, part.setting) for part in parts)
    return ReleasePlan(steps, data, 5, 0.5, "ours", ShareInterval(0.1, 0.0, 0.2), 10, "0")


def groups(path: Path) -> Counter[tuple[tuple[Any, ...], ...]]:
    """What stands under each pseudonym, in its order."""
    rows = defaultdict(list)
    for row in pq.read_table(path).to_pylist():
        rows[row.pop("who")].append(tuple(row.items()))
    return Counter(map(tuple, rows.values()))


STEPS = (
    (Mitigation("top", 10), Mitigation("time_unit", "day")),
    (Mitigation("prefix", 2), Mitigation("time_unit", "none")),
    (Mitigation("time_unit", "hour"), Mitigation("rare_cells", 2)),
    (Mitigation("jitter", "2h"), Mitigation("rare_items", 6), Mitigation("sample", 0.5), Mitigation("thin", 0.5)),
    (Mitigation("top", 20), Mitigation("exposed", 0.2), Mitigation("first", 8), Mitigation("rotate", "week")),
    (Mitigation("time_unit", "week"), Mitigation("scatter", 0.3), Mitigation("last", 5)),
)


@pytest.mark.parametrize("parts", STEPS, ids=lambda parts: "+".join(part.kind for part in parts))
def test_every_step_makes_the_same_file(
    here: Session, events: Path, tmp_path: Path, parts: tuple[Mitigation, ...]
) -> None:
    same_file(here, plan_of(events, *parts), events, tmp_path)


def test_events_without_times_keep_their_order(here: Session, events: Path, tmp_path: Path) -> None:
    same_file(here, plan_of(events, Mitigation("top", 10), time=None), events, tmp_path)


def test_a_cluster_makes_the_same_file(spark: Any, events: Path, tmp_path: Path) -> None:
    same_file(spark, plan_of(events, *STEPS[0], Mitigation("rotate", "week")), events, tmp_path)


def same_file(session: Any, plan: ReleasePlan, events: Path, folder: Path) -> None:
    spread, alone = folder / "spread.parquet", folder / "alone.parquet"
    made = entropie.apply(plan, events, spread, engine="spark", spark=session)
    want = entropie.apply(plan, events, alone)
    assert isinstance(made, Manifest)
    assert isinstance(want, Manifest)
    assert groups(spread) == groups(alone)
    assert len(groups(spread)) > 10  # who is told apart here would be told apart there
    assert pq.read_schema(spread) == pq.read_schema(alone)
    users = pq.read_table(spread)["who"].to_pylist()
    assert users == sorted(users)
    assert not set(users) & set(pq.read_table(alone)["who"].to_pylist())
    assert stat.S_IMODE(spread.stat().st_mode) == 0o600
    assert len(list(folder.iterdir())) == 4
    assert replace(made, output="", output_sha256="0" * 64, date=want.date) == replace(
        want, output="", output_sha256="0" * 64
    )


def test_what_only_one_machine_does_is_refused_before_anything_is_read(here: Session, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("who,what,when,kind\n" + "".join(f"p{n},i,{n},k\n" for n in range(9)))
    plan = plan_of(tmp_path / "e.csv")
    further = replace(plan, steps=(MitigationStep("category", "kind"),))
    out = tmp_path / "out.csv"
    with pytest.raises(InvalidParameter, match=r"further columns \(kind\) run on one machine; leave out `engine=`\."):
        entropie.apply(further, tmp_path / "e.csv", out, engine="spark", spark=here)
    with pytest.raises(InvalidParameter, match="On Spark no key is kept"):
        entropie.apply(plan, tmp_path / "e.csv", out, keep_key=tmp_path / "key.csv", engine="spark", spark=here)
    assert [path.name for path in tmp_path.iterdir()] == ["e.csv"]


def test_other_events_are_refused_and_nothing_is_written(here: Session, events: Path, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("who,what,when\n" + "".join(f"p{n},i,{n}\n" for n in range(9)))
    with pytest.raises(InvalidInput, match="The plan is for other data"):
        entropie.apply(plan_of(events), tmp_path / "e.csv", tmp_path / "out.csv", engine="spark", spark=here)
    assert [path.name for path in tmp_path.iterdir()] == ["e.csv"]


def test_pseudonyms_say_nothing_without_the_secret_and_are_the_same_when_a_task_runs_again() -> None:
    people = np.array([4, 7, 4, 4, 9])
    drawn = Keyed(b"s" * 32).of(people)
    assert np.unique(drawn).size == people.size
    assert np.array_equal(drawn, Keyed(b"s" * 32).of(people))
    assert not set(drawn.tolist()) & set(Keyed(b"t" * 32).of(people).tolist())
    again = Keyed(b"s" * 32)
    assert again.words(2).tolist() + again.words(1).tolist() == Keyed(b"s" * 32).words(3).tolist()
