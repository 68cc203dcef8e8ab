"""Verdicts and comparisons through the command line: exit codes, files and exact words."""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
from pathlib import Path

import numpy as np
import pytest

from entropie.cli.main import cli
from entropie.request import Limits

OWN_LIMIT = (
    "A limit of your own is given by three options, such as --limit 10% --limit-name 'our policy' --fail-on worst "
    "(or average)"
)
ASSESS = ("assess", "events.csv", "--matcher", "visit", "--no-control", "--no-report", "--verbose", "--out", "out")

SHORT = tuple(word for word in ASSESS if word != "--verbose")


def events(loyalty: float, seed: int = 5, count: int = 60) -> str:
    """Everybody has three places of her own and goes there with probability `loyalty`, else anywhere."""
    rng = np.random.default_rng(seed)
    lines = ["user,item,time"]
    for user in range(count):
        own = rng.choice(80, 3, replace=False)
        for event in range(20):
            place = own[rng.integers(3)] if rng.random() < loyalty else rng.integers(80)
            lines.append(f"person-{user:03d},place {place},{1_600_000_000 + event * 40_000}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def loyal(entropie) -> None:
    Path("events.csv").write_text(events(0.9))


@pytest.fixture
def aimless(entropie) -> None:
    """Everybody goes to the same five places, nobody knows when: nothing to tell people apart by."""
    rng = np.random.default_rng(6)
    rows = [f"person-{user:03d},place {place}" for user in range(400) for place in rng.integers(0, 5, 20)]
    Path("events.csv").write_text("\n".join(["user,item", *rows]) + "\n")


def document() -> dict:
    return json.loads(Path("out/assessment.json").read_text(encoding="utf-8"))


def test_a_limit_that_is_not_met(entropie, loyal):
    ran = entropie(*ASSESS, "--profile", "ema")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith(
        "FAIL ema limit 9\N{NO-BREAK SPACE}%: an attacker who knows 4 random events, to the second,\n"
        "re-identifies 100\N{NO-BREAK SPACE}% of the 60 people attacked (95 % confidence interval "
    )
    assert "\nSource of the limit: European Medicines Agency" in ran.out
    found = document()
    verdict = found["verdict"]
    assert verdict["decision"] == "FAIL"
    assert verdict["measured_risk"] == verdict["judged_risk"] == found["headline"]["most_exposed"]["right"]
    assert verdict["measured_risk"]["low"] > 0.09
    assert verdict["profile"]["name"] == "ema"


def test_a_limit_that_is_met(entropie, aimless):
    ran = entropie("assess", "events.csv", "--no-control", "--no-report", "--out", "out", "--profile", "custodian-033")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("PASS custodian-033 limit 33\N{NO-BREAK SPACE}%: an attacker who knows ")
    verdict = document()["verdict"]
    assert (verdict["decision"], verdict["measure"], verdict["limits"]) == ("PASS", "worst", [])
    assert verdict["measured_risk"]["high"] <= 0.33


def test_a_limited_pass(entropie, aimless):
    """First what it rests on; no PASS for a pipeline unless that was accepted."""
    judged = ("--profile", "custodian-033", "--fail-on", "average", "--train-events", "1")
    ran = entropie(*SHORT, *judged)
    assert (ran.code, ran.err) == (3, "")
    said = " ".join(ran.out.split())
    assert said.startswith("PASS (limited) custodian-033 limit 33 %: ")
    first, *others = document()["verdict"]["limits"]
    assert first.startswith("The average was judged, and the limit is for the risk of any one person.")
    assert [limit[:30] for limit in others] == ["Only 1 of 6 ways to compare tr", "The attacker was limited to th"]
    assert f"Rests on less than everything. {' '.join([first, *others])}" in said
    assert said.index("Rests on less than everything.") < said.index("attacker knows re-identified")
    assert "Exit code 3: a pipeline goes on only with --accept-limited." in said
    assert len(ran.out.splitlines()) <= 25
    accepted = entropie(*SHORT, *judged, "--accept-limited")
    assert (accepted.code, document()["verdict"]["decision"]) == (0, "PASS (limited)")
    assert "Accepted by --accept-limited." in " ".join(accepted.out.split())


def test_data_that_cannot_tell(entropie, loyal):
    entropie(*ASSESS)
    error = document()["headline"]["identification_error"]
    limit = 1.0 - (error["low"] + error["high"]) / 2.0
    ran = entropie(*ASSESS, "--limit", str(limit), "--limit-name", "house rule", "--fail-on", "average")
    assert (ran.code, ran.err) == (3, "")
    assert document()["verdict"]["decision"] == "INCONCLUSIVE"
    assert document()["verdict"]["profile"] == {
        "name": "own", "title": "house rule", "limit": limit, "speaks_of": "average", "source": "declared by the user",
        "note": "Whoever set it answers for it.", "smallest_group": None,
    }  # fmt: skip
    assert ran.out.startswith("INCONCLUSIVE house rule limit ")
    assert "\nSource of the limit: declared by the user.\n" in ran.out
    needed = document()["verdict"]["people_needed"]
    assert needed > 60
    assert "Next:   attack more people (above), or lower it (" in ran.out
    assert f"about {needed:,} people are needed to decide" in " ".join(ran.out.split())


def test_rows_that_were_excluded_are_no_reason_to_lower_the_risk(entropie, aimless):
    """What is open is to be settled; a declaration that settles it stands on the first screen."""
    with Path("events.csv").open("a", encoding="utf-8") as file:
        file.writelines([",place 1\n"] * 25)
    asked = ("--profile", "custodian-033", "--max-dirty-share", "0.5")
    ran = entropie("assess", "events.csv", "--no-control", "--no-report", "--out", "out", *asked)
    assert ran.code == 3
    assert "25 rows were excluded" in ran.out
    assert "Next:   settle what is open (above)" in ran.out
    assert "lower it" not in ran.out
    declared = entropie("assess", "events.csv", "--no-control", "--no-report", *asked, "--excluded-not-released")
    assert declared.code == 0
    assert "Declared, not checked: people who were not assessed and rows" in declared.out


def test_without_a_limit_there_is_no_verdict(entropie, loyal):
    ran = entropie(*ASSESS)
    assert ran.code == 0
    assert "Next:   judge it (--profile ema)" in ran.out
    found = document()
    assert found["verdict"] is None
    assert not any(found["declared"].values())
    assert found["review"]["date"][4:] == found["provenance"]["date"][4:10]
    assert int(found["review"]["date"][:4]) == int(found["provenance"]["date"][:4]) + 1


def test_standard_output_is_the_file(entropie, loyal):
    ran = entropie(*ASSESS, "--profile", "ema", "--json")
    assert ran.code == 1
    assert json.loads(ran.out) == document()


def test_declarations(entropie, loyal):
    ran = entropie(
        *ASSESS, "--profile", "ema", "--attacker", "a rival", "--population", "5000",
        "--attempt-probability", "0.01", "--context", "a data room", "--review-date", "2099-12-31",
    )  # fmt: skip
    assert ran.code == 3, ran.err
    found = document()
    assert found["declared"] == {
        "attacker": "a rival", "population": 5000, "context": "a data room", "attempt_probability": 0.01,
        "excluded_not_released": False, "one_id_per_person": False,
        "judge_population": False, "made_by_mechanism": False,
    }  # fmt: skip
    assert found["verdict"]["judged_risk"]["high"] == found["verdict"]["measured_risk"]["high"] * 0.01
    lead = "An attempt probability of 1\N{NO-BREAK SPACE}% was declared, not measured: "
    assert found["verdict"]["rests_on"][0].startswith(lead)
    assert found["verdict"]["rests_on"][0].endswith(" Without it: FAIL.")
    assert " ".join(lead.split()) in " ".join(ran.out.split())
    assert found["review"] == {"date": "2099-12-31"}
    assert found["projection"]["reason"] == "more than 33 times the people at hand"
    assert found["projection"]["reidentified"] is None


def waiver(expires: str, profile: str = "ema") -> None:
    text = f'reason = "a pilot"\nexpires = {expires}\ngranted_by = "J. Doe"\nprofile = "{profile}"\n'
    Path("waiver.toml").write_text(text)


def test_a_waiver(entropie, loyal):
    waiver("2999-01-31")
    ran = entropie(*ASSESS, "--profile", "ema", "--waiver", "waiver.toml")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("FAIL (waived until 2999-01-31) ema limit ")
    assert document()["verdict"]["waiver"] == {
        "reason": "a pilot", "expires": "2999-01-31", "granted_by": "J. Doe", "applies": True,
        "reason_without_effect": None,
    }  # fmt: skip
    year = str(int(document()["provenance"]["date"][:4]) + 1)
    assert document()["review"]["date"].startswith(year)
    soon = (datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=30)).isoformat()
    waiver(soon)
    ran = entropie(*ASSESS, "--profile", "ema", "--waiver", "waiver.toml")
    assert (ran.code, document()["review"]) == (0, {"date": soon})
    assert f"\nReview by {soon}.\n" in ran.out
    waiver("2020-01-31")
    ran = entropie(*ASSESS, "--profile", "ema", "--waiver", "waiver.toml")
    assert ran.code == 1
    assert ran.out.startswith("FAIL ema limit ")
    assert "expired on 2020-01-31 and has no" in ran.out
    found = document()
    assert found["verdict"]["waiver"]["applies"] is False
    assert found["verdict"]["waiver"]["reason_without_effect"] == (
        "The waiver granted by J. Doe expired on 2020-01-31 and has no effect."
    )
    assert found["review"]["date"].startswith(year)  # a waiver without effect sets no date


