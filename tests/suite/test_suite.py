"""Suites: what is refused before anything runs, how jobs are put together, what all of it comes to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

import entropie
from entropie.errors import InvalidInput, InvalidParameter
from entropie.request import Request
from entropie.suite import kinds
from entropie.suite.kinds import AssessJob
from entropie.suite.suite import Suite

EVENTS = "user,item,time\n" + "".join(f"u{n % 30},i{n % 7},{1_600_000_000 + n * 3600}\n" for n in range(600))
HEAD = '[defaults.verdict]\nprofile = "ema"\n'
ONE = '[[entry]]\nname = "visits"\nsource = {events = "events.csv"}\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("events.csv").write_text(EVENTS)
    return tmp_path


def suite(text: str) -> Path:
    Path("suite.toml").write_text(text)
    return Path("suite.toml")


class Fake:
    """A job of another kind, which answers what its entry says: one registration is all it takes."""

    files = ("assessment.json", "report.html")
    ran: ClassVar[list[str]] = []

    def __init__(self, layers: Any, options: Any) -> None:
        self.told = {key: value for _, tables in layers for key, value in tables.items() if key != "verdict"}

    inputs: ClassVar[list[Path]] = []
    problem = None
    document: ClassVar[dict[str, Any]] = {"verdict": None}

    def check(self) -> float:
        if self.told.get("wrong"):
            raise InvalidInput("column `x` is missing.")
        return 1.0

    def run(self, tell: Any, asked: str | None) -> Fake:
        tell("attacking", 0.5)
        Fake.ran.append(self.told["decision"])
        if self.told["decision"] == "ERROR":
            raise InvalidInput("too many rows cannot be read.")
        return self

    def judged(self, answer: Any, name: str) -> Any:
        decision = self.told["decision"]
        codes = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3}
        return kinds.Judged(name, "fake", decision, codes[decision], f"{name} is {decision}")

    def write_into(self, folder: Path, *, report: bool = True) -> tuple[Path, ...]:
        (folder / "assessment.json").write_text("{}")
        return (folder / "assessment.json",)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kinds.KINDS, "fake", Fake)
    monkeypatch.setattr(Fake, "ran", [])


def fakes(*decisions: str, more: str = "") -> Path:
    entries = (f'[[entry]]\nname = "e{n}"\nkind = "fake"\ndecision = "{d}"\n{more}' for n, d in enumerate(decisions))
    return suite("".join(entries))


def test_an_entry_is_the_job_of_a_file():
    whole = '[source]\nevents = "events.csv"\nuser = "user"\n[verdict]\nprofile = "ema"\n[run]\nseed = 4\n'
    Path("job.toml").write_text(whole + '[output]\nout = "elsewhere"\n')
    read = Suite.read(suite('[[entry]]\nname = "a"\nconfig = "job.toml"\n'))
    Path("job.toml").write_text(whole)
    job = read.entries[0].job
    assert isinstance(job, AssessJob)
    assert job.request == Request.read("job.toml")


def test_entries_overrule_files_and_files_defaults():
    Path("job.toml").write_text('[source]\nevents = "events.csv"\n[run]\nseed = 4\n[verdict]\nprofile = "ema"\n')
    read = Suite.read(
        suite(
            "[defaults.run]\nseed = 1\nreplicates = 50\n[defaults.people]\nmin_events = 3\n"
            '[[entry]]\nname = "a"\nconfig = "job.toml"\npeople = {min_events = 5}\n'
            'verdict = {limit = "10%", limit_name = "ours", fail_on = "worst"}\n'
        ),
        {"threads": 1},
    )
    request = read.entries[0].job.request  # type: ignore[attr-defined]
    assert (request.run.seed, request.run.replicates, request.run.threads, request.people.min_events) == (4, 50, 1, 5)
    assert (request.verdict.profile, request.verdict.limit) == (None, 0.1)  # the limit replaces the profile


def test_an_entry_cannot_weaken_a_pinned_file():
    Path("job.toml").write_text('[source]\nevents = "events.csv"\n[verdict]\nprofile = "ema"\npinned = true\n')
    named = '[[entry]]\nname = "a"\nconfig = "job.toml"\n'
    Suite.read(suite(named + 'source = {events = "other.csv"}\n'))
    with pytest.raises(InvalidParameter, match=r"Entry a: `scope` may not be given beside job\.toml, which pins"):
        Suite.read(suite(named + 'attackers = {scope = ["crowd"]}\n'))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must have 1 to 1,000 entries"),
        ("x = 1", "may have `defaults` and `entry`, got `x`"),
        ("[entry]\nname = 'a'", "entries begin with [[entry]]"),
        ("defaults = 3\n" + ONE, "`defaults` must be a table"),
        ("[[entry]]", "entry 1: `name` must be"),
        ("[[entry]]\nname = '../a'", "got '../a' instead"),
        ("[[entry]]\nname = '..'", "`name` must be"),
        (f"[[entry]]\nname = '{'a' * 33}'", "`name` must be 1 to 32"),
        (HEAD + ONE + ONE.replace("visits", "Visits"), "two entries called 'Visits'"),
        (ONE.replace("[[entry]]", "[[entry]]\nkind = 'scores'"), "`kind` must be one of assess"),
        (ONE, "Entry visits: There is no limit to judge by"),
        (HEAD + ONE.replace("events.csv", "none.csv"), "Entry visits: none.csv does not exist"),
        (HEAD + ONE.replace("events.csv", "-"), "Entry visits: Standard input"),
        (HEAD + "[[entry]]\nname = 'a'", "Entry a: No events are named"),
        (HEAD + ONE.replace("}", ", item = 'venue'}"), "Column `venue` is missing from events.csv"),
        (HEAD.replace("ema", "emma") + ONE, "Entry visits: Key `profile` must be one of"),
        (HEAD + ONE + "attackers = {matchers = ['best']}", "Entry visits: "),
        (HEAD + ONE + "output = {out = 'x'}", "may not have the table `output`"),
        (HEAD + ONE + "sauce = {out = 'x'}", "entry visits may have the tables"),
        (HEAD + ONE + "config = 'none.toml'", "Entry visits: Configuration none.toml does not exist"),
        (HEAD + ONE + "verdict = {waiver = 'none.toml'}", "Entry visits: Waiver none.toml does not exist"),
        (HEAD + ONE + "attackers = {known = 'none.csv'}", "Entry visits: none.csv does not exist"),
        (HEAD + ONE + "kind = {}", "`kind` must be one of"),
        (HEAD + ONE + "[entry", "is not TOML"),
        (HEAD + ONE.replace("visits", "Check.json"), "'Check.json' is the name of a file"),
        (HEAD + ONE + ".".join(["a"] * 100_000) + " = 1", "more than 200 dots in line"),
        (HEAD + ONE + "a = " + "[" * 3_000, "nested too deeply"),
        (HEAD + ONE + "#" * 10**6, "larger than 1 MB"),
    ],
)
def test_refused_before_anything_runs(monkeypatch, text, words):
    """The wrong entry comes last, and the first would run for long."""
    monkeypatch.setattr(kinds, "assessed", lambda request: pytest.fail("an entry was run"))
    good = (HEAD + ONE.replace("visits", "good")) if text.startswith(HEAD) else ""
    path = suite(good + text.removeprefix(HEAD) if good else text)
    with pytest.raises((InvalidInput, ValueError)) as refused:
        entropie.check(path, out="out", junit="j.xml", markdown="m.md")
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert sorted(found.name for found in Path().iterdir()) == ["events.csv", "suite.toml"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"out": "events.csv"}, "cannot be written to"),
        ({"junit": "events.csv"}, "is also an input"),
        ({"junit": "suite.toml"}, "is also an input"),
        ({"junit": "x", "markdown": "x"}, "named twice"),
        ({"markdown": "none/x.md"}, "folder none does not exist"),
        ({"junit": "out/check.json", "out": "out"}, "named twice"),
    ],
)
def test_outputs_are_refused_before_anything_runs(monkeypatch, options, words):
    monkeypatch.setattr(kinds, "assessed", lambda request: pytest.fail("an entry was run"))
    with pytest.raises(InvalidInput, match=words):
        entropie.check(suite(HEAD + ONE), **options)
    assert Path("events.csv").read_text() == EVENTS
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("decisions", "code"),
    [
        (("PASS", "PASS"), 0),
        (("PASS", "INCONCLUSIVE"), 3),
        (("INCONCLUSIVE", "FAIL", "PASS"), 1),
        (("FAIL", "ERROR", "PASS"), 2),
    ],
)
def test_one_exit_code_and_every_entry_is_run(fake, decisions, code):
    found = entropie.check(fakes(*decisions), out="out", junit="j.xml", markdown="m.md")
    assert found.exit_code == code
    assert [entry.decision for entry in found.entries] == Fake.ran == list(decisions)
    written = sorted(path.parent.name for path in Path("out").glob("*/assessment.json"))
    assert written == [f"e{n}" for n, decision in enumerate(decisions) if decision != "ERROR"]
    assert json.loads(Path("out/check.json").read_text()) == found.to_json()
    assert Path("j.xml").read_text().count("<testcase") == len(decisions)


def test_an_old_result_goes_where_nothing_could_be_judged(fake):
    entropie.check(fakes("PASS"), out="out")
    assert Path("out/e0/assessment.json").exists()
    entropie.check(fakes("ERROR"), out="out")
    assert not Path("out/e0").exists() or not list(Path("out/e0").iterdir())


def test_what_is_wrong_with_the_last_stops_the_first(fake):
    entries = '[[entry]]\nname = "{}"\nkind = "fake"\ndecision = "PASS"\n'
    with pytest.raises(InvalidInput, match="Entry b: column"):
        entropie.check(suite(entries.format("a") + entries.format("b") + "wrong = true\n"), out="out")
    assert (Fake.ran, Path("out").exists()) == ([], False)


def test_progress_names_the_entry_and_the_time_left(fake):
    told: list[str] = []
    entropie.check(fakes("PASS", "PASS", "FAIL"), progress=lambda stage, share: told.append(stage))
    assert told[0] == "e0 (1 of 3): attacking"
    assert told[2].startswith("e2 (3 of 3, about ")
    assert told[2].endswith(" left): attacking")
