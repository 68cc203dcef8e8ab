"""The assessment on Spark is that of one machine, to the bit, however people are cut and whoever is lost meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import entropie
from entropie.data.prepare import prepare
from entropie.data.simulation import simulate_file
from entropie.engine.spark.assessment import SparkEngine
from entropie.engine.spark.progress import watched
from entropie.errors import EntropieError
from entropie.plan.costs import price
from entropie.plan.plan import Counts, Plan, plan_of, workers_of
from entropie.plan.sizes import Data, Machines
from entropie.request import Request

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from standalone import Standalone

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
REPLICATES = 20


def assess(events: object, **options: Any) -> entropie.Assessment:
    return entropie.assess(events, engine="spark", **options)


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    """The document without what no two runs share: its provenance, the seconds of its attacks."""
    kept = {name: value for name, value in document.items() if name != "provenance"}
    for part in ("attacks", "attackers"):
        kept[part] = [{name: value for name, value in row.items() if name != "seconds"} for row in kept[part]]
    return kept


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Say where two documents differ; types count, and so does every bit of a number."""
    if type(one) is not type(other):
        yield f"{path}: {one!r} is not {other!r}"
    elif isinstance(one, dict):
        for name in [*one, *(name for name in other if name not in one)]:
            if name in one and name in other:
                yield from differences(one[name], other[name], f"{path}/{name}")
            else:
                yield f"{path}/{name}: only {'here' if name in one else 'there'}"
    elif isinstance(one, list):
        if len(one) != len(other):
            yield f"{path}: {len(one)} entries are not {len(other)}"
        for number, pair in enumerate(zip(one, other, strict=False)):
            yield from differences(*pair, f"{path}/{number}")
    elif one != other:
        yield f"{path}: {one!r} is not {other!r}"


def assert_same(found: entropie.Assessment, expected: entropie.Assessment, *but: str) -> None:
    """Compare whole documents, but for some facts of the input."""
    one, other = comparable(found.to_json()), comparable(expected.to_json())
    for document in (one, other):
        document["input"] = {name: value for name, value in document["input"].items() if name not in but}
    first = [said for said, _ in zip(differences(one, other), range(10), strict=False)]
    assert not first, "\n".join(first)


def test_a_difference_is_seen_wherever_it_is() -> None:
    found = entropie.assess(events_table(1, 12), matchers=["visit"], replicates=2).to_json()
    again = entropie.assess(events_table(1, 12), matchers=["visit"], replicates=2).to_json()
    assert not list(differences(comparable(found), comparable(again)))
    error = again["attacks"][0]["identification_error"]
    error["value"] = float(np.nextafter(error["value"], 2.0))
    del again["split"]["rule"]
    again["attacks"][0]["det"].append([0.0, 0.0])
    again["users"] = float(again["users"])
    paths = [said.split(":")[0] for said in differences(comparable(found), comparable(again))]
    assert paths == ["/split/rule", "/users", "/attacks/0/identification_error/value", "/attacks/0/det"]