def test_how_many_of_how_many_were_assessed(entropie, loyal):
    text = Path("events.csv").read_text()
    few = "".join(f"seldom-{user},place 1,{1_600_000_000 + user}\n" for user in range(90))
    Path("events.csv").write_text(text + few)
    ran = entropie(*ASSESS, "--profile", "ema")
    assert ran.code == 1
    words = "All 150 people in the data were assessed; 90 of them have too few events for more than the attacker of known events."
    assert words in document()["verdict"]["rests_on"]
    assert words in " ".join(ran.out.split())


def test_reports_of_a_mechanism(entropie, loyal):
    mechanism = ("--mechanism", "rr", "--epsilon", "2", "--seed", "1")
    ran = entropie(
        "obfuscate", "events.csv", "--column", "item", "--keep", "user", "--keep", "time", "--dictionary", "d.csv",
        "--out", "reports.csv", *mechanism,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    judged = ("--profile", "custodian-033", "--fail-on", "average")
    entropie(*ASSESS, *judged)
    warning = "The risk is understated: these data are reports of a mechanism, which the attack does not know."
    assert warning not in " ".join(document()["verdict"]["rests_on"])
    Path("out").rename("old")
    ran = entropie("assess", "reports.csv", "--item", "report", *ASSESS[2:], *judged)
    assert ran.code in (0, 1, 3), ran.err
    assert warning in " ".join(document()["verdict"]["rests_on"])
    assert warning in " ".join(ran.out.split())
    ran = entropie("compare", "old/assessment.json", "out/assessment.json", "--strict")
    assert ran.code == 3
    assert "Not comparable: only the new data are reports of a mechanism" in " ".join(ran.out.split())


def test_metrics(entropie, loyal):
    ran = entropie(*ASSESS, "--profile", "ema", "--metrics", "entropie.prom")
    assert ran.code == 1
    text = Path("entropie.prom").read_text(encoding="utf-8")
    verdict = document()["verdict"]
    assert (
        f'entropie_judged_risk_ratio{{profile="ema",measure="worst",bound="high"}} {verdict["judged_risk"]["high"]!r}\n'
        in text
    )
    assert 'entropie_verdict{profile="ema",measure="worst",decision="FAIL"} 1.0\n' in text


def test_who_is_attacked_is_said(entropie, aimless):
    board = ("--limit", "1%", "--limit-name", "board", "--fail-on", "average")
    ran = entropie(*ASSESS, "--targets", "50", *board)
    assert document()["verdict"]["decision"] == "INCONCLUSIVE"
    needed = f"About {document()['verdict']['people_needed']:,} people would be needed to tell"
    said = " ".join(ran.out.split())
    assert f"{needed}; attack more with --targets." in said
    assert "Attacked: 50 of them, drawn at random, each among all." in said
    assert "Sample:" not in entropie(*ASSESS, *board).out


@pytest.mark.parametrize(
    "limit", [("--profile", "ema"), ("--limit", "10%", "--limit-name", "x", "--fail-on", "average")]
)
def test_one_item_for_everybody_is_not_judged(entropie, limit):
    header, *rows = events(0.9, count=30).splitlines()
    Path("events.csv").write_text("\n".join([f"{header},kind", *(f"{row},visit" for row in rows)]))
    ran = entropie(*ASSESS, "--item", "kind", *limit)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "entropie: The item column `kind` of events.csv has one value among the people assessed, so nothing can be matched and "
        "no limit be judged; name another with --item (there are: item).\n"
    )
    assert not Path("out").exists()
    assert entropie(*ASSESS, "--item", "kind").code == 0


