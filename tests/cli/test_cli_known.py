"""`assess --known`: another file, reports with their parameters, and what is said where little agrees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PEOPLE, FAVOURITES = 30, 3
QUICK = ("--matcher", "visit", "--no-report", "--no-control")


def visits(path: Path, seed: int, name: str = "u{}") -> Path:
    """Everybody at favourites of their own, one event a line; other events for another seed."""
    rng = np.random.default_rng(seed)
    lines = ["user,item,time"]
    for person in range(PEOPLE):
        for event, place in enumerate(rng.integers(0, FAVOURITES, 12)):
            lines.append(f"{name.format(person)},place{person * 2 + place},{1_000_000 * seed + event}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def document(ran: Any) -> dict[str, Any]:
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_a_known_file_is_an_attacker_of_its_own(entropie: Any, tmp_path: Path) -> None:
    release, known = visits(tmp_path / "release.csv", 1), visits(tmp_path / "known.csv", 2)
    ran = entropie("assess", release, "--known", known, *QUICK, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert "the attacker's own file" in ran.out
    assert "The attacker's own file: 30 of 30 people are in the release." in ran.out
    found = json.loads((tmp_path / "out" / "assessment.json").read_text())
    assert found["input"]["known"]["in_both"] == PEOPLE
    rows = [row for row in found["attackers"] if row["attacker"] == "known-file"]
    fused = {"fused", "fused, crowd", "fused, one-to-one"}
    assert {row["matcher"] for row in rows} == {*fused, "conjunctions", "visit", "points"}
    assert max(row["reidentified"]["value"] for row in rows) > 0.9


def test_a_map_says_who_is_who(entropie: Any, tmp_path: Path) -> None:
    release, known = visits(tmp_path / "release.csv", 1, "p{}"), visits(tmp_path / "known.csv", 2)
    ran = entropie("assess", release, "--known", known, *QUICK, "--json", "--out", tmp_path / "out")
    assert ran.code == 2
    assert "No id of" in ran.err
    assert "--truth" in ran.err
    pairs = tmp_path / "map.csv"
    pairs.write_text("known,released\n" + "".join(f"u{i},p{i}\n" for i in range(PEOPLE)))
    ran = entropie("assess", release, "--known", known, "--truth", pairs, *QUICK, "--json", "--out", tmp_path / "out")
    assert document(ran)["input"]["known"]["in_both"] == PEOPLE
    ran = entropie("assess", release, "--truth", pairs, *QUICK)
    assert ran.code == 2
    assert "--truth goes with --known" in ran.err


def test_the_release_itself_and_ids_with_spaces_are_noticed(entropie: Any, tmp_path: Path) -> None:
    release = visits(tmp_path / "release.csv", 1)
    ran = entropie("assess", release, "--known", release, *QUICK, "--out", tmp_path / "out")
    assert "close to maximum knowledge" in " ".join(ran.out.split())
    lines = release.read_text().splitlines(keepends=True)
    spaced = [line.replace(",", " ,", 1) if line.startswith(("u1", "u2")) else line for line in lines]  # 22 people
    (tmp_path / "spaced.csv").write_text("".join(spaced))
    ran = entropie("assess", release, "--known", tmp_path / "spaced.csv", *QUICK, "--out", tmp_path / "out")
    said = " ".join(ran.out.split())
    assert "Only 8 of 30 people are in both files by id (22 more would be without spaces" in said


@pytest.mark.parametrize("mechanism", [("rr", "--epsilon", "8"), ("glh", "--hash-size", "200", "--epsilon", "8")])
def test_reports_are_attacked_with_their_parameters(entropie: Any, tmp_path: Path, mechanism: tuple[str, ...]) -> None:
    visited, names, sent = visits(tmp_path / "visits.csv", 1), tmp_path / "names.csv", tmp_path / "reports.csv"
    made = ("--column", "item", "--dictionary", names, "--keep", "user", "--mechanism", *mechanism)
    assert entropie("obfuscate", visited, *made, "--out", sent, "--seed", "1").code == 0
    ran = entropie("assess", sent, *QUICK, "--out", tmp_path / "out")
    assert "--known FILE" in " ".join(ran.out.split()), "what is needed"
    ran = entropie(
        "assess", sent, "--known", visited, "--dictionary", names, *QUICK, "--json", "--out", tmp_path / "out"
    )
    rows = {row["attacker"]: row for row in document(ran)["attackers"]}
    assert rows["reports"]["reidentified"]["value"] > 0.9
    assert "known-file" not in rows
    assert (rows["reports"]["in_scope"], rows["points"]["in_scope"]) == (True, False)
    ran = entropie("assess", sent, "--known", visited, *QUICK, "--out", tmp_path / "out")
    assert ran.code == 2
    assert "--dictionary" in ran.err
    (tmp_path / "reports.csv.parameters.json").rename(tmp_path / "elsewhere.json")
    ran = entropie("assess", sent, "--known", visited, "--dictionary", names, *QUICK, "--out", tmp_path / "out")
    assert ran.code == 2
    assert "--parameters" in ran.err


def test_noise_is_not_failed_for_what_nobody_knows(entropie: Any, tmp_path: Path) -> None:
    """Four noisy reports single everybody out, and only their receiver has them; a PASS on that is a limited one."""
    visited, names, sent = visits(tmp_path / "visits.csv", 1), tmp_path / "names.csv", tmp_path / "reports.csv"
    made = ("--column", "item", "--dictionary", names, "--keep", "user", "--mechanism", "rr", "--epsilon", "0.01")
    assert entropie("obfuscate", visited, *made, "--out", sent, "--seed", "1").code == 0
    attack = ("assess", sent, "--known", visited, "--dictionary", names, *QUICK, "--out", tmp_path / "out")
    limit = ("--limit", "50%", "--limit-name", "ours", "--fail-on", "average")
    ran = entropie(*attack, *limit, "--json")
    verdict = json.loads(ran.out)["verdict"]
    assert (ran.code, verdict["decision"]) == (3, "INCONCLUSIVE")
    assert "--made-by-mechanism" in verdict["unsettled"][0]
    verdict = json.loads(entropie(*attack, *limit, "--made-by-mechanism", "--json").out)["verdict"]
    assert verdict["decision"] == "PASS (limited)"
    assert verdict["rests_on"][0].startswith("Declared, not checked: the data are reports of the mechanism")
    assert entropie(*attack, *limit, "--scope", "points", "--json").code == 1


def test_points_may_be_wrong(entropie: Any, tmp_path: Path) -> None:
    release = visits(tmp_path / "release.csv", 1)
    ran = entropie("assess", release, "--point-errors", "time=1min,items=20%", *QUICK, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert "... with errors" in ran.out
    assert "±1\N{NO-BREAK SPACE}min, 20\N{NO-BREAK SPACE}% of items wrong" in ran.out
    ran = entropie("assess", release, "--point-errors", "half", *QUICK, "--out", tmp_path / "out")
    assert ran.code == 2
    assert "time=30min,items=10%" in ran.err


@pytest.mark.parametrize("name", ["known.csv", "map.csv"])
def test_no_output_replaces_what_is_read(entropie: Any, tmp_path: Path, name: str) -> None:
    release, known, pairs = visits(tmp_path / "release.csv", 1), visits(tmp_path / "known.csv", 2), tmp_path / "map.csv"
    pairs.write_text("known,released\n" + "".join(f"u{i},u{i}\n" for i in range(PEOPLE)))
    before = (tmp_path / name).read_bytes()
    ran = entropie("assess", release, "--known", known, "--truth", pairs, *QUICK, "--metrics", tmp_path / name)
    assert (ran.code, "is also an input" in ran.err) == (2, True)
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize(
    "rows", ["Jane Doe,p7\nu1,p1\nu1,p2\n", "Jane Doe,p7\nu1,p1\n,p2\n", "Jane Doe,Jim Roe\nu1,\n"]
)
def test_a_map_without_names_shows_no_id(entropie: Any, tmp_path: Path, rows: str) -> None:
    release, known, pairs = visits(tmp_path / "r.csv", 1, "p{}"), visits(tmp_path / "k.csv", 2), tmp_path / "map.csv"
    pairs.write_text(rows)
    ran = entropie("assess", release, "--known", known, "--truth", pairs, *QUICK)
    assert ran.code == 2
    assert "Jane" not in ran.err
    assert "p7" not in ran.err
    assert "column" in ran.err