def events_table(
    seed: int,
    users: int,
    *,
    items: int = 40,
    shortest: int = 10,
    longest: int = 30,
    timed: bool = True,
    text: bool = False,
) -> pa.Table:
    """People with favourites, at hours of their own, in rows of no order but that of time; some rows share a time."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(shortest, longest, users, endpoint=True)
    person = np.repeat(np.arange(users), lengths)
    own = (person * 7 + rng.integers(0, 4, person.size)) % items
    item = np.where(rng.random(person.size) < 0.6, own, (items * rng.random(person.size) ** 2).astype(np.int64))
    days = 15_000 + np.concatenate([np.arange(length) for length in lengths]) // 2
    seconds = 86_400 * days + 3600 * ((person * 5 + item) % 24) + 600 * rng.integers(0, 3, person.size)
    order = rng.permutation(person.size)
    names = [f"{'é' if number % 3 else 'B'}{number * 7919 % users}" for number in range(users)]
    columns: dict[str, Any] = {
        "user": [names[number] for number in person[order]] if text else person[order] * 3 - 50,
        "item": [f"item {code}" for code in item[order]] if text else item[order],
    }
    if timed:
        columns["time"] = seconds[order]
    return pa.table(columns)


def written(folder: Path, table: pa.Table, files: int = 1) -> Path:
    """Write a folder of Parquet files, with small row groups."""
    folder.mkdir()
    bounds = np.linspace(0, table.num_rows, files + 1).astype(int)
    for number in range(files):
        part = table.slice(bounds[number], bounds[number + 1] - bounds[number])
        pq.write_table(part, folder / f"part{number}.parquet", row_group_size=700)
    return folder


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "all matchers, weaker attackers, two uneven blocks": (
        {"users": 40, "longest": 16},
        {"known_events": [1, 5]},
        {"partitions": 2, "block_users": 25},
    ),
    "one block of users, text, wide cells of the law": (
        {"users": 540, "timed": False, "text": True, "longest": 22},
        {"matchers": ["tfidf"], "known_events": [], "seed": 3},
        {"partitions": 3},
    ),
    "one event to attack from a date on, people who drop out": (
        {"users": 60, "shortest": 1, "longest": 9, "text": True},
        {"min_events": 1, "target_events": 1, "rule": "date", "matchers": ["visit", "bayes"], "known_events": [1]},
        {"partitions": 1, "block_users": 25},
    ),
    "history, some attacked, more blocks than people in one, at an address": (
        {"users": 7, "timed": False},
        {
            "rule": "history",
            "train_events": 3,
            "targets": 5,
            "matchers": ["cosine", "visit"],
            "known_events": [2],
            "control": False,
        },
        {"partitions": 3, "block_users": 2},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_cluster_finds_what_one_machine_finds(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """And it runs the plan that is priced for these people."""
    drawn, options, cut = CASES[name]
    ran: list[Plan] = []
    execute = SparkEngine.execute
    monkeypatch.setattr(SparkEngine, "execute", lambda self, plan: ran.append(plan) or execute(self, plan))
    path = written(tmp_path / "events", events_table(5, **drawn), files=3)
    expected = entropie.assess(path, replicates=REPLICATES, **options)
    remote = "at an address" in name  # read by Spark itself
    found = assess(path.as_uri() if remote else path, spark=spark, replicates=REPLICATES, **options, **cut)
    assert_same(found, expected, *(("source", "sha256") if remote else ()))
    if remote:
        assert (found.input["source"], found.input["sha256"]) == (path.as_uri(), None)
    job = Request.of(path, {"engine": "spark", **options, **cut})
    counts = Counts.of(prepare(job).split)
    priced = price(plan_of(job, counts, workers_of(job.run, 2)), Data(counts, 40, 1.0), Machines(2, 1))
    assert ran == [priced.plan]
    if "drop out" in name:
        assert expected.split["dropped_users"] > 0
    if "weaker" in name:
        assert len(expected.attacks) == 6
        assert len(expected.by_known_events) == 3


@pytest.mark.slow
def test_rows_of_a_dataframe_in_any_order(spark: SparkSession) -> None:
    """Text with times in words, a dirty row here and there, and a column that says the order."""
    table = events_table(8, 40, text=True)
    seconds = table["time"].to_numpy().astype("datetime64[s]")
    columns = {
        "user": [None if row % 31 == 0 else user for row, user in enumerate(table["user"].to_pylist())],
        "item": ["" if row % 37 == 0 else item for row, item in enumerate(table["item"].to_pylist())],
        "time": ["soon" if row % 41 == 0 else f"{second}Z" for row, second in enumerate(seconds)],
    }
    table = pa.table(columns)
    shuffled = table.append_column("row", pa.array(np.arange(table.num_rows)))
    shuffled = shuffled.take(np.random.default_rng(1).permutation(table.num_rows))
    frame = spark.createDataFrame(shuffled).repartition(3)
    options: dict[str, Any] = {
        "knowledge": "maximum",
        "matchers": ["markov", "pitman_yor"],
        "known_events": [1],
        "replicates": REPLICATES,
        "max_dirty_share": 1.0,
        "user": "user",
        "item": "item",
        "time": "time",
    }
    found = assess(frame, order="row", partitions=2, block_users=25, **options)
    expected = entropie.assess(table, **options)
    assert len(expected.input["dropped"]) == 3
    assert_same(found, expected, "source", "sha256")
    assert found.input["source"] == "the DataFrame"
    assert found.input["sha256"] is None


def executors(spark: SparkSession) -> int:
    """Executors that the driver knows; it counts itself among those with memory."""
    return int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1


def awaited(look: Callable[[], bool], seconds: float = 120.0) -> bool:
    give_up = time.monotonic() + seconds
    while not look() and time.monotonic() < give_up:
        time.sleep(0.2)
    return look()


@pytest.mark.slow
def test_a_city_with_a_worker_lost_on_the_way(spark: SparkSession, cluster: Standalone, tmp_path: Path) -> None:
    """People of a real city, in enough blocks that there is time to lose a worker."""
    options: dict[str, Any] = {"targets": 200, "matchers": ["visit", "markov"], "known_events": []}
    path = DATA / "foursquare_nyc.parquet"
    if not path.exists():
        path = tmp_path / "city.parquet"
        simulate_file("new-york", path=path)
    cluster.mend()
    assert awaited(lambda: executors(spark) == 2)
    under_way, ended = threading.Event(), threading.Event()
    lost: list[int] = []

    def tell(stage: str, share: float) -> None:
        if stage.startswith(("own scores", "scoring")) and 0.0 < share < 1.0:
            under_way.set()

    def kill() -> None:
        under_way.wait()
        if ended.is_set():
            return
        cluster.kill_worker()
        awaited(lambda: executors(spark) == 1)
        if not ended.is_set():
            lost.append(executors(spark))

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        found = assess(path, spark=spark, replicates=REPLICATES, progress=tell, block_users=600, **options)
    finally:
        ended.set()
        under_way.set()
        killer.join()
    assert lost == [1], "a worker was to be lost while the attacks ran"
    assert_same(found, entropie.assess(path, replicates=REPLICATES, **options))


def failure(run: Callable[[], object]) -> tuple[type[EntropieError], str]:
    with pytest.raises(EntropieError) as caught:
        run()
    return type(caught.value), str(caught.value)


NOWHERE: Any = object()
"""In place of a session: any use of it fails."""


@pytest.mark.parametrize(
    "options",
    [
        {"matchers": ["psychic"]},
        {"seed": -1},
        {"known_events": [0]},
        {"known_events": [3, -2]},
        {"rule": "thirds"},
        {"knowledge": "some"},
        {"rule": "history"},
        {"target_events": 0},
        {"train_events": 2.5},
        {"targets": 1},
        {"replicates": 1},
        {"min_events": -1},
        {"user": "nobody"},
        {"source": "absent.parquet"},
    ],
    ids=str,
)
def test_what_is_refused_without_a_run_is_refused_in_the_same_words(tmp_path: Path, options: dict[str, Any]) -> None:
    pytest.importorskip("pyspark")
    path = written(tmp_path / "events", events_table(2, 30)) / options.get("source", "part0.parquet")
    chosen = {"matchers": ["visit"], **{name: value for name, value in options.items() if name != "source"}}
    expected = failure(lambda: entropie.assess(path, **chosen))
    assert failure(lambda: assess(path, spark=NOWHERE, **chosen)) == expected


def test_a_path_asks_for_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setattr(sql.SparkSession, "getActiveSession", lambda: None)
    path = written(tmp_path / "events", events_table(2, 30))
    with pytest.raises(EntropieError, match="Files on Spark need a cluster: name it with `master=`"):
        assess(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("drawn", "options"),
    [
        ({"users": 1}, {}),
        ({"users": 6, "shortest": 1, "longest": 1}, {"min_events": 1}),
        ({"users": 6, "longest": 12}, {"min_events": 50}),
        ({"users": 6, "items": 1}, {"min_events": 1, "profile": "ema"}),
    ],
    ids=["one person", "nobody to attack", "nobody active", "one item"],
)
def test_what_the_data_do_not_allow_is_said_in_the_same_words(
    spark: SparkSession, tmp_path: Path, drawn: dict[str, Any], options: dict[str, Any]
) -> None:
    path = written(tmp_path / "events", events_table(4, **drawn))
    chosen = {"matchers": ["visit"], **options}
    assert failure(lambda: assess(path, spark=spark, partitions=2, **chosen)) == failure(
        lambda: entropie.assess(path, **chosen)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "least"), [("counting", 0.0), ("scoring", 0.01)], ids=["between jobs", "during a job"]
)
def test_ctrl_c_ends_the_jobs_and_leaves_the_session(
    spark: SparkSession, tmp_path: Path, stage: str, least: float
) -> None:
    path = written(tmp_path / "events", events_table(6, 60))
    told: list[str] = []

    def tell(doing: str, share: float) -> None:
        told.append(doing)
        if doing.startswith(stage) and least <= share < 1.0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        assess(path, spark=spark, matchers=["visit", "bayes"], block_users=10, partitions=2, progress=tell)
    assert told[-1].startswith(stage)
    assert awaited(lambda: not spark.sparkContext.statusTracker().getActiveJobsIds(), 30.0)
    assert spark.range(1000).selectExpr("sum(id)").collect()[0][0] == 499_500


class NoJobs:
    """A session whose jobs end when they are cancelled."""

    def __init__(self) -> None:
        self.sparkContext = self
        self.cancelled = threading.Event()

    def statusTracker(self) -> NoJobs:
        return self

    def getActiveStageIds(self) -> list[int]:
        return []

    def cancelAllJobs(self) -> None:
        self.cancelled.set()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no more")], ids=["Ctrl-C", "error"])
@pytest.mark.parametrize("fails", [True, False], ids=["the job fails", "the job ends"])
def test_what_a_callback_raises_ends_the_jobs(error: BaseException, fails: bool) -> None:
    session: Any = NoJobs()

    def tell(stage: str, share: float) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise error

    def job() -> None:
        assert session.cancelled.wait(30.0)
        if fails:
            raise RuntimeError("Job was cancelled.")

    with pytest.raises(type(error)) as caught, watched(session, tell, "attacking"):
        job()
    assert caught.value is error


def test_an_error_of_the_body_is_its_own() -> None:
    session: Any = NoJobs()
    told: list[float] = []
    with (
        pytest.raises(RuntimeError, match="broken"),
        watched(session, lambda _, share: told.append(share), "attacking"),
    ):
        raise RuntimeError("broken")
    assert told == [0.0]
    assert not session.cancelled.is_set()