def test_one_row_per_person_is_another_command(entropie):
    Path("people.csv").write_text("person,age\n" + "".join(f"{person},{person % 7}\n" for person in range(50)))
    ran = entropie("assess", "people.csv", "--user", "person", "--item", "age")
    assert ran.code == 2
    assert ran.err == (
        "entropie: Every person has one event only, which leaves nothing to match; for a table with one row per person "
        "use `entropie attributes`.\n"
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--limit", "10"],
            f"{OWN_LIMIT}; missing: --limit-name, --fail-on; --limit is a share, 10 is not.",
        ),
        (
            ["--limit", "0.1", "--limit-name", "x"],
            f"{OWN_LIMIT}; missing: --fail-on.",
        ),
        (
            ["--profile", "ema", "--limit", "0.1", "--limit-name", "x"],
            "Give either --profile, or --limit with --limit-name, not both.",
        ),
        (
            ["--limit", "9", "--limit-name", "x", "--fail-on", "worst"],
            "Option --limit must be a share above 0 and below 1, such as 0.09 or 9%, got 9.0 instead.",
        ),
        (
            ["--fail-on", "worst"],
            "--fail-on, --waiver and --accept-limited need a limit: name one with --profile or --limit.",
        ),
        (["--profile", "ema", "--waiver", "none.toml"], "Waiver none.toml does not exist; check the name."),
        (
            ["--profile", "ema", "--waiver", "same", "--metrics", "same"],
            "Output same is also an input and would be lost; name another file.",
        ),
        (["--review-date", "soon"], "Invalid value for '--review-date': 'soon' is not a date, such as 2027-01-31. Try 'entropie assess --help'."),
        (
            ["--metrics", "no/where.prom"],
            "Output no/where.prom cannot be written: the folder no does not exist.",
        ),
        (
            ["--attempt-probability", "2"],
            "Option --attempt-probability must be a probability above 0 and up to 1, got 2.0 instead.",
        ),
        (
            ["--profile", "ema", "--attempt-probability", "0"],
            "Option --attempt-probability must be a probability above 0 and up to 1, got 0.0 instead.",
        ),
        (
            ["--population", "59"],
            "The declared population of 59 is smaller than the 60 people in the data; it must contain them all.",
        ),
    ],
)  # fmt: skip
def test_bad_options(entropie, loyal, options, sentence):
    ran = entropie(*ASSESS, *options)
    assert (ran.code, ran.out, ran.err) == (2, "", f"entropie: {sentence}\n")
    assert not Path("out").exists()


