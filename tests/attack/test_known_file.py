"""The attacker who holds another file, or the mechanism: against dense arithmetic, and never above the theory."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from entropie.attack.attacker import AttackerRow, Release
from entropie.attack.known import known_rows
from entropie.attack.points import PointIndex, drawn_points, draws_for, queries_of
from entropie.attack.reports import report_rows
from entropie.data.columns import Dictionary
from entropie.data.events import read_events
from entropie.data.filter import user_hashes
from entropie.data.known import KnownFile, read_known
from entropie.data.reported import Reported, read_reported
from entropie.data.reports import to_columns
from entropie.data.split import Split
from entropie.errors import InvalidInput, ParametersMismatch
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.parameters import to_document
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.request import Request, Run

RUN = Run(threads=1)


def rows_of(file: KnownFile | Reported, request: Request) -> list[AttackerRow]:
    nothing = file.known.take(np.arange(1))
    release = Release(nothing, Split(nothing, nothing, np.arange(1), 0), known=file)
    return [*known_rows(release, request), *report_rows(release, request)]


def world(seed: int = 2, people: int = 40) -> tuple[pa.Table, pa.Table]:
    """Known and released visits: everybody has favourites; 10 people are in one file only, on either side."""
    rng = np.random.default_rng(seed)
    favourites = rng.integers(0, 60, (people + 20, 4))

    def visits(who: np.ndarray, since: int) -> pa.Table:
        users = np.repeat(who, 12)
        items = favourites[users, rng.integers(0, 4, users.size)]
        return pa.table({"user": users, "item": items, "time": since + rng.integers(0, 10**6, users.size)})

    return visits(np.arange(people + 10), 0), visits(
        np.r_[np.arange(people), np.arange(people + 10, people + 20)], 10**7
    )


def opened(known: Any, release: Any, **options: Any) -> tuple[KnownFile, Request]:
    request = Request.of(release, {"known": known, "threads": 1, **options})
    file = read_known(request, read_events(request.source, RUN), RUN)
    assert file is not None
    return file, request


def test_a_matcher_names_whom_dense_arithmetic_names() -> None:
    """`visit`: everybody of the known file is a candidate for each trace that has an owner."""
    file, request = opened(*world(), matchers=["visit"])
    (row,) = (row for row in rows_of(file, request) if row.matcher == "visit")
    known, release = file.known, file.release
    credit = []
    for target in range(file.pairs):
        events = release.items[release.offsets[target] : release.offsets[target + 1]]
        scores = []
        for person in range(known.users):
            mine = known.items[known.offsets[person] : known.offsets[person + 1]]
            shares = np.array([(mine == event).mean() for event in events])
            scores.append(np.log(np.where(shares > 0, shares, 1e-8)).sum())
        best = np.flatnonzero(np.array(scores) >= max(scores) - 1e-6)
        credit.append((target in best) / best.size)
    assert (row.people, row.targets) == (50, 40) == (known.users, file.pairs)
    assert row.reidentified.value == pytest.approx(np.mean(credit))
    assert 0.3 < row.reidentified.value < 1.0


def test_every_way_finds_people_and_the_control_nobody() -> None:
    file, request = opened(*world(), matchers=["visit", "bayes"])
    rows = rows_of(file, request)
    whole = [row for row in rows if row.points is None]
    assert [row.matcher for row in whole] == [
        "fused",
        "fused, crowd",
        "fused, one-to-one",
        "conjunctions",
        "visit",
        "bayes",
    ]
    assert {row.attacker for row in rows} == {"known-file"}
    for row in whole:
        assert row.control is not None
        assert row.reidentified.low > 0.3 > 0.15 > row.control.value
    some = [row for row in rows if row.matcher == "points"]
    assert {(row.points, row.time_resolution) for row in some} == {
        (points, resolution) for points in (1, 2, 4, 8) for resolution in ("second", "none")
    }
    by_number = [row.reidentified.value for row in some if row.time_resolution == "none"]
    assert by_number[0] < by_number[-1]
    assert max(row.reidentified.value for row in some if row.time_resolution == "second") < 0.1, "another period"


def test_points_of_the_release_itself_are_those_of_the_plain_intersection() -> None:
    _, release = world()
    part = release.take(np.flatnonzero(np.arange(release.num_rows) % 2 == 0))
    file, request = opened(part, release, matchers=["visit"])
    people = file.known.take(np.arange(file.pairs))
    draws = draws_for(file.pairs)
    drawn = drawn_points(people, 8, draws, 0)
    for row in rows_of(file, request):
        if row.matcher == "points":
            assert row.points is not None
            queries = queries_of(people, drawn[:, :, : row.points].reshape(-1, row.points), row.time_resolution)  # type: ignore[arg-type]
            holders = PointIndex.of(file.release).holders(queries)
            assert row.reidentified.value == pytest.approx((1.0 / holders).mean())
    assert "100" in file.facts.notes[-1]
    assert "maximum knowledge" in file.facts.notes[-1]


def test_some_people_are_drawn_by_their_ids_and_everybody_stays_a_candidate() -> None:
    """Each person drawn is found as surely as when all are attacked; another order of rows draws the same people."""
    known, release = world(people=120)
    whole, request = opened(known, release, matchers=["visit"])
    some, asked = opened(known, release, matchers=["visit"], targets=30)
    ids = np.sort(np.unique(release["user"].to_numpy()))[:120]
    hashes = user_hashes(ids.tolist())
    assert some.targets.tolist() == np.sort(np.argsort(hashes)[:30]).tolist()
    again, _ = opened(known, release.take(np.random.default_rng(1).permutation(release.num_rows)), targets=30)
    assert again.targets.tolist() == some.targets.tolist()
    for of_all, of_some in zip(rows_of(whole, request), rows_of(some, asked), strict=True):
        assert (of_all.targets, of_some.targets) == (120, 30)
        assert (of_all.people, of_all.matcher, of_all.points) == (of_some.people, of_some.matcher, of_some.points)
        if of_all.matcher in ("fused", "visit"):
            assert of_all.naming.credit[some.targets] == pytest.approx(of_some.naming.credit)  # type: ignore[union-attr]
        assert of_some.control is None or of_some.control.value < 0.2
    assert rows_of(some, asked)[0].reidentified.value > 0.3


# -- Reports -----------------------------------------------------------------------------------------------------------

PEOPLE, ITEMS = 4_000, 2_000
MECHANISMS: dict[str, Mechanism] = {
    "rr": RandomizedResponse.from_theta(domain_size=ITEMS, theta=0.6),
    "glh": LocalHashing.from_theta(domain_size=ITEMS, hash_size=3_000, theta=0.6),
}


def sent(mechanism: Mechanism, values: np.ndarray, users: np.ndarray, seed: int, folder: Path) -> dict[str, Any]:
    """Reports as a table, and the options that attack them."""
    (folder / "p.json").write_text(to_document(mechanism))
    columns = to_columns(mechanism, mechanism.simulate(values, np.random.default_rng(seed)))
    return {"table": pa.table({"user": users, **columns}), "parameters": folder / "p.json"}


def attacked(made: dict[str, Any], known: pa.Table, **options: Any) -> tuple[Reported, AttackerRow]:
    request = Request.of(made["table"], {"known": known, "parameters": made["parameters"], "threads": 1, **options})
    file = read_reported(request, read_events(request.source, RUN), RUN)
    assert file is not None
    (row,) = rows_of(file, request)
    return file, row


def expected_success(mechanism: Mechanism, reported: Reported, values: np.ndarray) -> float:
    """theta V(U|X) + (1-theta)/n of one datum, for local hashing given the hash functions that were drawn."""
    n, theta = values.size, mechanism.theta
    if isinstance(mechanism, RandomizedResponse):
        return theta * np.unique(values).size / n + (1 - theta) / n
    assert isinstance(mechanism, LocalHashing)
    a, b, _ = (column.astype(object) for column in reported.linked.columns)
    prime, g = mechanism.family.prime, mechanism.hash_size
    holders = np.bincount(values, minlength=ITEMS)
    total = 0.0
    for person in range(n):
        buckets = np.bincount((int(a[person]) * np.arange(ITEMS) + int(b[person])) % prime % g, holders, g)
        mine = buckets[(int(a[person]) * int(values[person]) + int(b[person])) % prime % g]
        empty = float((buckets == 0).mean())
        total += theta / mine + (1 - theta) * (1 / (g * mine) + empty / n)
    return total / n


@pytest.mark.parametrize("name", MECHANISMS)
def test_one_report_each_succeeds_as_often_as_the_theory_says(name: str, tmp_path: Path) -> None:
    mechanism = MECHANISMS[name]
    rng = np.random.default_rng(8)
    users, values = np.arange(PEOPLE), rng.integers(0, ITEMS, PEOPLE)
    made = sent(mechanism, values, users, 4, tmp_path)
    reported, row = attacked(made, pa.table({"user": users, "item": values}))
    assert (row.attacker, row.people, row.targets) == ("reports", PEOPLE, PEOPLE)
    want = expected_success(mechanism, reported, values)
    deviation = math.sqrt(want * (1 - want) / PEOPLE)  # shared ties only make it smaller
    assert abs(row.reidentified.value - want) < 5 * deviation  # z = 5
    assert row.reidentified.value < 1.0 - mechanism.guarantee(users=PEOPLE).bayes_error + 5 * deviation
    assert row.control is not None
    assert row.control.value < 0.01
    weaker = 0.8 * want  # power: an attack or a mechanism a fifth off would be noticed
    assert want - weaker > 5 * deviation


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_on_the_worst_data_stay_below_the_exact_worst_case(name: str, tmp_path: Path) -> None:
    """Everybody has an item of their own and sends three reports; people of the known file alone stay candidates."""
    mechanism = MECHANISMS[name]
    users = np.arange(ITEMS - 100)
    values = np.repeat(users, 3)
    made = sent(mechanism, values, np.repeat(users, 3), 5, tmp_path)
    known = pa.table({"user": np.arange(ITEMS), "item": np.arange(ITEMS)})
    reported, row = attacked(made, known)
    assert (reported.facts.in_both, reported.facts.only_known) == (ITEMS - 100, 100)
    promised = 1.0 - mechanism.guarantee(users=ITEMS, reports=3).bayes_error
    assert row.reidentified.value <= promised + 5 * math.sqrt(0.25 / users.size)
    assert row.reidentified.value > 0.6, "two truths of three name everybody"


def test_names_need_the_dictionary_and_codes_do_not(tmp_path: Path) -> None:
    mechanism = RandomizedResponse.from_theta(domain_size=4, theta=0.999)
    users, codes = np.arange(4), np.array([2, 0, 3, 1])
    names = pa.array(["ale", "gin", "rum", "tea"])
    made = sent(mechanism, codes, users, 1, tmp_path)
    known = pa.table({"user": users, "item": names.take(pa.array(codes))})
    with pytest.raises(InvalidInput, match=r"are names, the reports are of codes.*`dictionary=`"):
        attacked(made, known)
    Dictionary(names).save(tmp_path / "names.csv")
    _, row = attacked(made, known, dictionary=tmp_path / "names.csv")
    assert row.reidentified.value == 1.0
    Dictionary(names[:3]).save(tmp_path / "short.csv")
    with pytest.raises(InvalidInput, match="dictionary has 3 items, the parameters are for 4"):
        attacked(made, known, dictionary=tmp_path / "short.csv")
    outside = pa.table({"user": [0, 1, 2, 3, 3], "item": [2, 0, 3, 1, 99]})
    reported, row = attacked(made, outside)
    assert reported.facts.items_only_known == 1
    assert row.reidentified.value == 1.0


def test_reports_of_other_parameters_are_refused(tmp_path: Path) -> None:
    mechanism = MECHANISMS["rr"]
    made = sent(mechanism, np.arange(9), np.arange(9), 1, tmp_path)
    (tmp_path / "p.json").write_text(to_document(RandomizedResponse.from_theta(domain_size=ITEMS, theta=0.5)))
    with pytest.raises(ParametersMismatch, match=r"The table has a report .* made under other parameters"):
        attacked(made, pa.table({"user": np.arange(9), "item": np.arange(9)}))
    request = Request.of(made["table"], {"known": pa.table({"user": [1], "item": [1]})})
    with pytest.raises(InvalidInput, match=r"its parameter document is not beside it; name it with `parameters=`"):
        read_reported(request, read_events(request.source, RUN), RUN)
