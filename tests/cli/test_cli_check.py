"""`check` on the command line: the screen, the exit code, what is written, and a run that is stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_gate_cli import events

from entropie import schemas
from entropie.errors import OutputFailed

FAST = '[defaults.attackers]\nmatchers = ["visit"]\ncontrol = false\n[defaults.verdict]\nprofile = "ema"\n'
VISITS = '[[entry]]\nname = "visits"\nsource = {events = "events.csv"}\n'
LOOSE = (
    '[[entry]]\nname = "loose"\nsource = {events = "events.csv"}\n'
    'verdict = {limit = "99.9%", limit_name = "@team [x](https://evil)", fail_on = "average"}\n'
)


def fail_with(problem: BaseException):
    def failing(*_: object) -> None:
        raise problem

    return failing


@pytest.fixture
def suite(entropie) -> Path:
    Path("events.csv").write_text(events(0.9))
    Path("suite.toml").write_text(FAST + VISITS + LOOSE)
    return Path("suite.toml")


def test_the_screen_and_the_files(entropie, suite):
    ran = entropie("check", "suite.toml", "--out", "out", "--no-report", "--junit", "j.xml", "--markdown", "m.md")
    lines = ran.out.replace("\N{NO-BREAK SPACE}", " ").splitlines()
    assert ran.code == 1
    assert lines[0] == "FAIL: of 2 limits 1 not met, 1 cannot be told"
    assert lines[4].split()[:2] == ["visits", "FAIL"]
    assert lines[4].split()[-2:] == ["9", "%"]
    assert lines[5].split()[:2] == ["loose", "INCONCLUSIVE"]
    assert lines[-1] == "All numbers and reports: out"
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    told = ran.err.splitlines()
    assert told[0].startswith("entropie: visits: FAIL (1 of 2, about ")
    assert told[1] == "entropie: loose: INCONCLUSIVE (2 of 2)."
    alone = entropie("assess", "events.csv", "--matcher", "visit", "--no-control", "--no-report", "--profile", "ema")
    assert alone.code == 1
    one, other = (json.loads(Path(f"{at}/assessment.json").read_text()) for at in ("out/visits", "entropie-out"))
    for document in (one, other):
        document.pop("provenance")
        for row in (*document["attackers"], *document["attacks"]):
            row.pop("seconds")
    assert one == other  # an entry is the same job
    assert [case.get("name") for case in ElementTree.parse("j.xml").iter("testcase")] == ["visits", "loose"]
    assert "\\[x\\](https\\://evil)" in Path("m.md").read_text()
    assert sorted(path.name for path in Path().iterdir()) == [
        "entropie-out", "events.csv", "j.xml", "m.md", "out", "suite.toml",
    ]  # fmt: skip


def test_json_has_its_schema(entropie, suite):
    import jsonschema

    suite.write_text(FAST + VISITS)
    ran = entropie("check", "suite.toml", "--json")
    document = json.loads(ran.out)
    jsonschema.validate(document, schemas.schema("check"))
    assert (ran.code, document["exit_code"], document["entries"][0]["verdict"]["decision"]) == (1, 1, "FAIL")
    assert document["entries"][0]["folder"] is None
    assert sorted(path.name for path in Path().iterdir()) == ["events.csv", "suite.toml"]


def test_data_that_turn_out_unusable_are_an_error_and_the_others_are_judged(entropie, suite):
    rows = events(0.9).splitlines()
    Path("broken.csv").write_text("\n".join([rows[0], *(f"{row.rpartition(',')[0]}," for row in rows[1:])]) + "\n")
    suite.write_text(FAST + VISITS.replace("visits", "broken").replace("events.csv", "broken.csv") + VISITS)
    ran = entropie("check", "suite.toml", "--out", "out", "--no-report")
    assert ran.code == 2
    assert ran.out.startswith("ERROR: of 2 limits 1 could not be judged, 1 not met\n")
    assert "broken: " in ran.out
    assert not Path("out/broken").exists()
    assert Path("out/visits/assessment.json").exists()


def test_an_error_of_the_program_ends_its_entry_alone(entropie, suite, monkeypatch):
    """Whatever one entry meets, at whichever step, the others are judged and all of it is written."""
    from entropie.suite.kinds import AssessJob

    suite.write_text(FAST + VISITS.replace("visits", "met") + VISITS)
    Path("out/met").mkdir(parents=True)
    Path("out/met/assessment.json").write_text("{}")
    command = ("check", "suite.toml", "--out", "out", "--no-report", "--junit", "j.xml", "--markdown", "m.md")
    for step, problem, code in (
        ("run", TypeError("Jane Doe"), 70),
        ("judged", MemoryError(), 70),
        ("check", RecursionError("Jane Doe"), 70),
        ("run", FileNotFoundError(2, "No such file", "gone.csv"), 2),
        ("run", OSError(28, "No space left on device"), 74),
        ("run", OutputFailed("A file of its own could not be written."), 74),
    ):
        real, calls = getattr(AssessJob, step), []

        def first_fails(job, *given, real=real, calls=calls, problem=problem):
            calls.append(job)
            if len(calls) == 1:
                raise problem
            return real(job, *given)

        with monkeypatch.context() as patch:
            patch.setattr(AssessJob, step, first_fails)
            ran = entropie(*command)
        found = json.loads(Path("out/check.json").read_text())
        codes = [entry["exit_code"] for entry in found["entries"]]
        if step == "check":  # the entry's own work met nothing
            assert (ran.code, codes) == (1, [1, 1])
            continue
        assert (ran.code, codes) == (code, [70 if code == 70 else 2, 1]), problem
        assert found["exit_code"] == codes[0]
        assert found["entries"][0]["decision"] == "ERROR"
        assert "Jane" not in ran.err + ran.out + json.dumps(found)
        assert ("Run again with --debug" in ran.out) == (code == 70)
        assert not list(Path("out/met").iterdir())
        assert Path("out/visits/assessment.json").exists()
        assert len(ElementTree.parse("j.xml").findall(".//error")) == 1
        assert Path("m.md").read_text().startswith("### ERROR: of 2 limits 1 ")
    monkeypatch.setattr(AssessJob, "run", lambda *given: 1 / 0)
    assert "Traceback" in entropie("--debug", *command).err
    monkeypatch.setattr(AssessJob, "run", fail_with(KeyboardInterrupt()))
    assert entropie(*command).code == 130


def test_bad_input_is_one_sentence(entropie, suite):
    suite.write_text(FAST + VISITS + LOOSE.replace("events.csv", "gone.csv"))
    ran = entropie("check", "suite.toml", "--out", "out", "--junit", "j.xml")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "entropie: Entry loose: gone.csv does not exist; give a file, a folder or a quoted glob.\n"
    assert sorted(path.name for path in Path().iterdir()) == ["events.csv", "suite.toml"]


def test_many_entries_fit_the_screen_and_the_worst_stay():
    from entropie.cli.check import check_text
    from entropie.document.suite import Check, CheckedEntry

    def entry(place: int) -> CheckedEntry:
        code = {70: 1, 80: 2}.get(place, 0)
        decision = {0: "PASS", 1: "FAIL", 2: "ERROR"}[code]
        said = "no such thing " * 20 if code else "fine"
        return CheckedEntry(f"n{place}", "assess", decision, code, said, [], None, None, None, None, 0.0)

    whole = Check("entropie.check/1", "s.toml", 2, [entry(place) for place in range(90)], None)  # type: ignore[arg-type]
    lines = check_text(whole, None, verbose=False).splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert lines[0] == "ERROR: of 90 limits 1 could not be judged, 1 not met, 88 met"
    assert any(line.startswith("n70 ") for line in lines)
    assert any(line.startswith("n80 ") for line in lines)
    assert "further entries, none worse: --verbose." in lines[-1]
    assert len(check_text(whole, None, verbose=True).splitlines()) > 90


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_stopped_suite_leaves_whole_results_alone(suite, tmp_path):
    """Stopped while the second entry waits for its data, which never come."""
    suite.write_text(FAST + VISITS + VISITS.replace("visits", "never"))
    code = (
        "import sys, time, entropie.suite.kinds as kinds\n"
        "from entropie.cli.main import main\n"
        "real = kinds.assessed\n"
        "runs = []\n"
        "def slow(request):\n"
        "    runs.append(request)\n"
        "    time.sleep(60) if len(runs) > 1 else None\n"
        "    return real(request)\n"
        "kinds.assessed = slow\n"
        "sys.argv = ['entropie', 'check', 'suite.toml', '--out', 'out', '--no-report', '--junit', 'j.xml']\n"
        "main()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (tmp_path / "out/visits/assessment.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Stopped; written before, and whole: out/visits/assessment.json." in said
    assert sorted(path.relative_to(tmp_path).as_posix() for path in (tmp_path / "out").rglob("*")) == [
        "out/visits",
        "out/visits/assessment.json",
    ]
    assert not (tmp_path / "j.xml").exists()