def test_a_profile_that_does_not_exist(entropie, loyal):
    ran = entropie(*ASSESS, "--profile", "gdpr")
    assert (ran.code, ran.out) == (2, "")
    assert "Option --profile must be one of custodian-033, custodian-020, ema" in ran.err


@pytest.fixture
def two(entropie) -> None:
    """An assessment of aimless people and one of loyal people, both of 60."""
    for folder, loyalty in (("old", 0.0), ("new", 0.9)):
        Path("events.csv").write_text(events(loyalty))
        ran = entropie(*ASSESS[:-1], folder, "--scope", "profile")
        assert ran.code == 0, ran.err
    for folder in ("old", "new"):  # the day must not be part of the expected output
        file = Path(folder, "assessment.json")
        found = json.loads(file.read_text())
        found["provenance"]["date"] = "2026-11-16T10:30:00+00:00"
        file.write_text(json.dumps(found))


def test_compare_exact_output(entropie, two, matches_golden):
    ran = entropie("compare", "old/assessment.json", "new/assessment.json")
    assert (ran.code, ran.err) == (1, "")
    matches_golden("compare.txt", ran.out)


def test_compare_json_is_the_difference(entropie, two):
    ran = entropie("compare", "old/assessment.json", "new/assessment.json", "--json")
    assert (ran.code, ran.err) == (1, "")
    found = json.loads(ran.out)
    old, new = (json.loads(Path(folder, "assessment.json").read_text()) for folder in ("old", "new"))
    errors = [side["headline"]["identification_error"] for side in (old, new)]
    assert found["error_difference"]["value"] == pytest.approx(errors[1]["value"] - errors[0]["value"])
    low = np.hypot(errors[1]["value"] - errors[1]["low"], errors[0]["high"] - errors[0]["value"])
    assert found["error_difference"]["low"] == pytest.approx(errors[1]["value"] - errors[0]["value"] - low)
    assert (found["outcome"], found["same_input"], len(found["warnings"])) == ("risen", False, 1)
    assert found["warnings"][0].startswith("The most exposed ")


def test_compare_the_other_way_and_with_itself(entropie, two):
    assert entropie("compare", "new/assessment.json", "old/assessment.json").code == 0
    assert entropie("compare", "old/assessment.json", "new/assessment.json", "--tolerance-error", "0.999").code == 0
    same = entropie("compare", "old/assessment.json", "old/assessment.json")
    assert same.code == 0
    assert same.out.startswith("Unchanged: the same results of the same input;")
    assert entropie("compare", "old/assessment.json", "old/assessment.json", "--strict").code == 0


def test_compare_with_another_attack(entropie, two):
    Path("events.csv").write_text(events(0.9))
    ran = entropie(*ASSESS[:-1], "other", "--train-events", "2", "--scope", "profile")
    assert ran.code == 0, ran.err
    sides = ("compare", "old/assessment.json", "other/assessment.json")
    ran = entropie(*sides)
    assert ran.code == 0
    text = " ".join(ran.out.split())
    outcome, table, caveat = (text.index(words) for words in ("Not comparable: ", "re-identified", "Note: "))
    assert outcome < table < caveat
    assert "Not comparable: the number of events the attacker knows differs. " in text
    assert entropie(*sides, "--strict").code == 3
    assert json.loads(entropie(*sides, "--json").out)["outcome"] == "not comparable"


def test_compare_bits_beyond_what_the_data_show(entropie, two):
    file = Path("new", "assessment.json")
    found = json.loads(file.read_text())
    found["attacks"][0]["pse_bits"]["resolvable"] = 5.25
    file.write_text(json.dumps(found))
    ran = entropie("compare", "old/assessment.json", "new/assessment.json", "--verbose")
    assert ran.code == 1
    assert re.search(r"over 5\.\d +cannot be told\n", ran.out)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "Assessment other.json does not exist; make one with `entropie assess`."),
        ("{", "Assessment other.json is not whole JSON (damaged or cut off); make it anew with `entropie assess`."),
        (
            "{}",
            "Assessment other.json must have the schema entropie.assessment/1, got None instead; make it anew with `entropie assess`.",
        ),
        (
            '{"schema": "entropie.assessment/1"}',
            "Assessment other.json is wrong: object missing required field `input`; make it anew with `entropie assess`.",
        ),
    ],
)
def test_compare_bad_input(entropie, two, text, sentence):
    if text is not None:
        Path("other.json").write_text(text)
    ran = entropie("compare", "old/assessment.json", "other.json")
    assert (ran.code, ran.out, ran.err) == (2, "", f"entropie: {sentence}\n")


def test_options_named_in_the_document_exist():
    text = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    known = {name for command in cli.commands.values() for option in command.params for name in option.opts}
    named = set(re.findall(r"--[a-z][a-z-]+", text))
    assert named <= known
    limits = {field.name for field in dataclasses.fields(Limits)} - {"protect"}
    gates = {name for option in cli.commands["assess"].params for name in option.opts if option.name in limits}
    assert gates <= named  # every option of the gate is explained


@pytest.mark.parametrize("more", [[], ["--min-events", "1"], ["--min-events", "0", "--rule", "halves"]])
def test_people_who_stand_there_twice_are_no_events(entropie, more):
    rows = "".join(f"{person},{person % 7}\n" for person in [*range(50), 3])
    Path("people.csv").write_text("person,age\n" + rows)
    ran = entropie("assess", "people.csv", "--user", "person", "--item", "age", *more)
    if more:
        assert ran.code in (0, 2)  # whoever has two events can be attacked
        Path("people.csv").write_text("person,age\n" + rows.removesuffix("3,3\n"))
        ran = entropie("assess", "people.csv", "--user", "person", "--item", "age", *more)
    assert ran.code == 2
    assert "very person has one event only" in ran.err
    assert ran.err.endswith("for a table with one row per person use `entropie attributes`.\n")
    assert "--min-events" not in ran.err
    assert not Path("entropie-out/assessment.json").exists() or more


def test_a_table_without_people_is_another_command(entropie):
    Path("people.csv").write_text("age,sex,zip\n" + "".join(f"{n % 50},f,{n}\n" for n in range(50)))
    ran = entropie("assess", "people.csv")
    assert ran.code == 2
    assert "Name it with --user. A table with one row per person is for `entropie attributes`." in ran.err
